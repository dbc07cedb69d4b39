/* H100, H200, H800. */
#include "codegen/targets/nvptx/nvptx.h"

static const et_fragment fragments[] = {
    {ET_BF16, 4, &nvptx_rows, &nvptx_bf16, &nvptx_few_bf16, NULL},
    {ET_F16, 4, &nvptx_rows, &nvptx_f16, &nvptx_few_f16, NULL},
    {ET_F32, 2, &nvptx_rows, &nvptx_f32, NULL, NULL},
};

/* sm_90a is sm_90 with what later GPUs no longer have, wgmma. */
static const struct nvptx own = {.try_wait = true,
                                 .ordered = true,
                                 .hand_over = true,
                                 .features = "+ptx86",
                                 .processor = "sm_90a"};

extern const et_target et_nvptx_sm_90;
const et_target et_nvptx_sm_90 = {
    .name = "sm_90",
    .family = &et_nvptx,
    .wave = 32,
    .loads = 16,
    .copies = true,
    .scarce = true,
    .simds = 4,
    .lds_bytes = 232448,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .either = nvptx_either,
    .neither = NVPTX_EITHER,
    .spread = 2,
    .decode = NVPTX_DECODE,
    .group = &nvptx_warpgroup,
    .bulk = &nvptx_boxes,
    .own = &own,
};
