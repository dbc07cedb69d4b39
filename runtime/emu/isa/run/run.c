/* run.c - a wave's life: initial state, running, faults, counters. */
#include "runtime/emu/isa/lanes/lanes.h"
#include "runtime/emu/isa/ops/link.h"
#include "runtime/emu/isa/ops/memory.h"
#include "runtime/emu/isa/run/flight.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- faults ---- */

const struct emu_op *isa_stop(struct emu_wave *w, const struct emu_op *next, enum emu_stop why) {
    w->stop = why;
    w->pc = next;
    return NULL;
}

static void describe(struct emu_wave *w, const struct emu_op *o) {
    struct emu_fault *f = w->fault;
    uint64_t exec = wave_exec(w);
    memset(f, 0, sizeof *f);
    f->set = true;
    f->pc = w->program->addr + o->at;
    memcpy(f->workgroup, w->group->id, sizeof f->workgroup);
    f->wave = w->index;
    f->lane = exec ? (uint32_t)__builtin_ctzll(exec) : 0;
    f->traced = w->traces > 1;
    memcpy(f->trace, w->trace, sizeof f->trace);
    isa_disassemble(w->program, o->at, f->instruction, sizeof f->instruction);
}

const struct emu_op *isa_fault(struct emu_wave *w, const struct emu_op *o, const char *format,
                               ...) {
    va_list args;
    describe(w, o);
    va_start(args, format);
    vsnprintf(w->fault->what, sizeof w->fault->what, format, args);
    va_end(args);
    return isa_stop(w, NULL, EMU_FAULT);
}

const struct emu_op *isa_fault_lane(struct emu_wave *w, const struct emu_op *o, int lane,
                                    uint64_t addr, uint32_t bytes, const char *verb) {
    describe(w, o);
    struct emu_fault *f = w->fault;
    struct emu_range r = emu_memory_find(addr);
    const char *why = r.lo == r.hi          ? "outside every live allocation"
                      : bytes > r.hi - addr ? "past the end of a live allocation"
                      : !r.writable         ? "in memory that may not be written"
                                            : "not allowed";
    f->kind = EMU_FAULT_MEMORY;
    f->addr = addr;
    if (lane >= 0) f->lane = (uint32_t)lane;
    snprintf(f->what, sizeof f->what, "%s of %u bytes at 0x%llx %s", verb, bytes,
             (unsigned long long)addr, why);
    return isa_stop(w, NULL, EMU_FAULT);
}

/* ---- memory ---- */

static bool covers(const struct emu_range *r, uint64_t lo, uint64_t bytes, bool write) {
    return lo >= r->lo && lo < r->hi && bytes <= r->hi - lo && (r->writable || !write);
}

bool isa_memory_check_slow(struct emu_wave *w, uint64_t lo, uint64_t bytes, bool write) {
    enum { N = sizeof w->hit / sizeof *w->hit };
    for (int i = 1; i < N; i++) {
        if (!covers(&w->hit[i], lo, bytes, write)) continue;
        struct emu_range r = w->hit[i];
        memmove(&w->hit[1], &w->hit[0], (size_t)i * sizeof r);
        w->hit[0] = r;
        return true;
    }
    struct emu_range r = emu_memory_find(lo);
    if (!covers(&r, lo, bytes, write)) return false;
    memmove(&w->hit[1], &w->hit[0], (N - 1) * sizeof r);
    w->hit[0] = r;
    return true;
}

/* ---- initial state ---- */

bool isa_set_mode(struct emu_wave *w, const struct emu_op *o, uint32_t mode) {
    w->mode = mode;
    w->flush32 = (mode & MODE_DENORM32) != MODE_DENORM32;
    if (mode & 15)
        isa_fault(w, o, "MODE asks for a rounding other than to nearest even");
    else if ((mode & MODE_DENORM16_64) != MODE_DENORM16_64)
        isa_fault(w, o, "MODE asks for flushing f16 and f64 denormals");
    else
        return true;
    return false;
}

