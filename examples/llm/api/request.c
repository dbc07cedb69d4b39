#include "examples/llm/api/request.h"
#include "examples/llm/grammar/grammar.h"
#include <stdlib.h>

/* The body of another dialect becomes one of chat first. */
static bool convert(struct request *r, struct fault *f) {
    if (!json_is_object(r->body))
        return fault_set(f, 400, NULL, NULL, "the body must be a JSON object");
    if (r->dialect == DIALECT_COMPLETIONS || r->dialect == DIALECT_NATIVE) {
        const json_t *suffix = json_object_get(r->body, "suffix");
        r->infill = json_string_length(suffix) || json_is_true(json_object_get(r->body, "infill"));
        return true;
    }
    if (r->dialect == DIALECT_CHAT) return true;
    json_t *body = r->dialect == DIALECT_RESPONSES  ? convert_responses(r->body, f)
                   : r->dialect == DIALECT_MESSAGES ? convert_messages(r->body, f)
                                                    : convert_ollama(r->body, f);
    if (!body) return false;
    json_decref(r->body);
    r->body = body;
    r->infill = r->dialect == DIALECT_OLLAMA && json_object_get(body, "input_suffix");
    return true;
}

static void begin(struct request *r, const struct api_model *m) {
    r->n = 1;
    r->most = -1;
    r->parallel = true;
    r->prompt_top = -1;
    r->sampling = m->usual;
}

bool request_prompt(const struct api_model *m, json_t *body, struct buffer *out, struct fault *f) {
    struct request *r = calloc(1, sizeof *r);
    if (!r) {
        json_decref(body);
        return fault_set(f, 500, NULL, NULL, "out of memory");
    }
    r->body = body;
    begin(r, m);
    bool ok = convert(r, f) && params_read(m, r, f) && prompt_render(m, r, out, f);
    request_free(r);
    return ok;
}

bool request_read(const struct api_model *m, enum dialect dialect, json_t *body,
                  struct request **out, struct fault *f) {
    struct request *r = calloc(1, sizeof *r);
    *out = NULL;
    if (!r) {
        json_decref(body);
        return fault_set(f, 500, NULL, NULL, "out of memory");
    }
    r->dialect = dialect;
    r->body = body;
    begin(r, m);
    if (dialect >= DIALECT_EMBEDDINGS) {
        bool ok =
            json_is_object(body) || fault_set(f, 400, NULL, NULL, "the body must be a JSON object");
        if (ok && texts_read(m, r, f))
            *out = r;
        else
            request_free(r);
        return *out != NULL;
    }
    bool writes = !m->only_vectors || fault_set(f, 400, "model", "unsupported_value",
                                                "the model '%s' writes no texts", m->name);
    if (!writes || !convert(r, f) || !params_read(m, r, f) || !prompt_read(m, r, f) ||
        !request_constrain(m, r, f)) {
        request_free(r);
        return false;
    }
    *out = r;
    return true;
}

void request_free(struct request *r) {
    if (!r) return;
    for (int i = 0; i < r->nprompts; i++)
        free(r->prompts[i].v);
    free(r->prompts);
    free(r->seconds);
    grammar_free(r->grammar);
    free(r->bias);
    json_decref(r->parsed);
    json_decref(r->body);
    free(r);
}
