/* config.json of a checkpoint, imported without its weights: what the importer accepts and writes,
 * the compiler's front end accepts. */
#include "frontend/frontend.h"
#include "frontend/import/import.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static void parse(const char *text, size_t bytes) {
    et_arena *arena = et_arena_create();
    et_diags *diags = et_diags_create(arena);
    et_graph *g = et_parse_etg(arena, diags, "imported.etg", text, bytes);
    if (!g) et_diag_print(diags, stderr);
    FUZZ_EXPECT(g);
    et_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct imp_config config;
    struct imp_weight weights[IMP_MAX_WEIGHTS];
    struct imp_report report = {0, 0};
    struct imp_options o = {.checkpoint = "checkpoint", .name = "m", .max_tokens = 4, .slots = 1};
    char *text = NULL;
    size_t n = 0;
    if (!fuzz_file("config.json", data, bytes)) return -1;
    if (!imp_read_config(fuzz_path("config.json"), &config, &report)) {
        FUZZ_EXPECT(report.errors);
        return 0;
    }
    if (!imp_check_caches(&o, &config, &report)) return 0;
    imp_list_weights(&config, NULL, weights);
    FILE *f = open_memstream(&text, &n);
    if (!f) return -1;
    imp_emit(f, &o, &config, weights);
    fclose(f);
    parse(text, n);
    free(text);
    return 0;
}
