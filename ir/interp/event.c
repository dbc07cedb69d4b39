/* Counters of events: who arrived, who waits, and what happened before whom.
 *
 * A task's past is the set of tasks that are done whenever it starts: the arrivals of every counter
 * it waits for, and their pasts. Because a wait needs every arrival, the set does not depend on the
 * order this run happened to choose; it would only if a counter got more arrivals than its event
 * says, which is reported. */
#include "ir/interp/run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 64 };
static const int64_t UNTOLD = INT64_MIN;

static bool applies(struct run *m, const et_grid *g, et_when when) {
    if (when == ET_ALWAYS || g->loop < 0) return true;
    const et_loop *l = &m->p->g->loops[g->loop];
    int64_t i = m->vars[l->var];
    if (when == ET_LAST_ITERATION) return i == run_whole(m, l->trips) - 1;
    return (i == 0) == (when == ET_FIRST_ITERATION);
}

/* Where TASK runs, among those that share what SCOPE covers. */
static int place(struct run *m, int task, et_scope scope) {
    if (scope >= ET_SCOPE_DEVICE) return 0;
    const et_grid *g = &m->p->grids[m->inst[m->task[task].instance].grid];
    if (scope == ET_SCOPE_DIE && g->slice.count && !g->dynamic) {
        int c = g->slice.coord; /* the task is the one entered */
        int64_t at = m->vars[m->p->funcs[g->func].coord[c]];
        int64_t s = et_slice_of(at, run_whole(m, g->extent[c]), g->slice.count);
        return (int)((s + g->model) % m->opt->dies);
    }
    int workgroup = task % m->opt->workgroups;
    return scope == ET_SCOPE_DIE ? workgroup % m->opt->dies : workgroup;
}

bool run_events_create(struct run *m) {
    et_program *p = m->p;
    size_t n = (size_t)p->nevents + 1;
    m->stride = calloc(n, sizeof *m->stride);
    m->edim = calloc(n, sizeof *m->edim);
    m->need = calloc(n, sizeof *m->need);
    m->counter = calloc((size_t)p->event_words + 1, sizeof *m->counter);
    m->words = (m->ntasks + 63) / 64;
    for (int e = 0; e < p->nevents; e++)
        if (p->events[e].unfenced) m->fenced = m->words;
    m->room = m->words + m->fenced;
    m->past = calloc((size_t)m->room + 1, sizeof *m->past);
    if (!m->stride || !m->edim || !m->need || !m->counter || !m->past) return false;
    for (int w = 0; w < p->event_words; w++)
        m->counter[w] =
            (struct run_counter){.last = -1, .before = -1, .waiter = -1, .needed_by = -1};
    for (int e = 0; e < p->nevents; e++) {
        const et_event *ev = &p->events[e];
        int64_t stride = 1, lo, hi;
        for (int d = ev->rank - 1; d >= 0; d--) {
            m->edim[e][d] = run_whole(m, ev->dim[d]);
            m->stride[e][d] = stride;
            if (!et_bounds(m->x, ev->dim[d], &lo, &hi)) hi = m->edim[e][d];
            stride *= hi;
        }
        m->need[e] = UNTOLD;
        if (!!et_expr_is_known(m->x, ev->count)) m->need[e] = run_whole(m, ev->count);
    }
    return true;
}

void run_events_destroy(struct run *m) {
    for (int w = 0; m->counter && w < m->p->event_words; w++) {
        for (int k = 0; m->counter[w].clock && k < MAX_PLACES; k++)
            free(m->counter[w].clock[k]);
        free(m->counter[w].clock);
    }
    free(m->counter);
    free(m->stride);
    free(m->edim);
    free(m->need);
    free(m->past);
}

const char *run_counter_name(struct run *m, int event, int word, char buf[160]) {
    const et_event *ev = &m->p->events[event];
    int64_t left = word - ev->base;
    int n = snprintf(buf, 160, "%%%s[", ev->name);
    for (int d = 0; d < ev->rank && n < 130; d++) {
        int64_t stride = m->stride[event][d] > 0 ? m->stride[event][d] : 1;
        n += snprintf(buf + n, 160 - (size_t)n, "%s%" PRId64, d ? ", " : "", left / stride);
        left %= stride;
    }
    snprintf(buf + n, 160 - (size_t)n, "]");
    return buf;
}

