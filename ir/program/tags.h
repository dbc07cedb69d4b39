/* tags.h - flag-in-data events ("unfenced" in .eti): data whose words show that they have arrived.
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
 * Before the numbers wrap the runtime zeroes all words.
 *
 * What is partial over devices is tagged, and has a word of each device for every element, all
 * elements of the first before those of the second. A store writes the word of its own device in
 * the memory of every device, as a whole and with nothing read there; a load waits for the words of
 * all and adds them in the order of the devices. The tensor has a dimension for each loop around
 * the task that stores it, so that a word is stored once in a launch at most: no device can be so
 * far ahead that it replaces what another still has to read, if a launch begins where all devices
 * are done with the one before. All devices run the same tasks in the same order, and what a task
 * waits for is of tasks before it on any of them, so they cannot wait in a circle either.
 *
 * What is large is "flagged" in place of tagged: an element of each device for every element,
 * stored with the device's place in the memory of every device as a whole, without a tag. An event
 * whose scope is the system says that it has come. Each device counts the arrivals of its own
 * tasks; the one that completes a counter stores a flag, the launch's number, to a word of its
 * device beside the inbox of every device, after a fence of the system. A wait for the event is for
 * the flags of all devices, and ends with a fence of the system. So all tasks of all devices that
 * notify are done before a task that waits, and the verifier asks that such events alone order the
 * tasks that store what is flagged and those that read it.
 *
 * A store to another device holds up what makes it until the link has taken it. Of a grid that is
 * "apart" the last step alone stores to inboxes, and where is known without memory. Its tiles may
 * store that in their own device's inbox, at the place that it has in all of them, from where it is
 * copied to the others before the tile notifies anybody. Nobody else stores or reads there before.
 *
 * What one device alone has (an "own" dimension) has one word for an element, or one element. All
 * devices run the tasks that store it, as they do of all that is exchanged, and each keeps from
 * storing what is not its own: an element is ordered as if this device had stored it. */
#ifndef ET_TAGS_H
#define ET_TAGS_H

#include "ir/program/step.h"

/* How many words, or elements, there are of an element of the tensor. */
static inline int et_parts(const et_tensor *t) {
    return t->partial && !t->own ? t->partial : 1;
}

/* Devices may exchange elements of its type: f32, or a sum's rounded parts where these have flags.
 */
static inline bool et_may_be_partial(const et_tensor *t) {
    return t->shape.dtype == ET_F32 || (t->shape.dtype == ET_BF16 && t->flagged && !t->own);
}

/* Bytes in memory of a tensor whose elements without tags take BYTES. */
static inline int64_t et_tagged_bytes(const et_tensor *t, int64_t bytes) {
    return (t->tagged ? 2 : 1) * bytes * (t->tagged || t->flagged ? et_parts(t) : 1);
}

/* The tagged temporaries of a kernel, of all its variants. */
typedef struct {
    int64_t offset, bytes; /* their part of the workspace; 0 bytes: there are none */
    /* Those that are partial over devices are in none, but in an inbox, laid out as the workspace
     * is from INBOX on; 0 bytes: there are none. */
    int64_t inbox, inbox_bytes;
    /* In the inbox, bytes from its begin, if there are events of the system: a word of each device,
     * u32, for every word of the event array. 0: there are none. */
    int64_t flags;
    int64_t numbers;  /* tags are less than this */
    int64_t launches; /* how many launches can be told apart, a power of 2 */
} et_tags;
et_tags et_tags_of(et_program *whole);

/* The tagged tensor that the step touches, or -1. */
int et_step_tagged(const et_program *, const et_step *, bool *out_store);

/* Why the program (one variant) breaks the rules of tags and flag-in-data events; NULL: it does
 * not.
 */
const char *et_tags_problem(et_program *);
/* May a grid of the function be apart, as far as what it stores goes? */
bool et_may_be_sent_apart(const et_program *, const et_func *);
/* Why variants cannot share a workspace: a tagged tensor of one overlaps with a tensor of another.
 * NULL: they can. */
const char *et_tags_shared_problem(et_program *whole);

#endif
