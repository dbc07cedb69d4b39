#include "examples/llm/grammar/rules.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ELEMENTS = 1 << 20 };

/* Room for one more of what *AT has N of. */
static bool grow(struct rules *r, void *at, int32_t n, int32_t *cap, size_t size) {
    void *data;
    if (r->failed) return false;
    if (n < *cap) return true;
    int32_t more = *cap ? *cap * 2 : 512;
    memcpy(&data, at, sizeof data);
    data = more <= 2 * MOST_ELEMENTS ? realloc(data, (size_t)more * size) : NULL;
    if (!data) {
        r->failed = true;
        return false;
    }
    memcpy(at, &data, sizeof data);
    *cap = more;
    return true;
}

bool rules_begin(struct rules *r) {
    memset(r, 0, sizeof *r);
    for (int i = 0; i < 256; i++) {
        if (!grow(r, &r->classes, r->nclasses, &r->classes_cap, sizeof *r->classes)) return false;
        r->classes[r->nclasses] = (struct class){{0}};
        class_add(&r->classes[r->nclasses++], (unsigned char)i, (unsigned char)i);
    }
    return true;
}

void rules_free(struct rules *r) {
    free(r->elements);
    free(r->classes);
    free(r->alternatives);
    free(r->rules);
    memset(r, 0, sizeof *r);
}

void class_add(struct class *c, unsigned char lo, unsigned char hi) {
    for (int b = lo; b <= hi; b++)
        c->bits[b >> 6] |= (uint64_t)1 << (b & 63);
}

bool class_has(const struct class *c, unsigned char b) {
    return c->bits[b >> 6] >> (b & 63) & 1;
}

int32_t rules_new(struct rules *r) {
    if (!grow(r, &r->rules, r->nrules, &r->rules_cap, sizeof *r->rules)) return 0;
    r->rules[r->nrules] = -1;
    return r->nrules++;
}

static void add(struct rules *r, enum element_kind kind, int32_t at) {
    if (!grow(r, &r->elements, r->nelements, &r->elements_cap, sizeof *r->elements)) return;
    r->elements[r->nelements++] = (struct element){kind, at};
}

void rules_open(struct rules *r, int32_t rule) {
    if (!grow(r, &r->alternatives, r->nalternatives, &r->alternatives_cap, sizeof *r->alternatives))
        return;
    r->alternatives[r->nalternatives] = (struct alternative){rule, r->nelements, r->rules[rule]};
    r->rules[rule] = r->nalternatives++;
}

void rules_byte(struct rules *r, unsigned char byte) {
    add(r, BYTES, byte);
}

void rules_text(struct rules *r, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        rules_byte(r, (unsigned char)text[i]);
}

void rules_class(struct rules *r, const struct class *c) {
    int32_t i = 256;
    while (i < r->nclasses && memcmp(&r->classes[i], c, sizeof *c) != 0)
        i++;
    if (i == r->nclasses) {
        if (!grow(r, &r->classes, r->nclasses, &r->classes_cap, sizeof *r->classes)) return;
        r->classes[r->nclasses++] = *c;
    }
    add(r, BYTES, i);
}

void rules_refer(struct rules *r, int32_t rule) {
    add(r, RULE, rule);
}

void rules_close(struct rules *r) {
    add(r, END, 0);
}

/* What may follow COUNT of them: nothing, or one more and what follows that. */
static void tail(struct rules *r, int32_t self, int32_t rule, int32_t separator, int32_t then) {
    rules_open(r, self);
    if (separator >= 0) rules_refer(r, separator);
    rules_refer(r, rule);
    rules_refer(r, then);
    rules_close(r);
}

