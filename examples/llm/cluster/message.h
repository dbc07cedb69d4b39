/* message.h - what a launch is given, as bytes: from the head to all other stages. */
#ifndef CLUSTER_MESSAGE_H
#define CLUSTER_MESSAGE_H

#include "examples/llm/base/error.h"
#include "examples/llm/cluster/wire.h"
#include <etrt.h>

/* Items in the order in which they happened. */
enum item_kind {
    ITEM_DIM,   /* NAME is N */
    ITEM_INPUT, /* NAME is N bytes of DATA */
    ITEM_COPY,  /* page N of all caches becomes what page FROM is; no name */
    ITEM_CARRY, /* row N of all that layers carry along texts becomes what row FROM is; no name */
    ITEM_RESET, /* states become zeros; no name */
};

struct message {
    unsigned char *data;
    size_t bytes, room;
};

bool message_add(struct message *, enum item_kind, const char *name, int64_t n, int64_t from,
                 const void *data, char *err);
void message_free(struct message *);

struct item {
    enum item_kind kind;
    const char *name;
    int64_t n, from;
    const unsigned char *data;
};
/* The item at *AT, which moves on behind it. False at the end, and where it is none: *WRONG. */
bool message_item(const unsigned char *data, size_t bytes, size_t *at, struct item *out,
                  bool *wrong);

/* How a stage's launch went, before what it hands on: TENSORS messages of it. */
struct status {
    int64_t launch; /* its number: all stages count them */
    int32_t good, tensors;
    int64_t bytes; /* of all of them */
    char why[LLM_ERR];
};

/* True: the model has the tensor, and OUT gets its bytes at the session's dims. */
bool handed(const etrt_model *, etrt_session *, const char *name, size_t *out_bytes);
/* From that rank into the inputs of the session; *OUT_GOOD: the stages before have done their part,
 * else WHY says what went wrong there. False: ERR, as of wire.h. */
bool handed_take(const struct wire *, int from, int64_t launch, const etrt_model *, etrt_session *,
                 struct status *, char *err);
/* The session's outputs to that rank, or why there are none. */
bool handed_give(const struct wire *, int to, const etrt_model *, etrt_session *, struct status *,
                 char *err);

#endif
