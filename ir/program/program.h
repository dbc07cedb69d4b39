/* program.h - the event-tensor IR: what the passes turn a graph into and codegen turns into a
 * kernel.
 *
 * A program is a tree of loops over task grids. A task grid runs a device function once per tile
 * coordinate. A device function is a short list of steps over buffers local to the workgroup; its
 * tensor accesses are index expressions, from which footprints, events and costs are computed.
 * Tasks of different grids are ordered by nothing but events. */
#ifndef ET_PROGRAM_H
#define ET_PROGRAM_H

#include "ir/graph/attention.h"
#include "ir/graph/scan.h"
#include "ir/program/modes.h"
#include "ir/program/plan.h"

/* Most tasks of a program, counted for each variant separately: the verifier compares every two
 * that touch the same memory. */
enum { ET_MAX_TASKS = 4096 };

/* ---- tensors ---- */

typedef enum {
    ET_TENSOR_INPUT,
    ET_TENSOR_OUTPUT,
    ET_TENSOR_WEIGHT, /* immutable for the life of the kernel */
    ET_TENSOR_STATE,
    ET_TENSOR_CONST, /* immutable, part of the code object */
    ET_TENSOR_TEMP,  /* in the workspace */
} et_tensor_kind;

/* A weight that is relaid out when it is loaded: memory has the dimensions of the checkpoint's
 * tensor in the order order[0], order[1], ... Dimensions of loops come first in both orders. Each
 * dimension of the weight's shape is one of them, or several merged. */
typedef struct {
    int rank;
    et_expr dim[ET_MAX_RANK]; /* of the loops, then of the checkpoint's tensor */
    unsigned char order[ET_MAX_RANK];
} et_relaid;

typedef struct {
    et_tensor_kind kind;
    const char *name;
    et_shape shape;          /* row-major, contiguous, strides from the dimensions of this launch */
    const et_relaid *relaid; /* WEIGHT: how it is relaid out; NULL: memory is as the checkpoint */
    et_value value;          /* what it holds, or none */
    const void *data;        /* CONST: f32 or i32 elements */
    int64_t offset;          /* TEMP: bytes from the workspace's start, a multiple of 256 */
    int64_t max_bytes;       /* at the upper bounds of the symbols */
    const char *source;      /* WEIGHT: as in et_val */
    int nloops;
    int loops[ET_MAX_LOOPS];
    int carried;       /* TEMP: 1 + the loop that carries it from iteration to iteration, or 0 */
    et_device_cut cut; /* WEIGHT, STATE, OUTPUT */
    int host;          /* WEIGHT: it lies in host memory, in entries that so many leading dimensions
                          number (host.h); 0: on the device */
    int partial;       /* TEMP: partial over so many devices; a load is the sum of what all of them
                          stored (tags.h); 0: it is not */
    bool flagged; /* TEMP, partial: elements alone; events whose scope is the system say that what
                     every device stored has come (tags.h) */
    int dealt;    /* FLAGGED: 1 + the dimension whose rows are dealt (deal.h): an element is stored
                     to the device that has its row alone, and read there; 0: on all */
    int own;      /* PARTIAL: 1 + a dimension with an index for each device: the device of that
                     number alone stores such elements, and a load is of what it stored (tags.h);
                     0: every device stores all of them */
    bool shared;  /* TEMP: tasks that are dealt store it to all devices; whatever reads it waits for
                     an event of the system (deal.h) */
    /* TEMP, of a grouping of rows, which has a NUMBER from 1 on: with a PAD the group that each
     * block of so many places belongs to, negative for none; without, the place of each row, which
     * is in a block that has an owner, or negative. */
    struct {
        int number, pad;
    } grouping;
    bool tagged; /* TEMP: it holds flag-in-data words, an element and a tag each (tags.h); max_bytes
                    has room for both */
} et_tensor;

