/* config.json of a checkpoint, imported without its weights: what the importer accepts and writes,
 * the compiler's front end accepts. */
#include "tests/by_hand/fuzz/fuzz.h"
#include "tests/by_hand/fuzz/import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!fuzz_file("config.json", data, bytes)) return -1;
    fuzz_import(NULL, false);
    fuzz_import("fp8", false);
    return 0;
}
