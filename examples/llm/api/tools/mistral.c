/* [TOOL_CALLS][{"name": ..., "arguments": {...}}, ...], and since its eleventh tokenizer
 * [TOOL_CALLS]name[ARGS]{...}, with a mark for each call; between them there may be an id. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

ssize_t mistral_read(const struct writing *w) {
    static const char *const marks[] = {"[ARGS]", "[CALL_ID]"};
    const char *at = w->text, *end = w->text + w->n;
    tools_next(&at, end, "[TOOL_CALLS]");
    tools_blanks(&at, end);
    if (at == end) return w->last ? -(ssize_t)w->n : 0;
    const char *name = at;
    if (*at != '[' && *at != '{')
        while (at < end && *at != '{' && *at != '[')
            at++;
    const char *name_end = at;
    for (int i = 0; i < 2 && name_end > name; i++) {
        if (!w->last && tools_begun(at, end, marks[i])) return 0;
        if (!tools_next(&at, end, marks[i]) || !i) continue;
        const char *arguments = tools_find(at, end, "[ARGS]");
        if (!arguments) return w->last ? -(ssize_t)w->n : 0;
        at = arguments + strlen("[ARGS]");
    }
    tools_blanks(&at, end);
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (!n) return w->last ? -(ssize_t)w->n : 0;
    if (n < 0) return -(at - w->text);
    bool ok = name_end > name ? tools_named(w, name, (size_t)(name_end - name), at, (size_t)n)
                              : tools_calls(w, at, (size_t)n);
    at += n;
    return ok ? at - w->text : -(at - w->text);
}
