/* What is read of a temporary or an output was written before, in the order of the program: by an
 * earlier step of the same task, by a grid before it, by a tile before it, or in an iteration
 * before. That this order is kept is for the events to say, and shown elsewhere. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"

/* A step of a grid that stores to a tensor. */
struct writer {
    int grid, step, next; /* of the same tensor */
};

struct sv_writers {
    struct writer *v;
    int n, cap;
    int *first; /* by tensor, -1: none */
    int *place; /* by grid: where it comes in the order of the program */
    int places;
};

/* ---- who writes what ---- */

static void number_items(struct steps *s, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &s->p->items[i];
        if (it->kind == ET_P_LOOP)
            number_items(s, it->first, it->count);
        else
            s->writers->place[it->index] = s->writers->places++;
    }
}

void sv_find_writers(struct steps *s) {
    struct sv_writers *w = s->writers = et_alloc(s->arena, sizeof *w);
    w->first = et_alloc(s->arena, (size_t)(s->p->ntensors + 1) * sizeof *w->first);
    w->place = et_alloc(s->arena, (size_t)(s->p->ngrids + 1) * sizeof *w->place);
    for (int t = 0; t < s->p->ntensors; t++)
        w->first[t] = -1;
    for (int g = 0; g < s->p->ngrids; g++)
        w->place[g] = -1;
    number_items(s, s->p->first, s->p->count);
    for (int g = 0; g < s->p->ngrids; g++) {
        const et_func *f = &s->p->funcs[s->p->grids[g].func];
        for (int i = 0; i < f->nsteps; i++) {
            const et_place *to = et_step_to(&f->steps[i]);
            if (!to || to->space != ET_LOAD_TENSOR) continue;
            ET_GROW(s->arena, w->v, w->n, w->cap);
            w->v[w->n] = (struct writer){g, i, w->first[to->id]};
            w->first[to->id] = w->n++;
        }
    }
}

/* ---- loops ---- */

/* Those around a grid, outermost first. */
static int path_of(const struct steps *s, int loop, int path[ET_MAX_LOOPS]) {
    int up[ET_MAX_LOOPS], n = 0;
    for (; loop >= 0 && n < ET_MAX_LOOPS; loop = s->p->g->loops[loop].parent)
        up[n++] = loop;
    for (int i = 0; i < n; i++)
        path[i] = up[n - 1 - i];
    return n;
}

static bool within(const struct steps *s, int loop, int outer) {
    for (; loop >= 0; loop = s->p->g->loops[loop].parent)
        if (loop == outer) return true;
    return false;
}

/* ---- one way in which a store may come before what is read ---- */

enum iteration { SAME, PREVIOUS, EARLIER }; /* of the innermost loop that decides */

struct way {
    const struct writer *w;
    int shared;          /* so many of the outermost loops are in the same iteration */
    enum iteration loop; /* of the next one; SAME: there is none that both are in */
    bool last;           /* of loops of the store's own: the last iteration, else the first */
    bool own;            /* the same task */
};

/* Something else is put into the tensor's memory in between. */
static bool overwritten(const struct steps *s, int tensor, const struct way *y, int reader) {
    const struct sv_writers *all = s->writers;
    const et_tensor *t = &s->p->tensors[tensor];
    int path[ET_MAX_LOOPS];
    const et_grid *from = &s->p->grids[y->w->grid];
    int depth = path_of(s, from->loop, path), outer = y->shared < depth ? path[y->shared] : -1;
    if (t->kind != ET_TENSOR_TEMP || y->own) return false;
    for (int o = 0; o < s->p->ntensors; o++) {
        if (o == tensor || !sv_share_memory(t, &s->p->tensors[o])) continue;
        for (int i = all->first[o]; i >= 0; i = all->v[i].next) {
            int by = all->v[i].grid, at = all->place[by];
            if (outer >= 0 && within(s, s->p->grids[by].loop, outer)) return true;
            if (at > all->place[y->w->grid] && at < all->place[reader]) return true;
        }
    }
    return false;
}

static bool moves_with(const struct steps *s, const et_place *to, int var) {
    for (int d = 0; d < to->rank; d++)
        if (et_expr_has_var(s->x, to->index[d], var)) return true;
    return false;
}

