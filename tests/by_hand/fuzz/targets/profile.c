/* A profile: its text reads back as the same text, every task in it can be looked up. */
#include "passes/machine/profile.h"
#include "ir/base/diag.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static char *text_of(const et_profile *p, size_t *out_bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, out_bytes);
    FUZZ_EXPECT(f);
    et_profile_print(p, f);
    fclose(f);
    return text;
}

static void look_up(const et_profile *p) {
    for (int i = 0; i < p->ntasks; i++) {
        double before = 0, us;
        FUZZ_EXPECT(!i || p->task[i - 1].hash < p->task[i].hash);
        for (double width = 0.5; width < 1e6; width *= 3) {
            FUZZ_EXPECT(et_profile_us(p, p->task[i].hash, width, &us) && us > 0);
            before = us;
        }
        FUZZ_EXPECT(before > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    et_profile *p = et_profile_parse(arena, d, "fuzz.prof", (const char *)data, bytes);
    FUZZ_EXPECT((p != NULL) == (et_diag_errors(d) == 0));
    if (p) {
        size_t n, m;
        char *text = text_of(p, &n);
        et_profile *again = et_profile_parse(arena, d, "again.prof", text, n);
        FUZZ_EXPECT(again && again->ntasks == p->ntasks);
        char *second = text_of(again, &m);
        FUZZ_EXPECT(n == m && memcmp(text, second, n) == 0);
        free(text);
        free(second);
        look_up(p);
    }
    et_diag_print(d, fuzz_sink());
    et_arena_destroy(arena);
    return 0;
}