size_t emu_wave_bytes(const struct emu_dispatch *d) {
    const struct emu_program *p = d->program;
    return sizeof(struct emu_wave) + 64 + (size_t)(p->nvgpr + p->nagpr) * LANES * 4;
}

/* Fields of the kernel descriptor, by LLVM's AMDGPUUsage. */
enum { KD_RSRC1 = 48, KD_RSRC2 = 52, KD_PROPERTIES = 56, KD_PRELOAD = 58 };

static uint32_t descriptor32(const void *kd, int at) {
    uint32_t x;
    memcpy(&x, (const uint8_t *)kd + at, 4);
    return x;
}

/* SGPRs in the fixed order of the ABI, those the descriptor asks for. */
static uint32_t init_user_sgprs(struct emu_wave *w, const struct emu_dispatch *d) {
    uint32_t props = descriptor32(d->descriptor, KD_PROPERTIES) & 0xffff, n = 0;
    const uint64_t pairs[] = {(uint64_t)(uintptr_t)d->packet, (uint64_t)(uintptr_t)d->queue,
                              d->kernarg, d->dispatch_id, (uint64_t)(uintptr_t)w->scratch};
    if (props & 1) {
        /* of scratch, for GPUs that reach it through a buffer */
        put64(&w->s[n], (uint64_t)(uintptr_t)w->scratch);
        w->s[n + 2] = UINT32_MAX;
        w->s[n + 3] = BUFFER_ADD_LANE;
        n += 4;
    }
    for (int i = 0; i < 5; i++) {
        if (!(props >> (i + 1) & 1)) continue;
        put64(&w->s[n], pairs[i]);
        n += 2;
    }
    if (props >> 6 & 1) w->s[n++] = d->scratch_bytes;
    uint32_t preload = descriptor32(d->descriptor, KD_PRELOAD - 2) >> 16;
    uint32_t count = preload & 127, from = preload >> 7;
    const uint8_t *args = (const uint8_t *)(uintptr_t)d->kernarg + 4 * from;
    for (uint32_t i = 0; i < count && n < 16; i++, n++)
        if (isa_memory_check(w, (uint64_t)(uintptr_t)args + 4 * i, 4, false))
            memcpy(&w->s[n], args + 4 * i, 4);
    return n;
}

/* gfx12 has the workgroup's id, and the wave's place in it, in registers of their own. */
static void init_trap_registers(struct emu_wave *w) {
    const uint32_t *id = w->group->id;
    w->s[S_TTMP + 9] = id[0];
    w->s[S_TTMP + 7] = (id[1] & 0xffff) | id[2] << 16;
    w->s[S_TTMP + 8] = w->index << 25;
}

static void init_system_sgprs(struct emu_wave *w, const struct emu_dispatch *d, uint32_t used) {
    if (w->program->gen == GEN_12) {
        init_trap_registers(w);
        return;
    }
    uint32_t rsrc2 = descriptor32(d->descriptor, KD_RSRC2);
    uint32_t n = rsrc2 >> 1 & 31;
    if (n < used) n = used;
    for (int i = 0; i < 3; i++)
        if (rsrc2 >> (7 + i) & 1) w->s[n++] = w->group->id[i];
    if (rsrc2 >> 10 & 1) w->s[n++] = (w->group->nwaves & 63) | (w->index == 0 ? 1u << 31 : 0);
    /* the wave's place in the queue's scratch: what kernels are given starts at their own */
    if (rsrc2 & 1 && w->program->gen == GEN_90A) w->s[n++] = 0;
}

