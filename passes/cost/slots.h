/* slots.h - products of many rows whose weights come through the weight stream. */
#ifndef ET_SLOTS_H
#define ET_SLOTS_H

#include "passes/cost/cost.h"

/* Had the products of MODEL, of which some have a multistage pipeline, better have one
 * of rows alone, with weights in slots of the weight stream? The program is tiled, and weights may
 * come so (et_may_have_slots). */
bool et_slots_suit(const et_program *, const et_machine *, int model);

/* They have from here on. */
void et_slots_take(const et_program *, et_func *, const et_machine *);

#endif
