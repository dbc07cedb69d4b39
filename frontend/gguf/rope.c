/* rope.c - how the frequencies of rotary positions are scaled: "rope_scaling" of config.json. */
#include "frontend/gguf/convert.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

static bool put(json_t *config, json_t *scaling) {
    json_object_set_new(config, "rope_scaling", scaling);
    return true;
}

static json_t *scaling_of(const char *type, double factor) {
    json_t *s = json_object();
    json_object_set_new(s, "rope_type", json_string(type));
    json_object_set_new(s, "factor", json_real(gguf_short_real(factor)));
    return s;
}

static bool put_yarn(const struct gguf *g, const struct gguf_family *f, double factor,
                     json_t *config) {
    static const char *const names[][2] = {{"rope.scaling.yarn_beta_fast", "beta_fast"},
                                           {"rope.scaling.yarn_beta_slow", "beta_slow"}};
    int64_t original;
    double beta, attention, magnitude, all;
    if (!gguf_get_int(g, gguf_key(g, f, "rope.scaling.original_context_length"), 0, &original) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scaling.attn_factor"), 1, &attention) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scaling.yarn_attn_factor"), 0, &magnitude) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scaling.yarn_log_multiplier"), 0, &all))
        return false;
    if (original < 1 || original > INT32_MAX)
        return gguf_fail(g->fault,
                         "%s: metadata \"%s\" is missing or out of range, which yarn needs",
                         g->path, gguf_key(g, f, "rope.scaling.original_context_length"));
    if (attention != 0 && attention != 1)
        return gguf_fail(g->fault, "%s: metadata \"%s\" is %g; only 1 is supported", g->path,
                         gguf_key(g, f, "rope.scaling.attn_factor"), attention);
    json_t *s = scaling_of("yarn", factor);
    json_object_set_new(s, "original_max_position_embeddings", json_integer(original));
    put(config, s);
    if (f->bit == GGUF_GPT_OSS) json_object_set_new(s, "truncate", json_false());
    if (magnitude != 0)
        json_object_set_new(s, "attention_factor", json_real(gguf_short_real(magnitude)));
    if (all != 0) {
        /* Of DeepSeek's a tenth, and both are one; else programs that read such files take the
         * other one to be 1. */
        bool tenth = f->bit & GGUF_DEEPSEEKS;
        double of_all = tenth ? round(all * 1e7) / 1e6 : gguf_short_real(all);
        json_object_set_new(s, "mscale", json_real(tenth ? of_all : 1));
        json_object_set_new(s, "mscale_all_dim", json_real(of_all));
    }
    for (int i = 0; i < 2; i++) {
        if (!gguf_get_real(g, gguf_key(g, f, names[i][0]), 0, &beta)) return false;
        if (beta != 0) json_object_set_new(s, names[i][1], json_real(gguf_short_real(beta)));
    }
    return true;
}

/* What "TYPE" and its factor say. Without a type, a factor is of the linear one. */
static bool put_scaling(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    struct gguf_text type;
    double factor, old;
    const char *key = gguf_key(g, f, "rope.scaling.type");
    if (!gguf_get_text(g, key, &type) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scale_linear"), 0, &old) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scaling.factor"), old, &factor))
        return false;
    if (factor < 0 || factor > 1e6)
        return gguf_fail(g->fault, "%s: metadata \"%s\" is %g, out of range", g->path,
                         gguf_key(g, f, "rope.scaling.factor"), factor);
    if (type.at && gguf_is(type, "none")) return true;
    if (!type.at || gguf_is(type, "linear"))
        return factor == 0 || factor == 1 || put(config, scaling_of("linear", factor));
    if (gguf_is(type, "yarn")) return put_yarn(g, f, factor, config);
    return gguf_fail(g->fault, "%s: metadata \"%s\" is \"%s\"; supported: none, linear, yarn",
                     g->path, key, gguf_shown(type));
}

/* ---- llama3: a divisor for each frequency, computed when the file was made ---- */

struct divisors {
    double of[4096], theta;
    int n;
};

/* Positions in which frequency I goes round once. */
static double wave(const struct divisors *d, int i) {
    return 2 * acos(-1) * pow(d->theta, (double)i / d->n);
}

/* Between the waves that stay and those that are divided by FACTOR, one over the divisor changes
 * linearly with one over the wave: from LOW to HIGH waves within ORIGINAL positions. */
