/* tags.h - carried events: data that shows by itself that it has come.
 *
 * A task that notifies a carried event makes no release fence, and one that waits for it no acquire
 * fence: the counter says when to look, and nothing of memory. What such an event hands over lies
 * in tagged temporaries. An element of one and a number, the tag, are one word of twice the
 * element's size, written and read as a whole: a store leaves the larger of what is there and what
 * it brings, tag first, so that the order in which stores reach memory does not matter, and a load
 * is repeated, no longer than any wait, until the tag is the one that was asked for.
 *
 * A MAP step with a tag is the only kind that touches a tagged tensor. It stores elements of one
 * with that tag, or takes elements of one that have that tag to a local buffer. Tags count from 0
 * in each launch; in memory the launch's number is added, such that those of earlier launches are
 * less and those of later ones more. Before the numbers would come up again the runtime zeroes
 * all words. */
#ifndef ET_TAGS_H
#define ET_TAGS_H

#include "ir/program/step.h"

/* Bytes of memory of a tensor whose elements alone take BYTES. */
static inline int64_t et_tagged_bytes(const et_tensor *t, int64_t bytes) {
    return t->tagged ? 2 * bytes : bytes;
}

/* Of all tagged temporaries of a kernel, those of its variants too. */
typedef struct {
    int64_t offset, bytes; /* the part of the workspace they lie in; 0 bytes: there are none */
    int64_t numbers;       /* tags are less than this */
    int64_t launches;      /* that can be told apart, a power of 2 */
} et_tags;
et_tags et_tags_of(et_program *whole);

/* The tagged tensor that the step touches, or -1. */
int et_step_tagged(const et_program *, const et_step *, bool *out_store);

/* Why the program, one variant where there are several, cannot have the tags and carried events it
 * has, or NULL. */
const char *et_tags_problem(et_program *);
/* Why variants cannot share a workspace: what is tagged in one overlaps with something of another.
 * NULL: they can. */
const char *et_tags_shared_problem(et_program *whole);

#endif
