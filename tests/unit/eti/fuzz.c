/* fuzz ITERATIONS SEED FILE...: damaged copies of the text of every stage of the programs. The
 * reader must neither crash nor accept what has no text of its own that reads back, nor refuse
 * without a message; and what it accepts must not break the passes behind it. Deterministic.
 * ETI_FUZZ_KEEP=FOLDER leaves there what was accepted. */
#include "frontend/frontend.h"
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXTS = 200, MAX_BYTES = 1 << 16 };

struct text {
    char *p;
    size_t n;
};
static struct text corpus[MAX_TEXTS];
static int ncorpus;
static uint64_t state;

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static void add(char *text, size_t n) {
    if (ncorpus < MAX_TEXTS && n && n < MAX_BYTES / 2)
        corpus[ncorpus++] = (struct text){text, n};
    else
        free(text);
}

static void add_stages(const char *file, const char *text, size_t n) {
    for (int s = ET_STAGE_GRAPH; et_stage_name(s); s++) {
        et_arena *a = et_arena_create();
        et_diags *d = et_diags_create(a);
        et_program *p = NULL;
        et_graph *g = et_eti_looks(text, n) ? et_eti_parse(a, d, file, text, n, &p)
                                            : et_parse_etg(a, d, file, text, n);
        const et_pass_options opt = {
            .machine = et_machine_for("gfx942"), .to = (et_stage)s, .unverified = true};
        char *out = NULL;
        size_t m = 0;
        if (g && (!p || s >= (int)p->stage) &&
            (s == ET_STAGE_GRAPH || et_passes_resume(g, p, &opt, &p))) {
            FILE *f = open_memstream(&out, &m);
            if (s > ET_STAGE_GRAPH)
                et_program_print(p, f);
            else
                et_graph_print(g, f);
            fclose(f);
        }
        add(out, m);
        et_arena_destroy(a);
    }
}

static void splice(struct text *t, size_t at, size_t drop, const char *with, size_t n) {
    if (t->n - drop + n > MAX_BYTES) return;
    memmove(t->p + at + n, t->p + at + drop, t->n - at - drop);
    memcpy(t->p + at, with, n);
    t->n = t->n - drop + n;
}

/* The line around a place drawn at random. */
static size_t line(const struct text *t, size_t *out_n) {
    size_t at = draw((uint32_t)t->n), end = at;
    while (at > 0 && t->p[at - 1] != '\n')
        at--;
    while (end < t->n && t->p[end++] != '\n')
        ;
    *out_n = end - at;
    return at;
}

static bool in_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

/* The word, number or sign there. */
static size_t token(const struct text *t, size_t *out_n) {
    size_t at = draw((uint32_t)t->n), end = at + 1;
    if (in_word(t->p[at])) {
        while (at > 0 && in_word(t->p[at - 1]))
            at--;
        while (end < t->n && in_word(t->p[end]))
            end++;
    }
    *out_n = end - at;
    return at;
}

static void damage(struct text *t) {
    static const char *const bits[] = {"0",         "1",
                                       "-1",        "7",
                                       "16",        "64",
                                       "999999999", "281474976710656",
                                       "(",         ")",
                                       "[",         "]",
                                       "{",         "}",
                                       ",",         " .. ",
                                       " / ",       " % ",
                                       " * ",       "N",
                                       "l",         "r",
                                       "%x",        "$a",
                                       "@x",        "sum(",
                                       "max(",      "map ",
                                       "task ",     "wait ",
                                       "notify ",   "f32",
                                       "i32",       "bf16",
                                       "\"",        "#",
                                       "when last", " where 1 < 0",
                                       "$inf",      "1e30",
                                       "\xff",      "min(0, 1)",
                                       "i32(0.5)",  "select(0 < 1, 0, 1)"};
    const struct text *other = &corpus[draw((uint32_t)ncorpus)];
    size_t n, m, at, from;
    const char *bit = bits[draw(sizeof bits / sizeof *bits)];
    char number[16];
    switch (draw(11)) {
    case 0: /* a byte */
        t->p[draw((uint32_t)t->n)] = (char)draw(256);
        return;
    case 1: /* a token becomes another of this text */
    case 2:
        from = token(t, &m);
        char copy[64];
        m = m < sizeof copy ? m : sizeof copy;
        memcpy(copy, t->p + from, m);
        at = token(t, &n);
        splice(t, at, n, copy, m);
        return;
    case 3: /* or one that breaks things */
        at = token(t, &n);
        splice(t, at, n, bit, strlen(bit));
        return;
    case 4:
        splice(t, draw((uint32_t)t->n), 0, bit, strlen(bit));
        return;
    case 5: /* a line goes */
        at = line(t, &n);
        if (n < t->n) splice(t, at, n, "", 0);
        return;
    case 6: /* or comes from elsewhere */
        from = line(other, &m);
        at = line(t, &n);
        splice(t, at, draw(2) ? n : 0, other->p + from, m);
        return;
    case 7: /* a number becomes another */
    case 8:
    case 9:
        at = token(t, &n);
        for (int tries = 0; tries < 40 && (t->p[at] < '0' || t->p[at] > '9'); tries++)
            at = token(t, &n);
        int digits = snprintf(number, sizeof number, "%u", draw(draw(3) ? 9 : 300));
        splice(t, at, n, number, (size_t)digits);
        return;
    default:
        if (draw(8) == 0 && t->n > 60) t->n -= draw((uint32_t)t->n / 2);
    }
}

