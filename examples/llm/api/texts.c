/* /v1/embeddings, /v1/rerank and Ollama's /api/embed: vectors and scores of texts. */
#include "examples/llm/api/form.h"
#include "examples/llm/vectors/vectors.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMBEDDINGS = 1, RERANK = 2, OLLAMA = 4, ALL = 7 };

/* ---- requests ---- */

static bool wrong(struct fault *f, const char *name, const char *expected) {
    return fault_set(f, 400, name, "invalid_type", "'%s' must be %s", name, expected);
}

static bool read_model(const struct api_model *m, struct request *r, const char *name,
                       const json_t *v, struct fault *f) {
    return request_names(m, r, name, v, f);
}

static bool read_format(const struct api_model *m, struct request *r, const char *name,
                        const json_t *v, struct fault *f) {
    const char *text = json_string_value(v);
    (void)m;
    r->base64 = text && !strcmp(text, "base64");
    return r->base64 || (text && !strcmp(text, "float")) ||
           fault_set(f, 400, name, "unsupported_value", "'%s' must be \"float\" or \"base64\"",
                     name);
}

static bool read_dimensions(const struct api_model *m, struct request *r, const char *name,
                            const json_t *v, struct fault *f) {
    r->dimensions = json_integer_value(v);
    return (json_is_integer(v) && r->dimensions >= 1 && r->dimensions <= m->width) ||
           fault_set(f, 400, name, "invalid_value", "'%s' must be an integer from 1 to %lld", name,
                     (long long)m->width);
}

static bool read_top_n(const struct api_model *m, struct request *r, const char *name,
                       const json_t *v, struct fault *f) {
    (void)m;
    r->top_n = json_integer_value(v);
    return (json_is_integer(v) && r->top_n >= 1) ||
           fault_set(f, 400, name, "invalid_value", "'%s' must be an integer of 1 or more", name);
}

static bool read_documents_wanted(const struct api_model *m, struct request *r, const char *name,
                                  const json_t *v, struct fault *f) {
    (void)m;
    r->documents = json_is_true(v);
    return json_is_boolean(v) || wrong(f, name, "a boolean");
}

/* Cohere's words, or whether. */
static bool read_truncate(const struct api_model *m, struct request *r, const char *name,
                          const json_t *v, struct fault *f) {
    const char *text = json_string_value(v);
    bool end = json_is_true(v) || (text && !strcmp(text, "END"));
    r->cut = end ? m->text_tokens : 0;
    return end || json_is_false(v) || (text && !strcmp(text, "NONE")) ||
           fault_set(f, 400, name, "unsupported_value",
                     "'%s' must be a boolean, \"END\" or \"NONE\"", name);
}

/* vLLM's: to so many tokens, -1: as many as the model takes. */
static bool read_truncate_to(const struct api_model *m, struct request *r, const char *name,
                             const json_t *v, struct fault *f) {
    int64_t n = json_integer_value(v);
    r->cut = n < 0 ? m->text_tokens : n;
    return (json_is_integer(v) && (n == -1 || n >= 1) && n <= m->text_tokens) ||
           fault_set(f, 400, name, "invalid_value", "'%s' must be -1, or from 1 to %lld", name,
                     (long long)m->text_tokens);
}

static bool read_prompt_name(const struct api_model *m, struct request *r, const char *name,
                             const json_t *v, struct fault *f) {
    char err[LLM_ERR];
    if (!json_is_string(v)) return wrong(f, name, "a string");
    r->before = vectors_prompt(m->vectors, json_string_value(v), err);
    return r->before || fault_set(f, 400, name, "invalid_value", "'%s': %s", name, err);
}

/* What says how to load a model and for how long. */
static bool ignore(const struct api_model *m, struct request *r, const char *name, const json_t *v,
                   struct fault *f) {
    (void)m, (void)r, (void)name, (void)v, (void)f;
    return true;
}

static bool lenient(const struct api_model *m, struct request *r, const char *name, const json_t *v,
                    struct fault *f) {
    (void)r, (void)v;
    return m->lenient || fault_set(f, 400, name, "unknown_parameter",
                                   "the parameter '%s' is not obeyed: see --lenient", name);
}

