#include "examples/llm/engine/stops.h"
#include "examples/llm/base/json_file.h"

static void add_stop(struct stops *s, const json_t *id) {
    if (json_file_id(id) >= 0 && s->n < MAX_STOPS) s->ids[s->n++] = json_file_id(id);
}

bool stops_read(const char *dir, struct stops *out, char *err) {
    static const char *const files[] = {"generation_config.json", "config.json"};
    out->n = 0;
    for (int i = 0; i < 2 && !out->n; i++) {
        json_t *root = json_file(dir, files[i], true, err);
        if (!root && *err) return false;
        const json_t *eos = json_object_get(root, "eos_token_id");
        add_stop(out, eos);
        for (size_t k = 0; k < json_array_size(eos); k++)
            add_stop(out, json_array_get(eos, k));
        json_decref(root);
    }
    return true;
}
