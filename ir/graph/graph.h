/* graph.h - a model as the user wrote it: values, nodes, loops. What the front end builds and the
 * passes lower.
 *
 * A program is a list of statements; a statement is a node or a loop, and a loop body is a list of
 * statements. Every value has a shape whose dimensions are integer expressions over symbols. */
#ifndef ET_GRAPH_H
#define ET_GRAPH_H

#include "ir/base/diag.h"
#include "ir/base/dtype.h"
#include "ir/base/table.h"
#include "ir/expr/expr.h"

typedef struct {
    uint32_t id; /* 0 = none */
} et_value;
#define ET_NO_VALUE ((et_value){0})

typedef struct {
    et_dtype dtype;
    int rank;
    et_expr dim[ET_MAX_RANK];
} et_shape;
bool et_shape_eq(const et_shape *, const et_shape *);         /* dtype, rank and every dimension */
char *et_shape_text(et_exprs *, const et_shape *);            /* "f32[N, 256]" */
char *et_dims_text(et_exprs *, int rank, const et_expr *dim); /* "[N, 256]" */
/* What is wrong with a tensor, a WEIGHT or not, of this type and shape; NULL when nothing is. */
const char *et_shape_problem(et_exprs *, const et_shape *, bool weight);
/* Bytes of a tensor at the symbols' upper bounds; INT64_MAX when there is no bound. */
int64_t et_shape_max_bytes(const et_exprs *, const et_shape *);

/* Divided among so many devices: REPEAT devices that follow each other have an equal part along
 * AXIS, and a shape is that of a part. Of a weight, that axis may be a piece of the checkpoint's:
 * elements from FROM on, of OF. 0 devices: all have all of it; OF 0: it is all of that axis. */
typedef struct {
    int devices, axis, repeat;
    int64_t from, of;
} et_device_cut;

/* How a weight shall be divided when several devices run the graph: along AXIS in PARTS, of which
 * each is for as many devices as the others; 1: all have all of it; 0: nothing is said. */
typedef struct {
    int axis, parts;
} et_split;

typedef enum {
    ET_V_INPUT,
    ET_V_WEIGHT, /* leading dimensions come from the enclosing loops, see source */
    ET_V_STATE,
    ET_V_CONST, /* data known at compile time: f32 or i32, row-major */
    ET_V_NODE,  /* result of a node */
    ET_V_CARRY, /* loop-carried: the value at the start of an iteration */
    ET_V_LOOP,  /* loop-carried: the value after the loop */
} et_value_kind;

#define ET_MAX_LOOPS 4

typedef struct {
    et_value_kind kind;
    const char *name; /* the user's name, or NULL */
    et_shape shape;
    et_loc loc;
    int model;
    int node; /* NODE: index into nodes; CARRY and LOOP: loop index */
    /* WEIGHT: the checkpoint name with {loop variable} in it, and the loops it was declared in,
     * outermost first, then those that only stack: its leading nloops dimensions are their trip
     * counts. */
    const char *source;
    int nloops;
    int loops[ET_MAX_LOOPS];
    const void *data;  /* CONST */
    bool is_output;    /* `output`: bound to a tensor the caller reads, under this name */
    et_device_cut cut; /* WEIGHT, STATE, outputs */
    et_split split;    /* WEIGHT, of a graph that is not divided */
} et_val;

typedef struct et_op et_op; /* a row of the operator table, ops.h */

/* An attribute of a node. Which ones exist is the operator's affair. */
typedef struct {
    const char *name;
    enum { ET_A_INT, ET_A_FLOAT, ET_A_INTS, ET_A_EXPRS, ET_A_EXPR, ET_A_VARS } kind;
    int64_t i;
    double f;
    int n;               /* INTS, EXPRS, VARS: length */
    const int64_t *ints; /* VARS: variables that EXPRs of the node are over */
    const et_expr *exprs;
    et_expr expr; /* EXPR: the body of a map over ARG leaves, a part of an attention */
} et_attr;

#define ET_MAX_ARGS 16
#define ET_MAX_NODE_VARS 3

typedef struct {
    const et_op *op;
    et_loc loc;
    int nargs;
    et_value args[ET_MAX_ARGS];
    int nattrs;
    et_attr *attrs;
    et_value result; /* none for `update` */
    /* The variables its lowered reductions run over, see et_node_var: -1 until they are made. */
    int vars[ET_MAX_NODE_VARS];
} et_node;

typedef struct et_stmt {
    enum { ET_S_NODE, ET_S_LOOP } kind;
    int index; /* into nodes or loops */
} et_stmt;

