/* A100, A800. */
#include "codegen/targets/nvptx/nvptx.h"

static const et_fragment fragments[] = {
    {ET_BF16, 4, &nvptx_rows, &nvptx_bf16, &nvptx_few_bf16, NULL},
    {ET_F16, 4, &nvptx_rows, &nvptx_f16, &nvptx_few_f16, NULL},
    {ET_F32, 2, &nvptx_rows, &nvptx_f32, NULL, NULL},
};

static const struct nvptx own = {.features = "+ptx81"};

extern const et_target et_nvptx_sm_80;
const et_target et_nvptx_sm_80 = {
    .name = "sm_80",
    .family = &et_nvptx,
    .wave = 32,
    .loads = 16,
    .copies = true,
    .scarce = true,
    .simds = 4,
    .lds_bytes = 166912,
    .fragments = fragments,
    .nfragments = sizeof fragments / sizeof *fragments,
    .either = nvptx_either,
    .neither = NVPTX_EITHER,
    .spread = 2,
    .own = &own,
};
