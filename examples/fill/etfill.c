/* etfill - a safetensors file of random tensors: weights and inputs for trying a model out. */
#include "runtime/cli/cli.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* i64 is for token ids, and no type of the compiler's. */
enum { I64 = ETRT_ROWS };
static const struct {
    const char *name, *st;
    int bits;
    bool is_float;
} types[] = {
#define X(NAME, name, safetensors, bits, is_float) {#name, safetensors, bits, is_float},
    ETRT_DTYPES(X)
#undef X
        {"i64", "I64", 64, false}};

struct options {
    uint64_t seed;
    cli_list rest; /* the file, then what is in it */
    char *listed;  /* what standard input says is in it, cut into lines; NULL when not asked */
    char **spec;   /* all of it */
    int n;
};

struct fill {
    char name[521];
    int type;
    double lo, hi;
    int64_t count;
};

/* SplitMix64, to a number in [0, 1). */
static double uniform(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static void put(int type, void *data, int64_t i, double lo, double range, double r) {
    int64_t whole = (int64_t)(lo + floor(r * (range + 1)));
    if (type == I64)
        memcpy((char *)data + i * 8, &whole, 8);
    else
        etrt_element_set(type, data, i, types[type].is_float ? lo + r * range : (double)whole);
}

/* "[3,40]", or "[]" of one element -> shape and count; moves *TEXT past it. */
static bool parse_shape(const char **text, struct etrt_st_tensor *t, int64_t *out_count) {
    const char *p = *text;
    *out_count = 1;
    if (p[1] == ']') {
        *text = p + 2;
        return true;
    }
    do {
        char *end;
        long long d = strtoll(++p, &end, 10);
        if (end == p || d < 0 || d > INT32_MAX || t->rank == ETRT_ST_MAX_RANK) return false;
        t->shape[t->rank++] = d;
        if (__builtin_mul_overflow(*out_count, d, out_count) || *out_count > INT32_MAX)
            return false;
        p = end;
    } while (*p == ',');
    *text = p + 1;
    return *p == ']';
}

/* Files have elements of whole bytes: two of four bits, four of two and eight of one are one of U8
 * (runtime/etrt_dtype.h). */
static bool pack(int bits, struct etrt_st_tensor *t) {
    if (bits >= 8) return true;
    if (!t->rank || t->shape[t->rank - 1] % (8 / bits)) return false;
    t->dtype = "U8";
    t->shape[t->rank - 1] /= 8 / bits;
    return true;
}

static bool parse(const char *text, struct fill *f, struct etrt_st_tensor *t) {
    char type[8];
    int used = 0;
    memset(t, 0, sizeof *t);
    if (sscanf(text, "%520[^:]:%7[a-z0-9]%n", f->name, type, &used) != 2 || text[used] != '[')
        return false;
    for (int i = 0; i < (int)(sizeof types / sizeof *types); i++)
        if (!strcmp(type, types[i].name)) {
            f->type = i;
            t->dtype = types[i].st;
        }
    const char *rest = text + used;
    char junk;
    t->name = f->name;
    return t->dtype && parse_shape(&rest, t, &f->count) && pack(types[f->type].bits, t) &&
           sscanf(rest, ":%lf:%lf%c", &f->lo, &f->hi, &junk) == 2 && f->lo <= f->hi;
}

static bool fill(const struct fill *f, struct etrt_st_tensor *t, uint64_t *state) {
    t->bytes = (size_t)f->count * (size_t)types[f->type].bits / 8;
    char *data = calloc(1, t->bytes + 1);
    for (int64_t i = 0; data && i < f->count; i++)
        put(f->type, data, i, f->lo, f->hi - f->lo, uniform(state));
    t->data = data;
    return data != NULL;
}

static bool fill_file(const struct options *o) {
    char err[ETRT_ST_ERR] = "out of memory";
    uint64_t state = o->seed;
    int n = o->n;
    struct fill *f = calloc((size_t)n + 1, sizeof *f);
    struct etrt_st_tensor *t = calloc((size_t)n + 1, sizeof *t);
    bool ok = f && t;
    for (int i = 0; ok && i < n; i++)
        ok = parse(o->spec[i], &f[i], &t[i]) && fill(&f[i], &t[i], &state);
    ok = ok && etrt_st_write(o->rest.at[0].text, t, (size_t)n, err, sizeof err);
    if (!ok) fprintf(stderr, "etfill: %s\n", err);
    for (int i = 0; t && i < n; i++)
        free((void *)t[i].data);
    free(f);
    free(t);
    return ok;
}

static const cli_option options[] = {
    {"seed", 0, CLI_INT, "S", CLI_AT(struct options, seed),
     "the same seed gives the same file (default 1)", .hi = INT64_MAX},
    {0},
};
static const cli_option rest = {
    .kind = CLI_LIST, .arg = "file", CLI_AT(struct options, rest), .need = 1};

static int run(void *);

static const cli_tool tool = {
    .name = "etfill",
    .summary = "write a safetensors file of random tensors",
    .usage = "OUT.safetensors [--seed=S] NAME:TYPE[DIM,DIM,...]:LO:HI ...",
    .about = "Writes tensors of uniform random numbers, weights and inputs for trying a model "
             "out.\nTYPE is one of " ETRT_DTYPE_NAMES
             "or i64; those of fewer than 8 bits share a byte. Values lie between LO and HI, "
             "both included for integers. NAME:TYPE[]:LO:HI is a tensor without dimensions, one "
             "number.",
    .options = options,
    .rest = &rest,
    .notes = "For example: etfill w.safetensors 'w1:bf16[101,37]:-0.2:0.2' 'x:i32[3]:0:9'\n"
             "'-' for the file is standard output, and for a tensor standard input: a list of "
             "tensors, one a line.",
    .run = run,
};

/* The lines of standard input, each a tensor; blank ones and those that begin with # are not. */
static bool add_lines(struct options *o) {
    size_t bytes = 0;
    FILE *all = open_memstream(&o->listed, &bytes);
    char buffer[4096];
    for (size_t n; all && (n = fread(buffer, 1, sizeof buffer, stdin)) > 0;)
        fwrite(buffer, 1, n, all);
    if (!all || fclose(all) != 0 || ferror(stdin)) return false;
    int lines = 1;
    for (const char *c = o->listed; *c; c++)
        lines += *c == '\n';
    char **more = realloc(o->spec, (size_t)(o->n + o->rest.n + lines) * sizeof *more);
    if (!more) return false;
    o->spec = more;
    for (char *left = o->listed, *line; (line = strsep(&left, "\n"));) {
        line[strcspn(line, "\r")] = 0;
        if (line[strspn(line, " \t")] && *line != '#') o->spec[o->n++] = line;
    }
    return true;
}

static bool list_tensors(struct options *o) {
    o->spec = calloc((size_t)o->rest.n, sizeof *o->spec);
    bool ok = o->spec != NULL;
    for (int i = 1; ok && i < o->rest.n; i++)
        if (strcmp(o->rest.at[i].text, "-") != 0)
            o->spec[o->n++] = o->rest.at[i].text;
        else
            ok = !o->listed && add_lines(o);
    if (!ok) fputs("etfill: cannot read a list of tensors from standard input\n", stderr);
    return ok;
}

static int check(const struct options *o) {
    struct fill f;
    struct etrt_st_tensor t;
    if (!o->n) return cli_wrong(&tool, "no tensor given: NAME:TYPE[DIMS]:LO:HI");
    for (int i = 0; i < o->n; i++)
        if (!parse(o->spec[i], &f, &t))
            return cli_wrong(&tool,
                             "\"%s\" is not NAME:TYPE[DIMS]:LO:HI with a type of f32, bf16, f16, "
                             "i32, i64 or of codes, of few bits whole bytes to a row",
                             o->spec[i]);
    return 0;
}

static int run(void *read) {
    struct options *o = read;
    int status = list_tensors(o) ? check(o) : 1;
    if (status == 0) status = fill_file(o) ? 0 : 1;
    free(o->spec);
    free(o->listed);
    return status;
}

int main(int argc, char **argv) {
    struct options o = {.seed = 1};
    return cli_main(&tool, argc, argv, &o);
}
