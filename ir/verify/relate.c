/* Which tasks are done before which, for all values of the symbols: edges between instances, made
 * of a notify and a wait, and what follows from several of them one after another. A relation is a
 * few conjunctions of linear constraints over the coordinates of both tasks; where it holds, the
 * earlier is done. What is composed loses the task between, which only has to exist. */
#include "ir/base/diag.h"
#include "ir/verify/symbolic.h"
#include <string.h>

enum { WAYS = 32, DEEP = 48 };

/* ---- one edge ---- */

/* E <= F, or with SIGN -1 E >= F: with as few variables as can be. */
static void push_order(struct symbolic *s, vl_sys *q, vs_side side, et_expr e, vl_form f, int sign,
                       int depth) {
    const et_node_x *n = et_x(s->v->x, e);
    et_xop all = sign > 0 ? ET_X_MAX : ET_X_MIN, any = sign > 0 ? ET_X_MIN : ET_X_MAX;
    vl_form g;
    int64_t by;
    bool known = vs_knows(s, side, e); /* then as it is */
    if (depth > 16) {
        q->bad = true;
    } else if (!known && n->op == all) {
        push_order(s, q, side, n->ops[0], f, sign, depth + 1);
        push_order(s, q, side, n->ops[1], f, sign, depth + 1);
    } else if (!known && n->op == any) {
        vl_form x = vs_form(s, q, side, n->ops[0]), y = vs_form(s, q, side, n->ops[1]);
        vl_split *p = vl_push_split(q);
        p->ways = 2;
        for (int i = 0; i < 2; i++) {
            vl_form d = vl_add(&f, i ? &y : &x, -1);
            d = vl_scale(&d, sign);
            q->bad |= !d.ok;
            p->row[i][p->n[i]++] = (vl_row){d, false};
        }
    } else if (!known && n->op == ET_X_IDIV && et_is_int(s->v->x, n->ops[1], &by) && by > 0) {
        f = vl_scale(&f, by);
        vl_shift(&f, sign > 0 ? by - 1 : 0);
        push_order(s, q, side, n->ops[0], f, sign, depth + 1);
    } else if (!known && n->op == ET_X_ADD && et_is_int(s->v->x, n->ops[1], &by)) {
        vl_form b = vl_const(by);
        f = vl_add(&f, &b, -1);
        push_order(s, q, side, n->ops[0], f, sign, depth + 1);
    } else {
        g = vs_form(s, q, side, e);
        g = vl_add(&f, &g, -1);
        g = vl_scale(&g, sign);
        vl_push(q, &g, false);
    }
}

/* The notify's counter is in the wait's box, but for dimensions that count iterations. */
static void push_meeting(struct symbolic *s, vl_sys *q, int from, int notify, int to, int wait) {
    const struct verify *v = s->v;
    const et_wait *w = &v->grid[v->inst[to].grid].g->waits[wait];
    const et_notify *n = &v->grid[v->inst[from].grid].g->notifies[notify];
    for (int d = 0; d < v->p->events[w->event].rank; d++) {
        if (v->event[w->event].loop[d] >= 0) continue;
        vl_form at = vs_form(s, q, VS_EARLIER, n->index[d]);
        push_order(s, q, VS_LATER, w->lo[d], at, 1, 0);
        push_order(s, q, VS_LATER, w->hi[d], at, -1, 0);
    }
}

/* One piece for each choice of ways of the splits from AT on. */
static void expand(struct symbolic *s, vl_sys *q, int at, int rest, int from, int to, int *left,
                   struct vs_relation *out) {
    int n = q->n;
    if (--*left < 0) return;
    if (at == q->nsplits) {
        vl_sys *copy = vs_system(s);
        for (int i = 0; i < n; i++)
            vl_push_row(copy, &q->row[i]);
        vs_add_projected(s, copy, rest, from, to, out);
        return;
    }
    for (int i = 0; i < q->split[at].ways; i++) {
        for (int r = 0; r < q->split[at].n[i]; r++)
            vl_push_row(q, &q->split[at].row[i][r]);
        expand(s, q, at + 1, rest, from, to, left, out);
        q->n = n;
    }
}

