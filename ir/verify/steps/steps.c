#include "ir/verify/steps/int.h"

bool et_verify_steps(et_program *p, et_diags *d, int64_t *work) {
    struct steps s = {.p = p, .x = p->g->exprs, .d = d, .at = -1};
    s.arena = et_arena_create();
    s.problem = vs_create(s.arena);
    s.one = vs_frame_create(s.arena, s.x, s.problem, NULL);
    s.other = vs_frame_create(s.arena, s.x, s.problem, s.one);
    bool ok = true;
    for (int g = 0; ok && g < p->ngrids; g++) {
        s.grid = &p->grids[g];
        s.f = &p->funcs[s.grid->func];
        vs_find_held(&s);
        ok = vs_check_bounds(&s) && vs_check_races(&s) && vs_check_locals(&s);
    }
    *work += vs_work(s.problem);
    et_arena_destroy(s.arena);
    return ok && !s.errors;
}
