/* Parameters of tools, and which of them a request may call. */
#include "examples/llm/api/request.h"
#include <string.h>

static bool check_tool(const json_t *tool, size_t i, struct fault *f) {
    const json_t *function = json_object_get(tool, "function");
    const char *type = json_string_value(json_object_get(tool, "type"));
    const json_t *name = json_object_get(function, "name");
    const json_t *parameters = json_object_get(function, "parameters");
    if (!type || strcmp(type, "function"))
        return fault_set(f, 400, "tools", NULL, "tools[%zu]: 'type' must be \"function\"", i);
    if (!json_is_string(name) || !json_string_length(name) || json_string_length(name) > 128)
        return fault_set(f, 400, "tools", NULL, "tools[%zu]: 'function' needs a 'name'", i);
    if (parameters && !json_is_object(parameters) && !json_is_null(parameters))
        return fault_set(f, 400, "tools", NULL, "tools[%zu]: 'parameters' must be a JSON schema",
                         i);
    return true;
}

bool calls_tools(const struct api_model *m, struct request *r, const char *name, const json_t *v,
                 struct fault *f) {
    if (!json_is_array(v))
        return fault_set(f, 400, name, "invalid_type", "'%s' must be an array", name);
    for (size_t i = 0; i < json_array_size(v); i++)
        if (!check_tool(json_array_get(v, i), i, f)) return false;
    if (!json_array_size(v)) return true;
    if (!m->tools)
        return fault_set(
            f, 400, name, NULL,
            "'tools' are not read: the server was started without a --tool-parser, or with auto "
            "for a model whose template shows none");
    r->tools = v;
    return true;
}

/* Whether such a tool is there is checked once all parameters are read. */
bool calls_choice(const struct api_model *m, struct request *r, const char *name, const json_t *v,
                  struct fault *f) {
    (void)m;
    const json_t *allowed = json_object_get(v, "allowed_tools");
    if (allowed) {
        r->allowed = json_object_get(allowed, "tools");
        v = json_object_get(allowed, "mode");
    }
    const char *word = json_string_value(v);
    const json_t *function = json_object_get(json_object_get(v, "function"), "name");
    if (json_is_string(function)) {
        r->forced = json_string_value(function);
        return true;
    }
    if (!word || (strcmp(word, "auto") && strcmp(word, "none") && strcmp(word, "required")))
        return fault_set(
            f, 400, name, "invalid_type",
            "'%s' must be \"auto\", \"none\", \"required\", a function or allowed tools", name);
    if (!strcmp(word, "required")) r->forced = "";
    return true;
}

static json_t *find_tool(const json_t *tools, const char *name) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = json_object_get(json_array_get(tools, i), "function");
        if (!strcmp(json_string_value(json_object_get(function, "name")), name))
            return json_array_get(tools, i);
    }
    return NULL;
}

/* The others are no tools of this request. */
static bool leave_allowed(struct request *r, struct fault *f) {
    json_t *left = json_array();
    for (size_t i = 0; left && i < json_array_size(r->allowed); i++) {
        const json_t *function = json_object_get(json_array_get(r->allowed, i), "function");
        const char *name = json_string_value(json_object_get(function, "name"));
        json_t *tool = name ? find_tool(r->tools, name) : NULL;
        if (tool && json_array_append(left, tool) == 0) continue;
        json_decref(left);
        return fault_set(f, 400, "tool_choice", NULL, "no tool is called '%.100s'",
                         name ? name : "?");
    }
    if (!json_array_size(left) || json_object_set(r->body, "tools", left) < 0) {
        json_decref(left);
        return fault_set(f, 400, "tool_choice", NULL, "no tools are allowed");
    }
    r->tools = left;
    json_decref(left);
    return true;
}

bool calls_check(struct request *r, struct fault *f) {
    const char *word = json_string_value(json_object_get(r->body, "tool_choice"));
    if (r->allowed && !leave_allowed(r, f)) return false;
    if (r->forced && !r->tools)
        return fault_set(f, 400, "tool_choice", NULL, "'tool_choice' needs 'tools'");
    if (r->forced && *r->forced && !find_tool(r->tools, r->forced))
        return fault_set(f, 400, "tool_choice", NULL, "no tool is called '%.100s'", r->forced);
    if (word && !strcmp(word, "none")) r->tools = NULL;
    if (r->forced && r->form != FORM_TEXT)
        return fault_set(f, 400, r->form_name, NULL, "'%s' and a forced tool exclude each other",
                         r->form_name);
    return true;
}
