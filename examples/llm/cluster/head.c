/* The head: tells the other ranks what a launch is given, and takes what the stage before its own
 * hands on. */
#include "examples/llm/cluster/cluster.h"
#include "examples/llm/cluster/message.h"
#include "examples/llm/cluster/nccl.h"
#include "examples/llm/engine/lm.h"
#include <stdio.h>

static struct head {
    struct wire *wire;
    struct message next; /* of the next launch: what was given since the last */
    int64_t launches;
    bool ready; /* all ranks have said that they are */
} head;

static void begin(void *user) {
    if (((struct head *)user)->wire->nccl) nccl_enter();
}

/* They load their weights; one that cannot ends all processes. */
static bool open_others(void *user, struct lm_kernel *k, char *err) {
    struct head *h = user;
    size_t bytes;
    char none;
    if (!handed(k->model, k->session, LM_STAGE_IN, &bytes))
        return llm_fail(
            err, "the head's kernel has no input " LM_STAGE_IN ": etcc --layers=%d/%d makes it",
            h->wire->ranks, h->wire->ranks);
    if (h->wire->nccl && !nccl_bind(k->model, k->session, err)) return false;
    for (int r = 1; !h->ready && r < h->wire->ranks; r++)
        if (!wire_next(h->wire, r, WIRE_READY, 0, &bytes, err) ||
            !wire_take(h->wire, r, WIRE_READY, &none, bytes ? 1 : 0, err))
            return false;
    h->ready = true;
    return true;
}

static bool tell_dim(void *user, const char *name, int64_t n, char *err) {
    return message_add(&((struct head *)user)->next, ITEM_DIM, name, n, 0, NULL, err);
}

static bool tell_input(void *user, const char *name, const void *data, size_t bytes, char *err) {
    return message_add(&((struct head *)user)->next, ITEM_INPUT, name, (int64_t)bytes, 0, data,
                       err);
}

static bool tell_copy(void *user, bool states, int32_t to, int32_t from, char *err) {
    return message_add(&((struct head *)user)->next, states ? ITEM_CARRY : ITEM_COPY, "", to, from,
                       NULL, err);
}

static bool tell_reset(void *user, char *err) {
    return message_add(&((struct head *)user)->next, ITEM_RESET, "", 0, 0, NULL, err);
}

/* What the wire says ends all: nothing is known of the others after that. */
static void end_all(const char *why) {
    llm_complain("%s", why);
    wire_abort();
}

static bool launch_others(void *user, struct lm_kernel *k, char *err) {
    struct head *h = user;
    struct wire *w = h->wire;
    struct status before;
    bool good = true;
    h->launches++;
    for (int r = 1; good && r < w->ranks; r++)
        good = wire_send(w, r, WIRE_LAUNCH, h->next.data, h->next.bytes, err);
    h->next.bytes = 0;
    if (!good || !handed_take(w, wire_rank(w, w->ranks - 1), h->launches, k->model, k->session,
                              &before, err))
        end_all(err);
    return before.good || llm_fail(err, "%s", before.why);
}

void head_begin(struct wire *w) {
    static const struct lm_ahead ahead = {.user = &head,
                                          .begin = begin,
                                          .open = open_others,
                                          .dim = tell_dim,
                                          .input = tell_input,
                                          .copy = tell_copy,
                                          .reset = tell_reset,
                                          .launch = launch_others};
    head.wire = w;
    if (w->ranks > 1) lm_put_ahead(&ahead);
}

void head_end(struct wire *w) {
    char err[LLM_ERR];
    for (int r = 1; r < w->ranks; r++)
        if (!wire_send(w, r, WIRE_LAUNCH, "", 0, err)) end_all(err);
    message_free(&head.next);
}
