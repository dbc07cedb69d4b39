/* fp8.c - e4m3 with a scale for each 128 rows by 128 columns, as DeepSeek-V3's and Qwen3's FP8
 * checkpoints lie: X.weight are the codes, X.weight_scale_inv what they are multiplied by. */
#include "frontend/quant/quant.h"
#include "runtime/etrt_dtype.h"
#include <float.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

enum { BLOCK = 128, LARGEST = 448 }; /* of e4m3 */

static int64_t blocks(int64_t n) {
    return (n + BLOCK - 1) / BLOCK;
}

static int describe(et_arena *arena, const struct qnt_weight *w,
                    struct etrt_st_tensor out[QNT_MOST]) {
    int64_t down = blocks(w->rows), across = blocks(w->columns);
    out[0] = (struct etrt_st_tensor){.name = et_printf(arena, "%s.weight", w->base),
                                     .dtype = "F8_E4M3",
                                     .rank = 2,
                                     .shape = {w->rows, w->columns},
                                     .bytes = (size_t)(w->rows * w->columns)};
    out[1] = (struct etrt_st_tensor){.name = et_printf(arena, "%s.weight_scale_inv", w->base),
                                     .dtype = "F32",
                                     .rank = 2,
                                     .shape = {down, across},
                                     .bytes = (size_t)(down * across) * sizeof(float)};
    return 2;
}

/* The largest value becomes the largest code. A block of zeros has any scale but zero. */
static float scale_of(const float *rows, int64_t count, int64_t columns, int64_t block) {
    int64_t end = (block + 1) * BLOCK < columns ? (block + 1) * BLOCK : columns;
    float most = 0;
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = block * BLOCK; c < end; c++)
            most = fmaxf(most, fabsf(rows[r * columns + c]));
    if (most == 0) return 1;
    return fmaxf(most / LARGEST, FLT_MIN);
}

static bool give_band(const struct qnt_weight *w, int which, const float *rows, int64_t count,
                      float *scales, unsigned char *codes, struct etrt_st_sink *to) {
    int64_t across = blocks(w->columns);
    for (int64_t b = 0; b < across; b++)
        scales[b] = scale_of(rows, count, w->columns, b);
    if (which == 1) return etrt_st_put(to, scales, (size_t)across * sizeof *scales);
    for (int64_t r = 0; r < count; r++)
        for (int64_t c = 0; c < w->columns; c++) {
            int64_t i = r * w->columns + c;
            codes[i] = (unsigned char)etrt_e4m3_bits((double)(rows[i] / scales[c / BLOCK]));
        }
    return etrt_st_put(to, codes, (size_t)(count * w->columns));
}

static bool give(const struct qnt_weight *w, int which, struct etrt_st_sink *to,
                 struct qnt_fault *fault) {
    int64_t band = w->rows < BLOCK ? w->rows : BLOCK;
    float *rows = qnt_rows_make(w, band, fault), *scales = qnt_rows_make(w, 1, fault);
    unsigned char *codes = (unsigned char *)qnt_rows_make(w, band, fault);
    bool ok = rows && scales && codes;
    for (int64_t r = 0; ok && r < w->rows; r += BLOCK) {
        int64_t count = w->rows - r < BLOCK ? w->rows - r : BLOCK;
        ok = qnt_rows(w, r, count, rows, fault) &&
             give_band(w, which, rows, count, scales, codes, to);
    }
    free(rows);
    free(scales);
    free(codes);
    return ok;
}

static json_t *config(json_t *left) {
    return json_pack("{s:s, s:s, s:s, s:[i,i], s:O}", "quant_method", "fp8", "fmt", "e4m3",
                     "activation_scheme", "dynamic", "weight_block_size", BLOCK, BLOCK,
                     "modules_to_not_convert", left);
}

const struct qnt_method qnt_fp8 = {
    .name = "fp8", .describe = describe, .give = give, .columns = 1, .config = config};
