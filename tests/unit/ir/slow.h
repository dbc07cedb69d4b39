/* slow.h - evaluates lowered expressions element by element, recursively, in double. */
#ifndef TEST_IR_SLOW_H
#define TEST_IR_SLOW_H

#include "tests/unit/ir/build.h"

typedef struct slow slow;
slow *slow_create(fixture *); /* after the graph was run: loads read the fixture's tensors */
void slow_destroy(slow *);
/* The element of V at INDEX through the lowering rule of its operator, its arguments inlined. */
double slow_at(slow *, et_value v, const int64_t *index);

#endif
