/* MI210, and each half of MI250 and MI250X. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const et_fragment fragments[] = {
    {ET_BF16, 4, &amdgpu_rows_64, &amdgpu_mfma_bf16, NULL, NULL},
    {ET_F16, 4, &amdgpu_rows_64, &amdgpu_mfma_f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_64, &amdgpu_mfma_f32, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 9010,
    AMDGPU_CDNA,
    .vector_arguments = true,
};

extern const et_target et_amdgpu_gfx90a;
const et_target et_amdgpu_gfx90a = {
    .name = "gfx90a",
    AMDGPU_CDNA_TARGET,
    .no_bf16_rounding = true,
    .lds_bytes = 65536,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .decode = AMDGPU_DECODE(1),
    .own = &own,
};
