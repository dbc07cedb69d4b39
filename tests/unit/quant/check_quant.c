/* check_quant make FOLDER TYPE: a checkpoint of matrices that are awkward to quantise.
 * check_quant fp8|int4 FROM MADE [head]: every value of a quantised weight, of the head too where
 * that is said, is the nearest that its codes and scale have, and what stays is what it was. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include <jansson.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why) {
    fprintf(stderr, "check_quant: %s: %s\n", what, why);
    exit(1);
}

static float value_at(const struct etrt_st_tensor *t, int64_t i) {
    uint32_t word = 0;
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    memcpy(&word, (const char *)t->data + (size_t)i * bytes, bytes);
    if (!strcmp(t->dtype, "BF16")) return etrt_bf16_to_f32(word);
    return !strcmp(t->dtype, "F16") ? etrt_f16_to_f32(word) : etrt_f32_of_word(word);
}

/* ---- a checkpoint ---- */

static uint32_t seed = 7;
static float random_value(void) { /* of many sizes */
    seed = seed * 1664525 + 1013904223;
    float x = (float)(int32_t)seed / 2147483648.0f;
    seed = seed * 1664525 + 1013904223;
    return x * ldexpf(1, -(int)(seed >> 24) % 12);
}

enum { MOST = 16 };
static struct etrt_st_tensor made[MOST];
static int nmade;

/* NAME with random values; in ZERO, from that column on, 128 columns are 0. */
static void matrix(const char *name, const char *type, int64_t rows, int64_t columns,
                   int64_t zero) {
    size_t bytes = etrt_st_dtype_bytes(type), n = (size_t)(rows * (columns ? columns : 1));
    unsigned char *data = malloc(n * bytes);
    for (size_t i = 0; i < n; i++) {
        int64_t c = columns ? (int64_t)i % columns : 0;
        float x = zero >= 0 && c >= zero && c < zero + 128 ? 0 : random_value();
        if (i % 997 == 5) x *= 50;
        uint32_t word = !strcmp(type, "BF16")  ? etrt_f32_to_bf16(x)
                        : !strcmp(type, "F16") ? etrt_f32_to_f16(x)
                                               : etrt_word_of_f32(x);
        memcpy(data + i * bytes, &word, bytes);
    }
    made[nmade++] = (struct etrt_st_tensor){.name = name,
                                            .dtype = type,
                                            .rank = columns ? 2 : 1,
                                            .shape = {rows, columns},
                                            .data = data,
                                            .bytes = n * bytes};
}

static int make(const char *folder, const char *type) {
    char path[4096], err[ETRT_ST_ERR];
    matrix("model.embed_tokens.weight", type, 10, 256, -1);
    matrix("model.norm.weight", type, 256, 0, -1);
    matrix("lm_head.weight", type, 10, 256, -1);
    matrix("model.layers.0.input_layernorm.weight", type, 256, 0, -1);
    matrix("model.layers.0.self_attn.q_proj.weight", type, 130, 256, 128);
    matrix("model.layers.0.self_attn.q_proj.bias", type, 130, 0, -1);
    matrix("model.layers.0.self_attn.o_proj.weight", type, 256, 130, 0);
    matrix("model.layers.0.mlp.gate.weight", type, 4, 256, -1);
    matrix("model.layers.0.mlp.experts.0.up_proj.weight", type, 1, 384, -1);
    matrix("model.layers.11.mlp.experts.3.down_proj.weight", type, 300, 1024, 512);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    if (!etrt_st_write(path, made, (size_t)nmade, err, sizeof err)) die(path, err);
    for (int i = 0; i < nmade; i++)
        free((void *)(uintptr_t)made[i].data);
    return 0;
}

/* ---- what codes mean ---- */

static float e4m3(unsigned code) {
    int e = code >> 3 & 15, m = code & 7;
    float x = e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);
    if (e == 15 && m == 7) return NAN;
    return code & 128 ? -x : x;
}

static const struct etrt_st_tensor *find(const struct etrt_st *st, const char *base,
                                         const char *end, const char *type) {
    char name[400];
    snprintf(name, sizeof name, "%s%s", base, end);
    const struct etrt_st_tensor *t = etrt_st_find(st, name);
    if (!t) die(name, "missing");
    if (strcmp(t->dtype, type) != 0) die(name, t->dtype);
    return t;
}

static bool has_shape(const struct etrt_st_tensor *t, int64_t rows, int64_t columns) {
    return t->rank == 2 && t->shape[0] == rows && t->shape[1] == columns;
}

