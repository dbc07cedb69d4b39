/* metrics.h - counts and times for Prometheus, under the names and with the meanings of vLLM. */
#ifndef LLM_METRICS_H
#define LLM_METRICS_H

#include "examples/llm/base/buffer.h"
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

/* Of one model. */
struct metrics {
    pthread_mutex_t lock;
    struct histogram histograms[NHISTOGRAMS];
    uint64_t ended[ENGINE_FAILED + 1]; /* sequences, by why */
};

void metrics_init(struct metrics *);
void metrics_free(struct metrics *);
void metrics_observe(struct metrics *, enum histogram_name, double value);
/* A sequence ended. */
void metrics_end(struct metrics *, const struct engine_result *);

/* A model, for what is written of it. */
struct metrics_of {
    const char *name;
    struct metrics *metrics;
    const struct engine_stats *stats; /* NULL: the engine is not there yet */
    const struct engine_sizes *sizes;
    bool leads; /* of models of one kernel, the first */
};
/* All of the N models, as text; at least one. */
void metrics_write(const struct metrics_of *models, int n, struct buffer *out);

/* Of the whole server. */
struct http_metrics {
    pthread_mutex_t lock;
    uint64_t refused;    /* requests, because the queue was full */
    uint64_t answers[6]; /* by the first digit of their status */
};

void http_metrics_init(struct http_metrics *);
void http_metrics_answer(struct http_metrics *, int status, bool full);
/* MODELS: the label, since all metrics have one. */
void http_metrics_write(struct http_metrics *, const char *models, int64_t log_lost,
                        struct buffer *out);

#endif
