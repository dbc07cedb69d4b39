/* plan.h - how steps are done on a target: data of the steps, chosen by passes/product, printed and
 * parsed with them, and obeyed by codegen. ir/product says which plans suit a step. */
#ifndef ET_PROGRAM_PLAN_H
#define ET_PROGRAM_PLAN_H

#include <stdbool.h>
#include <stddef.h>

/* ---- of products ---- */

/* How a CONTRACT step is multiplied (ir/product/product.h). The order of every sum follows from it.
 */
typedef enum { ET_ROWS_STAGED, ET_ROWS_AHEAD, ET_ROWS_OWN, ET_ROWS_PIPELINE } et_rows_from;
typedef enum {
    ET_WEIGHTS_DIRECT,
    ET_WEIGHTS_STREAM,
    ET_WEIGHTS_STAGED,
    ET_WEIGHTS_PIPELINE
} et_weights_from;
typedef enum {
    ET_DECODE_PLAIN,
    ET_DECODE_COMPUTED,
    ET_DECODE_PAIRS,
    ET_DECODE_UNSCALED,
    ET_DECODE_F16,
    ET_DECODE_BF16,
    ET_DECODE_FP8
} et_decode_as;
/* What a product asks for before the waits of its tile: its first weights; the same, as a tensor
 * that tasks write says by then, which is looked at again after the waits; the addresses, and the
 * first weights, of a multistage pipeline of both operands. */
typedef enum { ET_EARLY_NONE, ET_EARLY_LOADS, ET_EARLY_GUESS, ET_EARLY_PIPELINE } et_early_as;
/* Which operands of a pipeline are copied as TMA boxes. */
typedef enum { ET_BOXES_NONE, ET_BOXES_WEIGHTS, ET_BOXES_ALL } et_boxes_of;
/* Rows that are staged: when their chunk's turn comes; all in front of the mainloop; the same,
 * where elements wait in registers until the largest is known (F16). */
typedef enum { ET_PROLOGUE_NONE, ET_PROLOGUE_STAGED, ET_PROLOGUE_REGISTERS } et_prologue_as;
typedef struct {
    bool made;
    et_rows_from rows;
    int rows_depth; /* chunks of a that are there or in flight at once */
    et_weights_from weights;
    int depth; /* chunks of b in registers: 1, or 2 that take turns; of a pipeline's operands that
                  all pass through registers, up to 4 */
    et_decode_as decode;
    bool maybe_packed; /* b may turn out to be 2:4, and there is a second plan for it */
    int chunk;         /* k's */
    int lane_k;        /* consecutive k's of a lane in a fragment of b */
    int sets;          /* sums of a product that take turns */
    int row_packed;    /* rows of an operand that a single row's k is dealt to, or 0 */
    bool in_turn;      /* sums take turns by pieces of a lane's k's, as they do with row_packed */
    bool in_steps;     /* a lane has k's of two steps, half each, that are in a row as those of
                          warpgroup MMA */
    int spans, span;   /* of warpgroup MMA: sums, one after the other, of every SPANS-th SPAN k's in
                          a row, which are added up then; or 0 */
    int run;           /* k's that share a scale, of which each of an operand's eight rows has those
                          of one such run of a single row; or 0 */
    et_early_as early;
    int early_chunks; /* of a pipeline's weights, that are asked for before the waits */
    /* Asked into the L2 before the waits: k's of each row of a pipeline's weights, behind those
     * that come early; rows of weights that a is computed of. */
    int prefetch;
    bool prefetch_auxiliary;
    et_boxes_of boxes;
    bool deferred; /* waves' partial sums are added up by the step that reads them */
    int unroll;    /* items of a work-item that are loaded before the first is staged */
    et_prologue_as prologue;
    bool interleaved; /* a wave reads a pipeline's next fragments while it multiplies these */
    bool evict_first; /* weights that are copied to stages are the first to leave the L2 */
    bool reuse;       /* a workgroup's next tile finds the staged rows */
} et_product_plan;
/* The plan of a step; that of a step whose chunks of zeros are left out; that of b read packed. */
typedef enum { ET_PLAN_MAIN, ET_PLAN_ZEROS, ET_PLAN_PACKED, ET_PLANS } et_plan_of;

/* ---- of attention ---- */

/* How an ATTEND step is done (ir/product/attend.h), likewise. One row of queries: products are made
 * by lanes that hold a position together, or by matrix instructions whose columns are heads.
 * Several: by those of a wave, or by warpgroup MMA. */