/* The word of counter AT of EVENT, or -1 after reporting that there is none. */
static int word_of(struct run *m, int event, const int64_t *at, const char *what) {
    const et_event *ev = &m->p->events[event];
    int64_t word = 0;
    bool inside = true;
    for (int d = 0; d < ev->rank; d++) {
        inside &= at[d] >= 0 && at[d] < m->edim[event][d];
        if (inside) word += at[d] * m->stride[event][d];
    }
    if (inside && ev->base >= 0 && word < m->p->event_words - ev->base) return ev->base + (int)word;
    char task[160], index[160] = "";
    for (int d = 0, n = 0; d < ev->rank && n < 130; d++)
        n += snprintf(index + n, sizeof index - (size_t)n, "%s%" PRId64, d ? ", " : "", at[d]);
    run_fail(m, "task %s %s %%%s[%s], which has no such counter", run_task_name(m, m->now, task),
             what, ev->name, index);
    return -1;
}

/* Arrivals that complete counter AT, which is WORD: one number for every task that asks. */
static int64_t need_of(struct run *m, int event, const int64_t *at, int word) {
    const et_event *ev = &m->p->events[event];
    struct run_counter *c = &m->counter[word];
    if (m->need[event] != UNTOLD) return m->need[event];
    for (int d = 0; d < ev->rank; d++)
        if (ev->var[d]) m->vars[ev->var[d] - 1] = at[d];
    int64_t need = run_index(m, ev->count);
    if (need < 0) need = 0;
    if (!m->failed && c->needed_by >= 0 && c->need != need) {
        char a[160], b[160], name[160];
        run_fail(
            m, "event %s counts to %" PRId64 " for task %s but counted to %" PRId64 " for task %s",
            run_counter_name(m, event, word, name), need, run_task_name(m, m->now, a), c->need,
            run_task_name(m, c->needed_by, b));
    }
    c->need = need;
    c->needed_by = m->now;
    return need;
}

/* The next values of N variables, the last fastest. */
static bool values_next(struct run *m, int n, const int *vars, const int64_t *extent) {
    for (int i = n - 1; i >= 0; i--) {
        if (++m->vars[vars[i]] < extent[i]) return true;
        m->vars[vars[i]] = 0;
    }
    return false;
}

static bool values_begin(struct run *m, int n, const int *vars, int64_t *extent) {
    bool any = true;
    for (int i = 0; i < n; i++) {
        extent[i] = run_index(m, et_var_extent(m->x, vars[i]));
        any &= extent[i] > 0;
    }
    for (int i = 0; i < n; i++)
        m->vars[vars[i]] = 0;
    return any && !m->failed;
}

/* The counters a wait names: row-major in each of its boxes. */
struct box {
    const et_wait *w; /* NULL: one box */
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    int64_t extent[ET_MAX_VARS];
    int rank;
};

/* The box at these values of the variables; false when it is empty. */
static bool box_here(struct run *m, struct box *b) {
    const et_wait *w = b->w;
    bool any = true;
    for (int d = 0; d < b->rank; d++) {
        b->lo[d] = run_index(m, w->lo[d]);
        b->hi[d] = run_index(m, w->hi[d]);
        if (w->nvars && b->lo[d] < 0) b->lo[d] = 0;
        if (w->nvars && b->hi[d] >= m->edim[w->event][d]) b->hi[d] = m->edim[w->event][d] - 1;
        b->at[d] = b->lo[d];
        any &= b->lo[d] <= b->hi[d];
    }
    return any && !m->failed;
}

static bool box_find(struct run *m, struct box *b) {
    while (values_next(m, b->w->nvars, b->w->vars, b->extent) && !m->failed)
        if (box_here(m, b)) return true;
    return false;
}

