/* The work of a grid's tiles, and their bytes from and to memory.
 *
 * Memory moves what does not stay in the caches: weights, inputs, outputs, states, and temporaries
 * where the workspace is larger than the cache in front of memory. Tiles of one grid that touch the
 * same part of a tensor (the same weights for other rows) share its bytes evenly, as long as what
 * tiles between them bring fits that cache. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include "passes/simulate/int.h"
#include <stdlib.h>
#include <string.h>

/* ---- accesses ---- */

struct reader {
    struct sim *s;
    const struct sim_grid *g;
    const et_step *step;
    bool reads; /* tensors that the kernel writes */
};

struct collect {
    struct sim *s;
    struct sim_grid *g;
};

static bool same_access(const struct sim_access *a, const struct sim_access *b) {
    bool same = a->tensor == b->tensor && a->is_store == b->is_store && a->step == b->step;
    for (int d = 0; same && d < a->rank; d++)
        same = et_expr_eq(a->index[d], b->index[d]);
    return same;
}

static void note_mutable(void *ctx, et_expr e) {
    struct reader *r = ctx;
    const et_node_x *n = et_x(r->s->x, e);
    if (n->op != ET_X_LOAD) return;
    et_tensor_kind kind = n->i2 == ET_LOAD_TENSOR ? r->s->p->tensors[n->i].kind : ET_TENSOR_TEMP;
    r->reads |= kind == ET_TENSOR_TEMP || kind == ET_TENSOR_OUTPUT || kind == ET_TENSOR_STATE;
}

static bool reads_mutable(struct sim *s, et_expr e) {
    struct reader r = {.s = s};
    if (e.id) et_walk(s->x, e, note_mutable, &r);
    return r.reads;
}

/* Before there is a plan: operands that are contiguous, at places that no task decides. */
static bool may_be_early(struct sim *s, const et_step *step) {
    bool may = !reads_mutable(s, step->nlive) && !reads_mutable(s, step->kextent);
    for (int i = 0; i < step->nacc && may; i++)
        may = et_k_contiguous(s->p, step->b[i], step->kvar, step->operand) &&
              !reads_mutable(s, step->b[i]);
    return may;
}

/* The part of a product's weights that its plan asks for before the waits, or that come through the
 * weight stream, which waits for nothing. */
static double planned_early(const struct sim *s, const et_step *step) {
    const et_product_plan *w = &step->plan[ET_PLAN_MAIN];
    int64_t k;
    if (w->weights == ET_WEIGHTS_STREAM) return 1;
    int chunks = w->early == ET_EARLY_PIPELINE ? w->early_chunks
                 : w->early == ET_EARLY_NONE   ? 0
                                               : w->depth;
    double asked = (double)chunks * w->chunk + w->prefetch;
    if (!et_is_int(s->x, step->kextent, &k)) return asked > 0;
    return asked < (double)k ? asked / (double)k : 1;
}

/* The part of weights TENSOR that the first product loads before the waits. */
static double early_part(struct sim *s, const struct sim_grid *g, const et_step *step, int tensor) {
    const et_step *first = g->f->steps;
    bool found = false;
    while (first < g->f->steps + g->f->nsteps && first->kind != ET_STEP_CONTRACT)
        first++;
    if (step != first || step->kind != ET_STEP_CONTRACT) return 0;
    if (s->p->tensors[tensor].kind != ET_TENSOR_WEIGHT) return 0;
    for (int i = 0; i < step->nacc; i++)
        found |= et_expr_loads_tensor(s->x, step->b[i], tensor);
    if (!found) return 0;
    return step->plan[ET_PLAN_MAIN].made ? planned_early(s, step) : may_be_early(s, step);
}

static bool is_streamed(struct sim *s, const struct sim_grid *g, const et_step *step, int tensor) {
    bool found = false;
    if (!g->streamed || step->kind != ET_STEP_CONTRACT ||
        step->plan[ET_PLAN_MAIN].weights != ET_WEIGHTS_STREAM)
        return false;
    for (int i = 0; i < step->nacc; i++)
        found |= et_expr_loads_tensor(s->x, step->b[i], tensor);
    return found && s->p->tensors[tensor].kind == ET_TENSOR_WEIGHT;
}

