#include "runtime/etrt/base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A state dump of a few hundred lines fits; what does not is cut. */
static _Thread_local char last_error[32768];

const char *etrt_last_error(void) {
    return last_error;
}

const char *etrt_version(void) {
    return ETCC_VERSION;
}

/* One after the other, since a table of pointers takes several times the space. */
#define X(name, text) "ETRT_" #name "\0"
static const char names[] = ETRT_STATUSES(X);
#undef X
#define X(name, text) text "\0"
static const char texts[] = ETRT_STATUSES(X);
#undef X

static const char *find(const char *at, etrt_status status, const char *other) {
    if ((int)status < 0) return other;
    for (int i = 0; *at && i < (int)status; i++)
        at += strlen(at) + 1;
    return *at ? at : other;
}

const char *etrt_status_name(etrt_status status) {
    return find(names, status, "ETRT_?");
}

const char *etrt_status_text(etrt_status status) {
    return find(texts, status, "unknown status");
}

etrt_status etrt_fail(etrt_status status, const char *format, ...) {
    /* Arguments may point into the old message. */
    char text[sizeof last_error];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    memcpy(last_error, text, strlen(text) + 1);
    return status;
}

etrt_status etrt_no_memory(void) {
    return etrt_fail(ETRT_NO_MEMORY, "out of host memory");
}

etrt_status etrt_fail_in(etrt_status status, const char *format, ...) {
    char where[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(where, sizeof where, format, args);
    va_end(args);
    return etrt_fail(status, "%s: %s", where, last_error);
}

void etrt_fail_more(const char *format, ...) {
    size_t used = strlen(last_error);
    va_list args;
    va_start(args, format);
    vsnprintf(last_error + used, sizeof last_error - used, format, args);
    va_end(args);
}
