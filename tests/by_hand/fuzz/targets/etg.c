/* A program from its text to its schedule, in slices or by one of the ways to schedule it, alone or
 * with itself for a neighbour. */
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_NODES = FUZZ_SMALL ? 24 : 1000 };

/* What is chosen depends on the text, so that an input means the same every time. */
static uint32_t sum_of(const char *text, size_t bytes) {
    uint32_t sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum = sum * 33 + (uint8_t)text[i];
    return sum;
}

static void choose(et_pass_options *o, uint32_t sum) {
    static const int slices[] = {2, 3, 8, ET_SLICES_AUTO};
    if (sum % 2)
        o->slices = slices[sum / 2 % 4], o->slice_rows = sum / 64 % 2;
    else
        o->schedule = (et_schedule_kind)(ET_SCHEDULE_STATIC + sum / 2 % 3);
}

/* Errors are told, and nothing else says no: a graph means there were none. */
static void compile(et_arena *arena, const char *text, size_t bytes) {
    et_diags *diags = et_diags_create(arena);
    uint32_t sum = sum_of(text, bytes);
    const et_source twice[] = {{"fuzz.etg", text, bytes}, {"again.etg", text, bytes}};
    et_graph *g = sum / 8 % 4 ? et_parse_etg(arena, diags, "fuzz.etg", text, bytes)
                              : et_parse_etg_mix(arena, diags, 2, twice, NULL);
    FUZZ_EXPECT((g != NULL) == (et_diag_errors(diags) == 0));
    if (g) {
        et_graph_print(g, fuzz_sink());
    }
    if (g && g->nnodes <= MAX_NODES) {
        et_pass_options o = {.machine = et_machine_for("gfx942"),
                             .dump = "all",
                             .dump_to = fuzz_sink(),
                             .check_text = true};
        et_program *p = NULL;
        choose(&o, sum);
        bool ok = et_passes_run(g, &o, &p);
        FUZZ_EXPECT(ok == (et_diag_errors(diags) == 0));
        FUZZ_EXPECT(!ok || p);
    }
    et_diag_print(diags, fuzz_sink());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    et_arena *arena = et_arena_create();
    compile(arena, (const char *)data, bytes);
    et_arena_destroy(arena);
    return 0;
}
