/* engine.c - host threads executing the resident workgroups of running dispatches.
 *
 * The thread that asks for a dispatch (its queue's) executes workgroups itself; helper threads join
 * in. A workgroup is in one thread's hands at a time, for a quantum, and then goes to the end of
 * one of two lines: ready, or asleep when all its waves were waiting. Ready ones go first, but
 * sleepers get a turn often enough to notice what they wait for, even beside one that spins without
 * sleeping; when only sleepers are left they are polled in turn, ever more gently. */
#include "runtime/emu/machine/engine.h"
#include "runtime/emu/base/clock.h"
#include "runtime/emu/etemu.h"
#include "runtime/emu/memory/cache.h"

#include "runtime/emu/base/sync.h"
#include "runtime/emu/machine/fault.h"
#include "runtime/emu/machine/placement.h"
#include "runtime/emu/machine/slot.h"
#include "runtime/emu/memory/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    QUANTUM_NS = 300000,
    SPIN_NS = 50000, /* idle threads watch for work this long before they sleep */
    READY_TURNS = 4, /* of every TURNS, the rest are for sleepers */
    TURNS = 12,
    HELD_TURNS = 16,      /* one of so many is for those that the specification holds back */
    STALL_TURNS = 40,     /* what a dispatch that stalls still does */
    TAKES_PER_VISIT = 64, /* a helper then looks whether another dispatch needs it more */
};

struct line {
    struct emu_slot *first, **last;
    uint32_t count;
};

struct run {
    struct run *next;
    struct emu_dispatch *d;
    struct emu_failure *failure;
    struct emu_placement place;
    pthread_mutex_t lock;
    uint64_t total, started; /* workgroups */
    struct line ready, asleep;
    uint32_t busy; /* workgroups in threads' hands */
    uint32_t turn;
    uint32_t turns;           /* where some are held back, or all stall */
    uint64_t time;            /* where clocks count instructions: of the workgroup taken last */
    uint64_t end;             /* and the latest of all */
    uint64_t random;          /* state of a generator when the order is random, else 0 */
    uint32_t fruitless;       /* polls since somebody last got anywhere */
    uint64_t poll_ns;         /* what a turn takes that finds nothing to do */
    uint64_t spent;           /* instructions since a workgroup last began, ended or got on */
    uint64_t idle_since;      /* host time since when all have only slept, without that; or 0 */
    _Atomic uint32_t waiting; /* ready + asleep, for a glance without the lock */
    _Atomic uint32_t helpers;
};

static struct {
    pthread_mutex_t lock;
    struct run *runs;
    pthread_t threads[EMU_MAX_THREADS];
    uint32_t nthreads;
    struct emu_config device;
    const struct emu_config *config; /* the device */
    struct emu_event event;          /* work appeared, or a dispatch is done */
    _Atomic uint32_t idle;           /* helpers without work */
    _Atomic uint32_t dozing;         /* threads that pause between polls */
    _Atomic bool stop;
    _Atomic uint64_t busy_ns;
    _Atomic uint64_t time; /* where clocks count instructions: when the last dispatch ended */
    _Atomic uint64_t longest_wait; /* seconds in which all may only wait, as somebody said */
} engine = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void line_push(struct line *l, struct emu_slot *s) {
    s->next = NULL;
    if (!l->count) l->last = &l->first;
    *l->last = s;
    l->last = &s->next;
    l->count++;
}

static struct emu_slot *line_pop(struct line *l) {
    struct emu_slot *s = l->first;
    l->first = s->next;
    l->count--;
    return s;
}

/* Put one of the first few first, not always the same. */
static void line_rotate(struct line *l, uint64_t *random) {
    uint32_t skip = emu_random(random) % (l->count < 16 ? l->count : 16);
    while (skip--)
        line_push(l, line_pop(l));
}

static void note_waiting(struct run *r) {
    atomic_store_explicit(&r->waiting, r->ready.count + r->asleep.count, memory_order_relaxed);
}

static void drop(struct run *r, struct emu_slot *s) {
    emu_placement_give(&r->place, s->cu);
    emu_slot_put(s);
}

/* Devices are queues, in which launches are numbered. */
static uint64_t links_of(const struct run *r) {
    const amd_queue_t *q = r->d->queue;
    uint64_t seed = engine.config->links;
    return seed ? (seed << 32 | q->hsa_queue.id << 24 | (r->d->dispatch_id & 0xffffff)) : 0;
}

