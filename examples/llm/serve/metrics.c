#include "examples/llm/serve/metrics.h"
#include "examples/llm/engine/lm.h"
#include <stdio.h>
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

/* ---- text ---- */

static void head(struct buffer *out, const char *name, const char *type, const char *help) {
    buffer_format(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void value(struct buffer *out, const char *name, const char *model, double v) {
    buffer_format(out, "%s{model_name=\"%s\"} %.17g\n", name, model, v);
}

static void write_histogram(struct buffer *out, const struct description *d,
                            const struct histogram *h, const char *model) {
    uint64_t sum = 0;
    int i = 0;
    for (; d->bounds[i] > 0; i++) {
        sum += h->counts[i];
        buffer_format(out, "vllm:%s_bucket{le=\"%.12g\",model_name=\"%s\"} %llu\n", d->name,
                      d->bounds[i], model, (unsigned long long)sum);
    }
    sum += h->counts[i];
    buffer_format(out,
                  "vllm:%s_bucket{le=\"+Inf\",model_name=\"%s\"} %llu\n"
                  "vllm:%s_count{model_name=\"%s\"} %llu\n"
                  "vllm:%s_sum{model_name=\"%s\"} %.17g\n",
                  d->name, model, (unsigned long long)sum, d->name, model, (unsigned long long)sum,
                  d->name, model, h->sum);
}

static void write_ended(struct buffer *out, const struct metrics *m, const char *model) {
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
        buffer_format(out,
                      "vllm:request_success_total{finished_reason=\"%s\",model_name=\"%s\"} %llu\n",
                      rows[i].reason, model, (unsigned long long)rows[i].n);
}

/* What is told of an engine. */
enum of_engine {
    RUNNING,
    WAITING,
    USAGE,
    OLD_USAGE,
    PREEMPTIONS,
    SNAPSHOTS,
    COMPUTED,
    PROMPTS,
    GENERATED,
    ASKED,
    CACHED,
    LAUNCHES,
    FAILURES,
    EARLY,
    CANCELLED,
    SLEPT,
    ASLEEP,
    READ,
    GUESSED,
    RIGHT,
    PROMPT_SECONDS,
    TEXT_SECONDS,
    LAST_TOKENS,
    NOF_ENGINE,
};

static const struct {
    const char *name, *type, *help;
} of_engine[NOF_ENGINE] = {
    [RUNNING] = {"vllm:num_requests_running", "gauge", "Texts that have a slot."},
    [WAITING] = {"vllm:num_requests_waiting", "gauge", "Texts that wait for a slot."},
    [USAGE] = {"vllm:kv_cache_usage_perc", "gauge",
               "Share of all positions that is in use; 1 is all."},
    [OLD_USAGE] = {"vllm:gpu_cache_usage_perc", "gauge", "The same under its older name."},
    [PREEMPTIONS] = {"vllm:num_preemptions_total", "counter",
                     "Times that a text lost its slot for want of pages."},
    [COMPUTED] = {"etllm_prompt_tokens_computed_total", "counter",
                  "Tokens of prompts that launches read, those of texts that gave way again."},
    [SNAPSHOTS] = {"etllm_snapshots_total", "counter",
                   "Copies of what layers carry along texts, for others to go on from."},
    [PROMPTS] = {"vllm:prompt_tokens_total", "counter",
                 "Tokens of prompts, also of what lay there already."},
    [GENERATED] = {"vllm:generation_tokens_total", "counter", "Tokens that were generated."},
    [ASKED] = {"vllm:prefix_cache_queries_total", "counter",
               "Tokens of prompts that were looked for."},
    [CACHED] = {"vllm:prefix_cache_hits_total", "counter", "Those that had been read already."},
    [LAUNCHES] = {"etllm_launches_total", "counter", "Launches of the kernel."},
    [FAILURES] = {"etllm_launch_failures_total", "counter", "Launches that failed."},
    [EARLY] = {"etllm_launches_early_total", "counter",
               "Launches that gave this model's tokens before another model was done."},
    [CANCELLED] = {"etllm_launches_cancelled_total", "counter",
                   "Launches that were ended early: all their requests were cancelled."},
    [SLEPT] = {"etllm_sleeps_total", "counter", "Times that the device's memory was given back."},
    [ASLEEP] = {"etllm_asleep", "gauge", "1: it is given back until the next request."},
    [READ] = {"etllm_read_bytes_total", "counter",
              "Bytes that were read of launches: logits, and tokens that they chose."},
    [GUESSED] = {"vllm:spec_decode_num_draft_tokens_total", "counter", "Tokens that were guessed."},
    [RIGHT] = {"vllm:spec_decode_num_accepted_tokens_total", "counter",
               "Those that came as they were guessed."},
    [PROMPT_SECONDS] = {"etllm_prompt_seconds_total", "counter",
                        "Time of launches, the share of prompts."},
    [TEXT_SECONDS] = {"etllm_text_seconds_total", "counter",
                      "Time of launches, the share of texts."},
    [LAST_TOKENS] = {"etllm_last_launch_tokens", "gauge", "Tokens fed in the last launch."},
};

static void fill_values(const struct engine_stats *s, const struct engine_sizes *z,
                        double v[NOF_ENGINE]) {
    double room = (double)(z->pages ? z->pages * z->page : z->slots * z->context);
    v[RUNNING] = (double)s->running;
    v[WAITING] = (double)s->waiting;
    v[USAGE] = v[OLD_USAGE] = room > 0 ? (double)s->used / room : 0;
    v[PREEMPTIONS] = (double)s->preempted;
    v[COMPUTED] = (double)s->prompts;
    v[SNAPSHOTS] = (double)s->kept;
    v[PROMPTS] = (double)s->asked;
    v[GENERATED] = (double)s->generated;
    v[ASKED] = (double)s->asked;
    v[CACHED] = (double)s->cached;
    v[LAUNCHES] = (double)s->launches;
    v[FAILURES] = (double)s->failures;
    v[EARLY] = (double)s->early;
    v[CANCELLED] = (double)s->cancelled;
    v[SLEPT] = (double)s->slept;
    v[ASLEEP] = s->asleep;
    v[READ] = (double)s->read;
    v[GUESSED] = (double)s->guessed;
    v[RIGHT] = (double)s->right;
    v[PROMPT_SECONDS] = s->prompt_seconds;
    v[TEXT_SECONDS] = s->text_seconds;
    v[LAST_TOKENS] = (double)(s->last_prompts + s->last_texts);
}

static void write_engines(const struct metrics_of *models, int n, struct buffer *out) {
    double v[NOF_ENGINE];
    for (int k = 0; k < NOF_ENGINE; k++) {
        head(out, of_engine[k].name, of_engine[k].type, of_engine[k].help);
        for (int i = 0; i < n; i++) {
            if (!models[i].stats) continue;
            fill_values(models[i].stats, models[i].sizes, v);
            value(out, of_engine[k].name, models[i].name, v[k]);
        }
    }
}

/* The thread that launches is one for all models of a kernel. */
static void add_phases(const struct metrics_of *m, struct engine_phases *sum) {
    if (!m->stats || !m->leads) return;
    const struct engine_phases *t = &m->stats->phases;
    sum->admit += t->admit;
    sum->fill += t->fill;
    sum->submit += t->submit;
    sum->wait += t->wait;
    sum->read += t->read;
    sum->take += t->take;
    sum->device += t->device;
}

static void write_phases(const struct metrics_of *models, int n, struct buffer *out) {
    static const char name[] = "etllm_step_seconds_total", device[] = "etllm_device_seconds_total";
    struct engine_phases sum = {0}, *t = &sum;
    for (int i = 0; i < n; i++)
        add_phases(&models[i], t);
    const struct {
        const char *phase;
        double seconds;
    } rows[] = {{"admit", t->admit}, {"fill", t->fill}, {"submit", t->submit},
                {"wait", t->wait},   {"read", t->read}, {"take", t->take}};
    head(out, name, "counter", "What the seconds of the threads that launch went to.");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        buffer_format(out, "%s{step=\"%s\"} %.17g\n", name, rows[i].phase, rows[i].seconds);
    head(out, device, "counter", "Seconds that the device worked on launches; 0: not timed.");
    buffer_format(out, "%s %.17g\n", device, t->device);
}

void metrics_write(const struct metrics_of *models, int n, struct buffer *out) {
    char name[64];
    write_engines(models, n, out);
    write_phases(models, n, out);
    head(out, "vllm:request_success_total", "counter", "Texts that were ended, by why.");
    for (int i = 0; i < n; i++) {
        pthread_mutex_lock(&models[i].metrics->lock);
        write_ended(out, models[i].metrics, models[i].name);
        pthread_mutex_unlock(&models[i].metrics->lock);
    }
    for (int k = 0; k < NHISTOGRAMS; k++) {
        snprintf(name, sizeof name, "vllm:%s", descriptions[k].name);
        head(out, name, "histogram", descriptions[k].help);
        for (int i = 0; i < n; i++) {
            pthread_mutex_lock(&models[i].metrics->lock);
            write_histogram(out, &descriptions[k], &models[i].metrics->histograms[k],
                            models[i].name);
            pthread_mutex_unlock(&models[i].metrics->lock);
        }
    }
}

/* ---- of the whole server ---- */

void http_metrics_init(struct http_metrics *m) {
    memset(m, 0, sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
}

void http_metrics_answer(struct http_metrics *m, int status, bool full) {
    pthread_mutex_lock(&m->lock);
    if (status >= 100 && status < 600) m->answers[status / 100]++;
    m->refused += full;
    pthread_mutex_unlock(&m->lock);
}

void http_metrics_write(struct http_metrics *m, const char *models, int64_t log_lost,
                        struct buffer *out) {
    const char *answers = "etllm_http_answers_total", *refused = "etllm_requests_refused_total",
               *lost = "etllm_log_lines_lost_total";
    pthread_mutex_lock(&m->lock);
    head(out, answers, "counter", "Answers by the first digit of their status.");
    for (int i = 1; i < 6; i++)
        buffer_format(out, "%s{status=\"%dxx\"} %llu\n", answers, i,
                      (unsigned long long)m->answers[i]);
    head(out, refused, "counter", "Requests refused: the queue was full.");
    value(out, refused, models, (double)m->refused);
    pthread_mutex_unlock(&m->lock);
    head(out, lost, "counter", "Lines that could not be logged.");
    value(out, lost, models, (double)log_lost);
}
