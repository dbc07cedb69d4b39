/* paged_inputs - what a decoder with pages is launched with, from the sequences of a golden file.
 *
 *     paged_inputs GOLDEN.safetensors PAGE INPUTS.safetensors LOGITS.safetensors
 *
 * All sequences, each in a slot of its own, in one launch; pages of PAGE positions, dealt to the
 * slots in an order that is nobody's. LOGITS gets the golden ones, a row for each token. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TOKENS = 4096 };

static struct etrt_st_tensor ints(const char *name, const int32_t *data, int rank, int64_t a,
                                  int64_t b) {
    int64_t n = rank == 2 ? a * b : a;
    return (struct etrt_st_tensor){.name = name,
                                   .dtype = "I32",
                                   .rank = rank,
                                   .shape = {a, b},
                                   .data = data,
                                   .bytes = (size_t)n * sizeof *data};
}

int main(int argc, char **argv) {
    static int32_t positions[MAX_TOKENS], slots[MAX_TOKENS], table[MAX_TOKENS];
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    int64_t page = argc == 5 ? atoi(argv[2]) : 0;
    if (page < 1 || !etrt_st_open(argv[1], &st, err, sizeof err)) {
        fprintf(stderr, "paged_inputs: %s\n", page < 1 ? "GOLDEN PAGE INPUTS LOGITS" : err);
        return 2;
    }
    const struct etrt_st_tensor *ids = etrt_st_find(st, "input_ids");
    const struct etrt_st_tensor *logits = etrt_st_find(st, "logits");
    if (!ids || !logits || ids->shape[0] * ids->shape[1] > MAX_TOKENS) return 2;
    int64_t sequences = ids->shape[0], length = ids->shape[1], n = sequences * length;
    int64_t pages = (length + page - 1) / page, all = sequences * pages;
    for (int64_t i = 0; i < n; i++) {
        positions[i] = (int32_t)(i % length);
        slots[i] = (int32_t)(i / length);
    }
    /* Backwards in steps that pass every page once. */
    int64_t step = all - 1;
    for (int64_t i = 0; i < all; i++)
        table[i] = (int32_t)((i * step + 2) % all);
    struct etrt_st_tensor in[] = {
        ints("tokens", ids->data, 1, n, 0),
        ints("positions", positions, 1, n, 0),
        ints("slots", slots, 1, n, 0),
        ints("table", table, 2, sequences, pages),
    };
    struct etrt_st_tensor out = *logits;
    out.rank = 2;
    out.shape[0] = n;
    out.shape[1] = logits->shape[2];
    bool ok = etrt_st_write(argv[3], in, 4, err, sizeof err) &&
              etrt_st_write(argv[4], &out, 1, err, sizeof err);
    if (!ok) fprintf(stderr, "paged_inputs: %s\n", err);
    etrt_st_close(st);
    return ok ? 0 : 1;
}
