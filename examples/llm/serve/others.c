/* What clients of llama-server, vLLM, Anthropic and Ollama ask beside texts. */
#include "examples/llm/serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum MHD_Result others_version(struct exchange *x) {
    return http_json(x, 200, json_pack("{s:s}", "version", ETCC_VERSION));
}

/* ---- sleep: of all models ---- */

static enum MHD_Result tell_asleep(struct exchange *x) {
    struct server *s = x->server;
    bool awake = false;
    for (int i = 0; i < s->ninstances; i++)
        awake = awake || strcmp(instances_state(s, &s->instances[i]), "unloaded") != 0;
    return http_json(x, 200, json_pack("{s:b}", "is_sleeping", !awake));
}

enum MHD_Result others_sleep(struct exchange *x) {
    char err[LLM_ERR];
    struct fault f;
    bool ok = true;
    for (int i = 0; i < x->server->ninstances; i++)
        ok = instances_unload(x->server, &x->server->instances[i], err) && ok;
    if (ok) return tell_asleep(x);
    fault_set(&f, 409, NULL, "busy", "%s", err);
    return http_fault(x, &f);
}

enum MHD_Result others_wake(struct exchange *x) {
    char err[LLM_ERR];
    struct fault f;
    struct server *s = x->server;
    bool ok = true;
    /* Where not all have room they wake when they are asked for. */
    for (int i = 0; i < s->ninstances && !s->o->loaded; i++) {
        const struct served *m = &s->models[s->instances[i].first];
        ok = ok && (!m->open || engine_rouse(m->engine, err));
    }
    if (ok) return tell_asleep(x);
    fault_set(&f, 503, NULL, "asleep", "%s", err);
    return http_fault(x, &f);
}

enum MHD_Result others_is_sleeping(struct exchange *x) {
    return tell_asleep(x);
}

/* ---- loading, as llama-server has it ---- */

/* Who asks has it by now. */
enum MHD_Result others_load(struct exchange *x, const struct served *m, const json_t *body) {
    char err[LLM_ERR];
    struct fault f;
    (void)body;
    if (engine_rouse(m->engine, err)) return http_json(x, 200, json_pack("{s:b}", "success", 1));
    fault_set(&f, 503, "model", "not_loaded", "the model '%s' is not loaded: %s", m->name, err);
    return http_fault(x, &f);
}

enum MHD_Result others_unload(struct exchange *x, const struct served *m, const json_t *body) {
    char err[LLM_ERR];
    struct fault f;
    (void)body;
    if (instances_unload(x->server, m->instance, err))
        return http_json(x, 200, json_pack("{s:b}", "success", 1));
    fault_set(&f, 409, "model", "busy", "%s", err);
    return http_fault(x, &f);
}

/* ---- prompts ---- */

enum MHD_Result others_apply_template(struct exchange *x, const struct served *m,
                                      const json_t *body) {
    struct fault f;
    struct buffer text = {0};
    if (!request_prompt(&m->model, json_incref((json_t *)body), &text, &f)) {
        buffer_free(&text);
        return http_fault(x, &f);
    }
    json_t *answer = json_pack("{s:s%}", "prompt", text.data ? text.data : "", text.n);
    buffer_free(&text);
    return http_json(x, 200, answer);
}

/* Anthropic's: as many tokens as a request would have. */
enum MHD_Result others_count_tokens(struct exchange *x, const struct served *m,
                                    const json_t *body) {
    struct fault f;
    struct request *r;
    json_t *copy = json_copy((json_t *)body);
    if (!json_object_get(copy, "max_tokens"))
        json_object_set_new(copy, "max_tokens", json_integer(0));
    if (!request_read(&m->model, DIALECT_MESSAGES, copy, &r, &f)) return http_fault(x, &f);
    json_t *answer = json_pack("{s:I}", "input_tokens", (json_int_t)r->prompts[0].n);
    request_free(r);
    return http_json(x, 200, answer);
}

/* ---- Ollama ---- */

static json_t *details(void) {
    return json_pack("{s:s, s:s, s:[], s:s, s:s}", "format", "etcc", "family", "etcc", "families",
                     "parameter_size", "", "quantization_level", "");
}

static const char *when(const struct server *s, char out[40]) {
    struct tm tm;
    time_t created = (time_t)s->created;
    gmtime_r(&created, &tm);
    strftime(out, 40, "%Y-%m-%dT%H:%M:%SZ", &tm);
    return out;
}

enum MHD_Result others_tags(struct exchange *x) {
    json_t *list = json_array();
    char time[40];
    for (int i = 0; i < x->server->nmodels; i++)
        json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:i, s:s, s:o}", "name", x->server->models[i].name,
                            "model", x->server->models[i].name, "modified_at",
                            when(x->server, time), "size", 0, "digest", "", "details", details()));
    return http_json(x, 200, json_pack("{s:o}", "models", list));
}

bool others_asks_nothing(const struct exchange *x, const json_t *body) {
    if (!strcmp(x->path, "/api/chat")) return !json_array_size(json_object_get(body, "messages"));
    return !json_string_length(json_object_get(body, "prompt")) &&
           !json_string_length(json_object_get(body, "suffix"));
}

/* A number of seconds, or text as "0", "0s" and "0m". */
bool others_dismisses(const json_t *body) {
    const json_t *keep = json_object_get(body, "keep_alive");
    const char *text = json_string_value(keep);
    char *end;
    if (!text) return json_is_number(keep) && json_number_value(keep) == 0;
    return strtod(text, &end) == 0 && end != text && strlen(end) < 3;
}

enum MHD_Result others_loaded(struct exchange *x, const struct served *m, bool loaded) {
    char time[40];
    json_t *answer =
        json_pack("{s:s, s:s, s:b, s:s}", "model", m->name, "created_at", when(x->server, time),
                  "done", 1, "done_reason", loaded ? "load" : "unload");
    if (!strcmp(x->path, "/api/chat"))
        json_object_set_new(answer, "message",
                            json_pack("{s:s, s:s}", "role", "assistant", "content", ""));
    else
        json_object_set_new(answer, "response", json_string(""));
    return http_json(x, 200, answer);
}

enum MHD_Result others_running(struct exchange *x) {
    struct server *s = x->server;
    json_t *list = json_array();
    for (int i = 0; i < s->nmodels; i++) {
        const struct served *m = &s->models[i];
        if (strcmp(instances_state(s, m->instance), "loaded") != 0) continue;
        json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:s, s:o, s:I}", "name",
                                              m->name, "model", m->name, "size", 0, "size_vram", 0,
                                              "digest", "", "details", details(), "context_length",
                                              (json_int_t)m->sizes.context));
    }
    return http_json(x, 200, json_pack("{s:o}", "models", list));
}

enum MHD_Result others_show(struct exchange *x, const struct served *m, const json_t *body) {
    (void)body;
    json_t *can = json_pack("[s]", "completion");
    if (m->model.tools) json_array_append_new(can, json_string("tools"));
    if (m->model.reasoning) json_array_append_new(can, json_string("thinking"));
    return http_json(x, 200,
                     json_pack("{s:s, s:o, s:{s:I}, s:o}", "template",
                               chat_source(m->chat) ? chat_source(m->chat) : "", "details",
                               details(), "model_info", "general.context_length",
                               (json_int_t)m->sizes.context, "capabilities", can));
}
