/* make_embedder CHECKPOINT OUT.gguf [FORMAT]: what programs that make GGUF files make of an encoder
 * of texts, or of a decoder with a pooling behind it: matrices as they are, or in a format of
 * quantise.h, all else in f32. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include "tests/unit/gguf/quantise.h"
#include "tests/unit/gguf/tokens.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { F32 = 0, BF16 = 30, BOOL = 7 };

static void die(const char *what, const char *why) {
    fprintf(stderr, "make_embedder: %s: %s\n", what, why);
    exit(1);
}

/* ---- what things are called ---- */

struct name {
    const char *there, *here;
};
static const struct name bert[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.position_embeddings", "position_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"embeddings.LayerNorm", "token_embd_norm"},
    {"attention.self.query", "attn_q"},
    {"attention.self.key", "attn_k"},
    {"attention.self.value", "attn_v"},
    {"attention.output.dense", "attn_output"},
    {"attention.output.LayerNorm", "attn_output_norm"},
    {"intermediate.dense", "ffn_up"},
    {"output.dense", "ffn_down"},
    {"output.LayerNorm", "layer_output_norm"},
    {"classifier.dense", "cls"},
    {"classifier.out_proj", "cls.output"},
    {0},
};
static const struct name nomic[] = {
    {"embeddings.word_embeddings", "token_embd"},
    {"embeddings.token_type_embeddings", "token_types"},
    {"emb_ln", "token_embd_norm"},
    {"attn.Wqkv", "attn_qkv"},
    {"attn.out_proj", "attn_output"},
    {"norm1", "attn_output_norm"},
    {"mlp.fc11", "ffn_up"},
    {"mlp.fc12", "ffn_gate"},
    {"mlp.fc2", "ffn_down"},
    {"norm2", "layer_output_norm"},
    {0},
};
static const struct name modern[] = {
    {"embeddings.tok_embeddings", "token_embd"},
    {"embeddings.norm", "token_embd_norm"},
    {"final_norm", "output_norm"},
    {"attn_norm", "attn_norm"},
    {"attn.Wqkv", "attn_qkv"},
    {"attn.Wo", "attn_output"},
    {"mlp_norm", "ffn_norm"},
    {"mlp.Wi", "ffn_up"},
    {"mlp.Wo", "ffn_down"},
    {0},
};
static const struct name decoder[] = {
    {"embed_tokens", "token_embd"},
    {"norm", "output_norm"},
    {"input_layernorm", "attn_norm"},
    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},
    {"self_attn.v_proj", "attn_v"},
    {"self_attn.o_proj", "attn_output"},
    {"self_attn.q_norm", "attn_q_norm"},
    {"self_attn.k_norm", "attn_k_norm"},
    {"mlp.gate_proj", "ffn_gate"},
    {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
    {"pre_feedforward_layernorm", "ffn_norm"},
    {"post_feedforward_layernorm", "post_ffw_norm"},
    {0},
};

static const struct kind {
    const char *type, *arch;
    const struct name *names;
    const char *after;  /* what post_attention_layernorm is called */
    bool encodes, more; /* norms are kept one too large */
} kinds[] = {
    {"bert", "bert", bert, NULL, true, false},
    {"xlm-roberta", "bert", bert, NULL, true, false},
    {"roberta", "bert", bert, NULL, true, false},
    {"nomic_bert", "nomic-bert", nomic, NULL, true, false},
    {"modernbert", "modern-bert", modern, NULL, true, false},
    {"gemma3_text", "gemma-embedding", decoder, "post_attention_norm", false, true},
    {"qwen3", "qwen3", decoder, "ffn_norm", false, false},
};

struct model {
    const struct kind *kind;
    const char *folder;
    json_t *config;
    int64_t before; /* rows of the table of positions that stand before those of a text */
    const struct quantiser *quantiser; /* or NULL */
    struct writer w;
};

static json_t *load(const char *folder, const char *file, bool must) {
    char path[4096];
    json_error_t e;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    json_t *j = json_load_file(path, 0, &e);
    if (!j && must) die(path, e.text);
    return j;
}

/* ---- tensors ---- */

static void name_of(const struct model *m, const char *name, char *out, size_t room) {
    if (!strncmp(name, "roberta.", 8)) name += 8;
    const char *layer = strstr(name, "layer"), *rest = name, *end = strrchr(name, '.');
    char prefix[40] = "";
    int l, n = 0;
    if (layer &&
        (sscanf(layer, "layer.%d.%n", &l, &n) == 1 || sscanf(layer, "layers.%d.%n", &l, &n) == 1) &&
        n) {
        snprintf(prefix, sizeof prefix, "blk.%d.", l);
        rest = layer + n;
    }
    size_t k = (size_t)(end - rest);
    const char *to =
        m->kind->after && !strncmp(rest, "post_attention_layernorm", k) ? m->kind->after : NULL;
    for (const struct name *x = m->kind->names; x->there && !to; x++)
        if (strlen(x->there) == k && !strncmp(rest, x->there, k)) to = x->here;
    if (!to) die(name, "no name");
    snprintf(out, room, "%s%s%s", prefix, to, end);
}

