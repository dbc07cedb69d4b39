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
#include "ir/program/modes.h"

/* Tasks that a program may have, those of each variant by themselves. The verifier compares every
 * two of them that meet in memory. */
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

/* A weight whose elements lie in memory with its dimensions in another order. Those of its shape
 * are, one or several of these at a time, the checkpoint's number order[0], order[1], ...; what
 * comes from loops comes first in both. */
typedef struct {
    int rank;
    et_expr dim[ET_MAX_RANK]; /* of the checkpoint, and the loops */
    unsigned char order[ET_MAX_RANK];
} et_turned;

typedef struct {
    et_tensor_kind kind;
    const char *name;
    et_shape shape; /* row-major, contiguous, strides from the dimensions of this launch */
    const et_turned
        *turned;        /* WEIGHT: its dimensions lie in another order than in its file; or NULL */
    et_value value;     /* what it holds, or none */
    const void *data;   /* CONST: f32 or i32 elements */
    int64_t offset;     /* TEMP: bytes from the workspace's start, a multiple of 256 */
    int64_t max_bytes;  /* at the upper bounds of the symbols */
    const char *source; /* WEIGHT: as in et_val */
    int nloops;
    int loops[ET_MAX_LOOPS];
    int carried; /* TEMP: 1 + the loop whose iterations hand it on to one another, or 0 */
    bool tagged; /* TEMP: each element lies in memory beside a number that says which store of this
                    launch it is of (tags.h); max_bytes has room for both */
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

/* How a task should be given to workgroups where the schedule is hybrid. */
typedef enum { ET_HINT_NONE, ET_HINT_STATIC, ET_HINT_DYNAMIC } et_hint;
const char *et_hint_name(et_hint); /* "static", "dynamic" */

/* Work dealt by die: index i of `extent` along `coord` (an axis of a group, a tile coordinate of a
 * grid) lies in slice i * count / extent, and what lies in one slice runs on one die. Equal slices
 * of different grids of a model are on the same die, whatever their counts; where there are fewer
 * dies than slices a die has several. */
typedef struct {
    int coord;
    int count; /* 0: not sliced */
} et_slice;
static inline int64_t et_slice_of(int64_t index, int64_t extent, int count) {
    return index * count / extent;
}

/* Everything computed per element of one tensor; a future task grid. */
typedef struct {
    enum { ET_GROUP_STORE, ET_GROUP_ATTEND } kind;
    const char *name;
    et_loc loc;
    int loop; /* innermost loop or -1 */
    int rank;
    int axis[ET_MAX_RANK]; /* variables over the elements computed */
    int tile[ET_MAX_RANK]; /* hint: elements per tile along each axis, 0 = the tiler chooses */
    et_share range;        /* hint: the part of the GPU its tiles run on */
    et_slice slice;        /* tiles do not straddle slices of this axis */
    et_hint hint;
    et_expr mask;  /* elements that are stored, or none for all */
    et_place to;   /* over the axes */
    et_expr value; /* STORE: over the axes; loads, REDUCE and CONTRACT nodes */
    et_product product[ET_MAX_ACC];
    int nproduct;

    /* ATTEND, axes (query, head, d): the parts of ir/graph/attention.h over the axes and pvar. Keys
     * and values are over gvar in place of the head: SHARED heads one after another have the same,
     * and gvar counts those sets. All parts but the mask and the extra term are there. */
    int gvar, pvar, shared;
    et_expr part[ET_AT_PARTS];
    /* Once it is decided: positions are cut into so many parts, each a tile's, and `to` has an
     * index for the part before the last one; 0 or 1: they are not. Of so many heads of each set a
     * tile is, or 0. STORE: so many parts of what the product sums over, an index in front of the
     * others of `to` (passes/tile/sums.c). */
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
    int rows;  /* of the dimension before that, so many are there at a time, a part of them; 0: all.
                  Only sums of a CONTRACT step are so (et_func_bands) */
    int offset; /* bytes in LDS, a multiple of 16 */
    bool slot;  /* its place is a slot of the program's ring (stream.h), of which LDS has others */
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
    et_expr
        value;   /* MAP: stored value. REDUCE: the body over `rvar`. No REDUCE or CONTRACT nodes. */
    et_place to; /* stores convert to the destination's dtype, rounding to nearest even. An index
                    of `to` may be out of range only where `mask` is false. */
    et_expr tag; /* MAP: the number that goes with the elements it stores to a tagged tensor, or
                    that those it loads from one must have (tags.h); else none */

    /* REDUCE: to[...] = reduce over rvar in [0, rextent) of value; ARGMAX yields the first index of
     * the maximum as i32. rextent may be symbolic. An empty MAX is -inf, MIN +inf, SUM 0. */
    et_reduce red;
    int rvar;
    et_expr rextent;

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
    int wn, wk;          /* waves side by side over n and over k */
    int wm;              /* and over m, with a ring; wn * wk * wm = waves per workgroup */
    int kc;              /* k staged at a time; a multiple of the matrix instruction's k times wk */
    int stage_a; /* local, operand type [tm][kc]: the rows of a as the instruction reads them; or a
                    ring of chunks, [stages][tm][kc], with one of b: how its elements lie there is
                    up to codegen */
    int stage_b; /* local [tn][kc] for a b that is not k-contiguous in memory, or -1; with a ring
                    [stages][nacc * tn][kc], or, where weights come through the program's ring, a
                    slot of that, [1][nacc * tn][k's], which several chunks of a share */

    /* ATTEND: out[h][d] as ir/graph/attention.h defines it, with the parts q(h, d), k(p, d),
     * v(p, d), first, end, mask(h, p), score(h, p), extra(h). All but the mask and the extra term
     * are there. FIRST, at least 0, and END may be data-dependent but are uniform over the
     * workgroup. Keys and values are read at positions in [FIRST, END), whatever the mask says.
     *
     * Where OUT is two elements longer, what it holds can be joined with that of other positions:
     * the sum of weights times values, not divided by that of the weights, which is out[h][depth +
     * 1]; all weights are 2 to the power of the score times log2(e) less out[h][depth], the largest
     * such power, or -1e38 where there is no position.
     *
     * With ROWS, of which the first ILIVE are there, this is so for each of them: all parts may be
     * over IVAR as well, and OUT has a dimension for it in front. Matrix instructions do it, and
     * rows one after another whose keys and values are the same share what is read of them
     * (codegen/step/attend/rows.c). */
    int hvar, dvar, pvar;
    int ivar[1], nivar; /* nivar: 1 with rows, else 0 */
    int rows;           /* a multiple of 16, or 0 */
    et_expr ilive;      /* 1 .. rows; uniform over the workgroup */
    int heads, depth;
    et_expr part[ET_AT_PARTS];
    int out;     /* local, f32 [heads][depth], or [heads][depth + 2], or [rows][heads][depth] */
    int scratch; /* local, f32 [waves][heads][depth + 2]: partial results of the waves; with rows
                    [2][ET_ATTEND_BLOCK][..] of et_attend_slot bytes each */
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
    /* The user vouches for what tensors hold: every counter gets the arrivals it counts, and a task
     * that notifies the event through a tensor notifies every counter that tasks wait for which
     * must come after it. */
    bool promised;
    /* It orders no memory but tagged tensors: arrivals and waits go without fences, and what tasks
     * hand over by it shows by itself that it has come (tags.h). */
    bool carried;
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

/* Slots in LDS, at most so many of so many bytes, through which weights of streamed grids come
 * ahead of the tiles that read them (stream.h). FLIGHT: bytes on their way at most, as near as
 * copies that are waited for together let it be, and CALM, no more than that, of products of a few
 * rows while half of the slots are full. AHEAD: bytes that are asked for beyond those that slots
 * hold, into the cache that all CUs share. No slots: no ring. */
typedef struct {
    int slots, bytes, flight, calm, ahead;
} et_ring;

/* ---- task grids, loops, the program ---- */

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
    et_share range; /* of its model's workgroups, for one that is not dynamic */
    et_slice slice; /* of a tile coordinate, likewise; then there is no range */
    et_hint hint;   /* what the user wants of a hybrid schedule */
    bool dynamic;   /* its tasks go through queues, see queue.h; else they have their workgroups */
    bool streamed;  /* the weights of its product come through the ring */
    bool deep;      /* STREAMED: two chunks of them are in registers at once, where there is room */
    bool early;     /* DYNAMIC: queued when all it waits for has begun, and waits where it runs */
} et_grid;

typedef struct {
    enum { ET_P_GRID, ET_P_LOOP } kind;
    int index;        /* grid, or loop of the graph */
    int first, count; /* LOOP: its body is items[first .. first + count) of the program */
} et_item;

#define ET_MAX_VARIANTS 12

typedef struct et_program et_program;

/* A launch picks its variant by the value of one symbol: the same model compiled for narrower
 * bounds of it, with tilings of its own. The tensors that the caller sees are the same, in the same
 * order. */
typedef struct {
    int64_t upto;        /* the largest value of the symbol it is for */
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
    et_ring ring;
    const char *source_hash;
    /* Every workgroup visits
     * items in program order. Tile t of a grid that is not dynamic (row-major in its coordinates)
     * runs on workgroup (base + t) mod W, where base is the number of tiles of all such grids
     * before it in program order, mod W; one with a range goes round its workgroups from the first,
     * and counts in no base. The tiles of a slice go round the workgroups of its die in ascending
     * order, from one that the implementation chooses, and count in no base either. What workgroups
     * do at dynamic ones is said in queue.h.
     *
     * Where the graph has several models, all of this is said of each by itself, with its share of
     * the workgroups, which a workgroup's number counts from: a workgroup visits all items of the
     * first model, if it has a part in that, then those of the second. */
    et_schedule_kind schedule;
    /* Variants by the value of variant_sym, ascending, the last up to its bound; or none, and the
     * program itself is what runs. */
    int variant_sym;
    int nvariants;
    et_variant variant[ET_MAX_VARIANTS];
};

/* The programs a kernel is made of: the variants in order, or the program itself; NULL past the
 * end. */
et_program *et_program_part(et_program *, int i);
/* The one of them that a launch with these values of the symbols runs. */
et_program *et_part_at(et_program *, const int64_t *syms);

et_program *et_program_create(et_graph *);
/* What its grids are. */
et_schedule_kind et_program_schedule(const et_program *);
/* The model of a grid or of all that is in a loop. Items of a model come after those of the models
 * before it. */
int et_item_model(const et_program *, const et_item *);
/* A new local of the function, of this name, or of one made of it where another local has it, as
 * one that is called like a tensor may; its number. */
int et_local_add(et_program *, et_func *, const char *name, et_dtype, int rank, const int *dim,
                 int pitch);
int et_local_bytes(const et_local *);
/* Is B an element of a tensor of type OPERAND at consecutive KVAR, with every row aligned to 16
 * bytes and begun at a multiple of them? Then codegen loads it without a buffer to stage it. */
bool et_k_contiguous(const et_program *, et_expr b, int kvar, et_dtype operand);
/* How E, an integer, changes as VAR grows by one: not at all, by as much each time, never one way
 * and then the other, or nobody knows. */
typedef enum { ET_STILL, ET_EVEN, ET_STEADY, ET_ANYHOW } et_growth;
et_growth et_growth_of(const et_exprs *, et_expr e, int var);
/* E where VAR is K, if it is the same for all of RUN numbers from K on; else none. */
et_expr et_same_in_run(et_exprs *, et_expr e, int var, et_expr k, int run);
/* Can codegen compute B in registers, without a buffer to stage it, where a lane has RUN values of
 * KVAR side by side and all waves together a multiple of what divides ROUND? Each load of B is one
 * element for a run, or the run's elements side by side. How many loads there are; 0: it cannot. */
int et_k_computed(const et_program *, et_expr b, int kvar, int run, int round);
/* The number of tiles of a grid. */
et_expr et_grid_tiles(et_program *, const et_grid *);

/* Print a device function as .eti. */
void et_func_print(et_program *, const et_func *, FILE *);
/* A task: its device function, the events it waits for and notifies, and what it is itself. */
void et_task_print(et_program *, int grid, FILE *);
/* Print as .eti at the program's stage. */
void et_program_print(et_program *, FILE *);

/* Which element of its file, counted like those of memory in all dimensions, number I in memory is.
 */
int64_t et_turned_place(const et_exprs *, const et_turned *, int64_t i);
/* All COUNT elements of T, a weight that is turned: FROM as its file has them TO zeroed memory. */
void et_turn_elements(const et_exprs *, const et_tensor *t, int64_t count, const void *from,
                      void *to);

#endif
