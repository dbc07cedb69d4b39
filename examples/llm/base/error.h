/* error.h - how the parts of etllm fail: one line of text for the caller to show. */
#ifndef LLM_ERROR_H
#define LLM_ERROR_H

#include <stdbool.h>

enum { LLM_ERR = 512 }; /* characters of every ERR array */

/* Formats into ERR and returns false. */
bool llm_fail(char *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Prints "etllm: ..." to stderr and returns false. */
bool llm_complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
