/* B100, B200. */
#include "codegen/targets/nvptx/nvptx.h"

static const struct nvptx own = {.try_wait = true, .ordered = true, .features = "+ptx86"};

extern const et_target et_nvptx_sm_100;
const et_target et_nvptx_sm_100 = {
    .name = "sm_100",
    NVPTX_BASE,
    .lds_bytes = 232448,
    .decode = NVPTX_DECODE,
    .own = &own,
};
