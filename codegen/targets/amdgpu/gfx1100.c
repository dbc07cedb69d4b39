/* RX 7900 XTX. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const et_fragment fragments[] = {
    {ET_BF16, 16, &amdgpu_rows_paired, &amdgpu_wmma_bf16, NULL, NULL},
    {ET_F16, 16, &amdgpu_rows_paired, &amdgpu_wmma_f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_transposed, &amdgpu_fma_f32, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 11000,
    AMDGPU_RDNA,
    .drain = "s_waitcnt_vscnt null, 0x0",
};

extern const et_target et_amdgpu_gfx1100;
const et_target et_amdgpu_gfx1100 = {
    .name = "gfx1100",
    AMDGPU_RDNA_TARGET,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .own = &own,
};
