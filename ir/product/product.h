/* product.h - how a CONTRACT step is multiplied.
 *
 * The plan is what passes/product decides, and data of the step: it is printed, parsed and checked.
 * The mainloop is all that follows from a plan: how the step is cut into chunks of k, units of a
 * chunk, and k's of a lane in a unit; what a wave has of the tile; where operands come from.
 * Codegen emits a mainloop and chooses nothing. Steps of the derivation are functions of their own,
 * so that the search for a plan builds its mainloop by the same ones.
 *
 * Of b a wave owns a group of n rows and a part of every chunk of k. */
#ifndef ET_PRODUCT_PLAN_H
#define ET_PRODUCT_PLAN_H

#include "ir/program/features.h"
#include "ir/program/step.h"
#include "ir/target/target.h"
#include "ir/weights/computed.h"
#include "ir/weights/stream.h"

enum {
    ET_DEEP = 2,           /* chunks of b in registers at once, where there is room for two */
    ET_MAX_FRAGMENTS = 64, /* of b in a lane, for one unit of many accumulators */
    ET_MAX_SUMS = 64,      /* 16 x 16 sums of a wave */
    ET_MAX_ROWS = 8,       /* of sixteen in a lane */
    ET_FEW_ROWS = 4,       /* of a: their chunks are staged several at a time */
    ET_STAGE_UNROLL = 12,  /* items of a work-item loaded before the first is staged, at most */
    ET_ROW_ITEMS = 8,      /* such of a row that wait in registers, at most */
    ET_MAX_AHEAD = 16,     /* pieces of a chunk of a that a work-item copies */
    ET_MOST_AUXILIARY_COPIES = 24, /* of a chunk that a lane makes of auxiliary operands, */
    ET_USUAL_AUXILIARY_COPIES = 8,
    ET_MOST_ALIKE_COPIES = 64, /* and whose sources are alike */
    ET_MAX_RAWS = 56,          /* loads of a row of a product that a computed b is made of, */
    ET_USUAL_RAWS = 24,        /* and where there are few beside each value */
    ET_USUAL_LOADS = 3,
    ET_CHUNK_ITEMS = 8,  /* pieces of a work-item, of a chunk in a multistage pipeline, at most */
    ET_CHUNK_PARTS = 4,  /* of such a chunk */
    ET_BOX_STAGES = 9,   /* of a pipeline whose operands come as TMA boxes */
    ET_MOST_MAPS = 64,   /* tensor maps of a kernel */
    ET_MOST_GUESSED = 4, /* loads that say which weights a tensor chooses */
};

/* What the derivation may look at. */
typedef struct {
    const et_program *p;
    const et_func *f;
    et_exprs *x;
    const et_target *t;
    et_arena *arena;
    const bool *stored; /* et_program_stored, for what comes before waits (early.c); else NULL */
    et_features without;
    bool packed;                    /* weights may turn out to be 2:4, and be read packed then */
    bool alone;                     /* other functions are not looked at */
    const struct et_orders *orders; /* of all variants (order.h); NULL: each has its own */
} et_product_cx;
et_product_cx et_product_context(const et_program *, const et_func *, const et_target *,
                                 et_arena *);

/* Auxiliary operands: what several k's of quantised values share, as scales, in a stage of the
 * weight stream behind the values. */
typedef struct {
    et_expr load;
    int group;  /* k's that share an element */
    int bytes;  /* of a row of a chunk, */
    int piece;  /* that one copy brings so many of */
    int pieces; /* of a row, */
    int pitch;  /* and bytes from one to the next in a stage */
    int copies; /* a lane makes for a chunk */
    int64_t on; /* bytes from the source of one to that of the next; 0: that differs */
    int at;     /* in a stage, the first row's */
    bool wide;  /* no piece may begin where a row does: a row has the pieces around it */
} et_auxiliary;
typedef struct {
    et_auxiliary of[ET_MAX_ACC][ET_MOST_AUXILIARY];
    int count[ET_MAX_ACC];
    int sources; /* of all, that a lane keeps */
} et_auxiliaries;

