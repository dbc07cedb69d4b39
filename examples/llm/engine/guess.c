/* Guessing how a text goes on: as it went on where its last words stood before. */
#include "examples/llm/engine/parts.h"
#include <string.h>

enum { LONGEST = 4, SHORTEST = 2 }; /* tokens that are looked for */

/* The last place before the end where the last N tokens stand too; -1: there is none. */
static int64_t find_before(const int32_t *ids, int64_t n, int64_t length) {
    const int32_t *last = ids + n - length;
    for (int64_t at = n - length - 1; at >= 0; at--)
        if (ids[at] == *last && memcmp(ids + at, last, (size_t)length * sizeof *ids) == 0)
            return at;
    return -1;
}

int64_t guess_next(const int32_t *ids, int64_t n, int64_t most, const int32_t **out) {
    for (int64_t length = LONGEST; length >= SHORTEST; length--) {
        int64_t at = n > length ? find_before(ids, n, length) : -1;
        if (at < 0) continue;
        int64_t from = at + length;
        *out = ids + from;
        return n - from < most ? n - from : most;
    }
    return 0;
}
