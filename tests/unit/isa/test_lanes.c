/* test_lanes.c - modifiers (neg, abs, clamp, omod, op_sel, DPP, SDWA), compares, constants, and
 * instructions that look across lanes. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

struct in {
    uint32_t a[LANES], b[LANES], c[LANES], old[LANES]; /* v4 v5 v6 v10 */
    uint64_t exec;
    uint32_t s; /* s4; s5 is its complement, vcc the pair */
};

/* What lane I of v10 becomes. */
typedef uint32_t (*oracle)(const struct in *, int i);

static float f(uint32_t u) {
    float x;
    memcpy(&x, &u, 4);
    return x;
}
static uint32_t u(float x) {
    uint32_t r;
    memcpy(&r, &x, 4);
    return r;
}
static _Float16 h(uint32_t x) {
    uint16_t s = (uint16_t)x;
    _Float16 r;
    memcpy(&r, &s, 2);
    return r;
}
static uint32_t hu(double x) {
    _Float16 r = (_Float16)x;
    uint16_t s;
    memcpy(&s, &r, 2);
    return s;
}
static bool on(const struct in *n, int i) {
    return n->exec >> i & 1;
}
static uint64_t vcc_of(const struct in *n) {
    return n->s | (uint64_t)~n->s << 32;
}
static float clamp(float x) {
    return x > 1 ? 1 : x > 0 ? x : 0;
}

/* What DPP reads as its first source: lane FROM, if it exists and is on; else 0 or nothing. */
static bool dpp(const struct in *n, const uint32_t *v, int from, uint32_t *out) {
    bool ok = from >= 0 && from < LANES && on(n, from);
    *out = ok ? v[from] : 0;
    return ok;
}
static int row_shift(int i, int by) {
    return (i & 15) + by < 0 || (i & 15) + by > 15 ? -1 : i + by;
}

#define IN (const struct in *n, int i)
#define A n->a[i]
#define B n->b[i]
#define C n->c[i]
#define OLD n->old[i]
/* A DPP move from lane FROM, without bound_ctrl */
#define MOVE(name, from)                                                                           \
    static uint32_t name IN {                                                                      \
        uint32_t x;                                                                                \
        return dpp(n, n->a, from, &x) ? x : OLD;                                                   \
    }
