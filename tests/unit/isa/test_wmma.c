/* test_wmma.c - matrix instructions of waves of 32 against a triple loop. Where each element sits
 * in the registers is written here from what AMD and users of the hardware publish, one element at
 * a time. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

enum kind { F32, F16, BF16, FP8, BF8, I32, I8, U8, I4, U4 };
static const int bits_of[] = {32, 16, 16, 8, 8, 32, 8, 8, 4, 4};

struct test {
    const char *name, *modifiers;
    int k;
    enum kind a, b, d;
};
static const struct test gfx11[] = {
    {"v_wmma_f32_16x16x16_f16", "", 16, F16, F16, F32},
    {"v_wmma_f32_16x16x16_bf16", "", 16, BF16, BF16, F32},
    {"v_wmma_f16_16x16x16_f16", "", 16, F16, F16, F16},
    {"v_wmma_f16_16x16x16_f16", " op_sel:[0,0,1]", 16, F16, F16, F16},
    {"v_wmma_bf16_16x16x16_bf16", "", 16, BF16, BF16, BF16},
    {"v_wmma_i32_16x16x16_iu8", "", 16, U8, U8, I32},
    {"v_wmma_i32_16x16x16_iu8", " neg_lo:[1,0,0]", 16, I8, U8, I32},
    {"v_wmma_i32_16x16x16_iu4", " neg_lo:[1,1,0]", 16, I4, I4, I32},
};
static const struct test gfx12[] = {
    {"v_wmma_f32_16x16x16_f16", "", 16, F16, F16, F32},
    {"v_wmma_f32_16x16x16_bf16", "", 16, BF16, BF16, F32},
    {"v_wmma_f16_16x16x16_f16", "", 16, F16, F16, F16},
    {"v_wmma_bf16_16x16x16_bf16", "", 16, BF16, BF16, BF16},
    {"v_wmma_f32_16x16x16_fp8_fp8", "", 16, FP8, FP8, F32},
    {"v_wmma_f32_16x16x16_fp8_bf8", "", 16, FP8, BF8, F32},
    {"v_wmma_f32_16x16x16_bf8_fp8", "", 16, BF8, FP8, F32},
    {"v_wmma_f32_16x16x16_bf8_bf8", "", 16, BF8, BF8, F32},
    {"v_wmma_i32_16x16x16_iu8", " neg_lo:[0,1,0]", 16, U8, I8, I32},
    {"v_wmma_i32_16x16x16_iu4", " neg_lo:[1,0,0]", 16, I4, U4, I32},
    {"v_wmma_i32_16x16x32_iu4", " neg_lo:[1,1,0]", 32, I4, I4, I32},
};
static bool is12;

/* Bit AT of the registers of a lane. */
struct place {
    int lane, at;
};

/* gfx12: lanes 0 to 15 have the first half of a row of A (column of B), the others the second. */
static struct place input_place(const struct test *t, enum kind kind, int i, int k) {
    int half = is12 ? k / (t->k / 2) : 0, e = is12 ? k % (t->k / 2) : k;
    return (struct place){i + 16 * half, e * bits_of[kind]};
}
/* Row 8 * (lane / 16) + v; gfx11: row 2 * v + lane / 16. */
static struct place output_place(const struct test *t, int i, int j) {
    bool small = bits_of[t->d] == 16, high = strstr(t->modifiers, "op_sel") != NULL;
    if (is12) return (struct place){j + 16 * (i / 8), i % 8 * bits_of[t->d]};
    return (struct place){j + 16 * (i % 2), i / 2 * 32 + (small && high ? 16 : 0)};
}

static void put(struct emu_wave *w, int reg, struct place p, int bits, uint32_t value) {
    uint32_t mask = bits == 32 ? UINT32_MAX : (1u << bits) - 1, *r;
    r = &w->v[reg + p.at / 32][p.lane];
    *r = (*r & ~(mask << p.at % 32)) | (value & mask) << p.at % 32;
}
static uint32_t get(struct emu_wave *w, int reg, struct place p, int bits) {
    uint32_t u = w->v[reg + p.at / 32][p.lane] >> p.at % 32;
    return bits == 32 ? u : u & ((1u << bits) - 1);
}

static double value_of(enum kind kind, uint32_t bits) {
    union {
        uint32_t u;
        float f;
        _Float16 h;
    } v = {.u = bits};
    double magnitude;
    switch (kind) {
    case F16:
        return (double)v.h;
    case BF16:
        v.u <<= 16;
        return v.f;
    case FP8:
        magnitude =
            bits & 0x78 ? ldexp(8 + (bits & 7), (int)(bits >> 3 & 15) - 10) : ldexp(bits & 7, -9);
        return bits & 0x80 ? -magnitude : magnitude;
    case BF8:
        magnitude =
            bits & 0x7c ? ldexp(4 + (bits & 3), (int)(bits >> 2 & 31) - 17) : ldexp(bits & 3, -16);
        return bits & 0x80 ? -magnitude : magnitude;
    case I8:
        return (int8_t)bits;
    case I4:
        return (int)bits - (bits & 8 ? 16 : 0);
    case I32:
        return (int32_t)bits;
    case F32:
        return v.f;
    default:
        return bits;
    }
}

