/* target.h - what codegen needs to know of one GPU, as tables. A target is one of these, in its
 * family's folder, and a row in targets.def; code outside asks the table and the family's functions
 * and never tests for a name. */
#ifndef ET_TARGET_H
#define ET_TARGET_H

#include "codegen/targets/family.h"
#include "codegen/targets/targets.h"

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

/* The family may make several instructions of one product, and call rows and k's by other numbers
 * than they do, as long as both operands and the sums agree. */
struct et_fragment {
    et_dtype operand;
    int lane_k; /* how many k of a row a lane holds */
    const et_layout *layout;
    const void *own;        /* what only the family knows: its instruction */
    const et_fragment *few; /* of the same operand, but with sums of eight rows m alone; or NULL */
    const void *packed;     /* as `own`, for `multiply_packed`; NULL: there is none */
};

struct et_target {
    const char *name; /* as LLVM calls the processor */
    const et_family *family;
    int wave;  /* work-items per wave */
    int loads; /* of 16 bytes that a lane has in flight for a product, when that is large enough */
    bool deep; /* registers have room for twice as many */
    bool rounds_apart; /* there is no instruction that rounds to bf16 */
    int simds;         /* that share the waves of a workgroup */
    int lds_bytes;     /* of what half keeps a second workgroup out, and what one may have */
    bool dies;         /* a workgroup can find out which die it is on */
    /* There is a fence that makes seen what workgroups of the same die have written and had
     * answered, and is less than that of the device. */
    bool die_fence;
    const et_fragment *fragments;
    int nfragments;
    /* The same for steps that multiply either way, as it is or packed, with sums in the same
     * places: of operands whose fragment above has no `packed`. */
    const et_fragment *either;
    int neither;
    int spread; /* a lane of `multiply_packed` has its k's so many at a time, those of other lanes
                   between; 0: all next to each other */
    float codes_times; /* what a sum of products of codes of e4m3 has to be multiplied by, where
                          there is a fragment for them */
    const et_group_family *group; /* NULL: every wave multiplies for itself */
    const et_bulk_family *bulk;   /* NULL: rows are copied by the lanes */
    const void *own;              /* what only the family knows */
};

/* The instruction for OPERAND, or NULL. */
const et_fragment *et_target_fragment(const et_target *, et_dtype operand);
/* The one of a step that multiplies either way, or NULL. */
const et_fragment *et_target_either(const et_target *, et_dtype operand);

/* How many values a lane's places are of, and the part that value number I has in a place. */
int et_deal_values(const et_deal *);
int et_deal_value(const et_deal *, int i);
int et_deal_lane(const et_deal *, int lane); /* the part that the lane has */
int et_layout_groups(const et_layout *);     /* of k */

#endif
