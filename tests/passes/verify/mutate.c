#include "tests/passes/verify/mutate.h"
#include <stdlib.h>
#include <string.h>

/* What a mutation may touch, to be put back. */
struct saved {
    et_event *events;
    et_tensor *tensors;
    et_item *items;
    et_wait **waits;
    et_notify **notifies;
    int *nwaits, *nnotifies;
    et_expr (*extent)[ET_MAX_RANK];
    int64_t workspace;
    int event_words;
};

const char *const mutate_kind_name[MUTATE_KINDS] = {
    "waits",    "notifies", "wait maps", "notify maps", "one size", "counts",  "scopes",
    "counters", "memory",   "extents",   "order",       "unfenced", "streams", "turns"};

struct mutation {
    et_program *p;
    mutate_kind kind;
    et_exprs *x;
    struct saved s;
    mutant_fn fn;
    void *ctx;
};

/* Arrays of grids get room for one more. */
static void save(struct mutation *m) {
    et_program *p = m->p;
    et_arena *a = p->g->arena;
    struct saved *s = &m->s;
    size_t n = (size_t)p->ngrids + 1;
    s->events = et_alloc(a, (size_t)(p->nevents + 1) * sizeof *s->events);
    s->tensors = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *s->tensors);
    s->waits = et_alloc(a, n * sizeof *s->waits);
    s->notifies = et_alloc(a, n * sizeof *s->notifies);
    s->nwaits = et_alloc(a, n * sizeof *s->nwaits);
    s->nnotifies = et_alloc(a, n * sizeof *s->nnotifies);
    s->extent = et_alloc(a, n * sizeof *s->extent);
    s->items = et_alloc(a, (size_t)(p->nitems + 1) * sizeof *s->items);
    memcpy(s->items, p->items, (size_t)p->nitems * sizeof *s->items);
    memcpy(s->events, p->events, (size_t)p->nevents * sizeof *s->events);
    memcpy(s->tensors, p->tensors, (size_t)p->ntensors * sizeof *s->tensors);
    for (int g = 0; g < p->ngrids; g++) {
        et_grid *gr = &p->grids[g];
        et_wait *w = et_alloc(a, (size_t)(gr->nwaits + 2) * sizeof *w);
        et_notify *no = et_alloc(a, (size_t)(gr->nnotifies + 2) * sizeof *no);
        if (gr->nwaits) memcpy(w, gr->waits, (size_t)gr->nwaits * sizeof *w);
        if (gr->nnotifies) memcpy(no, gr->notifies, (size_t)gr->nnotifies * sizeof *no);
        memcpy(s->extent[g], gr->extent, sizeof gr->extent);
        s->waits[g] = gr->waits;
        s->notifies[g] = gr->notifies;
        s->nwaits[g] = gr->nwaits;
        s->nnotifies[g] = gr->nnotifies;
        gr->waits = w;
        gr->notifies = no;
    }
    s->workspace = p->workspace_bytes;
    s->event_words = p->event_words;
}

static void restore(struct mutation *m) {
    et_program *p = m->p;
    struct saved *s = &m->s;
    memcpy(p->events, s->events, (size_t)p->nevents * sizeof *s->events);
    memcpy(p->tensors, s->tensors, (size_t)p->ntensors * sizeof *s->tensors);
    memcpy(p->items, s->items, (size_t)p->nitems * sizeof *s->items);
    for (int g = 0; g < p->ngrids; g++) {
        et_grid *gr = &p->grids[g];
        memcpy(gr->extent, s->extent[g], sizeof gr->extent);
        gr->nwaits = s->nwaits[g];
        gr->nnotifies = s->nnotifies[g];
        if (gr->nwaits) memcpy(gr->waits, s->waits[g], (size_t)gr->nwaits * sizeof *gr->waits);
        if (gr->nnotifies)
            memcpy(gr->notifies, s->notifies[g], (size_t)gr->nnotifies * sizeof *gr->notifies);
    }
    p->workspace_bytes = s->workspace;
    p->event_words = s->event_words;
}

