/* Random programs of events, as text. */
#include "tests/by_hand/stress/generate.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRIDS = 10, MAX_COORDS = 3, MAX_SOURCES = 3, TRIPS = 3, EXPERTS = 4 };
#define MODULUS "1021"

/* Extents of tile coordinates. */
static const struct {
    const char *text;
    int most;
} extents[] = {{"N", 24}, {"M", 6}, {"((N + 1) / 2)", 12}, {"3", 3}, {"2", 2}, {"5", 5}, {"1", 1}};
enum { NEXTENTS = sizeof extents / sizeof *extents, EXPERT_EXTENT = NEXTENTS };

typedef enum { FULL, COARSE, COLLAPSED } resolution;

struct grid {
    int n, extent[MAX_COORDS], width; /* elements per tile */
    resolution of[MAX_COORDS];        /* of its event's dimensions */
    int by[MAX_COORDS];
    bool looped, output;
};

/* How a consumer finds the tile to read, along one coordinate of the producer. */
struct along {
    char index[96];      /* element; may use the reduction's variable r */
    char lo[96], hi[96]; /* the box; the same where it is a point */
};

struct source {
    int grid;
    bool before;       /* of the iteration before */
    char wait[3][512]; /* in order */
    int nwaits;
    char index[256]; /* of the element, up to the tile */
    char range[96];  /* what r goes over, or empty */
    char guard[600]; /* where the element is there, or empty */
};

struct generator {
    uint64_t state;
    FILE *out, *body; /* declarations and functions; schedule */
    gen_program *p;
    struct grid grid[MAX_GRIDS];
    int ngrids;
    bool has_loop;
};

static const char *const coord[] = {"a", "b", "c"};

static uint32_t pick(struct generator *g, uint32_t n) {
    g->state = g->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->state >> 33) % n;
}

static bool chance(struct generator *g, int percent) {
    return (int)pick(g, 100) < percent;
}