static void make_pieces(struct symbolic *s, vl_sys *q, int rest, const struct vs_edge *e, int to,
                        struct vs_relation *out) {
    int left = WAYS;
    if (!q->bad && !s->context.bad && !s->loose) expand(s, q, 0, rest, e->from, to, &left, out);
}

static void enter_both(struct symbolic *s, vl_sys *q, const struct vs_edge *e, int to) {
    const struct verify *v = s->v;
    const et_wait *w = &v->grid[v->inst[to].grid].g->waits[e->wait];
    const et_notify *n = &v->grid[v->inst[e->from].grid].g->notifies[e->notify];
    vs_start(s);
    vs_enter(s, q, VS_EARLIER, &v->inst[e->from], VS_A, false);
    vs_enter(s, q, VS_LATER, &v->inst[to], VS_B, false);
    vs_enter_vars(s, q, VS_EARLIER, n->nvars, n->vars);
    vs_enter_vars(s, q, VS_LATER, w->nvars, w->vars);
}

void vs_may_wait(struct symbolic *s, vl_sys *q, const struct vs_edge *e, int to) {
    enter_both(s, q, e, to);
    push_meeting(s, q, e->from, e->notify, to, e->wait);
}

/* Every task of instance ALL is related to one of instance SOME, which is on SIDE of the pieces. */
static bool meets_all(struct symbolic *s, const struct vs_relation *r, int side, int some,
                      int all) {
    for (int i = 0; i < r->n; i++) {
        struct vs_relation none = {0};
        vl_sys *q = vs_system(s);
        vs_push_piece(q, &r->piece[i], side, VS_MID);
        vs_push_range(s, q, some, VS_MID);
        vs_add_projected(s, q, INT32_MAX, all, all, &none);
        if (none.n && !none.piece[0].n) return true;
    }
    return false;
}

static bool reads_tensors(struct symbolic *s, const et_wait *w) {
    bool found = false;
    for (int d = 0; d < s->v->p->events[w->event].rank; d++)
        found |= et_expr_loads(s->v->x, w->lo[d]) || et_expr_loads(s->v->x, w->hi[d]);
    for (int i = 0; i < w->nvars; i++)
        found |= et_expr_loads(s->v->x, et_var_extent(s->v->x, w->vars[i]));
    return found;
}

static struct vs_relation *make_edge(struct symbolic *s, const struct vs_edge *e, int to) {
    struct vs_relation *r = et_alloc(s->arena, sizeof *r);
    const et_wait *w = &s->v->grid[s->v->inst[to].grid].g->waits[e->wait];
    if (reads_tensors(s, w)) return r;
    vl_sys *q = vs_system(s);
    s->loose = false;
    vs_may_wait(s, q, e, to);
    r->told = true;
    make_pieces(s, q, VS_TEMP, e, to, r);
    r->reaches = meets_all(s, r, VS_A, e->from, to);
    r->feeds = meets_all(s, r, VS_B, to, e->from);
    return r;
}

/* ---- which instances have edges ---- */

static struct vs_relation **slot_of(struct symbolic *s, int64_t key) {
    if (2 * s->nused >= s->nslots) {
        struct vs_slot *old = s->slot;
        int n = s->nslots;
        s->nslots = n ? 4 * n : 1024;
        s->slot = et_alloc(s->arena, (size_t)s->nslots * sizeof *s->slot);
        s->nused = 0;
        for (int i = 0; i < n; i++)
            if (old[i].key) *slot_of(s, old[i].key) = old[i].rel;
    }
    uint64_t at = (uint64_t)key * 0x9e3779b97f4a7c15u >> 20;
    while (s->slot[at % (uint64_t)s->nslots].key && s->slot[at % (uint64_t)s->nslots].key != key)
        at++;
    struct vs_slot *slot = &s->slot[at % (uint64_t)s->nslots];
    s->nused += !slot->key;
    slot->key = key;
    return &slot->rel;
}

static bool has_loop(struct symbolic *s, const struct vf_grid *g, et_expr e) {
    for (int k = 0; k < g->depth; k++)
        if (et_expr_has_var(s->v->x, e, s->v->p->g->loops[g->path[k]].var)) return true;
    return false;
}