static void emit(struct mutation *m, mutant kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void emit(struct mutation *m, mutant kind, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    kind.what = text;
    kind.kind = m->kind;
    m->fn(m->ctx, m->p, &kind);
    restore(m);
}

static const mutant other = {0}, same = {.same = true}, moved = {.memory = true};

static et_expr plus(struct mutation *m, et_expr e, int64_t by) {
    return et_add(m->x, e, et_int(m->x, by));
}

/* ---- waits ---- */

static const char *when_name(et_when w) {
    static const char *const t[] = {"always", "first", "later", "last"};
    return t[w];
}

static void mutate_box(struct mutation *m, const et_grid *g, et_wait *w) {
    const et_event *e = &m->p->events[w->event];
    for (int d = 0; d < e->rank; d++) {
        bool point = et_expr_eq(w->lo[d], w->hi[d]);
        w->lo[d] = plus(m, w->lo[d], 1);
        emit(m, other, "%s waits for %s: first counter of dimension %d up by one", g->name, e->name,
             d);
        w->hi[d] = plus(m, w->hi[d], -1);
        emit(m, other, "%s waits for %s: last counter of dimension %d down by one", g->name,
             e->name, d);
        w->hi[d] = w->lo[d];
        if (!point)
            emit(m, other, "%s waits for %s: only the first of dimension %d", g->name, e->name, d);
        restore(m);
        w->lo[d] = w->hi[d];
        if (!point)
            emit(m, other, "%s waits for %s: only the last of dimension %d", g->name, e->name, d);
        restore(m);
        w->lo[d] = w->hi[d] = et_int(m->x, 0);
        emit(m, other, "%s waits for %s: counter 0 of dimension %d", g->name, e->name, d);
        w->lo[d] = plus(m, w->lo[d], -1);
        w->hi[d] = plus(m, w->hi[d], -1);
        emit(m, other, "%s waits for %s: dimension %d down by one", g->name, e->name, d);
        w->lo[d] = plus(m, w->lo[d], 1);
        w->hi[d] = plus(m, w->hi[d], 1);
        emit(m, other, "%s waits for %s: dimension %d up by one", g->name, e->name, d);
    }
}

/* A variable over BY values more. */
static int resized(struct mutation *m, int var, int64_t by) {
    return et_var_add(m->x, "v", plus(m, et_var_extent(m->x, var), by));
}

struct loads {
    const et_exprs *x;
    bool found;
};

static void mutate_wait_vars(struct mutation *m, const et_grid *g, et_wait *w) {
    const et_event *e = &m->p->events[w->event];
    for (int k = 0; k < w->nvars; k++) {
        int var = w->vars[k];
        for (int64_t by = -1; by <= 1; by += 2) {
            et_expr to = et_var(m->x, w->vars[k] = resized(m, var, by));
            for (int d = 0; d < e->rank; d++) {
                w->lo[d] = et_subst_var(m->x, w->lo[d], var, to);
                w->hi[d] = et_subst_var(m->x, w->hi[d], var, to);
            }
            emit(m, other, "%s waits for %s: variable %d over one %s", g->name, e->name, k,
                 by < 0 ? "less" : "more");
        }
        for (int64_t at = 0; at < 2; at++) {
            for (int d = 0; d < e->rank; d++) {
                w->lo[d] = et_subst_var(m->x, w->lo[d], var, et_int(m->x, at));
                w->hi[d] = et_subst_var(m->x, w->hi[d], var, et_int(m->x, at));
            }
            emit(m, other, "%s waits for %s: variable %d is %d", g->name, e->name, k, (int)at);
        }
    }
}

static void find_load(void *ctx, et_expr e) {
    struct loads *l = ctx;
    l->found |= et_x(l->x, e)->op == ET_X_LOAD;
}

/* Its place among the waits matters: what it reads must have been waited for. */
static bool reads_tensors(struct mutation *m, const et_wait *w) {
    struct loads l = {m->x, false};
    const et_event *e = &m->p->events[w->event];
    for (int d = 0; d < e->rank; d++) {
        et_walk(m->x, w->lo[d], find_load, &l);
        et_walk(m->x, w->hi[d], find_load, &l);
    }
    et_walk(m->x, e->count, find_load, &l);
    return l.found;
}

static void mutate_wait(struct mutation *m, et_grid *g, int i) {
    et_wait *w = &g->waits[i];
    const char *event = m->p->events[w->event].name;
    memmove(w, w + 1, (size_t)(g->nwaits - i - 1) * sizeof *w);
    g->nwaits--;
    emit(m, other, "%s does not wait for %s", g->name, event);
    for (et_when when = ET_ALWAYS; when <= ET_LAST_ITERATION; when++) {
        if (when == w->when || g->loop < 0) continue;
        w->when = when;
        emit(m, other, "%s waits for %s: %s", g->name, event, when_name(when));
    }
    for (int e = 0; e < m->p->nevents; e++) {
        if (e == w->event || m->p->events[e].rank != m->p->events[w->event].rank) continue;
        w->event = e;
        emit(m, other, "%s waits for %s instead of %s", g->name, m->p->events[e].name, event);
    }
    mutate_box(m, g, w);
    mutate_wait_vars(m, g, w);
    g->waits[g->nwaits++] = *w;
    emit(m, same, "%s waits for %s twice", g->name, event);
    et_wait first = g->waits[0];
    mutant moved_first = reads_tensors(m, w) || reads_tensors(m, &first) ? other : same;
    g->waits[0] = *w;
    *w = first;
    emit(m, moved_first, "%s waits for %s first", g->name, event);
}

/* ---- notifies ---- */

/* The only notify of its event? */
static bool is_alone(const struct mutation *m, int event) {
    int n = 0;
    for (int g = 0; g < m->p->ngrids; g++)
        for (int i = 0; i < m->p->grids[g].nnotifies; i++)
            n += m->p->grids[g].notifies[i].event == event;
    return n == 1;
}

static void mutate_notify(struct mutation *m, et_grid *g, int i) {
    et_notify *n = &g->notifies[i];
    et_event *e = &m->p->events[n->event];
    memmove(n, n + 1, (size_t)(g->nnotifies - i - 1) * sizeof *n);
    g->nnotifies--;
    emit(m, other, "%s does not notify %s", g->name, e->name);
    g->notifies[g->nnotifies++] = *n;
    emit(m, other, "%s notifies %s twice", g->name, e->name);
    for (et_when when = ET_FIRST_ITERATION; when <= ET_LAST_ITERATION; when++) {
        if (g->loop < 0) continue;
        n->when = when;
        emit(m, other, "%s notifies %s: %s", g->name, e->name, when_name(when));
    }
    for (int k = 0; k < n->nvars; k++) {
        int var = n->vars[k];
        for (int64_t by = -1; by <= 1; by += 2) {
            et_expr to = et_var(m->x, n->vars[k] = resized(m, var, by));
            for (int d = 0; d < e->rank; d++)
                n->index[d] = et_subst_var(m->x, n->index[d], var, to);
            emit(m, other, "%s notifies %s: variable %d over one %s", g->name, e->name, k,
                 by < 0 ? "less" : "more");
        }
        for (int d = 0; d < e->rank; d++)
            n->index[d] = et_subst_var(m->x, n->index[d], var, et_int(m->x, 0));
        emit(m, other, "%s notifies %s: variable %d is 0", g->name, e->name, k);
    }
    for (int d = 0; d < e->rank; d++) {
        n->index[d] = plus(m, n->index[d], 1);
        emit(m, other, "%s notifies %s: dimension %d up by one", g->name, e->name, d);
        n->index[d] = plus(m, n->index[d], -1);
        emit(m, other, "%s notifies %s: dimension %d down by one", g->name, e->name, d);
        n->index[d] = et_int(m->x, 0);
        emit(m, other, "%s notifies %s: counter 0 of dimension %d", g->name, e->name, d);
    }
    g->notifies[g->nnotifies++] = *n;
    e->count = et_mul(m->x, e->count, et_int(m->x, 2));
    emit(m, is_alone(m, n->event) ? same : other, "%s notifies %s twice, which counts twice as far",
         g->name, e->name);
}

/* ---- maps ---- */

/* E is multiplied, divided, or has coordinates exchanged or the other way round: the variants of
 * it, of which there are at most MOST. */
static int variants(struct mutation *m, const et_grid *g, et_expr e, et_expr *out,
                    const char **what) {
    const et_func *f = &m->p->funcs[g->func];
    et_expr two = et_int(m->x, 2);
    int64_t known;
    int n = 0;
    if (et_is_int(m->x, e, &known)) return 0;
    what[n] = "times 2", out[n++] = et_mul(m->x, e, two);
    what[n] = "over 2", out[n++] = et_op2(m->x, ET_X_IDIV, e, two);
    what[n] = "modulo 2", out[n++] = et_op2(m->x, ET_X_MOD, e, two);
    for (int c = 0; c < f->ncoords; c++) {
        if (!et_expr_has_var(m->x, e, f->coord[c])) continue;
        et_expr at = et_var(m->x, f->coord[c]), last = plus(m, g->extent[c], -1);
        what[n] = "the other way round";
        out[n++] = et_subst_var(m->x, e, f->coord[c], et_sub(m->x, last, at));
        what[n] = "the next tile's";
        out[n++] = et_subst_var(m->x, e, f->coord[c], plus(m, at, 1));
        if (f->ncoords < 2) continue;
        what[n] = "by another coordinate";
        out[n++] = et_subst_var(m->x, e, f->coord[c], et_var(m->x, f->coord[(c + 1) % f->ncoords]));
    }
    return n;
}

enum { MOST = 3 + 3 * ET_MAX_RANK };

static void mutate_wait_maps(struct mutation *m, et_grid *g, et_wait *w) {
    const et_event *e = &m->p->events[w->event];
    et_expr lo[MOST], hi[MOST];
    const char *what[MOST], *of[MOST];
    for (int d = 0; d < e->rank; d++) {
        int n = variants(m, g, w->lo[d], lo, what);
        for (int i = 0; i < n; i++) {
            w->lo[d] = lo[i];
            emit(m, other, "%s waits for %s: the first of dimension %d %s", g->name, e->name, d,
                 what[i]);
        }
        int k = variants(m, g, w->hi[d], hi, of);
        for (int i = 0; i < k; i++) {
            w->hi[d] = hi[i];
            emit(m, other, "%s waits for %s: the last of dimension %d %s", g->name, e->name, d,
                 of[i]);
        }
        for (int i = 0; i < n && n == k; i++) {
            w->lo[d] = lo[i], w->hi[d] = hi[i];
            emit(m, other, "%s waits for %s: dimension %d %s", g->name, e->name, d, what[i]);
        }
    }
}

static void mutate_notify_maps(struct mutation *m, et_grid *g, et_notify *no) {
    const et_event *e = &m->p->events[no->event];
    et_expr to[MOST];
    const char *what[MOST];
    for (int d = 0; d < e->rank; d++)
        for (int i = 0, n = variants(m, g, no->index[d], to, what); i < n; i++) {
            no->index[d] = to[i];
            emit(m, other, "%s notifies %s: dimension %d %s", g->name, e->name, d, what[i]);
        }
    for (int d = 1; d < e->rank; d++) {
        et_expr first = no->index[0];
        no->index[0] = no->index[d], no->index[d] = first;
        emit(m, other, "%s notifies %s: dimensions 0 and %d exchanged", g->name, e->name, d);
    }
}

/* ---- one size ---- */

/* E, but by one off where the first dim is AT, or from there on. */
static et_expr off_at(struct mutation *m, et_expr e, et_xop when, int64_t at, int by) {
    et_expr c = et_op2(m->x, when, et_int(m->x, at), et_sym(m->x, 0));
    return et_select(m->x, c, plus(m, e, by), e);
}

static void mutate_at_size(struct mutation *m, et_grid *g) {
    static const int64_t sizes[] = {17, 33};
    if (!et_sym_count(m->x)) return;
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        et_xop when = i % 2 ? ET_X_LE : ET_X_EQ;
        int at = (int)sizes[i / 2];
        const char *how = i % 2 ? "from" : "at";
        for (int k = 0; k < g->nwaits; k++) {
            et_wait *w = &g->waits[k];
            const et_event *e = &m->p->events[w->event];
            for (int d = 0; d < e->rank; d++) {
                w->lo[d] = off_at(m, w->lo[d], when, at, 1);
                emit(m, other, "%s waits for %s: one less first %s %d", g->name, e->name, how, at);
                w->hi[d] = off_at(m, w->hi[d], when, at, -1);
                emit(m, other, "%s waits for %s: one less last %s %d", g->name, e->name, how, at);
            }
        }
        for (int k = 0; k < g->nnotifies; k++) {
            et_notify *no = &g->notifies[k];
            const et_event *e = &m->p->events[no->event];
            for (int d = 0; d < e->rank; d++) {
                no->index[d] = off_at(m, no->index[d], when, at, -1);
                emit(m, other, "%s notifies %s: one down %s %d", g->name, e->name, how, at);
            }
        }
    }
}

