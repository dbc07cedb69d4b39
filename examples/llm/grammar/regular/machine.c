#include "examples/llm/grammar/regular/machine.h"
#include <stdlib.h>
#include <string.h>

void machine_free(struct machine *m) {
    if (!m) return;
    free(m->next);
    free(m->ends);
    free(m);
}

bool machine_takes(const struct machine *m, const char *text, size_t bytes) {
    int32_t state = 0;
    for (size_t i = 0; i < bytes && state >= 0; i++)
        state = m->next[state * m->nclasses + m->of[(unsigned char)text[i]]];
    return state >= 0 && m->ends[state];
}

void machine_classes(struct machine_plan *p, const bool marks[257]) {
    p->nclasses = 1;
    for (int b = 0; b < 256; b++) {
        if (b && marks[b]) p->nclasses++;
        p->of[b] = (unsigned char)(p->nclasses - 1);
    }
}

/* ---- from a plan ---- */

struct building {
    struct machine *m;
    int64_t *names; /* [cap]: the plan's number of each state */
    int32_t *table; /* [2 * cap] */
    int32_t cap;
};

static uint32_t slot_of(const struct building *b, int64_t name) {
    uint32_t mask = (uint32_t)b->cap * 2 - 1;
    uint64_t mixed = (uint64_t)name * 0x9e3779b97f4a7c15u;
    uint32_t at = (uint32_t)(mixed ^ mixed >> 32) & mask;
    while (b->table[at] >= 0 && b->names[b->table[at]] != name)
        at = (at + 1) & mask;
    return at;
}

static bool grow(struct building *b) {
    struct machine *m = b->m;
    int32_t cap = b->cap ? b->cap * 2 : 64;
    if (cap > MACHINE_STATES) return false;
    int64_t *names = realloc(b->names, (size_t)cap * sizeof *names);
    if (names) b->names = names;
    int32_t *table = realloc(b->table, (size_t)cap * 2 * sizeof *table);
    if (table) b->table = table;
    int32_t *next = realloc(m->next, (size_t)cap * (size_t)m->nclasses * sizeof *next);
    if (next) m->next = next;
    bool *ends = realloc(m->ends, (size_t)cap * sizeof *ends);
    if (ends) m->ends = ends;
    if (!names || !table || !next || !ends) return false;
    b->cap = cap;
    memset(table, 0xff, (size_t)cap * 2 * sizeof *table);
    for (int32_t i = 0; i < m->n; i++)
        table[slot_of(b, names[i])] = i;
    return true;
}

/* The state of a number; -1: no room. */
static int32_t state_of(struct building *b, int64_t name) {
    if (b->m->n == b->cap && !grow(b)) return -1;
    uint32_t at = slot_of(b, name);
    if (b->table[at] >= 0) return b->table[at];
    b->names[b->m->n] = name;
    b->table[at] = b->m->n;
    return b->m->n++;
}

static bool explore(struct building *b, const struct machine_plan *p) {
    struct machine *m = b->m;
    unsigned char one[256];
    for (int c = 255; c >= 0; c--)
        one[p->of[c]] = (unsigned char)c;
    if (state_of(b, p->start) < 0) return false;
    for (int32_t i = 0; i < m->n; i++) {
        m->ends[i] = p->ends(p->user, b->names[i]);
        for (int c = 0; c < m->nclasses; c++) {
            int64_t name = p->step(p->user, b->names[i], one[c]);
            int32_t to = name < 0 ? -1 : state_of(b, name);
            if (name >= 0 && to < 0) return false;
            m->next[i * m->nclasses + c] = to;
        }
    }
    return true;
}

/* Leads nowhere where no end can be reached. Backwards over states, again while anything changes:
 * most lead to states that were made after them. */
static bool trim(struct machine *m) {
    bool *alive = malloc((size_t)m->n * sizeof *alive);
    if (!alive) return false;
    memcpy(alive, m->ends, (size_t)m->n * sizeof *alive);
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = m->n; i-- > 0;)
            for (int c = 0; c < m->nclasses && !alive[i]; c++) {
                int32_t to = m->next[i * m->nclasses + c];
                if (to >= 0 && alive[to]) alive[i] = changed = true;
            }
    }
    for (int32_t i = 0; i < m->n * m->nclasses; i++)
        if (m->next[i] >= 0 && !alive[m->next[i]]) m->next[i] = -1;
    free(alive);
    return true;
}

struct machine *machine_make(const struct machine_plan *p) {
    struct building b = {calloc(1, sizeof *b.m), NULL, NULL, 0};
    if (!b.m) return NULL;
    b.m->nclasses = p->nclasses;
    memcpy(b.m->of, p->of, sizeof b.m->of);
    bool ok = explore(&b, p) && trim(b.m);
    free(b.names);
    free(b.table);
    if (ok) return b.m;
    machine_free(b.m);
    return NULL;
}

/* ---- two at once ---- */

struct pair {
    const struct machine *a, *b;
    bool without;
};

/* A's state, and B's or that it has none. */
static int64_t pair_step(const void *user, int64_t state, unsigned char byte) {
    const struct pair *p = user;
    int64_t b = state % (p->b->n + 1) - 1, a = state / (p->b->n + 1);
    a = p->a->next[a * p->a->nclasses + p->a->of[byte]];
    b = b < 0 ? -1 : p->b->next[b * p->b->nclasses + p->b->of[byte]];
    if (a < 0 || (b < 0 && !p->without)) return -1;
    return a * (p->b->n + 1) + b + 1;
}

