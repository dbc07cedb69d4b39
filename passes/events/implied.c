/* Edges that follow from others: waiting for them would order nothing more. */
#include "passes/events/int.h"

/* Does E never fall as VAR grows? Enough for the shapes tiles_meeting builds. */
static bool grows_with(const struct events *e, et_expr ex, int var) {
    const et_node_x *n = et_x(e->x, ex);
    int64_t lo, hi;
    switch (n->op) {
    case ET_X_INT:
    case ET_X_SYM:
    case ET_X_VAR:
        return true;
    case ET_X_ADD:
    case ET_X_MIN:
    case ET_X_MAX:
        return grows_with(e, n->ops[0], var) && grows_with(e, n->ops[1], var);
    case ET_X_MUL:
        return et_bounds(e->x, n->ops[1], &lo, &hi) && lo == hi &&
               (lo >= 0
                    ? grows_with(e, n->ops[0], var)
                    : et_expr_eq(et_subst_var(e->x, n->ops[0], var, et_int(e->x, 0)), n->ops[0]));
    case ET_X_IDIV:
        return et_is_int(e->x, n->ops[1], &lo) && lo > 0 && grows_with(e, n->ops[0], var);
    default:
        return false;
    }
}

/* The tiles of coordinate A that are done before a tile of B starts, given that it waits for the
 * tiles CB of C and each of those waited for AC. */
static bool through(const struct events *e, const struct edge *ac, const struct edge *cb, int a,
                    struct span *out) {
    const et_grid *mid = &e->p->grids[ac->to];
    const et_func *f = &e->p->funcs[mid->func];
    *out = ac->box[a];
    if (out->all) return true;
    for (int c = 0; c < f->ncoords; c++) {
        int var = f->coord[c];
        et_expr zero = et_int(e->x, 0), last = et_sub(e->x, mid->extent[c], et_int(e->x, 1));
        if (et_expr_eq(et_subst_var(e->x, out->lo, var, zero), out->lo) &&
            et_expr_eq(et_subst_var(e->x, out->hi, var, zero), out->hi))
            continue;
        bool single = !cb->box[c].all && et_expr_eq(cb->box[c].lo, cb->box[c].hi);
        /* The union over neighbouring tiles of C has no gaps. */
        et_expr next = et_add(e->x, et_var(e->x, var), et_int(e->x, 1));
        et_expr gap = et_subst_var(e->x, out->lo, var, next);
        if (!single &&
            (!grows_with(e, out->lo, var) || !grows_with(e, out->hi, var) ||
             !events_proved(e, et_op2(e->x, ET_X_LE, gap, et_add(e->x, out->hi, et_int(e->x, 1))))))
            return false;
        out->lo = et_subst_var(e->x, out->lo, var, cb->box[c].all ? zero : cb->box[c].lo);
        out->hi = et_subst_var(e->x, out->hi, var, cb->box[c].all ? last : cb->box[c].hi);
    }
    return true;
}

/* Are the tiles that AB waits for among those of HAVE? */
static bool covers(const struct events *e, const struct edge *ab, const struct edge *have) {
    const et_grid *g = &e->p->grids[ab->from];
    const et_func *f = &e->p->funcs[g->func];
    for (int a = 0; a < f->ncoords; a++) {
        if (have->box[a].all) continue;
        et_expr last = et_sub(e->x, g->extent[a], et_int(e->x, 1));
        et_expr lo = ab->box[a].all ? et_int(e->x, 0) : ab->box[a].lo;
        et_expr hi = ab->box[a].all ? last : ab->box[a].hi;
        if (!events_proved(e, et_op2(e->x, ET_X_LE, have->box[a].lo, lo)) ||
            !events_proved(e, et_op2(e->x, ET_X_LE, hi, have->box[a].hi)))
            return false;
    }
    return true;
}

