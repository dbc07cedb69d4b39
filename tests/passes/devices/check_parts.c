/* check_parts KERNEL DEVICE STATE: what is written to a state that several devices divide is read
 * again, whole and in every part along every axis, and parts written are where they belong. */
#include "runtime/etrt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static etrt_session *session;
static const char *state;
static int64_t shape[ETRT_MAX_RANK];
static int rank;

static void must(etrt_status st) {
    if (st == ETRT_OK) return;
    fprintf(stderr, "check_parts: %s\n", etrt_last_error());
    exit(1);
}

/* Elements of two bytes of a part of ALL, one after the other; with BACK, from OUT to ALL. */
static size_t part(uint16_t *all, int axis, int64_t first, int64_t count, uint16_t *out, int back) {
    size_t inner = 1, outer = 1, n = 0;
    for (int d = 0; d < rank; d++)
        *(d < axis ? &outer : &inner) *= d == axis ? 1 : (size_t)shape[d];
    for (size_t o = 0; o < outer; o++)
        for (int64_t i = first; i < first + count; i++)
            for (size_t k = 0; k < inner; k++, n++) {
                uint16_t *at = &all[(o * (size_t)shape[axis] + (size_t)i) * inner + k];
                *(back ? at : &out[n]) = back ? out[n] : *at;
            }
    return n;
}

static void check_axis(uint16_t *all, size_t n, int axis) {
    uint16_t *want = malloc(2 * n + 2), *have = malloc(2 * n + 2);
    for (int64_t first = 0; first < shape[axis]; first++)
        for (int64_t count = 1; count <= shape[axis] - first; count += 1 + count / 3) {
            size_t k = part(all, axis, first, count, want, 0);
            memset(have, 0xa5, 2 * n);
            must(etrt_read_part(session, state, axis, first, count, have, 2 * k));
            if (memcmp(want, have, 2 * k)) {
                fprintf(stderr, "axis %d, %lld from %lld: other elements\n", axis, (long long)count,
                        (long long)first);
                exit(1);
            }
            for (size_t i = 0; i < k; i++)
                want[i] = (uint16_t)(want[i] * 3 + 1);
            must(etrt_write_part(session, state, axis, first, count, want, 2 * k));
            part(all, axis, first, count, want, 1);
        }
    must(etrt_read(session, state, have, 2 * n));
    if (memcmp(all, have, 2 * n)) {
        fprintf(stderr, "axis %d: the whole is another after parts were written\n", axis);
        exit(1);
    }
    free(want);
    free(have);
}

int main(int argc, char **argv) {
    etrt_device *device;
    etrt_model *model;
    size_t n = 1;
    if (argc != 4) return 2;
    state = argv[3];
    must(etrt_device_open(argv[2], &device));
    must(etrt_model_load(device, argv[1], &model));
    must(etrt_session_create(model, &session));
    must(etrt_shape(session, state, shape, &rank));
    for (int d = 0; d < rank; d++)
        n *= (size_t)shape[d];
    uint16_t *all = malloc(2 * n);
    for (size_t i = 0; i < n; i++)
        all[i] = (uint16_t)(i * 40503u >> 3);
    must(etrt_write(session, state, all, 2 * n));
    for (int d = 0; d < rank; d++)
        check_axis(all, n, d);
    must(etrt_session_reset(session));
    must(etrt_read(session, state, all, 2 * n));
    for (size_t i = 0; i < n; i++)
        if (all[i]) return 1;
    printf("%s of rank %d, %zu elements: all parts\n", state, rank, n);
    free(all);
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
    return 0;
}
