/* emit.h - the state of one code generation, and the builder of LLVM IR that steps and the kernel
 * are made with. g->family has what each family of targets does in its own way. */
#ifndef ET_EMIT_H
#define ET_EMIT_H

#include "codegen/emit/options.h"
#include "codegen/targets/family.h"
#include "codegen/targets/targets.h"
#include "ir/product/product.h"
#include "ir/program/queue.h"
#include "ir/program/tags.h"
#include "runtime/etrt_abi.h"
#include <llvm-c/Core.h>

typedef LLVMBasicBlockRef block;

/* A kernel of a launch of several: the tiles of one grid in one iteration of the loops around it.
 * Or the kernel of a variant. */
typedef struct {
    const char *symbol;
    et_program *p; /* the part it is of */
    int grid;
    int lds_bytes;
    int workitems; /* of a workgroup */
    bool waits;    /* for tasks of its own: all its workgroups have to be resident */
} et_kernel;

/* The next stage of the weight stream of a wave: allocas, which LLVM promotes to registers. */
typedef struct {
    val stage, phase;
} cg_ring_state;

/* An element of a local is the sum of so many in it, so many bytes apart; 0: it is itself. */
typedef struct {
    int count, stride;
} cg_parts;

/* Names in a function that several grids share (codegen/kernel/body.c). It reads a row of a table
 * for each grid: the number of the task; for each tensor its offset in the workspace or among the
 * arguments; for each event its first word in the event array and its number for reports. TENSOR
 * and EVENT: 1 + the number in that row, 0 for none; WANTED: tensors that the grid being emitted
 * names. */
enum { CG_ROW_EVENT = 2 };
typedef struct {
    int *tensor, *event, ntensors;
    bool *wanted;
} cg_names;

struct cg {
    et_program *whole; /* the program with all variants; p is it, or the variant being emitted */
    et_program *p;
    et_exprs *x;
    et_queues queues; /* of p */
    et_tags tags;     /* of whole */
    bool queued;      /* some part has tasks that go through queues */
    uint32_t
        sliced; /* models that have grids dealt by slice, as bits; bit 0 where there is one model */
    int event_words;             /* the most that any part needs */
    int meet_words;              /* with several models: the first counter of workgroups by die, */
    int done_words;              /* and the first of workgroups that are done with a model */
    int first_task, first_event; /* added in reports to the variant's own numbers */
    int task;                    /* the task being emitted, counted over all parts */
    /* By task, where products are counted: matrix instructions for a piece of k, and those beside
     * them that sum rows (step/decode/unscaled.c). */
    int (*products)[2];
    et_kernel *kernels; /* where there are several: in the order of the launch, or one a variant */
    int nkernels;       /* of a sequence */
    et_arena *arena;
    const et_codegen_options *opt;
    const et_target *t;
    const et_family *family; /* of the target */

    double since; /* when the stage of LLVM being timed began */

    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    LLVMTypeRef i1, i8, i16, i32, i64, f16, bf16, f32, none;
    LLVMTypeRef mask;       /* an integer with a bit for each lane of a wave */
    LLVMTypeRef gptr, lptr; /* global and LDS pointers */
    unsigned md_invariant;
    unsigned sync[ET_SCOPE_SYSTEM + 1]; /* synchronization scopes */

    val fn, lds;
    bool diverged; /* some lanes of this wave may not be here; those that are exchange values in
                    * whole groups
                    */
    char *told;    /* output of the tool that made the file, or NULL */
    char *symbol;
    int lds_bytes;
    int flag_at, reduce_at, trace_at; /* LDS codegen uses for itself, after all locals */
    int step_at;      /* of a kernel that stays: what the workgroup knows of its step */
    bool in_step;     /* that is in force: what is being emitted runs in a step */
    block step_begin; /* where consumers begin one */
    val step_model;   /* its model */
    val *step_words;  /* what is known of it, where that stays in registers; else NULL */
    val home;         /* the model whose mailbox the workgroup reads, or -1 */
    block exit, failed;