/* The edge is the same in all iterations. */
static bool is_shared(struct symbolic *s, const struct vs_edge *e, int to) {
    const struct verify *v = s->v;
    const struct vf_grid *a = &v->grid[v->inst[e->from].grid], *b = &v->grid[v->inst[to].grid];
    const et_wait *w = &b->g->waits[e->wait];
    bool moves = false;
    for (int c = 0; c < a->f->ncoords; c++)
        moves |= has_loop(s, a, a->g->extent[c]);
    for (int c = 0; c < b->f->ncoords; c++)
        moves |= has_loop(s, b, b->g->extent[c]);
    for (int i = 0; i < w->nvars; i++)
        moves |= has_loop(s, b, et_var_extent(v->x, w->vars[i]));
    for (int d = 0; d < v->p->events[w->event].rank; d++)
        if (v->event[w->event].loop[d] < 0)
            moves |= has_loop(s, a, a->g->notifies[e->notify].index[d]) ||
                     has_loop(s, b, w->lo[d]) || has_loop(s, b, w->hi[d]);
    return !moves;
}

void vs_relate(struct symbolic *s, struct vs_edge *e, int to) {
    const struct verify *v = s->v;
    int64_t key = v->inst[e->from].grid;
    key = key * v->p->ngrids + v->inst[to].grid;
    key = (key * 256 + e->wait) * 256 + e->notify;
    if (e->wait > 255 || e->notify > 255 || !is_shared(s, e, to)) {
        e->rel = make_edge(s, e, to);
        return;
    }
    struct vs_relation **slot = slot_of(s, -1 - key);
    if (!*slot) {
        struct vs_relation *made = make_edge(s, e, to);
        slot = slot_of(s, -1 - key);
        *slot = made;
    }
    e->rel = *slot;
}

int vs_cut_loop(const struct symbolic *s, int inst) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[inst].grid];
    return g->depth && s->v->loop[g->path[0]].shortened ? g->path[0] : -1;
}

/* The instance of grid G in iteration AT of the loop that LIKE is in; -1: none. */
static int sibling(const struct symbolic *s, int like, int grid, int at) {
    int loop = s->v->grid[s->v->inst[like].grid].path[0];
    const int *of;
    int n = vf_instances_of(s->v, grid, &of);
    if (!s->v->grid[grid].depth || s->v->grid[grid].path[0] != loop) return -1;
    for (int i = 0; i < n; i++)
        if (s->v->inst[of[i]].at[0] == at) return of[i];
    return -1;
}

/* ---- what follows ---- */

static bool counts(const struct vs_edge *e, int to, vs_mode m) {
    return e->from < to && !(m == VS_WHOLE && e->cut) && !(m == VS_ALONE && e->between);
}

static void join(const struct symbolic *s, uint64_t *to, const uint64_t *from) {
    for (int w = 0; w < s->words; w++)
        to[w] |= from[w];
}

/* In a loop that was cut: what each task of TO hands on to itself from before the cut; or -1. */
static int carried_from(struct symbolic *s, int to, vs_mode m) {
    int loop = vs_cut_loop(s, to), half = loop < 0 ? 0 : s->v->loop[loop].kept / 2;
    if (m != VS_WHOLE || loop < 0 || s->v->inst[to].at[0] != half) return -1;
    return vs_carries(s, s->v->inst[to].grid) ? sibling(s, to, s->v->inst[to].grid, half - 1) : -1;
}

/* Instance I and those in FED. */
static void add(const struct symbolic *s, uint64_t *to, int i, const uint64_t *fed) {
    join(s, to, fed);
    vf_set_bit(to, i);
}

/* FULL: all tasks of which are done before any of TO. FEEDS: each task of which is done before one
 * of TO, and so all before what all of TO are done before. */
