/* linear.h - sums of numbers times constants. */
#ifndef ET_VERIFY_LINEAR_H
#define ET_VERIFY_LINEAR_H

#include <stdbool.h>
#include <stdint.h>

enum { VS_TERMS = 20 };

/* The sum of coef[i] * number[i], and k. Numbers ascend. */
typedef struct {
    int n;
    int number[VS_TERMS];
    int64_t coef[VS_TERMS];
    int64_t k;
} vs_linear;

static inline vs_linear vs_constant(int64_t k) {
    return (vs_linear){.k = k};
}
static inline vs_linear vs_of(int number) {
    return (vs_linear){.n = 1, .number = {number}, .coef = {1}};
}
static inline bool vs_is_constant(const vs_linear *a) {
    return a->n == 0;
}
/* a + by * b; false where that does not fit, and *OUT is not to be used. */
bool vs_add(const vs_linear *a, const vs_linear *b, int64_t by, vs_linear *out);
/* Divide by what divides all coefficients, the constant rounded down: of a sum that is at least 0
 * for integers, the same is true after it. */
void vs_reduce(vs_linear *);
/* The coefficient of NUMBER. */
int64_t vs_coef(const vs_linear *, int number);

#endif
