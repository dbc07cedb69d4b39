/* MI350X, MI355X. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product bf16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.bf16",
                                           AMDGPU_BF16};
static const struct amdgpu_product f16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.f16",
                                          AMDGPU_F16};
static const struct amdgpu_product e4m3 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8",
                                           AMDGPU_CODES};
static const et_fragment fragments[] = {
    {ET_BF16, 8, &amdgpu_rows_64, &bf16, NULL, &amdgpu_smfmac_bf16},
    {ET_F16, 8, &amdgpu_rows_64, &f16, NULL, &amdgpu_smfmac_f16},
    {ET_F32, 1, &amdgpu_rows_64, &amdgpu_mfma_f32, NULL, NULL},
    {ET_E4M3, 8, &amdgpu_rows_64, &e4m3, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 9500,
    AMDGPU_CDNA3,
};

extern const et_target et_amdgpu_gfx950;
const et_target et_amdgpu_gfx950 = {
    .name = "gfx950",
    AMDGPU_CDNA3_TARGET,
    .lds_bytes = 163840,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .fp8_times = 1,
    .decode = AMDGPU_DECODE(1),
    .own = &own,
};
