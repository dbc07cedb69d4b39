/* sema.h - from tree to graph: names, types, and the nodes each construct becomes.
 *
 * Functions that return bool return false after reporting an error, or for a value whose error was
 * reported where it came from: nothing more is said about it then. */
#ifndef ET_SEMA_H
#define ET_SEMA_H

#include "frontend/syntax/ast.h"
#include "ir/base/table.h"
#include "ir/graph/ops.h"

/* A value during evaluation: an elementwise expression of graph values, broadcast from the trailing
 * dimensions to `shape`. A plain graph value is the expression that is that value; a number known
 * at compile time, or made of dims and loop variables, has no args and rank 0. */
typedef struct {
    et_type type; /* PRED: the result of a comparison, which has no dtype */
    et_shape shape;
    et_expr body; /* ARG leaves are numbered by graph value */
    int nargs;
    et_value args[ET_MAX_ARGS];
    int size; /* nodes of the body's tree */
} et_elem;

/* How `/` divides integers. */
typedef enum {
    ET_IN_VALUE, /* exactly: 1/8 is 0.125 */
    ET_IN_SIZE,  /* rounding down: sizes, indices, bounds */
} et_mode;

typedef enum {
    ET_N_DIM,
    ET_N_CONST,
    ET_N_INPUT,
    ET_N_WEIGHT,
    ET_N_STATE,
    ET_N_VALUE,
    ET_N_OUTPUT,
    ET_N_LOOP, /* a loop variable */
} et_name_kind;
const char *et_name_kind_text(et_name_kind); /* "an input" */

/* What a name means. There is one per distinct name; no name ever hides another. */
typedef struct et_binding {
    const char *name;
    et_name_kind kind;
    et_loc loc;
    et_loc assigned;          /* VALUE: the last assignment */
    int loop;                 /* the loop it is defined in, or -1 */
    bool live;                /* false: defined only inside a loop that has ended, at `loc` */
    bool poison;              /* its definition was an error */
    bool unknown;             /* it has none, which was reported */
    bool carried;             /* by a loop being set up */
    struct et_binding *below; /* in et_sema.locals */
    et_elem elem;
} et_binding;

typedef struct {
    const char *name;
    et_loc loc;
    const et_ident *params;
    int nparams;
    const et_ast *body; /* NULL: its definition was an error */
    bool is_prelude;
} et_def;

/* A def being expanded. */
typedef struct et_frame {
    const et_def *def;
    const et_elem *args;
    const bool *poison;
    et_loc call;
    bool inner; /* no def: names that a construct adds to those of the frame above */
    const struct et_frame *up;
} et_frame;

typedef struct {
    et_value positions, table;
    const char *key; /* the parameters as text */
    int loop;        /* where it was made */
} et_rope_entry;

/* What is decided by the bounds of dims where a program does not say it, in the order in which it
 * is asked: the rows to which groups are padded. */
typedef struct et_choices {
    int n, cap;
    int64_t *of;
    bool fixed; /* they were made before: NEXT is the next one */
    int next;
} et_choices;

typedef struct {
    et_arena *arena;
    et_diags *diags;
    et_graph *graph;
    et_exprs *x;
    et_table names, defs;
    et_binding *locals; /* live names of the open loops, innermost first */
    int loop;           /* the innermost open loop, or -1 */
    bool mix;           /* the graph is to hold several models: this is one of them */
    const char *narrow; /* a dim, as the graph calls it, whose bounds are those below, or NULL */
    int64_t narrow_lo, narrow_hi;
    et_choices *choices;
    int nloops; /* open loops */
    const et_frame *frame;
    int points; /* constructs around with variables over elements: values are single elements */
    et_value indexed;               /* the last tensor of which one element was taken, */
    et_expr place[ET_MAX_RANK];     /* where, what tensors decide within range, */
    et_expr unclamped[ET_MAX_RANK]; /* and as it is written */
    int depth;                      /* of evaluation */
    int64_t steps;                  /* of evaluation, all statements together */
    int *home;                      /* per graph value: the loop whose body computes it */
    int nhome, chome;
    et_rope_entry *ropes;
    int nropes, cropes;
    et_value *chosen; /* by topk: no two of a row are the same, where they are chosen by numbers */
    int nchosen, cchosen;
    bool has_effect; /* an output or a state update was met */
    bool has_model;
} et_sema;

/* ---- sema.c: statements ---- */
void et_sema_statement(et_sema *, const et_stm *);

/* ---- pads.c ---- */
/* Of one program, with these choices and with others: may what it means differ? */
bool et_pads_show(const et_graph *, const et_graph *);