/* An element of a tensor or of a local buffer. */
typedef struct {
    int space; /* ET_LOAD_TENSOR or ET_LOAD_LOCAL */
    int id;
    int rank;
    et_expr index[ET_MAX_RANK];
} et_place;

/* ---- groups: the fused stage ---- */

#define ET_MAX_ACC 4
#define ET_MAX_VARS 8

/* A matrix product inside a group: element [batch..., m, n] is the sum over k of a(batch, m, k) *
 * b(batch, n, k), both rounded to `operand`, summed in f32. A CONTRACT leaf of the group's value
 * names it by its index. Products of a group with equal dimensions share variables, so equal left
 * operands are equal expressions. */
typedef struct {
    const char *name;
    int nbatch;
    int batch[ET_MAX_RANK]; /* variables */
    int m, n, k;            /* variables; their extents are the product's dimensions */
    et_dtype operand;
    et_expr a, b;
    et_value value, left; /* of the graph: the product and its left operand; none when parsed */
} et_product;

/* The tensors that the rows of a product come from (passes/tile/rows.c). */
enum { ET_ROWS_TENSORS = 16 };
typedef struct {
    et_expr a, b;                   /* its operands when they were looked at */
    bool routed;                    /* a tensor decides which of B's elements are multiplied */
    int n, tensor[ET_ROWS_TENSORS]; /* in ascending order; more are only counted */
} et_rows;

/* How a task should be given to workgroups where the schedule is hybrid. */
typedef enum { ET_HINT_NONE, ET_HINT_STATIC, ET_HINT_DYNAMIC } et_hint;
const char *et_hint_name(et_hint); /* "static", "dynamic" */

/* Work divided among dies: index i of `extent` along `coord` (an axis of a group, a tile coordinate
 * of a grid) is in slice i * count / extent, and a slice runs on one die. Equal slices of different
 * grids of a model are on the same die, whatever their counts; with fewer dies than slices a die
 * has several. */
typedef struct {
    int coord;
    int count; /* 0: not sliced */
} et_slice;
static inline int64_t et_slice_of(int64_t index, int64_t extent, int count) {
    return index * count / extent;
}

/* Each device runs the tiles of its own rows (deal.h). */
typedef struct {
    int rows;  /* of a tile; 0: all devices run all tiles */
    int coord; /* a tile coordinate of a grid: tile i has rows from i * ROWS on; -1: there is one */
} et_grid_deal;

/* Everything computed per element of one tensor; a future task grid. */
typedef struct {
    enum { ET_GROUP_STORE, ET_GROUP_ATTEND, ET_GROUP_SCAN } kind;
    const char *name;
    et_loc loc;
    int loop; /* innermost loop or -1 */
    int rank;
    int axis[ET_MAX_RANK]; /* variables over the elements computed */
    int tile[ET_MAX_RANK]; /* hint: elements per tile along each axis, 0 = the tiler chooses */
    et_share range;        /* hint: the part of the GPU its tiles run on */
    et_slice slice;        /* tiles do not straddle slices of this axis */
    bool dealt;            /* its first axis are rows that are dealt to devices */
    et_hint hint;
    et_expr mask;  /* elements that are stored, or none for all */
    et_place to;   /* over the axes */
    et_expr value; /* STORE: over the axes; loads, REDUCE and CONTRACT nodes */
    et_product product[ET_MAX_ACC];
    int nproduct;
    et_rows rows; /* of the first product, as last found */
    int item;     /* of the program: where it was found last; a place to look at first */

    /* ATTEND, axes (query, head, d): the parts of ir/graph/attention.h over the axes and pvar. Keys
     * and values are over gvar in place of the head: SHARED heads one after another have the same,
     * and gvar counts those sets. All parts but the mask and the extra term are there. */
    int gvar, pvar, shared;
    et_expr part[ET_AT_PARTS];

    /* SCAN, axes (row, up to three more): the parts of ir/graph/scan.h over the axes and pvar, the
     * element of the state, which is at STATE. */
    et_place state;
    et_expr scan[ET_SC_PARTS];

    /* PARTS, once decided: ATTEND: positions are split among as many tiles, and `to` has an index
     * for the part before its last one. STORE: split-K in as many parts, the first index of `to`
     * (passes/tile/sums.c). 0 or 1: not split. HEADS: heads of each set that a tile has, or 0. */
    int parts, heads;
} et_group;

