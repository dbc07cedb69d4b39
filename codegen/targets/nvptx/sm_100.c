/* B100, B200. */
#include "codegen/targets/nvptx/nvptx.h"

static const et_fragment fragments[] = {
    {ET_BF16, 4, &nvptx_rows, &nvptx_bf16, &nvptx_few_bf16, NULL},
    {ET_F16, 4, &nvptx_rows, &nvptx_f16, &nvptx_few_f16, NULL},
    {ET_F32, 2, &nvptx_rows, &nvptx_f32, NULL, NULL},
};

static const struct nvptx own = {.try_wait = true, .ordered = true, .features = "+ptx86"};

extern const et_target et_nvptx_sm_100;
const et_target et_nvptx_sm_100 = {
    .name = "sm_100",
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
    .own = &own,
};
