/* The parameters of requests, a row for each. */
#include "examples/llm/api/request.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/base/json_text.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

typedef bool reader(const struct api_model *, struct request *, const char *name, const json_t *,
                    struct fault *);

enum kind {
    REAL,
    INTEGER,
    BOOLEAN,
    IGNORED, /* does not change the answer */
    READ,    /* READ is called */
    ELSEWHERE,
    NEUTRAL, /* not done, and only taken where it says LO, which changes nothing */
    SOFT,    /* likewise, and by a lenient server with other values too */
    LENIENT, /* does not matter, and is taken by a lenient server */
};
enum { CHAT = 1, TEXT = 2, BOTH = 3 };

struct param {
    const char *name;
    enum kind kind;
    int where; /* CHAT, TEXT */
    size_t at;
    double lo, hi;
    reader *read;
};

/* ---- those that are more than a number ---- */

static bool wrong(struct fault *f, const char *name, const char *expected) {
    return fault_set(f, 400, name, "invalid_type", "'%s' must be %s", name, expected);
}

bool request_names(const struct api_model *m, const struct request *r, const char *name,
                   const json_t *v, struct fault *f) {
    if (!json_is_string(v)) return wrong(f, name, "a string");
    for (int i = 0; m->aliases && m->aliases[i]; i++)
        if (!strcmp(json_string_value(v), m->aliases[i])) return true;
    if (!strcmp(json_string_value(v), m->name) || m->lenient) return true;
    /* Ollama's clients name a version too. */
    size_t n = strlen(m->name);
    bool ollama = r->dialect == DIALECT_OLLAMA || r->dialect == DIALECT_OLLAMA_EMBED;
    if (ollama && !strncmp(json_string_value(v), m->name, n) &&
        !strcmp(json_string_value(v) + n, ":latest"))
        return true;
    return fault_set(f, 404, name, "model_not_found", "the model '%.200s' is not here; '%s' is",
                     json_string_value(v), m->name);
}

static bool read_model(const struct api_model *m, struct request *r, const char *name,
                       const json_t *v, struct fault *f) {
    return request_names(m, r, name, v, f);
}

static bool read_stop(const struct api_model *m, struct request *r, const char *name,
                      const json_t *v, struct fault *f) {
    (void)m;
    size_t n = json_is_array(v) ? json_array_size(v) : 1;
    if (n > MAX_STOP_STRINGS)
        return fault_set(f, 400, name, NULL, "'%s' has more than %d strings", name,
                         MAX_STOP_STRINGS);
    for (size_t i = 0; i < n; i++) {
        const json_t *s = json_is_array(v) ? json_array_get(v, i) : v;
        if (!json_is_string(s)) return wrong(f, name, "a string or an array of strings");
        size_t bytes = json_string_length(s);
        if (!bytes || bytes > MAX_STOP_BYTES || strlen(json_string_value(s)) != bytes)
            return fault_set(f, 400, name, NULL, "a string of '%s' is empty or too long", name);
        r->stops[r->nstops++] = json_string_value(s);
    }
    return true;
}

static bool read_stop_ids(const struct api_model *m, struct request *r, const char *name,
                          const json_t *v, struct fault *f) {
    if (!json_is_array(v)) return wrong(f, name, "an array of token ids");
    if (json_array_size(v) > MAX_STOP_IDS)
        return fault_set(f, 400, name, NULL, "'%s' has more than %d ids", name, MAX_STOP_IDS);
    for (size_t i = 0; i < json_array_size(v); i++) {
        json_int_t id = json_integer_value(json_array_get(v, i));
        if (!json_is_integer(json_array_get(v, i)) || id < 0 || id >= m->vocab)
            return wrong(f, name, "an array of token ids");
        r->stop_ids[r->nstop_ids++] = (int32_t)id;
    }
    return true;
}

