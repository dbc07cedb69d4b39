/* The verifier's claims for all values of the symbols at once. Nothing here enumerates values or
 * tasks: instances, which are grids in the kept iterations of loops, are taken two by two, and what
 * would be wrong is written as constraints that must have no solution. */
#include "ir/verify/symbolic.h"
#include "ir/base/diag.h"
#include <string.h>

enum { MAX_INSTANCES = 16384, WORK = 40000000 };

bool vs_fail(struct symbolic *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!s->stuck) s->stuck = et_vprintf(s->v->arena, fmt, ap);
    va_end(ap);
    return false;
}

/* ---- instances ---- */

static void list(struct symbolic *s, int first, int count, int *at, int depth) {
    struct verify *v = s->v;
    for (int i = first; i < first + count && v->ninst <= MAX_INSTANCES; i++) {
        const et_item *it = &v->p->items[i];
        if (it->kind == ET_P_LOOP) {
            for (at[depth] = 0; at[depth] < v->loop[it->index].kept && v->ninst <= MAX_INSTANCES;
                 at[depth]++)
                list(s, it->first, it->count, at, depth + 1);
            continue;
        }
        ET_GROW(v->round, v->inst, v->ninst, v->cinst);
        v->inst[v->ninst] = (struct vf_inst){.grid = it->index};
        memcpy(v->inst[v->ninst++].at, at, (size_t)depth * sizeof *at);
    }
}

static void unfold(struct vf_loop *l) {
    l->shortened = false;
    l->kept = (int)l->trips;
}

/* Loops that are shortened stand alone: one that is around or inside another has all of its
 * iterations here. */
static void unfold_nests(struct verify *v) {
    const et_graph *g = v->p->g;
    for (int l = 0; l < g->nloops; l++) {
        if (g->loops[l].parent < 0) continue;
        unfold(&v->loop[l]);
        unfold(&v->loop[g->loops[l].parent]);
    }
}

static bool set_up(struct symbolic *s) {
    struct verify *v = s->v;
    int at[ET_MAX_LOOPS] = {0}, syms = et_sym_count(v->x);
    v->ninst = v->cinst = 0;
    v->inst = NULL;
    list(s, v->p->first, v->p->count, at, 0);
    if (v->ninst > MAX_INSTANCES)
        return vs_fail(s, "more than %d tasks in iterations of loops", MAX_INSTANCES);
    vf_index_instances(v);
    v->met += (int64_t)v->ninst * v->ninst / 2;
    size_t n = (size_t)v->ninst + 1;
    s->words = (v->ninst + 63) / 64;
    s->first_edge = et_alloc(s->arena, n * sizeof *s->first_edge);
    s->range = et_alloc(s->arena, n * sizeof *s->range);
    s->carries = et_alloc(s->arena, (size_t)v->p->ngrids + 1);
    s->of_sym = et_alloc(s->arena, (size_t)(syms + 1) * sizeof *s->of_sym);
    s->counter = et_alloc(s->arena, (size_t)(v->p->nevents + 1) * sizeof *s->counter);
    for (int e = 0; e < v->p->nevents; e++)
        for (int d = 0; d < v->p->events[e].rank; d++)
            s->counter[e][d] = et_var_add(v->x, "x", v->p->events[e].dim[d]);
    s->nvars = et_var_count(v->x);
    for (int side = 0; side < VS_SIDES; side++)
        s->var[side] = et_alloc(s->arena, (size_t)(s->nvars + 1) * sizeof *s->var[side]);
    for (int i = 0; i < syms; i++) {
        int64_t lo, hi;
        vf_sym_range(v, i, &lo, &hi);
        int p = s->of_sym[i] = s->nparams++;
        vl_form x = vl_var(p), from = x, to = vl_const(hi);
        from.k = -lo;
        to = vl_add(&to, &x, -1);
        s->param[p].row = s->context.n;
        s->param[p].nrows = 2;
        vl_push(&s->context, &from, false);
        vl_push(&s->context, &to, false);
    }
    for (int i = 0; i < v->ninst; i++) {
        vl_sys *q = vs_system(s);
        vs_start(s);
        vs_enter(s, q, VS_EARLIER, &v->inst[i], VS_A, false);
        if (q->nsplits || q->bad || s->ntemps)
            return vs_fail(s, "how many tiles %s has", v->grid[v->inst[i].grid].g->name);
        s->range[i] =
            (struct vs_piece){q->n, et_alloc(s->arena, (size_t)q->n * sizeof *q->row + 1)};
        for (int k = 0; k < q->n; k++)
            s->range[i].row[k] = q->row[k];
    }
    return true;
}