static void note_access(void *ctx, const et_step *step, int tensor, bool is_store,
                        const et_expr *index) {
    struct collect *c = ctx;
    const et_tensor *t = &c->s->p->tensors[tensor];
    struct sim_access a = {.step = step, .tensor = tensor, .is_store = is_store};
    if (t->kind == ET_TENSOR_CONST) return;
    a.rank = t->shape.rank;
    memcpy(a.index, index, (size_t)a.rank * sizeof *index);
    if (is_store && et_in_inbox(t)) {
        ET_GROW(c->s->arena, c->g->sent, c->g->nsent, c->g->csent);
        c->g->sent[c->g->nsent++] = a;
    }
    if (t->kind == ET_TENSOR_TEMP &&
        (double)c->s->p->workspace_bytes <= c->s->m->cache_mb * 1048576)
        return;
    a.streamed = is_streamed(c->s, c->g, step, tensor);
    a.early = a.streamed ? 0 : early_part(c->s, c->g, step, tensor);
    for (int i = 0; i < c->g->naccess; i++)
        if (same_access(&c->g->access[i], &a)) return;
    ET_GROW(c->s->arena, c->g->access, c->g->naccess, c->g->caccess);
    c->g->access[c->g->naccess++] = a;
}

static int size_of(struct sim_grid *g, et_expr e) {
    return e.id ? sim_sheet_add(g->sizes, e) : -1;
}

static void collect(struct sim *s, struct sim_grid *g) {
    struct collect c = {s, g};
    g->sizes = sim_sheet_create(s);
    g->elements = et_func_elements(s->p, g->f, s->m);
    et_func_accesses(s->p, g->f, note_access, &c);
    for (int i = 0; i < g->f->nsteps; i++) {
        et_step_var var[ET_STEP_VARS];
        for (int k = 0, n = et_step_vars(s->x, &g->f->steps[i], var); k < n; k++)
            if (var[k].role != ET_VAR_POSITION) size_of(g, var[k].extent);
        if (g->f->steps[i].promised) size_of(g, g->f->steps[i].mask);
        size_of(g, g->elements[i].visits);
        size_of(g, g->elements[i].usual);
    }
    /* Values of what is loaded as an index may differ from one iteration to the next. */
    for (int i = 0; i < g->naccess + g->nsent; i++) {
        const struct sim_access *a = i < g->naccess ? &g->access[i] : &g->sent[i - g->naccess];
        for (int d = 0; d < a->rank; d++)
            if (et_x(s->x, a->index[d])->type == ET_T_I32) size_of(g, a->index[d]);
    }
    if (g->g->deal.coord >= 0 && s->p->g->devices > 1) g->owner = et_deal_owner(s->p, g->g);
}

/* ---- ranges of indices in one tile ---- */

struct range {
    int64_t lo, hi;
};
static const struct range nowhere = {0, -1}, anywhere = {INT64_MIN / 4, INT64_MAX / 4};

static bool is_point(struct range r) {
    return r.lo == r.hi;
}

static bool is_known(struct range r) {
    return r.lo > anywhere.lo && r.hi < anywhere.hi;
}

static int64_t size_now(const struct sim_grid *g, et_expr e, int64_t otherwise) {
    int k = e.id ? sim_sheet_find(g->sizes, e) : -1;
    int64_t v = k >= 0 ? sim_sheet_value(g->sizes, k) : SIM_UNKNOWN;
    return v == SIM_UNKNOWN ? otherwise : v;
}

static struct range range_of(const struct reader *r, et_expr e);

static bool is_fixed(const struct reader *r, int var) {
    for (int c = 0; c < r->g->f->ncoords; c++)
        if (r->g->f->coord[c] == var) return true;
    for (int l = 0; l < r->g->nloop; l++)
        if (r->s->p->g->loops[r->g->loop[l]].var == var) return true;
    return false;
}

/* The number of values of a variable of the step. */
static int64_t extent_of(const struct reader *r, int var) {
    et_step_var v[ET_STEP_VARS];
    et_expr e = et_var_extent(r->s->x, var);
    for (int i = 0, n = et_step_vars(r->s->x, r->step, v); i < n; i++)
        if (v[i].var == var && v[i].role != ET_VAR_POSITION) e = v[i].extent;
    int64_t lo, hi, n = size_now(r->g, e, -1);
    if (n >= 0) return n;
    return et_bounds(r->s->x, e, &lo, &hi) && hi > 0 ? hi : 1;
}

/* The positions that an attention step reads. */
static struct range positions(const struct reader *r) {
    const et_step_elements *e = &r->g->elements[r->step - r->g->f->steps];
    int64_t n = size_now(r->g, e->visits, -1);
    if (n == 0) return nowhere;
    if (n < 0) return (struct range){0, size_now(r->g, e->usual, ET_GUESSED_CONTEXT) - 1};
    struct range first = range_of(r, r->step->part[ET_AT_FIRST]);
    return (struct range){first.lo, first.lo + n - 1};
}

