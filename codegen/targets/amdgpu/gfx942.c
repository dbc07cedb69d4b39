/* MI300A, MI300X, MI325X. */
#include "codegen/targets/target.h"

static const et_fragment fragments[] = {
    {ET_BF16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 4, 4, ET_FRAG_I16,
     ET_ROWS_PLAIN},
    {ET_F16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x16f16", 4, 4, ET_FRAG_F16, ET_ROWS_PLAIN},
    {ET_F32, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32", 1, 4, ET_FRAG_F32, ET_ROWS_PLAIN},
};

extern const et_target et_target_gfx942;
const et_target et_target_gfx942 = {
    .name = "gfx942",
    .triple = "amdgcn-amd-amdhsa",
    .wave = 64,
    .loads = 16,
    .simds = 4,
    .lds_bytes = 65536,
    .oclc_isa = 9402,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .die = {20, 0, 4},   /* XCC_ID */
    .hw_id = {4, 0, 32}, /* HW_ID */
    .clock = "llvm.amdgcn.s.memrealtime",
    .drain = "s_waitcnt vmcnt(0)",
    .die_acquire = "buffer_inv sc0",
    .features = "",
};
