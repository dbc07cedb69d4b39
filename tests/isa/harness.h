/* harness.h - assemble kernels, run waves on the executor alone, look at what they did.
 *
 * The machine the executor expects around it (live memory, clocks) is in harness.c. */
#ifndef HARNESS_H
#define HARNESS_H

#include "isa.h"

#include <stdio.h>

/* Machine code of one .s, .ll or .cl file, linked; DESCRIPTOR is the first kernel's, if any. */
struct code {
    uint8_t *text;
    size_t bytes;
    uint8_t descriptor[64];
    uint64_t entry; /* offset of the first kernel */
    size_t kernels;
};

/* Assemble or compile SOURCE, a file name; exits with a message when the tools fail. FLAGS are
 * extra ones for clang. */
struct code code_from_file(const char *source, const char *flags);
struct code code_from_asm(const char *text);
void code_free(struct code *);

/* The kernel called NAME: its entry and descriptor. */
bool code_kernel(struct code *, const char *source_object, const char *name);

/* Live memory: the range the executor may touch besides what was allocated here. */
void *live_alloc(size_t bytes, bool writable);
void live_reset(void);

struct machine {
    struct emu_program *program;
    struct emu_dispatch dispatch;
    struct emu_group group;
    struct emu_fault fault;
    struct emu_wave *waves[16];
    uint8_t descriptor[64];
    uint8_t lds[65536];
};

/* A workgroup of NWAVES full waves at ENTRY of CODE. */
struct machine *machine_create(const struct code *, uint64_t entry, unsigned nwaves);
void machine_destroy(struct machine *);
/* Start again at ENTRY with everything zero. */
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
