/* Ranges of characters as ranges of bytes. */
#include "examples/llm/grammar/regular/machine.h"

typedef bool giver(void *user, const unsigned char lo[4], const unsigned char hi[4], int n);

static int encode(uint32_t c, unsigned char out[4]) {
    int n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (int i = n - 1; i > 0; i--, c >>= 6)
        out[i] = (unsigned char)(0x80 | (c & 0x3f));
    out[0] = (unsigned char)(lead[n] | c);
    return n;
}

/* FIRST to LAST have the same number of bytes. Cut where a byte but the last runs through less than
 * all of its values while one before it changes. */
static bool split(uint32_t first, uint32_t last, giver *give, void *user) {
    unsigned char lo[4], hi[4];
    for (int i = 1; i < 4; i++) {
        uint32_t low = (1u << 6 * i) - 1;
        if ((first & ~low) == (last & ~low)) break;
        if (first & low)
            return split(first, first | low, give, user) &&
                   split((first | low) + 1, last, give, user);
        if ((last & low) != low)
            return split(first, (last & ~low) - 1, give, user) &&
                   split(last & ~low, last, give, user);
    }
    int n = encode(first, lo);
    encode(last, hi);
    return give(user, lo, hi, n);
}

bool utf8_ranges(uint32_t first, uint32_t last, giver *give, void *user) {
    static const uint32_t parts[][2] = {
        {0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, 0x10ffff}};
    for (int i = 0; i < 5; i++) {
        uint32_t a = first > parts[i][0] ? first : parts[i][0];
        uint32_t b = last < parts[i][1] ? last : parts[i][1];
        if (a <= b && !split(a, b, give, user)) return false;
    }
    return true;
}