/* ---- grids ---- */

static void mutate_grid(struct mutation *m, et_grid *g) {
    const mutant tiles = {.memory = true, .other = true};
    m->kind = MUTATE_EXTENT;
    for (int c = 0; c < m->p->funcs[g->func].ncoords; c++)
        for (int by = -1; by <= 1; by += 2) {
            g->extent[c] = plus(m, g->extent[c], by);
            emit(m, tiles, "%s has one tile %s along coordinate %d", g->name,
                 by < 0 ? "less" : "more", c);
        }
}

/* Two items of one list, one after the other. */
static void mutate_order(struct mutation *m, int first, int count) {
    et_item *items = m->p->items;
    for (int i = first; i < first + count; i++) {
        if (items[i].kind == ET_P_LOOP) mutate_order(m, items[i].first, items[i].count);
        if (i + 1 == first + count || items[i].kind != ET_P_GRID || items[i + 1].kind != ET_P_GRID)
            continue;
        const et_grid *a = &m->p->grids[items[i].index], *b = &m->p->grids[items[i + 1].index];
        et_item it = items[i];
        if (a->model != b->model) continue;
        items[i] = items[i + 1], items[i + 1] = it;
        emit(m, moved, "%s comes before %s", b->name, a->name);
    }
}

/* ---- events ---- */

