/* What there is to ask for, a row for each. */
#include "examples/llm/api/tokens.h"
#include "examples/llm/base/json_text.h"
#include "examples/llm/engine/lm.h"
#include "examples/llm/serve/server.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum MHD_Result handler(struct exchange *);

static enum MHD_Result refuse(struct exchange *x, int status, const char *code, const char *why) {
    struct fault f;
    fault_set(&f, status, NULL, code, "%s", why);
    return http_fault(x, &f);
}

/* ---- how it is ---- */

static enum MHD_Result health(struct exchange *x) {
    switch (x->server->state) {
    case STATE_LOADING:
        return refuse(x, 503, "loading", "the model is being loaded");
    case STATE_DRAINING:
        return refuse(x, 503, "draining", "the server is stopping");
    default:
        return http_json(x, 200, json_pack("{s:s}", "status", "ok"));
    }
}

static json_t *about_model(struct server *s, const struct served *m) {
    json_t *about = json_pack("{s:s, s:s, s:I, s:s, s:{s:s}}", "id", m->name, "object", "model",
                              "created", (json_int_t)s->created, "owned_by", "etllm", "status",
                              "value", instances_state(s, m->instance));
    if (m->open)
        json_object_set_new(about, "max_model_len", json_integer((json_int_t)m->sizes.context));
    return about;
}

static enum MHD_Result models(struct exchange *x) {
    json_t *list = json_array();
    for (int i = 0; i < x->server->nmodels; i++)
        json_array_append_new(list, about_model(x->server, &x->server->models[i]));
    return http_json(x, 200, json_pack("{s:s, s:o}", "object", "list", "data", list));
}

static enum MHD_Result model(struct exchange *x) {
    const struct served *m = models_find(x->server, x->path + strlen("/v1/models/"));
    if (!m) return refuse(x, 404, "model_not_found", "there is no such model");
    return http_json(x, 200, about_model(x->server, m));
}

static enum MHD_Result metrics(struct exchange *x) {
    struct server *s = x->server;
    struct buffer b = {0};
    struct metrics_of of[MAX_MODELS];
    struct engine_stats stats[MAX_MODELS];
    char all[4096];
    for (int i = 0; i < s->nmodels; i++) {
        struct served *m = &s->models[i];
        bool ready = m->open;
        if (ready) engine_stats(m->engine, &stats[i]);
        of[i] = (struct metrics_of){m->name, &m->metrics, ready ? &stats[i] : NULL, &m->sizes,
                                    m->instance->first == i};
    }
    metrics_write(of, s->nmodels, &b);
    http_metrics_write(&s->metrics, models_list(s, ",", all, sizeof all), log_lost(s->log), &b);
    return http_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", &b);
}

/* "?model=NAME", or the first. NULL with the fault. */
static const struct served *asked(struct exchange *x, struct fault *f) {
    const char *name = MHD_lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "model");
    const struct served *m = name ? models_find(x->server, name) : &x->server->models[0];
    if (!m) fault_set(f, 404, "model", "model_not_found", "there is no such model");
    if (m && !m->open)
        fault_set(f, 503, "model", "not_loaded", "the model '%s' is not loaded", m->name);
    return m && m->open ? m : NULL;
}

static enum MHD_Result props(struct exchange *x) {
    struct fault f;
    const struct served *m = asked(x, &f);
    struct engine_stats t;
    if (!m) return http_fault(x, &f);
    const struct engine_sizes *z = &m->sizes;
    const struct sampling *u = &m->model.usual;
    engine_stats(m->engine, &t);
    json_t *sampling = json_pack("{s:f, s:I, s:f, s:f, s:f}", "temperature", u->temperature,
                                 "top_k", (json_int_t)u->top_k, "top_p", u->top_p, "min_p",
                                 u->min_p, "repetition_penalty", u->repetition);
    json_t *settings = json_pack("{s:I, s:o}", "n_ctx", (json_int_t)z->context, "params", sampling);
    return http_json(
        x, 200,
        json_pack(
            "{s:s, s:I, s:o, s:b, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:{s:I, s:I, s:f, s:I, s:I}}",
            "model_alias", m->name, "total_slots", (json_int_t)z->slots,
            "default_generation_settings", settings, "chat_template", chat_has_template(m->chat),
            "build_info", "etllm " ETCC_VERSION, "device", z->device, "n_vocab",
            (json_int_t)z->vocab, "max_launch_tokens", (json_int_t)z->max_tokens, "page_tokens",
            (json_int_t)z->page, "pages", (json_int_t)z->pages, "snapshots",
            (json_int_t)z->snapshots, "engine", "launches", (json_int_t)t.launches,
            "launch_failures", (json_int_t)t.failures, "last_launch_seconds", t.last_seconds,
            "last_launch_prompt_tokens", (json_int_t)t.last_prompts, "last_launch_text_tokens",
            (json_int_t)t.last_texts));
}

