/* harness.h - assemble kernels, run waves on the executor alone, look at what they did.
 *
 * The machine the executor expects around it (live memory, clocks) is in harness.c. */
#ifndef HARNESS_H
#define HARNESS_H

#include "runtime/emu/isa/isa.h"

#include <stdio.h>

/* The GPU that code is made for and run on: the program's argument, else gfx942. */
struct target {
    const char *name;
    unsigned lanes;          /* of a wave */
    const char *isa_library; /* the ROCm device library for the nearest GPU that has one */
};
extern const struct target *target;
void target_choose(int argc, char **argv);

/* Machine code to run, and the kernel in it that runs. */
struct code {
    uint8_t *text;
    size_t bytes;
    uint64_t addr;          /* where it is loaded */
    uint8_t descriptor[64]; /* of the kernel chosen, if there is one */
    uint64_t entry;         /* its offset in the text */
    bool kernel;
    uint8_t *elf; /* the file */
    struct emu_program *program;
};

/* Exit with a message when the tools fail. The second compiles OpenCL C with the device libraries
 * and loads the image into live memory. */
struct code code_from_asm(const char *text);
struct code code_from_cl(const char *source);
/* Which of N lines the assembler takes for the target: KNOWN[i]. */
void assembler_knows(const char *const *lines, size_t n, bool *known);
/* What the target's assembly calls gfx9's instruction NAME; NAME itself where it has no other name.
 * For names in tests only: what the emulator takes for the same is in
 * runtime/emu/isa/decode/arch.c. */
const char *target_name(const char *name);
void code_free(struct code *);
bool code_choose(struct code *, const char *kernel);

/* Live memory: the range the executor may touch besides what was allocated here. */
void *live_alloc(size_t bytes, bool writable);
void live_drop(int n); /* the newest N */
void live_reset(void);

struct machine {
    struct emu_program *program;
    struct emu_dispatch dispatch;
    struct emu_group group;
    struct emu_fault fault;
    struct emu_wave *waves[16];
    uint8_t descriptor[64];
    uint8_t lds[65536] __attribute__((aligned(16)));
    bool kernel; /* compiled, with a descriptor */
};

/* A workgroup of NWAVES full waves at ENTRY of CODE. */
struct machine *machine_create(struct code *, uint64_t entry, unsigned nwaves);
void machine_destroy(struct machine *);
/* Start again at ENTRY; where there is no kernel, with every register zero but v0. */
void machine_restart(struct machine *, uint64_t entry);
/* Run all waves to the end, in turn, with barriers; EMU_ENDED or EMU_FAULT. */
enum emu_stop machine_run(struct machine *);

uint64_t random64(void);
uint32_t random32(void);
/* A float of every kind: ordinary, tiny, huge, denormal, special. */
uint32_t random_f32(void);
uint32_t random_f16(void);
uint64_t random_f64(void);

extern int failures;
#define EXPECT(cond, ...)                                                                          \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            if (failures++ < 60) {                                                                 \
                printf("%s:%d: ", __FILE__, __LINE__);                                             \
                printf(__VA_ARGS__);                                                               \
                printf("\n");                                                                      \
            }                                                                                      \
        }                                                                                          \
    } while (0)

#endif
