#include "examples/llm/serve/metrics.h"
#include "examples/llm/engine/lm.h"
#include <string.h>

struct description {
    const char *name, *help;
    double bounds[MAX_BUCKETS]; /* ends with a 0 */
};

/* The bounds are vLLM's, so that its dashboards draw the same. */
#define SHORT_TIMES                                                                                \
    {                                                                                              \
        0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, \
            80                                                                                     \
    }
#define LONG_TIMES                                                                                 \
    { 0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680 }
#define SIZES                                                                                      \
    { 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000, 200000 }
static const struct description descriptions[NHISTOGRAMS] = {
    [TIME_TO_FIRST_TOKEN] = {"time_to_first_token_seconds",
                             "From the arrival of a request to its first token.",
                             {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                              1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560}},
    [TIME_PER_OUTPUT_TOKEN] = {"time_per_output_token_seconds",
                               "Between two tokens of a text, its mean over the text.",
                               SHORT_TIMES},
    [INTER_TOKEN_LATENCY] = {"inter_token_latency_seconds", "Between two tokens of a text.",
                             SHORT_TIMES},
    [E2E_LATENCY] = {"e2e_request_latency_seconds", "From a request's arrival to its last token.",
                     LONG_TIMES},
    [QUEUE_TIME] = {"request_queue_time_seconds", "Waiting for a slot.", LONG_TIMES},
    [PREFILL_TIME] = {"request_prefill_time_seconds", "From the slot to the first token.",
                      LONG_TIMES},
    [DECODE_TIME] = {"request_decode_time_seconds", "From the first token to the last.",
                     LONG_TIMES},
    [INFERENCE_TIME] = {"request_inference_time_seconds", "From the slot to the last token.",
                        LONG_TIMES},
    [PROMPT_TOKENS] = {"request_prompt_tokens", "Tokens of a prompt.", SIZES},
    [GENERATION_TOKENS] = {"request_generation_tokens", "Tokens of a text.", SIZES},
};

void metrics_init(struct metrics *m) {
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
}

void metrics_free(struct metrics *m) {
    pthread_mutex_destroy(&m->lock);
}

static void observe(struct metrics *m, enum histogram_name name, double value) {
    const double *bounds = descriptions[name].bounds;
    struct histogram *h = &m->histograms[name];
    int i = 0;
    while (bounds[i] > 0 && value > bounds[i])
        i++;
    h->counts[i]++;
    h->sum += value;
}

void metrics_observe(struct metrics *m, enum histogram_name name, double value) {
    pthread_mutex_lock(&m->lock);
    observe(m, name, value);
    pthread_mutex_unlock(&m->lock);
}

void metrics_end(struct metrics *m, const struct engine_result *r) {
    pthread_mutex_lock(&m->lock);
    m->ended[r->end]++;
    bool whole = r->end != ENGINE_FAILED && r->end != ENGINE_CANCELLED;
    if (whole && r->first > 0) {
        observe(m, TIME_TO_FIRST_TOKEN, r->first - r->submitted);
        observe(m, E2E_LATENCY, r->last - r->submitted);
        observe(m, QUEUE_TIME, r->started - r->submitted);
        observe(m, PREFILL_TIME, r->first - r->started);
        observe(m, DECODE_TIME, r->last - r->first);
        observe(m, INFERENCE_TIME, r->last - r->started);
        observe(m, PROMPT_TOKENS, (double)r->prompt);
        observe(m, GENERATION_TOKENS, (double)r->generated);
        if (r->generated > 1)
            observe(m, TIME_PER_OUTPUT_TOKEN, (r->last - r->first) / (double)(r->generated - 1));
    }
    pthread_mutex_unlock(&m->lock);
}

void metrics_answer(struct metrics *m, int status, bool full) {
    pthread_mutex_lock(&m->lock);
    if (status >= 100 && status < 600) m->answers[status / 100]++;
    m->refused += full;
    pthread_mutex_unlock(&m->lock);
}

/* ---- text ---- */

struct page {
    struct buffer *out;
    char label[300]; /* model_name="..." */
};

static void value(struct page *p, const char *name, const char *type, const char *help, double v) {
    buffer_format(p->out, "# HELP %s %s\n# TYPE %s %s\n%s{%s} %.17g\n", name, help, name, type,
                  name, p->label, v);
}

