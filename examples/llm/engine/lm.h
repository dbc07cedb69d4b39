/* lm.h - compiled decoders, ready to run: libetrt's device, model and session in one place.
 *
 * This file and lm.c are all of etllm that calls libetrt: read them to learn it. Failing calls
 * leave why in ERR, an array of LLM_ERR characters. */
#ifndef LLM_LM_H
#define LLM_LM_H

#include "etrt.h"
#include "examples/llm/base/error.h"
#include "examples/llm/engine/sampler.h"
#include <stdbool.h>
#include <stdint.h>

struct lm_kernel;

/* What a launch chooses by itself, as the inputs of a kernel from `etimport --sample` have it. */
struct lm_picks {
    bool likeliest; /* it has the output `likeliest`: of each row */
    bool all;       /* it has the output `next`, and the inputs below */
    int64_t most, most_changes, most_masks, words;
    int64_t n, nchanges, nmasks; /* of the next launch */
    struct lm_pick_of {
        int32_t row, top_k, mask;
    } * of; /* [most] */
    struct lm_pick_how {
        float cold, far, top_p, uniform;
    } * how;
    struct lm_change {
        int32_t pick, id;
    } * change; /* [most_changes] */
    struct lm_change_by {
        float add, above, below, less;
    } * change_by;
    int32_t *masks;    /* [most_masks, words] */
    bool no_mask_sent; /* the session has one mask, which nothing asks for */
    int32_t *next;     /* what the last launch chose; [steps, max_rows] where it may have several */
    int64_t chosen;    /* how many of NEXT the launch that was submitted gives */
};

/* A decoder of the kernel, which may hold several: what launches are given of it and give for it.
 */
struct lm {
    struct lm_kernel *kernel;
    const char *part;   /* its name in the kernel; NULL: the kernel holds no other */
    int64_t max_tokens; /* most one launch takes */
    int64_t slots;      /* sequences whose keys and values fit */
    int64_t context;    /* positions of each, which all the pages must hold where there are pages */
    int64_t page;       /* positions of a page; 0: each slot has memory of its own */
    int64_t pages;      /* how many there are, for all slots */
    int64_t vocab;
    float *logits; /* [rows, vocab] of the last launch, unless BY_ROW is set */
    bool by_row;   /* rows are read by lm_read_row alone */
    int64_t read;  /* bytes that were read of the last launch */
    struct lm_picks picks;

    /* The tokens of the next launch, any mix of sequences in any order, as long as the tokens of a
     * sequence come in order of position. None: the launch leaves this decoder out. */
    int32_t *tokens, *positions, *slot_of;
    int64_t n, submitted;
    /* Of a kernel that gives logits of those tokens only that are asked for (`etimport --logits
     * asked`): which they are, in the order of the rows of its logits. */
    bool by_asking;
    int32_t *asked;   /* [max_rows] */
    int64_t max_rows; /* of logits that a launch gives: max_tokens, unless BY_ASKING is set */
    int64_t nrows;    /* that the next launch gives and somebody wants */
    int64_t submitted_rows;
    /* Of a kernel that may go on by itself with what it chose (`etimport --steps`): how many steps
     * a launch may have, 0 where it cannot; of the next one, and of the last. */
    int64_t max_steps, steps, submitted_steps;
    bool taken; /* what the launch gave of it has been read */
    /* Which page has which positions of a slot. */
    int32_t *table;  /* [slots, row] */
    int64_t row;     /* pages that a slot can have */
    bool table_sent; /* the session has it */
};

struct lm_kernel {
    etrt_device *device;
    etrt_model *model;
    etrt_session *session;
    struct lm *models; /* [n] */
    int n;
    /* Seconds of the last launch: of lm_submit, and of its outputs' way to the host up to now.
     * DEVICE: what the device worked on it; 0 unless lm_time was called. */
    struct lm_spent {
        double submit, read, device;
    } spent;
    /* Seconds that the parts of lm_open took. */
    struct lm_start {
        double device, kernel, weights, session;
    } start;
};

struct lm_source {
    const char *part; /* as the kernel names it; NULL: the one in its place in the kernel's order */
    const char *weights; /* a checkpoint directory or file */
};

