/* wmma.c - matrix instructions of gfx11 and gfx12. */
#include "runtime/emu/isa/lanes/wmma.h"

#include "runtime/emu/isa/lanes/lanes.h"

static const struct emu_wmma_row gfx11[] = {
    {"v_wmma_f32_16x16x16_f16", 16, W_F16, W_F16, W_F32, false},
    {"v_wmma_f32_16x16x16_bf16", 16, W_BF16, W_BF16, W_F32, false},
    {"v_wmma_f16_16x16x16_f16", 16, W_F16, W_F16, W_F16, false},
    {"v_wmma_bf16_16x16x16_bf16", 16, W_BF16, W_BF16, W_BF16, false},
    {"v_wmma_i32_16x16x16_iu8", 16, W_IU8, W_IU8, W_I32, false},
    {"v_wmma_i32_16x16x16_iu4", 16, W_IU4, W_IU4, W_I32, false},
};
static const struct emu_wmma_row gfx12[] = {
    {"v_wmma_f32_16x16x16_f16", 16, W_F16, W_F16, W_F32, true},
    {"v_wmma_f32_16x16x16_bf16", 16, W_BF16, W_BF16, W_F32, true},
    {"v_wmma_f16_16x16x16_f16", 16, W_F16, W_F16, W_F16, true},
    {"v_wmma_bf16_16x16x16_bf16", 16, W_BF16, W_BF16, W_BF16, true},
    {"v_wmma_f32_16x16x16_fp8_fp8", 16, W_FP8, W_FP8, W_F32, true},
    {"v_wmma_f32_16x16x16_fp8_bf8", 16, W_FP8, W_BF8, W_F32, true},
    {"v_wmma_f32_16x16x16_bf8_fp8", 16, W_BF8, W_FP8, W_F32, true},
    {"v_wmma_f32_16x16x16_bf8_bf8", 16, W_BF8, W_BF8, W_F32, true},
    {"v_wmma_i32_16x16x16_iu8", 16, W_IU8, W_IU8, W_I32, true},
    {"v_wmma_i32_16x16x16_iu4", 16, W_IU4, W_IU4, W_I32, true},
    {"v_wmma_i32_16x16x32_iu4", 32, W_IU4, W_IU4, W_I32, true},
};
enum {
    N11 = sizeof gfx11 / sizeof *gfx11,
    N12 = sizeof gfx12 / sizeof *gfx12,
};

static const struct emu_wmma_row *shape(enum isa_gen gen, unsigned i) {
    return gen == GEN_12 ? &gfx12[i] : &gfx11[i];
}

/* Bits of o->flags. */
enum { A_SIGNED = 1, B_SIGNED = 2, SATURATE = 4, HIGH = 8 };

/* gfx11 wants the upper lanes of A and B to repeat the lower ones; it does not say what it computes
 * when they do not. */
static bool repeated(const uint32_t *r, int dwords) {
    for (int n = 0; n < dwords; n++)
        if (memcmp(r + n * LANES, r + n * LANES + 16, 64)) return false;
    return true;
}

static const struct emu_op *h_wmma(struct emu_wave *w, const struct emu_op *o) {
    const struct emu_wmma_row *m = shape(w->program->gen, o->mfma);
    const uint32_t *a = w->v[o->s[0].reg], *b = w->v[o->s[1].reg];
    const struct emu_src *c = &o->s[2];
    bool constant = c->kind == SRC_CONST;
    struct emu_wmma_how how = {.a_signed = o->flags & A_SIGNED,
                               .b_signed = o->flags & B_SIGNED,
                               .saturate = o->flags & SATURATE,
                               .high = o->flags & HIGH};
    if (wave_exec(w) != w->full) return isa_fault(w, o, "needs all lanes, and some are off");
    if (!m->spread && !(repeated(a, o->s[0].dwords) && repeated(b, o->s[1].dwords)))
        return isa_fault(w, o, "lanes 16 to 31 of A or B are not the same as lanes 0 to 15");
    w->lanes->wmma(m, w->v[o->d], a, b, constant ? c->lane : w->v[c->reg], constant, &how);
    return o + 1;
}

static bool bind_range(struct emu_decode *d, const struct emu_tok *t, int dwords,
                       struct emu_src *s) {
    uint16_t reg;
    if (!isa_bind_vreg(d, t, dwords, &reg)) return false;
    *s = (struct emu_src){.kind = SRC_VGPR, .reg = reg, .dwords = (uint8_t)dwords};
    return true;
}

/* Negation of floats and absolute C are not modelled. */
static bool bind_how(const struct emu_wmma_row *m, const struct emu_text *t, struct emu_op *o) {
    uint32_t neg_lo = t->word[1] >> 29, neg_hi = t->word[0] >> 8 & 7;
    uint32_t op_sel = t->word[0] >> 11 & 7, clamp = t->word[0] >> 15 & 1;
    bool integers = m->d == W_I32;
    o->flags = (neg_lo & 3) | (clamp ? SATURATE : 0) | (op_sel & 4 ? HIGH : 0);
    if (neg_hi || neg_lo & 4 || op_sel & 3) return false;
    if (!integers && (neg_lo || clamp)) return false;
    return !op_sel || (!m->spread && wmma_bits(m->d) == 16);
}

static bool bind_wmma(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                      struct emu_op *o) {
    (void)row;
    unsigned i = 0, n = d->gen == GEN_12 ? N12 : N11;
    while (i < n && strcmp(shape(d->gen, i)->name, t->name))
        i++;
    if (i == n || t->ntok != 4 || t->words != 2) return false;
    const struct emu_wmma_row *m = shape(d->gen, i);
    const struct emu_tok *c = &t->tok[3];
    o->fn = h_wmma;
    o->mfma = (uint16_t)i;
    o->nsrc = 3;
    if (!bind_how(m, t, o)) return false;
    if (!isa_bind_vdst(d, &t->tok[0], wmma_cd_dwords(m), o)) return false;
    if (!bind_range(d, &t->tok[1], wmma_ab_dwords(m, m->a), &o->s[0])) return false;
    if (!bind_range(d, &t->tok[2], wmma_ab_dwords(m, m->b), &o->s[1])) return false;
    if (c->kind == TOK_INT || c->kind == TOK_FLOAT)
        return isa_bind_src(d, c,
                            m->d == W_I32   ? T_u32
                            : m->d == W_F16 ? T_f16
                                            : T_f32,
                            &o->s[2]) &&
               (m->d != W_BF16 || !o->s[2].imm);
    return bind_range(d, c, wmma_cd_dwords(m), &o->s[2]);
}

const struct emu_table *isa_wmma_table(void) {
    static struct emu_row rows[N12 + N11];
    static const struct emu_table t = {rows, N12 + N11};
    for (size_t i = 0; i < N12; i++)
        rows[i] = (struct emu_row){.name = gfx12[i].name, .bind = bind_wmma, .cls = C_MFMA};
    for (size_t i = 0; i < N11; i++)
        rows[N12 + i] = (struct emu_row){.name = gfx11[i].name, .bind = bind_wmma, .cls = C_MFMA};
    return &t;
}
