/* Requests of /v1/responses and /v1/messages as requests of chat: members renamed, items and blocks
 * made messages. What has no counterpart keeps its name, and is then refused by it. */
#include "examples/llm/api/request.h"
#include <stdlib.h>
#include <string.h>

struct renamed {
    const char *from, *to; /* TO NULL: dropped */
};

static bool is(const json_t *v, const char *word) {
    return json_is_string(v) && !strcmp(json_string_value(v), word);
}

static const char *type_of(const json_t *v) {
    const char *type = json_string_value(json_object_get(v, "type"));
    return type ? type : "";
}

/* The members of BODY, renamed; those that are null or named in SKIP are left out. */
static json_t *rename_all(const json_t *body, const struct renamed *names, const char *skip) {
    const char *key;
    json_t *value, *out = json_object();
    json_object_foreach((json_t *)body, key, value) {
        const char *to = key;
        const char *found = strstr(skip, key);
        for (; found; found = strstr(found + 1, key))
            if ((found == skip || found[-1] == ' ') && strchr(" ", found[strlen(key)])) break;
        if (found || json_is_null(value)) continue;
        for (const struct renamed *n = names; n->from; n++)
            if (!strcmp(n->from, key)) to = n->to;
        if (to) json_object_set(out, to, value);
    }
    return out;
}

static json_t *give_up(json_t *value, struct fault *f, const char *param, const char *why) {
    json_decref(value);
    fault_set(f, 400, param, NULL, "'%s': %s", param, why);
    return NULL;
}

static json_t *tool(const json_t *name, const json_t *description, const json_t *parameters) {
    return json_pack("{s:s, s:{s:O?, s:O*, s:O*}}", "type", "function", "function", "name", name,
                     "description", description, "parameters", parameters);
}

/* ---- what a model wrote in one turn: reasoning, a text, calls of tools, one message of chat ----
 */

static json_t *turn_of(json_t *messages, bool fresh) {
    json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    if (!fresh && is(json_object_get(last, "role"), "assistant")) return last;
    last = json_pack("{s:s, s:n}", "role", "assistant", "content");
    json_array_append_new(messages, last);
    return last;
}

static bool has(const json_t *turn, const char *name) {
    const json_t *v = json_object_get(turn, name);
    return v && !json_is_null(v);
}

static void add_call(json_t *turn, const json_t *id, const json_t *name, json_t *arguments) {
    json_t *calls = json_object_get(turn, "tool_calls");
    if (!calls) json_object_set_new(turn, "tool_calls", calls = json_array());
    json_array_append_new(calls,
                          json_pack("{s:O?, s:s, s:{s:O?, s:o?}}", "id", id, "type", "function",
                                    "function", "name", name, "arguments", arguments));
}

/* ---- responses ---- */

/* What it was, where it was told; a summary stands for it. */
static void add_reasoning(json_t *turn, const json_t *item) {
    const json_t *parts = json_object_get(item, "content");
    if (!json_array_size(parts)) parts = json_object_get(item, "summary");
    struct buffer b = {0};
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *text = json_object_get(json_array_get(parts, i), "text");
        if (json_is_string(text)) buffer_add(&b, json_string_value(text), json_string_length(text));
    }
    if (b.n) json_object_set_new(turn, "reasoning_content", json_stringn(b.data, b.n));
    buffer_free(&b);
}