static struct range range_of_var(const struct reader *r, int var) {
    if (is_fixed(r, var)) return (struct range){r->s->vars[var], r->s->vars[var]};
    if (r->step->kind == ET_STEP_ATTEND && var == r->step->pvar) return positions(r);
    int64_t n = extent_of(r, var);
    return n > 0 ? (struct range){0, n - 1} : nowhere;
}

/* All elements that an index tensor holds over small ranges of its indices. */
static struct range range_of_load(const struct reader *r, const et_node_x *n) {
    enum { MOST = 4096 };
    struct range at[ET_MAX_RANK], out = nowhere;
    int64_t index[ET_MAX_RANK], total = 1, v;
    if (n->i2 != ET_LOAD_TENSOR || n->type != ET_T_I32 || !r->s->opt->value) return anywhere;
    for (int d = 0; d < n->nops; d++) {
        at[d] = range_of(r, n->ops[d]);
        if (!is_known(at[d])) return anywhere;
        if (at[d].hi < at[d].lo) return nowhere;
        total *= at[d].hi - at[d].lo < MOST ? at[d].hi - at[d].lo + 1 : MOST;
        if (total > MOST) return anywhere;
    }
    for (int64_t k = 0; k < total; k++) {
        int64_t rest = k;
        for (int d = n->nops - 1; d >= 0; d--) {
            index[d] = at[d].lo + rest % (at[d].hi - at[d].lo + 1);
            rest /= at[d].hi - at[d].lo + 1;
        }
        if (!r->s->opt->value(r->s->opt->ctx, n->i, r->s->iteration, index, &v)) return anywhere;
        if (out.hi < out.lo) out = (struct range){v, v};
        out.lo = v < out.lo ? v : out.lo;
        out.hi = v > out.hi ? v : out.hi;
    }
    return out;
}

