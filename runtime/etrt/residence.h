/* residence.h - a kernel that stays, as the host sees it: for residence.c and residence_calls.c. */
#ifndef ETRT_RESIDENCE_H
#define ETRT_RESIDENCE_H

#include "runtime/etrt/internal.h"
#include "runtime/etrt/plan/plan.h"

/* A model of the kernel. */
struct seat {
    enum seat_state { FREE, HELD, POSTED, ENDED } state;
    struct etrt_part on;  /* POSTED: ranks that run the step */
    int kernel;           /* that the step needs, of those that the file has for different dims */
    double posted, ended; /* when the last step was */
    double began;         /* when it was written to the mailbox, or launched */
    double mean;          /* seconds from the first to the second, of late */
    int home;             /* the unit of the workgroup that reads the mailbox */
    int from, units;      /* in the plan of PLANNED, of those models */
    int parts;            /* of ETRT_PACE_UNITS that the step is on; 0: not a plan's */
    struct etrt_pace pace;
    uint32_t cleared; /* the step before which tags were zeroed last */
    bool looked;
    /* Of a model with kernels of its own, else NULL; what is known of steps of the second beside
     * others; is the step of that, and how many were. */
    etrt_session *each, *beside;
    struct etrt_pace half;
    bool suited; /* the second one is for the dims of the step that it has, or had last */
    bool halved;
    int64_t halves;
    etrt_status status; /* ENDED */
    char why[2048];     /* if that is no success */
};

struct etrt_residence {
    etrt_session *s;
    int models;
    etrt_ranges ranges;
    struct seat seat[ETRT_MAX_MODELS];
    struct etrt_part home[ETRT_MAX_MODELS]; /* ranks, the first of which reads the mailbox */
    uint32_t all;                           /* workgroups */
    int units;                              /* of these, that plans divide */
    uint32_t planned;                       /* the models of the plan that is in force, as bits */
    bool turns;                             /* it is one after the other, each on all */
    double changes;                         /* of plans a second, at most */
    double change_at;                       /* the next change is not before that */
    pthread_mutex_t lock; /* of all of this, and what a launch changes in the session */
    bool launched;        /* there is a kernel */
    bool resting;         /* it has been told to end */
    bool cleared;
    uint32_t looks; /* at what it writes */
    int64_t steps;  /* by kernels of models' own, while others had some */
    int kernel;     /* which */
    /* The thread behind the descriptor, or none: fd is -1. */
    int fd;
    pthread_t thread;
    pthread_cond_t changed;
    bool quit;
};

/* residence_calls.c: its model's step begins, or is waited for, with the lock held or without. */
etrt_status etrt_step_post(struct etrt_residence *, const char *call, int model);
etrt_status etrt_step_done(struct etrt_residence *, const char *call, int model, double seconds);

/* each.c: models with kernels of their own. Is the session one of them, whose launches are steps?
 * They begin, are waited for, and end before their time. */
static inline bool etrt_each_has(const etrt_session *s) {
    return s && s->residence && s->residence->seat[0].each;
}
etrt_status etrt_each_submit(etrt_session *, const char *call);
etrt_status etrt_each_wait(etrt_session *, double seconds);
etrt_status etrt_each_cancel(etrt_session *);
/* The model of a session; and with the lock held: steps that have ended; one that waits begins, if
 * it may. */
bool etrt_each_suits(const struct seat *); /* is its second kernel for the dims that are set? */
int etrt_each_model(const struct etrt_residence *, const etrt_session *);
void etrt_each_look(struct etrt_residence *);
void etrt_each_post(struct etrt_residence *, int model, double now);
void etrt_each_close(struct etrt_residence *);

/* With the lock held. */
void etrt_make_homes(struct etrt_residence *);
void etrt_seat_begin(struct seat *, const struct etrt_manifest *, int model);
/* Has it a step, or one so soon that nobody else is given what it leaves? */
bool etrt_seat_busy(const struct seat *, double now);
/* Ranks for a step of MODEL, by the plan for who is busy. */
struct etrt_part etrt_choose_ranks(struct etrt_residence *, int model, double now);
void etrt_step_end(struct etrt_residence *, int model, etrt_status);
int etrt_kernel_now(const etrt_session *); /* the number of the kernel for the dims that are set */
/* What has happened since, and what follows from that. THOROUGH: the kernel is looked at, too. */
void etrt_residence_tend(struct etrt_residence *, bool thorough);
/* The kernel ends when the steps that it has are over. */
void etrt_residence_quiet(struct etrt_residence *);

#endif
