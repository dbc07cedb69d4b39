/* solve.h - is there a way to choose integers so that all of some conditions hold?
 *
 * What is to be shown of the steps of a program is turned around: that two work-items meet, or that
 * an index leaves its tensor, is written down as conditions, and shown to be impossible for all
 * values of the dims at once. Conditions are linear inequalities, products of two numbers, and
 * alternatives of them. An answer of SV_NO is a proof. */
#ifndef ET_VERIFY_STEPS_SOLVE_H
#define ET_VERIFY_STEPS_SOLVE_H

#include "ir/base/arena.h"
#include "ir/verify/steps/linear.h"

/* Numbers that are looked at are no larger: what may be is taken to be anything. */
#define SV_MOST ((int64_t)1 << 61)

/* A condition, by number. */
typedef struct {
    int id;
} sv_cond;
/* Nothing is said. */
#define SV_ANY ((sv_cond){0})

typedef enum {
    SV_NO,     /* the conditions cannot hold together */
    SV_YES,    /* they do at the numbers that sv_value gives */
    SV_UNKNOWN /* neither was found within the bound on work */
} sv_answer;

typedef struct sv_problem sv_problem;

sv_problem *sv_create(et_arena *);
/* Forgets all numbers and conditions. */
void sv_clear(sv_problem *);
/* A number from lo to hi; its place. */
int sv_number(sv_problem *, int64_t lo, int64_t hi);
/* The same of a dim, of which sizes are products. */
int sv_dim(sv_problem *, int64_t lo, int64_t hi);
void sv_range(const sv_problem *, int number, int64_t *out_lo, int64_t *out_hi);
/* The least and the most that F can be; false when that is beyond SV_MOST. */
bool sv_bounds(const sv_problem *, const sv_linear *f, int64_t *out_lo, int64_t *out_hi);
/* The number that is the product of numbers X and Y; -1: there is none yet. */
int sv_find_product(const sv_problem *, int x, int y);
/* Number Z is. */
void sv_product(sv_problem *, int z, int x, int y);
/* The same of the floor of OF / BY. */
int sv_find_quotient(const sv_problem *, const sv_linear *of, const sv_linear *by);
void sv_quotient_is(sv_problem *, int q, const sv_linear *of, const sv_linear *by);

/* a + by * b, with parts of it as numbers of their own where it has too many terms; false where it
 * does not fit. */
bool sv_add_parts(sv_problem *, const sv_linear *a, const sv_linear *b, int64_t by, sv_linear *out);
/* Something could not be said: more may hold than does, and there is no SV_YES. */
void sv_leave_out(sv_problem *);

sv_cond sv_le(sv_problem *, const sv_linear *a, const sv_linear *b);
sv_cond sv_lt(sv_problem *, const sv_linear *a, const sv_linear *b);
sv_cond sv_eq(sv_problem *, const sv_linear *a, const sv_linear *b);
sv_cond sv_ne(sv_problem *, const sv_linear *a, const sv_linear *b);
sv_cond sv_both(sv_problem *, sv_cond, sv_cond);
sv_cond sv_either(sv_problem *, sv_cond, sv_cond);
sv_cond sv_never(sv_problem *);

void sv_assert(sv_problem *, sv_cond);
/* Do all that was asserted and C hold together somewhere? Neither is kept: what was asserted stays
 * as it is. */
sv_answer sv_solve(sv_problem *, sv_cond c);
/* After SV_YES. */
int64_t sv_value(const sv_problem *, int number);
/* No more than so much of the work below is done for one sv_solve, which is SV_UNKNOWN then; 0:
 * there is no such limit. */
void sv_limit(sv_problem *, int64_t work);
/* How much was done so far, in steps of some tens of nanoseconds. */
int64_t sv_work(const sv_problem *);

#endif