/* Make resident what fits. */
static void admit(struct run *r) {
    while (r->started < r->total && r->place.free && !atomic_load(&r->d->stop)) {
        struct emu_slot *s = emu_slot_get(r->d, r->started);
        if (!s) {
            /* Those already resident may still end and make room. */
            if (r->ready.count || r->asleep.count || r->busy) return;
            emu_failure_set(r->failure, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
                            "the host has no memory for one workgroup's state\n");
            atomic_store(&r->d->stop, true);
            return;
        }
        s->group.counted = engine.config->counted;
        s->group.by_task = engine.config->by_task;
        s->group.links = links_of(r);
        s->group.depth[0] = s->group.depth[1] = 0;
        s->group.time = r->time;
        s->cu = emu_placement_take(&r->place, r->started, &s->group);
        for (uint32_t i = 0; i < 2; i++)
            s->group.caches[i] = emu_caches_of(s->cu + i % r->place.unit);
        r->started++;
        line_push(&r->ready, s);
    }
}

static bool done(const struct run *r) {
    return !r->busy && !r->ready.count && !r->asleep.count &&
           (r->started == r->total || atomic_load(&r->d->stop));
}

/* The workgroup that is to starve, and those of the die that is to be slow. */
static bool held_back(const struct emu_slot *s) {
    const struct emu_config *c = engine.config;
    return s->index + 1 == c->starve || s->group.xcc + 1 == c->slow;
}

/* The next of L that is not held back, or NULL. */
static struct emu_slot *pop_favoured(struct line *l) {
    for (uint32_t n = l->count; n; n--) {
        struct emu_slot *s = line_pop(l);
        if (!held_back(s)) return s;
        line_push(l, s);
    }
    return NULL;
}

/* The next of L, or of the other line when all of L are held back; sometimes they have their turn.
 */
static struct emu_slot *pop_next(struct run *r, struct line *l) {
    const struct emu_config *c = engine.config;
    if (r->random) line_rotate(l, &r->random);
    if (!c->starve && !c->slow) return line_pop(l);
    struct emu_slot *s = NULL;
    if (++r->turns % HELD_TURNS) s = pop_favoured(l);
    if (!s && r->turns % HELD_TURNS) s = pop_favoured(l == &r->ready ? &r->asleep : &r->ready);
    return s ? s : line_pop(l);
}

/* The one whose clock is furthest behind: what others did before that moment has then happened. */
static struct emu_slot *pop_earliest(struct line *l) {
    struct emu_slot *best = l->first;
    for (uint32_t n = l->count; n; n--) {
        struct emu_slot *s = line_pop(l);
        if (s->group.time < best->group.time) best = s;
        line_push(l, s);
    }
    while (l->first != best)
        line_push(l, line_pop(l));
    return line_pop(l);
}

/* Nothing of the dispatch runs any more, as if its device had stopped. */
static bool stalled(struct run *r) {
    const amd_queue_t *q = r->d->queue;
    if (!engine.config->stall || q->hsa_queue.id + 1 != engine.config->stall) return false;
    return r->turns >= STALL_TURNS || !++r->turns;
}

static struct emu_slot *take(struct run *r) {
    if (atomic_load(&r->d->stop)) {
        while (r->ready.count)
            drop(r, line_pop(&r->ready));
        while (r->asleep.count)
            drop(r, line_pop(&r->asleep));
    }
    if (stalled(r)) {
        note_waiting(r);
        return NULL;
    }
    bool sleepers_turn = r->turn % TURNS >= READY_TURNS;
    if (r->random) sleepers_turn = emu_random(&r->random) & 1;
    struct line *l = r->ready.count && !(sleepers_turn && r->asleep.count) ? &r->ready : &r->asleep;
    if (r->ready.count && !r->asleep.count)
        r->turn = 0;
    else
        r->turn++;
    if (!l->count) {
        note_waiting(r);
        return NULL;
    }
    r->busy++;
    struct emu_slot *s = engine.config->counted ? pop_earliest(l) : pop_next(r, l);
    r->time = s->group.time;
    s->random = r->random;
    note_waiting(r);
    return s;
}

/* How long to pause before polling the next sleeper: a little after every round of polls that were
 * all in vain, longer as such rounds follow one another. Somebody else's progress ends the pause.
 */
