/* mfma.c - matrix instructions. */
#include "runtime/emu/isa/lanes/mfma.h"

#include "runtime/emu/isa/lanes/lanes.h"

static const struct emu_mfma_row shapes[] = {
    {"v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, M_F32, M_F32},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, M_F32, M_F32},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, M_F32, M_F32},
    {"v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, M_F32, M_F32},
    {"v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, M_F32, M_F32},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, M_F16, M_F16},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, M_F16, M_F16},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, M_F16, M_F16},
    {"v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, M_F16, M_F16},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, M_F16, M_F16},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, M_BF16, M_BF16},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, M_BF16, M_BF16},
    {"v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, M_FP8, M_FP8},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, M_FP8, M_BF8},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 16, 32, 1, M_BF8, M_FP8},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 16, 32, 1, M_BF8, M_BF8},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 32, 16, 1, M_FP8, M_FP8},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 32, 16, 1, M_FP8, M_BF8},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, 1, M_BF8, M_FP8},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 32, 16, 1, M_BF8, M_BF8},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, M_I8, M_I8},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, M_I8, M_I8},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, M_I8, M_I8},
    {"v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, M_I8, M_I8},
    {"v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, M_I8, M_I8},
    /* as gfx90a spells them, and its forms of bf16 with two elements per lane */
    {"v_mfma_f32_32x32x1f32", 32, 32, 1, 2, M_F32, M_F32},
    {"v_mfma_f32_16x16x1f32", 16, 16, 1, 4, M_F32, M_F32},
    {"v_mfma_f32_4x4x1f32", 4, 4, 1, 16, M_F32, M_F32},
    {"v_mfma_f32_32x32x2f32", 32, 32, 2, 1, M_F32, M_F32},
    {"v_mfma_f32_16x16x4f32", 16, 16, 4, 1, M_F32, M_F32},
    {"v_mfma_f32_32x32x4f16", 32, 32, 4, 2, M_F16, M_F16},
    {"v_mfma_f32_16x16x4f16", 16, 16, 4, 4, M_F16, M_F16},
    {"v_mfma_f32_4x4x4f16", 4, 4, 4, 16, M_F16, M_F16},
    {"v_mfma_f32_32x32x8f16", 32, 32, 8, 1, M_F16, M_F16},
    {"v_mfma_f32_16x16x16f16", 16, 16, 16, 1, M_F16, M_F16},
    {"v_mfma_f32_32x32x4bf16_1k", 32, 32, 4, 2, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x4bf16_1k", 16, 16, 4, 4, M_BF16, M_BF16},
    {"v_mfma_f32_4x4x4bf16_1k", 4, 4, 4, 16, M_BF16, M_BF16},
    {"v_mfma_f32_32x32x8bf16_1k", 32, 32, 8, 1, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x16bf16_1k", 16, 16, 16, 1, M_BF16, M_BF16},
    {"v_mfma_f32_32x32x2bf16", 32, 32, 2, 2, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x2bf16", 16, 16, 2, 4, M_BF16, M_BF16},
    {"v_mfma_f32_4x4x2bf16", 4, 4, 2, 16, M_BF16, M_BF16},
    {"v_mfma_f32_32x32x4bf16", 32, 32, 4, 1, M_BF16, M_BF16},
    {"v_mfma_f32_16x16x8bf16", 16, 16, 8, 1, M_BF16, M_BF16},
    {"v_mfma_i32_32x32x4i8", 32, 32, 4, 2, M_I8, M_I8},
    {"v_mfma_i32_16x16x4i8", 16, 16, 4, 4, M_I8, M_I8},
    {"v_mfma_i32_4x4x4i8", 4, 4, 4, 16, M_I8, M_I8},
    {"v_mfma_i32_32x32x8i8", 32, 32, 8, 1, M_I8, M_I8},
    {"v_mfma_i32_16x16x16i8", 16, 16, 16, 1, M_I8, M_I8},
    {"v_mfma_f64_16x16x4f64", 16, 16, 4, 1, M_F64, M_F64},
    {"v_mfma_f64_4x4x4f64", 4, 4, 4, 4, M_F64, M_F64},
    /* gfx950 */
    {"v_mfma_f32_16x16x32_fp8_fp8_ocp", 16, 16, 32, 1, M_OFP8, M_OFP8},
    {"v_mfma_f32_16x16x32_fp8_bf8_ocp", 16, 16, 32, 1, M_OFP8, M_OBF8},
    {"v_mfma_f32_16x16x32_bf8_fp8_ocp", 16, 16, 32, 1, M_OBF8, M_OFP8},
    {"v_mfma_f32_16x16x32_bf8_bf8_ocp", 16, 16, 32, 1, M_OBF8, M_OBF8},
    {"v_mfma_f32_32x32x16_fp8_fp8_ocp", 32, 32, 16, 1, M_OFP8, M_OFP8},
    {"v_mfma_f32_32x32x16_fp8_bf8_ocp", 32, 32, 16, 1, M_OFP8, M_OBF8},
    {"v_mfma_f32_32x32x16_bf8_fp8_ocp", 32, 32, 16, 1, M_OBF8, M_OFP8},
    {"v_mfma_f32_32x32x16_bf8_bf8_ocp", 32, 32, 16, 1, M_OBF8, M_OBF8},
    {"v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, M_F16, M_F16},
    {"v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, M_F16, M_F16},
    {"v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, M_BF16, M_BF16},
    {"v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, M_BF16, M_BF16},
    {"v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, M_I8, M_I8},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, M_I8, M_I8},
    {"v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, M_F64, M_F64},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, M_F64, M_F64},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

/* EXEC does not matter to these. A and B are copied by the kernel before D is written. */
static const struct emu_op *h_mfma(struct emu_wave *w, const struct emu_op *o) {
    const struct emu_src *c = &o->s[2];
    const uint32_t *from = c->kind == SRC_CONST ? c->lane : w->v[c->reg];
    w->lanes->mfma(&shapes[o->mfma], w->v[o->d], w->v[o->s[0].reg], w->v[o->s[1].reg], from,
                   c->kind == SRC_CONST ? 0 : LANES);
    return o + 1;
}

static bool bind_range(struct emu_decode *d, const struct emu_tok *t, int dwords,
                       struct emu_src *s) {
    uint16_t reg;
    if (!isa_bind_vreg(d, t, dwords, &reg)) return false;
    *s = (struct emu_src){.kind = SRC_VGPR, .reg = reg, .dwords = (uint8_t)dwords};
    return true;
}

/* Broadcasts (cbsz, abid), swizzles (blgp) and negations are not modelled. */
static bool bind_mfma(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                      struct emu_op *o) {
    (void)row;
    size_t i = 0;
    while (i < NSHAPES && strcmp(shapes[i].name, t->name))
        i++;
    if (i == NSHAPES || t->ntok != 4 || t->words != 2) return false;
    const struct emu_mfma_row *m = &shapes[i];
    if (t->word[0] & 0x7f00 || t->word[1] >> 29) return false;
    o->fn = h_mfma;
    o->mfma = (uint16_t)i;
    o->nsrc = 3;
    const struct emu_tok *c = &t->tok[3];
    int acc = mfma_cd_dwords(m);
    if (!isa_bind_vdst(d, &t->tok[0], acc, o)) return false;
    if (!bind_range(d, &t->tok[1], mfma_ab_dwords(m, m->a), &o->s[0])) return false;
    if (!bind_range(d, &t->tok[2], mfma_ab_dwords(m, m->b), &o->s[1])) return false;
    if (c->kind == TOK_INT || c->kind == TOK_FLOAT)
        return isa_bind_src(d, c, m->a == M_F64 ? T_f64 : m->a == M_I8 ? T_u32 : T_f32, &o->s[2]);
    return bind_range(d, c, acc, &o->s[2]);
}

static const struct emu_smfmac_row sparse[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, M_F16},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, M_BF16},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, M_F16},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, M_BF16},
};
enum { NSPARSE = sizeof sparse / sizeof *sparse };

/* EXEC does not matter. The kernel copies A and B before D is written. */
static const struct emu_op *h_smfmac(struct emu_wave *w, const struct emu_op *o) {
    w->lanes->smfmac(&sparse[o->mfma], w->v[o->d], w->v[o->s[0].reg], w->v[o->s[1].reg],
                     w->v[o->s[2].reg], o->offset);
    return o + 1;
}

/* Without cbsz, abid says which of four bytes the index is; with it the first. */
static bool bind_smfmac(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                        struct emu_op *o) {
    (void)row;
    size_t i = 0;
    while (i < NSPARSE && strcmp(sparse[i].name, t->name))
        i++;
    if (i == NSPARSE || t->ntok != 4 || t->words != 2 || t->word[1] >> 29) return false;
    unsigned cbsz = t->word[0] >> 8 & 7, abid = t->word[0] >> 11 & 15;
    if (abid > 3) return false;
    o->fn = h_smfmac;
    o->mfma = (uint16_t)i;
    o->nsrc = 3;
    o->offset = cbsz ? 0 : 8 * (int)abid;
    return isa_bind_vdst(d, &t->tok[0], sparse[i].dim * sparse[i].dim / LANES, o) &&
           bind_range(d, &t->tok[1], 2, &o->s[0]) && bind_range(d, &t->tok[2], 4, &o->s[1]) &&
           bind_range(d, &t->tok[3], 1, &o->s[2]);
}

const struct emu_table *isa_mfma_table(void) {
    static struct emu_row rows[NSHAPES + NSPARSE];
    static const struct emu_table t = {rows, NSHAPES + NSPARSE};
    for (size_t i = 0; i < NSPARSE; i++)
        rows[NSHAPES + i] =
            (struct emu_row){.name = sparse[i].name, .bind = bind_smfmac, .cls = C_MFMA};
    for (size_t i = 0; i < NSHAPES; i++)
        rows[i] = (struct emu_row){.name = shapes[i].name, .bind = bind_mfma, .cls = C_MFMA};
    return &t;
}
