/* MI300A, MI300X, MI325X. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product bf16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k",
                                           AMDGPU_I16};
static const struct amdgpu_product f16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16f16",
                                          AMDGPU_F16};
static const struct amdgpu_product f32 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32",
                                          AMDGPU_F32};
static const struct amdgpu_product e4m3 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8",
                                           AMDGPU_FNUZ};
static const struct amdgpu_product sparse_bf16 = {
    AMDGPU_SMFMAC, "llvm.amdgcn.smfmac.f32.16x16x32.bf16", AMDGPU_I16};
static const struct amdgpu_product sparse_f16 = {AMDGPU_SMFMAC,
                                                 "llvm.amdgcn.smfmac.f32.16x16x32.f16", AMDGPU_F16};
static const et_fragment fragments[] = {
    {ET_BF16, 4, &amdgpu_rows_64, &bf16, NULL, &sparse_bf16},
    {ET_F16, 4, &amdgpu_rows_64, &f16, NULL, &sparse_f16},
    {ET_F32, 1, &amdgpu_rows_64, &f32, NULL, NULL},
    {ET_E4M3, 8, &amdgpu_rows_64, &e4m3, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 9402,
    .die = {20, 0, 4},   /* XCC_ID */
    .hw_id = {4, 0, 32}, /* HW_ID */
    .clock = "llvm.amdgcn.s.memrealtime",
    .drain = "s_waitcnt vmcnt(0)",
    .die_acquire = "buffer_inv sc0",
    .buffer = 0x27000, /* 32 bits, no swizzling */
    .features = "",
};

extern const et_target et_amdgpu_gfx942;
const et_target et_amdgpu_gfx942 = {
    .name = "gfx942",
    .family = &et_amdgpu,
    .wave = 64,
    .loads = 16,
    .deep = true,
    .rounds_apart = true,
    .simds = 4,
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .codes_times = 4, /* e4m3 as OCP has it is half as much here, of either operand */
    .dies = true,
    .die_fence = true,
    .decode = AMDGPU_DECODE(2),
    .own = &own,
};
