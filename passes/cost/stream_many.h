/* stream_many.h - products of many rows whose weights come through the weight stream. */
#ifndef ET_STREAM_MANY_H
#define ET_STREAM_MANY_H

#include "passes/cost/cost.h"

/* Is MODEL, some of whose products have a multistage pipeline, faster with pipelines of rows alone
 * and weights in the weight stream? P is tiled, and weights may stream (et_may_have_slots). */
bool et_stream_many_suits(const et_program *, const et_machine *, int model);

/* Converts the products of a function to that. */
void et_stream_many_convert(const et_program *, et_func *, const et_machine *);

#endif
