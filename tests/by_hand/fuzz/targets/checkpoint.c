/* config.json and the header of a safetensors file, imported together: quantised weights, names of
 * tensors inside of a larger model, types of weights. */
#include "tests/by_hand/fuzz/fuzz.h"
#include "tests/by_hand/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!fuzz_checkpoint(data, bytes)) return -1;
    fuzz_import(NULL, true);
    fuzz_import("fp8", true);
    return 0;
}
