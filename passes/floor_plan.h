/* floor_plan.h - where on the chip everything of a launch runs and when, as the simulator predicts
 * it: one page that needs nothing but a browser. */
#ifndef ET_FLOOR_PLAN_H
#define ET_FLOOR_PLAN_H

#include "machine.h"
#include "profile.h"
#include "program.h"
#include <stdio.h>

/* Plays the scheduled program at the least, the middle and the largest values of its dims, and
 * writes the page; false where that fails. A launch that cannot be played has a note in place of
 * its drawing. Routing is drawn at random, the same each time. */
bool et_floor_plan(et_program *, const et_machine *, const et_profile *, FILE *);

/* What a launch with these symbols might find in the integer tensors it depends on
 * (floor_values.c): positions and the like count up, what is worked out from reals is worked out
 * from random ones. For et_sim_options.value, and not longer than the arena; freed with
 * et_sim_values_destroy. NULL where that is not to be had. */
struct et_sim_values *et_floor_values(et_arena *, et_program *, const int64_t *syms);

#endif