/* |X - GOT| is no more than that of the codes beside GOT: then it is no more than of any. */
static void check_nearest(const char *name, float x, float got, float scale, float below,
                          float above) {
    float least = fminf(fabsf(x / scale - below), fabsf(x / scale - above));
    if (fabsf(x / scale - got) <= least * 1.00001f) return;
    fprintf(stderr, "%s: %g at scale %g became %g\n", name, (double)x, (double)scale, (double)got);
    exit(1);
}

/* The codes beside a code of e4m3. */
static void beside(unsigned code, float *below, float *above) {
    unsigned sign = code & 128, m = code & 127;
    float inner = m ? e4m3(sign | (m - 1)) : e4m3(129);
    float outer = e4m3(sign | (m < 126 ? m + 1 : m - 1));
    *below = inner;
    *above = m ? outer : e4m3(1);
}

static void check_fp8(const struct etrt_st_tensor *from, const char *base,
                      const struct etrt_st *st) {
    int64_t rows = from->shape[0], columns = from->shape[1];
    int64_t down = (rows + 127) / 128, across = (columns + 127) / 128;
    float codes[256], beside_of[256][2];
    const struct etrt_st_tensor *t = find(st, base, ".weight", "F8_E4M3");
    const struct etrt_st_tensor *s = find(st, base, ".weight_scale_inv", "F32");
    if (!has_shape(t, rows, columns) || !has_shape(s, down, across)) die(base, "shape");
    for (unsigned i = 0; i < 256; i++) {
        codes[i] = e4m3(i);
        beside(i, &beside_of[i][0], &beside_of[i][1]);
    }
    float *most = calloc((size_t)(down * across), sizeof *most);
    for (int64_t i = 0; i < rows * columns; i++) {
        int64_t block = i / columns / 128 * across + i % columns / 128;
        float got = codes[((const unsigned char *)t->data)[i]], scale = value_at(s, block);
        float below = beside_of[((const unsigned char *)t->data)[i]][0];
        float above = beside_of[((const unsigned char *)t->data)[i]][1];
        if (got != got) die(base, "a NaN");
        check_nearest(base, value_at(from, i), got, scale, below, above);
        most[block] = fmaxf(most[block], fabsf(got));
    }
    /* The whole range is used. */
    for (int64_t b = 0; b < down * across; b++)
        if (most[b] != 448 && !(most[b] == 0 && value_at(s, b) == 1))
            die(base, "a scale is too large");
    free(most);
}

static void check_int4(const struct etrt_st_tensor *from, const char *base,
                       const struct etrt_st *st) {
    int64_t rows = from->shape[0], columns = from->shape[1], shape[2];
    const struct etrt_st_tensor *t = find(st, base, ".weight_packed", "I32");
    const struct etrt_st_tensor *s = find(st, base, ".weight_scale", from->dtype);
    const struct etrt_st_tensor *told = find(st, base, ".weight_shape", "I64");
    if (!has_shape(t, rows, columns / 8) || !has_shape(s, rows, columns / 128) || told->bytes != 16)
        die(base, "shape");
    memcpy(shape, told->data, sizeof shape);
    if (shape[0] != rows || shape[1] != columns) die(base, "weight_shape");
    for (int64_t i = 0; i < rows * columns; i++) {
        uint32_t word;
        memcpy(&word, (const char *)t->data + i / 8 * 4, 4);
        float got = (float)(word >> (4 * (i % 8)) & 15) - 8, scale = value_at(s, i / 128);
        float x = value_at(from, i);
        check_nearest(base, x, got, scale, got > -8 ? got - 1 : 7, got < 7 ? got + 1 : -8);
        if (!(fabsf(x - got * scale) <= 0.50001f * scale)) die(base, "more than half a step");
    }
    for (int64_t g = 0; g < rows * columns / 128; g++) {
        float most = 0, scale = value_at(s, g);
        for (int64_t i = 0; i < 128; i++)
            most = fmaxf(most, fabsf(value_at(from, g * 128 + i)));
        if (most ? scale > most / 7.5f * 1.01f : scale != 1) die(base, "a scale is too large");
    }
}

/* ---- what stays ---- */

static bool is_listed(const json_t *list, const char *name) {
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!strcmp(json_string_value(json_array_get(list, i)), name)) return true;
    return false;
}

