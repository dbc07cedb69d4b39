/* Every step gets its plan (passes/product). */
#include "passes/product/product.h"
#include "passes/pipeline/pipeline.h"

bool et_pass_product(et_pipeline *pl) {
    const et_product_options *by = pl->opt->machine->plans;
    return !by || pl->opt->unplanned || et_product_plan_all(pl->p, by);
}
