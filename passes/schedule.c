/* Placement and schedule. Every grid runs on every CU; tile t of a grid goes to workgroup
 * (base + t) mod W, with base counting the tiles of all grids before it, so that a grid starts on
 * the workgroups its predecessor left idle. Nothing is stored: the loops over tiles are code. */
#include "pipeline.h"
#include <string.h>

bool et_pass_place(et_pipeline *pl) {
    for (int i = 0; i < pl->p->nevents; i++)
        pl->p->events[i].scope = ET_SCOPE_DEVICE;
    return true;
}

bool et_pass_schedule(et_pipeline *pl) {
    et_program *p = pl->p;
    const char *how = pl->opt->schedule ? pl->opt->schedule : "static";
    p->schedule = how;
    for (int i = 0; i < p->ngrids; i++)
        p->grids[i].dynamic = strcmp(how, "dynamic") == 0;
    return true;
}
