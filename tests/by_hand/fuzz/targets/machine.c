/* A description of a GPU: a machine, every figure in range, if and only if there is no error. */
#include "passes/machine/machine.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    const et_machine *m = et_machine_parse(arena, d, "fuzz.machine", (const char *)data, bytes);
    FUZZ_EXPECT((m != NULL) == (et_diag_errors(d) == 0));
    if (m) {
        FUZZ_EXPECT(m->cus >= 1 && m->dies >= 1 && m->cus % m->dies == 0);
        FUZZ_EXPECT(m->clock_ghz > 0 && m->hbm_gbs > 0 && m->cache_gbs_cu > 0 && m->pop_us > 0);
        FUZZ_EXPECT(strlen(m->name) > 0 && strlen(m->target) > 0 && strlen(m->source) > 0);
    }
    et_diag_print(d, fuzz_sink());
    et_arena_destroy(arena);
    return 0;
}