/* A b that is computed: what a load brings of a row, elements for the lane's k's of unit U, or one
 * for all of them. */
typedef enum { /* which of a turn's runs, of which the lane has two columns, have what is loaded */
               ET_COLUMNS_NONE,
               ET_COLUMNS_ALL,   /* all the same */
               ET_COLUMNS_BOTH,  /* two elements for the two */
               ET_COLUMNS_FIRST, /* one of them */
               ET_COLUMNS_SECOND
} et_columns;
typedef struct {
    et_expr load; /* as it stands in b */
    et_expr node; /* at the first of its k's */
    int u, n, align;
    bool ring;                /* comes through the weight stream, */
    const et_auxiliary *side; /* beside that; or NULL */
    et_columns columns;       /* of runs */
    int first, each; /* elements of so many groups of k's of a wave's part, with bf16; or 0 */
} et_raw;
typedef struct {
    /* Variables: k = chunk * chunk_k + part * chunk_k / wk + u * unit_k + group * lane_k + j. */
    int chunk, part, group;
    int column; /* of runs: the lane's first column */
    int nraws;  /* of a row of all products */
    et_raw raw[ET_MAX_ACC][ET_MAX_RAWS];
    int count[ET_MAX_ACC];
    et_expr streamed[ET_MAX_ACC]; /* the load that comes through the weight stream */
} et_computed;

typedef struct et_mainloop {
    et_product_plan plan;
    const et_step *s; /* with fp8 x fp8 products one of the mainloop's own */
    const et_fragment *fr;
    int rows_n, rows_m;          /* of sixteen that a lane holds */
    bool streamed;               /* b comes through the weight stream */
    bool direct;                 /* b goes from memory to registers */
    const et_computed *computed; /* and is computed there of what was loaded; or NULL */
    const et_auxiliaries
        *auxiliary; /* some of which comes through the weight stream beside b; or NULL */
    int stages;     /* chunks in the step's own multistage pipeline of a and b; or 0 */
    et_warpgroup_rows warpgroup; /* warpgroup MMA: whose rows are the waves' */
    const et_layout *sums;       /* how they are dealt to lanes */
    bool late;                   /* each fragment is decoded when its turn comes, not all at once */
    bool fp8;                    /* both operands are values of e4m3 */
    int size;                    /* bytes of an operand element */
    int bits;                    /* of an element of b where it comes from */
    bool unscaled;               /* quantised values are multiplied without their scale, */
    bool f16;                    /* and so is the row, as f16; */
    bool bf16;                   /* or as bf16, by several rows */
    bool row_scaled;             /* which is scaled by a power of two to fit f16 */
    int pair_gap;         /* a's k's are staged in pairs of such that are so far apart, or 0 */
    int lane_k;           /* consecutive k in one fragment of a lane */
    int piece;            /* of which one load brings so many */
    int unit_k;           /* k covered by one fragment of all lanes */
    int results;          /* elements of a sum in one lane */
    int sets;             /* of such, a power of two, which are added up at the end */
    int row_packed;       /* a single row's k is dealt to so many rows of an operand; or 0 */
    bool in_turn;         /* sets take turns by pieces of 16 bytes of a lane's k's */
    bool in_steps;        /* lane_k is half of each of two steps of warpgroup MMA */
    int spans, span;      /* sums that k is added up in, each of every SPANS-th SPAN; or 0 */
    int run;              /* k's that share a scale, a row of the operand each; or 0 */
    float times;          /* what sums are to be multiplied by */
    int products;         /* that a wave has sums of: all, or one */
    bool side_by_side;    /* one, which is all of them (et_step_side_by_side) */
    int nsub, msub;       /* 16-row pieces of this wave's n, of m */
    int next_m, next_n;   /* rows from one of the latter, and of the former, to the next */
    int bands;            /* sub-tiles of the epilogue, one after the other */
    int kc, units;        /* k per chunk, and units in a wave's part of it */
    int stage_k;          /* k of a stage, of several chunks, where only b comes in them; or 0 */
    int pitch_a;          /* between staged rows of a */
    int64_t k, chunks;    /* extent and chunks, -1 when known at run time only */
    int64_t part;         /* k's of a streamed row that lie next to each other; 0: all do */
    bool tail;            /* the last chunk is not full */
    int nload;            /* fragments of b in one chunk, or registers they are made of */
    et_expr extent, cond; /* k, where cond holds if there is one; elsewhere sums are zero */
    int room;             /* log2 of how many times 16 rows of a chunk the buffer for a holds */
    int rows_ahead;       /* chunks of a that are there or in flight at once; 0: none */
    int rows_own;         /* chunks whose rows of a are in registers or in flight; 0: LDS */
    bool packed;          /* b is read packed */
    bool maybe_packed;    /* b may be, as it turns out: sums are where those would be */
    bool zeros;           /* chunks whose weights are zero are left out */
    bool deep;            /* two chunks of b in registers */
    int held; /* chunks of a pipeline's operands in registers, through which all pass; or 0 */
} et_mainloop;

