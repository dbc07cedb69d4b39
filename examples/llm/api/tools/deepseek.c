/* <｜tool▁call▁begin｜>function<｜tool▁sep｜>name, a block of JSON, <｜tool▁call▁end｜>; since V3.1
 * the name stands before the separator and the JSON behind it. Around all calls there are marks
 * too. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

#define CALLS "<｜tool▁calls▁begin｜>"
#define CALLS_END "<｜tool▁calls▁end｜>"
#define CALL "<｜tool▁call▁begin｜>"
#define CALL_END "<｜tool▁call▁end｜>"
#define SEPARATOR "<｜tool▁sep｜>"

ssize_t deepseek_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    if (tools_next(&at, end, CALLS_END)) return at - w->text;
    tools_next(&at, end, CALLS);
    tools_blanks(&at, end);
    if (!w->last && tools_begun(at, end, CALL)) return 0;
    if (!tools_next(&at, end, CALL)) return -(at > w->text ? at - w->text : 1);
    const char *name = at, *separator = tools_find(at, end, SEPARATOR);
    if (!separator) return tools_none(w, CALL_END);
    const char *name_end = separator;
    at = separator + strlen(SEPARATOR);
    tools_blanks(&at, end);
    if (at < end && *at != '{') {
        /* The older way: what stood before was the kind. */
        const char *line = memchr(at, '\n', (size_t)(end - at));
        if (!line) return w->last ? -(ssize_t)w->n : 0;
        name = at;
        name_end = line;
        at = line;
        tools_blanks(&at, end);
        if (!w->last && tools_begun(at, end, "```json")) return 0;
        tools_next(&at, end, "```json");
        tools_blanks(&at, end);
    }
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (n < 0) return tools_none(w, CALL_END);
    if (!n) return w->last ? -(ssize_t)w->n : 0;
    const char *close = tools_find(at + n, end, CALL_END);
    if (!close && !w->last) return 0;
    const char *behind = close ? close + strlen(CALL_END) : end;
    if (!tools_named(w, name, (size_t)(name_end - name), at, (size_t)n)) return -(behind - w->text);
    return behind - w->text;
}
