/* make_gguf CHECKPOINT OUT.gguf bf16|f16|f32|FORMAT: what programs that make GGUF files make of a
 * checkpoint: matrices in a format of quantise.h where their rows are whole blocks, else in q8_0;
 * FORMAT may be two with a + between them: v and down of every third layer, and of the first, have
 * the second. make_gguf compare CHECKPOINT CHECKPOINT TYPE: are the weights of the second those of
 * the first, as TYPE holds them (same: in the types they had)? */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include "tests/unit/gguf/quantise.h"
#include "tests/unit/gguf/tokens.h"
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void die(const char *what, const char *why) {
    fprintf(stderr, "make_gguf: %s: %s\n", what, why);
    exit(1);
}

static float value_at(const struct etrt_st_tensor *t, size_t i) {
    const unsigned char *p = t->data;
    uint32_t word = 0;
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    memcpy(&word, p + i * bytes, bytes);
    if (!strcmp(t->dtype, "BF16")) return etrt_bf16_to_f32(word);
    if (!strcmp(t->dtype, "F16")) return etrt_f16_to_f32(word);
    if (strcmp(t->dtype, "F32") != 0) die(t->name, t->dtype);
    return etrt_f32_of_word(word);
}

enum { F32 = 0, F16 = 1, BF16 = 30 };

static uint32_t type_called(const char *name) {
    return !strcmp(name, "bf16") ? BF16 : !strcmp(name, "f16") ? F16 : F32;
}

static size_t type_bytes(uint32_t type) {
    return type == F32 ? 4 : 2;
}

static void store(uint32_t type, float x, unsigned char *to) {
    uint32_t word = type == F32   ? etrt_word_of_f32(x)
                    : type == F16 ? etrt_f32_to_f16(x)
                                  : etrt_f32_to_bf16(x);
    memcpy(to, &word, type_bytes(type));
}

/* ---- names: ends of the checkpoint's, and what they are called in the file ---- */

