/* flight.c - round trips to memory and bytes in flight.
 *
 * A wave's depth is the number of trips to memory that follow one another in it: what is asked for
 * at depth d has come at depth d + 1, and a wait for it takes the wave there. Requests made
 * together are one trip, however many waits there are for them. A barrier takes all waves to the
 * depth of the deepest. Vector loads and, until gfx10, stores come in order and are waited for by
 * number. A store is a trip where somebody waits for it, and so is writing back or emptying a
 * cache. Scalar loads do not count: constants mostly, from a cache of their own near by. */
#include "runtime/emu/isa/run/flight.h"

#include "runtime/emu/isa/ops/link.h"
#include "runtime/emu/isa/ops/memory.h"

const struct emu_op *isa_wait(struct emu_wave *w, const struct emu_op *o) {
    if (w->link.n) isa_link_wait(w, o);
    return o + 1;
}

static void reach(struct emu_flight *f, uint32_t depth) {
    if (depth > f->depth) f->depth = depth;
}

/* ---- vector memory, in order ---- */

static void wait_vector(struct emu_flight *f, uint32_t left) {
    if (f->n <= left) return;
    uint64_t bytes = 0;
    uint32_t depth = f->depth, look = f->look;
    for (uint32_t i = 0; i < f->n; i++)
        bytes += f->asked[(f->first + i) % EMU_ASKED].bytes;
    while (f->n > left) {
        const struct emu_asked *came = &f->asked[f->first];
        if (f->looks && came->own && came->depth > look) {
            f->now.used++;
            f->now.used_trips += came->depth + 1 - look;
            f->looks = false;
        }
        reach(f, came->depth + 1);
        f->first = (f->first + 1) % EMU_ASKED;
        f->n--;
    }
    if (!bytes || f->depth == depth) return;
    f->now.waits++;
    f->now.in_flight += bytes;
    f->now.in_flight_squares += bytes * bytes;
}

static void ask_vector(struct emu_flight *f, uint64_t bytes, bool own) {
    wait_vector(f, EMU_ASKED - 1); /* the counter has no room for more */
    f->asked[(f->first + f->n++) % EMU_ASKED] = (struct emu_asked){(uint32_t)bytes, f->depth, own};
}

/* Atomic additions tell others of the stores before them. Loads that the CU's own cache may not
 * answer look for what others told. */
static void note_events(struct emu_flight *f, const struct emu_op *o, bool store, bool atomic) {
    if (atomic && f->leaves) {
        f->now.told++;
        f->now.told_trips += f->depth + 1 - f->left;
        f->leaves = false;
    } else if (store && !atomic) {
        f->left = f->depth;
        f->leaves = true;
    } else if (!store && !atomic && o->level != EMU_NEAR) {
        f->look = f->depth;
        f->looks = true;
    }
}

static void vector(struct emu_wave *w, const struct emu_op *o, uint64_t read, uint64_t written,
                   bool atomic) {
    struct emu_flight *f = &w->flight;
    if (!read && !written && !wave_exec(w)) return; /* back at once */
    bool store = !read || (written && !o->d_vgpr);
    if (store && w->program->gen >= GEN_11)
        f->stored = f->depth + 1;
    else
        ask_vector(f, store ? 0 : read, read && !store && o->level == EMU_NEAR);
    if (read || written) note_events(f, o, store, atomic);
}

/* ---- waits ---- */

static void wait_stores(struct emu_flight *f, uint32_t left) {
    if (!left) reach(f, f->stored);
}

/* Fields of the immediates, by LLVM's AMDGPUBaseInfo. */
static void wait_for(struct emu_wave *w, const struct emu_op *o) {
    struct emu_flight *f = &w->flight;
    uint32_t x = o->flags;
    switch (o->row_arg) {
    case ISA_WAIT_ALL:
        wait_vector(f, w->program->gen >= GEN_11 ? x >> 10 & 63 : (x & 15) | (x >> 10 & 48));
        break;
    case ISA_WAIT_LOADS:
        wait_vector(f, x & 63);
        break;
    case ISA_WAIT_LOADS_LDS:
        wait_vector(f, x >> 8 & 63);
        break;
    case ISA_WAIT_STORES:
        wait_stores(f, x & 63);
        break;
    case ISA_WAIT_STORES_LDS:
        wait_stores(f, x >> 8 & 63);
        break;
    case ISA_WAIT_IDLE:
        wait_vector(f, 0);
        wait_stores(f, 0);
        break;
    default:
        break; /* for LDS or exports alone */
    }
}

/* ---- tasks ---- */

static void flush(struct emu_wave *w) {
    struct emu_flight *f = &w->flight;
    f->now.round_trips = f->depth - f->from;
    if (f->marked) emu_tasks_add(f->task, &f->now);
    f->from = f->depth;
    f->now = (struct emu_task_counters){.waves = 1, .tiles = w->index == 0};
    f->looks = f->leaves = false;
}

/* Which instructions a task has. */
static void note_code(struct emu_flight *f, const struct emu_program *p, const struct emu_op *o) {
    _Atomic uint64_t *ran = &p->ran[o - p->ops];
    if (!f->marked || f->task >= 64) return;
    uint64_t me = UINT64_C(1) << f->task;
    if (atomic_load_explicit(ran, memory_order_relaxed) & me) return;
    uint64_t before = atomic_fetch_or_explicit(ran, me, memory_order_relaxed);
    if (!(before & me)) f->now.code += o[1].at - o->at;
}

/* Between two sleeps a wave only looks whether to go on: how often depends on the others, so only
 * the first look in vain is counted. */
static void slept(struct emu_flight *f) {
    if (f->sleeps++) f->depth = f->looked;
    f->looked = f->depth;
}

/* Waves run one after another: some may come to the next barrier before others have left this one.
 */
static void at_barrier(struct emu_wave *w) {
    struct emu_flight *f = &w->flight;
    uint32_t *depth = &w->group->depth[++f->barriers % 2];
    if (f->depth > *depth) *depth = f->depth;
    f->sleeps = 0;
}

void isa_flight_step(struct emu_wave *w, const struct emu_op *o, uint64_t read, uint64_t written,
                     bool atomic) {
    struct emu_flight *f = &w->flight;
    f->now.instructions++;
    note_code(f, w->program, o);
    f->now.bytes_read += read;
    f->now.bytes_written += written;
    if (o->cls == C_VMEM) vector(w, o, read, written, atomic);
    if (o->fn == isa_wait) wait_for(w, o);
    if (w->stop == EMU_SLEEP) slept(f);
    if (w->stop == EMU_BARRIER) at_barrier(w);
    if (w->traces != f->traces && w->traces % 2 == 0) {
        flush(w);
        f->sleeps = 0;
        f->task = w->trace[0];
        f->marked = true;
        f->traces = w->traces;
    }
}

void isa_flight_barrier(struct emu_wave *w) {
    reach(&w->flight, w->group->depth[w->flight.barriers % 2]);
}

void isa_flight_end(struct emu_wave *w) {
    flush(w);
    w->flight.marked = false;
}
