/* problem.h - what solve.c, eliminate.c and multiply.c share. */
#ifndef ET_VERIFY_STEPS_PROBLEM_H
#define ET_VERIFY_STEPS_PROBLEM_H

#include "ir/verify/steps/solve.h"

struct sv_dom {
    int64_t lo, hi;
    bool dim; /* what sizes are made of */
};

struct sv_prod {
    int z, x, y;
};

/* Number Q is the floor of OF / BY. */
struct sv_quot {
    int q;
    sv_linear of, by;
};

/* Number NUMBER is the sum OF. */
struct sv_part {
    int number;
    sv_linear of;
};

struct sv_node {
    enum { SV_LINEAR, SV_BOTH, SV_EITHER, SV_NEVER } kind;
    sv_linear f; /* LINEAR: is at least 0 */
    sv_cond a, b;
};

/* Room for what there was before a choice, by depth. */
struct sv_room {
    struct sv_dom *dom;
    int *either;
    int ndom, nor;
};

enum { SV_ROWS = 160 };

struct sv_problem {
    et_arena *arena;
    struct sv_dom *dom; /* by number */
    int n, cap;
    struct sv_prod *product;
    int nproduct, cproduct;
    struct sv_quot *quotient;
    int nquotient, cquotient;
    struct sv_part *part;
    int npart, cpart;
    struct sv_node *cond; /* by id; 0 is SV_ANY */
    int ncond, ccond;
    int *lin, nlin, clin;  /* asserted: inequalities */
    int *either, nor, cor; /* asserted: alternatives not yet chosen from */
    bool failed;           /* asserted: what never holds */
    bool left_out;         /* not all is said */
    struct sv_room *room;
    int64_t *value;
    int nvalue, nodes;
    int64_t work, until, most; /* done so far, at most for now, at most for one sv_solve or 0 */
    sv_linear *rows;           /* of eliminate.c */
    bool *bounding;
    struct sv_products *products; /* of multiply.c */
};

/* Some sum of the asserted inequalities, the bounds of numbers and what is known of products, with
 * factors that are not negative, is less than 0 everywhere. */
bool sv_eliminate(sv_problem *);
/* Some sum of the asserted inequalities, and of those times numbers that are not negative, is. */
bool sv_multiply(sv_problem *);

#endif
