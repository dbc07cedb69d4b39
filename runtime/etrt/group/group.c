/* Several devices as one, for kernels that run on all of them together.
 *
 * What is allocated is so on every member, and known by its address on the first. What is written,
 * filled or copied is so on all; what is read is the first one's. A launch starts on all, each
 * with the kernel's arguments as they are there: addresses of its own memory, its number, and
 * where every member's inbox is. It ends when it has on all; where it fails on one, the others
 * are told to give up. Sessions, models and tools know nothing of it but how parts of what is cut
 * are put together (../cut.c). */
#include "runtime/etrt/group/int.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A kernel of a file of code, on each member; others of the file that were found since. */
struct loaded {
    struct etrt_code on[ETRT_MAX_DEVICES];
    struct loaded *others;
};

/* A launch: on each member its dispatches and ticket. */
struct etrt_ticket {
    struct etrt_ticket *on[ETRT_MAX_DEVICES];
    struct etrt_dispatch *dispatch[ETRT_MAX_DEVICES];
    int room; /* dispatches of each */
    bool ended[ETRT_MAX_DEVICES], told;
    double told_at; /* when those that still ran were told to give up */
    bool failed;
    struct heart heart;
};

/* ---- members ---- */

int etrt_members(const etrt_device *dev) {
    return dev->driver == &etrt_group_driver ? group_of(dev)->n : 1;
}

etrt_device *etrt_member(etrt_device *dev, int i) {
    return dev->driver == &etrt_group_driver ? group_of(dev)->member[i] : dev;
}

int etrt_member_failed(const etrt_device *dev) {
    return dev->driver == &etrt_group_driver ? group_of(dev)->failed : 0;
}

double etrt_waited(const etrt_device *dev, double limit) {
    return dev->driver == &etrt_group_driver ? group_of(dev)->waited : limit;
}

int etrt_member_lost(const etrt_device *dev) {
    return dev->driver == &etrt_group_driver ? group_of(dev)->lost : -1;
}

/* ---- open and close ---- */

static void group_close(etrt_device *dev) {
    struct group *g = group_of(dev);
    for (int i = 0; i < g->n; i++)
        etrt_device_close(g->member[i]);
    free(g->block);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

/* The least of what members have is what all have. */
static void describe(struct group *g) {
    etrt_device *base = &g->base, *first = g->member[0];
    base->can = first->can & ~(unsigned)ETRT_CAN_LOCATE;
    base->emulated = first->emulated;
    base->counted = first->counted;
    base->cus = first->cus;
    base->dies = first->dies;
    base->lds_bytes = first->lds_bytes;
    base->memory_bytes = first->memory_bytes;
    base->realtime_hz = first->realtime_hz;
    memcpy(base->isa, first->isa, sizeof base->isa);
    for (int i = 1; i < g->n; i++) {
        const etrt_device *m = g->member[i];
        if (m->cus < base->cus) base->cus = m->cus;
        if (m->dies < base->dies) base->dies = m->dies;
        if (m->lds_bytes < base->lds_bytes) base->lds_bytes = m->lds_bytes;
        if (m->memory_bytes < base->memory_bytes) base->memory_bytes = m->memory_bytes;
    }
    snprintf(base->name, sizeof base->name, "%d of %.200s", g->n, first->name);
}

static etrt_status add_member(struct group *g, const char *spec) {
    etrt_status st = etrt_device_open(spec, &g->member[g->n]);
    if (st != ETRT_OK) return st;
    g->n++;
    return ETRT_OK;
}

/* The numbers of "hsa:0,1". */
static etrt_status read_list(const char *spec, long *out, int *count) {
    const char *colon = strchr(spec, ':');
    for (const char *at = colon + 1;; at++) {
        char *end;
        long number = strtol(at, &end, 10);
        if (end == at || (*end && *end != ',') || number < 0 || number > 4095)
            return etrt_fail(ETRT_INVALID,
                             "device \"%s\": write numbers with commas, as in %.*s:0,1", spec,
                             (int)(colon - spec), spec);
        for (int i = 0; i < *count; i++)
            if (out[i] == number)
                return etrt_fail(ETRT_INVALID, "device \"%s\" names %ld twice", spec, number);
        if (*count == ETRT_MAX_DEVICES)
            return etrt_fail(ETRT_INVALID, "device \"%s\": more than %d", spec, ETRT_MAX_DEVICES);
        out[(*count)++] = number;
        if (!*end) return ETRT_OK;
        at = end;
    }
}

static etrt_status open_list(struct group *g, const char *spec) {
    char one[64];
    long number[ETRT_MAX_DEVICES];
    int n = 0;
    etrt_status st = read_list(spec, number, &n);
    for (int i = 0; st == ETRT_OK && i < n; i++) {
        snprintf(one, sizeof one, "%.*s:%ld", (int)strcspn(spec, ":"), spec, number[i]);
        st = add_member(g, one);
    }
    return st;
}

static const char agents[] = ":agents=";

/* "emu:gfx942:agents=2": as many queues of the emulator, which do not compete for anything. */
static etrt_status open_agents(struct group *g, const char *spec) {
    const char *at = strstr(spec, agents);
    char one[512], *end;
    long n = strtol(at + strlen(agents), &end, 10);
    if (end == at + strlen(agents) || (*end && *end != ':') || n < 2 || n > ETRT_MAX_DEVICES)
        return etrt_fail(ETRT_INVALID, "device \"%s\": agents are 2 to %d", spec, ETRT_MAX_DEVICES);
    if ((size_t)snprintf(one, sizeof one, "%.*s%s", (int)(at - spec), spec, end) >= sizeof one)
        return etrt_fail(ETRT_INVALID, "device \"%s\": too long", spec);
    etrt_status st = ETRT_OK;
    while (st == ETRT_OK && g->n < n)
        st = add_member(g, one);
    return st;
}

bool etrt_is_group(const char *spec) {
    if (strncmp(spec, "emu:", 4) == 0) return strstr(spec, agents) != NULL;
    return strchr(spec, ':') && strchr(spec, ',');
}

static etrt_status group_open(const char *spec, etrt_device **out) {
    struct group *g = calloc(1, sizeof *g);
    if (!g) return etrt_no_memory();
    g->base.driver = &etrt_group_driver;
    g->lost = -1;
    pthread_mutex_init(&g->lock, NULL);
    etrt_status st = (strncmp(spec, "emu:", 4) == 0 ? open_agents : open_list)(g, spec);
    for (int i = 0; st == ETRT_OK && i < g->n; i++)
        if (!g->member[i]->driver->share)
            st = etrt_fail(ETRT_UNSUPPORTED, "%s does not share memory with others",
                           g->member[i]->name);
    if (st != ETRT_OK) {
        group_close(&g->base);
        return st;
    }
    describe(g);
    *out = &g->base;
    return ETRT_OK;
}

static etrt_status group_accept(etrt_device *dev, const char *target) {
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        etrt_device *m = etrt_member(dev, i);
        st = m->driver->accept(m, target);
    }
    if (st == ETRT_OK) describe(group_of(dev));
    return st;
}

