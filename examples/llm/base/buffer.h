/* buffer.h - bytes that grow at the end. */
#ifndef LLM_BUFFER_H
#define LLM_BUFFER_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Start with {0}. Once memory ran out, FAILED stays and what is added is dropped. */
struct buffer {
    char *data; /* followed by a 0 once anything was added */
    size_t n, cap;
    bool failed;
};

void buffer_add(struct buffer *, const void *data, size_t bytes);
void buffer_text(struct buffer *, const char *text);
void buffer_format(struct buffer *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As compact JSON, with large integers of json_text as they came; takes the reference, and a NULL
 * fails the buffer. */
void buffer_json(struct buffer *, json_t *value);
/* Takes the first BYTES away. */
void buffer_drop(struct buffer *, size_t bytes);
void buffer_free(struct buffer *); /* {0} again */

#endif
