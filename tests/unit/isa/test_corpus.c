/* test_corpus.c - what LLVM makes of ordinary kernels: every instruction in it must be known, and
 * some of the kernels must compute what they say. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

static void all_known(struct code *c, const char *name) {
    struct machine *m = machine_create(c, 0, 1);
    uint32_t at;
    for (size_t n = 0; (n = isa_unknown(m->program, n, &at));) {
        char s[128];
        isa_disassemble(m->program, at, s, sizeof s);
        EXPECT(false, "%s: unknown: %s", name, s);
    }
    EXPECT(m->program->nops > 5000, "%s: only %zu instructions", name, m->program->nops);
    machine_destroy(m);
}

/* Run KERNEL as one workgroup of WAVES times 64 items; ARGS is its explicit arguments, in BYTES
 * bytes. */
static void launch(struct code *c, const char *kernel, unsigned waves, const void *args,
                   size_t bytes) {
    struct packet {
        uint16_t header, setup, group[3], reserved;
        uint32_t grid[3], rest[9];
    } packet = {0, 1, {(uint16_t)(64 * waves), 1, 1}, 0, {64 * waves, 1, 1}, {0}};
    EXPECT(code_choose(c, kernel), "no kernel %s", kernel);
    unsigned lanes = target->lanes, real = waves * 64 / lanes;
    struct machine *m = machine_create(c, c->entry, real);
    uint8_t *kernarg = live_alloc(1024, false);
    uint8_t *scratch = live_alloc(64 * 4096 * waves, true);
    uint8_t *hidden = kernarg + ((bytes + 7) & ~(size_t)7);
    memcpy(kernarg, args, bytes);
    uint32_t blocks[3] = {1, 1, 1};
    uint16_t sizes[3] = {(uint16_t)(64 * waves), 1, 1}, dims = 1;
    memcpy(hidden, blocks, 12);
    memcpy(hidden + 12, sizes, 6);
    memcpy(hidden + 64, &dims, 2);
    struct packet *live = live_alloc(sizeof packet, false);
    *live = packet;
    m->dispatch.packet = live;
    m->dispatch.kernarg = (uintptr_t)kernarg;
    m->dispatch.scratch_bytes = 4096;
    for (unsigned i = 0; i < real; i++)
        emu_wave_init(m->waves[i], &m->group, i, scratch + lanes * 4096 * i);
    EXPECT(machine_run(m) == EMU_ENDED, "%s: %s: %s", kernel, m->fault.instruction, m->fault.what);
    machine_destroy(m);
}

struct three {
    void *a, *b, *o;
};
struct two {
    void *a, *o;
};

/* One float function on ordinary values, within ULPS. */
static void function(struct code *c, const char *kernel, double (*fn)(double), bool positive,
                     double ulps) {
    float *a = live_alloc(256, false), *o = live_alloc(256, true);
    for (int i = 0; i < 64; i++) {
        a[i] = (float)(int32_t)random32() / 1e8f;
        if (positive) a[i] = fabsf(a[i]);
    }
    struct two args = {a, o};
    launch(c, kernel, 1, &args, sizeof args);
    for (int i = 0; i < 64; i++) {
        int e;
        float want = (float)fn(a[i]);
        frexpf(want, &e);
        EXPECT(fabs((double)o[i] - want) <= ulps * ldexp(1, e - 24) || (isnan(o[i]) && isnan(want)),
               "%s(%g) gave %g, not %g", kernel, a[i], o[i], want);
    }
    live_drop(5);
}

static double function_rsqrt(double x) {
    return 1 / sqrt(x);
}

static void functions(struct code *c) {
    function(c, "k_float_exp", exp, false, 3);
    function(c, "k_float_log", log, true, 3);
    function(c, "k_float_sin", sin, false, 4);
    function(c, "k_float_cos", cos, false, 4);
    function(c, "k_float_tanh", tanh, false, 5);
    function(c, "k_float_erf", erf, false, 16);
    function(c, "k_float_sqrt", sqrt, true, 0);
    function(c, "k_float_rsqrt", function_rsqrt, true, 2);
    function(c, "k_float_cbrt", cbrt, false, 2);
    function(c, "k_float_lgamma", lgamma, true, 60);
    function(c, "k_float_round", round, false, 0);
}

