#include "examples/llm/engine/scan.h"
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* As every machine that runs this has them, so that sums are made in the same order on all. */
enum { LANES = 4, STEP = 2 * LANES };
typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t words __attribute__((vector_size(LANES * sizeof(int32_t))));

static lanes at(const float *p) {
    lanes v;
    memcpy(&v, p, sizeof v);
    return v;
}

static lanes all(float x) {
    return (lanes){x, x, x, x};
}

static lanes larger(lanes a, lanes b) {
    words is = a > b;
    return (lanes)(((words)a & is) | ((words)b & ~is));
}

/* A block that is not whole, with PAD behind it. */
static const float *whole(const float *block, int64_t n, float pad, float room[SCAN_BLOCK]) {
    if (n >= SCAN_BLOCK) return block;
    for (int64_t i = 0; i < SCAN_BLOCK; i++)
        room[i] = i < n ? block[i] : pad;
    return room;
}

/* ---- the largest ---- */

static float block_highest(const float *p, bool *bad) {
    lanes a = at(p), b = at(p + LANES);
    words none = (a != a) | (b != b);
    for (int i = STEP; i < SCAN_BLOCK; i += STEP) {
        lanes x = at(p + i), y = at(p + i + LANES);
        none |= (x != x) | (y != y);
        a = larger(x, a);
        b = larger(y, b);
    }
    a = larger(a, b);
    float high = a[0];
    for (int k = 1; k < LANES; k++)
        high = a[k] > high ? a[k] : high;
    if (none[0] | none[1] | none[2] | none[3]) *bad = true;
    return high;
}

int64_t scan_highest(const float *row, int64_t n, float *highest) {
    float room[SCAN_BLOCK], best = -INFINITY;
    int64_t found = 0;
    bool bad = false;
    for (int64_t i = 0; i < n; i += SCAN_BLOCK) {
        float high = block_highest(whole(row + i, n - i, -INFINITY, room), &bad);
        if (high > best) {
            best = high;
            found = i;
        }
        if (highest) highest[i / SCAN_BLOCK] = high;
    }
    if (bad) return -1;
    while (row[found] != best)
        found++;
    return found;
}

/* ---- shares ---- */

/* Of X from -87 to 0: 2 to a whole power, and a polynomial for what is left of at most half of one;
 * its coefficients are those of Cephes' expf. */
static lanes exponential(lanes x) {
    const float log2_e = 1.44269504f, rounds = 0x1.8p23f; /* adding it leaves the whole number */
    const float ln2 = 0.693359375f, more_ln2 = -2.12194440e-4f;
    enum { FRACTION = 23 }; /* bits below the exponent */
    lanes power = x * log2_e + rounds, n = power - rounds;
    lanes r = x - n * ln2 - n * more_ln2;
    lanes p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1;
    return (lanes)((words)p + ((words)power << FRACTION));
}

static lanes shares_of(const float *p, const struct scan_limits *l) {
    lanes away = l->from - at(p), e = away * l->cold;
    words near = (away <= l->most) & (e <= l->far);
    return (lanes)((words)exponential((lanes)((words)-e & near)) & near);
}

double scan_shares(const float *block, int64_t n, const struct scan_limits *l, float *out) {
    float room[SCAN_BLOCK];
    const float *p = whole(block, n, -INFINITY, room);
    lanes a = all(0), b = all(0);
    for (int i = 0; i < SCAN_BLOCK; i += STEP) {
        lanes x = shares_of(p + i, l), y = shares_of(p + i + LANES, l);
        memcpy(out + i, &x, sizeof x);
        memcpy(out + i + LANES, &y, sizeof y);
        a += x;
        b += y;
    }
    return ((double)a[0] + a[1] + a[2] + a[3]) + ((double)b[0] + b[1] + b[2] + b[3]);
}
