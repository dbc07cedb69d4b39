#include "examples/llm/base/error.h"
#include <stdarg.h>
#include <stdio.h>

bool llm_fail(char *err, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err, LLM_ERR, fmt, ap);
    va_end(ap);
    return false;
}

bool llm_complain(const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fputs("etllm: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    return false;
}
