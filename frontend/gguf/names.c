/* names.c - the architectures that are known, and what their tensors are called here and there. */
#include "frontend/gguf/convert.h"
#include <string.h>

#define DECODER "model.layers."

/* The first row that fits is the file's. */
static const struct gguf_family families[] = {
    {GGUF_MIXTRAL, "llama", "expert_count", "MixtralForCausalLM", "mixtral", DECODER},
    {GGUF_MISTRAL, "llama", "attention.sliding_window", "MistralForCausalLM", "mistral", DECODER},
    {GGUF_LLAMA, "llama", NULL, "LlamaForCausalLM", "llama", DECODER},
    {GGUF_QWEN2, "qwen2", NULL, "Qwen2ForCausalLM", "qwen2", DECODER},
    {GGUF_QWEN2_MOE, "qwen2moe", NULL, "Qwen2MoeForCausalLM", "qwen2_moe", DECODER},
    {GGUF_QWEN3, "qwen3", NULL, "Qwen3ForCausalLM", "qwen3", DECODER},
    {GGUF_QWEN3_MOE, "qwen3moe", NULL, "Qwen3MoeForCausalLM", "qwen3_moe", DECODER},
    {GGUF_GEMMA, "gemma", NULL, "GemmaForCausalLM", "gemma", DECODER},
    {GGUF_GEMMA2, "gemma2", NULL, "Gemma2ForCausalLM", "gemma2", DECODER},
    {GGUF_GEMMA3, "gemma3", NULL, "Gemma3ForCausalLM", "gemma3_text", DECODER},
    {GGUF_GEMMA_EMBEDDING, "gemma-embedding", NULL, "Gemma3TextModel", "gemma3_text", DECODER},
    {GGUF_SMOLLM3, "smollm3", NULL, "SmolLM3ForCausalLM", "smollm3", DECODER},
    {GGUF_ARCEE, "arcee", NULL, "ArceeForCausalLM", "arcee", DECODER},
    {GGUF_GRANITE, "granite", NULL, "GraniteForCausalLM", "granite", DECODER},
    {GGUF_MINISTRAL3, "mistral3", NULL, "Ministral3ForCausalLM", "ministral3", DECODER},
    {GGUF_SEED_OSS, "seed_oss", NULL, "SeedOssForCausalLM", "seed_oss", DECODER},
    {GGUF_ERNIE, "ernie4_5", NULL, "Ernie4_5ForCausalLM", "ernie4_5", DECODER},
    {GGUF_ERNIE_MOE, "ernie4_5-moe", NULL, "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", DECODER},
    {GGUF_EXAONE4, "exaone4", NULL, "Exaone4ForCausalLM", "exaone4", DECODER},
    {GGUF_OLMO3, "olmo2", "attention.sliding_window", "Olmo3ForCausalLM", "olmo3", DECODER},
    {GGUF_OLMO2, "olmo2", NULL, "Olmo2ForCausalLM", "olmo2", DECODER},
    {GGUF_OLMOE, "olmoe", NULL, "OlmoeForCausalLM", "olmoe", DECODER},
    {GGUF_GLM4, "glm4", NULL, "Glm4ForCausalLM", "glm4", DECODER},
    {GGUF_GLM4_MOE, "glm4moe", NULL, "Glm4MoeForCausalLM", "glm4_moe", DECODER},
    {GGUF_DOTS1, "dots1", NULL, "Dots1ForCausalLM", "dots1", DECODER},
    {GGUF_MINIMAX_M2, "minimax-m2", NULL, "MiniMaxM2ForCausalLM", "minimax_m2", DECODER},
    {GGUF_COHERE, "command-r", NULL, "CohereForCausalLM", "cohere", DECODER},
    {GGUF_COHERE2, "cohere2", NULL, "Cohere2ForCausalLM", "cohere2", DECODER},
    {GGUF_STARCODER2, "starcoder2", NULL, "Starcoder2ForCausalLM", "starcoder2", DECODER},
    {GGUF_PHI3, "phi3", NULL, "Phi3ForCausalLM", "phi3", DECODER},
    {GGUF_LFM2, "lfm2", NULL, "Lfm2ForCausalLM", "lfm2", DECODER},
    {GGUF_LFM2_MOE, "lfm2moe", NULL, "Lfm2MoeForCausalLM", "lfm2_moe", DECODER},
    {GGUF_BERT, "bert", NULL, "BertModel", "bert", "encoder.layer."},
    {GGUF_NOMIC_BERT, "nomic-bert", NULL, "NomicBertModel", "nomic_bert", "encoder.layers."},
    {GGUF_MODERN_BERT, "modern-bert", NULL, "ModernBertModel", "modernbert", "layers."},
};

