#include "ir/verify/steps/int.h"

bool et_verify_steps(et_program *p, et_diags *d, int64_t limit, int64_t *work) {
    struct steps s = {.p = p, .x = p->g->exprs, .d = d, .at = -1};
    s.arena = et_arena_create();
    s.problem = sv_create(s.arena);
    sv_limit(s.problem, limit);
    s.one = sv_frame_create(s.arena, s.x, s.problem, NULL);
    s.other = sv_frame_create(s.arena, s.x, s.problem, s.one);
    sv_find_writers(&s);
    bool ok = true;
    for (int g = 0; ok && g < p->ngrids; g++) {
        s.grid = &p->grids[g];
        s.f = &p->funcs[s.grid->func];
        sv_find_held(&s);
        ok = sv_check_bounds(&s) && sv_check_races(&s) && sv_check_locals(&s) && sv_check_temps(&s);
    }
    *work += sv_work(s.problem);
    et_arena_destroy(s.arena);
    return ok && !s.errors;
}