static const struct {
    const char *name;
    int where;
    bool (*read)(const struct api_model *, struct request *, const char *name, const json_t *,
                 struct fault *);
} params[] = {
    {"model", ALL, read_model},
    {"input", EMBEDDINGS | OLLAMA, ignore}, /* below */
    {"prompt", OLLAMA, ignore},
    {"query", RERANK, ignore},
    {"documents", RERANK, ignore},
    {"encoding_format", EMBEDDINGS, read_format},
    {"dimensions", EMBEDDINGS | OLLAMA, read_dimensions},
    {"prompt_name", EMBEDDINGS | RERANK, read_prompt_name},
    {"truncate", ALL, read_truncate},
    {"truncate_prompt_tokens", EMBEDDINGS | RERANK, read_truncate_to},
    {"top_n", RERANK, read_top_n},
    {"return_documents", RERANK, read_documents_wanted},
    {"user", EMBEDDINGS | RERANK, ignore},
    {"keep_alive", OLLAMA, ignore},
    {"options", OLLAMA, ignore},
    {"priority", EMBEDDINGS | RERANK, lenient},
    {"request_id", EMBEDDINGS | RERANK, lenient},
};

static int dialect_of(const struct request *r) {
    return r->dialect == DIALECT_EMBEDDINGS ? EMBEDDINGS
           : r->dialect == DIALECT_RERANK   ? RERANK
                                            : OLLAMA;
}

static bool read_params(const struct api_model *m, struct request *r, struct fault *f) {
    const char *name;
    json_t *value;
    json_object_foreach(r->body, name, value) {
        size_t i = 0, n = sizeof params / sizeof *params;
        while (i < n && (strcmp(params[i].name, name) || !(params[i].where & dialect_of(r))))
            i++;
        if (i == n)
            return fault_set(f, 400, name, "unknown_parameter",
                             "the parameter '%.100s' is not known", name);
        if (!json_is_null(value) && !params[i].read(m, r, name, value, f)) return false;
    }
    return true;
}

/* ---- texts ---- */

/* COUNT texts there shall be, of the parameter NAME. */
static bool make_room(const struct api_model *m, struct request *r, const char *name, size_t count,
                      struct fault *f) {
    if (!count || (int64_t)count > m->texts)
        return fault_set(f, 400, name, "invalid_value", "'%s' must have from 1 to %lld texts", name,
                         (long long)m->texts);
    r->prompts = calloc(count, sizeof *r->prompts);
    r->seconds = calloc(count, sizeof *r->seconds);
    if (!r->prompts || !r->seconds) return fault_set(f, 500, NULL, NULL, "out of memory");
    r->nprompts = (int)count;
    for (size_t i = 0; i < count; i++)
        r->seconds[i] = SIZE_MAX;
    return true;
}

static bool check_length(const struct api_model *m, const char *name, size_t at,
                         const struct ids *ids, struct fault *f) {
    if (!ids->n) return fault_set(f, 400, name, NULL, "'%s': text %zu is empty", name, at);
    return (int64_t)ids->n <= m->text_tokens ||
           fault_set(f, 400, name, "context_length_exceeded",
                     "'%s': text %zu has %zu tokens, the model takes %lld", name, at, ids->n,
                     (long long)m->text_tokens);
}

static size_t most_of(const struct request *r) {
    return r->cut ? (size_t)r->cut : SIZE_MAX;
}

/* One text, or its tokens. */
static bool read_text(const struct api_model *m, struct request *r, const char *name, size_t at,
                      const json_t *v, struct fault *f) {
    char err[LLM_ERR];
    struct ids *ids = &r->prompts[at];
    if (json_is_string(v)) {
        if (!vectors_text(m->tokenizer, r->before, json_string_value(v), json_string_length(v),
                          most_of(r), ids, err))
            return fault_set(f, 400, name, NULL, "'%s': text %zu: %s", name, at, err);
        return check_length(m, name, at, ids, f);
    }
    if (!json_is_array(v))
        return wrong(f, name, "a string, an array of strings, of tokens, or of such arrays");
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *id = json_array_get(v, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= m->vocab)
            return fault_set(f, 400, name, NULL, "'%s': tokens are integers from 0 to %lld", name,
                             (long long)m->vocab - 1);
        if (ids->n < most_of(r) && !ids_add(ids, (int32_t)json_integer_value(id)))
            return fault_set(f, 500, NULL, NULL, "out of memory");
    }
    return check_length(m, name, at, ids, f);
}