static void format(char *out, size_t n, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void format(char *out, size_t n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int k = vsnprintf(out, n, fmt, ap);
    va_end(ap);
    if (k < 0 || (size_t)k >= n) abort();
}

#define PUT(out, ...) format(out, sizeof out, __VA_ARGS__)

static void append(char *out, size_t n, const char *more) {
    size_t at = strlen(out);
    format(out + at, n - at, "%s%s", at ? ", " : "", more);
}

static const char *extent_text(int e) {
    return e == EXPERT_EXTENT ? "4" : extents[e].text;
}

static gen_input *add_input(struct generator *g, const char *stem, gen_holds holds,
                            const char *shape, const char *limit) {
    if (g->p->ninputs == GEN_INPUTS) abort();
    gen_input *in = &g->p->input[g->p->ninputs];
    PUT(in->name, "%s%d", stem, g->p->ninputs);
    PUT(in->limit, "%s", limit);
    in->holds = holds;
    in->expert = -1;
    g->p->ninputs++;
    fprintf(g->out, "input %%%s : i32[%s]\n", in->name, shape);
    return in;
}

/* ---- reading an earlier grid ---- */

/* A point of an axis of EXTENT, from a coordinate of the consumer or from nothing. */
static void point(struct generator *g, const struct grid *to, const char *last, int extent,
                  struct along *a) {
    int k = (int)pick(g, (uint32_t)to->n);
    const char *v = coord[k];
    bool same = to->extent[k] == extent;
    switch (pick(g, 6)) {
    case 0:
        PUT(a->index, "min(%s / 2, %s)", v, last);
        break;
    case 1:
        if (same)
            PUT(a->index, "%s - %s", last, v);
        else
            PUT(a->index, "%s", chance(g, 50) ? "0" : last);
        break;
    case 2:
        PUT(a->index, "max(min(%s, %s) - 1, 0)", v, last);
        break;
    default:
        if (same)
            PUT(a->index, "%s", v);
        else
            PUT(a->index, "min(%s, %s)", v, last);
    }
    PUT(a->lo, "%s", a->index);
    PUT(a->hi, "%s", a->index);
}

static void stretch(struct generator *g, const struct grid *to, const char *last, int extent,
                    struct along *a, char range[96]) {
    if (chance(g, 50)) {
        PUT(a->index, "r");
        PUT(a->lo, "0");
        PUT(a->hi, "%s", last);
        format(range, 96, "%s", extent_text(extent));
        return;
    }
    const char *v = coord[pick(g, (uint32_t)to->n)];
    int n = 2 + (int)pick(g, 3);
    PUT(a->index, "min(%s * 2 + r, %s)", v, last);
    PUT(a->lo, "min(%s * 2, %s)", v, last);
    PUT(a->hi, "min(%s * 2 + %d, %s)", v, n - 1, last);
    format(range, 96, "%d", n);
}

/* The producer's coordinate K is found through a tensor. */
static void routed(struct generator *g, const struct grid *to, struct source *s, const char *last,
                   int extent, bool may_stretch, bool ranges, struct along *a) {
    int k = (int)pick(g, (uint32_t)to->n);
    const char *v = coord[k], *size = extent_text(to->extent[k]);
    char shape[64];
    g->p->routed++;
    if (may_stretch && ranges && chance(g, 40)) {
        PUT(shape, "%s + 1", size);
        const gen_input *in = add_input(g, "first", GEN_FIRST, shape, extent_text(extent));
        PUT(a->index, "%%%s[%s] + r", in->name, v);
        PUT(a->lo, "%%%s[%s]", in->name, v);
        PUT(a->hi, "%%%s[%s + 1] - 1", in->name, v);
        PUT(s->range, "%%%s[%s + 1] - %%%s[%s]", in->name, v, in->name, v);
        PUT(s->guard, "0 <= %s && %s < %s", a->index, a->index, extent_text(extent));
        return;
    }
    if (may_stretch && chance(g, 50)) { /* several, anywhere */
        PUT(shape, "%s, 2", size);
        const gen_input *in = add_input(g, "pair", GEN_INDEX, shape, extent_text(extent));
        PUT(a->index, "min(max(%%%s[%s, r], 0), %s)", in->name, v, last);
        PUT(a->lo, "min(max(%%%s[%s, w], 0), %s)", in->name, v, last);
        PUT(a->hi, "%s", a->lo);
        PUT(s->range, "2");
        return;
    }
    const gen_input *in = add_input(g, "pick", GEN_INDEX, size, extent_text(extent));
    PUT(a->index, "min(max(%%%s[%s], 0), %s)", in->name, v, last);
    PUT(a->lo, "%s", a->index);
    PUT(a->hi, "%s", a->index);
}

/* A tensor that tasks make decides: wait for its tile, then for the one it names. */
static bool made_index(struct generator *g, const struct grid *to, struct source *s,
                       const char *last, struct along *a) {
    for (int i = g->ngrids - 1; i >= 0; i--) {
        const struct grid *t = &g->grid[i];
        if (i == s->grid || t->looped || t->n != 1 || t->of[0] != FULL ||
            t->extent[0] != to->extent[0])
            continue;
        PUT(a->index, "min(max(%%t%d[a, 0] / 64, 0), %s)", i, last);
        PUT(a->lo, "%s", a->index);
        PUT(a->hi, "%s", a->index);
        PUT(s->wait[s->nwaits++], "wait %%e%d[a]", i);
        g->p->routed++;
        return true;
    }
    return false;
}

static void event_index(const struct grid *from, int k, const struct along *a, char *out,
                        size_t n) {
    char box[256];
    if (from->of[k] == COLLAPSED) return;
    bool point_only = strcmp(a->lo, a->hi) == 0;
    if (from->of[k] == FULL && point_only)
        PUT(box, "%s", a->lo);
    else if (from->of[k] == FULL)
        PUT(box, "%s .. %s", a->lo, a->hi);
    else if (point_only)
        PUT(box, "(%s) / %d", a->lo, from->by[k]);
    else
        PUT(box, "(%s) / %d .. (%s) / %d", a->lo, from->by[k], a->hi, from->by[k]);
    append(out, n, box);
}

static void make_source(struct generator *g, const struct grid *to, int grid, bool before,
                        struct source *s) {
    const struct grid *from = &g->grid[grid];
    *s = (struct source){.grid = grid, .before = before};
    char box[400] = "", last[48];
    int stretched = -1, through = -1;
    if (chance(g, 35)) through = (int)pick(g, (uint32_t)from->n);
    if (from->looped) {
        const char *l = before ? "l - 1" : to->looped ? "l" : "2";
        append(s->index, sizeof s->index, l);
        append(box, sizeof box, l);
    }
    for (int k = 0; k < from->n; k++) {
        struct along a;
        PUT(last, "%s - 1", extent_text(from->extent[k]));
        if (k == through && chance(g, 30) && made_index(g, to, s, last, &a))
            ;
        else if (k == through)
            routed(g, to, s, last, from->extent[k], stretched < 0,
                   from->of[k] == FULL && extents[from->extent[k]].most > 1, &a);
        else if (stretched < 0 && chance(g, 35))
            stretch(g, to, last, from->extent[k], &a, s->range);
        else
            point(g, to, last, from->extent[k], &a);
        if (s->range[0]) stretched = k;
        append(s->index, sizeof s->index, a.index);
        event_index(from, k, &a, box, sizeof box);
    }
    PUT(s->wait[s->nwaits], "wait %%e%d[%s]%s%s", grid, *box ? box : "0",
        strstr(box, ", w]") ? " for w < 2" : "", before ? " when later" : "");
    s->nwaits++;
}

/* ---- a grid ---- */

static void write_event(struct generator *g, int id) {
    const struct grid *t = &g->grid[id];
    char dims[256] = "", count[256] = "1", at[256] = "", one[128];
    if (t->looped) {
        append(dims, sizeof dims, "3");
        append(at, sizeof at, "l");
    }
    for (int k = 0; k < t->n; k++) {
        const char *e = extent_text(t->extent[k]);
        char sofar[256];
        PUT(sofar, "%s", count);
        if (t->of[k] == FULL) {
            append(dims, sizeof dims, e);
            append(at, sizeof at, coord[k]);
        } else if (t->of[k] == COARSE) {
            PUT(one, "q%d < (%s + %d) / %d", k, e, t->by[k] - 1, t->by[k]);
            append(dims, sizeof dims, one);
            PUT(one, "%s / %d", coord[k], t->by[k]);
            append(at, sizeof at, one);
            PUT(count, "%s * min(%d, %s - q%d * %d)", sofar, t->by[k], e, k, t->by[k]);
        } else {
            PUT(count, "%s * %s", sofar, e);
        }
    }
    if (!*dims) {
        PUT(dims, "1");
        PUT(at, "0");
    }
    fprintf(g->out, "event %%e%d[%s] count %s\n", id, dims, count);
    fprintf(g->body, "    notify %%e%d[%s]\n", id, at);
    g->p->events++;
}

static void write_tensors(struct generator *g, int id, const char *loop) {
    const struct grid *t = &g->grid[id];
    char shape[160] = "";
    if (t->looped) append(shape, sizeof shape, "3");
    for (int k = 0; k < t->n; k++)
        append(shape, sizeof shape, extent_text(t->extent[k]));
    fprintf(g->out, "state %%runs%d : i32[%s]\n%s %%t%d : i32[%s, %d]%s%s\n", id, shape,
            t->output ? "output" : "temp", id, shape, t->width,
            t->looped && !t->output ? " carried " : "", t->looped && !t->output ? loop : "");
}

static void write_function(struct generator *g, int id, const struct source *s, int ns) {
    const struct grid *t = &g->grid[id];
    char at[64] = "", load[1100];
    fprintf(g->out, "func @f%d [", id);
    for (int k = 0; k < t->n; k++)
        fprintf(g->out, "%s%s < %s", k ? ", " : "", coord[k], extent_text(t->extent[k]));
    fprintf(g->out, "] {\n");
    for (int i = 0; i < ns; i++)
        fprintf(g->out, "  local $s%d : i32[%d]\n", i, t->width);
    if (t->looped) append(at, sizeof at, "l");
    for (int k = 0; k < t->n; k++)
        append(at, sizeof at, coord[k]);
    for (int i = 0; i < ns; i++) {
        int width = g->grid[s[i].grid].width;
        if (s[i].guard[0])
            PUT(load, "select(%s, %%t%d[%s, min(j, %d)], 0)", s[i].guard, s[i].grid, s[i].index,
                width - 1);
        else
            PUT(load, "%%t%d[%s, min(j, %d)]", s[i].grid, s[i].index, width - 1);
        if (s[i].range[0])
            fprintf(g->out, "  reduce sum [j < %d] over r < %s\n", t->width, s[i].range);
        else
            fprintf(g->out, "  map [j < %d]\n", t->width);
        if (s[i].before)
            fprintf(g->out, "    $s%d[j] = select(l == 0, %d, %s)\n", i, i + 3, load);
        else
            fprintf(g->out, "    $s%d[j] = %s\n", i, load);
    }
    fprintf(g->out, "  map [j < %d]\n    %%t%d[%s, j] = (%%salt0[0] * %u + j * %u%s", t->width, id,
            at, pick(g, 9) + 1, pick(g, 50), t->looped ? " + l * 11" : "");
    for (int k = 0; k < t->n; k++)
        fprintf(g->out, " + %s * %u", coord[k], pick(g, 100) + 1);
    for (int i = 0; i < ns; i++)
        fprintf(g->out, " + $s%d[j] * %u", i, pick(g, 7) + 1);
    fprintf(g->out, ") %% " MODULUS "\n  map []\n    %%runs%d[%s] = %%runs%d[%s] + 1\n}\n", id, at,
            id, at);
}

static void write_task(struct generator *g, int id, const struct source *s, int ns,
                       const char *margin) {
    fprintf(g->body, "%stask @f%d\n", margin, id);
    for (int i = 0; i < ns; i++)
        for (int w = 0; w < s[i].nwaits; w++) {
            fprintf(g->body, "    %s\n", s[i].wait[w]);
            g->p->waits++;
        }
}

static void add_grid(struct generator *g, bool looped, bool last) {
    int id = g->ngrids, ns = 0;
    struct grid t = {.n = 1 + (int)pick(g, MAX_COORDS), .width = 1 + (int)pick(g, 4)};
    int tiles = 1;
    for (int k = 0; k < t.n; k++) {
        t.extent[k] = (int)pick(g, NEXTENTS);
        while (tiles * extents[t.extent[k]].most > 150)
            t.extent[k] = (int)pick(g, NEXTENTS);
        tiles *= extents[t.extent[k]].most;
        t.of[k] = (resolution)(pick(g, 5) % 3);
        t.by[k] = 2 + (int)pick(g, 3);
    }
    t.looped = looped;
    t.output = last || chance(g, 30);
    struct source s[MAX_SOURCES];
    int most = id ? 1 + (int)pick(g, MAX_SOURCES) : 0;
    for (int i = 0; i < most; i++) {
        int from =
            chance(g, 60) ? id - 1 - (int)pick(g, id < 2 ? 1 : 2) : (int)pick(g, (uint32_t)id);
        bool before = looped && g->grid[from].looped && chance(g, 40);
        make_source(g, &t, from, before, &s[ns++]);
    }
    g->grid[g->ngrids++] = t;
    write_tensors(g, id, "l");
    if (looped && chance(g, 70)) { /* its own tile of the iteration before */
        struct source *own = &s[ns < MAX_SOURCES ? ns : ns - 1];
        *own = (struct source){.grid = id, .before = true};
        char box[128] = "";
        append(own->index, sizeof own->index, "l - 1");
        append(box, sizeof box, "l - 1");
        for (int k = 0; k < t.n; k++) {
            struct along a;
            PUT(a.lo, "%s", coord[k]);
            PUT(a.hi, "%s", coord[k]);
            append(own->index, sizeof own->index, coord[k]);
            event_index(&t, k, &a, box, sizeof box);
        }
        PUT(own->wait[0], "wait %%e%d[%s] when later", id, box);
        own->nwaits = 1;
        if (ns < MAX_SOURCES) ns++;
    }
    write_task(g, id, s, ns, looped ? "    " : "  ");
    write_function(g, id, s, ns);
    write_event(g, id);
    g->p->grids++;
}

/* Rows sent to experts: the arrivals that complete an expert's counter are as many as its rows. */
static void add_experts(struct generator *g, const char *margin) {
    int from = -1;
    for (int i = 0; i < g->ngrids; i++)
        if (!g->grid[i].looped && g->grid[i].n == 1 && g->grid[i].extent[0] == 0) from = i;
    if (from < 0) return;
    int id = g->ngrids++, expert = g->p->ninputs;
    g->grid[id] = (struct grid){.n = 1, .extent = {EXPERT_EXTENT}, .width = 2, .output = true};
    char to[16], counts[16], rows[16];
    PUT(to, "%s", add_input(g, "expert", GEN_EXPERT, "N", "4")->name);
    gen_input *in = add_input(g, "counts", GEN_COUNTS, "5", "N");
    in->expert = expert;
    PUT(counts, "%s", in->name);
    in = add_input(g, "rows", GEN_ROWS, "N", "N");
    in->expert = expert;
    PUT(rows, "%s", in->name);
    write_tensors(g, id, "");
    fprintf(g->out,
            "temp %%sent%d : i32[N]\nstate %%sentruns%d : i32[N]\n"
            "func @send%d [a < N] {\n  map []\n    %%sent%d[a] = %%t%d[a, 0] + a\n"
            "  map []\n    %%sentruns%d[a] = %%sentruns%d[a] + 1\n}\n"
            "event %%tokens%d[x < 4] count %%%s[x + 1] - %%%s[x] promised\n",
            id, id, id, id, from, id, id, id, counts, counts);
    fprintf(g->out,
            "func @f%d [a < 4] {\n  local $s0 : i32[2]\n"
            "  reduce sum [j < 2] over r < %%%s[a + 1] - %%%s[a]\n"
            "    $s0[j] = %%sent%d[max(0, min(N - 1, %%%s[max(0, min(N - 1, %%%s[a] + r))]))]\n"
            "  map [j < 2]\n    %%t%d[a, j] = (%%salt0[0] + j + $s0[j] * 3) %% " MODULUS "\n"
            "  map []\n    %%runs%d[a] = %%runs%d[a] + 1\n}\n",
            id, counts, counts, id, rows, counts, id, id, id);
    char at[32] = "[0]";
    const struct grid *made = &g->grid[from];
    if (made->of[0] == FULL) PUT(at, "[a]");
    if (made->of[0] == COARSE) PUT(at, "[a / %d]", made->by[0]);
    fprintf(g->body, "%stask @send%d\n    wait %%e%d%s\n    notify %%tokens%d[%%%s[a]]\n", margin,
            id, from, at, id, to);
    fprintf(g->body, "%stask @f%d\n    wait %%tokens%d[a]\n", margin, id, id);
    write_event(g, id);
    g->p->grids += 2;
    g->p->events++;
    g->p->waits += 2;
    g->p->routed++;
}

void gen_make(uint64_t seed, gen_program *p) {
    *p = (gen_program){0};
    struct generator g = {.state = seed * 0x9e3779b97f4a7c15u + 1, .p = p};
    char *body;
    size_t bytes;
    g.out = open_memstream(&p->text, &p->bytes);
    g.body = open_memstream(&body, &bytes);
    if (!g.out || !g.body) abort();
    for (int i = 0; i < 8; i++)
        pick(&g, 2);
    int before = 1 + (int)pick(&g, 4), inside = chance(&g, 60) ? 1 + (int)pick(&g, 3) : 0,
        after = 1 + (int)pick(&g, 3);
    fprintf(g.out, "eti 1 evented\nmodel random\ndim N in 1..24\ndim M in 1..6\n");
    if (inside) fprintf(g.out, "loop l in 0..3\n");
    add_input(&g, "salt", GEN_SALT, "1", "1000");
    for (int i = 0; i < before; i++)
        add_grid(&g, false, false);
    if (inside) fprintf(g.body, "  loop l {\n");
    for (int i = 0; i < inside; i++)
        add_grid(&g, true, false);
    if (inside) fprintf(g.body, "  }\n");
    for (int i = 0; i < after; i++)
        add_grid(&g, false, i == after - 1);
    if (chance(&g, 40)) add_experts(&g, "  ");
    fclose(g.body);
    fprintf(g.out, "schedule {\n%s}\n", body);
    fclose(g.out);
    free(body);
}

void gen_free(gen_program *p) {
    free(p->text);
}
