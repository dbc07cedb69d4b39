#include "examples/llm/vectors/vectors.h"
#include "examples/llm/base/json_file.h"
#include "examples/llm/template/chat.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct vectors {
    json_t *prompts;   /* name to text; NULL: none */
    const char *usual; /* a name, or NULL */
    int64_t most;
    bool by_token;
    int32_t yes, no; /* of by_token; NO -1: the logit of YES alone */
    lm_chat *chat;   /* of by_token; NULL: the texts as they are */
    json_t *kwargs;  /* of the chat template, or NULL */
    bool generation; /* of by_token: the prompt ends with the beginning of an answer */
    enum { SAID_NOTHING, IDENTITY, SIGMOID } activation;
    json_t *config; /* config_sentence_transformers.json, which PROMPTS and USUAL are of; or NULL */
};

static bool is_there(const json_t *j) {
    return j && !json_is_null(j);
}

/* ---- reading ---- */

static bool read_activation(struct vectors *v, const json_t *name, const char *where, char *err) {
    const char *text = json_string_value(name), *dot = text ? strrchr(text, '.') : NULL;
    const char *last = dot ? dot + 1 : text;
    if (!is_there(name) || v->activation != SAID_NOTHING) return true;
    if (last && !strcmp(last, "Sigmoid"))
        v->activation = SIGMOID;
    else if (last && !strcmp(last, "Identity"))
        v->activation = IDENTITY;
    else
        return llm_fail(err, "%s: the activation \"%.80s\" is not supported (Identity, Sigmoid)",
                        where, text ? text : "?");
    return true;
}

static bool read_config(struct vectors *v, const char *dir, char *err) {
    json_t *config = json_file(dir, "config.json", true, err);
    if (!config && *err) return false;
    const json_t *own = json_object_get(config, "sentence_transformers");
    bool ok = read_activation(v, json_object_get(own, "activation_fn"), "config.json", err) &&
              read_activation(v, json_object_get(config, "sbert_ce_default_activation_function"),
                              "config.json", err);
    json_decref(config);
    return ok;
}

static bool read_prompts(struct vectors *v, const char *dir, char *err) {
    static const char file[] = "config_sentence_transformers.json";
    const char *name;
    json_t *text;
    v->config = json_file(dir, file, true, err);
    if (!v->config && *err) return false;
    json_t *prompts = json_object_get(v->config, "prompts");
    if (is_there(prompts) && !json_is_object(prompts))
        return llm_fail(err, "%s: \"prompts\" is no object", file);
    json_object_foreach(prompts, name, text) if (!json_is_string(text)) return llm_fail(
        err, "%s: the prompt \"%.80s\" is no text", file, name);
    v->prompts = is_there(prompts) ? prompts : NULL;
    const json_t *usual = json_object_get(v->config, "default_prompt_name");
    v->usual = json_string_value(usual);
    if (is_there(usual) && (!v->usual || !json_object_get(v->prompts, v->usual)))
        return llm_fail(err, "%s: \"default_prompt_name\" is the name of no prompt", file);
    return read_activation(v, json_object_get(v->config, "activation_fn"), file, err);
}

static bool read_limits(struct vectors *v, const char *dir, char *err) {
    static const char file[] = "sentence_bert_config.json";
    json_t *own = json_file(dir, file, true, err);
    if (!own && *err) return false;
    json_t *tokenizer = json_file(dir, "tokenizer_config.json", true, err);
    const json_t *most = json_object_get(own, "max_seq_length");
    const json_t *general = json_object_get(tokenizer, "model_max_length");
    const json_t *template =
        json_object_get(json_object_get(json_object_get(own, "processing_kwargs"), "chat_template"),
                        "add_generation_prompt");
    bool ok = tokenizer || !*err;
    if (!is_there(most)) most = general;
    double n = json_is_number(most) ? json_number_value(most) : 0;
    v->most = n >= 1 && n < INT32_MAX ? (int64_t)n : 0; /* a number beyond says nothing */
    v->generation = json_is_true(template);
    if (ok && json_is_true(json_object_get(own, "do_lower_case")))
        ok = llm_fail(err, "%s: \"do_lower_case\" is not supported", file);
    if (ok && !v->by_token && json_object_get(json_object_get(own, "modality_config"), "message"))
        ok = llm_fail(err, "%s: texts through a chat template are not supported", file);
    json_decref(own);
    json_decref(tokenizer);
    return ok;
}

