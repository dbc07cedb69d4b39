/* What clients of llama-server, vLLM, Anthropic and Ollama ask beside texts. */
#include "examples/llm/serve/server.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum MHD_Result others_version(struct exchange *x) {
    return http_json(x, 200, json_pack("{s:s}", "version", ETCC_VERSION));
}

/* ---- sleep: of the whole kernel, with all its models ---- */

static enum MHD_Result tell_asleep(struct exchange *x) {
    struct engine_stats t;
    engine_stats(x->server->models[0].engine, &t);
    return http_json(x, 200, json_pack("{s:b}", "is_sleeping", t.asleep));
}

enum MHD_Result others_sleep(struct exchange *x) {
    char err[LLM_ERR];
    struct fault f;
    if (engine_sleep(x->server->models[0].engine, err)) return tell_asleep(x);
    fault_set(&f, 409, NULL, "busy", "%s", err);
    return http_fault(x, &f);
}

enum MHD_Result others_wake(struct exchange *x) {
    char err[LLM_ERR];
    struct fault f;
    if (engine_rouse(x->server->models[0].engine, err)) return tell_asleep(x);
    fault_set(&f, 503, NULL, "asleep", "%s", err);
    return http_fault(x, &f);
}

enum MHD_Result others_is_sleeping(struct exchange *x) {
    return tell_asleep(x);
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
