/* The index of a checkpoint in shards; the two shards, a.safetensors with tensor "a" and
 * b.safetensors with "b" and "c", stay as they are. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/by_hand/fuzz/fuzz.h"

static bool write_shards(void) {
    static const int32_t values[2] = {1, 2};
    const struct etrt_st_tensor a = {"a", "I32", 1, {2}, values, sizeof values};
    const struct etrt_st_tensor bc[2] = {{"b", "I32", 1, {2}, values, sizeof values},
                                         {"c", "I32", 0, {0}, values, 4}};
    char err[ETRT_ST_ERR];
    return etrt_st_write(fuzz_path("a.safetensors"), &a, 1, err, sizeof err) &&
           etrt_st_write(fuzz_path("b.safetensors"), bc, 2, err, sizeof err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static bool ready;
    char err[ETRT_ST_ERR] = "";
    struct etrt_st *st = NULL;
    if (!ready && !(ready = write_shards())) return -1;
    if (!fuzz_file("model.safetensors.index.json", data, bytes)) return -1;
    if (!etrt_st_open(fuzz_folder(), &st, err, sizeof err)) {
        FUZZ_EXPECT(*err);
        return 0;
    }
    FUZZ_EXPECT(etrt_st_count(st) <= 3);
    for (size_t i = 0; i < etrt_st_count(st); i++)
        FUZZ_EXPECT(etrt_st_find(st, etrt_st_at(st, i)->name) == etrt_st_at(st, i));
    etrt_st_close(st);
    return 0;
}