static bool add_item(json_t *messages, const json_t *item) {
    const char *type = type_of(item);
    const json_t *last = json_array_get(messages, json_array_size(messages) - 1);
    bool called = has(last, "tool_calls"), wrote = called || has(last, "content");
    if (!strcmp(type, "reasoning")) {
        add_reasoning(turn_of(messages, wrote || has(last, "reasoning_content")), item);
        return true;
    }
    if (!strcmp(type, "function_call")) {
        add_call(turn_of(messages, false), json_object_get(item, "call_id"),
                 json_object_get(item, "name"), json_incref(json_object_get(item, "arguments")));
        return true;
    }
    if (!strcmp(type, "function_call_output")) {
        json_array_append_new(messages, json_pack("{s:s, s:O?, s:O?}", "role", "tool",
                                                  "tool_call_id", json_object_get(item, "call_id"),
                                                  "content", json_object_get(item, "output")));
        return true;
    }
    if (*type && strcmp(type, "message")) return false;
    json_t *content = json_object_get(item, "content");
    if (is(json_object_get(item, "role"), "assistant"))
        json_object_set(turn_of(messages, wrote), "content", content ? content : json_null());
    else
        json_array_append_new(
            messages,
            json_pack("{s:O?, s:O?}", "role", json_object_get(item, "role"), "content", content));
    return true;
}

static json_t *response_tools(const json_t *tools) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *t = json_array_get(tools, i);
        if (strcmp(type_of(t), "function")) {
            json_decref(out);
            return NULL;
        }
        json_array_append_new(out,
                              tool(json_object_get(t, "name"), json_object_get(t, "description"),
                                   json_object_get(t, "parameters")));
    }
    return out;
}

/* {"format": {"type": "json_schema", "name": ..., "schema": ...}} */
static json_t *response_format(const json_t *text) {
    json_t *format = json_object_get(text, "format");
    if (strcmp(type_of(format), "json_schema")) return json_incref(format);
    return json_pack("{s:s, s:O}", "type", "json_schema", "json_schema", format);
}

/* Of {"type": "allowed_tools", "mode": ..., "tools": [{"type": "function", "name": ...}]}. */
static json_t *allowed_choice(const json_t *choice) {
    const json_t *tools = json_object_get(choice, "tools");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++)
        json_array_append_new(list,
                              tool(json_object_get(json_array_get(tools, i), "name"), NULL, NULL));
    return json_pack("{s:s, s:{s:O?, s:o}}", "type", "allowed_tools", "allowed_tools", "mode",
                     json_object_get(choice, "mode"), "tools", list);
}

static json_t *response_choice(json_t *choice) {
    if (!json_is_object(choice)) return json_incref(choice);
    if (!strcmp(type_of(choice), "allowed_tools")) return allowed_choice(choice);
    return json_pack("{s:s, s:{s:O?}}", "type", "function", "function", "name",
                     json_object_get(choice, "name"));
}

json_t *convert_responses(const json_t *body, struct fault *f) {
    static const struct renamed names[] = {{"max_output_tokens", "max_completion_tokens"}, {0}};
    json_t *out = rename_all(body, names,
                             "input instructions tools tool_choice text reasoning include "
                             "truncation background max_tool_calls ");
    json_t *messages = json_array();
    const json_t *input = json_object_get(body, "input");
    const json_t *instructions = json_object_get(body, "instructions");
    json_object_set_new(out, "messages", messages);
    if (json_is_string(instructions))
        json_array_append_new(messages,
                              json_pack("{s:s, s:O}", "role", "system", "content", instructions));
    if (json_is_string(input))
        json_array_append_new(messages, json_pack("{s:s, s:O}", "role", "user", "content", input));
    for (size_t i = 0; i < json_array_size(input); i++)
        if (!add_item(messages, json_array_get(input, i)))
            return give_up(out, f, "input", "an item of that type is not supported");
    if (json_is_true(json_object_get(body, "background")))
        return give_up(out, f, "background", "is not supported");
    if (is(json_object_get(body, "truncation"), "auto"))
        return give_up(out, f, "truncation", "\"auto\" is not supported");
    const json_t *tools = json_object_get(body, "tools");
    if (json_array_size(tools)) {
        json_t *list = response_tools(tools);
        if (!list) return give_up(out, f, "tools", "only functions are supported");
        json_object_set_new(out, "tools", list);
    }
    json_t *choice = json_object_get(body, "tool_choice");
    if (choice && !json_is_null(choice))
        json_object_set_new(out, "tool_choice", response_choice(choice));
    if (json_object_get(json_object_get(body, "text"), "format"))
        json_object_set_new(out, "response_format", response_format(json_object_get(body, "text")));
    const json_t *include = json_object_get(body, "include");
    bool told = json_integer_value(json_object_get(body, "top_logprobs")) > 0;
    for (size_t i = 0; i < json_array_size(include); i++)
        told |= is(json_array_get(include, i), "message.output_text.logprobs");
    if (told) json_object_set_new(out, "logprobs", json_true());
    json_t *effort = json_object_get(json_object_get(body, "reasoning"), "effort");
    if (effort && !json_is_null(effort)) json_object_set(out, "reasoning_effort", effort);
    json_t *verbosity = json_object_get(json_object_get(body, "text"), "verbosity");
    if (verbosity) json_object_set(out, "verbosity", verbosity);
    return out;
}