/* ---- mainloop.c ---- */
/* The mainloop of a step by a plan of its own, in the context's arena; false, and *OUT_WHY says why
 * not, where the plan does not suit the step, the target or its registers (plan.c). */
bool et_mainloop_of(const et_product_cx *, const et_step *, et_plan_of, et_mainloop *out,
                    const char **out_why);

/* The same step by step. What is known before k is cut: false where S has no such product. */
typedef struct {
    bool streamed, packed, maybe_packed, fp8;
} et_mainloop_kind;
bool et_mainloop_begin(const et_product_cx *, const et_step *, et_mainloop_kind, et_mainloop *out);
void et_mainloop_lane_k(et_mainloop *, int lane_k);
/* A b that lies in memory as it is multiplied, in chunks of so many UNITS. */
void et_mainloop_cut(const et_product_cx *, et_mainloop *, int units);
/* A b that is computed in registers; false where some load is no lane's, or there are too many. */
bool et_mainloop_compute(const et_product_cx *, et_mainloop *, int units);
/* When k is cut: chunks there are. */
void et_mainloop_count(et_mainloop *);
/* Rows of the buffer for a, small-M fragments with at most SETS sums in turn; SETS 0: as many as
 * registers have room for. IN_TURN: by pieces, which other fragments may, too. */
void et_mainloop_rows(const et_product_cx *, et_mainloop *);
int et_log2_up(int64_t n); /* of at least 1, rounded up */
/* Rows of one chunk that the buffer for a holds at most. */
int64_t et_mainloop_held_rows(const et_product_cx *, const et_mainloop *);
void et_mainloop_few(const et_product_cx *, et_mainloop *, int sets, bool in_turn);

/* What may be, of a mainloop so far. */
bool et_mainloop_may_be_deep(const et_product_cx *, const et_mainloop *);
bool et_mainloop_may_deepen(const et_product_cx *, const et_mainloop *); /* of a streamed b */
bool et_mainloop_may_zeros(const et_product_cx *, const et_mainloop *);
bool et_mainloop_may_pack(const et_product_cx *, const et_mainloop *);
bool et_mainloop_fits_packed(const et_product_cx *, const et_mainloop *);
/* Are sums of a packed b in the same places as those of the same b as it is? */
bool et_mainloop_pairs_with(const et_mainloop *, const et_mainloop *packed);

/* Can a lane have the k's of the steps of a warpgroup MMA? Can that have sums of such SPANS? */
bool et_mainloop_may_step(const et_product_cx *, const et_mainloop *);
bool et_mainloop_may_span(const et_mainloop *, int spans, int span);

int et_mainloop_sums(const et_mainloop *); /* 16 x 16, of a wave */
/* Elements from one row to the next of the buffer for a as it is declared; and those of them that
 * are between rows of a chunk. */
