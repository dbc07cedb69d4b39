/* Tagged temporaries and unfenced events: what they may be. */
#include "ir/program/tags.h"
#include "ir/base/arena.h"
#include "ir/program/deal.h"

enum { LEAST_LAUNCHES = 64, LEAST_NUMBERS = 64, FLAGS_ALIGN = 256 };

/* ---- what is touched ---- */

struct seen {
    const et_program *p;
    bool any;
};

static bool is_tagged(const void *ctx, et_expr e) {
    const et_program *p = ctx;
    const et_node_x *n = et_x(p->g->exprs, e);
    return n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && p->tensors[n->i].tagged;
}

static bool loads_tagged(const et_program *p, et_expr e) {
    return et_expr_any(p->g->exprs, e, is_tagged, p);
}

static void note_touch(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct seen *s = ctx;
    (void)is_store, (void)index;
    s->any |= space == ET_LOAD_TENSOR && s->p->tensors[id].tagged;
}

int et_step_tagged(const et_program *p, const et_step *s, bool *out_store) {
    const et_node_x *v;
    *out_store = false;
    if (s->kind != ET_STEP_MAP || !s->tag.id) return -1;
    if (s->to.space == ET_LOAD_TENSOR) {
        *out_store = true;
        return p->tensors[s->to.id].tagged ? s->to.id : -1;
    }
    v = et_x(p->g->exprs, s->value);
    bool takes = v->op == ET_X_LOAD && v->i2 == ET_LOAD_TENSOR && p->tensors[v->i].tagged;
    return takes ? v->i : -1;
}

/* ---- steps ---- */

/* The step has a tag: it touches one tagged tensor, at one place. */
static const char *tagged_problem(const et_program *p, const et_func *f, const et_step *s) {
    bool store, others = loads_tagged(p, s->mask);
    int64_t lo, hi;
    int tensor = et_step_tagged(p, s, &store);
    if (tensor < 0)
        return et_printf(p->g->arena,
                         "@%s: a step with a tag stores to a tagged tensor or takes one to a "
                         "local buffer, element by element",
                         f->name);
    for (int i = 0; i < s->to.rank; i++)
        others |= loads_tagged(p, s->to.index[i]);
    if (store) {
        others |= loads_tagged(p, s->value);
        for (int i = 0; i < s->to.rank; i++)
            if (et_expr_loads(p->g->exprs, s->to.index[i]))
                return et_printf(p->g->arena, "@%s: a tensor says where it stores what is tagged",
                                 f->name);
    } else {
        const et_node_x *v = et_x(p->g->exprs, s->value);
        for (int i = 0; i < v->nops; i++)
            others |= loads_tagged(p, v->ops[i]);
        if (f->locals[s->to.id].dtype != p->tensors[tensor].shape.dtype)
            return et_printf(p->g->arena, "@%s takes a tagged tensor to a buffer of another type",
                             f->name);
    }
    if (others) return et_printf(p->g->arena, "@%s reads a tagged tensor beside another", f->name);
    if (et_expr_loads(p->g->exprs, s->tag) ||
        et_expr_has_vars(p->g->exprs, s->tag, f->ncoords, f->coord) ||
        et_expr_has_vars(p->g->exprs, s->tag, s->nvars, s->vars) ||
        !et_bounds(p->g->exprs, s->tag, &lo, &hi) || lo < 0 || hi > INT32_MAX / LEAST_LAUNCHES)
        return et_printf(p->g->arena, "@%s has a tag that is not from 0 to a small number",
                         f->name);
    return NULL;
}

static const char *step_problem(const et_program *p, const et_func *f, const et_step *s) {
    struct seen touched = {p, false};
    if (s->tag.id) return tagged_problem(p, f, s);
    et_step_touches(p->g->exprs, s, note_touch, &touched);
    return touched.any ? et_printf(p->g->arena,
                                   "@%s touches a tagged tensor in a step without a tag", f->name)
                       : NULL;
}

/* Of a tensor that the function stores to: another step of it touches the tensor too. Which of two
 * elements of one task a tag is of could not be told. */
static bool twice(const et_program *p, const et_func *f, int step) {
    bool store, other;
    int tensor = et_step_tagged(p, &f->steps[step], &store);
    if (!store) return false;
    for (int i = 0; i < f->nsteps; i++)
        if (i != step && et_step_tagged(p, &f->steps[i], &other) == tensor) return true;
    return false;
}

static const char *func_problem(const et_program *p, const et_func *f) {
    for (int i = 0; i < f->nsteps; i++) {
        const char *problem = step_problem(p, f, &f->steps[i]);
        if (problem) return problem;
        if (twice(p, f, i))
            return et_printf(p->g->arena, "@%s stores to a tagged tensor that it touches elsewhere",
                             f->name);
    }
    return NULL;
}

