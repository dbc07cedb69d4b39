/* lowering.h - what the fuse pass decides: which values of the graph are materialised. */
#ifndef ET_LOWERING_H
#define ET_LOWERING_H

#include "ir/graph/ops.h"
#include "ir/program/program.h"
#include "passes/cost/cost.h"
#include "passes/pipeline/options.h"

typedef struct et_prices et_prices;

/* A row this long is still cheap to reduce again in every tile that reads it. */
enum { ET_RECOMPUTE_ROW = 16384 };

/* What a value's expression has, with all that is inlined in it. */
struct et_inline_facts {
    bool contract;  /* a CONTRACT leaf */
    bool reduction; /* a REDUCE node */
    bool costly;    /* a transcendental function per element */
    bool state;     /* a state, which may be updated before its reader runs */
    bool sum;       /* a large sum over devices, for whoever stores it */
};

typedef struct {
    int uses;            /* nodes that read it */
    double taken;        /* times that nodes together read all of it; slices count in part */
    int deepest;         /* deepest loop nest that reads it */
    int depth;           /* loop nest that defines it */
    int position;        /* in program order */
    int tensor;          /* the tensor that holds it, or -1 to inline it */
    bool keep;           /* is materialised */
    bool must;           /* it cannot be inlined */
    bool partial;        /* exchanged: each device has a part of the sum */
    int own;             /* PARTIAL: 1 + the dimension with an index for each device, or 0 */
    int loop;            /* innermost around its node, or -1 */
    bool fixed;          /* weights and constants alone decide it: the same in every launch */
    bool only_contracts; /* every reader is a contraction */
    int levels;          /* the longest chain of values folded into it */
    int scan;            /* the value of the scan that it is a map of, and no other reads; or 0 */
    bool ends_scan;      /* the last of these */
    int last_group;      /* the last group that it was folded into, from 1 */
    int asks;            /* elements of values that an element of it reads, over all levels */
    int gathers;         /* the most of them folded one into the next */
    struct et_inline_facts facts;
} et_value_info;

struct et_folded {
    int group, value;
};

/* The order of a weight's dimensions in memory: at place d dimension order[d] of the checkpoint,
 * one with the dimension in front of it where joined[d]. */
typedef struct {
    unsigned char order[ET_MAX_RANK];
    bool joined[ET_MAX_RANK];
} et_relaying;

typedef struct et_lowering {
    et_graph *g;
    et_program *p;
    et_lower lower;      /* value_at resolves a value to its tensor or its expression */
    et_value_info *info; /* by value id */
    int *position;       /* by node: in program order */
    bool *forced;        /* by value id: materialise, found necessary by a later step */
    et_relaying *
        *relaying;       /* by value id of a weight that is relaid out; NULL before that is known */
    signed char *choice; /* by value id: 1 materialise, 0 inline if that is possible, -1 by rule */
    const et_expr *scanned;   /* of the scan that a group is made of: the indices of its result */
    bool again;               /* a value was forced: start over */
    bool apart;               /* sums over devices get tensors of their own */
    bool same_sums;           /* as of et_pass_options */
    int workgroup, occupancy; /* of the program: as of the machine */
    int64_t most_tagged;      /* bytes of a sum over devices whose elements have a tag each */
    et_dtype parts;           /* of larger ones */
    struct et_folded *folded; /* which values each group holds, in the order of the groups */
    int nfolded, cfolded;
    struct et_names *tensor_names, *group_names;
    et_prices *prices; /* of groups of plans, while plans are compared; or NULL */
    int64_t asked;     /* elements of values, since the beginning */
    int *seen, visit;  /* by value, two marks: the number of the visit that met it last */
} et_lowering;

/* Lower the graph to groups, tiled as a trial, under the choices in lo->choice; false after a
 * diagnostic (fuse.c). */
bool et_lower_graph(et_lowering *, const et_pass_options *);
/* Make the groups of the plan in lo->choice and lo->forced (groups.c). */
void et_build_groups(et_lowering *);
/* Make GR the group of an attention, whose result has the indices AT (attend.c). */
void et_attend_group(et_lowering *, et_group *gr, const et_node *, const et_expr *at);
/* scan.c. Find the scans that may be stored as what maps make of them. */
void et_find_maps_of_scans(et_lowering *);
/* The scan whose result is stored as V, under the plan; NULL: none is. */
const et_node *et_scan_in(const et_lowering *, et_value v);
/* The sum of scan V at INDEX, in the group that stores what becomes of it. */
et_expr et_sum_of_scan(et_lowering *, et_value v, const et_expr *index);
/* Make GR the group of a scan, whose result has the indices AT and is stored as that of node AS. */
void et_scan_group(et_lowering *, et_group *gr, const et_node *, const et_node *as,
                   const et_expr *at);
