/* How llama-server's clients say which samplers count, and in which order. */
#include "examples/llm/api/request.h"
#include <string.h>

/* LETTER is theirs too; ORDER is the engine's, 0: what it is of is only taken where it does
 * nothing. */
static const struct sampler_name {
    const char *name;
    char letter, order;
} names[] = {
    {"penalties", 'e', 'e'},   {"top_k", 'k', 'k'}, {"top_p", 'p', 'p'},     {"min_p", 'm', 'm'},
    {"temperature", 't', 't'}, {"temp", 0, 't'},    {"dry", 'd', 0},         {"typ_p", 'y', 0},
    {"typical_p", 0, 0},       {"xtc", 'x', 0},     {"top_n_sigma", 's', 0}, {"top-k", 0, 'k'},
    {"top-p", 0, 'p'},         {"min-p", 0, 'm'},   {"typical", 0, 0},
};

static const struct sampler_name *find(const char *name, char letter) {
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name ? !strcmp(names[i].name, name) : names[i].letter == letter) return &names[i];
    return NULL;
}

/* The letters of V, in the engine's words, without doubles. */
static bool letters_of(const json_t *v, bool lenient, char out[8], struct fault *f) {
    const char *letters = json_string_value(v);
    size_t count = letters ? json_string_length(v) : json_array_size(v), n = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = letters ? NULL : json_string_value(json_array_get(v, i));
        const struct sampler_name *s =
            letters || name ? find(name, letters ? letters[i] : 0) : NULL;
        if (!s && !lenient)
            return fault_set(f, 400, "samplers", "unsupported_value",
                             "'samplers': '%.40s' is not supported", name ? name : "?");
        if (s && s->order && !memchr(out, s->order, n)) out[n++] = s->order;
    }
    out[n] = 0;
    return true;
}

bool samplers_read(const struct api_model *m, struct request *r, const char *name, const json_t *v,
                   struct fault *f) {
    char order[8];
    if (!json_is_string(v) && !json_is_array(v))
        return fault_set(f, 400, name, "invalid_type", "'%s' must be an array of names", name);
    r->samplers = v;
    return letters_of(v, m->lenient, order, f);
}

bool samplers_window(const struct api_model *m, struct request *r, const char *name,
                     const json_t *v, struct fault *f) {
    (void)m;
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v) || n < -1)
        return fault_set(f, 400, name, "invalid_type", "'%s' must be a count, or -1", name);
    r->sampling.window = n == 0 ? -1 : n < 0 ? 0 : (int64_t)n;
    return true;
}

/* Those that are not named do nothing. */
bool samplers_check(const struct api_model *m, struct request *r, struct fault *f) {
    struct sampling *p = &r->sampling;
    char order[8] = "";
    if (r->samplers && !letters_of(r->samplers, m->lenient, order, f)) return false;
    bool penalties = p->window >= 0 && (!r->samplers || strchr(order, 'e'));
    if (!penalties) p->repetition = 1, p->frequency = p->presence = 0;
    if (p->window < 0) p->window = 0;
    if (!r->samplers) return true;
    if (!strchr(order, 't')) p->temperature = 1;
    if (!strchr(order, 'k')) p->top_k = 0;
    if (!strchr(order, 'p')) p->top_p = 1;
    if (!strchr(order, 'm')) p->min_p = 0;
    size_t n = 0;
    for (const char *c = order; *c; c++)
        if (*c != 'e') p->order[n++] = *c;
    p->order[n] = 0;
    return true;
}