static void mutate_event(struct mutation *m, int i) {
    et_event *e = &m->p->events[i];
    m->kind = MUTATE_COUNT;
    for (int by = -1; by <= 1; by += 2) {
        e->count = plus(m, e->count, by);
        emit(m, other, "%s counts %d %s", e->name, 1, by < 0 ? "less" : "more");
    }
    e->count = et_int(m->x, 1);
    emit(m, other, "%s counts to 1", e->name);
    for (int d = 0; d < e->rank; d++) {
        if (!e->var[d]) continue;
        et_expr next = plus(m, et_var(m->x, e->var[d] - 1), 1);
        e->count = et_subst_var(m->x, e->count, e->var[d] - 1, next);
        emit(m, other, "%s counts what its next counter does", e->name);
    }
    e->promised = !e->promised;
    emit(m, other, "%s is promised, or no longer", e->name);
    m->kind = MUTATE_SCOPE;
    e->scope = ET_SCOPE_DIE;
    emit(m, other, "%s has the scope of a die", e->name);
    e->scope = ET_SCOPE_WORKGROUP;
    emit(m, other, "%s has the scope of a workgroup", e->name);
    e->scope = ET_SCOPE_SYSTEM;
    emit(m, same, "%s has the scope of the system", e->name);
    m->kind = MUTATE_COUNTERS;
    for (int d = 0; d < e->rank; d++)
        for (int by = -1; by <= 1; by += 2) {
            e->dim[d] = plus(m, e->dim[d], by);
            emit(m, other, "%s has one counter %s in dimension %d", e->name,
                 by < 0 ? "less" : "more", d);
        }
    if (i > 0) {
        e->base = m->p->events[i - 1].base;
        emit(m, other, "%s shares the counters of %s", e->name, m->p->events[i - 1].name);
    }
    e->base = m->p->event_words;
    m->p->event_words += (e->words + 31) / 32 * 32;
    emit(m, same, "%s has its counters at the end", e->name);
}

