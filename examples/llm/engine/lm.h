/* lm.h - a compiled decoder, ready to run: libetrt's device, model and session in one place.
 *
 * Only this file and lm.c call libetrt: read them to learn it. Failing calls leave the reason in
 * ERR, an array of LLM_ERR characters. */
#ifndef LLM_LM_H
#define LLM_LM_H

#include "etrt.h"
#include "examples/llm/base/error.h"
#include "examples/llm/engine/sampler.h"
#include <stdbool.h>
#include <stdint.h>

struct lm_kernel;

/* Sampling on the device: the inputs and outputs of a kernel from `etimport --sample`. */
struct lm_picks {
    bool likeliest; /* it has the output `likeliest`: of each row */
    bool all;       /* it has the output `next`, and the inputs below */
    int64_t most, most_changes, most_masks, words;
    /* Below MOST_FEW a top_k is looked for among so many of the likeliest; other rows are looked
     * through in MOST_BLOCKS blocks, in turns. 0: the kernel does not tell the two apart. */
    int64_t most_few, most_blocks;
    int64_t n, nchanges, nmasks; /* of the next launch */
    int64_t few, blocks, turns;
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
    int32_t *masks; /* [most_masks, words] */
    int32_t *next;  /* what the last launch chose; [steps, max_rows] where it may have several */
    int64_t chosen; /* how many of NEXT the launch that was submitted gives */
};

/* Where the kernel has the last of a model's layers, etcc --layers=N/N, others run those before
 * them
 * (../cluster). They are told in this order what a launch is given, and run before it does. Failing
 * calls leave the reason in ERR. */
struct lm_ahead {
    void *user;
    void (*begin)(void *user); /* before a device is opened, in the thread that does */
    bool (*open)(void *user, struct lm_kernel *, char *err); /* at the end of each lm_open */
    bool (*dim)(void *user, const char *name, int64_t n, char *err);
    bool (*input)(void *user, const char *name, const void *data, size_t bytes, char *err);
    bool (*copy)(void *user, bool states, int32_t to, int32_t from, char *err);
    bool (*reset)(void *user, char *err);
    /* Binds what they hand on to the inputs of the session that begin with LM_STAGE_IN. */
    bool (*launch)(void *user, struct lm_kernel *, char *err);
};
#define LM_STAGE_IN "stage_in"
#define LM_STAGE_OUT "stage_out"
/* For every kernel that is opened from here on; NULL: none. It is kept, not copied. */
void lm_put_ahead(const struct lm_ahead *);

enum {
    LM_INPUTS = 12,
    LM_CACHE_RANK = 5, /* of keys and values: axis 1 has the slots, or the pages */
};

/* One model of the kernel, which may hold several: its inputs and outputs of a launch. A decoder
 * has slots; an encoder is flat: each launch has whole texts. */
struct lm {
    struct lm_kernel *kernel;
    const char *part;   /* its name in the kernel; NULL: the kernel holds no other */
    int64_t max_tokens; /* most one launch takes */
    int64_t
        tile; /* so many tokens next to each other share keys, where they are of one text; or 1 */
    int64_t chunk;      /* of so many from a position that this divides on, states go along all at
                           once, with other sums; 0: one by one */
    int64_t slots;      /* sequences whose keys and values fit */
    int64_t context;    /* positions of each, which all the pages must hold where there are pages */
    int64_t page;       /* positions of a page; 0: no pages, each slot has memory of its own */
    int64_t pages;      /* pages of all slots together */
    int64_t vocab;      /* tokens are below it; INT32_MAX: it is not known of an encoder */
    const char *result; /* what it gives: "logits"; "embedding": vectors */
    int64_t width;      /* numbers in a row of that; of a decoder's logits: vocab */
    float *logits;      /* [rows, width] of the last launch, unless BY_ROW is set */
    bool by_row;        /* logits are read only by lm_read_row */
    int64_t read;       /* bytes read from the last launch */
    struct lm_picks picks;