static bool read_input(const struct api_model *m, struct request *r, struct fault *f) {
    const char *name = json_object_get(r->body, "input") || r->dialect == DIALECT_EMBEDDINGS
                           ? "input"
                           : "prompt"; /* of Ollama's older path */
    const json_t *v = json_object_get(r->body, name);
    if (!v || json_is_null(v))
        return fault_set(f, 400, name, "missing_required_parameter", "'%s' is missing", name);
    /* An array of numbers is one text. */
    bool many = json_is_array(v) && !json_is_integer(json_array_get(v, 0));
    if (!make_room(m, r, name, many ? json_array_size(v) : 1, f)) return false;
    for (int i = 0; i < r->nprompts; i++)
        if (!read_text(m, r, name, (size_t)i, many ? json_array_get(v, (size_t)i) : v, f))
            return false;
    return true;
}

/* A string, or an object with one, as Jina and vLLM take them. */
static const json_t *document_at(const struct request *r, size_t i) {
    const json_t *v = json_array_get(json_object_get(r->body, "documents"), i);
    return json_is_object(v) ? json_object_get(v, "text") : v;
}

static bool read_pairs(const struct api_model *m, struct request *r, struct fault *f) {
    const json_t *query = json_object_get(r->body, "query"),
                 *documents = json_object_get(r->body, "documents");
    char err[LLM_ERR];
    if (!query || json_is_null(query))
        return fault_set(f, 400, "query", "missing_required_parameter", "'query' is missing");
    if (!json_is_string(query)) return wrong(f, "query", "a string");
    if (!documents || json_is_null(documents))
        return fault_set(f, 400, "documents", "missing_required_parameter",
                         "'documents' is missing");
    if (!json_is_array(documents)) return wrong(f, "documents", "an array of texts");
    if (!make_room(m, r, "documents", json_array_size(documents), f)) return false;
    for (size_t i = 0; i < (size_t)r->nprompts; i++) {
        const json_t *v = document_at(r, i);
        if (!json_is_string(v))
            return wrong(f, "documents", "an array of strings, or of objects with a 'text'");
        const struct vectors_pair pair = {json_string_value(query), json_string_value(v),
                                          json_string_length(query), json_string_length(v)};
        if (!vectors_pair(m->vectors, m->tokenizer, r->before, &pair, most_of(r), &r->prompts[i],
                          &r->seconds[i], err))
            return fault_set(f, 400, "documents", NULL, "text %zu: %s", i, err);
        if (!check_length(m, "documents", i, &r->prompts[i], f)) return false;
    }
    return true;
}

bool texts_read(const struct api_model *m, struct request *r, struct fault *f) {
    char err[LLM_ERR];
    bool scores = r->dialect == DIALECT_RERANK;
    if (scores ? !m->gives_scores : !m->gives_vectors)
        return fault_set(f, 501, NULL, "not_implemented", "the model '%s' gives no %s of texts",
                         m->name, scores ? "scores" : "vectors");
    r->vectors = true;
    r->most = 0;
    r->before = vectors_prompt(m->vectors, NULL, err);
    if (r->dialect == DIALECT_OLLAMA_EMBED) r->cut = m->text_tokens; /* unless it is told not to */
    if (!r->before) return fault_set(f, 500, NULL, NULL, "%s", err);
    return read_params(m, r, f) && (scores ? read_pairs(m, r, f) : read_input(m, r, f));
}

/* ---- answers ---- */

bool texts_take(struct part *p, const float *values, int64_t width) {
    const struct request *r = p->answer->request;
    char err[LLM_ERR];
    if (r->dialect == DIALECT_RERANK) {
        bool ok = vectors_score(p->answer->model->vectors, values, width, &p->score, err);
        return (ok && isfinite(p->score)) ||
               fault_set(&p->fault, 500, NULL, NULL, "%s", ok ? "the score is not a number" : err);
    }
    p->values = malloc((size_t)width * sizeof *values);
    if (!p->values) return fault_set(&p->fault, 500, NULL, NULL, "out of memory");
    memcpy(p->values, values, (size_t)width * sizeof *values);
    p->nvalues = vectors_shorten(p->values, width, r->dimensions);
    for (int64_t i = 0; i < p->nvalues; i++)
        if (!isfinite(p->values[i]))
            return fault_set(&p->fault, 500, NULL, NULL, "the vector is not of numbers");
    return true;
}

