/* divide.h - a graph made into what each of several devices runs of it. */
#ifndef ET_DIVIDE_H
#define ET_DIVIDE_H

#include "ir/graph/graph.h"

/* Change G, which nothing has lowered, into the part of one of DEVICES devices, the same for all:
 * weights, states and outputs that are cut say so, sums over devices are exchanged. False after an
 * error: nothing can be cut, or G is for several models or devices already. */
bool et_divide(et_graph *, int devices);

#endif
