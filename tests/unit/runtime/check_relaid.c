/* Weights with their dimensions in another order, against the place of each element, one by one. */
#include "runtime/etrt/internal.h"
#include "runtime/etrt_dtype.h"
#include "tests/unit/runtime/support.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 1 << 15, TRIALS = 2000 };

static unsigned next(unsigned *seed, unsigned below) {
    *seed = *seed * 1664525u + 1013904223u;
    return (*seed >> 8) % below;
}

/* Elements of BITS, of SHAPE in the file: that of memory's number I. */
static int64_t place_of(const struct etrt_tensor *t, const int64_t *shape, int64_t i) {
    int64_t at[ETRT_MAX_RANK], place = 0;
    for (int d = t->rank; d-- > 0; i /= shape[t->order[d]])
        at[t->order[d]] = i % shape[t->order[d]];
    for (int d = 0; d < t->rank; d++)
        place = place * shape[d] + at[d];
    return place;
}

static void shuffle(unsigned *seed, struct etrt_tensor *t) {
    for (int d = 0; d < t->rank; d++)
        t->order[d] = (unsigned char)d;
    for (int d = t->rank - 1; d > t->nloops; d--) {
        int other = t->nloops + (int)next(seed, (unsigned)(d + 1 - t->nloops));
        unsigned char was = t->order[d];
        t->order[d] = t->order[other];
        t->order[other] = was;
    }
    t->relaid = false;
    for (int d = 0; d < t->rank; d++)
        t->relaid |= t->order[d] != d;
}

static void try_one(unsigned *seed, unsigned char *from, unsigned char *out) {
    static const enum etrt_dtype types[] = {ETRT_U4, ETRT_E4M3, ETRT_BF16, ETRT_F32};
    static const unsigned sizes[] = {1, 2, 3, 4, 5, 8, 16, 24, 40, 64};
    struct etrt_tensor t = {.dtype = types[next(seed, 4)]};
    int64_t shape[ETRT_MAX_RANK], count = 1, slices = 1;
    int bits = (int)etrt_dtype_bits(t.dtype);
    t.rank = 2 + (int)next(seed, 4);
    t.nloops = t.rank > 2 ? (int)next(seed, 2) : 0;
    for (int d = 0; d < t.rank; d++) {
        shape[d] = sizes[next(seed, sizeof sizes / sizeof *sizes)];
        count *= shape[d];
        if (d < t.nloops) slices *= shape[d];
    }
    if (count > MOST || count / slices * bits % 8) return;
    shuffle(seed, &t);
    if (!t.relaid) return;
    int64_t parts = etrt_relaid_parts(&t, shape), bytes = count * bits / 8 / parts;
    ck_assert_int_eq(parts % slices, 0);
    ck_assert_int_eq(bytes * parts, count * bits / 8);
    memset(out, 0, (size_t)count * 4);
    for (int64_t p = 0; p < parts; p++)
        etrt_relay(&t, shape, from + p * bytes, out + p * bytes);
    int64_t same = 0;
    for (int64_t i = 0; i < count; i++)
        same += etrt_element_word(out, i, bits) ==
                etrt_element_word(from, place_of(&t, shape, i), bits);
    ck_assert_int_eq(same, count);
}

START_TEST(any_order) {
    unsigned seed = 7;
    unsigned char *from = malloc((size_t)MOST * 4), *out = malloc((size_t)MOST * 4);
    ck_assert(from && out);
    for (int i = 0; i < MOST * 4; i++)
        from[i] = (unsigned char)next(&seed, 256);
    for (int i = 0; i < TRIALS; i++)
        try_one(&seed, from, out);
    free(from);
    free(out);
}
END_TEST

/* Words of eight rows, as AWQ has them: two times four, of which each second comes first. */
START_TEST(words_of_rows) {
    struct etrt_tensor t = {.dtype = ETRT_U4, .rank = 4, .relaid = true, .order = {1, 3, 2, 0}};
    const int64_t shape[] = {64, 40, 2, 4};
    unsigned seed = 9;
    static unsigned char from[64 * 320 / 2], out[sizeof from];
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (unsigned char)next(&seed, 256);
    etrt_relay(&t, shape, from, out);
    for (int64_t i = 0; i < (int64_t)sizeof from * 2; i++)
        ck_assert_uint_eq(etrt_element_word(out, i, 4),
                          etrt_element_word(from, place_of(&t, shape, i), 4));
}
END_TEST

static void add(TCase *c) {
    tcase_add_test(c, any_order);
    tcase_add_test(c, words_of_rows);
}

int main(void) {
    return run_suite("turned", add, 60);
}