static float value_at(const struct etrt_st_tensor *t, size_t i) {
    const unsigned char *p = t->data;
    uint32_t word = 0;
    size_t bytes = etrt_st_dtype_bytes(t->dtype);
    memcpy(&word, p + i * bytes, bytes);
    return bytes == 4 ? etrt_f32_of_word(word) : etrt_bf16_to_f32(word);
}

/* PLAIN: in f32, whatever else is. */
static void add_one(struct model *m, const struct etrt_st_tensor *t, const char *name, bool plain) {
    uint64_t dims[2] = {1, 1}, n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= dims[d] = (uint64_t)t->shape[t->rank - 1 - d];
    size_t first = !strcmp(name, "position_embd.weight") ? (size_t)m->before * dims[0] : 0;
    n -= first;
    if (first) dims[1] -= (uint64_t)m->before;
    float *values = malloc(n * sizeof *values), more = m->kind->more && strstr(name, "norm");
    for (size_t i = 0; i < n; i++)
        values[i] = value_at(t, first + i) + more;
    if (plain) {
        add_tensor(&m->w, name, t->rank, dims, F32, values, n * sizeof *values);
    } else if (m->quantiser && dims[0] % (uint64_t)m->quantiser->elements == 0) {
        struct buffer blocks = {0};
        quantise(m->quantiser, values, n, &blocks);
        add_tensor(&m->w, name, t->rank, dims, m->quantiser->type, blocks.at, blocks.n);
        free(blocks.at);
    } else {
        add_tensor(&m->w, name, t->rank, dims, BF16, t->data, 2 * n);
    }
    free(values);
}

static struct etrt_st *open_tensors(const char *path) {
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    if (!etrt_st_open(path, &st, err, sizeof err)) die(path, err);
    return st;
}

