/* check_gguf: files that are wrong are refused by the name of what is wrong, and what tensors hold
 * is what their formats say. */
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

/* What is said of the file, "" where nothing is wrong with it. */
static const char *verdict(const void *data, size_t bytes) {
    static struct gguf_fault fault;
    struct gguf g;
    struct gguf_vocabulary *v;
    int rounded;
    et_arena *arena = et_arena_create();
    fault.text[0] = 0;
    /* A copy of its own size, so that the sanitizers see what is read beyond it. */
    char *copy = malloc(bytes + !bytes);
    memcpy(copy, data, bytes);
    if (gguf_parse("m.gguf", copy, bytes, arena, &fault, &g)) {
        const struct gguf_family *f = gguf_family_of(&g);
        json_t *config = f ? gguf_config(&g, f, "") : NULL;
        if (config && gguf_vocabulary_read(&g, NULL, &v))
            gguf_plan_make(&g, f, NULL, config, &rounded);
        json_decref(config);
    }
    free(copy);
    et_arena_destroy(arena);
    return fault.text;
}

static void expect(const char *name, const void *data, size_t bytes, const char *words) {
    const char *got = verdict(data, bytes);
    if (*words ? !strstr(got, words) || !strstr(got, "m.gguf") : *got) fail(name, got);
}

/* ---- wrong files: each case puts one thing into a model, or another way than it should be ---- */

struct bad {
    const char *name, *words;
};

static const uint64_t one_row[1] = {64}, rows[2] = {64, 2};
static unsigned char zeros[1 << 14];

static void nested(struct writer *w, int depth) {
    add_key(w, "x.nested", 9);
    for (int i = 0; i < depth; i++) {
        put_u32(&w->values, i + 1 < depth ? 9 : 4);
        put_u64(&w->values, 1);
    }
    put_u32(&w->values, 7);
}

/* A tensor of two rows that says what it is not. */
static void odd_tensor(struct writer *w, uint32_t rank, const uint64_t *dims, uint32_t type,
                       uint64_t offset) {
    put_text(&w->infos, "blk.0.ffn_up.weight");
    put_u32(&w->infos, rank);
    for (uint32_t d = 0; d < rank && d < 6; d++)
        put_u64(&w->infos, dims[d]);
    put_u32(&w->infos, type);
    put_u64(&w->infos, offset);
    w->ntensors++;
}

static void texts(struct writer *w, const char *key, int n, const char *const *list) {
    struct buffer b = {0};
    for (int i = 0; i < n; i++)
        put_text(&b, list[i]);
    add_array(w, key, 8, (uint64_t)n, b.at, b.n);
    free(b.at);
}

static const char *const four[] = {"a", "b", "ab", "<s>"};
static const int32_t four_types[] = {1, 1, 1, 3};
static const float four_scores[] = {-1, -2, -3, 0};

