/* Derived from a timeline's spans: their order on rows, what delayed each, the critical path. */
#include "passes/timeline/int.h"

#include <stdlib.h>
#include <string.h>

static int by_row(const void *a, const void *b, void *spans) {
    const timeline_span *x = (const timeline_span *)spans + *(const int *)a;
    const timeline_span *y = (const timeline_span *)spans + *(const int *)b;
    if (x->row != y->row) return x->row < y->row ? -1 : 1;
    if (x->reached != y->reached) return x->reached < y->reached ? -1 : 1;
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void sort_rows(timeline *t) {
    size_t n = (size_t)t->nspans;
    t->order = timeline_alloc(n, sizeof *t->order);
    t->before = timeline_alloc(n, sizeof *t->before);
    for (int i = 0; i < t->nspans; i++)
        t->order[i] = i;
    qsort_r(t->order, n, sizeof *t->order, by_row, t->span);
    for (int i = 0; i < t->nspans; i++) {
        struct timeline_row *r = &t->row[t->span[t->order[i]].row];
        t->before[t->order[i]] = r->count ? t->order[i - 1] : -1;
        if (!r->count++) r->first = i;
    }
}

static void find_extent(timeline *t) {
    for (int i = 0; i < t->nspans; i++) {
        double from = timeline_look(t, i), to = t->span[i].left;
        if (i == 0 || from < t->first) t->first = from;
        if (i == 0 || to > t->last) t->last = to;
    }
}

/* ---- counters ---- */

static int by_counter(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of two spans, either of which may be -1, the one that ended later. */
static int later(const timeline *t, int a, int b) {
    if (a < 0 || b < 0) return a < 0 ? b : a;
    return t->span[b].done > t->span[a].done ? b : a;
}

/* The position of the first counter that is COUNTER or above. */
static int place_of(const timeline *t, uint32_t counter) {
    int lo = 0, hi = t->ncounters;
    while (lo < hi) {
        int middle = lo + (hi - lo) / 2;
        if (t->counter[middle] < counter)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static void index_counters(timeline *t) {
    t->counter = timeline_alloc((size_t)t->narrivals, sizeof *t->counter);
    for (int i = 0; i < t->narrivals; i++)
        t->counter[i] = t->arrival[i].counter;
    qsort(t->counter, (size_t)t->narrivals, sizeof *t->counter, by_counter);
    for (int i = 0; i < t->narrivals; i++)
        if (!t->ncounters || t->counter[t->ncounters - 1] != t->counter[i])
            t->counter[t->ncounters++] = t->counter[i];
    int n = t->ncounters;
    t->completer = timeline_alloc(2 * (size_t)n, sizeof *t->completer);
    for (int i = 0; i < 2 * n; i++)
        t->completer[i] = -1;
    for (int i = 0; i < t->narrivals; i++) {
        int *leaf = &t->completer[n + place_of(t, t->arrival[i].counter)];
        *leaf = later(t, *leaf, t->arrival[i].span);
    }
    for (int i = n - 1; i > 0; i--)
        t->completer[i] = later(t, t->completer[2 * i], t->completer[2 * i + 1]);
}

static int last_arrival(const timeline *t, struct timeline_range r) {
    int lo = t->ncounters + place_of(t, r.from), hi = t->ncounters + place_of(t, r.to), best = -1;
    for (; lo < hi; lo /= 2, hi /= 2) {
        if (lo & 1) best = later(t, best, t->completer[lo++]);
        if (hi & 1) best = later(t, best, t->completer[--hi]);
    }
    return best;
}

static void find_causes(timeline *t) {
    t->cause = timeline_alloc((size_t)t->nspans, sizeof *t->cause);
    t->cause_of = timeline_alloc((size_t)t->nspans, sizeof *t->cause_of);
    for (int i = 0; i < t->nspans; i++)
        t->cause[i] = -1;
    for (int i = 0; i < t->nawaits; i++) {
        const struct timeline_await *a = &t->await[i];
        int last = last_arrival(t, a->range), *cause = &t->cause[a->span];
        if (last < 0 || later(t, *cause, last) != last || *cause == last) continue;
        *cause = last;
        t->cause_of[a->span] = a->range.from;
    }
}

/* ---- the critical path ---- */

/* What delayed SPAN: the one before on its row or one that it waited for, whichever ended last. */
static int held_up_by(const timeline *t, int span) {
    int before = t->before[span], cause = t->cause[span];
    if (before < 0 || cause < 0) return before < 0 ? cause : before;
    return t->span[before].left > t->span[cause].done ? before : cause;
}

static void find_path(timeline *t) {
    if (!timeline_linked(t) || !t->nspans) return;
    int last = 0;
    for (int i = 1; i < t->nspans; i++)
        if (t->span[i].left > t->span[last].left) last = i;
    bool *seen = timeline_alloc((size_t)t->nspans, sizeof *seen);
    t->path = timeline_alloc((size_t)t->nspans, sizeof *t->path);
    for (int at = last; at >= 0 && !seen[at]; at = held_up_by(t, at)) {
        seen[at] = true;
        t->path[t->npath++] = at;
    }
    for (int i = 0; i < t->npath / 2; i++) {
        int other = t->path[t->npath - 1 - i];
        t->path[t->npath - 1 - i] = t->path[i];
        t->path[i] = other;
    }
    free(seen);
}

void timeline_finish(timeline *t) {
    if (t->finished) return;
    t->finished = true;
    sort_rows(t);
    find_extent(t);
    index_counters(t);
    find_causes(t);
    find_path(t);
}