int et_mainloop_pitch(const et_product_cx *, const et_mainloop *);
int et_mainloop_pad(const et_product_cx *, const et_mainloop *);
int64_t et_most_rows(const et_product_cx *, const et_step *); /* of a that a tile may have */
const char *et_mainloop_problem(const et_product_cx *, const et_mainloop *);
/* Waves' parts of a sum are added up by the map that reads them, and by no step of their own. */
bool et_sums_as_read(const et_product_cx *, const et_step *);

/* ---- rows.c: where a's rows come from ---- */
bool et_rows_may_copy_ahead(const et_product_cx *,
                            const et_mainloop *);              /* copied before their turn */
int et_rows_items(const et_product_cx *, const et_mainloop *); /* pieces of a work-item then */
int et_rows_most_ahead(const et_product_cx *, const et_mainloop *);
/* Straight to the registers of the one wave that multiplies their k. */
bool et_rows_may_own(const et_product_cx *, const et_mainloop *);
int et_rows_own_units(const et_mainloop *, int64_t all, int most);
int et_rows_own_depth(const et_product_cx *, const et_mainloop *);
bool et_rows_chunks_have(const et_product_cx *, const et_mainloop *);
/* How much of staging in front of the mainloop may be: the chunks of all rows at once, however many
 * rows there are. */
et_prologue_as et_rows_prologue(const et_product_cx *, const et_mainloop *);
int et_rows_most_packed(const et_product_cx *, const et_mainloop *); /* 0: a row's k is not dealt */
int et_rows_packed_pieces(const et_mainloop *);
int et_rows_units_at_once(const et_product_cx *, const et_mainloop *);

/* ---- boxes.c: a pipeline's operands as TMA boxes ---- */
/* An operand as a matrix, of which the tile has a box that begins at element COLUMN of ROW. */
typedef struct {
    int tensor;
    et_tensor_map map;
    et_expr row, column;
} et_box;
int et_pipeline_row_bytes(const et_mainloop *); /* of a row in a part of a stage */
/* Operand E with ROWS values of VAR as such; false where it is none. */
bool et_box_of(const et_product_cx *, const et_mainloop *, et_expr e, int var, int rows,
               et_box *out);
et_boxes_of et_boxes_may(const et_product_cx *, const et_mainloop *); /* the most that may be, and
 that the kernel has room for barriers of */
/* Tensor maps of a kernel, for the boxes of its products: of the part of the program that is looked
 * at from FIRST on. */
typedef struct {
    struct {
        int tensor;
        et_tensor_map map;
    } of[ET_MOST_MAPS];
    int n, first;
} et_box_maps;
/* The map's number, which may be new; -1 where there is no room. */
int et_boxes_map(et_box_maps *, int tensor, const et_tensor_map *);
/* Is there room for those of the mainloop's plan? Then they are there. */
bool et_boxes_add(const et_product_cx *, const et_mainloop *, et_box_maps *);
int et_boxes_first(const et_mainloop *); /* of the operands a, b[0], b[1] ...: those from here on */

/* ---- early.c: before the tile's waits ---- */
typedef struct {
    et_expr load[ET_MOST_GUESSED]; /* of tensors that tasks write */
    int n;
} et_guess;
/* What says which weights the first are; false where that cannot be guessed. */
bool et_early_guess(const et_product_cx *, const et_mainloop *, et_guess *out);
/* Most chunks of both operands in registers, a power of two, where all pass through these on their
 * way to a stage; 0: not all do, or the number of chunks is not known. */
int et_pipeline_most_held(const et_product_cx *, const et_mainloop *);
/* May a wave read the next fragments of such a pipeline while it multiplies these? */
bool et_pipeline_may_interleave(const et_product_cx *, const et_mainloop *);
/* May b[I] be the first to leave the L2? Through the weight stream; and in a pipeline, where all
 * tiles that read it run at the same time: not experts' weights, whose tiles are at other chunks of
 * them. */
bool et_weights_may_evict(const et_product_cx *, const et_mainloop *, int i);
/* Chunks in flight while one is multiplied. */
int et_pipeline_in_flight(const et_mainloop *);
/* The most that the first product of a tile of GRID may ask for before the waits, with a pipeline
 * so many chunks of weights. */
