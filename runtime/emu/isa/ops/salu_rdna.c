/* salu_rdna.c - scalar instructions that gfx11 and gfx12 brought: masks of 32 lanes, 64-bit
 * integers, floating point. */
#include "runtime/emu/isa/lanes/lane_convert.h"

#include "runtime/emu/isa/isa.h"

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)
#define SCC w->s[S_SCC]

/* ---- EXEC of 32 lanes ---- */

/* The old EXEC (saveexec) or the new one (wrexec) is the result. */
#define SAVEEXEC(fn, value, kept)                                                                  \
    H(fn) {                                                                                        \
        uint32_t a = scalar32(w, &o->s[0]), e = w->s[S_EXEC], r = value;                           \
        w->s[o->sd] = kept;                                                                        \
        w->s[S_EXEC] = r;                                                                          \
        SCC = r != 0;                                                                              \
        return o + 1;                                                                              \
    }
SAVEEXEC(and_saveexec, a &e, e)
SAVEEXEC(or_saveexec, a | e, e)
SAVEEXEC(xor_saveexec, a ^ e, e)
SAVEEXEC(nand_saveexec, ~(a &e), e)
SAVEEXEC(nor_saveexec, ~(a | e), e)
SAVEEXEC(xnor_saveexec, ~(a ^ e), e)
SAVEEXEC(and_not0_saveexec, ~a &e, e)
SAVEEXEC(or_not0_saveexec, ~a | e, e)
SAVEEXEC(and_not1_saveexec, a & ~e, e)
SAVEEXEC(or_not1_saveexec, a | ~e, e)
SAVEEXEC(and_not0_wrexec, ~a &e, r)
SAVEEXEC(and_not1_wrexec, a & ~e, r)

/* ---- integers ---- */

#define INT64(fn, value)                                                                           \
    H(fn) {                                                                                        \
        uint64_t a = scalar64(w, &o->s[0]), b = scalar64(w, &o->s[1]);                             \
        put64(&w->s[o->sd], value);                                                                \
        return o + 1;                                                                              \
    }
INT64(add_u64, a + b)
INT64(sub_u64, a - b)
INT64(mul_u64, a *b)
H(pack_hl) {
    w->s[o->sd] = scalar32(w, &o->s[0]) >> 16 | scalar32(w, &o->s[1]) << 16;
    return o + 1;
}

/* ---- floating point ---- */

static float flush(const struct emu_wave *w, float x) {
    return w->flush32 && !(asu(x) & 0x7f800000) ? asf(asu(x) & 0x80000000) : x;
}
static float in32(const struct emu_wave *w, const struct emu_op *o, int n) {
    return flush(w, asf(scalar32(w, &o->s[n])));
}
static void out32(struct emu_wave *w, const struct emu_op *o, float x) {
    w->s[o->sd] = fix_nan32(asu(flush(w, x)));
}
static float in16(const struct emu_wave *w, const struct emu_op *o, int n) {
    return h2f(scalar32(w, &o->s[n]) & 0xffff);
}
static void out16(struct emu_wave *w, const struct emu_op *o, float x) {
    w->s[o->sd] = f2h(x);
}

#define FLOAT1(name, value)                                                                        \
    H(name##_f32) {                                                                                \
        float a = in32(w, o, 0);                                                                   \
        out32(w, o, value);                                                                        \
        return o + 1;                                                                              \
    }                                                                                              \
    H(name##_f16) {                                                                                \
        float a = in16(w, o, 0);                                                                   \
        out16(w, o, value);                                                                        \
        return o + 1;                                                                              \
    }
#define FLOAT2(name, value)                                                                        \
    H(name##_f32) {                                                                                \
        float a = in32(w, o, 0), b = in32(w, o, 1);                                                \
        out32(w, o, value);                                                                        \
        return o + 1;                                                                              \
    }                                                                                              \
    H(name##_f16) {                                                                                \
        float a = in16(w, o, 0), b = in16(w, o, 1);                                                \
        out16(w, o, value);                                                                        \
        return o + 1;                                                                              \
    }
