/* modes.h - the stages of a program and the ways its tasks are given to workgroups, with the words
 * that .eti and command lines have for them. */
#ifndef ET_MODES_H
#define ET_MODES_H

#include <stdbool.h>

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

/* What was asked for, or what a program is: static where no grid is dynamic, claimed where besides
 * some have tiles that are claimed, dynamic where all are, hybrid where some are; or a sequence of
 * kernels. */
typedef enum {
    ET_SCHEDULE_NONE, /* not said: static */
#define SCHEDULE(kind, name, tasks, rule, kernels, help, means) ET_SCHEDULE_##kind,
#include "ir/program/schedules.def"
} et_schedule_kind;

/* A row of schedules.def. */
typedef struct {
    const char *name, *means;
    enum { ET_QUEUED_NONE, ET_QUEUED_ALL, ET_QUEUED_CHOSEN } queued; /* CHOSEN: task by task */
    bool kernels; /* a launch is a sequence of them */
    bool fixed;   /* it is one kernel, which goes through all tiles in program order */
} et_schedule;
const et_schedule *et_schedule_of(et_schedule_kind);

/* "graph", "static"; NULL past the last one. They take integers, as tables of options call them. */
const char *et_stage_name(int stage);
const char *et_schedule_name(int kind);
/* The number of the one called NAME, of names in such a table; -1: none. */
int et_mode_find(const char *(*names)(int), const char *name);

#endif