/* ---- events ---- */

/* An event of the system: devices tell each other of it by flags. */
static bool is_flag(const et_program *p, int event) {
    return p->g->devices && p->events[event].scope == ET_SCOPE_SYSTEM;
}

static bool vars_load_tagged(const et_program *p, int n, const int *vars) {
    bool any = false;
    for (int i = 0; i < n; i++)
        any |= loads_tagged(p, et_var_extent(p->g->exprs, vars[i]));
    return any;
}

/* What a wait or a notify does with tags: INDEX is of an event of rank N. */
static const char *edge_problem(const et_program *p, const et_grid *g, int event, const et_expr *lo,
                                const et_expr *hi, int nvars, const int *vars) {
    const et_event *e = &p->events[event];
    bool loads = vars_load_tagged(p, nvars, vars) || loads_tagged(p, e->count);
    for (int d = 0; d < e->rank; d++)
        loads |= loads_tagged(p, lo[d]) || loads_tagged(p, hi[d]);
    if (loads)
        return et_printf(p->g->arena, "@%s reads a tagged tensor to find a counter", g->name);
    if (is_flag(p, event) &&
        (g->dynamic || g->slice.count || !et_expr_is_known(p->g->exprs, e->count)))
        return et_printf(
            p->g->arena,
            "@%s is dynamic or in slices, or counts what tensors say, and has an event "
            "of the system",
            g->name);
    if (e->unfenced && (g->dynamic || g->slice.count || g->order == ET_TILES_CLAIMED))
        return et_printf(p->g->arena,
                         "@%s is dynamic, claimed or in slices, and has a unfenced event", g->name);
    return NULL;
}

static const char *grid_problem(const et_program *p, const et_grid *g) {
    const char *problem = NULL;
    for (int i = 0; i < g->nwaits && !problem; i++) {
        const et_wait *w = &g->waits[i];
        problem = edge_problem(p, g, w->event, w->lo, w->hi, w->nvars, w->vars);
    }
    for (int i = 0; i < g->nnotifies && !problem; i++) {
        const et_notify *n = &g->notifies[i];
        problem = edge_problem(p, g, n->event, n->index, n->index, n->nvars, n->vars);
        if (!problem && n->nvars && is_flag(p, n->event))
            problem = et_printf(p->g->arena, "@%s notifies several counters of the system at once",
                                g->name);
    }
    return problem;
}

/* ---- what is sent apart ---- */

struct stored {
    const et_program *p;
    int inbox; /* stores to inboxes */
};

static void note_inbox(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct stored *s = ctx;
    (void)index;
    s->inbox += is_store && space == ET_LOAD_TENSOR && et_in_inbox(&s->p->tensors[id]);
}

/* Where the step stores, and whether, is known without memory. */
static bool is_known_where(const et_program *p, const et_step *s) {
    bool loads = s->mask.id && et_expr_loads(p->g->exprs, s->mask);
    for (int i = 0; i < s->to.rank; i++)
        loads |= et_expr_loads(p->g->exprs, s->to.index[i]);
    return !loads;
}

/* The last step of F alone stores to other devices, elements that have flags. */
bool et_may_be_sent_apart(const et_program *p, const et_func *f) {
    struct stored s = {.p = p};
    const et_step *last = f->nsteps ? &f->steps[f->nsteps - 1] : NULL;
    for (int i = 0; i < f->nsteps; i++)
        et_step_touches(p->g->exprs, &f->steps[i], note_inbox, &s);
    return last && last->kind == ET_STEP_MAP && last->to.space == ET_LOAD_TENSOR && s.inbox == 1 &&
           et_in_inbox(&p->tensors[last->to.id]) && !p->tensors[last->to.id].tagged &&
           !p->tensors[last->to.id].own && is_known_where(p, last);
}

static const char *apart_problem(const et_program *p, const et_grid *g) {
    if (!g->apart) return NULL;
    if (g->dynamic || g->slice.count || g->streamed || g->order == ET_TILES_CLAIMED)
        return et_printf(p->g->arena,
                         "@%s is dynamic, claimed, streamed or in slices, and is sent apart",
                         g->name);
    if (!et_may_be_sent_apart(p, &p->funcs[g->func]))
        return et_printf(p->g->arena,
                         "@%s is sent apart, and its last step alone does not store what devices "
                         "exchange with flags",
                         g->name);
    return NULL;
}

/* ---- what is partial over devices ---- */

/* The store of step S of G is at the iterations of all loops around the grid, outermost first. */
static bool once_a_launch(const et_program *p, const et_grid *g, const et_step *s) {
    int depth = 0;
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent)
        depth++;
    if (s->to.rank < depth) return false;
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent) {
        const et_loop *loop = &p->g->loops[l];
        const et_node_x *at = et_x(p->g->exprs, s->to.index[--depth]);
        bool only = loop->hi - loop->lo == 1 && at->op == ET_X_INT && at->n == 0;
        if (!only && (at->op != ET_X_VAR || at->i != loop->var)) return false;
    }
    return true;
}

