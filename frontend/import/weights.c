/* weights.c - the weights a model declares, against the tensors of the checkpoint.
 *
 * The model's text is parsed as etcc would, so what is checked is what will be asked for. */
#include "frontend/frontend.h"
#include "frontend/import/import.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_source.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MAX_TENSOR_NAME = 2048, GIVE_UP = 1000 };

static const struct {
    const char *st, *etg;
} types[] = {{"BF16", "bf16"}, {"F16", "f16"}, {"F32", "f32"}};

static const char *etg_type(const char *st_dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].st, st_dtype)) return types[i].etg;
    return NULL;
}

struct check {
    et_arena *arena;
    const et_graph *g;
    const struct etrt_st *st;
    struct imp_report *report;
    const struct imp_config *config;
    struct imp_filled *filled;
    bool wide;
    const struct etrt_st_tensor **used; /* sorted when all are there */
    int nused, cused;
};

/* One number is a scalar, too. */
static bool same_shape(const struct etrt_st_tensor *t, int rank, const int64_t *dims) {
    if (!t->rank) return !rank || (rank == 1 && dims[0] == 1);
    return t->rank == rank && !memcmp(t->shape, dims, (size_t)rank * sizeof *dims);
}

/* What the BYTES at TEXT, of the source of W, come to where its loops stand at AT. */
static int64_t index_of(const et_graph *g, const et_val *w, const char *text, size_t bytes,
                        const int64_t *at) {
    struct etrt_source_index x;
    et_check(etrt_source_index(text, bytes, &x));
    for (int k = 0; k < x.n; k++)
        for (int i = 0; i < w->nloops; i++)
            if (etrt_source_is(&x, k, g->loops[w->loops[i]].name))
                x.plus += x.term[k].times * at[i];
    return x.plus;
}

/* The name of W's tensor where its loops stand at AT. */
static void expand(const et_graph *g, const et_val *w, const int64_t *at,
                   char buf[MAX_TENSOR_NAME]) {
    size_t n = 0;
    for (const char *p = w->source; *p && n + 24 < MAX_TENSOR_NAME;) {
        if (*p != '{') {
            buf[n++] = *p++;
            continue;
        }
        size_t bytes = strcspn(p, "}");
        n += (size_t)snprintf(buf + n, MAX_TENSOR_NAME - n, "%lld",
                              (long long)index_of(g, w, p + 1, bytes - 1, at));
        p += bytes + (p[bytes] == '}');
    }
    buf[n] = 0;
}

/* The tensor T called NAME, of a weight of codes, as many of them to an element as it holds. */
static void check_codes(struct check *c, const struct etrt_st_tensor *t, const char *name,
                        et_dtype declared, int rank, const int64_t *dims) {
    char have[128], want[128];
    const char *own = et_dtype_safetensors(declared), *file = etrt_st_path(c->st, t);
    int held = etrt_dtype_held(et_dtype_bits(declared), own, t->dtype);
    if (!held)
        imp_error(c->report, file, "tensor \"%s\" has type %s, which does not hold codes of %s",
                  name, t->dtype, et_dtype_name(declared));
    else if (!etrt_dtype_fits(held, rank, dims, t->rank, t->shape))
        imp_error(c->report, file,
                  "tensor \"%s\" has shape %s of %d %s each, but config.json makes it %s", name,
                  etrt_st_shape_text(t->rank, t->shape, have, sizeof have), held,
                  et_dtype_name(declared), etrt_st_shape_text(rank, dims, want, sizeof want));
}

/* Says that T is read and what lies around it is not: the system would read megabytes ahead. */
static void expect_read(const struct etrt_st_tensor *t) {
    size_t before = (uintptr_t)t->data % (uintptr_t)sysconf(_SC_PAGESIZE); /* in its first page */
    void *page = (char *)t->data - before;
    posix_madvise(page, before + t->bytes, POSIX_MADV_RANDOM);
    posix_madvise(page, before + t->bytes, POSIX_MADV_WILLNEED);
}

/* Integers that are indices choose among something: a number that is none of it is a lie. */
static void check_below(struct check *c, const struct etrt_st_tensor *t, const char *source) {
    for (int i = 0; i < c->filled->nbelow; i++) {
        const struct imp_below *b = &c->filled->below[i];
        if (strcmp(b->source, source) != 0) continue;
        expect_read(t);
        for (size_t at = 0; at < t->bytes / sizeof(int32_t); at++) {
            int32_t v;
            memcpy(&v, (const char *)t->data + at * sizeof v, sizeof v);
            if (v >= 0 && v < b->limit) continue;
            imp_error(c->report, etrt_st_path(c->st, t),
                      "tensor \"%s\": number %zu is %ld, expected 0 to %lld", t->name, at, (long)v,
                      (long long)b->limit - 1);
            return;
        }
    }
}