static void write_histogram(struct page *p, const struct description *d,
                            const struct histogram *h) {
    uint64_t sum = 0;
    int i = 0;
    buffer_format(p->out, "# HELP vllm:%s %s\n# TYPE vllm:%s histogram\n", d->name, d->help,
                  d->name);
    for (; d->bounds[i] > 0; i++) {
        sum += h->counts[i];
        buffer_format(p->out, "vllm:%s_bucket{le=\"%.12g\",%s} %llu\n", d->name, d->bounds[i],
                      p->label, (unsigned long long)sum);
    }
    sum += h->counts[i];
    buffer_format(p->out, "vllm:%s_bucket{le=\"+Inf\",%s} %llu\n", d->name, p->label,
                  (unsigned long long)sum);
    buffer_format(p->out, "vllm:%s_count{%s} %llu\nvllm:%s_sum{%s} %.17g\n", d->name, p->label,
                  (unsigned long long)sum, d->name, p->label, h->sum);
}

static void write_ended(struct page *p, const struct metrics *m) {
    buffer_text(p->out, "# HELP vllm:request_success_total Texts that were ended, by why.\n"
                        "# TYPE vllm:request_success_total counter\n");
    const struct {
        const char *reason;
        uint64_t n;
    } rows[] = {
        {"stop", m->ended[ENGINE_STOP] + m->ended[ENGINE_ENOUGH]},
        {"length", m->ended[ENGINE_LENGTH]},
        {"abort", m->ended[ENGINE_CANCELLED]},
        {"error", m->ended[ENGINE_FAILED]},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        buffer_format(p->out, "vllm:request_success_total{finished_reason=\"%s\",%s} %llu\n",
                      rows[i].reason, p->label, (unsigned long long)rows[i].n);
}

static void write_engine(struct page *p, const struct engine_stats *s,
                         const struct engine_sizes *z) {
    const char *g = "gauge", *c = "counter";
    double room = (double)(z->pages ? z->pages * z->page : z->slots * z->context);
    double used = room > 0 ? (double)s->used / room : 0;
    value(p, "vllm:num_requests_running", g, "Texts that have a slot.", (double)s->running);
    value(p, "vllm:num_requests_waiting", g, "Texts that wait for a slot.", (double)s->waiting);
    value(p, "vllm:kv_cache_usage_perc", g, "Share of all positions that is in use; 1 is all.",
          used);
    value(p, "vllm:gpu_cache_usage_perc", g, "The same under its older name.", used);
    value(p, "vllm:num_preemptions_total", c, "Times that a text lost its slot for want of pages.",
          (double)s->preempted);
    value(p, "vllm:prompt_tokens_total", c, "Tokens of prompts that were read.",
          (double)s->prompts);
    value(p, "vllm:generation_tokens_total", c, "Tokens that were generated.",
          (double)s->generated);
    value(p, "vllm:prefix_cache_queries_total", c, "Tokens of prompts that were looked for.",
          (double)s->asked);
    value(p, "vllm:prefix_cache_hits_total", c, "Those that had been read already.",
          (double)s->cached);
    value(p, "etllm_launches_total", c, "Launches of the kernel.", (double)s->launches);
    value(p, "etllm_launch_failures_total", c, "Launches that failed.", (double)s->failures);
    value(p, "etllm_launches_cancelled_total", c,
          "Launches that were ended early: nobody wanted them any more, or they took too long.",
          (double)s->cancelled);
    value(p, "etllm_prompt_seconds_total", c, "Time of launches, the share of prompts.",
          s->prompt_seconds);
    value(p, "etllm_text_seconds_total", c, "Time of launches, the share of texts.",
          s->text_seconds);
    value(p, "etllm_last_launch_tokens", g, "Tokens fed in the last launch.",
          (double)(s->last_prompts + s->last_texts));
}

void metrics_write(struct metrics *m, const char *model, const struct engine_stats *stats,
                   const struct engine_sizes *sizes, int64_t log_lost, struct buffer *out) {
    struct page p = {.out = out};
    snprintf(p.label, sizeof p.label, "model_name=\"%s\"", model);
    if (stats) write_engine(&p, stats, sizes);
    pthread_mutex_lock(&m->lock);
    write_ended(&p, m);
    for (int i = 0; i < NHISTOGRAMS; i++)
        write_histogram(&p, &descriptions[i], &m->histograms[i]);
    buffer_text(out, "# HELP etllm_http_answers_total Answers by the first digit of their status.\n"
                     "# TYPE etllm_http_answers_total counter\n");
    for (int i = 1; i < 6; i++)
        buffer_format(out, "etllm_http_answers_total{status=\"%dxx\"} %llu\n", i,
                      (unsigned long long)m->answers[i]);
    value(&p, "etllm_requests_refused_total", "counter", "Requests refused: the queue was full.",
          (double)m->refused);
    pthread_mutex_unlock(&m->lock);
    value(&p, "etllm_log_lines_lost_total", "counter", "Lines that could not be logged.",
          (double)log_lost);
}
