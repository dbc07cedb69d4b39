/* names.h - names that must differ from each other, made out of names that need not. */
#ifndef ET_NAMES_H
#define ET_NAMES_H

#include "ir/base/arena.h"

typedef struct et_names et_names;

et_names *et_names_create(et_arena *);
/* BASE if it was not given out yet, else the first of BASE SEPARATOR 2, BASE SEPARATOR 3, ... that
 * was not. Takes no longer for the thousandth of one base than for the first. */
const char *et_names_add(et_names *, const char *base, char separator);

#endif