static bool box_begin(struct run *m, const et_wait *w, struct box *b) {
    b->w = w;
    b->rank = m->p->events[w->event].rank;
    return values_begin(m, w->nvars, w->vars, b->extent) && (box_here(m, b) || box_find(m, b));
}

static bool box_next(struct run *m, struct box *b) {
    for (int d = b->rank - 1; d >= 0; d--) {
        if (b->at[d] < b->hi[d]) {
            b->at[d]++;
            return true;
        }
        b->at[d] = b->lo[d];
    }
    return b->w && box_find(m, b);
}

static int first_short(struct run *m, const et_grid *g, int *out_event) {
    struct box b;
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        if (!applies(m, g, w->when) || !box_begin(m, w, &b)) continue;
        do {
            int word = word_of(m, w->event, b.at, "waits for");
            if (m->failed) return -1;
            if (m->counter[word].arrivals < need_of(m, w->event, b.at, word)) {
                *out_event = w->event;
                return word;
            }
        } while (box_next(m, &b));
    }
    return -1;
}

/* A look at the counters is no access of the task: what a box reads is noted with its past. */
int run_first_short(struct run *m, const et_grid *g, int *out_event) {
    struct run_shadow *shadow = m->shadow;
    m->shadow = NULL;
    int word = first_short(m, g, out_event);
    m->shadow = shadow;
    return word;
}

static bool told_by_all(struct run *m, const et_wait *w) {
    struct box b;
    if (!box_begin(m, w, &b)) return true;
    do {
        int word = word_of(m, w->event, b.at, "waits for");
        if (m->failed) return true;
        int64_t need = need_of(m, w->event, b.at, word);
        for (int d = 0; d < m->p->g->devices; d++)
            if (m->all[d].counter[word].arrivals < need) return false;
    } while (box_next(m, &b));
    return true;
}

bool run_told_by_all(struct run *m, const et_grid *g) {
    struct run_shadow *shadow = m->shadow;
    bool all = true;
    m->shadow = NULL;
    for (int i = 0; i < g->nwaits && all; i++)
        if (m->p->events[g->waits[i].event].scope == ET_SCOPE_SYSTEM &&
            applies(m, g, g->waits[i].when))
            all = told_by_all(m, &g->waits[i]);
    m->shadow = shadow;
    return all;
}

/* What boxes and counts read is ordered by the waits before. */
static void join_past(struct run *m, const et_wait *w, uint64_t *all) {
    struct box b;
    const et_event *e = &m->p->events[w->event];
    int from = place(m, m->now, e->scope), words = e->unfenced ? m->words : m->room;
    if (!box_begin(m, w, &b)) return;
    do {
        int word = word_of(m, w->event, b.at, "waits for");
        if (word < 0) return;
        if (m->need[w->event] == UNTOLD) need_of(m, w->event, b.at, word);
        uint64_t *const *clock = m->counter[word].clock;
        for (int k = 0; clock && clock[from] && k < words; k++)
            all[k] |= clock[from][k];
    } while (box_next(m, &b));
}

void run_collect_past(struct run *m, const et_grid *g) {
    size_t bytes = (size_t)m->room * sizeof *m->past;
    memset(m->past, 0, bytes);
    uint64_t *all = calloc((size_t)m->room + 1, sizeof *all);
    if (!all) run_fail(m, "out of memory");
    for (int i = 0; i < g->nwaits && !m->failed; i++) {
        if (!applies(m, g, g->waits[i].when)) continue;
        join_past(m, &g->waits[i], all);
        memcpy(m->past, all, bytes);
    }
    free(all);
}

static bool note_arrival(struct run *m, struct run_counter *c, et_scope scope) {
    int from = place(m, m->now, scope);
    if (!c->clock) c->clock = calloc(MAX_PLACES, sizeof *c->clock);
    if (c->clock && !c->clock[from]) c->clock[from] = calloc((size_t)m->room, sizeof(uint64_t));
    if (!c->clock || !c->clock[from]) return false;
    for (int k = 0; k < m->room; k++)
        c->clock[from][k] |= m->past[k];
    c->clock[from][m->now >> 6] |= (uint64_t)1 << (m->now & 63);
    c->clock[from][m->fenced + (m->now >> 6)] |= (uint64_t)1 << (m->now & 63);
    return true;
}

