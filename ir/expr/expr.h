/* expr.h - scalar expressions: dimensions, indices and element values in one language.
 *
 * Expressions are immutable, hash-consed nodes named by 32-bit ids: equal ids mean equal
 * expressions. Building simplifies integer arithmetic (constants, sums of products, floor division
 * and modulo where ranges decide them), so shapes compare with ==. */
#ifndef ET_EXPR_H
#define ET_EXPR_H

#include "ir/base/arena.h"
#include "ir/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef struct {
    uint32_t id; /* 0 = none */
} et_expr;
#define ET_NO_EXPR ((et_expr){0})
static inline bool et_expr_eq(et_expr a, et_expr b) {
    return a.id == b.id;
}

typedef struct et_exprs et_exprs; /* the pool of one compilation */

/* Type of a scalar value. I32 is every integer: 64 bits wide, 32 where it is stored or converted.
 */
typedef enum { ET_T_F32, ET_T_I32, ET_T_PRED } et_type;
/* Of an element that was loaded. */
static inline et_type et_dtype_type(et_dtype d) {
    return et_dtype_is_float(d) ? ET_T_F32 : ET_T_I32;
}

typedef enum {
    ET_X_NONE,
    ET_X_INT,      /* i: constant */
    ET_X_FLOAT,    /* f: constant */
    ET_X_SYM,      /* i: symbol (a dim chosen at launch) */
    ET_X_VAR,      /* i: variable (an axis, a loop index, a reduction index) */
    ET_X_ARG,      /* i: argument of a map body, before inlining; et_own_arg */
    ET_X_LOAD,     /* i: tensor (or local buffer, see i2); operands: one index per dimension */
    ET_X_REDUCE,   /* i: et_reduce; i2: variable; operands: extent, body; of TOP the place, too */
    ET_X_CONTRACT, /* i: graph value of a contraction, or product of a group; operands: indices */
#define X(NAME, text, arity, traits) ET_X_##NAME,
#include "ir/expr/expr.def"
#undef X
    ET_X_COUNT
} et_xop;

/* TOP: the index of an element by its place in descending order, from 0, the first of equal ones
 * first; NaN is as if it were minus infinity. */
typedef enum {
    ET_RED_SUM,
    ET_RED_MAX,
    ET_RED_MIN,
    ET_RED_ARGMAX,
    ET_RED_TOP,
    ET_REDUCES
} et_reduce;

/* What a LOAD reads: a tensor of a program, a buffer of a device function, or, in an attribute of a
 * node, the argument of that number. */
enum { ET_LOAD_TENSOR, ET_LOAD_LOCAL, ET_LOAD_ARG };

/* ARGs that an operator gives a value: in the score of an attention the product of the query and
 * the key; in the parts of a scan an element of the state, and what its row shows (scan.h). */
typedef enum { ET_ARG_QK = -1, ET_ARG_STATE = -2, ET_ARG_SEEN = -3, ET_ARG_SUM = -4 } et_own_arg;
const char *et_own_arg_name(int arg); /* "qk"; NULL for others */

#define ET_MAX_RANK 8
#define ET_MAX_SYMS 64 /* of a program that is compiled */

/* What is known of an integer before a launch. */
typedef enum {
    ET_UNSURE,      /* it may have no value at some of the dims and variables */
    ET_FROM_DATA,   /* a tensor or a float decides where in lo .. hi it is */
    ET_FROM_LAUNCH, /* dims and variables do, or data that an operator keeps within lo .. hi */
} et_known;

typedef struct et_node_x {
    et_xop op;
    et_type type;
    int32_t i, i2;
    int64_t n; /* value of INT */
    double f;  /* value of FLOAT */
    int nops;
    uint32_t hash; /* of all above and the operands */
    const et_expr *ops;
    uint32_t size;  /* nodes of its text: shared parts count every time; UINT32_MAX: that or more */
    uint32_t depth; /* levels of its tree, 1 for a leaf */
    et_known known;
    int64_t lo, hi; /* of an integer, both ends included */
} et_node_x;

et_exprs *et_exprs_create(et_arena *);
/* How many nodes have been walked over, replaced or looked up since: the same in every run, so that
 * a test sees what grows. */