static bool read_stream_options(const struct api_model *m, struct request *r, const char *name,
                                const json_t *v, struct fault *f) {
    const char *key;
    json_t *value;
    (void)m;
    if (!json_is_object(v)) return wrong(f, name, "an object");
    json_object_foreach((json_t *)v, key, value) {
        if (!strcmp(key, "include_usage") && (json_is_boolean(value) || json_is_null(value)))
            r->usage = json_is_true(value);
        else if (strcmp(key, "include_obfuscation") || json_is_true(value))
            return fault_set(f, 400, name, "unknown_parameter", "'%s' has an unknown '%.80s'", name,
                             key);
    }
    return true;
}

static bool read_bias(const struct api_model *m, struct request *r, const char *name,
                      const json_t *v, struct fault *f) {
    const char *key;
    json_t *value;
    if (!json_is_object(v)) return wrong(f, name, "an object from token ids to numbers");
    r->bias = calloc(json_object_size(v) + 1, sizeof *r->bias);
    if (!r->bias) return fault_set(f, 500, NULL, NULL, "out of memory");
    json_object_foreach((json_t *)v, key, value) {
        char *end;
        long id = strtol(key, &end, 10);
        double bias = json_number_value(value);
        if (!*key || *end || id < 0 || id >= m->vocab)
            return fault_set(f, 400, name, NULL, "'%s': '%.40s' is no token id", name, key);
        if (!json_is_number(value) || !(fabs(bias) <= 100))
            return fault_set(f, 400, name, NULL, "'%s': a bias is a number from -100 to 100", name);
        r->bias[r->sampling.nbias++] = (struct logit_bias){(int32_t)id, (float)bias};
    }
    r->sampling.bias = r->bias;
    return true;
}

static bool read_seed(const struct api_model *m, struct request *r, const char *name,
                      const json_t *v, struct fault *f) {
    (void)m;
    if (!json_is_integer(v)) return wrong(f, name, "an integer");
    if (json_integer_value(v) == -1) return true; /* llama-server's and vLLM's for none */
    r->sampling.seed = (uint64_t)json_integer_value(v);
    r->seeded = true;
    return true;
}

/* Chat says whether, and how many in another parameter; completions say how many. */
static bool read_logprobs(const struct api_model *m, struct request *r, const char *name,
                          const json_t *v, struct fault *f) {
    (void)m;
    if (r->dialect != DIALECT_COMPLETIONS) {
        if (!json_is_boolean(v)) return wrong(f, name, "a boolean");
        r->logprobs = json_is_true(v);
        return true;
    }
    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > MAX_TOP_LOGPROBS)
        return wrong(f, name, "an integer from 0 to 20");
    r->logprobs = true;
    r->top = json_integer_value(v);
    return true;
}

/* One parameter says what an answer must be. */
static bool set_form(struct request *r, const char *name, enum answer_form form, struct fault *f) {
    if (r->form != FORM_TEXT)
        return fault_set(f, 400, name, NULL, "'%s' and '%s' exclude each other", r->form_name,
                         name);
    r->form = form;
    r->form_name = name;
    return true;
}