static const json_t *left_of(const json_t *config, bool fp8) {
    const json_t *q = json_object_get(config, "quantization_config"), *rows, *columns;
    const char *method = json_string_value(json_object_get(q, "quant_method"));
    if (fp8) {
        const json_t *block = json_object_get(q, "weight_block_size");
        rows = json_array_get(block, 0);
        columns = json_array_get(block, 1);
        if (strcmp(method, "fp8") || json_integer_value(rows) != 128 ||
            json_integer_value(columns) != 128 ||
            strcmp(json_string_value(json_object_get(q, "fmt")), "e4m3"))
            die("quantization_config", method);
        return json_object_get(q, "modules_to_not_convert");
    }
    const json_t *group = json_object_get(json_object_get(q, "config_groups"), "group_0");
    const json_t *w = json_object_get(group, "weights");
    if (strcmp(method, "compressed-tensors") ||
        strcmp(json_string_value(json_object_get(q, "format")), "pack-quantized") ||
        json_integer_value(json_object_get(w, "num_bits")) != 4 ||
        json_integer_value(json_object_get(w, "group_size")) != 128 ||
        !json_is_true(json_object_get(w, "symmetric")) ||
        strcmp(json_string_value(json_object_get(w, "strategy")), "group") ||
        strcmp(json_string_value(json_object_get(w, "type")), "int"))
        die("quantization_config", method);
    return json_object_get(q, "ignore");
}

/* What was the head, be it the embedding, has codes as "lm_head", and TO ties nothing. */
static void check_head(const struct etrt_st *from, const struct etrt_st *to, bool fp8,
                       const json_t *config) {
    const struct etrt_st_tensor *t = etrt_st_find(from, "lm_head.weight");
    if (!t) t = etrt_st_find(from, "model.embed_tokens.weight");
    if (!t) die("lm_head", "there is none");
    fp8 ? check_fp8(t, "lm_head", to) : check_int4(t, "lm_head", to);
    if (json_is_true(json_object_get(config, "tie_word_embeddings")))
        die("config", "ties the head");
}

static int check(const char *how, const char *folder, const char *out, bool head) {
    char path[4096], err[ETRT_ST_ERR], base[300];
    struct etrt_st *a, *b;
    bool fp8 = !strcmp(how, "fp8");
    int quantised = 0;
    snprintf(path, sizeof path, "%s/config.json", out);
    json_t *config = json_load_file(path, 0, NULL);
    if (!config) die(path, "no JSON");
    const json_t *left = left_of(config, fp8);
    if (is_listed(left, "lm_head") == head) die(path, "lm_head is listed, or is not");
    if (!etrt_st_open(folder, &a, err, sizeof err) || !etrt_st_open(out, &b, err, sizeof err))
        die(folder, err);
    for (size_t i = 0; i < etrt_st_count(a); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(a, i), *same = etrt_st_find(b, t->name);
        const char *name = t->name;
        if (head && !strcmp(name, "lm_head.weight")) continue;
        snprintf(base, sizeof base, "%.*s", (int)(strlen(name) - strlen(".weight")), name);
        bool stays = t->rank != 2 || strstr(name, "embed") || strstr(name, "lm_head") ||
                     strstr(name, ".gate.") || (!fp8 && t->shape[1] % 128);
        if (!stays) {
            fp8 ? check_fp8(t, base, b) : check_int4(t, base, b);
            if (is_listed(left, base)) die(name, "is quantised, and listed");
            quantised++;
            continue;
        }
        if (!same || same->bytes != t->bytes || strcmp(same->dtype, t->dtype) ||
            memcmp(same->data, t->data, t->bytes))
            die(name, "did not stay");
        if (t->rank == 2 && !strstr(name, "embed") && !is_listed(left, base))
            die(name, "is not listed");
    }
    if (head) check_head(a, b, fp8, config);
    etrt_st_close(a);
    etrt_st_close(b);
    json_decref(config);
    printf("%d weights\n", quantised);
    return quantised < 2;
}

/* ---- pruned ---- */

/* Of the N values from I on two are as they were, at most, and the largest; the others are zero. */
static void check_four(const struct etrt_st_tensor *a, const struct etrt_st_tensor *b, int64_t i,
                       int64_t n) {
    float least = HUGE_VALF, most = 0;
    int kept = 0, nonzero = 0;
    for (int64_t k = i; k < i + n; k++) {
        float was = fabsf(value_at(a, k));
        if (value_at(b, k) != 0 && value_at(b, k) != value_at(a, k))
            die(a->name, "has another value");
        nonzero += was > 0;
        if (value_at(b, k) != 0) {
            kept++;
            least = fminf(least, was);
        } else {
            most = fmaxf(most, was);
        }
    }
    if (kept > 2 || most > least || kept < (nonzero < 2 ? nonzero : 2))
        die(a->name, "does not have the two largest of four");
}

