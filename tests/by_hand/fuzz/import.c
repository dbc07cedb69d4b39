#include "tests/by_hand/fuzz/import.h"
#include "frontend/import/import.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/by_hand/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where the data end, by what the header says; 0 where that is far away. */
static size_t data_end(const char *header, size_t bytes) {
    static const char word[] = "data_offsets";
    enum { FAR = 1 << 26 };
    size_t end = 0;
    char *text = strndup(header, bytes);
    for (const char *at = text; at && (at = strstr(at, word)); at += sizeof word - 1) {
        long long to;
        if (sscanf(at + sizeof word - 1, "\" : [ %*d , %lld", &to) == 1 && to > 0 && to <= FAR &&
            (size_t)to > end)
            end = (size_t)to;
    }
    free(text);
    return end;
}

bool fuzz_tensors(const char *name, const char *header, size_t n) {
    enum { FILLED = 1 << 16 };
    uint64_t length = n;
    size_t end = data_end(header, n);
    FILE *f = fopen(fuzz_path(name), "wb");
    if (!f) return false;
    bool ok = fwrite(&length, sizeof length, 1, f) == 1 && fwrite(header, 1, n, f) == n;
    for (size_t i = 0; ok && n && end <= FILLED && i < end; i++)
        ok = putc(header[i % n], f) != EOF;
    ok = fflush(f) == 0 && ok && ftruncate(fileno(f), (off_t)(sizeof length + n + end)) == 0;
    return fclose(f) == 0 && ok;
}

bool fuzz_checkpoint(const uint8_t *data, size_t bytes) {
    const uint8_t *zero = memchr(data, 0, bytes);
    size_t before = zero ? (size_t)(zero - data) : bytes;
    size_t n = zero ? bytes - before - 1 : 0;
    const char *header = zero ? (const char *)zero + 1 : "";
    return fuzz_file("config.json", data, before) && fuzz_tensors("model.safetensors", header, n);
}

bool fuzz_import(const char *activations, bool with_weights) {
    struct imp_report report = {0, 0};
    struct imp_options o = {.checkpoint = fuzz_folder(),
                            .name = "m",
                            .max_tokens = 4,
                            .slots = 1,
                            .activations = activations};
    struct imp_config config;
    struct imp_source from;
    struct imp_filled filled;
    struct etrt_st *st = NULL;
    char err[ETRT_ST_ERR] = "";
    bool is_type, taken = false;
    const char *said, *name = NULL;
    et_arena *arena = et_arena_create();
    if (imp_config_open(&config, arena, fuzz_path("config.json"), &report) &&
        (said = imp_config_architecture(&config, &is_type))) {
        name = imp_model_of(arena, said, is_type, &from);
        if (!name && (said = imp_config_enter(&config)))
            name = imp_model_of(arena, said, true, &from);
    }
    if (name && imp_config_complete(&config, name) &&
        (!with_weights || etrt_st_open(fuzz_folder(), &st, err, sizeof err))) {
        if (st) imp_config_tensors(&config, st);
        taken = imp_template_fill(&from, &config, &o, st, name, &filled) &&
                imp_config_unused(&config, &o, name) &&
                imp_check_weights(&filled, &config, from.name, st, &o);
        FUZZ_EXPECT(taken == !report.errors);
    } else {
        FUZZ_EXPECT(report.errors || !name || *err);
    }
    etrt_st_close(st);
    imp_config_close(&config);
    et_arena_destroy(arena);
    return taken;
}
