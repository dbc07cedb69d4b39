/* parts.h - what the files of this room share of an engine. */
#ifndef LLM_ENGINE_PARTS_H
#define LLM_ENGINE_PARTS_H

#include "examples/llm/engine/engine.h"
#include "examples/llm/engine/kept/snapshots.h"
#include "examples/llm/engine/lm.h"
#include <pthread.h>
#include <stdatomic.h>

enum {
    MAX_GUESSES = 16,
    MOST_DOUBLED = 2, /* times that a chunk of a prompt is; at first, too */
};

struct sequence {
    struct sequence *next; /* of those that wait */
    uint64_t id;
    struct engine_job job;
    int32_t *ids;  /* the prompt, then what was generated; room for the prompt and MOST */
    size_t n, fed; /* how many there are, and how many the model has seen */
    int64_t slot;
    int32_t *pages;        /* where its positions lie; NULL: the kernel has no pages */
    int64_t npages, nkept; /* NKEPT of them are full, and others may have them too */
    bool resumed;          /* it had a slot before */
    int64_t row;           /* of the logits that follow its last token, or -1 */
    int64_t pick;          /* of the token that follows it; -1: it is not chosen on the device */
    bool launched;         /* part of the launch */
    bool told;             /* its sink was given tokens, and LATER is due */
    size_t had;            /* FED before the launch */
    int64_t share;         /* how many tokens of its prompt the launch may have */
    /* Of layers that carry states: how many tokens its slot's are behind, unless a launch failed;
     * FED at its beginning; where it leaves what was read of others, a place for a snapshot (0:
     * there is none); up to where it may go in the launch (0: anywhere); what it put last. */
    size_t reached, began, parts, cut;
    struct snapshot own;
    int64_t told_row,
        ntold; /* rows of the launch that tell of the tokens behind HAD, of its prompt */
    /* What is fed behind its last token, to see whether it comes. Their rows follow each other. */
    int32_t guesses[MAX_GUESSES];
    int64_t nguesses, guess_row, guess_picks[MAX_GUESSES];
    atomic_bool cancelled;
    struct engine_result result;
};

/* What lies in a slot: the tokens of the sequence it has, or of the one that had it last. */
struct slot {
    struct sequence *owner; /* NULL: free */
    int32_t *ids;           /* of a free one */
    size_t n;
    uint64_t freed; /* a number that grows: the least was freed first */
};

/* What prompts cost beside texts, and in launches of their own: fill.c. */
struct ways {
    double text;                  /* seconds of a launch of texts; 0: not known yet */
    int64_t texts;                /* how many it had */
    double seconds[2], tokens[2]; /* that prompts took, and how many: together, apart */
    double alone;                 /* seconds of the last launch of prompts alone */
    double more;                  /* seconds of the last launch of both beyond those of texts */
    int64_t turn, again; /* launches since the other way was tried, and at how many it is again */
    bool was_apart;      /* what was decided last */
    bool apart;          /* the launch has prompts alone, for which texts wait */
    bool held;           /* prompts have waited for one of texts */
    /* A launch with prompts and texts has `chunk` rows, doubled so often, ROOM of them for prompts;
     * of this one, where another number is tried; the last one's seconds that was not a try; and
     * launches since the last try. */
    int64_t room;
    int doubled, tried;
    double took;
    int64_t since;
    /* At so many of these more is tried again, and how many that was after the last such try. */
    int64_t more_at, wait;
};

/* A decoder with its sequences. */
struct engine {
    struct launcher *launcher;
    const struct engine_options *o; /* of the launcher */
    struct lm *lm;                  /* NULL while the device is lost */
    int64_t batch, chunk;           /* of the options, as its decoder allows */
    char *part, *weights;
    int32_t *stops;
    int nstops;
    struct engine_sizes sizes; /* of LM, also while it is lost */
    /* No prompt continues what another sequence left: as was asked, or since LM has states, which
     * pages do not keep and of which there are no snapshots. */
    bool forgets;
    bool recurs, carries_all; /* as LM has them, also while it is lost */
    struct sampler *sampler;
    float *row;  /* [vocab]: of one sequence, to be changed */
    float *kept; /* [vocab]: the same as it came, where that is asked for too */
    struct slot *slots;
    struct pages *pages;         /* NULL: the kernel has none */
    struct snapshots *snapshots; /* likewise */
    uint64_t nfreed;
    struct sequence **active; /* [slots], the oldest first; in the launcher's thread, and changed
                                 with its lock held */
    int64_t nactive, turn;
    int64_t steps;   /* of the launch */
    int64_t guessed; /* tokens of the launch that are guesses */
    struct ways ways;
    bool is_done; /* its part of the launch is, and its tokens are taken */
    /* A step of it runs, of a kernel that stays: of TOTAL tokens, since BEGAN. */
    bool posted;
    int64_t total;
    double began;
    struct engine_stats stats; /* in the launcher's thread */

    /* With the launcher's lock held. */
    struct sequence *first, **last; /* those that wait, in order */
    int64_t nwaiting;
    struct engine_stats shown_stats; /* STATS and the slots, as others may see them */
    struct engine_slot *shown;
};

/* The thread of the engines of one kernel. */
struct launcher {
    struct engine_options o;
    char *kernel_file, *device; /* of the options */
    char device_name[256];
    struct lm_kernel kernel;
    struct engine *engines; /* [n] */
    int n;
    int64_t tried;               /* launches */
    struct engine_phases phases; /* in the thread */
    pthread_t thread;
    bool has_thread;

