/* What names a task, in a function that may be for several: by the grid's row of a table then
 * (cg_names). */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"

static val read_word(cg *g, int word) {
    val v = LLVMBuildLoad2(g->b, g->i64, cg_gepi(g, g->row, 8 * word), "");
    LLVMSetAlignment(v, 8);
    return cg_invariant(g, v);
}

static val read_i32(cg *g, int word) {
    return LLVMBuildTrunc(g->b, read_word(g, word), g->i32, "");
}

bool cg_wants(const cg *g, int tensor) {
    return !g->names || g->names->wanted[tensor];
}

val cg_tensor_place(cg *g, int tensor) {
    return g->row ? read_word(g, g->names->tensor[tensor]) : NULL;
}

val cg_task_number(cg *g, int grid) {
    return g->row ? read_i32(g, 0) : cg_i32(g, g->first_task + grid);
}

static int event_word(const cg *g, int event) {
    int n = g->names->event[event];
    et_check(n > 0);
    return 1 + g->names->ntensors + CG_ROW_EVENT * (n - 1);
}

val cg_event_number(cg *g, int event) {
    return g->row ? read_i32(g, event_word(g, event) + 1) : cg_i32(g, g->first_event + event);
}

val cg_event_word(cg *g, int event, val index) {
    if (!g->row) return cg_addi(g, index, g->p->events[event].base);
    return cg_add(g, index, read_i32(g, event_word(g, event)));
}