et_early_as et_early_may(const et_product_cx *, const et_grid *, const et_mainloop *,
                         int *out_chunks);

/* Asked into the L2 before the waits, by lines of ET_LINE bytes. */
enum { ET_LINE = 128 };
/* Lines of each row of a plan's pipeline that need not be, since they come early. */
int64_t et_prefetch_from(const et_step *, const et_product_plan *);
/* May b[I] be; is LOAD, in a, a row of a weight along k that is the same for all of the tile? */
bool et_prefetch_may(const et_product_cx *, const et_step *, int i);
bool et_prefetch_row(const et_product_cx *, const et_step *, et_expr load);
/* K's of each row that may be by this plan, at most; is there a row for `prefetch_auxiliary`? */
int et_prefetch_most(const et_product_cx *, const et_step *, const et_product_plan *);
bool et_prefetch_has_auxiliary(const et_product_cx *, const et_step *);
bool et_prefetch_suits(const et_product_cx *, const et_step *, const et_product_plan *);

/* ---- reuse.c: what a workgroup's next tile of a grid finds in local memory ---- */
typedef struct et_reuse et_reuse;
const et_reuse *et_reuse_of(const et_product_cx *); /* of the context's function; in its arena */
bool et_reuse_may_step(const et_reuse *, const et_step *);     /* what a map or reduction stores */
bool et_reuse_may_rows(const et_reuse *, const et_mainloop *); /* staged rows */

/* ---- stream.c: b through the weight stream ---- */
bool et_stream_fits(const et_product_cx *, const et_mainloop *);
bool et_stream_suits(const et_product_cx *, const et_mainloop *);
bool et_stream_alike(const et_product_cx *, const et_mainloop *, int per);
/* May k end within the last chunk of KC? Where some waves' parts of that are past the end, whole,
 * these multiply nothing, and stages have nothing of them. */
bool et_stream_may_end(const et_mainloop *, int kc);
int et_stream_row_bytes(const et_mainloop *);    /* of a row of a stage */
int et_stream_stage_bytes(const et_mainloop *);  /* of a stage, that a chunk of b takes */
int et_stream_packed_bytes(const et_mainloop *); /* of sixteen packed rows of a chunk */
int et_stream_packed_units(const et_mainloop *, int bytes);
/* A row of so many PIECES is copied in runs, a piece a lane: as many times as all lanes have one,
 * then powers of two, the largest first, each of as many rows at once as there are lanes for. */
typedef struct {
    int first, lanes, times; /* of its pieces in a row */
} et_stream_run;
enum { ET_MOST_RUNS = 5 };
int et_stream_runs(const et_product_cx *, int pieces, et_stream_run *); /* 0: too many */
int et_stream_rows_at_once(const et_product_cx *, int pieces);          /* of the shortest run */
const et_auxiliary *et_mainloop_auxiliary(const et_mainloop *, int i, et_expr load); /* or NULL */
const et_auxiliaries *et_auxiliaries_plan(const et_product_cx *, const et_mainloop *, int bytes);

/* ---- decode.c: what b is computed of ---- */
et_expr et_computed_k(const et_product_cx *, const et_mainloop *, int u);
/* E at unit U, where it is the same for all of its k's; else none. */
et_expr et_computed_of_unit(const et_product_cx *, const et_mainloop *, et_expr e, int u);
/* ---- runs.c: columns of an operand for k's that share a scale ---- */
/* K's that share a scale, where those of a unit of C do not, and each column of a single row's
 * operand can have those of one run; 0: no. */
int et_runs_of(const et_product_cx *, const et_mainloop *);
int et_runs_units(const et_mainloop *); /* units whose runs have a column each: a turn */
int et_runs_here(const et_mainloop *,
                 int turn); /* runs that there are in one, of a wave's part of a chunk */
/* The k of the lane's column number V, of two, in a turn. */
et_expr et_runs_k(const et_product_cx *, const et_mainloop *, int turn, int v);
/* The same as loads for product I; false where some operand does not come through the stream. */
bool et_runs_raws(const et_product_cx *, const et_mainloop *, et_computed *, int i,
                  const et_loads *);

