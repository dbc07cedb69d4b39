/* MI210, and each half of MI250 and MI250X. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product bf16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k",
                                           AMDGPU_I16};
static const struct amdgpu_product f16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16f16",
                                          AMDGPU_F16};
static const struct amdgpu_product f32 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32",
                                          AMDGPU_F32};
static const et_fragment fragments[] = {
    {ET_BF16, 4, &amdgpu_rows_64, &bf16, NULL, NULL},
    {ET_F16, 4, &amdgpu_rows_64, &f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_64, &f32, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 9010,
    .hw_id = {4, 0, 32}, /* HW_ID */
    .clock = "llvm.amdgcn.s.memrealtime",
    .drain = "s_waitcnt vmcnt(0)",
    .buffer = 0x27000, /* 32 bits, no swizzling */
    .features = "",
    .vector_arguments = true,
};

extern const et_target et_amdgpu_gfx90a;
const et_target et_amdgpu_gfx90a = {
    .name = "gfx90a",
    .family = &et_amdgpu,
    .wave = 64,
    .loads = 16,
    .deep = true,
    .rounds_apart = true,
    .simds = 4,
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .decode = AMDGPU_DECODE(1),
    .own = &own,
};