static uint64_t pause_ns(const struct run *r) {
    uint32_t round = r->asleep.count + r->busy, rounds = r->fruitless / round;
    if (r->ready.count || rounds < 2 || r->fruitless % round) return 0;
    uint64_t ns = rounds < 10 ? 500u << rounds : 250000;
    return r->busy > 1 && ns > 100000 ? 100000 : ns;
}

/* Did the turn that ended asleep after NS only look at what is waited for? The shortest such turns
 * are the measure; it creeps up so that one odd reading does not stay. */
static bool only_polled(struct run *r, uint64_t ns) {
    r->poll_ns += r->poll_ns / 64 + 1;
    if (r->poll_ns == 1 || ns < r->poll_ns) r->poll_ns = ns;
    return ns < 3 * r->poll_ns;
}

static void pause_for(uint64_t ns, uint32_t seen) {
    if (ns >= 5000) {
        atomic_fetch_add(&engine.dozing, 1);
        emu_event_wait(&engine.event, seen, 1000, ns);
        atomic_fetch_sub(&engine.dozing, 1);
        return;
    }
    uint64_t end = emu_now_ns() + ns;
    while (emu_now_ns() < end)
        for (int i = 0; i < 16; i++)
            emu_relax();
}

static void record_fault(struct run *r, const struct emu_slot *s, const struct emu_fault *fault) {
    if (r->failure->status == HSA_STATUS_SUCCESS) emu_fault_describe(fault, &s->group, r->failure);
    atomic_store(&r->d->stop, true);
}

/* ---- dispatches that never end ---- */

/* Of the waves of S, and of WORST when that is not NULL, the one that has gone longest without
 * getting anywhere. */
static struct emu_wave *worse(struct emu_wave *worst, const struct emu_slot *s) {
    for (uint32_t i = 0; !s->fresh && i < s->group.nwaves; i++)
        if (!worst || emu_wave_unmarked(s->group.waves[i]) > emu_wave_unmarked(worst))
            worst = s->group.waves[i];
    return worst;
}

/* Blames that of the workgroups in no other thread's hands; S is one that has just had its turn. */
static void give_up(struct run *r, const struct emu_slot *s, const char *why,
                    struct emu_fault *fault) {
    struct emu_wave *worst = worse(NULL, s);
    const struct emu_slot *whose = s;
    const struct line *lines[] = {&r->ready, &r->asleep};
    for (int k = 0; k < 2; k++) {
        const struct emu_slot *t = lines[k]->first;
        for (uint32_t n = lines[k]->count; n; n--, t = t->next) {
            struct emu_wave *w = worse(worst, t);
            if (w != worst) whose = t;
            worst = w;
        }
    }
    if (!worst || !emu_wave_unmarked(worst)) return;
    emu_wave_give_up(worst, why, fault);
    if (r->failure->status == HSA_STATUS_SUCCESS)
        emu_fault_describe(fault, &whose->group, r->failure);
    atomic_store(&r->d->stop, true);
}

/* So many more for each wave, since they take turns; caches take the host's time. */
static uint64_t budget_of(const struct run *r, const struct emu_slot *s) {
    enum { OF_A_WAVE = 10 };
    const struct emu_config *c = engine.config;
    uint64_t resident = r->ready.count + r->asleep.count + r->busy + 1;
    uint64_t million = c->budget + OF_A_WAVE * resident * s->group.nwaves;
    return million * 1000000 / (c->coherence == EMU_COHERENCE_OFF ? 1 : 4);
}

static uint64_t idle_ns(void);

/* A turn of S has ended. Waves that sleep wait for somebody, and what they look at meanwhile does
 * not count; but not for ever. */
static void watch(struct run *r, const struct emu_slot *s) {
    const struct emu_config *c = engine.config;
    struct emu_fault fault = {0};
    char why[200];
    if (s->group.progress) r->spent = r->idle_since = 0;
    if (s->group.progress || atomic_load_explicit(&r->d->stop, memory_order_relaxed)) return;
    if (s->group.ran) {
        r->idle_since = 0;
        r->spent += s->group.ran;
        if (!c->budget || r->spent < budget_of(r, s)) return;
        snprintf(why, sizeof why,
                 "the kernel seems to loop for ever: %llu million instructions and no workgroup "
                 "ended or got to another tile (device option budget=MILLIONS, 0 for no bound)",
                 (unsigned long long)(r->spent / 1000000));
        give_up(r, s, why, &fault);
        return;
    }
    uint64_t now = emu_now_ns(), bound = idle_ns();
    if (!r->idle_since) r->idle_since = now;
    if (!bound || now - r->idle_since < bound) return;
    snprintf(why, sizeof why,
             "the kernel seems to wait for ever: %llu seconds in which all workgroups only slept "
             "(device option idle=SECONDS, 0 for no bound)",
             (unsigned long long)((now - r->idle_since) / 1000000000));
    give_up(r, s, why, &fault);
}

