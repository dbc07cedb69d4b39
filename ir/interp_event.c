/* Counters of events: who arrived, who waits, and what happened before whom.
 *
 * A task's past is the set of tasks that are done whenever it starts: the arrivals of every counter
 * it waits for, and their pasts. Because a wait needs every arrival, the set does not depend on the
 * order this run happened to choose; it would only if a counter got more arrivals than its event
 * says, which is reported. */
#include "interp_run.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PLACES = 64 };

static bool applies(struct run *m, const et_grid *g, et_when when) {
    if (when == ET_ALWAYS || g->loop < 0) return true;
    const et_loop *l = &m->p->g->loops[g->loop];
    int64_t i = m->vars[l->var];
    if (when == ET_LAST_ITERATION) return i == l->hi - l->lo - 1;
    return (i == 0) == (when == ET_FIRST_ITERATION);
}

/* Where TASK runs, among those that share what SCOPE covers. */
static int place(const struct run *m, int task, et_scope scope) {
    if (scope >= ET_SCOPE_DEVICE) return 0;
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
    m->past = calloc((size_t)m->words + 1, sizeof *m->past);
    if (!m->stride || !m->edim || !m->need || !m->counter || !m->past) return false;
    for (int w = 0; w < p->event_words; w++)
        m->counter[w].last = m->counter[w].before = m->counter[w].waiter = -1;
    for (int e = 0; e < p->nevents; e++) {
        const et_event *ev = &p->events[e];
        int64_t stride = 1, lo, hi;
        for (int d = ev->rank - 1; d >= 0; d--) {
            m->edim[e][d] = run_whole(m, ev->dim[d]);
            m->stride[e][d] = stride;
            if (!et_bounds(m->x, ev->dim[d], &lo, &hi)) hi = m->edim[e][d];
            stride *= hi;
        }
        m->need[e] = run_whole(m, ev->count);
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

/* The box of counters a wait names: row-major iteration. */
struct box {
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    int rank;
};

static bool box_begin(struct run *m, const et_wait *w, struct box *b) {
    b->rank = m->p->events[w->event].rank;
    bool any = true;
    for (int d = 0; d < b->rank; d++) {
        b->at[d] = b->lo[d] = run_index(m, w->lo[d]);
        b->hi[d] = run_index(m, w->hi[d]);
        any &= b->lo[d] <= b->hi[d];
    }
    return any && !m->failed;
}

static bool box_next(struct box *b) {
    for (int d = b->rank - 1; d >= 0; d--) {
        if (b->at[d] < b->hi[d]) {
            b->at[d]++;
            return true;
        }
        b->at[d] = b->lo[d];
    }
    return false;
}

static int first_short(struct run *m, const et_grid *g, int *out_event) {
    struct box b;
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        if (!applies(m, g, w->when) || !box_begin(m, w, &b)) continue;
        do {
            int word = word_of(m, w->event, b.at, "waits for");
            if (m->failed) return -1;
            if (m->counter[word].arrivals < m->need[w->event]) {
                *out_event = w->event;
                return word;
            }
        } while (box_next(&b));
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

void run_collect_past(struct run *m, const et_grid *g) {
    struct box b;
    memset(m->past, 0, (size_t)m->words * sizeof *m->past);
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        if (!applies(m, g, w->when) || !box_begin(m, w, &b)) continue;
        int from = place(m, m->now, m->p->events[w->event].scope);
        do {
            int word = word_of(m, w->event, b.at, "waits for");
            if (word < 0) return;
            uint64_t *const *clock = m->counter[word].clock;
            for (int k = 0; clock && clock[from] && k < m->words; k++)
                m->past[k] |= clock[from][k];
        } while (box_next(&b));
    }
}

static bool note_arrival(struct run *m, struct run_counter *c, et_scope scope) {
    int from = place(m, m->now, scope);
    if (!c->clock) c->clock = calloc(MAX_PLACES, sizeof *c->clock);
    if (c->clock && !c->clock[from]) c->clock[from] = calloc((size_t)m->words, sizeof(uint64_t));
    if (!c->clock || !c->clock[from]) return false;
    for (int k = 0; k < m->words; k++)
        c->clock[from][k] |= m->past[k];
    c->clock[from][m->now >> 6] |= (uint64_t)1 << (m->now & 63);
    return true;
}

static int notified(struct run *m, const et_notify *no) {
    int64_t at[ET_MAX_RANK];
    for (int d = 0; d < m->p->events[no->event].rank; d++)
        at[d] = run_index(m, no->index[d]);
    return m->failed ? -1 : word_of(m, no->event, at, "notifies");
}

static void wake_all(struct run *m, struct run_counter *c) {
    for (int task; (task = c->waiter) >= 0;) {
        c->waiter = m->task[task].next;
        m->task[task].next = m->woken;
        m->woken = task;
    }
}

void run_notify(struct run *m, const et_grid *g) {
    for (int i = 0; i < g->nnotifies && !m->failed; i++) {
        const et_notify *no = &g->notifies[i];
        if (!applies(m, g, no->when)) continue;
        int word = notified(m, no);
        if (word < 0) return;
        struct run_counter *c = &m->counter[word];
        if (m->shadow && !note_arrival(m, c, m->p->events[no->event].scope)) {
            run_fail(m, "out of memory");
            return;
        }
        c->arrivals++;
        c->before = c->last;
        c->last = m->now;
        if (c->arrivals > m->need[no->event]) {
            char a[160], b[160], e[160];
            run_fail(m, "event %s counts to %" PRId64 " but gets more: task %s arrives after %s",
                     run_counter_name(m, no->event, word, e), m->need[no->event],
                     run_task_name(m, m->now, a),
                     c->before < 0 ? "none" : run_task_name(m, c->before, b));
            return;
        }
        if (c->arrivals < m->need[no->event]) continue;
        wake_all(m, c);
    }
}

bool run_notifies(struct run *m, const et_grid *g, int word) {
    for (int i = 0; i < g->nnotifies && !m->failed; i++)
        if (applies(m, g, g->notifies[i].when) && notified(m, &g->notifies[i]) == word) return true;
    return false;
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
                if (c->arrivals == 0 || c->arrivals == m->need[e]) continue;
                char a[160], name[160];
                run_fail(m,
                         "event %s counts to %" PRId64 " but gets %u arrivals, the last of task %s",
                         run_counter_name(m, e, word, name), m->need[e], c->arrivals,
                         run_task_name(m, c->last, a));
            } while (!m->failed && box_next(&b));
    }
}
