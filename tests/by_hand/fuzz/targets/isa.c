/* Machine code of any bytes on the executor alone. It ends, runs out of its budget, waits at a
 * barrier, or faults saying where and why; it touches nothing but the memory that is live. The
 * first byte chooses the architecture among those the emulator has. */
#include "runtime/emu/isa/isa.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>

enum { DATA = 4096, LDS = 1024, SCRATCH = 64, WAVES = 2, BUDGET = 3000, MAX_CODE = 2048 };

static uint8_t *live; /* DATA bytes; all that exists beside scratch */
static uint8_t *scratch[WAVES];
static uint64_t ticks;

struct emu_range emu_memory_find(uint64_t addr) {
    const struct emu_range none = {.lo = 0};
    for (int i = -1; i < WAVES; i++) {
        uint64_t lo = (uintptr_t)(i < 0 ? live : scratch[i]);
        uint64_t hi = lo + (i < 0 ? DATA : SCRATCH * LANES);
        if (addr >= lo && addr < hi)
            return (struct emu_range){.lo = lo, .hi = hi, .writable = true};
    }
    return none;
}
uint64_t emu_clock_realtime(void) {
    return ticks++;
}
void emu_tasks_add(uint32_t task, const struct emu_task_counters *c) {
    (void)task;
    (void)c;
}
uint64_t emu_clock_cycles(void) {
    return ticks++;
}

/* Registers that make it likely that memory instructions get somewhere. */
static void fill_registers(struct emu_wave *w, uint32_t rows) {
    for (int i = 2; i < 16; i += 2)
        put64(&w->s[i], (uintptr_t)live + 64 * (unsigned)i);
    for (int i = 16; i < 32; i++)
        w->s[i] = (uint32_t)(i - 16) * 0x9e3779b1u >> (i & 15);
    for (unsigned r = 1; r + 1 < rows && r < 9; r += 2)
        for (unsigned l = 0; l < LANES; l++) {
            uint64_t at = (uintptr_t)live + 16 * l + r;
            w->v[r][l] = (uint32_t)at;
            w->v[r + 1][l] = (uint32_t)(at >> 32);
        }
}

static void check_fault(const struct emu_fault *f, uint64_t addr, size_t bytes) {
    FUZZ_EXPECT(f->set && *f->what && *f->instruction);
    FUZZ_EXPECT(f->pc >= addr && f->pc <= addr + bytes);
    FUZZ_EXPECT(memchr(f->what, 0, sizeof f->what) &&
                memchr(f->instruction, 0, sizeof f->instruction));
}

static void run(struct emu_program *program, const uint8_t *text, size_t bytes) {
    static uint8_t lds[LDS] __attribute__((aligned(16)));
    uint8_t descriptor[64] = {0};
    uint32_t rsrc1 = 0xf0 << 12, rsrc2 = 1 << 7, properties = 1 << 3; /* kernarg, group id x */
    memcpy(descriptor + 48, &rsrc1, 4);
    memcpy(descriptor + 52, &rsrc2, 4);
    memcpy(descriptor + 56, &properties, 2);
    struct emu_dispatch d = {.program = program,
                             .descriptor = descriptor,
                             .packet = live,
                             .queue = live,
                             .kernarg = (uintptr_t)live,
                             .entry = (uintptr_t)text,
                             .group_size = {100, 1, 1},
                             .grid_size = {100, 1, 1},
                             .lds_bytes = LDS,
                             .scratch_bytes = SCRATCH};
    struct emu_wave *waves[WAVES];
    struct emu_group group = {.dispatch = &d, .nwaves = WAVES, .lds = lds, .waves = waves};
    struct emu_fault fault = {0};
    for (uint32_t i = 0; i < WAVES; i++) {
        waves[i] = aligned_alloc(64, (emu_wave_bytes(&d) + 63) & ~(size_t)63);
        if (!waves[i]) abort();
        emu_wave_init(waves[i], &group, i, scratch[i]);
        fill_registers(waves[i], waves[i]->nreg);
    }
    for (uint32_t i = 0; i < WAVES && !fault.set; i++)
        for (uint64_t left = BUDGET; left; left -= left < 500 ? left : 500) {
            enum emu_stop stop = emu_wave_run(waves[i], 500, &fault);
            if (stop == EMU_FAULT) check_fault(&fault, (uintptr_t)text, bytes);
            if (stop == EMU_FAULT || stop == EMU_ENDED || stop == EMU_BARRIER) break;
        }
    for (uint32_t i = 0; i < WAVES; i++)
        free(waves[i]);
}

static void set_up(void) {
    live = aligned_alloc(4096, DATA);
    for (int i = 0; i < WAVES; i++)
        if (!live || !(scratch[i] = aligned_alloc(4096, SCRATCH * LANES))) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const char *const targets[] = {"gfx942", "gfx90a", "gfx950", "gfx1100", "gfx1201"};
    char err[256];
    struct emu_program *program = NULL;
    if (!live) set_up();
    if (bytes < 5) return 0;
    const char *isa = targets[data[0] % (sizeof targets / sizeof *targets)];
    size_t n = (bytes - 1) & ~(size_t)3;
    if (n > MAX_CODE) n = MAX_CODE;
    uint8_t *text = aligned_alloc(64, (n + 63) & ~(size_t)63);
    if (!text) abort();
    memcpy(text, data + 1, n);
    for (int i = 0; i < DATA; i++)
        live[i] = (uint8_t)i;
    uint64_t base = (uintptr_t)live;
    for (int i = 0; i < 16; i++) /* kernarg: pointers */
        memcpy(live + 8 * i, &base, 8);
    for (int i = 0; i < WAVES; i++)
        memset(scratch[i], 0, SCRATCH * LANES);
    if (emu_program_create(isa, (uintptr_t)text, text, n, &program, err)) {
        run(program, text, n);
        emu_program_destroy(program);
    }
    free(text);
    return 0;
}
