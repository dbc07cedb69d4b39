/* test_salu.c - scalar instructions on random values against plain C, with SCC, and how control
 * moves. */
#include "tests/unit/isa/harness.h"

#include <math.h>
#include <stdlib.h>

union value {
    uint32_t u;
    int32_t i;
    uint64_t q;
    int64_t l;
};

/* Sets r and scc from a, b, e (EXEC) and the old scc; exec may be changed. */
typedef void (*oracle)(union value a, union value b, union value *r, uint64_t *exec, int *scc);

struct test {
    const char *name, *kinds; /* result, sources: u 32 bits, q 64 bits; x no result */
    oracle fn;
};

#define T(name, kinds, ...)                                                                        \
    static void o_##name(union value a, union value b, union value *rp, uint64_t *ep, int *sp) {   \
        union value r = *rp;                                                                       \
        uint64_t e = *ep;                                                                          \
        int scc = *sp;                                                                             \
        (void)a, (void)b, (void)e;                                                                 \
        __VA_ARGS__;                                                                               \
        *rp = r, *ep = e, *sp = scc;                                                               \
    }
#include "tests/unit/isa/salu_cases.def"
#undef T
#define T(name, kinds, ...) {#name, kinds, o_##name},
static const struct test tests[] = {
#include "tests/unit/isa/salu_cases.def"
};
enum { NTESTS = sizeof tests / sizeof *tests, SLOT = 256 };

static int operand(char *out, char kind, int reg) {
    return kind == 'q' ? sprintf(out, "s[%d:%d]", reg, reg + 1) : sprintf(out, "s%d", reg);
}

static int arithmetic(void) {
    static char line[NTESTS][128];
    static const char *lines[NTESTS];
    static bool known[NTESTS];
    char *text = malloc(NTESTS * 256), *end = text;
    int count = 0;
    for (int i = 0; i < NTESTS; i++) {
        const char *k = tests[i].kinds;
        char *p = line[i];
        int n = 0;
        p += sprintf(p, "%s ", target_name(tests[i].name));
        if (k[0] != 'x') p += operand(p, k[0], 20);
        for (n = 1; k[n]; n++) {
            if (k[0] != 'x' || n > 1) p += sprintf(p, ", ");
            p += operand(p, k[n], 2 + 2 * n);
        }
        lines[i] = line[i];
    }
    assembler_knows(lines, NTESTS, known);
    for (int i = 0; i < NTESTS; i++) {
        /* EXEC of 64 lanes */
        if (target->lanes == 32 && strstr(tests[i].name, "exec_b64")) known[i] = false;
        count += known[i];
        end += sprintf(end, ".p2align 8\n%s\ns_endpgm\n", known[i] ? line[i] : "");
    }
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < NTESTS; i++) {
            if (!known[i]) continue;
            union value in[2], r, got;
            machine_restart(m, (uint64_t)i * SLOT);
            struct emu_wave *w = m->waves[0];
            for (int n = 0; n < 2; n++) {
                in[n].q = random64();
                if (random32() % 4 == 0) in[n].q &= 0x3f;
                if (random32() % 8 == 0) in[n].q |= 0xffffffff00000000;
                if (random32() % 8 == 0 && n) in[n] = in[0];
                put64(&w->s[4 + 2 * n], in[n].q);
            }
            r.q = random64();
            put64(&w->s[20], r.q);
            int scc = (int)(random32() & 1);
            uint64_t exec = random64() & w->full;
            w->s[S_SCC] = (uint32_t)scc;
            put64(&w->s[S_EXEC], exec);
            EXPECT(machine_run(m) == EMU_ENDED, "%s: %s", tests[i].name, m->fault.what);
            union value want = r;
            tests[i].fn(in[0], in[1], &want, &exec, &scc);
            got.q = get64(&w->s[20]);
            EXPECT(got.q == want.q, "%s(%llx, %llx) gave %llx, not %llx", tests[i].name,
                   (unsigned long long)in[0].q, (unsigned long long)in[1].q,
                   (unsigned long long)got.q, (unsigned long long)want.q);
            EXPECT(w->s[S_SCC] == (uint32_t)scc, "%s(%llx, %llx): scc %u", tests[i].name,
                   (unsigned long long)in[0].q, (unsigned long long)in[1].q, w->s[S_SCC]);
            EXPECT(get64(&w->s[S_EXEC]) == exec, "%s: exec", tests[i].name);
        }
    }
    machine_destroy(m);
    code_free(&c);
    free(text);
    return count;
}