/* The iterations that A -> C and C -> B together order. */
static bool compose(const struct events *e, const struct edge *ac, const struct edge *cb,
                    struct edge *out) {
    const et_grid *g = e->p->grids;
    int a = g[ac->from].loop, b = g[cb->to].loop, c = g[ac->to].loop;
    *out = (struct edge){.from = ac->from, .to = cb->to, .carried = -1, .needed = true};
    if (a == b && b == c) {
        out->carried = ac->carried >= 0 ? ac->carried : cb->carried;
        return ac->carried < 0 || cb->carried < 0;
    }
    /* Where A is in a loop that B is not in, "every iteration" must be kept. */
    out->every = c == a ? cb->every : ac->every;
    /* A and C in the same iteration of all their loops, and B in the next one of a loop around. */
    if (c == a && ac->carried < 0 && cb->carried >= 0) {
        out->carried = cb->carried;
        return true;
    }
    /* In one iteration of the loops around A and B every iteration of C waited for A. Only of many
     * grids do such waits grow with the square; those of few are as kernels were measured. */
    bool apart =
        e->p->ngrids > EVENTS_MANY && events_shared_loops(e->p, &g[ac->from], &g[ac->to]) ==
                                          events_shared_loops(e->p, &g[ac->from], &g[cb->to]);
    return ac->carried < 0 && cb->carried < 0 && (c == a || c == b || apart);
}

static bool same_order(const struct edge *have, const struct edge *want) {
    return have->from == want->from && have->to == want->to && have->carried == want->carried &&
           (have->every || !want->every);
}

/* How many grids of the program an edge spans; one across an iteration goes once around. */
static int length(const struct events *e, const struct edge *ed) {
    int n = e->position[ed->to] - e->position[ed->from];
    return ed->carried >= 0 ? n + e->now : n;
}

enum { MAX_REACHED = 48 };

/* What is ordered after tiles of one grid, found by following edges from it. */
struct reached {
    struct edge v[MAX_REACHED];
    int n;
};

/* Adds one; false where it is known or there is no room. */
static bool reach(const struct events *e, struct reached *r, const struct edge *to) {
    const et_func *f = &e->p->funcs[e->p->grids[to->from].func];
    for (int i = 0; i < r->n; i++) {
        const struct edge *o = &r->v[i];
        bool same = o->to == to->to && o->carried == to->carried && o->every == to->every;
        for (int c = 0; same && c < f->ncoords; c++)
            same = o->box[c].all || (!to->box[c].all && et_expr_eq(o->box[c].lo, to->box[c].lo) &&
                                     et_expr_eq(o->box[c].hi, to->box[c].hi));
        if (same) return false;
    }
    if (r->n == MAX_REACHED) return false;
    r->v[r->n++] = *to;
    return true;
}

/* Does waiting as AC and then CB says order all that AB does? In any case *ON is what they order,
 * when the result or *KNOWN is true. */
static bool follows(const struct events *e, const struct edge *ab, const struct edge *ac,
                    const struct edge *cb, struct edge *on, bool *known) {
    const et_func *f = &e->p->funcs[e->p->grids[ab->from].func];
    *known = compose(e, ac, cb, on) && length(e, on) <= length(e, ab);
    for (int c = 0; *known && c < f->ncoords; c++)
        *known = through(e, ac, cb, c, &on->box[c]);
    return *known && same_order(on, ab) && covers(e, ab, on);
}

