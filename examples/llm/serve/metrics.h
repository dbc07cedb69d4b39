/* metrics.h - counts and times for Prometheus, under the names and with the meanings of vLLM. */
#ifndef LLM_METRICS_H
#define LLM_METRICS_H

#include "examples/llm/api/buffer.h"
#include "examples/llm/engine/engine.h"
#include <pthread.h>

enum { MAX_BUCKETS = 24 };

enum histogram_name {
    TIME_TO_FIRST_TOKEN,
    TIME_PER_OUTPUT_TOKEN,
    INTER_TOKEN_LATENCY,
    E2E_LATENCY,
    QUEUE_TIME,
    PREFILL_TIME,
    DECODE_TIME,
    INFERENCE_TIME,
    PROMPT_TOKENS,
    GENERATION_TOKENS,
    NHISTOGRAMS,
};

struct histogram {
    uint64_t counts[MAX_BUCKETS + 1];
    double sum;
};

struct metrics {
    pthread_mutex_t lock;
    struct histogram histograms[NHISTOGRAMS];
    uint64_t ended[ENGINE_FAILED + 1]; /* sequences, by why */
    uint64_t refused;                  /* requests, because the queue was full */
    uint64_t answers[6];               /* of HTTP, by the first digit of their status */
};

void metrics_init(struct metrics *);
void metrics_free(struct metrics *);
void metrics_observe(struct metrics *, enum histogram_name, double value);
/* A sequence ended. */
void metrics_end(struct metrics *, const struct engine_result *);
void metrics_answer(struct metrics *, int status, bool full);
/* All of it as text. STATS may be NULL: the engine is not there yet. */
void metrics_write(struct metrics *, const char *model, const struct engine_stats *,
                   const struct engine_sizes *, int64_t log_lost, struct buffer *out);

#endif
