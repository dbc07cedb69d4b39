/* test_mfma.c - matrix instructions against a triple loop. Where each element sits in the registers
 * is computed here from AMD's published layout formulas, one element at a time. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

enum kind { F32, F16, BF16, F64, I8, FP8, BF8 };
static const int size_of[] = {4, 2, 2, 8, 1, 1, 1};

struct test {
    const char *name;
    int m, n, k, blocks;
    enum kind a, b;
};

static const struct test tests[] = {
    {"v_mfma_f32_32x32x1_2b_f32", 32, 32, 1, 2, F32, F32},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 16, 1, 4, F32, F32},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 4, 1, 16, F32, F32},
    {"v_mfma_f32_32x32x2_f32", 32, 32, 2, 1, F32, F32},
    {"v_mfma_f32_16x16x4_f32", 16, 16, 4, 1, F32, F32},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 32, 4, 2, F16, F16},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 16, 4, 4, F16, F16},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 4, 16, F16, F16},
    {"v_mfma_f32_32x32x8_f16", 32, 32, 8, 1, F16, F16},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 16, 1, F16, F16},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 32, 4, 2, BF16, BF16},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 16, 4, 4, BF16, BF16},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 4, 16, BF16, BF16},
    {"v_mfma_f32_32x32x8_bf16", 32, 32, 8, 1, BF16, BF16},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 16, 1, BF16, BF16},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 16, 32, 1, FP8, FP8},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 16, 32, 1, FP8, BF8},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 32, 16, 1, BF8, FP8},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 32, 4, 2, I8, I8},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 16, 4, 4, I8, I8},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 4, 16, I8, I8},
    {"v_mfma_i32_32x32x16_i8", 32, 32, 16, 1, I8, I8},
    {"v_mfma_i32_16x16x32_i8", 16, 16, 32, 1, I8, I8},
    {"v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, F64, F64},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, F64, F64},
    /* gfx90a */
    {"v_mfma_f32_32x32x2bf16", 32, 32, 2, 2, BF16, BF16},
    {"v_mfma_f32_16x16x2bf16", 16, 16, 2, 4, BF16, BF16},
    {"v_mfma_f32_4x4x2bf16", 4, 4, 2, 16, BF16, BF16},
    {"v_mfma_f32_32x32x4bf16", 32, 32, 4, 1, BF16, BF16},
    {"v_mfma_f32_16x16x8bf16", 16, 16, 8, 1, BF16, BF16},
    {"v_mfma_i32_32x32x8i8", 32, 32, 8, 1, I8, I8},
    {"v_mfma_i32_16x16x16i8", 16, 16, 16, 1, I8, I8},
    /* gfx950 */
    {"v_mfma_f32_16x16x32_f16", 16, 16, 32, 1, F16, F16},
    {"v_mfma_f32_32x32x16_f16", 32, 32, 16, 1, F16, F16},
    {"v_mfma_f32_16x16x32_bf16", 16, 16, 32, 1, BF16, BF16},
    {"v_mfma_f32_32x32x16_bf16", 32, 32, 16, 1, BF16, BF16},
    {"v_mfma_i32_16x16x64_i8", 16, 16, 64, 1, I8, I8},
    {"v_mfma_i32_32x32x32_i8", 32, 32, 32, 1, I8, I8},
};
enum { NTESTS = sizeof tests / sizeof *tests };

struct place {
    int lane, item;
};

/* A[i][k] of block b in an M x K operand, B alike with j and N. */
static struct place input_place(int dim, int kdim, int blocks, int i, int k, int b) {
    int k_lanes = 64 / (dim * blocks), per = kdim / k_lanes;
    return (struct place){i + dim * (b + blocks * (k / per)), k % per};
}

/* D[i][j] of block b. H rows are in one lane's consecutive registers. */
static struct place output_place(const struct test *t, int i, int j, int b) {
    int h = t->a == F64 ? 1 : 4;
    int tile = t->n * t->m / h;
    int b_i = tile >= 64 ? 1 : 64 / tile, m_i = 64 / b_i / t->n, g = t->m / (h * m_i);
    return (struct place){j + t->n * ((i / h) % m_i + m_i * (b % b_i)),
                          i % h + h * (i / (h * m_i) + g * (b / b_i))};
}