/* The first edge from grid FROM to TO or to a later one, as an index into e->order. */
static int first_to(const struct events *e, int from, int to) {
    int lo = e->begin[from], hi = e->begin[from + 1];
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (e->edges[e->order[mid]].to < to)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* May it be a link of a chain? */
bool events_orders(const struct edge *ed) {
    return !ed->points && !ed->far && !ed->gaps;
}

static bool may_link(const struct edge *ed, const struct edge *ab) {
    return events_orders(ed) && (ed->system || !ab->system);
}

/* Does A -> B follow from AC and one edge more? */
static bool in_two(const struct events *e, const struct edge *ab, const struct edge *ac) {
    struct edge on;
    bool known;
    for (int k = first_to(e, ac->to, ab->to); k < e->begin[ac->to + 1]; k++) {
        const struct edge *cb = &e->edges[e->order[k]];
        if (cb->to != ab->to) break;
        if (may_link(cb, ab) && follows(e, ab, ac, cb, &on, &known)) return true;
    }
    return false;
}

/* A -> B follows from a chain through other grids: whatever a tile of B needs of A was waited for,
 * link by link, by tiles that it waits for. Every link of a chain spans fewer grids than A -> B
 * itself, so dropping all edges that follow leaves each of them following from edges that stay.
 * Chains of two links come first: among many grids that share memory nearly every edge has one. */
static bool implied(const struct events *e, const struct edge *ab) {
    struct reached r = {.n = 0};
    struct edge on;
    bool known;
    if (ab->far) return false;
    for (int i = e->begin[ab->from]; i < e->begin[ab->from + 1] && r.n < MAX_REACHED; i++) {
        const struct edge *ac = &e->edges[e->order[i]];
        if (!may_link(ac, ab) || length(e, ac) >= length(e, ab)) continue;
        if (reach(e, &r, ac) && in_two(e, ab, ac)) return true;
    }
    for (int i = 0; i < r.n; i++) {
        /* With no room for more, only what ends at B matters. */
        bool full = r.n == MAX_REACHED;
        int k = full ? first_to(e, r.v[i].to, ab->to) : e->begin[r.v[i].to];
        for (; k < e->begin[r.v[i].to + 1]; k++) {
            const struct edge *cb = &e->edges[e->order[k]];
            if (full && cb->to != ab->to) break;
            if (e->position[cb->to] - e->position[ab->from] > length(e, ab)) continue;
            if ((r.n == MAX_REACHED && cb->to != ab->to) || !may_link(cb, ab)) continue;
            if (follows(e, ab, &r.v[i], cb, &on, &known)) return true;
            if (known) reach(e, &r, &on);
        }
    }
    return false;
}

/* The edges in order of the grid they come from, otherwise as they are: by the grid they go to. */
static void sort_edges(struct events *e) {
    et_arena *a = e->pl->g->arena;
    int grids = e->p->ngrids;
    e->begin = et_alloc(a, (size_t)(grids + 1) * sizeof *e->begin);
    e->order = et_alloc(a, (size_t)(e->nedges + 1) * sizeof *e->order);
    int *next = et_alloc(a, (size_t)(grids + 1) * sizeof *next);
    for (int i = 0; i < e->nedges; i++)
        e->begin[e->edges[i].from + 1]++;
    for (int g = 0; g < grids; g++)
        next[g + 1] = e->begin[g + 1] += e->begin[g];
    for (int i = 0; i < e->nedges; i++)
        e->order[next[e->edges[i].from]++] = i;
}

/* Every tile of ED's grid waits for itself in the iteration before. */
static bool waits_for_itself(const struct events *e, const struct edge *ed) {
    const et_func *f = &e->p->funcs[e->p->grids[ed->from].func];
    bool own = ed->from == ed->to && ed->carried >= 0 && events_orders(ed);
    for (int c = 0; c < f->ncoords && own; c++) {
        et_expr var = et_var(e->x, f->coord[c]);
        own = ed->box[c].all || (et_expr_eq(ed->box[c].lo, var) && et_expr_eq(ed->box[c].hi, var));
    }
    return own;
}

static bool same_box(const struct events *e, const struct edge *a, const struct edge *b) {
    for (int c = 0; c < e->p->funcs[e->p->grids[a->from].func].ncoords; c++)
        if (a->box[c].all != b->box[c].all || !et_expr_eq(a->box[c].lo, b->box[c].lo) ||
            !et_expr_eq(a->box[c].hi, b->box[c].hi))
            return false;
    return true;
}

/* Tiles that a tensor names, in the iteration before, follow from those it names in this one when
 * tiles of that grid wait for themselves. */
static bool repeats(const struct events *e, const struct edge *ab) {
    bool now = false, own = false;
    for (int i = e->begin[ab->from]; i < e->begin[ab->from + 1]; i++) {
        const struct edge *o = &e->edges[e->order[i]];
        now |= o->to == ab->to && o->points && o->carried < 0 && same_box(e, o, ab);
        own |= o->carried == ab->carried && waits_for_itself(e, o);
    }
    return ab->points && ab->carried >= 0 && now && own;
}

static bool has_gaps(const struct events *e, const struct edge *ed) {
    const et_grid *from = &e->p->grids[ed->from], *to = &e->p->grids[ed->to];
    for (int c = 0; c < e->p->funcs[from->func].ncoords; c++) {
        const struct span *s = &ed->box[c];
        if (!s->all && (s->holes || events_most_behind(e, to, s->lo, s->hi) > 0)) return true;
    }
    return false;
}

void events_find_gaps(struct events *e) {
    for (int i = 0; i < e->nedges; i++)
        e->edges[i].gaps = has_gaps(e, &e->edges[i]);
}

void events_drop_implied(struct events *e) {
    sort_edges(e);
    events_find_gaps(e);
    for (int i = 0; i < e->nedges; i++)
        e->edges[i].needed = !implied(e, &e->edges[i]) && !repeats(e, &e->edges[i]);
}
