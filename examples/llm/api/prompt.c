/* What the model is to continue, as token ids: a prompt, or messages through the chat template. */
#include "examples/llm/api/chat.h"
#include "examples/llm/api/request.h"
#include "examples/llm/api/tools/tools.h"
#include <stdlib.h>
#include <string.h>

static bool no_memory(struct fault *f) {
    return fault_set(f, 500, NULL, NULL, "out of memory");
}

static bool encode(const struct api_model *m, const char *text, size_t bytes, unsigned flags,
                   struct ids *ids, const char *param, struct fault *f) {
    char err[LLM_ERR];
    return tokenizer_encode_as(m->tokenizer, text, bytes, flags, ids, err) ||
           fault_set(f, 400, param, NULL, "%s", err);
}

/* ---- completions ---- */

static bool read_ids(const struct api_model *m, const json_t *array, struct ids *ids,
                     struct fault *f) {
    for (size_t i = 0; i < json_array_size(array); i++) {
        const json_t *v = json_array_get(array, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) >= m->vocab)
            return fault_set(f, 400, "prompt", NULL, "'prompt': tokens are integers from 0 to %lld",
                             (long long)m->vocab - 1);
        if (!ids_add(ids, (int32_t)json_integer_value(v))) return no_memory(f);
    }
    return true;
}

static bool read_one(const struct api_model *m, const json_t *v, unsigned flags, struct ids *ids,
                     struct fault *f) {
    if (json_is_array(v)) return read_ids(m, v, ids, f);
    if (json_is_string(v))
        return encode(m, json_string_value(v), json_string_length(v), flags, ids, "prompt", f);
    return fault_set(
        f, 400, "prompt", "invalid_type",
        "'prompt' must be a string, an array of strings, of tokens, or of such arrays");
}

static bool read_prompts(const struct api_model *m, struct request *r, struct fault *f) {
    const json_t *v = json_object_get(r->body, "prompt");
    if (!v) v = json_object_get(r->body, "api_prompt");
    if (!v || json_is_null(v))
        return fault_set(f, 400, "prompt", "missing_required_parameter", "'prompt' is missing");
    /* An array of numbers is one prompt. */
    bool many = json_is_array(v) && !json_is_integer(json_array_get(v, 0));
    size_t n = many ? json_array_size(v) : 1;
    if (!n || (int64_t)n * r->n > m->choices)
        return fault_set(f, 400, "prompt", NULL, "a request takes from 1 to %lld texts",
                         (long long)m->choices);
    r->prompts = calloc(n, sizeof *r->prompts);
    if (!r->prompts) return no_memory(f);
    r->nprompts = (int)n;
    for (size_t i = 0; i < n; i++)
        if (!read_one(m, many ? json_array_get(v, i) : v, r->bare ? TOKENIZER_BARE : 0,
                      &r->prompts[i], f))
            return false;
    return true;
}

/* ---- messages, as templates expect them ---- */

/* Contents in parts become one string; what is no text is refused. */
static json_t *flat_content(const json_t *content, size_t at, struct fault *f) {
    struct buffer b = {0};
    if (!content || json_is_null(content)) return json_string("");
    if (json_is_string(content)) return json_deep_copy(content);
    for (size_t i = 0; i < json_array_size(content); i++) {
        const json_t *part = json_array_get(content, i);
        const json_t *text = json_object_get(part, "text");
        const char *type = json_string_value(json_object_get(part, "type"));
        if (!json_is_string(text) || !type ||
            (strcmp(type, "text") && strcmp(type, "input_text") && strcmp(type, "output_text"))) {
            buffer_free(&b);
            fault_set(f, 400, "messages", "unsupported_value",
                      "messages[%zu]: contents of the type '%.60s' are not supported", at,
                      type ? type : "?");
            return NULL;
        }
        if (i) buffer_text(&b, "\n");
        buffer_add(&b, json_string_value(text), json_string_length(text));
    }
    json_t *flat = json_is_array(content) ? json_stringn(b.data ? b.data : "", b.n) : NULL;
    buffer_free(&b);
    if (!flat)
        fault_set(f, 400, "messages", NULL,
                  "messages[%zu]: 'content' must be a string or an array of parts", at);
    return flat;
}