/* ---- code ---- */

static etrt_status group_load(etrt_device *dev, const void *image, size_t bytes, const char *kernel,
                              struct etrt_code *code) {
    struct loaded *l = calloc(1, sizeof *l);
    etrt_status st = l ? ETRT_OK : etrt_no_memory();
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++)
        st = etrt_code_load(etrt_member(dev, i), image, bytes, kernel, &l->on[i]);
    if (st == ETRT_OK) *code = l->on[0];
    code->loaded = l;
    return st;
}

static void group_unload(etrt_device *dev, struct etrt_code *code) {
    struct loaded *l = code->loaded;
    for (struct loaded *o = l->others, *next; o; o = next) {
        next = o->others;
        free(o);
    }
    for (int i = 0; i < etrt_members(dev); i++)
        etrt_code_unload(etrt_member(dev, i), &l->on[i]);
    free(l);
}

static etrt_status group_find(etrt_device *dev, const struct etrt_code *code, const char *kernel,
                              struct etrt_code *out) {
    struct loaded *l = code->loaded, *found = calloc(1, sizeof *found);
    etrt_status st = found ? ETRT_OK : etrt_no_memory();
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        etrt_device *m = etrt_member(dev, i);
        st = m->driver->find(m, &l->on[i], kernel, &found->on[i]);
    }
    if (st != ETRT_OK) {
        free(found);
        return st;
    }
    found->others = l->others;
    l->others = found;
    *out = found->on[0];
    out->loaded = found;
    return ETRT_OK;
}

/* ---- launches ---- */

static void group_ticket_free(etrt_device *dev, struct etrt_ticket *t) {
    for (int i = 0; i < etrt_members(dev); i++) {
        etrt_ticket_free(etrt_member(dev, i), t->on[i]);
        free(t->dispatch[i]);
    }
    free(t);
}

static etrt_status group_ticket_make(etrt_device *dev, struct etrt_ticket **out) {
    struct etrt_ticket *t = calloc(1, sizeof *t);
    etrt_status st = t ? ETRT_OK : etrt_no_memory();
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        etrt_device *m = etrt_member(dev, i);
        st = m->driver->ticket_make(m, &t->on[i]);
    }
    if (t && st != ETRT_OK) group_ticket_free(dev, t);
    *out = st == ETRT_OK ? t : NULL;
    return st;
}

