#include "tests/unit/gguf/writer.h"
#include <stdio.h>
#include <string.h>

static void key_of(char out[100], const char *arch, const char *key) {
    snprintf(out, 100, "%s.%s", arch, key);
}

static const struct {
    const char *key;
    uint32_t value;
} sizes[] = {{"context_length", 64},      {"embedding_length", 64},
             {"block_count", 2},          {"feed_forward_length", 64},
             {"attention.head_count", 4}, {"attention.head_count_kv", 2},
             {"rope.dimension_count", 16}};

void add_small_model(struct writer *w, const char *arch, const char *without) {
    char key[100];
    uint64_t dims[2] = {64, 8};
    unsigned char zeros[64 * 8 * 2] = {0};
    add_text(w, "general.architecture", arch);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        key_of(key, arch, sizes[i].key);
        if (!without || strcmp(without, sizes[i].key) != 0) add_u32(w, key, sizes[i].value);
    }
    key_of(key, arch, "attention.layer_norm_rms_epsilon");
    if (!without || strcmp(without, "attention.layer_norm_rms_epsilon") != 0)
        add_f32(w, key, 1e-5f);
    add_tensor(w, "token_embd.weight", 2, dims, 30, zeros, sizeof zeros);
}
