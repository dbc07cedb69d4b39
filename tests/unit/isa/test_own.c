/* test_own.c - what some GPUs have of their own. gfx950: truth tables, swaps of rows, wide loads
 * into LDS. gfx11 and gfx12: waves of 32, two instructions in one, 16-bit registers, DPP8, lane
 * permutes, messages, split barriers, scalar floats. Each program leaves what to look at in s0..s3;
 * v0 is the lane's number, s[8:9] addresses memory where word N holds 3 * N. */
#include "tests/unit/isa/harness.h"

#include <stdlib.h>

enum { ON11 = 1, ON12 = 2, BOTH = 3, ON90A = 4, ON950 = 8 };

struct program {
    const char *name;
    int on;
    const char *text;
    uint32_t want[4];
};

#define LANE(s, v, n) "v_readlane_b32 s" #s ", v" #v ", " #n "\n"
static const struct program programs[] = {
    {"where without dies", ON90A, "s_getreg_b32 s0, hwreg(HW_REG_HW_ID, 8, 4)\n", {9, 0, 0, 0}},
    {"caches",
     ON90A,
     "v_mov_b32 v1, 8\nbuffer_wbinvl1_vol\nglobal_load_dword v2, v1, s[8:9] glc\n"
     "buffer_wbl2\nbuffer_invl2\n" LANE(0, 2, 5),
     {6, 0, 0, 0}},
    {"truth tables",
     ON950,
     "v_mov_b32 v1, 0xf0\nv_mov_b32 v2, 0xcc\nv_mov_b32 v3, 0xaa\n"
     "v_bitop3_b32 v4, v1, v2, v3 bitop3:0x6a\nv_bitop3_b32 v5, v1, v2, v3 bitop3:0x81\n"
     "v_mov_b32 v6, 0xffff0000\nv_bitop3_b16 v6, v1, v2, v3 bitop3:0x17\n" LANE(0, 4, 0)
         LANE(1, 5, 63) LANE(2, 6, 1),
     {0x6a, 0xffffff81, 0xffffff17, 0}},
    {"rows change places",
     ON950,
     "v_mov_b32 v1, v0\nv_add_u32 v2, 100, v0\nv_permlane16_swap_b32 v1, v2\n" LANE(0, 1, 17)
         LANE(1, 2, 1) LANE(2, 1, 3) LANE(3, 2, 50),
     {101, 17, 3, 150}},
    {"halves change places",
     ON950,
     "v_mov_b32 v1, v0\nv_add_u32 v2, 100, v0\nv_permlane32_swap_b32 v1, v2\n" LANE(0, 1, 33)
         LANE(1, 2, 1) LANE(2, 1, 3) LANE(3, 2, 50),
     {101, 33, 3, 150}},
    {"16 bytes of each lane into LDS",
     ON950,
     "v_lshlrev_b32 v1, 4, v0\ns_mov_b32 m0, 64\n"
     "global_load_lds_dwordx4 v1, s[8:9]\nv_add_u32 v2, 64, v1\nds_read_b128 v[4:7], v2\n" LANE(
         0, 4, 9) LANE(1, 7, 9) LANE(2, 4, 63),
     {108, 117, 756, 0}},
    {"dual",
     BOTH,
     "v_cvt_f32_u32 v1, v0\nv_mov_b32 v2, 2.0\nv_mov_b32 v3, 0\n"
     "v_dual_mul_f32 v3, v1, v2 :: v_dual_add_f32 v4, v2, v1\n" LANE(0, 3, 3) LANE(1, 4, 5),
     {0x40c00000, 0x40e00000, 0, 0}},
    {"dual, second reads what the first writes",
     BOTH,
     "v_mov_b32 v2, v0\nv_mov_b32 v3, 7\n"
     "v_dual_mov_b32 v2, 9 :: v_dual_add_nc_u32 v5, 1, v2\n" LANE(0, 2, 3) LANE(1, 5, 3),
     {9, 4, 0, 0}},
    {"dual, crossed",
     BOTH,
     "v_mov_b32 v2, v0\nv_mov_b32 v3, 7\nv_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\n" LANE(
         0, 2, 3) LANE(1, 3, 3),
     {7, 3, 0, 0}},
    {"dual, crossed, some lanes",
     BOTH,
     "v_mov_b32 v2, v0\nv_mov_b32 v3, 7\ns_mov_b32 exec_lo, 8\n"
     "v_dual_mov_b32 v2, v3 :: v_dual_mov_b32 v3, v2\ns_mov_b32 exec_lo, -1\n" LANE(0, 2, 3)
         LANE(1, 3, 3) LANE(2, 2, 4) LANE(3, 3, 4),
     {7, 3, 4, 7}},
    {"dual, literal and select",
     BOTH,
     "v_mov_b32 v2, 2.0\ns_mov_b32 vcc_lo, 4\nv_mov_b32 v7, 11\nv_mov_b32 v8, 12\n"
     "v_dual_fmaak_f32 v4, v2, v2, 0x3f800000 :: v_dual_cndmask_b32 v5, v7, v8\n" LANE(0, 4, 0)
         LANE(1, 5, 2) LANE(2, 5, 3),
     {0x40a00000, 12, 11, 0}},
    {"halves",
     ON11,
     "v_mov_b32 v1, 0x3c004000\nv_mov_b32 v2, 0x42000000\nv_mov_b32 v3, -1\n"
     "v_add_f16 v3.l, v1.h, v1.l\nv_add_f16 v4.h, v1.l, v2.h\nv_mov_b16 v5.h, v1.h\n" LANE(0, 3, 1)
         LANE(1, 4, 1) LANE(2, 5, 1),
     {0xffff4200, 0x45000000, 0x3c000000, 0}},
    {"halves in VOP3",
     ON11,
     "v_mov_b32 v1, 0x3c004000\nv_mov_b32 v3, -1\n"
     "v_fma_f16 v3.h, v1.h, -v1.l, v1.h\nv_swap_b16 v1.l, v1.h\n" LANE(0, 3, 1) LANE(1, 1, 1),
     {0xbc00ffff, 0x40003c00, 0, 0}},
    {"DPP8",
     BOTH,
     "v_mov_b32_dpp v1, v0 dpp8:[7,6,5,4,3,2,1,0]\nv_add_nc_u32_dpp v2, v0, v0 "
     "dpp8:[1,0,3,2,5,4,7,6]\n" LANE(0, 1, 8) LANE(1, 1, 31) LANE(2, 2, 6),
     {15, 24, 13, 0}},
    {"row_xmask, row_share",
     BOTH,
     "v_mov_b32_dpp v1, v0 row_xmask:5 row_mask:0xf bank_mask:0xf\n"
     "v_mov_b32_dpp v2, v0 row_share:3 row_mask:0xf bank_mask:0xf\n" LANE(0, 1, 18) LANE(1, 2, 30),
     {23, 19, 0, 0}},
    {"DPP in VOP3, lanes off",
     BOTH,
     "v_mov_b32 v3, 100\nv_mov_b32 v4, 100\ns_mov_b32 exec_lo, 0xfffffff0\n"
     "v_add3_u32_e64_dpp v3, v0, v0, 1 row_shr:1 row_mask:0xf bank_mask:0xf\n"
     "v_add3_u32_e64_dpp v4, v0, v0, 1 row_shr:1 row_mask:0xf bank_mask:0xf fi:1\n"
     "s_mov_b32 exec_lo, -1\n" LANE(0, 3, 4) LANE(1, 4, 4) LANE(2, 3, 5),
     {100, 8, 10, 0}},
    {"permlane",
     BOTH,
     "s_mov_b32 s4, 0x76543210\ns_mov_b32 s5, 0xfedcba90\nv_mov_b32 v1, v0\nv_mov_b32 v2, v0\n"
     "v_permlane16_b32 v1, v0, s4, s5\nv_permlanex16_b32 v2, v0, s4, s5\n" LANE(0, 1, 24)
         LANE(1, 1, 25) LANE(2, 2, 3) LANE(3, 2, 24),
     {16, 25, 19, 0}},
    {"compare into EXEC",
     BOTH,
     "v_mov_b32 v1, 1\nv_cmpx_gt_u32 4, v0\nv_mov_b32 v1, 2\ns_mov_b32 s0, exec_lo\n"
     "s_mov_b32 exec_lo, -1\n" LANE(1, 1, 3) LANE(2, 1, 4),
     {15, 2, 1, 0}},
    {"masks of 32 lanes leave the next register alone",
     BOTH,
     "s_mov_b32 s1, 55\ns_mov_b32 vcc_hi, 66\nv_cmp_gt_u32 s0, 5, v0\nv_cmp_gt_u32 vcc_lo, 3, v0\n"
     "s_mov_b32 s2, vcc_hi\ns_mov_b32 s3, vcc_lo\n",
     {31, 55, 66, 7}},
    {"carry through masks and null",
     BOTH,
     "v_mov_b32 v1, -1\nv_add_co_u32 v2, vcc_lo, v1, v0\nv_add_co_ci_u32 v3, null, 5, 0, vcc_lo\n"
     "s_mov_b32 s0, vcc_lo\n" LANE(1, 3, 0) LANE(2, 3, 9) "s_and_b32 s3, -1, null\n",
     {0xfffffffe, 5, 6, 0}},
    {"VCC branches look at 32 bits",
     BOTH,
     "s_mov_b32 vcc_lo, 0\ns_mov_b32 vcc_hi, 1\ns_cbranch_vccnz .La\ns_mov_b32 s0, 1\n.La:\n"
     "s_mov_b32 vcc_lo, 2\ns_cbranch_vccz .Lb\ns_mov_b32 s1, 1\n.Lb:\n",
     {1, 1, 0, 0}},
    {"saveexec",
     BOTH,
     "s_mov_b32 s4, 0xff\ns_and_saveexec_b32 s0, s4\ns_mov_b32 s1, exec_lo\n"
     "s_and_not1_saveexec_b32 s2, s4\ns_mov_b32 s3, exec_lo\ns_mov_b32 exec_lo, -1\n",
     {0xffffffff, 0xff, 0xff, 0}},
    {"the clock by message",
     BOTH,
     "s_sendmsg_rtn_b64 s[4:5], sendmsg(MSG_RTN_GET_REALTIME)\n"
     "s_sendmsg_rtn_b64 s[6:7], sendmsg(MSG_RTN_GET_REALTIME)\ns_sub_u32 s0, s6, s4\n",
     {1, 0, 0, 0}},
    {"where: WGP 4, SE 3",
     ON11,
     "s_getreg_b32 s0, hwreg(HW_REG_HW_ID1, 10, 4)\ns_getreg_b32 s1, hwreg(HW_REG_HW_ID1, 18, 3)\n",
     {4, 3, 0, 0}},
    {"where: WGP 4, SE 3",
     ON12,
     "s_getreg_b32 s0, hwreg(HW_REG_WAVE_HW_ID1, 10, 4)\n"
     "s_getreg_b32 s1, hwreg(HW_REG_WAVE_HW_ID1, 18, 3)\n",
     {4, 3, 0, 0}},
    {"LDS compare and store: new value first",
     BOTH,
     "v_mov_b32 v1, 64\nv_mov_b32 v2, 5\nv_mov_b32 v3, 9\nds_store_b32 v1, v2\n"
     "s_mov_b32 exec_lo, 1\nds_cmpstore_rtn_b32 v4, v1, v3, v2\nds_load_b32 v5, v1\n"
     "s_mov_b32 exec_lo, -1\n" LANE(0, 4, 0) LANE(1, 5, 0),
     {5, 9, 0, 0}},
    {"bpermute among 32",
     BOTH,
     "v_sub_nc_u32 v1, 35, v0\nv_lshlrev_b32 v1, 2, v1\nds_bpermute_b32 v2, v1, v0\n" LANE(0, 2, 0)
         LANE(1, 2, 5),
     {3, 30, 0, 0}},
    {"memory with negative offsets",
     BOTH,
     "v_lshlrev_b32 v1, 4, v0\nv_mov_b32 v2, v0\nv_mov_b32 v3, 3\nv_mov_b32 v4, 4\nv_mov_b32 v5, "
     "5\n"
     "global_store_b128 v1, v[2:5], s[8:9] offset:64\nv_add_nc_u32 v6, 0x60, v1\n"
     "global_load_b64 v[7:8], v6, s[8:9] offset:-32\ns_load_b64 s[2:3], s[8:9], 0x60\n" LANE(
         0, 7, 6) LANE(1, 8, 6),
     {6, 3, 2, 3}},
    {"atomics that return",
     ON11,
     "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\nglobal_atomic_add_u32 v3, v1, v2, s[8:9] glc\n"
     "global_atomic_add_u32 v1, v2, s[8:9]\nglobal_load_b32 v4, v1, s[8:9]\n" LANE(0, 3, 31)
         LANE(1, 4, 0),
     {31, 64, 0, 0}},
    {"atomics that return",
     ON12,
     "v_mov_b32 v1, 0\nv_mov_b32 v2, 1\n"
     "global_atomic_add_u32 v3, v1, v2, s[8:9] th:TH_ATOMIC_RETURN\n"
     "global_atomic_add_u32 v1, v2, s[8:9]\nglobal_load_b32 v4, v1, s[8:9]\n" LANE(0, 3, 31)
         LANE(1, 4, 0),
     {31, 64, 0, 0}},
    {"dot products of either sign",
     BOTH,
     "v_mov_b32 v1, 0xff010203\nv_mov_b32 v2, 0x02010101\n"
     "v_dot4_i32_iu8 v3, v1, v2, 0 neg_lo:[1,1,0]\nv_dot4_i32_iu8 v4, v1, v2, 0\n" LANE(0, 3, 0)
         LANE(1, 4, 0),
     {4, 516, 0, 0}},
    {"indexed registers",
     BOTH,
     "s_mov_b32 m0, 2\nv_mov_b32 v6, 77\nv_movrels_b32 v1, v4\nv_movreld_b32 v2, 55\n" LANE(0, 1, 9)
         LANE(1, 4, 9),
     {77, 55, 0, 0}},
    {"denormals by mode",
     BOTH,
     "v_mov_b32 v1, 0x00400000\ns_denorm_mode 12\nv_mul_f32 v2, 2.0, v1\ns_denorm_mode 15\n"
     "v_mul_f32 v3, 2.0, v1\n" LANE(0, 2, 0) LANE(1, 3, 0),
     {0, 0x00800000, 0, 0}},
    {"scalar floats",
     ON12,
     "s_mov_b32 s4, 1.0\ns_add_f32 s0, s4, 2.0\ns_fmac_f32 s4, s0, s0\ns_mov_b32 s1, s4\n"
     "s_cvt_i32_f32 s2, s4\ns_cmp_gt_f32 s4, s0\ns_cselect_b32 s3, 7, 8\n",
     {0x40400000, 0x41200000, 10, 7}},
    {"functions of scalars",
     ON12,
     "s_mov_b32 s4, 4.0\nv_s_rcp_f32 s0, s4\nv_s_sqrt_f32 s1, s4\nv_s_exp_f32 s2, s4\n"
     "v_s_log_f32 s3, s4\n",
     {0x3e800000, 0x40000000, 0x41800000, 0x40000000}},
    {"64-bit integers",
     ON12,
     "s_mov_b32 s4, -1\ns_mov_b32 s5, 0\ns_mov_b32 s6, 3\ns_mov_b32 s7, 0\n"
     "s_mul_u64 s[0:1], s[4:5], s[6:7]\ns_add_nc_u64 s[2:3], s[4:5], s[6:7]\n",
     {0xfffffffd, 2, 2, 1}},
    {"bytes of 8-bit floats",
     ON12,
     "v_mov_b32 v1, 0x40384844\nv_cvt_f32_fp8_e64 v2, v1 byte_sel:1\n"
     "v_cvt_f32_fp8_e64 v3, v1 byte_sel:2\nv_cvt_pk_f32_fp8_e64 v[4:5], v1 op_sel:[1,0]\n" LANE(
         0, 2, 0) LANE(1, 3, 0) LANE(2, 4, 0) LANE(3, 5, 0),
     {0x40800000, 0x3f800000, 0x3f800000, 0x40000000}},
    {"ids in trap registers",
     ON12,
     "s_mov_b32 s0, ttmp9\ns_lshr_b32 s1, ttmp7, 16\ns_and_b32 s2, ttmp7, 0xffff\n",
     {6, 8, 7, 0}},
};

