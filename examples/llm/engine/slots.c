/* Which sequence is in which slot of the kernel's state, and what lies in those that are free. */
#include "examples/llm/engine/parts.h"
#include <stdlib.h>
#include <string.h>

static size_t common(const struct slot *slot, const struct sequence *s) {
    size_t n = 0;
    while (n < slot->n && n < s->n && slot->ids[n] == s->ids[n])
        n++;
    return n;
}

/* How much of the prompt need not be read again in that slot. */
static size_t reusable(const struct engine *e, const struct slot *slot, const struct sequence *s) {
    if (e->forgets || e->pages || s->job.tells_prompt) return 0;
    size_t n = common(slot, s);
    return e->recurs ? states_reach(e, slot, s, n) : n;
}

/* The free slot that has most of the prompt; of several the one that was free for longest. */
static int64_t best_slot(const struct engine *e, const struct sequence *s, size_t *out_common) {
    int64_t best = -1;
    *out_common = 0;
    for (int64_t i = 0; i < e->sizes.slots; i++) {
        const struct slot *slot = &e->slots[i];
        if (slot->owner) continue;
        size_t n = reusable(e, slot, s);
        if (best >= 0 &&
            (n < *out_common || (n == *out_common && slot->freed >= e->slots[best].freed)))
            continue;
        best = i;
        *out_common = n;
    }
    return best;
}

void slots_take(struct engine *e, struct sequence *s) {
    size_t have, paged = 0;
    s->slot = best_slot(e, s, &have);
    /* The last token of a prompt is fed in any case: its logits are what the text begins with. */
    if (have >= s->n) have = s->n - 1;
    struct slot *slot = &e->slots[s->slot];
    if (e->recurs && !e->forgets && !e->pages && !s->job.tells_prompt)
        have = states_begin(e, s, slot, common(slot, s));
    slot->owner = s;
    free(slot->ids);
    slot->ids = NULL;
    slot->n = 0;
    s->fed = have;
    if (e->pages) paged = paged_begin(e, s);
    states_began(e, s, paged);
}

void slots_give(struct engine *e, struct sequence *s, bool trusted) {
    struct slot *slot = &e->slots[s->slot];
    slot->owner = NULL;
    slot->freed = ++e->nfreed;
    s->slot = -1;
    paged_end(e, s);
    if (!trusted || e->forgets || e->pages) return;
    /* What layers carry is further on, or nobody knows where. */
    if (e->recurs && s->reached != s->fed) return;
    slot->ids = s->ids;
    slot->n = s->fed;
    s->ids = NULL;
}

void slots_lost(struct engine *e) {
    paged_lost(e);
    states_lost(e);
    for (int64_t i = 0; i < e->sizes.slots; i++) {
        free(e->slots[i].ids);
        e->slots[i].ids = NULL;
        e->slots[i].n = 0;
        if (e->slots[i].owner) e->slots[i].owner->fed = 0;
    }
}
