/* Placement and schedule. Every grid runs on every CU; tile t of a grid goes to workgroup
 * (base + t) mod W, with base counting the tiles of all grids before it, so that a grid starts on
 * the workgroups its predecessor left idle. Nothing is stored: the loops over tiles are code. */
#include "pipeline.h"

bool et_pass_place(et_pipeline *pl) {
    for (int i = 0; i < pl->p->nevents; i++)
        pl->p->events[i].scope = ET_SCOPE_DEVICE;
    return true;
}

/* Every workgroup visits grids in program order and waits only for grids before it in that order,
 * so one workgroup alone would finish: the schedule cannot deadlock for any number of them. */
bool et_pass_schedule(et_pipeline *pl) {
    pl->p->schedule = "static";
    return true;
}
