/* <tool_call>{"name": ..., "arguments": {...}}</tool_call>, as Hermes and Qwen do. */
#include "examples/llm/api/tools/tools.h"

ssize_t hermes_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    tools_next(&at, end, "<tool_call>");
    tools_blanks(&at, end);
    /* The mark may stand inside of a string: where the JSON ends counts. */
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (n < 0) return tools_none(w, "</tool_call>");
    if (!n) return w->last ? -(ssize_t)w->n : 0;
    const char *behind = at + n;
    tools_blanks(&behind, end);
    if (!w->last && tools_begun(behind, end, "</tool_call>")) return 0;
    /* At the end of a text its mark may be missing. */
    if (!tools_next(&behind, end, "</tool_call>") && !(w->last && behind == end))
        return tools_none(w, "</tool_call>");
    return tools_call(w, at, (size_t)n) ? behind - w->text : -(behind - w->text);
}
