/* tensors.h - tensors and dims of one model of a kernel, which may hold several, by the names that
 * the model alone has for them. For lm.c and flat.c. */
#ifndef LLM_TENSORS_H
#define LLM_TENSORS_H

#include "examples/llm/engine/lm.h"

/* Every call of libetrt returns a status; the text behind it is etrt_last_error(). */
bool lm_ok(etrt_status, const char *doing, char *err);

enum { LM_NAME = 512 };
/* What the kernel calls NAME. */
const char *lm_named(const struct lm *, const char *name, char out[LM_NAME]);
bool lm_has(const struct lm *, etrt_kind, etrt_dtype, int rank, const char *name);
bool lm_has_input(const struct lm *, const char *name, int rank); /* of integers */
bool lm_has_state(const struct lm *, const char *name);
/* The name of the Ith state of it that layers carry along texts; NULL: there are no more. */
const char *lm_carried(const struct lm *, int i);
/* How many rows the weight NAME has, a matrix; 0: there is none. */
int64_t lm_weight_rows(const struct lm *, const char *name);
/* What the kernel tells of a dim; all 0 where there is none. */
etrt_dim_info lm_dim(const struct lm *, const char *dim);
bool lm_set_dim(struct lm *, const char *dim, int64_t n, char *err);
/* At the current dims. */
bool lm_shape(const struct lm *, const char *name, int64_t out[ETRT_MAX_RANK], int *rank,
              char *err);
/* N numbers, at least 1, of 4 bytes into an input; nothing is done where the session has them. NAME
 * is kept. */
bool lm_bind(struct lm *, const char *name, const void *data, int64_t n, char *err);
void lm_forget_inputs(struct lm *); /* the session is no more */

/* flat.c: encoders, whose launches take whole texts, one behind the other. */
bool flat_is(const struct lm *);
/* Their sizes, and memory for a launch. */
bool flat_open(struct lm *, const char *kernel, char *err);
void flat_close(struct lm *);
/* All that a launch of N tokens reads. */
bool flat_bind(struct lm *, int64_t n, char *err);

#endif