/* Where the norms of a layer stand: in front of each half and behind it, behind alone, ... */
#define SANDWICH (GGUF_GEMMA2 | GGUF_GEMMA3S)
#define BEHIND (GGUF_EXAONE4 | GGUF_OLMO2 | GGUF_OLMO3)
#define SECOND (GGUF_SEED_OSS | GGUF_GLM4_MOE) /* before the second half, by that name */
#define PLAIN (GGUF_DECODERS & ~(SANDWICH | BEHIND | SECOND | GGUF_LFM2S)) /* in front alone */
#define FUSED (GGUF_GLM4 | GGUF_PHI3) /* gate and up in one tensor */
#define QWEN_LIKE (GGUF_QWEN2_MOE | GGUF_QWEN3_MOE | GGUF_OLMOE)
#define SHARED (GGUF_SIGMOIDS | GGUF_ERNIE_MOE) /* experts that all tokens see */
#define AS_DENSE (QWEN_LIKE | SHARED)           /* experts' parts are called as a dense layer's */
#define BY_NUMBER (GGUF_MIXTRAL | GGUF_MINIMAX_M2) /* w1, w2, w3 */
#define DENSE (GGUF_DECODERS & ~(BY_NUMBER | QWEN_LIKE))
#define HEAD_NORMS                                                                                 \
    (GGUF_QWEN3 | GGUF_QWEN3_MOE | GGUF_GEMMA3S | BEHIND | GGUF_OLMOE | GGUF_SIGMOIDS |            \
     GGUF_MINIMAX_M2)
#define EARLIER (GGUF_BERT | GGUF_NOMIC_BERT)
#define LLAMAS (GGUF_LLAMA | GGUF_MISTRAL | GGUF_MIXTRAL)
#define TURNED (LLAMAS | GGUF_SMOLLM3 | GGUF_ARCEE | GGUF_GRANITE | GGUF_MINISTRAL3)

