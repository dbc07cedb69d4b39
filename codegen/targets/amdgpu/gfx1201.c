/* RX 9070, RX 9070 XT. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product bf16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.bf16",
                                           AMDGPU_I16};
static const struct amdgpu_product f16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.f16",
                                          AMDGPU_F16};
static const struct amdgpu_product f32 = {
    AMDGPU_FMA, "v_fmac_f32_dpp $0, $1, $2 row_share:%d row_mask:0xf bank_mask:0xf", AMDGPU_F32};
static const struct amdgpu_product e4m3 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.fp8.fp8",
                                           AMDGPU_CODES};
static const et_fragment fragments[] = {
    {ET_BF16, 8, &amdgpu_rows_32, &bf16, NULL, NULL},
    {ET_F16, 8, &amdgpu_rows_32, &f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_turned, &f32, NULL, NULL},
    {ET_E4M3, 8, &amdgpu_rows_32, &e4m3, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 12001,
    .hw_id = {23, 0, 32}, /* HW_ID1 */
    .clock = "llvm.amdgcn.s.sendmsg.rtn",
    .clock_message = 0x83, /* GET_REALTIME */
    .drain = "s_wait_storecnt 0x0",
    .features = "+cumode",
};

extern const et_target et_amdgpu_gfx1201;
const et_target et_amdgpu_gfx1201 = {
    .name = "gfx1201",
    .family = &et_amdgpu,
    .wave = 32,
    .loads = 8,
    .rounds_apart = true,
    .simds = 2, /* of one CU: +cumode keeps a workgroup there */
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .codes_times = 1,
    .decode = AMDGPU_DECODE(1),
    .own = &own,
};