typedef struct {
    et_stmt *stmt;
    int n, cap;
} et_block;

/* A value carried around a loop: `in` is what the body reads, starting as `init` and becoming `out`
 * at the end of each iteration; `result` is what follows the loop. */
typedef struct {
    et_value init, in, out, result;
} et_carry;

typedef struct {
    const char *name; /* the user's, for names of weights */
    int model;
    int var;        /* over [0, trips); its name tells loops of one name apart */
    int64_t lo, hi; /* half open; at least one iteration */
    et_expr trips;  /* how many of them a launch runs, by its symbols: 1 .. hi - lo, the first */
    int parent;     /* enclosing loop or -1 */
    et_block body;
    et_carry *carry;
    int ncarry, ccarry;
    bool stacks; /* runs nothing: it only says from which tensors weights are put together */
    et_loc loc;
} et_loop;

/* A part of the GPU's workgroups, in millionths of them: [from, to); to == 0 where nothing is said.
 */
typedef struct {
    int from, to;
} et_share;

/* What a launch of a model alone is predicted to take on 1 .. ET_PACE_UNITS equal parts of the
 * workgroups, us, for values of symbol SYM up to each of N, ascending. N 0: nothing is predicted.
 */
enum { ET_PACE_UNITS = 16, ET_MAX_PACES = 8 };
typedef struct {
    int sym, n;
    int64_t upto[ET_MAX_PACES];
    double us[ET_MAX_PACES][ET_PACE_UNITS];
} et_pace;

/* One of several models that share a kernel. No value, tensor, event or workspace memory of one is
 * another's, and what is one's is named after it: "llama.N" is the dim N of llama. */
typedef struct {
    const char *name;    /* a plain name; no two are equal */
    double weight;       /* above 0: its time counts so much against that of the others */
    double latency_us;   /* that is wished for; 0: none is */
    const et_pace *pace; /* or NULL */
    et_share share; /* of the workgroups when all models run; of ranges of grids what is in it */
} et_model;

enum { ET_MAX_MODELS = 16, ET_MAX_DEVICES = 16 };

typedef struct et_graph {
    et_arena *arena;
    et_exprs *exprs;
    et_diags *diags;
    const char *name;
    const char *source_hash; /* of the text it was parsed from, or "" */
    et_val *vals;            /* vals[0] unused */
    int nvals, cvals;
    et_node *nodes;
    int nnodes, cnodes;
    et_loop *loops;
    int nloops, cloops;
    et_block body;
    et_value *outputs; /* in order of declaration */
    int noutputs, coutputs;
    et_model model[ET_MAX_MODELS];
    int nmodels; /* 0: it is one model, called what the graph is, and names are the user's own */
    struct {
        const char *name; /* as et_node_var was last given */
        int next, vars;
    } numbered;
    struct {
        et_table names; /* of so many symbols and variables of loops: no other variable has them */
        int syms, loops;
        int64_t noted; /* so many ever: it grows whenever memory is taken for them */
    } taken;
    int building; /* the model that what is added belongs to */
    int devices; /* that run it together, each on its parts of what is cut; 0: one runs all of it */
} et_graph;

et_graph *et_graph_create(et_arena *, et_diags *);
/* One more model, which is being built from here on; a name that is taken gets a number behind it.
 * Nothing may have been added before the first one. False when there are too many. */
bool et_graph_model(et_graph *, const char *name);
/* NAME as the model that is being built has it: "llama.x"; NAME itself where there is one model. */
const char *et_graph_name(const et_graph *, const char *name);
const char *et_model_name(const et_graph *, int model, const char *name); /* NULL: NULL */
/* The model a name of a dim, a tensor, a task... begins with; 0 where there is one model; -1 for a
 * name that is of none. */
int et_model_of(const et_graph *, const char *name);
/* NAME without its model: "x". */
const char *et_model_plain(const et_graph *, const char *name);

et_val *et_val_of(const et_graph *, et_value);
et_node *et_node_of(const et_graph *, et_value); /* NULL unless kind is NODE */

/* Building. BLOCK is the block being filled (&g->body or a loop's body). */
et_value et_graph_value(et_graph *, et_value_kind, const char *name, const et_shape *, et_loc);
/* Append a node: checks arguments with the operator's shape rule. On a user error reports it and
 * returns false. out_result may be NULL for an operator without one. */
bool et_graph_node(et_graph *, et_block *, const et_op *, et_loc, int nargs, const et_value *args,
                   int nattrs, const et_attr *attrs, et_value *out_result);
