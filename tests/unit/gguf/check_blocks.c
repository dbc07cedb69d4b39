/* check_blocks FOLDER: what tensors hold is what their formats say, wherever their rows go. */
#include "frontend/gguf/convert.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include "tests/unit/gguf/writer.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failures;

static void fail(const char *what, const char *got) {
    fprintf(stderr, "FAIL %s: %s\n", what, got);
    failures++;
}

static uint32_t seed = 1;
static uint32_t random_word(void) {
    seed ^= seed << 13;
    seed ^= seed >> 17;
    seed ^= seed << 5;
    return seed;
}

static float half_at(const unsigned char *p) {
    int e = p[1] >> 2 & 31, m = (p[1] & 3) << 8 | p[0];
    float x = e ? ldexpf((float)(1024 + m), e - 25) : ldexpf((float)m, -24);
    return p[1] & 128 ? -x : x;
}

/* Element I of a block, as the definition of its format has it. The products are in this order. */
static float q4_0(const unsigned char *b, int i) {
    return half_at(b) * (float)((i < 16 ? b[2 + i] % 16 : b[2 + i - 16] / 16) - 8);
}
static float q4_1(const unsigned char *b, int i) {
    return half_at(b) * (float)(i < 16 ? b[4 + i] % 16 : b[4 + i - 16] / 16) + half_at(b + 2);
}
static float q5_0(const unsigned char *b, int i) {
    int low = i < 16 ? b[6 + i] % 16 : b[6 + i - 16] / 16, high = b[2 + i / 8] >> i % 8 & 1;
    return half_at(b) * (float)(low + 16 * high - 16);
}
static float q5_1(const unsigned char *b, int i) {
    int low = i < 16 ? b[8 + i] % 16 : b[8 + i - 16] / 16, high = b[4 + i / 8] >> i % 8 & 1;
    return half_at(b) * (float)(low + 16 * high) + half_at(b + 2);
}
static float q8_0(const unsigned char *b, int i) {
    return half_at(b) * (float)(b[2 + i] < 128 ? b[2 + i] : b[2 + i] - 256);
}
static float mxfp4(const unsigned char *b, int i) {
    static const float of[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    int code = i < 16 ? b[1 + i] % 16 : b[1 + i - 16] / 16;
    return ldexpf(code < 8 ? of[code] : -of[code - 8], b[0] - 127);
}
static float nvfp4(const unsigned char *b, int i) {
    static const float of[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    int byte = b[4 + i / 16 * 8 + i % 8], code = i % 16 < 8 ? byte % 16 : byte / 16;
    int scale = b[i / 16] % 128, e = scale / 8, m = scale % 8;
    float d = scale == 127 ? 0 : e ? ldexpf((float)(8 + m), e - 10) : ldexpf((float)m, -9);
    return d * (code < 8 ? of[code] : -of[code - 8]);
}
/* The 6-bit numbers 0..7 (scales) and 8..15 (minima) of the 12 bytes. */
static int six_bits(const unsigned char *s, int n) {
    int group = n % 8, min = n / 8;
    if (group < 4) return s[group + 4 * min] % 64;
    int low = min ? s[group + 4] / 16 : s[group + 4] % 16;
    return low + 16 * (s[group - 4 + 4 * min] / 64);
}
static float q4_k(const unsigned char *b, int i) {
    int group = i / 32, byte = b[16 + group / 2 * 32 + i % 32];
    float d = half_at(b) * (float)six_bits(b + 4, group);
    float m = half_at(b + 2) * (float)six_bits(b + 4, group + 8);
    return d * (float)(group % 2 ? byte / 16 : byte % 16) - m;
}
static float q5_k(const unsigned char *b, int i) {
    int group = i / 32, byte = b[48 + group / 2 * 32 + i % 32], high = b[16 + i % 32] >> group & 1;
    float d = half_at(b) * (float)six_bits(b + 4, group);
    float m = half_at(b + 2) * (float)six_bits(b + 4, group + 8);
    return d * (float)((group % 2 ? byte / 16 : byte % 16) + 16 * high) - m;
}
static float q6_k(const unsigned char *b, int i) {
    int part = i / 128, quarter = i / 32 % 4, l = i % 32;
    int byte = b[64 * part + 32 * (quarter % 2) + l];
    int low = quarter < 2 ? byte % 16 : byte / 16;
    int high = b[128 + 32 * part + l] >> 2 * quarter & 3;
    int scale = b[192 + i / 16] < 128 ? b[192 + i / 16] : b[192 + i / 16] - 256;
    return half_at(b + 208) * (float)scale * (float)(low + 16 * high - 32);
}

/* Each group of 16 of these two has its four in turn: elements 0..31 of a half in the lowest bits.
 */
static int quarter_of(const unsigned char *codes, int i) {
    return codes[32 * (i / 128) + i % 32] / (1 << 2 * (i / 32 % 4)) % 4;
}
static float q2_k(const unsigned char *b, int i) {
    int scale = b[i / 16] % 16, min = b[i / 16] / 16;
    return half_at(b + 80) * (float)scale * (float)quarter_of(b + 16, i) -
           half_at(b + 82) * (float)min;
}
static float q3_k(const unsigned char *b, int i) {
    /* As ggml takes the twelve bytes apart: three words, the third shared out among four. */
    uint32_t aux[4], out[4];
    memcpy(aux, b + 96, 12);
    out[0] = (aux[0] & 0x0f0f0f0f) | (aux[2] & 0x03030303) << 4;
    out[1] = (aux[1] & 0x0f0f0f0f) | (aux[2] >> 2 & 0x03030303) << 4;
    out[2] = (aux[0] >> 4 & 0x0f0f0f0f) | (aux[2] >> 4 & 0x03030303) << 4;
    out[3] = (aux[1] >> 4 & 0x0f0f0f0f) | (aux[2] >> 6 & 0x03030303) << 4;
    int scale = (int)(out[i / 64] >> i / 16 % 4 * 8 & 63) - 32;
    int code = quarter_of(b + 32, i) + 4 * (b[i % 32] >> i / 32 & 1) - 4;
    return half_at(b + 108) * (float)scale * (float)code;
}
static int iq4(int code) {
    static const int of[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                               1,    13,   25,  38,  53,  69,  89,  113};
    return of[code];
}
static float iq4_nl(const unsigned char *b, int i) {
    return half_at(b) * (float)iq4(i < 16 ? b[2 + i] % 16 : b[2 + i - 16] / 16);
}
static float iq4_xs(const unsigned char *b, int i) {
    int group = i / 32, high = (b[2] + 256 * b[3]) >> 2 * group & 3;
    int low = group % 2 ? b[4 + group / 2] / 16 : b[4 + group / 2] % 16;
    int byte = b[8 + 16 * group + i % 16], code = i % 32 < 16 ? byte % 16 : byte / 16;
    return half_at(b) * (float)(low + 16 * high - 32) * (float)iq4(code);
}

static const struct {
    uint32_t type;
    int elements, bytes, halves[3]; /* where halves are, which must be numbers */
    float (*at)(const unsigned char *, int);
} formats[] = {
    {2, 32, 18, {0, -1}, q4_0},       {3, 32, 20, {0, 2, -1}, q4_1},
    {6, 32, 22, {0, -1}, q5_0},       {7, 32, 24, {0, 2, -1}, q5_1},
    {8, 32, 34, {0, -1}, q8_0},       {39, 32, 17, {-1}, mxfp4},
    {12, 256, 144, {0, 2, -1}, q4_k}, {13, 256, 176, {0, 2, -1}, q5_k},
    {14, 256, 210, {208, -1}, q6_k},  {10, 256, 84, {80, 82, -1}, q2_k},
    {11, 256, 110, {108, -1}, q3_k},  {20, 32, 18, {0, -1}, iq4_nl},
    {23, 256, 136, {0, -1}, iq4_xs},  {40, 64, 36, {-1}, nvfp4},
};

enum { TENSORS = 2 };
/* One tensor is longer than what is converted at once, rows of the other change places. */
static const struct {
    const char *name, *made;
    uint64_t dims[2];
} tensors[TENSORS] = {
    {"blk.0.attn_v.weight", "model.layers.0.self_attn.v_proj.weight", {768, 91}},
    {"blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", {512, 64}},
};

/* Blocks of any bytes, but that their halves are numbers. */
static void put_blocks(int f, uint64_t elements, struct buffer *to) {
    for (uint64_t i = 0; i < elements; i += (uint64_t)formats[f].elements) {
        unsigned char block[256];
        for (int k = 0; k < formats[f].bytes; k++)
            block[k] = (unsigned char)(random_word() >> 8);
        for (int k = 0; formats[f].halves[k] >= 0; k++)
            block[formats[f].halves[k] + 1] &= 0xbb;
        if (formats[f].type == 39) block[0] = (unsigned char)(i / 32 % 250); /* subnormal, too */
        put(to, block, (size_t)formats[f].bytes);
    }
}

/* Where in the file element I of tensor T is from: rows of a head of q are its two halves, row by
 * row, there. */
static uint64_t source_of(int t, uint64_t i) {
    uint64_t columns = tensors[t].dims[0], row = i / columns, in_head = row % 16, from = row;
    if (t) from = row - in_head + (in_head < 8 ? 2 * in_head : 2 * (in_head - 8) + 1);
    return from * columns + i % columns;
}

static bool same_values(int f, int t, const unsigned char *blocks,
                        const struct etrt_st_tensor *got) {
    uint64_t n = tensors[t].dims[0] * tensors[t].dims[1], each = (uint64_t)formats[f].elements;
    size_t bytes = etrt_st_dtype_bytes(got->dtype);
    if (got->bytes != n * bytes) return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = source_of(t, i);
        float x = formats[f].at(blocks + at / each * (uint64_t)formats[f].bytes, (int)(at % each));
        uint32_t want = bytes == 4 ? etrt_word_of_f32(x) : etrt_f32_to_bf16(x), have = 0;
        memcpy(&have, (const char *)got->data + i * bytes, bytes);
        bool zero = x == 0 && !(have << (bytes == 4 ? 1 : 17)); /* of either sign */
        if (have != want && !zero) return false;
    }
    return true;
}

/* The file IN, converted, into OUT. */
static bool convert(const char *in, const char *out, const char *type, struct gguf_fault *fault) {
    struct gguf g;
    int rounded;
    et_arena *arena = et_arena_create();
    bool ok = false;
    fault->text[0] = 0;
    if (gguf_open(in, arena, fault, &g)) {
        json_t *heads = json_pack("{s:i, s:i}", "num_attention_heads", 4, "num_key_value_heads", 2);
        struct gguf_plan *p = gguf_plan_make(&g, gguf_family_of(&g),
                                             strcmp(type, "auto") ? type : NULL, heads, &rounded);
        ok = p && gguf_plan_write(p, out);
        json_decref(heads);
        gguf_close(&g);
    }
    et_arena_destroy(arena);
    return ok;
}

static void check_format(int f, const char *folder, const char *type) {
    char in[4096], out[4096], err[ETRT_ST_ERR], what[40];
    struct buffer data[TENSORS] = {{0}};
    struct gguf_fault fault;
    struct writer w;
    struct etrt_st *st = NULL;
    snprintf(what, sizeof what, "format %u to %s", formats[f].type, type);
    snprintf(in, sizeof in, "%s/m.gguf", folder);
    snprintf(out, sizeof out, "%s/m.safetensors", folder);
    writer_init(&w);
    add_small_model(&w, "llama", NULL);
    for (int t = 0; t < TENSORS; t++) {
        put_blocks(f, tensors[t].dims[0] * tensors[t].dims[1], &data[t]);
        add_tensor(&w, tensors[t].name, 2, tensors[t].dims, formats[f].type, data[t].at, data[t].n);
    }
    writer_save(&w, in);
    writer_free(&w);
    if (!convert(in, out, type, &fault))
        fail(what, fault.text);
    else if (!etrt_st_open(out, &st, err, sizeof err))
        fail(what, err);
    for (int t = 0; st && t < TENSORS; t++) {
        const struct etrt_st_tensor *got = etrt_st_find(st, tensors[t].made);
        if (!got || !same_values(f, t, data[t].at, got)) fail(what, tensors[t].name);
    }
    etrt_st_close(st);
    for (int t = 0; t < TENSORS; t++)
        free(data[t].at);
    unlink(in);
    unlink(out);
}

static void check_scale(const char *folder) {
    char in[4096], out[4096];
    unsigned char blocks[2][34] = {{0, 0x3c}, {0, 0x7c}}; /* 1 and infinity */
    struct writer w;
    struct gguf_fault fault;
    snprintf(in, sizeof in, "%s/s.gguf", folder);
    snprintf(out, sizeof out, "%s/s.safetensors", folder);
    writer_init(&w);
    add_small_model(&w, "llama", NULL);
    add_tensor(&w, "blk.0.ffn_up.weight", 2, (uint64_t[]){64, 1}, 8, blocks, sizeof blocks);
    writer_save(&w, in);
    writer_free(&w);
    if (convert(in, out, "auto", &fault) ||
        !strstr(fault.text, "\"blk.0.ffn_up.weight\" has a scale that is no finite number"))
        fail("scale", fault.text);
    unlink(in);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        check_format((int)f, argv[1], "F32");
        check_format((int)f, argv[1], "BF16");
    }
    check_scale(argv[1]);
    printf("%d failures\n", failures);
    return failures != 0;
}
