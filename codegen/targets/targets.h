/* targets.h - finds a target by its name, for code that does not depend on which one it is. */
#ifndef ET_TARGETS_H
#define ET_TARGETS_H

#include "ir/target/target.h"

/* The target called NAME, or NULL. */
const et_target *et_target_find(const char *name);
/* The I-th target's name, NULL past the end. */
const char *et_target_name(int i);

#endif
