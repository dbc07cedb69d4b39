/* lines.h - texts that users may write by hand: one `key value` per line; `#` begins a comment. */
#ifndef ET_LINES_H
#define ET_LINES_H

#include "ir/base/diag.h"
#include <stdint.h>

enum { ET_LINE_BYTES = 1024, ET_LINES_TEXT = 16 << 20 };

typedef struct {
    et_arena *arena;
    et_diags *diags;
    const char *text;
    size_t bytes, at;
    int file, line;
} et_lines;

/* A line that is not empty. The value ends before blanks at the end and may be empty. */
typedef struct {
    const char *key, *value;
    et_loc key_loc, value_loc;
} et_line;

/* Registers the text, of any bytes, with the diagnostics. False after an error. */
bool et_lines_open(et_lines *, et_arena *, et_diags *, const char *file_name, const char *text,
                   size_t bytes);
/* The next line; false at the end. Lines that are too long or not plain UTF-8 are errors, and left
 * out. */
bool et_lines_next(et_lines *, et_line *out);

/* All of VALUE as a number; false when it is anything else. */
bool et_line_int(const char *value, int64_t *out);
bool et_line_number(const char *value, double *out);
/* Splits the next word off *VALUE, in place; NULL when there is none left. */
char *et_line_word(char **value);

/* The text of file PATH, NULL after an error. */
const char *et_lines_read(et_arena *, et_diags *, const char *path, size_t *out_bytes);

#endif
