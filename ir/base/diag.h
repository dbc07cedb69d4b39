/* diag.h - the list of what a compilation has to say to its user. */
#ifndef ET_DIAG_H
#define ET_DIAG_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdio.h>

/* A position in a source text. line and col count from 1; line 0 means "no position". */
typedef struct et_loc {
    int file; /* index given by et_diag_file, 0 = none */
    int line, col;
    int len; /* columns to underline, at least 1 */
} et_loc;

typedef enum { ET_ERROR, ET_WARNING, ET_NOTE } et_severity;

typedef struct et_diags et_diags;
et_diags *et_diags_create(et_arena *);
/* Register a source text so that its lines can be shown. The text is copied. Returns its index. */
int et_diag_file(et_diags *, const char *name, const char *text, size_t bytes);
/* A note belongs to the error or warning before it. Repeated errors at one place are kept once. */
void et_diag(et_diags *, et_severity, et_loc, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
int et_diag_errors(const et_diags *);
/* FROM's warnings without a position, with their notes, also TO's. */
void et_diag_pass_on(const et_diags *from, et_diags *to);
/* "file:line:col: error: text", the source line, a caret line; in source order per file. */
void et_diag_print(const et_diags *, FILE *);

/* A broken invariant of the compiler itself: prints file, line and message, and aborts. */
_Noreturn void et_bug_at(const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
#define et_bug(...) et_bug_at(__FILE__, __LINE__, __VA_ARGS__)
#define et_check(cond)                                                                             \
    do {                                                                                           \
        if (!(cond)) et_bug("invariant broken: %s", #cond);                                        \
    } while (0)

#endif
