/* feed.h - whole sequences through a model, as many together as fit, for what comes out after each
 * of their tokens. */
#ifndef LLM_FEED_H
#define LLM_FEED_H

#include "examples/llm/engine/lm.h"

struct feed {
    struct lm *lm;
    int64_t chunk,
        batch;     /* tokens of a sequence per launch; sequences together; 0: as many as fit */
    int64_t count; /* sequences, of at most lm->context tokens each */
    void *user;
    int64_t (*length)(void *user, int64_t sequence);
    int32_t (*token)(void *user, int64_t sequence, int64_t position);
    /* What the model says after that token: lm->vocab logits, until it returns. */
    void (*row)(void *user, int64_t sequence, int64_t position, const float *logits);

    /* What it took, of all runs together. */
    int64_t tokens, launches;
    double seconds;
};

/* All sequences. False with why in ERR. */
bool feed_run(struct feed *, char *err);
/* A line on standard error of how fast it was, and on what. */
void feed_tell(const struct feed *);

#endif
