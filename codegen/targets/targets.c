/* The table of all targets. */
#include "codegen/targets/targets.h"
#include <string.h>

#define X(family, name) extern const et_target et_##family##_##name;
#include "codegen/targets/targets.def"
#undef X

static const et_target *const targets[] = {
#define X(family, name) &et_##family##_##name,
#include "codegen/targets/targets.def"
#undef X
};
enum { NTARGETS = sizeof targets / sizeof *targets };

const et_target *et_target_find(const char *name) {
    for (int i = 0; i < NTARGETS; i++)
        if (strcmp(targets[i]->name, name) == 0) return targets[i];
    return NULL;
}

const char *et_target_name(int i) {
    return i >= 0 && i < NTARGETS ? targets[i]->name : NULL;
}