/* ---- device functions ---- */

/* A buffer in LDS: [dim0][dim1]..., elements of dtype, rows of the last dimension padded to `pitch`
 * elements. A LOAD with space ET_LOAD_LOCAL names it by its index in the function. */
typedef struct {
    const char *name;
    et_dtype dtype;
    int rank;
    int dim[ET_MAX_RANK];
    int pitch; /* elements between rows of the last dimension, >= dim[rank - 1] */
    int rows; /* sub-tiled epilogue: LDS holds as many rows of the last dimension but one at a time;
                 0: all. Only for sums of a CONTRACT step (et_func_bands) */
    int offset; /* bytes in LDS, a multiple of 16 */
    bool slot;  /* it is a stage of the weight stream (stream.h) */
} et_local;

typedef enum {
#define X(NAME, name) ET_STEP_##NAME,
#include "ir/program/step.def"
#undef X
    ET_STEP_KINDS
} et_step_kind;

/* Steps of a function run in order; a workgroup barrier separates a step from the next one that
 * touches the same local buffer. Work-items share a step's iterations in an order fixed at compile
 * time, so the order of every floating-point sum is too. */
typedef struct et_step {
    et_step_kind kind;

    /* MAP and REDUCE: iterate over `vars`, each over [0, extent) with a constant extent, the last
     * fastest; only where `mask` (a predicate, or none) holds. The operands of its top-level ANDs
     * are tested from left to right and what follows a false one is not evaluated: it may load
     * outside its tensor there. */
    int nvars;
    int vars[ET_MAX_VARS];
    et_expr mask;
    bool promised; /* MAP into a temporary: nobody reads what `mask` leaves out. That is taken on
                      trust, as it may hang on what tensors hold. */
    et_expr
        value;   /* MAP: stored value. REDUCE: the body over `rvar`. No REDUCE or CONTRACT nodes. */
    et_place to; /* stores convert to the destination's dtype, rounding to nearest even. An index
                    of `to` may be out of range only where `mask` is false. */
    et_expr tag; /* MAP: the tag of the flag-in-data words that it stores, or that it waits for in
                    those it loads (tags.h); else none */
    et_map_plan map;

    /* REDUCE: to[...] = reduce over rvar in [0, rextent) of value; ARGMAX yields the first index of
     * the maximum as i32. rextent may be symbolic. An empty MAX is -inf, MIN +inf, SUM 0. */
    et_reduce red;
    int rvar;
    et_expr rextent;
    et_reduce_plan reduce;

    /* CONTRACT: for each i, acc[i][m][n] = sum over k of a(m, k) * b[i](n, k), m in [0, tm), n in
     * [0, tn), k in [0, kextent). Rows m >= mlive read as zero and rows n >= nlive are not read;
     * what lands there is unspecified but the accumulator memory is written. tm and tn are
     * multiples of 16, or tn one of 8 (et_step_side_by_side). */
    int mvar, nvar, kvar;
    int tm, tn;
    et_expr mlive, nlive; /* 1 .. tm, 1 .. tn; uniform over the workgroup */
    et_expr kextent;
    et_dtype operand; /* bf16, f16 or f32: a and b are rounded to it; sums are f32 */
    et_expr a;
    int nacc;
    et_expr b[ET_MAX_ACC];
    int acc[ET_MAX_ACC]; /* locals, f32 [wk][tm][tn]; the total ends in [0] */
    int wn, wk;          /* waves along n and along k */
    et_product_plan plan[ET_PLANS];
    int wm; /* along m, with a pipeline; wn * wk * wm = waves per workgroup; without, at most */
    /* KC: a multiple of the matrix instruction's k times wk. Of what goes through local memory it
     * is the k of a chunk; where b does not, A is room for staged rows, which the plan cuts. */
    int stage_a; /* local, operand type, [tm][kc]: staged rows of a; or, with a multistage pipeline
                    of both operands, [stages][tm][kc], in a layout that codegen chooses */
    int stage_b; /* local [tn][kc] for a b that is not k-contiguous in memory, or -1; with a
                    pipeline [stages][nacc * tn][kc], or, where weights come through the weight
                    stream, a stage of that, [1][nacc * tn][k], which several chunks of a share */

    /* ATTEND: out[h][d] as ir/graph/attention.h defines it, with the parts q(h, d), k(p, d),
     * v(p, d), first, end, mask(h, p), score(h, p), extra(h). All but the mask and the extra term
     * are there. FIRST, at least 0, and END may be data-dependent but are uniform over the
     * workgroup. Keys and values are read at positions in [FIRST, END), whatever the mask says.
     *
     * Where OUT is two elements longer it is a partial result, to be joined with that of other
     * positions: out[h][0 .. depth) is the sum of weights times values, not normalised,
     * out[h][depth
     * + 1] the sum of weights, out[h][depth] the largest score times log2(e) (-1e38 without any
     * position), which has been subtracted from the exponents.
     *
     * With ROWS, of which the first ILIVE exist, the same for each row: parts may depend on IVAR
     * too, and OUT has a dimension for it in front. Matrix instructions compute it, and
     * neighbouring rows with the same keys and values share the reads (codegen/step/attend/rows.c).
     */
    int hvar, dvar, pvar;
    int ivar[1], nivar; /* nivar: 1 with rows, else 0 */
    int rows;           /* a multiple of 16, or 0 */
    et_expr ilive;      /* 1 .. rows; uniform over the workgroup */
    int heads, depth;
    et_expr part[ET_AT_PARTS];
    int out;     /* local, f32 [heads][depth], or [heads][depth + 2], or [rows][heads][depth] */
    int scratch; /* local, f32 [waves][heads][depth + 2]: partial results of the waves; with rows
                    [2][ET_ATTEND_BLOCK] keys and values, et_attend_slot bytes each; of a SCAN
                    its matrices */
    et_attend_plan attend;

    /* SCAN: for each of `vars` where `mask` holds, over rows rvar in [0, rextent), one after the
     * other: what ir/graph/scan.h says, with `to` over vars and rvar, and elements evar of the
     * state at STATE, a tensor. LANES work-items share the elements of a row: each has EXTENT /
     * LANES of them in registers, which are stored where rows of another sequence follow. What
     * AHEAD rows load that the state has no part in is under way while those before them are gone
     * through; 0: it is loaded row by row. NEXT and OUT are always there. With CHUNK, so many rows
     * of a sequence that follow one another, from a position that CHUNK divides on, are done at
     * once by matrix products (ir/product/scan.h), which lie in SCRATCH, f32. With WINDOW, an
     * element is what one of the last rows brought, and work-items share the rows of a run. */
    int evar, lanes, ahead, chunk;
    bool window;
    et_place state;
    et_expr scan[ET_SC_PARTS];
} et_step;

