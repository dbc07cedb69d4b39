/* json_text.h - JSON that somebody sent. Integers beyond 64 bits are kept as strings of their
 * digits behind a mark, so that they can be written again as they came. */
#ifndef LLM_JSON_TEXT_H
#define LLM_JSON_TEXT_H

#include <jansson.h>

#define JSON_LARGE "\x7f integer "

/* As json_loadb. */
json_t *json_text(const char *text, size_t n, size_t flags, json_error_t *error);
/* The digits of such an integer; NULL: it is none. */
const char *json_large(const json_t *);
/* JSON of N bytes that was written of such values, with their digits as integers again; how many
 * bytes are left. */
size_t json_unmark(char *text, size_t n);

#endif