/* ---- pairs ---- */

/* Dimension D moves with LOOP, which the other access is outside: it is taken to be anywhere. */
static bool slides(const struct symbolic *s, int loop, int other_loop, const struct vf_access *a,
                   int d) {
    return loop >= 0 && loop != other_loop &&
           et_expr_has_var(s->v->x, a->index[d], s->v->p->g->loops[loop].var);
}

static void enter_access(struct symbolic *s, vl_sys *q, vs_side side, const struct vf_access *a) {
    if (a->step) vs_enter_step(s, q, side, a->step);
    vs_enter_vars(s, q, side, a->nvars, a->vars);
}

/* What index D of the access says, inside its tensor: elsewhere the step's mask is false. */
static vl_form place(struct symbolic *s, vl_sys *q, vs_side side, const struct vf_access *a,
                     int d) {
    vl_form at = vs_form(s, q, side, a->index[d]);
    vl_form most = vs_form(s, q, side, s->v->p->tensors[a->tensor].shape.dim[d]);
    vl_push(q, &at, false);
    most = vs_minus_one(&most, &at);
    vl_push(q, &most, false);
    return at;
}

/* Loads in indices are inside their tensors, too. */
struct loads {
    struct symbolic *s;
    vl_sys *q;
    vs_side side;
};