typedef struct {
    const char *name;
    int ncoords;
    int coord[ET_MAX_RANK]; /* variables: tile coordinates */
    et_local *locals;
    int nlocals, clocals;
    et_step *steps;
    int nsteps, csteps;
    int lds_bytes; /* all locals */
} et_func;

/* ---- events ---- */

typedef enum { ET_SCOPE_WORKGROUP, ET_SCOPE_DIE, ET_SCOPE_DEVICE, ET_SCOPE_SYSTEM } et_scope;
const char *et_scope_name(et_scope);

/* A multi-dimensional array of counters, zero at the start of a launch. A counter that counts to 0
 * or less is complete at once. Tensors that `count` reads obey what is said of waits, for every
 * task that waits for the event or notifies it. */
typedef struct {
    const char *name;
    int rank;
    et_expr dim[ET_MAX_RANK];
    int var[ET_MAX_RANK]; /* 1 + the variable `count` has for the counter's index, or 0 */
    et_expr count;        /* arrivals that complete one counter; over symbols, `var` and tensors */
    /* The user vouches for the contents of tensors: every counter gets its count of arrivals, and a
     * task that notifies the event through a tensor notifies every counter that later tasks wait
     * for. */
    bool promised;
    /* Flag-in-data: it orders nothing but tagged tensors, so arrivals and waits have no fences
     * (tags.h). */
    bool unfenced;
    et_scope scope;
    int base; /* first word in the event array; element strides from the dims at upper bounds */
    int words;
} et_event;

