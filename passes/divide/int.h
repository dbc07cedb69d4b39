/* int.h - what the files of the room share. */
#ifndef ET_DIVIDE_INT_H
#define ET_DIVIDE_INT_H

#include "ir/graph/attention.h"
#include "ir/graph/op_util.h"
#include "passes/divide/divide.h"

enum { WHOLE = -1 }; /* in place of an axis */

/* How a value is cut: along AXIS, in a part for every REPEAT devices that follow each other. */
struct div_cut {
    int axis, repeat;
};

/* Which axis of each argument is cut where axis AXIS of the result of N is, in so many PARTS: WHOLE
 * for one of which every device needs all. OUT_REPEAT: as many parts next to each other of the
 * result are made of one part of the argument. False: no device could compute its part from parts.
 */
bool div_axes(et_graph *, const et_node *, int axis, int parts, int out[ET_MAX_ARGS],
              int out_repeat[ET_MAX_ARGS]);
/* Which axis of the state an update cuts whose value is cut along AXIS; WHOLE: it cannot. */
int div_updated_axis(const et_node *, int axis);
/* Axis AXIS of a value has so many equal parts. */
bool div_has_parts(const et_graph *, const et_shape *, int axis, int parts);
/* N says in its attributes what follows from the shape of its result, cut along AXIS. */
void div_cut_attributes(et_graph *, et_node *, int axis, int parts);
/* Is N a part of its argument from an element on, *OUT_FIRST of axis *OUT_AXIS, and so is AXIS of
 * its result? */
bool div_is_piece(const et_graph *, const et_node *, int axis, int *out_axis, int64_t *out_first);
/* N gathers rows of a table in parts for its result in PARTS: how many of these, next to each
 * other, are of one part of the table, and each device needs the first of the indices alone. 0: not
 * so. */
int div_follows(et_graph *, const et_node *, int axis, int parts);

/* By value: how it is cut, whether it is partial over devices; and whether, cut or not for others,
 * somebody reads all of it. By node and argument: how a weight is cut that others may read whole.
 */
struct div_plan {
    int devices;
    const struct div_cut *cut;
    const int *needed;
    const bool *partial;
    const struct div_cut *gathered; /* how each device has a part of what all then get */
    struct div_cut (*arg)[ET_MAX_ARGS];
    const bool *part; /* it is partial, exchanged or not (late.c) */
    bool *through;    /* by node: of what is partial it computes what is */
};
/* How the node of X computes it: as others read it, or a part of that. */
static inline struct div_cut div_made(const struct div_plan *p, et_value x) {
    return p->gathered[x.id].axis != WHOLE ? p->gathered[x.id] : p->cut[x.id];
}

/* A node in a block that is being gone through, in place of statement AT; its result. */
struct div_block {
    et_graph *g;
    int loop; /* -1: outside of all */
    int at;   /* a statement, which comes one later with each node before it */
};
et_value div_node_before(struct div_block *, const et_op *, int nargs, const et_value *args,
                         int nattrs, const et_attr *, et_loc);
/* The node before the statement computes part CUT of its result, which takes the place of that for
 * all who read it once every device has sent the others its part. */
void div_gather(struct div_block *, int node, struct div_cut cut, int devices);
/* X, which node LAST of the graph computes, and no value of its own. */
void div_take_result(et_graph *, et_value from, et_value x);

/* Exchanges of P come as late as less is exchanged so. */
void div_exchange_late(et_graph *, struct div_plan *p);
/* The first NNODES nodes, in the block of LOOP, of those that P goes through: a device adds its
 * share of what all have. */
void div_add_shares(et_graph *, const struct div_plan *p, int nnodes, int loop);

void div_join_pieces(et_graph *);
void div_apply(et_graph *, const struct div_plan *);

#endif
