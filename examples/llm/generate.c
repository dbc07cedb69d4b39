/* generate.c - continue prompts, all of them together: every launch takes the next token of each
 * sequence that is being written and fills up with what is left of the prompts being read. */
#include "examples/llm/base/error.h"
#include "examples/llm/base/json_file.h"
#include "examples/llm/lm.h"
#include "examples/llm/options.h"
#include "examples/llm/sampler.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STOPS = 16 };

struct sequence {
    struct ids ids; /* the prompt, then what was generated */
    size_t prompt;  /* how many of them are the prompt's */
    size_t fed;     /* how many the model has seen */
    size_t printed; /* how many are on the screen */
    int64_t slot;   /* -1: waits for one */
    int64_t row;    /* of the logits that follow its last token, or -1 */
    struct sampler sampler;
    bool done;
};

struct run {
    const struct options *o;
    struct lm lm;
    struct tokenizer *tokenizer;
    struct lm_decoder *decoder; /* of the sequence that is being printed */
    int32_t stops[MAX_STOPS];
    int nstops;
    struct sequence *sequences;
    int64_t n;
    int64_t shown; /* the sequence that is being printed: the first that is not complete */
    int64_t prefilled, decoded; /* tokens fed */
    double prefill_seconds, decode_seconds;
};

/* ---- what ends a text ---- */

static void add_stop(struct run *r, const json_t *id) {
    if (json_file_id(id) >= 0 && r->nstops < MAX_STOPS) r->stops[r->nstops++] = json_file_id(id);
}

/* "eos_token_id" of generation_config.json, or of config.json: a number, a list, or nothing. */
static bool read_stops(struct run *r) {
    static const char *const files[] = {"generation_config.json", "config.json"};
    char err[LLM_ERR];
    for (int i = 0; i < 2 && !r->nstops; i++) {
        json_t *root = json_file(r->o->model, files[i], true, err);
        if (!root && *err) return llm_complain("%s", err);
        const json_t *eos = json_object_get(root, "eos_token_id");
        add_stop(r, eos);
        for (size_t k = 0; k < json_array_size(eos); k++)
            add_stop(r, json_array_get(eos, k));
        json_decref(root);
    }
    return true;
}

static bool is_stop(const struct run *r, int32_t id) {
    for (int i = 0; i < r->nstops; i++)
        if (r->stops[i] == id) return true;
    return false;
}

/* ---- printing: one text after the other, each as it comes ---- */

/* What the tokens up to END add to the text; shown unless it is known already. */
static bool print_until(struct run *r, struct sequence *s, size_t end, bool show) {
    const char *text;
    size_t bytes;
    for (; s->printed < end; s->printed++) {
        if (!lm_decoder_push(r->decoder, s->ids.v[s->printed], &text, &bytes)) return false;
        if (show) fwrite(text, 1, bytes, stdout);
    }
    return true;
}

static bool print_sequence(struct run *r, struct sequence *s) {
    const char *text;
    size_t bytes;
    if (s->printed < s->prompt) {
        fputs(r->o->prompts.at[r->shown].text, stdout);
        if (!print_until(r, s, s->prompt, false)) return false;
    }
    if (!print_until(r, s, s->ids.n, true)) return false;
    if (!s->done) return true;
    if (!lm_decoder_flush(r->decoder, &text, &bytes)) return false;
    fwrite(text, 1, bytes, stdout);
    puts(r->shown + 1 < r->n ? "\n---" : "");
    return true;
}

static bool print_progress(struct run *r) {
    bool done = true;
    while (done && r->shown < r->n) {
        struct sequence *s = &r->sequences[r->shown];
        if (!print_sequence(r, s)) return llm_complain("out of memory");
        done = s->done;
        r->shown += done;
    }
    fflush(stdout);
    return true;
}

/* ---- the loop ---- */

static bool start(struct run *r, int64_t i) {
    struct sequence *s = &r->sequences[i];
    const char *prompt = r->o->prompts.at[i].text;
    char err[LLM_ERR];
    if (!tokenizer_encode(r->tokenizer, prompt, strlen(prompt), &s->ids, err))
        return llm_complain("prompt %lld: %s", (long long)i + 1, err);
    s->prompt = s->ids.n;
    s->slot = -1;
    s->sampler = (struct sampler){r->o->temperature, r->o->top_k, (uint64_t)(r->o->seed + i)};
    s->done = r->o->count == 0;
    if (!s->prompt) return llm_complain("prompt %lld is empty", (long long)i + 1);
    if ((int64_t)s->prompt > r->lm.context)
        return llm_complain("prompt %lld has %zu tokens; the model keeps %lld", (long long)i + 1,
                            s->prompt, (long long)r->lm.context);
    for (size_t k = 0; k < s->prompt; k++)
        if (s->ids.v[k] >= r->lm.vocab)
            return llm_complain("prompt %lld: the tokenizer gives token %d, the model has %lld",
                                (long long)i + 1, (int)s->ids.v[k], (long long)r->lm.vocab);
    return true;
}

