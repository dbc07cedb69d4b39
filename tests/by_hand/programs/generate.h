/* generate.h - random legal programs of the language, as text. */
#ifndef PROGRAMS_GENERATE_H
#define PROGRAMS_GENERATE_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    GEN_ANY,    /* one of all kinds, by chance */
    GEN_MIXED,  /* all that the language has */
    GEN_CHAINS, /* one operator after itself, up to forty times */
    GEN_ODD, /* as mixed ones, with NaN, infinities and denormal numbers among what tensors hold */
    GEN_SHAPES, /* elements that move, over sizes that are products of dims */
    GEN_WIDE,   /* reductions over reshapes of wide rows, odd ones too: asked for by name alone */
    GEN_DIMS,   /* shapes of up to eight dimensions over up to nine dims: by name alone */
    GEN_SCANS   /* scans, most of which have chunks of rows: by name alone */
} gen_kind;
/* The kind of this name, or -1. */
int gen_kind_named(const char *);

/* The program of SEED, the same one ever after. BIG: with integers beyond 2^31 in its indices.
 *
 * A comment behind a declaration says what the tensor holds, for check.h:
 *   #: 16/2     multiples of 1/2 up to 16 in size (of an i32 tensor: #: 16/1)
 *   #: any/24   whole numbers a little outside of 0..24 too
 *   #: order    every number below its size once
 *   #: 16/2 odd the same, with NaN and infinities among them
 *   #: 16/2 rare the same, one in 500 of them, and numbers that are too small
 *   #: tiny     multiples of the smallest number of its type that are less than the smallest normal
 * one
 *   #: near     (states and outputs) results that depend on the order of sums: compared to a bound
 *   #: near spread  the same, but for which of NaN and infinities, and NaN in place of numbers
 * Everything that is not `near` is exact in f32 and in what it is stored as, in any order of sums:
 * results are the same to the last bit wherever they are computed. */
const char *gen_program(et_arena *, uint64_t seed, gen_kind, bool big);

#endif