static void put_back(struct run *r, struct emu_slot *s, enum emu_slot_stop stop, uint64_t ns,
                     const struct emu_fault *fault) {
    if (stop == EMU_SLOT_RAN || stop == EMU_SLOT_SLEPT) watch(r, s);
    if (stop == EMU_SLOT_ENDED) r->spent = r->idle_since = 0;
    r->busy--;
    if (stop == EMU_SLOT_SLEPT && engine.config->counted) stop = EMU_SLOT_RAN;
    if (s->group.time > r->end) r->end = s->group.time;
    if (stop == EMU_SLOT_SLEPT && only_polled(r, ns))
        r->fruitless++;
    else
        r->fruitless = 0;
    switch (stop) {
    case EMU_SLOT_RAN:
        line_push(&r->ready, s);
        break;
    case EMU_SLOT_SLEPT:
        line_push(&r->asleep, s);
        break;
    case EMU_SLOT_FAULT:
        record_fault(r, s, fault);
        drop(r, s);
        break;
    case EMU_SLOT_ENDED:
        drop(r, s);
        admit(r);
        break;
    }
    note_waiting(r);
}

/* Execute workgroups of R until none is left to take, or TAKES have been. Called and left with
 * R->lock held. */
static void work(struct run *r, uint32_t takes) {
    struct emu_slot *s;
    uint64_t total = 0;
    bool progress = false;
    while (takes-- && (s = take(r))) {
        uint64_t pause = pause_ns(r);
        uint32_t seen = emu_event_read(&engine.event);
        bool call = (r->ready.count && atomic_load(&engine.idle)) ||
                    (progress && atomic_load(&engine.dozing));
        pthread_mutex_unlock(&r->lock);
        if (call) emu_event_post(&engine.event);
        if (pause) pause_for(pause, seen);
        struct emu_fault fault = {0};
        uint64_t start = emu_now_ns();
        enum emu_slot_stop stop = emu_slot_run(s, QUANTUM_NS, &fault);
        uint64_t end = emu_now_ns();
        total += end - start;
        pthread_mutex_lock(&r->lock);
        put_back(r, s, stop, end - start, &fault);
        progress = !r->fruitless;
        /* Beside a device that has stopped, who looks for its words without a pause waits, too. */
        if (progress && !engine.config->stall) emu_clock_slow_down(start, end);
    }
    if (done(r)) emu_event_post(&engine.event);
    atomic_fetch_add_explicit(&engine.busy_ns, total, memory_order_relaxed);
}

/* A dispatch that could use another thread; it goes to the end of the list so that helpers spread
 * over all. Kept from ending by its helper count. */
static struct run *choose_run(void) {
    pthread_mutex_lock(&engine.lock);
    struct run **at = &engine.runs;
    while (*at && !atomic_load_explicit(&(*at)->waiting, memory_order_relaxed))
        at = &(*at)->next;
    struct run *r = *at;
    if (r) {
        atomic_fetch_add(&r->helpers, 1);
        *at = r->next;
        struct run **end = &engine.runs;
        while (*end)
            end = &(*end)->next;
        r->next = NULL;
        *end = r;
    }
    pthread_mutex_unlock(&engine.lock);
    return r;
}

static void *helper_thread(void *arg) {
    (void)arg;
    while (!atomic_load(&engine.stop)) {
        uint32_t seen = emu_event_read(&engine.event);
        struct run *r = choose_run();
        if (r) {
            pthread_mutex_lock(&r->lock);
            work(r, TAKES_PER_VISIT);
            pthread_mutex_unlock(&r->lock);
            atomic_fetch_sub(&r->helpers, 1);
            continue;
        }
        atomic_fetch_add(&engine.idle, 1);
        if (!atomic_load(&engine.stop)) emu_event_wait(&engine.event, seen, SPIN_NS, UINT64_MAX);
        atomic_fetch_sub(&engine.idle, 1);
    }
    return NULL;
}