static const char *const names[][2] = {
    {"model.embed_tokens.weight", "token_embd.weight"},
    {"model.norm.weight", "output_norm.weight"},
    {"lm_head.weight", "output.weight"},
    {"input_layernorm.weight", "attn_norm.weight"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm.weight", "attn_q_norm.weight"},
    {"self_attn.k_norm.weight", "attn_k_norm.weight"},
    {"pre_feedforward_layernorm.weight", "ffn_norm.weight"},
    {"post_feedforward_layernorm.weight", "post_ffw_norm.weight"},
    {"mlp.gate_proj.weight", "ffn_gate.weight"},
    {"mlp.up_proj.weight", "ffn_up.weight"},
    {"mlp.down_proj.weight", "ffn_down.weight"},
    {"mlp.gate.weight", "ffn_gate_inp.weight"},
    {"mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight"},
    {"mlp.shared_expert.gate_proj", "ffn_gate_shexp"},
    {"mlp.shared_expert.up_proj", "ffn_up_shexp"},
    {"mlp.shared_expert.down_proj", "ffn_down_shexp"},
    {"block_sparse_moe.gate.weight", "ffn_gate_inp.weight"},
};

struct model {
    const json_t *config;
    const struct etrt_st *st;
    const char *arch;
    uint32_t type;
    const struct quantiser *quantiser, *other; /* of some layers; or NULL */
    bool gemma, sandwich, llama;
    struct writer w;
};

static int64_t number(const struct model *m, const char *name) {
    return json_integer_value(json_object_get(m->config, name));
}

static int64_t experts_of(const struct model *m) {
    int64_t n = number(m, "num_local_experts");
    return n ? n : number(m, "num_experts");
}

static void name_of(const struct model *m, const char *name, char *out, size_t room) {
    int layer, n = 0;
    const char *rest = name;
    if (sscanf(name, "model.layers.%d.%n", &layer, &n) == 1 && n) rest = name + n;
    char prefix[40] = "";
    if (rest != name) snprintf(prefix, sizeof prefix, "blk.%d.", layer);
    if (!strcmp(rest, "post_attention_layernorm.weight")) {
        snprintf(out, room, "%s%s.weight", prefix,
                 m->sandwich ? "post_attention_norm" : "ffn_norm");
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t k = strlen(names[i][0]);
        if (strncmp(rest, names[i][0], k) != 0) continue;
        if (rest[k] && rest[k] != '.') continue;
        snprintf(out, room, "%s%s%s", prefix, names[i][1], rest + k);
        return;
    }
    die(name, "no name");
}

/* ---- tensors ---- */

/* Row R of the file's tensor is this one of the checkpoint's: heads' halves, row by row. */
static size_t source_row(size_t row, size_t head) {
    size_t i = row % head;
    return row - i + i / 2 + (i % 2) * (head / 2);
}

/* What the matrix NAME with rows of ROW elements is quantised by, or NULL. */
static const struct quantiser *quantiser_of(const struct model *m, const char *name, size_t row) {
    int layer = 0;
    const struct quantiser *q = m->quantiser;
    if (!q) return NULL;
    bool varies = strstr(name, "attn_v.weight") || strstr(name, "ffn_down");
    if (varies && sscanf(name, "blk.%d.", &layer) == 1 && (!layer || layer % 3 == 2)) q = m->other;
    if (row % (size_t)q->elements) q = quantiser_called("q8_0");
    return row % (size_t)q->elements ? NULL : q;
}

static void add_quantised(struct model *m, const char *name, int rank, const uint64_t *dims,
                          const struct quantiser *q, const unsigned char *values, size_t n) {
    struct buffer blocks = {0};
    quantise(q, (const float *)(const void *)values, n, &blocks);
    add_tensor(&m->w, name, rank, dims, q->type, blocks.at, blocks.n);
    free(blocks.at);
}

static void add_one(struct model *m, const struct etrt_st_tensor *t) {
    char name[200];
    uint64_t dims[2] = {1, 1};
    name_of(m, t->name, name, sizeof name);
    for (int d = 0; d < t->rank; d++)
        dims[d] = (uint64_t)t->shape[t->rank - 1 - d];
    bool norm = strstr(t->name, "norm.weight"),
         small = t->rank == 1 || strstr(name, "ffn_gate_inp");
    size_t rows = t->rank == 2 ? dims[1] : dims[0], row = t->rank == 2 ? dims[0] : 1;
    const struct quantiser *q = small ? NULL : quantiser_of(m, name, row);
    uint32_t type = small || q ? F32 : m->type;
    bool turned = m->llama && (strstr(name, "attn_q.") || strstr(name, "attn_k."));
    size_t head = (size_t)number(m, "head_dim");
    unsigned char *data = malloc(rows * row * 4);
    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < row; i++) {
            float x = value_at(t, (turned ? source_row(r, head) : r) * row + i);
            if (norm && m->gemma) x += 1;
            store(type, x, data + (r * row + i) * type_bytes(type));
        }
    int rank = strstr(name, "ffn_gate_inp_shexp") ? 1 : t->rank;
    if (q)
        add_quantised(m, name, rank, dims, q, data, rows * row);
    else
        add_tensor(&m->w, name, rank, dims, type, data, rows * row * type_bytes(type));
    free(data);
}

/* All experts of a layer in one tensor. */
static void add_experts(struct model *m, const char *layer, const char *kind, const char *name,
                        int experts) {
    struct buffer data = {0};
    uint64_t dims[3] = {0, 0, (uint64_t)experts};
    char path[400], file[400];
    const struct quantiser *q = NULL;
    uint32_t type = m->type;
    for (int e = 0; e < experts; e++) {
        snprintf(path, sizeof path, kind, layer, e);
        const struct etrt_st_tensor *t = etrt_st_find(m->st, path);
        if (!t) die(path, "missing");
        dims[0] = (uint64_t)t->shape[1];
        dims[1] = (uint64_t)t->shape[0];
        if (!e) {
            snprintf(file, sizeof file, "blk.%s.ffn_%s_exps.weight", layer, name);
            q = quantiser_of(m, file, dims[0]);
            type = q ? F32 : m->type;
        }
        for (size_t i = 0; i < dims[0] * dims[1]; i++) {
            unsigned char word[4];
            store(type, value_at(t, i), word);
            put(&data, word, type_bytes(type));
        }
    }
    if (q)
        add_quantised(m, file, 3, dims, q, data.at, data.n / sizeof(float));
    else
        add_tensor(&m->w, file, 3, dims, type, data.at, data.n);
    free(data.at);
}