/* ---- messages ---- */

static json_t *dumped(const json_t *value) {
    struct buffer b = {0};
    buffer_json(&b, value ? json_incref((json_t *)value) : json_null());
    json_t *string = b.failed ? NULL : json_stringn(b.data, b.n);
    buffer_free(&b);
    return string;
}

static void add_text(json_t *parts, const json_t *block) {
    json_array_append_new(
        parts, json_pack("{s:s, s:O?}", "type", "text", "text", json_object_get(block, "text")));
}

/* A block that a model wrote. */
static bool add_written(json_t *turn, json_t *parts, const json_t *block) {
    const char *type = type_of(block);
    if (!strcmp(type, "redacted_thinking")) return true;
    if (!strcmp(type, "thinking")) {
        json_t *thought = json_object_get(block, "thinking");
        if (json_string_length(thought)) json_object_set(turn, "reasoning_content", thought);
        return true;
    }
    if (!strcmp(type, "tool_use"))
        add_call(turn, json_object_get(block, "id"), json_object_get(block, "name"),
                 dumped(json_object_get(block, "input")));
    else if (!strcmp(type, "text"))
        add_text(parts, block);
    else
        return false;
    return true;
}

/* A block of a user; text goes to PARTS, which are a message behind the results of tools. */
static bool add_block(json_t *messages, json_t *parts, const json_t *block) {
    const char *type = type_of(block);
    if (!strcmp(type, "tool_result"))
        json_array_append_new(messages,
                              json_pack("{s:s, s:O?, s:O?}", "role", "tool", "tool_call_id",
                                        json_object_get(block, "tool_use_id"), "content",
                                        json_object_get(block, "content")));
    else if (!strcmp(type, "text"))
        add_text(parts, block);
    else
        return false;
    return true;
}

/* NULL, or the type of a block that is not known. */
static const char *add_message(json_t *messages, const json_t *message) {
    const json_t *role = json_object_get(message, "role");
    json_t *content = json_object_get(message, "content");
    if (!json_is_array(content)) {
        json_array_append_new(messages,
                              json_pack("{s:O?, s:O?}", "role", role, "content", content));
        return NULL;
    }
    json_t *parts = json_array(), *turn = is(role, "assistant") ? turn_of(messages, true) : NULL;
    const char *unknown = NULL;
    for (size_t i = 0; !unknown && i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        if (!(turn ? add_written(turn, parts, block) : add_block(messages, parts, block)))
            unknown = type_of(block);
    }
    if (turn && json_array_size(parts))
        json_object_set(turn, "content", parts);
    else if (json_array_size(parts))
        json_array_append_new(messages, json_pack("{s:O?, s:O}", "role", role, "content", parts));
    json_decref(parts);
    return unknown;
}

/* {"type": "json_schema", "schema": ...} */
static void add_format(json_t *out, json_t *format) {
    if (!format || json_is_null(format)) return;
    json_object_set_new(out, "response_format",
                        strcmp(type_of(format), "json_schema")
                            ? json_incref(format)
                            : json_pack("{s:s, s:{s:O?}}", "type", "json_schema", "json_schema",
                                        "schema", json_object_get(format, "schema")));
}