static void run(const struct program *p) {
    char text[2048];
    snprintf(text, sizeof text, "%ss_endpgm\n", p->text);
    uint32_t *memory = live_alloc(4096, true);
    for (uint32_t i = 0; i < 1024; i++)
        memory[i] = 3 * i;
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    m->group.cu = 9;
    m->group.se = 3;
    m->dispatch.grid_size[0] *= 10;
    m->dispatch.grid_size[1] = m->dispatch.grid_size[2] = 10;
    m->group.id[0] = 6;
    m->group.id[1] = 7;
    m->group.id[2] = 8;
    machine_restart(m, 0);
    put64(&m->waves[0]->s[8], (uintptr_t)memory);
    EXPECT(machine_run(m) == EMU_ENDED, "%s: %s: %s", p->name, m->fault.instruction, m->fault.what);
    for (int k = 0; k < 4; k++)
        EXPECT(m->waves[0]->s[k] == p->want[k], "%s: s%d is 0x%x, not 0x%x", p->name, k,
               m->waves[0]->s[k], p->want[k]);
    EXPECT(target->lanes == 64 || m->waves[0]->s[S_EXEC + 1] == 0, "%s: lanes beyond 32 are on",
           p->name);
    machine_destroy(m);
    code_free(&c);
    live_drop(1);
}

