/* step.h - what the steps of a device function and the groups they come from are made of: one
 * description for each kind, so that whoever wants all expressions, all variables or all that is
 * touched asks here and need not know the kinds. step.c has a row for each; step.def lists them,
 * for tables of what differs by kind. */
#ifndef ET_STEP_H
#define ET_STEP_H

#include "ir/program/program.h"

/* What a variable of a step stands for. */
typedef enum {
    ET_VAR_EACH,     /* there is a result for each of its values */
    ET_VAR_SIDE,     /* so there is, but only the live ones count: a side of a tile of a product */
    ET_VAR_SUM,      /* a result takes all of its values together */
    ET_VAR_POSITION, /* so it does, of positions that data may say the first and the last of */
} et_var_role;

typedef struct {
    int var;
    et_expr extent; /* in this step it is in [0, extent), which may be less than et_var_extent */
    et_var_role role;
} et_step_var;

/* What an expression of a step says. */
typedef enum {
    ET_PART_MASK,   /* a predicate: what is stored or counts where it holds */
    ET_PART_VALUE,  /* what is stored, or the body of the reduction whose result is */
    ET_PART_EXTENT, /* from where or how far a variable goes; uniform over the workgroup where it is
                       of a product or of attention */
    ET_PART_OPERAND, /* of a sum of products, or what is made of one */
    ET_PART_INDEX,   /* of the element stored to */
} et_part;

typedef struct {
    const char *name; /* the field of et_step, or the part of attention: "Q" */
    et_part part;
    et_expr e;
    unsigned under; /* bit i: it may mention variable i of et_step_vars */
} et_step_expr;

enum {
    ET_STEP_EXPRS = 16 + ET_MAX_RANK + ET_MAX_ACC, /* no step has more */
    ET_STEP_VARS = ET_MAX_VARS + 4,
    ET_GROUP_EXPRS = 2 + ET_AT_PARTS + ET_MAX_RANK + 2 * ET_MAX_ACC
};

const char *et_step_name(et_step_kind); /* "map" */
/* A step of this kind without locals: they are -1. */
et_step et_step_make(et_step_kind);
/* The expressions it has, in the order of its description; the number of them. */
int et_step_exprs(const et_step *, et_step_expr out[ET_STEP_EXPRS]);
int et_step_vars(const et_exprs *, const et_step *, et_step_var out[ET_STEP_VARS]);
/* How far VAR goes in the step; its own extent where it is not one of the step's variables. */
et_expr et_step_extent(const et_exprs *, const et_step *, int var);
/* The chunks of a and b that a CONTRACT step's ring holds; 0 where it has none. */
int et_step_stages(const et_func *, const et_step *);
/* May locals A and B of the function lie in the same memory? Where one has chunks of a product's
 * operand, which no other step touches, and the other sums of the same step: those are stored when
 * all chunks have been multiplied. */
bool et_locals_may_meet(const et_exprs *, const et_func *, int a, int b);
/* The sums of a CONTRACT step may be in local memory a band of rows at a time: the steps after it,
 * *OUT_AFTER the first, run for one band after the other. Returns how many bands, 1 where there
 * is no such step. *OUT_VAR is the variable of all of these steps that counts the rows, in whose
 * row of sums and of each other's results they read; -1 where they are not such. */
int et_func_bands(const et_exprs *, const et_func *, int *out_after, int *out_var);
/* Do WAVES waves side by side have 16 rows each of one operand of a CONTRACT step, of m or of n, so
 * that they may multiply together? */
typedef enum { ET_GROUP_NONE, ET_GROUP_M, ET_GROUP_N } et_group_rows;
et_group_rows et_step_group(const et_step *, int waves);
/* Do the waves over n of a CONTRACT step divide its columns by 16: those of each product, or those
 * of all products one behind the other; with a ring so that a wave has sixteen of one? */
bool et_step_divides_columns(const et_step *);
/* Without a ring, and not those of each product: a wave may have columns of two. */
bool et_step_side_by_side(const et_step *);
int et_step_products(const et_step *); /* how many products each wave has sums of */
/* An ATTEND step of rows takes so many positions at a time; their keys and values in local memory
 * are so many bytes, of heads of so many elements. */
enum { ET_ATTEND_BLOCK = 64, ET_ATTEND_KEYS = 8 };
int et_attend_slot(int depth);
/* The type of its keys and values, where they are as they lie in tensors of 16 bits; else false. */
bool et_attend_operand(const et_program *, const et_step *, et_dtype *out);
/* The integers by which keys and values of the step's rows differ, at most MOST; where they are
 * equal, rows have the same keys and values. -1 where no two rows have, or there are more. */
int et_attend_keys(const et_exprs *, const et_step *, int most, et_expr *out);
/* Are tiles of the grid dealt back and forth, each second round from the last workgroup to the
 * first? Tiles of rows of queries are: the later rows of a prompt see more positions, and whoever
 * has the longest tile of a round has the shortest of the next. */
bool et_grid_folds(const et_program *, const et_grid *);
/* Does an ATTEND step leave what is to be joined with other positions? */
bool et_step_is_part(const et_func *, const et_step *);
/* Where it stores what it computes; NULL where that is always in local buffers of its own. */
const et_place *et_step_to(const et_step *);

/* Call FN for all that the step touches: first each load in an expression, with its indices, then
 * what it writes: INDEX is NULL for a local buffer that it writes as a whole. */
typedef void (*et_touch_fn)(void *ctx, int space, int id, bool is_store, const et_expr *index);
void et_step_touches(const et_exprs *, const et_step *, et_touch_fn, void *ctx);

/* Call FN for every tensor access of a function, step by step. INDEX has the tensor's rank; STEP
 * says which variables range over what. */
typedef void (*et_access_fn)(void *ctx, const et_step *step, int tensor, bool is_store,
                             const et_expr *index);
void et_func_accesses(const et_program *, const et_func *, et_access_fn, void *ctx);

/* Where the expressions of a group are, those it does not have left out: over its axes first, then
 * those of its products, of which there are 2 * nproduct. */
int et_group_exprs(et_group *, et_expr *out[ET_GROUP_EXPRS]);

#endif