static enum MHD_Result slots(struct exchange *x) {
    struct fault f;
    const struct served *m = asked(x, &f);
    if (!m) return http_fault(x, &f);
    struct engine_slot *slot = calloc((size_t)m->sizes.slots + 1, sizeof *slot);
    json_t *list = json_array();
    if (slot) engine_slots(m->engine, slot);
    for (int64_t i = 0; slot && i < m->sizes.slots; i++)
        json_array_append_new(
            list,
            json_pack("{s:I, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "id", (json_int_t)i,
                      "is_processing", slot[i].id != 0, "id_task", (json_int_t)slot[i].id, "n_ctx",
                      (json_int_t)m->sizes.context, "n_prompt_tokens", (json_int_t)slot[i].prompt,
                      "n_past", (json_int_t)slot[i].fed, "n_decoded", (json_int_t)slot[i].generated,
                      "n_predict", (json_int_t)slot[i].most, "n_cached", (json_int_t)slot[i].held));
    free(slot);
    return http_json(x, 200, list);
}

/* ---- tokens ---- */

static json_t *read_body(struct exchange *x, struct fault *f) {
    json_error_t why;
    json_t *body = json_text(x->body.data ? x->body.data : "", x->body.n,
                             JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);
    if (!body)
        fault_set(f, 400, NULL, "invalid_json", "the body is not JSON: line %d, column %d: %s",
                  why.line, why.column, why.text);
    return body;
}

/* "content" as llama.cpp calls it, or "prompt" as vLLM does. */
static enum MHD_Result tokenize_body(struct exchange *x, const struct served *s,
                                     const json_t *body) {
    const json_t *text = json_object_get(body, "content");
    const json_t *special = json_object_get(body, "add_special");
    char err[LLM_ERR];
    struct ids ids = {0};
    if (!text) text = json_object_get(body, "prompt");
    if (!special) special = json_object_get(body, "add_special_tokens");
    if (!json_is_string(text)) return refuse(x, 400, NULL, "'content' must be a string");
    bool bare = json_is_false(special) || (json_object_get(body, "content") && !special);
    if (!tokenizer_encode_as(s->tokenizer, json_string_value(text), json_string_length(text),
                             bare ? TOKENIZER_BARE : 0, &ids, err)) {
        free(ids.v);
        return refuse(x, 400, NULL, err);
    }
    json_t *list = json_array();
    for (size_t i = 0; i < ids.n; i++)
        json_array_append_new(list, json_integer(ids.v[i]));
    json_t *answer = json_pack("{s:o, s:I, s:I}", "tokens", list, "count", (json_int_t)ids.n,
                               "max_model_len", (json_int_t)s->sizes.context);
    if (ids.dropped) json_object_set_new(answer, "dropped", json_integer((json_int_t)ids.dropped));
    free(ids.v);
    return http_json(x, 200, answer);
}