static void make_sets(struct symbolic *s, vs_mode m) {
    size_t n = (size_t)s->v->ninst, words = (size_t)s->words;
    if (s->full[m]) return;
    uint64_t *bits = et_alloc(s->arena, 3 * n * words * sizeof *bits + 8), *feeds = bits;
    s->full[m] = et_alloc(s->arena, (n + 1) * sizeof *s->full[m]);
    s->reach[m] = et_alloc(s->arena, (n + 1) * sizeof *s->reach[m]);
    for (size_t i = 0; i < n; i++) {
        s->full[m][i] = bits + (3 * i + 1) * words;
        s->reach[m][i] = bits + (3 * i + 2) * words;
    }
    for (int to = 0; to < s->v->ninst; to++) {
        uint64_t *full = s->full[m][to], *reach = s->reach[m][to];
        for (int i = s->first_edge[to]; i >= 0; i = s->edge[i].next) {
            const struct vs_edge *e = &s->edge[i];
            if (!counts(e, to, m)) continue;
            join(s, reach, s->reach[m][e->from]);
            vf_set_bit(reach, e->from);
            if (!e->rel->told) continue;
            const uint64_t *fed = feeds + 3 * (size_t)e->from * words;
            if (e->rel->feeds) add(s, feeds + 3 * (size_t)to * words, e->from, fed);
            if (e->rel->n && !e->rel->piece[0].n) add(s, full, e->from, fed);
            if (e->rel->reaches) join(s, full, s->full[m][e->from]);
        }
        int own = carried_from(s, to, m);
        if (own < 0) continue;
        join(s, reach, s->reach[m][own]);
        vf_set_bit(reach, own);
        join(s, full, s->full[m][own]);
    }
}

const uint64_t *vs_full(struct symbolic *s, int to, vs_mode m) {
    make_sets(s, m);
    return s->full[m][to];
}

/* Tiles that agree on all coordinates, but for those in OPEN, in which the earlier may be less. */
static struct vs_piece same_but(struct symbolic *s, int inst, unsigned open) {
    int n = s->v->grid[s->v->inst[inst].grid].f->ncoords;
    struct vs_piece p = {n, et_alloc(s->arena, (size_t)(n + 1) * sizeof *p.row)};
    for (int c = 0; c < n; c++) {
        vl_form a = vl_var(VS_A + c), b = vl_var(VS_B + c);
        p.row[c] = (vl_row){vl_add(&b, &a, -1), !(open >> c & 1)};
    }
    return p;
}

/* Each tile waits for the one before it along coordinate C. */
static bool is_chain(struct symbolic *s, int inst, int c) {
    struct vs_relation own = {0};
    struct vs_piece same = same_but(s, inst, 0);
    vl_sys *q = vs_system(s);
    for (int i = s->first_edge[inst]; i >= 0; i = s->edge[i].next)
        if (s->edge[i].from == inst && s->edge[i].rel->told) vs_add_all(&own, s->edge[i].rel);
    if (!own.n) return false;
    vs_push_range(s, q, inst, VS_A);
    vs_push_range(s, q, inst, VS_B);
    same.row[c].f.k = -1;
    same.row[c].eq = true;
    vs_push_piece(q, &same, VS_A, VS_A);
    bool searching = s->searching;
    s->searching = false;
    bool chain = vs_covered(s, q, &own, 0);
    s->searching = searching;
    return chain;
}

/* A tile, and those of its instance that are done before it by way of one another. */
static struct vs_piece own_piece(struct symbolic *s, int inst) {
    unsigned open = 0;
    for (int c = 0; c < s->v->grid[s->v->inst[inst].grid].f->ncoords; c++)
        if (is_chain(s, inst, c)) open |= 1u << c;
    return same_but(s, inst, open);
}

static bool is_identity(const struct vs_relation *r) {
    bool all = true;
    for (int i = 0; i < r->piece[0].n; i++)
        all &= r->piece[0].row[i].eq;
    return all;
}

/* What R says, and of what is before those tiles in the same way at either end. */
static void widen(struct symbolic *s, struct vs_relation *r, int from, int to, vs_mode m) {
    const struct vs_relation *a = vs_before(s, from, from, m), *b = vs_before(s, to, to, m);
    struct vs_relation wide = {0};
    if (!is_identity(a)) {
        vs_compose(s, a, from, r, from, to, &wide);
        vs_add_all(r, &wide);
    }
    wide.n = 0;
    if (!is_identity(b)) {
        vs_compose(s, r, to, b, from, to, &wide);
        vs_add_all(r, &wide);
    }
}

