/* target.h - what the passes and codegen know of one GPU's instructions, as tables: the one
 * description that both read. Speeds are passes/machine's; what only the code generator of a family
 * knows is behind `family`, `own` and the pointers of a fragment, which nothing here looks into.
 * The tables themselves are rows of codegen/targets/targets.def. */
#ifndef ET_TARGET_H
#define ET_TARGET_H

#include "ir/base/dtype.h"

/* How places are dealt to lanes: a place is the sum, modulo 16, of one number for each bit that is
 * set in the number of the lane, and in the number of the value that the lane holds. */
typedef struct {
    unsigned char lane[6], value[3];
} et_deal;

/* What the lanes of a wave hold of one matrix product: f32 sums over k of sixteen rows n of one
 * operand by sixteen rows m of the other. A lane holds some k's, next to each other in memory, of
 * each of its rows: those of group number `k`. Values number its rows, where it has several. Sums
 * are a vector of 256 / wave, or of what there are of fewer rows, which values number. */
typedef struct et_layout {
    et_deal k, n, m, sum_n, sum_m;
} et_layout;

/* A matrix instruction, as its operands and sums lie in lanes. The family may make several
 * instructions of one product, and call rows and k's by other numbers than they do, as long as both
 * operands and the sums agree. */
typedef struct et_fragment et_fragment;
struct et_fragment {
    et_dtype operand;
    int lane_k; /* how many k of a row a lane holds */
    const et_layout *layout;
    const void *own;        /* what only the family knows: its instruction */
    const et_fragment *few; /* of the same operand, but with sums of eight rows m alone; or NULL */
    const void *packed;     /* as `own`, for 2:4 sparse products; NULL: there is none */
};

/* Warpgroup MMA: products that several waves make together of operands in local memory. */
typedef struct {
    int waves; /* side by side, each with the sums of 16 rows of one operand */
    int most;  /* rows of the other at a time, a multiple of 16 */
    int k;     /* at a time, of operands of 16 bits */
    int align; /* bytes, of eight rows */
    /* How sums are dealt where the waves' rows are m, and where they are n. */
    const et_layout *rows_m, *rows_n;
} et_warpgroup_shape;

/* TMA: boxes of matrices copied to local memory by a unit beside the waves. */
typedef struct {
    int map_bytes; /* of a tensor map, and what such maps are aligned to */
    int most_rows; /* of a box */
} et_box_shape;

/* A tensor map: a matrix of 16-bit elements in memory, and the box that is copied of it. */
typedef struct {
    int64_t pitch; /* bytes of a row, a multiple of 16 */
    int64_t rows;
    int box_rows, box_bytes; /* of a box: 64 or 128 bytes of each row */
} et_tensor_map;

/* How a type of quantised values becomes operands of products. */
typedef struct {
    /* Packed pairs of bf16: number p of a word's values goes with number p + pairs, where p counts
     * those that are not second in a pair already; 1 or half a word's. 0: none are made. */
    int pairs;
    bool f16;      /* two at a time become f16, */
    bool bf16;     /* or bf16; */
    bool in_order; /* neighbours, where those of other types of 4 bits are 4 apart */
    bool unscaled; /* they become operands without their scale, by which sums are multiplied, */
    float times;   /* and such sums, too, by this */
} et_decode;

/* Local memory that a kernel has for itself beside what tasks and the weight stream keep there, at
 * most: words of the schedule, barriers of TMA boxes, and words of reductions over waves. */
enum { ET_LDS_OWN = 1024 };
static inline int et_lds_words(int waves) {
    return 256 + 16 * waves;
}

/* What each of so many workgroups on a CU may have of LDS, of which one alone may have BYTES: the
 * system may keep 1 KiB for every one, which is no part of BYTES for the first. */
static inline int et_lds_share(int bytes, int occupancy) {
    enum { KEPT = 1024 };
    return (bytes - (occupancy - 1) * KEPT) / occupancy;
}

typedef struct et_target {
    const char *name; /* as LLVM calls the processor */
    const struct et_family *family;
    int wave;  /* work-items per wave */
    int loads; /* of 16 bytes that a lane has in flight for a product, when that is large enough */
    bool deep; /* registers have room for twice as many */
    bool no_bf16_rounding; /* there is no instruction that rounds to bf16 */
    bool copies;           /* 16 bytes of memory go to local memory past the registers, unawaited */
    bool wide_words;       /* several flag-in-data words are loaded at once, each of them whole */
    int producers;   /* most waves that may fill the stages of a weight stream in turn; 0 as 1 */
    bool sends;      /* waves beside those that run tiles may send what these store for others */
    bool prefetches; /* a line of memory is asked into the L2 by an instruction of its own */
    bool columns8; /* there is a matrix instruction of 16 rows by 8 columns beside the fragments */
    bool scarce;   /* values of registers are computed again rather than kept */
    int simds;     /* that share the waves of a workgroup */
    int lds_bytes; /* of what half keeps a second workgroup out, and what one may have */
    bool dies;     /* a workgroup can find out which die it is on */
    /* There is a fence that makes seen what workgroups of the same die have written and had
     * answered, and is less than that of the device. */
    bool die_fence;
    const et_fragment *fragments;
    int nfragments;
    /* The same for steps that multiply either way, as it is or packed, with sums in the same
     * places: of operands whose fragment above has no `packed`. */
    const et_fragment *either;
    int neither;
    /* Of bf16, for weights without their scale: sums of 8 and of 16 rows m, which a lane has of the
     * rows n that it has weights of. NULL: there are none. */
    const et_fragment *bare;
    int spread;      /* a lane of a 2:4 product has its k's so many at a time, those of other lanes
                        between; 0: all next to each other */
    float fp8_times; /* what a sum of fp8 x fp8 products has to be multiplied by, where there is a
                          fragment for them */
    et_decode decode[ET_DTYPE_COUNT];
    const et_warpgroup_shape *warpgroup; /* NULL: every wave multiplies for itself */
    const et_box_shape *boxes;           /* NULL: rows are copied by the lanes */
    const void *own;                     /* what only the family knows */
} et_target;

/* LDS of a workgroup, in bytes, at most, where a CU holds so many. */
static inline int et_target_lds(const et_target *t, int occupancy) {
    return et_lds_share(t->lds_bytes, occupancy);
}

/* The instruction for OPERAND, or NULL. */
const et_fragment *et_target_fragment(const et_target *, et_dtype operand);
/* The one of a step that multiplies either way, or NULL. */
const et_fragment *et_target_maybe_packed(const et_target *, et_dtype operand);
/* Does it multiply weights that are packed (ir/weights/packed.h)? */
bool et_target_packs(const et_target *);

/* How many values a lane's places are of, and the part that value number I has in a place. */
int et_deal_values(const et_deal *);
int et_deal_value(const et_deal *, int i);
int et_deal_lane(const et_deal *, int lane); /* the part that the lane has */
int et_layout_groups(const et_layout *);     /* of k */
/* Elements of a sum of 16 x 16, or of fewer rows, that one lane holds. */
int et_layout_sums(const et_layout *);

#endif