/* WHAT names what is wrong with it. */
static void tokenizer(struct writer *w, const char *what) {
    static const char *const twice[] = {"a", "b", "a", "<s>"}, *const empty[] = {"a", "", "ab",
                                                                                 "c"};
    static const char *const bytes[] = {"a", "\xff\xfe", "ab", "c"};
    static const char *const merge[] = {"a b"}, *const odd[] = {"ab"}, *const three[] = {"a b c"};
    static const char *const half[] = {"a z"}, *const whole[] = {"b a"};
    static const int32_t types[] = {1, 1, 9, 3};
    bool bpe = !strncmp(what, "bpe", 3), sums = !strncmp(what, "sums", 4);
    const char *model = bpe ? "gpt2" : sums ? "t5" : "llama";
    add_text(w, "tokenizer.ggml.model", strcmp(what, "model") ? model : "rwkv");
    if (!strcmp(what, "sums space")) add_bool(w, "tokenizer.ggml.add_space_prefix", false);
    if (!strcmp(what, "sums table"))
        add_array(w, "tokenizer.ggml.precompiled_charsmap", 5, 1, types, 4);
    if (bpe && strcmp(what, "bpe no pre"))
        add_text(w, "tokenizer.ggml.pre", strcmp(what, "bpe pre") ? "gpt-2" : "wobble");
    if (bpe && strcmp(what, "bpe no merges"))
        texts(w, "tokenizer.ggml.merges", 1,
              !strcmp(what, "bpe merge")      ? odd
              : !strcmp(what, "bpe three")    ? three
              : !strcmp(what, "bpe no half")  ? half
              : !strcmp(what, "bpe no whole") ? whole
                                              : merge);
    if (strcmp(what, "no tokens"))
        texts(w, "tokenizer.ggml.tokens", 4,
              !strcmp(what, "twice")       ? twice
              : !strncmp(what, "empty", 5) ? empty
              : !strcmp(what, "bytes")     ? bytes
                                           : four);
    if (strcmp(what, "no scores"))
        add_array(w, "tokenizer.ggml.scores", 6, strcmp(what, "scores") ? 4 : 3, four_scores,
                  strcmp(what, "scores") ? 16 : 12);
    add_array(w, "tokenizer.ggml.token_type", 5, 4, strcmp(what, "types") ? four_types : types, 16);
    add_u32(w, "tokenizer.ggml.bos_token_id",
            !strcmp(what, "bos")         ? 4
            : !strcmp(what, "empty bos") ? 1
                                         : 3);
    if (!strcmp(what, "suppressed")) add_array(w, "tokenizer.ggml.suppress_tokens", 5, 1, types, 4);
    if (strstr(what, "lower case"))
        add_bool(w, "tokenizer.ggml.normalizer.lowercase", *what == 'l');
    if (!strcmp(what, "a name")) add_u32(w, "tokenizer.ggml.fim_rep_token_id", 2);
}

static const struct bad bad_headers[] = {
    {"version 1", "is version 1 of GGUF; supported: 2, 3"},
    {"version 4", "is version 4"},
    {"big-endian", "big-endian"},
    {"many values", "metadata, which its"},
    {"many tensors", "says that it has 72057594037927936 tensors"},
    {"one value more", "tensor 0 has text that is longer than the file"},
    {"no key", "has a name that no key may have"},
    {"odd key", "has a name that no key may have"},
    {"type 13", "metadata 9 \"x.y\" is of an unknown type"},
    {"array of 13", "is an array of items of an unknown type"},
    {"long array", "has more items than the file has bytes"},
    {"longer array", "goes on beyond the end of the file"},
    {"long text", "has text that is longer than the file"},
    {"nested 3", ""},
    {"nested 20", "is arrays inside of arrays, too deep"},
    {"bool 2", "is neither true nor false"},
    {"key twice", "metadata \"llama.block_count\" is there twice"},
    {"alignment 7", "\"general.alignment\" is 7"},
    {"alignment 0", "\"general.alignment\" is 0"},
    {"alignment text", "\"general.alignment\" is text, expected an integer"},
    {"alignment 64", ""},
    {"tensor twice", "tensor \"token_embd.weight\" is there twice"},
    {"rank 0", "has no shape of 1 to 4 dimensions"},
    {"rank 5", "has no shape of 1 to 4 dimensions"},
    {"dim 0", "has a dimension of 0"},
    {"dims too large", "has more elements than there can be"},
    {"type IQ2_XXS", "is type 16 (IQ2_XXS), which is not supported"},
    {"type 99", "is type 99, which is not supported"},
    {"odd row", "is Q8_0, whose rows are multiples of 32; they have 33"},
    {"odd offset", "does not begin at a multiple of general.alignment"},
    {"far offset", "tensor 1 \"blk.0.ffn_up.weight\" goes on beyond the end of the file"},
    {"offset overflow", "goes on beyond the end of the file"},
    {"overlap", "overlap"},
};

