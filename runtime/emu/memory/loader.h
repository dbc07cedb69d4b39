/* loader.h - AMDGPU code objects as live memory, kernels and variables. */
#ifndef EMU_LOADER_H
#define EMU_LOADER_H

#include "runtime/emu/base/config.h"
#include "runtime/emu/emu.h"
#include "runtime/emu/hsa.h"

#include <stdbool.h>

/* The 64 bytes LLVM calls amdhsa_kernel_descriptor. */
struct emu_descriptor {
    uint32_t group_segment_bytes;
    uint32_t private_segment_bytes;
    uint32_t kernarg_bytes;
    uint8_t reserved0[4];
    int64_t entry_offset;
    uint8_t reserved1[20];
    uint32_t rsrc3, rsrc1, rsrc2;
    uint16_t properties;
    uint16_t kernarg_preload;
    uint8_t reserved2[4];
};

struct emu_symbol {
    char *name; /* a kernel's ends in ".kd" */
    uint64_t addr, bytes;
    bool kernel, global, writable;
    struct emu_code *code;
};

/* One executable segment. */
struct emu_text {
    uint64_t addr;
    size_t bytes;
    struct emu_program *program;
};

struct emu_code {
    _Atomic uint32_t refs;
    uint64_t base; /* of the memory; what virtual address 0 became is base - lowest */
    size_t bytes;
    struct emu_symbol *symbols;
    size_t nsymbols;
    struct emu_text *texts;
    size_t ntexts;
};

/* Load the code object in IMAGE for CONFIG's architecture. The bytes are not trusted. On failure
 * *STATUS and a message in ERR say why. The caller holds one reference. */
struct emu_code *emu_code_load(const void *image, size_t bytes, const struct emu_config *,
                               hsa_status_t *status, char err[256]);
void emu_code_release(struct emu_code *);

/* The kernel whose descriptor is at ADDR, its code retained, or NULL. */
const struct emu_symbol *emu_code_find_kernel(uint64_t addr);

/* The program whose text holds ADDR. */
const struct emu_text *emu_code_text(const struct emu_code *, uint64_t addr);

/* "NAME+0x12" for the kernel whose code ADDR is in, or "" (any loaded code object). */
void emu_code_where(uint64_t addr, char *out, size_t out_bytes);

#endif