    val wg, nwg, tid, lane, wave; /* wave and everything of the workgroup is uniform; wg: a rank */
    val rank;                     /* wg, counted over all models */
    int part;                     /* 1 + the model being emitted, of several: wg, nwg are its own */
    val args;                     /* the kernarg segment */
    val device;                   /* of several that run the kernel: its number, i64 */
    val inbox[ET_MAX_DEVICES];    /* and the inbox of each */
    val own_inbox;
    val owner; /* the device that has the row being stored, where rows are dealt; or NULL */
    val control, events, wait_ticks;
    val *sym;           /* i32 per symbol */
    val *tensor;        /* pointer per tensor */
    int64_t *tensor_at; /* per tensor: where its address is among the arguments */
    bool *stored; /* per tensor: some step writes it, so loads of it may not move across waits */
    struct cg_bodies *bodies;   /* of p, where tiles are in functions of their own: body.c */
    cg_names *names;            /* of the body being emitted, where grids share bodies; else NULL */
    int nbodies;                /* functions of tiles that differ, of all programs */
    struct cg_numbers *numbers; /* of bodies that are alike but for these: numbers.c */
    bool in_body;               /* such a function is being emitted */
    struct cg_random *random;   /* of the module (codegen/emit/philox.c) */
    bool *packed;               /* per argument that is a tensor: some product reads it packed */
    bool leave_out;             /* the products being emitted skip weights that are zero */
    bool finite;                /* they may be NaN where an f32 operand is infinite, or nearly */
    bool narrow;                /* their columns have eleven significant bits at most */
    val ticket;                 /* where the ticket of the next dynamic task is kept, or NULL */
    struct cg_claim *claim;     /* how the tile being emitted asks for the next one, or NULL */
    val row;         /* of the table of tasks, in a function that several grids share; else NULL */
    et_arena *texts; /* texts of tasks, by which alike ones are found */
    val base;        /* first workgroup of the next grid: the running tile count mod W */

    /* Variables in scope, by id. */
    val *var;
    bool *divergent;
    int nvar;

    /* Values of expressions already computed at this point, by id; `trail` undoes them. */
    val *memo;
    int nmemo;
    uint32_t *trail;
    int ntrail, ctrail;
    val guard;     /* i1: loads outside it read a harmless address instead; NULL = always */
    et_expr below; /* `index < dimension` that holds here, or none */

    const et_func *f; /* the function being emitted: names the locals */
    cg_parts *parts;  /* per local, while the steps of f are emitted */

    /* The weight stream; no stages: there is none. */
    int ring_stages, ring_at;   /* at most so many stages; its barriers */
    int stages_here, stages_at; /* those of this part, 0 where it does not stream */
    int tell_at;                /* barriers of the wave that tells of tiles; 0: there is none */
    int producers;              /* waves that fill stages of the weight stream, in turn */
    val tell_phase;             /* a word of the consumers */
    int send_at;                /* barriers of the waves that send apart; 0: there are none */
    bool sends_later;           /* those waves send what the tile being emitted stores */
    cg_ring_state consumer;     /* the consumers' next stage */
    const struct cg_producer *producer; /* set while the producer wave is emitted, else NULL */
    et_product_cx product;              /* as cg_cx last made it */
    const et_step *streamed;            /* of the tile being emitted, or NULL */
    struct cg_early_map *early_maps;    /* maps of that tile whose loads are early, a list */
    struct cg_rows *rows;               /* attention of rows whose first run is known, or NULL */
    struct cg_maps *maps;               /* tensor maps of TMA boxes, or NULL: there are none */
    int box_at, box_bytes_lds;          /* LDS for their barriers; 0: there are none */
    int entry; /* the variable that entries of weights in host memory have in offsets (host.c) */
    const et_exprs *entry_of; /* among which it is; NULL: there is none yet */
    bool hold;                /* loads stay here, in front of the waits, and have no `invariant` */
    val again; /* i1: the tile being emitted is not the workgroup's first of this grid, or NULL */
    val more;  /* i1: nor its last; or NULL */

    /* Of the tile being emitted, where it has tags: what is added to them; the task and tile that
     * receive words, for reports. */
    val first_tag;
    int receiving;
    val receiving_tile;

    val reached, ready, done; /* moments of the tile being emitted, when profiling */
};

/* Work-items of a workgroup, with those of the producer waves. */
static inline int cg_workitems(const cg *g) {
    bool more = g->ring_stages || g->send_at;
    return g->p->workgroup + (more ? g->family->stream->waves(g) * g->t->wave : 0);
}