MOVE(dpp_shl3, row_shift(i, 3))
MOVE(dpp_shr1, row_shift(i, -1))
MOVE(dpp_ror5, (i & ~15) | ((i - 5) & 15))
MOVE(dpp_quad, (i & ~3) | (0x4e >> 2 * (i & 3) & 3))
MOVE(dpp_mirror, (i & ~15) | (15 - (i & 15)))
MOVE(dpp_half_mirror, (i & ~7) | (7 - (i & 7)))
MOVE(dpp_bcast15, (i & ~15) - 1)
MOVE(dpp_bcast31, i < 32 ? -1 : 31)
MOVE(dpp_newbcast, (i & ~15) | 6)
MOVE(dpp_wave_shl, i + 1)
MOVE(dpp_wave_ror, (i - 1) & 63)
static uint32_t dpp_bound IN {
    uint32_t x;
    dpp(n, n->a, row_shift(i, -4), &x);
    return x;
}
static uint32_t dpp_masks IN {
    uint32_t x;
    bool row = 0xa >> (i / 16) & 1, bank = 0x3 >> (i / 4 % 4) & 1;
    return row && bank && dpp(n, n->a, row_shift(i, -1), &x) ? x : OLD;
}
static uint32_t dpp_add IN {
    uint32_t x;
    return dpp(n, n->a, i ^ 1, &x) ? u(-f(x) + fabsf(f(B))) : OLD;
}
static uint32_t dpp_fmac IN {
    uint32_t x;
    return dpp(n, n->a, row_shift(i, 1), &x) ? u(fmaf(f(x), f(B), f(OLD))) : OLD;
}
static uint32_t fma_mods IN {
    return u(fmaf(-f(A), fabsf(f(B)), -fabsf(f(C))));
}
static uint32_t add_clamp IN {
    return u(clamp(f(A) + f(B)));
}
static uint32_t mul_omod2 IN {
    return u(f(A) * f(B) * 2);
}
static uint32_t mul_omod_half IN {
    return u(clamp(f(A) * f(B) * 0.5f));
}
static uint32_t half_opsel IN {
    return (OLD & 0xffff) | hu(fma(h(A >> 16), h(B), h(C >> 16))) << 16;
}
static uint32_t half_opsel_lo IN {
    return (OLD & 0xffff0000) | hu(fma(h(A), h(B >> 16), -(double)h(C)));
}
static uint32_t mix IN {
    return u(fmaf((float)h(A >> 16), f(B), -fabsf((float)h(C))));
}
static uint32_t mixlo IN {
    return (OLD & 0xffff0000) | hu(fmaf((float)h(A), (float)h(B), (float)h(C)));
}
static uint32_t mixhi IN {
    return (OLD & 0xffff) | hu(fmaf((float)h(A), (float)h(B >> 16), 1.0f)) << 16;
}
static uint32_t pk_mods IN {
    return hu((double)h(A >> 16) + h(B)) | hu(-(double)h(A >> 16) + h(B)) << 16;
}
static uint32_t pk_const IN {
    return hu((double)h(A) * 2) | hu((double)h(A >> 16) * 2) << 16;
}
static uint32_t pk_iconst IN {
    return ((A + 5) & 0xffff) | ((A >> 16) + 5) << 16;
}
static uint32_t pk_clamp IN {
    uint32_t lo = (A & 0xffff) + (B & 0xffff), hi = (A >> 16) + (B >> 16);
    return (lo > 65535 ? 65535 : lo) | (hi > 65535 ? 65535 : hi) << 16;
}
static uint32_t sdwa_bytes IN {
    return (A >> 8 & 255) + (uint32_t)(int8_t)(B >> 24);
}
static uint32_t sdwa_preserve IN {
    return (OLD & 0xffff) | ((A & 0xffff) + (B >> 16)) << 16;
}
static uint32_t sdwa_sext IN {
    uint32_t x = ((A & 255) + B) & 255;
    return (uint32_t)((int32_t)(x << 24) >> 24) << 8;
}
static uint32_t sdwa_half IN {
    return hu((double)h(A >> 16) * h(B)) << 16;
}
static uint32_t sdwa_word IN {
    return A >> 16;
}
static uint32_t constants IN {
    (void)n, (void)i;
    return u(0.15915494f + 0.5f);
}
static uint32_t literal IN {
    return A & 0x00ff1234;
}
static uint32_t negative_literal IN {
    return A + 0xffffff00u;
}
static uint32_t half_const IN {
    return hu((double)h(A) + 4.0);
}
static uint32_t int16_const IN {
    return (A - 5) & 0xffff;
}
static uint32_t fmamk IN {
    return u(fmaf(f(A), 0x1.8p3f, f(B)));
}
static uint32_t fmaak IN {
    return u(fmaf(f(A), f(B), 0x1.8p3f));
}
static uint32_t select_mask IN {
    return vcc_of(n) >> i & 1 ? B : A;
}
static uint32_t select_mods IN {
    return vcc_of(n) >> i & 1 ? B & 0x7fffffff : A ^ 0x80000000;
}
static uint32_t compare_float IN {
    return f(A) < f(B) ? 7 : 3;
}
static uint32_t compare_unordered IN {
    return !(f(A) >= f(B)) ? 7 : 3;
}
static uint32_t compare_abs IN {
    return fabsf(f(A)) > -f(B) ? 7 : 3;
}
static uint32_t compare_signed IN {
    return (int32_t)A <= (int32_t)B ? 7 : 3;
}
static uint32_t compare_short IN {
    return (int16_t)A > (int16_t)B ? 7 : 3;
}
static uint32_t compare_half IN {
    return h(A) != h(B) ? 7 : 3;
}
static uint32_t compare_class IN {
    return isnan(f(A)) || f(A) == 0 ? 7 : 3;
}
static uint32_t cmpx IN {
    return A < B ? 9 : OLD;
}
static uint32_t cmp_off IN {
    return on(n, i) && A < B;
}
static int first_on(const struct in *n) {
    return n->exec ? __builtin_ctzll(n->exec) : 0;
}
static uint32_t readfirst IN {
    (void)i;
    return n->a[first_on(n)];
}
static uint32_t readlane IN {
    (void)i;
    return n->a[n->s & 63];
}
static uint32_t writelane IN {
    return i == 17 ? n->s : OLD;
}
static uint32_t mbcnt IN {
    uint64_t m = n->b[0] | (uint64_t)n->c[0] << 32;
    (void)m;
    uint32_t r = 5;
    for (int k = 0; k < i; k++)
        r += (k < 32 ? A >> k : B >> (k - 32)) & 1;
    return r;
}
static uint32_t bpermute IN {
    int from = (int)((B + 8) >> 2 & 63);
    return on(n, from) ? n->a[from] : 0;
}
static uint32_t permute IN {
    uint32_t r = 0;
    for (int k = 0; k < LANES; k++)
        if (on(n, k) && (int)(n->b[k] >> 2 & 63) == i) r = n->a[k];
    return r;
}
static uint32_t swizzle_xor IN {
    int from = (i & 32) | (((i & 31 & 0x1e) | 0x01) ^ 0x0c);
    return on(n, from) ? n->a[from] : 0;
}
static uint32_t swizzle_quad IN {
    int from = (i & ~3) | (int[]){1, 1, 0, 3}[i & 3];
    return on(n, from) ? n->a[from] : 0;
}
static uint32_t swap IN {
    return A;
}
static uint32_t agpr IN {
    return u(f(A) + 1.0f);
}
static uint32_t indexed IN {
    return C;
}
static uint32_t indexed_to IN {
    return A;
}
static uint32_t carry_chain IN {
    uint64_t x = A | (uint64_t)B << 32, y = C | (uint64_t)A << 32;
    return (uint32_t)((x + y) >> 32);
}
static uint32_t pk_fma_swap IN {
    return u(fmaf(f(B), f(n->s), -f(A)));
}

