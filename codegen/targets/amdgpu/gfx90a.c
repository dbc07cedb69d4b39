/* MI210, and each half of MI250 and MI250X. */
#include "codegen/targets/target.h"

static const et_fragment fragments[] = {
    {ET_BF16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k", 4, 4, ET_FRAG_I16,
     ET_ROWS_PLAIN},
    {ET_F16, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x16f16", 4, 4, ET_FRAG_F16, ET_ROWS_PLAIN},
    {ET_F32, ET_FRAG_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32", 1, 4, ET_FRAG_F32, ET_ROWS_PLAIN},
};

extern const et_target et_target_gfx90a;
const et_target et_target_gfx90a = {
    .name = "gfx90a",
    .triple = "amdgcn-amd-amdhsa",
    .wave = 64,
    .loads = 16,
    .simds = 4,
    .lds_bytes = 65536,
    .oclc_isa = 9010,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .hw_id = {4, 0, 32}, /* HW_ID */
    .clock = "llvm.amdgcn.s.memrealtime",
    .drain = "s_waitcnt vmcnt(0)",
    .features = "",
};
