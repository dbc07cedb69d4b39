/* problem.h - what solve.c and eliminate.c share. */
#ifndef ET_VERIFY_PROBLEM_H
#define ET_VERIFY_PROBLEM_H

#include "ir/verify/steps/solve.h"

struct vs_dom {
    int64_t lo, hi;
};

struct vs_prod {
    int z, x, y;
};

struct vs_node {
    enum { VS_LINEAR, VS_BOTH, VS_EITHER, VS_NEVER } kind;
    vs_linear f; /* LINEAR: is at least 0 */
    vs_cond a, b;
};

/* Room for what there was before a choice, by depth. */
struct vs_room {
    struct vs_dom *dom;
    int *either;
    int ndom, nor;
};

enum { VS_ROWS = 160 };

struct vs_problem {
    et_arena *arena;
    struct vs_dom *dom; /* by number */
    int n, cap;
    struct vs_prod *product;
    int nproduct, cproduct;
    struct vs_node *cond; /* by id; 0 is VS_ANY */
    int ncond, ccond;
    int *lin, nlin, clin;  /* asserted: inequalities */
    int *either, nor, cor; /* asserted: alternatives not yet chosen from */
    bool failed;           /* asserted: what never holds */
    struct vs_room *room;
    int64_t *value;
    int nvalue, nodes;
    int64_t work;
    vs_linear *rows; /* of eliminate.c */
    bool *bounding;
};

/* Some sum of the asserted inequalities, the bounds of numbers and what is known of products, with
 * factors that are not negative, is less than 0 everywhere. */
bool vs_eliminate(vs_problem *);

#endif
