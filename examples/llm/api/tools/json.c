/* JSON in what models write, as it stands: numbers keep all their digits. */
#include "examples/llm/api/tools/call.h"
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/base/json_text.h"
#include <string.h>

ssize_t tools_json(const char *text, size_t n) {
    int64_t depth = 0;
    bool in_string = false;
    if (!n) return 0;
    if (*text != '{' && *text != '[') return -1;
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && !--depth) {
            return (ssize_t)i + 1;
        }
    }
    return 0;
}

static bool is_object(const char *text, size_t n) {
    json_t *value = json_loadb(text, n, JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
    bool object = json_is_object(value);
    json_decref(value);
    return object;
}

bool tools_named(const struct writing *w, const char *name, size_t bytes, const char *arguments,
                 size_t n) {
    if (!bytes || !is_object(arguments, n)) return false;
    w->take(w->user, name, bytes, arguments, n);
    return true;
}

bool tools_made(const struct writing *w, const char *name, size_t bytes, json_t *arguments) {
    struct buffer b = {0};
    buffer_json(&b, arguments);
    bool ok = !b.failed && tools_named(w, name, bytes, b.data, b.n);
    buffer_free(&b);
    return ok;
}

struct collected {
    struct buffer name, arguments;
};

static void collect(void *user, enum piece piece, const char *text, size_t bytes) {
    struct collected *c = user;
    buffer_add(piece == PIECE_CALL ? &c->name : &c->arguments, text, bytes);
}

/* Arguments may be an object, or its text in a string. */
static bool give(const struct writing *w, const struct collected *c) {
    const char *name = c->name.data, *text = c->arguments.data;
    if (c->name.failed || c->arguments.failed || !c->name.n) return false;
    if (!c->arguments.n) return tools_named(w, name, c->name.n, "{}", 2);
    if (*text != '"') return tools_named(w, name, c->name.n, text, c->arguments.n);
    json_t *inner = json_text(text, c->arguments.n, JSON_DECODE_ANY, NULL);
    bool ok = json_is_string(inner) &&
              tools_named(w, name, c->name.n, json_string_value(inner), json_string_length(inner));
    json_decref(inner);
    return ok;
}

bool tools_call(const struct writing *w, const char *text, size_t n) {
    struct call call = {.depth = 0};
    struct collected c = {{0}, {0}};
    if (!is_object(text, n)) return false;
    for (size_t i = 0; i < n && !call.over; i++)
        call_byte(&call, text[i], collect, &c);
    call_flush(&call, collect, &c);
    bool ok = give(w, &c);
    call_free(&call);
    buffer_free(&c.name);
    buffer_free(&c.arguments);
    return ok;
}

bool tools_calls(const struct writing *w, const char *text, size_t n) {
    const char *at = text, *end = text + n;
    bool any = false;
    if (n && *at == '{') return tools_call(w, text, n);
    if (!n || *at++ != '[') return false;
    for (;;) {
        tools_blanks(&at, end);
        if (tools_next(&at, end, "]")) return any;
        ssize_t one = tools_json(at, (size_t)(end - at));
        if (one <= 0 || !tools_call(w, at, (size_t)one)) return false;
        any = true;
        at += one;
        tools_blanks(&at, end);
        tools_next(&at, end, ",");
    }
}

/* ---- arguments that are not JSON ---- */

static const json_t *parameters_of(const json_t *tools, const char *name, size_t bytes) {
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *function = json_object_get(json_array_get(tools, i), "function");
        const json_t *own = json_object_get(function, "name");
        if (json_string_length(own) == bytes && !memcmp(json_string_value(own), name, bytes))
            return json_object_get(json_object_get(function, "parameters"), "properties");
    }
    return NULL;
}

static bool is_of(const json_t *value, const char *type) {
    return !strcmp(type, "null") ? json_is_null(value) : json_is_string(value);
}

/* Does it say that a value may be of TYPE, "string" or "null"? */
static bool may_be(const json_t *schema, const char *type) {
    const json_t *types = json_object_get(schema, "type"),
                 *values = json_object_get(schema, "enum");
    if (json_is_string(types)) return !strcmp(json_string_value(types), type);
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *one = json_string_value(json_array_get(types, i));
        if (one && !strcmp(one, type)) return true;
    }
    for (size_t i = 0; i < json_array_size(values); i++)
        if (is_of(json_array_get(values, i), type)) return true;
    for (int k = 0; k < 2; k++) {
        const json_t *any = json_object_get(schema, k ? "oneOf" : "anyOf");
        for (size_t i = 0; i < json_array_size(any); i++)
            if (may_be(json_array_get(any, i), type)) return true;
    }
    const json_t *only = json_object_get(schema, "const");
    return only && is_of(only, type);
}

static bool is_word(const char *text, size_t n, const char *word) {
    return n == strlen(word) && !memcmp(text, word, n);
}

json_t *tools_value(const struct writing *w, const char *name, size_t bytes, const char *key,
                    size_t nkey, const char *text, size_t n) {
    const json_t *schema = json_object_getn(parameters_of(w->tools, name, bytes), key, nkey);
    bool none = is_word(text, n, "None") || is_word(text, n, "null");
    if (may_be(schema, "string"))
        return none && may_be(schema, "null") ? json_null() : json_stringn(text, n);
    json_t *value = json_text(text, n, JSON_DECODE_ANY, NULL);
    if (!value && schema && is_word(text, n, "True")) value = json_true();
    if (!value && schema && is_word(text, n, "False")) value = json_false();
    if (!value && schema && none) value = json_null();
    return value ? value : json_stringn(text, n);
}

/* ---- marks ---- */

const char *tools_find(const char *text, const char *end, const char *word) {
    return text < end ? memmem(text, (size_t)(end - text), word, strlen(word)) : NULL;
}

bool tools_next(const char **at, const char *end, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(end - *at) < n || memcmp(*at, word, n) != 0) return false;
    *at += n;
    return true;
}

void tools_blanks(const char **at, const char *end) {
    while (*at < end && **at && strchr(" \t\r\n", **at))
        ++*at;
}

bool tools_begun(const char *at, const char *end, const char *word) {
    size_t n = (size_t)(end - at);
    return n < strlen(word) && !memcmp(at, word, n);
}

ssize_t tools_none(const struct writing *w, const char *close) {
    const char *end = w->text + w->n, *at = tools_find(w->text, end, close);
    if (at) return -(at + (ssize_t)strlen(close) - w->text);
    return w->last ? -(ssize_t)w->n : 0;
}
