/* {"name": ..., "parameters": {...}}, several with ';' between, as Llama 3 does; a mark may come
 * first. */
#include "examples/llm/api/tools/tools.h"

ssize_t llama_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    tools_next(&at, end, "<|python_tag|>");
    tools_blanks(&at, end);
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (!n) return w->last ? -(ssize_t)w->n : 0;
    if (n < 0) return -(at - w->text ? at - w->text : 1);
    const char *behind = at + n;
    if (!tools_call(w, at, (size_t)n)) return -(behind - w->text);
    tools_blanks(&behind, end);
    tools_next(&behind, end, ";");
    tools_blanks(&behind, end);
    return behind - w->text;
}