static bool check_calls(const json_t *calls, size_t at, struct fault *f) {
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *function = json_object_get(json_array_get(calls, i), "function");
        if (!json_is_string(json_object_get(function, "name")))
            return fault_set(f, 400, "messages", NULL,
                             "messages[%zu]: tool_calls[%zu] has no function with a name", at, i);
    }
    return true;
}

static bool read_message(const json_t *message, size_t at, json_t *out, struct fault *f) {
    const char *role = json_string_value(json_object_get(message, "role"));
    if (!role) return fault_set(f, 400, "messages", NULL, "messages[%zu] has no 'role'", at);
    json_t *copy = json_deep_copy(message);
    json_t *content = flat_content(json_object_get(message, "content"), at, f);
    bool ok = content != NULL;
    if (!copy || json_array_append_new(out, copy) < 0) {
        json_decref(content);
        return no_memory(f);
    }
    if (ok && json_object_set_new(copy, "content", content) < 0) return no_memory(f);
    if (ok && !strcmp(role, "developer"))
        ok = json_object_set_new(copy, "role", json_string("system")) == 0 || no_memory(f);
    return ok && check_calls(json_object_get(copy, "tool_calls"), at, f);
}

static json_t *read_messages(const struct request *r, struct fault *f) {
    const json_t *messages = json_object_get(r->body, "messages");
    if (!json_array_size(messages)) {
        fault_set(f, 400, "messages", "missing_required_parameter",
                  "'messages' must be an array with a message at least");
        return NULL;
    }
    json_t *out = json_array();
    bool ok = out || no_memory(f);
    for (size_t i = 0; ok && i < json_array_size(messages); i++)
        ok = read_message(json_array_get(messages, i), i, out, f);
    if (ok) return out;
    json_decref(out);
    return NULL;
}

/* ---- what the template sees ---- */

static bool pass(json_t *to, const json_t *from, const char *name) {
    json_t *value = json_object_get(from, name);
    return !value || json_is_null(value) || json_object_set(to, name, value) == 0;
}

/* Tools that the template says nothing of are told in front, where the format can be told. */
static bool tell_tools(const struct api_model *m, const struct request *r, json_t *messages,
                       struct fault *f) {
    const struct tool_format *format = m->tools;
    const char *source = chat_source(m->chat);
    if (!r->tools || (source && strstr(source, "tools"))) return true;
    if (!format->told)
        return fault_set(f, 400, "tools", "unsupported_value",
                         "the chat template of this model says nothing of tools");
    struct buffer b = {0};
    buffer_text(&b, "You can call tools. Each line is a tool, as JSON:\n");
    for (size_t i = 0; i < json_array_size(r->tools); i++) {
        buffer_json(&b, json_incref(json_array_get(r->tools, i)));
        buffer_text(&b, "\n");
    }
    buffer_format(&b,
                  "To call one, write %s{\"name\": its name, \"%s\": an object of its arguments}%s",
                  format->close ? format->opens[0] : "nothing but ", format->arguments,
                  format->close ? format->close : "");
    json_t *first = json_array_get(messages, 0), *content = json_object_get(first, "content");
    const char *role = json_string_value(json_object_get(first, "role"));
    bool system = role && !strcmp(role, "system");
    if (system) {
        buffer_text(&b, "\n\n");
        buffer_add(&b, json_string_value(content), json_string_length(content));
    }
    json_t *text = b.failed ? NULL : json_stringn(b.data, b.n);
    buffer_free(&b);
    int failed =
        system ? json_object_set_new(first, "content", text)
               : json_array_insert_new(messages, 0,
                                       json_pack("{s:s, s:o}", "role", "system", "content", text));
    return !failed || no_memory(f);
}