/* Each leaves what to look at in s0..s7. */
static void control(void) {
    static const struct {
        const char *text;
        uint32_t want[4];
    } programs[] = {
        {"s_mov_b32 s0, 0\n.La: s_add_u32 s0, s0, 3\ns_cmp_lt_u32 s0, 100\ns_cbranch_scc1 .La\n",
         {102, 0, 0, 0}},
        {"s_mov_b64 vcc, 0\ns_cbranch_vccz .Lb\ns_mov_b32 s0, 1\n.Lb: s_mov_b32 s1, 2\n"
         "s_mov_b64 vcc, 4\ns_cbranch_vccnz .Lc\ns_mov_b32 s2, 1\n.Lc: s_cbranch_vccz .Ld\n"
         "s_mov_b32 s3, 4\n.Ld:\n",
         {0, 2, 0, 4}},
        {"s_mov_b64 exec, 0\ns_cbranch_execz .Le\ns_mov_b32 s0, 1\n.Le: s_mov_b64 exec, -1\n"
         "s_cbranch_execnz .Lf\ns_mov_b32 s1, 1\n.Lf: s_branch .Lg\ns_mov_b32 s2, 1\n.Lg:\n",
         {0, 0, 0, 0}},
        {"s_getpc_b64 s[4:5]\n.Lh: s_add_u32 s4, s4, .Li-.Lh\ns_addc_u32 s5, s5, 0\n"
         "s_swappc_b64 s[6:7], s[4:5]\ns_add_u32 s0, s0, 10\ns_branch .Lj\n"
         ".Li: s_mov_b32 s0, 5\ns_setpc_b64 s[6:7]\n.Lj:\n",
         {15, 0, 0, 0}},
        {"s_movk_i32 s0, 0x8000\ns_addk_i32 s0, 0x7fff\ns_movk_i32 s1, 7\ns_mulk_i32 s1, -3\n"
         "s_cmpk_eq_i32 s1, 0xffeb\ns_cselect_b32 s2, 11, 12\ns_cmpk_lt_u32 s1, 0xffeb\n"
         "s_cselect_b32 s3, 11, 12\n",
         {0xffffffff, (uint32_t)-21, 11, 12}},
        {"s_getreg_b32 s0, hwreg(HW_REG_XCC_ID, 0, 4)\ns_getreg_b32 s1, hwreg(HW_REG_HW_ID, 8, 4)\n"
         "s_getreg_b32 s2, hwreg(HW_REG_HW_ID, 13, 3)\ns_getreg_b32 s3, hwreg(HW_REG_MODE, 4, 4)\n",
         {5, 9, 3, 15}},
        {"s_mov_b32 m0, 3\ns_mov_b32 s11, 77\ns_movrels_b32 s0, s8\ns_mov_b32 m0, 1\n"
         "s_movreld_b32 s0, 55\ns_mov_b32 s3, src_shared_base\n",
         {77, 55, 0, APERTURE_SHARED}},
        {"s_memtime s[0:1]\ns_memtime s[2:3]\ns_sub_u32 s0, s2, s0\ns_mov_b32 s2, 0\n"
         "s_cmp_gt_u32 s0, 0\ns_cselect_b32 s0, 1, 0\n",
         {1, 0, 0, 0}},
        {"s_mov_b64 s[0:1], 1.0\ns_mov_b64 s[2:3], -2\n", {0, 0x3ff00000, 0xfffffffe, 0xffffffff}},
        {"s_mov_b32 s0, -0.5\ns_mov_b64 s[2:3], 0xdeadbeef\n", {0xbf000000, 0, 0xdeadbeef, 0}},
        {"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_mov_b32 v1, 0x00400000\n"
         "v_mul_f32 v2, 2.0, v1\nv_readfirstlane_b32 s0, v2\n"
         "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\nv_mul_f32 v2, 2.0, v1\n"
         "v_readfirstlane_b32 s1, v2\n",
         {0, 0x00800000, 0, 0}},
    };
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        char text[2048];
        snprintf(text, sizeof text, "%ss_endpgm\n", programs[i].text);
        struct code c = code_from_asm(text);
        struct machine *m = machine_create(&c, 0, 1);
        m->group.xcc_id = 5;
        m->group.cu = 9;
        m->group.se = 3;
        EXPECT(machine_run(m) == EMU_ENDED, "program %zu: %s: %s", i, m->fault.instruction,
               m->fault.what);
        for (int k = 0; k < 4; k++) {
            bool pc = i == 3 && k; /* addresses there */
            EXPECT(pc || m->waves[0]->s[k] == programs[i].want[k], "program %zu: s%d is 0x%x", i, k,
                   m->waves[0]->s[k]);
        }
        machine_destroy(m);
        code_free(&c);
    }
}

int main(int argc, char **argv) {
    target_choose(argc, argv);
    int count = arithmetic();
    EXPECT(count >= 80, "only %d of %d instructions assemble", count, NTESTS);
    if (!strcmp(target->name, "gfx942")) control();
    printf("%d instructions, %d failures\n", count, failures);
    return failures != 0;
}