static void add_tensors(struct model *m) {
    char path[4096], name[300];
    snprintf(path, sizeof path, "%s/model.safetensors", m->folder);
    struct etrt_st *st = open_tensors(path);
    for (size_t i = 0; i < etrt_st_count(st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(st, i);
        if (strstr(t->name, "pooler.")) continue;
        name_of(m, t->name, name, sizeof name);
        add_one(m, t, name,
                t->rank == 1 || strstr(name, "position_embd") || strstr(name, "token_types"));
    }
    etrt_st_close(st);
}

/* ---- metadata ---- */

static const char *key(const struct model *m, const char *name) {
    static char text[8][120];
    static int turn;
    char *to = text[turn++ % 8];
    snprintf(to, sizeof *text, "%s.%s", m->kind->arch, name);
    return to;
}

static void add_int(struct model *m, const char *name, const char *field) {
    const json_t *j = json_object_get(m->config, field);
    if (json_is_integer(j)) add_u32(&m->w, key(m, name), (uint32_t)json_integer_value(j));
}

static void add_real(struct model *m, const char *name, const json_t *of, const char *field) {
    const json_t *j = json_object_get(of, field);
    if (json_is_number(j)) add_f32(&m->w, key(m, name), (float)json_number_value(j));
}

static void add_positions(struct model *m) {
    const json_t *rope = json_object_get(m->config, "rope_parameters"),
                 *full = json_object_get(rope, "full_attention"),
                 *near = json_object_get(rope, "sliding_attention"),
                 *types = json_object_get(m->config, "layer_types");
    unsigned char slides[100];
    size_t n = json_array_size(types);
    add_real(m, "rope.freq_base", full ? full : rope, "rope_theta");
    add_real(m, "rope.freq_base_swa", near, "rope_theta");
    add_int(m, "attention.sliding_window", "sliding_window");
    add_int(m, "attention.sliding_window", "local_attention");
    for (size_t i = 0; i < n; i++)
        slides[i] = !strcmp(json_string_value(json_array_get(types, i)), "sliding_attention");
    if (near) add_array(&m->w, key(m, "attention.sliding_window_pattern"), BOOL, n, slides, n);
}

static void add_values(struct model *m) {
    add_text(&m->w, "general.architecture", m->kind->arch);
    int64_t most = json_integer_value(json_object_get(m->config, "max_position_embeddings"));
    add_u32(&m->w, key(m, "context_length"), (uint32_t)(most - m->before));
    add_int(m, "embedding_length", "hidden_size");
    add_int(m, "block_count", "num_hidden_layers");
    add_int(m, "feed_forward_length", "intermediate_size");
    add_int(m, "attention.head_count", "num_attention_heads");
    add_int(m, "attention.head_count_kv", "num_key_value_heads");
    if (!m->kind->encodes) add_int(m, "attention.key_length", "head_dim");
    add_real(m, "attention.layer_norm_rms_epsilon", m->config, "rms_norm_eps");
    add_real(m, "attention.layer_norm_epsilon", m->config, "layer_norm_eps");
    add_real(m, "attention.layer_norm_epsilon", m->config, "norm_eps");
    if (m->kind->encodes || json_is_true(json_object_get(m->config, "use_bidirectional_attention")))
        add_bool(&m->w, key(m, "attention.causal"), false);
    add_positions(m);
}

/* Of modules.json: the pooling's number, and layers behind it. */
static void add_modules(struct model *m) {
    static const char *const modes[] = {"", "pooling_mode_mean_tokens", "pooling_mode_cls_token",
                                        "pooling_mode_lasttoken"};
    static const char *const names[] = {"", "mean", "cls", "lasttoken"};
    enum { SCORES = 4 };
    json_t *pooling = load(m->folder, "1_Pooling/config.json", false),
           *modules = load(m->folder, "modules.json", true), *module;
    const char *mode = json_string_value(json_object_get(pooling, "pooling_mode"));
    size_t i;
    if (!pooling) add_u32(&m->w, key(m, "pooling_type"), SCORES);
    for (uint32_t k = 1; pooling && k < SCORES; k++)
        if (mode ? !strcmp(mode, names[k]) : json_is_true(json_object_get(pooling, modes[k])))
            add_u32(&m->w, key(m, "pooling_type"), k);
    json_array_foreach(modules, i, module) {
        char path[4096], name[80];
        const char *folder = json_string_value(json_object_get(module, "path"));
        if (!strstr(folder, "Dense")) continue;
        snprintf(path, sizeof path, "%s/%s/model.safetensors", m->folder, folder);
        snprintf(name, sizeof name, "dense_%zu.weight", i);
        struct etrt_st *st = open_tensors(path);
        const struct etrt_st_tensor *t = etrt_st_find(st, "linear.weight");
        if (!t) die(path, "no linear.weight");
        add_one(m, t, name, true);
        snprintf(name, sizeof name, "dense_%zu_feat_in", i);
        add_u32(&m->w, key(m, name), (uint32_t)t->shape[1]);
        etrt_st_close(st);
    }
    json_decref(pooling);
    json_decref(modules);
}

/* ---- the tokenizer ---- */

/* What begins a word is marked, and what does not is as it is. */
static void mark_words(struct vocabulary *v) {
    static char text[MOST_TOKENS][120];
    for (int i = 0; i < v->n; i++) {
        bool inside = !strncmp(v->text[i], "##", 2);
        if (v->type[i] == 3) continue;
        snprintf(text[i], sizeof text[i], "%s%s", inside ? "" : "\xe2\x96\x81",
                 v->text[i] + (inside ? 2 : 0));
        v->text[i] = text[i];
    }
}

static void add_id(struct model *m, const json_t *vocabulary, const char *text, const char *name) {
    const json_t *id = json_object_get(vocabulary, text);
    if (id) add_u32(&m->w, name, (uint32_t)json_integer_value(id));
}

static json_t *add_tokenizer(struct model *m) {
    static struct vocabulary v;
    json_t *root = load(m->folder, "tokenizer.json", true), *model = json_object_get(root, "model");
    const json_t *ids = json_object_get(model, "vocab");
    if (json_is_array(ids)) {
        collect_sums(root, &v);
        add_sums(&m->w, &v, NULL, 0);
        return root;
    }
    collect_tokens(root, &v);
    if (!strcmp(json_string_value(json_object_get(model, "type")), "WordPiece")) {
        add_text(&m->w, "tokenizer.ggml.model", "bert");
        add_u32(&m->w, "tokenizer.ggml.token_type_count", 2);
        add_id(m, ids, "[CLS]", "tokenizer.ggml.cls_token_id");
        add_id(m, ids, "[SEP]", "tokenizer.ggml.seperator_token_id");
        add_id(m, ids, "[PAD]", "tokenizer.ggml.padding_token_id");
        mark_words(&v);
    } else {
        add_text(&m->w, "tokenizer.ggml.model", "gpt2");
        add_text(&m->w, "tokenizer.ggml.pre", "gpt-2");
        add_bool(&m->w, "tokenizer.ggml.add_bos_token", m->before > 0);
        add_id(m, ids, "<s>", "tokenizer.ggml.bos_token_id");
        add_id(m, ids, "</s>", "tokenizer.ggml.eos_token_id");
        add_bool(&m->w, "tokenizer.ggml.add_eos_token", true);
        add_id(m, ids, "<|endoftext|>", "tokenizer.ggml.eos_token_id");
        add_merges(&m->w, json_object_get(model, "merges"));
    }
    add_tokens(&m->w, &v);
    return root;
}

int main(int argc, char **argv) {
    if (argc < 3) die("usage", "CHECKPOINT OUT.gguf [FORMAT]");
    struct model m = {.folder = argv[1], .config = load(argv[1], "config.json", true)};
    const char *type = json_string_value(json_object_get(m.config, "model_type"));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kinds[i].type, type)) m.kind = &kinds[i];
    if (!m.kind) die(argv[1], type);
    if (strstr(type, "roberta"))
        m.before = json_integer_value(json_object_get(m.config, "pad_token_id")) + 1;
    if (argc > 3) m.quantiser = quantiser_called(argv[3]);
    writer_init(&m.w);
    add_values(&m);
    add_modules(&m);
    json_t *tokenizer = add_tokenizer(&m);
    add_tensors(&m);
    writer_save(&m.w, argv[2]);
    writer_free(&m.w);
    json_decref(tokenizer);
    json_decref(m.config);
    return 0;
}
