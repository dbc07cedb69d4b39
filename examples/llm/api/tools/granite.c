/* <|tool_call|>[{"name": ..., "arguments": {...}}, ...], as Granite 3 does; Granite 4 writes as
 * Hermes does. */
#include "examples/llm/api/tools/tools.h"

ssize_t granite_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    if (tools_next(&at, end, "<tool_call>")) {
        tools_blanks(&at, end);
        if (at == end) return w->last ? -(ssize_t)w->n : 0;
        if (*at != '[') return hermes_read(w);
    }
    tools_next(&at, end, "<|tool_call|>");
    tools_blanks(&at, end);
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (!n) return w->last ? -(ssize_t)w->n : 0;
    if (n < 0) return -(at - w->text);
    bool ok = tools_calls(w, at, (size_t)n);
    at += n;
    return ok ? at - w->text : -(at - w->text);
}