/* The tokens whose logits say how much a document is about a query. */
static bool read_tokens(struct vectors *v, const char *dir, const char *path, char *err) {
    char file[256];
    snprintf(file, sizeof file, "%.200s/config.json", path);
    json_t *j = json_file(dir, file, false, err);
    if (!j) return false;
    const json_t *no = json_object_get(j, "false_token_id");
    const json_t *from = json_object_get(j, "module_input_name");
    v->yes = json_file_id(json_object_get(j, "true_token_id"));
    v->no = is_there(no) ? json_file_id(no) : -1;
    bool ok = v->yes >= 0 && (v->no >= 0 || !is_there(no));
    if (!ok) llm_fail(err, "%s: \"true_token_id\" or \"false_token_id\" is no token", file);
    if (ok && is_there(from) &&
        (!json_is_string(from) || strcmp(json_string_value(from), "causal_logits")))
        ok = llm_fail(err, "%s: \"module_input_name\" is not \"causal_logits\"", file);
    v->by_token = true;
    json_decref(j);
    return ok;
}

static bool knows(const char *kind) {
    static const char *const kinds[] = {"Transformer", "Pooling", "Dense",
                                        "Normalize",   "Dropout", "LogitScore"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(kind, kinds[i])) return true;
    return false;
}

static bool read_modules(struct vectors *v, const char *dir, char *err) {
    json_t *modules = json_file_list(dir, "modules.json", true, err);
    bool ok = modules || !*err;
    for (size_t i = 0; ok && i < json_array_size(modules); i++) {
        const json_t *m = json_array_get(modules, i);
        const char *type = json_string_value(json_object_get(m, "type"));
        const char *path = json_string_value(json_object_get(m, "path"));
        const char *dot = type ? strrchr(type, '.') : NULL, *kind = dot ? dot + 1 : "?";
        if (!knows(kind)) ok = llm_fail(err, "modules.json: \"%.80s\" is not supported", kind);
        if (!ok || strcmp(kind, "LogitScore")) continue;
        ok = path && *path && !strchr(path, '/') && strcmp(path, "..")
                 ? read_tokens(v, dir, path, err)
                 : llm_fail(err, "modules.json: \"path\" of LogitScore names no folder");
    }
    json_decref(modules);
    return ok;
}

/* A query and a document are messages where the template knows such. */
static bool read_chat(struct vectors *v, const char *dir, char *err) {
    char why[LLM_ERR];
    if (!v->by_token) return true;
    v->chat = lm_chat_load(dir, NULL, why);
    if (!v->chat) return true;
    const char *source = lm_chat_source(v->chat, 0);
    if (source && strstr(source, "query") && strstr(source, "document")) return true;
    return llm_fail(err, "the chat template says nothing of a \"query\" and a \"document\"");
}

bool vectors_read(const char *dir, struct vectors **out, char *err) {
    struct vectors *v = calloc(1, sizeof *v);
    *out = NULL;
    if (!v) return llm_fail(err, "out of memory");
    *err = 0;
    if (read_config(v, dir, err) && read_modules(v, dir, err) && read_prompts(v, dir, err) &&
        read_limits(v, dir, err) && read_chat(v, dir, err)) {
        *out = v;
        return true;
    }
    vectors_free(v);
    return false;
}

void vectors_free(struct vectors *v) {
    if (!v) return;
    lm_chat_free(v->chat);
    json_decref(v->config);
    free(v);
}

static bool ends_in(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && !strcmp(text + n - k, end);
}

static bool is_kind(const json_t *module, const char *kind) {
    const char *type = json_string_value(json_object_get(module, "type"));
    const char *dot = type ? strrchr(type, '.') : NULL;
    return dot && !strcmp(dot + 1, kind);
}