bool vs_is_told(const struct symbolic *s, int edge, int to, vs_mode m) {
    return counts(&s->edge[edge], to, m) && s->edge[edge].rel->told;
}

/* A relation has room for some pieces: what an edge says comes before what several say together. */
const struct vs_relation *vs_before(struct symbolic *s, int from, int to, vs_mode m) {
    int64_t key = (((int64_t)from * s->v->ninst + to) * VS_MODES + m) + 1;
    make_sets(s, m);
    struct vs_relation *r = *slot_of(s, key);
    if (r) return r;
    r = et_alloc(s->arena, sizeof *r);
    if (from == to) {
        vs_add_piece(r, own_piece(s, to));
    } else if (vf_bit(s->full[m][to], from)) {
        vs_add_piece(r, (struct vs_piece){0, NULL});
    } else if (s->depth < DEEP && vf_bit(s->reach[m][to], from)) {
        s->depth++;
        for (int i = s->first_edge[to]; i >= 0; i = s->edge[i].next)
            if (vs_is_told(s, i, to, m) && s->edge[i].from == from) vs_add_all(r, s->edge[i].rel);
        for (int i = s->first_edge[to]; i >= 0; i = s->edge[i].next) {
            const struct vs_edge *e = &s->edge[i];
            if (vs_is_told(s, i, to, m) && e->from > from)
                vs_compose(s, vs_before(s, from, e->from, m), e->from, e->rel, from, to, r);
        }
        int own = carried_from(s, to, m);
        if (own > from) vs_add_all(r, vs_before(s, from, own, m));
        if (own == from) vs_add_piece(r, same_but(s, to, 0));
        widen(s, r, from, to, m);
        s->depth--;
    }
    *slot_of(s, key) = r;
    return r;
}

bool vs_carries(struct symbolic *s, int grid) {
    if (s->carries[grid]) return s->carries[grid] > 0;
    const int *of;
    int a = -1, n = vf_instances_of(s->v, grid, &of);
    for (int i = 0; i < n && a < 0; i++)
        if (s->v->inst[of[i]].at[0] == 1) a = of[i];
    int b = a < 0 ? -1 : sibling(s, a, grid, 2);
    if (b < 0) return false;
    const struct vs_relation *r = vs_before(s, a, b, VS_LOCAL);
    struct vs_piece same = same_but(s, a, 0);
    vl_sys *q = vs_system(s);
    vs_push_range(s, q, a, VS_A);
    vs_push_range(s, q, b, VS_B);
    vs_push_piece(q, &same, VS_A, VS_A);
    int64_t *example = s->example;
    s->carries[grid] = vs_covered(s, q, r, 0) ? 1 : -1;
    s->example = example;
    return s->carries[grid] > 0;
}

/* ---- questions ---- */

/* Values of the symbols and of both tasks where Q holds. */
static void find_example(struct symbolic *s, vl_sys *q) {
    int64_t value[VS_TEMP];
    int n = q->n, nsplits = q->nsplits, syms = et_sym_count(s->v->x);
    if (s->example || !s->searching) return;
    for (int i = 0; i < syms; i++) { /* all of them, even if no row names them */
        int64_t lo, hi;
        et_sym_range(s->v->x, i, &lo, &hi);
        vl_form x = vl_var(s->of_sym[i]);
        x.k = -lo;
        vl_push(q, &x, false);
    }
    vs_add_context(s, q);
    if (vl_solve(s->work, q, VS_TEMP, value)) {
        s->example = et_alloc(s->arena, sizeof value);
        memcpy(s->example, value, sizeof value);
    }
    q->n = n;
    q->nsplits = nsplits;
}

bool vs_covered(struct symbolic *s, vl_sys *q, const struct vs_relation *r, int piece) {
    if (piece == r->n) {
        if (vs_empty(s, q)) return true;
        find_example(s, q);
        return false;
    }
    const struct vs_piece *p = &r->piece[piece];
    int n = q->n;
    for (int i = 0; i < p->n; i++)
        for (int way = 0; way < (p->row[i].eq ? 2 : 1); way++) {
            vl_form f = vl_scale(&p->row[i].f, way ? 1 : -1);
            vl_shift(&f, -1);
            vl_push(q, &f, false);
            bool ok = (piece + 1 < r->n && vs_empty(s, q)) || vs_covered(s, q, r, piece + 1);
            q->n = n;
            if (!ok) return false;
        }
    return true;
}

