/* A checkpoint whose weights are quantised, in every way: what is written opens, has the tensors
 * that the plan counts. */
#include "frontend/quant/quant.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include "tests/by_hand/fuzz/import.h"

#include <jansson.h>
#include <string.h>

static void write_plan(struct qnt_plan *p, struct qnt_fault *fault) {
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    int weights;
    uint64_t before, after, bytes = 0;
    qnt_plan_count(p, &weights, &before, &after);
    if (!qnt_plan_write(p, fuzz_path("quantised.safetensors"), fault)) {
        FUZZ_EXPECT(*fault->text);
        return;
    }
    if (!etrt_st_open(fuzz_path("quantised.safetensors"), &st, err, sizeof err))
        fuzz_broken(__FILE__, __LINE__, err);
    for (size_t i = 0; i < etrt_st_count(st); i++)
        bytes += etrt_st_at(st, i)->bytes;
    FUZZ_EXPECT(bytes == after);
    etrt_st_close(st);
}

static void quantise(const struct etrt_st *st, const struct qnt_method *m, enum qnt_head head) {
    struct qnt_fault fault = {""};
    const char *keep[] = {"*.q_proj.weight"};
    et_arena *arena = et_arena_create();
    struct qnt_plan *p = qnt_plan_make(arena, st, m, keep, head == QNT_HEAD_STAYS, head, &fault);
    FUZZ_EXPECT(p || *fault.text);
    if (p) write_plan(p, &fault);
    et_arena_destroy(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static const struct qnt_method *const methods[] = {&qnt_fp8, &qnt_int4, &qnt_2_4};
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    struct qnt_fault fault = {""};
    if (!fuzz_checkpoint(data, bytes)) return -1;
    json_t *config = qnt_config_read(fuzz_folder(), &fault);
    FUZZ_EXPECT(config || *fault.text);
    if (config && etrt_st_open(fuzz_path("model.safetensors"), &st, err, sizeof err)) {
        bool tied = qnt_config_ties(config, st);
        for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
            quantise(st, methods[i], QNT_HEAD_STAYS);
            quantise(st, methods[i], tied ? QNT_HEAD_IS_EMBEDDING : QNT_HEAD_TOO);
        }
        etrt_st_close(st);
    }
    json_decref(config);
    return 0;
}
