/* reorder - a GPTQ checkpoint of four bits as one whose columns are grouped in another order, and
 * the same without codes.
 *
 *     reorder MODEL.safetensors ORDERED.safetensors PLAIN.safetensors
 *
 * ORDERED has the tensors of MODEL, but g_idx deals its groups to columns at random, to each as
 * many as before. PLAIN has what the codes of ORDERED mean, f32, and everything else as it is. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256 };

static struct etrt_st *st;
static uint32_t state = 12345;

static uint32_t draw(uint32_t below) {
    state = state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)state * below >> 32);
}

static void *room(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (!p) exit(2);
    return p;
}

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n >= k && !strcmp(s + n - k, end);
}

static const void *data_of(const char *name, const char *suffix) {
    char full[512];
    snprintf(full, sizeof full, "%.*s%s", (int)(strlen(name) - strlen(".g_idx")), name, suffix);
    const struct etrt_st_tensor *t = etrt_st_find(st, full);
    if (!t) exit(2);
    return t->data;
}

static int32_t *shuffled(const struct etrt_st_tensor *t) {
    int32_t *g = room(t->bytes);
    memcpy(g, t->data, t->bytes);
    for (uint32_t i = (uint32_t)t->shape[0] - 1; i > 0; i--) {
        uint32_t k = draw(i + 1);
        int32_t was = g[i];
        g[i] = g[k], g[k] = was;
    }
    return g;
}

/* (code - zero point - 1) * scale: codes of eight columns to a word, zero points of eight rows. */
static float *meaning(const char *name, const int32_t *group, int64_t rows, int64_t columns) {
    const uint32_t *codes = data_of(name, ".qweight"), *zeros = data_of(name, ".qzeros");
    const _Float16 *scales = data_of(name, ".scales");
    float *out = room((size_t)(rows * columns) * sizeof *out);
    for (int64_t n = 0; n < rows; n++)
        for (int64_t k = 0; k < columns; k++) {
            int code = (int)(codes[k / 8 * rows + n] >> k % 8 * 4 & 15);
            int zero = (int)(zeros[group[k] * (rows / 8) + n / 8] >> n % 8 * 4 & 15);
            out[n * columns + k] = (float)(code - zero - 1) * (float)scales[group[k] * rows + n];
        }
    return out;
}

int main(int argc, char **argv) {
    static struct etrt_st_tensor ordered[MOST], plain[MOST];
    static char names[MOST][512];
    char err[ETRT_ST_ERR];
    int n = 0, m = 0;
    if (argc != 4 || !etrt_st_open(argv[1], &st, err, sizeof err) || etrt_st_count(st) > MOST)
        return 2;
    for (size_t i = 0; i < etrt_st_count(st); i++) {
        struct etrt_st_tensor t = *etrt_st_at(st, i);
        if (ends_in(t.name, ".g_idx")) {
            int32_t *group = shuffled(&t);
            char scales[512];
            snprintf(scales, sizeof scales, "%.*sscales", (int)strlen(t.name) - 5, t.name);
            int64_t rows = etrt_st_find(st, scales)->shape[1], columns = t.shape[0];
            snprintf(names[m], sizeof *names, "%.*sweight", (int)strlen(t.name) - 5, t.name);
            plain[m] = (struct etrt_st_tensor){.name = names[m],
                                               .dtype = "F32",
                                               .rank = 2,
                                               .shape = {rows, columns},
                                               .data = meaning(t.name, group, rows, columns),
                                               .bytes = (size_t)(rows * columns) * sizeof(float)};
            m++;
            t.data = group;
        } else if (!ends_in(t.name, ".qweight") && !ends_in(t.name, ".qzeros") &&
                   !ends_in(t.name, ".scales")) {
            plain[m++] = t;
        }
        ordered[n++] = t;
    }
    bool ok = etrt_st_write(argv[2], ordered, n, err, sizeof err) &&
              etrt_st_write(argv[3], plain, m, err, sizeof err);
    if (!ok) fprintf(stderr, "reorder: %s\n", err);
    etrt_st_close(st);
    return ok ? 0 : 2;
}
