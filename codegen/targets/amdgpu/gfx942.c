/* MI300A, MI300X, MI325X. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product e4m3 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.fp8.fp8",
                                           AMDGPU_FNUZ};
static const et_fragment fragments[] = {
    {ET_BF16, 4, &amdgpu_rows_64, &amdgpu_mfma_bf16, NULL, &amdgpu_smfmac_bf16},
    {ET_F16, 4, &amdgpu_rows_64, &amdgpu_mfma_f16, NULL, &amdgpu_smfmac_f16},
    {ET_F32, 1, &amdgpu_rows_64, &amdgpu_mfma_f32, NULL, NULL},
    {ET_E4M3, 8, &amdgpu_rows_64, &e4m3, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 9402,
    AMDGPU_CDNA3,
};

extern const et_target et_amdgpu_gfx942;
const et_target et_amdgpu_gfx942 = {
    .name = "gfx942",
    AMDGPU_CDNA3_TARGET,
    .no_bf16_rounding = true,
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .fp8_times =
        4, /* its e4m3 is fnuz: an encoding of OCP's e4m3 has half the value, for each operand */
    .decode = AMDGPU_DECODE(2),
    .own = &own,
};
