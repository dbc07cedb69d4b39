/* arch.c - the architectures, and the names their assembly gives to instructions that others
 * spell differently.
 *
 * The tables use gfx9's names. A rename here means that the instruction does the same; where it
 * does not, it has rows of its own under its own name. */
#include "runtime/emu/isa/isa.h"

#include <stdio.h>

static const struct isa_arch archs[] = {
    {"gfx90a", GEN_90A, 64}, {"gfx942", GEN_942, 64}, {"gfx950", GEN_950, 64},
    {"gfx1100", GEN_11, 32}, {"gfx1201", GEN_12, 32},
};

const struct isa_arch *isa_arch_find(const char *name) {
    for (size_t i = 0; i < sizeof archs / sizeof *archs; i++)
        if (!strcmp(archs[i].name, name)) return &archs[i];
    return NULL;
}

struct rename {
    const char *from, *to;
};

/* Of memory instructions, what follows their segment. */
static const struct rename global_parts[] = {
    {"load_u8", "load_ubyte"},
    {"load_i8", "load_sbyte"},
    {"load_u16", "load_ushort"},
    {"load_i16", "load_sshort"},
    {"load_b32", "load_dword"},
    {"load_b64", "load_dwordx2"},
    {"load_b96", "load_dwordx3"},
    {"load_b128", "load_dwordx4"},
    {"load_d16_u8", "load_ubyte_d16"},
    {"load_d16_hi_u8", "load_ubyte_d16_hi"},
    {"load_d16_i8", "load_sbyte_d16"},
    {"load_d16_hi_i8", "load_sbyte_d16_hi"},
    {"load_d16_b16", "load_short_d16"},
    {"load_d16_hi_b16", "load_short_d16_hi"},
    {"store_b8", "store_byte"},
    {"store_b16", "store_short"},
    {"store_b32", "store_dword"},
    {"store_b64", "store_dwordx2"},
    {"store_b96", "store_dwordx3"},
    {"store_b128", "store_dwordx4"},
    {"store_d16_hi_b8", "store_byte_d16_hi"},
    {"store_d16_hi_b16", "store_short_d16_hi"},
    {"atomic_swap_b32", "atomic_swap"},
    {"atomic_swap_b64", "atomic_swap_x2"},
    {"atomic_cmpswap_b32", "atomic_cmpswap"},
    {"atomic_cmpswap_b64", "atomic_cmpswap_x2"},
    {"atomic_add_u32", "atomic_add"},
    {"atomic_add_u64", "atomic_add_x2"},
    {"atomic_sub_u32", "atomic_sub"},
    {"atomic_sub_u64", "atomic_sub_x2"},
    {"atomic_min_i32", "atomic_smin"},
    {"atomic_min_i64", "atomic_smin_x2"},
    {"atomic_max_i32", "atomic_smax"},
    {"atomic_max_i64", "atomic_smax_x2"},
    {"atomic_min_u32", "atomic_umin"},
    {"atomic_min_u64", "atomic_umin_x2"},
    {"atomic_max_u32", "atomic_umax"},
    {"atomic_max_u64", "atomic_umax_x2"},
    {"atomic_and_b32", "atomic_and"},
    {"atomic_and_b64", "atomic_and_x2"},
    {"atomic_or_b32", "atomic_or"},
    {"atomic_or_b64", "atomic_or_x2"},
    {"atomic_xor_b32", "atomic_xor"},
    {"atomic_xor_b64", "atomic_xor_x2"},
    {"atomic_inc_u32", "atomic_inc"},
    {"atomic_inc_u64", "atomic_inc_x2"},
    {"atomic_dec_u32", "atomic_dec"},
    {"atomic_dec_u64", "atomic_dec_x2"},
    {"atomic_min_num_f32", "atomic_min_f32"},
    {"atomic_max_num_f32", "atomic_max_f32"},
};

