/* scan.h - the parts of a scan node: a state that is carried along rows.
 *
 * Its variables are the row i, up to three more of the result (a head, a channel of it), r, and the
 * element j of the state. The state is argument 0, f32. For each row in turn, and each r:
 *
 *     s[j] = 0 where FRESH(i) holds or KEEP(i) does not, else state[index(i, r, j)]
 *     seen = sum_j look(i, r, j, s[j])
 *     s[j] = next(i, r, j, s[j], seen)
 *     out[i, r] = sum_j out(i, r, j, s[j])
 *     state[index(i, r, j)] = s[j] where KEEP(i) holds
 *
 * Groups and steps may have one part more, of what a map makes of the result: what is stored is
 * then(i, r, sum), where sum, ARG ET_ARG_SUM, is what out[i, r] is here.
 * So rows of one sequence follow one another in the order in which they stand, whatever stands
 * between them, and what a launch leaves is what the next one begins with. Each part is an
 * attribute, an expression over some of the variables, symbols and loop variables that reads
 * arguments, but not the state, with LOADs of space ET_LOAD_ARG; s[j] is ARG ET_ARG_STATE, seen ARG
 * ET_ARG_SEEN. Each r and j is by itself one of the state's indices; the others depend on i alone.
 */
#ifndef ET_SCAN_H
#define ET_SCAN_H

#include "ir/graph/graph.h"

typedef enum {
    ET_SC_FRESH, /* nowhere */
    ET_SC_KEEP,  /* everywhere */
    ET_SC_LOOK,  /* nothing is seen */
    ET_SC_NEXT,
    ET_SC_OUT,
    ET_SC_THEN, /* the result as it is; never of a node */
    ET_SC_PARTS
} et_scan_part;

/* One row per part. */
typedef struct {
    const char *name; /* of the attribute, and of the keyword in .etg */
    const char *what; /* "the next state" */
    const char *over; /* i, r, j: variables; s, n, t: element of the state, what is seen, the sum */
    et_type type;
    bool required, written; /* WRITTEN: in .etg */
} et_scan_row;
extern const et_scan_row et_scan_rows[ET_SC_PARTS];

enum { ET_SCAN_VARS = 5 }; /* i, r, j at most */

int et_scan_vars(const et_node *, int out[ET_SCAN_VARS]); /* how many */
et_expr et_scan_part_of(const et_node *, et_scan_part);   /* none where it is missing */
const et_expr *et_scan_index(const et_node *);            /* of the state */

#endif
