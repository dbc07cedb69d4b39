/* The automaton of a grammar. A state is the set of all places the text may be at; a place is an
 * element and the places to go on at when its rule ends. Both are made when they are first met, and
 * a state remembers where each byte leads. */
#include "examples/llm/grammar/automaton.h"
#include "examples/llm/grammar/json.h"
#include <stdlib.h>
#include <string.h>

enum { NOWHERE = -1, UNKNOWN = -2, MOST_PLACES = 1 << 20, MOST_STATES = 1 << 15 };

static uint32_t mix(uint64_t v) {
    v *= 0x9e3779b97f4a7c15u;
    return (uint32_t)(v ^ v >> 32);
}

/* ---- places ---- */

static bool grow_places(struct grammar *g) {
    int32_t cap = g->places_cap ? g->places_cap * 2 : 1024;
    struct place *places = realloc(g->places, (size_t)cap * sizeof *places);
    if (places) g->places = places;
    int32_t *table = malloc((size_t)cap * 2 * sizeof *table);
    if (!places || !table || cap > MOST_PLACES) {
        free(table);
        return false;
    }
    memset(table, 0xff, (size_t)cap * 2 * sizeof *table);
    uint32_t mask = (uint32_t)cap * 2 - 1;
    for (int32_t i = 0; i < g->nplaces; i++) {
        uint32_t at = mix((uint64_t)places[i].element << 32 | (uint32_t)places[i].then) & mask;
        while (table[at] >= 0)
            at = (at + 1) & mask;
        table[at] = i;
    }
    free(g->place_table);
    g->place_table = table;
    g->places_cap = cap;
    return true;
}

/* The one place with this element and this way on. */
static int32_t place(struct grammar *g, int32_t element, int32_t then) {
    if (g->nplaces == g->places_cap && !grow_places(g)) {
        g->failed = true;
        return NOWHERE;
    }
    uint32_t mask = (uint32_t)g->places_cap * 2 - 1;
    uint32_t at = mix((uint64_t)element << 32 | (uint32_t)then) & mask;
    for (; g->place_table[at] >= 0; at = (at + 1) & mask) {
        const struct place *p = &g->places[g->place_table[at]];
        if (p->element == element && p->then == then) return g->place_table[at];
    }
    g->places[g->nplaces] = (struct place){element, then};
    g->place_table[at] = g->nplaces;
    return g->nplaces++;
}

/* ---- sets of them ---- */

static void set_clear(struct set *s) {
    s->n = 0;
    if (!++s->turn && s->marks) memset(s->marks, 0, (size_t)s->nmarks * sizeof *s->marks);
    if (!s->turn) s->turn = 1;
}

static bool set_mark(struct set *s, int32_t v) {
    if (v >= s->nmarks) {
        int32_t n = v < 512 ? 1024 : v * 2;
        uint32_t *more = realloc(s->marks, (size_t)n * sizeof *more);
        if (!more) return false;
        memset(more + s->nmarks, 0, (size_t)(n - s->nmarks) * sizeof *more);
        s->marks = more;
        s->nmarks = n;
    }
    s->marks[v] = s->turn;
    return true;
}

/* False: no memory, or V is no place since there was none for it. */
static bool set_add(struct set *s, int32_t v) {
    if (v < 0) return false;
    if (v < s->nmarks && s->marks[v] == s->turn) return true;
    if (!set_mark(s, v)) return false;
    if (s->n == s->cap) {
        int32_t cap = s->cap ? s->cap * 2 : 64;
        int32_t *more = realloc(s->v, (size_t)cap * sizeof *more);
        if (!more) return false;
        s->v = more;
        s->cap = cap;
    }
    s->v[s->n++] = v;
    return true;
}

/* All places with bytes that can be reached from the places in PENDING without reading any. A rule
 * at the end of another needs no way back to it, so that lists do not grow as they are read. */
