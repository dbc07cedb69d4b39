/* The expression builder: a stack machine whose program is the input builds integer expressions,
 * keeping each one's value at fixed symbols and variables beside it. Simplification must not change
 * the value, bounds must hold it, and substitution must agree with evaluation. */
#include "ir/expr/expr.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>

enum { DEPTH = 16, STEPS = 64, SYMS = 3, VARS = 3 };
#define LIMIT ((int64_t)1 << 40) /* a program that goes beyond is given up */

struct item {
    et_expr e;
    int64_t value;
};

struct machine {
    et_exprs *x;
    int64_t sym[SYMS], var[VARS];
    struct item stack[DEPTH];
    int n;
    const uint8_t *at, *end;
};

static int next(struct machine *m) {
    return m->at < m->end ? *m->at++ : 0;
}

static void set_up(struct machine *m) {
    static const char *const names[] = {"A", "B", "C", "i", "j", "k"};
    for (int i = 0; i < SYMS; i++) {
        int64_t lo = (int8_t)next(m), width = next(m);
        if (i == 0) lo = 1; /* one that may divide */
        et_sym_add(m->x, names[i], lo, lo + width);
        m->sym[i] = lo + (width ? next(m) % (width + 1) : 0);
    }
    for (int i = 0; i < VARS; i++) {
        int64_t extent = 1 + next(m) % 64;
        et_expr e = et_int(m->x, extent);
        if (i == 0) { /* one whose extent is symbolic */
            e = et_sym(m->x, 0);
            extent = m->sym[0];
        }
        et_var_add(m->x, names[SYMS + i], e);
        m->var[i] = next(m) % extent;
    }
}

static bool push(struct machine *m, et_expr e, int64_t value) {
    if (m->n == DEPTH || value > LIMIT || value < -LIMIT) return false;
    m->stack[m->n++] = (struct item){e, value};
    int64_t lo, hi, got = et_eval(m->x, e, m->sym, m->var);
    /* Simplified, it may go beyond 64 bits on the way. */
    FUZZ_EXPECT(got == value || got == ET_UNKNOWN);
    if (et_bounds(m->x, e, &lo, &hi)) FUZZ_EXPECT(lo <= value && value <= hi);
    return true;
}

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return (q * b > a) == (b > 0) && q * b != a ? q - 1 : q;
}

static int64_t apply(et_xop op, int64_t a, int64_t b) {
    switch (op) {
    case ET_X_ADD:
        return a + b;
    case ET_X_SUB:
        return a - b;
    case ET_X_MUL:
        return __builtin_mul_overflow(a, b, &a) ? INT64_MAX : a;
    case ET_X_IDIV:
        return floor_div(a, b);
    case ET_X_MOD:
        return a - b * floor_div(a, b);
    case ET_X_MIN:
        return a < b ? a : b;
    case ET_X_MAX:
        return a > b ? a : b;
    case ET_X_LT:
        return a < b;
    case ET_X_LE:
        return a <= b;
    case ET_X_EQ:
        return a == b;
    default:
        return a != b;
    }
}

static bool binary(struct machine *m, int which) {
    static const et_xop ops[] = {ET_X_ADD, ET_X_SUB, ET_X_MUL, ET_X_IDIV, ET_X_MOD, ET_X_MIN,
                                 ET_X_MAX, ET_X_LT,  ET_X_LE,  ET_X_EQ,   ET_X_NE};
    if (m->n < 2) return true;
    struct item b = m->stack[--m->n], a = m->stack[--m->n];
    et_xop op = ops[which % (int)(sizeof ops / sizeof *ops)];
    if ((op == ET_X_IDIV || op == ET_X_MOD) && b.value < 1) op = ET_X_SUB;
    et_expr e = et_op2(m->x, op, a.e, b.e);
    /* Operators take integers: a comparison's truth is made 0 or 1. */
    if (et_x(m->x, e)->type == ET_T_PRED) e = et_op1(m->x, ET_X_TO_I32, e);
    return push(m, e, apply(op, a.value, b.value));
}

static bool other(struct machine *m, int which) {
    if (m->n < 1) return true;
    struct item *top = &m->stack[m->n - 1];
    switch (which % 5) {
    case 0:
        m->n--;
        if (next(m) % 4 == 0)
            return push(m, et_op1(m->x, ET_X_TO_I32, top->e), (int32_t)(uint32_t)top->value);
        return push(m, et_op1(m->x, ET_X_ABS, top->e), top->value < 0 ? -top->value : top->value);
    case 1:
        if (m->n < 3) return true;
        m->n -= 3;
        return push(m, et_select(m->x, top[-2].e, top[-1].e, top->e),
                    top[-2].value ? top[-1].value : top->value);
    case 2: /* dup */
        return push(m, top->e, top->value);
    case 3: { /* a variable becomes a constant equal to its value */
        int v = next(m) % VARS;
        m->n--;
        return push(m, et_subst_var(m->x, top->e, v, et_int(m->x, m->var[v])), top->value);
    }
    default: { /* a node of equal value in its place */
        if (m->n < 2) return true;
        et_expr by = et_int(m->x, top[-1].value);
        m->n--;
        return push(m, et_replace(m->x, top->e, top[-1].e, by), top->value);
    }
    }
}

static bool step(struct machine *m) {
    int b = next(m), arg = b >> 3;
    switch (b & 7) {
    case 0:
        return push(m, et_int(m->x, (int8_t)arg - 8), (int8_t)arg - 8);
    case 1:
        return push(m, et_int(m->x, (int64_t)1 << arg), (int64_t)1 << arg);
    case 2:
        return push(m, et_sym(m->x, arg % SYMS), m->sym[arg % SYMS]);
    case 3:
        return push(m, et_var(m->x, arg % VARS), m->var[arg % VARS]);
    case 4:
        return other(m, arg);
    default:
        return binary(m, arg);
    }
}

struct lengths {
    const et_exprs *x;
    double leaves[1 << 14]; /* by node */
    double of_last;
};

static void add_leaves(void *ctx, et_expr e) {
    struct lengths *l = ctx;
    const et_node_x *n = et_x(l->x, e);
    double sum = n->nops ? 0 : 1;
    for (int i = 0; i < n->nops; i++)
        sum += l->leaves[n->ops[i].id % (1 << 14)];
    l->of_last = l->leaves[e.id % (1 << 14)] = sum;
}

/* Text repeats what nodes share: the front end keeps its expressions short, this machine does not.
 */
static void print(const struct machine *m, et_expr e) {
    static struct lengths l;
    l.x = m->x;
    et_walk(m->x, e, add_leaves, &l);
    if (l.of_last < 1e5) fprintf(fuzz_sink(), "%s", et_expr_text(m->x, e, NULL, NULL));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    et_arena *arena = et_arena_create();
    struct machine m = {.x = et_exprs_create(arena), .at = data, .end = data + bytes};
    set_up(&m);
    for (int i = 0; i < STEPS && m.at < m.end && step(&m); i++)
        continue;
    if (m.n) print(&m, m.stack[m.n - 1].e);
    et_arena_destroy(arena);
    return 0;
}