static void load_inside(void *ctx, et_expr e) {
    struct loads *l = ctx;
    const et_node_x *n = et_x(l->s->v->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return;
    et_expr index[ET_MAX_RANK];
    int tensor = n->i, rank = n->nops;
    memcpy(index, n->ops, (size_t)rank * sizeof *index);
    for (int d = 0; d < rank; d++) {
        struct vf_access a = {.tensor = tensor};
        a.index[d] = index[d];
        place(l->s, l->q, l->side, &a, d);
    }
}

/* Tasks of both instances, VS_A and VS_B, that touch one element, or two of tensors that share
 * memory. */
static void push_conflict(struct symbolic *s, vl_sys *q, int i, int j, const struct vf_access *a,
                          const struct vf_access *b, bool glued) {
    const struct vf_inst *x = &s->v->inst[i], *y = &s->v->inst[j];
    int rank = s->v->p->tensors[a->tensor].shape.rank;
    int la = vs_cut_loop(s, i), lb = vs_cut_loop(s, j);
    vs_start(s);
    vs_enter(s, q, VS_EARLIER, x, VS_A, glued);
    vs_enter(s, q, VS_LATER, y, VS_B, glued);
    enter_access(s, q, VS_EARLIER, a);
    enter_access(s, q, VS_LATER, b);
    struct loads la_ = {s, q, VS_EARLIER}, lb_ = {s, q, VS_LATER};
    for (int d = 0; d < rank && a->tensor == b->tensor; d++) {
        if (slides(s, la, lb, a, d) || slides(s, lb, la, b, d)) continue;
        et_walk(s->v->x, a->index[d], load_inside, &la_);
        et_walk(s->v->x, b->index[d], load_inside, &lb_);
        vl_form f = place(s, q, VS_EARLIER, a, d), g = place(s, q, VS_LATER, b, d);
        f = vs_add(s, &f, &g, -1);
        vl_push(q, &f, true);
    }
}

/* Coordinates are those of the example, if there is one. */
static const char *task_text(struct symbolic *s, int inst, int base) {
    unsigned known = s->example ? ~0u : 0;
    int64_t none[ET_MAX_RANK] = {0};
    return vf_task(s->v, &s->v->inst[inst], known, known ? s->example + base : none);
}

static bool unordered(struct symbolic *s, int i, int j, const struct vf_access *a,
                      const struct vf_access *b) {
    const et_program *p = s->v->p;
    char with[256] = "";
    int n = 0, syms = et_sym_count(s->v->x);
    for (int k = 0; k < syms && s->example && n < 200; k++)
        n += snprintf(with + n, sizeof with - (size_t)n, "%s%.20s = %lld", k ? ", " : " with ",
                      et_sym_name(s->v->x, k), (long long)s->example[s->of_sym[k]]);
    return vs_fail(s, "that what task %s does to %%%s is done before what task %s does to %%%s%s",
                   task_text(s, i, VS_A), p->tensors[a->tensor].name, task_text(s, j, VS_B),
                   p->tensors[b->tensor].name, with);
}

/* What waits of J itself say of I is enough: most often it is, and asked sooner than what follows
 * from several waits. */
static bool is_awaited(struct symbolic *s, vl_sys *q, int i, int j, vs_mode m) {
    struct vs_relation own = {0};
    for (int e = s->first_edge[j]; e >= 0; e = s->edge[e].next)
        if (s->edge[e].from == i && vs_is_told(s, e, j, m)) vs_add_all(&own, s->edge[e].rel);
    s->searching = false;
    bool ok = own.n && vs_covered(s, q, &own, 0);
    s->searching = true;
    return ok;
}

static bool check_pair(struct symbolic *s, int i, int j, const struct vf_pair *p, vs_mode m) {
    const struct vf_access *a = &s->v->grid[s->v->inst[i].grid].access[p->a];
    const struct vf_access *b = &s->v->grid[s->v->inst[j].grid].access[p->b];
    s->v->report->pairs++;
    if (!b->early && vf_bit(vs_full(s, j, m), i)) return true;
    vl_sys *q = vs_system(s);
    push_conflict(s, q, i, j, a, b, m == VS_LOCAL);
    if (!b->early && is_awaited(s, q, i, j, m)) return true;
    vs_prepare(s, i, j, m);
    q = vs_system(s);
    push_conflict(s, q, i, j, a, b, m == VS_LOCAL);
    return vs_ordered(s, q, i, j, m, b) || unordered(s, i, j, a, b);
}

static bool is_beside(const struct symbolic *s, int inst, int other) {
    return other >= 0 && other < s->v->ninst && vs_cut_loop(s, other) == vs_cut_loop(s, inst) &&
           s->v->inst[other].at[0] == s->v->inst[inst].at[0];
}

static bool hands_on(struct symbolic *s, int inst) {
    return vs_cut_loop(s, inst) < 0 || vs_carries(s, s->v->inst[inst].grid);
}

/* What is done in the same iteration of a loop that was cut, which stand side by side: instances
 * from INST's loop that hand on, INST itself first; INST alone where there is no such loop. */
static int handed_on(struct symbolic *s, int inst, int **out, bool later) {
    int from = inst, end = inst, n = 0;
    while (vs_cut_loop(s, inst) >= 0 && !later && is_beside(s, inst, from - 1))
        from--;
    while (vs_cut_loop(s, inst) >= 0 && later && is_beside(s, inst, end + 1))
        end++;
    *out = et_alloc(s->scratch, (size_t)(end - from + 1) * sizeof **out);
    if (hands_on(s, inst)) (*out)[n++] = inst;
    for (int i = from; i <= end; i++)
        if (i != inst && hands_on(s, i)) (*out)[n++] = i;
    return n;
}

/* The same for the iterations that were cut out: each hands on to the next, so what is done before
 * one of the first kept is done before all later ones, and what is done after the last likewise. */
static bool check_middle(struct symbolic *s, int i, int j, const struct vf_pair *p) {
    const struct vf_access *a = &s->v->grid[s->v->inst[i].grid].access[p->a];
    const struct vf_access *b = &s->v->grid[s->v->inst[j].grid].access[p->b];
    int *x, nx = handed_on(s, i, &x, true), *y, ny = handed_on(s, j, &y, false);
    struct vs_relation all = *vs_before(s, i, j, VS_ALONE);
    for (int k = 0; k < nx && !b->early; k++)
        for (int l = 0; l < ny && (!all.n || all.piece[0].n); l++) {
            struct vs_relation left = {0};
            const struct vs_relation *mid = vs_before(s, x[k], y[l], VS_WHOLE);
            if (!mid->n) continue;
            vs_compose(s, vs_before(s, i, x[k], VS_LOCAL), x[k], mid, i, y[l], &left);
            vs_compose(s, &left, y[l], vs_before(s, y[l], j, VS_LOCAL), i, j, &all);
        }
    if (!b->early && all.n && !all.piece[0].n) return true;
    vs_prepare(s, i, j, VS_ALONE);
    vl_sys *q = vs_system(s);
    push_conflict(s, q, i, j, a, b, false);
    s->searching = false;
    bool ok = !b->early && vs_covered(s, q, &all, 0);
    s->searching = true;
    return ok || vs_ordered(s, q, i, j, VS_ALONE, b) || unordered(s, i, j, a, b);
}

/* Is the instance one that stands for iterations cut out: the first of those (FIRST), or the last?
 */
static bool stands_for_middle(const struct symbolic *s, int inst, bool first) {
    int loop = vs_cut_loop(s, inst);
    return loop >= 0 && s->v->inst[inst].at[0] == (first ? 1 : s->v->loop[loop].kept - 2);
}

static bool check_instances(struct symbolic *s, int i, int j) {
    const struct verify *v = s->v;
    const struct vf_inst *a = &v->inst[i], *b = &v->inst[j];
    const struct vf_pairs *p = vf_pairs_of(s->v, a->grid, b->grid);
    int la = vs_cut_loop(s, i), lb = vs_cut_loop(s, j);
    bool same = la >= 0 && la == lb;
    if (!p->n || vf_translated(v, a, b)) return true;
    if (same && b->at[0] - a->at[0] > v->loop[la].reach) return true;
    bool middle = !same && (la >= 0 || lb >= 0) && (la < 0 || stands_for_middle(s, i, false)) &&
                  (lb < 0 || stands_for_middle(s, j, true));
    for (int k = 0; k < p->n; k++) {
        if (!vf_is_now(v, v->grid[a->grid].access[p->v[k].a].tensor)) continue;
        if (!check_pair(s, i, j, &p->v[k], same ? VS_LOCAL : VS_WHOLE)) return false;
        if (middle && !check_middle(s, i, j, &p->v[k])) return false;
        if (vl_spent(s->work)) return vs_fail(s, "anything in the time there is");
    }
    return true;
}

/* ---- tiles of one instance ---- */

/* Two different tiles, A before B, of which A does ACCESS a and B b, touch the same: then A is done
 * before B. */
static bool tiles_ordered(struct symbolic *s, int i, const struct vf_access *a,
                          const struct vf_access *b) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[i].grid];
    struct vs_relation own = *vs_before(s, i, i, VS_WHOLE);
    for (int e = s->first_edge[i]; e >= 0; e = s->edge[e].next)
        if (s->edge[e].from == i && s->edge[e].rel->told) vs_add_all(&own, s->edge[e].rel);
    if (s->v->p->tensors[a->tensor].tagged) own.n = 0; /* two of one tag: order is not enough */
    for (int c = 0; c < g->f->ncoords; c++) {
        vl_sys *q = vs_system(s);
        push_conflict(s, q, i, i, a, b, false);
        for (int o = 0; o <= c; o++) {
            vl_form x = vl_var(VS_A + o), y = vl_var(VS_B + o);
            vl_form d = o < c ? vl_add(&y, &x, -1) : vs_minus_one(&y, &x);
            vl_push(q, &d, o < c);
        }
        if (!vs_covered(s, q, &own, 0)) return unordered(s, i, i, a, b);
    }
    return true;
}

