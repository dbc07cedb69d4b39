/* Counters: which ones a task waits for, what an arrival does, which tasks go on when one is
 * complete.
 */
#include "passes/simulate/int.h"

/* Set the variables of a wait or notify to value number TUPLE; false past the last. The sheet is
 * run: extents do not depend on one another. */
static bool set_tuple(struct sim *s, struct sim_sheet *sheet, int nvars, const int *vars,
                      const int *extent, int64_t tuple) {
    for (int i = nvars - 1; i >= 0; i--) {
        int64_t n = sim_sheet_value(sheet, extent[i]);
        if (n == SIM_UNKNOWN)
            sim_fail(s, "how far %s goes is not known", et_var_name(s->x, vars[i]));
        if (n <= 0) return false;
        s->vars[vars[i]] = tuple % n;
        tuple /= n;
    }
    if (tuple) return false;
    if (nvars) sim_sheet_run(s, sheet);
    return true;
}

static void unknown(struct sim *s, const struct sim_grid *g, int event) {
    sim_fail(s, "%s: what it waits for or notifies in %s is decided by a tensor that is not given",
             g->g->name, s->p->events[event].name);
}

/* Arrivals that complete counter WORD of an event, for the task that was entered. */
static int64_t need_of(struct sim *s, int event, int word) {
    struct sim_counter *c = &s->counter[word];
    const et_event *e = &s->p->events[event];
    struct sim_event *ev = &s->event[event];
    if (c->need >= 0) return c->need;
    int64_t rest = word - e->base;
    for (int d = 0; d < e->rank; d++) {
        if (e->var[d]) s->vars[e->var[d] - 1] = rest / ev->stride[d];
        rest %= ev->stride[d];
    }
    sim_sheet_run(s, ev->sheet);
    c->need = sim_sheet_value(ev->sheet, ev->count);
    if (c->need == SIM_UNKNOWN)
        sim_fail(s, "what %s counts to is decided by a tensor that is not given", e->name);
    if (c->need <= 0) {
        c->need = 0;
        c->complete = 0;
    }
    return c->need;
}

/* The counter at PLACE of a box, or -1. Boxes over variables count as far as they are inside. */
static int word_at(struct sim *s, const struct sim_grid *g, const struct sim_box *b,
                   int64_t place) {
    const struct sim_event *ev = &s->event[b->event];
    int64_t word = 0, total = 1, lo[ET_MAX_RANK], size[ET_MAX_RANK];
    for (int d = 0; d < b->rank; d++) {
        int64_t hi = sim_sheet_value(g->sheet, b->hi[d]);
        lo[d] = sim_sheet_value(g->sheet, b->lo[d]);
        if (lo[d] == SIM_UNKNOWN || hi == SIM_UNKNOWN) {
            unknown(s, g, b->event);
            return -1;
        }
        if (b->nvars && lo[d] < 0) lo[d] = 0;
        if (b->nvars && hi >= ev->size[d]) hi = ev->size[d] - 1;
        size[d] = hi >= lo[d] ? hi - lo[d] + 1 : 0;
        total *= size[d];
    }
    if (place >= total) return -1;
    for (int d = b->rank - 1; d >= 0; d--) {
        word += (lo[d] + place % size[d]) * ev->stride[d];
        place /= size[d];
    }
    word += s->p->events[b->event].base;
    if (word < 0 || word >= s->words) {
        sim_fail(s, "%s waits for a counter that %s does not have", g->g->name,
                 s->p->events[b->event].name);
        return -1;
    }
    need_of(s, b->event, (int)word);
    return s->failed ? -1 : (int)word;
}

int sim_scan_word(struct sim *s, struct sim_grid *g, const struct sim_box *b, struct sim_scan *at) {
    if (!b->nvars) return word_at(s, g, b, at->place);
    for (; set_tuple(s, g->sheet, b->nvars, b->vars, b->extent, at->tuple);
         at->tuple++, at->place = 0) {
        int word = word_at(s, g, b, at->place);
        if (word >= 0 || s->failed) return word;
    }
    return -1;
}

double sim_seen_after(const struct sim *s, int event) {
    if (s->m->seen_us > 0 && s->p->events[event].scope > ET_SCOPE_WORKGROUP) return s->m->seen_us;
    switch (s->p->events[event].scope) {
    case ET_SCOPE_WORKGROUP:
        return 0;
    case ET_SCOPE_DIE:
        return s->m->counter_die_us;
    default:
        return s->m->counter_us;
    }
}

double sim_acquire_us(const struct sim *s) {
    return s->m->seen_us > 0 ? 0 : s->m->acquire_us;
}

/* ---- arrivals ---- */

/* The counter an arrival is for; -1 when it is outside the event, which is left out of those over
 * variables. */