/* The step stores to tensor T, which is partial. */
static bool stores_to(const et_program *p, const et_step *s, int t) {
    bool store;
    if (p->tensors[t].tagged) return et_step_tagged(p, s, &store) == t && store;
    const et_place *to = et_step_to(s);
    return to && to->space == ET_LOAD_TENSOR && to->id == t;
}

static bool is_of_devices(const et_program *p, const et_tensor *t) {
    int64_t n;
    return !t->own || (t->own <= t->shape.rank &&
                       et_is_int(p->g->exprs, t->shape.dim[t->own - 1], &n) && n == t->partial);
}

struct touch {
    int tensor;
    bool any;
};

static void note_other(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct touch *s = ctx;
    (void)is_store, (void)index;
    s->any |= space == ET_LOAD_TENSOR && id == s->tensor;
}

/* A step that may copy what it reads, as it is, touches tensor T: it would take one device's
 * rounded part for the sum. */
static bool is_copied(const et_program *p, int t) {
    struct touch s = {.tensor = t};
    for (int i = 0; i < p->nfuncs; i++)
        for (int k = 0; k < p->funcs[i].nsteps; k++) {
            const et_step *step = &p->funcs[i].steps[k];
            bool adds = (step->kind == ET_STEP_MAP && step->map.early != ET_MAP_EARLY_COPY) ||
                        step->kind == ET_STEP_REDUCE;
            if (!adds) et_step_touches(p->g->exprs, step, note_other, &s);
        }
    return s.any;
}

static const char *partial_problem(const et_program *p, int t) {
    const char *name = p->tensors[t].name;
    int stores = 0;
    bool once = true;
    if (!p->tensors[t].shared && p->tensors[t].tagged == p->tensors[t].flagged)
        return et_printf(p->g->arena, "%%%s is partial over devices and %s tagged%s", name,
                         p->tensors[t].tagged ? "both" : "neither",
                         p->tensors[t].tagged ? " and flagged" : " nor flagged");
    if (p->tensors[t].partial && !et_may_be_partial(&p->tensors[t]))
        return et_printf(p->g->arena, "%%%s is partial over devices and not f32", name);
    if (p->tensors[t].partial && p->tensors[t].shape.dtype != ET_F32 && is_copied(p, t))
        return et_printf(p->g->arena, "%%%s has rounded parts, which maps and reductions alone add",
                         name);
    if (!is_of_devices(p, &p->tensors[t]))
        return et_printf(p->g->arena, "%%%s has no dimension with an index for each device", name);
    for (int i = 0; i < p->ngrids; i++) {
        const et_func *f = &p->funcs[p->grids[i].func];
        for (int k = 0; k < f->nsteps; k++) {
            if (!stores_to(p, &f->steps[k], t)) continue;
            once &= f->steps[k].kind == ET_STEP_MAP && once_a_launch(p, &p->grids[i], &f->steps[k]);
            stores++;
        }
    }
    if (stores == 1 && once) return NULL;
    return et_printf(p->g->arena,
                     "%%%s is exchanged by devices, and a word of it may be stored twice in a "
                     "launch: what another device still has to read may be gone",
                     name);
}

static bool may_be_tagged(const et_tensor *t) {
    return t->kind == ET_TENSOR_TEMP && !et_dtype_is_code(t->shape.dtype) &&
           (et_dtype_bits(t->shape.dtype) == 16 || et_dtype_bits(t->shape.dtype) == 32);
}

static bool has_flags(const et_program *p) {
    bool any = false;
    for (int e = 0; e < p->nevents; e++)
        any |= is_flag(p, e);
    return any;
}

static bool has_any(const et_program *p) {
    bool any = false;
    for (int i = 0; i < p->ntensors; i++)
        any |=
            p->tensors[i].tagged || (et_in_inbox(&p->tensors[i]) && p->stage >= ET_STAGE_SCHEDULED);
    for (int i = 0; i < p->nevents; i++)
        any |= p->events[i].unfenced || is_flag(p, i);
    for (int i = 0; i < p->ngrids; i++)
        any |= p->grids[i].apart;
    for (int i = 0; i < p->nfuncs; i++)
        for (int k = 0; k < p->funcs[i].nsteps; k++)
            any |= p->funcs[i].steps[k].tag.id != 0;
    return any;
}

