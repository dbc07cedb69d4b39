/* step.h - the parts of steps and groups: expressions, variables, accesses, described once for each
 * kind of step, so that other code need not know the kinds. step.c has a row for each kind;
 * step.def lists them, for tables by kind. */
#ifndef ET_STEP_H
#define ET_STEP_H

#include "ir/program/program.h"

/* What a variable of a step stands for. */
typedef enum {
    ET_VAR_EACH,     /* one result for each of its values */
    ET_VAR_SIDE,     /* the same, but only live ones count: rows or columns of a product's tile */
    ET_VAR_SUM,      /* reduced: a result takes all of its values */
    ET_VAR_POSITION, /* reduced over positions, whose first and last may be data-dependent */
} et_var_role;

typedef struct {
    int var;
    et_expr extent; /* in this step it is in [0, extent), which may be less than et_var_extent */
    et_var_role role;
} et_step_var;

/* The role of an expression of a step. */
typedef enum {
    ET_PART_MASK,    /* a predicate: where it is false nothing is stored or reduced */
    ET_PART_VALUE,   /* the stored value, or the body of the reduction */
    ET_PART_EXTENT,  /* a variable's first value or extent; uniform over the workgroup in products
                        and  attention */
    ET_PART_OPERAND, /* an operand of a product, or computed from one's sum */
    ET_PART_INDEX,   /* an index of the element stored to */
} et_part;

typedef struct {
    const char *name; /* the field of et_step, or the part of attention: "Q" */
    et_part part;
    et_expr e;
    unsigned under; /* bit i: it may mention variable i of et_step_vars */
} et_step_expr;

enum {
    ET_STEP_EXPRS = 16 + 2 * ET_MAX_RANK + ET_MAX_ACC, /* no step has more */
    ET_STEP_VARS = ET_MAX_VARS + 4,
    ET_GROUP_EXPRS = 2 + ET_AT_PARTS + ET_SC_PARTS + 2 * ET_MAX_RANK + 2 * ET_MAX_ACC
};

const char *et_step_name(et_step_kind); /* "map" */
/* A step of this kind whose locals are all -1. */
et_step et_step_make(et_step_kind);
/* Its expressions, in the order of its description; returns how many. */
int et_step_exprs(const et_step *, et_step_expr out[ET_STEP_EXPRS]);
int et_step_vars(const et_exprs *, const et_step *, et_step_var out[ET_STEP_VARS]);
enum { ET_SCAN_ELEMENTS = 64 }; /* of the state, that a lane of a SCAN step has at most */
enum { ET_SCAN_AHEAD = 8 };     /* rows, that a SCAN step loads ahead at most */
enum { ET_SCAN_CHUNK = 64 };    /* rows, that it does at once at most */
enum { ET_SCAN_RUN_ROWS = 16 }; /* rows of a window, that a work-item does at once at most */
/* The extent of VAR in the step; its own extent where it is not one of the step's variables. */
et_expr et_step_extent(const et_exprs *, const et_step *, int var);
/* What INDEX, of an element that a MAP step reads, is less than where the step's mask holds, as the
 * mask says it; none where it does not. */
et_expr et_step_masked_end(const et_exprs *, const et_step *, et_expr index);
/* Stages of a CONTRACT step's multistage pipeline; 0 where it has none. */
int et_step_stages(const et_func *, const et_step *);
/* The k's that a CONTRACT step multiplies at a time: its plan's chunk, and before there is a plan
 * those that the buffer for a is declared with. */
int et_step_chunk(const et_func *, const et_step *);
int et_step_declared_k(const et_func *, const et_step *);
/* May locals A and B of the function share memory? True where one holds chunks of a product's
 * operand that no other step touches and the other the same step's sums, which are stored after the
 * mainloop. */
