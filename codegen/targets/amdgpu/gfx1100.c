/* RX 7900 XTX. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product bf16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.bf16",
                                           AMDGPU_I16};
static const struct amdgpu_product f16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.f16",
                                          AMDGPU_F16};
static const struct amdgpu_product f32 = {
    AMDGPU_FMA, "v_fmac_f32_dpp $0, $1, $2 row_share:%d row_mask:0xf bank_mask:0xf", AMDGPU_F32};
static const et_fragment fragments[] = {
    {ET_BF16, 16, &amdgpu_rows_paired, &bf16, NULL, NULL},
    {ET_F16, 16, &amdgpu_rows_paired, &f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_turned, &f32, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 11000,
    .hw_id = {23, 0, 32}, /* HW_ID1 */
    .clock = "llvm.amdgcn.s.sendmsg.rtn",
    .clock_message = 0x83, /* GET_REALTIME */
    .drain = "s_waitcnt_vscnt null, 0x0",
    .features = "+cumode",
};

extern const et_target et_amdgpu_gfx1100;
const et_target et_amdgpu_gfx1100 = {
    .name = "gfx1100",
    .family = &et_amdgpu,
    .wave = 32,
    .loads = 8,
    .rounds_apart = true,
    .simds = 2, /* of one CU: +cumode keeps a workgroup there */
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .decode = AMDGPU_DECODE(1),
    .own = &own,
};