static void add_var(struct store *st, int var, et_expr extent) {
    st->var[st->nvars++] = (et_step_var){var, extent, ET_VAR_EACH};
}

static et_expr trips(struct steps *s, int loop) {
    return s->p->g->loops[loop].trips;
}

/* Loops of the store that the reader is not in the same iteration of. What comes of it that this
 * cannot be is added to *OUT. */
static void enter_loops(struct steps *s, sv_frame *frame, const struct way *y, struct store *st,
                        sv_cond *out) {
    int path[ET_MAX_LOOPS], depth = path_of(s, s->p->grids[y->w->grid].loop, path);
    sv_linear zero = sv_constant(0), one = sv_constant(1);
    for (int i = y->shared; i < depth; i++) {
        int var = s->p->g->loops[path[i]].var;
        bool first = i == y->shared && y->loop != SAME;
        if (first && y->loop == PREVIOUS) {
            sv_linear l = sv_form(s->one, et_var(s->x, var)), before = sv_sum(frame, &l, &one, -1);
            sv_frame_bind(frame, var, &before);
            *out = sv_either(s->problem, *out, sv_lt(s->problem, &before, &zero));
        } else if (first || moves_with(s, st->to, var)) {
            add_var(st, var, trips(s, path[i]));
        } else {
            sv_linear at = sv_form(frame, trips(s, path[i]));
            at = y->last ? sv_sum(frame, &at, &one, -1) : zero;
            sv_frame_bind(frame, var, &at);
        }
    }
}

/* The tile of the store comes before the reader's, in the order of tiles of one grid. */
static sv_cond not_before(struct steps *s, sv_frame *frame) {
    sv_problem *p = s->problem;
    sv_cond out = SV_ANY; /* nor does it, where it is the same */
    for (int c = s->f->ncoords - 1; c >= 0; c--) {
        et_expr e = et_var(s->x, s->f->coord[c]);
        sv_linear a = sv_form(frame, e), b = sv_form(s->one, e);
        out = sv_either(p, sv_lt(p, &b, &a), sv_both(p, sv_eq(p, &a, &b), out));
    }
    return out;
}

/* ---- reads ---- */

struct reading {
    struct steps *s;
    int tensor;
    const sv_linear *at;
    sv_answer answer; /* is there an element that nothing looked at so far has written? */
};

static bool is_mutable(const void *ctx, et_expr e) {
    const struct steps *s = ctx;
    const et_node_x *n = et_x(s->x, e);
    return n->op == ET_X_LOAD && (n->i2 != ET_LOAD_TENSOR || s->writers->first[n->i] >= 0);
}

/* What the store's mask reads may hold something else where the element is read. */
static bool decided_by_past(struct steps *s, const struct way *y, const et_step *st) {
    if (st->promised) return false;
    for (int d = 0; d < st->to.rank; d++)
        if (et_expr_loads(s->x, st->to.index[d])) return false; /* its word is taken, see cover.c */
    if (y->own) return sv_changed(s, st->mask, y->w->step);
    return et_expr_any(s->x, st->mask, is_mutable, s);
}

/* Of a tagged tensor: the store has another tag than the one that is asked for. */
static sv_cond other_tag(struct steps *s, sv_frame *frame, const et_step *store) {
    const et_step *own = &s->f->steps[s->at];
    if (!own->tag.id || !store->tag.id) return sv_never(s->problem);
    sv_linear is = sv_form(frame, store->tag), asked = sv_form(s->one, own->tag);
    return sv_either(s->problem, sv_lt(s->problem, &is, &asked), sv_lt(s->problem, &asked, &is));
}

