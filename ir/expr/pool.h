/* pool.h - what the files that implement expr.h share. */
#ifndef ET_EXPR_POOL_H
#define ET_EXPR_POOL_H

#include "ir/expr/expr.h"

struct et_sym_info {
    const char *name;
    int64_t lo, hi;
    bool open; /* it stays a symbol though it has one value */
};
struct et_var_info {
    const char *name;
    et_expr extent;
};

/* What traversals remember of the nodes they met, kept between them: a mark counts only while its
 * stamp is the traversal's own, so starting one costs nothing however large the pool is. A
 * traversal within another has a memory of its own, to a depth of ET_VISITS. */
enum { ET_VISITS = 4 };
struct et_visit {
    uint64_t *stamp; /* by node id */
    et_expr *to;     /* what the node became, where the stamp is this traversal's */
    int n;           /* nodes both have room for */
};
struct et_visits {
    struct et_visit level[ET_VISITS];
    uint64_t last; /* stamp given out */
    int depth;     /* traversals running */
    uint64_t work; /* nodes met by traversals that are over, and looked up */
};

/* Nearly all constants that passes ask for are dims of tiles and strides of lanes: they are found
 * without a hash. */
enum { ET_SMALL_INTS = 129 };

struct et_exprs {
    et_arena *arena;
    struct et_visits *visits;
    et_node_x *node; /* node[0] unused */
    int nnode, cnode;
    uint32_t *table; /* open addressing, power of two */
    uint32_t ntable;
    struct et_sym_info *sym;
    int nsym, csym;
    struct et_var_info *var;
    int nvar, cvar;
    uint32_t *named; /* variables by name, 1 + each; open addressing, power of two */
    uint32_t nnamed;
    et_expr small[ET_SMALL_INTS]; /* integers from 0 on that have been asked for; id 0: not yet */
};

/* The node of what is known to be an expression of this pool, as operands are. */
static inline const et_node_x *et_x_in(const et_exprs *p, et_expr e) {
    return &p->node[e.id];
}

/* The node with exactly these fields, made if new. No simplification. Sets the prototype's hash. */
et_expr et_intern(et_exprs *, et_node_x *proto);

/* What is known of a node of which everything else is set: its fields KNOWN, LO and HI. */
void et_note_range(const et_exprs *, et_node_x *);

/* Simplified integer arithmetic; operands are i32. */
et_expr et_int_op2(et_exprs *, et_xop, et_expr, et_expr);

/* Total order by content, see order.c: negative, zero when the ids are equal, positive. */
int et_expr_order(const et_exprs *, et_expr a, et_expr b);

#endif
