/* test_valu.c - vector instructions on random values against plain C, each with all lanes on, with
 * some off, with a scalar source and with constants. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

union value {
    uint32_t u;
    int32_t i;
    float f;
    _Float16 h;
    uint16_t s;
    uint64_t q;
    double d;
    uint32_t uu[2];
    float ff[2];
    _Float16 hh[2];
};

typedef uint32_t (*oracle)(union value a, union value b, union value c, union value z,
                           union value *r);

/* ---- pieces of oracles ---- */

static int32_t oracle_i24(uint32_t x) {
    x &= 0xffffff;
    return x & 0x800000 ? (int32_t)x - 0x1000000 : (int32_t)x;
}
static double oracle_mid(double a, double b, double c) {
    if ((a >= b && a <= c) || (a <= b && a >= c)) return a;
    return (b >= a && b <= c) || (b <= a && b >= c) ? b : c;
}
static float oracle_min(float a, float b) {
    if (isnan(a)) return b;
    if (isnan(b)) return a;
    if (a == b) return signbit(a) ? a : b;
    return a < b ? a : b;
}
static double oracle_min64(double a, double b) {
    if (isnan(a) || isnan(b)) return isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}
static double oracle_sin(double turns) {
    double t = turns - rint(turns);
    return t == 0 || t == 0.5 || t == -0.5 ? t * 0 : sin(t * 2 * M_PI);
}
static double oracle_cos(double turns) {
    double t = turns - floor(turns);
    return t == 0.25 || t == 0.75 ? 0 : cos(t * 2 * M_PI);
}
/* Once from double to half: gcc's conversion does not go through float. */
static _Float16 oracle_h(double d) {
    return (_Float16)d;
}
/* The half nearest below in magnitude, by search. */
static uint16_t oracle_rtz(float f) {
    union value v = {0};
    if (isnan(f)) return 0x7e00;
    uint16_t best = 0;
    for (int step = 0x4000; step; step >>= 1) {
        v.s = (uint16_t)(best + step);
        if (v.s <= 0x7bff && (float)v.h <= fabsf(f)) best = v.s;
    }
    if (isinf(f)) best = 0x7c00;
    return signbit(f) ? best | 0x8000 : best;
}
static uint32_t oracle_perm(uint32_t a, uint32_t b, uint32_t sel) {
    uint8_t pool[8], out[4];
    memcpy(pool, &b, 4);
    memcpy(pool + 4, &a, 4);
    for (int i = 0; i < 4; i++) {
        uint32_t s = sel >> 8 * i & 255;
        if (s < 8)
            out[i] = pool[s];
        else if (s < 12)
            out[i] = pool[2 * (s - 8) + 1] & 0x80 ? 255 : 0;
        else
            out[i] = s == 12 ? 0 : 255;
    }
    memcpy(&b, out, 4);
    return b;
}
#define EACH16(e)                                                                                  \
    for (int k = 0; k < 2; k++) {                                                                  \
        uint16_t x = (uint16_t)(a.u >> 16 * k), y = (uint16_t)(b.u >> 16 * k);                     \
        uint16_t w = (uint16_t)(c.u >> 16 * k);                                                    \
        (void)w;                                                                                   \
        r.u |= (uint32_t)(uint16_t)(e) << 16 * k;                                                  \
    }
#define EACHH(e)                                                                                   \
    for (int k = 0; k < 2; k++) {                                                                  \
        double x = a.hh[k], y = b.hh[k], w = c.hh[k];                                              \
        (void)w;                                                                                   \
        r.hh[k] = oracle_h(e);                                                                     \
    }

static float daz(float x) {
    return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}
