/* JSON of clients, whose integers may be larger than ours. */
#include "examples/llm/base/json_text.h"
#include "examples/llm/base/buffer.h"
#include <string.h>

/* 18 digits always fit. */
enum { FITTING = 18 };

static size_t digits_at(const char *text, size_t n) {
    size_t i = n && *text == '-', from = i;
    while (i < n && text[i] >= '0' && text[i] <= '9')
        i++;
    bool integer = i == n || !strchr(".eE", text[i]) || !text[i];
    return integer && i - from > FITTING ? i : 0;
}

/* TEXT with its large integers as strings that are marked. */
static void mark(const char *text, size_t n, struct buffer *out) {
    bool in_string = false;
    for (size_t i = 0; i < n; i++) {
        size_t digits = in_string ? 0 : digits_at(text + i, n - i);
        if (digits) {
            buffer_text(out, "\"" JSON_LARGE);
            buffer_add(out, text + i, digits);
            buffer_text(out, "\"");
            i += digits - 1;
            continue;
        }
        if (!in_string && text[i] >= '0' && text[i] <= '9') {
            /* A number that fits, or a fraction: as it is. */
            size_t from = i;
            while (i + 1 < n && text[i + 1] && strchr("0123456789.eE+-", text[i + 1]))
                i++;
            buffer_add(out, text + from, i + 1 - from);
            continue;
        }
        if (in_string && text[i] == '\\' && i + 1 < n)
            buffer_add(out, &text[i++], 1);
        else if (text[i] == '"')
            in_string = !in_string;
        buffer_add(out, &text[i], 1);
    }
}

json_t *json_text(const char *text, size_t n, size_t flags, json_error_t *error) {
    json_error_t unasked;
    if (!error) error = &unasked;
    json_t *value = json_loadb(text, n, flags, error);
    if (value || json_error_code(error) != json_error_numeric_overflow) return value;
    struct buffer b = {0};
    json_error_t other;
    mark(text, n, &b);
    value = b.failed ? NULL : json_loadb(b.data, b.n, flags, &other);
    buffer_free(&b);
    return value;
}

const char *json_large(const json_t *v) {
    const char *text = json_string_value(v);
    size_t n = strlen(JSON_LARGE);
    if (!text || strncmp(text, JSON_LARGE, n)) return NULL;
    text += n;
    return *text && text[strspn(text, "-0123456789")] == 0 ? text : NULL;
}

/* The bytes of a marked integer at TEXT, quotes among them; 0: there is none. */
static size_t marked_at(const char *text, size_t n) {
    const size_t mark = strlen("\"" JSON_LARGE);
    if (n < mark || memcmp(text, "\"" JSON_LARGE, mark) != 0) return 0;
    size_t end = mark;
    while (end < n && (text[end] == '-' || (text[end] >= '0' && text[end] <= '9')))
        end++;
    bool key = end + 1 < n && text[end + 1] == ':';
    return end > mark && end < n && text[end] == '"' && !key ? end + 1 : 0;
}

size_t json_unmark(char *text, size_t n) {
    size_t to = 0, mark = strlen("\"" JSON_LARGE);
    if (!memchr(text, *JSON_LARGE, n)) return n;
    for (size_t i = 0; i < n;) {
        size_t marked = marked_at(text + i, n - i);
        if (marked) {
            memmove(text + to, text + i + mark, marked - mark - 1);
            to += marked - mark - 1;
            i += marked;
        } else {
            text[to++] = text[i++];
        }
    }
    return to;
}
