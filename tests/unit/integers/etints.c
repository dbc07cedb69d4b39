/* etints - a random program of integer expressions, as .eti text.
 *
 *     etints SEED graph|tiled
 *
 * Their numbers are small, or near 2^31, 2^32, 2^40 and the ends of 64 bits, of either sign; they
 * come from the program's text, from dims, from coordinates and from a tensor of i32 (a constant
 * one, so that the program needs no input). What has no value whatever the tensors hold is an error
 * of the program, so no such expression is made: dims and coordinates alone stay within 2^60, and
 * what they are divided by is not zero. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 64, EXPRESSIONS = 24, DEPTH = 5, TEXT = 4096 };

static uint64_t state;

static int64_t below(int64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

/* ---- expressions ---- */

/* How a leaf is written. */
struct names {
    const char *load[2], *coordinate;
};

struct expr {
    char text[TEXT];
    double most; /* no larger than this in magnitude, where no tensor decides */
    bool data;   /* a tensor decides */
};

static int64_t number(void) {
    static const int64_t near[] = {(int64_t)1 << 31, (int64_t)1 << 32, (int64_t)1 << 40,
                                   (int64_t)1 << 58};
    int64_t v = below(16);
    if (below(3) == 0) v = near[below(4)] - 2 + below(5);
    if (below(6) == 0) v = below(1 << 20) * below(1 << 10);
    return below(3) ? v : -v;
}

static void leaf(const struct names *n, struct expr *out) {
    *out = (struct expr){.most = 2147483647.0};
    int64_t v;
    switch (below(6)) {
    case 0:
    case 1:
        out->data = true;
        strcpy(out->text, n->load[below(2)]);
        return;
    case 2:
        strcpy(out->text, n->coordinate);
        return;
    case 3:
        strcpy(out->text, below(2) ? "N" : "M");
        return;
    default:
        v = number();
        out->most = (double)(v < 0 ? -v : v);
        snprintf(out->text, sizeof out->text, "%" PRId64, v);
    }
}

static bool join(struct expr *out, const char *format, const char *a, const char *b,
                 const char *c) {
    int n = snprintf(out->text, sizeof out->text, format, a, b, c);
    return n > 0 && n < 600;
}

/* A divisor: a number other than 0, a dim, or what a tensor holds. */
static void divisor(const struct names *n, struct expr *out) {
    static const char *const form[] = {"(%s)", "((%s) + (%s))", "((%s) * (%s))", "((%s) %% (%s))"};
    char number_text[32], *dim = below(2) ? "N" : "M";
    int64_t v = 0;
    *out = (struct expr){.most = 2147483647.0};
    while (v >= -1 && v <= 1)
        v = number();
    snprintf(number_text, sizeof number_text, "%" PRId64, v);
    int kind = (int)below(3);
    out->data = kind == 2;
    if (kind == 0)
        join(out, "%s", dim, "", "");
    else if (kind == 1)
        join(out, "%s", number_text, "", "");
    else
        join(out, form[below(4)], n->load[below(2)], below(2) ? dim : number_text, "");
}

static void choice(const struct names *n, struct expr *a, struct expr *b, struct expr *out) {
    static const char *const compare[] = {"<", "<=", "==", "!=", ">", ">="};
    char condition[2 * TEXT + 16];
    struct expr with;
    leaf(n, &with);
    snprintf(condition, sizeof condition, "(%s) %s (%s)", a->text, compare[below(6)], with.text);
    out->most = a->most > b->most ? a->most : b->most;
    out->data = a->data && b->data; /* else bounds hold for one side alone */
    if (a->data != b->data || !join(out, "select(%s, %s, %s)", condition, a->text, b->text))
        leaf(n, out);
}

static void make(const struct names *n, int depth, struct expr *out);

static void binary(const struct names *n, int depth, struct expr *out) {
    static const char *const op[] = {"+", "-", "*", "/", "%", "min", "max", "?"};
    struct expr a, b;
    int k = (int)below(8);
    make(n, depth - 1, &a);
    if (k == 3 || k == 4)
        divisor(n, &b);
    else
        make(n, depth - 1, &b);
    *out = (struct expr){.data = a.data || b.data};
    if (k == 7) {
        choice(n, &a, &b, out);
        return;
    }
    if (k == 5 || k == 6) out->data = a.data && b.data; /* else one side bounds the other */
    out->most = k == 2 ? a.most * b.most : a.most + b.most + 1;
    bool fits = out->data || out->most < 1e18;
    if (!fits || !join(out, k < 5 ? "(%s) %s (%s)" : "%2$s(%1$s, %3$s)", a.text, op[k], b.text))
        leaf(n, out);
}

