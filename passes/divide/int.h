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
    struct div_cut (*arg)[ET_MAX_ARGS];
};
void div_join_pieces(et_graph *);
void div_apply(et_graph *, const struct div_plan *);

#endif