/* Elements of the K largest numbers become maxima in place of ranks, where these would take longer
 * (largest.c). */
void et_take_largest(et_graph *, const et_machine *);
/* Are elements of N the numbers of the K largest of a row, one after the other? */
bool et_is_of_largest(const et_graph *, const et_node *n);
/* How often each value is read; what nobody reads is no statement any more, and does not read. */
int *et_reads_of(const et_graph *);
void et_drop_unread(et_graph *, int *reads);
/* The experts of one token are not sorted, and the sum over them is one product (experts.c). */
void et_join_experts(et_graph *, const et_pass_options *);
/* Choose in which order the dimensions of weights lie (relaid.c). */
void et_relay_weights(et_lowering *, const et_pass_options *);
void et_relay_tensor(et_lowering *, et_tensor *, const et_relaying *);
/* The index there of the element at INDEX; returns its rank. */
int et_relaid_index(et_lowering *, const et_tensor *, const et_relaying *, const et_expr *index,
                    et_expr *out);
/* Set the choices that options decide (search.c). */
void et_leave_out_choices(et_lowering *, const et_pass_options *);
/* Choose by cost (search.c); leaves the best choices in lo->choice. */
void et_search_fusion(et_lowering *, const et_pass_options *);

/* Prices of groups, tiled by rule, by what they compute: most groups of a plan were in plans before
 * it and are neither tiled nor priced again (prices.c). */
et_prices *et_prices_create(const et_machine *, int64_t syms[ET_SAMPLES][ET_MAX_SYMS]);
void et_prices_free(et_prices *);
bool et_price_is_known(et_prices *, et_program *, int group);
/* The price of a launch of P; groups with a known price need no functions. */
void et_prices_add_up(et_prices *, et_program *p, int64_t trips, et_cost out[ET_SAMPLES]);

/* A new tensor of SHAPE, called NAME or with a suffix, for values of V. */
int et_add_tensor(et_lowering *, et_tensor_kind, const char *name, et_value v, const et_shape *);
/* Cut products along k where that pays (split.c). Numbers of groups are others afterwards. */
void et_split_products(et_lowering *, const et_pass_options *);
/* Reorder the groups: those that wait for less first (order.c). Tilings and lists of folded values
 * keep the numbers from before. */
void et_order_groups(et_lowering *);

/* Decide which values are materialised (plan.c). */
void et_plan_materialise(et_lowering *);
/* Have VALUE materialised, and the lowering started over. */
void et_force(et_lowering *, int value);
/* DIM, or its largest value where it depends on variables of loops. */
et_expr et_most(const et_lowering *, et_expr dim);
/* A new temporary for VALUE, of its shape, with dimensions for loops where it is exchanged. */
int et_temp_for(et_lowering *, et_value);
/* Give loop-carried values their tensors (carries.c). */
void et_assign_carries(et_lowering *);
/* Does E, an expression of GR, read what the group overwrites for another of its elements
 * (update.c)? */
bool et_reads_what_it_overwrites(et_lowering *, const et_group *gr, et_expr e);
/* Is E, the group's place along its first axis, another one for each index, or read from another
 * element of a tensor for each? Other indices have to be stored by one task: the verifier knows
 * only of elements of a tensor that they may name the same place. */
bool et_goes_alone(et_lowering *, const et_group *gr, et_expr e);
/* The element of VALUE at INDEX under the plan. */
et_expr et_value_at(et_lowering *, et_value, const et_expr *index);

/* Is the product N one row of f32, of which a matrix instruction would multiply sixteen, or a few
 * by few columns, with so many k that work-items have enough to add? Then its columns are sums,
 * that any number of tiles share. With more rows it is a product, in the order of sums that all
 * launches of more rows have. */
bool et_is_row_of_sums(const et_lowering *, const et_node *n);
/* The left operand of product N at INDEX (norm.c). */
et_expr et_left_at(et_lowering *, const et_node *n, const et_expr *index);
/* Is V what a router takes the norm of itself? It needs a tensor then: what V is the sum of may be
 * overwritten before the router reads it. */
bool et_feeds_router(const et_lowering *, et_value v);
/* Its element at INDEX, of two dimensions, as such a sum. */
et_expr et_row_of_sums(et_lowering *, const et_node *n, const et_expr *index);

#endif