static enum MHD_Result detokenize_body(struct exchange *x, const struct served *s,
                                       const json_t *body) {
    const json_t *list = json_object_get(body, "tokens");
    struct ids ids = {0};
    char *text = NULL;
    size_t bytes = 0;
    if (!json_is_array(list)) return refuse(x, 400, NULL, "'tokens' must be an array");
    bool ok = true;
    for (size_t i = 0; ok && i < json_array_size(list); i++) {
        json_int_t id = json_integer_value(json_array_get(list, i));
        ok = json_is_integer(json_array_get(list, i)) && id >= 0 && id < s->sizes.vocab &&
             ids_add(&ids, (int32_t)id);
    }
    if (ok) ok = tokenizer_decode(s->tokenizer, ids.v, ids.n, LM_DECODER_SPECIALS, &text, &bytes);
    free(ids.v);
    if (!ok) return refuse(x, 400, NULL, "'tokens' are integers in the vocabulary");
    json_t *answer = json_pack("{s:s%, s:s%}", "content", text, bytes, "prompt", text, bytes);
    free(text);
    return http_json(x, 200, answer);
}

static enum MHD_Result with_body(struct exchange *x,
                                 enum MHD_Result (*then)(struct exchange *, const struct served *,
                                                         const json_t *)) {
    struct fault f;
    json_t *body = read_body(x, &f);
    if (!body) return http_fault(x, &f);
    struct served *m = models_choose(x->server, body, &f);
    enum MHD_Result result = MHD_YES;
    if (m && instances_have(x, m, &f))
        result = then(x, m, body);
    else if (!x->wants)
        result = http_fault(x, &f);
    json_decref(body);
    return result;
}

static enum MHD_Result tokenize(struct exchange *x) {
    return with_body(x, tokenize_body);
}
static enum MHD_Result detokenize(struct exchange *x) {
    return with_body(x, detokenize_body);
}

/* It must not be loaded for that. */
static enum MHD_Result unload(struct exchange *x) {
    struct fault f;
    json_t *body = read_body(x, &f);
    struct served *m = body ? models_choose(x->server, body, &f) : NULL;
    enum MHD_Result result = m ? others_unload(x, m, body) : http_fault(x, &f);
    json_decref(body);
    return result;
}

static enum MHD_Result apply_template(struct exchange *x) {
    return with_body(x, others_apply_template);
}
static enum MHD_Result count_tokens(struct exchange *x) {
    return with_body(x, others_count_tokens);
}
static enum MHD_Result load(struct exchange *x) {
    return with_body(x, others_load);
}
static enum MHD_Result show(struct exchange *x) {
    return with_body(x, others_show);
}

/* ---- texts ---- */

static enum MHD_Result chat(struct exchange *x) {
    return generation_start(x, DIALECT_CHAT);
}
static enum MHD_Result completions(struct exchange *x) {
    return generation_start(x, DIALECT_COMPLETIONS);
}
static enum MHD_Result responses(struct exchange *x) {
    return generation_start(x, DIALECT_RESPONSES);
}
static enum MHD_Result messages(struct exchange *x) {
    return generation_start(x, DIALECT_MESSAGES);
}

static enum MHD_Result ollama(struct exchange *x) {
    return generation_start(x, DIALECT_OLLAMA);
}

static enum MHD_Result native(struct exchange *x) {
    return generation_start(x, DIALECT_NATIVE);
}

static enum MHD_Result embeddings(struct exchange *x) {
    return generation_start(x, DIALECT_EMBEDDINGS);
}
static enum MHD_Result rerank(struct exchange *x) {
    return generation_start(x, DIALECT_RERANK);
}
static enum MHD_Result ollama_embed(struct exchange *x) {
    return generation_start(x, DIALECT_OLLAMA_EMBED);
}

static enum MHD_Result page(struct exchange *x) {
    struct buffer b = {0};
    buffer_add(&b, page_html, page_bytes);
    return http_reply(x, 200, "text/html; charset=utf-8", &b);
}

/* ---- the table ---- */

enum {
    OPEN = 1,
    EARLY = 2,
    WORKS = 4,
    BELOW = 8,
    LONG = 16,
}; /* needs no key; also while loading; makes texts;
     whatever follows the path; what it does may take long */
