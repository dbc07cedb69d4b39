/* lowering.h - what the passes from graph to tiled share: which values are materialised, and the
 * groups of the fused stage. */
#ifndef ET_LOWERING_H
#define ET_LOWERING_H

#include "ops.h"
#include "passes.h"
#include "program.h"

/* What a value's own expression holds once everything it inlines is counted. */
struct et_inline_facts {
    bool contract;  /* a CONTRACT leaf */
    bool reduction; /* a REDUCE node */
    bool costly;    /* a transcendental function per element */
};

/* One future task grid: everything computed per element of one tensor. */
typedef struct {
    enum { ET_GROUP_STORE, ET_GROUP_ATTEND } kind;
    const char *name;
    et_loc loc;
    const et_node *node; /* ATTEND: the attention node */
    int loop;            /* innermost loop or -1 */
    int rank;
    int axis[ET_MAX_RANK]; /* variables over the value's dimensions */
    et_expr dim[ET_MAX_RANK];
    et_expr mask;  /* elements that are stored, or none for all */
    et_place to;   /* over the axes */
    et_expr value; /* over the axes; LOAD of tensors, REDUCE, CONTRACT */
} et_group;

typedef struct {
    int uses;            /* nodes that read it */
    int deepest;         /* deepest loop nest that reads it */
    int depth;           /* loop nest that defines it */
    int position;        /* in program order */
    int tensor;          /* the tensor that holds it, or -1 to inline it */
    bool keep;           /* must be materialised */
    bool only_contracts; /* every reader is a contraction */
    struct et_inline_facts facts;
} et_value_info;

typedef struct et_lowering {
    et_graph *g;
    et_program *p;
    const et_pass_options *opt;
    et_lower lower;      /* value_at resolves a value to its tensor or its expression */
    et_value_info *info; /* by value id */
    int *position;       /* by node: in program order */
    bool *forced;        /* by value id: materialise, found necessary by a later step */
    et_group *groups;
    int ngroups, cgroups;
    bool again; /* a value was forced: start over */
} et_lowering;

/* Decide which values are materialised (lowering_plan.c). */
void et_plan_materialise(et_lowering *);
/* Ask for VALUE to be materialised and the lowering started over. */
void et_force(et_lowering *, int value);
/* The element of VALUE at INDEX under the plan. */
et_expr et_value_at(et_lowering *, et_value, const et_expr *index);

/* Lower one group to a device function and its grid (tile_*.c). False after a diagnostic, or with
 * lowering->again set. */
bool et_tile_group(et_lowering *, const et_group *);

#endif