static etrt_status put_pointer(etrt_device *dev, int i, char *at, const void *lead) {
    uint64_t address = (uintptr_t)etrt_member_memory(dev, i, lead);
    if (!address) return etrt_group_strange(lead);
    memcpy(at, &address, sizeof address);
    return ETRT_OK;
}

/* The arguments of D as member I has them. */
static etrt_status write_arguments(etrt_device *dev, int i, const struct etrt_dispatch *d,
                                   char *out) {
    etrt_status st = ETRT_OK;
    if (out != d->kernarg) memcpy(out, d->kernarg, d->kernarg_bytes);
    for (int k = 0; st == ETRT_OK && k < d->npointers; k++) {
        uint64_t address;
        memcpy(&address, (const char *)d->kernarg + d->pointers[k], sizeof address);
        if (address) st = put_pointer(dev, i, out + d->pointers[k], (void *)(uintptr_t)address);
    }
    uint64_t own = (uint64_t)i;
    memcpy(out + d->devices_at, &own, sizeof own);
    for (int k = 0; st == ETRT_OK && d->inbox && k < etrt_members(dev); k++)
        st = put_pointer(dev, k, out + d->devices_at + 8 * (1 + (size_t)k), d->inbox);
    return st;
}

static etrt_status prepare(etrt_device *dev, int i, const struct etrt_dispatch *d, int count,
                           struct etrt_ticket *t) {
    etrt_status st = ETRT_OK;
    if (count > t->room || !t->dispatch[i]) {
        free(t->dispatch[i]);
        t->dispatch[i] = calloc((size_t)count, sizeof *d);
        if (!t->dispatch[i]) return etrt_no_memory();
    }
    for (int k = 0; st == ETRT_OK && k < count; k++) {
        struct etrt_dispatch *own = &t->dispatch[i][k];
        const struct loaded *l = d[k].code->loaded;
        *own = d[k];
        own->code = &l->on[i];
        own->kernarg = etrt_member_memory(dev, i, d[k].kernarg);
        if (!own->kernarg) return etrt_group_strange(d[k].kernarg);
        /* The first one's are where they are read for the others, so it comes last. */
        st = write_arguments(dev, i, &d[k], own->kernarg);
    }
    return st;
}

/* The report that sessions prepare and read is the first member's. */
static void pass_report(const struct etrt_ticket *t, int from, int to) {
    struct etrt_kernarg head[2];
    memcpy(&head[0], t->dispatch[from][0].kernarg, sizeof *head);
    memcpy(&head[1], t->dispatch[to][0].kernarg, sizeof *head);
    if (from != to)
        memcpy((void *)(uintptr_t)head[1].report, (const void *)(uintptr_t)head[0].report,
               sizeof(struct etrt_report));
}

static void tell_to_give_up(etrt_device *dev, struct etrt_ticket *t) {
    if (t->told) return;
    t->told = true;
    t->told_at = etrt_now();
    for (int i = 0; i < etrt_members(dev); i++) {
        if (t->ended[i] || !t->dispatch[i]) continue;
        etrt_group_tell(etrt_member(dev, i), t->dispatch[i], ETRT_ABORT_QUIT);
    }
}

static etrt_status group_launch(etrt_device *dev, const struct etrt_dispatch *d, int count,
                                struct etrt_ticket *t) {
    etrt_status st = ETRT_OK;
    t->told = t->failed = false;
    t->heart = (struct heart){.looked = etrt_now()};
    group_of(dev)->waited = d->wait_limit;
    for (int i = etrt_members(dev) - 1; st == ETRT_OK && i >= 0; i--)
        st = prepare(dev, i, d, count, t);
    if (st != ETRT_OK) return st;
    t->room = count > t->room ? count : t->room;
    for (int i = 0; i < etrt_members(dev); i++) {
        pass_report(t, 0, i);
        t->ended[i] = true;
    }
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        st = etrt_launch_start(etrt_member(dev, i), t->dispatch[i], count, t->on[i]);
        t->ended[i] = st != ETRT_OK;
    }
    if (st == ETRT_OK) return st;
    char why[512];
    snprintf(why, sizeof why, "%s", etrt_last_error());
    tell_to_give_up(dev, t); /* those that have started wait for the others in vain */
    for (int i = 0; i < etrt_members(dev); i++) {
        uint64_t ended;
        etrt_device *m = etrt_member(dev, i);
        while (!t->ended[i] && !atomic_load(&m->broken))
            t->ended[i] = m->driver->wait(m, t->on[i], 0.05, &ended);
    }
    return etrt_fail(st, "%s", why);
}

/* Member I's launch has ended: how? What one reports of a failure is told as the first one's. */
static void note_end(etrt_device *dev, struct etrt_ticket *t, int i) {
    struct etrt_kernarg head;
    memcpy(&head, t->dispatch[i][0].kernarg, sizeof head);
    const struct etrt_report *report = (void *)(uintptr_t)head.report;
    t->ended[i] = true;
    if (report->status == ETRT_REPORT_OK || t->failed) return;
    t->failed = true;
    group_of(dev)->failed = i;
}

