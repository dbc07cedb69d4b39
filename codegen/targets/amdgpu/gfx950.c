/* MI350X, MI355X. */
#include "codegen/targets/target.h"

static const et_fragment fragments[] = {
    {ET_BF16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.bf16", 8, 4, ET_FRAG_BF16,
     ET_ROWS_PLAIN},
    {ET_F16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x32.f16", 8, 4, ET_FRAG_F16, ET_ROWS_PLAIN},
    {ET_F32, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32", 1, 4, ET_FRAG_F32, ET_ROWS_PLAIN},
};

extern const et_target et_target_gfx950;
const et_target et_target_gfx950 = {
    .name = "gfx950",
    .triple = "amdgcn-amd-amdhsa",
    .wave = 64,
    .loads = 16,
    .simds = 4,
    .lds_bytes = 163840,
    .oclc_isa = 9500,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .die = {20, 0, 4},   /* XCC_ID */
    .hw_id = {4, 0, 32}, /* HW_ID */
    .clock = "llvm.amdgcn.s.memrealtime",
    .drain = "s_waitcnt vmcnt(0)",
    .die_acquire = "buffer_inv sc0",
    .features = "",
};
