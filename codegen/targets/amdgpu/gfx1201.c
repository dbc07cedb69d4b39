/* RX 9070, RX 9070 XT. */
#include "codegen/targets/target.h"

static const et_fragment fragments[] = {
    {ET_BF16, ET_FRAG_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.bf16", 8, 2, ET_FRAG_I16, ET_ROWS_PLAIN},
    {ET_F16, ET_FRAG_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.f16", 8, 2, ET_FRAG_F16, ET_ROWS_PLAIN},
    {ET_F32, ET_FRAG_FMA, "v_fmac_f32_dpp $0, $1, $2 row_share:%d row_mask:0xf bank_mask:0xf", 1, 1,
     ET_FRAG_F32, ET_ROWS_TURNED},
};

extern const et_target et_target_gfx1201;
const et_target et_target_gfx1201 = {
    .name = "gfx1201",
    .triple = "amdgcn-amd-amdhsa",
    .wave = 32,
    .loads = 8,
    .simds = 2, /* of one CU: +cumode keeps a workgroup there */
    .lds_bytes = 65536,
    .oclc_isa = 12001,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .hw_id = {23, 0, 32}, /* HW_ID1 */
    .clock = "llvm.amdgcn.s.sendmsg.rtn",
    .clock_message = 0x83, /* GET_REALTIME */
    .drain = "s_wait_storecnt 0x0",
    .features = "+cumode",
};