static bool check_within(struct symbolic *s, int i) {
    const struct verify *v = s->v;
    int grid = v->inst[i].grid;
    const struct vf_grid *g = &v->grid[grid];
    for (int k = 0; k < v->within[grid].n && !v->apart[grid]; k++) {
        const struct vf_pair *p = &v->within[grid].v[k];
        const struct vf_access *a = &g->access[p->a], *b = &g->access[p->b];
        if ((p->a == p->b && a->data) || !vf_is_now(v, a->tensor)) continue;
        if (!tiles_ordered(s, i, a, b) || (p->a != p->b && !tiles_ordered(s, i, b, a)))
            return false;
    }
    return true;
}

/* ---- which pairs there is something to ask about ---- */

/* Sets of instances. Most of those that meet an instance in memory are full before it, and need no
 * look one by one. */
struct asked {
    uint64_t **meets;     /* by grid: those that meet it; made when needed */
    uint64_t *cut, *last; /* in loops that were cut; standing for the last of what was */
    uint64_t *loose;      /* the latter, where they do not hand on */
    uint64_t *now;        /* to be asked about with the instance that is the later */
    int first;            /* of the loop that it is in, where that was cut */
};

static void start_asking(struct symbolic *s, struct asked *a) {
    size_t bytes = (size_t)s->words * sizeof *a->now + 8;
    *a = (struct asked){.cut = et_alloc(s->arena, bytes),
                        .last = et_alloc(s->arena, bytes),
                        .loose = et_alloc(s->arena, bytes),
                        .now = et_alloc(s->arena, bytes)};
    a->meets = et_alloc(s->arena, (size_t)(s->v->p->ngrids + 1) * sizeof *a->meets);
    for (int i = 0; i < s->v->ninst; i++) {
        if (vs_cut_loop(s, i) < 0) continue;
        vf_set_bit(a->cut, i);
        if (!stands_for_middle(s, i, false)) continue;
        vf_set_bit(a->last, i);
        if (!hands_on(s, i)) vf_set_bit(a->loose, i);
    }
}

