/* tag.h - what makes a temporary a tagged one (ir/program/tags.h): its stores get tags, and tasks
 * copy what they read of it to local buffers first. */
#ifndef ET_TAG_H
#define ET_TAG_H

#include "ir/program/program.h"

/* Could tensor T be tagged, with local buffers of LDS bytes at most in every function? */
bool et_can_tag(et_program *, int t, int lds);
/* Do so. It may have another type afterwards: the one that all readers round it to. */
void et_tag(et_program *, int t);

#endif