#define COMPARE(name, cond)                                                                        \
    H(cmp_##name##_f32) {                                                                          \
        float a = in32(w, o, 0), b = in32(w, o, 1);                                                \
        SCC = (cond) ? 1 : 0;                                                                      \
        return o + 1;                                                                              \
    }                                                                                              \
    H(cmp_##name##_f16) {                                                                          \
        float a = in16(w, o, 0), b = in16(w, o, 1);                                                \
        SCC = (cond) ? 1 : 0;                                                                      \
        return o + 1;                                                                              \
    }

/* NaN in, NaN out; -0 is less than +0. */
static float minimum(float a, float b) {
    if (a != a || b != b) return asf(0x7fc00000);
    return a < b || (a == b && asu(a) >> 31) ? a : b;
}
static float maximum(float a, float b) {
    if (a != a || b != b) return asf(0x7fc00000);
    return a > b || (a == b && !(asu(a) >> 31)) ? a : b;
}

FLOAT1(ceil, __builtin_ceilf(a))
FLOAT1(floor, __builtin_floorf(a))
FLOAT1(trunc, __builtin_truncf(a))
FLOAT1(rndne, __builtin_rintf(a))
FLOAT2(add, a + b)
FLOAT2(sub, a - b)
FLOAT2(mul, a *b)
FLOAT2(min, fmin32(a, b))
FLOAT2(max, fmax32(a, b))
FLOAT2(minimum, minimum(a, b))
FLOAT2(maximum, maximum(a, b))
COMPARE(lt, a < b)
COMPARE(eq, a == b)
COMPARE(le, a <= b)
COMPARE(gt, a > b)
COMPARE(lg, a<b || a> b)
COMPARE(ge, a >= b)
COMPARE(o, a == a && b == b)
COMPARE(u, a != a || b != b)
COMPARE(nge, !(a >= b))
COMPARE(nlg, !(a < b || a > b))
COMPARE(ngt, !(a > b))
COMPARE(nle, !(a <= b))
COMPARE(neq, a != b)
COMPARE(nlt, !(a < b))

H(fmac_f32) {
    out32(w, o, __builtin_fmaf(in32(w, o, 0), in32(w, o, 1), flush(w, asf(w->s[o->sd]))));
    return o + 1;
}
H(fma_f32) {
    out32(w, o, __builtin_fmaf(in32(w, o, 0), in32(w, o, 1), in32(w, o, 2)));
    return o + 1;
}
H(fmac_f16) {
    w->s[o->sd] = f2h(fma16(in16(w, o, 0), in16(w, o, 1), h2f(w->s[o->sd] & 0xffff)));
    return o + 1;
}
H(cvt_f32_i32) {
    out32(w, o, (float)(int32_t)scalar32(w, &o->s[0]));
    return o + 1;
}
H(cvt_f32_u32) {
    out32(w, o, (float)scalar32(w, &o->s[0]));
    return o + 1;
}
H(cvt_i32_f32) {
    w->s[o->sd] = (uint32_t)f32_to_i32(in32(w, o, 0));
    return o + 1;
}
H(cvt_u32_f32) {
    w->s[o->sd] = f32_to_u32(in32(w, o, 0));
    return o + 1;
}
H(cvt_f16_f32) {
    out16(w, o, in32(w, o, 0));
    return o + 1;
}
H(cvt_f32_f16) {
    out32(w, o, h2f(scalar32(w, &o->s[0]) >> (o->row_arg ? 16 : 0) & 0xffff));
    return o + 1;
}
H(cvt_pk_rtz) {
    w->s[o->sd] = f2h_rtz(in32(w, o, 0)) | f2h_rtz(in32(w, o, 1)) << 16;
    return o + 1;
}

/* ---- v_s_*: transcendental functions of scalars, by the vector unit ---- */

FLOAT1(vexp, exp2_32(a))
FLOAT1(vlog, log2_32(a))
FLOAT1(vrcp, 1.0f / a)
FLOAT1(vrsq, (float)(1.0 / __builtin_sqrt((double)a)))
FLOAT1(vsqrt, __builtin_sqrtf(a))

/* Absolute value, negation, scaling and clamping are not modelled. */
static bool bind_vs(struct emu_decode *d, const struct emu_row *row, const struct emu_text *t,
                    struct emu_op *o) {
    if (t->word[0] & 0xff00 || t->word[1] >> 27) return false;
    return isa_bind_sig(d, row, t, o);
}