/* ---- builder.c ---- */
void cg_error(cg *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* With the option `time_passes`: prints the time since the last call; NULL begins. */
void cg_stage(cg *, const char *name);
void cg_init_types(cg *);
val cg_i32(cg *, int64_t);
val cg_i64(cg *, int64_t);
val cg_f32(cg *, double);
val cg_call(cg *, const char *intrinsic, int ntypes, LLVMTypeRef *types, int nargs, val *args);
val cg_add(cg *, val, val);
val cg_mul(cg *, val, val);
val cg_addi(cg *, val, int64_t);
val cg_muli(cg *, val, int64_t);
val cg_icmp(cg *, LLVMIntPredicate, val, val);
val cg_select(cg *, val c, val a, val b);
val cg_fadd(cg *, val, val); /* of a product: fma; so too */
val cg_fsub(cg *, val, val);
val cg_fmul(cg *, val, val);
val cg_fma(cg *, val a, val b, val c); /* a * b + c in one rounding */
val cg_fmax(cg *, val, val);
val cg_exp2(cg *, val); /* within an ulp or two; denormal results become zero */
val cg_gep(cg *, val ptr, val bytes);
val cg_gepi(cg *, val ptr, int64_t bytes);
/* LOAD, of what does not change during a launch. */
val cg_invariant(cg *, val load);
val cg_uniform(cg *, val); /* the first lane's value, for values equal in all lanes */
val cg_vector(cg *, LLVMTypeRef element, int n, val *v);
val cg_extract(cg *, val vec, int i);
/* Elements FROM to FROM + N - 1 of VEC, at most 16. */
val cg_extract_n(cg *, val vec, int from, int n);
LLVMTypeRef cg_storage(cg *, et_dtype);

block cg_block(cg *, const char *name);
block cg_here(cg *);
void cg_at(cg *, block);
void cg_br(cg *, block to);
void cg_cond(cg *, val c, block yes, block no);

typedef struct {
    block then, otherwise, join;
} cg_if;
void cg_if_begin(cg *, cg_if *, val cond);
void cg_if_end(cg *, cg_if *);
/* Right behind its end: THEN where the condition held, otherwise OTHERWISE. */
val cg_if_value(cg *, const cg_if *, val then, val otherwise);

/* for (i = from; i < to; i += step), values carried from iteration to iteration in V. After END the
 * V hold what the last iteration left. DO_WHILE: at least one iteration is known to happen. */
typedef struct {
    block head, body, next, done;
    val i, to, step, phi[256];
    int n;
    bool do_while;
} cg_for;
val cg_for_begin(cg *, cg_for *, val from, val to, val step, bool do_while, int n, val *v);
void cg_for_end(cg *, cg_for *, val *v);

/* A workgroup barrier: what its waves wrote before is visible to all of them after. */
void cg_barrier(cg *);
/* The same, and the global stores of every wave are complete. */
void cg_barrier_drain(cg *);

/* Value of the lane whose number differs in the bits of MASK. */
val cg_shuffle_xor(cg *, val v, int mask);

/* ---- codegen/emit/expr.c ---- */
int cg_scope(cg *);           /* values found from here on are forgotten by ... */
void cg_scope_end(cg *, int); /* ... this */
void cg_bind(cg *, int var, val, bool divergent);
void cg_remember(cg *, et_expr, val);
/* f32, i1, or an integer: i32 where all values that it may have fit, else i64 */
val cg_emit(cg *, et_expr);
val cg_emit_i32(cg *, et_expr); /* an integer, the nearest of 32 bits */
val cg_emit_low(cg *, et_expr); /* its low 32 bits */
val cg_emit_i64(cg *, et_expr);
val cg_to_f32(cg *, val);       /* of any value of cg_emit */
val cg_emit_f32(cg *, et_expr); /* converted to f32 */
/* philox.c: a random number of 32 bits, by a seed and the counter's two words, of 32 bits each. */
void cg_begin_random(cg *); /* once a module */
val cg_philox(cg *, val seed, val i, val j);
bool cg_is_uniform(cg *, et_expr);
bool cg_divisible(cg *, et_expr, int64_t by);
bool cg_reads_mutable(cg *, et_expr);

/* ---- memory.c ---- */
/* Element offset of TO[index] from the start of the tensor or local. */
et_expr cg_offset(cg *, int space, int id, const et_expr *index);
et_dtype cg_place_dtype(cg *, int space, int id);
/* An address as a uniform pointer and a byte offset of this lane, i32 or NULL (then all in base).
 */
typedef struct {
    val base, lane;
} cg_addr;
cg_addr cg_address_split(cg *, int space, int id, et_expr offset);
val cg_address(cg *, int space, int id, et_expr offset);
/* The element at OFFSET, in the byte or bytes at PTR, as f32 or i32. */
val cg_load_one(cg *, int space, int id, val ptr, et_expr offset);
/* The type of BITS loaded as 32-bit words, or as one integer; N elements of type T out of such a V;
 * a single element at OFFSET out of V, as it is stored (the byte that it is a part of). */
LLVMTypeRef cg_words(cg *, int bits);
void cg_loaded_words(cg *, et_dtype t, val v, int n, val *out);
val cg_load_words(cg *, int space, int id, val ptr, int bits, int align); /* cg_words of BITS */
val cg_loaded_one(cg *, int space, int id, val v, et_expr offset);
/* ---- code.c: the code of type T that begins at bit AT (i32) of the i32 WORD, as f32 or i32 ----
 */
val cg_code(cg *, et_dtype t, val word, val at);
val cg_round_e4m3(cg *, val v); /* an f32 to the nearest e4m3, as an f32: 448 where it is beyond */
/* N elements at PTR, as f32 or i32 scalars in OUT; elements of less than a byte fill whole ones. V
 * may be any values of cg_emit. */
void cg_load_n(cg *, int space, int id, val ptr, int n, int align, val *out);
void cg_store_n(cg *, int space, int id, val ptr, int n, int align, val *v);
val cg_to_storage(cg *, et_dtype, val);
val cg_to_bf16(cg *, val f32);
val cg_to_f16(cg *, val f32);
/* V, an f32 or a vector of them, hidden from LLVM where it would round it to f16 in another way
 * (round.c). */
val cg_before_f16(cg *, val f32);
/* SIZE, an f32 that is not negative, with the sign of SIGN. */
val cg_with_sign(cg *, val size, val sign);
val cg_local_ptr(cg *, int local, val elements); /* elements: offset in elements, i32 */
bool cg_in_range(cg *, et_expr load);

/* ---- host.c: weights in host memory. Their offsets, which cg_offset gives; an offset's part in
 * its entry, of all tensors the whole; where its entry is; and those that S uses are marked ---- */
et_expr cg_host_offset(cg *, int tensor, const et_expr *index);
et_expr cg_in_entry(cg *, et_expr offset);
val cg_entry_address(cg *, int tensor, et_expr offset);
void cg_mark_entries(cg *, const et_step *s);

/* ---- word.c: what is flagged or shared. Where a store of it at PTR, as of this device's memory
 * and the first device's part, goes to, of so many devices; 1 and PTR of all other tensors. */
int cg_inboxes(cg *, int tensor, val ptr, val out[ET_MAX_DEVICES]);
/* The bytes from the begin of an inbox to that place, i64. */
val cg_in_inbox(cg *, int tensor, val ptr);
/* ---- word.c: tagged temporaries; ELEMENT by number, i64. What is partial over devices has a word
 * of each for an element, so many bytes apart (0: it is not partial) ---- */
int64_t cg_word_pitch(const cg *, int tensor);

LLVMTypeRef cg_word_type(const cg *, int tensor);
val cg_word_at(cg *, int tensor, val element); /* its address */
val cg_word_load(cg *, int tensor, val ptr);
val cg_word_tag(cg *, val word);
val cg_word_data(cg *, val word); /* as an integer of the element's size */
/* The tag of the step in this launch. */
val cg_tag(cg *, const et_step *);
/* V is any value of cg_emit. */
void cg_word_store(cg *, int tensor, val element, val v, val tag);

/* ---- vector.c: an expression at N consecutive values of a variable ---- */
/* Replace VAR by BASE + j, j in [0, n), in E. */
void cg_unroll(cg *, et_expr e, int var, et_expr base, int n, et_expr *out);
/* The same, and contiguous elements are loaded with wide loads. Call it for every expression before
 * cg_emit of the results. */
void cg_unroll_loads(cg *, et_expr e, int var, et_expr base, int n, et_expr *out);
/* Emit f32 (or the expression's type) values of E at VAR = BASE + j. */
void cg_emit_n(cg *, et_expr e, int var, et_expr base, int n, val *out);
int cg_fresh_var(cg *, const char *name, int64_t extent);

/* ---- names.c: numbers and addresses in a function that several grids may share ---- */
val cg_task_number(cg *, int grid);            /* for reports */
val cg_event_number(cg *, int event);          /* likewise */
val cg_event_word(cg *, int event, val index); /* word INDEX of the event, in the event array */
/* Does the function being emitted name it? */
bool cg_wants(const cg *, int tensor);
/* Where the tensor is, for whichever grid the function runs; NULL where it is for one. */
val cg_tensor_place(cg *, int tensor);

/* ---- maps.c: TMA copies (et_box_family) ---- */
/* The address of the tensor map M of a tensor. */
val cg_map(cg *, int tensor, const et_tensor_map *m);
/* i1: this is the work-item that issues the copies. */
val cg_box_producer(cg *);
val cg_box_barrier(cg *, val slot);
val cg_box_phases(cg *); /* a word beside them, 0 at first */

/* ---- sync.c: relaxed atomics at agent scope ---- */
val cg_word(cg *, val index); /* the address of a word of the event array */
val cg_atomic_load(cg *, val ptr);
void cg_atomic_store(cg *, val ptr, val);
/* By one lane of a wave whose lanes are all active. ONCE returns the old value, uniform. */
val cg_atomic_once(cg *, LLVMAtomicRMWBinOp, val ptr, val);
void cg_atomic_tell(cg *, LLVMAtomicRMWBinOp, val ptr, val);
val cg_atomic(cg *, LLVMAtomicRMWBinOp, val ptr, val); /* by every active lane */
val cg_atomic_swap(cg *, val ptr, val from, val to);   /* i1: it was FROM, and is now TO */
val cg_ballot(cg *, val pred);
val cg_none(cg *, val mask);
val cg_first_lane(cg *, val mask); /* of those set */
val cg_count_lanes(cg *, val mask);
/* Each active lane modifies the word at its PTR. The old value; OTHERWISE in the other lanes. */
val cg_atomic_lanes(cg *, LLVMAtomicRMWBinOp, val active, val ptr, val v, val otherwise);
/* A fence between workgroups. WEAK: as far as fault injection leaves it. */
void cg_fence(cg *, LLVMAtomicOrdering, bool weak);
void cg_fence_of(cg *, LLVMAtomicOrdering, et_scope, bool weak); /* cg_fence: of the device */
/* Before or after a fence of one lane, so that it holds for all lanes of the wave. */
void cg_wave_meets(cg *);
/* The acquire fence behind polls of events by any lanes of the wave, for all of them. */
void cg_acquire_wave(cg *, bool weak);
int cg_telling_wave(const cg *); /* the one that notifies */
/* A uniform polling loop. AGAIN naps and goes back to BEGIN; where the launch was aborted, or
 * wait_ticks have passed since the first poll, it goes to blocks that the caller fills. Both are
 * looked at once in `looks` polls of the family. */
enum { CG_NAP = 64 }; /* clocks, of the shortest */
typedef struct {
    block head, aborted, expired;
    val start, tries;
    bool others; /* it is for other devices: the host asks for its end before that of others */
} cg_spin;
val cg_quits(cg *, val abort); /* does what the launch's `abort` word holds say so? */
void cg_spin_begin(cg *, cg_spin *);
void cg_spin_again(cg *, cg_spin *);

/* ---- box.c ---- */
/* The counters that a wait names, numbered 0 .. total - 1. Numbers may differ from lane to lane;
 * the members are uniform. */
typedef struct {
    const et_wait *w;
    et_expr lo[ET_MAX_RANK], hi[ET_MAX_RANK], size[ET_MAX_RANK];
    int var[ET_MAX_VARS];               /* stand for those of the wait */
    et_expr extent[ET_MAX_VARS], count; /* COUNT: total, before it is emitted */
    et_expr stray; /* whether tensors name counters outside the event; ET_NO_EXPR: they cannot */
    val total, astray;
    int64_t constant; /* total, or -1 if only the launch knows it */
    int64_t most;     /* upper bound of total, or -1 */
    val need;         /* of every counter, or NULL */
} cg_box;
void cg_box_begin(cg *, const et_wait *, cg_box *);
/* The same in two parts, the first of which emits nothing. */
void cg_box_shape(cg *, const et_wait *, cg_box *);
/* The item's word in the event array, with the event's base. */
val cg_box_word(cg *, const cg_box *, val item);
/* Arrivals that complete it. 0 for an item that is no counter of the wait: it counts as complete,
 * and its word is some word of the event. Items past the last are such. ETRT_NO_COUNTER where a
 * wait without variables names a counter that the event does not have: it is never complete. */
val cg_box_need(cg *, const cg_box *, val item);
/* Both at once, the word without the event's base. */
val cg_box_index(cg *, const cg_box *, val item, val *out_need);
/* The item's word, and whether it is a counter at all, of a box with variables. */
val cg_box_place(cg *, const cg_box *, val item, val *out_inside, val *out_need);
/* Strides of an event's dimensions: its words at the symbols' upper bounds, row-major. */
void cg_strides(cg *, const et_event *, int64_t *out);
/* Arrivals that complete the counter AT (an index per dimension) of event number EVENT. */
val cg_event_need(cg *, int event, const val *at);

#endif
