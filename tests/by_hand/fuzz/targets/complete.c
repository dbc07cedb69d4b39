/* config.json, completed by the class of every architecture in turn: what the file says stays, and
 * each field of the class is there with a value, or has none for a reason. */
#include "frontend/import/import.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include <jansson.h>
#include <string.h>

static void complete(const json_t *file, et_arena *arena, const char *architecture) {
    struct imp_report report = {0, 0};
    struct imp_config c = {
        .arena = arena, .path = "config.json", .report = &report, .root = json_deep_copy(file)};
    json_t *value;
    const char *key;
    bool ok = imp_config_complete(&c, architecture);
    json_object_foreach((json_t *)file, key, value) {
        FUZZ_EXPECT(json_equal(value, json_object_get(c.root, key)));
        FUZZ_EXPECT(strchr(key, '.') || !imp_config_default(&c, key)); /* that is a path */
    }
    json_object_foreach(c.root, key, value) {
        FUZZ_EXPECT(strchr(key, '.') ||
                    !json_object_get(file, key) == (imp_config_default(&c, key) != NULL));
    }
    for (int i = 0; i < c.ndefaults; i++) {
        const struct imp_default *d = &c.defaults[i];
        FUZZ_EXPECT(!json_object_get(c.root, d->name) == (d->unsure != NULL));
        FUZZ_EXPECT(!d->value == (d->unsure != NULL));
        FUZZ_EXPECT(imp_config_default(&c, d->name) == d);
    }
    FUZZ_EXPECT(ok == !report.errors);
    imp_config_close(&c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct imp_report report = {0, 0};
    struct imp_config config;
    size_t at = 0;
    const char *architecture;
    if (!fuzz_file("config.json", data, bytes)) return -1;
    et_arena *arena = et_arena_create();
    if (imp_config_open(&config, arena, fuzz_path("config.json"), &report))
        while ((architecture = imp_model_next(arena, &at)))
            complete(config.root, arena, architecture);
    imp_config_close(&config);
    et_arena_destroy(arena);
    return 0;
}
