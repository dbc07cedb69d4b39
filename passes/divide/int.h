/* int.h - what the files of the room share. */
#ifndef ET_DIVIDE_INT_H
#define ET_DIVIDE_INT_H

#include "ir/graph/attention.h"
#include "ir/graph/op_util.h"
#include "passes/divide/divide.h"

enum { WHOLE = -1 }; /* in place of an axis */

/* Which axis of each argument is cut where axis AXIS of the result of N is: WHOLE for one of which
 * every device needs all. False: no device could compute its part from parts. */
bool div_axes(et_graph *, const et_node *, int axis, int devices, int out[ET_MAX_ARGS]);
/* Which axis of the state an update cuts whose value is cut along AXIS; WHOLE: it cannot. */
int div_updated_axis(const et_node *, int axis);
/* Axis AXIS of a value has equal parts. */
bool div_has_parts(const et_graph *, const et_shape *, int axis, int devices);
/* N says in its attributes what follows from the shape of its result, cut along AXIS. */
void div_cut_attributes(et_graph *, et_node *, int axis, int devices);

/* By value: the axis that is cut, or WHOLE; whether it is partial over devices; and whether, cut or
 * not for others, somebody reads all of it. By node and
 * argument: the axis along which a weight is cut that others may read whole. */
struct div_plan {
    int devices;
    const int *axis, *needed;
    const bool *partial;
    int (*arg)[ET_MAX_ARGS];
};
void div_apply(et_graph *, const struct div_plan *);

#endif