/* gfx950's 8-bit floats have an exponent bias one less, and other NaNs. */
static int ocp(void) {
    return !strcmp(target->name, "gfx950");
}

static uint32_t random_element(enum kind k, double *value) {
    uint32_t bits = 0;
    union {
        float f;
        uint32_t u;
        _Float16 h;
    } v = {.u = 0};
    float f = ((float)(int32_t)random32() / 2147483648.0f) * (float)(1 << random32() % 4);
    switch (k) {
    case F16:
        v.h = (_Float16)f;
        bits = v.u & 0xffff;
        *value = v.h;
        break;
    case BF16:
        v.f = f;
        bits = v.u >> 16;
        v.u = bits << 16;
        *value = v.f;
        break;
    case I8:
        bits = random32() & 255;
        *value = (int8_t)bits;
        break;
    case FP8: {
        do
            bits = random32() & 255;
        while (bits == 0x80 || (ocp() && (bits & 0x7f) == 0x7f));
        int e = (int)(bits >> 3 & 15) + ocp(), m = bits & 7;
        *value = bits & 0x78 ? ldexp(8 + m, e - 11) : ldexp(m, -10 + ocp());
        if (bits & 0x80) *value = -*value;
        break;
    }
    case BF8: {
        do
            bits = random32() & 255;
        while (bits == 0x80 || (ocp() && (bits & 0x7c) == 0x7c));
        int e = (int)(bits >> 2 & 31) + ocp(), m = bits & 3;
        *value = bits & 0x7c ? ldexp(4 + m, e - 18) : ldexp(m, -17 + ocp());
        if (bits & 0x80) *value = -*value;
        break;
    }
    default:
        v.f = f;
        bits = v.u;
        *value = f;
    }
    return bits;
}

static void put(struct emu_wave *w, int reg, enum kind k, struct place p, uint32_t bits,
                double value) {
    if (k == F64) {
        uint64_t u;
        memcpy(&u, &value, 8);
        w->v[reg + 2 * p.item][p.lane] = (uint32_t)u;
        w->v[reg + 2 * p.item + 1][p.lane] = (uint32_t)(u >> 32);
        return;
    }
    int at = p.item * size_of[k];
    uint32_t *r = &w->v[reg + at / 4][p.lane];
    *r |= bits << 8 * (at % 4);
}

static double get(struct emu_wave *w, int reg, enum kind k, struct place p) {
    if (k == F64) {
        uint64_t u = w->v[reg + 2 * p.item][p.lane] | (uint64_t)w->v[reg + 2 * p.item + 1][p.lane]
                                                          << 32;
        double d;
        memcpy(&d, &u, 8);
        return d;
    }
    float f;
    uint32_t u = w->v[reg + p.item][p.lane];
    memcpy(&f, &u, 4);
    return k == I8 ? (double)(int32_t)u : f;
}

enum { A = 0, B = 8, C = 16, D = 48 };
static double a[64][64], b[64][64], c[64][64];

static void fill(struct emu_wave *w, const struct test *t, int block, bool zero_c) {
    for (int i = 0; i < t->m; i++)
        for (int k = 0; k < t->k; k++) {
            uint32_t bits = random_element(t->a, &a[i][k]);
            put(w, A, t->a, input_place(t->m, t->k, t->blocks, i, k, block), bits, a[i][k]);
        }
    for (int j = 0; j < t->n; j++)
        for (int k = 0; k < t->k; k++) {
            uint32_t bits = random_element(t->b, &b[k][j]);
            put(w, B, t->b, input_place(t->n, t->k, t->blocks, j, k, block), bits, b[k][j]);
        }
    for (int i = 0; i < t->m; i++)
        for (int j = 0; j < t->n; j++) {
            uint32_t bits = random_element(F32, &c[i][j]);
            struct place p = output_place(t, i, j, block);
            if (t->a == I8) bits = (uint32_t)(int32_t)(c[i][j] = (int16_t)bits);
            if (zero_c) c[i][j] = 0;
            if (t->a == F64)
                put(w, C, F64, p, 0, c[i][j]);
            else
                put(w, C, F32, p, bits, 0);
        }
}

