/* bind.c - operands of parsed text into the form handlers use.
 *
 * A signature names the operands in textual order, two characters each: what it is, then its type.
 *   d vector result   D scalar result   s source   - ignored (a register the encoding implies)
 * Types: w 32 bits, f f32, h f16, i 16-bit integer, q 64-bit integer, g f64, p packed 16-bit,
 * m a bit per lane, 2..8 a number of dwords, x 16 dwords. */
#include "runtime/emu/isa/lanes/lanes.h"

int isa_type_dwords(enum emu_type t) {
    switch (t) {
    case T_u64:
    case T_i64:
    case T_f64:
    case T_p32:
        return 2;
    case T_x96:
        return 3;
    case T_x128:
        return 4;
    default:
        return 1;
    }
}

static uint32_t half_bits(double v) {
    /* inline constants are few and exact, but for 1/(2 pi) */
    static const struct {
        double v;
        uint16_t bits;
    } halves[] = {{0.5, 0x3800}, {1, 0x3c00}, {2, 0x4000}, {4, 0x4400}};
    for (int i = 0; i < 4; i++) {
        if (v == halves[i].v) return halves[i].bits;
        if (v == -halves[i].v) return halves[i].bits | 0x8000u;
    }
    return v > 0.159 && v < 0.16 ? 0x3118 : v == 0 ? 0 : UINT32_MAX;
}

static bool constant_bits(const struct emu_tok *t, enum emu_type type, uint64_t *out) {
    bool is16 = type == T_u16 || type == T_i16 || type == T_f16;
    if (t->kind == TOK_INT) {
        if (type == T_f64 && t->literal)
            *out = t->i << 32;
        else if (isa_type_dwords(type) == 2)
            *out = type == T_p32 ? t->i & UINT32_MAX : t->literal ? (uint32_t)t->i : t->i;
        else
            *out = is16 ? t->i & 0xffff : t->i & UINT32_MAX;
        return true;
    }
    if (is16 || type == T_ph16 || type == T_p16) {
        *out = half_bits(t->f);
        return *out != UINT32_MAX;
    }
    float f = (float)t->f;
    if (type == T_f64 || type == T_u64 || type == T_i64) {
        memcpy(out, &t->f, 8);
    } else {
        uint32_t u;
        memcpy(&u, &f, 4);
        *out = u;
    }
    return true;
}

bool isa_bind_vreg(struct emu_decode *d, const struct emu_tok *t, int dwords, uint16_t *reg) {
    if (t->half && !d->halves) return false;
    if ((t->kind != TOK_VGPR && t->kind != TOK_AGPR) || t->count != dwords) return false;
    uint32_t end = (uint32_t)t->reg + t->count;
    if (t->kind == TOK_AGPR) {
        if (end > d->p->nagpr) d->p->nagpr = end;
        *reg = (uint16_t)(t->reg + MAX_VGPR); /* settled when the whole text is known */
    } else {
        if (end > d->p->nvgpr) d->p->nvgpr = end;
        *reg = t->reg;
    }
    return true;
}

bool isa_bind_src(struct emu_decode *d, const struct emu_tok *t, enum emu_type type,
                  struct emu_src *s) {
    memset(s, 0, sizeof *s);
    s->type = (uint8_t)type;
    s->dwords = (uint8_t)isa_type_dwords(type);
    uint16_t reg;
    switch (t->kind) {
    case TOK_VGPR:
    case TOK_AGPR:
        if (!isa_bind_vreg(d, t, s->dwords, &reg)) return false;
        s->kind = SRC_VGPR;
        s->reg = reg;
        s->high = t->half == 2;
        return true;
    case TOK_SGPR:
        if (t->reg == S_NULL) {
            s->kind = SRC_CONST;
            s->lane = isa_pool_broadcast(d->pool, 0, s->dwords);
            if (!s->lane) d->failed = true;
            return s->lane != NULL;
        }
        /* "src_shared_base" as 32 bits is the half that holds the aperture */
        s->kind = SRC_SGPR;
        s->reg = t->reg;
        if (t->reg >= S_SHARED_BASE && t->reg < S_SCC && s->dwords == 1)
            s->reg++;
        else if (t->count != s->dwords)
            return false;
        return true;
    case TOK_INT:
    case TOK_FLOAT:
        if (!constant_bits(t, type, &s->imm)) return false;
        s->kind = SRC_CONST;
        s->lane = isa_pool_broadcast(d->pool, s->imm, s->dwords);
        if (!s->lane) d->failed = true;
        return s->lane != NULL;
    default:
        return false;
    }
}