static bool has_module(const json_t *modules, const char *kind) {
    for (size_t i = 0; i < json_array_size(modules); i++)
        if (is_kind(json_array_get(modules, i), kind)) return true;
    return false;
}

/* A decoder that was saved without its head. */
static bool is_bare(const char *name) {
    static const char *const names[] = {"Gemma3TextModel", "LlamaModel", "MistralModel",
                                        "Qwen2Model", "Qwen3Model"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

/* Is a text's vector made of other tokens than the last, or do tokens see those after them? Then
 * all of it is in one launch. (decoder.etg.in has the same as $flat.) */
static bool takes_whole_texts(const char *dir, const json_t *config, const json_t *modules) {
    char file[256], err[LLM_ERR];
    if (json_is_false(json_object_get(config, "is_causal")) ||
        json_is_true(json_object_get(config, "use_bidirectional_attention")))
        return true;
    for (size_t i = 0; i < json_array_size(modules); i++) {
        const json_t *m = json_array_get(modules, i);
        const char *path = json_string_value(json_object_get(m, "path"));
        if (!is_kind(m, "Pooling") || !path || strchr(path, '/')) continue;
        snprintf(file, sizeof file, "%.200s/config.json", path);
        json_t *own = json_file(dir, file, true, err);
        const char *mode = json_string_value(json_object_get(own, "pooling_mode"));
        bool last = mode ? !strcmp(mode, "lasttoken")
                         : json_is_true(json_object_get(own, "pooling_mode_lasttoken"));
        json_decref(own);
        return !last;
    }
    return false;
}

bool vectors_by(const char *dir, enum vectors_by *out, char *err) {
    *out = VECTORS_NOT;
    json_t *config = json_file(dir, "config.json", false, err);
    if (!config) return false;
    json_t *modules = json_file_list(dir, "modules.json", true, err);
    const char *name =
        json_string_value(json_array_get(json_object_get(config, "architectures"), 0));
    /* A decoder writes texts, unless modules.json makes vectors or scores of what it gives. */
    bool decodes = name && (ends_in(name, "ForCausalLM") || ends_in(name, "LMHeadModel") ||
                            ends_in(name, "ForConditionalGeneration") || is_bare(name));
    bool pools = has_module(modules, "Pooling");
    if (name && !decodes)
        *out = VECTORS_BY_TEXTS;
    else if (pools || has_module(modules, "LogitScore"))
        *out =
            pools && takes_whole_texts(dir, config, modules) ? VECTORS_BY_TEXTS : VECTORS_BY_SLOTS;
    bool ok = modules || !*err;
    json_decref(modules);
    json_decref(config);
    return ok;
}

/* ---- texts ---- */

int64_t vectors_most(const struct vectors *v) {
    return v->most;
}

bool vectors_by_token(const struct vectors *v) {
    return v->by_token;
}

int64_t vectors_vocab(const struct vectors *v) {
    return !v->by_token ? 0 : (v->yes > v->no ? v->yes : v->no) + 1;
}

const char *vectors_prompt(const struct vectors *v, const char *name, char *err) {
    const char *which = name ? name : v->usual;
    if (!which) return "";
    const char *text = json_string_value(json_object_get(v->prompts, which));
    if (!text) llm_fail(err, "the model has no prompt called \"%.80s\"", which);
    return text;
}

bool vectors_text(const struct tokenizer *t, const char *prompt, const char *text, size_t bytes,
                  size_t most, struct ids *ids, char *err) {
    size_t before = strlen(prompt);
    char *whole = malloc(before + bytes + 1);
    if (!whole) return llm_fail(err, "out of memory");
    memcpy(whole, prompt, before);
    memcpy(whole + before, text, bytes);
    bool ok = tokenizer_encode_within(t, whole, before + bytes, most, ids, err);
    free(whole);
    return ok;
}

/* What the template makes of the pair, behind what the prompt asks for. */
static char *render(const struct vectors *v, const char *prompt, const struct vectors_pair *p,
                    size_t *out_bytes, char *err) {
    lm_template_error e;
    json_t *messages =
        json_pack("[{s:s, s:s%}, {s:s, s:s%}]", "role", "query", "content", p->query,
                  p->query_bytes, "role", "document", "content", p->document, p->document_bytes);
    if (messages && *prompt)
        json_array_insert_new(messages, 0,
                              json_pack("{s:s, s:s}", "role", "system", "content", prompt));
    if (!messages) {
        llm_fail(err, "the texts are not UTF-8, or there is no memory");
        return NULL;
    }
    lm_chat_request r = {.messages = messages, .add_generation_prompt = v->generation};
    char *text = lm_chat_render(v->chat, &r, NULL, out_bytes, &e);
    if (!text) llm_fail(err, "the chat template, line %d: %s", e.line, e.message);
    json_decref(messages);
    return text;
}

/* What the template puts behind the document says what to answer: of a pair that is too long it is
 * the document's end that is left out. */
static bool rendered(const struct vectors *v, const struct tokenizer *t, const char *prompt,
                     const struct vectors_pair *pair, size_t most, struct ids *ids, char *err) {
    struct vectors_pair p = *pair;
    size_t start = ids->n;
    for (;;) {
        size_t bytes;
        char *text = render(v, prompt, &p, &bytes, err);
        ids->n = start;
        bool ok = text && tokenizer_encode_as(t, text, bytes, TOKENIZER_BARE, ids, err);
        free(text);
        if (!ok || ids->n - start <= most) return ok;
        if (!p.document_bytes) return llm_fail(err, "the query has no room in %zu tokens", most);
        /* A token is a byte at least; of far too many, keep what would be half too many on average.
         */
        size_t n = ids->n - start, keep = p.document_bytes;
        size_t about = (size_t)((double)keep / (double)n * (double)most * 1.5);
        keep = n - most < keep ? keep - (n - most) : 0;
        p.document_bytes = n / 2 > most && about < keep ? about : keep;
        while (p.document_bytes && ((unsigned char)p.document[p.document_bytes] & 0xc0) == 0x80)
            p.document_bytes--;
    }
}

bool vectors_pair(const struct vectors *v, const struct tokenizer *t, const char *prompt,
                  const struct vectors_pair *p, size_t most, struct ids *ids, size_t *out_second,
                  char *err) {
    size_t before = strlen(prompt);
    *out_second = SIZE_MAX;
    if (v->chat) return rendered(v, t, prompt, p, most, ids, err);
    char *query = malloc(before + p->query_bytes + 1);
    if (!query) return llm_fail(err, "out of memory");
    memcpy(query, prompt, before);
    memcpy(query + before, p->query, p->query_bytes);
    bool ok = tokenizer_encode_pair(t, query, before + p->query_bytes, p->document,
                                    p->document_bytes, most, ids, out_second, err);
    free(query);
    return ok;
}

int64_t vectors_shorten(float *values, int64_t width, int64_t n) {
    double whole = 0, part = 0;
    if (n < 1 || n >= width) return width;
    for (int64_t i = 0; i < width; i++) {
        whole += (double)values[i] * values[i];
        if (i < n) part += (double)values[i] * values[i];
    }
    bool unit = fabs(sqrt(whole) - 1) < 1e-2 && part > 0;
    for (int64_t i = 0; unit && i < n; i++)
        values[i] = (float)(values[i] / sqrt(part));
    return n;
}

bool vectors_score(const struct vectors *v, const float *values, int64_t width, double *out,
                   char *err) {
    if (v->by_token && width < vectors_vocab(v))
        return llm_fail(err, "modules.json names a token beyond the %lld that there are",
                        (long long)width);
    if (!v->by_token && width != 1)
        return llm_fail(err,
                        "the model gives %lld scores of a pair, not one: it sorts texts into "
                        "classes",
                        (long long)width);
    double x = v->by_token ? values[v->yes] - (v->no >= 0 ? (double)values[v->no] : 0) : values[0];
    *out = v->activation == IDENTITY ? x : 1 / (1 + exp(-x));
    return true;
}
