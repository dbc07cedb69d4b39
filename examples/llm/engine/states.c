/* What layers carry along texts: it cannot go back, so copies are made where others may go on from.
 * A row of the kernel's states is a slot's, or behind those of all slots a snapshot.
 *
 * There is a snapshot of a prompt near its end; where it leaves what others have read before; and
 * of a text whose keys and values are in pages, of which a slot's next sequence leaves nothing,
 * every few pages. */
#include "examples/llm/engine/kept/snapshots.h"
#include "examples/llm/engine/parts.h"

enum {
    APART = 16, /* tokens between places for snapshots, where there are no pages */
    /* So many of these are read again sooner than copied, of a prompt since that costs a launch
     * more: a few tokens beside others that are new cost little. */
    LEAST = 4,
};

static size_t apart_of(const struct engine *e) {
    return e->sizes.page ? (size_t)e->sizes.page : APART;
}

/* The last place for a snapshot of the first N tokens. */
static size_t place_in(const struct engine *e, size_t n) {
    return n / apart_of(e) * apart_of(e);
}

static bool copy(struct engine *e, int64_t to, int64_t from) {
    char err[LLM_ERR];
    return lm_copy_states(e->lm, to, from, err);
}

/* ---- what is there already ---- */

/* Keys and values of the first HAS tokens lie where the sequence is going to be: up to which it may
 * begin with a snapshot. */
static int64_t most_of(const struct engine *e, const struct sequence *s, size_t has) {
    size_t most = e->carries_all || has >= s->n ? s->n - 1 : has;
    return (int64_t)most;
}

static bool goes_on(const struct slot *slot, const struct sequence *s, size_t has) {
    return slot->n && has == slot->n && slot->n < s->n;
}

size_t states_reach(const struct engine *e, const struct slot *slot, const struct sequence *s,
                    size_t has) {
    int64_t n = 0;
    if (e->snapshots) snapshots_look(e->snapshots, s->ids, most_of(e, s, has), &n);
    return goes_on(slot, s, has) && slot->n > (size_t)n ? slot->n : (size_t)n;
}

size_t states_find(struct engine *e, struct sequence *s, size_t most) {
    int64_t n = 0;
    int32_t row = e->snapshots ? snapshots_find(e->snapshots, s->ids, (int64_t)most, &n) : -1;
    return row >= 0 && copy(e, s->slot, e->sizes.slots + row) ? (size_t)n : 0;
}

static size_t common(const int32_t *ids, size_t n, const struct sequence *s) {
    size_t i = 0;
    while (i < n && i < s->n && ids[i] == s->ids[i])
        i++;
    return i;
}

/* How many of its tokens others have read, in whichever slot. */
static size_t read_before(const struct engine *e, const struct sequence *s) {
    size_t most = (size_t)snapshots_common(e->snapshots, s->ids, (int64_t)s->n);
    for (int64_t i = 0; i < e->sizes.slots; i++) {
        const struct slot *slot = &e->slots[i];
        const struct sequence *o = slot->owner;
        if (o == s) continue;
        size_t n = o ? common(o->ids, o->fed, s) : common(slot->ids, slot->n, s);
        if (n > most) most = n;
    }
    return most;
}

/* What was read of others, and would have been of use here: the next one that comes begins there.
 */
static void part_at(const struct engine *e, struct sequence *s, size_t others) {
    size_t at = place_in(e, others);
    s->parts = at >= s->fed + LEAST * apart_of(e) ? at : 0;
}

size_t states_begin(struct engine *e, struct sequence *s, const struct slot *slot, size_t has) {
    if (goes_on(slot, s, has) && states_reach(e, slot, s, has) == slot->n) return slot->n;
    /* Nothing of it would be left. */
    if (slot->n && e->snapshots && e->carries_all) {
        int32_t row = snapshots_put(e->snapshots, slot->ids, (int64_t)slot->n, NULL);
        if (row >= 0 && !copy(e, e->sizes.slots + row, s->slot)) snapshots_drop(e->snapshots, row);
    }
    return states_find(e, s, (size_t)most_of(e, s, has));
}

void states_began(struct engine *e, struct sequence *s, size_t paged) {
    s->reached = s->began = s->fed;
    s->parts = s->cut = 0;
    s->own = (struct snapshot){0};
    if (!e->snapshots || e->forgets || s->job.tells_prompt) return;
    size_t others = e->pages ? paged : read_before(e, s);
    part_at(e, s, others < s->n ? others : s->n - 1);
}

/* ---- what is kept ---- */

void states_lost(struct engine *e) {
    if (e->snapshots) snapshots_clear(e->snapshots);
}

/* Up to where it may go in a launch: what layers keep then is copied. 0: as far as it can. */
static size_t next_cut(const struct engine *e, const struct sequence *s) {
    size_t last = place_in(e, s->n - 1), before = s->parts > s->began ? s->parts : s->began;
    if (!e->snapshots || e->forgets || s->job.tells_prompt) return 0;
    if (s->parts > s->fed) return s->parts;
    if (last > s->fed && s->n - s->fed > 1) return last >= before + LEAST * apart_of(e) ? last : 0;
    size_t far = LEAST * apart_of(e);
    return e->pages && s->n - s->fed <= 1 ? (s->fed / far + 1) * far : 0;
}

/* A text that gives way loses its last pages first, and goes on from what it left at half of them.
 */
static bool is_left(const struct engine *e, const struct sequence *s) {
    size_t k = s->fed / apart_of(e) / LEAST;
    return (k & (k - 1)) == 0;
}

static void keep(struct engine *e, struct sequence *s) {
    if (!s->cut || s->fed != s->cut || s->reached != s->fed) return;
    bool grows = e->pages && s->fed >= s->job.n;
    int32_t row = snapshots_put(e->snapshots, s->ids, (int64_t)s->fed, grows ? &s->own : NULL);
    if (is_left(e, s)) s->own = (struct snapshot){0};
    if (row < 0) return;
    if (copy(e, e->sizes.slots + row, s->slot))
        e->stats.kept++;
    else
        snapshots_drop(e->snapshots, row);
}

void states_keep(struct engine *e) {
    if (!e->recurs) return;
    for (int64_t i = 0; i < e->nactive; i++)
        keep(e, e->active[i]);
}

void states_cut(struct engine *e) {
    if (!e->recurs) return;
    for (int64_t i = 0; i < e->nactive; i++)
        e->active[i]->cut = next_cut(e, e->active[i]);
}
