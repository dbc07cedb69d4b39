/* tags.h - flag-in-data events ("carried" in .eti): data whose words show that they have arrived.
 *
 * A task that notifies such an event makes no release fence, and one that waits for it no acquire
 * fence: its counter only says when to look. The data it guards is in tagged temporaries. An
 * element and its tag are one word of twice the element's size, written and read as a whole. A
 * store is an atomic maximum with the tag in the upper half, so the order in which stores reach
 * memory does not matter. A load is repeated, bounded like every wait, until the tag is the
 * expected one.
 *
 * Only a MAP step with a tag touches a tagged tensor: it stores elements with that tag, or copies
 * elements that have it to a local buffer. Tags count from 0 in each launch; in memory the launch's
 * number is added, so that tags of earlier launches are smaller and those of later ones larger.
 * Before the numbers wrap the runtime zeroes all words. */
#ifndef ET_TAGS_H
#define ET_TAGS_H

#include "ir/program/step.h"

/* Bytes in memory of a tensor whose elements without tags take BYTES. */
static inline int64_t et_tagged_bytes(const et_tensor *t, int64_t bytes) {
    return t->tagged ? 2 * bytes : bytes;
}

/* The tagged temporaries of a kernel, of all its variants. */
typedef struct {
    int64_t offset, bytes; /* their part of the workspace; 0 bytes: there are none */
    int64_t numbers;       /* tags are less than this */
    int64_t launches;      /* how many launches can be told apart, a power of 2 */
} et_tags;
et_tags et_tags_of(et_program *whole);

/* The tagged tensor that the step touches, or -1. */
int et_step_tagged(const et_program *, const et_step *, bool *out_store);

/* Why the program (one variant) breaks the rules of tags and flag-in-data events; NULL: it does
 * not.
 */
const char *et_tags_problem(et_program *);
/* Why variants cannot share a workspace: a tagged tensor of one overlaps with a tensor of another.
 * NULL: they can. */
const char *et_tags_shared_problem(et_program *whole);

#endif
