/* int.h - what the files of the explanation share: each writes sections of it. */
#ifndef ET_EXPLAIN_INT_H
#define ET_EXPLAIN_INT_H

#include "passes/explain/explain.h"

/* One of the programs that a kernel is made of. */
struct explain {
    et_program *p;
    et_exprs *x;
    et_arena *arena;
    const et_explain_options *opt;
    const et_machine *m;
    const et_finding *found; /* or NULL */
    FILE *to;
    int nsamples; /* values of the dims that differ: the least, the middle, the largest */
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    int first_task;        /* of this program, among those of all */
    int middle;            /* the sample that decisions were made at */
    const char *hints[16]; /* given so far */
    int nhints;
};

/* "12.3 us", "1.23 ms"; "12.3 MB": in the arena. */
const char *explain_us(const struct explain *, double us);
const char *explain_bytes(const struct explain *, double bytes);
/* "N = 3, M = 4", or "any launch" where there are no dims. */
const char *explain_dims(const struct explain *, const int64_t *syms);
/* The group a grid was made of, NULL where it is not known. */
const et_group *explain_group(const struct explain *, const et_grid *);
/* " (line 12)" of the source, or nothing. */
const char *explain_line(const struct explain *, et_loc);
/* The CUs a grid may use. */
double explain_cus(const struct explain *, const et_grid *);

void explain_fusion(struct explain *);    /* fusion.c */
void explain_tiles(struct explain *);     /* tiles.c */
void explain_quantised(struct explain *); /* quantised.c */
void explain_devices(struct explain *);   /* devices.c */
void explain_events(struct explain *);
void explain_place(struct explain *); /* place.c */
void explain_time(struct explain *);  /* time.c */

/* ---- bound.c: what bounds a grid's time ---- */

typedef enum {
    EXPLAIN_MEMORY,
    EXPLAIN_CACHE,
    EXPLAIN_MATRIX,
    EXPLAIN_VECTOR,
    EXPLAIN_LATENCY,
} explain_limit;

struct explain_bound {
    explain_limit limit; /* of a tile, or of all of them: MEMORY */
    double us;           /* of the grid alone */
    double tiles, rounds, cus;
    double memory_bytes;
    bool measured; /* `us` is the profile's */
};

struct explain_bound explain_bound_of(const struct explain *, const et_grid *, const int64_t *syms);
/* What bounds the grid's time, in words, and below it a hint, if there is one. */
void explain_bound_print(struct explain *, const et_grid *, const struct explain_bound *);

#endif
