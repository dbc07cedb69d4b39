/* guard.c - keeps from LLVM what its disassembler does not survive.
 *
 * LLVM 22 follows a null pointer when it has to complain about a literal (llvm-project issues
 * 170318 and 214909) and has paths it takes for impossible (215001). Nearly all of them need
 * encodings that no device accepts: a literal where the encoding has no room for one or, of a
 * barrier's number, no meaning for it; reserved SDWA selectors; matrix sources that are not vector
 * registers. The exception is a half-precision multiply-add whose constant happens to be the number
 * that stands for "a literal follows". The classes were found by running the disassembler of
 * LLVM 22.1 over random words. */
#include "runtime/emu/isa/decode/guard.h"

enum {
    LITERAL = 255,
    SDWA = 0xf9,
    ENCODING_VOP3 = 0x34,
    ENCODING_MUBUF = 0x38,
    ENCODING_MTBUF = 0x3a
};

/* An 8-byte encoding of gfx9 leaves no room for the literal that one of its operands asks for. */
static bool vop3_survives(uint32_t w0, uint32_t w1) {
    enum { VOP3P = 0x1a7, COMPARES = 0x100, MFMA_F8F6F4 = 0x2d, MFMA_SCALE_LAST = 0x2e };
    uint32_t a = w1 & 511, b = w1 >> 9 & 511, c = w1 >> 18 & 511, op = w0 >> 16 & 0x3ff;
    if (a == LITERAL || b == LITERAL || c == LITERAL) return false;
    if (op < COMPARES && (w0 & 255) == LITERAL) return false; /* the scalar result */
    bool wide = w0 >> 23 == VOP3P && (op & 127) >= MFMA_F8F6F4 && (op & 127) <= MFMA_SCALE_LAST;
    return !wide || (a >= 256 && b >= 256);
}

/* A comparison has the register of its result where others say which part of theirs is written. */
static bool sdwa_survives(uint32_t w0, uint32_t w1) {
    enum { RESERVED_SELECT = 7, RESERVED_UNUSED = 3, VOPC = 0x3e };
    bool whole = (w1 >> 8 & 7) != RESERVED_SELECT && (w1 >> 11 & 3) != RESERVED_UNUSED;
    return (whole || w0 >> 25 == VOPC) && (w1 >> 16 & 7) != RESERVED_SELECT &&
           (w1 >> 24 & 7) != RESERVED_SELECT;
}

static bool vop2_survives(uint32_t w0, uint32_t w1) {
    enum { MADMK_F16 = 0x24, MADAK_F16 = 0x25 };
    uint32_t op = w0 >> 25;
    if ((op == MADMK_F16 || op == MADAK_F16) && w1 == LITERAL) return false;
    return (w0 & 511) != SDWA || sdwa_survives(w0, w1);
}

static bool gfx9_survives(uint32_t w0, uint32_t w1) {
    switch (w0 >> 26) {
    case ENCODING_VOP3:
        return vop3_survives(w0, w1);
    case ENCODING_MUBUF:
    case ENCODING_MTBUF:
        return w1 >> 24 != LITERAL; /* the scalar offset */
    default:                        /* VOP1, VOP2, VOPC */
        return w0 >> 31 || vop2_survives(w0, w1);
    }
}

static bool gfx11_survives(uint32_t w0, uint32_t w1) {
    enum { FMAMK_F16 = 0x37, FMAAK_F16 = 0x38, SOP1 = 0x17d };
    enum { BARRIER_FIRST = 0x4e, BARRIER_LAST = 0x53 };
    uint32_t vop2 = w0 >> 25, sop1 = w0 >> 8 & 255;
    if (w0 >> 23 == SOP1 && sop1 >= BARRIER_FIRST && sop1 <= BARRIER_LAST)
        return (w0 & 255) != LITERAL;
    return (vop2 != FMAMK_F16 && vop2 != FMAAK_F16) || w1 != LITERAL;
}

size_t isa_llvm_text(LLVMDisasmContextRef dc, const struct emu_program *p, size_t at, char *line,
                     size_t line_bytes) {
    uint32_t word[8] = {0}; /* longer than any instruction: a literal cut off reads as zero */
    size_t left = p->bytes - at;
    if (left < 4) return 0;
    memcpy(word, p->text + at, left < sizeof word ? left : sizeof word);
    bool gfx9 = !strncmp(p->isa, "gfx9", 4);
    if (!(gfx9 ? gfx9_survives : gfx11_survives)(word[0], word[1])) return 0;
    size_t n =
        LLVMDisasmInstruction(dc, (uint8_t *)word, sizeof word, p->addr + at, line, line_bytes);
    return n <= left ? n : 0;
}