static const uint64_t *meeting(struct symbolic *s, struct asked *a, int grid) {
    const struct verify *v = s->v;
    if (a->meets[grid]) return a->meets[grid];
    uint64_t *out = a->meets[grid] = et_alloc(s->arena, (size_t)s->words * sizeof *out + 8);
    const uint64_t *grids = vf_meets(v, grid);
    for (int w = 0; w < v->meet_words; w++)
        for (uint64_t left = grids[w]; left; left &= left - 1) {
            const int *of;
            int n = vf_instances_of(v, 64 * w + __builtin_ctzll(left), &of);
            for (int k = 0; k < n; k++)
                vf_set_bit(out, of[k]);
        }
    return out;
}

static bool any_early(const struct vf_grid *g) {
    bool any = false;
    for (int i = 0; i < g->naccess; i++)
        any |= g->access[i].early;
    return any;
}

/* Of word W those bits that stand for numbers below END. */
static uint64_t below(int w, int end) {
    return end >= 64 * (w + 1) ? ~(uint64_t)0
           : end <= 64 * w     ? 0
                               : ((uint64_t)1 << (end - 64 * w)) - 1;
}

/* All that meet J and come before it, but those full before it. Of loops that were cut, what stands
 * for the middle must hand on, too, to be ordered by that (check_middle). */