/* The block of LOOP, or what is outside of all loops (-1). */
et_block *et_graph_block(et_graph *, int loop);
/* A node before statement *AT of the block of LOOP, which comes one later then. As et_graph_node,
 * of an operator with a result and of arguments that suit it. */
et_value et_graph_node_before(et_graph *, int loop, int *at, const et_op *, et_loc, int nargs,
                              const et_value *args, int nattrs, const et_attr *attrs);
/* Append a loop to BLOCK; fill its body through et_graph_loop_body. */
int et_graph_loop(et_graph *, et_block *, const char *name, int parent, int64_t lo, int64_t hi,
                  et_loc);
/* The same with TRIPS iterations, an expression over symbols that is 1 .. HI - LO for certain. */
int et_graph_loop_until(et_graph *, et_block *, const char *name, int parent, int64_t lo,
                        int64_t hi, et_expr trips, et_loc);
/* Valid until the next loop is added: ask again after that. */
et_block *et_graph_loop_body(et_graph *, int loop);
/* A loop that runs nothing, for a weight of one tensor per iteration: the same one every time. */
int et_graph_stack(et_graph *, const char *name, int64_t lo, int64_t hi, et_loc);
/* " cut 1", " cut 1 repeat 2", " cut 0 from 96 of 160", or nothing */
void et_device_cut_print(const et_device_cut *, FILE *);
/* " each e in 0..8": the loops of a weight that only stack. */
void et_stacks_print(const et_graph *, int nloops, const int *loops, FILE *);
/* How often the body of LOOP runs in a launch at most, those of the loops around it multiplied in;
 * 1 for -1. */
double et_loop_trips(const et_graph *, int loop);
/* The same in a launch with these values of the symbols. */
double et_loop_trips_at(const et_graph *, int loop, const int64_t *syms);
/* Does the number of iterations differ from launch to launch? */
bool et_loop_varies(const et_graph *, const et_loop *);
/* Make INIT loop-carried in LOOP; returns the value the body reads. */
et_value et_graph_carry(et_graph *, int loop, et_value init);
/* Close the carry whose body value is IN with what an iteration leaves; shapes must be equal (false
 * and an error otherwise). Returns through out_result the value after the loop. */
bool et_graph_carry_close(et_graph *, int loop, et_value in, et_value out, et_loc,
                          et_value *out_result);
/* Declare VALUE an output called NAME. A value that is not the fresh result of a node in the
 * outermost block (an input, a loop's result, a second name for one value) is copied first, so that
 * every output is a NODE value of its own. */
void et_graph_output(et_graph *, et_value, const char *name);

/* Ask for TILE elements per tile along each dimension of a node's result, 0 where the tiler may
 * choose: the attribute "tile" of any node. */
void et_graph_hint(et_graph *, et_value, int n, const int64_t *tile);
/* Nothing said unless 0 <= FROM < TO <= 1. */
et_share et_share_of(double from, double to);
/* Ask for the node's tiles to run on a part of the GPU: the attribute "range" of any node. */
void et_graph_hint_range(et_graph *, et_value, et_share);
/* Ask that a hybrid schedule queues the tasks of a node, or that it does not: the attribute
 * "dynamic" of any node, 1 or 0. */
void et_graph_hint_dynamic(et_graph *, et_value, bool dynamic);

/* Close all symbols of the graph's expressions (et_syms_close) and have it say what they are then.
 */
void et_graph_close(et_graph *);

const et_attr *et_attr_find(const et_node *, const char *name);
int64_t et_attr_int(const et_node *, const char *name, int64_t otherwise);
double et_attr_float(const et_node *, const char *name, double otherwise);

/* A variable called NAME, with something appended where a symbol or a loop has that name. */
int et_graph_var(et_graph *, const char *name, et_expr extent);
/* To be called where a loop's variable was renamed or replaced, where loops are those of a copy,
 * and before memory that was allocated since names were noted (et_graph.taken) is free again. */
void et_graph_renamed(et_graph *);

/* The variable number WHICH of the lowered form of N, ranging over [0, extent): made at the first
 * call, the same one ever after, so that lowering a node twice gives the same expression. No other
 * variable of the graph has its name. */
int et_node_var(et_graph *, const et_node *, int which, const char *name, et_expr extent);

/* Print as the graph stage of .eti. */
void et_graph_print(const et_graph *, FILE *);
/* What the text of every stage starts with. */
void et_header_print(const et_graph *, const char *stage, FILE *);
/* " = [1, 2.5, ...]": the elements of a constant of this shape, f32 or i32. */
void et_shape_data_print(const et_exprs *, const et_shape *, const void *data, FILE *);

#endif
