/* names.c - the architectures that are known, and what their tensors are called here and there. */
#include "frontend/gguf/convert.h"
#include <string.h>

/* The first row that fits is the file's. */
static const struct gguf_family families[] = {
    {GGUF_MIXTRAL, "llama", "expert_count", "MixtralForCausalLM", "mixtral"},
    {GGUF_MISTRAL, "llama", "attention.sliding_window", "MistralForCausalLM", "mistral"},
    {GGUF_LLAMA, "llama", NULL, "LlamaForCausalLM", "llama"},
    {GGUF_QWEN2, "qwen2", NULL, "Qwen2ForCausalLM", "qwen2"},
    {GGUF_QWEN2_MOE, "qwen2moe", NULL, "Qwen2MoeForCausalLM", "qwen2_moe"},
    {GGUF_QWEN3, "qwen3", NULL, "Qwen3ForCausalLM", "qwen3"},
    {GGUF_QWEN3_MOE, "qwen3moe", NULL, "Qwen3MoeForCausalLM", "qwen3_moe"},
    {GGUF_GEMMA, "gemma", NULL, "GemmaForCausalLM", "gemma"},
    {GGUF_GEMMA2, "gemma2", NULL, "Gemma2ForCausalLM", "gemma2"},
    {GGUF_GEMMA3, "gemma3", NULL, "Gemma3ForCausalLM", "gemma3_text"},
};

enum {
    PLAIN = GGUF_ALL & ~(GGUF_GEMMA2 | GGUF_GEMMA3), /* one norm in front of each half of a layer */
    SANDWICH = GGUF_GEMMA2 | GGUF_GEMMA3,            /* and one behind each */
    QWEN_MIXTURE = GGUF_QWEN2_MOE | GGUF_QWEN3_MOE,
    MIXTURE = GGUF_MIXTRAL | QWEN_MIXTURE,
    LLAMAS = GGUF_LLAMA | GGUF_MISTRAL | GGUF_MIXTRAL,
    HEAD_NORMS = GGUF_QWEN3 | GGUF_QWEN3_MOE | GGUF_GEMMA3,
};

/* "blk.N." in front and "model.layers.N." there, but for those that have no #. */
static const struct {
    const char *from, *to;
    unsigned families, change;
} names[] = {
    {"token_embd.weight", "model.embed_tokens.weight", GGUF_ALL, 0},
    {"output_norm.weight", "model.norm.weight", GGUF_ALL, GGUF_NORM},
    {"output.weight", "lm_head.weight", GGUF_ALL, 0},
    {"rope_freqs.weight", "", GGUF_ALL, GGUF_ASIDE},
    {"#attn_norm.weight", "#input_layernorm.weight", GGUF_ALL, GGUF_NORM},
    {"#attn_q.weight", "#self_attn.q_proj.weight", GGUF_ALL, GGUF_QUERY},
    {"#attn_k.weight", "#self_attn.k_proj.weight", GGUF_ALL, GGUF_KEY},
    {"#attn_v.weight", "#self_attn.v_proj.weight", GGUF_ALL, 0},
    {"#attn_output.weight", "#self_attn.o_proj.weight", GGUF_ALL, 0},
    {"#attn_q.bias", "#self_attn.q_proj.bias", GGUF_ALL, GGUF_QUERY},
    {"#attn_k.bias", "#self_attn.k_proj.bias", GGUF_ALL, GGUF_KEY},
    {"#attn_v.bias", "#self_attn.v_proj.bias", GGUF_ALL, 0},
    {"#attn_output.bias", "#self_attn.o_proj.bias", GGUF_ALL, 0},
    {"#attn_q_norm.weight", "#self_attn.q_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#attn_k_norm.weight", "#self_attn.k_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#ffn_norm.weight", "#post_attention_layernorm.weight", PLAIN, GGUF_NORM},
    {"#ffn_norm.weight", "#pre_feedforward_layernorm.weight", SANDWICH, GGUF_NORM},
    {"#post_attention_norm.weight", "#post_attention_layernorm.weight", SANDWICH, GGUF_NORM},
    {"#post_ffw_norm.weight", "#post_feedforward_layernorm.weight", SANDWICH, GGUF_NORM},
    {"#ffn_gate.weight", "#mlp.gate_proj.weight", GGUF_ALL & ~MIXTURE, 0},
    {"#ffn_up.weight", "#mlp.up_proj.weight", GGUF_ALL & ~MIXTURE, 0},
    {"#ffn_down.weight", "#mlp.down_proj.weight", GGUF_ALL & ~MIXTURE, 0},
    {"#ffn_gate.bias", "#mlp.gate_proj.bias", LLAMAS, 0},
    {"#ffn_up.bias", "#mlp.up_proj.bias", LLAMAS, 0},
    {"#ffn_down.bias", "#mlp.down_proj.bias", LLAMAS, 0},
    {"#ffn_gate_inp.weight", "#mlp.gate.weight", QWEN_MIXTURE, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#mlp.experts.{e}.gate_proj.weight", QWEN_MIXTURE, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#mlp.experts.{e}.up_proj.weight", QWEN_MIXTURE, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#mlp.experts.{e}.down_proj.weight", QWEN_MIXTURE, GGUF_EXPERTS},
    {"#ffn_gate_inp_shexp.weight", "#mlp.shared_expert_gate.weight", GGUF_QWEN2_MOE,
     GGUF_ROUTER | GGUF_ROW},
    {"#ffn_gate_shexp.weight", "#mlp.shared_expert.gate_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#ffn_up_shexp.weight", "#mlp.shared_expert.up_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#ffn_down_shexp.weight", "#mlp.shared_expert.down_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#ffn_gate_inp.weight", "#block_sparse_moe.gate.weight", GGUF_MIXTRAL, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#block_sparse_moe.experts.{e}.w1.weight", GGUF_MIXTRAL,
     GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#block_sparse_moe.experts.{e}.w3.weight", GGUF_MIXTRAL, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#block_sparse_moe.experts.{e}.w2.weight", GGUF_MIXTRAL,
     GGUF_EXPERTS},
};

/* What is done in a family to what the rows say of all. */
static unsigned changes(const struct gguf_family *f, unsigned change) {
    if (!(f->bit & LLAMAS)) change &= ~(unsigned)(GGUF_QUERY | GGUF_KEY);
    if (!(f->bit & (GGUF_GEMMA | SANDWICH))) change &= ~(unsigned)GGUF_NORM;
    return change;
}

const char *gguf_family_at(int i) {
    return i < (int)(sizeof families / sizeof *families) ? families[i].architecture : NULL;
}

static const char *list_families(et_arena *arena) {
    const char *text = "", *last = "";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(last, families[i].architecture) != 0)
            text = et_printf(arena, "%s%s%s", text, *text ? ", " : "", families[i].architecture);
        last = families[i].architecture;
    }
    return text;
}

