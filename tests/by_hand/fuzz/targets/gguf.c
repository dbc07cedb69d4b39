/* A GGUF file: what is understood of it can be written as a checkpoint, whose tensors are whole and
 * whose JSON is JSON; etllm reads its tokenizer, and what etimport makes of it the front end takes.
 */
#include "examples/llm/tokenizer/tokenizer.h"
#include "frontend/gguf/convert.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include "tests/by_hand/fuzz/import.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static void write_json(const char *name, json_t *value) {
    FUZZ_EXPECT(value && json_dump_file(value, fuzz_path(name), 0) == 0);
    json_decref(value);
}

static void check_encoding(void) {
    static const char text[] = "<s> a the 12\n<0x41>\xe4\xba\xba <|im_end|>";
    char err[LLM_ERR] = "";
    struct tokenizer *t;
    struct ids ids = {0};
    if (!tokenizer_load(fuzz_folder(), &t, err)) fuzz_broken(__FILE__, __LINE__, err);
    if (!tokenizer_encode(t, text, sizeof text - 1, &ids, err)) FUZZ_EXPECT(*err);
    free(ids.v);
    tokenizer_free(t);
}

static void check_tokenizer(const struct gguf_vocabulary *v) {
    char *text = NULL;
    size_t bytes;
    json_error_t e;
    FILE *f = open_memstream(&text, &bytes);
    FUZZ_EXPECT(f && gguf_tokenizer_write(v, f) && fclose(f) == 0);
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &e);
    if (!root) fuzz_broken(__FILE__, __LINE__, e.text);
    json_decref(root);
    bool written = fuzz_file("tokenizer.json", text, bytes);
    free(text);
    write_json("tokenizer_config.json", gguf_tokenizer_config(v, 512));
    write_json("generation_config.json", gguf_generation_config(v));
    if (written) check_encoding();
}

static void check_modules(const struct gguf *g, const struct gguf_family *f,
                          struct gguf_fault *fault) {
    struct gguf_modules m;
    if (!gguf_modules_read(g, f, &m)) {
        FUZZ_EXPECT(*fault->text);
        return;
    }
    json_t *list = gguf_modules_list(&m), *config;
    for (int i = 0; i < (int)json_array_size(list); i++) {
        const char *folder = gguf_modules_folder(&m, i, 8, &config);
        const struct gguf_tensor *t = gguf_modules_tensor(&m, i);
        FUZZ_EXPECT(!folder == !config && (!t || folder));
        json_decref(config);
        if (t && !gguf_plan_write_one(g, t, "linear.weight", fuzz_path("dense.safetensors")))
            FUZZ_EXPECT(*fault->text);
    }
    json_decref(list);
}

static void write_weights(struct gguf_plan *p, const json_t *config, struct gguf_fault *fault) {
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    if (!gguf_plan_write(p, fuzz_path("model.safetensors"))) {
        FUZZ_EXPECT(*fault->text);
        return;
    }
    if (!etrt_st_open(fuzz_path("model.safetensors"), &st, err, sizeof err))
        fuzz_broken(__FILE__, __LINE__, err);
    etrt_st_close(st);
    json_t *whole = json_deep_copy(config);
    if (gguf_plan_quantised(p))
        json_object_set_new(whole, "quantization_config",
                            json_pack("{s:s}", "quant_method", "gguf"));
    write_json("config.json", whole);
    fuzz_import(NULL, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    struct gguf g;
    struct gguf_fault fault = {""};
    struct gguf_vocabulary *v = NULL;
    struct gguf_plan *p = NULL;
    json_t *config = NULL;
    int rounded;
    et_arena *arena = et_arena_create();
    const struct gguf_family *f = NULL;
    if (gguf_parse("m.gguf", data, bytes, arena, &fault, &g)) f = gguf_family_of(&g);
    if (f) config = gguf_config(&g, f, "bfloat16");
    if (config && gguf_vocabulary_read(&g, NULL, &v))
        p = gguf_plan_make(&g, f, bytes % 2 ? NULL : "F16", config, &rounded);
    FUZZ_EXPECT(p || *fault.text);
    FUZZ_EXPECT(!memchr(fault.text, '\n', strlen(fault.text)));
    if (v) check_tokenizer(v);
    if (p) check_modules(&g, f, &fault);
    if (p) write_weights(p, config, &fault);
    json_decref(config);
    et_arena_destroy(arena);
    return 0;
}
