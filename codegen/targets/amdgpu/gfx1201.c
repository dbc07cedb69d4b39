/* RX 9070, RX 9070 XT. */
#include "codegen/targets/amdgpu/amdgpu.h"

static const struct amdgpu_product e4m3 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.fp8.fp8",
                                           AMDGPU_CODES};
static const et_fragment fragments[] = {
    {ET_BF16, 8, &amdgpu_rows_32, &amdgpu_wmma_bf16, NULL, NULL},
    {ET_F16, 8, &amdgpu_rows_32, &amdgpu_wmma_f16, NULL, NULL},
    {ET_F32, 1, &amdgpu_rows_transposed, &amdgpu_fma_f32, NULL, NULL},
    {ET_E4M3, 8, &amdgpu_rows_32, &e4m3, NULL, NULL},
};

static const struct amdgpu own = {
    .oclc_isa = 12001,
    AMDGPU_RDNA,
    .drain = "s_wait_storecnt 0x0",
};

extern const et_target et_amdgpu_gfx1201;
const et_target et_amdgpu_gfx1201 = {
    .name = "gfx1201",
    AMDGPU_RDNA_TARGET,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .fp8_times = 1,
    .own = &own,
};
