/* scan.h - passes over a row of numbers, in blocks, as fast as a core of the host reads it.
 *
 * A row has as many numbers as a vocabulary has tokens, and each is looked at for each token of
 * each text: a loop that takes them one by one takes longer than the launch that made them. What is
 * told of blocks lets others leave most of them out. All gives the same bits on every machine. */
#ifndef LLM_SCAN_H
#define LLM_SCAN_H

#include <stdint.h>

enum { SCAN_BLOCK = 64 };

/* How many blocks N numbers are; the last may be shorter. */
static inline int64_t scan_blocks(int64_t n) {
    return (n + SCAN_BLOCK - 1) / SCAN_BLOCK;
}

/* Where the largest of ROW[N] is, the first among equals; -1: one is not a number. HIGHEST, which
 * may be NULL, has room for all blocks and gets the largest of each. */
int64_t scan_highest(const float *row, int64_t n, float *highest);

/* With d the distance of a number from FROM, which is finite and not below any, and e = d * COLD,
 * those with d <= MOST and e <= FAR have a share of exp(-e), to 24 bits, and the others none. COLD
 * is above 0, FAR at most 87: no share of one that has any is below a normal number. */
struct scan_limits {
    float from, most, cold, far;
};
static inline int scan_is_near(const struct scan_limits *l, float number) {
    float away = l->from - number;
    return away <= l->most && away * l->cold <= l->far;
}
/* OUT[SCAN_BLOCK] gets the shares of a block of N numbers, and zeros behind them; their sum. */
double scan_shares(const float *block, int64_t n, const struct scan_limits *, float *out);

#endif