/* The bytes of the numbers, the lowest of each first. */
static json_t *base64(const struct part *p) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t n = (size_t)p->nvalues * 4, out = 0;
    char *text = malloc((n + 2) / 3 * 4 + 1);
    unsigned char bytes[3];
    if (!text) return NULL;
    for (size_t i = 0; i < n; i += 3) {
        size_t have = n - i < 3 ? n - i : 3;
        for (size_t k = 0; k < 3; k++) {
            uint32_t bits;
            memcpy(&bits, &p->values[(i + k < n ? i + k : 0) / 4], sizeof bits);
            bytes[k] = i + k < n ? (unsigned char)(bits >> (i + k) % 4 * 8) : 0;
        }
        text[out++] = letters[bytes[0] >> 2];
        text[out++] = letters[(bytes[0] & 3) << 4 | bytes[1] >> 4];
        text[out++] = have > 1 ? letters[(bytes[1] & 15) << 2 | bytes[2] >> 6] : '=';
        text[out++] = have > 2 ? letters[bytes[2] & 63] : '=';
    }
    json_t *j = json_stringn(text, out);
    free(text);
    return j;
}

static json_t *numbers(const struct part *p) {
    json_t *list = json_array();
    for (int64_t i = 0; i < p->nvalues; i++)
        json_array_append_new(list, json_real((double)p->values[i]));
    return list;
}

static json_t *usage(const struct answer *a) {
    struct usage u;
    answer_usage(a, &u);
    return json_pack("{s:I, s:I}", "prompt_tokens", (json_int_t)u.prompt, "total_tokens",
                     (json_int_t)u.prompt);
}

static json_t *embeddings_whole(struct answer *a) {
    json_t *data = json_array();
    for (int i = 0; i < a->nparts; i++) {
        const struct part *p = &a->parts[i];
        json_array_append_new(data,
                              json_pack("{s:s, s:i, s:o}", "object", "embedding", "index", i,
                                        "embedding", a->request->base64 ? base64(p) : numbers(p)));
    }
    return json_pack("{s:s, s:s, s:I, s:o, s:s, s:o}", "id", a->id, "object", "list", "created",
                     (json_int_t)a->created, "data", data, "model", a->model->name, "usage",
                     usage(a));
}

/* The best first; of equals the one that came first. */
static int by_score(const void *a, const void *b) {
    const struct part *x = *(const struct part *const *)a, *y = *(const struct part *const *)b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->index > y->index ? 1 : -1;
}

static json_t *rerank_whole(struct answer *a) {
    const struct part **order = calloc((size_t)a->nparts + 1, sizeof *order);
    json_t *results = json_array();
    if (!order) {
        json_decref(results);
        return NULL;
    }
    for (int i = 0; i < a->nparts; i++)
        order[i] = &a->parts[i];
    qsort(order, (size_t)a->nparts, sizeof *order, by_score);
    int64_t most = a->request->top_n;
    for (int i = 0; i < a->nparts && (!most || i < most); i++) {
        json_t *one =
            json_pack("{s:i, s:f}", "index", order[i]->index, "relevance_score", order[i]->score);
        if (a->request->documents)
            json_object_set_new(
                one, "document",
                json_pack("{s:O}", "text", document_at(a->request, (size_t)order[i]->index)));
        json_array_append_new(results, one);
    }
    free(order);
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "id", a->id, "object", "list", "model",
                     a->model->name, "results", results, "usage", usage(a));
}

static json_t *ollama_whole(struct answer *a) {
    struct usage u;
    answer_usage(a, &u);
    bool one = json_object_get(a->request->body, "prompt") != NULL;
    if (one) return json_pack("{s:o}", "embedding", numbers(&a->parts[0]));
    json_t *all = json_array();
    for (int i = 0; i < a->nparts; i++)
        json_array_append_new(all, numbers(&a->parts[i]));
    return json_pack("{s:s, s:o, s:I}", "model", a->model->name, "embeddings", all,
                     "prompt_eval_count", (json_int_t)u.prompt);
}

const struct form form_embeddings = {.whole = embeddings_whole};
const struct form form_rerank = {.whole = rerank_whole};
const struct form form_ollama_embed = {.whole = ollama_whole};