const struct gguf_family *gguf_family_of(const struct gguf *g) {
    struct gguf_text arch;
    if (!gguf_get_text(g, "general.architecture", &arch)) return NULL;
    for (size_t i = 0; arch.at && i < sizeof families / sizeof *families; i++) {
        const struct gguf_family *f = &families[i];
        int64_t n = 1;
        if (!gguf_is(arch, f->architecture)) continue;
        if (f->needs && !gguf_get_int(g, gguf_key(g, f, f->needs), 0, &n)) return NULL;
        if (n) return f;
    }
    if (arch.at)
        gguf_note(g->fault,
                  "%s: metadata \"general.architecture\" is \"%s\", which is not supported; "
                  "supported: %s",
                  g->path, gguf_shown(arch), list_families(g->arena));
    else
        gguf_note(g->fault, "%s: metadata \"general.architecture\" is missing", g->path);
    return NULL;
}

/* Takes "blk.12." off NAME: the 12 as text, or nothing where it does not begin so. */
static struct gguf_text take_layer(struct gguf_text *name) {
    enum { MOST_DIGITS = 6 };
    struct gguf_text none = {0};
    if (name->bytes < 4 || memcmp(name->at, "blk.", 4) != 0) return none;
    size_t n = 0;
    while (4 + n < name->bytes && name->at[4 + n] >= '0' && name->at[4 + n] <= '9')
        n++;
    bool zero = n > 1 && name->at[4] == '0';
    if (!n || n > MOST_DIGITS || zero || 4 + n >= name->bytes || name->at[4 + n] != '.')
        return none;
    struct gguf_text layer = {name->at + 4, n};
    name->at += 5 + n;
    name->bytes -= 5 + n;
    return layer;
}

const char *gguf_tensor_name(const struct gguf *g, const struct gguf_family *f,
                             struct gguf_text name, unsigned *change) {
    struct gguf_text layer = take_layer(&name);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool inside = *names[i].from == '#';
        if (!(names[i].families & f->bit) || inside != !!layer.at ||
            !gguf_is(name, names[i].from + inside))
            continue;
        *change = changes(f, names[i].change);
        if (!inside) return names[i].to;
        return et_printf(g->arena, "model.layers.%.*s.%s", (int)layer.bytes, layer.at,
                         names[i].to + 1);
    }
    return NULL;
}