static void close_over(struct grammar *g, struct set *pending, struct set *out, bool *out_ends) {
    for (int32_t i = 0; i < pending->n && !g->failed; i++) {
        struct place p = g->places[pending->v[i]];
        struct element e = g->rules.elements[p.element];
        bool ok = true;
        if (e.kind == BYTES) {
            ok = set_add(out, pending->v[i]);
        } else if (e.kind == END) {
            if (p.then == NOWHERE)
                *out_ends = true;
            else
                ok = set_add(pending, p.then);
        } else {
            bool last = g->rules.elements[p.element + 1].kind == END;
            int32_t then = last ? p.then : place(g, p.element + 1, p.then);
            for (int32_t a = g->rules.rules[e.at]; ok && a >= 0; a = g->rules.alternatives[a].next)
                ok = set_add(pending, place(g, g->rules.alternatives[a].first, then));
        }
        if (!ok) g->failed = true;
    }
}

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* ---- states ---- */

static int32_t new_state(struct grammar *g, const struct set *set, bool ends, uint32_t hash) {
    if (g->nstates == MOST_STATES) return GRAMMAR_DEAD;
    if (g->nstates == g->states_cap) {
        int32_t cap = g->states_cap ? g->states_cap * 2 : 64;
        struct state *more = realloc(g->states, (size_t)cap * sizeof *more);
        if (!more) return GRAMMAR_DEAD;
        g->states = more;
        g->states_cap = cap;
    }
    struct state *s = &g->states[g->nstates];
    *s = (struct state){.n = set->n, .ends = ends, .hash = hash};
    s->places = malloc(((size_t)set->n + 1) * sizeof *s->places);
    s->next = malloc(256 * sizeof *s->next);
    if (!s->places || !s->next) {
        free(s->places);
        free(s->next);
        return GRAMMAR_DEAD;
    }
    if (set->n) memcpy(s->places, set->v, (size_t)set->n * sizeof *s->places);
    for (int i = 0; i < 256; i++)
        s->next[i] = UNKNOWN;
    s->chain = g->buckets[hash % BUCKETS];
    g->buckets[hash % BUCKETS] = g->nstates;
    return g->nstates++;
}

static int32_t state_of(struct grammar *g, struct set *set, bool ends) {
    uint32_t hash = ends;
    if (!set->n && !ends) return GRAMMAR_DEAD;
    if (set->n) qsort(set->v, (size_t)set->n, sizeof *set->v, compare);
    for (int32_t i = 0; i < set->n; i++)
        hash = mix((uint64_t)hash << 32 | (uint32_t)set->v[i]);
    for (int32_t i = g->buckets[hash % BUCKETS]; i >= 0; i = g->states[i].chain) {
        const struct state *s = &g->states[i];
        if (s->hash == hash && s->ends == ends && s->n == set->n &&
            (!set->n || !memcmp(s->places, set->v, (size_t)set->n * sizeof *set->v)))
            return i;
    }
    int32_t made = new_state(g, set, ends, hash);
    if (made < 0) g->failed = true;
    return made;
}

/* The state of all that is reachable from PENDING, which is used up. */
static int32_t reach(struct grammar *g) {
    bool ends = false;
    set_clear(&g->found);
    close_over(g, &g->pending, &g->found, &ends);
    return g->failed ? GRAMMAR_DEAD : state_of(g, &g->found, ends);
}

int32_t grammar_start(struct grammar *g) {
    set_clear(&g->pending);
    for (int32_t a = g->rules.rules[g->root]; a >= 0; a = g->rules.alternatives[a].next) {
        int32_t p = place(g, g->rules.alternatives[a].first, NOWHERE);
        if (p < 0 || !set_add(&g->pending, p)) return GRAMMAR_DEAD;
    }
    return reach(g);
}

static int32_t follow(struct grammar *g, int32_t state, unsigned char byte) {
    set_clear(&g->pending);
    for (int32_t i = 0; i < g->states[state].n; i++) {
        struct place p = g->places[g->states[state].places[i]];
        if (!class_has(&g->rules.classes[g->rules.elements[p.element].at], byte)) continue;
        int32_t next = place(g, p.element + 1, p.then);
        if (next < 0 || !set_add(&g->pending, next)) return GRAMMAR_DEAD;
    }
    return g->pending.n ? reach(g) : GRAMMAR_DEAD;
}

