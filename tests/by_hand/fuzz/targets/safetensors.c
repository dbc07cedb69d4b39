/* A safetensors file: what opens has its tensors inside the file, and writing them gives a file
 * that opens. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <string.h>

static void read_all(const struct etrt_st *st) {
    unsigned sum = 0;
    for (size_t i = 0; i < etrt_st_count(st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(st, i);
        const unsigned char *p = t->data;
        for (size_t k = 0; k < t->bytes; k++)
            sum += p[k];
        FUZZ_EXPECT(etrt_st_find(st, t->name) != NULL);
        size_t bytes = etrt_st_dtype_bytes(t->dtype);
        for (int d = 0; d < t->rank; d++)
            bytes *= (size_t)t->shape[d];
        FUZZ_EXPECT(bytes == t->bytes);
        FUZZ_EXPECT(etrt_st_path(st, t) != NULL);
    }
    fprintf(fuzz_sink(), "%u", sum);
}

static void write_again(const struct etrt_st *st) {
    enum { MAX = 64 };
    struct etrt_st_tensor list[MAX];
    struct etrt_st *again;
    char err[ETRT_ST_ERR];
    size_t n = etrt_st_count(st);
    if (n > MAX) return;
    for (size_t i = 0; i < n; i++)
        list[i] = *etrt_st_at(st, i);
    if (!etrt_st_write(fuzz_path("copy.safetensors"), list, n, err, sizeof err))
        fuzz_broken(__FILE__, __LINE__, err);
    if (!etrt_st_open(fuzz_path("copy.safetensors"), &again, err, sizeof err))
        fuzz_broken(__FILE__, __LINE__, err);
    FUZZ_EXPECT(etrt_st_count(again) == n);
    read_all(again);
    etrt_st_close(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char err[ETRT_ST_ERR] = "";
    struct etrt_st *st = NULL;
    if (!fuzz_file("model.safetensors", data, bytes)) return -1;
    if (!etrt_st_open(fuzz_path("model.safetensors"), &st, err, sizeof err)) {
        FUZZ_EXPECT(*err);
        return 0;
    }
    read_all(st);
    write_again(st);
    etrt_st_close(st);
    return 0;
}