static bool pair_ends(const void *user, int64_t state) {
    const struct pair *p = user;
    int64_t b = state % (p->b->n + 1) - 1, a = state / (p->b->n + 1);
    bool there = b >= 0 && p->b->ends[b];
    return p->a->ends[a] && there != p->without;
}

static struct machine *combine(struct machine *a, const struct machine *b, bool without) {
    struct pair pair = {a, b, without};
    struct machine_plan plan = {.start = 1, .step = pair_step, .ends = pair_ends, .user = &pair};
    int seen[256];
    if (!a || !b) {
        machine_free(a);
        return NULL;
    }
    for (int c = 0; c < 256; c++) {
        int both = a->of[c] << 8 | b->of[c], k = 0;
        while (k < plan.nclasses && seen[k] != both)
            k++;
        if (k == plan.nclasses) seen[plan.nclasses++] = both;
        plan.of[c] = (unsigned char)k;
    }
    struct machine *m = machine_make(&plan);
    machine_free(a);
    return m;
}

struct machine *machine_both(struct machine *a, const struct machine *b) {
    return combine(a, b, false);
}
struct machine *machine_without(struct machine *a, const struct machine *b) {
    return combine(a, b, true);
}

/* ---- texts ---- */

struct length {
    int64_t least, most;
};

/* Bytes that continue a character: how many are left, and which may be the first of them. */
static const struct {
    unsigned char first_lo, first_hi, next_lo, next_hi;
    int then; /* the row after that one; 0: the character is whole */
} forms[] = {{0, 0, 0, 0, 0},
             {0xc2, 0xdf, 0x80, 0xbf, 0},
             {0xe1, 0xec, 0x80, 0xbf, 1},
             {0xf1, 0xf3, 0x80, 0xbf, 2},
             {0xe0, 0xe0, 0xa0, 0xbf, 1},
             {0xed, 0xed, 0x80, 0x9f, 1},
             {0xf0, 0xf0, 0x90, 0xbf, 2},
             {0xf4, 0xf4, 0x80, 0x8f, 2},
             {0xee, 0xef, 0x80, 0xbf, 1}};
enum { FORMS = sizeof forms / sizeof *forms };

static int64_t length_step(const void *user, int64_t state, unsigned char byte) {
    const struct length *l = user;
    int64_t n = state / FORMS, form = state % FORMS;
    if (form) {
        if (byte < forms[form].next_lo || byte > forms[form].next_hi) return -1;
        return n * FORMS + forms[form].then;
    }
    if (n == l->most) return -1;
    if (l->most >= 0 || n < l->least) n++;
    if (byte < 0x80) return n * FORMS;
    for (int i = 1; i < FORMS; i++)
        if (byte >= forms[i].first_lo && byte <= forms[i].first_hi) return n * FORMS + i;
    return -1;
}

static bool length_ends(const void *user, int64_t state) {
    const struct length *l = user;
    return state % FORMS == 0 && state / FORMS >= l->least;
}

struct machine *machine_length(int64_t least, int64_t most) {
    static const unsigned char starts[] = {0x80, 0x90, 0xa0, 0xc0, 0xc2, 0xe0, 0xe1,
                                           0xed, 0xee, 0xf0, 0xf1, 0xf4, 0xf5};
    struct length l = {least, most};
    struct machine_plan p = {.step = length_step, .ends = length_ends, .user = &l};
    bool marks[257] = {false};
    for (size_t i = 0; i < sizeof starts; i++)
        marks[starts[i]] = true;
    machine_classes(&p, marks);
    return machine_make(&p);
}

/* ---- words ---- */

int machine_word_order(const void *a, const void *b) {
    const struct machine_word *x = a, *y = b;
    int order = memcmp(x->text, y->text, x->bytes < y->bytes ? x->bytes : y->bytes);
    return order ? order : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

struct words {
    const char *const *at;
    const size_t *bytes;
};

/* Words in order: those from LO to HI begin with the same N bytes. */
static int64_t words_name(int64_t n, int64_t lo, int64_t hi) {
    return n << 40 | lo << 20 | hi;
}

static int64_t words_step(const void *user, int64_t state, unsigned char byte) {
    const struct words *w = user;
    int64_t n = state >> 40, lo = state >> 20 & 0xfffff, hi = state & 0xfffff, first = -1;
    for (; lo < hi; lo++) {
        if ((int64_t)w->bytes[lo] <= n || (unsigned char)w->at[lo][n] != byte) {
            if (first >= 0) break;
        } else if (first < 0) {
            first = lo;
        }
    }
    return first < 0 ? -1 : words_name(n + 1, first, lo);
}

static bool words_ends(const void *user, int64_t state) {
    const struct words *w = user;
    int64_t n = state >> 40, lo = state >> 20 & 0xfffff, hi = state & 0xfffff;
    return lo < hi && (int64_t)w->bytes[lo] == n;
}

struct machine *machine_words(const char *const *words, const size_t *bytes, size_t n) {
    struct words w = {words, bytes};
    struct machine_plan p = {.step = words_step, .ends = words_ends, .user = &w};
    bool marks[257] = {false};
    if (n > MACHINE_STATES) return NULL;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < bytes[i]; k++)
            marks[(unsigned char)words[i][k]] = marks[(unsigned char)words[i][k] + 1] = true;
    machine_classes(&p, marks);
    p.start = words_name(0, 0, (int64_t)n);
    return machine_make(&p);
}