static const struct rename ds_parts[] = {
    {"load_u8", "read_u8"},
    {"load_i8", "read_i8"},
    {"load_u16", "read_u16"},
    {"load_i16", "read_i16"},
    {"load_u8_d16", "read_u8_d16"},
    {"load_u8_d16_hi", "read_u8_d16_hi"},
    {"load_i8_d16", "read_i8_d16"},
    {"load_i8_d16_hi", "read_i8_d16_hi"},
    {"load_u16_d16", "read_u16_d16"},
    {"load_u16_d16_hi", "read_u16_d16_hi"},
    {"load_b32", "read_b32"},
    {"load_b64", "read_b64"},
    {"load_b96", "read_b96"},
    {"load_b128", "read_b128"},
    {"store_b8", "write_b8"},
    {"store_b16", "write_b16"},
    {"store_b8_d16_hi", "write_b8_d16_hi"},
    {"store_b16_d16_hi", "write_b16_d16_hi"},
    {"store_b32", "write_b32"},
    {"store_b64", "write_b64"},
    {"store_b96", "write_b96"},
    {"store_b128", "write_b128"},
    {"load_2addr_b32", "read2_b32"},
    {"load_2addr_b64", "read2_b64"},
    {"load_2addr_stride64_b32", "read2st64_b32"},
    {"load_2addr_stride64_b64", "read2st64_b64"},
    {"store_2addr_b32", "write2_b32"},
    {"store_2addr_b64", "write2_b64"},
    {"store_2addr_stride64_b32", "write2st64_b32"},
    {"store_2addr_stride64_b64", "write2st64_b64"},
    {"storexchg_rtn_b32", "wrxchg_rtn_b32"},
    {"storexchg_rtn_b64", "wrxchg_rtn_b64"},
    {"min_num_f32", "min_f32"},
    {"max_num_f32", "max_f32"},
    {"min_num_rtn_f32", "min_rtn_f32"},
    {"max_num_rtn_f32", "max_rtn_f32"},
    {"min_num_f64", "min_f64"},
    {"max_num_f64", "max_f64"},
    {"min_num_rtn_f64", "min_rtn_f64"},
    {"max_num_rtn_f64", "max_rtn_f64"},
};

