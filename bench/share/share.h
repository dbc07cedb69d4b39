/* share.h - models that share a GPU, measured: what the files of etshare have in common. What can
 * fail has printed why and returns false. */
#ifndef BENCH_SHARE_H
#define BENCH_SHARE_H

#include "runtime/cli/cli.h"
#include "runtime/etrt.h"
#include "runtime/etrt/inspect.h"
#include "runtime/etrt/plan/plan.h"

#include <stdbool.h>
#include <stdint.h>

enum { SH_MODELS = 3, SH_POLICIES = 16, SH_LOADS = 8, SH_OUTPUTS = 16 };

/* How models get at the GPU. */
enum sh_kind {
    SH_ONE,   /* one kernel of all models: a launch takes a request of each that has one waiting */
    SH_TURNS, /* a kernel each, one launch after the other, first come first served */
    SH_STREAMS, /* a kernel each, launched side by side as the hardware sees fit */
    SH_PARTS,   /* the same, each on SMs of its own (CUDA's green contexts) */
    SH_STAYS,   /* one kernel of all, which stays; a model alone has all CUs */
    SH_FIXED,   /* the same, each model with its part of the CUs at all times */
    SH_SIDE,    /* a kernel each, which stays, side by side as those of streams are */
    SH_LENT,    /* as streams; a launch has all CUs where no other model has requests */
    SH_PLANS    /* a kernel each, or two, under one residence (etrt_residence_open_each) */
};
/* One kernel is of all models. */
static inline bool sh_is_one(enum sh_kind kind) {
    return kind == SH_ONE || kind == SH_STAYS || kind == SH_FIXED;
}
/* Launches of kernels side by side, on devices of their own. */
static inline bool sh_is_launched_apart(enum sh_kind kind) {
    return kind == SH_STREAMS || kind == SH_LENT || kind == SH_PLANS;
}
extern const char *const sh_kind_name[]; /* ends with NULL */

/* What one model gave under one policy and one way of asking. */
struct sh_answers {
    int64_t n;
    double *seconds; /* from arrival to answer, in the order of arrival */
    double rate;     /* answers a second */
};

/* A run: everybody asks again once answered, or requests come at random. */
struct sh_run {
    struct sh_answers of[SH_MODELS];
    double watts;  /* of the whole GPU; NAN: unknown */
    double mhz;    /* of its SMs, the mean; NAN: unknown */
    double capped; /* part of the time in which its clock was lowered for power; NAN: unknown */
    bool grows;    /* more came than was served: the times mean nothing */
};

struct sh_options {
    const char *device, *markdown, *json;
    cli_list policies; /* NAME=KIND:FILE[@CUS],... */
    cli_list sets, ranges, loads;
    double seconds, wait_limit;
    int64_t seed;
    bool check, quiet;
    double load[SH_LOADS];
    int nloads;
    int gpu; /* number of the NVIDIA GPU that DEVICE names; -1: it is none */
};

/* A model under a policy. */
struct sh_model {
    char name[64]; /* its own, or what the kernel of several calls it */
    int index;     /* among the models of the kernel */
    int place;     /* among those of the policy */
    etrt_model *kernel;
    etrt_session *session;
    etrt_residence *stays; /* its kernel does, or NULL */
    int cus;               /* that its launches take */
    bool beside;           /* the last one was of HALF */
    int64_t halves;        /* so many were */
    struct sh_model *half; /* the same model in a kernel of which a CU holds two, or NULL */
    /* Outputs as the first launch gave them, and as the first one of HALF did. */
    void *output[2][SH_OUTPUTS];
    size_t bytes[2][SH_OUTPUTS];
};

struct sh_policy {
    const char *name;
    enum sh_kind kind;
    char *file[SH_MODELS], *half[SH_MODELS];
    int asked[SH_MODELS]; /* CUs after @; 0: all, or all that is left */
    int nfiles, nmodels;
    char device[128]; /* what it ran on, for people */
    struct sh_model model[SH_MODELS];
    etrt_device *opened[SH_MODELS];
    bool passed_on;                          /* the next policy has what was opened */
    double alone[SH_MODELS];                 /* seconds, without other requests */
    double watts[SH_MODELS], mhz[SH_MODELS]; /* meanwhile */
    struct sh_run closed, open[SH_LOADS];
};

/* "etshare: MESSAGE" on stderr; returns false. */
bool sh_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library's last error; true for ETRT_OK. */
bool sh_ok(const char *what, etrt_status);
/* Memory, or the end of the program. */
void *sh_alloc(size_t bytes);
double sh_now(void); /* seconds of a clock that only goes on */

/* ---- policy.c: models loaded, filled and tried ---- */

/* Parse "NAME=KIND:FILE[@CUS],..." */
bool sh_policy_read(const cli_item *, struct sh_policy *);
void sh_policy_free(struct sh_policy *);
/* Open its devices, load its kernels, give weights and inputs, launch every model once. LAST, or
 * NULL, has been measured: what it opened is taken over where it is the same. */
bool sh_policy_open(const struct sh_options *, struct sh_policy *, struct sh_policy *last);
void sh_policy_close(struct sh_policy *);
/* Are the outputs of a model, which is done, those that it gave first? Keeps them the first time.
 */
bool sh_same_outputs(struct sh_model *);

/* ---- context.c: CUDA contexts for the device that is opened next ---- */

/* Make a context current with at least CUS of the GPU's SMs that no other has that was made since
 * sh_contexts_end; -1: with all that are left. */
bool sh_context_begin(int ordinal, int cus);
void sh_contexts_end(void);

/* ---- energy.c ---- */

/* What the GPU of this number takes and how fast its SMs go until sh_meter_end, as NVML tells: what
 * it does not tell is NAN. */
struct sh_meter;
struct sh_meter *sh_meter_begin(int ordinal);
void sh_meter_end(struct sh_meter *, struct sh_run *out);

/* ---- play.c ---- */

/* The models of MASK ask again as soon as they are answered, for SECONDS. */
bool sh_play_closed(const struct sh_options *, struct sh_policy *, unsigned mask, double seconds,
                    struct sh_run *);
/* Requests of each model come at random (Poisson) at RATE a second, for SECONDS. The first tenth is
 * not counted. The same seed gives every policy the same arrivals. */
bool sh_play_open(const struct sh_options *, struct sh_policy *, double rate, double seconds,
                  struct sh_run *);
void sh_run_free(struct sh_run *);

/* ---- report.c ---- */

/* The value that a share P of sorted answers does not exceed. */
double sh_quantile(const struct sh_answers *, double p);
void sh_print(const struct sh_options *, const struct sh_policy *, int n, FILE *);
/* The same table, or JSON, as a file. */
bool sh_write(const struct sh_options *, const struct sh_policy *, int n, const char *path,
              bool json);

#endif