static const struct row {
    const char *method, *path;
    handler *handle;
    int flags;
} rows[] = {
    {"GET", "/", page, OPEN | EARLY},
    {"GET", "/health", health, OPEN | EARLY},
    {"GET", "/metrics", metrics, EARLY},
    {"GET", "/v1/models", models, EARLY},
    {"GET", "/v1/models/", model, EARLY | BELOW},
    {"GET", "/models", models, EARLY},
    {"POST", "/models/load", load, WORKS | LONG},
    {"POST", "/models/unload", unload, LONG},
    {"GET", "/props", props, 0},
    {"GET", "/slots", slots, 0},
    {"GET", "/version", others_version, OPEN | EARLY},
    {"GET", "/api/version", others_version, OPEN | EARLY},
    {"GET", "/api/tags", others_tags, EARLY},
    {"GET", "/api/ps", others_running, EARLY},
    {"POST", "/api/show", show, 0},
    {"POST", "/api/chat", ollama, WORKS | LONG},
    {"POST", "/api/generate", ollama, WORKS | LONG},
    {"POST", "/apply-template", apply_template, LONG},
    {"POST", "/v1/messages/count_tokens", count_tokens, LONG},
    {"POST", "/v1/embeddings", embeddings, WORKS | LONG},
    {"POST", "/embeddings", embeddings, WORKS | LONG},
    {"POST", "/v1/rerank", rerank, WORKS | LONG},
    {"POST", "/v2/rerank", rerank, WORKS | LONG},
    {"POST", "/rerank", rerank, WORKS | LONG},
    {"POST", "/v1/reranking", rerank, WORKS | LONG},
    {"POST", "/reranking", rerank, WORKS | LONG},
    {"POST", "/api/embed", ollama_embed, WORKS | LONG},
    {"POST", "/api/embeddings", ollama_embed, WORKS | LONG},
    {"POST", "/infill", native, WORKS | LONG},
    {"POST", "/completion", native, WORKS | LONG},
    {"POST", "/completions", native, WORKS | LONG},
    {"POST", "/chat/completions", chat, WORKS | LONG},
    {"GET", "/v1/health", health, OPEN | EARLY},
    {"GET", "/ping", health, OPEN | EARLY},
    {"POST", "/sleep", others_sleep, LONG},
    {"POST", "/wake", others_wake, LONG},
    {"POST", "/wake_up", others_wake, LONG},
    {"GET", "/is_sleeping", others_is_sleeping, 0},
    {"POST", "/tokenize", tokenize, LONG},
    {"POST", "/detokenize", detokenize, LONG},
    {"POST", "/v1/chat/completions", chat, WORKS | LONG},
    {"POST", "/v1/completions", completions, WORKS | LONG},
    {"POST", "/v1/responses", responses, WORKS | LONG},
    {"POST", "/v1/messages", messages, WORKS | LONG},
};

static bool is_row(const struct row *r, const char *path) {
    if (r->flags & BELOW) return !strncmp(path, r->path, strlen(r->path));
    return !strcmp(path, r->path);
}

