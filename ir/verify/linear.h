/* linear.h - integers that satisfy linear constraints: is there a solution, and what is left of
 * constraints when a variable only has to exist.
 *
 * Answers err on one side each: vl_empty says that there is no solution only where there is none;
 * what vl_project leaves holds only where the variables left out have values. */
#ifndef ET_VERIFY_LINEAR_H
#define ET_VERIFY_LINEAR_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>

/* A sum of variables times constants and a constant. Variables are numbers from 0, ascending. */
enum { VL_TERMS = 12 };
typedef struct {
    bool ok; /* false: it could not be written so */
    int n;
    int var[VL_TERMS];
    int64_t by[VL_TERMS];
    int64_t k;
} vl_form;

vl_form vl_const(int64_t);
vl_form vl_var(int var);
vl_form vl_add(const vl_form *, const vl_form *, int64_t times_b); /* a + times_b * b */
vl_form vl_scale(const vl_form *, int64_t);
void vl_shift(vl_form *, int64_t by); /* plus a constant; not OK where that is too large */
static inline bool vl_is_const(const vl_form *f) {
    return f->ok && f->n == 0;
}

/* FORM >= 0, or FORM == 0. */
typedef struct {
    vl_form f;
    bool eq;
} vl_row;

/* One of the alternatives holds. */
enum { VL_WAYS = 3, VL_WAY_ROWS = 3 };
typedef struct {
    int ways, n[VL_WAYS];
    vl_row row[VL_WAYS][VL_WAY_ROWS];
} vl_split;

/* A conjunction. Rows and splits are pushed, and popped by lowering their numbers. */
typedef struct {
    et_arena *arena;
    vl_row *row;
    int n, cap;
    vl_split *split;
    int nsplits, csplits;
    bool bad; /* a row that could not be written down is missing */
} vl_sys;

void vl_push(vl_sys *, const vl_form *, bool eq); /* one that is not ok sets `bad` */
void vl_push_row(vl_sys *, const vl_row *);
vl_split *vl_push_split(vl_sys *); /* empty, to be filled in */

typedef struct vl_work vl_work; /* room to compute in, and how much was done */
vl_work *vl_work_create(et_arena *, int64_t limit);
bool vl_spent(const vl_work *);

/* No integers satisfy the rows and one way of each split. */
bool vl_empty(vl_work *, vl_sys *);
/* Rows without the variables from FIRST up to LAST and those from REST on that hold only where
 * these have values, in place of the rows; splits are not looked at. False when that cannot be
 * written down. */
bool vl_project(vl_work *, vl_sys *, int first, int last, int rest);
/* Values of all variables below COUNT that satisfy the rows and splits, where one is found soon. */
bool vl_solve(vl_work *, vl_sys *, int count, int64_t *out);

#endif