typedef enum {
    ET_ATTEND_BY_LANES,
    ET_ATTEND_BY_COLUMNS,
    ET_ATTEND_BY_ROWS,
    ET_ATTEND_BY_WARPGROUP
} et_attend_by;
/* Before the waits of its tile: nothing; the integers that say where it reads, such as positions,
 * are loaded; and so they are, and keys and values prefetched into the L2; or it is known which
 * rows share the first keys, and how many. */
typedef enum {
    ET_ATTEND_EARLY_NONE,
    ET_ATTEND_EARLY_INDICES,
    ET_ATTEND_EARLY_PREFETCH,
    ET_ATTEND_EARLY_RUN
} et_attend_early_as;
/* Positions of a block, which a group of lanes, a wave (COLUMNS) or the workgroup (several rows)
 * has at a time; and blocks whose keys and values are there or in flight at once. */
typedef struct {
    int positions, depth;
} et_attend_block;
typedef struct {
    bool made;
    et_attend_by by;
    et_attend_early_as early;
    int heads;  /* LANES, COLUMNS: so many at once, the rest after them */
    int lane_d; /* LANES: elements of a head in a lane */
    int waves;  /* several rows: that share sixteen of them, each with its part of a block */
    et_attend_block block, rest; /* REST: LANES: of the last heads, where they are fewer */
    bool alone; /* several rows: a run of one row is done as one by itself, by COLUMNS */
} et_attend_plan;
/* ---- of maps and reductions ---- */

/* How the iterations of a MAP step are dealt to work-items (ir/product/items.h), likewise. Before
 * the waits of its tile: nothing; a map of weights to local memory is copied; or what it loads is
 * loaded as far as no wait decides it, and the rest behind the waits, before all steps. */
typedef enum { ET_MAP_EARLY_NONE, ET_MAP_EARLY_COPY, ET_MAP_EARLY_LOADS } et_map_early_as;
typedef struct {
    bool made;
    int vector; /* elements of an item, next to each other along the last variable */
    int unroll; /* items of a work-item that are loaded before the first is stored */
    int full; /* the same in tiles whose rows all exist, which have code of their own; 0: they have
                 none */
    et_map_early_as early;
    bool reuse; /* a workgroup's next tile finds what the step leaves in local memory */
} et_map_plan;
/* And of a REDUCE step: the order of every sum follows from it. */
typedef struct {
    bool made;
    int lanes;  /* that share a row: of a wave, or all of several waves */
    int vector; /* elements of a lane, next to each other along the row */
    int unroll; /* such that are loaded before the first is added */
    int rows;   /* that a lane has a part of at once */
    int wide;   /* rows next to each other that a lane has at once, all of each */
    int as;     /* lanes, more than there are, whose parts are summed as they would be; or 0 */
    bool reuse; /* as of a map */
} et_reduce_plan;
/* ---- their text ---- */

typedef enum {
    ET_PLAN_WORD_ROWS,
    ET_PLAN_WORD_WEIGHTS,
    ET_PLAN_WORD_DECODE,
    ET_PLAN_WORD_EARLY,
    ET_PLAN_WORD_BOXES,
    ET_PLAN_WORD_PROLOGUE,
    ET_PLAN_WORD_PLAN,
    ET_PLAN_WORD_ATTEND_BY,
    ET_PLAN_WORD_ATTEND_EARLY,
    ET_PLAN_WORD_MAP_EARLY,
    ET_PLAN_WORD_TILES,
    ET_PLAN_WORDS
} et_plan_words;
/* "staged", for row I of one of these enums; NULL past the last. */
const char *et_plan_word(et_plan_words, int i);
/* What a plan may say beside, in any order: its name and then a number of LEAST to MOST, one of
 * WORDS, or nothing. It is not said where it is UNSAID, the first word or false. */
typedef enum { ET_PLAN_FLAG, ET_PLAN_NUMBER, ET_PLAN_CHOICE } et_plan_option_kind;
typedef enum { ET_OPTIONS_PRODUCT, ET_OPTIONS_MAP, ET_OPTIONS_REDUCE } et_plan_options_of;
typedef struct {
    const char *name;
    et_plan_option_kind kind;
    size_t at; /* in the plan */
    int unsaid, least, most;
    et_plan_words words;
} et_plan_option;
const et_plan_option *et_plan_options(et_plan_options_of, int *out_count);
int et_plan_get(const et_plan_option *, const void *plan);
void et_plan_set(const et_plan_option *, void *plan, int);

#endif