static void list_asked(struct symbolic *s, struct asked *a, int j) {
    const uint64_t *meets = meeting(s, a, s->v->inst[j].grid);
    bool cut = vs_cut_loop(s, j) >= 0, middle = !cut || stands_for_middle(s, j, true);
    if (!cut || !j || vs_cut_loop(s, j - 1) != vs_cut_loop(s, j)) a->first = j;
    for (int w = 0; w < s->words; w++)
        a->now[w] = meets[w] & below(w, j);
    if (any_early(&s->v->grid[s->v->inst[j].grid])) return;
    const uint64_t *whole = vs_full(s, j, VS_WHOLE), *local = cut ? vs_full(s, j, VS_LOCAL) : NULL;
    bool loose = middle && !hands_on(s, j);
    for (int w = 0; w < s->words; w++) {
        uint64_t keep = ~whole[w], outside = below(w, a->first);
        if (middle) keep |= loose ? ~a->cut[w] | a->last[w] : a->loose[w];
        if (cut) keep = (keep & outside) | (~local[w] & ~outside);
        a->now[w] &= keep;
    }
}

static bool check_order(struct symbolic *s) {
    struct asked a;
    bool ok = true;
    et_arena_mark start = et_arena_set_mark(s->scratch);
    start_asking(s, &a);
    et_arena_release(s->scratch, start);
    for (int j = 0; j < s->v->ninst && ok; j++) {
        et_arena_mark before = et_arena_set_mark(s->scratch);
        list_asked(s, &a, j);
        for (int w = 0; w < s->words; w++)
            for (uint64_t left = a.now[w]; left && ok; left &= left - 1) {
                et_arena_mark pair = et_arena_set_mark(s->scratch);
                ok = check_instances(s, 64 * w + __builtin_ctzll(left), j);
                et_arena_release(s->scratch, pair);
            }
        ok = ok && check_within(s, j);
        et_arena_release(s->scratch, before);
    }
    return ok;
}

static struct symbolic *create(struct verify *v, et_arena *scratch) {
    struct symbolic *s = et_alloc(v->arena, sizeof *s);
    s->v = v;
    s->arena = v->round;
    s->scratch = scratch;
    s->context.arena = v->round;
    s->work = vl_work_create(s->arena, WORK);
    s->searching = true;
    return s;
}

/* The order of what takes fences: unfenced events make no edges. */
static bool check_fenced(struct verify *v, struct symbolic **out) {
    struct symbolic *s = *out = create(v, (*out)->scratch);
    v->fenced = true;
    bool ok = set_up(s) && vs_list_edges(s) && check_order(s);
    v->fenced = false;
    return ok && !vl_spent(s->work);
}

/* The order of tasks on different devices: events of the system alone make edges. */
static bool check_system(struct verify *v, struct symbolic **out) {
    struct symbolic *s = *out = create(v, (*out)->scratch);
    v->system = true;
    bool ok = set_up(s) && vs_list_edges(s) && check_order(s);
    v->system = false;
    return ok && !vl_spent(s->work);
}

bool vf_symbolic(struct verify *v, const char **out_stuck, int64_t **out_example) {
    v->round = et_arena_create();
    et_arena *scratch = et_arena_create();
    struct symbolic *s = create(v, scratch);
    size_t loops = (size_t)v->p->g->nloops * sizeof *v->loop;
    struct vf_loop *was = et_alloc(s->arena, loops + 1);
    memcpy(was, v->loop, loops);
    unfold_nests(v);
    bool ok = set_up(s) && vs_list_edges(s) && vs_waits(s) && vs_counts(s) && check_order(s) &&
              vs_contents(s) && vs_queues(s);
    ok &= !vl_spent(s->work);
    if (ok && v->has_unfenced) ok = check_fenced(v, &s);
    if (ok && v->has_flagged) ok = check_system(v, &s);
    memcpy(v->loop, was, loops);
    *out_stuck = s->stuck;
    *out_example = NULL;
    if (s->example) {
        int n = et_sym_count(v->x);
        *out_example = et_alloc(v->arena, (size_t)(n + 1) * sizeof **out_example);
        for (int i = 0; i < n; i++) {
            int64_t lo, hi, at = s->example[s->of_sym[i]];
            vf_sym_range(v, i, &lo, &hi);
            (*out_example)[i] = at < lo ? lo : at > hi ? hi : at;
        }
    }
    et_arena_destroy(scratch);
    et_arena_destroy(v->round);
    v->round = NULL;
    v->inst = NULL;
    v->ninst = 0;
    return ok;
}