static int arrival_word(struct sim *s, const struct sim_grid *g, const struct sim_arrival *a) {
    const struct sim_event *ev = &s->event[a->event];
    int64_t word = s->p->events[a->event].base;
    bool inside = true;
    for (int d = 0; d < a->rank; d++) {
        int64_t i = sim_sheet_value(g->sheet, a->index[d]);
        if (i == SIM_UNKNOWN) {
            unknown(s, g, a->event);
            return -1;
        }
        inside &= i >= 0 && i < ev->size[d];
        word += i * ev->stride[d];
    }
    if (inside && word < s->words) {
        need_of(s, a->event, (int)word);
        return (int)word;
    }
    if (!a->nvars)
        sim_fail(s, "%s notifies a counter that %s does not have", g->g->name,
                 s->p->events[a->event].name);
    return -1;
}

/* Call FN for every counter that the current task of WG notifies; FN may enter other tasks. */
static void each_arrival(struct sim *s, int wg,
                         void (*fn)(struct sim *, int word, int wg, double t), double t) {
    const struct sim_instance *in = &s->inst[s->wg[wg].instance];
    struct sim_grid *g = &s->grid[in->grid];
    int n = 0;
    sim_enter(s, s->wg[wg].instance, s->wg[wg].now.tile);
    if (g->g->nnotifies) sim_sheet_run(s, g->sheet);
    for (int i = 0; i < g->g->nnotifies && !s->failed; i++) {
        const struct sim_arrival *a = &g->arrival[i];
        if (!sim_applies(s, in, a->when)) continue;
        for (int64_t k = 0; set_tuple(s, g->sheet, a->nvars, a->vars, a->extent, k); k++) {
            int word = arrival_word(s, g, a);
            if (s->failed) break;
            if (word < 0) continue;
            ET_GROW(s->arena, s->word, n, s->cword);
            s->word[n++] = word;
        }
    }
    for (int i = 0; i < n && !s->failed; i++)
        fn(s, s->word[i], wg, t);
}

static void arrive(struct sim *s, int word, int wg, double t) {
    struct sim_counter *c = &s->counter[word];
    double at = t > c->free ? t : c->free;
    c->free = at + s->m->arrival_us;
    if (++c->arrivals == c->need) sim_at(s, at, SIM_AT_COMPLETE, word, wg);
}

static double release_us(const struct sim *s, const struct sim_grid *g) {
    et_scope widest = ET_SCOPE_WORKGROUP;
    for (int i = 0; i < g->g->nnotifies; i++)
        if (!s->p->events[g->arrival[i].event].unfenced &&
            s->p->events[g->arrival[i].event].scope > widest)
            widest = s->p->events[g->arrival[i].event].scope;
    return widest == ET_SCOPE_WORKGROUP ? 0
           : widest == ET_SCOPE_DIE     ? s->m->fence_die_us
           : s->m->notify_us > 0        ? s->m->notify_us
                                        : s->m->release_us;
}

double sim_notify(struct sim *s, int wg) {
    const struct sim_workgroup *w = &s->wg[wg];
    const struct sim_grid *g = &s->grid[s->inst[w->instance].grid];
    double bytes = (double)sim_cost(s, w->instance, w->now.tile)->sent_bytes,
           sent = sim_sent(s, bytes);
    if (!g->g->nnotifies) return s->now;
    double fence = release_us(s, g), t = s->now + (fence > 0 ? sim_behind(s, fence) : 0);
    bool system = sim_tells_system(s, g);
    if (system)
        t = (sent > t ? sent : t) +
            sim_behind(s, s->m->system_us);           /* its fence waits until all is there */
    each_arrival(s, wg, arrive, sent > t ? sent : t); /* words with tags are on their way alone */
    /* Whether an arrival was the last is known when its atomic comes back. */
    for (int i = 0; i < g->g->nnotifies; i++)
        if (s->event[g->arrival[i].event].late) t += s->m->atomic_us;
    if (g->g->apart) return s->now; /* other waves see to all that */
    s->schedule += t - s->now;
    return t;
}

static void start(struct sim *s, int word, int wg, double t) {
    (void)t;
    struct sim_counter *c = &s->counter[word];
    if (!s->event[c->event].early || ++c->starts != c->need) return;
    int32_t first = c->early_cells;
    c->early_cells = -1;
    sim_cells_look(s, word, true, first, wg);
}

double sim_started(struct sim *s, int wg) {
    const struct sim_grid *g = &s->grid[s->inst[s->wg[wg].instance].grid];
    int n = 0;
    for (int i = 0; i < g->g->nnotifies; i++)
        n += s->event[g->arrival[i].event].early;
    if (n) each_arrival(s, wg, start, s->now);
    double t = n * s->m->atomic_us;
    s->schedule += t;
    t += s->wg[wg].owed;
    s->wg[wg].owed = 0;
    return t;
}

void sim_completed(struct sim *s, int word, int wg) {
    struct sim_counter *c = &s->counter[word];
    int32_t waiter = c->waiter, cells = c->cells;
    c->complete = s->now;
    c->waiter = c->cells = -1;
    while (waiter >= 0) {
        bool produces = waiter >= s->nwg;
        int32_t next = produces ? s->producer[waiter - s->nwg].next : s->wg[waiter].next;
        if (produces)
            sim_producer_awakes(s, waiter - s->nwg);
        else
            sim_waits(s, waiter);
        waiter = next;
    }
    if (s->event[c->event].late) sim_cells_look(s, word, false, cells, wg);
}