static void enlist(struct run *r) {
    pthread_mutex_lock(&engine.lock);
    r->next = engine.runs;
    engine.runs = r;
    pthread_mutex_unlock(&engine.lock);
}

/* After this no helper knows R. */
static void delist(struct run *r) {
    pthread_mutex_lock(&engine.lock);
    struct run **at = &engine.runs;
    while (*at != r)
        at = &(*at)->next;
    *at = r->next;
    pthread_mutex_unlock(&engine.lock);
    while (atomic_load(&r->helpers))
        sched_yield();
}

static void execute(struct run *r) {
    pthread_mutex_lock(&r->lock);
    admit(r);
    note_waiting(r);
    pthread_mutex_unlock(&r->lock);
    enlist(r);
    pthread_mutex_lock(&r->lock);
    for (;;) {
        uint32_t seen = emu_event_read(&engine.event);
        work(r, UINT32_MAX);
        if (done(r)) break;
        pthread_mutex_unlock(&r->lock);
        /* The rest is in helpers' hands. */
        emu_event_wait(&engine.event, seen, SPIN_NS, 1000000);
        pthread_mutex_lock(&r->lock);
    }
    pthread_mutex_unlock(&r->lock);
    delist(r);
}

void emu_engine_execute(struct emu_dispatch *d, const struct emu_needs *needs,
                        struct emu_failure *failure) {
    struct run r = {.d = d, .failure = failure, .total = 1, .time = atomic_load(&engine.time)};
    if (engine.config->seed)
        r.random = ((engine.config->seed + 1) * 0x9E3779B97F4A7C15u ^ d->dispatch_id << 20) | 1;
    for (int i = 0; i < 3; i++)
        r.total *= d->grid_size[i] / d->group_size[i] + (d->grid_size[i] % d->group_size[i] != 0);
    uint32_t capacity = emu_engine_groups_per_cu(engine.config, needs);
    if (!emu_placement_init(&r.place, engine.config, needs->cus, capacity, r.total)) {
        emu_failure_set(failure, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of host memory\n");
        return;
    }
    pthread_mutex_init(&r.lock, NULL);
    struct emu_memory_pin pin;
    emu_memory_pin(&pin);
    emu_caches_begin();
    execute(&r);
    emu_caches_end();
    emu_memory_unpin(&pin);
    if (r.end > atomic_load(&engine.time)) atomic_store(&engine.time, r.end);
    pthread_mutex_destroy(&r.lock);
    emu_placement_free(&r.place);
}

/* How long a dispatch may only sleep, in nanoseconds; 0: as it likes. */
static uint64_t idle_ns(void) {
    uint64_t asked = atomic_load(&engine.longest_wait), usual = engine.device.idle;
    if (engine.device.counted) usual *= 10; /* clocks may be slower than the host's then */
    return usual ? (usual > asked ? usual : asked) * 1000000000 : 0;
}

EMU_EXPORT void etemu_expect_wait(double seconds) {
    double twice = 2 * seconds + 60;
    uint64_t whole = twice < 1e9 ? (uint64_t)twice : (uint64_t)1e9;
    if (whole > atomic_load(&engine.longest_wait)) atomic_store(&engine.longest_wait, whole);
}

const struct emu_config *emu_device(void) {
    return &engine.device;
}

bool emu_engine_start(const struct emu_config *chosen) {
    const struct emu_config *config = engine.config = &engine.device;
    engine.device = *chosen;
    atomic_store(&engine.stop, false);
    atomic_store(&engine.busy_ns, 0);
    atomic_store(&engine.time, 1);
    engine.nthreads = 0;
    if (!emu_caches_start(config)) {
        emu_caches_stop();
        return false;
    }
    while (engine.nthreads + 1 < config->threads) {
        if (pthread_create(&engine.threads[engine.nthreads], NULL, helper_thread, NULL)) {
            emu_engine_stop();
            return false;
        }
        engine.nthreads++;
    }
    return true;
}

void emu_engine_stop(void) {
    atomic_store(&engine.stop, true);
    emu_event_post(&engine.event);
    for (uint32_t i = 0; i < engine.nthreads; i++)
        pthread_join(engine.threads[i], NULL);
    engine.nthreads = 0;
    emu_caches_stop();
    emu_slots_free();
}

uint64_t emu_engine_busy_ns(void) {
    return atomic_load(&engine.busy_ns);
}
