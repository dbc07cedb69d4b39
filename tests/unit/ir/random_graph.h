/* random_graph.h - well-formed graphs over every operator, of odd, prime and unit sizes. */
#ifndef TEST_IR_RANDOM_GRAPH_H
#define TEST_IR_RANDOM_GRAPH_H

#include "tests/unit/ir/build.h"

/* A value of every operator in OPS.DEF comes up over enough seeds. Two symbols, N and M. */
void random_graph(fixture *, int nodes);

#endif