/* ---- report.c ---- */
/* Always false. Inside a built-in definition the place is the call that led there. */
bool et_sema_error(et_sema *, et_loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
void et_sema_note(et_sema *, et_loc, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
et_loc et_sema_loc(const et_sema *, et_loc);
void et_sema_note_calls(et_sema *);                         /* the defs being expanded */
const char *et_sema_shape_text(et_sema *, const et_elem *); /* "f32[N, 8]", "a number" */
const char *et_sema_text(et_sema *, et_expr); /* as the user would write it, loops by their names */

/* ---- names.c ---- */
et_binding *et_name_find(et_sema *, const char *name); /* live, or NULL */
/* Define it here, for the caller to fill elem or set poison; reports a redefinition: NULL. */
et_binding *et_name_add(et_sema *, const et_ident *, et_name_kind);
void et_name_unknown(et_sema *, const char *name, et_loc);
void et_names_leave_loop(et_sema *, int loop);

/* ---- elem.c: elementwise expressions ---- */
et_elem et_elem_value(et_sema *, et_value);
et_elem et_elem_int(et_sema *, int64_t);
et_elem et_elem_float(et_sema *, double);
et_elem et_elem_scalar(et_sema *, et_expr); /* an integer expression */
bool et_elem_is_int(et_sema *, const et_elem *, int64_t *out);
/* Does it depend on a variable of a construct around it? */
bool et_elem_is_point(et_sema *, const et_elem *);
bool et_elem_is_number(et_sema *, const et_elem *, double *out); /* known at compile time */
bool et_elem_op1(et_sema *, et_loc, et_xop, const et_elem *, et_elem *out);
bool et_elem_op2(et_sema *, et_loc, et_xop, const et_elem *, const et_elem *, et_elem *out);
bool et_elem_select(et_sema *, et_loc, const et_elem *c, const et_elem *a, const et_elem *b,
                    et_elem *out);
/* A random number of 32 bits. */
bool et_elem_random(et_sema *, et_loc, const et_elem *seed, const et_elem *i, const et_elem *j,
                    et_elem *out);
bool et_elem_cast(et_sema *, et_loc, et_dtype, const et_elem *, et_elem *out);
/* As a graph value, adding a map node (or a constant) where it is not one yet. */
bool et_elem_place(et_sema *, et_loc, const et_elem *, et_value *out);
bool et_elem_copy(et_sema *, et_loc, et_value, et_value *out); /* a map node that copies */

/* ---- scalar.c: arithmetic of integers and of numbers known at compile time ---- */
bool et_scalar_int(et_sema *, et_loc, et_xop, et_expr a, et_expr b, et_expr *out);
/* *out_folded is false where OP of these is left to run time. */
bool et_scalar_fold1(et_sema *, et_loc, et_xop, double a, double *out, bool *out_folded);
bool et_scalar_fold2(et_sema *, et_loc, et_xop, double a, double b, double *out, bool *out_folded);

/* ---- eval.c ---- */
bool et_sema_eval(et_sema *, const et_ast *, et_mode, et_elem *out);
bool et_sema_size(et_sema *, const et_ast *, et_expr *out); /* integer expression */
/* False with an error where a random number decides what has to be known before the launch. */
bool et_sema_settled(et_sema *, et_loc, et_expr);
bool et_sema_int(et_sema *, const et_ast *, int64_t *out);   /* known at compile time */
bool et_sema_number(et_sema *, const et_ast *, double *out); /* likewise */
bool et_sema_type(et_sema *, const et_type_ast *, et_shape *out);

/* ---- nodes.c ---- */
et_block *et_sema_block(et_sema *, int loop);
bool et_sema_node(et_sema *, const et_op *, et_loc, int nargs, const et_value *args, int nattrs,
                  const et_attr *, et_elem *out);
/* In the body of LOOP, an open loop or -1, before the open loop inside it. */
bool et_sema_node_in(et_sema *, int loop, const et_op *, et_loc, int nargs, const et_value *args,
                     int nattrs, const et_attr *, et_value *out);
/* The loop whose body, outermost, has VALUE at hand for good; the current one for a state. */
int et_sema_home(et_sema *, et_value);
et_attr et_attr_of_int(const char *name, int64_t);
et_attr et_attr_of_float(const char *name, double);
et_attr et_attr_of_ints(const char *name, int n, const int64_t *);
et_attr et_attr_of_exprs(const char *name, int n, const et_expr *);

/* ---- index.c ---- */
bool et_sema_index(et_sema *, const et_ast *, et_elem *out);
void et_sema_update(et_sema *, const et_stm *);

/* ---- loops.c, weights.c ---- */
void et_sema_loop(et_sema *, const et_stm *);
void et_sema_weight(et_sema *, const et_stm *);

/* ---- call.c, builtins.c ---- */
enum { ET_MAX_KW = 12, ET_MAX_RESULTS = 4 };
typedef struct {
    const char *name;
    enum {
        ET_KW_NONE,
        ET_KW_INT,
        ET_KW_FLOAT,
        ET_KW_TEXT,
        ET_KW_SIZE,
        ET_KW_TENSOR,
        ET_KW_LIST /* of numbers known at compile time */
    } kind;
    bool required;
    double otherwise;
} et_kw;

typedef struct et_call et_call;
typedef struct {
    const char *name;
    /* A letter per positional argument: e elementwise operand, c condition, f tensor of floats, i
     * tensor of i32, t tensor of any type, l list, s size; a last '+' repeats the letter before it.
     * A first digit: so many results, for NAME, NAME = f(...); `lower` fills an array then. "*" for
     * a construct whose arguments `lower` evaluates, keywords too. */
    const char *args;
    bool (*lower)(et_sema *, const et_call *, et_elem *out);
    int op; /* what `lower` is to make of it: an et_xop, an et_reduce or an et_dtype */
    et_kw kw[ET_MAX_KW];
    const char *hint; /* said when the number of arguments is wrong, or NULL */
} et_builtin;

/* A call whose arguments were evaluated and are of the kinds its row asks for. */
struct et_call {
    const et_builtin *fn;
    const et_ast *ast;
    et_loc loc;
    int n;
    et_elem arg[ET_MAX_ARGS];
    et_value value[ET_MAX_ARGS]; /* for the letters f, i and t */
    const et_ast *list;          /* for l */
    et_expr size;                /* for s */
    struct {
        bool given;
        int64_t i;
        double f;
        const char *text;
        et_expr size;
        et_value value;
        const double *list;
        int n; /* of the list */
        et_loc loc;
    } kw[ET_MAX_KW];
};
bool et_sema_call(et_sema *, const et_ast *, et_mode, et_elem *out);
/* A call with N results, for as many names. */
bool et_sema_call_many(et_sema *, const et_ast *, int n, et_elem out[ET_MAX_RESULTS]);
bool et_sema_def(et_sema *, const et_stm *, bool is_prelude); /* register a def */
const et_builtin *et_builtin_find(const char *name);
const et_builtin *et_builtin_at(int i); /* NULL past the end */

/* ---- points.c: expressions for one value of each of a call's variables, attend and scan ---- */
enum { ET_POINT_NAMES = 8 }; /* variables, and what a part may read beside them */
/* The values that loads are of, in the order in which the node has them. */
typedef struct {
    et_sema *s;
    et_value value[ET_MAX_ARGS];
    int n;
} et_operands;
/* Argument WHICH of CALL, a range from 0: a variable. CONSTANT: what it counts, where that must be
 * a constant, or NULL. */
bool et_points_range(et_sema *, const et_ast *call, int which, char letter, const char *constant,
                     const char *usage, int64_t *out_var);
/* Names and elements of the variables. */
bool et_points_names(et_sema *, const et_ast *call, const int64_t *var, et_ident *names,
                     et_elem *elems);
/* E with its tensors by their numbers among the operands. */
et_expr et_points_numbered(et_sema *, et_expr e, et_operands *);
/* VALUE as such an expression, of names in SCOPE that stand for ELEMS. */
bool et_points_part(et_sema *, const et_ast *call, const et_def *scope, const et_elem *elems,
                    const char *what, et_type type, const et_ast *value, et_operands *,
                    et_expr *out);

/* ---- lower.c, rope.c, attend.c, scan.c: what the rows of the table call ---- */
typedef bool et_lower_fn(et_sema *, const et_call *, et_elem *out);
et_lower_fn et_lower_op1, et_lower_op2, et_lower_where, et_lower_random, et_lower_cast,
    et_lower_reduce, et_lower_mean, et_lower_softmax, et_lower_rmsnorm, et_lower_layernorm,
    et_lower_rope, et_lower_attention, et_lower_attend, et_lower_scan, et_lower_gather,
    et_lower_reshape, et_lower_transpose, et_lower_concat;

/* ---- routing.c ---- */
et_lower_fn et_lower_iota, et_lower_size, et_lower_take, et_lower_rank, et_lower_topk,
    et_lower_cumsum, et_lower_group, et_lower_segment;

/* ---- prelude.c ---- */
extern const char et_prelude[]; /* the built-in functions that are defs */

#endif