uint64_t et_exprs_work(const et_exprs *);
et_arena *et_exprs_arena(et_exprs *);

/* Forget the nodes, symbols and variables made since a mark; also releases the arena to that point.
 * Ids made before keep their meaning. */
typedef struct {
    et_exprs *saved;
    et_arena_mark arena;
} et_exprs_mark;
et_exprs_mark et_exprs_set_mark(et_exprs *);
void et_exprs_release(et_exprs *, et_exprs_mark);
const et_node_x *et_x(const et_exprs *, et_expr);

/* Symbols and variables. Ranges are inclusive and drive simplification. A variable's range may be
 * symbolic: [0, extent). */
int et_sym_add(et_exprs *, const char *name, int64_t lo, int64_t hi);
int et_sym_count(const et_exprs *);
const char *et_sym_name(const et_exprs *, int sym);
void et_sym_range(const et_exprs *, int sym, int64_t *out_lo, int64_t *out_hi);
/* A symbol of one value is that integer, unless it was opened: it is a symbol like others until it
 * is closed. */
void et_sym_open(et_exprs *, int sym);
/* Close all symbols. What was made before is told by et_closed; extents of variables are it
 * already. False when none was open. */
bool et_syms_close(et_exprs *);
/* E, which may be none, as it is made now that all symbols are closed. */
et_expr et_closed(et_exprs *, et_expr e);
int et_var_add(et_exprs *, const char *name, et_expr extent); /* ranges over [0, extent) */
int et_var_count(const et_exprs *);
const char *et_var_name(const et_exprs *, int var);
bool et_var_named(const et_exprs *, const char *name); /* has one this name? */
/* NAME is kept. For what prints expressions with names of its own, and gives the old ones back: the
 * order that sums are kept in depends on names. */
void et_var_rename(et_exprs *, int var, const char *name);
et_expr et_var_extent(const et_exprs *, int var);

et_expr et_int(et_exprs *, int64_t);
et_expr et_float(et_exprs *, double);
et_expr et_sym(et_exprs *, int sym);
et_expr et_var(et_exprs *, int var);
et_expr et_arg(et_exprs *, int index, et_type);
et_expr et_op1(et_exprs *, et_xop, et_expr);
et_expr et_op2(et_exprs *, et_xop, et_expr, et_expr);
et_expr et_select(et_exprs *, et_expr cond, et_expr a, et_expr b);
et_expr et_philox_x(et_exprs *, et_expr seed, et_expr i, et_expr j); /* of integers */
et_expr et_load(et_exprs *, int space, int tensor, et_type, int rank, const et_expr *index);
et_expr et_reduce_x(et_exprs *, et_reduce, int var, et_expr extent, et_expr body);
et_expr et_top_x(et_exprs *, int var, et_expr extent, et_expr body, et_expr place);
et_expr et_contract_x(et_exprs *, int value, int rank, const et_expr *index);

static inline et_expr et_add(et_exprs *p, et_expr a, et_expr b) {
    return et_op2(p, ET_X_ADD, a, b);
}
static inline et_expr et_sub(et_exprs *p, et_expr a, et_expr b) {
    return et_op2(p, ET_X_SUB, a, b);
}
static inline et_expr et_mul(et_exprs *p, et_expr a, et_expr b) {
    return et_op2(p, ET_X_MUL, a, b);
}
et_expr et_ceil_div(et_exprs *, et_expr a, et_expr b); /* (a + b - 1) idiv b */

bool et_is_int(const et_exprs *, et_expr, int64_t *out_value);

/* Bounds of an integer expression over all symbols and variables in it; false when a load or a
 * float makes it unknown. */
bool et_bounds(const et_exprs *, et_expr, int64_t *out_lo, int64_t *out_hi);

/* Where an integer lies whatever tensors hold: bounds too where a load decides; all of 64 bits
 * where nothing is known, or where it may wrap around. */
void et_span(const et_exprs *, et_expr, int64_t *out_lo, int64_t *out_hi);
/* Can an operation of E, an integer, wrap around at 64 bits, or have no value? */
bool et_may_wrap(const et_exprs *, et_expr);

/* True when a <= b for every value of symbols and variables in range, as far as linear reasoning
 * shows. */
