/* <tool_call><function=name><parameter=key>text</parameter></function></tool_call>, as Qwen3-Coder
 * does: arguments as plain text, which the tool's schema makes values. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

/* The text between tags, without a line's end on either side. */
static void trim(const char **from, const char **to) {
    if (*from < *to && **from == '\n') ++*from;
    if (*from < *to && (*to)[-1] == '\n') --*to;
}

/* <parameter=key>text</parameter>, again and again, up to END. */
static json_t *parameters(const struct writing *w, const char *name, size_t bytes, const char *at,
                          const char *end) {
    json_t *out = json_object();
    while ((at = tools_find(at, end, "<parameter="))) {
        const char *key = at + strlen("<parameter="), *close = tools_find(key, end, ">");
        if (!close) break;
        const char *text = close + 1, *to = tools_find(text, end, "</parameter>");
        const char *next = tools_find(text, end, "<parameter=");
        at = to ? to + strlen("</parameter>") : next ? next : end;
        if (!to) to = next ? next : end;
        trim(&text, &to);
        json_object_setn_new(
            out, key, (size_t)(close - key),
            tools_value(w, name, bytes, key, (size_t)(close - key), text, (size_t)(to - text)));
    }
    return out;
}

ssize_t qwen_coder_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    bool marked = tools_next(&at, end, "<tool_call>");
    tools_blanks(&at, end);
    if (!w->last && tools_begun(at, end, "<function=")) return 0;
    if (marked && at < end && *at == '{') return hermes_read(w);
    if (!tools_next(&at, end, "<function=")) return tools_none(w, "</tool_call>");
    const char *name = at, *name_end = tools_find(at, end, ">");
    const char *close = tools_find(at, end, "</function>");
    if (!name_end || !close) return w->last ? -(ssize_t)w->n : 0;
    const char *behind = close + strlen("</function>");
    if (marked) {
        tools_blanks(&behind, end);
        if (!w->last && tools_begun(behind, end, "</tool_call>")) return 0;
        tools_next(&behind, end, "</tool_call>");
    }
    size_t bytes = (size_t)(name_end - name);
    bool ok = tools_made(w, name, bytes, parameters(w, name, bytes, name_end, close));
    return ok ? behind - w->text : -(behind - w->text);
}
