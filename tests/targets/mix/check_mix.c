/* check_mix - do models that share a kernel compute what each computes alone, bit for bit?
 *
 *     check_mix DEVICE MIX LAUNCHES SEED  NAME KERNEL  [NAME KERNEL]...
 *
 * Random weights, and for each launch random dims, inputs and models that take part, in one session
 * of the mix and one of each model's own kernel; outputs and states must be the same bytes. What a
 * launch leaves out has no inputs before its first launch, and its outputs must stay as they were.
 */
#include "tests/support/launches.h"
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

static void give_inputs(const struct alone *a, etrt_session *mix) {
    etrt_dim_info dim;
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_dim(a->model, i, &dim) == ETRT_OK; i++) {
        int64_t n = dim.lo + (int64_t)(draw() % (uint64_t)(dim.hi - dim.lo + 1));
        need(etrt_set_dim(a->session, dim.name, n), dim.name);
        need(etrt_set_dim(mix, prefixed(a->name, dim.name, name), n), name);
    }
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_INPUT) continue;
        size_t bytes = bytes_of(a->session, t.name, t.dtype);
        void *data = numbers(t.dtype, (int64_t)bytes);
        need(etrt_bind(a->session, t.name, data, bytes), t.name);
        need(etrt_bind(mix, prefixed(a->name, t.name, name), data, bytes), name);
        free(data);
    }
}

static void compare(const struct alone *a, etrt_session *mix, int launch) {
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        size_t bytes = bytes_of(a->session, t.name, t.dtype);
        char *one = malloc(bytes + 1), *other = malloc(bytes + 1);
        if (!one || !other) exit(1);
        need(etrt_read(a->session, t.name, one, bytes), t.name);
        need(etrt_read(mix, prefixed(a->name, t.name, name), other, bytes), name);
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
    launches_begin("check_mix", strtoull(argv[4], NULL, 10));
    need(etrt_device_open(argv[1], &device), argv[1]);
    need(etrt_model_load(device, argv[2], &mix), argv[2]);
    need(etrt_session_create(mix, &s), argv[2]);
    for (int i = 0; i < n; i++) {
        struct alone *a = &alone[i];
        a->name = argv[5 + 2 * i];
        need(etrt_model_load(device, argv[6 + 2 * i], &a->model), argv[6 + 2 * i]);
        need(etrt_session_create(a->model, &a->session), a->name);
        if (!etrt_model_part(mix, i) || strcmp(etrt_model_part(mix, i), a->name) != 0) return 3;
        give_weights(a->model, mix, a->name);
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