static const char *of(struct exchange *x, const char *name) {
    return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

static bool has_key(struct exchange *x) {
    const char *given = of(x, "x-api-key"), *bearer = of(x, "Authorization");
    if (!x->server->keys) return true;
    if (bearer && !strncasecmp(bearer, "Bearer ", 7)) given = bearer + 7;
    return keys_have(x->server->keys, given);
}

/* Whom the request is for: a target that says so decides, and the field has to say the same. */
static const char *host_of(struct exchange *x) {
    return *x->authority ? x->authority : of(x, "Host");
}

static bool is_for_two(struct exchange *x) {
    const char *host = of(x, "Host");
    return *x->authority && host && strcasecmp(host, x->authority) != 0;
}

/* A page of somebody else must not use a server that runs on the visitor's machine. */
static bool foreign(struct exchange *x) {
    const char *origin = of(x, "Origin"), *host = host_of(x);
    if (!origin || hosts_origin(x->server, origin)) return false;
    const char *name = strstr(origin, "://");
    return !name || !host || strcasecmp(name + 3, host) != 0;
}

/* Clients in a browser send headers of their own (x-stainless-..., anthropic-beta): a page that may
 * ask may send what it says it will. */
static const char *headers_of(struct exchange *x) {
    static const char usual[] = "Authorization, Content-Type, x-api-key, anthropic-version";
    const char *asked = of(x, "Access-Control-Request-Headers");
    bool plain = asked && *asked && strlen(asked) < 2048;
    for (const char *c = asked; plain && *c; c++)
        plain = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_., ", *c);
    return plain ? asked : usual;
}

static enum MHD_Result preflight(struct exchange *x) {
    struct MHD_Response *r = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    if (!r) return MHD_NO;
    http_headers(x, r, 204);
    MHD_add_response_header(r, "Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    MHD_add_response_header(r, "Access-Control-Allow-Headers", headers_of(x));
    MHD_add_response_header(r, "Access-Control-Max-Age", "86400");
    x->status = 204;
    x->answered = true;
    enum MHD_Result result = MHD_queue_response(x->connection, 204, r);
    MHD_destroy_response(r);
    return result;
}

/* In a reader's thread: the library, which slept, asks again. */
static void work(void *user) {
    struct exchange *x = user;
    struct MHD_Connection *connection = x->connection;
    x->working = true;
    enum MHD_Result result = x->handle(x);
    if (x->wants) {
        instances_park(x); /* which may let it go on at once, elsewhere */
        return;
    }
    if (result != MHD_YES && !x->reply_status) refuse(x, 500, NULL, "out of memory");
    x->working = false;
    x->worked = true;
    MHD_resume_connection(connection);
}

/* What is read of a large request takes seconds: short ones do not wait for that. */
static struct pool *readers_of(const struct exchange *x) {
    enum { LARGE = 256 << 10 };
    return x->body.n > LARGE ? x->server->patient : x->server->readers;
}

void route_again(struct exchange *x) {
    if (!pool_add(readers_of(x), work, x)) work(x);
}

static enum MHD_Result later(struct exchange *x, handler *handle) {
    x->handle = handle;
    MHD_suspend_connection(x->connection);
    if (pool_add(readers_of(x), work, x)) return MHD_YES;
    MHD_resume_connection(x->connection);
    return refuse(x, 500, NULL, "out of memory");
}

static enum MHD_Result run(struct exchange *x, const struct row *row) {
    int state = x->server->state;
    if (!(row->flags & OPEN) && !has_key(x))
        return refuse(x, 401, "invalid_api_key", "a key is needed, and this is none");
    if (state == STATE_LOADING && !(row->flags & EARLY))
        return refuse(x, 503, "loading", "the model is being loaded");
    if (state == STATE_DRAINING && (row->flags & WORKS))
        return refuse(x, 503, "draining", "the server is stopping");
    return row->flags & LONG ? later(x, row->handle) : row->handle(x);
}

/* The row of a path and method; else what the path knows, in ALLOW, and whether it is known at all.
 */
static const struct row *find_row(const char *path, const char *method, char allow[32]) {
    const struct row *row = NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!is_row(&rows[i], path)) continue;
        if (!strcmp(method, rows[i].method)) row = &rows[i];
        snprintf(allow, 32, "%s, OPTIONS", strcmp(rows[i].method, "GET") ? "POST" : "GET, HEAD");
    }
    return row;
}

enum MHD_Result route(struct exchange *x) {
    char allow[32] = "";
    bool head = !strcmp(x->method, "HEAD"), asks = !strcmp(x->method, "OPTIONS");
    const struct row *row = find_row(x->path, head ? "GET" : x->method, allow);
    if (x->wrong_target || is_for_two(x))
        return refuse(x, 400, "wrong_target", "the target names no host, or another one than Host");
    if (!hosts_allow(x->server, host_of(x)))
        return refuse(x, 403, "unknown_host", "this server goes by another name: see --allow-host");
    if (foreign(x))
        return refuse(x, 403, "foreign_origin", "pages of other sites may not ask: see --cors");
    if (!*allow) return refuse(x, 404, "not_found", "there is nothing here");
    if (asks && x->server->o->cors) return preflight(x);
    if (!row) {
        memcpy(x->allow, allow, sizeof x->allow);
        return refuse(x, 405, "method_not_allowed", "that method is not for this");
    }
    return run(x, row);
}