static struct range hull(struct range a, struct range b) {
    return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

static struct range range_of_op2(et_xop op, struct range a, struct range b) {
    if (a.hi < a.lo || b.hi < b.lo) return nowhere;
    if (op == ET_X_MIN) return (struct range){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
    if (op == ET_X_MAX) return (struct range){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
    if (op == ET_X_MOD && is_point(b) && b.lo > 0 && !is_known(a))
        return (struct range){0, b.lo - 1};
    if (!is_known(a) || !is_known(b)) return anywhere;
    et_range r;
    bool ok = et_range_apply(op, (et_range){a.lo, a.hi}, (et_range){b.lo, b.hi}, &r);
    return ok ? (struct range){r.lo, r.hi} : anywhere;
}

static struct range range_of(const struct reader *r, et_expr e) {
    const et_node_x *n = et_x(r->s->x, e);
    int64_t known = size_now(r->g, e, SIM_UNKNOWN);
    switch (n->op) {
    case ET_X_INT:
        return (struct range){n->n, n->n};
    case ET_X_SYM:
        return (struct range){r->s->syms[n->i], r->s->syms[n->i]};
    case ET_X_VAR:
        return range_of_var(r, n->i);
    case ET_X_LOAD:
        return range_of_load(r, n);
    case ET_X_SELECT:
        known = size_now(r->g, n->ops[0], SIM_UNKNOWN);
        if (known != SIM_UNKNOWN && !et_x(r->s->x, n->ops[0])->nops) /* decided for the tile */
            return range_of(r, n->ops[known ? 1 : 2]);
        return hull(range_of(r, n->ops[1]), range_of(r, n->ops[2]));
    default:
        if (n->type != ET_T_I32 || n->nops != 2) return anywhere;
        return range_of_op2(n->op, range_of(r, n->ops[0]), range_of(r, n->ops[1]));
    }
}

/* ---- bytes of one access ---- */

struct mention {
    const struct reader *r;
    int var[ET_MAX_VARS];
    int n;
};

static void note_var(void *ctx, et_expr e) {
    struct mention *m = ctx;
    const et_node_x *x = et_x(m->r->s->x, e);
    if (x->op != ET_X_VAR || is_fixed(m->r, x->i)) return;
    for (int i = 0; i < m->n; i++)
        if (m->var[i] == x->i) return;
    if (m->n < ET_MAX_VARS) m->var[m->n++] = x->i;
}

static uint64_t mix(uint64_t h, int64_t v) {
    h = (h ^ (uint64_t)v) * 0x9E3779B97F4A7C15u;
    return h ^ h >> 29;
}

/* Elements of the box the access touches, no more than it asks for; OUT_KEY tells boxes apart. */
static double access_bytes(const struct reader *r, const struct sim_access *a, uint64_t *out_key) {
    if (a->step->promised && size_now(r->g, a->step->mask, 1) == 0) return 0;
    const et_tensor *t = &r->s->p->tensors[a->tensor];
    struct mention m = {.r = r};
    double box = et_dtype_width(t->shape.dtype), asked = box;
    uint64_t key = mix((uint64_t)a->tensor + 1, a->is_store);
    for (int d = 0; d < a->rank; d++) {
        struct range at = range_of(r, a->index[d]);
        int64_t n = et_eval(r->s->x, t->shape.dim[d], r->s->syms, r->s->vars);
        if (at.hi < at.lo) return 0;
        at.lo = at.lo < 0 ? 0 : at.lo;
        at.hi = at.hi >= n ? n - 1 : at.hi;
        if (at.hi < at.lo) return 0;
        box *= (double)(at.hi - at.lo + 1);
        key = mix(mix(key, at.lo), at.hi);
        et_walk(r->s->x, a->index[d], note_var, &m);
    }
    for (int i = 0; i < m.n; i++)
        asked *= (double)extent_of(r, m.var[i]);
    *out_key = key;
    return asked < box ? asked : box;
}

/* ---- sharing ---- */

struct touched {
    uint64_t key;
    int group;      /* + 1 */
    double brought; /* by the grid, when it was touched last */
};

struct share {
    float bytes;
    int tiles;
};

struct sharing {
    struct touched *slot;
    size_t nslots;
    struct share *group;
    int n, cap;
    double brought, fits;
};

static int enter(struct sharing *sh, uint64_t key, double bytes) {
    size_t at = (size_t)key & (sh->nslots - 1);
    while (sh->slot[at].group && sh->slot[at].key != key)
        at = (at + 1) & (sh->nslots - 1);
    struct touched *t = &sh->slot[at];
    bool there = t->group && sh->brought - t->brought <= sh->fits;
    if (!there) {
        if (sh->n == sh->cap) {
            sh->cap = sh->cap ? 2 * sh->cap : 256;
            sh->group = realloc(sh->group, (size_t)sh->cap * sizeof *sh->group);
            if (!sh->group) et_no_memory();
        }
        sh->group[sh->n++] = (struct share){(float)bytes, 0};
        sh->brought += bytes;
        t->group = sh->n;
    }
    t->key = key;
    t->brought = sh->brought;
    sh->group[t->group - 1].tiles++;
    return t->group - 1;
}

/* ---- a grid ---- */

static double size_fn(void *ctx, et_expr e, double guess) {
    const struct reader *r = ctx;
    int64_t v = size_now(r->g, e, SIM_UNKNOWN), n;
    if (v != SIM_UNKNOWN) return (double)v;
    if (et_is_int(r->s->x, e, &n)) return (double)n;
    const et_node_x *x = et_x(r->s->x, e);
    if (x->op != ET_X_SELECT) return guess;
    double a = size_fn(ctx, x->ops[1], guess), b = size_fn(ctx, x->ops[2], guess);
    return a > b ? a : b;
}

/* The profile's time of the grid, on the CUs that it may use, over the predicted one. */
static double scale(struct sim *s, const struct sim_grid *g, int instance) {
    const et_machine *m = s->m;
    double us;
    if (!s->opt->profile || g->tiles < 1) return 1;
    int64_t cus = sim_part_of(s, instance).count * m->cus / s->nwg;
    if (cus < 1) cus = 1;
    if (!et_profile_us(s->opt->profile, et_profile_hash(s->p, g->g, s->syms), (double)cus, &us))
        return 1;
    double modelled = et_grid_cost_at(s->p, g->g, m, s->syms).tile_us;
    double rounds = (double)((g->tiles + cus - 1) / cus);
    double timed = us / rounds - ET_DEPENDENT_LOADS * m->latency_us;
    return timed > 0 && modelled > 0 ? timed / modelled : 1;
}

/* CUs that have a tile of the grid in the round of this one. */
static double busy_with(const struct sim *s, const struct sim_grid *g, int64_t tile) {
    int64_t cus = s->nwg < s->m->cus ? s->nwg : s->m->cus, first = tile / cus * cus;
    return (double)(g->tiles - first < cus ? g->tiles - first : cus);
}

static void cost_tile(struct sim *s, struct sim_grid *g, struct sim_tile_cost *cost,
                      struct sharing *sh, int64_t tile, int *group) {
    struct reader r = {.s = s, .g = g};
    if (g->owner.id && et_eval(s->x, g->owner, s->syms, s->vars) != 0) {
        cost[tile] = (struct sim_tile_cost){.foreign = true};
        for (int i = 0; i < g->naccess; i++)
            group[i] = -1;
        return;
    }
    sim_sheet_run(s, g->sizes);
    et_tile_cost c = et_tile_cost_of(s->p, g->f, g->elements, s->m, size_fn, &r);
    if (c.copied_bytes > 0)
        c.cache_bytes -= c.copied_bytes * (1 - s->m->cache_gbs_cu / s->m->copy_gbs_cu);
    if (g->streamed) { /* they are copied past the caches, and read in local memory */
        c.cache_bytes -= c.stream_bytes;
        c.local_bytes += c.stream_bytes;
    }
    double share = c.copied_bytes > 0 ? et_piped_share(busy_with(s, g, tile), s->m) : 1;
    cost[tile] = (struct sim_tile_cost){.us = (float)(g->scale * share * et_tile_us(&c, s->m))};
    if (g->streamed) cost[tile].stage_bytes = (float)c.stream_bytes;
    for (int i = 0; i < g->naccess; i++) {
        uint64_t key = 0;
        r.step = g->access[i].step;
        double bytes = access_bytes(&r, &g->access[i], &key);
        group[i] = bytes > 0 ? enter(sh, key, bytes) : -1;
    }
    for (int i = 0; i < g->nsent; i++) {
        uint64_t key;
        r.step = g->sent[i].step;
        double bytes = access_bytes(&r, &g->sent[i], &key);
        cost[tile].sent_bytes += (float)sim_sent_of(s, &s->p->tensors[g->sent[i].tensor], bytes);
    }
}

static void share_out(struct sim *s, struct sim_grid *g, struct sim_tile_cost *cost,
                      const struct sharing *sh, const int *group) {
    for (int64_t t = 0; t < g->tiles; t++) {
        float early = 0, most = (float)(s->m->load_kb * 1024);
        for (int i = 0; i < g->naccess; i++) {
            int k = group[t * g->naccess + i];
            if (k < 0) continue;
            float bytes = sh->group[k].bytes / (float)sh->group[k].tiles;
            cost[t].memory_bytes += bytes;
            if (g->access[i].streamed) cost[t].stream_bytes += bytes;
            early += (float)g->access[i].early * bytes;
        }
        cost[t].early_bytes = early < most ? early : most;
    }
}

static void cost_grid(struct sim *s, struct sim_grid *g, int instance, struct sim_tile_cost *cost) {
    struct sharing sh = {.fits = s->m->cache_mb * 1048576, .nslots = 64};
    size_t n = (size_t)g->tiles * (size_t)(g->naccess + 1);
    while (sh.nslots < 2 * n)
        sh.nslots *= 2;
    int *group = malloc(n * sizeof *group);
    sh.slot = calloc(sh.nslots, sizeof *sh.slot);
    if (!group || !sh.slot) et_no_memory();
    for (int64_t t = 0; t < g->tiles; t++) {
        sim_enter(s, instance, t);
        cost_tile(s, g, cost, &sh, t, group + t * g->naccess);
    }
    share_out(s, g, cost, &sh, group);
    free(sh.slot);
    free(sh.group);
    free(group);
}

const struct sim_tile_cost *sim_cost(struct sim *s, int instance, int64_t tile) {
    const struct sim_instance *in = &s->inst[instance];
    struct sim_grid *g = &s->grid[in->grid];
    if (!g->sizes) collect(s, g);
    bool loads = sim_sheet_loads(g->sizes);
    int at = loads ? (int)(in->iteration & 1) : 0;
    if (g->cost_iteration[at] != -2 && g->cost_iteration[at] != in->iteration) {
        if (!(g->scale > 0)) g->scale = scale(s, g, instance);
        if (!g->cost[at]) g->cost[at] = malloc((size_t)g->tiles * sizeof *g->cost[at]);
        if (!g->cost[at]) et_no_memory();
        cost_grid(s, g, instance, g->cost[at]);
        g->cost_iteration[at] = loads ? in->iteration : -2;
    }
    return &g->cost[at][tile];
}
