/* modes.h - the stages of a program and the ways its tasks are given to workgroups, with the words
 * that .eti and command lines have for them. */
#ifndef ET_MODES_H
#define ET_MODES_H

/* In the order a compilation goes through them. */
typedef enum {
    ET_STAGE_NONE, /* not said */
    ET_STAGE_GRAPH,
    ET_STAGE_FUSED,
    ET_STAGE_TILED,
    ET_STAGE_EVENTED,
    ET_STAGE_PLACED,
    ET_STAGE_SCHEDULED
} et_stage;

typedef enum {
    ET_SCHEDULE_NONE,    /* not said */
    ET_SCHEDULE_STATIC,  /* no grid is dynamic */
    ET_SCHEDULE_DYNAMIC, /* all grids are */
    ET_SCHEDULE_HYBRID,  /* some are */
    ET_SCHEDULE_KERNELS, /* none is; a launch is a sequence of kernels, one for each grid */
} et_schedule_kind;

/* "graph", "static"; NULL past the last one. They take integers, as tables of options call them. */
const char *et_stage_name(int stage);
const char *et_schedule_name(int kind);
/* The number of the one called NAME, of names in such a table; -1: none. */
int et_mode_find(const char *(*names)(int), const char *name);

#endif