/* The double functions go through v_div_scale, v_div_fmas, v_trig_preop and friends. */
static void doubles(struct code *c) {
    static const struct {
        const char *kernel;
        double (*fn)(double);
        double scale;
    } list[] = {{"k_double_exp", exp, 20},   {"k_double_log", log, -1e3},
                {"k_double_sin", sin, 1e3},  {"k_double_cos", cos, 1e12},
                {"k_double_tan", tan, 1e22}, {"k_double_sqrt", sqrt, -5},
                {"k_double_tanh", tanh, 3}};
    for (size_t k = 0; k < sizeof list / sizeof *list; k++) {
        double *a = live_alloc(512, false), *o = live_alloc(512, true);
        for (int i = 0; i < 64; i++) {
            a[i] = (double)(int64_t)random64() / 9.3e18 * list[k].scale;
            if (list[k].scale < 0) a[i] = fabs(a[i]);
        }
        struct two args = {a, o};
        launch(c, list[k].kernel, 1, &args, sizeof args);
        for (int i = 0; i < 64; i++) {
            double want = list[k].fn(a[i]);
            EXPECT(fabs(o[i] - want) <= 4e-16 * 4 * fabs(want), "%s(%.17g) gave %.17g, not %.17g",
                   list[k].kernel, a[i], o[i], want);
        }
        live_drop(5);
    }
}

static void division(struct code *c) {
    for (int round = 0; round < 20; round++) {
        uint32_t *a = live_alloc(256, false), *b = live_alloc(256, false),
                 *o = live_alloc(256, true);
        double *x = live_alloc(512, false), *y = live_alloc(512, false), *z = live_alloc(512, true);
        int32_t *p = live_alloc(256, false), *q = live_alloc(256, false),
                *r = live_alloc(256, true);
        float f[3];
        for (int i = 0; i < 64; i++) {
            uint64_t u = random_f64(), v = random_f64();
            a[i] = random_f32();
            b[i] = random_f32();
            memcpy(&x[i], &u, 8);
            memcpy(&y[i], &v, 8);
            p[i] = (int32_t)random32();
            q[i] = (int32_t)random32() >> random32() % 31;
        }
        struct three args = {a, b, o}, dargs = {x, y, z}, iargs = {p, q, r};
        launch(c, "quotient_float", 1, &args, sizeof args);
        launch(c, "quotient_double", 1, &dargs, sizeof dargs);
        launch(c, "div_int", 1, &iargs, sizeof iargs);
        for (int i = 0; i < 64; i++) {
            memcpy(&f[0], &a[i], 4);
            memcpy(&f[1], &b[i], 4);
            memcpy(&f[2], &o[i], 4);
            float want = f[0] / f[1];
            /* the last rounding of a denormal quotient may go either way */
            bool close = fabsf(want) < 0x1p-126f && fabsf(f[2] - want) <= 0x1p-149f;
            EXPECT(f[2] == want || close || (isnan(want) && isnan(f[2])), "%a / %a gave %a, not %a",
                   f[0], f[1], f[2], want);
            double dwant = x[i] / y[i];
            close = fabs(dwant) < 0x1p-1022 && fabs(z[i] - dwant) <= 0x1p-1074;
            EXPECT(z[i] == dwant || close || (isnan(dwant) && isnan(z[i])),
                   "%a / %a gave %a, not %a", x[i], y[i], z[i], dwant);
            int64_t d = q[i] | 1, iwant = p[i] / d + p[i] % d;
            EXPECT(r[i] == (int32_t)iwant, "%d over %d", p[i], q[i]);
        }
        live_drop(18);
    }
}