int32_t grammar_byte(struct grammar *g, int32_t state, unsigned char byte) {
    int32_t next = g->states[state].next[byte];
    if (next != UNKNOWN) return next;
    next = follow(g, state, byte);
    g->states[state].next[byte] = next;
    return next;
}

int32_t grammar_step(struct grammar *g, int32_t state, const char *bytes, size_t n) {
    for (size_t i = 0; i < n && state >= 0; i++)
        state = grammar_byte(g, state, (unsigned char)bytes[i]);
    return state;
}

bool grammar_ends(const struct grammar *g, int32_t state) {
    return state >= 0 && g->states[state].ends;
}

bool grammar_goes_on(struct grammar *g, int32_t state) {
    return state >= 0 && g->states[state].n > 0;
}

/* ---- from forms ---- */

static int32_t choice_rule(struct rules *r, const json_t *choices, char *err) {
    size_t n = json_array_size(choices);
    const char **texts = calloc(n + 1, sizeof *texts);
    size_t *bytes = calloc(n + 1, sizeof *bytes);
    bool ok = (texts && bytes) || llm_fail(err, "out of memory");
    for (size_t i = 0; ok && i < n; i++) {
        texts[i] = json_string_value(json_array_get(choices, i));
        bytes[i] = json_string_length(json_array_get(choices, i));
        ok = (texts[i] && bytes[i]) || llm_fail(err, "a choice must be a text, and not empty");
    }
    int32_t rule = ok ? words_rule(r, texts, bytes, n) : -1;
    free(texts);
    free(bytes);
    return rule;
}

static int32_t form_rule(struct rules *r, const struct grammar_form *f, char *err) {
    switch (f->kind) {
    case GRAMMAR_SCHEMA:
        return schema_rule(r, f->schema, err);
    case GRAMMAR_CHOICE:
        return choice_rule(r, f->schema, err);
    case GRAMMAR_REGEX:
        return regex_rule(r, f->text, err);
    case GRAMMAR_GBNF:
        return gbnf_rule(r, f->text, err);
    }
    return -1;
}

static bool make(struct grammar *g, const struct grammar_form *forms, size_t n, bool blanks,
                 char *err) {
    struct rules *r = &g->rules;
    if (!rules_begin(r)) return llm_fail(err, "out of memory");
    int32_t blank = blanks ? json_rule_blank(r) : -1;
    g->root = rules_new(r);
    for (size_t i = 0; i < n; i++) {
        int32_t value = form_rule(r, &forms[i], err);
        if (value < 0) return false;
        rules_open(r, g->root);
        if (blank >= 0) rules_refer(r, blank);
        rules_text(r, forms[i].before, strlen(forms[i].before));
        rules_refer(r, value);
        rules_text(r, forms[i].after, strlen(forms[i].after));
        rules_close(r);
    }
    if (r->failed) return llm_fail(err, "it is too large");
    if (!rules_prune(r, g->root)) return llm_fail(err, "nothing fits");
    return !rules_loop(r) || llm_fail(err, "it refers to itself without end");
}

bool grammar_make(const struct grammar_form *forms, size_t n, bool blanks, struct grammar **out,
                  char *err) {
    struct grammar *g = calloc(1, sizeof *g);
    *out = NULL;
    if (!g) return llm_fail(err, "out of memory");
    memset(g->buckets, 0xff, sizeof g->buckets);
    if (!make(g, forms, n, blanks, err)) {
        grammar_free(g);
        return false;
    }
    *out = g;
    return true;
}

void grammar_free(struct grammar *g) {
    if (!g) return;
    for (int32_t i = 0; i < g->nstates; i++) {
        free(g->states[i].places);
        free(g->states[i].next);
        free(g->states[i].mask);
    }
    free(g->states);
    free(g->places);
    free(g->place_table);
    free(g->pending.v);
    free(g->pending.marks);
    free(g->found.v);
    free(g->found.marks);
    rules_free(&g->rules);
    free(g);
}