/* Words at the start of the event array that are not events: ETRT_EVENT_FIRST of the ABI, which
 * codegen compares at compile time. */
enum { ET_EVENT_RESERVED = 32 };

/* When an edge of a grid in a loop applies. */
typedef enum { ET_ALWAYS, ET_FIRST_ITERATION, ET_LATER_ITERATIONS, ET_LAST_ITERATION } et_when;

/* Wait until every counter of the box [lo, hi] (inclusive, per dimension; empty where lo > hi) has
 * reached the event's count. Bounds are expressions over tile coordinates, loop variables, symbols
 * and tensors: those that nothing writes, or whose writers an earlier wait of the task is for.
 *
 * With variables: for every box that their values give, as far as it lies inside the event. Their
 * extents may read what bounds may read, and not each other. */
typedef struct {
    int event;
    et_expr lo[ET_MAX_RANK], hi[ET_MAX_RANK];
    int nvars;
    int vars[ET_MAX_VARS];
    et_when when; /* of the innermost loop around the grid */
} et_wait;

/* Add one to one counter when the tile is done. With variables: to the counter that each of their
 * values gives, as often as it comes up, leaving out what lies outside the event. Tensors that are
 * read are those a wait may read, or written by the task itself. */
typedef struct {
    int event;
    et_expr index[ET_MAX_RANK];
    int nvars;
    int vars[ET_MAX_VARS];
    et_when when;
} et_notify;

/* ---- streams ---- */

/* The weight stream (stream.h): SLOTS stages of BYTES in LDS, which a producer wave fills
 * with weights of streamed grids. FLIGHT: most bytes in flight, rounded to requests; CALM, at most
 * FLIGHT: the same for grids that are calm while half of the stages are full. PREFETCH: bytes
 * beyond the stages that are fetched into the L2. SLOTS 0: no stream. PRODUCERS: waves that fill
 * stages in turn, each with its part of FLIGHT; 0: not decided. */
typedef struct {
    int slots, bytes, flight, calm, prefetch, producers;
} et_ring;

/* ---- task grids, loops, the program ---- */

/* Each workgroup has a tile of every round; in every second round the last has the first of them;
 * each has tiles next to each other; or whichever comes first claims the next one (queue.h). Each
 * runs its tiles in their order. Of several devices each may have an order of its own: tiles go by
 * a coordinate that is dealt as rows are, other devices' first, or its own; of tiles of one
 * device's the order is that of the grid. */
typedef enum {
    ET_TILES_ROUND_ROBIN,
    ET_TILES_BACK_AND_FORTH,
    ET_TILES_ADJACENT,
    ET_TILES_CLAIMED,
    ET_TILES_OTHERS_FIRST,
    ET_TILES_OWN_FIRST
} et_tile_order;

/* Each device has an order of its own. */
static inline bool et_order_is_own(et_tile_order o) {
    return o == ET_TILES_OTHERS_FIRST || o == ET_TILES_OWN_FIRST;
}

enum { ET_MOST_BEHIND = 1 << 16 }; /* blocks of a grid claimed ahead of one that follows it */