static void put_header_case(struct writer *w, const char *n) {
    static const uint64_t none[6] = {0}, large[6] = {UINT32_MAX, UINT32_MAX, 2}, odd[2] = {33, 2};
    if (!strcmp(n, "version 1")) w->version = 1;
    if (!strcmp(n, "version 4")) w->version = 4;
    if (!strcmp(n, "big-endian")) w->version = 3 << 24;
    if (!strcmp(n, "many values")) w->nvalues = (uint64_t)1 << 56;
    if (!strcmp(n, "many tensors")) w->ntensors = (uint64_t)1 << 56;
    if (!strcmp(n, "one value more")) w->nvalues++;
    if (!strcmp(n, "no key")) add_u32(w, "", 1);
    if (!strcmp(n, "odd key")) add_u32(w, "a b", 1);
    if (!strcmp(n, "type 13")) add_key(w, "x.y", 13);
    if (!strcmp(n, "array of 13")) add_array(w, "x.y", 13, 1, zeros, 4);
    if (!strcmp(n, "long array")) add_array(w, "x.y", 8, (uint64_t)1 << 60, zeros, 4);
    if (!strcmp(n, "longer array")) add_array(w, "x.y", 10, 1000, zeros, 4);
    if (!strcmp(n, "long text")) {
        add_key(w, "x.y", 8);
        put_u64(&w->values, UINT64_MAX - 7);
    }
    if (!strcmp(n, "nested 3")) nested(w, 3);
    if (!strcmp(n, "nested 20")) nested(w, 20);
    if (!strcmp(n, "bool 2")) {
        add_key(w, "x.y", 7);
        put(&w->values, &(unsigned char){2}, 1);
    }
    if (!strcmp(n, "key twice")) add_u32(w, "llama.block_count", 2);
    if (!strcmp(n, "alignment 7")) add_u32(w, "general.alignment", 7);
    if (!strcmp(n, "alignment 0")) add_u32(w, "general.alignment", 0);
    if (!strcmp(n, "alignment text")) add_text(w, "general.alignment", "32");
    if (!strcmp(n, "alignment 64")) add_u32(w, "general.alignment", w->alignment = 64);
    if (!strcmp(n, "tensor twice"))
        add_tensor(w, "token_embd.weight", 1, one_row, 0, zeros, 64 * 4);
    if (!strcmp(n, "rank 0")) odd_tensor(w, 0, none, 0, 0);
    if (!strcmp(n, "rank 5")) odd_tensor(w, 5, none, 0, 0);
    if (!strcmp(n, "dim 0")) odd_tensor(w, 2, none, 0, 0);
    if (!strcmp(n, "dims too large")) odd_tensor(w, 3, large, 0, 0);
    if (!strcmp(n, "type IQ2_XXS")) odd_tensor(w, 2, rows, 16, 0);
    if (!strcmp(n, "type 99")) odd_tensor(w, 2, rows, 99, 0);
    if (!strcmp(n, "odd row")) odd_tensor(w, 2, odd, 8, 0);
    if (!strcmp(n, "odd offset")) odd_tensor(w, 2, rows, 0, 4);
    if (!strcmp(n, "far offset")) odd_tensor(w, 2, rows, 0, 4096);
    if (!strcmp(n, "offset overflow")) odd_tensor(w, 2, rows, 0, UINT64_MAX - 31);
    if (!strcmp(n, "overlap")) odd_tensor(w, 2, rows, 0, 32);
}

/* What is wrong with what a well-formed file says. */
static const struct {
    const char *name, *key, *text;
    uint32_t number;
    float real;
    const char *words;
} bad_values[] = {
    {"unknown key", "llama.wobble", NULL, 3, 0, "\"llama.wobble\" may change what is computed"},
    {"unknown text", "llama.wobble", "x", 0, 0, "\"llama.wobble\" may change what is computed"},
    {"unknown 0", "llama.wobble", NULL, 0, 0, ""},
    {"unknown empty", "llama.wobble", "", 0, 0, ""},
    {"other family's", "qwen3.wobble", NULL, 3, 0, ""},
    {"parts", "split.count", NULL, 3, 0, "is one of 3 parts of a model (metadata \"split.count\")"},
    {"adapter", "general.type", "adapter", 0, 0, "\"general.type\" is \"adapter\""},
    {"layout", "llama.tensor_data_layout", "wobble", 0, 0, "\"llama.tensor_data_layout\""},
    {"value length", "llama.attention.value_length", NULL, 8, 0,
     "is 8, but the length of keys is 16"},
    {"key length", "llama.attention.key_length", NULL, 8, 0,
     "\"llama.rope.dimension_count\" is 16, but the width of heads is 8"},
    {"scaling type", "llama.rope.scaling.type", "longrope", 0, 0,
     "\"longrope\"; supported: none, linear, yarn"},
    {"yarn", "llama.rope.scaling.type", "yarn", 0, 0,
     "rope.scaling.original_context_length\" is missing"},
    {"scaling text", "llama.rope.scaling.factor", "4", 0, 0, "is text, expected a number"},
    {"scaling range", "llama.rope.scaling.factor", NULL, 0, -2,
     "rope.scaling.factor\" is -2, out of range"},
    {"base text", "llama.rope.freq_base", "x", 0, 0, "\"llama.rope.freq_base\" is text"},
    {"base inf", "llama.rope.freq_base", NULL, 0, INFINITY, "is no finite number"},
    {"experts text", "llama.expert_count", "x", 0, 0, "\"llama.expert_count\" is text"},
    {"experts", "llama.expert_count", NULL, 4, 0, "\"llama.expert_used_count\" is missing"},
    {"eos text", "tokenizer.ggml.eos_token_id", "x", 0, 0, "tokenizer.ggml.eos_token_id\" is text"},
    {"chat", "tokenizer.ggml.model", "wobble", 0, 0, "is \"wobble\"; supported: gpt2, llama"},
};