const char *et_tags_problem(et_program *p) {
    const char *problem = NULL;
    if (!has_any(p)) return NULL;
    if (p->stage < ET_STAGE_EVENTED) return "tags and unfenced events come with events";
    if (et_schedule_of(p->schedule)->kernels)
        return "tasks of kernels of their own have no unfenced events";
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].tagged && !may_be_tagged(&p->tensors[i]))
            return et_printf(p->g->arena,
                             "%%%s is tagged, but no temporary of elements of 16 or 32 bits",
                             p->tensors[i].name);
    for (int i = 0; i < p->nevents; i++)
        if (p->events[i].unfenced &&
            (p->events[i].promised || p->events[i].scope < ET_SCOPE_DEVICE || is_flag(p, i)))
            return et_printf(p->g->arena,
                             "event %%%s is unfenced, but promised or not of the device",
                             p->events[i].name);
    for (int i = 0; i < p->ntensors && !problem; i++)
        if (et_in_inbox(&p->tensors[i]) && p->stage >= ET_STAGE_SCHEDULED)
            problem = partial_problem(p, i);
    for (int i = 0; i < p->nfuncs && !problem; i++)
        problem = func_problem(p, &p->funcs[i]);
    for (int i = 0; i < p->ngrids && !problem; i++) {
        problem = grid_problem(p, &p->grids[i]);
        if (!problem) problem = apart_problem(p, &p->grids[i]);
    }
    if (!problem && et_tags_of(p).launches < LEAST_LAUNCHES)
        problem = "so many tags do not fit beside elements of 16 bits";
    return problem;
}

/* ---- all of them ---- */

/* The range AT, BYTES as far as X needs it. */
static void hold(const et_tensor *x, int64_t *at, int64_t *bytes) {
    int64_t end = *bytes ? *at + *bytes : x->offset;
    if (!*bytes || x->offset < *at) *at = x->offset;
    if (x->offset + x->max_bytes > end) end = x->offset + x->max_bytes;
    *bytes = end - *at;
}

static void note_tags(const et_program *p, et_tags *t, int *bits) {
    int64_t lo, hi;
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *x = &p->tensors[i];
        if (!x->tagged && !x->flagged && !x->shared) continue;
        if (et_in_inbox(x))
            hold(x, &t->inbox, &t->inbox_bytes);
        else
            hold(x, &t->offset, &t->bytes);
        if (et_dtype_bits(x->shape.dtype) < *bits) *bits = et_dtype_bits(x->shape.dtype);
    }
    for (int i = 0; i < p->nfuncs; i++)
        for (int k = 0; k < p->funcs[i].nsteps; k++) {
            et_expr tag = p->funcs[i].steps[k].tag;
            if (tag.id && et_bounds(p->g->exprs, tag, &lo, &hi) && hi >= t->numbers)
                t->numbers = hi + 1;
        }
}

et_tags et_tags_of(et_program *whole) {
    et_tags t = {.launches = 1};
    int bits = 32;
    et_program *p;
    int words = 0;
    bool flags = false;
    int64_t workspace = 0;
    for (int i = 0; (p = et_program_part(whole, i)); i++) {
        note_tags(p, &t, &bits);
        if (p->workspace_bytes > workspace) workspace = p->workspace_bytes;
        flags |= has_flags(p);
        for (int k = 0; k < p->ntensors; k++)
            flags |= p->tensors[k].flagged || p->tensors[k].shared;
        if (p->event_words > words) words = p->event_words;
    }
    if (flags) {
        if (!t.inbox_bytes) t.inbox = workspace;
        t.flags = (t.inbox_bytes / FLAGS_ALIGN + 1) * FLAGS_ALIGN;
        t.inbox_bytes = t.flags + (int64_t)4 * words * whole->g->devices;
        if (t.numbers < LEAST_NUMBERS) t.numbers = LEAST_NUMBERS;
    }
    /* 0 is what the runtime leaves, and no tag. */
    while (t.numbers > 0 && 2 * t.launches * t.numbers < (int64_t)1 << bits)
        t.launches *= 2;
    return t;
}

static bool overlap(const et_tensor *a, const et_tensor *b) {
    return a->kind == ET_TENSOR_TEMP && b->kind == ET_TENSOR_TEMP && (a->tagged || b->tagged) &&
           a->offset < b->offset + b->max_bytes && b->offset < a->offset + a->max_bytes;
}

const char *et_tags_shared_problem(et_program *whole) {
    const et_program *p, *q;
    for (int i = 0; (p = et_program_part(whole, i)); i++)
        for (int k = 0; k < i && (q = et_program_part(whole, k)); k++)
            for (int a = 0; a < p->ntensors; a++)
                for (int b = 0; b < q->ntensors; b++)
                    if (overlap(&p->tensors[a], &q->tensors[b]))
                        return et_printf(whole->g->arena,
                                         "%%%s and %%%s of two variants share memory, and one of "
                                         "them is tagged",
                                         p->tensors[a].name, q->tensors[b].name);
    return NULL;
}
