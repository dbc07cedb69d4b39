/* solve.h - is there a way to choose integers so that all of some conditions hold?
 *
 * What is to be shown of the steps of a program is turned around: that two work-items meet, or that
 * an index leaves its tensor, is written down as conditions, and shown to be impossible for all
 * values of the dims at once. Conditions are linear inequalities, products of two numbers, and
 * alternatives of them. An answer of VS_NO is a proof. */
#ifndef ET_VERIFY_SOLVE_H
#define ET_VERIFY_SOLVE_H

#include "ir/base/arena.h"
#include "ir/verify/steps/linear.h"

/* Numbers that are looked at are no larger: what may be is taken to be anything. */
#define VS_MOST ((int64_t)1 << 61)

/* A condition, by number. */
typedef struct {
    int id;
} vs_cond;
/* Nothing is said. */
#define VS_ANY ((vs_cond){0})

typedef enum {
    VS_NO,     /* the conditions cannot hold together */
    VS_YES,    /* they do at the numbers that vs_value gives */
    VS_UNKNOWN /* neither was found within the bound on work */
} vs_answer;

typedef struct vs_problem vs_problem;

vs_problem *vs_create(et_arena *);
/* Forgets all numbers and conditions. */
void vs_clear(vs_problem *);
/* A number from lo to hi; its place. */
int vs_number(vs_problem *, int64_t lo, int64_t hi);
void vs_range(const vs_problem *, int number, int64_t *out_lo, int64_t *out_hi);
/* The least and the most that F can be; false when that is beyond VS_MOST. */
bool vs_bounds(const vs_problem *, const vs_linear *f, int64_t *out_lo, int64_t *out_hi);
/* Number Z is the product of numbers X and Y. */
void vs_product(vs_problem *, int z, int x, int y);

vs_cond vs_at_least_0(vs_problem *, const vs_linear *);
vs_cond vs_le(vs_problem *, const vs_linear *a, const vs_linear *b);
vs_cond vs_lt(vs_problem *, const vs_linear *a, const vs_linear *b);
vs_cond vs_eq(vs_problem *, const vs_linear *a, const vs_linear *b);
vs_cond vs_ne(vs_problem *, const vs_linear *a, const vs_linear *b);
vs_cond vs_both(vs_problem *, vs_cond, vs_cond);
vs_cond vs_either(vs_problem *, vs_cond, vs_cond);
vs_cond vs_never(vs_problem *);

void vs_assert(vs_problem *, vs_cond);
/* Do all that was asserted and C hold together somewhere? Neither is kept: what was asserted stays
 * as it is. */
vs_answer vs_solve(vs_problem *, vs_cond c);
/* After VS_YES. */
int64_t vs_value(const vs_problem *, int number);
/* How much was done so far, in steps of some tens of nanoseconds. */
int64_t vs_work(const vs_problem *);

#endif