static double expected(const struct test *t, int i, int j) {
    double acc = c[i][j];
    for (int k = 0; k < t->k; k++)
        acc = t->a == F64  ? fma(a[i][k], b[k][j], acc)
              : t->a == I8 ? acc + a[i][k] * b[k][j]
                           : fmaf((float)a[i][k], (float)b[k][j], (float)acc);
    return acc;
}

static void run(struct machine *m, const struct test *t, bool zero_c, uint64_t entry) {
    for (int block = 0; block < t->blocks; block++) {
        machine_restart(m, entry);
        struct emu_wave *w = m->waves[0];
        put64(&w->s[S_EXEC], 1); /* does not matter */
        memset(w->v[0], 0, sizeof w->v[0]);
        fill(w, t, block, zero_c);
        EXPECT(machine_run(m) == EMU_ENDED, "%s: %s: %s", t->name, m->fault.instruction,
               m->fault.what);
        for (int i = 0; i < t->m; i++)
            for (int j = 0; j < t->n; j++) {
                double want = expected(t, i, j);
                double got = get(w, D, t->a, output_place(t, i, j, block));
                EXPECT(got == want, "%s block %d [%d][%d]: %g, not %g", t->name, block, i, j, got,
                       want);
            }
    }
}

static int regs(char *out, int reg, int n) {
    return n == 1 ? sprintf(out, "v%d", reg) : sprintf(out, "v[%d:%d]", reg, reg + n - 1);
}

/* gfx90a has the shape without the blocks, bf16 with "_1k" and no underscore before the type. */
static void name_of(char *out, const struct test *t, bool old) {
    strcpy(out, t->name);
    if (!old) return;
    char *blocks = strstr(out, "b_"), *type = strrchr(out, '_');
    if (blocks) {
        char *from = blocks;
        while (*--from != '_')
            continue;
        memmove(from + 1, blocks + 2, strlen(blocks + 2) + 1);
        type = from;
    }
    memmove(type, type + 1, strlen(type));
    if (t->a == BF16) strcat(out, "_1k");
}

static void write_line(char *p, int i, bool old) {
    const struct test *t = &tests[i / 2];
    char name[64];
    name_of(name, t, old);
    int na = t->m * t->k * t->blocks * size_of[t->a] / 256;
    int nb = t->n * t->k * t->blocks * size_of[t->b] / 256;
    int nd = t->m * t->n * t->blocks / 64 * (t->a == F64 ? 2 : 1);
    p += sprintf(p, "%s ", name);
    p += regs(p, D, nd);
    p += sprintf(p, ", ");
    p += regs(p, A, na);
    p += sprintf(p, ", ");
    p += regs(p, B, nb);
    p += sprintf(p, ", ");
    p += i & 1 ? sprintf(p, "0") : regs(p, C, nd);
}

int main(int argc, char **argv) {
    static char line[4 * NTESTS][128];
    static const char *lines[4 * NTESTS];
    static bool known[4 * NTESTS];
    char text[NTESTS * 2 * 128], *p = text;
    int count = 0;
    target_choose(argc, argv);
    for (int i = 0; i < 4 * NTESTS; i++) {
        write_line(line[i], i / 2, i & 1);
        lines[i] = line[i];
    }
    assembler_knows(lines, 4 * NTESTS, known);
    for (int i = 0; i < 2 * NTESTS; i++) {
        bool has = known[2 * i] || known[2 * i + 1];
        count += has && i & 1;
        p += sprintf(p, ".p2align 8\n%s\ns_endpgm\n", has ? lines[2 * i + !known[2 * i]] : "");
    }
    struct code code = code_from_asm(text);
    struct machine *m = machine_create(&code, 0, 1);
    for (int round = 0; round < 3; round++)
        for (int i = 0; i < 2 * NTESTS; i++)
            if (known[2 * i] || known[2 * i + 1]) run(m, &tests[i / 2], i & 1, (uint64_t)i * 256);
    machine_destroy(m);
    code_free(&code);
    EXPECT(count >= 25, "only %d of %d instructions assemble", count, NTESTS);
    printf("%d instructions, %d failures\n", count, failures);
    return failures != 0;
}