struct test {
    const char *text;
    oracle fn;
    bool floats, all; /* inputs are ordinary floats; lanes that are off change too */
};
static const struct test tests[] = {
#define DPP " row_mask:0xf bank_mask:0xf"
    {"v_mov_b32_dpp v10, v4 row_shl:3" DPP, dpp_shl3, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_shr:1" DPP, dpp_shr1, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_ror:5" DPP, dpp_ror5, 0, 0},
    {"v_mov_b32_dpp v10, v4 quad_perm:[2,3,0,1]" DPP, dpp_quad, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_mirror" DPP, dpp_mirror, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_half_mirror" DPP, dpp_half_mirror, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_bcast:15" DPP, dpp_bcast15, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_bcast:31" DPP, dpp_bcast31, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_newbcast:6" DPP, dpp_newbcast, 0, 0},
    {"v_mov_b32_dpp v10, v4 wave_shl:1" DPP, dpp_wave_shl, 0, 0},
    {"v_mov_b32_dpp v10, v4 wave_ror:1" DPP, dpp_wave_ror, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_shr:4" DPP " bound_ctrl:0", dpp_bound, 0, 0},
    {"v_mov_b32_dpp v10, v4 row_shr:1 row_mask:0xa bank_mask:0x3", dpp_masks, 0, 0},
    {"v_add_f32_dpp v10, -v4, |v5| quad_perm:[1,0,3,2]" DPP, dpp_add, 1, 0},
    {"v_fmac_f32_dpp v10, v4, v5 row_shl:1" DPP, dpp_fmac, 1, 0},
    {"v_fma_f32 v10, -v4, |v5|, -|v6|", fma_mods, 1, 0},
    {"v_add_f32_e64 v10, v4, v5 clamp", add_clamp, 1, 0},
    {"v_mul_f32_e64 v10, v4, v5 mul:2", mul_omod2, 1, 0},
    {"v_mul_f32_e64 v10, v4, v5 clamp div:2", mul_omod_half, 1, 0},
    {"v_fma_f16 v10, v4, v5, v6 op_sel:[1,0,1,1]", half_opsel, 0, 0},
    {"v_fma_f16 v10, v4, v5, -v6 op_sel:[0,1,0,0]", half_opsel_lo, 0, 0},
    {"v_fma_mix_f32 v10, v4, v5, -|v6| op_sel:[1,0,0] op_sel_hi:[1,0,1]", mix, 1, 0},
    {"v_fma_mixlo_f16 v10, v4, v5, v6 op_sel_hi:[1,1,1]", mixlo, 0, 0},
    {"v_fma_mixhi_f16 v10, v4, v5, 1.0 op_sel:[0,1,0] op_sel_hi:[1,1,0]", mixhi, 0, 0},
    {"v_pk_add_f16 v10, v4, v5 op_sel:[1,0] op_sel_hi:[1,0] neg_hi:[1,0]", pk_mods, 0, 0},
    {"v_pk_mul_f16 v10, v4, 2.0 op_sel_hi:[1,0]", pk_const, 0, 0},
    {"v_pk_add_u16 v10, v4, 5 op_sel_hi:[1,0]", pk_iconst, 0, 0},
    {"v_pk_add_u16 v10, v4, v5 clamp", pk_clamp, 0, 0},
    {"v_add_u32_sdwa v10, v4, sext(v5) dst_sel:DWORD src0_sel:BYTE_1 src1_sel:BYTE_3", sdwa_bytes,
     0, 0},
    {"v_add_u32_sdwa v10, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_0 "
     "src1_sel:WORD_1",
     sdwa_preserve, 0, 0},
    {"v_add_u32_sdwa v10, v4, v5 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0 "
     "src1_sel:DWORD",
     sdwa_sext, 0, 0},
    {"v_mul_f16_sdwa v10, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 "
     "src1_sel:WORD_0",
     sdwa_half, 0, 0},
    {"v_mov_b32_sdwa v10, v4 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1", sdwa_word, 0, 0},
    {"v_mov_b32 v10, 0.15915494\nv_add_f32 v10, 0.5, v10", constants, 0, 0},
    {"v_and_b32 v10, 0x00ff1234, v4", literal, 0, 0},
    {"v_add_u32 v10, 0xffffff00, v4", negative_literal, 0, 0},
    {"v_add_f16 v10, 4.0, v4", half_const, 0, 0},
    {"v_add_u16 v10, -5, v4", int16_const, 0, 0},
    {"v_fmamk_f32 v10, v4, 0x41400000, v5", fmamk, 1, 0},
    {"v_fmaak_f32 v10, v4, v5, 0x41400000", fmaak, 1, 0},
    {"v_cndmask_b32 v10, v4, v5, vcc", select_mask, 0, 0},
    {"v_cndmask_b32_e64 v10, -v4, |v5|, vcc", select_mods, 0, 0},
#define SELECT "\nv_mov_b32 v7, 7\nv_mov_b32 v8, 3\nv_cndmask_b32 v10, v8, v7, vcc"
    {"v_cmp_lt_f32 vcc, v4, v5" SELECT, compare_float, 1, 0},
    {"v_cmp_nge_f32 vcc, v4, v5" SELECT, compare_unordered, 0, 0},
    {"v_cmp_gt_f32_e64 vcc, |v4|, -v5" SELECT, compare_abs, 1, 0},
    {"v_cmp_le_i32 vcc, v4, v5" SELECT, compare_signed, 0, 0},
    {"v_cmp_gt_i16 vcc, v4, v5" SELECT, compare_short, 0, 0},
    {"v_cmp_neq_f16 vcc, v4, v5" SELECT, compare_half, 0, 0},
    {"v_mov_b32 v7, 0x63\nv_cmp_class_f32 vcc, v4, v7" SELECT, compare_class, 0, 0},
    {"s_mov_b64 s[20:21], exec\nv_cmpx_lt_u32 vcc, v4, v5\nv_mov_b32 v10, 9\n", cmpx, 0, 0},
    {"v_cmp_lt_u32 vcc, v4, v5\ns_mov_b64 exec, -1\nv_cndmask_b32_e64 v10, 0, 1, vcc", cmp_off, 0,
     1},
    {"v_readfirstlane_b32 s8, v4\nv_mov_b32 v10, s8", readfirst, 0, 0},
    {"v_readlane_b32 s8, v4, s4\nv_mov_b32 v10, s8", readlane, 0, 0},
    {"v_writelane_b32 v10, s4, 17", writelane, 0, 1},
    {"v_mbcnt_lo_u32_b32 v7, v4, 5\nv_mbcnt_hi_u32_b32 v10, v5, v7", mbcnt, 0, 0},
    {"ds_bpermute_b32 v10, v5, v4 offset:8", bpermute, 0, 0},
    {"ds_permute_b32 v10, v5, v4", permute, 0, 0},
    {"ds_swizzle_b32 v10, v4 offset:0x303e", swizzle_xor, 0, 0},
    {"ds_swizzle_b32 v10, v4 offset:swizzle(QUAD_PERM,1,1,0,3)", swizzle_quad, 0, 0},
    {"v_swap_b32 v10, v4", swap, 0, 0},
    {"v_accvgpr_write_b32 a3, v4\nv_accvgpr_mov_b32 a2, a3\nv_accvgpr_read_b32 v7, a2\n"
     "v_add_f32 v10, 1.0, v7",
     agpr, 1, 0},
    {"s_mov_b32 s8, 2\ns_set_gpr_idx_on s8, gpr_idx(SRC0)\nv_mov_b32 v10, v4\ns_set_gpr_idx_off",
     indexed, 0, 0},
    {"s_mov_b32 s8, 3\ns_set_gpr_idx_on s8, gpr_idx(DST)\nv_mov_b32 v7, v4\ns_set_gpr_idx_off",
     indexed_to, 0, 0},
    {"v_add_co_u32 v7, vcc, v4, v6\nv_addc_co_u32 v10, vcc, v5, v4, vcc", carry_chain, 0, 0},
    {"v_mov_b32 v8, v4\nv_mov_b32 v9, v5\nv_pk_fma_f32 v[10:11], v[8:9], s[4:5], v[8:9] "
     "op_sel:[1,0,0] op_sel_hi:[0,0,1] neg_lo:[0,0,1]",
     pk_fma_swap, 1, 0},
};
enum { NTESTS = sizeof tests / sizeof *tests, SLOT = 256 };

static bool float_result(uint32_t x, uint32_t y) {
    bool both = (x & 0x7fffffff) > 0x7f800000 && (y & 0x7fffffff) > 0x7f800000;
    bool half = (x & 0x7fff) > 0x7c00 && (y & 0x7fff) > 0x7c00;
    bool high = (x >> 16 & 0x7fff) > 0x7c00 && (y >> 16 & 0x7fff) > 0x7c00;
    return x == y || both || (half && (high || x >> 16 == y >> 16)) ||
           (high && (x & 0xffff) == (y & 0xffff));
}

static void run(struct machine *m, const struct test *t, uint64_t entry, bool all_on) {
    struct in n = {.exec = all_on ? UINT64_MAX : random64(), .s = random32()};
    machine_restart(m, entry);
    struct emu_wave *w = m->waves[0];
    if (t->floats) n.s = u((float)(int32_t)random32() / 65536.0f);
    for (int i = 0; i < LANES; i++) {
        uint32_t *v[4] = {&n.a[i], &n.b[i], &n.c[i], &n.old[i]};
        static const int reg[4] = {4, 5, 6, 10};
        for (int k = 0; k < 4; k++) {
            *v[k] = t->floats ? u((float)(int32_t)random32() / 1e8f) : random32();
            if (!t->floats && random32() % 8 == 0) *v[k] = random_f32();
            if (!t->floats && random32() % 8 == 0) *v[k] = n.a[i];
            w->v[reg[k]][i] = *v[k];
        }
    }
    w->s[4] = w->s[S_VCC] = n.s;
    w->s[5] = w->s[S_VCC + 1] = ~n.s;
    put64(&w->s[S_EXEC], n.exec);
    enum emu_stop s = machine_run(m);
    EXPECT(s == EMU_ENDED, "%s: %s: %s", t->text, m->fault.instruction, m->fault.what);
    if (s != EMU_ENDED) return;
    for (int i = 0; i < LANES; i++) {
        uint32_t want = on(&n, i) || t->all ? t->fn(&n, i) : n.old[i];
        EXPECT(float_result(w->v[10][i], want),
               "%s: lane %d: %08x %08x %08x old %08x: %08x, not %08x", t->text, i, n.a[i], n.b[i],
               n.c[i], n.old[i], w->v[10][i], want);
    }
}

int main(void) {
    char *text = malloc(NTESTS * 512), *p = text;
    for (int i = 0; i < NTESTS; i++)
        p += sprintf(p, ".p2align 8\n%s\ns_endpgm\n", tests[i].text);
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    for (int round = 0; round < 50; round++)
        for (int i = 0; i < NTESTS; i++)
            run(m, &tests[i], (uint64_t)i * SLOT, round % 3 == 0);
    machine_destroy(m);
    code_free(&c);
    free(text);
    printf("%d programs, %d failures\n", NTESTS, failures);
    return failures != 0;
}