static const struct bad bad_tokenizers[] = {
    {"right", ""},
    {"bpe", ""},
    {"model", "\"tokenizer.ggml.model\" is \"rwkv\""},
    {"sums", ""},
    {"sums space", "\"tokenizer.ggml.add_space_prefix\" is false"},
    {"sums table", "\"tokenizer.ggml.precompiled_charsmap\" is no list of bytes"},
    {"bpe pre", "\"tokenizer.ggml.pre\" is \"wobble\""},
    {"bpe no pre", "\"tokenizer.ggml.pre\" is missing"},
    {"bpe no merges", "\"tokenizer.ggml.merges\" is missing"},
    {"bpe merge", "merge 0 (\"ab\") is not two pieces"},
    {"bpe three", "merge 0 (\"a b c\") is not two pieces"},
    {"bpe no half", "merge 0 (\"a z\") is of pieces, or makes one, that are no tokens"},
    {"bpe no whole", "merge 0 (\"b a\") is of pieces"},
    {"no tokens", "\"tokenizer.ggml.tokens\" is missing"},
    {"twice", "token 2 (\"a\") is there twice"},
    {"empty", ""},
    {"empty bos", "\"tokenizer.ggml.bos_token_id\" is 1, a token without text"},
    {"bytes", "token 1 (\"\?\?\") is not UTF-8, or has a byte 0"},
    {"no scores", "\"tokenizer.ggml.scores\" is missing"},
    {"scores", "has 3 items for 4 tokens"},
    {"types", "token 2 (\"ab\") is of a type that is not known"},
    {"bos", "\"tokenizer.ggml.bos_token_id\" is 4, but there are 4 tokens"},
    {"suppressed", "\"tokenizer.ggml.suppress_tokens\" may change how text is read"},
    {"lower case", "may change how text is read, and nothing is known of it"},
    {"no lower case", ""},
    {"a name", ""},
};

/* A tensor that the model has no place for, or not like this. */
static const struct {
    const char *name, *tensor;
    int rank;
    uint64_t dims[3];
    const char *words;
} bad_tensors[] = {
    {"unknown",
     "blk.0.wobble.weight",
     1,
     {64},
     "tensor \"blk.0.wobble.weight\" has no place in a llama model"},
    {"no layer", "blk.x.attn_q.weight", 1, {64}, "has no place"},
    {"layer 00", "blk.00.attn_q.weight", 1, {64}, "has no place"},
    {"no number", "attn_q.weight", 1, {64}, "has no place"},
    {"layered", "blk.0.output.weight", 1, {64}, "has no place"},
    {"cube", "blk.0.attn_v.weight", 3, {4, 4, 4}, "has more than two dimensions"},
    {"heads", "blk.0.attn_q.weight", 2, {4, 12}, "does not have rows for each head"},
    {"key heads", "blk.0.attn_k.weight", 2, {4, 10}, "does not have rows for each head"},
    {"other family's", "blk.0.attn_q_norm.weight", 1, {16}, "has no place"},
    {"divisors", "rope_freqs.weight", 1, {7}, "is not one F32 for each two elements of a head"},
    {"divisors of 0", "rope_freqs.weight", 1, {8}, "has frequencies that no known rule gives"},
    {"right", "blk.0.attn_q.weight", 2, {4, 16}, ""},
};