static json_t *variables_of(const struct api_model *m, const struct request *r, struct fault *f) {
    json_t *messages = read_messages(r, f);
    if (messages && !tell_tools(m, r, messages, f)) {
        json_decref(messages);
        return NULL;
    }
    if (!messages) return NULL;
    json_t *kwargs = json_object(),
           *v = json_pack("{s:o, s:o}", "messages", messages, "kwargs", kwargs);
    json_t *more = json_object_get(r->body, "chat_template_kwargs");
    bool ok = v && pass(kwargs, r->body, "reasoning_effort") &&
              pass(kwargs, r->body, "verbosity") && pass(v, r->body, "documents") &&
              pass(v, r->body, "add_generation_prompt");
    if (ok && r->tools) ok = json_object_set(v, "tools", (json_t *)r->tools) == 0;
    if (ok && json_is_object(more)) ok = json_object_update(kwargs, more) == 0;
    if (ok) return v;
    json_decref(v);
    no_memory(f);
    return NULL;
}

static bool ends_with(const struct buffer *b, const char *text) {
    size_t n = strlen(text), end = b->n;
    while (end && (b->data[end - 1] == '\n' || b->data[end - 1] == ' '))
        end--;
    return end >= n && !memcmp(b->data + end - n, text, n);
}

bool prompt_render(const struct api_model *m, const struct request *r, struct buffer *out,
                   struct fault *f) {
    json_t *variables = variables_of(m, r, f);
    bool ok = variables && chat_render(m->chat, variables, out, f);
    json_decref(variables);
    return ok;
}

static bool render(const struct api_model *m, struct request *r, struct fault *f) {
    struct buffer text = {0};
    bool ok = prompt_render(m, r, &text, f);
    r->prompts = calloc(1, sizeof *r->prompts);
    if (ok && !r->prompts) ok = no_memory(f);
    r->nprompts = ok ? 1 : 0;
    unsigned flags = chat_has_template(m->chat) ? TOKENIZER_BARE : 0;
    if (ok)
        ok = encode(m, text.data ? text.data : "", text.n, flags, &r->prompts[0], "messages", f);
    r->reasoning = m->reasoning && !r->plain_reasoning;
    r->thinking = ok && r->reasoning &&
                  ends_with(&text, (m->thoughts ? m->thoughts : thought_format(0))->open);
    buffer_free(&text);
    return ok;
}

/* ---- how much may come ---- */

/* An answer ends where the context is full, or at the server's own limit: programs ask for more
 * than most models have. What it must have at least, it must have room for. */
static bool limit(const struct api_model *m, struct request *r, struct fault *f) {
    int64_t longest = 0;
    for (int i = 0; i < r->nprompts; i++) {
        int64_t n = (int64_t)r->prompts[i].n;
        if (!n) return fault_set(f, 400, "prompt", NULL, "the prompt is empty");
        if (n > longest) longest = n;
    }
    bool text = r->dialect == DIALECT_COMPLETIONS || r->dialect == DIALECT_NATIVE;
    int64_t room = m->context - longest;
    if (room < (r->most != 0) || room < r->least)
        return fault_set(f, 400, text ? "prompt" : "messages", "context_length_exceeded",
                         "the model keeps %lld tokens, the prompt has %lld: there is no room for "
                         "an answer of %lld",
                         (long long)m->context, (long long)longest,
                         (long long)(r->least > 1 ? r->least : r->most != 0));
    if (m->most && m->most < room) room = m->most;
    if (room < r->least)
        return fault_set(f, 400, "min_tokens", "invalid_value",
                         "an answer has at most %lld tokens here", (long long)room);
    if (r->most < 0 && r->dialect == DIALECT_COMPLETIONS) r->most = 16;
    if (r->most < 0 || r->most > room) r->most = room;
    return true;
}

bool prompt_read(const struct api_model *m, struct request *r, struct fault *f) {
    bool text = r->dialect == DIALECT_COMPLETIONS || r->dialect == DIALECT_NATIVE ||
                json_object_get(r->body, "api_prompt");
    bool ok = r->infill ? infill_read(m, r, f) : text ? read_prompts(m, r, f) : render(m, r, f);
    return ok && limit(m, r, f);
}