/* Work-item ids packed in v0, and the lanes that exist in a partial wave or group. */
static void init_lanes(struct emu_wave *w, const struct emu_dispatch *d) {
    uint32_t size[3], total = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t g = d->group_size[i] ? d->group_size[i] : 1;
        uint64_t start = (uint64_t)w->group->id[i] * g;
        uint64_t left = d->grid_size[i] > start ? d->grid_size[i] - start : 1;
        size[i] = left < g ? (uint32_t)left : g;
        total *= size[i];
    }
    for (uint32_t i = 0; i < LANES; i++) {
        uint32_t id = w->index * w->program->wave_lanes + i;
        if (id >= total || !(w->full >> i & 1)) continue;
        w->live |= UINT64_C(1) << i;
        w->v[0][i] = id % size[0] | id / size[0] % size[1] << 10 | id / size[0] / size[1] << 20;
    }
}

/* Near numbers are drawn from far apart: odd, by the golden ratio, as Knuth has it. */
static const uint64_t LINK_SPREAD = UINT64_C(0x9e3779b97f4a7c15);

/* What a kernel was not given is not zero, here as there. */
enum { REGISTER_POISON = 0xa5 };

void emu_wave_init(struct emu_wave *w, struct emu_group *g, uint32_t index, void *scratch) {
    const struct emu_dispatch *d = g->dispatch;
    memset(w, 0, emu_wave_bytes(d));
    memset(w->s, REGISTER_POISON, sizeof *w->s * S_FLAT_SCRATCH);
    w->v = (uint32_t(*)[LANES])(((uintptr_t)(w + 1) + 63) & ~(uintptr_t)63);
    memset(w->v, REGISTER_POISON, (size_t)(d->program->nvgpr + d->program->nagpr) * LANES * 4);
    w->group = g;
    w->caches = g->caches[index % 2];
    if (g->links) w->link.random = (g->links + (uint64_t)g->id[0] * 4096 + index) * LINK_SPREAD;
    w->index = index;
    w->program = d->program;
    w->lanes = isa_lanes();
    w->nreg = d->program->nvgpr + d->program->nagpr;
    w->full = UINT64_MAX >> (LANES - d->program->wave_lanes);
    w->lds = g->lds;
    w->lds_bytes = d->lds_bytes;
    w->scratch = scratch;
    w->scratch_bytes = scratch ? d->scratch_bytes : 0;
    init_lanes(w, d);
    init_system_sgprs(w, d, init_user_sgprs(w, d));
    put64(&w->s[S_EXEC], w->live);
    put64(&w->s[S_FLAT_SCRATCH], (uint64_t)(uintptr_t)scratch);
    w->s[S_SHARED_BASE + 1] = APERTURE_SHARED;
    w->s[S_SHARED_LIMIT + 1] = APERTURE_SHARED;
    w->s[S_SHARED_LIMIT] = UINT32_MAX;
    w->s[S_PRIVATE_BASE + 1] = APERTURE_PRIVATE;
    w->s[S_PRIVATE_LIMIT + 1] = APERTURE_PRIVATE;
    w->s[S_PRIVATE_LIMIT] = UINT32_MAX;
    w->mode = descriptor32(d->descriptor, KD_RSRC1) >> 12 & 0xff;
    uint64_t off = d->entry - d->program->addr;
    bool inside = off < d->program->bytes && off % 4 == 0;
    uint32_t at = inside ? d->program->index[off / 4] : UINT32_MAX;
    w->pc = &d->program->ops[at == UINT32_MAX ? d->program->nops : at];
}

/* ---- running ---- */

#define ADD(field, value) atomic_fetch_add_explicit(&c->field, value, memory_order_relaxed)

/* Adding costs more than a short run between two barriers, so a wave that goes on saves it up. */
enum { ENOUGH_TO_REPORT = 4096 };

