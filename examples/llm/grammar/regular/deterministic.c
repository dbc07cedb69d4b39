/* An automaton of choices made one of states without: a state is the set of all that may be. */
#include "examples/llm/grammar/regular/regex.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CHOICES = 1 << 16, MOST_WORK = 1 << 25, MOST_KEPT = 1 << 22 };

/* ---- making ---- */

int32_t choices_new(struct choices *c) {
    if (c->n == c->cap) {
        int32_t cap = c->cap ? c->cap * 2 : 256;
        struct choice *more =
            cap <= MOST_CHOICES ? realloc(c->at, (size_t)cap * sizeof *more) : NULL;
        if (!more) {
            c->failed = true;
            return 0;
        }
        c->at = more;
        c->cap = cap;
    }
    c->at[c->n] = (struct choice){-1, -1, -1, -1};
    return c->n++;
}

/* One that has two ways on already gets a state between, which has the second of them and the new
 * one. */
void choices_link(struct choices *c, int32_t from, int32_t to) {
    if (!c->failed && c->at[from].to >= 0 && c->at[from].other >= 0) {
        int32_t between = choices_new(c);
        if (c->failed) return;
        c->at[between].to = c->at[from].other;
        c->at[from].other = between;
        from = between;
    }
    if (c->failed) return;
    if (c->at[from].to < 0)
        c->at[from].to = to;
    else
        c->at[from].other = to;
}

void choices_range(struct choices *c, int32_t from, int lo, int hi, int32_t to) {
    if (c->failed) return;
    c->at[from].lo = lo;
    c->at[from].hi = hi;
    c->at[from].to = to;
}

/* ---- sets ---- */

struct subsets {
    const struct choices *c;
    int32_t last;
    int32_t *kept;   /* the members of all sets, one set after the other */
    int32_t *starts; /* [n + 1] */
    int32_t *table;  /* [2 * MACHINE_STATES] */
    int32_t n, nkept, cap;
    int32_t *now, *marks; /* a set that is being made */
    int32_t nnow, turn;
    int64_t work;
    bool failed;
};

/* What is reached from STATE without a symbol. */
static void reach(struct subsets *s, int32_t state) {
    int32_t at = s->nnow;
    if (s->marks[state] == s->turn) return;
    s->marks[state] = s->turn;
    s->now[s->nnow++] = state;
    for (; at < s->nnow; at++) {
        const struct choice *c = &s->c->at[s->now[at]];
        int32_t ways[2] = {c->to, c->other};
        s->work++;
        if (c->lo >= 0) continue;
        for (int i = 0; i < 2; i++) {
            if (ways[i] < 0 || s->marks[ways[i]] == s->turn) continue;
            s->marks[ways[i]] = s->turn;
            s->now[s->nnow++] = ways[i];
        }
    }
}

static void begin(struct subsets *s) {
    s->turn++;
    s->nnow = 0;
}

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* Of the set that was made only those count that wait for a symbol, or are the last. */
static void thin(struct subsets *s) {
    int32_t n = 0;
    for (int32_t i = 0; i < s->nnow; i++)
        if (s->c->at[s->now[i]].lo >= 0 || s->now[i] == s->last) s->now[n++] = s->now[i];
    s->nnow = n;
    qsort(s->now, (size_t)n, sizeof *s->now, compare);
}

static bool keep(struct subsets *s) {
    if (s->n == MACHINE_STATES || s->nkept + s->nnow > MOST_KEPT) return false;
    if (s->nkept + s->nnow > s->cap) {
        int32_t cap = (s->nkept + s->nnow) * 2;
        int32_t *more = realloc(s->kept, (size_t)cap * sizeof *more);
        if (!more) return false;
        s->kept = more;
        s->cap = cap;
    }
    if (s->nnow) memcpy(s->kept + s->nkept, s->now, (size_t)s->nnow * sizeof *s->now);
    s->nkept += s->nnow;
    s->starts[++s->n] = s->nkept;
    return true;
}

/* The number of the set that was made; -1: it is empty, or there is no room. */
static int64_t number(struct subsets *s) {
    uint32_t hash = 1, mask = 2 * MACHINE_STATES - 1;
    thin(s);
    if (!s->nnow) return -1;
    for (int32_t i = 0; i < s->nnow; i++)
        hash = (hash ^ (uint32_t)s->now[i]) * 0x9e3779b1u ^ hash >> 15;
    for (hash &= mask; s->table[hash] >= 0; hash = (hash + 1) & mask) {
        int32_t set = s->table[hash], n = s->starts[set + 1] - s->starts[set];
        if (n == s->nnow && !memcmp(s->kept + s->starts[set], s->now, (size_t)n * sizeof *s->now))
            return set;
    }
    if (!keep(s)) {
        s->failed = true;
        return -1;
    }
    s->table[hash] = s->n - 1;
    return s->n - 1;
}

static void follow(struct subsets *s, int64_t set, int symbol) {
    begin(s);
    for (int32_t i = s->starts[set]; i < s->starts[set + 1]; i++) {
        const struct choice *c = &s->c->at[s->kept[i]];
        s->work++;
        if (c->lo >= 0 && symbol >= c->lo && symbol <= c->hi) reach(s, c->to);
    }
}

static int64_t step(const void *user, int64_t set, unsigned char byte) {
    struct subsets *s = *(struct subsets *const *)user;
    if (s->failed || s->work > MOST_WORK) {
        s->failed = true;
        return -1;
    }
    follow(s, set, byte);
    return number(s);
}

static bool ends(const void *user, int64_t set) {
    struct subsets *s = *(struct subsets *const *)user;
    follow(s, set, TEXT_ENDS);
    return s->marks[s->last] == s->turn;
}

static void free_subsets(struct subsets *s) {
    free(s->kept);
    free(s->starts);
    free(s->table);
    free(s->now);
    free(s->marks);
}

struct machine *choices_machine(const struct choices *c, int32_t first, int32_t last) {
    struct subsets s = {.c = c, .last = last}, *at = &s;
    struct machine_plan p = {.step = step, .ends = ends, .user = &at};
    bool marks[257] = {false};
    struct machine *m = NULL;
    for (int32_t i = 0; i < c->n; i++)
        if (c->at[i].lo >= 0 && c->at[i].lo < 256)
            marks[c->at[i].lo] = marks[c->at[i].hi + 1] = true;
    machine_classes(&p, marks);
    s.starts = calloc(MACHINE_STATES + 1, sizeof *s.starts);
    s.table = malloc(2 * MACHINE_STATES * sizeof *s.table);
    s.now = malloc(((size_t)c->n + 1) * sizeof *s.now);
    s.marks = calloc((size_t)c->n + 1, sizeof *s.marks);
    if (s.starts && s.table && s.now && s.marks && !c->failed) {
        memset(s.table, 0xff, 2 * MACHINE_STATES * sizeof *s.table);
        begin(&s);
        reach(&s, first);
        int64_t before = number(&s);
        follow(&s, before, TEXT_BEGINS);
        p.start = number(&s);
        /* Nothing can be reached: a text that nothing takes. */
        if (p.start < 0 && !s.failed) p.start = before;
        m = s.failed ? NULL : machine_make(&p);
    }
    if (s.failed) {
        machine_free(m);
        m = NULL;
    }
    free_subsets(&s);
    return m;
}
