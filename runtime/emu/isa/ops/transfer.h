/* transfer.h - moving data between registers and 64 checked host addresses. */
#ifndef ISA_TRANSFER_H
#define ISA_TRANSFER_H

#include "runtime/emu/isa/isa.h"

/* What a load or store moves per lane. */
enum isa_data {
    D_U8,
    D_I8,
    D_U16,
    D_I16,
    D_U8_LO, /* into or from half of a register, the other half stays */
    D_U8_HI,
    D_I8_LO,
    D_I8_HI,
    D_16_LO,
    D_16_HI,
    D_X1,
    D_X2,
    D_X3,
    D_X4,
    D_KINDS
};

static inline uint32_t isa_data_bytes(int kind) {
    static const uint8_t bytes[D_KINDS] = {1, 1, 2, 2, 1, 1, 1, 1, 2, 2, 4, 8, 12, 16};
    return bytes[kind];
}
static inline int isa_data_dwords(int kind) {
    return kind < D_X2 ? 1 : kind - D_X1 + 1;
}

/* Addresses are valid for the lanes in MASK. */
void isa_load(uint32_t *d, const uint64_t *a, int kind, uint64_t mask);
void isa_store(const uint32_t *s, const uint64_t *a, int kind, uint64_t mask);

#endif
