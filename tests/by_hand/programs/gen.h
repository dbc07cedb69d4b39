/* gen.h - what the two halves of the generator share: what a program has so far, and random
 * expressions of a given shape. */
#ifndef PROGRAMS_GEN_H
#define PROGRAMS_GEN_H

#include "tests/by_hand/programs/generate.h"
#include <stdio.h>

enum { GEN_RANK = 4, GEN_NAMES = 80, GEN_SIZES = 4, GEN_ELEMENTS = 2500 };

/* mul * dim + add; a number where sym is -1. Between lo and hi. */
typedef struct {
    int sym, mul, add;
} gen_dim;

typedef struct {
    int rank;
    gen_dim d[GEN_RANK];
} gen_shape;

/* What is known of the elements of a value: whole (i32), no larger than `max`, multiples of
 * 2^-frac; not `exact`: nothing of the kind, but no larger than `max`. */
typedef struct {
    bool whole, exact;
    double max;
    int frac;
} gen_range;

typedef struct {
    const char *text;
    gen_shape s;
    gen_range r;
} gen_ex;

typedef struct {
    const char *name;
    gen_shape s;
    gen_range r;
    int bits;        /* of its type's significand: 24, 11 (f16), 8 (bf16) */
    bool state;      /* is written by updates */
    bool order;      /* holds every number below its size once */
    bool assignable; /* a plain name */
    int depth;       /* of the loop it was made in */
} gen_name;

typedef struct {
    et_arena *a;
    uint64_t rng;
    bool big, near; /* `near`: the program has inexact functions */
    bool odd;       /* tensors may hold NaN, infinities and numbers below the normal ones */
    gen_name name[GEN_NAMES];
    int nnames;
    int size[GEN_SIZES], nsizes;
    int lo[2], hi[2], nsyms; /* of the dims N and M */
    struct {
        const char *name;
        int lo, hi;
    } loop[3];
    int nloops;
    const gen_name *favourite; /* what expressions should read, or NULL */
    gen_shape codes[2];        /* of weights that are codes, to be declared */
    int ncodes;
    gen_shape carried; /* of the state that scans carry; of rank 0 where there is none */
    bool scanned;      /* one does */
    int made;          /* names so far */
    FILE *to;
} gen;

/* random.c-like draws: [0, n), and true PERCENT times of 100. */
int gen_draw(gen *, int n);
bool gen_chance(gen *, int percent);

const char *gen_fresh(gen *, const char *prefix); /* a name no other has */
void gen_line(gen *, const char *text); /* of the program, before the statement under way */

gen_dim gen_number(int n);
int gen_low(const gen *, gen_dim);
int gen_high(const gen *, gen_dim);
bool gen_same_dim(gen_dim, gen_dim);
bool gen_same_shape(const gen_shape *, const gen_shape *);
double gen_count(const gen *, const gen_shape *); /* elements at most */
const char *gen_dim_text(gen *, gen_dim);
const char *gen_dims_text(gen *, const gen_shape *); /* "[N, 4]" */
gen_dim gen_any_dim(gen *);

/* An expression of this shape: whole numbers or not, EXACT or perhaps not. */
gen_ex gen_value(gen *, const gen_shape *, bool whole, bool exact, int depth);
/* TYPE, or one of 8 bits where a row of so many would end within a byte. */
const char *gen_in_bytes(const char *type, int columns);
/* A product of this shape by a weight that is codes with scales, or such a weight; no text where
 * there is none of it. */
gen_ex gen_coded(gen *, const gen_shape *, bool exact, int depth);
/* E as it must be to be stored where MAX and FRAC are the most: squeezed if need be. */
gen_ex gen_fit(gen *, gen_ex e, double max, int frac);
/* An i32 expression of one dimension of N elements, all different, none of them below 0 and (unless
 * OUTSIDE) all below K. */
const char *gen_distinct(gen *, gen_dim n, int k, bool outside);
/* Every number below K once, or NULL where there is none at hand. */
const char *gen_order(gen *, int k);

/* A name of the program's for a value; NULL where there are too many. */
gen_name *gen_add_name(gen *, const char *name, const gen_shape *, gen_range);
/* The declaration of a state that scans carry, or of none; then a scan, and rows in groups. */
void gen_carried(gen *);
void gen_scan(gen *);
void gen_group(gen *);

/* The whole of a program over sizes that are products of dims. */
void gen_shapes(gen *);
/* The same of tensors of up to eight dimensions, over up to nine dims. */
void gen_dims(gen *);
/* The whole of a program that is one operator many times. */
void gen_chains(gen *);
/* The whole of a program of scans. */
void gen_scans(gen *);
/* The whole of a program over wide rows. */
void gen_wide(gen *);

#endif