static double divisor(double factor, double low, double high, double original, double wave_length) {
    double turns = original / wave_length, smooth = (turns - low) / (high - low);
    if (turns > high) return 1;
    if (turns < low) return factor;
    return 1 / ((1 - smooth) / factor + smooth);
}

static bool explains(const struct divisors *d, double factor, double low, double high,
                     double original) {
    for (int i = 0; i < d->n; i++) {
        double want = divisor(factor, low, high, original, wave(d, i));
        if (fabs(d->of[i] - want) > 1e-4 * want) return false;
    }
    return true;
}

/* The rule that gives these divisors: all published checkpoints have LOW 1, HIGH 4 and a power of 2
 * for ORIGINAL; others are told by two frequencies of those in between. */
static bool find_rule(const struct divisors *d, double factor, double *high, double *original) {
    double slope = 0, from = 0, turn[2], smooth[2];
    int n = 0;
    for (*high = 4, *original = 16; *original < 1 << 24; *original *= 2)
        if (explains(d, factor, 1, *high, *original)) return true;
    for (int i = 0; i < d->n; i++) {
        if (d->of[i] < 1.0001 || d->of[i] > 0.9999 * factor) continue;
        turn[n > 0] = 1 / wave(d, i);
        smooth[n > 0] = (1 / d->of[i] - 1 / factor) / (1 - 1 / factor);
        n++;
    }
    if (n < 2) return false;
    slope = (smooth[1] - smooth[0]) / (turn[1] - turn[0]); /* original / (high - low) */
    from = slope * turn[0] - smooth[0];                    /* low / (high - low), low being 1 */
    if (!(from > 1e-6)) return false;
    *high = round((1 + 1 / from) * 1e4) / 1e4;
    *original = round(slope * (*high - 1));
    return *original >= 1 && *original < 1 << 30 && explains(d, factor, 1, *high, *original);
}

static bool read_divisors(const struct gguf *g, const struct gguf_tensor *t, const json_t *config,
                          const char *wide, struct divisors *d) {
    float values[4096];
    uint64_t half = (uint64_t)json_integer_value(json_object_get(config, wide)) / 2;
    d->theta = json_number_value(json_object_get(config, "rope_theta"));
    if (t->type != 0 || t->rank != 1 || t->elements != half || half > 4096 || half < 1)
        return gguf_fail(g->fault,
                         "%s: tensor \"rope_freqs.weight\" is not one F32 for each two elements of "
                         "a head",
                         g->path);
    if (!gguf_read(g, t->offset, values, t->bytes)) return false;
    d->n = (int)half;
    for (int i = 0; i < d->n; i++)
        d->of[i] = values[i];
    return true;
}

static bool put_llama3(const struct gguf *g, const struct gguf_tensor *t, json_t *config) {
    struct divisors d;
    double factor = 1, high, original;
    if (!read_divisors(g, t, config, "head_dim", &d)) return false;
    for (int i = 0; i < d.n; i++)
        if (d.of[i] > factor) factor = d.of[i];
    bool plain = factor == 1 && explains(&d, 1, 1, 4, 1);
    if (plain) return true;
    if (json_object_get(config, "rope_scaling") || !find_rule(&d, factor, &high, &original))
        return gguf_fail(
            g->fault, "%s: tensor \"rope_freqs.weight\" has frequencies that no known rule gives",
            g->path);
    json_t *s = scaling_of("llama3", factor);
    json_object_set_new(s, "low_freq_factor", json_real(1));
    json_object_set_new(s, "high_freq_factor", json_real(high));
    json_object_set_new(s, "original_max_position_embeddings", json_integer((json_int_t)original));
    return put(config, s);
}

/* ---- longrope: two lists of divisors ---- */

static bool put_list(const struct gguf *g, const struct gguf_tensor *t, const char *name,
                     json_t *scaling) {
    float values[4096];
    if (t->type != 0 || t->rank != 1 || t->elements > 4096)
        return gguf_fail(g->fault, "%s: tensor \"%s\" is no list of F32", g->path,
                         gguf_shown(t->name));
    if (!gguf_read(g, t->offset, values, t->bytes)) return false;
    json_t *list = json_array();
    json_object_set_new(scaling, name, list);
    for (uint64_t i = 0; i < t->elements; i++)
        json_array_append_new(list, json_real(gguf_short_real(values[i])));
    return true;
}

