/* residence.h - a kernel that stays, as the host sees it: for residence.c and residence_calls.c. */
#ifndef ETRT_RESIDENCE_H
#define ETRT_RESIDENCE_H

#include "runtime/etrt/internal.h"

/* A model of the kernel. */
struct seat {
    enum seat_state { FREE, HELD, POSTED, ENDED } state;
    struct etrt_part on;  /* POSTED: ranks that run the step */
    int kernel;           /* that the step needs, of those that the file has for different dims */
    double posted, ended; /* when the last step was */
    double mean;          /* seconds from one to the other, of late */
    uint32_t cleared;     /* the step before which tags were zeroed last */
    bool looked;
    etrt_status status; /* ENDED */
    char why[2048];     /* if that is no success */
};

struct etrt_residence {
    etrt_session *s;
    int models;
    etrt_ranges ranges;
    struct seat seat[ETRT_MAX_MODELS];
    struct etrt_part home[ETRT_MAX_MODELS]; /* ranks while others have steps */
    pthread_mutex_t lock; /* of all of this, and what a launch changes in the session */
    bool launched;        /* there is a kernel */
    bool resting;         /* it has been told to end */
    bool cleared;
    uint32_t looks; /* at what it writes */
    int kernel;     /* which */
    /* The thread behind the descriptor, or none: fd is -1. */
    int fd;
    pthread_t thread;
    pthread_cond_t changed;
    bool quit;
};

/* With the lock held. */
void etrt_make_homes(struct etrt_residence *);
int etrt_kernel_now(const etrt_session *); /* the number of the kernel for the dims that are set */
/* What has happened since, and what follows from that. THOROUGH: the kernel is looked at, too. */
void etrt_residence_tend(struct etrt_residence *, bool thorough);
/* The kernel ends when the steps that it has are over. */
void etrt_residence_quiet(struct etrt_residence *);

#endif