/* ---- memory ---- */

static void mutate_memory(struct mutation *m, int t) {
    et_program *p = m->p;
    et_tensor *x = &p->tensors[t];
    if (x->kind != ET_TENSOR_TEMP) return;
    for (int o = 0; o < p->ntensors; o++) {
        if (o == t || p->tensors[o].kind != ET_TENSOR_TEMP || p->tensors[o].offset == x->offset)
            continue;
        x->offset = p->tensors[o].offset;
        int64_t end = x->offset + x->max_bytes;
        if (end > p->workspace_bytes) p->workspace_bytes = end;
        emit(m, moved, "%s lies where %s does", x->name, p->tensors[o].name);
    }
    x->offset = (p->workspace_bytes + 255) / 256 * 256;
    p->workspace_bytes = x->offset + x->max_bytes;
    emit(m, (mutant){.same = true, .memory = true}, "%s lies at the end", x->name);
}

/* ---- waits that add nothing ---- */

static int position(const et_program *p, int first, int count, int grid, int *now) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &p->items[i];
        int found = -1;
        if (it->kind == ET_P_LOOP)
            found = position(p, it->first, it->count, grid, now);
        else if (it->index == grid)
            found = *now;
        else
            ++*now;
        if (found >= 0) return found;
    }
    return -1;
}

