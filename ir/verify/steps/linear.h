/* linear.h - sums of numbers times constants. */
#ifndef ET_VERIFY_STEPS_LINEAR_H
#define ET_VERIFY_STEPS_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

enum { SV_TERMS = 20 };

/* The sum of coef[i] * number[i], and k. Numbers ascend. */
typedef struct {
    int n;
    int number[SV_TERMS];
    int64_t coef[SV_TERMS];
    int64_t k;
} sv_linear;

static inline sv_linear sv_constant(int64_t k) {
    return (sv_linear){.k = k};
}
static inline sv_linear sv_of(int number) {
    return (sv_linear){.n = 1, .number = {number}, .coef = {1}};
}
static inline bool sv_is_constant(const sv_linear *a) {
    return a->n == 0;
}
/* a + by * b; false where that does not fit, and *OUT is not to be used. */
bool sv_add(const sv_linear *a, const sv_linear *b, int64_t by, sv_linear *out);
/* Divide by what divides all coefficients, the constant rounded down: of a sum that is at least 0
 * for integers, the same is true after it. */
void sv_reduce(sv_linear *);
/* The coefficient of NUMBER. */
int64_t sv_coef(const sv_linear *, int number);
/* They differ at most in the constant. */
bool sv_same_terms(const sv_linear *, const sv_linear *);

#endif