static bool put_longrope(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const struct gguf_tensor *few = gguf_tensor(g, "rope_factors_short.weight"),
                             *many = gguf_tensor(g, "rope_factors_long.weight");
    int64_t original, most = json_integer_value(json_object_get(config, "max_position_embeddings"));
    double magnitude;
    if (!few && !many) return true;
    if (!gguf_get_int(g, gguf_key(g, f, "rope.scaling.original_context_length"), most, &original) ||
        !gguf_get_real(g, gguf_key(g, f, "rope.scaling.attn_factor"), 1, &magnitude))
        return false;
    if (original < 1 || original > INT32_MAX)
        return gguf_fail(g->fault, "%s: metadata \"%s\" is out of range", g->path,
                         gguf_key(g, f, "rope.scaling.original_context_length"));
    if (!few || !many)
        return gguf_fail(g->fault, "%s: tensor \"rope_factors_%s.weight\" is missing", g->path,
                         few ? "long" : "short");
    json_t *s = json_object();
    json_object_set_new(s, "rope_type", json_string("longrope"));
    double usual = sqrt(1 + log((double)most / (double)original) / log((double)original));
    if (!(original > 1 && fabs(magnitude - usual) < 1e-6 * usual))
        json_object_set_new(s, "attention_factor", json_real(gguf_short_real(magnitude)));
    json_object_set_new(config, "original_max_position_embeddings", json_integer(original));
    return put(config, s) && put_list(g, few, "short_factor", s) &&
           put_list(g, many, "long_factor", s);
}

/* Queries grow with their position. */
static bool put_growth(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "attention.temperature_scale");
    json_t *s = json_object_get(config, "rope_scaling");
    double beta;
    if (!gguf_get_real(g, key, 0, &beta)) return false;
    if (beta != 0 && !s)
        return gguf_fail(g->fault, "%s: metadata \"%s\" needs rope of the type yarn", g->path, key);
    if (s) json_object_set_new(s, "llama_4_scaling_beta", json_real(gguf_short_real(beta)));
    return true;
}

/* ---- Gemma 4: layers without a window turn a part of a head, and frequencies that are divided by
 * a very large number do not turn ---- */

static bool put_proportional(const struct gguf *g, const struct gguf_tensor *t, json_t *config) {
    static const char *const bases[] = {"rope_theta", "rope_local_base_freq"};
    static const char *const kinds[] = {"full_attention", "sliding_attention"};
    struct divisors d;
    int turns = 0;
    json_t *ropes = json_object();
    json_object_set_new(config, "rope_parameters", ropes);
    for (int i = 0; i < 2; i++) {
        json_t *one = json_object();
        json_object_set_new(ropes, kinds[i], one);
        json_object_set(one, "rope_theta", json_object_get(config, bases[i]));
        json_object_set_new(one, "rope_type", json_string("default"));
        json_object_del(config, bases[i]);
    }
    if (!t) return true;
    if (!read_divisors(g, t, config, "global_head_dim", &d)) return false;
    while (turns < d.n && d.of[turns] == 1)
        turns++;
    for (int i = turns; i < d.n; i++)
        if (!(d.of[i] >= 1e20))
            return gguf_fail(g->fault,
                             "%s: tensor \"rope_freqs.weight\" has frequencies that no known rule "
                             "gives",
                             g->path);
    json_t *full = json_object_get(ropes, "full_attention");
    json_object_set_new(full, "rope_type", json_string("proportional"));
    json_object_set_new(full, "partial_rotary_factor", json_real((double)turns / d.n));
    return true;
}

/* Layers with a window have plain positions, of the same base. */
static bool check_base(const struct gguf *g, const struct gguf_family *f, const json_t *config) {
    const char *key = gguf_key(g, f, "rope.freq_base_swa");
    double theta = json_number_value(json_object_get(config, "rope_theta")), other;
    if (!gguf_get_real(g, key, theta, &other)) return false;
    return gguf_short_real(other) == theta ||
           gguf_fail(g->fault, "%s: metadata \"%s\" is another one than \"%s\"", g->path, key,
                     gguf_key(g, f, "rope.freq_base"));
}

bool gguf_rope(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const struct gguf_tensor *t = gguf_tensor(g, "rope_freqs.weight");
    if (f->bit == GGUF_PHI3) return put_longrope(g, f, config);
    if (f->bit == GGUF_GEMMA4) return put_proportional(g, t, config);
    return put_scaling(g, f, config) && (!t || put_llama3(g, t, config)) &&
           (f->bit != GGUF_MINISTRAL3 || put_growth(g, f, config)) &&
           (f->bit != GGUF_OLMO3 || check_base(g, f, config));
}