/* "blk.N." in front and the number of the layer there, but for those that have no #. */
static const struct {
    const char *from, *to;
    uint64_t families;
    unsigned change;
} names[] = {
    {"token_embd.weight", "model.embed_tokens.weight", GGUF_DECODERS, 0},
    {"output_norm.weight", "model.norm.weight", GGUF_DECODERS, GGUF_NORM},
    {"output_norm.bias", "model.norm.bias", GGUF_STARCODER2, 0},
    {"token_embd_norm.weight", "model.embedding_norm.weight", GGUF_LFM2S, 0},
    {"rope_factors_long.weight", "", GGUF_PHI3, GGUF_ASIDE},
    {"rope_factors_short.weight", "", GGUF_PHI3, GGUF_ASIDE},
    {"#attn_norm.weight", "#operator_norm.weight", GGUF_LFM2S, 0},
    {"#attn_output.weight", "#self_attn.out_proj.weight", GGUF_LFM2S, 0},
    {"#attn_q_norm.weight", "#self_attn.q_layernorm.weight", GGUF_LFM2S, 0},
    {"#attn_k_norm.weight", "#self_attn.k_layernorm.weight", GGUF_LFM2S, 0},
    {"#shortconv.conv.weight", "#conv.conv.weight", GGUF_LFM2S, GGUF_TAPS},
    {"#shortconv.in_proj.weight", "#conv.in_proj.weight", GGUF_LFM2S, 0},
    {"#shortconv.out_proj.weight", "#conv.out_proj.weight", GGUF_LFM2S, 0},
    {"#ffn_norm.weight", "#ffn_norm.weight", GGUF_LFM2S, 0},
    {"#ffn_gate.weight", "#feed_forward.w1.weight", GGUF_LFM2S, 0},
    {"#ffn_up.weight", "#feed_forward.w3.weight", GGUF_LFM2S, 0},
    {"#ffn_down.weight", "#feed_forward.w2.weight", GGUF_LFM2S, 0},
    {"#ffn_gate_inp.weight", "#feed_forward.gate.weight", GGUF_LFM2_MOE, GGUF_ROUTER},
    {"#exp_probs_b.bias", "#feed_forward.expert_bias", GGUF_LFM2_MOE, 0},
    {"#ffn_gate_exps.weight", "#feed_forward.experts.{e}.w1.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#feed_forward.experts.{e}.w3.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#feed_forward.experts.{e}.w2.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"output.weight", "lm_head.weight", GGUF_DECODERS, 0},
    {"rope_freqs.weight", "", GGUF_DECODERS, GGUF_ASIDE},
    {"#attn_norm.weight", "#input_layernorm.weight", GGUF_DECODERS, GGUF_NORM},
    {"#attn_norm.bias", "#input_layernorm.bias", GGUF_STARCODER2, 0},
    {"#ffn_norm.bias", "#post_attention_layernorm.bias", GGUF_STARCODER2, 0},
    {"#attn_qkv.weight", "#self_attn.qkv_proj.weight", GGUF_PHI3, 0},
    {"#attn_q.weight", "#self_attn.q_proj.weight", GGUF_DECODERS, GGUF_QUERY},
    {"#attn_k.weight", "#self_attn.k_proj.weight", GGUF_DECODERS, GGUF_KEY},
    {"#attn_v.weight", "#self_attn.v_proj.weight", GGUF_DECODERS, 0},
    {"#attn_output.weight", "#self_attn.o_proj.weight", GGUF_DECODERS, 0},
    {"#attn_q.bias", "#self_attn.q_proj.bias", GGUF_DECODERS, GGUF_QUERY},
    {"#attn_k.bias", "#self_attn.k_proj.bias", GGUF_DECODERS, GGUF_KEY},
    {"#attn_v.bias", "#self_attn.v_proj.bias", GGUF_DECODERS, 0},
    {"#attn_output.bias", "#self_attn.o_proj.bias", GGUF_DECODERS, 0},
    {"#attn_q_norm.weight", "#self_attn.q_norm.weight", GGUF_COHERE, GGUF_ROUTER},
    {"#attn_k_norm.weight", "#self_attn.k_norm.weight", GGUF_COHERE, GGUF_ROUTER},
    {"#attn_q_norm.weight", "#self_attn.q_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#attn_k_norm.weight", "#self_attn.k_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#ffn_norm.weight", "#post_attention_layernorm.weight", PLAIN, GGUF_NORM},
    {"#ffn_norm.weight", "#pre_feedforward_layernorm.weight", SANDWICH, GGUF_NORM},
    {"#post_attention_norm.weight", "#post_self_attn_layernorm.weight", GGUF_GLM4, 0},
    {"#post_ffw_norm.weight", "#post_mlp_layernorm.weight", GGUF_GLM4, 0},
    {"#post_attention_norm.weight", "#post_attention_layernorm.weight", SANDWICH | BEHIND | SECOND,
     GGUF_NORM},
    {"#post_ffw_norm.weight", "#post_feedforward_layernorm.weight", SANDWICH | BEHIND, GGUF_NORM},
    {"#ffn_up.weight", "#mlp.gate_up_proj.weight", FUSED, 0},
    {"#ffn_up.weight", "#mlp.c_fc.weight", GGUF_STARCODER2, 0},
    {"#ffn_down.weight", "#mlp.c_proj.weight", GGUF_STARCODER2, 0},
    {"#ffn_up.bias", "#mlp.c_fc.bias", GGUF_STARCODER2, 0},
    {"#ffn_down.bias", "#mlp.c_proj.bias", GGUF_STARCODER2, 0},
    {"#ffn_gate.weight", "#mlp.gate_proj.weight", DENSE, 0},
    {"#ffn_up.weight", "#mlp.up_proj.weight", DENSE, 0},
    {"#ffn_down.weight", "#mlp.down_proj.weight", DENSE, 0},
    {"#ffn_gate.bias", "#mlp.gate_proj.bias", LLAMAS, 0},
    {"#ffn_up.bias", "#mlp.up_proj.bias", LLAMAS, 0},
    {"#ffn_down.bias", "#mlp.down_proj.bias", LLAMAS, 0},
    {"#ffn_gate_inp.weight", "#mlp.gate.weight", AS_DENSE, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#mlp.experts.{e}.gate_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#mlp.experts.{e}.up_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#mlp.experts.{e}.down_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_gate_inp_shexp.weight", "#mlp.shared_expert_gate.weight", GGUF_QWEN2_MOE,
     GGUF_ROUTER | GGUF_ROW},
    {"#ffn_gate_shexp.weight", "#mlp.shared_expert.gate_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#ffn_up_shexp.weight", "#mlp.shared_expert.up_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#ffn_down_shexp.weight", "#mlp.shared_expert.down_proj.weight", GGUF_QWEN2_MOE, 0},
    {"#exp_probs_b.bias", "#mlp.gate.e_score_correction_bias", GGUF_SIGMOIDS, GGUF_KEPT},
    {"#exp_probs_b.bias", "#mlp.moe_statics.e_score_correction_bias", GGUF_ERNIE_MOE,
     GGUF_ROUTER | GGUF_KEPT},
    {"#ffn_gate_shexp.weight", "#mlp.shared_experts.gate_proj.weight", SHARED, 0},
    {"#ffn_up_shexp.weight", "#mlp.shared_experts.up_proj.weight", SHARED, 0},
    {"#ffn_down_shexp.weight", "#mlp.shared_experts.down_proj.weight", SHARED, 0},
    {"#nextn.eh_proj.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE}, /* drafts more tokens */
    {"#nextn.embed_tokens.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE},
    {"#nextn.enorm.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE},
    {"#nextn.hnorm.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE},
    {"#nextn.shared_head_head.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE},
    {"#nextn.shared_head_norm.weight", "", GGUF_GLM4_MOE, GGUF_ASIDE},
    {"#exp_probs_b.bias", "#block_sparse_moe.e_score_correction_bias", GGUF_MINIMAX_M2, 0},
    {"#ffn_gate_inp.weight", "#block_sparse_moe.gate.weight", BY_NUMBER, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#block_sparse_moe.experts.{e}.w1.weight", BY_NUMBER, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#block_sparse_moe.experts.{e}.w3.weight", BY_NUMBER, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#block_sparse_moe.experts.{e}.w2.weight", BY_NUMBER, GGUF_EXPERTS},
    {"dense_2.weight", "", GGUF_GEMMA_EMBEDDING, GGUF_BEHIND},
    {"dense_3.weight", "", GGUF_GEMMA_EMBEDDING, GGUF_BEHIND},
    {"token_embd.weight", "embeddings.word_embeddings.weight", EARLIER, 0},
    {"token_types.weight", "embeddings.token_type_embeddings.weight", EARLIER, GGUF_ROUTER},
    {"position_embd.weight", "embeddings.position_embeddings.weight", GGUF_BERT, GGUF_ROUTER},
    {"token_embd_norm.weight", "embeddings.LayerNorm.weight", GGUF_BERT, 0},
    {"token_embd_norm.bias", "embeddings.LayerNorm.bias", GGUF_BERT, 0},
    {"#attn_q.weight", "#attention.self.query.weight", GGUF_BERT, 0},
    {"#attn_k.weight", "#attention.self.key.weight", GGUF_BERT, 0},
    {"#attn_v.weight", "#attention.self.value.weight", GGUF_BERT, 0},
    {"#attn_q.bias", "#attention.self.query.bias", GGUF_BERT, 0},
    {"#attn_k.bias", "#attention.self.key.bias", GGUF_BERT, 0},
    {"#attn_v.bias", "#attention.self.value.bias", GGUF_BERT, 0},
    {"#attn_output.weight", "#attention.output.dense.weight", GGUF_BERT, 0},
    {"#attn_output.bias", "#attention.output.dense.bias", GGUF_BERT, 0},
    {"#attn_output_norm.weight", "#attention.output.LayerNorm.weight", GGUF_BERT, 0},
    {"#attn_output_norm.bias", "#attention.output.LayerNorm.bias", GGUF_BERT, 0},
    {"#ffn_up.weight", "#intermediate.dense.weight", GGUF_BERT, 0},
    {"#ffn_up.bias", "#intermediate.dense.bias", GGUF_BERT, 0},
    {"#ffn_down.weight", "#output.dense.weight", GGUF_BERT, 0},
    {"#ffn_down.bias", "#output.dense.bias", GGUF_BERT, 0},
    {"#layer_output_norm.weight", "#output.LayerNorm.weight", GGUF_BERT, 0},
    {"#layer_output_norm.bias", "#output.LayerNorm.bias", GGUF_BERT, 0},
    {"token_embd_norm.weight", "emb_ln.weight", GGUF_NOMIC_BERT, 0},
    {"token_embd_norm.bias", "emb_ln.bias", GGUF_NOMIC_BERT, 0},
    {"#attn_qkv.weight", "#attn.Wqkv.weight", GGUF_NOMIC_BERT | GGUF_MODERN_BERT, 0},
    {"#attn_output.weight", "#attn.out_proj.weight", GGUF_NOMIC_BERT, 0},
    {"#attn_output_norm.weight", "#norm1.weight", GGUF_NOMIC_BERT, 0},
    {"#attn_output_norm.bias", "#norm1.bias", GGUF_NOMIC_BERT, 0},
    {"#ffn_up.weight", "#mlp.fc11.weight", GGUF_NOMIC_BERT, 0},
    {"#ffn_gate.weight", "#mlp.fc12.weight", GGUF_NOMIC_BERT, 0},
    {"#ffn_down.weight", "#mlp.fc2.weight", GGUF_NOMIC_BERT, 0},
    {"#layer_output_norm.weight", "#norm2.weight", GGUF_NOMIC_BERT, 0},
    {"#layer_output_norm.bias", "#norm2.bias", GGUF_NOMIC_BERT, 0},
    {"token_embd.weight", "embeddings.tok_embeddings.weight", GGUF_MODERN_BERT, 0},
    {"token_embd_norm.weight", "embeddings.norm.weight", GGUF_MODERN_BERT, 0},
    {"output_norm.weight", "final_norm.weight", GGUF_MODERN_BERT, 0},
    {"#attn_norm.weight", "#attn_norm.weight", GGUF_MODERN_BERT, 0},
    {"#attn_output.weight", "#attn.Wo.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_norm.weight", "#mlp_norm.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_up.weight", "#mlp.Wi.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_down.weight", "#mlp.Wo.weight", GGUF_MODERN_BERT, 0},
};

/* What is done in a family to what the rows say of all. */
static unsigned changes(const struct gguf_family *f, unsigned change) {
    if (!(f->bit & TURNED)) change &= ~(unsigned)(GGUF_QUERY | GGUF_KEY);
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
        return et_printf(g->arena, "%s%.*s.%s", f->layers, (int)layer.bytes, layer.at,
                         names[i].to + 1);
    }
    return NULL;
}
