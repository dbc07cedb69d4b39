/* text.h - how numbers and strings are written, such that they read back exactly, in .eti and in
 * JSON. */
#ifndef ET_TEXT_H
#define ET_TEXT_H

#include <stdio.h>

/* A decimal that reads back as exactly V: the shortest, always with a point or an exponent; with an
 * f behind it where only the f32 nearest to it is V (0.1f); or inf, -inf, nan. */
void et_float_text(char out[40], double v);
void et_put_float(FILE *, double v);
/* In quotes; quotes, backslashes and control characters escaped. */
void et_put_string(FILE *, const char *);
/* The same as JSON, which may stand in a script of a page: bytes that are no UTF-8 become question
 * marks. */
void et_put_json(FILE *, const char *);

#endif
