/* text.h - how numbers and strings are written in .eti, such that they read back exactly. */
#ifndef ET_TEXT_H
#define ET_TEXT_H

#include <stdio.h>

/* A decimal that reads back as exactly V: the shortest, always with a point or an exponent; with an
 * f behind it where only the f32 nearest to it is V (0.1f); or inf, -inf, nan. */
void et_float_text(char out[40], double v);
void et_put_float(FILE *, double v);
/* In quotes; quotes, backslashes and control characters escaped. */
void et_put_string(FILE *, const char *);

#endif
