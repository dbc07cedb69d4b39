/* H100, H200, H800. */
#include "codegen/targets/nvptx/nvptx.h"

/* sm_90a adds what only this generation has: wgmma. */
static const struct nvptx own = {.try_wait = true,
                                 .ordered = true,
                                 .hand_over = true,
                                 .features = "+ptx86",
                                 .processor = "sm_90a"};

extern const et_target et_nvptx_sm_90;
const et_target et_nvptx_sm_90 = {
    .name = "sm_90",
    NVPTX_BASE,
    .lds_bytes = 232448,
    .producers = 2,
    .sends = true,
    .decode = NVPTX_DECODE,
    .warpgroup = &nvptx_warpgroup,
    .boxes = &nvptx_boxes,
    .own = &own,
};