/* One more way in which it may have been written. */
static void try_way(struct reading *r, const struct way *y) {
    struct steps *s = r->s;
    const et_grid *g = &s->p->grids[y->w->grid];
    const et_func *f = &s->p->funcs[g->func];
    const et_step *st = &f->steps[y->w->step];
    if (r->answer == SV_NO || decided_by_past(s, y, st) ||
        overwritten(s, r->tensor, y, (int)(s->grid - s->p->grids)))
        return;
    sv_frame *frame = sv_inside(s, s->one);
    struct store store = {.to = &st->to, .mask = st->mask, .promised = st->promised};
    sv_cond out = sv_never(s->problem);
    enter_loops(s, frame, y, &store, &out);
    for (int c = 0; c < f->ncoords && !y->own; c++)
        add_var(&store, f->coord[c], g->extent[c]);
    for (int i = 0; i < st->nvars; i++)
        add_var(&store, st->vars[i], et_var_extent(s->x, st->vars[i]));
    if (st->kind == ET_STEP_SCAN) add_var(&store, st->rvar, st->rextent);
    out = sv_either(s->problem, out, sv_uncovered(s, frame, &store, r->at));
    out = sv_either(s->problem, out, other_tag(s, frame, st));
    if (y->loop == EARLIER) {
        int path[ET_MAX_LOOPS];
        path_of(s, g->loop, path);
        et_expr l = et_var(s->x, s->p->g->loops[path[y->shared]].var);
        sv_linear then = sv_form(frame, l), now = sv_form(s->one, l);
        out = sv_either(s->problem, out, sv_le(s->problem, &now, &then));
    }
    if (y->loop == SAME && g == s->grid && !y->own)
        out = sv_either(s->problem, out, not_before(s, frame));
    if (!out.id) return;
    sv_assert(s->problem, out);
    r->answer = sv_solve(s->problem, SV_ANY);
}

static void try_last_too(struct reading *r, struct way y) {
    int path[ET_MAX_LOOPS], depth = path_of(r->s, r->s->p->grids[y.w->grid].loop, path);
    y.last = false;
    try_way(r, &y);
    y.last = true;
    if (depth > y.shared + (y.loop != SAME)) try_way(r, &y);
}

static void try_writer(struct reading *r, const struct writer *w) {
    struct steps *s = r->s;
    const et_grid *g = &s->p->grids[w->grid];
    int mine[ET_MAX_LOOPS], its[ET_MAX_LOOPS], shared = 0;
    int depth = path_of(s, s->grid->loop, mine), other = path_of(s, g->loop, its);
    const struct sv_writers *all = s->writers;
    while (shared < depth && shared < other && mine[shared] == its[shared])
        shared++;
    if (g == s->grid) {
        if (w->step < s->at) try_way(r, &(struct way){w, shared, SAME, false, true});
        if (s->f->ncoords) try_way(r, &(struct way){w, shared, SAME, false, false});
    } else if (all->place[w->grid] < all->place[s->grid - s->p->grids]) {
        try_last_too(r, (struct way){w, shared, SAME, false, false});
    }
    for (int l = shared - 1; l >= 0; l--) {
        const et_place *to = &s->p->funcs[g->func].steps[w->step].to;
        try_last_too(r, (struct way){w, l, PREVIOUS, false, false});
        if (moves_with(s, to, s->p->g->loops[mine[l]].var))
            try_last_too(r, (struct way){w, l, EARLIER, false, false});
    }
}

static bool look(void *ctx, const struct guards *g, const et_node_x *n, bool last) {
    struct steps *s = ctx;
    sv_linear at[ET_MAX_RANK];
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return true;
    et_tensor_kind kind = s->p->tensors[n->i].kind;
    if (kind != ET_TENSOR_TEMP && kind != ET_TENSOR_OUTPUT) return true;
    sv_begin(s, s->at);
    for (int d = 0; d < n->nops; d++)
        at[d] = sv_form(s->one, n->ops[d]);
    sv_assert_guards(s, g);
    struct reading r = {s, n->i, at, SV_YES};
    for (int i = s->writers->first[n->i]; i >= 0; i = s->writers->v[i].next)
        try_writer(&r, &s->writers->v[i]);
    if (r.answer == SV_NO) return true;
    if (last)
        sv_error(s, "reads %s, which nothing before it is shown to have written%s",
                 sv_element(s, ET_LOAD_TENSOR, n->i, n->ops),
                 sv_solve(s->problem, SV_ANY) == SV_YES ? sv_where(s) : "");
    return false;
}

bool sv_check_temps(struct steps *s) {
    bool ok = true;
    for (s->at = 0; ok && s->at < s->f->nsteps; s->at++)
        ok = sv_each_node(s, look, s);
    s->at = -1;
    return ok;
}
