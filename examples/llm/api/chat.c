#include "examples/llm/api/chat.h"
#include "examples/llm/base/json_file.h"
#include "runtime/files/input.h"
#include <stdlib.h>
#include <string.h>

struct chat {
    char *source;
};

bool chat_open(const char *dir, const char *file, struct chat **out, char *err) {
    (void)dir;
    (void)file;
    struct chat *c = calloc(1, sizeof *c);
    *out = c;
    return c || llm_fail(err, "out of memory");
}

void chat_close(struct chat *c) {
    if (!c) return;
    free(c->source);
    free(c);
}

const char *chat_source(const struct chat *c) {
    return c->source;
}

static void render_plain(json_t *variables, struct buffer *out) {
    const json_t *messages = json_object_get(variables, "messages");
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *content = json_object_get(json_array_get(messages, i), "content");
        if (i) buffer_text(out, "\n\n");
        buffer_add(out, json_string_value(content), json_string_length(content));
    }
}

bool chat_render(const struct chat *c, json_t *variables, struct buffer *out, struct fault *f) {
    (void)c;
    render_plain(variables, out);
    return !out->failed || fault_set(f, 500, NULL, NULL, "out of memory");
}