static bool comes_first(const et_program *p, int a, int b) {
    int x = 0, y = 0;
    return position(p, p->first, p->count, a, &x) < position(p, p->first, p->count, b, &y);
}

/* Every grid may wait for every counter that earlier grids of its own loop complete in its
 * iteration, or that grids outside all loops complete. */
static void mutate_extra(struct mutation *m, int from, int to) {
    const et_program *p = m->p;
    et_grid *a = &p->grids[from], *b = &p->grids[to];
    if (!comes_first(p, from, to) || (a->loop >= 0 && a->loop != b->loop)) return;
    for (int i = 0; i < a->nnotifies; i++) {
        const et_notify *n = &a->notifies[i];
        const et_event *e = &p->events[n->event];
        et_wait w = {.event = n->event};
        if (n->when != ET_ALWAYS) continue;
        for (int d = 0; d < e->rank; d++) {
            bool loop = false;
            for (int l = a->loop; l >= 0; l = p->g->loops[l].parent)
                loop |= et_expr_eq(n->index[d], et_var(m->x, p->g->loops[l].var));
            w.lo[d] = loop ? n->index[d] : et_int(m->x, 0);
            w.hi[d] = loop ? n->index[d] : plus(m, e->dim[d], -1);
        }
        b->waits[b->nwaits++] = w;
        bool fine = is_alone(m, n->event) && e->scope >= ET_SCOPE_DEVICE;
        emit(m, fine ? same : other, "%s waits for all of %s too", b->name, e->name);
    }
}

/* ---- unfenced events ---- */