static void add_all_experts(struct model *m) {
    static const char *const kinds[2][3][2] = {
        {{"model.layers.%s.mlp.experts.%d.gate_proj.weight", "gate"},
         {"model.layers.%s.mlp.experts.%d.up_proj.weight", "up"},
         {"model.layers.%s.mlp.experts.%d.down_proj.weight", "down"}},
        {{"model.layers.%s.block_sparse_moe.experts.%d.w1.weight", "gate"},
         {"model.layers.%s.block_sparse_moe.experts.%d.w3.weight", "up"},
         {"model.layers.%s.block_sparse_moe.experts.%d.w2.weight", "down"}}};
    int64_t experts = experts_of(m);
    char layer[24];
    for (int64_t l = 0; experts && l < number(m, "num_hidden_layers"); l++)
        for (int k = 0; k < 3; k++) {
            const char *const *kind = kinds[m->llama][k];
            snprintf(layer, sizeof layer, "%lld", (long long)l);
            add_experts(m, layer, kind[0], kind[1], (int)experts);
        }
}

static void add_tensors(struct model *m) {
    for (size_t i = 0; i < etrt_st_count(m->st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(m->st, i);
        if (!strstr(t->name, ".experts.")) add_one(m, t);
    }
    add_all_experts(m);
}

/* ---- metadata ---- */

static const char *key(const struct model *m, const char *name) {
    static char text[8][120];
    static int turn;
    char *to = text[turn++ % 8];
    snprintf(to, sizeof *text, "%s.%s", m->arch, name);
    return to;
}

static void add_int(struct model *m, const char *name, const char *field) {
    if (json_is_integer(json_object_get(m->config, field)))
        add_u32(&m->w, key(m, name), (uint32_t)number(m, field));
}

static void add_real(struct model *m, const char *name, const char *field) {
    const json_t *j = json_object_get(m->config, field);
    if (json_is_number(j)) add_f32(&m->w, key(m, name), (float)json_number_value(j));
}

/* What llama3 divides each frequency by, as a tensor. */
static void add_divisors(struct model *m, const json_t *rope) {
    float of[256];
    double factor = json_number_value(json_object_get(rope, "factor"));
    double low = json_number_value(json_object_get(rope, "low_freq_factor"));
    double high = json_number_value(json_object_get(rope, "high_freq_factor"));
    double theta = json_number_value(json_object_get(rope, "rope_theta"));
    double old = json_number_value(json_object_get(rope, "original_max_position_embeddings"));
    uint64_t n = (uint64_t)number(m, "head_dim") / 2;
    for (uint64_t i = 0; i < n; i++) {
        double wave = 2 * acos(-1) * pow(theta, (double)i / (double)n);
        double smooth = (old / wave - low) / (high - low);
        of[i] = (float)(wave < old / high  ? 1
                        : wave > old / low ? factor
                                           : 1 / ((1 - smooth) / factor + smooth));
    }
    add_tensor(&m->w, "rope_freqs.weight", 1, &n, F32, of, n * sizeof *of);
}

static void add_rope(struct model *m) {
    const json_t *rope = json_object_get(m->config, "rope_parameters");
    const json_t *full = json_object_get(rope, "full_attention");
    if (full) rope = full;
    const char *type = json_string_value(json_object_get(rope, "rope_type"));
    double factor = json_number_value(json_object_get(rope, "factor"));
    add_f32(&m->w, key(m, "rope.freq_base"),
            (float)json_number_value(json_object_get(rope, "rope_theta")));
    add_u32(&m->w, key(m, "rope.dimension_count"), (uint32_t)number(m, "head_dim"));
    if (!strcmp(type, "llama3")) {
        add_divisors(m, rope);
    } else if (strcmp(type, "default") != 0) {
        add_text(&m->w, key(m, "rope.scaling.type"), type);
        add_f32(&m->w, key(m, "rope.scaling.factor"), (float)factor);
        if (!strcmp(type, "yarn"))
            add_u32(&m->w, key(m, "rope.scaling.original_context_length"),
                    (uint32_t)json_integer_value(
                        json_object_get(rope, "original_max_position_embeddings")));
    }
}

static void add_windows(struct model *m) {
    const json_t *types = json_object_get(m->config, "layer_types");
    unsigned char slides[100];
    size_t n = json_array_size(types);
    add_int(m, "attention.sliding_window", "sliding_window");
    for (size_t i = 0; i < n; i++)
        slides[i] = !strcmp(json_string_value(json_array_get(types, i)), "sliding_attention");
    if (m->sandwich) {
        add_array(&m->w, key(m, "attention.sliding_window_pattern"), 7, n, slides, n);
        add_f32(&m->w, key(m, "attention.scale"),
                (float)(1 / sqrt((double)number(m, "query_pre_attn_scalar"))));
    }
}

static void add_values(struct model *m) {
    bool mixture = experts_of(m);
    add_text(&m->w, "general.architecture", m->arch);
    add_text(&m->w, "general.name", "a model");
    add_u32(&m->w, "general.file_type", 1);
    add_int(m, "context_length", "max_position_embeddings");
    add_int(m, "embedding_length", "hidden_size");
    add_int(m, "block_count", "num_hidden_layers");
    add_int(m, "feed_forward_length", "intermediate_size");
    add_int(m, "attention.head_count", "num_attention_heads");
    add_int(m, "attention.head_count_kv", "num_key_value_heads");
    add_int(m, "attention.key_length", "head_dim");
    add_int(m, "attention.value_length", "head_dim");
    add_int(m, "vocab_size", "vocab_size");
    add_real(m, "attention.layer_norm_rms_epsilon", "rms_norm_eps");
    add_real(m, "attn_logit_softcapping", "attn_logit_softcapping");
    add_real(m, "final_logit_softcapping", "final_logit_softcapping");
    if (mixture) {
        add_u32(&m->w, key(m, "expert_count"), (uint32_t)experts_of(m));
        add_int(m, "expert_shared_feed_forward_length", "shared_expert_intermediate_size");
        add_int(m, "expert_used_count", "num_experts_per_tok");
        if (!m->llama) add_int(m, "expert_feed_forward_length", "moe_intermediate_size");
    }
    add_windows(m);
    add_rope(m);
    if (json_is_integer(json_object_get(m->config, "eos_token_id"))) {
        add_u32(&m->w, "tokenizer.ggml.bos_token_id", (uint32_t)number(m, "bos_token_id"));
        add_u32(&m->w, "tokenizer.ggml.eos_token_id", (uint32_t)number(m, "eos_token_id"));
    }
}

static const char *const archs[][2] = {
    {"llama", "llama"},   {"mistral", "llama"},      {"mixtral", "llama"},      {"qwen2", "qwen2"},
    {"qwen3", "qwen3"},   {"qwen3_moe", "qwen3moe"}, {"qwen2_moe", "qwen2moe"}, {"gemma", "gemma"},
    {"gemma2", "gemma2"}, {"gemma3_text", "gemma3"},
};

/* As byte-level BPE with the words of GPT-2, which is what the demo's is. */
static json_t *add_tokenizer(struct model *m, const char *folder) {
    static struct vocabulary v;
    char path[4096];
    snprintf(path, sizeof path, "%s/tokenizer.json", folder);
    json_t *root = json_load_file(path, 0, NULL);
    if (!root) return NULL;
    add_text(&m->w, "tokenizer.ggml.model", "gpt2");
    add_text(&m->w, "tokenizer.ggml.pre", "gpt-2");
    add_bool(&m->w, "tokenizer.ggml.add_bos_token", true);
    collect_tokens(root, &v);
    add_tokens(&m->w, &v);
    add_merges(&m->w, json_object_get(json_object_get(root, "model"), "merges"));
    return root;
}

static int large(const char *out) {
    struct writer w;
    uint64_t dims[2] = {8192, 8192};
    writer_init(&w);
    add_text(&w, "general.architecture", "qwen3");
    add_u32(&w, "qwen3.context_length", 64);
    add_u32(&w, "qwen3.embedding_length", 8192);
    add_u32(&w, "qwen3.block_count", 1);
    add_u32(&w, "qwen3.feed_forward_length", 64);
    add_u32(&w, "qwen3.attention.head_count", 64);
    add_f32(&w, "qwen3.attention.layer_norm_rms_epsilon", 1e-6f);
    add_tensor(&w, "token_embd.weight", 2, dims, 8, "", 1);
    struct buffer b = writer_file(&w);
    FILE *f = fopen(out, "wb");
    long bytes = (long)(b.n - 1 + dims[0] / 32 * 34 * dims[1]);
    if (!f || fwrite(b.at, 1, b.n, f) != b.n || fseek(f, bytes - 1, SEEK_SET) != 0 ||
        putc(0, f) == EOF || fclose(f) != 0)
        die(out, "cannot be written");
    free(b.at);
    writer_free(&w);
    return 0;
}

static void choose_quantisers(struct model *m, const char *type) {
    char first[20];
    size_t n = strcspn(type, "+");
    snprintf(first, sizeof first, "%.*s", (int)n, type);
    m->quantiser = m->other = quantiser_called(first);
    if (type[n]) m->other = quantiser_called(type + n + 1);
}

static int make(const char *folder, const char *out, const char *type) {
    char path[4096], err[ETRT_ST_ERR];
    struct etrt_st *st;
    json_error_t e;
    snprintf(path, sizeof path, "%s/config.json", folder);
    json_t *config = json_load_file(path, 0, &e);
    if (!config) die(path, e.text);
    if (!etrt_st_open(folder, &st, err, sizeof err)) die(folder, err);
    if (!json_object_get(config, "head_dim"))
        json_object_set_new(
            config, "head_dim",
            json_integer(json_integer_value(json_object_get(config, "hidden_size")) /
                         json_integer_value(json_object_get(config, "num_attention_heads"))));
    struct model m = {.config = config, .st = st, .type = type_called(type)};
    const char *model = json_string_value(json_object_get(config, "model_type"));
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i][0], model)) m.arch = archs[i][1];
    if (!m.arch) die(folder, "unknown architecture");
    choose_quantisers(&m, type);
    m.llama = !strcmp(m.arch, "llama");
    m.gemma = !strncmp(m.arch, "gemma", 5);
    m.sandwich = m.gemma && m.arch[5];
    writer_init(&m.w);
    add_values(&m);
    json_decref(add_tokenizer(&m, folder));
    add_tensors(&m);
    writer_save(&m.w, out);
    writer_free(&m.w);
    etrt_st_close(st);
    json_decref(config);
    return 0;
}

