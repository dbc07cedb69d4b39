/* Products of many rows whose weights come through the weight stream (ir/weights/stream.h). Such a
 * product has a multistage pipeline of its own, of both operands, which a tile fills when it begins
 * and which is empty when it ends. Where weights come in stages of the weight stream instead, they
 * are in flight before the tile begins, and only rows, which other tasks write, are copied by the
 * consumers.
 */
#include "passes/cost/stream_many.h"
#include "ir/program/step.h"
#include "ir/weights/stream.h"
#include "passes/product/product.h"
#include <string.h>

enum {
    ROW = 128,              /* bytes of a row in a part of a chunk */
    CHUNK_BYTES = 16 << 10, /* of rows, between two barriers */
    ROWS_BYTES = 64 << 10,  /* of all chunks of rows */
    MOST_STAGES = 8,
    LEAST_STAGES = 4, /* two are multiplied while two are in flight */
    LEAST_SLOTS = 4,  /* of weights: Qwen3-8B's 64 tokens with three were measured to lose */
    MOST_OF_SLOT = 8, /* chunks */
    MOST_ROWS = 128,  /* of a tile, whose sums leave room for the rest */
};

/* How a step's k is cut: of a chunk, of a slot, and how many chunks of rows there are. */
struct cut {
    int kc, stage_k, stages;
};

/* Of what the plan's checks let pass, how much: false where too few rows would be in flight, or a
 * slot has not one chunk. */
static bool cut(const et_program *p, const et_step *s, int bytes, struct cut *out) {
    enum { K = 16 }; /* of an instruction */
    int size = et_dtype_bytes(s->operand), least = ROW / size, column = s->nacc * s->tn * size;
    int64_t k;
    /* Those of some k or none, as experts', were measured to lose. */
    if (!et_is_int(p->g->exprs, s->kextent, &k)) return false;
    for (out->kc = ROW / size * 2; out->kc > least; out->kc /= 2)
        if (s->tm * out->kc * size <= CHUNK_BYTES && column * out->kc <= bytes &&
            k % out->kc == 0 && et_warpgroup_divides(out->kc, s->wk, K))
            break;
    out->stage_k = out->kc;
    while (out->stage_k < MOST_OF_SLOT * out->kc && 2 * column * out->stage_k <= bytes &&
           k % (2 * out->stage_k) == 0)
        out->stage_k *= 2;
    out->stages = ROWS_BYTES / (s->tm * out->kc * size);
    if (out->stages > MOST_STAGES) out->stages = MOST_STAGES;
    return s->tm <= MOST_ROWS && out->stages >= LEAST_STAGES;
}

static int end_of(const et_local *l) {
    return l->offset + et_local_bytes(l);
}

/* Where what the step has in local memory ends: what lies behind that is others'. */
static int end_of_step(const et_func *f, const et_step *s) {
    int end = end_of(&f->locals[s->stage_a]);
    if (!f->locals[s->stage_b].slot && end_of(&f->locals[s->stage_b]) > end)
        end = end_of(&f->locals[s->stage_b]);
    for (int i = 0; i < s->nacc; i++)
        if (end_of(&f->locals[s->acc[i]]) > end) end = end_of(&f->locals[s->acc[i]]);
    return end;
}

/* The step's rows cut so, with B in slots. */
static void lay_out(et_func *f, et_step *s, const struct cut *by) {
    et_local *a = &f->locals[s->stage_a], *b = &f->locals[s->stage_b];
    int was = end_of_step(f, s), now;
    a->pitch = a->dim[2] = by->kc;
    a->dim[0] = by->stages;
    b->dim[0] = 1;
    b->pitch = b->dim[2] = by->stage_k;
    b->slot = true;
    b->offset = 0;
    now = end_of_step(f, s);
    for (int i = 0; i < f->nlocals; i++)
        if (f->locals[i].offset >= was && !f->locals[i].slot) f->locals[i].offset += now - was;
    f->lds_bytes += now - was;
}

static bool has_chunks(const et_func *f, const et_step *s) {
    return et_step_stages(f, s) && !f->locals[s->stage_b].slot;
}

/* F has locals and steps of its own afterwards. */
static void own(const et_program *p, et_func *f) {
    et_local *l = et_alloc(p->g->arena, ((size_t)f->nlocals + 1) * sizeof *l);
    et_step *s = et_alloc(p->g->arena, ((size_t)f->nsteps + 1) * sizeof *s);
    memcpy(l, f->locals, (size_t)f->nlocals * sizeof *l);
    memcpy(s, f->steps, (size_t)f->nsteps * sizeof *s);
    f->locals = l, f->clocals = f->nlocals;
    f->steps = s, f->csteps = f->nsteps;
}

void et_stream_many_convert(const et_program *p, et_func *f, const et_machine *m) {
    struct cut by;
    for (int i = 0; i < f->nsteps; i++) {
        if (!has_chunks(f, &f->steps[i])) continue;
        cut(p, &f->steps[i], m->stream_kb << 10, &by);
        own(p, f);
        lay_out(f, &f->steps[i], &by);
    }
}

/* What local memory the function has with slots; -1: it has no use for them, or no plan. */
static int lds_of(const et_program *p, const et_func *f, const et_machine *m) {
    et_func of = *f;
    struct cut by;
    et_product_plan plan;
    int products = 0, with = -1;
    for (int i = 0; i < f->nsteps; i++) {
        products += f->steps[i].kind == ET_STEP_CONTRACT;
        if (!has_chunks(f, &f->steps[i])) continue;
        if (!m->plans || !cut(p, &f->steps[i], m->stream_kb << 10, &by)) return -1;
        with = i;
    }
    if (products > 1) return -1;
    et_stream_many_convert(p, &of, m);
    if (with >= 0 && (!et_product_expect(m->plans, p, &of, &of.steps[with], &plan) ||
                      plan.weights != ET_WEIGHTS_STREAM))
        return -1;
    return of.lds_bytes;
}

bool et_stream_many_suits(const et_program *p, const et_machine *m, int model) {
    int most = 0;
    bool any = false;
    for (int i = 0; i < p->ngrids && most >= 0; i++) {
        const et_grid *g = &p->grids[i];
        const et_func *f = &p->funcs[g->func];
        if (g->dynamic || g->slice.count) return false; /* no producer can run ahead of these */
        if (g->model != model) continue;
        for (int k = 0; k < f->nsteps; k++)
            any |= has_chunks(f, &f->steps[k]);
        int lds = lds_of(p, f, m);
        most = lds < 0 ? -1 : lds > most ? lds : most;
    }
    return any && most >= 0 && et_machine_slots(m, most, m->stream_kb << 10) >= LEAST_SLOTS;
}
