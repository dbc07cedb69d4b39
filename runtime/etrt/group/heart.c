/* Does a launch of a group get on? The counters of its events change while it does. Where no
 * member's have for a while, and there has been a change, each waits for what does not come, and
 * one may be gone. Which waits are in vain only the kernels know: those for other devices are asked
 * to give up and report, long before their own bound. A kernel that works on one task for so long
 * is not disturbed: it waits for nobody. Where others have ended the last ones are asked for all
 * waits; who does not answer then is gone. */
#include "runtime/etrt/group/int.h"

#include <stdlib.h>

static const double GRACE = 1.0 / 8; /* of the bound of waits, */
static const double LEAST = 0.25;    /* and seconds at least: hosts are busy, too */
static const double LOOKS = 5;       /* so often in that */

double etrt_group_grace(double limit) {
    return GRACE * limit > LEAST ? GRACE * limit : LEAST;
}

static const struct etrt_kernarg *head_of(const struct etrt_dispatch *d) {
    return d->kernarg;
}

void etrt_group_tell(etrt_device *member, const struct etrt_dispatch *d, uint32_t what) {
    struct etrt_control *control = (void *)(uintptr_t)head_of(d)->control;
    etrt_mem_write(member, &control->abort, &what, sizeof what);
}

/* FROM becomes TO; what a kernel has set itself stays, but for the moment between look and write.
 */
static void change(etrt_device *member, const struct etrt_dispatch *d, uint32_t from, uint32_t to) {
    uint32_t is;
    const struct etrt_control *control = (void *)(uintptr_t)head_of(d)->control;
    if (etrt_mem_read(member, &is, &control->abort, sizeof is) == ETRT_OK && is == from)
        etrt_group_tell(member, d, to);
}

/* What tells one state of the member's counters from another; 0: none has counted, or it cannot be
 * read. */
static uint64_t sum_of(etrt_device *member, const struct etrt_dispatch *d) {
    size_t n = (size_t)(d->events_bytes / 4);
    uint32_t *word = malloc(n * 4 + 4);
    uint64_t sum = 0;
    if (word &&
        etrt_mem_read(member, word, (void *)(uintptr_t)head_of(d)->events, n * 4) == ETRT_OK)
        for (size_t i = 0; i < n; i++)
            sum = sum * 31 + word[i];
    free(word);
    return sum;
}

bool etrt_group_listen(etrt_device *dev, struct heart *h, struct etrt_dispatch *const *d,
                       const bool *ended) {
    double now = etrt_now(), grace = etrt_group_grace(d[0]->wait_limit);
    if (now - h->looked < grace / LOOKS) return false;
    h->looked = now;
    bool moved = false, some_ended = false; /* where one has, nobody may wait for those left */
    for (int i = 0; i < etrt_members(dev); i++) {
        uint64_t sum = ended[i] ? h->sum[i] : sum_of(etrt_member(dev, i), d[i]);
        moved |= sum != h->sum[i];
        some_ended |= ended[i];
        h->begun |= sum != 0;
        h->sum[i] = sum;
    }
    uint32_t asked = moved ? ETRT_ABORT_NOT : h->asked;
    if (!moved && (!h->begun || now - h->since < grace)) return false;
    if (!moved && asked == ETRT_ABORT_NOT)
        asked = ETRT_ABORT_ASK;
    else if (!moved && some_ended)
        asked++;
    h->since = now;
    if (asked > ETRT_ABORT_ASK_ALL) return true;
    for (int i = 0; i < etrt_members(dev); i++)
        if (!ended[i] && asked != h->asked) change(etrt_member(dev, i), d[i], h->asked, asked);
    h->asked = asked;
    group_of(dev)->waited = asked ? grace : d[0]->wait_limit;
    return false;
}