typedef struct {
    const char *name;
    int model; /* of the graph's; 0 where there is one */
    int func;
    et_expr extent[ET_MAX_RANK]; /* of the function's tile coordinates, last fastest */
    int loop;                    /* innermost enclosing loop or -1 (index into the graph's loops) */
    et_wait *waits;
    int nwaits, cwaits;
    et_notify *notifies;
    int nnotifies, cnotifies;
    et_share range;    /* not dynamic: the part of its model's workgroups that run it */
    et_slice slice;    /* not dynamic, without a range: of a tile coordinate */
    et_grid_deal deal; /* not dynamic, not in slices */
    et_hint hint;      /* the user's wish for a hybrid schedule */
    bool dynamic;      /* its tasks go through queues (queue.h) */
    bool streamed;     /* the weights of its product come through the weight stream */
    /* STREAMED: what the producer waits for before it reads, from tensors that the launch writes,
     * where a tile's weights are; boxes do not depend on tile coordinates (stream.h). */
    et_wait *awaits;
    int nawaits, cawaits;
    bool deep; /* STREAMED: double-buffered fragments, where registers suffice */
    bool calm; /* STREAMED: its copies, too, have the ring's CALM in flight while half is full */
    et_tile_order order; /* static, not in slices: which workgroup runs which tile */
    /* CLAIMED: its tiles are claimed in turn with those of the grid before it, block by block, so
     * many of that one's blocks first (queue.h). 0: by themselves. */
    int behind;
    bool early; /* DYNAMIC: queued when all it waits for has begun; it waits where it runs */
    int along;  /* OTHERS_FIRST, OWN_FIRST: the coordinate that they go by */
    /* Static: where the target has waves beside those that run tiles, these send what a tile's last
     * step stores for other devices, and tell that the tile is done, while the next one runs
     * (tags.h). */
    bool apart;
} et_grid;

typedef struct {
    enum { ET_P_GRID, ET_P_LOOP } kind;
    int index;        /* grid, or loop of the graph */
    int first, count; /* LOOP: its body is items[first .. first + count) of the program */
} et_item;

#define ET_MAX_VARIANTS 12
#define ET_MAX_OCCUPANCY 2

typedef struct et_program et_program;

/* The same model compiled for a narrower range of one symbol, or for launches on some numbers of
 * workgroups, with tilings of its own. A launch picks a variant by both: the first that suits. The
 * caller's tensors are the same, in the same order. */
typedef struct {
    int64_t upto;        /* the largest value of the symbol it is for */
    int least, most;     /* workgroups it is for; 0, 0: any number */
    et_program *program; /* with a graph and symbols of its own */
} et_variant;

struct et_program {
    et_graph *g; /* symbols, loops, names; its arena owns everything here */
    et_stage stage;
    et_tensor *tensors;
    int ntensors, ctensors;
    et_group *groups; /* one per grid, same order */
    int ngroups, cgroups;
    et_func *funcs;
    int nfuncs, cfuncs;
    et_grid *grids;
    int ngrids, cgrids;
    et_event *events;
    int nevents, cevents;
    et_item *items; /* items of one list are contiguous */
    int nitems, citems;
    int first, count; /* the top-level list */
    int64_t workspace_bytes;
    int event_words; /* including the ABI's reserved ones */
    int workgroup;   /* work-items per workgroup */
    int occupancy; /* workgroups that a CU holds at once: each has a part of its LDS and registers,
                      and the others may be of other kernels; 1 to ET_MAX_OCCUPANCY */
    et_ring ring;
    et_expr rows;  /* that are dealt to devices (deal.h), or none: nothing is dealt */
    int deal_unit; /* so many rows, and multiples of them, stay together */
    const char *source_hash;
    /* Every workgroup visits items in program order. Tile t (row-major in its coordinates) of a
     * static grid runs on workgroup (base + t) mod W, where base is the number of tiles of all
     * static grids before it in program order, mod W. A grid with a range uses its workgroups in
     * turn from the first; a slice those of its die in ascending order, from one that the
     * implementation chooses; neither counts in a base. Dynamic grids: queue.h.
     *
     * With several models this holds for each of them, on its share of the workgroups, numbered
     * from 0: a workgroup visits all items of the first model that it has a part in, then those of
     * the next. */
    et_schedule_kind schedule;
    /* Variants by workgroups, ascending, those for any number last, and of the same by the value of
     * variant_sym, ascending, the last up to its bound; or none, and the program itself
     * is what runs. */
    int variant_sym; /* -1: they do not differ by one; there are several all the same */
    int nvariants;
    et_variant variant[ET_MAX_VARIANTS];
};

