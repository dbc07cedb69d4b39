/* prune.c - of every four neighbours of a row the two of the largest magnitude, the others made
 * zero: 2:4, as sparse matrix instructions have it. Tensors keep their names, types and shapes. */
#include "frontend/quant/quant.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OF = 4, KEPT = 2 };

static int describe(et_arena *arena, const struct qnt_weight *w,
                    struct etrt_st_tensor out[QNT_MOST]) {
    out[0] = *w->from;
    out[0].name = et_printf(arena, "%s.weight", w->base);
    return 1;
}

/* Is number I of N values one of the largest? Of equals those that come first. */
static bool stays(const float *four, int64_t n, int64_t i) {
    int larger = 0;
    for (int64_t k = 0; k < n; k++)
        larger += fabsf(four[k]) > fabsf(four[i]) || (k < i && fabsf(four[k]) == fabsf(four[i]));
    return larger < KEPT;
}

static void prune(const float *row, int64_t columns, size_t bytes, char *out) {
    for (int64_t c = 0; c < columns; c++) {
        int64_t first = c - c % OF, n = columns - first < OF ? columns - first : OF;
        if (!stays(row + first, n, c % OF)) memset(out + (size_t)c * bytes, 0, bytes);
    }
}

static bool give(const struct qnt_weight *w, int which, struct etrt_st_sink *to,
                 struct qnt_fault *fault) {
    (void)which;
    size_t bytes = w->from->bytes / (size_t)(w->rows * w->columns);
    size_t pitch = (size_t)w->columns * bytes;
    float *row = qnt_rows_make(w, 1, fault);
    char *out = malloc(pitch + 1);
    bool ok = row && (out || qnt_fail(fault, "out of memory"));
    for (int64_t r = 0; ok && r < w->rows; r++) {
        memcpy(out, (const char *)w->from->data + (size_t)r * pitch, pitch);
        ok = qnt_rows(w, r, 1, row, fault);
        if (ok) prune(row, w->columns, bytes, out);
        ok = ok && etrt_st_put(to, out, pitch);
    }
    free(row);
    free(out);
    return ok;
}

const struct qnt_method qnt_2_4 = {.name = "2:4", .describe = describe, .give = give, .columns = 1};
