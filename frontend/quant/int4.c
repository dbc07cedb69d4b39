/* int4.c - integers of 4 bits with a scale for each 128 columns of a row, symmetric, as
 * compressed-tensors packs them: X.weight_packed has eight codes in a word, the first in its lowest
 * bits, each 8 above what it is; X.weight_scale what that is multiplied by; X.weight_shape the
 * shape that the words do not tell. */
#include "frontend/quant/quant.h"
#include "runtime/etrt_dtype.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GROUP = 128, EACH = 8 }; /* columns of a scale; codes of a word */

static int describe(et_arena *arena, const struct qnt_weight *w,
                    struct etrt_st_tensor out[QNT_MOST]) {
    const char *type = w->from->dtype;
    int64_t words = w->columns / EACH, groups = w->columns / GROUP;
    out[0] = (struct etrt_st_tensor){.name = et_printf(arena, "%s.weight_packed", w->base),
                                     .dtype = "I32",
                                     .rank = 2,
                                     .shape = {w->rows, words},
                                     .bytes = (size_t)(w->rows * words) * 4};
    out[1] =
        (struct etrt_st_tensor){.name = et_printf(arena, "%s.weight_scale", w->base),
                                .dtype = type,
                                .rank = 2,
                                .shape = {w->rows, groups},
                                .bytes = (size_t)(w->rows * groups) * etrt_st_dtype_bytes(type)};
    out[2] = (struct etrt_st_tensor){.name = et_printf(arena, "%s.weight_shape", w->base),
                                     .dtype = "I64",
                                     .rank = 1,
                                     .shape = {2},
                                     .bytes = 2 * sizeof(int64_t)};
    return 3;
}

/* The bits of the least number of the weight's type that is no less than SCALE, and that number. */
static uint32_t round_up(const char *type, float scale, float *out) {
    bool brain = *type == 'B', half = !brain && type[1] == '1';
    uint32_t bits = brain  ? etrt_f32_to_bf16(scale)
                    : half ? etrt_f32_to_f16(scale)
                           : etrt_word_of_f32(scale);
    for (;; bits++) {
        *out = brain  ? etrt_bf16_to_f32(bits)
               : half ? etrt_f16_to_f32(bits)
                      : etrt_f32_of_word(bits);
        if (*out >= scale && *out > 0) return bits;
    }
}

/* From -8 to 7 there are 15 steps, so that the largest value on either side is at most half a step
 * from a code. The scale is rounded up, or it could be a little more. */
static uint32_t scale_of(const char *type, const float *group, float *out) {
    float most = 0;
    for (int i = 0; i < GROUP; i++)
        most = fmaxf(most, fabsf(group[i]));
    return round_up(type, most == 0 ? 1 : most / 7.5f, out);
}

static uint32_t code_of(float x, float scale) {
    float q = nearbyintf(x / scale);
    return (uint32_t)(8 + (int)(q < -8 ? -8 : q > 7 ? 7 : q));
}

static bool give_row(const struct qnt_weight *w, bool scales, const float *row, uint32_t *words,
                     struct etrt_st_sink *to) {
    const char *type = w->from->dtype;
    size_t bytes = etrt_st_dtype_bytes(type);
    bool ok = true;
    for (int64_t g = 0; ok && g < w->columns / GROUP; g++) {
        float scale;
        const float *group = row + g * GROUP;
        uint32_t bits = scale_of(type, group, &scale);
        if (scales) {
            ok = etrt_st_put(to, &bits, bytes);
            continue;
        }
        for (int i = 0; i < GROUP; i++) {
            uint32_t *word = &words[(g * GROUP + i) / EACH];
            if (i % EACH == 0) *word = 0;
            *word |= code_of(group[i], scale) << (4 * (i % EACH));
        }
    }
    return ok && (scales || etrt_st_put(to, words, (size_t)(w->columns / EACH) * sizeof *words));
}

static bool give(const struct qnt_weight *w, int which, struct etrt_st_sink *to,
                 struct qnt_fault *fault) {
    int64_t shape[2] = {w->rows, w->columns};
    if (which == 2) return etrt_st_put(to, shape, sizeof shape);
    float *row = qnt_rows_make(w, 1, fault);
    uint32_t *words = malloc((size_t)(w->columns / EACH + 1) * sizeof *words);
    bool ok = row && (words || qnt_fail(fault, "out of memory"));
    for (int64_t r = 0; ok && r < w->rows; r++)
        ok = qnt_rows(w, r, 1, row, fault) && give_row(w, which == 1, row, words, to);
    free(row);
    free(words);
    return ok;
}

static json_t *config(json_t *left) {
    json_t *weights =
        json_pack("{s:i, s:s, s:s, s:i, s:b, s:b, s:n}", "num_bits", 4, "type", "int", "strategy",
                  "group", "group_size", GROUP, "symmetric", 1, "dynamic", 0, "actorder");
    json_t *group = json_pack("{s:[s], s:o, s:n, s:n}", "targets", "Linear", "weights", weights,
                              "input_activations", "output_activations");
    return json_pack("{s:s, s:s, s:s, s:O, s:{s:o}}", "quant_method", "compressed-tensors",
                     "format", "pack-quantized", "quantization_status", "compressed", "ignore",
                     left, "config_groups", "group_0", group);
}

const struct qnt_method qnt_int4 = {
    .name = "int4", .describe = describe, .give = give, .columns = GROUP, .config = config};