/* A slot needs no clearing: a sequence reads only the positions it has written itself. */
static void give_slots(struct run *r, bool *taken) {
    int64_t slot = 0;
    for (int64_t i = 0; i < r->n; i++) {
        struct sequence *s = &r->sequences[i];
        if (s->done && s->slot >= 0) {
            taken[s->slot] = false;
            s->slot = -1;
        }
    }
    for (int64_t i = 0; i < r->n; i++) {
        struct sequence *s = &r->sequences[i];
        while (slot < r->lm.slots && taken[slot])
            slot++;
        if (!s->done && s->slot < 0 && slot < r->lm.slots) {
            s->slot = slot;
            taken[slot] = true;
        }
    }
}

/* Feed what fits of one sequence. */
static void feed(struct run *r, struct sequence *s) {
    for (; s->fed < s->ids.n && r->lm.n < r->lm.max_tokens; s->fed++)
        s->row = lm_add(&r->lm, s->ids.v[s->fed], (int64_t)s->fed, s->slot);
    if (s->fed < s->ids.n) s->row = -1; /* its last token is still to come */
}

/* Fill a launch: first the sequences being written, then the prompts. */
static void fill(struct run *r, int64_t *out_prompt_tokens) {
    for (int64_t i = 0; i < r->n; i++)
        r->sequences[i].row = -1;
    for (int64_t i = 0; i < r->n; i++)
        if (r->sequences[i].slot >= 0 && r->sequences[i].fed >= r->sequences[i].prompt)
            feed(r, &r->sequences[i]);
    int64_t decoding = r->lm.n;
    for (int64_t i = 0; i < r->n; i++)
        if (r->sequences[i].slot >= 0 && r->sequences[i].fed < r->sequences[i].prompt)
            feed(r, &r->sequences[i]);
    *out_prompt_tokens = r->lm.n - decoding;
}

static bool extend(struct run *r, struct sequence *s) {
    int32_t id = sampler_next(&s->sampler, r->lm.logits + s->row * r->lm.vocab, r->lm.vocab);
    if (id < 0) return llm_complain("the logits are not numbers");
    if (is_stop(r, id)) {
        s->done = true;
        return true;
    }
    if (!ids_add(&s->ids, id)) return llm_complain("out of memory");
    s->done = (int64_t)(s->ids.n - s->prompt) >= r->o->count || (int64_t)s->ids.n > r->lm.context;
    return true;
}

/* One launch. Its time is shared among reading and writing by their tokens. */
static bool step(struct run *r) {
    int64_t prompt_tokens;
    fill(r, &prompt_tokens);
    int64_t total = r->lm.n;
    double start_time = lm_now();
    if (!lm_run(&r->lm)) return false;
    double seconds = lm_now() - start_time;
    r->prefilled += prompt_tokens;
    r->decoded += total - prompt_tokens;
    r->prefill_seconds += seconds * (double)prompt_tokens / (double)total;
    r->decode_seconds += seconds * (double)(total - prompt_tokens) / (double)total;
    for (int64_t i = 0; i < r->n; i++)
        if (r->sequences[i].row >= 0 && !extend(r, &r->sequences[i])) return false;
    return true;
}

static bool unfinished(const struct run *r) {
    for (int64_t i = 0; i < r->n; i++)
        if (!r->sequences[i].done) return true;
    return false;
}

static double rate(int64_t tokens, double seconds) {
    return seconds > 0 ? (double)tokens / seconds : 0;
}

static void print_summary(const struct run *r) {
    fprintf(stderr,
            "etllm: %s: prompts %lld tokens at %.1f tokens/s, text %lld tokens at %.1f "
            "tokens/s%s\n",
            etrt_device_name(r->lm.device), (long long)r->prefilled,
            rate(r->prefilled, r->prefill_seconds), (long long)r->decoded,
            rate(r->decoded, r->decode_seconds),
            etrt_device_is_emulated(r->lm.device) ? " (emulated: no GPU was used)" : "");
}

static bool generate_all(struct run *r) {
    char err[LLM_ERR];
    bool *taken = NULL, ok = true;
    if (!tokenizer_load(r->o->model, &r->tokenizer, err)) return llm_complain("%s", err);
    r->decoder = lm_decoder_new(r->tokenizer, 0);
    if (!r->decoder) return llm_complain("out of memory");
    if (!read_stops(r) || !lm_open(&r->lm, r->o->kernel, r->o->model, r->o->device)) return false;
    taken = calloc((size_t)r->lm.slots, sizeof *taken);
    if (!taken) return llm_complain("out of memory");
    for (int64_t i = 0; ok && i < r->n; i++)
        ok = start(r, i);
    ok = ok && print_progress(r);
    while (ok && unfinished(r)) {
        give_slots(r, taken);
        ok = step(r) && print_progress(r);
    }
    free(taken);
    if (ok && ferror(stdout)) ok = llm_complain("cannot write the text");
    if (ok) print_summary(r);
    return ok;
}

bool generate(const struct options *o) {
    struct run r = {.o = o, .n = o->prompts.n};
    r.sequences = calloc((size_t)r.n, sizeof *r.sequences);
    bool ok = r.sequences ? generate_all(&r) : llm_complain("out of memory");
    for (int64_t i = 0; r.sequences && i < r.n; i++)
        free(r.sequences[i].ids.v);
    free(r.sequences);
    lm_decoder_free(r.decoder);
    tokenizer_free(r.tokenizer);
    lm_close(&r.lm);
    return ok;
}
