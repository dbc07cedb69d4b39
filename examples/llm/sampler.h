/* sampler.h - choose the next token from a row of logits. */
#ifndef LLM_SAMPLER_H
#define LLM_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

struct sampler {
    double temperature; /* 0: the most likely token */
    int64_t top_k;      /* consider this many; 0: all */
    uint64_t state;     /* of the random numbers; set it to the seed */
};

/* -1 when a logit is not a number, or there is no memory. */
int32_t sampler_next(struct sampler *, const float *logits, int64_t vocab);

#endif