static const struct {
    const char *arch, *without, *words;
} bad_models[] = {
    {"llama", NULL, ""},
    {"gemma", NULL, ""},
    {"gemma2", NULL, ""},
    {"gemma3", NULL, ""},
    {"qwen2", NULL, ""},
    {"qwen3", NULL, ""},
    {"wobble", NULL,
     "\"general.architecture\" is \"wobble\", which is not supported; supported: llama, qwen2"},
    {"qwen3", "block_count", "\"qwen3.block_count\" is missing"},
    {"qwen3", "context_length", "\"qwen3.context_length\" is missing"},
    {"qwen3", "attention.layer_norm_rms_epsilon", "layer_norm_rms_epsilon\" is missing"},
    {"qwen3", "attention.head_count_kv", ""},
    {"qwen3moe", NULL, "\"qwen3moe.expert_count\" is missing"},
};

static void check_headers(void) {
    for (size_t i = 0; i < sizeof bad_headers / sizeof *bad_headers; i++) {
        struct writer w;
        writer_init(&w);
        bool wide = !strcmp(bad_headers[i].name, "alignment 64");
        if (wide) w.alignment = 64;
        add_small_model(&w, "llama", NULL);
        put_header_case(&w, bad_headers[i].name);
        struct buffer b = writer_file(&w);
        expect(bad_headers[i].name, b.at, b.n, bad_headers[i].words);
        free(b.at);
        writer_free(&w);
    }
    expect("empty", "", 0, "is no GGUF file");
    expect("other", "GGML    ", 8, "is no GGUF file");
}

static void check_values(void) {
    for (size_t i = 0; i < sizeof bad_values / sizeof *bad_values; i++) {
        struct writer w;
        writer_init(&w);
        add_small_model(&w, "llama", NULL);
        if (bad_values[i].text)
            add_text(&w, bad_values[i].key, bad_values[i].text);
        else if (bad_values[i].real != 0)
            add_f32(&w, bad_values[i].key, bad_values[i].real);
        else
            add_u32(&w, bad_values[i].key, bad_values[i].number);
        struct buffer b = writer_file(&w);
        expect(bad_values[i].name, b.at, b.n, bad_values[i].words);
        free(b.at);
        writer_free(&w);
    }
}

static void check_models(void) {
    for (size_t i = 0; i < sizeof bad_models / sizeof *bad_models; i++) {
        struct writer w;
        writer_init(&w);
        add_small_model(&w, bad_models[i].arch, bad_models[i].without);
        struct buffer b = writer_file(&w);
        expect(bad_models[i].arch, b.at, b.n, bad_models[i].words);
        /* Cut anywhere, it is refused. */
        for (size_t n = 0; i == 0 && n < b.n; n++)
            expect("cut", b.at, n, "m.gguf");
        free(b.at);
        writer_free(&w);
    }
    for (size_t i = 0; i < sizeof bad_tensors / sizeof *bad_tensors; i++) {
        struct writer w;
        uint64_t bytes = 4;
        writer_init(&w);
        add_small_model(&w, "llama", NULL);
        for (int d = 0; d < bad_tensors[i].rank; d++)
            bytes *= bad_tensors[i].dims[d];
        add_tensor(&w, bad_tensors[i].tensor, bad_tensors[i].rank, bad_tensors[i].dims, 0, zeros,
                   bytes);
        struct buffer b = writer_file(&w);
        expect(bad_tensors[i].name, b.at, b.n, bad_tensors[i].words);
        free(b.at);
        writer_free(&w);
    }
}

static void check_tokenizers(void) {
    for (size_t i = 0; i < sizeof bad_tokenizers / sizeof *bad_tokenizers; i++) {
        struct writer w;
        writer_init(&w);
        add_small_model(&w, "llama", NULL);
        tokenizer(&w, bad_tokenizers[i].name);
        struct buffer b = writer_file(&w);
        expect(bad_tokenizers[i].name, b.at, b.n, bad_tokenizers[i].words);
        free(b.at);
        writer_free(&w);
    }
}

int main(void) {
    check_headers();
    check_values();
    check_models();
    check_tokenizers();
    printf("%d failures\n", failures);
    return failures != 0;
}
