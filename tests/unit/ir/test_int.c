/* Random integer expressions, zero divisors and numbers at the ends of 64 bits among them: every
 * evaluator there is gives the value that arithmetic of 128 bits does, or none where that has none;
 * simplification changes no value, and bounds hold them. */
#include "ir/expr/int_ops.h"
#include "ir/expr/pool.h"
#include "ir/expr/tape.h"
#include "runtime/etrt/manifest/expr.h"
#include "tests/unit/ir/main.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 50000, SYMS = 3, VARS = 2 };

static uint64_t random_state = 11;

static int64_t below(int64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

/* ---- what is right ---- */

struct value {
    bool known;
    int64_t v;
    int64_t total; /* what a device computes: it wraps around, and a division by zero is 0 */
};

static struct value floor_of(__int128 a, __int128 b, bool modulo) {
    if (b == 0) return (struct value){0};
    __int128 q = a / b;
    while (q * b > a && b > 0)
        q--;
    while (q * b < a && b < 0)
        q--;
    return (struct value){true, (int64_t)(modulo ? a - q * b : q), 0};
}

static int64_t low_64(__int128 v) {
    return (int64_t)(uint64_t)v;
}

static int64_t total(et_xop op, int64_t a, int64_t b) {
    __int128 x = a, y = b, q;
    if (op == ET_X_ADD) return low_64(x + y);
    if (op == ET_X_SUB) return low_64(x - y);
    if (op == ET_X_MUL) return (int64_t)((uint64_t)a * (uint64_t)b);
    if (op == ET_X_MIN) return a < b ? a : b;
    if (op == ET_X_MAX) return a > b ? a : b;
    if (op == ET_X_LT) return a < b;
    if (op == ET_X_LE) return a <= b;
    if (op == ET_X_EQ) return a == b;
    if (op == ET_X_NE) return a != b;
    if (b == 0) return 0;
    q = x / y - (x % y != 0 && (x < 0) != (y < 0));
    return low_64(op == ET_X_IDIV ? q : x - q * y);
}

static struct value right_value(et_xop op, struct value a, struct value b) {
    __int128 x = a.v, y = b.v, z;
    if (!a.known || !b.known) return (struct value){0};
    switch (op) {
    case ET_X_ADD:
        z = x + y;
        break;
    case ET_X_SUB:
        z = x - y;
        break;
    case ET_X_MUL:
        z = x * y;
        break;
    case ET_X_MIN:
        z = x < y ? x : y;
        break;
    case ET_X_MAX:
        z = x > y ? x : y;
        break;
    case ET_X_LT:
        z = x < y;
        break;
    case ET_X_LE:
        z = x <= y;
        break;
    case ET_X_EQ:
        z = x == y;
        break;
    case ET_X_NE:
        z = x != y;
        break;
    default:
        return floor_of(x, y, op == ET_X_MOD);
    }
    if (z > INT64_MAX || z < -INT64_MAX) return (struct value){0};
    return (struct value){true, (int64_t)z, 0};
}

static struct value right(et_xop op, struct value a, struct value b) {
    struct value v = right_value(op, a, b);
    v.total = total(op, a.total, b.total);
    return v;
}

/* ---- one expression in every form ---- */

struct form {
    struct value want;
    et_expr raw, simple; /* as written; built the usual way */
    char *rpn;           /* as in a manifest; empty where it holds what no manifest does */
};

struct world {
    et_exprs *p;
    int64_t sym[SYMS], var[VARS];
    int64_t lo[SYMS], hi[SYMS];
};

static int64_t number(void) {
    static const int64_t special[] = {0,
                                      0,
                                      1,
                                      -1,
                                      2,
                                      INT32_MAX,
                                      INT32_MIN,
                                      INT64_MAX,
                                      -INT64_MAX,
                                      (int64_t)1 << 62,
                                      (int64_t)1 << 32};
    if (below(4) == 0) return special[below((int64_t)(sizeof special / sizeof *special))];
    int64_t v = below((int64_t)1 << (1 + below(30)));
    if (below(8) == 0) v *= (int64_t)1 << below(32);
    return below(2) ? v : -v;
}

static const char *const names[] = {"A", "B", "C", "i", "j"};

static void make_world(struct world *w, et_arena *a) {
    w->p = et_exprs_create(a);
    for (int i = 0; i < SYMS; i++) {
        w->lo[i] = number() / 4;
        w->hi[i] = w->lo[i] + below(2) * below(1 << 30);
        et_sym_add(w->p, names[i], w->lo[i], w->hi[i]);
        w->sym[i] = w->lo[i] + (w->hi[i] > w->lo[i] ? below(w->hi[i] - w->lo[i] + 1) : 0);
    }
    for (int i = 0; i < VARS; i++) {
        int64_t extent = 1 + below(1 << below(24));
        et_var_add(w->p, names[SYMS + i], et_int(w->p, extent));
        w->var[i] = below(extent);
    }
}

static struct form leaf(struct world *w) {
    struct form f = {.want = {true, 0, 0}, .rpn = calloc(1, 32)};
    int k = (int)below(SYMS + VARS + 2);
    if (k < SYMS) {
        f.want.v = w->sym[k];
        f.raw = f.simple = et_sym(w->p, k);
        strcpy(f.rpn, names[k]);
    } else if (k < SYMS + VARS) {
        f.want.v = w->var[k - SYMS];
        f.raw = f.simple = et_var(w->p, k - SYMS);
        *f.rpn = 0;
    } else {
        f.want.v = number();
        f.raw = f.simple = et_int(w->p, f.want.v);
        snprintf(f.rpn, 32, "%" PRId64, f.want.v);
    }
    f.want.total = f.want.v;
    return f;
}

static const struct {
    et_xop op;
    const char *rpn;
} ops[] = {{ET_X_ADD, "+"}, {ET_X_SUB, "-"},   {ET_X_MUL, "*"},   {ET_X_IDIV, "/"},
           {ET_X_MOD, "%"}, {ET_X_MIN, "min"}, {ET_X_MAX, "max"}, {ET_X_LT, NULL},
           {ET_X_LE, NULL}, {ET_X_EQ, NULL},   {ET_X_NE, NULL}};

static et_expr as_written(et_exprs *p, et_xop op, et_type t, int n, const et_expr *e) {
    return et_intern(p, &(et_node_x){.op = op, .type = t, .nops = n, .ops = e});
}

/* A comparison, of integers, chooses one of its sides. */
static struct form chosen(struct world *w, et_xop op, struct form a, struct form b) {
    struct form f = {.rpn = calloc(1, 1)};
    struct value c = right(op, a.want, b.want);
    et_expr both[] = {a.raw, b.raw};
    et_expr raw[] = {as_written(w->p, op, ET_T_PRED, 2, both), a.raw, b.raw};
    f.want = !c.known ? c : c.v ? a.want : b.want;
    f.want.total = c.total ? a.want.total : b.want.total;
    f.raw = as_written(w->p, ET_X_SELECT, ET_T_I32, 3, raw);
    f.simple = et_select(w->p, et_op2(w->p, op, a.simple, b.simple), a.simple, b.simple);
    return f;
}

static struct form make(struct world *w, int depth) {
    if (depth == 0 || below(6) == 0) return leaf(w);
    struct form a = make(w, depth - 1), f;
    if (below(12) == 0) {
        f = (struct form){.rpn = calloc(1, 1), .want = a.want};
        f.want.v = (int32_t)(uint32_t)(uint64_t)a.want.v;
        f.want.total = (int32_t)(uint32_t)(uint64_t)a.want.total;
        f.raw = as_written(w->p, ET_X_TO_I32, ET_T_I32, 1, &a.raw);
        f.simple = et_op1(w->p, ET_X_TO_I32, a.simple);
        free(a.rpn);
        return f;
    }
    if (below(10) == 0) {
        f = (struct form){.rpn = calloc(1, 1), .want = a.want};
        f.want.v = a.want.v < 0 ? -a.want.v : a.want.v;
        f.want.total = a.want.total < 0 ? (int64_t)(0 - (uint64_t)a.want.total) : a.want.total;
        f.raw = as_written(w->p, ET_X_ABS, ET_T_I32, 1, &a.raw);
        f.simple = et_op1(w->p, ET_X_ABS, a.simple);
        free(a.rpn);
        return f;
    }
    struct form b = make(w, depth - 1);
    int k = (int)below((int64_t)(sizeof ops / sizeof *ops));
    if (!ops[k].rpn) {
        f = chosen(w, ops[k].op, a, b);
    } else {
        et_expr raw[] = {a.raw, b.raw};
        f.want = right(ops[k].op, a.want, b.want);
        f.raw = as_written(w->p, ops[k].op, ET_T_I32, 2, raw);
        f.simple = et_op2(w->p, ops[k].op, a.simple, b.simple);
        f.rpn = calloc(1, strlen(a.rpn) + strlen(b.rpn) + 8);
        if (*a.rpn && *b.rpn) sprintf(f.rpn, "%s %s %s", a.rpn, b.rpn, ops[k].rpn);
    }
    free(a.rpn);
    free(b.rpn);
    return f;
}

/* ---- every evaluator ---- */

static int64_t wanted(const struct form *f) {
    return f->want.known ? f->want.v : ET_UNKNOWN;
}

static void check_bounds(const struct world *w, et_expr e, int64_t value) {
    int64_t lo, hi;
    if (value == ET_UNKNOWN || !et_bounds(w->p, e, &lo, &hi)) return;
    ck_assert_msg(lo <= value && value <= hi, "%s is %" PRId64 ", outside %" PRId64 " .. %" PRId64,
                  et_expr_text(w->p, e, NULL, NULL), value, lo, hi);
}

static void check_tape(const struct world *w, const struct form *f) {
    et_tape *t = et_tape_create(w->p, f->raw);
    int64_t v = et_tape_run(t, NULL, w->sym, w->var).i;
    et_tape_destroy(t);
    ck_assert_msg(v == f->want.total, "%s is %" PRId64 ", the tape says %" PRId64,
                  et_expr_text(w->p, f->raw, NULL, NULL), f->want.total, v);
    if (f->want.known) ck_assert_int_eq(f->want.v, f->want.total);
}

static void check_manifest(const struct world *w, const struct form *f) {
    struct etrt_expr e;
    char err[ETRT_EXPR_ERR];
    int64_t v = ET_UNKNOWN;
    ck_assert_msg(etrt_expr_parse(f->rpn, names, SYMS, &e, err), "%s: %s", f->rpn, err);
    if (!etrt_expr_eval(&e, w->sym, &v)) v = ET_UNKNOWN;
    etrt_expr_free(&e);
    ck_assert_msg(v == wanted(f), "%s is %" PRId64 ", the runtime says %" PRId64, f->rpn, wanted(f),
                  v);
}

START_TEST(all_agree) {
    int known = 0, manifest = 0, kept = 0;
    for (int k = 0; k < ROUNDS;) {
        et_arena *a = et_arena_create();
        struct world w;
        make_world(&w, a);
        for (int n = 0; n < 100; n++, k++) {
            struct form f = make(&w, 5);
            int64_t raw = et_eval(w.p, f.raw, w.sym, w.var), simple;
            simple = et_eval(w.p, f.simple, w.sym, w.var);
            ck_assert_msg(raw == wanted(&f), "%s is %" PRId64 ", not %" PRId64,
                          et_expr_text(w.p, f.raw, NULL, NULL), wanted(&f), raw);
            if (raw != ET_UNKNOWN && simple != ET_UNKNOWN)
                ck_assert_msg(raw == simple, "%s is %" PRId64 ", simplified to %s it is %" PRId64,
                              et_expr_text(w.p, f.raw, NULL, NULL), raw,
                              et_expr_text(w.p, f.simple, NULL, NULL), simple);
            check_bounds(&w, f.raw, raw);
            check_bounds(&w, f.simple, simple);
            known += f.want.known;
            kept += f.want.known && simple != ET_UNKNOWN;
            check_tape(&w, &f);
            manifest += *f.rpn != 0;
            if (*f.rpn) check_manifest(&w, &f);
            free(f.rpn);
        }
        et_arena_destroy(a);
    }
    /* None of it for want of anything to compare. */
    ck_assert_int_gt(known, ROUNDS / 4);
    ck_assert_int_gt(known, 0);
    ck_assert_int_gt(ROUNDS - known, ROUNDS / 20);
    ck_assert_int_gt(kept, known - known / 50);
    ck_assert_int_gt(manifest, ROUNDS / 20);
}
END_TEST

/* Any value from two ranges gives one in the range of the result. */
START_TEST(ranges_hold) {
    static const et_xop every[] = {ET_X_ADD, ET_X_SUB, ET_X_MUL, ET_X_IDIV, ET_X_MOD,
                                   ET_X_MIN, ET_X_MAX, ET_X_LT,  ET_X_LE,   ET_X_EQ,
                                   ET_X_NE,  ET_X_NEG, ET_X_ABS, ET_X_NOT,  ET_X_TO_I32};
    int held = 0;
    for (int k = 0; k < 20 * ROUNDS; k++) {
        int64_t a = number(), b = number(), c = number(), d = number(), e = number(), f = number();
        et_range x = {etrt_int_min(a, b), etrt_int_max(a, b)}, r;
        et_range y = {etrt_int_min(c, d), etrt_int_max(c, d)};
        e = e < x.lo || e > x.hi ? (below(2) ? x.lo : x.hi) : e;
        f = f < y.lo || f > y.hi ? (below(2) ? y.lo : y.hi) : f;
        et_xop op = every[below((int64_t)(sizeof every / sizeof *every))];
        et_range all = et_range_total(op, x, y);
        int64_t v = et_int_total(op, e, f);
        ck_assert_msg(all.lo <= v && v <= all.hi, "%s(%" PRId64 ", %" PRId64 ") leaves its span",
                      et_xop_text(op), e, f);
        if (!et_range_apply(op, x, y, &r)) continue;
        ck_assert(all.lo == r.lo && all.hi == r.hi);
        v = et_int_value(op, e, f);
        ck_assert_msg(r.lo <= v && v <= r.hi, "%s(%" PRId64 ", %" PRId64 ") is outside",
                      et_xop_text(op), e, f);
        held++;
    }
    ck_assert_int_gt(held, ROUNDS);
}
END_TEST

/* What decides without the other side does so whatever that is. */
START_TEST(unknown_sides) {
    const int64_t no = ET_UNKNOWN;
    ck_assert_int_eq(et_int_value(ET_X_IDIV, 7, 0), no);
    ck_assert_int_eq(et_int_value(ET_X_MOD, 7, 0), no);
    ck_assert_int_eq(et_int_value(ET_X_ADD, INT64_MAX, 1), no);
    ck_assert_int_eq(et_int_value(ET_X_SUB, -INT64_MAX, 1), no);
    ck_assert_int_eq(et_int_value(ET_X_MUL, (int64_t)1 << 32, (int64_t)1 << 31), no);
    ck_assert_int_eq(et_int_value(ET_X_MIN, no, -5), no);
    ck_assert_int_eq(et_int_value(ET_X_MUL, 0, no), no);
    ck_assert_int_eq(et_int_value(ET_X_AND, no, 0), 0);
    ck_assert_int_eq(et_int_value(ET_X_AND, 1, no), no);
    ck_assert_int_eq(et_int_value(ET_X_OR, 1, no), 1);
    ck_assert_int_eq(et_int_value(ET_X_OR, no, 0), no);
    ck_assert_int_eq(et_int_value(ET_X_IDIV, -7, 2), -4);
    ck_assert_int_eq(et_int_value(ET_X_MOD, -7, 2), 1);
    ck_assert_int_eq(et_int_value(ET_X_MOD, 7, -2), -1);
}
END_TEST

TEST_MAIN("int", all_agree, ranges_hold, unknown_sides)