/* ---- bare.c: values as bf16 without their scale, by several rows ---- */
/* May C be multiplied so, if chunks and loads turn out to suit that? Is it, with these? Then it is;
 * false, and nothing changes, where it cannot be. */
bool et_bare_may(const et_product_cx *, const et_mainloop *);
bool et_decode_bf16(const et_product_cx *, et_mainloop *);
int et_bare_parts(const et_mainloop *); /* of a unit, whose k's share scales */
et_expr et_bare_k(const et_product_cx *, const et_mainloop *, int u, int part); /* the first k */
/* What comes beside product I's values, as loads; false where some does not, or groups of k's do
 * not divide a wave's part. */
bool et_bare_raws(const et_product_cx *, const et_mainloop *, et_computed *, int i,
                  const et_loads *);

struct et_scaled;
/* Is B[I] quantised values times a scale that is the same for a lane's k's? */
bool et_decode_scaled(const et_product_cx *, const et_mainloop *, int i, struct et_scaled *out);
et_dtype et_decode_type(const et_product_cx *, const et_mainloop *, int i); /* of those */
int et_decode_pairs(const et_product_cx *, const et_mainloop *); /* how far apart; 0: none */
float et_decode_pairs_times(void);
/* Do a unit's k's share what values are multiplied by and increased by, in all products? */
bool et_decode_shares(const et_product_cx *, const et_mainloop *);
/* The mainloop is one without scales, with operands that are the product's, or with both as f16;
 * false, and nothing changes, where it cannot be. */
bool et_decode_unscaled(const et_product_cx *, et_mainloop *);
bool et_decode_f16(const et_product_cx *, et_mainloop *);
int et_decode_kept(const et_product_cx *); /* bytes behind the row that f16 needs */
/* The same of C, with runs: then zeros follow, and then what is to be added for each run. */
int et_decode_kept_of(const et_product_cx *, const et_mainloop *);
int et_decode_zeros(const et_product_cx *, const et_mainloop *); /* bytes of zeros */
int et_decode_each(const et_product_cx *,
                   const et_mainloop *); /* numbers of a run: 2 with minima */
/* Are codes times a scale of bf16, as packed pairs have them? */
bool et_decode_exact(const et_product_cx *, const et_mainloop *);
/* Are values of 4 bits paired with such as are 4 k's on, as f16 and bf16? */
bool et_decode_apart(const et_product_cx *, const et_mainloop *);
int64_t et_decode_more(const et_product_cx *, const et_mainloop *); /* what is added to codes */

/* The fragment of f32 whose product with ones turns scales of b's rows into those of sums; NULL. */
const et_fragment *et_decode_transposing(const et_product_cx *, const et_mainloop *);
bool et_decode_is_wide(const et_product_cx *, const et_mainloop *, et_expr e);
/* S as a product of e4m3 by e4m3, in the arena; NULL where it is none, or the target has none. */
const et_step *et_decode_fp8(const et_product_cx *, const et_step *);

/* ---- access.c: elements of one load ---- */
int et_access_align(const et_program *, const et_func *, int space, int id, const et_expr *index,
                    int var, et_expr base, int n);
bool et_access_grows(et_exprs *, et_expr off, int var, int64_t times, et_expr at0);
/* Is E of S's operand type in a tensor, LANE_K's k's at a time aligned and side by side? */
bool et_access_direct(const et_program *, const et_func *, const et_step *, et_expr e, int lane_k);
/* Of E, an operand of a pipeline: bytes that a piece of 16 is aligned to, and is copied by, past
 * the registers where fewer than 16; 0: it is loaded. */
int et_access_grain(const et_product_cx *, const et_mainloop *, et_expr e);
/* Are elements of E for neighbouring values of ROW adjacent in memory, and none for those of K? */
bool et_access_across(const et_program *, const et_func *, et_expr e, int row, int k);

#endif
