/* A manifest and every shape it states at the corners of its symbols; and the bytes as a file of
 * code that holds a manifest somewhere. */
#include "runtime/etrt/inspect.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>

static void all_shapes(const struct etrt_manifest *m) {
    int64_t *values = calloc((size_t)m->nsymbols + 1, sizeof *values), shape[ETRT_MAX_RANK], size;
    if (!values) return;
    for (int corner = 0; corner < 2; corner++) {
        for (int i = 0; i < m->nsymbols; i++)
            values[i] = corner ? m->symbols[i].hi : m->symbols[i].lo;
        for (int i = 0; i < m->ntensors; i++) {
            if (etrt_tensor_shape(&m->tensors[i], values, shape, &size) != ETRT_OK) continue;
            FUZZ_EXPECT(size >= 0);
            for (int d = 0; d < m->tensors[i].rank; d++)
                FUZZ_EXPECT(shape[d] >= 0);
        }
    }
    free(values);
}

/* What is printed of it, and the memory it needs, which is no more than its parts. */
static void tell(const struct etrt_manifest *m) {
    static FILE *nowhere;
    etrt_memory need;
    if (!nowhere) nowhere = fopen("/dev/null", "w");
    for (int i = 0; nowhere && i < m->ntensors; i++)
        etrt_shape_print(nowhere, m, &m->tensors[i]);
    if (etrt_manifest_memory(m, NULL, 4, &need) == ETRT_OK)
        FUZZ_EXPECT(need.session >= need.workspace && need.session >= need.states);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct etrt_manifest m;
    if (etrt_manifest_of_code(data, bytes, &m) == ETRT_OK)
        etrt_manifest_free(&m);
    else
        FUZZ_EXPECT(*etrt_last_error());
    if (etrt_manifest_parse((const char *)data, bytes, &m) != ETRT_OK) {
        FUZZ_EXPECT(*etrt_last_error());
        return 0;
    }
    all_shapes(&m);
    tell(&m);
    for (int i = 0; i < m.ntensors; i++)
        FUZZ_EXPECT(etrt_manifest_tensor(&m, m.tensors[i].name) == i);
    for (int i = 0; i < m.nsymbols; i++)
        FUZZ_EXPECT(etrt_manifest_symbol(&m, m.symbols[i].name) == i);
    etrt_manifest_free(&m);
    return 0;
}
