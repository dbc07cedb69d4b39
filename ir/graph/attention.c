/* The parts of an attention node. */
#include "ir/graph/attention.h"
#include "ir/graph/op_util.h"

const et_attention_row et_attention_rows[] = {
    {"q", "the queries", "ihd", ET_T_F32, true},
    {"k", "the keys", "ihpd", ET_T_F32, true},
    {"v", "the values", "ihpd", ET_T_F32, true},
    {"first", "the first position", "i", ET_T_I32, false},
    {"end", "the end of the positions", "i", ET_T_I32, false},
    {"mask", "the mask", "ihp", ET_T_PRED, false},
    {"score", "the score", "ihp", ET_T_F32, false},
    {"extra", "the extra term", "ih", ET_T_F32, false},
};

int et_attention_var(const et_node *n, int which) {
    return (int)et_op_attr(n, "over", ET_A_VARS)->ints[which];
}

et_expr et_attention_part_of(et_exprs *x, const et_node *n, et_attention_part part) {
    const et_attr *a = et_attr_find(n, et_attention_rows[part].name);
    et_expr size = et_var_extent(x, et_attention_var(n, ET_AT_P)), zero = et_int(x, 0);
    switch (part) {
    case ET_AT_FIRST:
        return a ? et_op2(x, ET_X_MAX, a->expr, zero) : zero;
    case ET_AT_END:
        return a ? et_op2(x, ET_X_MIN, et_op2(x, ET_X_MAX, a->expr, zero), size) : size;
    case ET_AT_SCORE:
        return a ? a->expr : et_arg(x, ET_ARG_QK, ET_T_F32);
    default:
        return a ? a->expr : ET_NO_EXPR;
    }
}