static uint32_t random_element(enum kind kind) {
    union {
        uint32_t u;
        float f;
        _Float16 h;
    } v = {.u = 0};
    float f = (float)(int32_t)random32() / 2147483648.0f * (float)(1 << random32() % 4);
    switch (kind) {
    case F32:
        v.f = f;
        return v.u;
    case F16:
        v.h = (_Float16)f;
        return v.u & 0xffff;
    case BF16:
        v.f = f;
        return v.u >> 16;
    case FP8: /* no NaN */
        v.u = random32() & 0xff;
        return (v.u & 0x7f) == 0x7f ? 0 : v.u;
    case BF8: /* no infinity or NaN */
        v.u = random32() & 0xff;
        return (v.u & 0x7c) == 0x7c ? 0 : v.u;
    case I32:
        return (uint32_t)(int16_t)random32();
    default:
        return random32() & ((1u << bits_of[kind]) - 1);
    }
}

enum { A = 0, B = 8, C = 16, D = 24 };
static double a[16][32], b[32][16], c[16][16];

static void fill(struct emu_wave *w, const struct test *t, bool zero_c) {
    for (int i = 0; i < 16; i++)
        for (int k = 0; k < t->k; k++) {
            uint32_t x = random_element(t->a), y = random_element(t->b);
            struct place at = input_place(t, t->a, i, k), bt = input_place(t, t->b, i, k);
            a[i][k] = value_of(t->a, x);
            b[k][i] = value_of(t->b, y);
            for (int copy = 0; copy < (is12 ? 1 : 2); copy++) {
                put(w, A, at, bits_of[t->a], x);
                put(w, B, bt, bits_of[t->b], y);
                at.lane += 16;
                bt.lane += 16;
            }
        }
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            uint32_t x = random_element(t->d);
            c[i][j] = zero_c ? 0 : value_of(t->d, x);
            put(w, C, output_place(t, i, j), bits_of[t->d], x);
        }
}

/* Rounded once at the end where the result has 16 bits. */
static bool right(const struct test *t, int i, int j, uint32_t bits) {
    float acc = (float)c[i][j];
    double exact = c[i][j], got = value_of(t->d, bits);
    for (int k = 0; k < t->k; k++) {
        acc = fmaf((float)a[i][k], (float)b[k][j], acc);
        exact += a[i][k] * b[k][j];
    }
    if (t->d == I32) return got == exact;
    if (t->d == F32) return got == acc;
    if (t->d == F16) return got == (double)(_Float16)acc;
    return fabs(got - acc) <= fabs(acc) / 256;
}

static void run(struct machine *m, const struct test *t, bool zero_c, uint64_t entry) {
    machine_restart(m, entry);
    struct emu_wave *w = m->waves[0];
    uint32_t other = random32();
    fill(w, t, zero_c);
    for (int v = 0; v < 8; v++)
        for (int i = 0; i < LANES; i++)
            w->v[D + v][i] = other;
    EXPECT(machine_run(m) == EMU_ENDED, "%s: %s: %s", t->name, m->fault.instruction, m->fault.what);
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++) {
            struct place p = output_place(t, i, j);
            uint32_t got = get(w, D, p, bits_of[t->d]);
            EXPECT(right(t, i, j, got), "%s%s [%d][%d]: %g", t->name, t->modifiers, i, j,
                   value_of(t->d, got));
            if (!is12 && bits_of[t->d] == 16) {
                p.at ^= 16;
                EXPECT(get(w, D, p, 16) == (p.at & 16 ? other >> 16 : (other & 0xffff)),
                       "%s%s [%d][%d]: the other half changed", t->name, t->modifiers, i, j);
            }
        }
}

static int regs(char *out, int reg, int n) {
    return n == 1 ? sprintf(out, "v%d", reg) : sprintf(out, "v[%d:%d]", reg, reg + n - 1);
}

int main(int argc, char **argv) {
    target_choose(argc, argv);
    is12 = !strcmp(target->name, "gfx1201");
    const struct test *tests = is12 ? gfx12 : gfx11;
    int n = is12 ? sizeof gfx12 / sizeof *gfx12 : sizeof gfx11 / sizeof *gfx11;
    char text[2 * 16 * 160], *p = text;
    if (target->lanes != 32) return 2;
    for (int i = 0; i < 2 * n; i++) {
        const struct test *t = &tests[i / 2];
        int per = is12 ? t->k / 2 : t->k, nd = is12 && bits_of[t->d] == 16 ? 4 : 8;
        p += sprintf(p, ".p2align 8\n%s ", t->name);
        p += regs(p, D, nd);
        p += sprintf(p, ", ");
        p += regs(p, A, per * bits_of[t->a] / 32);
        p += sprintf(p, ", ");
        p += regs(p, B, per * bits_of[t->b] / 32);
        p += sprintf(p, ", ");
        p += i & 1 ? sprintf(p, "0") : regs(p, C, nd);
        p += sprintf(p, "%s\ns_endpgm\n", t->modifiers);
    }
    struct code code = code_from_asm(text);
    struct machine *m = machine_create(&code, 0, 1);
    for (int round = 0; round < 10; round++)
        for (int i = 0; i < 2 * n; i++)
            run(m, &tests[i / 2], i & 1, (uint64_t)i * 256);
    /* lanes that do not repeat, and lanes that are off */
    machine_restart(m, 0);
    fill(m->waves[0], &tests[0], false);
    m->waves[0]->v[A][20] ^= 1;
    EXPECT((machine_run(m) == EMU_FAULT) == !is12, "lanes 16 to 31: %s", m->fault.what);
    machine_restart(m, 0);
    fill(m->waves[0], &tests[0], false);
    m->waves[0]->s[S_EXEC] = 0x7fffffff;
    EXPECT(machine_run(m) == EMU_FAULT, "ran with a lane off");
    machine_destroy(m);
    code_free(&code);
    printf("%d instructions, %d failures\n", n, failures);
    return failures != 0;
}
