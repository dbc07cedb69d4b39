/* floor_plan.h - when and where on the chip the tasks of launches run, as the simulator predicts:
 * the page of a timeline. */
#ifndef ET_FLOOR_PLAN_H
#define ET_FLOOR_PLAN_H

#include "ir/program/program.h"
#include "passes/machine/machine.h"
#include "passes/machine/profile.h"
#include <stdio.h>

/* Plays the scheduled program at the least, the middle and the largest values of its dims, and
 * writes the page; false where that fails. A launch that cannot be played has a note in place of
 * its drawing. Routing is drawn at random, the same each time. */
bool et_floor_plan(et_program *, const et_machine *, const et_profile *, FILE *);

#endif