/* Programs that must end in a fault whose text has WORD. */
static void run_fault(const char *text, const char *word) {
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    EXPECT(machine_run(m) == EMU_FAULT && strstr(m->fault.what, word), "%s: %s", text,
           m->fault.what);
    machine_destroy(m);
    code_free(&c);
}

/* Every wave signals, then waits: afterwards all see what all wrote. */
static void barrier(bool split) {
    char text[1024];
    snprintf(text, sizeof text,
             "v_lshrrev_b32 v1, 5, v0\nv_lshlrev_b32 v1, 2, v1\nds_store_b32 v1, v0\n%s"
             "v_sub_nc_u32 v2, 12, v1\nds_load_b32 v3, v2\nv_readlane_b32 s0, v3, 0\ns_endpgm\n",
             split ? "s_barrier_signal -1\ns_mov_b32 s1, 1\ns_barrier_wait -1\n" : "s_barrier\n");
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 4);
    EXPECT(machine_run(m) == EMU_ENDED, "barrier: %s", m->fault.what);
    for (unsigned i = 0; i < 4; i++)
        EXPECT(m->waves[i]->s[0] == 31 + 32 * (3 - i), "barrier: wave %u read %u", i,
               m->waves[i]->s[0]);
    machine_destroy(m);
    code_free(&c);
}

