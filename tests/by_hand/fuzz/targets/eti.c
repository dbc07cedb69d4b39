/* A program in .eti, of any stage, to its schedule: what parses prints as text that reads back the
 * same, and goes through the rest of the passes and the verifier to a program or to errors. */
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include "tests/by_hand/fuzz/fuzz.h"

enum { MAX_NODES = FUZZ_SMALL ? 24 : 1000, MAX_GRIDS = FUZZ_SMALL ? 12 : 1000 };

static void compile(et_arena *arena, const char *text, size_t bytes) {
    et_diags *diags = et_diags_create(arena);
    et_program *p = NULL, *out = NULL;
    et_graph *g = et_eti_parse(arena, diags, "fuzz.eti", text, bytes, &p);
    FUZZ_EXPECT((g != NULL) == (et_diag_errors(diags) == 0));
    if (g) {
        char *wrong = et_eti_round_trip(arena, g, p);
        if (wrong) fprintf(stderr, "%s\n", wrong);
        FUZZ_EXPECT(!wrong);
    }
    if (g && g->nnodes <= MAX_NODES && (!p || p->ngrids <= MAX_GRIDS)) {
        et_pass_options o = {.machine = et_machine_for("gfx942"), .check_text = true};
        bool ok = p ? et_passes_resume(g, p, &o, &out) : et_passes_run(g, &o, &out);
        FUZZ_EXPECT(ok == (et_diag_errors(diags) == 0));
        FUZZ_EXPECT(!ok || out);
    }
    et_diag_print(diags, fuzz_sink());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    et_arena *arena = et_arena_create();
    compile(arena, (const char *)data, bytes);
    et_arena_destroy(arena);
    return 0;
}
