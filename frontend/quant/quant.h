/* quant.h - the parts of etquant: weights of a checkpoint, rounded to codes with scales. */
#ifndef ET_QUANT_H
#define ET_QUANT_H

#include "ir/base/arena.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct json_t;

/* What was wrong first. */
struct qnt_fault {
    char text[600];
};
void qnt_note(struct qnt_fault *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* False, where compilers see it. */
#define qnt_fail(...) (qnt_note(__VA_ARGS__), false)

/* A matrix: a row for each output. */
struct qnt_weight {
    const struct etrt_st_tensor *from;
    const char *file, *base; /* for messages; the name without ".weight" */
    int64_t rows, columns;
};

enum { QNT_MOST = 3 }; /* tensors that one weight becomes */

/* A way to quantise. One more is a file with one, and an option in main.c. */
struct qnt_method {
    const char *name;
    /* What the weight becomes: names (from the arena), types, shapes, bytes. Their number. */
    int (*describe)(et_arena *, const struct qnt_weight *, struct etrt_st_tensor out[QNT_MOST]);
    /* Tensor WHICH of those. */
    bool (*give)(const struct qnt_weight *, int which, struct etrt_st_sink *, struct qnt_fault *);
    /* Columns are a multiple of this, or the weight stays. */
    int64_t columns;
    /* "quantization_config", new; LEFT are names of matrices that stay. NULL: weights are weights
     * still, and none is written. */
    struct json_t *(*config)(struct json_t *left);
};
extern const struct qnt_method qnt_fp8, qnt_int4, qnt_2_4;

/* ---- rows.c: values of a weight ---- */

/* Rows FROM up to FROM + COUNT as floats. False where one is not finite. */
bool qnt_rows(const struct qnt_weight *, int64_t from, int64_t count, float *to,
              struct qnt_fault *);
/* Room for COUNT rows, for free(); NULL with a fault. */
float *qnt_rows_make(const struct qnt_weight *, int64_t count, struct qnt_fault *);

/* ---- plan.c: which weights are quantised, and the file of all ---- */

/* What the head is called, without ".weight". */
#define QNT_HEAD_NAME "lm_head"
/* The head stays as it is, or is quantised too. One that is the embedding becomes a matrix of its
 * own: the embedding stays. */
enum qnt_head { QNT_HEAD_STAYS, QNT_HEAD_TOO, QNT_HEAD_IS_EMBEDDING };

struct qnt_plan;
/* KEEP: patterns of names that stay, NKEEP of them; they say nothing of the head. ST stays open as
 * long as the plan. NULL with a fault. */
struct qnt_plan *qnt_plan_make(et_arena *, const struct etrt_st *, const struct qnt_method *,
                               const char *const *keep, int nkeep, enum qnt_head,
                               struct qnt_fault *);
/* How many weights are quantised, and bytes of all tensors before and after. */
void qnt_plan_count(const struct qnt_plan *, int *weights, uint64_t *before, uint64_t *after);
struct json_t *qnt_plan_left(const struct qnt_plan *); /* names of matrices that stay; new */
bool qnt_plan_write(struct qnt_plan *, const char *path, struct qnt_fault *);

/* ---- files.c: what lies beside the weights ---- */

/* config.json of the folder FROM: a new object, or NULL with a fault. Refuses what is quantised
 * already. */
struct json_t *qnt_config_read(const char *from, struct qnt_fault *);
/* Is the head of a checkpoint with this configuration the embedding? */
bool qnt_config_ties(const struct json_t *config, const struct etrt_st *);
bool qnt_json_write(const char *folder, const char *name, const struct json_t *,
                    struct qnt_fault *);
/* The tokenizer's files and what else is read of a checkpoint. */
bool qnt_files_copy(const char *from, const char *to, struct qnt_fault *);

#endif
