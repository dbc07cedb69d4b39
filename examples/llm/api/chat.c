#include "examples/llm/api/chat.h"
#include "examples/llm/base/json_file.h"
#include "examples/llm/template/chat.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct chat {
    lm_chat *templates; /* NULL: there are none */
};

static bool has_file(const char *dir, const char *name) {
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    return n > 0 && (size_t)n < sizeof path && access(path, F_OK) == 0;
}

/* Is there anything that should be a template? Whether it is one is another question. */
static bool find(const char *dir, bool *out_found, char *err) {
    *out_found = has_file(dir, "chat_template.jinja") || has_file(dir, "chat_template.json");
    if (*out_found) return true;
    json_t *config = json_file(dir, "tokenizer_config.json", true, err);
    if (!config && *err) return false;
    const json_t *template = json_object_get(config, "chat_template");
    *out_found = template && !json_is_null(template);
    json_decref(config);
    return true;
}

bool chat_open(const char *dir, const char *file, struct chat **out, char *err) {
    struct chat *c = calloc(1, sizeof *c);
    bool found = file != NULL;
    *out = NULL;
    if (!c) return llm_fail(err, "out of memory");
    bool ok = found || find(dir, &found, err);
    if (ok && found) ok = (c->templates = lm_chat_load(dir, file, err)) != NULL;
    if (ok)
        *out = c;
    else
        chat_close(c);
    return ok;
}

void chat_close(struct chat *c) {
    if (!c) return;
    lm_chat_free(c->templates);
    free(c);
}

bool chat_has_template(const struct chat *c) {
    return c->templates != NULL;
}

const char *chat_source(const struct chat *c) {
    const char *name, *source = c->templates ? lm_chat_source(c->templates, 0) : NULL;
    for (size_t i = 0; c->templates && (name = lm_chat_name(c->templates, i)); i++)
        if (!strcmp(name, "tool_use")) source = lm_chat_source(c->templates, i);
    return source;
}

static void render_plain(const json_t *messages, struct buffer *out) {
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *content = json_object_get(json_array_get(messages, i), "content");
        if (i) buffer_text(out, "\n\n");
        buffer_add(out, json_string_value(content), json_string_length(content));
    }
}

/* What a template refuses is told with the place in it: who wrote the messages may not have written
 * the template. */
static bool failed(const lm_template_error *e, struct fault *f) {
    if (e->status == LM_TEMPLATE_MEMORY) return fault_set(f, 500, NULL, NULL, "out of memory");
    if (e->status == LM_TEMPLATE_RAISED)
        return fault_set(f, 400, "messages", "template_error", "the chat template says: %s",
                         e->message);
    return fault_set(f, 400, "messages", "template_error",
                     "the chat template, line %d, column %d: %s", e->line, e->column, e->message);
}

bool chat_render(const struct chat *c, const json_t *variables, struct buffer *out,
                 struct fault *f) {
    const json_t *messages = json_object_get(variables, "messages");
    if (!c->templates) {
        render_plain(messages, out);
        return !out->failed || fault_set(f, 500, NULL, NULL, "out of memory");
    }
    lm_chat_request r = {.messages = messages,
                         .tools = json_object_get(variables, "tools"),
                         .documents = json_object_get(variables, "documents"),
                         .kwargs = json_object_get(variables, "kwargs"),
                         .from_api = true};
    r.add_generation_prompt = !json_is_false(json_object_get(variables, "add_generation_prompt"));
    lm_template_error e;
    size_t n;
    char *text = lm_chat_render(c->templates, &r, NULL, &n, &e);
    if (!text) return failed(&e, f);
    buffer_add(out, text, n);
    free(text);
    return !out->failed || fault_set(f, 500, NULL, NULL, "out of memory");
}
