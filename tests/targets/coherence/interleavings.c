/* interleavings - a model's logits under many orders of execution.
 *
 *     interleavings KERNEL CHECKPOINT DEVICE LAUNCHES right|wrong
 *
 * CHECKPOINT is a folder with model.safetensors and golden.safetensors ("input_ids", "logits").
 * Each launch has a session of its own and takes one golden sequence; the emulator draws another
 * order for each from the seed in DEVICE. "right": every launch gives the reference's logits within
 * 1e-2, and the same bits each time. "wrong": every launch gives other logits, or none. */
#include "runtime/etrt.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double tolerance = 1e-2;

struct golden {
    int64_t sequences, tokens, vocabulary;
    const int32_t *ids; /* [sequences, tokens] */
    const float *logits;
};

static int fail(const char *what) {
    fprintf(stderr, "interleavings: %s: %s\n", what, etrt_last_error());
    return 2;
}

static bool find_golden(const struct etrt_st *st, struct golden *g) {
    const struct etrt_st_tensor *ids = etrt_st_find(st, "input_ids");
    const struct etrt_st_tensor *logits = etrt_st_find(st, "logits");
    if (!ids || !logits || ids->rank != 2 || logits->rank != 3) return false;
    if (strcmp(ids->dtype, "I32") || strcmp(logits->dtype, "F32")) return false;
    if (ids->shape[0] != logits->shape[0] || ids->shape[1] != logits->shape[1]) return false;
    *g = (struct golden){ids->shape[0], ids->shape[1], logits->shape[2], ids->data, logits->data};
    return g->sequences > 0 && g->tokens > 0;
}

/* One launch of sequence K into OUT. */
static etrt_status launch(etrt_model *m, const struct golden *g, int64_t k, float *out) {
    enum { MAX_TOKENS = 256 };
    int32_t tokens[MAX_TOKENS], positions[MAX_TOKENS], slots[MAX_TOKENS];
    size_t n = (size_t)g->tokens, bytes = n * sizeof *tokens;
    etrt_session *s;
    etrt_status status = etrt_session_create(m, &s);
    if (status || n > MAX_TOKENS) return status;
    for (size_t i = 0; i < n; i++) {
        memcpy(&tokens[i], &g->ids[(size_t)k * n + i], sizeof *tokens);
        positions[i] = (int32_t)i;
        slots[i] = (int32_t)k;
    }
    status = etrt_set_dim(s, "N", g->tokens);
    if (!status) status = etrt_bind(s, "tokens", tokens, bytes);
    if (!status) status = etrt_bind(s, "positions", positions, bytes);
    if (!status) status = etrt_bind(s, "slots", slots, bytes);
    if (!status) status = etrt_run(s);
    if (!status) status = etrt_read(s, "logits", out, n * (size_t)g->vocabulary * sizeof *out);
    etrt_session_destroy(s);
    return status;
}

static double relative_error(const float *got, const float *want, size_t n) {
    double difference = 0, norm = 0;
    for (size_t i = 0; i < n; i++) {
        difference += ((double)got[i] - (double)want[i]) * ((double)got[i] - (double)want[i]);
        norm += (double)want[i] * (double)want[i];
    }
    return sqrt(difference / norm);
}

/* How many of COUNT launches were right; -1 when one could not be made. */
static int count_right(etrt_model *m, const struct golden *g, int count) {
    size_t n = (size_t)(g->tokens * g->vocabulary);
    float *out = malloc(n * sizeof *out), *first = malloc((size_t)g->sequences * n * sizeof *first);
    int right = 0, odd = -1;
    for (int i = 0; out && first && i < count; i++) {
        int64_t k = i % g->sequences;
        etrt_status status = launch(m, g, k, out);
        if (status && status != ETRT_WAIT) {
            right = -1;
            break;
        }
        float *before = first + (size_t)k * n;
        double error = status ? INFINITY : relative_error(out, g->logits + (size_t)k * n, n);
        bool ok = error <= tolerance;
        if (ok && right >= g->sequences && i == right) ok = !memcmp(before, out, n * sizeof *out);
        if (ok && i < g->sequences) memcpy(before, out, n * sizeof *out);
        right += ok;
        if (!ok && odd < 0) odd = i;
    }
    if (right >= 0 && odd >= 0 && right > 0) printf("launch %d was the first wrong one\n", odd);
    free(out);
    free(first);
    return right;
}

/* The folder holds two safetensors files. */
static etrt_status weights(etrt_model *m, const char *folder) {
    char path[4096];
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    return etrt_model_weights_file(m, path);
}

static int run(char **argv, const struct golden *g) {
    etrt_device *d;
    etrt_model *m;
    int count = atoi(argv[4]);
    bool wrong = !strcmp(argv[5], "wrong");
    if (etrt_device_open(argv[3], &d)) return fail(argv[3]);
    if (etrt_model_load(d, argv[1], &m)) return fail(argv[1]);
    if (weights(m, argv[2])) return fail(argv[2]);
    int right = count_right(m, g, count);
    if (right < 0) return fail("launch");
    printf("%d of %d launches %s\n", wrong ? count - right : right, count, argv[5]);
    etrt_model_unload(m);
    etrt_device_close(d);
    return right != (wrong ? 0 : count);
}

int main(int argc, char **argv) {
    if (argc != 6 || (strcmp(argv[5], "right") && strcmp(argv[5], "wrong"))) {
        fputs("usage: interleavings KERNEL CHECKPOINT DEVICE LAUNCHES right|wrong\n", stderr);
        return 2;
    }
    char path[4096], err[ETRT_ST_ERR];
    struct etrt_st *st;
    struct golden g;
    snprintf(path, sizeof path, "%s/golden.safetensors", argv[2]);
    if (!etrt_st_open(path, &st, err, sizeof err) || !find_golden(st, &g)) {
        fprintf(stderr, "interleavings: %s: no golden logits\n", path);
        return 2;
    }
    int status = run(argv, &g);
    etrt_st_close(st);
    return status;
}
