/* Tokens that are chosen on the device: what a launch is asked for. */
#include "examples/llm/engine/lm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BITS = 32 };

bool lm_picks_allocate(struct lm_picks *p, int64_t rows) {
    p->next = calloc((size_t)(p->all ? p->most : rows) + 1, sizeof *p->next);
    if (!p->all) return p->next;
    p->of = calloc((size_t)p->most, sizeof *p->of);
    p->how = calloc((size_t)p->most, sizeof *p->how);
    p->change = calloc((size_t)p->most_changes, sizeof *p->change);
    p->change_by = calloc((size_t)p->most_changes, sizeof *p->change_by);
    p->masks = calloc((size_t)(p->most_masks * p->words), sizeof *p->masks);
    return p->next && p->of && p->how && p->change && p->change_by && p->masks;
}

void lm_picks_free(struct lm_picks *p) {
    free(p->next);
    free(p->of);
    free(p->how);
    free(p->change);
    free(p->change_by);
    free(p->masks);
}

static void set_mask(struct lm_picks *p, const float *logits, int64_t vocab) {
    int32_t *words = p->masks + p->nmasks * p->words;
    memset(words, 0, (size_t)p->words * sizeof *words);
    for (int64_t i = 0; i < vocab; i++)
        if (logits[i] > -INFINITY) words[i / BITS] |= (int32_t)(UINT32_C(1) << i % BITS);
}

/* How much of a row has to be looked at: a few of the likeliest, or all of it, 10 turns for a top_k
 * and 10 for a top_p. */
static void reach(struct lm_picks *p, const struct drawing *d, int64_t top_k, int64_t vocab) {
    enum { TURNS = 10 };
    if (top_k < p->most_few) {
        if (p->few < top_k + 1) p->few = top_k + 1;
        return;
    }
    int64_t turns = TURNS * (top_k < vocab) + TURNS * (d->top_p < 1);
    p->blocks = p->most_blocks;
    if (p->turns < turns) p->turns = turns;
}

void lm_picks_begin(struct lm_picks *p) {
    p->n = p->nchanges = p->nmasks = 0;
    p->few = p->blocks = p->turns = 1;
}

int64_t lm_pick(struct lm *lm, int64_t row, const struct drawing *d, const struct change *changes,
                size_t n, const float *mask) {
    struct lm_picks *p = &lm->picks;
    if (p->likeliest && !p->all && d->cold == 0 && !n && !mask) {
        p->n++;
        return row;
    }
    if (!p->all || d->apart || p->n == p->most || (int64_t)n > p->most_changes - p->nchanges ||
        (mask && p->nmasks == p->most_masks))
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct change *c = &changes[i];
        int64_t at = p->nchanges++;
        p->change[at] = (struct lm_change){(int32_t)p->n, c->id};
        p->change_by[at] = (struct lm_change_by){c->add, c->above, c->below, c->less};
    }
    int64_t top_k = d->cold > 0 ? d->top_k : 1;
    reach(p, d, top_k, lm->vocab);
    p->of[p->n] = (struct lm_pick_of){(int32_t)row, (int32_t)top_k, -1};
    p->how[p->n] = (struct lm_pick_how){d->cold, d->far, d->top_p, d->uniform};
    if (mask) {
        p->of[p->n].mask = (int32_t)p->nmasks;
        set_mask(p, mask, lm->vocab);
        p->nmasks++;
    }
    return p->n++;
}

/* A launch has at least one of each: one that changes nothing and that nobody asks for. */
void lm_picks_pad(struct lm_picks *p) {
    if (!p->n) {
        p->of[0] = (struct lm_pick_of){0, 1, -1};
        p->how[0] = (struct lm_pick_how){0, 0, 1, 0};
    }
    if (!p->nchanges) {
        p->change[0] = (struct lm_change){-1, 0};
        p->change_by[0] = (struct lm_change_by){0, 1, 1, 0};
    }
}
