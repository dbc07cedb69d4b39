/* Random numbers of a seed, and tensors of them. */
#include "bench/etbench/fill.h"

#include "ir/base/table.h"
#include "runtime/etrt_dtype.h"

#include <math.h>
#include <string.h>

uint64_t eb_random(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint64_t eb_seed(uint64_t seed, const char *name) {
    return et_hash(ET_HASH ^ seed, name, strlen(name));
}

/* A number from -1 to 1. */
static float uniform(uint64_t *state) {
    return (float)((double)(eb_random(state) >> 11) / 4503599627370496.0 - 1);
}

/* After so many random floats the same come again: models of billions are made in seconds then. It
 * is twice a prime, so that whole bytes repeat in types of 4 bits, and rows do not. */
enum { REPEATS_AFTER = 2 * 524287 };

void eb_fill_floats(void *data, enum etrt_dtype dtype, int64_t count, uint64_t seed, float centre,
                    float spread) {
    int64_t drawn = count < REPEATS_AFTER ? count : REPEATS_AFTER;
    for (int64_t i = 0; i < drawn; i++)
        etrt_element_set((int)dtype, data, i, (double)(centre + spread * uniform(&seed)));
    int64_t have = drawn * (int64_t)etrt_dtype_bits(dtype) / 8,
            all = count * (int64_t)etrt_dtype_bits(dtype) / 8;
    for (int64_t more; have < all; have += more) {
        more = have < all - have ? have : all - have;
        memcpy((char *)data + have, data, (size_t)more);
    }
}

void eb_fill_indices(int32_t *data, int64_t count, uint64_t seed, int64_t lo, int64_t span) {
    int64_t used = span < count ? span : count;
    for (int64_t i = 0; i < used; i++)
        data[i] = (int32_t)(lo + (int64_t)((__uint128_t)i * (uint64_t)span / (uint64_t)used));
    for (int64_t i = used - 1; i > 0; i--) {
        int64_t k = (int64_t)(eb_random(&seed) % (uint64_t)(i + 1));
        int32_t swap = data[i];
        data[i] = data[k];
        data[k] = swap;
    }
    for (int64_t i = used; i < count; i++)
        data[i] = data[i - used];
}

int64_t eb_weight_period(enum etrt_dtype dtype) {
    return dtype == ETRT_I32 ? 0 : REPEATS_AFTER * (int64_t)etrt_dtype_bits(dtype) / 8;
}

void eb_fill_weight(const struct etrt_tensor *t, const int64_t *shape, uint64_t seed, void *data,
                    int64_t count) {
    uint64_t state = eb_seed(seed, t->name);
    int rank = t->rank - t->nloops;
    if (t->dtype == ETRT_I32)
        eb_fill_indices(data, count, state, 0, count > 0 ? count : 1);
    else if (rank <= 1)
        eb_fill_floats(data, t->dtype, count, state, 1, 0.1f);
    else
        eb_fill_floats(data, t->dtype, count, state, 0, sqrtf(3.0f / (float)shape[t->rank - 1]));
}

void eb_prune_weight(const struct etrt_tensor *t, void *data, int64_t count) {
    uint16_t *of = data;
    if (t->rank - t->nloops < 2 || (t->dtype != ETRT_BF16 && t->dtype != ETRT_F16)) return;
    for (int64_t i = 1; i < count; i += 2)
        of[i] = 0;
}
