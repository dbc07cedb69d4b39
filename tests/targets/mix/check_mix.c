/* check_mix - do models that share a kernel compute what each computes alone, bit for bit?
 *
 *     check_mix DEVICE MIX LAUNCHES SEED  NAME KERNEL  [NAME KERNEL]...
 *
 * Random weights, and for each launch random dims, inputs and models that take part, in one session
 * of the mix and one of each model's own kernel; outputs and states must be the same bytes. What a
 * launch leaves out has no inputs before its first launch, and its outputs must stay as they were.
 */
#include "runtime/etrt.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODELS = 8 };

struct alone {
    const char *name;
    etrt_model *model;
    etrt_session *session;
    bool ran;
};

static uint64_t state;

static uint64_t draw(void) {
    state += 0x9E3779B97F4A7C15u;
    uint64_t v = state;
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

static void need(etrt_status status, const char *doing) {
    if (status == ETRT_OK) return;
    fprintf(stderr, "check_mix: %s: %s: %s\n", doing, etrt_status_text(status), etrt_last_error());
    exit(1);
}

static const char *mixed(const struct alone *a, const char *name, char buf[256]) {
    snprintf(buf, 256, "%s.%s", a->name, name);
    return buf;
}

/* Numbers from -1/2 to 1/2 of the tensor's type, or small whole numbers. */
static void *numbers(etrt_dtype type, int64_t bytes) {
    char *data = malloc((size_t)bytes + 4);
    int size = type == ETRT_F32 || type == ETRT_I32 ? 4 : 2;
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

static void give_weights(const struct alone *a, etrt_model *mix) {
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_WEIGHT) continue;
        void *data = numbers(t.dtype, t.max_bytes);
        need(etrt_model_weight(a->model, t.name, data, (size_t)t.max_bytes), t.name);
        need(etrt_model_weight(mix, mixed(a, t.name, name), data, (size_t)t.max_bytes), name);
        free(data);
    }
}

static int64_t bytes_of(etrt_session *s, const char *name, etrt_dtype type) {
    int64_t shape[ETRT_MAX_RANK], bytes = type == ETRT_F32 || type == ETRT_I32 ? 4 : 2;
    int rank;
    need(etrt_shape(s, name, shape, &rank), name);
    for (int d = 0; d < rank; d++)
        bytes *= shape[d];
    return bytes;
}

static void give_inputs(const struct alone *a, etrt_session *mix) {
    etrt_dim_info dim;
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_dim(a->model, i, &dim) == ETRT_OK; i++) {
        int64_t n = dim.lo + (int64_t)(draw() % (uint64_t)(dim.hi - dim.lo + 1));
        need(etrt_set_dim(a->session, dim.name, n), dim.name);
        need(etrt_set_dim(mix, mixed(a, dim.name, name), n), name);
    }
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_INPUT) continue;
        int64_t bytes = bytes_of(a->session, t.name, t.dtype);
        void *data = numbers(t.dtype, bytes);
        need(etrt_bind(a->session, t.name, data, (size_t)bytes), t.name);
        need(etrt_bind(mix, mixed(a, t.name, name), data, (size_t)bytes), name);
        free(data);
    }
}

static void compare(const struct alone *a, etrt_session *mix, int launch) {
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        size_t bytes = (size_t)bytes_of(a->session, t.name, t.dtype);
        char *one = malloc(bytes + 1), *other = malloc(bytes + 1);
        if (!one || !other) exit(1);
        need(etrt_read(a->session, t.name, one, bytes), t.name);
        need(etrt_read(mix, mixed(a, t.name, name), other, bytes), name);
        if (memcmp(one, other, bytes) != 0) {
            fprintf(stderr, "check_mix: launch %d: %s differs\n", launch, name);
            exit(1);
        }
        free(one);
        free(other);
    }
}

int main(int argc, char **argv) {
    int n = (argc - 5) / 2, ran = 0;
    struct alone alone[MAX_MODELS] = {{0}};
    etrt_device *device;
    etrt_model *mix;
    etrt_session *s;
    if (argc < 7 || argc % 2 == 0 || n > MAX_MODELS) return 2;
    state = strtoull(argv[4], NULL, 10);
    need(etrt_device_open(argv[1], &device), argv[1]);
    need(etrt_model_load(device, argv[2], &mix), argv[2]);
    need(etrt_session_create(mix, &s), argv[2]);
    for (int i = 0; i < n; i++) {
        struct alone *a = &alone[i];
        a->name = argv[5 + 2 * i];
        need(etrt_model_load(device, argv[6 + 2 * i], &a->model), argv[6 + 2 * i]);
        need(etrt_session_create(a->model, &a->session), a->name);
        if (!etrt_model_part(mix, i) || strcmp(etrt_model_part(mix, i), a->name) != 0) return 3;
        give_weights(a, mix);
    }
    for (int k = 0; k < atoi(argv[3]); k++) {
        uint64_t who = 1 + draw() % ((1u << n) - 1); /* of the models, at least one */
        if (k % 3 == 2) who = (1u << n) - 1;
        for (int i = 0; i < n; i++) {
            bool on = who >> i & 1;
            need(etrt_select(s, alone[i].name, on), alone[i].name);
            if (on) give_inputs(&alone[i], s);
            if (on) need(etrt_run(alone[i].session), alone[i].name);
            alone[i].ran |= on;
        }
        need(etrt_run(s), "mix");
        for (int i = 0; i < n; i++)
            if (alone[i].ran) compare(&alone[i], s, k);
        ran++;
    }
    printf("%d launches of some of %d models: the same bytes as alone\n", ran, n);
    etrt_session_destroy(s);
    for (int i = 0; i < n; i++) {
        etrt_session_destroy(alone[i].session);
        etrt_model_unload(alone[i].model);
    }
    etrt_model_unload(mix);
    etrt_device_close(device);
    return ran && !etrt_model_part(NULL, 0) ? 0 : 1;
}
