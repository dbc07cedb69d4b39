/* engine.h - continuous batching: one thread that owns a compiled decoder and launches it. Where a
 * kernel holds several decoders, each is an engine with a queue of its own; the thread is theirs
 * together, and a launch takes what there is of each.
 *
 * Every launch takes the next token of each sequence that is being written and fills up with
 * pieces of the prompts that are being read, in turn, so that none waits for another to end. A
 * Where keys and values are in pages, one that finds no page for its next token has the youngest
 * lose its slot and its pages; that one is read again later and goes on with the same text. A
 * sequence is given to the engine with a sink, functions that are called in the engine's thread:
 * for each token, and at the end. Everything else may be called in any thread.
 *
 * Failing calls leave why in ERR, an array of LLM_ERR characters. */
#ifndef LLM_ENGINE_H
#define LLM_ENGINE_H

#include "examples/llm/base/error.h"
#include "examples/llm/engine/sampler.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

struct engine_options {
    const char *kernel, *device; /* as lm_open takes them */
    /* What follows counts for each decoder by itself. */
    int64_t batch;   /* most tokens per launch; 0: as many as the kernel takes */
    int64_t chunk;   /* most tokens of one prompt per launch while others are written; 0: a quarter
                        of a launch */
    int64_t waiting; /* most sequences that wait for a slot; 0: any number */
    int64_t speculate; /* most tokens of a text that are guessed and checked in one launch, up to
                          16; 0: none. The text is the same */
    int64_t steps; /* most tokens that each text gets of one launch of a kernel that can go on by
                      itself, while nobody waits; 0: as many as the kernel can. The text is the
                      same */
    bool forget;   /* do not look whether a slot has the beginning of a prompt already */
    bool timed;    /* have the device tell how long it works on each launch */
    double launch_seconds; /* a launch that takes longer is ended, and fails; 0: none is too long */
    int64_t abort_launch;  /* for tests: launch number N gives up, -N: loses the device; 0: none.
                              Every Nth does with ABORT_AGAIN. */
    bool abort_again;
};

struct engine_model {
    const char *part, *weights; /* as of lm_source */
    const int32_t *stops;       /* tokens that end a text; copied */
    int nstops;
};

struct engine_sizes {
    /* CONTEXT: positions of one sequence; no more than all pages hold. */
    int64_t vocab, context, slots, max_tokens; /* MAX_TOKENS: most one launch takes */
    int64_t page, pages; /* positions of a page, and pages; 0: slots have memory of their own */
    const char *device;  /* for people; lives as long as the engine */
    bool emulated;
};

enum engine_end {
    ENGINE_STOP,      /* the model ended the text */
    ENGINE_ENOUGH,    /* the sink said so */
    ENGINE_LENGTH,    /* as many tokens as were asked for, or the context is full */
    ENGINE_CANCELLED, /* by engine_cancel, or the engine was closed */
    ENGINE_FAILED,    /* the launch it was in failed: WHY says how */
};

struct engine_token {
    int32_t id;
    float logprob;                /* NaN unless asked for */
    const struct likelihood *top; /* only in this call */
    int ntop;
};

/* What there is to tell at the end. Times are of lm_now; 0: it did not come to that. */
struct engine_result {
    enum engine_end end;
    const char *why;                   /* ENGINE_FAILED: one or more lines of text, for this call */
    int64_t prompt, cached, generated; /* tokens; CACHED of the prompt were read before */
    double submitted, started, first, last;
};

struct engine_sink {
    void *user;
    /* False: the text is complete. NULL ID never: what ends a text is not given. */
    bool (*token)(void *user, const struct engine_token *);
    /* The last call for this sequence, and the only one that comes for sure. */
    void (*end)(void *user, const struct engine_result *);
    /* May be NULL. Sets the logits of tokens that must not come next to -INFINITY; false: nothing
     * may follow, the text is complete (ENGINE_STOP). The model's own end is STOPS of the options.
     */
    bool (*mask)(void *user, float *logits, int64_t vocab);
    /* May be NULL. After calls of TOKEN, unless END comes before: the next launch is on its way, so
     * that what takes time takes none of the device's. */
    void (*later)(void *user);
};

struct engine_job {
    const int32_t *prompt; /* at least 1, at most the context, all in the vocabulary; copied */
    size_t n;
    int64_t most;             /* tokens to generate; 0 is allowed */
    int64_t least;            /* the model may not end the text before as many */
    bool run_on;              /* the model may not end the text at all: what would end it is text */
    int top;                  /* logprobs of so many; -1: of none, not the token's own either */
    struct sampling sampling; /* biases are copied */
    struct engine_sink sink;
};

/* An engine for each of N models of the kernel. OUT[0] is NULL on failure. */
bool engine_open(const struct engine_options *, const struct engine_model *models, int n,
                 struct engine **out, char *err);
/* All that were opened with this one: ends all sequences, ENGINE_CANCELLED, waits for the thread.
 * NULL is fine. */
void engine_close(struct engine *);
void engine_sizes(const struct engine *, struct engine_sizes *out);

enum engine_answer { ENGINE_TAKEN, ENGINE_FULL, ENGINE_REFUSED };
/* All of the jobs or none. ENGINE_FULL: there is no room for so many to wait; ENGINE_REFUSED with
 * why in ERR: a job is not right, or there is no memory. OUT_IDS gets a number for each job, never
 * given twice. Sinks may be called before this returns. */
enum engine_answer engine_submit(struct engine *, const struct engine_job *, int njobs,
                                 uint64_t *out_ids, char *err);
/* The end is told soon, also while it is in a launch, which is ended where no other sequence wants
 * it; nothing happens if it was told already. */
void engine_cancel(struct engine *, uint64_t id);

/* What the engine has done and does, as of the last launch. Totals are since it was opened. */
struct engine_stats {
    int64_t running, waiting;   /* sequences with a slot, and without */
    int64_t used;               /* positions of slots that hold something of running ones; of all
                                   their pages */
    int64_t preempted;          /* times that a sequence lost its slot */
    int64_t launches, failures; /* that were done; that failed */
    int64_t early;     /* of those done, while another model's part of the launch still ran */
    int64_t cancelled; /* launches that were ended early, mostly since nobody wanted them */
    int64_t prompts, written; /* tokens fed: of prompts, and of texts */
    int64_t generated;        /* tokens that came out */
    int64_t asked, cached;    /* tokens of prompts that got a slot, and which lay there already */
    int64_t read;             /* bytes of what launches gave: logits, and tokens they chose */
    int64_t guessed, right;   /* tokens that were guessed, and that came */
    double prompt_seconds, text_seconds; /* launches' time, shared by tokens fed */
    /* What the thread's seconds of launches that were done went to, the launches of all decoders of
     * the kernel together: making room and telling what there is; filling; giving it to the device;
     * waiting; reading what came; making texts of it. DEVICE: how long the device worked meanwhile;
     * 0: it was not asked. */
    struct engine_steps {
        double admit, fill, submit, wait, read, take, device;
    } steps;
    int64_t last_prompts, last_texts; /* tokens fed in the last launch */
    double last_seconds;
    /* Seconds of opening; when the first launch began, by lm_now, and its seconds. */
    struct engine_start {
        double device, kernel, weights, session, began, first;
    } start;
};
void engine_stats(struct engine *, struct engine_stats *out);

struct engine_slot {
    uint64_t id; /* of its sequence; 0: free */
    int64_t prompt, fed, generated, most;
    int64_t held; /* positions that a prompt which begins alike need not read again */
};
/* OUT has room for all slots. */
void engine_slots(struct engine *, struct engine_slot *out);

#endif
