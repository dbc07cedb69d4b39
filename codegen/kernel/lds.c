/* The layout of local memory: locals of functions, stages of the weight stream, codegen's own
 * words. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include "ir/weights/stream.h"

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
    return (locals_of(p, true) + ET_RING_ALIGN - 1) / ET_RING_ALIGN * ET_RING_ALIGN;
}

static int bytes_with_ring(const et_program *p) {
    int end = p->ring.slots ? stages_from(p) + p->ring.slots * p->ring.bytes : 0, all;
    return end > (all = locals_of(p, false)) ? end : all;
}

void cg_ring_enter(cg *g, const et_program *part) {
    g->stages_at = stages_from(part);
    g->stages_here = g->ring_stages ? part->ring.slots : 0;
}

/* Where tasks wait for a router, and so run round after round, room for the barriers of a wave that
 * tells of tiles. A kernel that stays goes without. */
static void plan_routed(cg *g, int end) {
    bool routed = false;
    et_program *p;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++)
            routed |= et_stream_is_routed(&p->grids[i]);
    if (!routed || g->opt->resident || g->family->stream->waves(g) < 3) return;
    place_words(g, end + 2 * ET_RING_BARRIER);
    if (g->lds_bytes <= et_target_lds(g->t, g->p->occupancy))
        g->tell_at = end;
    else
        place_words(g, end);
}

/* Tasks of a part that do not stream have locals where stages are. The barriers share their place
 * with nothing. */
static void add_ring(cg *g) {
    et_program *p;
    int end = g->flag_at;
    g->producers = 1;
    if (!g->family->stream || !has_streams(g)) return;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++) {
        if (p->ring.slots > g->ring_stages) g->ring_stages = p->ring.slots;
        if (p->ring.producers > g->producers) g->producers = p->ring.producers;
        if (bytes_with_ring(p) > end) end = bytes_with_ring(p);
    }
    g->ring_at = end;
    if (!g->ring_stages) return;
    et_check(g->producers <= g->family->stream->waves(g));
    end += cg_ring_words(g, g->ring_stages);
    place_words(g, end);
    plan_routed(g, end);
}

/* Where tasks are sent apart and no wave streams weights, the family's waves beside the others
 * send.
 */
static void add_senders(cg *g) {
    bool any = false;
    et_program *p;
    const et_stream_family *of = g->family->stream;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++) {
            any |= p->grids[i].apart;
            if (p->grids[i].dynamic || p->grids[i].slice.count) return;
        }
    if (!any || g->ring_stages || g->opt->resident || !of || of->waves(g) < 2) return;
    int end = (g->flag_at + 15) & ~15;
    place_words(g, end + CG_SEND_BARRIERS * ET_RING_BARRIER);
    if (g->lds_bytes <= et_target_lds(g->t, g->p->occupancy))
        g->send_at = end;
    else
        place_words(g, end);
}

/* LDS: every function's locals share the front; codegen's own words come last. More than half of
 * what a CU has keeps a second workgroup out, unless several are to be there. */
bool cg_plan_lds(cg *g) {
    g->box_bytes_lds = cg_box_bytes(g);
    place_words(g, most_locals(g));
    add_ring(g);
    add_senders(g);
    int most = et_target_lds(g->t, g->p->occupancy), half = g->t->lds_bytes / 2 + 512;
    if (g->lds_bytes > most) {
        cg_error(g, "the program needs %d bytes of local memory, %s has %d", g->lds_bytes,
                 g->t->name, most);
        return false;
    }
    bool alone = g->p->occupancy == 1 && !cg_is_sequence(g);
    if (alone && g->lds_bytes < half) g->lds_bytes = half;
    return true;
}
