/* <start_function_call>call:name{key:<escape>text<escape>,other:1}<end_function_call>, as
 * FunctionGemma does; Gemma 4 writes the same between <|tool_call> and <tool_call|>, and its
 * strings between <|"|>. */
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/base/json_text.h"
#include <string.h>

enum { MOST_DEPTH = 64 };

static json_t *value(const char **at, const char *end, int depth);

static json_t *string(const char **at, const char *end) {
    static const char *const quotes[] = {"<escape>", "<|\"|>", "\""};
    for (int i = 0; i < 3; i++) {
        if (!tools_next(at, end, quotes[i])) continue;
        const char *from = *at, *to = tools_find(from, end, quotes[i]);
        if (!to) return NULL;
        *at = to + strlen(quotes[i]);
        return json_stringn(from, (size_t)(to - from));
    }
    return NULL;
}

static bool is_end(const char *at, const char *end) {
    return at == end || (*at && strchr(",}]\n", *at));
}

static json_t *word(const char **at, const char *end) {
    const char *from = *at;
    while (!is_end(*at, end))
        ++*at;
    const char *to = *at;
    while (to > from && to[-1] == ' ')
        to--;
    json_t *v = json_text(from, (size_t)(to - from), JSON_DECODE_ANY, NULL);
    return v || to == from ? v : json_stringn(from, (size_t)(to - from));
}

static json_t *object(const char **at, const char *end, int depth) {
    json_t *out = json_object();
    for (;;) {
        tools_blanks(at, end);
        if (tools_next(at, end, "}")) return out;
        json_t *quoted = string(at, end);
        const char *key = *at;
        while (!quoted && *at < end && **at != ':')
            ++*at;
        const char *key_end = *at;
        json_t *v = tools_next(at, end, ":") ? value(at, end, depth + 1) : NULL;
        bool ok = v && (quoted ? json_object_set(out, json_string_value(quoted), v)
                               : json_object_setn(out, key, (size_t)(key_end - key), v)) == 0;
        json_decref(quoted);
        json_decref(v);
        if (!ok) break;
        tools_blanks(at, end);
        tools_next(at, end, ",");
    }
    json_decref(out);
    return NULL;
}

static json_t *array(const char **at, const char *end, int depth) {
    json_t *out = json_array();
    for (;;) {
        tools_blanks(at, end);
        if (tools_next(at, end, "]")) return out;
        json_t *v = value(at, end, depth + 1);
        if (!v || json_array_append_new(out, v) < 0) break;
        tools_blanks(at, end);
        tools_next(at, end, ",");
    }
    json_decref(out);
    return NULL;
}

static json_t *value(const char **at, const char *end, int depth) {
    tools_blanks(at, end);
    if (depth > MOST_DEPTH || *at == end) return NULL;
    if (tools_next(at, end, "{")) return object(at, end, depth);
    if (tools_next(at, end, "[")) return array(at, end, depth);
    json_t *text = string(at, end);
    return text ? text : word(at, end);
}

ssize_t gemma_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    bool function = tools_next(&at, end, "<start_function_call>");
    const char *mark = function ? "<end_function_call>" : "<tool_call|>";
    if (!function) tools_next(&at, end, "<|tool_call>");
    const char *close = tools_find(at, end, mark);
    if (!close && !w->last) return 0;
    const char *behind = close ? close + strlen(mark) : end;
    tools_blanks(&at, end);
    tools_next(&at, end, "call:");
    const char *name = at;
    while (at < end && *at != '{' && *at != '<')
        at++;
    size_t bytes = (size_t)(at - name);
    /* Strings may have the mark in them: the object's end counts. */
    json_t *arguments = tools_next(&at, end, "{") ? object(&at, end, 0) : NULL;
    if (!arguments) return w->last ? -(behind - w->text) : 0;
    tools_blanks(&at, end);
    if (!w->last && tools_begun(at, end, mark)) {
        json_decref(arguments);
        return 0;
    }
    tools_next(&at, end, mark);
    return tools_made(w, name, bytes, arguments) ? at - w->text : -(at - w->text);
}
