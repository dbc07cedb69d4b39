/* mixes.h - models that share a GPU, under one policy or another: what the files of etmixes share.
 * Everything here is predicted. */
#ifndef MIXES_H
#define MIXES_H

#include "passes/passes.h"
#include "passes/simulate/simulate.h"

enum { MIX_MODELS = 3, MIX_SETS = 1 << MIX_MODELS };

/* ---- queue.c: requests that arrive at random ---- */

/* How a GPU serves requests; sets of models are bits. */
struct mix_service {
    enum {
        MIX_TURNS,    /* one request at a time, first come, first served */
        MIX_LAUNCHES, /* a launch takes a request of every model that has one waiting, and answers
                         all of them when it ends; the next launch begins then */
        MIX_STREAMS   /* each model serves its own, one after the other, beside the others */
    } kind;
    int nmodels;
    double us[MIX_SETS];                /* TURNS of one model, LAUNCHES: time of the set */
    double speed[MIX_SETS][MIX_MODELS]; /* STREAMS: part of a request of a model that is done in a
                                           microsecond while this set is at work */
};

struct mix_load {
    double rate[MIX_MODELS]; /* requests a microsecond, Poisson */
    int64_t requests;        /* of each model */
    uint64_t seed;
};

struct mix_times {
    double mean[MIX_MODELS], p99[MIX_MODELS]; /* from arrival to answer, us */
    bool grows; /* more come than are served: the times mean nothing */
};

void mix_queue(const struct mix_service *, const struct mix_load *, struct mix_times *out);

/* When N requests come, from 0 on, RATE in a unit of time, Poisson. */
void mix_arrivals(double rate, int64_t n, uint64_t seed, double *out);

/* Speeds from the times at which the models of each set are done when all begin together, by what
 * is known of the smaller sets: until the first is done each goes at the speed of the whole set. */
void mix_speeds(int nmodels, const double done[MIX_SETS][MIX_MODELS],
                double out_speed[MIX_SETS][MIX_MODELS]);

/* Requests a microsecond of each model when everyone has one waiting at all times. */
void mix_capacity(const struct mix_service *, double out[MIX_MODELS]);

/* Jain, Chiu and Hawe 1984: (sum x)^2 / (n sum x^2), 1 when all are equal. */
double mix_fairness(int n, const double *x);

/* ---- eclip.c: the allocation of ECLIP (arXiv 2506.12598), section IV-B ---- */

enum { ECLIP_CONFIGS = 4, ECLIP_SWITCHES = 14 };

struct eclip_worker {
    int kernels;
    const double *us; /* [kernels][ECLIP_CONFIGS]: alone on 1, 2, 3, 4 quarters of the CUs */
    bool may[ECLIP_CONFIGS];
};

struct eclip_plan {
    int *config[MIX_MODELS]; /* [kernels]: quarters - 1; of the arena */
    int switches[MIX_MODELS];
    double share[MIX_MODELS]; /* of all CUs, mean over kernels */
    double alpha;             /* as published: the sum of those shares, the same for every worker */
    double objective;         /* sum over workers of sum over kernels of us * (1 + alpha) */
};

/* The best plan there is: the published program is a product of two sums over workers, whose least
 * value is at a corner of the convex hull of what the sums can be. */
void eclip_solve(et_arena *, int nworkers, const struct eclip_worker *, int most_switches,
                 struct eclip_plan *out);

/* ---- play.c: launches ---- */

struct mix {
    int nmodels;
    const char *text[MIX_MODELS], *file[MIX_MODELS];
    size_t bytes[MIX_MODELS];
    const et_machine *machine;
    int64_t context; /* positions that a token attends to */
};

struct mix_program;
/* PLACEMENT as etcc takes it. NULL after a message. */
struct mix_program *mix_compile(const struct mix *, et_arena *, et_placement);
void mix_program_destroy(struct mix_program *);
const et_program *mix_program_of(const struct mix_program *);
const et_machine *mix_machine(const struct mix_program *); /* that it is played on */
const char *mix_name(const struct mix_program *, int model);
/* Symbols of the launches, as "a.N = 4, b.N = 4". */
void mix_print_dims(const struct mix_program *, FILE *);
/* Set the part of the CUs that a model has. */
void mix_set_share(struct mix_program *, int model, et_share);

/* The CUs of each kernel, by worker: plan and where its quarters are. */
struct mix_masks {
    const struct eclip_plan *plan;
    et_share quarters[MIX_MODELS][ECLIP_CONFIGS];
};

struct mix_how {
    et_sim_mode mode;
    bool keep_parts;
    const struct mix_masks *masks;
    double switch_us;
    int workgroups;            /* 0: one for each CU */
    const et_machine *machine; /* NULL: that of the mix */
};

struct mix_launch {
    et_sim_result r;
    double done[MIX_MODELS]; /* when the model's last tile was */
};

/* A launch of the models of SET. False after a message. */
bool mix_play(struct mix_program *, const struct mix_how *, unsigned set, struct mix_launch *out);

/* What a launch of MODEL asks of the whole chip, as microseconds in which that is all it has: no
 * schedule of several models takes less than the largest sum. False after a message. */
struct mix_needs {
    double memory, matrix, vector;
};
bool mix_needs_of(struct mix_program *, int model, struct mix_needs *out);

/* The kernels of MODEL in the order they run when it is alone. */
int mix_kernels(struct mix_program *, int model);
/* Their times on SHARE of the CUs, a kernel each, into us[k * stride]. */
bool mix_kernel_times(struct mix_program *, int model, et_share, double *us, int stride);

/* ---- split.c: kernels of their own, side by side on fixed parts of the CUs ---- */

enum { MIX_SPLITS = 32 };

/* A table: for each of N splits, in which the first of two models has so many CUs and the second
 * the others, what launches take without and with the other beside them. Kernels have tilings for
 * all CUs and for WIDTH of them (0: none), as by etcc --widths. False after a message. */
bool mix_print_splits(const struct mix *, int width, const int *split, int n);

/* ---- policy.c ---- */

/* One way of sharing the GPU, tried on a mix. */
struct mix_outcome {
    const char *policy;
    struct mix_service service;
    double us;               /* until all models have run once, from an idle GPU */
    double done[MIX_MODELS]; /* each of them */
    double idle;             /* part of all CU time until then not in tiles' bodies */
};

struct mix_parts {
    et_share fixed[MIX_MODELS], searched[MIX_MODELS], greedy[MIX_MODELS], ilp[MIX_MODELS];
    struct eclip_plan eclip;
};

enum { MIX_POLICIES = 11, MIX_SEQUENCE = 5, MIX_ALL = 6 };

/* All policies, in the order of the tables. OUT_ALL: the program with every model on all CUs. False
 * after a message. */
bool mix_try(const struct mix *, et_arena *, struct mix_outcome out[MIX_POLICIES],
             struct mix_parts *out_parts, struct mix_program **out_all);

/* Quarters of the CUs for the kernels of N workers. The paper says which shader engines those of
 * one and of two workers have; what it leaves open of three is the third worker's. */
void mix_quarters(int n, struct mix_masks *out, bool may[MIX_MODELS][ECLIP_CONFIGS]);

#endif
