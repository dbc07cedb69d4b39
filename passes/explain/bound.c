/* What bounds a task's time on this machine, and what its author can do about that. */
#include "ir/program/step.h"
#include "passes/explain/int.h"
#include <math.h>
#include <string.h>

static double most(double a, double b) {
    return a > b ? a : b;
}

struct explain_bound explain_bound_of(const struct explain *e, const et_grid *g,
                                      const int64_t *syms) {
    const et_machine *m = e->m;
    et_grid_cost c = et_grid_cost_at(e->p, g, m, syms);
    double n = c.tiles > 0 ? c.tiles : 1, cu = m->cus;
    struct explain_bound b = {.tiles = c.tiles, .cus = explain_cus(e, g)};
    b.memory_bytes = c.memory_bytes;
    b.rounds = ceil(n / b.cus);
    double part[] = {[EXPLAIN_CACHE] = c.cache_bytes / n / (m->cache_gbs_cu * 1e3),
                     [EXPLAIN_MATRIX] = c.matrix_flops / n / (m->matrix_tflops / cu * 1e6),
                     [EXPLAIN_VECTOR] = c.vector_flops / n * 2 / (m->vector_tflops / cu * 1e6),
                     [EXPLAIN_LATENCY] = ET_DEPENDENT_LOADS * m->latency_us};
    double longest = 0;
    for (int i = EXPLAIN_CACHE; i <= EXPLAIN_LATENCY; i++)
        if (part[i] > longest) longest = part[i], b.limit = (explain_limit)i;
    double memory = c.memory_bytes / (m->hbm_gbs * 1e3);
    double tiles = b.rounds * (c.tile_us + part[EXPLAIN_LATENCY]);
    if (memory >= tiles) b.limit = EXPLAIN_MEMORY;
    b.us = most(memory, tiles);
    if (e->opt->profile)
        b.measured = et_profile_us(e->opt->profile, et_profile_hash(e->p, g, syms), b.cus, &b.us);
    return b;
}

/* ---- hints ---- */

struct weights {
    const et_program *p;
    const char *wide; /* a matrix of f32 */
    bool any;
};

static void look_at(void *ctx, const et_step *step, int tensor, bool is_store,
                    const et_expr *index) {
    (void)step, (void)is_store, (void)index;
    struct weights *w = ctx;
    const et_tensor *t = &w->p->tensors[tensor];
    if (t->kind != ET_TENSOR_WEIGHT || t->shape.rank < 2) return;
    w->any = true;
    if (t->shape.dtype == ET_F32) w->wide = t->name;
}

static const et_step *product_of(const struct explain *e, const et_grid *g) {
    const et_func *f = &e->p->funcs[g->func];
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_CONTRACT) return &f->steps[i];
    return NULL;
}

/* "@tile(16, 32)" with the elements that a tile of the group has now, times TIMES along its last
 * axis; NULL where the tiler would ignore it. */
static const char *tile_hint(const struct explain *e, const et_grid *g, double times) {
    const et_group *gr = explain_group(e, g);
    const et_step *s = product_of(e, g);
    if (!gr || gr->rank < 1 || gr->kind != ET_GROUP_STORE) return NULL;
    const et_func *f = &e->p->funcs[g->func];
    const et_step *last = f->nsteps ? &f->steps[f->nsteps - 1] : NULL;
    int64_t now;
    if (!last || last->kind != ET_STEP_MAP || !last->nvars ||
        !et_is_int(e->x, et_var_extent(e->x, last->vars[last->nvars - 1]), &now) || now > 1 << 20)
        return NULL;
    if (s && now != s->tn) return NULL; /* more is computed than stored: rows of a norm, say */
    int least = s ? 16 : 1;
    int want = (int)((double)now * times);
    if (want < least || (s && want % 16)) return NULL;
    const char *text = "@tile(";
    for (int d = 0; d < gr->rank; d++)
        text = d + 1 < gr->rank ? et_printf(e->arena, "%s0, ", text)
                                : et_printf(e->arena, "%s%d)", text, want);
    return et_printf(e->arena, "%s before %s%s", text, gr->name, explain_line(e, gr->loc));
}