/* s_fmaak: a * b + K. s_fmamk: a * K + b, as the text has them in order too. */
#define ROW(name, fn, sig, arg)                                                                    \
    {                                                                                              \
#name, isa_bind_sig, fn, sig, C_SALU, arg, 0, NULL, {                                      \
            0                                                                                      \
        }                                                                                          \
    }
#define SAVE(name) ROW(s_##name##_saveexec_b32, name##_saveexec, "Dwsw", 0)
#define F1(name)                                                                                   \
    ROW(s_##name##_f32, name##_f32, "Dwsf", 0), ROW(s_##name##_f16, name##_f16, "Dwsh", 0)
#define F2AS(name, fn)                                                                             \
    ROW(s_##name##_f32, fn##_f32, "Dwsfsf", 0), ROW(s_##name##_f16, fn##_f16, "Dwshsh", 0)
#define FC(name)                                                                                   \
    ROW(s_cmp_##name##_f32, cmp_##name##_f32, "sfsf", 0),                                          \
        ROW(s_cmp_##name##_f16, cmp_##name##_f16, "shsh", 0)
#define VS(name)                                                                                   \
    {"v_s_" #name "_f32", bind_vs, v##name##_f32, "Dwsf", C_VALU, 0, 0, NULL, {0}}, {              \
        "v_s_" #name "_f16", bind_vs, v##name##_f16, "Dwsh", C_VALU, 0, 0, NULL, {                 \
            0                                                                                      \
        }                                                                                          \
    }

static const struct emu_row rows[] = {
    SAVE(and),
    SAVE(or),
    SAVE(xor),
    SAVE(nand),
    SAVE(nor),
    SAVE(xnor),
    SAVE(and_not0),
    SAVE(or_not0),
    SAVE(and_not1),
    SAVE(or_not1),
    ROW(s_and_not0_wrexec_b32, and_not0_wrexec, "Dwsw", 0),
    ROW(s_and_not1_wrexec_b32, and_not1_wrexec, "Dwsw", 0),
    ROW(s_add_nc_u64, add_u64, "Dqsqsq", 0),
    ROW(s_sub_nc_u64, sub_u64, "Dqsqsq", 0),
    ROW(s_mul_u64, mul_u64, "Dqsqsq", 0),
    ROW(s_pack_hl_b32_b16, pack_hl, "Dwswsw", 0),
    F1(ceil),
    F1(floor),
    F1(trunc),
    F1(rndne),
    F2AS(add, add),
    F2AS(sub, sub),
    F2AS(mul, mul),
    F2AS(min, min),
    F2AS(max, max),
    F2AS(min_num, min),
    F2AS(max_num, max),
    F2AS(minimum, minimum),
    F2AS(maximum, maximum),
    FC(lt),
    FC(eq),
    FC(le),
    FC(gt),
    FC(lg),
    FC(ge),
    FC(o),
    FC(u),
    FC(nge),
    FC(nlg),
    FC(ngt),
    FC(nle),
    FC(neq),
    FC(nlt),
    ROW(s_fmac_f32, fmac_f32, "Dwsfsf", 0),
    ROW(s_fmac_f16, fmac_f16, "Dwshsh", 0),
    ROW(s_fmaak_f32, fma_f32, "Dwsfsfsf", 0),
    ROW(s_fmamk_f32, fma_f32, "Dwsfsfsf", 0),
    ROW(s_cvt_f32_i32, cvt_f32_i32, "Dwsw", 0),
    ROW(s_cvt_f32_u32, cvt_f32_u32, "Dwsw", 0),
    ROW(s_cvt_i32_f32, cvt_i32_f32, "Dwsf", 0),
    ROW(s_cvt_u32_f32, cvt_u32_f32, "Dwsf", 0),
    ROW(s_cvt_f16_f32, cvt_f16_f32, "Dwsf", 0),
    ROW(s_cvt_f32_f16, cvt_f32_f16, "Dwsw", 0),
    ROW(s_cvt_hi_f32_f16, cvt_f32_f16, "Dwsw", 1),
    ROW(s_cvt_pk_rtz_f16_f32, cvt_pk_rtz, "Dwsfsf", 0),
    VS(exp),
    VS(log),
    VS(rcp),
    VS(rsq),
    VS(sqrt),
};

const struct emu_table *isa_salu_more_table(void) {
    static const struct emu_table t = {rows, sizeof rows / sizeof *rows};
    return &t;
}