static int compare(const char *from, const char *made, const char *type) {
    char err[ETRT_ST_ERR];
    struct etrt_st *a, *b;
    if (!etrt_st_open(from, &a, err, sizeof err) || !etrt_st_open(made, &b, err, sizeof err))
        die(from, err);
    if (etrt_st_count(a) != etrt_st_count(b)) die(made, "another number of tensors");
    for (size_t i = 0; i < etrt_st_count(a); i++) {
        const struct etrt_st_tensor *x = etrt_st_at(a, i), *y = etrt_st_find(b, x->name);
        if (!y) die(x->name, "missing");
        if (x->rank != y->rank || memcmp(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape))
            die(x->name, "another shape");
        uint32_t to = strcmp(type, "same") != 0   ? type_called(type)
                      : !strcmp(x->dtype, "BF16") ? BF16
                                                  : F32;
        size_t n = x->bytes / etrt_st_dtype_bytes(x->dtype), bytes = type_bytes(to);
        if (y->bytes != n * bytes) die(x->name, y->dtype);
        for (size_t k = 0; k < n; k++) {
            unsigned char want[4];
            store(to, value_at(x, k), want);
            if (memcmp(want, (const char *)y->data + k * bytes, bytes))
                die(x->name, "other values");
        }
    }
    etrt_st_close(a);
    etrt_st_close(b);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 5 && !strcmp(argv[1], "compare")) return compare(argv[2], argv[3], argv[4]);
    if (argc == 3 && !strcmp(argv[1], "large")) return large(argv[2]);
    if (argc == 4) return make(argv[1], argv[2], argv[3]);
    fprintf(stderr, "usage: make_gguf CHECKPOINT OUT TYPE | compare FROM MADE TYPE\n");
    return 2;
}
