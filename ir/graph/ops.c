#include "ir/graph/op_util.h"
#include <string.h>

#define X(op, lo, hi, help) const char et_op_help_##op[] = help;
#include "ir/graph/ops.def"
#undef X

const et_op *et_op_find(const char *name) {
    static const et_op *const table[] = {
#define X(op, lo, hi, help) &et_op_##op,
#include "ir/graph/ops.def"
#undef X
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}
