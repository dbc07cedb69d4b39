/* report.c - what etimport says to its user. */
#include "frontend/import/import.h"
#include <stdarg.h>

enum { SHOWN = 20 };

/* Names come from files we do not trust: nothing of them may steer a terminal. */
static void say(const char *kind, const char *where, const char *fmt, va_list ap) {
    char text[4096];
    vsnprintf(text, sizeof text, fmt, ap);
    for (char *p = text; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f) *p = '?';
    fprintf(stderr, "%s: %s: %s\n", where, kind, text);
}

void imp_error(struct imp_report *r, const char *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (r->errors++ < SHOWN) say("error", where, fmt, ap);
    va_end(ap);
}

void imp_warning(struct imp_report *r, const char *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (r->warnings++ < SHOWN) say("warning", where, fmt, ap);
    va_end(ap);
}

void imp_note(const char *where, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    say("note", where, fmt, ap);
    va_end(ap);
}

void imp_report_end(const struct imp_report *r) {
    if (r->errors > SHOWN) fprintf(stderr, "etimport: %d more errors\n", r->errors - SHOWN);
    if (r->warnings > SHOWN) fprintf(stderr, "etimport: %d more warnings\n", r->warnings - SHOWN);
}
