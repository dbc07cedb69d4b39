#include "ir/program/modes.h"
#include <string.h>

const char *et_stage_name(int stage) {
    static const char *const names[] = {"",        "graph",  "fused",    "tiled",
                                        "evented", "placed", "scheduled"};
    return stage >= 0 && stage <= ET_STAGE_SCHEDULED ? names[stage] : NULL;
}

static const et_schedule schedules[] = {
    [ET_SCHEDULE_NONE] = {.name = "", .fixed = true},
#define SCHEDULE(kind, name, tasks, rule, kernels, help, means)                                    \
    {name, means, ET_QUEUED_##tasks, kernels, ET_QUEUED_##tasks == ET_QUEUED_NONE && !kernels},
#include "ir/program/schedules.def"
};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

const et_schedule *et_schedule_of(et_schedule_kind kind) {
    return &schedules[kind];
}

const char *et_schedule_name(int kind) {
    return kind >= 0 && kind < SCHEDULES ? schedules[kind].name : NULL;
}

int et_mode_find(const char *(*names)(int), const char *name) {
    for (int i = 0; names(i); i++)
        if (*name && strcmp(names(i), name) == 0) return i;
    return -1;
}