    pthread_mutex_t lock;
    pthread_cond_t wake;
    uint64_t nids;
    bool woken; /* by engine_wake, since it was looked last */
    /* What engine_sleep and engine_rouse ask of the thread, and what became of it. */
    enum wish { WISH_NOTHING, WISH_SLEEP, WISH_WAKE } wish;
    pthread_cond_t heard; /* WISH is WISH_NOTHING again */
    bool asleep;
    char why[LLM_ERR]; /* it did not wake */
    atomic_bool stop;
};

/* slots.c: which sequence is where. */
/* Gives a free slot to a sequence: the one that has most of its prompt already. */
void slots_take(struct engine *, struct sequence *);
/* Takes it back. TRUSTED: what was fed is there and may be used again. */
void slots_give(struct engine *, struct sequence *, bool trusted);
/* Nothing that lies in a slot is to be relied on: all sequences begin again. */
void slots_lost(struct engine *);

/* paged.c: which pages a sequence has. */
/* Finds what lies there of a sequence that got a slot: sets what is fed of it. Returns how many
 * tokens there are pages of, which is more where what layers carry is not there. */
size_t paged_begin(struct engine *, struct sequence *);
void paged_end(struct engine *, struct sequence *);
/* The device was lost, and all pages with it. */
void paged_lost(struct engine *);
/* What was fed of it is in its pages: others that begin alike may have those that are full. */
void paged_keep(struct engine *, struct sequence *);
/* Is there room for one that waits, beside those that run? */
bool paged_fits(const struct engine *, const struct sequence *);
/* Takes pages for the positions below UNTIL. Returns below which there are any. */
int64_t paged_reach(struct engine *, struct sequence *, int64_t until);
/* A place for the next token of all that run; for which there is none lose their slots. */
void paged_reserve(struct engine *);
/* Positions of pages that are held. */
int64_t paged_used(const struct engine *);

/* states.c: what layers carry along texts; where they do not, nothing here does anything. */
/* How many tokens of a sequence that slot has, or can get, what was carried along: it HAS keys and
 * values of the first. */
size_t states_reach(const struct engine *, const struct slot *, const struct sequence *,
                    size_t has);
/* Gives the sequence's slot, which was SLOT's until now, what was carried along as many. Returns
 * how many. */
size_t states_begin(struct engine *, struct sequence *, const struct slot *, size_t has);
/* The same by a snapshot of at most MOST tokens. */
size_t states_find(struct engine *, struct sequence *, size_t most);
/* FED is set; there are pages of the first PAGED tokens, if there are any. */
void states_began(struct engine *, struct sequence *, size_t paged);
/* Before a launch is filled: what is wanted of the last one is copied; how far each may go. */
void states_keep(struct engine *);
void states_cut(struct engine *);
/* The device was lost. */
void states_lost(struct engine *);

/* guess.c: how N tokens may go on: up to MOST of *OUT, which lie among them. */
int64_t guess_next(const int32_t *ids, int64_t n, int64_t most, const int32_t **out);

/* fill.c: one engine's share of a launch is filled. Returns how many tokens it has in it. */
int64_t launch_fill(struct engine *);
/* It took so long, and no other engine was in it. */
void fill_learn(struct engine *, double seconds);
/* The first N tokens of a sequence; those that end a text must not come while it is short. */
struct history history_of(const struct engine *, const struct sequence *, size_t n);

/* launch.c: the tokens it gave. */
/* It was done, with TOTAL tokens of all engines; what is below then leaves it alone. */
void launch_take(struct engine *, int64_t total, double seconds);
/* whole.c: the same of an encoder: whole texts, the oldest first. */
int64_t whole_fill(struct engine *);
/* What the launch gave of a text, or of a prompt that is to become a vector, goes to its sink. */
void whole_take(struct engine *, struct sequence *);
/* Calls LATER of the sinks that tokens were given to. */
void launch_tell(struct engine *);
void sequence_tell(struct sequence *);
/* It was cancelled: what it wrote, if anything, is written again. */
void launch_take_back(struct engine *);
/* It failed: those in it are lost. LOST: and so is what lay in slots. */
void launch_fail(struct engine *, bool lost, const char *why);
/* Does anybody still want what it computes? */
bool launch_is_wanted(const struct engine *);

/* launcher.c: the thread. */
bool launcher_start(struct launcher *, char *err);
/* Opens kernel and device anew, or for the first time. */
bool launcher_open(struct launcher *, char *err);

/* The device again, after it was lost or while it sleeps. False: it cannot be had, for WHY. */
bool launcher_wake(struct launcher *, char *why);
/* The same; where it cannot be had, all that have a slot are failed. */
bool launcher_ready(struct launcher *);
void launcher_close(struct launcher *);
/* All that run wait to be told which tokens they may have: until engine_wake, or a while. */
void launcher_wait(struct launcher *);

/* resident.c: of a kernel that stays. Begins those that can begin, and takes those that are over;
 * comes back soon, to look after sequences that came meanwhile. */
void resident_go_on(struct launcher *);
bool resident_runs(const struct launcher *);

/* rest.c: what the thread does while no sequence runs or waits. */
/* Waits for one, or for the end, or for a wish, which it grants. False: it is the end. */
bool rest(struct launcher *);

/* queue.c: who waits, who has a slot, and how they leave. */
/* Those that were cancelled leave; those that wait get what slots there are. */
void queue_admit(struct engine *);
/* Does anybody wait for a slot? */
bool queue_waits(struct engine *);
/* What other threads see. */
void queue_show(struct engine *);
void sequence_free(struct sequence *);
/* Tells the end of a sequence that has a slot, and forgets it. */
void engine_finish(struct engine *, struct sequence *, enum engine_end, const char *why);
/* Takes its slot away: it waits, before all that came later, and goes on with the same text. */
void engine_preempt(struct engine *, struct sequence *);

#endif