static void mutate_tag(struct mutation *m, const et_func *f, et_step *s) {
    et_step was = *s;
    for (int64_t by = -1; by <= 1; by += 2) {
        s->tag = plus(m, was.tag, by);
        emit(m, moved, "%s: step %d has a tag one %s", f->name, (int)(s - f->steps) + 1,
             by < 0 ? "less" : "more");
    }
    s->tag = et_int(m->x, 0);
    emit(m, moved, "%s: step %d has tag 0", f->name, (int)(s - f->steps) + 1);
    s->tag = et_mul(m->x, was.tag, et_int(m->x, 2));
    emit(m, moved, "%s: step %d has twice the tag", f->name, (int)(s - f->steps) + 1);
    for (int l = 0; l < m->p->g->nloops; l++) {
        et_expr at = et_var(m->x, m->p->g->loops[l].var);
        s->tag = et_subst_var(m->x, was.tag, m->p->g->loops[l].var,
                              et_op2(m->x, ET_X_MIN, at, et_int(m->x, 1)));
        emit(m, moved, "%s: step %d has one tag from the second iteration on", f->name,
             (int)(s - f->steps) + 1);
    }
    *s = was;
}

static void mutate_carried(struct mutation *m) {
    et_program *p = m->p;
    for (int e = 0; e < p->nevents; e++) {
        bool was = p->events[e].unfenced;
        p->events[e].unfenced = !was;
        emit(m, was ? same : other, "event %s %s fences", p->events[e].name,
             was ? "has" : "is without");
    }
    for (int i = 0; i < p->nfuncs; i++)
        for (int k = 0; k < p->funcs[i].nsteps; k++)
            if (p->funcs[i].steps[k].tag.id) mutate_tag(m, &p->funcs[i], &p->funcs[i].steps[k]);
}

/* All that a grid waits for and tells, and how many tiles it has. */
static void mutate_tasks(struct mutation *m, int g) {
    et_program *p = m->p;
    m->kind = MUTATE_WAIT;
    for (int i = 0; i < p->grids[g].nwaits; i++)
        mutate_wait(m, &p->grids[g], i);
    for (int from = 0; from < p->ngrids; from++)
        mutate_extra(m, from, g);
    m->kind = MUTATE_NOTIFY;
    for (int i = 0; i < p->grids[g].nnotifies; i++)
        mutate_notify(m, &p->grids[g], i);
    m->kind = MUTATE_WAIT_MAP;
    for (int i = 0; i < p->grids[g].nwaits; i++)
        mutate_wait_maps(m, &p->grids[g], &p->grids[g].waits[i]);
    m->kind = MUTATE_NOTIFY_MAP;
    for (int i = 0; i < p->grids[g].nnotifies; i++)
        mutate_notify_maps(m, &p->grids[g], &p->grids[g].notifies[i]);
    m->kind = MUTATE_ONE_SIZE;
    mutate_at_size(m, &p->grids[g]);
    mutate_grid(m, &p->grids[g]);
}

void mutate_all(et_program *p, mutant_fn fn, void *ctx) {
    struct mutation m = {.p = p, .x = p->g->exprs, .fn = fn, .ctx = ctx};
    save(&m);
    for (int g = 0; g < p->ngrids; g++)
        mutate_tasks(&m, g);
    m.kind = MUTATE_ORDER;
    mutate_order(&m, p->first, p->count);
    for (int e = 0; e < p->nevents; e++)
        mutate_event(&m, e);
    m.kind = MUTATE_MEMORY;
    for (int t = 0; t < p->ntensors; t++)
        mutate_memory(&m, t);
    m.kind = MUTATE_CARRIED;
    mutate_carried(&m);
}

void mutate_two(et_program *p, int a, int b, mutant_fn fn, void *ctx) {
    struct mutation m = {.p = p, .x = p->g->exprs, .fn = fn, .ctx = ctx};
    save(&m);
    mutate_tasks(&m, a);
    mutate_tasks(&m, b);
}
