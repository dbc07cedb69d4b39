/* targets.h - which targets there are, for those who need not know what they are. */
#ifndef ET_TARGETS_H
#define ET_TARGETS_H

#include <stdbool.h>

typedef struct et_target et_target; /* target.h */

/* The target called NAME, or NULL. */
const et_target *et_target_find(const char *name);
/* Does it multiply weights that are packed (ir/program/packed.h)? */
bool et_target_packs(const et_target *);
/* The I-th target's name, NULL past the end. */
const char *et_target_name(int i);

#endif
