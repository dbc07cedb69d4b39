/* stream.h - weights that come ahead of the tasks that read them.
 *
 * Under a static schedule a workgroup knows from the start of a launch which tiles it will run, and
 * tensors that nothing writes may be read at any time. So a wave of its own brings the weights of
 * the tiles to come through a ring of slots in LDS, a chunk of k of a tile's product in each, while
 * the other waves are busy or wait for events: it waits for little but a slot that is free. It
 * brings chunks in the order in which they are multiplied: that of the tiles of all streamed grids
 * in program order, of each tile chunk by chunk.
 *
 * Where a tile's weights are, and whether it has any, may be decided by tensors that tasks of the
 * launch write, as a router's choice of experts is. Then the producer waits for the events that say
 * these are complete (et_grid.awaits). A tile without weights takes one stage all the same, which
 * stays empty: so no consumer is done with a tile before the producer has read what decides. */
#ifndef ET_STREAM_H
#define ET_STREAM_H

#include "ir/program/program.h"

enum {
    ET_RING_MIN_SLOTS = 2,
    ET_RING_MAX_SLOTS = 64,
    ET_RING_MAX_PRODUCERS = 2,
    ET_RING_PIECE = 16 /* bytes */,
    ET_RING_LOT = 8, /* copies of a piece a lane that are waited for together */
    ET_RING_LINE = 128,
    ET_RING_ALIGN = 1024, /* of the first stage: rows of a warpgroup MMA */
    ET_RING_BARRIER = 8,
    ET_ASK_LINE = 256,
    ET_DEEP_ROWS = 8 /* most rows of a task with two chunks in registers (et_grid.deep) */
};

/* Bytes in LDS of what belongs to so many stages: a barrier for full and one for free of each, one
 * for the begin of a model, and a word; and 16 of a lane where a wave prefetches. */
int et_ring_words(int stages, int wave, bool prefetches);

/* What of b[I] comes through the weight stream, a load: b[I] itself, or, where b[I] is computed of
 * weights, the only one of these that has an element for each k, next to each other in memory, as
 * codes have. No expression where there is no such load, or where anything that b[I] reads is no
 * weight. */
et_expr et_stream_load(const et_program *, const et_step *, int i);

/* What several k of a row share beside that load, as the scales of groups: elements next to each
 * other, one for each GROUP of k's, a power of two that divides those that there are; or, with a
 * GROUP of one, a second plane of codes, of fewer bits. They come
 * with the codes that they belong to, where whole groups do; the others are read by who multiplies.
 */
typedef struct {
    et_expr load;
    int group;
} et_auxiliary_load;
enum { ET_MOST_AUXILIARY = 5 };
/* OUT: room for ET_MOST_AUXILIARY. */
int et_stream_auxiliary(const et_program *, const et_step *, int i, et_auxiliary_load *out);

/* Elements of one of these from a row to the next, or -1: that differs. */
int64_t et_stream_apart(const et_program *, const et_step *, et_expr load);

/* Bytes of these that belong to BYTES of the loads that they are beside. */
int64_t et_stream_auxiliary_bytes(const et_program *, const et_step *, int64_t bytes);

/* The CONTRACT step of the function whose operand b can be streamed, or -1: the function has one
 * such step, of whose rows all exist or all of as many sixteens, lie so far apart as numbers say,
 * have a number of k, or either that or none, and in all its products elements of as many bits. */
int et_stream_step(const et_program *, const et_func *);
bool et_stream_is_full(const et_program *, const et_step *); /* do all rows exist in all tiles? */

/* How many k's of a row lie next to each other, where a tensor says for each so many where they are
 * (et_k_part), of weights that are multiplied as they are; 0: all do. */
int64_t et_stream_part(const et_program *, const et_step *);

/* Elements from the first row of et_stream_load to row N, or -1. */
int64_t et_stream_row(const et_program *, const et_step *, int i, int n);
/* Is each of its rows as far from the one before as the second is from the first? */
bool et_stream_is_even(const et_program *, const et_step *, int i);

/* Is GRID streamed, and are its weights such as a router chooses? Short: have their elements four
 * bits or less, too? */
bool et_stream_is_routed(const et_grid *);
bool et_stream_is_short(const et_program *, const et_grid *);

/* Give GRID, whose function has a step that can be streamed, the waits for what decides where its
 * weights are; false, and none, where no event says that one of these tensors is complete. */
bool et_stream_await(et_program *, et_grid *);

/* Why what GRID reads cannot come through the weight stream, or NULL. */
const char *et_stream_problem(const et_program *, const et_grid *);

/* Bytes of weights that the tiles of GRID, which has no such problem, read, each once, where all
 * symbols have their largest values. */
int64_t et_stream_bytes(et_program *, const et_grid *);

#endif
