/* scope.h - scopes of events (scope.c). */
#ifndef ET_PASS_SCOPE_H
#define ET_PASS_SCOPE_H

#include "ir/program/program.h"

/* Set the scope of every event from the slices of the tasks that notify it and wait for it. */
void et_infer_scopes(et_program *);
/* A comment per loop: how many events MODEL's tasks notify there, or all (-1), of each scope. */
void et_tell_scopes(const et_program *, int model, FILE *);
/* Events of scope device in a launch of MODEL; those in loops count once an iteration. */
double et_device_events(const et_program *, int model);

#endif
