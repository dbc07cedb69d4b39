/* test_smfmac.c - sparse matrix instructions against the triple loop of what they leave out. Where
 * each element sits in the registers is computed here from AMD's published layout formulas. */
#include "tests/unit/isa/harness.h"

#include <math.h>

struct test {
    const char *name;
    int dim, k;
    bool half; /* f16, else bf16 */
};

static const struct test tests[] = {
    {"v_smfmac_f32_16x16x32_f16", 16, 32, true},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, false},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, true},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, false},
};
static const char *const how[] = {"", " abid:1", " abid:2", " abid:3", " cbsz:1 abid:2"};
static const int byte_of[] = {0, 1, 2, 3, 0};
enum { NTESTS = sizeof tests / sizeof *tests, NHOW = sizeof how / sizeof *how };
enum { A = 0, B = 2, INDEX = 6, D = 8, PER_LANE = 8 };

static float a[32][32], b[32][32], c[32][32];

static uint32_t element(bool half, float *value) {
    union {
        float f;
        uint32_t u;
        _Float16 h;
    } v = {.f = ((float)(int32_t)random32() / 2147483648.0f) * (float)(1 << random32() % 4)};
    if (half) {
        v.h = (_Float16)v.f;
        *value = v.h;
        return v.u & 0xffff;
    }
    uint32_t bits = v.u >> 16;
    v.u = bits << 16;
    *value = v.f;
    return bits;
}

static void put(struct emu_wave *w, int reg, int lane, int item, uint32_t bits) {
    w->v[reg + item / 2][lane] |= bits << 16 * (item % 2);
}

/* Two elements of every four, in their order. */
static void fill_a(struct emu_wave *w, const struct test *t, int byte) {
    for (int i = 0; i < t->dim; i++)
        for (int k = 0; k < t->k; k += 4) {
            uint32_t at = random32() % 3;
            for (int e = 0; e < 2; e++) {
                int lane = i + t->dim * (k / PER_LANE), item = k % PER_LANE / 2 + e;
                put(w, A, lane, item, element(t->half, &a[i][k + (int)at]));
                w->v[INDEX][lane] |= at << (8 * byte + 2 * item);
                at += e ? 0 : 1 + random32() % (3 - at);
            }
        }
}

static void fill(struct emu_wave *w, const struct test *t, int byte) {
    memset(a, 0, sizeof a);
    for (int lane = 0; lane < 64; lane++) /* the other bytes have no meaning */
        w->v[INDEX][lane] = random32() & ~(255u << 8 * byte);
    fill_a(w, t, byte);
    for (int j = 0; j < t->dim; j++)
        for (int k = 0; k < t->k; k++)
            put(w, B, j + t->dim * (k / PER_LANE), k % PER_LANE, element(t->half, &b[k][j]));
}

static uint32_t *sum_at(struct emu_wave *w, const struct test *t, int i, int j) {
    int groups = 64 / t->dim;
    return &w->v[D + i % 4 + 4 * (i / (4 * groups))][j + t->dim * (i / 4 % groups)];
}

static void run(struct machine *m, const struct test *t, int byte, uint64_t entry) {
    machine_restart(m, entry);
    struct emu_wave *w = m->waves[0];
    put64(&w->s[S_EXEC], 1); /* does not matter */
    memset(w->v[0], 0, sizeof w->v[0]);
    fill(w, t, byte);
    for (int i = 0; i < t->dim; i++)
        for (int j = 0; j < t->dim; j++) {
            element(false, &c[i][j]);
            memcpy(sum_at(w, t, i, j), &c[i][j], 4);
        }
    EXPECT(machine_run(m) == EMU_ENDED, "%s: %s: %s", t->name, m->fault.instruction, m->fault.what);
    for (int i = 0; i < t->dim; i++)
        for (int j = 0; j < t->dim; j++) {
            float want = c[i][j], got;
            for (int k = 0; k < t->k; k++)
                want = fmaf(a[i][k], b[k][j], want);
            memcpy(&got, sum_at(w, t, i, j), 4);
            EXPECT(got == want, "%s byte %d [%d][%d]: %g, not %g", t->name, byte, i, j, (double)got,
                   (double)want);
        }
}

int main(int argc, char **argv) {
    char text[NTESTS * NHOW * 128], *p = text;
    target_choose(argc, argv);
    for (int i = 0; i < NTESTS * NHOW; i++)
        p += sprintf(p, ".p2align 8\n%s v[%d:%d], v[0:1], v[2:5], v6%s\ns_endpgm\n",
                     tests[i / NHOW].name, D,
                     D + tests[i / NHOW].dim * tests[i / NHOW].dim / 64 - 1, how[i % NHOW]);
    struct code code = code_from_asm(text);
    struct machine *m = machine_create(&code, 0, 1);
    for (int round = 0; round < 8; round++)
        for (int i = 0; i < NTESTS * NHOW; i++)
            run(m, &tests[i / NHOW], byte_of[i % NHOW], (uint64_t)i * 256);
    machine_destroy(m);
    code_free(&code);
    printf("%d instructions, %d failures\n", NTESTS, failures);
    return failures != 0;
}