static bool passes_hold(et_graph *g, et_program *p) {
    const et_pass_options opt = {
        .machine = et_machine_for("gfx942"), .check_text = true, .unverified = true};
    return et_passes_resume(g, p, &opt, &p);
}

static int one(const struct text *t) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_program *p;
    et_graph *g = et_eti_parse(a, d, "fuzz.eti", t->p, t->n, &p);
    int result = g ? 1 : 0;
    if ((g != NULL) == (et_diag_errors(d) > 0)) {
        printf("%s\n%.*s", g ? "a program with errors" : "refused without a word", (int)t->n, t->p);
        result = -1;
    }
    if (!g) {
        FILE *null = fopen("/dev/null", "w");
        et_diag_print(d, null);
        fclose(null);
    } else if (!passes_hold(g, p) && et_diag_errors(d) == 0) {
        printf("a pass fails without a word\n%.*s", (int)t->n, t->p);
        result = -1;
    }
    et_arena_destroy(a);
    return result;
}

/* For a look at what is accepted, and to feed it to etcc. */
static void keep(const struct text *t, const char *dir, long i) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld.eti", dir, i);
    FILE *f = fopen(path, "wb");
    if (!f) return;
    fwrite(t->p, 1, t->n, f);
    fclose(f);
}

int main(int argc, char **argv) {
    long iterations = argc > 1 ? atol(argv[1]) : 0, accepted = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    for (int i = 3; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        char *text = malloc(1 << 20);
        size_t n = f ? fread(text, 1, 1 << 20, f) : 0;
        if (f) fclose(f);
        add_stages(argv[i], text, n);
        free(text);
    }
    if (!ncorpus) return 2;
    struct text t = {malloc(MAX_BYTES), 0};
    bool only = argc > 2 && iterations < 0; /* one iteration, printed */
    long first = only ? -iterations : 0, last = only ? first + 1 : iterations;
    for (long i = first; i < last; i++) {
        state = (seed + (uint64_t)i) * 0x9E3779B97F4A7C15u + 1;
        const struct text *from = &corpus[draw((uint32_t)ncorpus)];
        memcpy(t.p, from->p, from->n);
        t.n = from->n;
        for (uint32_t k = 1 + draw(3); k; k--)
            if (t.n) damage(&t);
        if (only) fwrite(t.p, 1, t.n, stdout);
        if (getenv("ETI_FUZZ_TRACE")) fprintf(stderr, "%ld\n", i);
        int r = one(&t);
        if (r < 0) {
            printf("iteration %ld\n", i);
            return 1;
        }
        accepted += r;
        if (r && getenv("ETI_FUZZ_KEEP")) keep(&t, getenv("ETI_FUZZ_KEEP"), i);
    }
    for (int i = 0; i < ncorpus; i++)
        free(corpus[i].p);
    free(t.p);
    printf("%d texts, %ld damaged copies, %ld accepted\n", ncorpus, last - first, accepted);
    return 0;
}