    /* The tokens of the next launch, any mix of sequences in any order, as long as the tokens of a
     * sequence come in order of position. None: the launch leaves this decoder out. */
    int32_t *tokens, *positions, *slot_of;
    int64_t n, submitted;
    /* A launch takes whole texts, by lm_add_text, and gives a row for each: up to slots of them, of
     * up to context tokens. TYPED: it can tell the second text of a pair. */
    bool flat, typed;
    int32_t *types, *first, *end, *bounds;
    bool recurs;       /* layers carry states along a sequence: it cannot go back */
    bool carries_all;  /* and nothing else is kept of it */
    int64_t snapshots; /* rows of those states behind the slots' */
    /* Kernels that compute logits only of requested tokens (`etimport --logits asked`): which
     * tokens, in the order of rows of logits. */
    bool by_asking;
    int32_t *asked;   /* [max_rows] */
    int64_t max_rows; /* rows of logits of a launch: max_tokens, unless BY_ASKING is set */
    int64_t nrows;    /* requested rows of the next launch */
    int64_t submitted_rows;
    /* Kernels that continue with the tokens they chose (`etimport --steps`): most steps of a
     * launch, 0 where it cannot; of the next one; of the last. */
    int64_t max_steps, steps, submitted_steps;
    bool taken; /* its outputs of the last launch have been read */
    /* The page table: pages of a slot by position. */
    int32_t *table;  /* [slots, row] */
    int64_t row;     /* pages that a slot can have */
    bool table_sent; /* the session has it */
    /* What the session has of other inputs, as far as it was noted. */
    struct lm_sent {
        const char *name;
        void *data;
        int64_t n;
    } sent[LM_INPUTS];
};

