/* chat_template.c - the prompt that a checkpoint's chat template makes of a conversation. */
#include "examples/llm/base/error.h"
#include "examples/llm/base/json_text.h"
#include "examples/llm/options.h"
#include "examples/llm/template/chat.h"
#include "runtime/files/input.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_BYTES = 64 << 20 };

static json_t *parse(const char *what, const char *text, size_t n) {
    json_error_t e;
    json_t *j = json_text(text, n, JSON_ALLOW_NUL | JSON_REJECT_DUPLICATES, &e);
    if (!j) llm_complain("%s: line %d, column %d: %s", what, e.line, e.column, e.text);
    return j;
}

static json_t *read_json(const char *path) {
    char why[ET_WHY];
    size_t n;
    char *text = et_file_read(path, MAX_BYTES, &n, why);
    if (!text) {
        llm_complain("%s: %s", path, why);
        return NULL;
    }
    json_t *j = parse(path, text, n);
    free(text);
    return j;
}

static bool parse_now(const char *text, struct tm *now) {
    const char *end = strptime(text, "%Y-%m-%d", now);
    if (end && (*end == ' ' || *end == 'T')) end = strptime(end + 1, "%H:%M:%S", now);
    return (end && !*end) || llm_complain("--now: \"%.40s\" is not YYYY-MM-DD HH:MM:SS", text);
}

static bool print(const lm_chat *chat, const lm_chat_request *r, const struct tm *now) {
    const lm_template_options options = {.now = now};
    lm_template_error e;
    size_t n;
    char *text = lm_chat_render(chat, r, &options, &n, &e);
    if (!text)
        return e.line ? llm_complain("chat template: line %d, column %d: %s", e.line, e.column,
                                     e.message)
                      : llm_complain("chat template: %s", e.message);
    fwrite(text, 1, n, stdout);
    free(text);
    return true;
}

bool chat_template(const struct options *o) {
    char err[LLM_ERR];
    struct tm now = {0};
    bool ok = !o->now || parse_now(o->now, &now);
    lm_chat *chat = ok ? lm_chat_load(o->model, o->template, err) : NULL;
    if (ok && !chat) ok = llm_complain("%s", err);
    json_t *messages = ok ? read_json(o->messages) : NULL;
    json_t *tools = messages && o->tools ? read_json(o->tools) : NULL;
    json_t *kwargs = messages && o->kwargs ? parse("--kwargs", o->kwargs, strlen(o->kwargs)) : NULL;
    ok = messages && (tools || !o->tools) && (kwargs || !o->kwargs);
    if (ok) {
        /* A request has its messages, and may have tools, inside. */
        const json_t *inside = json_object_get(messages, "messages");
        lm_chat_request r = {.messages = inside ? inside : messages,
                             .tools = tools ? tools : json_object_get(messages, "tools"),
                             .documents = json_object_get(messages, "documents"),
                             .kwargs = kwargs,
                             .add_generation_prompt = !o->no_generation,
                             .name = o->template_name,
                             .from_api = inside != NULL};
        ok = print(chat, &r, o->now ? &now : NULL);
    }
    json_decref(messages);
    json_decref(tools);
    json_decref(kwargs);
    lm_chat_free(chat);
    return ok;
}