/* Program I of those that a kernel is made of: the variants in order, or the program itself; NULL
 * past the end. */
et_program *et_program_part(et_program *, int i);
/* The number of the one of them that a launch with these values of the symbols runs, on all
 * workgroups that there are, and that one. */
int et_part_number(const et_program *, const int64_t *syms);
et_program *et_part_at(et_program *, const int64_t *syms);
/* The values of variant_sym, which there is, that variant I is for. */
void et_variant_range(const et_program *, int i, int64_t *out_lo, int64_t *out_hi);

et_program *et_program_create(et_graph *);
/* Static, claimed, dynamic or hybrid, by its grids. */
et_schedule_kind et_program_schedule(const et_program *);
/* The model of a grid or of all that is in a loop. Items of a model come after those of the models
 * before it. */
int et_item_model(const et_program *, const et_item *);
/* Add a local buffer; its number. NAME is changed where another local has it already. */
int et_local_add(et_program *, et_func *, const char *name, et_dtype, int rank, const int *dim,
                 int pitch);
int et_local_bytes(const et_local *);
/* Is B k-major: an element of a tensor of type OPERAND, contiguous in KVAR, with rows aligned to 16
 * bytes? Then codegen loads it without staging. */
bool et_k_contiguous(const et_program *, et_expr b, int kvar, et_dtype operand);
/* The same with rows aligned to words of four bytes. */
bool et_k_in_words(const et_program *, et_expr b, int kvar, et_dtype operand);
/* Is it so in each part of k, P at a time, where a tensor says where a part lies, as of the experts
 * that a token's row goes to one after the other? P, which divides k; or 0. */
int64_t et_k_part(const et_program *, et_expr b, int kvar);
/* The offset, in elements, of an access from the start of tensor ID or of F's local ID. */
et_expr et_access_offset(const et_program *, const et_func *f, int space, int id,
                         const et_expr *index);
/* ITEM behind item AT, in the same list. */
void et_program_insert_item(et_program *, int at, et_item);
/* Of a fused program: an item for one more group before item AT, in the same list. It has the
 * number of AT's group, which has the next, as all behind it have; the caller moves the groups. */
void et_program_insert_group(et_program *, int at);
/* Per tensor, in the arena: some step writes it. */
bool *et_program_stored(const et_program *, et_arena *);
/* Does E, or none, read local memory or a tensor that is STORED to? */
bool et_reads_stored(const et_exprs *, et_expr e, const bool *stored);
/* Is LOAD inside of its tensor, whatever the launch, where BELOW holds: x < y, or none? */
bool et_load_inside(const et_program *, et_expr load, et_expr below);
/* The number of tiles of a grid. */
et_expr et_grid_tiles(et_program *, const et_grid *);

/* Print a device function as .eti. */
void et_func_print(et_program *, const et_func *, FILE *);
/* A task: its device function, its waits and notifications, and the task itself. */
void et_task_print(et_program *, int grid, FILE *);
/* Print as .eti at the program's stage. */
void et_program_print(et_program *, FILE *);

/* The index in the checkpoint, row-major, of the element at index I in memory. */
int64_t et_relaid_place(const et_exprs *, const et_relaid *, int64_t i);
/* Copies all COUNT elements of T, a weight that is relaid out, FROM the checkpoint's order TO
 * zeroed memory. */
void et_relay_elements(const et_exprs *, const et_tensor *t, int64_t count, const void *from,
                       void *to);

#endif
