/* What all parts say and need: errors, memory, texts, a bar that tells how far it is. */
#include "bench/etbench/etbench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

bool eb_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
    fputs("etbench: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool eb_fail_status(const char *what, etrt_status status) {
    return eb_fail("%s: %s: %s", what, etrt_status_text(status), etrt_last_error());
}

void *eb_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (p) return p;
    eb_fail("out of memory");
    exit(1);
}

char *eb_text(const char *format, ...) {
    va_list args;
    char *text;
    va_start(args, format);
    int n = vasprintf(&text, format, args);
    va_end(args);
    if (n >= 0) return text;
    eb_fail("out of memory");
    exit(1);
}

void eb_progress(const struct eb_bench *b, int done, int total, const char *what) {
    enum { WIDTH = 30 };
    if (b->o->quiet || !isatty(STDERR_FILENO)) return;
    int full = total > 0 ? (int)((long)done * WIDTH / total) : 0;
    fprintf(stderr, "\r[%.*s%*s] ", full, "##############################", WIDTH - full, "");
    if (total) fprintf(stderr, "%d/%d ", done, total);
    fprintf(stderr, "%s\033[K", what);
    fflush(stderr);
}

void eb_progress_end(const struct eb_bench *b) {
    if (!b->o->quiet && isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}
