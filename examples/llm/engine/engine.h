/* engine.h - continuous batching: one thread owns a compiled decoder and launches it. A kernel with
 * several decoders has an engine for each, with a queue of its own; all share one thread, and one
 * launch serves all of them.
 *
 * Every launch has the next token of each sequence that is being generated, and is filled up with
 * pieces of waiting prompts, in turn, so that no prompt waits for another to finish. Where keys and
 * values are in pages and no page is free for a sequence's next token, the youngest sequence loses
 * its slot and pages; it is read again later and continues the same text. The caller submits a
 * sequence with a sink: functions that the engine's thread calls for each token and at the end. All
 * other functions may be called in any thread.
 *
 * Failing calls leave the reason in ERR, an array of LLM_ERR characters. */
#ifndef LLM_ENGINE_H
#define LLM_ENGINE_H

#include "examples/llm/base/error.h"
#include "examples/llm/engine/sampler.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct engine;

struct engine_options {
    const char *kernel, *device; /* as lm_open takes them, and the cache of experts */
    uint64_t cache;
    /* The limits below are for each decoder. */
    int64_t batch;     /* most tokens per launch; 0: as many as the kernel takes */
    int64_t chunk;     /* most tokens of prompts per launch while other texts are generated; 0: of
                          each a quarter of a launch, or up to all where that takes hardly longer */
    int64_t waiting;   /* most sequences that wait for a slot; 0: any number */
    int64_t speculate; /* speculative decoding: most tokens guessed and checked in a launch, up to
                          16; 0: none. The text is the same */
    int64_t steps; /* most tokens that a text gets from one launch, of kernels that can continue by
                      themselves, while no sequence waits; 0: as many as the kernel can. The text is
                      the same */
    bool forget;   /* no prefix cache: slots are not searched for the beginning of a prompt */
    bool resident; /* the kernel, of etcc --resident, stays on the device: each decoder begins its
                      next step when its last is over. Not with TIMED or LAUNCH_SECONDS */
    bool beside;   /* launches go side by side with those of other kernels of the process, as plans
                      of libetrt have it; else they take turns */
    bool timed;    /* measure the device's time of each launch */
    double launch_seconds; /* a launch that takes longer is ended and fails; 0: no limit */
    double idle_seconds;   /* without a sequence for as long, it sleeps; 0: never */
    int64_t abort_launch;  /* for tests: launch number N gives up, -N: loses the device; 0: none.
                              With ABORT_AGAIN every Nth. */
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
    int64_t snapshots;   /* copies of what layers carry along texts, which others go on from */
    int64_t width;       /* numbers of a vector */
    bool vectors;        /* it gives vectors or scores of texts alone, and writes none */
    bool scores;         /* scores */
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

/* The result of a sequence. Times are lm_now's; 0: that stage was not reached. */
struct engine_result {
    enum engine_end end;
    const char *why;                   /* ENGINE_FAILED: one or more lines of text, for this call */
    int64_t prompt, cached, generated; /* tokens; CACHED of the prompt were read before */
    double submitted, started, first, last;
};

struct engine_sink {
    void *user;
    /* False: the text is complete. Not called for the token that ends a text. */
    bool (*token)(void *user, const struct engine_token *);
    /* The last call for this sequence; always called. */
    void (*end)(void *user, const struct engine_result *);
    /* May be NULL. Sets the logits of tokens that are not allowed next to -INFINITY; false: no
     * token is allowed, the text is complete (ENGINE_STOP). The model's own end tokens are STOPS.
     */
    bool (*mask)(void *user, float *logits, int64_t vocab);
    /* May be NULL. May MASK be asked now? A sequence that must wait for it sits out launches until
     * then; engine_wake says that it need not any more. */
    enum engine_turn { TURN_WAIT, TURN_GO, TURN_OVER } (*ready)(void *user);
    /* May be NULL. Called after TOKEN, when the next launch is running: slow work here costs the
     * device no time. Not called if END comes first. */
    void (*later)(void *user);
    /* May be NULL unless PROMPT_TOP says so: token AT of the prompt, and how likely it was. */
    void (*prompt)(void *user, size_t at, const struct engine_token *);
    /* May be NULL unless VECTOR says so: what the prompt becomes, before END. */
    void (*vector)(void *user, const float *values, int64_t width);
};

struct engine_job {
    const int32_t *prompt; /* at least 1, at most the context, all in the vocabulary; copied */
    size_t n;
    int64_t most;      /* tokens to generate; 0 is allowed */
    int64_t least;     /* least tokens before the model may end the text */
    bool run_on;       /* the model cannot end the text: end tokens are text */
    int top;           /* log probabilities of as many tokens; -1: none, not even its own */
    bool tells_prompt; /* and those of the prompt's tokens, PROMPT_TOP of each: it is then read
                          from its beginning */
    int prompt_top;
    bool vector; /* no token is generated (MOST is 0): what the model gives of the prompt is told,
                    a vector, scores, or the logits behind its last token */
    size_t
        second; /* where the second text of a pair begins in the prompt; N or more: there is none */
    struct sampling sampling; /* biases are copied */
    struct engine_sink sink;
};

/* An engine for each of N models of the kernel. OUT[0] is NULL on failure. */
bool engine_open(const struct engine_options *, const struct engine_model *models, int n,
                 struct engine **out, char *err);
/* Closes all engines that were opened with this one: ends all sequences with ENGINE_CANCELLED and
 * waits for the thread. NULL is fine. */
void engine_close(struct engine *);
void engine_sizes(const struct engine *, struct engine_sizes *out);

enum engine_answer { ENGINE_TAKEN, ENGINE_FULL, ENGINE_REFUSED };
/* Submits all of the jobs or none. ENGINE_FULL: too many would wait; ENGINE_REFUSED, with the
 * reason in ERR: a job is invalid, or no memory. OUT_IDS gets a unique number for each job. Sinks
 * may be called before this returns. */
enum engine_answer engine_submit(struct engine *, const struct engine_job *, int njobs,
                                 uint64_t *out_ids, char *err);
/* A sequence that waited to be READY, or was over by it, is looked at. */
void engine_wake(struct engine *);
/* The sequence's END is called soon, even while it is in a launch, which is ended if no other
 * sequence needs it. Nothing happens if END was called already. */
void engine_cancel(struct engine *, uint64_t id);

/* Asleep: the device is closed and its memory given back, with the keys and values of all
 * sequences. The weights are read again from their files, which the host keeps in memory while it
 * has room. All engines that were opened with this one sleep and wake together; the next sequence
 * wakes them. */
/* Returns when they sleep. False: a sequence runs or waits. */
bool engine_sleep(struct engine *, char *err);
/* Returns when they are awake. False: the device cannot be opened; the next sequence tries again.
 */
bool engine_rouse(struct engine *, char *err);

/* Counters as of the last launch. Totals are since the engine was opened. */
struct engine_stats {
    int64_t running, waiting;   /* sequences with a slot, and without */
    int64_t used;               /* cache positions in use by running sequences (with pages: in their
                                   pages) */
    int64_t preempted;          /* times that a sequence lost its slot */
    int64_t kept;               /* snapshots that were made of what layers carry along texts */
    int64_t launches, failures; /* launches that succeeded; that failed */
    int64_t early; /* of those that succeeded: read while another model's part still ran */
    int64_t slept; /* times that it went to sleep */
    bool asleep;
    int64_t cancelled;        /* launches ended early, mostly because no sequence needed them */
    int64_t prompts, written; /* tokens fed: of prompts, and of generated texts */
    int64_t generated;        /* tokens generated */
    int64_t asked, cached;    /* tokens of prompts that got a slot; of these, found in the cache */
    int64_t read;             /* bytes of outputs read: logits and chosen tokens */
    int64_t guessed, right;   /* speculated tokens; how many were right */
    double prompt_seconds, text_seconds; /* time of launches, divided by tokens fed */
    /* The thread's time, over all decoders of the kernel: admitting sequences; filling inputs;
     * submitting; waiting; reading outputs; turning them into text. DEVICE: the device's time
     * meanwhile; 0: not measured. */
    struct engine_phases {
        double admit, fill, submit, wait, read, take, device;
    } phases;
    int64_t last_prompts, last_texts; /* tokens fed in the last launch */
    double last_seconds;
    /* Seconds of each part of opening; when the first launch began (lm_now), and its seconds. */
    struct engine_start {
        double device, kernel, weights, session, began, first;
    } start;
};
void engine_stats(struct engine *, struct engine_stats *out);

struct engine_slot {
    uint64_t id; /* of its sequence; 0: free */
    int64_t prompt, fed, generated, most;
    int64_t held; /* positions that a prompt with the same beginning need not read again */
};
/* OUT has room for all slots. */
void engine_slots(struct engine *, struct engine_slot *out);

#endif