struct lm_kernel {
    etrt_device *device;
    etrt_model *model;
    etrt_session *session;
    etrt_residence *residence; /* NULL unless lm_stay was called */
    struct lm *models;         /* [n] */
    int n;
    const struct lm_ahead *ahead; /* NULL: the kernel has all layers */
    /* Seconds of the last launch: in lm_submit, and reading outputs so far. DEVICE: the device's
     * time; 0 unless lm_time was called. */
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

/* KERNEL is the .hsaco, DEVICE as etrt_device_open takes it, CACHE as etrt_model_cache; N decoders
 * of the kernel, which may hold more: launches leave those out. Close it even after a failure. */
/* What code for a device is compiled for. TARGET as etcc names it: of an emulator that will be
 * whatever the code is of, "gfx942". */
struct lm_device {
    char target[64];
    uint64_t memory; /* bytes; 0: not known */
    bool emulated;
};
bool lm_device(const char *device, struct lm_device *out, char *err);
bool lm_open(struct lm_kernel *, const char *kernel, const char *device, uint64_t cache,
             const struct lm_source *sources, int n, char *err);
/* The same where it shall hold one decoder only. */
bool lm_open_only(struct lm_kernel *, const char *kernel, const char *weights, const char *device,
                  uint64_t cache, struct lm **out, char *err);
void lm_close(struct lm_kernel *);

/* Measure the device's time of each launch from now on. */
bool lm_time(struct lm_kernel *, char *err);

/* Add a token to the next launch; returns its index. There must be room: n < max_tokens. */
int64_t lm_add(struct lm *, int32_t token, int64_t position, int64_t slot);
/* Request the logits of that token; returns their row in lm->logits. At most once for each token.
 * There must be room: lm_rows_left is not 0. */
int64_t lm_ask(struct lm *, int64_t token);
/* How many more rows may be requested of the next launch. */
int64_t lm_rows_left(const struct lm *);

/* Let the launch sample the token after a row, from its logits with N changes, each of a different
 * token, among tokens whose MASK (may be NULL) is not -INFINITY. Returns the number that lm_chosen
 * takes, or -1: the kernel cannot, or there is no room. */
int64_t lm_pick(struct lm *, int64_t row, const struct drawing *, const struct change *, size_t n,
                const float *mask);
/* Add a text of N ids to the next launch of a flat model; those from SECOND on are a second text
 * that goes with the first one. Returns its row. There must be room: for its tokens, and for one
 * more text (nrows < slots). */
int64_t lm_add_text(struct lm *, const int32_t *ids, int64_t n, int64_t second);
/* Copy a row of the result of the last launch to OUT[width]; before the next one begins. */
bool lm_read_row(struct lm *, int64_t row, float *out, char *err);
/* A token that the last launch sampled; -1 where sampler_next returns that; LM_TIED where more are
 * as likely as the last of top_k than the kernel looked at: the row tells. */
enum { LM_TIED = -2 };
int32_t lm_chosen(const struct lm *, int64_t pick);

/* The next launch has N steps, up to max_steps: the token sampled after each of its tokens becomes
 * the token at the next position of that slot. All tokens must have been requested, in order, and
 * be sampled by the launch. */
void lm_repeat(struct lm *, int64_t n);
/* The number that lm_chosen takes for a pick in a later STEP. */
int64_t lm_pick_in(const struct lm *, int64_t step, int64_t pick);

/* Set the first N pages of a slot, from the next launch on; they must hold all fed positions. */
void lm_deal(struct lm *, int64_t slot, const int32_t *pages, int64_t n);
/* Copy page FROM to page TO. */
bool lm_copy_page(struct lm *, int32_t to, int32_t from, char *err);
/* Copy what layers carry along a text from a row to another: a slot's, or behind those of all slots
 * a snapshot's. No launch may run. */
bool lm_copy_states(struct lm *, int64_t to, int64_t from, char *err);
/* What the two do in a session: of its states whose names begin with PREFIX. */
bool lm_copy_in(etrt_model *, etrt_session *, const char *prefix, bool states, int64_t to,
                int64_t from, char *err);

enum lm_result {
    LM_DONE,
    LM_ABORTED, /* the launch gave up; the caches of its sequences are undefined, others unchanged,
                   and the next launch may be tried */
    LM_CANCELLED, /* by lm_cancel: the same, but positions before the launch are unchanged */
    LM_LOST,      /* the device or the session is lost: close, and open again */
};
/* Launch the tokens that were added to all decoders, wait, and read the requested logits. The lists
 * of tokens are empty afterwards. */
enum lm_result lm_run(struct lm_kernel *, char *err);
/* The same in two halves: start the launch; wait for its end. No tokens may be added between them.
 * False: it did not start, as LM_LOST. */
bool lm_submit(struct lm_kernel *, char *err);
enum lm_result lm_wait(struct lm_kernel *, char *err);
/* Wait for at most SECONDS. False: the launch still runs, and *OUT is unchanged. */
bool lm_wait_for(struct lm_kernel *, double seconds, enum lm_result *out, char *err);
/* Between the two: is this decoder done, while others of the launch may still run? If so its
 * outputs are read now, as lm_wait would. */
bool lm_take(struct lm *);
/* Let the kernel, one of etcc --resident, stay on the device: each decoder has iterations of its
 * own from now on, whatever the others do, instead of launches of all. */
bool lm_stay(struct lm_kernel *, char *err);
/* Begin an iteration, of the tokens that were added. False: as LM_LOST. */
bool lm_post(struct lm *, char *err);
/* Wait for at most SECONDS for its end, as lm_wait_for; it cannot be cancelled. */
bool lm_wait_post(struct lm *, double seconds, enum lm_result *out, char *err);
/* Ask the running launch to end soon. */
void lm_cancel(struct lm_kernel *);
/* Forget all sequences. */
bool lm_reset(struct lm_kernel *, char *err);

/* picks.c, for lm.c: memory for launches of ROWS tokens; padding for empty lists. */
bool lm_picks_allocate(struct lm_picks *, int64_t rows);
void lm_picks_free(struct lm_picks *);
void lm_picks_pad(struct lm_picks *);
void lm_picks_begin(struct lm_picks *); /* of a launch: there are none */

/* Seconds of a monotonic clock. */
double lm_now(void);

#endif
