/* launch.json of a captured launch; the files beside it stay as they are: code.hsaco (8 bytes),
 * kernarg.bin (64 bytes), r16.bin and s16.bin (16 bytes each). */
#include "runtime/etrun/etrun.h"
#include "tests/by_hand/fuzz/fuzz.h"

static bool write_files(void) {
    static const char zero[64];
    return fuzz_file("code.hsaco", zero, 8) && fuzz_file("kernarg.bin", zero, 64) &&
           fuzz_file("r16.bin", zero, 16) && fuzz_file("s16.bin", zero, 16);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static bool ready;
    struct launch l;
    if (!ready && !(ready = write_files())) return -1;
    if (!fuzz_file("launch.json", data, bytes)) return -1;
    if (launch_read(fuzz_folder(), 1 << 30, &l) != ETRT_OK) {
        FUZZ_EXPECT(*etrt_last_error());
        return 0;
    }
    FUZZ_EXPECT(l.kernarg_bytes == 64);
    for (size_t i = 0; i < l.npointers; i++)
        FUZZ_EXPECT(l.pointers[i] <= l.kernarg_bytes - 8);
    for (size_t i = 0; i < l.nregions; i++) {
        FUZZ_EXPECT(l.regions[i].before && l.regions[i].check_hi <= l.regions[i].bytes);
        FUZZ_EXPECT(!i ||
                    l.regions[i - 1].address + l.regions[i - 1].bytes <= l.regions[i].address);
    }
    launch_free(&l);
    return 0;
}
