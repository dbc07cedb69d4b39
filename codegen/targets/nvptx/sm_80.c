/* A100, A800. */
#include "codegen/targets/nvptx/nvptx.h"

static const struct nvptx own = {.features = "+ptx81"};

extern const et_target et_nvptx_sm_80;
const et_target et_nvptx_sm_80 = {
    .name = "sm_80",
    NVPTX_BASE,
    .lds_bytes = 166912,
    .own = &own,
};
