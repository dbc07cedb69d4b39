/* The parts of a scan node. */
#include "ir/graph/scan.h"
#include "ir/graph/op_util.h"

const et_scan_row et_scan_rows[] = {
    {"fresh", "where a sequence begins", "i", ET_T_PRED, false, true},
    {"keep", "which rows have a state", "i", ET_T_PRED, false, false},
    {"look", "what is seen of the state", "irjs", ET_T_F32, false, true},
    {"next", "the next state", "irjsn", ET_T_F32, true, true},
    {"out", "the result", "irjs", ET_T_F32, true, true},
    {"then", "what becomes of the result", "irt", ET_T_F32, false, false},
};

int et_scan_vars(const et_node *n, int out[ET_SCAN_VARS]) {
    const et_attr *over = et_op_attr(n, "over", ET_A_VARS);
    et_check(over->n <= ET_SCAN_VARS);
    for (int v = 0; v < over->n; v++)
        out[v] = (int)over->ints[v];
    return over->n;
}

et_expr et_scan_part_of(const et_node *n, et_scan_part part) {
    const et_attr *a = et_attr_find(n, et_scan_rows[part].name);
    return a ? a->expr : ET_NO_EXPR;
}

const et_expr *et_scan_index(const et_node *n) {
    return et_op_attr(n, "index", ET_A_EXPRS)->exprs;
}
