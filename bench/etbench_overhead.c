/* --overhead: what scheduling costs per task, in instructions. */
#include "etbench.h"

bool eb_overhead(const struct eb_options *o) {
    (void)o;
    return eb_fail("--overhead");
}