bool et_prove_le(et_exprs *, et_expr a, et_expr b);

/* Is E, an integer, a multiple of BY, as far as its sums and products show? */
bool et_divides(const et_exprs *, int64_t by, et_expr e);

/* Can an integer be zero, and where? */
typedef enum {
    ET_ZERO_NEVER,
    ET_ZERO_AT,    /* at some dims and variables, or always */
    ET_ZERO_MAYBE, /* there are too many to say */
    ET_ZERO_DATA,  /* a tensor decides, or real numbers do */
} et_zero;
/* OUT_WHERE: "N = 4, i = 0" for ET_ZERO_AT, in the pool's arena; else, and for a number, empty. */
et_zero et_find_zero(et_exprs *, et_expr, const char **out_where);

/* Value of an integer expression at given symbols and variables (NULL when it has none); ET_UNKNOWN
 * where it has no value, see int_ops.h: no integer of an expression is this one. */
#define ET_UNKNOWN INT64_MIN
int64_t et_eval(const et_exprs *, et_expr, const int64_t *syms, const int64_t *vars);

/* Replace leaves: SUB returns the replacement of a leaf (SYM, VAR, ARG, LOAD, CONTRACT after its
 * operands were rewritten) or ET_NO_EXPR to keep it. Rebuilt nodes are simplified again. */
typedef et_expr (*et_subst_fn)(void *ctx, et_exprs *, et_expr leaf);
et_expr et_subst(et_exprs *, et_expr, et_subst_fn, void *ctx);
et_expr et_subst_var(et_exprs *, et_expr, int var, et_expr by);
/* Replace every occurrence of the node FROM, whatever its operator. */
et_expr et_replace(et_exprs *, et_expr, et_expr from, et_expr by);

/* Call FN on every node reachable from E, operands first, each once. */
void et_walk(const et_exprs *, et_expr, void (*fn)(void *ctx, et_expr), void *ctx);
/* Does IS hold for E, unless it is none, or for anything in it? */
bool et_expr_any(const et_exprs *, et_expr e, bool (*is)(const void *ctx, et_expr),
                 const void *ctx);

/* What E, which may be none, depends on: is there an OP in it, of which the field i is I? */
enum { ET_ANY = -1 };
bool et_expr_has(const et_exprs *, et_expr e, et_xop op, int i_or_any);
static inline bool et_expr_has_op(const et_exprs *p, et_expr e, et_xop op) {
    return et_expr_has(p, e, op, ET_ANY);
}
static inline bool et_expr_has_var(const et_exprs *p, et_expr e, int var) {
    return et_expr_has(p, e, ET_X_VAR, var);
}
static inline bool et_expr_loads(const et_exprs *p, et_expr e) { /* tensors or local buffers */
    return et_expr_has(p, e, ET_X_LOAD, ET_ANY);
}
bool et_expr_loads_tensor(const et_exprs *, et_expr e, int tensor);
bool et_expr_has_vars(const et_exprs *, et_expr e, int n, const int *vars); /* any of them */
/* Constants, symbols and variables alone decide its value. */
bool et_expr_of_launch(const et_exprs *, et_expr e);
/* Constants and symbols alone decide its value. */
bool et_expr_is_known(const et_exprs *, et_expr e);

const char *et_xop_text(et_xop);
/* Columns of expr.def. */
enum et_xop_trait {
    ET_XOP_FUNCTION = 1, /* many instructions on every GPU */
    ET_XOP_COSTLY = 2,   /* so many that its value is kept rather than computed again */
    ET_XOP_ANGLE = 4,    /* still more: a large argument has to be brought near 0 first */
    ET_XOP_INFIX = 8,    /* written between its operands */
};
bool et_xop_is(et_xop, enum et_xop_trait);
const char *et_reduce_text(et_reduce);
/* Text such as "(N + 15) / 16" for integers, "silu"-style prefix calls for the rest, with as few
 * parentheses as it needs to be read back as the same expression; NAME gives the name of a tensor
 * (space, id), may be NULL. */
typedef const char *(*et_name_fn)(void *ctx, int space, int tensor);
char *et_expr_text(const et_exprs *, et_expr, et_name_fn, void *ctx);

#endif
