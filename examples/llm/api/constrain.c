/* What an answer must be, as a grammar: JSON, what fits a schema, or a call of a tool. */
#include "examples/llm/api/request.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/grammar/grammar.h"
#include <stdlib.h>
#include <string.h>

/* The text before the arguments of a call, for free(). A grammar has no special tokens: of formats
 * that are marked by them a forced call is bare. */
static char *call_before(const struct tool_format *f, const char *name) {
    struct buffer b = {0};
    if (f->close) buffer_format(&b, "%s\n", f->opens[0]);
    buffer_text(&b, "{\"name\": ");
    buffer_json(&b, json_string(name));
    buffer_format(&b, ", \"%s\": ", f->arguments ? f->arguments : "arguments");
    if (!b.failed) return b.data;
    buffer_free(&b);
    return NULL;
}

/* A form for each tool that may be called. */
static size_t call_forms(const struct api_model *m, const struct request *r,
                         struct grammar_form *forms) {
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(r->tools); i++) {
        const json_t *function = json_object_get(json_array_get(r->tools, i), "function");
        const char *name = json_string_value(json_object_get(function, "name"));
        const json_t *schema = json_object_get(function, "parameters");
        if (*r->forced && strcmp(r->forced, name)) continue;
        forms[n].schema = json_is_object(schema) && json_object_size(schema) ? schema : NULL;
        forms[n].after = m->tools->close ? "}\n</tool_call>" : "}";
        forms[n++].before = call_before(m->tools, name);
    }
    return n;
}

static bool constrain_call(const struct api_model *m, struct request *r, struct fault *f) {
    struct grammar_form *forms = calloc(json_array_size(r->tools) + 1, sizeof *forms);
    char err[LLM_ERR];
    size_t n = forms ? call_forms(m, r, forms) : 0;
    bool ok = n > 0;
    for (size_t i = 0; i < n; i++)
        ok = ok && forms[i].before;
    if (!ok)
        fault_set(f, 500, NULL, NULL, "out of memory");
    else if (!grammar_make(forms, n, r->thinking, &r->grammar, err))
        ok = fault_set(f, 400, "tools", "invalid_schema", "'tools': %s", err);
    for (size_t i = 0; i < n; i++)
        free((void *)forms[i].before);
    free(forms);
    return ok;
}

bool request_constrain(const struct api_model *m, struct request *r, struct fault *f) {
    static const enum grammar_kind kinds[] = {[FORM_JSON] = GRAMMAR_SCHEMA,
                                              [FORM_SCHEMA] = GRAMMAR_SCHEMA,
                                              [FORM_CHOICE] = GRAMMAR_CHOICE,
                                              [FORM_REGEX] = GRAMMAR_REGEX,
                                              [FORM_GRAMMAR] = GRAMMAR_GBNF};
    struct grammar_form form = {"", r->schema, "", kinds[r->form], r->expression};
    char err[LLM_ERR];
    if (r->forced) return constrain_call(m, r, f);
    if (r->form == FORM_TEXT) return true;
    return grammar_make(&form, 1, r->thinking, &r->grammar, err) ||
           fault_set(f, 400, r->form_name, "invalid_schema", "'%s': %s", r->form_name, err);
}