/* A hint that another task had is not repeated. */
static void hint(struct explain *e, const char *text) {
    for (int i = 0; i < e->nhints; i++)
        if (strcmp(e->hints[i], text) == 0) return;
    if (e->nhints < (int)(sizeof e->hints / sizeof *e->hints)) e->hints[e->nhints++] = text;
    fprintf(e->to, "      hint: %s\n", text);
}

/* Do many more rows move the same bytes? */
static bool bytes_stay(const struct explain *e, const et_grid *g, const struct explain_bound *b) {
    const int64_t *large = e->syms[e->nsamples - 1];
    if (e->middle == e->nsamples - 1) return false;
    return et_grid_cost_at(e->p, g, e->m, large).memory_bytes < 1.25 * b->memory_bytes;
}

static void hint_memory(struct explain *e, const et_grid *g, const struct explain_bound *b) {
    struct weights w = {.p = e->p};
    et_func_accesses(e->p, &e->p->funcs[g->func], look_at, &w);
    if (w.wide)
        hint(e, et_printf(e->arena, "%s is f32; stored as bf16 it is half the bytes", w.wide));
    else if (bytes_stay(e, g, b))
        hint(e,
             et_printf(e->arena, "a launch with %s moves about the same bytes: put more into one",
                       explain_dims(e, e->syms[e->nsamples - 1])));
    else
        hint(e, "no option makes its bytes fewer; a machine with more bandwidth is faster "
                "(--machine)");
}

static bool hint_operands(struct explain *e, const et_grid *g, const struct explain_bound *b) {
    const et_step *s = product_of(e, g);
    if (b->limit != EXPLAIN_MATRIX || !s || s->operand != ET_F32) return false;
    hint(e,
         et_printf(e->arena,
                   "its product is of f32, at %.0f TFLOPS; of bf16 it would be at %.0f: store its "
                   "weights as that",
                   e->m->f32_matrix_tflops, e->m->matrix_tflops));
    return true;
}

static void hint_tiles(struct explain *e, const et_grid *g, const struct explain_bound *b) {
    const char *smaller = tile_hint(e, g, 0.5), *larger = tile_hint(e, g, 2);
    double rest = b->tiles - (b->rounds - 1) * b->cus;
    if (b->tiles * 2 <= b->cus && b->limit != EXPLAIN_LATENCY) {
        if (smaller)
            hint(e, et_printf(e->arena, "smaller tiles for more CUs: %s", smaller));
        else
            hint(e, "its tiles are as small as they get; launches with larger dims use more CUs");
        hint_operands(e, g, b);
    } else if (b->rounds > 1 && b->rounds < 5 && rest < 0.5 * b->cus) {
        hint(e, et_printf(e->arena,
                          "the last of its %.0f rounds has %.0f tiles for %.0f CUs: another size "
                          "of tile%s%s",
                          b->rounds, rest, b->cus, smaller ? ", " : "", smaller ? smaller : ""));
    } else if (b->limit == EXPLAIN_CACHE && larger) {
        hint(e, et_printf(e->arena, "larger tiles read what they share less often: %s", larger));
    } else if (b->limit == EXPLAIN_LATENCY) {
        hint(e, "tasks this short cost what their first loads take: fewer and larger launches, or "
                "fewer tasks (values that need no tensor, see FUSION)");
    } else if (!hint_operands(e, g, b)) {
        hint(e, "no option: this is what the machine's units do in that time");
    }
}

void explain_bound_print(struct explain *e, const et_grid *g, const struct explain_bound *b) {
    static const char *const limit[] = {
        [EXPLAIN_CACHE] = "what a CU gets from its caches",
        [EXPLAIN_MATRIX] = "the matrix units",
        [EXPLAIN_VECTOR] = "the vector units",
        [EXPLAIN_LATENCY] = "the latency of a tile's first loads",
    };
    if (b->limit == EXPLAIN_MEMORY) {
        fprintf(e->to, "      bound by memory: %s a run, at %.0f GB/s at most\n",
                explain_bytes(e, b->memory_bytes), e->m->hbm_gbs);
        hint_memory(e, g, b);
        return;
    }
    fprintf(e->to, "      bound by %s", limit[b->limit]);
    if (b->tiles < b->cus)
        fprintf(e->to, ", on %.0f of %.0f CUs: there are no more tiles\n", b->tiles, b->cus);
    else
        fprintf(e->to, "; %.0f rounds of tiles on %.0f CUs\n", b->rounds, b->cus);
    hint_tiles(e, g, b);
}