int32_t rules_repeat(struct rules *r, int32_t rule, int64_t least, int64_t most,
                     int32_t separator) {
    int32_t rest = rules_new(r); /* after the last that is counted */
    rules_open(r, rest);
    rules_close(r);
    if (most < 0) tail(r, rest, rule, separator, rest);
    int64_t counted = most < 0 ? least : most;
    for (int64_t i = counted; i > 0 && !r->failed; i--) {
        int32_t self = rules_new(r);
        /* The I-th: no separator before the first. */
        tail(r, self, rule, i > 1 ? separator : -1, rest);
        if (i > least) {
            rules_open(r, self);
            rules_close(r);
        }
        rest = self;
    }
    if (counted || separator < 0) return rest;
    /* Any number, none counted: the first has no separator before it either. */
    int32_t self = rules_new(r);
    rules_open(r, self);
    rules_close(r);
    if (most < 0) tail(r, self, rule, -1, rest);
    return self;
}

/* ---- rules that nothing fits ---- */

static bool is_fit(const struct rules *r, const struct alternative *a, const bool *fits) {
    const struct element *e = &r->elements[a->first];
    while (e->kind == BYTES || (e->kind == RULE && fits[e->at]))
        e++;
    return e->kind == END;
}

static void find_fits(const struct rules *r, bool *fits) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < r->nalternatives; i++) {
            const struct alternative *a = &r->alternatives[i];
            if (fits[a->rule] || !is_fit(r, a, fits)) continue;
            fits[a->rule] = changed = true;
        }
    }
}

bool rules_prune(struct rules *r, int32_t root) {
    bool *fits = calloc((size_t)r->nrules + 1, sizeof *fits);
    if (!fits) return false;
    find_fits(r, fits);
    for (int32_t i = 0; i < r->nrules; i++) {
        int32_t *at = &r->rules[i];
        while (*at >= 0)
            if (is_fit(r, &r->alternatives[*at], fits))
                at = &r->alternatives[*at].next;
            else
                *at = r->alternatives[*at].next;
    }
    bool any = fits[root];
    free(fits);
    return any;
}

/* ---- rules that begin with themselves ---- */

struct search {
    const struct rules *r;
    bool *empty; /* may the rule be nothing? */
    char *seen;  /* 1: on the way, 2: done */
};

static bool may_be_empty(const struct search *s, int32_t first) {
    const struct element *e = &s->r->elements[first];
    for (; e->kind != END; e++)
        if (e->kind == BYTES || !s->empty[e->at]) return false;
    return true;
}

static void find_empty(struct search *s) {
    for (bool changed = true; changed;) {
        changed = false;
        for (int32_t i = 0; i < s->r->nalternatives; i++) {
            const struct alternative *a = &s->r->alternatives[i];
            if (s->empty[a->rule] || !may_be_empty(s, a->first)) continue;
            s->empty[a->rule] = changed = true;
        }
    }
}

/* Depth first, with a stack of its own: chains of rules are as long as counts are large. */
static bool visit(struct search *s, int32_t root, int32_t *stack) {
    int32_t n = 0;
    stack[n++] = root;
    while (n) {
        int32_t rule = stack[n - 1];
        if (s->seen[rule]) {
            s->seen[rule] = 2;
            n--;
            continue;
        }
        s->seen[rule] = 1;
        for (int32_t i = s->r->rules[rule]; i >= 0; i = s->r->alternatives[i].next) {
            const struct element *e = &s->r->elements[s->r->alternatives[i].first];
            for (; e->kind == RULE; e++) {
                if (s->seen[e->at] == 1) return true;
                if (!s->seen[e->at]) stack[n++] = e->at;
                if (!s->empty[e->at]) break;
            }
        }
    }
    return false;
}

bool rules_loop(const struct rules *r) {
    size_t n = (size_t)r->nrules + 1;
    struct search s = {r, calloc(n, sizeof *s.empty), calloc(n, 1)};
    int32_t *stack = calloc((size_t)r->nelements + n, sizeof *stack);
    bool loop = !s.empty || !s.seen || !stack;
    if (!loop) find_empty(&s);
    for (int32_t i = 0; !loop && i < r->nrules; i++)
        if (!s.seen[i]) loop = visit(&s, i, stack);
    free(s.empty);
    free(s.seen);
    free(stack);
    return loop;
}