/* One tensor of the weight W; *DTYPE is that of the first, NULL before it. */
static void check_tensor(struct check *c, const char *name, const et_val *w, int rank,
                         const int64_t *dims, const char **dtype) {
    et_dtype declared = w->shape.dtype;
    char have[128], want[128];
    const struct etrt_st_tensor *t = etrt_st_find(c->st, name);
    if (!t) {
        imp_error(c->report, "checkpoint", "tensor \"%s\" is missing", name);
        return;
    }
    ET_GROW(c->arena, c->used, c->nused, c->cused);
    c->used[c->nused++] = t;
    const char *file = etrt_st_path(c->st, t);
    if (et_dtype_is_code(declared)) {
        check_codes(c, t, name, declared, rank, dims);
        *dtype = et_dtype_name(declared);
        return;
    }
    if (!same_shape(t, rank, dims))
        imp_error(c->report, file, "tensor \"%s\" has shape %s, but config.json makes it %s", name,
                  etrt_st_shape_text(t->rank, t->shape, have, sizeof have),
                  etrt_st_shape_text(rank, dims, want, sizeof want));
    if (declared == ET_I32) { /* which has one type in files: what it says is the template's */
        if (strcmp(t->dtype, "I32") != 0)
            imp_error(c->report, file, "tensor \"%s\" has type %s, but config.json makes it I32",
                      name, t->dtype);
        else
            check_below(c, t, w->source);
        *dtype = "i32";
        return;
    }
    const char *type = etg_type(t->dtype);
    if (!type)
        imp_error(c->report, file, "tensor \"%s\" has type %s; supported: BF16, F16, F32", name,
                  t->dtype);
    else if (!*dtype)
        *dtype = type;
    else if (strcmp(type, *dtype) != 0)
        imp_error(c->report, file,
                  "tensor \"%s\" is %s, but the first of its kind has %s; all must be alike", name,
                  type, *dtype);
}

/* Every tensor of the weight. Returns their type, or NULL. */
static const char *check_weight(struct check *c, const et_val *w) {
    int64_t at[ET_MAX_LOOPS], dims[ET_MAX_RANK] = {0};
    char name[MAX_TENSOR_NAME];
    const char *dtype = NULL;
    int rank = w->shape.rank - w->nloops, first = c->report->errors;
    for (int i = 0; i < rank; i++)
        et_check(et_is_int(c->g->exprs, w->shape.dim[w->nloops + i], &dims[i]));
    for (int i = 0; i < w->nloops; i++)
        at[i] = c->g->loops[w->loops[i]].lo;
    for (;;) {
        int i = w->nloops - 1;
        expand(c->g, w, at, name);
        check_tensor(c, name, w, rank, dims, &dtype);
        for (; i >= 0 && ++at[i] == c->g->loops[w->loops[i]].hi; i--)
            at[i] = c->g->loops[w->loops[i]].lo;
        if (i < 0 || c->report->errors - first > GIVE_UP) return dtype;
    }
}

/* ---- tensors that the template does not use ---- */

static int by_address(const void *a, const void *b) {
    const struct etrt_st_tensor *x = *(void *const *)a, *y = *(void *const *)b;
    return x < y ? -1 : x > y;
}

static bool is_spare(const struct imp_filled *f, const char *name) {
    for (int i = 0; i < f->nspare; i++)
        if (!fnmatch(f->spare[i], name, 0)) return true;
    return false;
}

/* Is NAME, up to the number of its layer, what a weight's tensors are called, and that number
 * beyond all layers? Such tensors are there for training or for drafts. *INSIDE: the number is a
 * layer's. */
static bool is_beyond(const et_graph *g, const char *name, bool *inside) {
    bool beyond = false;
    *inside = false;
    for (int i = 1; i < g->nvals; i++) {
        const et_val *w = &g->vals[i];
        if (w->kind != ET_V_WEIGHT || !w->nloops) continue;
        size_t n = strcspn(w->source, "{");
        if (strncmp(w->source, name, n) != 0) continue;
        char *end;
        long long at = strtoll(name + n, &end, 10);
        if (end == name + n || *end != '.') continue;
        int64_t last[ET_MAX_LOOPS];
        for (int k = 0; k < w->nloops; k++)
            last[k] = g->loops[w->loops[k]].hi - 1;
        beyond = true;
        if (at >= 0 &&
            at <= index_of(g, w, w->source + n + 1, strcspn(w->source + n, "}") - 1, last))
            *inside = true;
    }
    return beyond && !*inside;
}

static bool ends_in(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n >= k && !strcmp(name + n - k, end);
}

/* What NAME begins with: the part of a larger model that it belongs to. */
static const char *part_of(et_arena *arena, const char *name) {
    size_t n = !strncmp(name, "model.", 6) ? 6 : 0;
    return et_strndup(arena, name, n + strcspn(name + n, "."));
}