/* The word notified at these values of the variables, AT its index; -1 when there is none. */
static int notified(struct run *m, const et_notify *no, int64_t *at) {
    bool inside = true;
    for (int d = 0; d < m->p->events[no->event].rank; d++) {
        at[d] = run_index(m, no->index[d]);
        inside &= at[d] >= 0 && at[d] < m->edim[no->event][d];
    }
    if (m->failed || (no->nvars && !inside)) return -1;
    return word_of(m, no->event, at, "notifies");
}

static void wake_all(struct run *m, struct run_counter *c) {
    for (int task; (task = c->waiter) >= 0;) {
        c->waiter = m->task[task].next;
        m->task[task].next = m->woken;
        m->woken = task;
    }
}

static void arrive(struct run *m, int event, const int64_t *at, int word) {
    struct run_counter *c = &m->counter[word];
    int64_t need = need_of(m, event, at, word);
    if (m->failed) return;
    if (m->shadow && !note_arrival(m, c, m->p->events[event].scope)) {
        run_fail(m, "out of memory");
        return;
    }
    c->arrivals++;
    c->before = c->last;
    c->last = m->now;
    if (c->arrivals > need) {
        char a[160], b[160], e[160];
        run_fail(m, "event %s counts to %" PRId64 " but gets more: task %s arrives after %s",
                 run_counter_name(m, event, word, e), need, run_task_name(m, m->now, a),
                 c->before < 0 ? "none" : run_task_name(m, c->before, b));
        return;
    }
    if (c->arrivals >= need) wake_all(m, c);
}

void run_notify(struct run *m, const et_grid *g) {
    int64_t at[ET_MAX_RANK], extent[ET_MAX_VARS];
    for (int i = 0; i < g->nnotifies && !m->failed; i++) {
        const et_notify *no = &g->notifies[i];
        if (!applies(m, g, no->when) || !values_begin(m, no->nvars, no->vars, extent)) continue;
        do {
            int word = notified(m, no, at);
            if (word >= 0) arrive(m, no->event, at, word);
        } while (!m->failed && values_next(m, no->nvars, no->vars, extent));
    }
}

bool run_notifies(struct run *m, const et_grid *g, int word) {
    int64_t at[ET_MAX_RANK], extent[ET_MAX_VARS];
    for (int i = 0; i < g->nnotifies && !m->failed; i++) {
        const et_notify *no = &g->notifies[i];
        if (!applies(m, g, no->when) || !values_begin(m, no->nvars, no->vars, extent)) continue;
        do
            if (notified(m, no, at) == word) return true;
        while (!m->failed && values_next(m, no->nvars, no->vars, extent));
    }
    return false;
}

int64_t run_need(const struct run *m, int event, int word) {
    return m->need[event] != UNTOLD ? m->need[event] : m->counter[word].need;
}

void run_check_counts(struct run *m) {
    for (int e = 0; e < m->p->nevents && !m->failed; e++) {
        const et_event *ev = &m->p->events[e];
        struct box b = {.rank = ev->rank};
        bool any = true;
        for (int d = 0; d < ev->rank; d++) {
            b.hi[d] = m->edim[e][d] - 1;
            any &= b.hi[d] >= 0;
        }
        if (any) do {
                int word = word_of(m, e, b.at, "has");
                if (word < 0) return;
                const struct run_counter *c = &m->counter[word];
                /* A counter that nothing touches is room the event does not use. */
                int64_t need = run_need(m, e, word);
                if (c->arrivals == 0 || c->arrivals == need) continue;
                char a[160], name[160];
                run_fail(m,
                         "event %s counts to %" PRId64 " but gets %u arrivals, the last of task %s",
                         run_counter_name(m, e, word, name), need, c->arrivals,
                         run_task_name(m, c->last, a));
            } while (!m->failed && box_next(m, &b));
    }
}
