/* config.json of a checkpoint, imported without its weights: what the importer accepts and writes,
 * the compiler's front end accepts. */
#include "frontend/import/import.h"
#include "tests/by_hand/fuzz/fuzz.h"

static void import(const char *activations) {
    struct imp_report report = {0, 0};
    struct imp_options o = {.checkpoint = "checkpoint",
                            .name = "m",
                            .max_tokens = 4,
                            .slots = 1,
                            .activations = activations};
    struct imp_config config;
    struct imp_source from;
    struct imp_filled filled;
    bool is_type;
    const char *said;
    et_arena *arena = et_arena_create();
    if (imp_config_open(&config, arena, fuzz_path("config.json"), &report)) {
        if ((said = imp_config_architecture(&config, &is_type)) &&
            (said = imp_model_of(arena, said, is_type, &from)) &&
            imp_config_complete(&config, said) &&
            imp_template_fill(&from, &config, &o, NULL, said, &filled) &&
            imp_config_unused(&config, &o, said))
            FUZZ_EXPECT(imp_check_weights(&filled, &config, from.name, NULL, &o));
    } else {
        FUZZ_EXPECT(report.errors);
    }
    imp_config_close(&config);
    et_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!fuzz_file("config.json", data, bytes)) return -1;
    import(NULL);
    import("fp8");
    return 0;
}
