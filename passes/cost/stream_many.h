/* stream_many.h - products of many rows whose weights come through the weight stream. */
#ifndef ET_STREAM_MANY_H
#define ET_STREAM_MANY_H

#include "passes/cost/cost.h"

/* Had the products of MODEL, of which some have a multistage pipeline, better have one
 * of rows alone, with weights in slots of the weight stream? The program is tiled, and weights may
 * come so (et_may_have_slots). */
bool et_stream_many_suits(const et_program *, const et_machine *, int model);

/* They have from here on. */
void et_stream_many_convert(const et_program *, et_func *, const et_machine *);

#endif