/* KERNEL is the .hsaco, DEVICE as etrt_device_open takes it; N decoders of the kernel, which may
 * hold more: launches leave those out. Close it even after a failure. */
bool lm_open(struct lm_kernel *, const char *kernel, const char *device,
             const struct lm_source *sources, int n, char *err);
/* The same where it shall hold one decoder only. */
bool lm_open_only(struct lm_kernel *, const char *kernel, const char *weights, const char *device,
                  struct lm **out, char *err);
void lm_close(struct lm_kernel *);

/* Have the device tell how long it works on each launch from now on. */
bool lm_time(struct lm_kernel *, char *err);

/* One more token of the next launch: returns which. There must be room: n < max_tokens. */
int64_t lm_add(struct lm *, int32_t token, int64_t position, int64_t slot);
/* The logits of that token are wanted: returns the row of lm->logits that will be theirs. Each
 * token is asked for once at most. There must be room: lm_rows_left is not 0. */
int64_t lm_ask(struct lm *, int64_t token);
/* How many more tokens of the next launch may be asked for. */
int64_t lm_rows_left(const struct lm *);

/* The token after a row shall be chosen by the launch, from its logits with N changes, each of a
 * token of its own, and of those tokens whose MASK, where it is not NULL, is not -INFINITY.
 * Returns where lm_chosen has it, or -1: the kernel cannot, or there is no room for more. */
int64_t lm_pick(struct lm *, int64_t row, const struct drawing *, const struct change *, size_t n,
                const float *mask);
/* A row of logits of the launch that was done, to OUT[vocab], until the next one begins. */
bool lm_read_row(struct lm *, int64_t row, float *out, char *err);
/* A token of the launch that was done; -1 where sampler_next gives that. */
int32_t lm_chosen(const struct lm *, int64_t pick);

/* The next launch goes on by itself, so that it has N steps, up to max_steps: what was chosen after
 * each of its tokens is the token at the next position of that slot. All were asked for, in their
 * order, and are chosen by the launch. */
void lm_repeat(struct lm *, int64_t n);
/* Where lm_chosen has what that was in another step than the first. */
int64_t lm_pick_in(const struct lm *, int64_t step, int64_t pick);

/* The first N pages of a slot, from the next launch on. What is fed must lie in them. */
void lm_deal(struct lm *, int64_t slot, const int32_t *pages, int64_t n);
/* Page TO becomes what page FROM is. */
bool lm_copy_page(struct lm *, int32_t to, int32_t from, char *err);

enum lm_result {
    LM_DONE,
    LM_ABORTED, /* the launch gave up, and what its sequences had in their slots is not to be relied
                   on; the next launch may be tried, and other sequences are as they were */
    LM_CANCELLED, /* by lm_cancel: the same, but what lay there before the launch still does */
    LM_LOST,      /* the device or the session is no more: close, and open again */
};
/* Launch what was added to all of its decoders, wait, read the logits that were asked for. What was
 * added is gone after. */
enum lm_result lm_run(struct lm_kernel *, char *err);
/* The same in two steps: the launch begins; and wait for its end. What was added may not be changed
 * between them. False: it did not begin, as LM_LOST. */
bool lm_submit(struct lm_kernel *, char *err);
enum lm_result lm_wait(struct lm_kernel *, char *err);
/* The second step, for at most SECONDS. False: the launch still runs, and *OUT is as it was. */
bool lm_wait_for(struct lm_kernel *, double seconds, enum lm_result *out, char *err);
/* In between: is this decoder done, while others of the launch may still run? Then what the launch
 * gave of it is read now, as lm_wait would. */
bool lm_take(struct lm *);
/* The launch that was submitted shall end soon. */
void lm_cancel(struct lm_kernel *);
/* Forget all sequences. */
bool lm_reset(struct lm_kernel *, char *err);

/* picks.c, for lm.c: memory for launches of ROWS tokens; what an empty list is bound as. */
bool lm_picks_allocate(struct lm_picks *, int64_t rows);
void lm_picks_free(struct lm_picks *);
void lm_picks_pad(struct lm_picks *);

/* Seconds of a clock that only goes forward. */
double lm_now(void);

#endif
