#include "tests/support/launches.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *program = "?";
static uint64_t state;

void launches_begin(const char *name, uint64_t seed) {
    program = name;
    state = seed;
}

uint64_t draw(void) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t v = state;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

void need(etrt_status status, const char *doing) {
    if (status == ETRT_OK) return;
    fprintf(stderr, "%s: %s: %s: %s\n", program, doing, etrt_status_text(status),
            etrt_last_error());
    exit(1);
}

static int size_of(etrt_dtype type) {
    return type == ETRT_F32 || type == ETRT_I32 ? 4 : 2;
}

void *numbers(etrt_dtype type, int64_t bytes) {
    char *data = malloc((size_t)bytes + 4);
    int size = size_of(type);
    if (!data) exit(1);
    for (int64_t i = 0; i + size <= bytes; i += size) {
        float f = (float)(draw() >> 40) / 16777216.0f - 0.5f;
        int32_t n = (int32_t)(draw() % 8);
        uint32_t word;
        memcpy(&word, &f, 4);
        if (type == ETRT_I32)
            memcpy(data + i, &n, 4);
        else if (type == ETRT_F32)
            memcpy(data + i, &f, 4);
        else if (type == ETRT_BF16)
            memcpy(data + i, (char *)&word + 2, 2);
        else
            memcpy(data + i, (uint16_t[]){(uint16_t)(0x2000 + draw() % 0x1000)}, 2);
    }
    return data;
}

size_t bytes_of(etrt_session *s, const char *name, etrt_dtype type) {
    int64_t shape[ETRT_MAX_RANK], bytes = size_of(type);
    int rank;
    need(etrt_shape(s, name, shape, &rank), name);
    for (int d = 0; d < rank; d++)
        bytes *= shape[d];
    return (size_t)bytes;
}

const char *prefixed(const char *prefix, const char *name, char buf[256]) {
    snprintf(buf, 256, "%s%s%s", prefix ? prefix : "", prefix ? "." : "", name);
    return buf;
}

void give_weights(etrt_model *model, etrt_model *kernel, const char *prefix) {
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_WEIGHT) continue;
        void *data = numbers(t.dtype, t.max_bytes);
        need(etrt_model_weight(model, t.name, data, (size_t)t.max_bytes), t.name);
        need(etrt_model_weight(kernel, prefixed(prefix, t.name, name), data, (size_t)t.max_bytes),
             name);
        free(data);
    }
}
