/* fuzz DIR [ITERATIONS [SEED]] - feeds the front end damaged copies of the programs in DIR. It must
 * neither crash nor give a graph with errors, nor errors without a message. Deterministic. */
#include "frontend/frontend.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 200, MAX_BYTES = 8192 };

struct text {
    char *p;
    size_t n;
};

static uint64_t state;

static uint32_t draw(uint32_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)((state >> 16) % below);
}

static int by_name(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_program(const struct dirent *e) {
    const char *dot = strrchr(e->d_name, '.');
    /* Every run of def_bombs takes the whole budget of steps: once is enough, among the goldens. */
    return dot && strcmp(dot, ".etg") == 0 && strcmp(e->d_name, "def_bombs.etg") != 0;
}

static int load(const char *dir, struct text *out) {
    struct dirent **list;
    int n = scandir(dir, &list, is_program, by_name), loaded = 0;
    for (int i = 0; i < n; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        FILE *f = fopen(path, "rb");
        if (f && loaded < MAX_FILES) {
            struct text *t = &out[loaded++];
            t->p = malloc(MAX_BYTES);
            t->n = fread(t->p, 1, MAX_BYTES, f);
        }
        if (f) fclose(f);
        free(list[i]);
    }
    if (n >= 0) free(list);
    return loaded;
}

static void splice(struct text *t, size_t at, size_t drop, const char *with, size_t n) {
    if (t->n - drop + n > 2 * MAX_BYTES) return;
    memmove(t->p + at + n, t->p + at + drop, t->n - at - drop);
    memcpy(t->p + at, with, n);
    t->n = t->n - drop + n;
}

static void damage(struct text *t, const struct text *other) {
    static const char *const words[] = {
        "[",   "]",   "(",      ")",    "{",       "}",      ",",    ":",    "=",     "\n",
        "..",  "-",   "@",      ".T",   "0",       "-1",     "9999", "1e99", "N",     "x",
        "for", "in",  "weight", "def ", "output ", "state ", "dim ", "\"",   "{l}",   " and ",
        "<",   " / ", "1 / 0",  "#",    "\0",      "\xff",   "[:]",  "[N]",  "bf16(", "silu(",
        "T",   "i32", "x = ",   ";",    "\t",      "*",      "f32[", "0..2", "{ ",    " }\n",
    };
    size_t at = draw((uint32_t)t->n + 1), left = t->n - at;
    size_t n = left ? draw(left < 40 ? (uint32_t)left : 40) : 0;
    const char *w = words[draw(sizeof words / sizeof *words)];
    char byte = (char)draw(256);
    switch (draw(8)) {
    case 0: /* set a byte */
        splice(t, at, left > 0, &byte, 1);
        break;
    case 1: /* insert a word, or put it in place of something */
    case 2:
        splice(t, at, draw(2) ? n : 0, w, *w ? strlen(w) : 1);
        break;
    case 3: /* delete */
        splice(t, at, n, "", 0);
        break;
    case 4: /* truncate */
        if (draw(4) == 0) t->n = at;
        break;
    case 5: { /* repeat a piece elsewhere */
        char piece[40];
        memcpy(piece, t->p + at, n);
        splice(t, draw((uint32_t)t->n + 1), 0, piece, n);
        break;
    }
    default: { /* a piece of another program */
        size_t from = draw((uint32_t)other->n + 1), m = draw(80);
        splice(t, at, n, other->p + from, m < other->n - from ? m : other->n - from);
    }
    }
}

static bool check(const struct text *t) {
    et_arena *arena = et_arena_create();
    et_diags *diags = et_diags_create(arena);
    char *said = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&said, &bytes);
    et_graph *g = et_parse_etg(arena, diags, "fuzz.etg", t->p, t->n);
    bool ok = (g != NULL) == (et_diag_errors(diags) == 0);
    et_diag_print(diags, out);
    if (g) et_graph_print(g, out);
    fclose(out);
    ok = ok && bytes > 0;
    free(said);
    et_arena_destroy(arena);
    return ok;
}

int main(int argc, char **argv) {
    static struct text files[MAX_FILES];
    int n = argc > 1 ? load(argv[1], files) : 0;
    int iterations = argc > 2 ? atoi(argv[2]) : 5000;
    state = argc > 3 ? strtoull(argv[3], NULL, 10) : 88172645463325252u;
    if (n == 0) {
        fprintf(stderr, "usage: fuzz DIR [ITERATIONS [SEED]], DIR with .etg files\n");
        return 2;
    }
    struct text t = {.p = malloc(3 * MAX_BYTES)};
    int bad = 0;
    for (int i = 0; i < iterations && !bad; i++) {
        const struct text *from = &files[draw((uint32_t)n)];
        memcpy(t.p, from->p, t.n = from->n);
        for (uint32_t k = 1 + draw(4); k > 0; k--)
            damage(&t, &files[draw((uint32_t)n)]);
        if (check(&t)) continue;
        printf("iteration %d: a graph with errors, or neither\n%.*s\n", i, (int)t.n, t.p);
        bad = 1;
    }
    for (int i = 0; i < n; i++)
        free(files[i].p);
    free(t.p);
    printf("%d damaged programs%s\n", iterations, bad ? ": failed" : "");
    return bad;
}
