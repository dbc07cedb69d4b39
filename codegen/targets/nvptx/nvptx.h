/* nvptx.h - what the files of this family share, and facts of its targets beside et_target. */
#ifndef ET_NVPTX_H
#define ET_NVPTX_H

#include "codegen/emit/emit.h"

struct nvptx {
    /* The PTX version as an LLVM feature: the oldest that has all instructions used here, so that
     * old drivers load the text. */
    const char *features;
    const char *processor; /* the name for LLVM and ptxas, where it differs from the target's */
    bool hand_over;        /* registers are moved between warps (setmaxnreg) */
    bool try_wait;         /* mbarrier.try_wait exists: it may block for a while */
    bool ordered; /* mma.sp can be told that the indices of a packed operand are in order */
};

/* The instruction of a product: 16 rows of m by 8 of n. */
struct nvptx_product {
    const char *name; /* of the intrinsic */
    enum { NVPTX_WORDS, NVPTX_F16_PAIRS } operands;
    bool split; /* operands of f32, each split into a sum of two of less precision */
};

/* The instruction of a 2:4 sparse product: 16 rows of n, with two of every four k, by 8 of m. */
struct nvptx_packed {
    const char *name, *ordered; /* of the intrinsic, and of the one for indices in order */
    bool f16;
};

enum { NVPTX_EITHER = 2 };
extern const et_fragment nvptx_either[NVPTX_EITHER], nvptx_bare[];
enum { NVPTX_FRAGMENTS = 3 };
extern const et_fragment nvptx_fragments[NVPTX_FRAGMENTS];

extern const et_family et_nvptx;
/* What all targets have in common. */
#define NVPTX_BASE                                                                                 \
    .family = &et_nvptx, .wave = 32, .loads = 16, .copies = true, .wide_words = true,              \
    .prefetches = true, .columns8 = true, .scarce = true, .simds = 4,                              \
    .fragments = nvptx_fragments, .nfragments = NVPTX_FRAGMENTS, .either = nvptx_either,           \
    .neither = NVPTX_EITHER, .bare = nvptx_bare, .spread = 2
const struct nvptx *nvptx_of(const cg *); /* facts of the target that is being compiled for */
const char *nvptx_processor(const cg *);

/* ---- kernel.c ---- */
void nvptx_declare_kernel(cg *, size_t bytes);
void nvptx_declare_body(cg *, val fn, unsigned divergent);
void nvptx_call_body(cg *, val call, unsigned divergent);
void nvptx_declare_local(cg *);
void nvptx_keep_local(cg *);
val nvptx_hide(cg *, val ptr);
val nvptx_opaque(cg *, val v);
val nvptx_anew(cg *, val v);
val nvptx_workgroup(cg *);
val nvptx_workitem(cg *);
val nvptx_die(cg *);
val nvptx_hardware_id(cg *);

/* ---- lanes.c ---- */
val nvptx_first_active(cg *, val);
val nvptx_read_lane(cg *, val, val lane);
val nvptx_shuffle_xor(cg *, val, int mask);
val nvptx_ballot(cg *, val pred);
val nvptx_lanes_before(cg *, val mask);

/* ---- sync.c ---- */
void nvptx_wave_meets(cg *);
void nvptx_barrier(cg *, bool drain);
void nvptx_die_acquire(cg *);
val nvptx_clock(cg *);
void nvptx_nap(cg *, int clocks);
void nvptx_load_words(cg *, LLVMTypeRef t, val ptr, int n, bool system, val *words);
void nvptx_mark(cg *, val word);
void nvptx_multiply8(cg *, et_dtype, const val m[4], const val n[2], val sum[4]);
void nvptx_load_blocks(cg *, val ptr, val word[4]);
void nvptx_order_loads(cg *);
void nvptx_copy(cg *, val to, val from, val bytes);
void nvptx_copy_few(cg *, val to, val from, int of, val bytes);
/* Inline assembly that LLVM neither moves into divergent code nor duplicates: group.c. */
val nvptx_together(cg *, LLVMTypeRef result, const char *text, const char *constraints, int n,
                   val *args);
val nvptx_once(cg *); /* the L2 policy of data that is read once */
void nvptx_copy_group(cg *);
void nvptx_prefetch(cg *, val at);
val nvptx_same(cg *, val v);
void nvptx_copied(cg *, int groups);

/* ---- stream.c ---- */
extern const et_stream_family nvptx_stream;

/* ---- group.c ---- */
extern const et_warpgroup_shape nvptx_warpgroup;
extern const et_warpgroup_family nvptx_wgmma;

/* ---- bulk.c ---- */
extern const et_box_shape nvptx_boxes;
extern const et_box_family nvptx_bulk;

/* ---- pairs.c ---- */
extern const et_pairs_family nvptx_pairs;
/* The decodings that it has, on targets with arithmetic of bf16x2. */
#define NVPTX_DECODE                                                                               \
    {                                                                                              \
        [ET_E2M1] = {.pairs = 4}, [ET_E4M3] = {.pairs = 1, .f16 = true},                           \
        [ET_I8] = {.f16 = true, .bf16 = true},                                                     \
        [ET_IQ4] = {.f16 = true, .bf16 = true, .in_order = true},                                  \
        [ET_U4] = {.pairs = 4, .f16 = true, .bf16 = true}, [ET_I4] = {                             \
            .pairs = 4,                                                                            \
            .f16 = true,                                                                           \
            .bf16 = true                                                                           \
        }                                                                                          \
    }

/* ---- product.c, math.c, object.c ---- */
val nvptx_multiply(cg *, const et_fragment *, int lane_k, const val *n, const val *m, val acc);
val nvptx_multiply_packed(cg *, const et_fragment *, const val *n, const val *index, const val *m,
                          val acc);
val nvptx_divide(cg *, val a, val b);
val nvptx_root(cg *, val a);
val nvptx_exp2(cg *, val a);
val nvptx_math(cg *, et_xop, int nargs, val *args);
bool nvptx_link_math(cg *);
void nvptx_embed(cg *, const char *manifest);
char *nvptx_package(cg *, LLVMTargetMachineRef, size_t *out_bytes);
void nvptx_inspect(cg *, const char *file, size_t bytes, et_codegen_info *);

#endif
