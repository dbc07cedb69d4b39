/* The text of a template, filled in with a configuration that has a field of every kind. */
#include "frontend/import/import.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

static const char fields[] =
    "{\"hidden_size\": 8, \"num_hidden_layers\": 2, \"eps\": 1e-5, \"act\": "
    "\"silu\", \"tied\": true, \"types\": [\"a\", \"b\"], \"none\": null, "
    "\"rope\": {\"theta\": 10000.0, \"list\": [1, 2.5]}}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct imp_report report = {0, 0};
    struct imp_options o = {.checkpoint = "checkpoint", .name = "m", .max_tokens = 4, .slots = 1};
    struct imp_config config;
    struct imp_filled filled;
    if (!fuzz_file("config.json", fields, sizeof fields - 1)) return -1;
    char *text = malloc(bytes + 1);
    if (!text) return -1;
    memcpy(text, data, bytes);
    text[bytes] = 0;
    et_arena *arena = et_arena_create();
    struct imp_source from = {"fuzzed.etg.in", text};
    FUZZ_EXPECT(imp_config_open(&config, arena, fuzz_path("config.json"), &report));
    imp_model_serves(arena, text, "A", false);
    bool ok = imp_template_fill(&from, &config, &o, NULL, "A", &filled);
    FUZZ_EXPECT(ok == (report.errors == 0));
    if (ok) imp_check_weights(&filled, &config, from.name, NULL, &o);
    imp_config_close(&config);
    et_arena_destroy(arena);
    free(text);
    return 0;
}
