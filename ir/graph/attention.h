/* attention.h - the parts of an attention node.
 *
 * Its variables are the query i, the head h, the position p and the element d. Each part is an
 * attribute: an expression over some of them, symbols and loop variables, which reads the node's
 * arguments with LOADs of space ET_LOAD_ARG. The result has the dimensions of i, h and d:
 *
 *     weight(p) = exp(score(h, p)) for the positions p in [first, end) where mask(h, p) holds
 *     out[i, h, d] = sum_p weight(p) * v(h, p, d) / (exp(extra(h)) + sum_p weight(p))
 *
 * and 0 where there is no such position. In the score, ARG ET_ARG_QK is the product
 * sum_d q(h, d) * k(h, p, d). */
#ifndef ET_ATTENTION_H
#define ET_ATTENTION_H

#include "ir/graph/graph.h"

enum { ET_AT_I, ET_AT_H, ET_AT_P, ET_AT_D, ET_AT_VARS };

typedef enum {
    ET_AT_Q,
    ET_AT_K,
    ET_AT_V,
    ET_AT_FIRST, /* 0 where it is missing */
    ET_AT_END,   /* the extent of p */
    ET_AT_MASK,  /* every position */
    ET_AT_SCORE, /* the product */
    ET_AT_EXTRA, /* no term: exp(-infinity) */
    ET_AT_PARTS
} et_attention_part;

/* One row per part. */
typedef struct {
    const char *name; /* of the attribute, and of the keyword in .etg */
    const char *what; /* "the queries" */
    const char *over; /* the letters of the variables it may depend on */
    et_type type;
    bool required;
} et_attention_row;
extern const et_attention_row et_attention_rows[ET_AT_PARTS];

int et_attention_var(const et_node *, int which);
/* The part, or what stands for a missing one; none for a missing mask or extra term. FIRST is at
 * least 0 and END at most the extent of p. */
et_expr et_attention_part_of(et_exprs *, const et_node *, et_attention_part);

#endif
