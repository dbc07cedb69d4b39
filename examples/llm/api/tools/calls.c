/* {"name": "f", "arguments": {...}}, byte by byte: the name as soon as it is whole, the arguments
 * as they are written. */
#include "examples/llm/api/tools/call.h"
#include "examples/llm/base/buffer.h"
#include <string.h>

static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void give_name(struct call *c, piece_taker *take, void *user) {
    struct buffer quoted = {0};
    buffer_format(&quoted, "\"");
    buffer_add(&quoted, c->name.data ? c->name.data : "", c->name.n);
    buffer_text(&quoted, "\"");
    json_t *name = quoted.failed ? NULL : json_loadb(quoted.data, quoted.n, JSON_DECODE_ANY, NULL);
    if (json_string_length(name)) {
        c->named = true;
        take(user, PIECE_CALL, json_string_value(name), json_string_length(name));
    }
    json_decref(name);
    buffer_free(&quoted);
}

void call_flush(struct call *c, piece_taker *take, void *user) {
    if (!c->named || !c->arguments.n) return;
    take(user, PIECE_ARGUMENTS, c->arguments.data, c->arguments.n);
    buffer_drop(&c->arguments, c->arguments.n);
}

static bool key_is(const struct call *c, const char *name) {
    return c->key.n == strlen(name) && !memcmp(c->key.data, name, c->key.n);
}

/* A string of the object itself ended, or one deeper. */
static void end_string(struct call *c, piece_taker *take, void *user) {
    c->in_string = false;
    if (c->depth != 1) return;
    if (c->in_key) {
        c->in_key = false;
        c->is_name = key_is(c, "name");
        c->is_arguments = key_is(c, "arguments") || key_is(c, "parameters");
    } else if (c->is_name && c->in_value && !c->named) {
        give_name(c, take, user);
    }
}

static void in_string(struct call *c, char byte, piece_taker *take, void *user) {
    bool ends = byte == '"' && !c->escaped;
    c->escaped = byte == '\\' && !c->escaped;
    if (c->in_value && c->is_arguments) buffer_add(&c->arguments, &byte, 1);
    if (ends)
        end_string(c, take, user);
    else if (c->depth == 1 && c->in_key)
        buffer_add(&c->key, &byte, 1);
    else if (c->depth == 1 && c->in_value && c->is_name)
        buffer_add(&c->name, &byte, 1);
}

static void begin_string(struct call *c) {
    c->in_string = true;
    c->in_key = c->depth == 1 && !c->in_value;
    if (c->in_key) c->key.n = 0;
}

void call_byte(struct call *c, char byte, piece_taker *take, void *user) {
    buffer_add(&c->raw, &byte, 1);
    if (c->in_string) {
        in_string(c, byte, take, user);
        return;
    }
    bool closes = byte == '}' || byte == ']';
    /* The object's own comma or brace ends a value. */
    if (c->depth == 1 && (byte == ',' || closes)) c->in_value = false;
    if (c->in_value && c->is_arguments && !(c->depth == 1 && is_space(byte)))
        buffer_add(&c->arguments, &byte, 1);
    if (byte == '"')
        begin_string(c);
    else if (byte == '{' || byte == '[')
        c->depth++;
    else if (closes && --c->depth <= 0)
        c->over = true;
    else if (byte == ':' && c->depth == 1)
        c->in_value = true;
}

void call_free(struct call *c) {
    buffer_free(&c->raw);
    buffer_free(&c->key);
    buffer_free(&c->name);
    buffer_free(&c->arguments);
    memset(c, 0, sizeof *c);
}