int main(int argc, char **argv) {
    target_choose(argc, argv);
    static const struct {
        const char *name;
        int bit;
    } bits[] = {{"gfx90a", ON90A}, {"gfx950", ON950}, {"gfx1100", ON11}, {"gfx1201", ON12}};
    int on = 0, count = 0;
    for (size_t i = 0; i < sizeof bits / sizeof *bits; i++)
        if (!strcmp(bits[i].name, target->name)) on = bits[i].bit;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (!(programs[i].on & on)) continue;
        run(&programs[i]);
        count++;
    }
    EXPECT(count, "nothing to run");
    if (target->lanes == 32) {
        barrier(on == ON12);
        run_fault("s_mov_b32 exec_hi, 1\ns_endpgm\n", "does not know");
        run_fault("s_mov_b64 exec, 1\ns_endpgm\n", "does not know");
        run_fault("s_getreg_b32 s0, hwreg(20)\ns_endpgm\n", "not modelled");
    }
    if (on == ON950)
        run_fault("s_mov_b64 exec, 1\nv_permlane16_swap_b32 v1, v2\ns_endpgm\n", "lanes are off");
    if (on == ON90A) run_fault("s_getreg_b32 s0, hwreg(20)\ns_endpgm\n", "not modelled");
    if (on == ON12) run_fault("s_barrier_wait -1\ns_endpgm\n", "did not signal");
    run_fault("s_setprio 1\n", "left the code object");
    live_reset();
    printf("%d programs, %d failures\n", count, failures);
    return failures != 0;
}
