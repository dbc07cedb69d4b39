/* <tool_call>name<arg_key>key</arg_key><arg_value>text</arg_value></tool_call>, as GLM 4.5 does. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

#define KEY "<arg_key>"
#define KEY_END "</arg_key>"
#define VALUE "<arg_value>"
#define VALUE_END "</arg_value>"

static json_t *arguments(const struct writing *w, const char *name, size_t bytes, const char *at,
                         const char *end) {
    json_t *out = json_object();
    while ((at = tools_find(at, end, KEY))) {
        const char *key = at + strlen(KEY), *key_end = tools_find(key, end, KEY_END);
        const char *value = key_end ? tools_find(key_end, end, VALUE) : NULL;
        const char *value_end = value ? tools_find(value, end, VALUE_END) : NULL;
        if (!value_end) break;
        value += strlen(VALUE);
        json_object_setn_new(out, key, (size_t)(key_end - key),
                             tools_value(w, name, bytes, key, (size_t)(key_end - key), value,
                                         (size_t)(value_end - value)));
        at = value_end;
    }
    return out;
}

/* Where the call ends: behind the last value, since a value may have the mark in it. */
static const char *end_of_call(const char *at, const char *end) {
    for (;;) {
        const char *close = tools_find(at, end, "</tool_call>"),
                   *value = tools_find(at, end, VALUE);
        if (!close || !value || value > close) return close;
        at = tools_find(value, end, VALUE_END);
        if (!at) return NULL;
    }
}

ssize_t glm_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    tools_next(&at, end, "<tool_call>");
    tools_blanks(&at, end);
    const char *name = at, *close = end_of_call(at, end);
    if (!close) return w->last ? -(ssize_t)w->n : 0;
    const char *behind = close + strlen("</tool_call>"), *name_end = name;
    while (name_end < close && *name_end != '\n' && *name_end != '<' && *name_end != ' ')
        name_end++;
    size_t bytes = (size_t)(name_end - name);
    for (size_t i = 0; i < bytes; i++)
        if (strchr("{}[]\"", name[i])) bytes = 0; /* no name, and no call */
    bool ok = bytes && tools_made(w, name, bytes, arguments(w, name, bytes, name_end, close));
    return ok ? behind - w->text : -(behind - w->text);
}