static void add_counters(struct emu_wave *w, bool last) {
    struct emu_counters *c = &w->group->dispatch->counters;
    uint64_t total = 0;
    for (int i = 0; i < C_CLASSES; i++)
        total += w->count[i];
    if (!total || (!last && total < ENOUGH_TO_REPORT)) return;
    ADD(instructions, total);
    ADD(valu, w->count[C_VALU]);
    ADD(salu, w->count[C_SALU]);
    ADD(vmem, w->count[C_VMEM]);
    ADD(smem, w->count[C_SMEM]);
    ADD(lds, w->count[C_LDS]);
    ADD(mfma, w->count[C_MFMA]);
    ADD(branch, w->count[C_BRANCH]);
    ADD(other, w->count[C_OTHER]);
    ADD(global_bytes_read, w->bytes_read);
    ADD(global_bytes_written, w->bytes_written);
    ADD(lds_bytes, w->lds_bytes_moved);
    ADD(atomics, w->atomics);
    ADD(sleeps, w->sleeps);
    ADD(barriers, w->barriers);
    memset(w->count, 0, sizeof w->count);
    w->bytes_read = w->bytes_written = w->lds_bytes_moved = 0;
    w->atomics = w->sleeps = w->barriers = 0;
}

static uint64_t counted(const struct emu_wave *w) {
    uint64_t total = 0;
    for (int i = 0; i < C_CLASSES; i++)
        total += w->count[i];
    return total;
}

uint64_t isa_realtime(const struct emu_wave *w) {
    if (!w->group->counted) return emu_clock_realtime();
    return w->group->time + counted(w) - w->turn;
}

uint64_t isa_cycles(const struct emu_wave *w) {
    return w->group->counted ? isa_realtime(w) : emu_clock_cycles();
}

/* A wave that sleeps again after fewer instructions only looked at what it waits for. */
enum { LOOK = 1024 };

/* Runs from O on until it stops or LEFT is 0; where it goes on, NULL where it stopped. */
static const struct emu_op *run(struct emu_wave *w, const struct emu_op *o, uint64_t *left) {
    for (; *left && o; --*left) {
        w->count[o->cls]++;
        o = o->fn(w, o);
    }
    return o;
}

static const struct emu_op *run_by_task(struct emu_wave *w, const struct emu_op *o,
                                        uint64_t *left) {
    for (; *left && o; --*left) {
        const struct emu_op *at = o;
        uint64_t read = w->bytes_read, written = w->bytes_written, atomics = w->atomics;
        w->count[at->cls]++;
        o = at->fn(w, at);
        isa_flight_step(w, at, w->bytes_read - read, w->bytes_written - written,
                        w->atomics != atomics);
    }
    return o;
}

enum emu_stop emu_wave_run(struct emu_wave *w, uint64_t budget, struct emu_fault *fault) {
    const struct emu_op *o = w->pc;
    if (!o || atomic_load_explicit(&w->group->dispatch->stop, memory_order_relaxed)) {
        w->pc = NULL;
        add_counters(w, true);
        return EMU_ENDED;
    }
    if (w->group->by_task && w->stop == EMU_BARRIER) isa_flight_barrier(w);
    w->fault = fault;
    w->stop = EMU_BUDGET;
    w->pc = NULL;
    w->slept = 0;
    if (w->group->counted) w->turn = counted(w);
    if (!isa_set_mode(w, o, w->mode)) return w->stop;
    if (isa_link_modelled(w)) isa_link_turn(w->group);
    uint64_t given = budget;
    o = w->group->by_task ? run_by_task(w, o, &budget) : run(w, o, &budget);
    w->unmarked += given - budget;
    w->awake += given - budget;
    if (w->awake > LOOK) w->group->ran += given - budget;
    if (w->stop == EMU_SLEEP) w->awake = 0;
    bool over = w->stop == EMU_ENDED || w->stop == EMU_FAULT;
    if (o) w->pc = o;
    if (over) w->pc = NULL;
    if (over && w->group->by_task) isa_flight_end(w);
    if (w->group->counted) w->group->took = counted(w) - w->turn + w->slept;
    add_counters(w, over);
    return w->stop;
}

uint64_t emu_wave_unmarked(const struct emu_wave *w) {
    return w->pc ? w->unmarked : 0;
}

void emu_wave_give_up(struct emu_wave *w, const char *why, struct emu_fault *fault) {
    w->fault = fault;
    isa_fault(w, w->pc, "%s", why);
}