bool isa_bind_scalar(struct emu_decode *d, const struct emu_tok *t, enum emu_type type,
                     struct emu_src *s) {
    return isa_bind_src(d, t, type, s) && s->kind != SRC_VGPR;
}

bool isa_bind_vdst(struct emu_decode *d, const struct emu_tok *t, int dwords, struct emu_op *o) {
    o->d_vgpr = true;
    o->d_dwords = (uint8_t)dwords;
    o->d_high = t->half == 2;
    return isa_bind_vreg(d, t, dwords, &o->d);
}

bool isa_bind_sdst(const struct emu_tok *t, int dwords, uint16_t *reg) {
    *reg = t->reg;
    if (t->kind == TOK_SGPR && t->reg == S_NULL) return dwords <= NSGPR - S_NULL;
    if (t->kind != TOK_SGPR || t->count != dwords) return false;
    if (t->reg >= S_SHARED_BASE) return false;
    return true;
}

static bool sig_type(const struct emu_decode *d, char c, enum emu_type *type, int *dwords) {
    static const struct {
        char c;
        uint8_t type;
    } types[] = {{'w', T_u32}, {'f', T_f32}, {'h', T_f16}, {'i', T_u16},
                 {'q', T_u64}, {'g', T_f64}, {'p', T_p16}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (c == types[i].c) {
            *type = (enum emu_type)types[i].type;
            *dwords = isa_type_dwords(*type);
            return true;
        }
    }
    if (c == 'm') {
        *type = d->mask_dwords == 2 ? T_u64 : T_u32;
        *dwords = d->mask_dwords;
        return true;
    }
    *type = T_none;
    *dwords = c == 'x' ? 16 : c - '0';
    return c == 'x' || (c >= '1' && c <= '8');
}

/* Sources of more than two dwords are register ranges only. */
static bool bind_range(struct emu_decode *d, const struct emu_tok *t, int dwords,
                       struct emu_src *s) {
    uint16_t reg;
    memset(s, 0, sizeof *s);
    s->dwords = (uint8_t)dwords;
    if (t->kind == TOK_SGPR && t->count == dwords) {
        s->kind = SRC_SGPR;
        s->reg = t->reg;
        return t->reg < S_SHARED_BASE;
    }
    s->kind = SRC_VGPR;
    if (!isa_bind_vreg(d, t, dwords, &reg)) return false;
    s->reg = reg;
    return true;
}

bool isa_bind_sig(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                  struct emu_op *o) {
    int n = 0;
    o->fn = row->fn;
    o->kernel = row->kernel;
    o->row_arg = row->arg;
    o->row_arg2 = row->arg2;
    for (const char *s = row->sig; *s; s += 2, n++) {
        enum emu_type type;
        int dwords;
        if (n >= t->ntok) return false;
        const struct emu_tok *tok = &t->tok[n];
        if (*s == '-') continue;
        if (!sig_type(d, s[1], &type, &dwords)) return false;
        bool ok = true;
        if (*s == 'd') {
            o->d_type = (uint8_t)type;
            ok = isa_bind_vdst(d, tok, dwords, o);
        } else if (*s == 'D') {
            ok = isa_bind_sdst(tok, dwords, &o->sd);
        } else if (o->nsrc == 3) {
            return false;
        } else if (type == T_none) {
            ok = bind_range(d, tok, dwords, &o->s[o->nsrc++]);
        } else if (s[1] == 'm') {
            ok = isa_bind_scalar(d, tok, type, &o->s[o->nsrc++]);
        } else {
            ok = isa_bind_src(d, tok, type, &o->s[o->nsrc++]);
        }
        if (!ok) return false;
    }
    return n == t->ntok;
}