void vs_prepare(struct symbolic *s, int from, int to, vs_mode m) {
    vs_before(s, from, to, m);
    for (int i = s->first_edge[to]; i >= 0; i = s->edge[i].next)
        if (s->edge[i].from > from && s->edge[i].from < to && counts(&s->edge[i], to, m))
            vs_before(s, from, s->edge[i].from, m);
}

/* Of a wait for each value of its variables: the later task's access B touches only what goes with
 * one of them. False when it may not. */
static bool enter_point(struct symbolic *s, vl_sys *rows, const struct vf_grid *g, int wait,
                        const struct vf_access *b) {
    const et_wait *w = &g->g->waits[wait];
    int k = 0;
    while (k < g->npoints && g->point[k].wait != wait)
        k++;
    if (k == g->npoints || !b->match[k].load.id) return !w->nvars;
    vl_form like = vs_form(s, rows, VS_LATER, b->match[k].load);
    for (int i = 0; i < w->nvars; i++) {
        vl_form by = vs_form(s, rows, VS_LATER, b->match[k].by[i]);
        vl_push(rows, &by, false);
        vl_shift(&by, 1);
        push_order(s, rows, VS_LATER, et_var_extent(s->v->x, w->vars[i]), by, -1, 0);
    }
    vs_alias(s, VS_LATER, g->point[k].load, &like);
    return true;
}

/* An edge whose wait reads tensors: where the later task's access B reads the same, it has the same
 * value. */
static void add_edge_of_data(struct symbolic *s, const struct vs_edge *e, int from, int to,
                             vs_mode m, const struct vf_access *b, struct vs_relation *out) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[to].grid];
    vl_sys *rows = vs_system(s);
    struct vs_relation r = {0};
    const struct vs_relation *a = vs_before(s, from, e->from, m);
    vs_forget(s, VS_EARLIER);
    int rest = VS_TEMP + s->ntemps, known = s->nknown;
    s->loose = false;
    vs_enter(s, rows, VS_EARLIER, &s->v->inst[e->from], e->from == from ? VS_A : VS_MID, false);
    bool fits = enter_point(s, rows, g, e->wait, b) &&
                !s->v->grid[s->v->inst[e->from].grid].g->notifies[e->notify].nvars;
    if (fits) push_meeting(s, rows, e->from, e->notify, to, e->wait);
    if (fits && e->from == from) {
        make_pieces(s, rows, rest, e, to, &r);
    } else if (fits && !rows->bad && !s->context.bad && !s->loose && !rows->nsplits) {
        for (int i = 0; i < a->n; i++) {
            vl_sys *both = vs_system(s);
            vs_push_piece(both, &a->piece[i], VS_B, VS_MID);
            for (int t = 0; t < rows->n; t++)
                vl_push_row(both, &rows->row[t]);
            vs_add_projected(s, both, rest, from, to, &r);
        }
    }
    s->nknown = known;
    vs_add_all(out, &r);
}

bool vs_ordered(struct symbolic *s, vl_sys *q, int from, int to, vs_mode m,
                const struct vf_access *b) {
    struct vs_relation all = {0};
    int first = s->v->grid[s->v->inst[to].grid].first_unknown;
    if (!b->early) vs_add_all(&all, vs_before(s, from, to, m));
    for (int i = s->first_edge[to]; i >= 0; i = s->edge[i].next) {
        const struct vs_edge *e = &s->edge[i];
        if (!counts(e, to, m) || e->from < from) continue;
        bool waited = b->early && e->wait < first && e->rel->told;
        if (waited && e->from == from)
            vs_add_all(&all, e->rel);
        else if (waited)
            vs_compose(s, vs_before(s, from, e->from, m), e->from, e->rel, from, to, &all);
        if (!b->early && (!e->rel->told || !e->rel->n))
            add_edge_of_data(s, e, from, to, m, b, &all);
    }
    return vs_covered(s, q, &all, 0);
}
