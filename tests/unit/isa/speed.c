/* speed.c - wave instructions per second of the executor alone, on one core, by kind of code. */
#include "tests/unit/isa/harness.h"

#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

struct work {
    const char *name;
    const char *setup; /* before the loop */
    const char *body;  /* repeated 8 times in it */
};

static const struct work works[] = {
    {"vector f32", "",
     "v_fma_f32 v4, v1, v2, v4\n v_add_f32 v5, v5, v1\n v_mul_f32 v6, v2, v1\n"
     "v_fmac_f32 v7, v2, v6\n v_max_f32 v8, v8, v7\n v_fma_f32 v9, s2, v1, v9\n"},
    {"vector integer", "",
     "v_add_u32 v4, v1, v4\n v_lshlrev_b32 v5, 2, v4\n v_and_b32 v6, 0xff, v5\n"
     "v_lshl_add_u32 v7, v5, 3, v6\n v_xor_b32 v8, v7, v1\n v_mul_lo_u32 v9, v8, v1\n"},
    {"compare and select", "",
     "v_cmp_lt_f32 vcc, v1, v2\n v_cndmask_b32 v4, v1, v2, vcc\n v_cmp_gt_u32 s[4:5], s2, v1\n"
     "v_cndmask_b32 v5, v1, v4, s[4:5]\n"},
    {"carry (64-bit addresses)", "",
     "v_add_co_u32 v4, vcc, v1, v2\n v_addc_co_u32 v5, vcc, v1, v2, vcc\n"
     "v_lshl_add_u64 v[6:7], v[4:5], 2, s[2:3]\n v_mad_u64_u32 v[8:9], vcc, v1, v2, v[6:7]\n"},
    {"half of the lanes", "s_mov_b64 exec, 0x55555555\n",
     "v_fma_f32 v4, v1, v2, v4\n v_add_f32 v5, v5, v1\n v_mul_f32 v6, v2, v1\n"
     "v_add_u32 v7, v1, v4\n"},
    {"negated and clamped", "",
     "v_fma_f32 v4, -v1, v2, |v4|\n v_mul_f32 v5, -v5, v1 clamp\n v_add_f32 v6, v2, -v1\n"},
    {"DPP", "",
     "v_add_f32_dpp v4, v4, v4 row_shr:1 row_mask:0xf bank_mask:0xf\n"
     "v_mov_b32_dpp v5, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\n"},
    {"packed f32 and f16", "",
     "v_pk_fma_f32 v[4:5], v[14:15], v[2:3], v[4:5]\n v_pk_mul_f32 v[6:7], v[4:5], v[2:3]\n"
     "v_pk_add_f16 v8, v1, v2\n v_pk_fma_f16 v9, v1, v2, v9\n"},
    {"exp, log, rcp, rsq, sqrt, sin", "",
     "v_exp_f32 v4, v1\n v_log_f32 v5, v1\n v_rcp_f32 v6, v1\n v_rsq_f32 v7, v1\n"
     "v_sqrt_f32 v8, v1\n v_sin_f32 v9, v1\n"},
    {"conversions", "",
     "v_cvt_f32_u32 v4, v1\n v_cvt_u32_f32 v5, v4\n v_cvt_f16_f32 v6, v4\n v_cvt_f32_f16 v7, v6\n"},
    {"scalar", "",
     "s_add_u32 s4, s5, s6\n s_addc_u32 s5, s4, 3\n s_lshl_b32 s6, s4, 2\n s_and_b32 s7, s4, 0xff\n"
     "s_cmp_lt_u32 s4, s5\n s_cselect_b32 s8, s4, s6\n s_mul_i32 s9, s8, s4\n s_bfe_u32 s10, s4, "
     "0x40002\n"},
    {"load dword, contiguous", "",
     "global_load_dword v4, v10, s[12:13]\n global_load_dword v5, v10, s[12:13] offset:256\n"},
    {"load 16 bytes, contiguous", "",
     "global_load_dwordx4 v[4:7], v11, s[12:13]\n global_load_dwordx4 v[4:7], v11, s[12:13] "
     "offset:1024\n"},
    {"load dword, scattered", "",
     "global_load_dword v4, v12, s[12:13]\n global_load_dword v5, v12, s[12:13] offset:4\n"},
    {"load 16 bytes, 64-bit address",
     "v_mov_b32 v2, s12\n v_mov_b32 v3, s13\n v_lshl_add_u64 v[2:3], v[12:13], 0, v[2:3]\n",
     "global_load_dwordx4 v[4:7], v[2:3], off\n"},
    {"store dword", "",
     "global_store_dword v10, v4, s[12:13]\n global_store_dword v12, v4, s[12:13]\n"},
    {"LDS read and write b128, b32", "",
     "ds_write_b128 v11, v[4:7]\n ds_read_b128 v[4:7], v11\n ds_write_b32 v10, v4\n ds_read_b32 "
     "v5, v10\n"},
    {"mfma f32_16x16x16_bf16", "", "v_mfma_f32_16x16x16_bf16 v[4:7], v[0:1], v[2:3], v[4:7]\n"},
    {"mfma f32_32x32x8_bf16", "", "v_mfma_f32_32x32x8_bf16 a[0:15], v[0:1], v[2:3], a[0:15]\n"},
    {"mfma f32_16x16x16_f16", "", "v_mfma_f32_16x16x16_f16 v[4:7], v[0:1], v[2:3], v[4:7]\n"},
    {"mfma f32_16x16x4_f32", "", "v_mfma_f32_16x16x4_f32 v[4:7], v0, v2, v[4:7]\n"},
};

static void measure(const struct work *k) {
    char text[16384];
    int n = snprintf(text, sizeof text, "%ss_mov_b32 s20, 0\n.Lloop:\n", k->setup);
    for (int i = 0; i < 8; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s", k->body);
    snprintf(text + n, sizeof text - (size_t)n,
             "s_add_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 .Lloop\ns_endpgm\n");
    struct code c = code_from_asm(text);
    struct machine *m = machine_create(&c, 0, 1);
    struct emu_wave *w = m->waves[0];
    uint8_t *memory = live_alloc(1 << 20, true);
    put64(&w->s[12], (uintptr_t)memory);
    for (unsigned r = 1; r < m->program->nvgpr; r++) {
        for (uint32_t i = 0; i < LANES; i++) {
            float f = (float)(i + r) / 64.0f + 0.01f;
            memcpy(&w->v[r][i], &f, 4);
            if (r == 10) w->v[r][i] = 4 * i;
            if (r == 11) w->v[r][i] = 16 * i;
            if (r == 12) w->v[r][i] = (i * 2654435761u >> 14) & ~3u;
            if (r == 13) w->v[r][i] = 0;
        }
    }
    uint64_t done = 0, budget = 20000;
    double start = now(), took;
    do {
        enum emu_stop s = emu_wave_run(w, budget, &m->fault);
        if (s != EMU_BUDGET) {
            printf("%-34s stopped: %s: %s\n", k->name, m->fault.instruction, m->fault.what);
            exit(1);
        }
        done += budget;
        took = now() - start;
    } while (took < 0.25);
    printf("%-34s %8.1f M wave instructions/s  %7.1f ns each\n", k->name, (double)done / took / 1e6,
           took / (double)done * 1e9);
    machine_destroy(m);
    code_free(&c);
    live_reset();
}

int main(void) {
    for (size_t i = 0; i < sizeof works / sizeof *works; i++)
        measure(&works[i]);
    return 0;
}
