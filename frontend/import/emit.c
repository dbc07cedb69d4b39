/* emit.c - print a decoder as .etg, to be read by people as much as by etcc. */
#include "frontend/import/import.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The shortest decimal that reads back as V: "1e-5", "500000", "0.17677669529663687". */
static const char *real(char buf[40], double v) {
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(buf, 40, "%.*g", digits, v);
        if (strtod(buf, NULL) == v) break;
    }
    char *e = strchr(buf, 'e');
    if (e && fabs(v) >= 1 && fabs(v) < 1e15) {
        snprintf(buf, 40, "%.0f", v);
    } else if (e) {
        long exponent = strtol(e + 1, NULL, 10);
        snprintf(e + 1, (size_t)(buf + 40 - e - 1), "%ld", exponent);
    }
    return buf;
}

/* 1/8 where that is exact: it says where the number comes from. */
static const char *attention_scale(char buf[40], int64_t head_dim) {
    int64_t root = (int64_t)lround(sqrt((double)head_dim));
    if (root * root == head_dim)
        snprintf(buf, 40, "1/%lld", (long long)root);
    else
        real(buf, 1 / sqrt((double)head_dim));
    return buf;
}

static void emit_head(FILE *f, const struct imp_options *o, const struct imp_config *c) {
    fprintf(
        f,
        "# %s, %lld layers, written by etimport " ETCC_VERSION ".\n"
        "#\n"
        "# One launch takes N tokens of any mix of sequences. Token i is tokens[i]; it stands at\n"
        "# positions[i] of the sequence that owns cache slot slots[i], and attends to that slot's\n"
        "# positions 0 to positions[i]. Row i of the logits is the prediction after token i.\n"
        "model %s\n\n",
        c->arch->name, (long long)c->layers, o->name);
}

static void emit_const(FILE *f, const char *name, int64_t value, const char *help) {
    fprintf(f, "const %-5s = %-8lld # %s\n", name, (long long)value, help);
}

static void emit_dims(FILE *f, const struct imp_options *o, const struct imp_config *c) {
    char range[48];
    snprintf(range, sizeof range, "1..%lld", (long long)o->max_tokens);
    fprintf(f, "dim N in %-12s # tokens in this launch\n\n", range);
    emit_const(f, "L", c->layers, "layers");
    emit_const(f, "H", c->hidden, "width of the residual stream");
    emit_const(f, "NH", c->heads, "query heads");
    emit_const(f, "NKV", c->kv_heads, "key and value heads");
    emit_const(f, "D", c->head_dim, "elements of a head");
    emit_const(f, "F", c->ffn,
               c->experts ? "width of an expert" : "width of the feed-forward layer");
    if (c->experts) {
        emit_const(f, "E", c->experts, "experts");
        emit_const(f, "K", c->chosen, "experts that see a token");
    }
    emit_const(f, "V", c->vocab, "vocabulary");
    emit_const(f, "SLOTS", o->slots, "sequences whose keys and values are kept");
    emit_const(f, "CTX", o->context, "positions kept of each");
}

static void emit_weights(FILE *f, const struct imp_options *o, const struct imp_weight *w,
                         bool per_layer) {
    for (; w->var; w++) {
        char type[64];
        if (w->per_layer != per_layer) continue;
        snprintf(type, sizeof type, "%s[%s]", o->wide ? "f32" : w->dtype, w->shape);
        fprintf(f, "%sweight %-*s : %-14s = \"%s\"", per_layer ? "  " : "", per_layer ? 2 : 5,
                w->var, type, w->source);
        if (w->help) fprintf(f, "  # %s", w->help);
        fputc('\n', f);
    }
}