/* Says which other parts of a larger model are left out. */
static void tell_outside(struct check *c) {
    const char *list = "";
    for (size_t i = 0; i < etrt_st_count(c->st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(c->st, i);
        if (!imp_config_outside(c->config, t->name)) continue;
        const char *part = et_printf(c->arena, " %s,", part_of(c->arena, t->name));
        if (!strstr(list, part)) list = et_printf(c->arena, "%s%s", list, part);
    }
    if (*list)
        imp_note(c->config->path, "the language model alone is imported, without%.*s",
                 (int)strlen(list) - 1, list);
}

/* Of tensors that are sorted. */
static bool is_used(const struct check *c, const struct etrt_st_tensor *t) {
    return c->nused && bsearch(&t, c->used, (size_t)c->nused, sizeof *c->used, by_address);
}

/* Leaving out a tensor that was trained would compute something else. */
static void check_surplus(struct check *c) {
    tell_outside(c);
    if (c->nused) qsort(c->used, (size_t)c->nused, sizeof *c->used, by_address);
    for (size_t i = 0; i < etrt_st_count(c->st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(c->st, i);
        bool inside;
        if (is_used(c, t) || is_spare(c->filled, t->name) || imp_config_outside(c->config, t->name))
            continue;
        const char *file = etrt_st_path(c->st, t);
        if (is_beyond(c->g, t->name, &inside))
            imp_warning(c->report, file, "tensor \"%s\" is not used", t->name);
        else if (ends_in(t->name, ".bias"))
            imp_error(c->report, file,
                      "tensor \"%s\" is a bias, but config.json does not say that there is one",
                      t->name);
        else
            imp_error(c->report, file,
                      "tensor \"%s\" has no place in the model that config.json describes",
                      t->name);
    }
}

/* ---- types ---- */

static struct imp_auto *auto_at(const struct imp_filled *f, int line) {
    for (int i = 0; i < f->nautos; i++)
        if (f->autos[i].line == line) return &f->autos[i];
    return NULL;
}

/* Puts TYPE in the place of "bf16" at AT; what it is shorter is made up for where the text is
 * padded. Types are four letters long at most. */
static void put_type(char *at, const char *type) {
    size_t n = strlen(type);
    memcpy(at, type, n);
    if (n == 4) return;
    char *end = strchr(at, ']');
    if (!end) return;
    memmove(at + n, at + 4, (size_t)(end + 1 - (at + 4)));
    end -= 4 - n;
    memset(end + 1, ' ', 4 - n);
}

static void settle_type(struct check *c, const et_val *w, const char *found) {
    struct imp_auto *a = auto_at(c->filled, w->loc.line);
    const char *declared = et_dtype_name(w->shape.dtype);
    if (a && a->fine && !strcmp(found, "bf16")) found = "f16";
    if (a)
        put_type(c->filled->text + a->at, c->wide ? "f32" : found);
    else if (!c->wide && strcmp(declared, found) != 0)
        imp_error(c->report, "checkpoint",
                  "weight %s is %s in the checkpoint, but the template "
                  "declares it %s",
                  w->name, found, declared);
}

static et_graph *parse(et_arena *arena, const struct imp_filled *f, const char *name,
                       struct imp_report *report) {
    et_diags *diags = et_diags_create(arena);
    et_graph *g = et_parse_etg(arena, diags, name, f->text, f->bytes);
    if (g) return g;
    et_diag_print(diags, stderr);
    imp_error(report, name, "what the template gives is no model that etcc takes");
    return NULL;
}

bool imp_check_weights(struct imp_filled *f, const struct imp_config *config, const char *name,
                       const struct etrt_st *st, const struct imp_options *o) {
    struct imp_report *report = config->report;
    struct check c = {.arena = config->arena,
                      .st = st,
                      .report = report,
                      .config = config,
                      .filled = f,
                      .wide = o->wide};
    int errors = report->errors;
    et_graph *g = parse(c.arena, f, name, report);
    if (!g) return false;
    c.g = g;
    bool other = false;
    for (int i = 1; i < g->nvals && report->errors - errors < GIVE_UP; i++) {
        if (g->vals[i].kind != ET_V_WEIGHT) continue;
        const char *dtype =
            st ? check_weight(&c, &g->vals[i]) : et_dtype_name(g->vals[i].shape.dtype);
        if (dtype) settle_type(&c, &g->vals[i], dtype);
        struct imp_auto *a = auto_at(f, g->vals[i].loc.line);
        other |= o->wide || (dtype && strcmp(dtype, "bf16") != 0) || (a && a->fine);
    }
    if (st) check_surplus(&c);
    if (report->errors > errors) return false;
    /* Other types may not go together: f16 with bf16. */
    return !other || parse(c.arena, f, name, report);
}
