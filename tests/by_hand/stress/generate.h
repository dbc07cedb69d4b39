/* generate.h - random event-tensor programs, as text of stage `evented`.
 *
 * Every task grid writes a tensor of its own from earlier ones: elements of the same tile, of
 * neighbours, floor divisions, ranges, whole axes, and what tensors name at run time (inputs, or
 * made by tasks before). All arithmetic is on integers far below 2^24, so results are exact in any
 * order of sums. Every grid also adds one to an element of a state per task: what ran twice or
 * never shows, launch after launch. */
#ifndef ET_TEST_STRESS_GENERATE_H
#define ET_TEST_STRESS_GENERATE_H

#include <stddef.h>
#include <stdint.h>

enum { GEN_INPUTS = 64 };

/* What an input must hold for the program to be right. */
typedef enum {
    GEN_SALT,   /* anything small */
    GEN_INDEX,  /* anything: the program clamps it */
    GEN_FIRST,  /* ascending from 0 to at most `limit`, one more than it has stretches */
    GEN_EXPERT, /* 0 .. 3: who gets a row */
    GEN_COUNTS, /* where the rows of each of GEN_EXPERT begin, sorted by it */
    GEN_ROWS,   /* the rows, sorted by it */
} gen_holds;

typedef struct {
    char name[16];
    gen_holds holds;
    char limit[32]; /* an expression over N and M */
    int expert;     /* COUNTS, ROWS: the input they come from */
} gen_input;

typedef struct {
    char *text;
    size_t bytes;
    gen_input input[GEN_INPUTS];
    int ninputs;
    int grids, events, waits, routed; /* of the waits, those a tensor decides */
} gen_program;

void gen_make(uint64_t seed, gen_program *out);
void gen_free(gen_program *);

#endif