static void reduction(struct code *c) {
    float *a = live_alloc(1024, false), *o = live_alloc(4, true), want = 0;
    for (int i = 0; i < 256; i++)
        want += a[i] = (float)(random32() % 1000);
    struct two args = {a, o};
    launch(c, "lds_reduce", 4, &args, sizeof args);
    EXPECT(*o == want, "lds_reduce: %g, not %g", *o, want);
    live_drop(5);
}

static void atomics(struct code *c) {
    int32_t *o = live_alloc(256 * 4, true), *g = live_alloc(64, true);
    for (int i = 0; i < 256; i++)
        o[i] = i < 8 ? -i : 0;
    g[8] = 5;
    struct two args = {o, g};
    launch(c, "latomic_int", 4, &args, sizeof args);
    EXPECT(g[3] == 0 && g[4] == 255 && g[5] == 0 && g[6] == 0xff,
           "global min, max, and, or: %d %d %d %d", g[3], g[4], g[5], g[6]);
    EXPECT(g[0] == -g[1] && g[0] != 0, "global add and sub: %d %d", g[0], g[1]);
    live_drop(5);
}

static void calls(struct code *c) {
    int32_t *p = live_alloc(1024, false), *o = live_alloc(1024, true), want[64];
    for (int i = 0; i < 256; i++)
        p[i] = (int32_t)random32() >> 4;
    for (int l = 0; l < 64; l++) {
        int32_t k = l & 7;
        want[l] = 0;
        for (int i = 0; i < k; i++)
            want[l] = (int32_t)((uint32_t)want[l] * 31 + (uint32_t)(p[l + i] % (k + 1)));
    }
    struct two args = {p, o};
    launch(c, "calls", 1, &args, sizeof args);
    for (int l = 0; l < 64; l++)
        EXPECT(o[l] == want[l], "calls: %d, not %d", o[l], want[l]);
    live_drop(5);
}

static void dynamic_index(struct code *c) {
    for (int k = 0; k < 16; k++) {
        float *p = live_alloc(4096, false), *o = live_alloc(256, true);
        for (int i = 0; i < 1024; i++)
            p[i] = (float)(random32() % 1024) - 512;
        struct {
            void *p, *o;
            int k;
        } args = {p, o, k};
        launch(c, "select_dynamic", 1, &args, sizeof args);
        for (int l = 0; l < 64; l++) {
            float v[16];
            for (int i = 0; i < 16; i++)
                v[i] = p[l + 64 * i];
            v[k & 15] = 3;
            float want = v[(k * 7) & 15] + v[(int)v[1] & 15];
            EXPECT(o[l] == want, "select_dynamic %d: %g, not %g", k, o[l], want);
        }
        live_drop(5);
    }
}

static void generic(struct code *c) {
    for (int which = 0; which < 3; which++) {
        int32_t *g = live_alloc(2048, true);
        struct {
            void *g;
            int which;
        } args = {g, which};
        launch(c, "generic_memory", 1, &args, sizeof args);
        for (int l = 0; l < 64; l++) {
            int mine[4] = {which, 1, 2, 3};
            int start = which == 0 ? l : which == 1 ? 0 : mine[l & 3];
            int got = start + 6, lds = (l ^ 1) + (which == 0 ? 6 : 0);
            int own = which == 2 && (l & 3) == 1 ? 7 : 1;
            EXPECT(g[l + 128] == got + lds + own, "generic_memory %d lane %d: %d, not %d", which, l,
                   g[l + 128], got + lds + own);
        }
        live_drop(4);
    }
}

int main(int argc, char **argv) {
    target_choose(argc, argv);
    struct code math = code_from_cl(CORPUS "/math.cl"), rest = code_from_cl(CORPUS "/kernels.cl");
    all_known(&math, "math.cl");
    all_known(&rest, "kernels.cl");
    functions(&math);
    doubles(&math);
    division(&math);
    reduction(&rest);
    atomics(&rest);
    calls(&rest);
    dynamic_index(&rest);
    generic(&rest);
    code_free(&math);
    code_free(&rest);
    live_reset();
    printf("%d failures\n", failures);
    return failures != 0;
}