/* {"effort": ..., "format": ...} */
static bool add_output(json_t *out, const json_t *config) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)config, key, value) if (strcmp(key, "effort") &&
                                                          strcmp(key, "format") &&
                                                          !json_is_null(value)) return false;
    json_t *effort = json_object_get(config, "effort");
    if (effort && !json_is_null(effort)) json_object_set(out, "reasoning_effort", effort);
    add_format(out, json_object_get(config, "format"));
    return true;
}

/* Programs that write code ask that no thoughts be cleared, which is what is done. */
static bool clears_nothing(const json_t *management) {
    const json_t *edits = json_object_get(management, "edits");
    bool ok = json_object_size(management) == (edits != NULL);
    for (size_t i = 0; i < json_array_size(edits); i++) {
        const json_t *edit = json_array_get(edits, i);
        ok &= !strcmp(type_of(edit), "clear_thinking_20251015") &&
              is(json_object_get(edit, "keep"), "all");
    }
    return ok;
}

static json_t *message_choice(const json_t *choice) {
    const char *type = type_of(choice);
    if (!strcmp(type, "any")) return json_string("required");
    if (strcmp(type, "tool")) return json_string(type);
    return json_pack("{s:s, s:{s:O?}}", "type", "function", "function", "name",
                     json_object_get(choice, "name"));
}

json_t *convert_messages(const json_t *body, struct fault *f) {
    static const struct renamed names[] = {{"stop_sequences", "stop"}, {0}};
    json_t *out =
        rename_all(body, names,
                   "messages system tools tool_choice thinking cache_control output_config "
                   "output_format "
                   "context_management mcp_servers ");
    json_t *messages = json_array();
    const json_t *system = json_object_get(body, "system"),
                 *list = json_object_get(body, "messages");
    json_object_set_new(out, "messages", messages);
    if (!json_is_integer(json_object_get(body, "max_tokens")))
        return give_up(out, f, "max_tokens", "is missing");
    if (system && !json_is_null(system))
        json_array_append_new(messages,
                              json_pack("{s:s, s:O}", "role", "system", "content", system));
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *unknown = add_message(messages, json_array_get(list, i));
        if (!unknown) continue;
        json_decref(out);
        fault_set(f, 400, "messages", NULL,
                  "'messages': blocks of the type '%.40s' are not supported", unknown);
        return NULL;
    }
    const json_t *tools = json_object_get(body, "tools");
    json_t *functions = json_array();
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *t = json_array_get(tools, i);
        json_array_append_new(functions,
                              tool(json_object_get(t, "name"), json_object_get(t, "description"),
                                   json_object_get(t, "input_schema")));
    }
    json_object_set_new(out, "tools", functions);
    if (json_object_get(body, "tool_choice"))
        json_object_set_new(out, "tool_choice",
                            message_choice(json_object_get(body, "tool_choice")));
    if (json_is_true(
            json_object_get(json_object_get(body, "tool_choice"), "disable_parallel_tool_use")))
        json_object_set_new(out, "parallel_tool_calls", json_false());
    if (json_array_size(json_object_get(body, "mcp_servers")))
        return give_up(out, f, "mcp_servers", "is not supported");
    if (!clears_nothing(json_object_get(body, "context_management")))
        return give_up(out, f, "context_management", "only keeping all thoughts is supported");
    add_format(out, json_object_get(body, "output_format")); /* as it was called first */
    if (!add_output(out, json_object_get(body, "output_config")))
        return give_up(out, f, "output_config", "only 'effort' and 'format' are known");
    /* "adaptive" is the model's own choice. */
    const char *thinking = type_of(json_object_get(body, "thinking"));
    bool on = !strcmp(thinking, "enabled"), off = !strcmp(thinking, "disabled");
    if (on || off)
        json_object_set_new(out, "chat_template_kwargs", json_pack("{s:b}", "enable_thinking", on));
    return out;
}