/* IEEE 754-2019: NaN wins, -0 is the lesser zero. */
static double oracle_minimum(double a, double b) {
    if (isnan(a) || isnan(b)) return NAN;
    return a < b || (a == b && signbit(a)) ? a : b;
}
static float bf16_at(uint32_t pair, int n) {
    uint32_t u = n ? pair >> 16 << 16 : pair << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
/* To nearest, ties to even: the nearer of the two neighbours, by value. */
static uint32_t oracle_bf16(float f) {
    uint32_t u, down;
    memcpy(&u, &f, 4);
    if (isnan(f)) return u >> 16 | 0x40;
    down = u >> 16;
    double lo = bf16_at(down, 0), hi = bf16_at(down + 1, 0);
    if (isinf(hi) && !isinf(f)) hi = copysign(0x1p128, f);
    double to_lo = fabs((double)f - lo), to_hi = fabs(hi - (double)f);
    return isinf(f) || to_lo < to_hi || (to_lo == to_hi && !(down & 1)) ? down : down + 1;
}

#define CASE(name, kinds, ulps, ...)                                                               \
    static uint32_t o_##name(union value a, union value b, union value c, union value z,           \
                             union value *out) {                                                   \
        union value r = {.q = 0};                                                                  \
        uint32_t r2 = 0;                                                                           \
        (void)a, (void)b, (void)c, (void)z;                                                        \
        __VA_ARGS__;                                                                               \
        *out = r;                                                                                  \
        return r2;                                                                                 \
    }
#define CLAMPED(name, kinds, ulps, ...) CASE(name##_clamp, kinds, ulps, __VA_ARGS__)
#define KEEPS CASE
#include "tests/unit/isa/valu_cases.def"
#undef CASE
#undef CLAMPED
#undef KEEPS

struct test {
    const char *name, *kinds, *suffix;
    int ulps;
    bool keeps; /* the other half of the destination */
    oracle fn;
};
#define CASE(name, kinds, ulps, ...) {#name, kinds, "", ulps, false, o_##name},
#define CLAMPED(name, kinds, ulps, ...) {#name, kinds, " clamp", ulps, false, o_##name##_clamp},
#define KEEPS(name, kinds, ulps, ...) {#name, kinds, "", ulps, true, o_##name},
static const struct test tests[] = {
#include "tests/unit/isa/valu_cases.def"
};
enum { NTESTS = sizeof tests / sizeof *tests };

/* ---- programs: a slot of 256 bytes for each test and form ---- */

enum form { FORM_VECTOR, FORM_SCALAR, FORM_FEW_LANES, FORMS };
enum { SLOT = 256, D = 10, MASK_OUT = 20, MASK_IN = 24, SCALAR = 16 };

static bool wide(char kind) {
    return strchr("qdF", kind) != NULL;
}

static int mask_operand(char *out, int reg) {
    return target->lanes == 64 ? sprintf(out, "s[%d:%d]", reg, reg + 1) : sprintf(out, "s%d", reg);
}

/* HALVES: 16-bit values are in named halves of registers. */
static int operand(char *out, char kind, int reg, bool scalar, bool halves) {
    if (kind == 'm') return mask_operand(out, MASK_IN);
    char file = scalar ? 's' : 'v';
    if (halves && !scalar && strchr("hs", kind)) return sprintf(out, "v%d.l", reg);
    if (wide(kind)) return sprintf(out, "%c[%d:%d]", file, reg, reg + 1);
    return sprintf(out, "%c%d", file, reg);
}

/* One scalar operand at most: a mask counts. */
static bool scalar_source(const char *sources, int n, enum form form) {
    return form == FORM_SCALAR && n == 0 && !strchr(sources, 'm');
}

/* How an instruction may have to be written; the first way that the assembler takes is meant. */
enum { WAY_HALVES = 1, WAY_SHORT = 2, WAYS = 4 };

static void assemble(char *out, const struct test *t, enum form form, int way) {
    const char *k = t->kinds + 1;
    bool vop3 = strstr(t->name, "_co_") || !strcmp(t->name, "v_cndmask_b32") || *t->suffix;
    bool halves = way & WAY_HALVES;
    if (way & WAY_SHORT) vop3 = false;
    out +=
        sprintf(out, "%s%s ", target_name(t->name), vop3 && !strstr(t->name, "_i32") ? "_e64" : "");
    out += operand(out, t->kinds[0], D, false, halves);
    if (*k == 'm') {
        out += sprintf(out, ", ");
        out += mask_operand(out, MASK_OUT);
        k++;
    }
    for (int n = 0; k[n]; n++) {
        out += sprintf(out, ", ");
        bool scalar = scalar_source(k, n, form);
        out += operand(out, k[n], scalar ? SCALAR : 4 + 2 * n, scalar, halves);
    }
    if (!strcmp(t->name, "v_pk_mov_b32")) out += sprintf(out, " op_sel:[0,0]");
    strcpy(out, t->suffix);
}