bool et_locals_may_meet(const et_exprs *, const et_func *, int a, int b);
/* Sub-tiled epilogue: local memory holds the sums of a CONTRACT step one band of rows at a time,
 * and the steps after it, from *OUT_AFTER on, run once for each band. Returns how many bands, 1
 * where there is no such step. *OUT_VAR is the row variable of these steps: they read sums and one
 * another's results only in its row; -1 where they do not. */
int et_func_bands(const et_exprs *, const et_func *, int *out_after, int *out_var);
/* Do WAVES waves have 16 rows each of one operand of a CONTRACT step, of m or of n, as warpgroup
 * MMA needs? */
typedef enum { ET_WARPGROUP_NONE, ET_WARPGROUP_M, ET_WARPGROUP_N } et_warpgroup_rows;
et_warpgroup_rows et_step_warpgroup(const et_step *, int waves);
/* Of n: how many times 16 it may be, which are multiplied one after the other. */
int et_step_pieces(const et_step *, int waves);
/* Have the WK waves along k whole parts of a chunk of KC, of two steps of K each: all of some
 * parts, or, of a single part, a step each? */
bool et_warpgroup_divides(int kc, int wk, int k);
/* Do the waves along n of a CONTRACT step divide its columns into sixteens: those of each product,
 * or of all products concatenated (with a pipeline, so that each sixteen is of one product)? */
bool et_step_divides_columns(const et_step *);
/* Without a pipeline, and only all products concatenated: a wave may have columns of two. */
bool et_step_side_by_side(const et_step *);
int et_step_products(const et_step *); /* how many products each wave has sums of */
/* An ATTEND step with rows processes ET_ATTEND_BLOCK positions at a time; et_attend_slot: bytes of
 * one position's keys or values in local memory, for heads of DEPTH elements. */
enum { ET_ATTEND_BLOCK = 64, ET_ATTEND_KEYS = 8 };
/* Elements of a head that a wave has sums of values of, at most: waves share deeper ones. */
enum { ET_ATTEND_WAVE_D = 128 };
int et_attend_slot(int depth);
/* The type of its keys and values, where they are plain elements of 16-bit tensors; else false. */
bool et_attend_operand(const et_program *, const et_step *, et_dtype *out);
/* The integers, at most MOST, that decide a row's keys and values: rows where they are equal share
 * them. -1 where no two rows share any, or there are more integers. */
int et_attend_keys(const et_exprs *, const et_step *, int most, et_expr *out);
/* Does an ATTEND step leave a partial result, to be joined with other positions? */
bool et_step_is_part(const et_func *, const et_step *);
/* Where it stores its result; NULL for kinds that store to local buffers of their own. */
const et_place *et_step_to(const et_step *);
/* Where it stores besides; NULL for most kinds: the state of a SCAN. */
const et_place *et_step_state(const et_step *);

/* Call FN for each access of the step: first the loads in its expressions, with their indices, then
 * its stores; INDEX is NULL for a local buffer that it writes whole. */
typedef void (*et_touch_fn)(void *ctx, int space, int id, bool is_store, const et_expr *index);
void et_step_touches(const et_exprs *, const et_step *, et_touch_fn, void *ctx);

/* Call FN for every tensor access of a function, step by step. INDEX has the tensor's rank; the
 * extents of its variables are STEP's. */
typedef void (*et_access_fn)(void *ctx, const et_step *step, int tensor, bool is_store,
                             const et_expr *index);
void et_func_accesses(const et_program *, const et_func *, et_access_fn, void *ctx);
bool et_grid_notifies(const et_grid *, int event);
bool et_grid_waits_for(const et_grid *, int event);
/* Of the tasks that notify an event, with the context TELLS, and of those that wait for it, with
 * WAITS. */
void et_event_accesses(const et_program *, int event, et_access_fn, void *tells, void *waits);

/* Pointers to a group's expressions, missing ones left out: those over its axes, then the 2 *
 * nproduct operands of its products. Returns how many. */
int et_group_exprs(et_group *, et_expr *out[ET_GROUP_EXPRS]);

#endif