static int check_pruned(const char *folder, const char *to) {
    char err[ETRT_ST_ERR];
    struct etrt_st *a, *b;
    int pruned = 0;
    if (!etrt_st_open(folder, &a, err, sizeof err)) die(folder, err);
    if (!etrt_st_open(to, &b, err, sizeof err)) die(to, err);
    for (size_t i = 0; i < etrt_st_count(a); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(a, i), *is = etrt_st_find(b, t->name);
        if (!is || is->bytes != t->bytes || strcmp(is->dtype, t->dtype))
            die(t->name, "is another tensor");
        if (!memcmp(is->data, t->data, t->bytes)) continue;
        if (t->rank != 2 || strstr(t->name, "embed") || strstr(t->name, "lm_head") ||
            strstr(t->name, ".gate."))
            die(t->name, "did not stay");
        for (int64_t r = 0; r < t->shape[0]; r++)
            for (int64_t c = 0; c < t->shape[1]; c += 4)
                check_four(t, is, r * t->shape[1] + c, t->shape[1] - c < 4 ? t->shape[1] - c : 4);
        pruned++;
    }
    etrt_st_close(a);
    etrt_st_close(b);
    printf("%d weights\n", pruned);
    return pruned < 2;
}

/* ---- back again ---- */

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

/* Value I of the weight whose codes T are. */
static float decoded(const struct etrt_st_tensor *t, const struct etrt_st_tensor *s, int64_t i) {
    int64_t columns = t->shape[1], across = s->shape[1];
    uint32_t word;
    if (!strcmp(t->dtype, "F8_E4M3"))
        return e4m3(((const unsigned char *)t->data)[i]) *
               value_at(s, i / columns / 128 * across + i % columns / 128);
    memcpy(&word, (const char *)t->data + i / 8 * 4, 4);
    return ((float)(word >> (4 * (i % 8)) & 15) - 8) * value_at(s, i / 128);
}

static struct etrt_st_tensor dequantised(const struct etrt_st *st, const struct etrt_st_tensor *t) {
    char base[300], name[320];
    bool packed = ends_in(t->name, ".weight_packed");
    size_t cut = strlen(packed ? ".weight_packed" : ".weight");
    snprintf(base, sizeof base, "%.*s", (int)(strlen(t->name) - cut), t->name);
    snprintf(name, sizeof name, "%s%s", base, packed ? ".weight_scale" : ".weight_scale_inv");
    const struct etrt_st_tensor *scales = etrt_st_find(st, name);
    if (!scales) die(name, "missing");
    struct etrt_st_tensor out = *t;
    out.shape[1] *= packed ? 8 : 1;
    int64_t n = out.shape[0] * out.shape[1];
    float *values = malloc((size_t)n * sizeof *values);
    for (int64_t i = 0; i < n; i++)
        values[i] = decoded(t, scales, i);
    snprintf(name, sizeof name, "%s.weight", base);
    out.name = strdup(name);
    out.dtype = "F32";
    out.data = values;
    out.bytes = (size_t)n * sizeof *values;
    return out;
}

static int dequantise(const char *folder, const char *to) {
    static struct etrt_st_tensor out[4096];
    static bool made_here[4096];
    char path[4096], err[ETRT_ST_ERR];
    struct etrt_st *st;
    size_t n = 0;
    if (!etrt_st_open(folder, &st, err, sizeof err)) die(folder, err);
    for (size_t i = 0; i < etrt_st_count(st) && n < 4096; i++) {
        const struct etrt_st_tensor *t = etrt_st_at(st, i);
        bool codes = !strcmp(t->dtype, "F8_E4M3") || ends_in(t->name, ".weight_packed");
        if (strstr(t->name, ".weight_s")) continue; /* scales and shapes */
        made_here[n] = codes;
        out[n++] = codes ? dequantised(st, t) : *t;
    }
    snprintf(path, sizeof path, "%s/model.safetensors", to);
    if (!etrt_st_write(path, out, n, err, sizeof err)) die(path, err);
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, NULL);
    json_object_del(config, "quantization_config");
    snprintf(path, sizeof path, "%s/config.json", to);
    if (json_dump_file(config, path, 0) != 0) die(path, "cannot be written");
    json_decref(config);
    for (size_t i = 0; i < n; i++)
        if (made_here[i]) {
            free((void *)(uintptr_t)out[i].name);
            free((void *)(uintptr_t)out[i].data);
        }
    etrt_st_close(st);
    return 0;
}

int main(int argc, char **argv) {
    bool head = argc == 5 && !strcmp(argv[4], "head");
    if (argc != 4 && !head) return 2;
    if (!strcmp(argv[1], "make")) return make(argv[2], argv[3]);
    if (!strcmp(argv[1], "dequantise")) return dequantise(argv[2], argv[3]);
    if (!strcmp(argv[1], "24")) return check_pruned(argv[2], argv[3]);
    return check(argv[1], argv[2], argv[3], head);
}