static union value random_value(char kind) {
    union value v = {.q = 0};
    switch (kind) {
    case 'f':
        v.u = random_f32();
        break;
    case 'F':
        v.uu[0] = random_f32();
        v.uu[1] = random_f32();
        break;
    case 'h':
        v.u = random_f16() | random32() << 16;
        break;
    case 'H':
        v.u = random_f16() | random_f16() << 16;
        break;
    case 'd':
        v.q = random_f64();
        break;
    case 'e':
        v.i = (int32_t)(random32() % 400) - 200;
        break;
    case 'm':
        v.u = random32() & 1;
        break;
    case 'q':
        v.q = random64() >> (random32() % 3 * 24);
        break;
    default:
        v.u = random32() & 3 ? random32() : random32() % 40;
    }
    return v;
}

static bool same_float(double x, double y, uint64_t bx, uint64_t by, int ulps, double one_ulp) {
    if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
    if (bx == by) return true;
    return ulps && fabs(x - y) <= ulps * one_ulp;
}

static bool same(const struct test *t, char kind, union value got, union value want) {
    int e;
    switch (kind) {
    case 'f':
        frexpf(want.f, &e);
        return same_float(got.f, want.f, got.u, want.u, t->ulps,
                          ldexp(1, e < -125 ? -149 : e - 24));
    case 'd':
        frexp(want.d, &e);
        return same_float(got.d, want.d, got.q, want.q, t->ulps, ldexp(1, e - 53));
    case 'h':
        frexpf((float)want.h, &e);
        return same_float((float)got.h, (float)want.h, got.s, want.s, t->ulps,
                          ldexp(1, e < -13 ? -24 : e - 11));
    case 'F':
        return same_float(got.ff[0], want.ff[0], got.uu[0], want.uu[0], 0, 0) &&
               same_float(got.ff[1], want.ff[1], got.uu[1], want.uu[1], 0, 0);
    case 'H':
        return same_float((float)got.hh[0], (float)want.hh[0], got.s, want.s, 0, 0) &&
               same_float((float)got.hh[1], (float)want.hh[1], got.u >> 16, want.u >> 16, 0, 0);
    case 's':
        return got.s == want.s;
    default:
        return wide(kind) ? got.q == want.q : got.u == want.u;
    }
}

static union value lane_of(const struct emu_wave *w, int reg, int lane) {
    union value v = {.q = 0};
    v.uu[0] = w->v[reg][lane];
    v.uu[1] = w->v[reg + 1][lane];
    return v;
}

/* Since gfx11 every 16-bit result leaves the other half alone. */
static bool keeps(const struct test *t) {
    return t->keeps || target->lanes == 32;
}

static void run(struct machine *m, const struct test *t, enum form form, uint64_t entry) {
    machine_restart(m, entry);
    struct emu_wave *w = m->waves[0];
    const char *k = t->kinds + 1;
    bool mask_out = *k == 'm';
    if (mask_out) k++;
    union value in[3][LANES], old[LANES];
    memset(in, 0, sizeof in);
    put64(&w->s[MASK_OUT], random64());
    for (int i = 0; i < LANES; i++) {
        old[i].uu[0] = t->ulps || strchr("fFd", t->kinds[0]) ? random_f32() : random32();
        old[i].uu[1] = strchr("dF", t->kinds[0]) ? 0x3ff00000 + (random32() & 0xfffff) : random32();
        w->v[D][i] = old[i].uu[0];
        w->v[D + 1][i] = old[i].uu[1];
    }
    for (int n = 0; k[n]; n++) {
        uint64_t mask = 0;
        for (int i = 0; i < LANES; i++) {
            bool scalar = scalar_source(k, n, form);
            in[n][i] = scalar && i ? in[n][0] : random_value(k[n]);
            w->v[4 + 2 * n][i] = in[n][i].uu[0];
            w->v[5 + 2 * n][i] = in[n][i].uu[1];
            if (scalar) put64(&w->s[SCALAR], in[n][i].q);
            mask |= (uint64_t)(in[n][i].u & 1) << i;
        }
        if (k[n] == 'm') put64(&w->s[MASK_IN], mask);
    }
    uint64_t exec = w->full & (form == FORM_FEW_LANES ? random64() : UINT64_MAX);
    put64(&w->s[S_EXEC], exec);
    enum emu_stop s = machine_run(m);
    EXPECT(s == EMU_ENDED, "%s: %s: %s", t->name, m->fault.instruction, m->fault.what);
    if (s != EMU_ENDED) return;
    uint64_t out = get64(&w->s[MASK_OUT]);
    for (int i = 0; i < (int)target->lanes; i++) {
        union value got = lane_of(w, D, i), want = old[i];
        bool on = exec >> i & 1;
        uint32_t bit = on ? t->fn(in[0][i], in[1][i], in[2][i], old[i], &want) : 0;
        bool high = true;
        if (strchr("sh", t->kinds[0]) && on) high = got.u >> 16 == (keeps(t) ? old[i].u >> 16 : 0);
        EXPECT(on ? same(t, t->kinds[0], got, want) && high : got.q == old[i].q,
               "%s form %d lane %d: (%llx, %llx, %llx) gave %llx, not %llx", t->name, form, i,
               (unsigned long long)in[0][i].q, (unsigned long long)in[1][i].q,
               (unsigned long long)in[2][i].q, (unsigned long long)got.q,
               (unsigned long long)want.q);
        if (mask_out)
            EXPECT((out >> i & 1) == bit, "%s form %d lane %d: (%llx, %llx, %llx) mask bit",
                   t->name, form, i, (unsigned long long)in[0][i].q, (unsigned long long)in[1][i].q,
                   (unsigned long long)in[2][i].q);
    }
}

