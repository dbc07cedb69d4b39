#include "ir/program/modes.h"
#include <string.h>

const char *et_stage_name(int stage) {
    static const char *const names[] = {"",        "graph",  "fused",    "tiled",
                                        "evented", "placed", "scheduled"};
    return stage >= 0 && stage <= ET_STAGE_SCHEDULED ? names[stage] : NULL;
}

const char *et_schedule_name(int kind) {
    static const char *const names[] = {"", "static", "dynamic", "hybrid", "kernels"};
    return kind >= 0 && kind <= ET_SCHEDULE_KERNELS ? names[kind] : NULL;
}

int et_mode_find(const char *(*names)(int), const char *name) {
    for (int i = 0; names(i); i++)
        if (*name && strcmp(names(i), name) == 0) return i;
    return -1;
}
