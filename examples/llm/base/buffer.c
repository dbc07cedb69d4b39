#include "examples/llm/base/buffer.h"
#include "examples/llm/base/json_text.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool room(struct buffer *b, size_t more) {
    if (b->failed) return false;
    if (b->n + more < b->cap) return true;
    size_t cap = b->cap ? b->cap : 256;
    while (cap <= b->n + more)
        cap *= 2;
    char *data = realloc(b->data, cap);
    if (!data) {
        b->failed = true;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

void buffer_add(struct buffer *b, const void *data, size_t bytes) {
    if (!room(b, bytes)) return;
    if (bytes) memcpy(b->data + b->n, data, bytes);
    b->n += bytes;
    b->data[b->n] = 0;
}

void buffer_text(struct buffer *b, const char *text) {
    buffer_add(b, text, strlen(text));
}

void buffer_format(struct buffer *b, const char *fmt, ...) {
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n < 0 || (size_t)n >= sizeof text)
        b->failed = true;
    else
        buffer_add(b, text, (size_t)n);
}

static int take(const char *data, size_t bytes, void *b) {
    buffer_add(b, data, bytes);
    return ((struct buffer *)b)->failed ? -1 : 0;
}

void buffer_json(struct buffer *b, json_t *value) {
    size_t before = b->n;
    if (!value || json_dump_callback(value, take, b, JSON_COMPACT | JSON_ENCODE_ANY) != 0)
        b->failed = true;
    json_decref(value);
    if (b->n == before) return;
    b->n = before + json_unmark(b->data + before, b->n - before);
    b->data[b->n] = 0;
}

void buffer_drop(struct buffer *b, size_t bytes) {
    if (!bytes) return;
    b->n -= bytes;
    memmove(b->data, b->data + bytes, b->n + 1);
}

void buffer_free(struct buffer *b) {
    free(b->data);
    *b = (struct buffer){0};
}
