/* Several devices: what they store to each other goes over a link, one task's after another's. All
 * run the same tiles at the same time, so that what comes from others comes as what goes to them
 * does. */
#include "ir/program/deal.h"
#include "passes/simulate/int.h"

double sim_sent(struct sim *s, double bytes) {
    if (bytes <= 0) return s->now;
    double begins = s->linked > s->now ? s->linked : s->now;
    s->linked = begins + bytes / (s->m->link_gbs * 1e3);
    return s->linked;
}

bool sim_tells_system(const struct sim *s, const struct sim_grid *g) {
    for (int i = 0; i < g->g->nnotifies; i++)
        if (s->p->events[g->arrival[i].event].scope == ET_SCOPE_SYSTEM) return true;
    return false;
}

/* An element of rows that are dealt goes to the device that has the row, which may be this one; of
 * what each device has its own part of, as much of it is this one's. */
double sim_sent_of(const struct sim *s, const et_tensor *t, double bytes) {
    double devices = s->p->g->devices, others = devices - 1;
    if (!et_in_inbox(t) || devices < 2) return 0;
    return bytes * others / (t->dealt || t->own ? devices : 1) * (t->tagged ? 2 : 1);
}