/* "rope(X, positions, ...)" with X = rmsnorm(X, G) first where the architecture has it. */
static void emit_rotated(FILE *f, const struct imp_options *o, const struct imp_config *c,
                         const char *var, const char *weight, const char *bias, const char *heads,
                         const char *norm) {
    char a[40], b[40], d[40], e[40];
    bool whole = c->arch->qk_norm == IMP_QK_WHOLE;
    fprintf(f, "  %s = %s(h @ %s.T%s%s, ", var, whole ? "rmsnorm" : "reshape", weight,
            c->attention_bias ? " + " : "", c->attention_bias ? bias : "");
    if (whole) fprintf(f, "%s, eps=%s)\n  %s = reshape(%s, ", norm, real(a, c->eps), var, var);
    fprintf(f, "[N, %s, D])\n", heads);
    if (c->arch->qk_norm == IMP_QK_HEADS)
        fprintf(f, "  %s = rmsnorm(%s, %s, eps=%s)\n", var, var, norm, real(a, c->eps));
    fprintf(f, "  %s = rope(%s, positions, theta=%s", var, var, real(a, c->theta));
    if (c->rope == IMP_ROPE_LLAMA3)
        fprintf(f,
                ", scaling=\"llama3\", factor=%s,\n"
                "           low_freq_factor=%s, high_freq_factor=%s, original_context=%lld",
                real(b, c->factor), real(d, c->low_freq), real(e, c->high_freq),
                (long long)c->original_context);
    fprintf(f, "%s)\n", o->bf16_frequencies ? ", frequencies=\"bf16\"" : "");
}

/* Each block of rows belongs to one expert: its weights are read where they lie. The router
 * computes in f32, where a rounding could change who is chosen. */
static void emit_experts(FILE *f, const struct imp_config *c) {
    if (c->stacked) fprintf(f, "  wg = wgu[:, 0:F]\n  wu = wgu[:, F:2*F]\n");
    fprintf(f, "  w, expert = topk(softmax(h2 @ f32(wr).T), K)\n");
    if (c->norm_chosen) fprintf(f, "  w = w / sum(w, keep=1)\n");
    fprintf(f, "  rows, place, owner, first = group(expert, E)\n"
               "  t = gather(h2, idiv(rows, K))\n"
               "  y = grouped(gated(grouped(t, wg, owner), grouped(t, wu, owner)), wd, owner)\n"
               "  y = gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), H]), place)\n"
               "  x = x + sum(reshape(w, [N, K, 1]) * y, axis=1)\n}\n\n");
}

static void emit_layer(FILE *f, const struct imp_options *o, const struct imp_config *c,
                       const struct imp_weight *weights) {
    char eps[40], scale[40];
    bool ab = c->attention_bias, mb = c->mlp_bias;
    real(eps, c->eps);
    fprintf(f, "for l in 0..L {\n");
    emit_weights(f, o, weights, true);
    fprintf(f, "\n  h = rmsnorm(x, g1, eps=%s)\n", eps);
    emit_rotated(f, o, c, "q", "wq", "bq", "NH", "gq");
    emit_rotated(f, o, c, "k", "wk", "bk", "NKV", "gk");
    fprintf(f, "  v = reshape(h @ wv.T%s, [N, NKV, D])\n", ab ? " + bv" : "");
    fprintf(f, "  kc[l, slots, :, positions, :] = k\n"
               "  vc[l, slots, :, positions, :] = v\n");
    fprintf(f, "  a = attention(q, kc[l], vc[l], slots, positions, scale=%s)\n",
            attention_scale(scale, c->head_dim));
    fprintf(f, "  x = x + reshape(a, [N, NH*D]) @ wo.T%s\n\n", ab ? " + bo" : "");
    fprintf(f, "  h2 = rmsnorm(x, g2, eps=%s)\n", eps);
    if (c->experts) {
        emit_experts(f, c);
        return;
    }
    fprintf(f, "  x = x + gated(h2 @ wg.T%s, h2 @ wu.T%s) @ wd.T%s\n}\n\n", mb ? " + bg" : "",
            mb ? " + bu" : "", mb ? " + bd" : "");
}

void imp_emit(FILE *f, const struct imp_options *o, const struct imp_config *c,
              const struct imp_weight *weights) {
    char eps[40];
    emit_head(f, o, c);
    emit_dims(f, o, c);
    fprintf(f, "\ninput tokens, positions, slots : i32[N]\n\n");
    emit_weights(f, o, weights, false);
    fprintf(f,
            "\nstate kc, vc : %s[L, SLOTS, NKV, CTX, D]\n\n"
            "def gated(a, b) = %s(a) * b\n\n"
            "x = f32(gather(embed, tokens))  # the residual stream stays in f32\n\n",
            o->cache  ? o->cache
            : o->wide ? "f32"
                      : "bf16",
            c->act);
    emit_layer(f, o, c, weights);
    fprintf(f, "output logits : f32[N, V] = rmsnorm(x, gf, eps=%s) @ %s.T\n", real(eps, c->eps),
            c->tie == IMP_TIED ? "embed" : "head");
}