/* The lines that TEST assembles to, one for each form; false when the target has no such
 * instruction. */
static bool find_ways(char (*line)[128], bool *has) {
    static char all[NTESTS * WAYS * FORMS][128];
    static const char *lines[NTESTS * WAYS * FORMS];
    static bool known[NTESTS * WAYS * FORMS];
    bool any = false;
    for (int i = 0; i < NTESTS * WAYS * FORMS; i++) {
        assemble(all[i], &tests[i / FORMS / WAYS], (enum form)(i % FORMS), i / FORMS % WAYS);
        lines[i] = all[i];
    }
    assembler_knows(lines, NTESTS * WAYS * FORMS, known);
    for (int t = 0; t < NTESTS; t++) {
        has[t] = false;
        /* there the assembler takes these for the unsigned ones, with another name */
        if (target->lanes == 32 && strstr(tests[t].name, "_i32_i") && strstr(tests[t].name, "dot"))
            continue;
        for (int way = 0; way < WAYS && !has[t]; way++) {
            int at = (t * WAYS + way) * FORMS;
            has[t] = known[at] && known[at + 1] && known[at + 2];
            for (int f = 0; has[t] && f < FORMS; f++)
                strcpy(line[t * FORMS + f], all[at + f]);
        }
        any |= has[t];
    }
    return any;
}

int main(int argc, char **argv) {
    static char line[NTESTS * FORMS][128];
    static bool has[NTESTS];
    target_choose(argc, argv);
    if (!find_ways(line, has)) return 1;
    char *text = malloc((size_t)NTESTS * FORMS * 256), *end = text;
    int count = 0;
    for (int i = 0; i < NTESTS; i++) {
        count += has[i];
        for (int f = 0; f < FORMS; f++)
            end += sprintf(end, ".p2align 8\n%s\ns_endpgm\n", line[i * FORMS + f]);
    }
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    uint32_t at;
    for (size_t n = 0; (n = isa_unknown(m->program, n, &at));) {
        char s[128];
        isa_disassemble(m->program, at, s, sizeof s);
        EXPECT(strncmp(s, "s_", 2) == 0 || s[0] == '.', "unknown: %s", s);
    }
    for (int round = 0; round < 40; round++)
        for (int i = 0; i < NTESTS; i++)
            for (int f = 0; has[i] && f < FORMS; f++)
                run(m, &tests[i], (enum form)f, (uint64_t)(i * FORMS + f) * SLOT);
    machine_destroy(m);
    code_free(&c);
    free(text);
    /* Most are common to all; fewer means that a name changed and the test does not know it. */
    int least = target->lanes == 64 ? 190 : 190;
    EXPECT(count >= least, "only %d of %d instructions assemble", count, NTESTS);
    if (getenv("MISSING"))
        for (int i = 0; i < NTESTS; i++)
            if (!has[i]) printf("not on %s: %s%s\n", target->name, tests[i].name, tests[i].suffix);
    printf("%d instructions, %d failures\n", count, failures);
    return failures != 0;
}