static void make(const struct names *n, int depth, struct expr *out) {
    struct expr a;
    if (depth == 0 || below(7) == 0) {
        leaf(n, out);
    } else if (below(8) == 0) {
        static const char *const form[] = {"abs(%s)", "i32(%s)", "-(%s)"};
        make(n, depth - 1, &a);
        *out = (struct expr){.most = a.most, .data = a.data};
        if (!join(out, form[below(3)], a.text, "", "")) leaf(n, out);
    } else {
        binary(n, depth, out);
    }
}

/* ---- programs ---- */

static int64_t element(void) {
    static const int64_t special[] = {0, 0, 1, -1, INT32_MAX, INT32_MIN, INT32_MAX - 1, 2, -2};
    if (below(2)) return special[below((int64_t)(sizeof special / sizeof *special))];
    int64_t v = below((int64_t)1 << (1 + below(31)));
    return below(2) ? v : -v;
}

static void data(const char *name) {
    printf("const %%%s : i32[%d] = [", name, ELEMENTS);
    for (int i = 0; i < ELEMENTS; i++)
        printf("%s%" PRId64, i ? ", " : "", element());
    printf("]\n");
}

static void head(const char *stage) {
    printf("eti 1 %s\nmodel integers\ndim N in 1..2147483647\ndim M in 3..70000\n", stage);
    if (strcmp(stage, "graph") != 0) return;
    data("a");
    data("b");
}

static void graph(void) {
    const struct names n = {{"$0", "$1"}, "$2"};
    struct expr e;
    head("graph");
    printf("%%i = iota {shape=[%d]} : i32[%d]\n", ELEMENTS, ELEMENTS);
    for (int k = 0; k < EXPRESSIONS; k++) {
        bool whole = below(4) != 0;
        make(&n, DEPTH, &e);
        printf("%%y%d = map %%a, %%b, %%i {body=%s%s%s, dtype=%s}\n", k, whole ? "" : "f32(",
               e.text, whole ? "" : ")", whole ? "i32" : "f32");
    }
    for (int k = 0; k < EXPRESSIONS; k++)
        printf("output %%y%d\n", k);
}

/* Expressions as values, masks, indices and extents of steps. */
static void tiled(void) {
    const struct names n = {{"%a[i * 8 + j]", "%b[j * 8 + i]"}, "(i * 8 + j)"};
    struct expr value, mask, index, extent;
    head("tiled");
    data("a");
    data("b");
    for (int k = 0; k < EXPRESSIONS; k++)
        printf("output %%y%d : %s[64]\n", k, k % 3 ? "i32" : "f32");
    for (int k = 0; k < EXPRESSIONS; k++) {
        make(&n, DEPTH, &value);
        make(&n, 3, &mask);
        make(&n, 3, &index);
        make(&n, 3, &extent);
        printf("func @f%d [i < 8] {\n", k);
        if (k % 5 == 4) printf("  local $l : %s[8]\n", below(2) ? "i32" : "f32");
        printf("  map [j < 8]\n    %%y%d[i * 8 + j] = ", k);
        switch (k % 5) {
        case 0:
            printf("%s\n", value.text);
            break;
        case 1:
            printf("7\n  map [j < 8] where (%s) %% 3 < 2\n    %%y%d[i * 8 + j] = %s\n", mask.text,
                   k, value.text);
            break;
        case 2:
            printf("%%a[(%s) %% 64]\n", index.text);
            break;
        case 4:
            printf("5\n  map [j < 8]\n    $l[j] = %s\n  map [j < 8]\n"
                   "    %%y%d[i * 8 + j] = $l[(%s) %% 8]\n",
                   value.text, k, index.text);
            break;
        default:
            printf("3\n  reduce %s [j < 8] over r < 5 extent max(0, min(5, %s))\n"
                   "    %%y%d[i * 8 + j] = (%s) + r\n",
                   below(2)   ? "sum"
                   : below(2) ? "max"
                              : "argmax",
                   extent.text, k, value.text);
        }
        printf("}\n");
    }
    printf("schedule {\n");
    for (int k = 0; k < EXPRESSIONS; k++)
        printf("  task @f%d\n", k);
    printf("}\n");
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    state = strtoull(argv[1], NULL, 10) * 0x9E3779B97F4A7C15u + 1;
    if (strcmp(argv[2], "graph") == 0)
        graph();
    else
        tiled();
    return 0;
}