static const struct rename names[] = {
    /* scalar memory */
    {"s_load_b32", "s_load_dword"},
    {"s_load_b64", "s_load_dwordx2"},
    {"s_load_b128", "s_load_dwordx4"},
    {"s_load_b256", "s_load_dwordx8"},
    {"s_load_b512", "s_load_dwordx16"},
    {"s_buffer_load_b32", "s_buffer_load_dword"},
    {"s_buffer_load_b64", "s_buffer_load_dwordx2"},
    {"s_buffer_load_b128", "s_buffer_load_dwordx4"},
    {"s_buffer_load_b256", "s_buffer_load_dwordx8"},
    {"s_buffer_load_b512", "s_buffer_load_dwordx16"},
    /* scalar */
    {"s_and_not1_b32", "s_andn2_b32"},
    {"s_and_not1_b64", "s_andn2_b64"},
    {"s_or_not1_b32", "s_orn2_b32"},
    {"s_or_not1_b64", "s_orn2_b64"},
    {"s_and_not1_saveexec_b64", "s_andn2_saveexec_b64"},
    {"s_or_not1_saveexec_b64", "s_orn2_saveexec_b64"},
    {"s_ctz_i32_b32", "s_ff1_i32_b32"},
    {"s_ctz_i32_b64", "s_ff1_i32_b64"},
    {"s_clz_i32_u32", "s_flbit_i32_b32"},
    {"s_clz_i32_u64", "s_flbit_i32_b64"},
    {"s_cls_i32", "s_flbit_i32"},
    {"s_cls_i32_i64", "s_flbit_i32_i64"},
    {"s_add_co_u32", "s_add_u32"},
    {"s_sub_co_u32", "s_sub_u32"},
    {"s_add_co_i32", "s_add_i32"},
    {"s_sub_co_i32", "s_sub_i32"},
    {"s_add_co_ci_u32", "s_addc_u32"},
    {"s_sub_co_ci_u32", "s_subb_u32"},
    {"s_addk_co_i32", "s_addk_i32"},
    /* vector */
    {"v_add_nc_u32", "v_add_u32"},
    {"v_sub_nc_u32", "v_sub_u32"},
    {"v_subrev_nc_u32", "v_subrev_u32"},
    {"v_add_nc_i32", "v_add_i32"},
    {"v_sub_nc_i32", "v_sub_i32"},
    {"v_add_nc_u16", "v_add_u16"},
    {"v_sub_nc_u16", "v_sub_u16"},
    {"v_add_nc_i16", "v_add_i16"},
    {"v_sub_nc_i16", "v_sub_i16"},
    {"v_add_co_ci_u32", "v_addc_co_u32"},
    {"v_sub_co_ci_u32", "v_subb_co_u32"},
    {"v_subrev_co_ci_u32", "v_subbrev_co_u32"},
    {"v_clz_i32_u32", "v_ffbh_u32"},
    {"v_ctz_i32_b32", "v_ffbl_b32"},
    {"v_cls_i32", "v_ffbh_i32"},
    {"v_cvt_pk_rtz_f16_f32", "v_cvt_pkrtz_f16_f32"},
    {"v_cvt_nearest_i32_f32", "v_cvt_rpi_i32_f32"},
    {"v_cvt_floor_i32_f32", "v_cvt_flr_i32_f32"},
    {"v_cvt_pk_norm_i16_f32", "v_cvt_pknorm_i16_f32"},
    {"v_cvt_pk_norm_u16_f32", "v_cvt_pknorm_u16_f32"},
    {"v_cvt_pk_norm_i16_f16", "v_cvt_pknorm_i16_f16"},
    {"v_cvt_pk_norm_u16_f16", "v_cvt_pknorm_u16_f16"},
    {"v_mad_co_u64_u32", "v_mad_u64_u32"},
    {"v_mad_co_i64_i32", "v_mad_i64_i32"},
    {"v_min_num_f16", "v_min_f16"},
    {"v_max_num_f16", "v_max_f16"},
    {"v_min_num_f32", "v_min_f32"},
    {"v_max_num_f32", "v_max_f32"},
    {"v_min_num_f64", "v_min_f64"},
    {"v_max_num_f64", "v_max_f64"},
    {"v_min3_num_f16", "v_min3_f16"},
    {"v_max3_num_f16", "v_max3_f16"},
    {"v_med3_num_f16", "v_med3_f16"},
    {"v_min3_num_f32", "v_min3_f32"},
    {"v_max3_num_f32", "v_max3_f32"},
    {"v_med3_num_f32", "v_med3_f32"},
    {"v_dot2acc_f32_f16", "v_dot2c_f32_f16"},
    {"v_minmax_num_f32", "v_minmax_f32"},
    {"v_maxmin_num_f32", "v_maxmin_f32"},
    {"v_minmax_num_f16", "v_minmax_f16"},
    {"v_maxmin_num_f16", "v_maxmin_f16"},
    {"v_pk_min_num_f16", "v_pk_min_f16"},
    {"v_pk_max_num_f16", "v_pk_max_f16"},
};

static bool rename_part(const struct rename *list, size_t n, char *part, size_t room) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(list[i].from, part)) continue;
        snprintf(part, room, "%s", list[i].to);
        return true;
    }
    return false;
}
#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Conversions and products of 8-bit floats, whose forms are not gfx942's any more. */
static bool has_bytes(const char *name) {
    bool which = !strncmp(name, "v_cvt_", 6) || !strncmp(name, "v_mfma_", 7);
    bool known = strstr(name, "_f32_fp8") || strstr(name, "_f32_bf8") || strstr(name, "fp8_f32") ||
                 strstr(name, "bf8_f32") || strstr(name, "_fp8_") || strstr(name, "_bf8_");
    return which && known;
}

void isa_arch_rename(enum isa_gen gen, char name[64]) {
    if ((gen == GEN_950 || gen == GEN_12) && has_bytes(name) && strlen(name) < 56)
        strcat(name, "_ocp");
    if (gen < GEN_11) return;
    static const char *const segments[] = {"global_", "flat_", "scratch_"};
    for (size_t i = 0; i < COUNT(segments); i++) {
        size_t n = strlen(segments[i]);
        if (strncmp(name, segments[i], n)) continue;
        rename_part(global_parts, COUNT(global_parts), name + n, 64 - n);
        return;
    }
    if (!strncmp(name, "ds_", 3))
        rename_part(ds_parts, COUNT(ds_parts), name + 3, 61);
    else
        rename_part(names, COUNT(names), name, 64);
}
