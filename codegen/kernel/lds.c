/* The layout of local memory: locals of functions, stages of the weight stream, codegen's own
 * words. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/base/diag.h"

/* Some part has tasks that stream, and a producer wave can go through all of its grids. */
static bool has_streams(const cg *g) {
    const et_program *p;
    bool any = false;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++) {
            any |= p->grids[i].streamed;
            if (p->grids[i].dynamic || p->grids[i].slice.count) return false;
        }
    return any && !cg_is_sequence(g);
}

/* Bytes of LDS that the functions of a part have, of all models or of those that stream. */
static int locals_of(const et_program *p, bool streaming) {
    int most = 0;
    for (int i = 0; i < p->ngrids; i++) {
        int bytes = p->funcs[p->grids[i].func].lds_bytes;
        if (streaming && !cg_model_streams(p, p->grids[i].model)) continue;
        if (bytes > most) most = bytes;
    }
    return (most + 15) & ~15;
}

static int most_locals(const cg *g) {
    int most = 0;
    const et_program *p;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        if (locals_of(p, false) > most) most = locals_of(p, false);
    return most;
}

/* What codegen has in LDS for itself, from AT on. */
static void place_words(cg *g, int at) {
    g->flag_at = at;
    g->reduce_at = at + CG_FLAG_BYTES;
    if (g->sliced && g->p->g->nmodels) g->reduce_at += CG_ORDER_BYTES;
    g->box_at = g->reduce_at + 16 * (g->p->workgroup / g->t->wave);
    g->trace_at = g->box_at + g->box_bytes_lds;
    g->step_at = g->trace_at + cg_trace_lds(g);
    g->lds_bytes = g->step_at + cg_step_bytes(g);
    et_check(g->lds_bytes - at <= ET_LDS_OWN);
}

/* Where stages begin behind the locals of a part, and how many there are. */
static int stages_from(const et_program *p) {
    enum { ALIGN = 1024 }; /* of rows of a warpgroup MMA */
    return (locals_of(p, true) + ALIGN - 1) / ALIGN * ALIGN;
}

static int stages_of(const cg *g, const et_program *p) {
    return g->ring_stages ? cg_ring_stages(g, p, g->ring_room - stages_from(p)) : 0;
}

static int bytes_with_ring(const cg *g, const et_program *p) {
    int stages = stages_of(g, p), end = stages_from(p) + stages * p->ring.bytes;
    return stages && end > locals_of(p, false) ? end : locals_of(p, false);
}

void cg_ring_enter(cg *g, const et_program *part) {
    g->stages_at = stages_from(part);
    g->stages_here = stages_of(g, part);
}

/* As many stages as there is room for, in each part as many as that has room for: its tasks that do
 * not stream have locals in the same place. The barriers share their place with nothing. */
static void add_ring(cg *g) {
    int words = g->lds_bytes - g->flag_at, end = g->flag_at, most = 0;
    et_program *p;
    if (!has_streams(g)) return;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        if (p->ring.slots > most) most = p->ring.slots;
    g->ring_stages = most;
    g->ring_room = g->t->lds_bytes - words - cg_ring_words(g, most);
    for (int k = most = 0; (p = et_program_part(g->whole, k)); k++) {
        int stages = stages_of(g, p), bytes = bytes_with_ring(g, p);
        if (stages > most) most = stages;
        if (bytes > end) end = bytes;
    }
    g->ring_at = end;
    g->ring_stages = most;
    if (end + cg_ring_words(g, most) + words > g->t->lds_bytes)
        g->ring_stages = 0; /* the locals of some function leave no room for the barriers */
    if (!g->ring_stages) return;
    place_words(g, end + cg_ring_words(g, most));
}

/* LDS: every function's locals share the front; codegen's own words come last. More than half of
 * what a CU has keeps a second workgroup out. */
bool cg_plan_lds(cg *g) {
    g->box_bytes_lds = cg_box_bytes(g);
    place_words(g, most_locals(g));
    if (g->lds_bytes > g->t->lds_bytes) {
        cg_error(g, "the program needs %d bytes of local memory, %s has %d", g->lds_bytes,
                 g->t->name, g->t->lds_bytes);
        return false;
    }
    add_ring(g);
    int half = g->t->lds_bytes / 2 + 512;
    if (!cg_is_sequence(g) && g->lds_bytes < half) g->lds_bytes = half;
    return true;
}
