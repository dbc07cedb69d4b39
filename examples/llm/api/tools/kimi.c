/* <|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{...}<|tool_call_end|>, between
 * marks of a section. */
#include "examples/llm/api/tools/tools.h"
#include <string.h>

#define ARGUMENTS "<|tool_call_argument_begin|>"
#define END "<|tool_call_end|>"

ssize_t kimi_read(const struct writing *w) {
    const char *at = w->text, *end = w->text + w->n;
    if (tools_next(&at, end, "<|tool_calls_section_end|>")) return at - w->text;
    tools_next(&at, end, "<|tool_calls_section_begin|>");
    tools_blanks(&at, end);
    if (!w->last && tools_begun(at, end, "<|tool_call_begin|>")) return 0;
    if (!tools_next(&at, end, "<|tool_call_begin|>")) return -(at > w->text ? at - w->text : 1);
    tools_blanks(&at, end);
    tools_next(&at, end, "functions.");
    const char *name = at, *arguments = tools_find(at, end, ARGUMENTS);
    if (!arguments) return tools_none(w, END);
    const char *name_end = arguments, *number;
    while (name_end > name && strchr(" \n", name_end[-1]))
        name_end--;
    for (number = name_end; number > name && number[-1] >= '0' && number[-1] <= '9'; number--) {
    }
    if (number > name && number[-1] == ':') name_end = number - 1;
    at = arguments + strlen(ARGUMENTS);
    tools_blanks(&at, end);
    ssize_t n = tools_json(at, (size_t)(end - at));
    if (n < 0) return tools_none(w, END);
    const char *close = n ? tools_find(at + n, end, END) : NULL;
    if (!n || (!close && !w->last)) return w->last ? -(ssize_t)w->n : 0;
    const char *behind = close ? close + strlen(END) : end;
    if (!tools_named(w, name, (size_t)(name_end - name), at, (size_t)n)) return -(behind - w->text);
    return behind - w->text;
}