static void look(etrt_device *dev, struct etrt_ticket *t, int i, double seconds,
                 uint64_t *out_ended) {
    etrt_device *m = etrt_member(dev, i);
    uint64_t ended = 0;
    if (t->ended[i]) return;
    if (m->driver->wait(m, t->on[i], seconds, &ended)) note_end(dev, t, i);
    *out_ended += ended;
    if (!atomic_load(&m->broken)) return;
    t->ended[i] = true;
    if (!t->failed) group_of(dev)->failed = i;
    t->failed = true;
    atomic_store(&dev->broken, true);
}

/* A kernel looks at its abort word wherever it waits: those that have not ended long after they
 * were told to, or asked why not, never will. */
static bool give_up_lost(etrt_device *dev, struct etrt_ticket *t) {
    struct group *g = group_of(dev);
    double grace = etrt_group_grace(t->dispatch[0][0].wait_limit);
    bool gone = t->told ? etrt_now() - t->told_at >= grace
                        : etrt_group_listen(dev, &t->heart, t->dispatch, t->ended);
    if (!gone) return false;
    for (int i = 0; i < g->n; i++) {
        if (t->ended[i]) continue;
        t->ended[i] = true;
        atomic_store(&g->member[i]->broken, true);
        if (g->lost < 0) g->lost = i;
    }
    atomic_store(&dev->broken, true);
    pass_report(t, g->failed, 0);
    return true;
}

static bool group_wait(etrt_device *dev, struct etrt_ticket *t, double seconds,
                       uint64_t *out_ended) {
    int n = etrt_members(dev), left = -1;
    *out_ended = 0;
    for (int pass = 0; pass < 2; pass++) {
        left = -1;
        for (int i = 0; i < n; i++) {
            look(dev, t, i, pass && left < 0 ? seconds : 0, out_ended);
            if (!t->ended[i] && left < 0) left = i;
        }
        if (t->failed) tell_to_give_up(dev, t);
        if (left < 0 || seconds <= 0) break;
    }
    if (left >= 0) return give_up_lost(dev, t);
    if (t->failed && !atomic_load(&dev->broken)) pass_report(t, group_of(dev)->failed, 0);
    return true;
}

static void group_fault(etrt_device *dev) {
    struct group *g = group_of(dev);
    etrt_device *m = g->member[g->failed];
    if (g->lost >= 0) {
        etrt_fail(ETRT_FAULT, "device %d of %d does not answer any more", g->lost, g->n);
        return;
    }
    m->driver->fault(m);
    etrt_fail_in(ETRT_FAULT, "device %d of the group", g->failed);
}

static etrt_status group_seconds(etrt_device *dev, const struct etrt_ticket *t, double *out) {
    etrt_status st = ETRT_OK;
    *out = 0;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        double own = 0;
        etrt_device *m = etrt_member(dev, i);
        st = m->driver->seconds(m, t->on[i], &own);
        if (own > *out) *out = own;
    }
    return st;
}

static etrt_status group_timing(etrt_device *dev) {
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        etrt_device *m = etrt_member(dev, i);
        m->timing = dev->timing;
        st = m->driver->timing ? m->driver->timing(m)
                               : etrt_fail(ETRT_UNSUPPORTED, "%s does not time launches", m->name);
    }
    return st;
}

/* Counters of an emulator are of all that it runs. */
static void group_stats(const etrt_device *dev, etrt_stats *out) {
    const etrt_device *m = group_of(dev)->member[0];
    if (m->driver->stats) m->driver->stats(m, out);
}

static struct etrt_unit group_unit(const char *target, uint32_t hw_id) {
    const struct etrt_driver *of =
        strncmp(target, "sm_", 3) == 0 ? &etrt_cuda_driver : &etrt_hsa_driver;
    return of->unit(target, hw_id);
}

static const char *const specs[] = {NULL};

const struct etrt_driver etrt_group_driver = {
    .specs = specs,
    .open = group_open,
    .close = group_close,
    .accept = group_accept,
    .alloc = etrt_group_alloc,
    .free = etrt_group_free,
    .copy = etrt_group_copy,
    .send = etrt_group_send,
    .settle = etrt_group_settle,
    .fill = etrt_group_fill,
    .load = group_load,
    .unload = group_unload,
    .find = group_find,
    .ticket_make = group_ticket_make,
    .ticket_free = group_ticket_free,
    .launch = group_launch,
    .wait = group_wait,
    .fault = group_fault,
    .seconds = group_seconds,
    .timing = group_timing,
    .stats = group_stats,
    .unit = group_unit,
};