static bool read_schema(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    (void)m;
    /* vLLM takes its text too. */
    if (json_is_string(v))
        v = r->parsed = json_text(json_string_value(v), json_string_length(v),
                                  JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    if (!json_is_object(v) && !json_is_boolean(v)) return wrong(f, name, "a JSON schema");
    r->schema = v;
    return set_form(r, name, FORM_SCHEMA, f);
}

static bool read_choices(const struct api_model *m, struct request *r, const char *name,
                         const json_t *v, struct fault *f) {
    (void)m;
    if (!json_array_size(v)) return wrong(f, name, "an array of texts");
    r->schema = v;
    return set_form(r, name, FORM_CHOICE, f);
}

static bool read_expression(struct request *r, const char *name, const json_t *v,
                            enum answer_form form, struct fault *f) {
    if (!json_is_string(v) || strlen(json_string_value(v)) != json_string_length(v))
        return wrong(f, name, "a text");
    r->expression = json_string_value(v);
    return set_form(r, name, form, f);
}

static bool read_regex(const struct api_model *m, struct request *r, const char *name,
                       const json_t *v, struct fault *f) {
    (void)m;
    return read_expression(r, name, v, FORM_REGEX, f);
}

static bool read_grammar(const struct api_model *m, struct request *r, const char *name,
                         const json_t *v, struct fault *f) {
    (void)m;
    if (json_is_string(v) && !json_string_length(v)) return true; /* llama-server's for none */
    return read_expression(r, name, v, FORM_GRAMMAR, f);
}

static bool read_json_only(const struct api_model *m, struct request *r, const char *name,
                           const json_t *v, struct fault *f) {
    (void)m;
    if (!json_is_boolean(v)) return wrong(f, name, "a boolean");
    return json_is_false(v) || set_form(r, name, FORM_JSON, f);
}

/* vLLM's {"json": ...}, {"regex": ...} and so on: one of them. */
static bool read_structured(const struct api_model *m, struct request *r, const char *name,
                            const json_t *v, struct fault *f) {
    static const struct {
        const char *name;
        reader *read;
    } kinds[] = {{"json", read_schema},
                 {"regex", read_regex},
                 {"choice", read_choices},
                 {"grammar", read_grammar},
                 {"json_object", read_json_only}};
    const char *key;
    json_t *value;
    if (!json_is_object(v)) return wrong(f, name, "an object");
    json_object_foreach((json_t *)v, key, value) {
        size_t i = 0, n = sizeof kinds / sizeof *kinds;
        while (i < n && strcmp(kinds[i].name, key))
            i++;
        if (json_is_null(value) || (i == n && json_is_false(value))) continue;
        if (i == n)
            return fault_set(f, 400, name, "unsupported_value", "'%s': '%.80s' is not supported",
                             name, key);
        if (!kinds[i].read(m, r, name, value, f)) return false;
    }
    return true;
}

static bool read_format(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    const char *type = json_string_value(json_object_get(v, "type"));
    (void)m;
    if (!type) return wrong(f, name, "an object with a 'type'");
    if (!strcmp(type, "text")) return true;
    if (!strcmp(type, "json_object")) {
        /* llama-server's way to give a schema. */
        r->schema = json_object_get(v, "schema");
        if (r->schema && !json_is_object(r->schema) && !json_is_boolean(r->schema))
            return fault_set(f, 400, name, NULL, "'%s': 'schema' must be a JSON schema", name);
        return set_form(r, name, r->schema ? FORM_SCHEMA : FORM_JSON, f);
    }
    if (!strcmp(type, "regex")) return read_regex(m, r, name, json_object_get(v, "pattern"), f);
    if (!strcmp(type, "grammar")) return read_grammar(m, r, name, json_object_get(v, "grammar"), f);
    if (strcmp(type, "json_schema"))
        return fault_set(f, 400, name, NULL, "'%s': the type '%.80s' is not known", name, type);
    const json_t *schema = json_object_get(v, "json_schema");
    /* llama-server has the schema itself there too. */
    r->schema = json_object_get(schema ? schema : v, "schema");
    if (!json_is_object(r->schema) && !json_is_boolean(r->schema))
        return fault_set(f, 400, name, NULL, "'%s': 'json_schema' needs a 'schema'", name);
    return set_form(r, name, FORM_SCHEMA, f);
}

/* llama-server's: -1 is as many as there is room for. */
static bool read_n_predict(const struct api_model *m, struct request *r, const char *name,
                           const json_t *v, struct fault *f) {
    (void)m;
    if (!json_is_integer(v) || json_integer_value(v) < -1) return wrong(f, name, "a count, or -1");
    if (json_integer_value(v) >= 0) r->most = json_integer_value(v);
    return true;
}

static bool read_prompt_logprobs(const struct api_model *m, struct request *r, const char *name,
                                 const json_t *v, struct fault *f) {
    (void)m;
    if (json_is_false(v)) return true;
    if (!json_is_integer(v) || json_integer_value(v) < 0 ||
        json_integer_value(v) > MAX_TOP_LOGPROBS)
        return wrong(f, name, "an integer from 0 to 20");
    r->prompt_top = json_integer_value(v);
    return true;
}

static bool read_skip_specials(const struct api_model *m, struct request *r, const char *name,
                               const json_t *v, struct fault *f) {
    (void)m;
    if (!json_is_boolean(v)) return wrong(f, name, "a boolean");
    r->specials = json_is_false(v);
    return true;
}

static bool read_add_specials(const struct api_model *m, struct request *r, const char *name,
                              const json_t *v, struct fault *f) {
    (void)m;
    if (!json_is_boolean(v)) return wrong(f, name, "a boolean");
    r->bare = json_is_false(v);
    return true;
}

/* llama-server's: where reasoning is told, if it is. */
static bool read_reasoning_format(const struct api_model *m, struct request *r, const char *name,
                                  const json_t *v, struct fault *f) {
    static const char *const apart[] = {"auto", "deepseek", "deepseek-legacy"};
    const char *word = json_string_value(v);
    if (!word) return wrong(f, name, "a word");
    for (size_t i = 0; i < sizeof apart / sizeof *apart; i++)
        if (!strcmp(word, apart[i])) return true;
    bool marks = !m->tools || m->tools->read;
    if (strcmp(word, "none") || !marks)
        return fault_set(f, 400, name, "unsupported_value", "'%s': \"%.40s\" is not supported",
                         name, word);
    r->plain_reasoning = true;
    return true;
}

static bool read_fields(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    (void)m;
    bool ok = json_is_array(v) && r->dialect == DIALECT_NATIVE;
    for (size_t i = 0; ok && i < json_array_size(v); i++)
        ok = json_is_string(json_array_get(v, i));
    r->fields = v;
    return ok || wrong(f, name, "an array of names of /completion's answer");
}

/* What is only known with one value is refused with any other. */
static bool read_only_1(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    (void)m;
    (void)r;
    if (json_is_integer(v) && json_integer_value(v) == 1) return true;
    return fault_set(f, 400, name, "unsupported_value", "'%s' other than 1 is not supported", name);
}
static bool read_only_text(const struct api_model *m, struct request *r, const char *name,
                           const json_t *v, struct fault *f) {
    const char *word = json_string_value(json_array_get(v, 0));
    (void)m;
    (void)r;
    if (json_array_size(v) == 1 && word && !strcmp(word, "text")) return true;
    return fault_set(f, 400, name, "unsupported_value",
                     "'%s' other than [\"text\"] is not supported", name);
}
static bool read_object(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    (void)m;
    (void)r;
    return json_is_object(v) || wrong(f, name, "an object");
}

/* ---- the table ---- */

#define AT(field) .at = offsetof(struct request, field)
#define NUMBER(name, kind, where, field, lo, hi)                                                   \
    { name, kind, where, AT(field), lo, hi, NULL }
#define FLAG(name, where, field)                                                                   \
    { name, BOOLEAN, where, AT(field), 0, 0, NULL }
#define CALL(name, where, function)                                                                \
    { name, READ, where, 0, 0, 0, function }
#define ONLY(name, kind, where)                                                                    \
    { name, kind, where, 0, 0, 0, NULL }
#define NONE(name, where, value)                                                                   \
    { name, NEUTRAL, where, 0, value, 0, NULL }
#define SOFTLY(name, where, value)                                                                 \
    { name, SOFT, where, 0, value, 0, NULL }
#define MANY 1e15
static const struct param params[] = {
    CALL("model", BOTH, read_model),
    ONLY("messages", ELSEWHERE, CHAT),
    ONLY("prompt", ELSEWHERE, TEXT),
    NUMBER("max_tokens", INTEGER, BOTH, most, 0, MANY),
    NUMBER("max_completion_tokens", INTEGER, CHAT, most, 0, MANY),
    CALL("n_predict", BOTH, read_n_predict),
    NUMBER("min_tokens", INTEGER, BOTH, least, 0, MANY),
    NUMBER("n", INTEGER, BOTH, n, 1, 128),
    CALL("best_of", TEXT, read_only_1),
    FLAG("stream", BOTH, stream),
    CALL("stream_options", BOTH, read_stream_options),
    NUMBER("temperature", REAL, BOTH, sampling.temperature, 0, 1e6),
    NUMBER("top_p", REAL, BOTH, sampling.top_p, 0, 1),
    NUMBER("top_k", INTEGER, BOTH, sampling.top_k, -1, MANY),
    NUMBER("min_p", REAL, BOTH, sampling.min_p, 0, 1),
    NUMBER("repetition_penalty", REAL, BOTH, sampling.repetition, 0.001, 1000),
    NUMBER("repeat_penalty", REAL, BOTH, sampling.repetition, 0.001, 1000),
    NUMBER("frequency_penalty", REAL, BOTH, sampling.frequency, -2, 2),
    NUMBER("presence_penalty", REAL, BOTH, sampling.presence, -2, 2),
    CALL("logit_bias", BOTH, read_bias),
    CALL("seed", BOTH, read_seed),
    CALL("stop", BOTH, read_stop),
    CALL("stop_token_ids", BOTH, read_stop_ids),
    FLAG("ignore_eos", BOTH, run_on),
    CALL("logprobs", BOTH, read_logprobs),
    NUMBER("top_logprobs", INTEGER, CHAT, top, 0, MAX_TOP_LOGPROBS),
    FLAG("echo", TEXT, echo),
    CALL("prompt_logprobs", BOTH, read_prompt_logprobs),
    CALL("skip_special_tokens", BOTH, read_skip_specials),
    CALL("add_special_tokens", TEXT, read_add_specials),
    CALL("response_format", BOTH, read_format),
    CALL("structured_outputs", BOTH, read_structured),
    CALL("guided_json", BOTH, read_schema),
    CALL("guided_regex", BOTH, read_regex),
    CALL("guided_choice", BOTH, read_choices),
    CALL("guided_grammar", BOTH, read_grammar),
    CALL("json_schema", BOTH, read_schema),
    CALL("grammar", BOTH, read_grammar),
    CALL("tools", CHAT, calls_tools),
    CALL("tool_choice", CHAT, calls_choice),
    CALL("chat_template_kwargs", CHAT, read_object),
    ONLY("documents", ELSEWHERE, CHAT),
    ONLY("reasoning_effort", ELSEWHERE, CHAT),
    ONLY("verbosity", ELSEWHERE, CHAT),
    ONLY("add_generation_prompt", ELSEWHERE, CHAT),
    CALL("modalities", CHAT, read_only_text),
    FLAG("parallel_tool_calls", CHAT, parallel),
    ONLY("user", IGNORED, BOTH),
    ONLY("metadata", IGNORED, BOTH),
    ONLY("store", IGNORED, BOTH),
    ONLY("service_tier", IGNORED, BOTH),
    ONLY("safety_identifier", IGNORED, BOTH),
    ONLY("prompt_cache_key", IGNORED, BOTH),
    ONLY("prompt_cache_retention", IGNORED, BOTH),
    ONLY("prompt_cache_options", IGNORED, BOTH),
    ONLY("speed", IGNORED, CHAT), /* Anthropic's, of the service, as these two: */
    ONLY("user_profile_id", IGNORED, CHAT),
    ONLY("workspace_id", IGNORED, CHAT),
    ONLY("cache_prompt", IGNORED, BOTH),
    ONLY("prediction", IGNORED, CHAT),
    ONLY("suffix", ELSEWHERE, TEXT),
    ONLY("input_prefix", ELSEWHERE, BOTH),
    ONLY("input_suffix", ELSEWHERE, BOTH),
    ONLY("input_extra", ELSEWHERE, BOTH),
    ONLY("api_generate", ELSEWHERE, CHAT), /* of our own: which of Ollama's paths it was; */
    ONLY("api_prompt", ELSEWHERE, CHAT),   /* a prompt that goes through no template; */
    ONLY("infill", ELSEWHERE, TEXT),       /* that the path was /infill */
    ONLY("guided_decoding_backend", IGNORED, BOTH),
    ONLY("guided_whitespace_pattern", LENIENT, BOTH),
    /* Hints, and what only counts beside others that are refused. */
    ONLY("id_slot", IGNORED, BOTH),
    ONLY("slot_id", IGNORED, BOTH),
    ONLY("n_keep", IGNORED, BOTH), /* no text is cut here */
    ONLY("n_discard", IGNORED, BOTH),
    ONLY("t_max_prompt_ms", IGNORED, BOTH),
    ONLY("speculative.n_max", IGNORED, BOTH),
    ONLY("speculative.n_min", IGNORED, BOTH),
    ONLY("speculative.p_min", IGNORED, BOTH),
    ONLY("backend_sampling", IGNORED, BOTH),
    ONLY("mirostat_tau", IGNORED, BOTH),
    ONLY("mirostat_eta", IGNORED, BOTH),
    ONLY("dynatemp_exponent", IGNORED, BOTH),
    ONLY("xtc_threshold", IGNORED, BOTH),
    ONLY("dry_base", IGNORED, BOTH),
    ONLY("dry_allowed_length", IGNORED, BOTH),
    ONLY("dry_penalty_last_n", IGNORED, BOTH),
    ONLY("dry_sequence_breakers", IGNORED, BOTH),
    ONLY("return_progress", IGNORED, BOTH), /* there may be none to tell */
    CALL("samplers", BOTH, samplers_read),
    CALL("repeat_last_n", BOTH, samplers_window),
    FLAG("timings_per_token", BOTH, timings),
    CALL("reasoning_format", CHAT, read_reasoning_format),
    CALL("response_fields", TEXT, read_fields),
    SOFTLY("return_tokens_as_token_ids", BOTH, 0),
    SOFTLY("return_tokens", BOTH, 0),
    SOFTLY("return_token_ids", BOTH, 0),
    SOFTLY("post_sampling_probs", BOTH, 0),
    SOFTLY("penalize_nl", BOTH, 0),
    SOFTLY("n_indent", BOTH, 0),
    SOFTLY("n_probs", BOTH, 0),
    SOFTLY("min_keep", BOTH, 0),
    SOFTLY("t_max_predict_ms", BOTH, 0),
    SOFTLY("parse_tool_calls", CHAT, 1),
    SOFTLY("priority", BOTH, 0),
    SOFTLY("spaces_between_special_tokens", BOTH, 1),
    ONLY("request_id", LENIENT, BOTH),
    ONLY("cache_salt", LENIENT, BOTH),
    ONLY("kv_transfer_params", LENIENT, BOTH),
    ONLY("vllm_xargs", LENIENT, BOTH),
    ONLY("mm_processor_kwargs", LENIENT, BOTH),
    NONE("continue_final_message", BOTH, 0),
    NONE("include_stop_str_in_output", BOTH, 0),
    NONE("use_beam_search", BOTH, 0),
    NONE("early_stopping", BOTH, 0),
    NONE("length_penalty", BOTH, 1),
    NONE("mirostat", BOTH, 0),
    NONE("typical_p", BOTH, 1),
    NONE("typ_p", BOTH, 1),
    NONE("tfs_z", BOTH, 1),
    NONE("top_n_sigma", BOTH, -1),
    NONE("xtc_probability", BOTH, 0),
    NONE("dry_multiplier", BOTH, 0),
    NONE("dynatemp_range", BOTH, 0),
    NONE("top_a", BOTH, 0),
};

static bool read_number(const struct param *p, struct request *r, const json_t *v,
                        struct fault *f) {
    char *at = (char *)r + p->at;
    bool integer = p->kind == INTEGER;
    if (integer ? !json_is_integer(v) : !json_is_number(v))
        return wrong(f, p->name, integer ? "an integer" : "a number");
    double value = json_number_value(v);
    if (!(value >= p->lo && value <= p->hi))
        return fault_set(f, 400, p->name, "invalid_value", "'%s' must be from %g to %g", p->name,
                         p->lo, p->hi);
    if (integer)
        *(int64_t *)at = json_integer_value(v);
    else
        *(double *)at = value;
    return true;
}

static bool read_param(const struct param *p, const struct api_model *m, struct request *r,
                       const json_t *v, struct fault *f) {
    switch (p->kind) {
    case REAL:
    case INTEGER:
        return read_number(p, r, v, f);
    case BOOLEAN:
        if (!json_is_boolean(v)) return wrong(f, p->name, "a boolean");
        *((bool *)((char *)r + p->at)) = json_is_true(v);
        return true;
    case READ:
        return p->read(m, r, p->name, v, f);
    case SOFT:
    case NEUTRAL:
        if (json_is_boolean(v) ? json_is_true(v) == (p->lo != 0)
                               : json_is_number(v) && json_number_value(v) == p->lo)
            break;
        if (p->kind == SOFT && m->lenient) break;
        return fault_set(f, 400, p->name, "unsupported_value", "'%s' is not supported", p->name);
    case LENIENT:
        if (m->lenient) break;
        return fault_set(f, 400, p->name, "unknown_parameter",
                         "the parameter '%s' is not obeyed: see --lenient", p->name);
    case IGNORED:
    case ELSEWHERE:
        break;
    }
    return true;
}

static const struct param *find(const char *name, enum dialect dialect) {
    int where = dialect == DIALECT_COMPLETIONS || dialect == DIALECT_NATIVE ? TEXT : CHAT;
    for (size_t i = 0; i < sizeof params / sizeof *params; i++)
        if (!strcmp(params[i].name, name) && (params[i].where & where)) return &params[i];
    return NULL;
}

/* ---- what hangs together ---- */

static bool check_all(const struct api_model *m, struct request *r, struct fault *f) {
    bool one = r->dialect != DIALECT_CHAT && r->dialect != DIALECT_COMPLETIONS;
    if (r->n > (one ? 1 : m->choices))
        return fault_set(f, 400, "n", "invalid_value", "'n' must be at most %lld",
                         one ? 1LL : (long long)m->choices);
    if (r->top && !r->logprobs)
        return fault_set(f, 400, "top_logprobs", NULL, "'top_logprobs' needs 'logprobs'");
    if (r->logprobs && r->dialect == DIALECT_MESSAGES)
        return fault_set(f, 400, "logprobs", "unsupported_value",
                         "log probabilities are not told there");
    if (r->echo && r->logprobs && r->prompt_top < 0) r->prompt_top = r->top;
    if (r->prompt_top >= 0 && r->stream)
        return fault_set(f, 400, "stream", "unsupported_value",
                         "log probabilities of a prompt are not streamed");
    if (r->usage && !r->stream)
        return fault_set(f, 400, "stream_options", NULL, "'stream_options' needs 'stream'");
    if (r->sampling.top_k < 0) r->sampling.top_k = 0;
    if (r->least > r->most && r->most >= 0)
        return fault_set(f, 400, "min_tokens", NULL, "'min_tokens' is more than 'max_tokens'");
    if (!r->seeded && getrandom(&r->sampling.seed, sizeof r->sampling.seed, GRND_NONBLOCK) < 0)
        r->sampling.seed = 0;
    return samplers_check(m, r, f) && calls_check(r, f);
}

bool params_read(const struct api_model *m, struct request *r, struct fault *f) {
    const char *name;
    json_t *value;
    json_object_foreach(r->body, name, value) {
        const struct param *p = find(name, r->dialect);
        if (json_is_null(value)) continue; /* as if it were not there */
        if (!p)
            return fault_set(f, 400, name, "unknown_parameter",
                             "the parameter '%.100s' is not known", name);
        if (!read_param(p, m, r, value, f)) return false;
    }
    return check_all(m, r, f);
}
