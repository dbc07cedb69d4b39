/* Scalar values: expressions, elements of tensors and local buffers. */
#include "ir/expr/int_ops.h"
#include "ir/expr/philox.h"
#include "ir/expr/scalar.h"
#include "ir/interp/run.h"
#include "ir/program/deal.h"
#include <string.h>

/* A load that finds another number than it asks for would wait in vain on a device, or never end.
 */
static void check_tag(struct run *m, int tensor, int64_t at, bool is_store) {
    int32_t *tag = &m->tag[tensor][at];
    int64_t now = m->step->tag.id ? run_eval_i(m, m->step->tag) + 1 : 0;
    char task[160];
    if (is_store && now > *tag)
        *tag = (int32_t)now;
    else if (is_store || *tag != now)
        run_fail(m, "task %s, step %d, %s element %lld of %%%s with tag %lld, where there is %d",
                 run_task_name(m, m->now, task), (int)(m->step - m->f->steps) + 1,
                 is_store ? "stores" : "takes", (long long)at, m->p->tensors[tensor].name,
                 (long long)now - 1, *tag - 1);
}

static bool is_exchanged(const struct run *m, int tensor) {
    return m->inbox && et_in_inbox(&m->p->tensors[tensor]);
}

/* The place of an element, which is number *OUT_AT there; NULL outside of the tensor. */
static char *element(struct run *m, int tensor, const et_expr *index, bool is_store,
                     int64_t *out_at) {
    const et_tensor *t = &m->p->tensors[tensor];
    const int64_t *dim = m->dim[tensor];
    int64_t at = 0;
    for (int d = 0; d < t->shape.rank; d++) {
        int64_t i = run_eval_i(m, index[d]);
        if (i < 0 || i >= dim[d]) {
            char task[160];
            run_fail(m, "task %s: index %lld of dimension %d of %s is outside [0, %lld)",
                     run_task_name(m, m->now, task), (long long)i, d, t->name, (long long)dim[d]);
            return NULL;
        }
        at = at * dim[d] + i;
    }
    if (m->failed) return NULL;
    run_touch(m, ET_LOAD_TENSOR, tensor, at, is_store);
    /* Who stored what devices share is kept with it (devices.c). */
    bool elsewhere = t->shared && m->inbox;
    if (m->shadow && is_store && !elsewhere)
        run_shadow_write(m, tensor, at);
    else if (m->shadow && !elsewhere)
        run_shadow_read(m, tensor, at);
    if (t->tagged && !t->partial && !m->failed && m->step) check_tag(m, tensor, at, is_store);
    *out_at = at;
    return m->memory[tensor];
}

static float *local_element(struct run *m, int local, const et_expr *index, bool is_store) {
    const et_local *l = &m->f->locals[local];
    int64_t at = 0;
    for (int d = 0; d < l->rank; d++) {
        int64_t i = run_eval_i(m, index[d]);
        if (i < 0 || i >= l->dim[d]) {
            run_fail(m, "%s: index %lld of dimension %d of local %s is outside [0, %d)", m->f->name,
                     (long long)i, d, l->name, l->dim[d]);
            return NULL;
        }
        at = at * l->dim[d] + i;
    }
    run_touch(m, ET_LOAD_LOCAL, local, at, is_store);
    if (m->written && !is_store && !m->written[local][at]) {
        char task[160];
        run_fail(m, "task %s, step %d, reads element %lld of $%s, which no step has written",
                 run_task_name(m, m->now, task), (int)(m->step - m->f->steps) + 1, (long long)at,
                 l->name);
        return NULL;
    }
    if (m->written && is_store) m->written[local][at] = 1;
    return m->local[local] + at;
}

static int64_t bits_i(const float *f) {
    int32_t i;
    memcpy(&i, f, 4);
    return i;
}

static int64_t compare(struct run *m, const et_node_x *n) {
    bool is_float = et_x(m->x, n->ops[0])->type == ET_T_F32;
    if (is_float) return et_compare_op(n->op, run_eval_f(m, n->ops[0]), run_eval_f(m, n->ops[1]));
    int64_t a = run_eval_i(m, n->ops[0]);
    return et_int_total(n->op, a, run_eval_i(m, n->ops[1]));
}

int64_t run_eval_i(struct run *m, et_expr e) {
    const et_node_x *n = et_x(m->x, e);
    switch (n->op) {
    case ET_X_INT:
        return n->n;
    case ET_X_SYM:
        return m->syms[n->i];
    case ET_X_VAR:
        return m->vars[n->i];
    case ET_X_LOAD:
        if (n->i2 == ET_LOAD_LOCAL) {
            const float *l = local_element(m, n->i, n->ops, false);
            return l ? bits_i(l) : 0;
        } else {
            int64_t i;
            const char *data = element(m, n->i, n->ops, false, &i);
            int dtype = (int)m->p->tensors[n->i].shape.dtype;
            return data ? (int64_t)etrt_element(dtype, data, i) : 0;
        }
    case ET_X_SELECT:
        return run_eval_i(m, run_eval_i(m, n->ops[0]) ? n->ops[1] : n->ops[2]);
    case ET_X_NOT:
        return !run_eval_i(m, n->ops[0]);
    case ET_X_AND:
        return run_eval_i(m, n->ops[0]) && run_eval_i(m, n->ops[1]);
    case ET_X_OR:
        return run_eval_i(m, n->ops[0]) || run_eval_i(m, n->ops[1]);
    case ET_X_LT:
    case ET_X_LE:
    case ET_X_EQ:
    case ET_X_NE:
        return compare(m, n);
    case ET_X_TO_I32:
        if (et_x(m->x, n->ops[0])->type == ET_T_F32)
            return etrt_to_i32((double)run_eval_f(m, n->ops[0]));
        return et_int_low(run_eval_i(m, n->ops[0]));
    case ET_X_PHILOX:
        return et_philox_value(run_eval_i(m, n->ops[0]), run_eval_i(m, n->ops[1]),
                               run_eval_i(m, n->ops[2]));
    default:
        return et_int_total(n->op, run_eval_i(m, n->ops[0]),
                            n->nops > 1 ? run_eval_i(m, n->ops[1]) : 0);
    }
}

float run_eval_f(struct run *m, et_expr e) {
    const et_node_x *n = et_x(m->x, e);
    if (n->op == ET_X_FLOAT) return (float)n->f;
    if (n->op == ET_X_ARG) /* there are no others at this stage */
        return n->i == ET_ARG_STATE  ? m->state
               : n->i == ET_ARG_SEEN ? m->seen
               : n->i == ET_ARG_SUM  ? m->sum
                                     : m->product;
    if (n->op == ET_X_LOAD) {
        if (n->i2 == ET_LOAD_LOCAL) {
            const float *l = local_element(m, n->i, n->ops, false);
            return l ? *l : 0;
        }
        int64_t i;
        const char *data = element(m, n->i, n->ops, false, &i);
        if (data && is_exchanged(m, n->i)) return run_partial_load(m, n->i, i);
        return data ? (float)etrt_element((int)m->p->tensors[n->i].shape.dtype, data, i) : 0;
    }
    if (n->op == ET_X_SELECT)
        return run_eval_f(m, run_eval_i(m, n->ops[0]) ? n->ops[1] : n->ops[2]);
    if (n->op == ET_X_TO_F32) return (float)run_eval_i(m, n->ops[0]);
    return et_float_op(n->op, run_eval_f(m, n->ops[0]), n->nops > 1 ? run_eval_f(m, n->ops[1]) : 0);
}

/* As memory of its type keeps it. */
static void keep_local(const et_local *l, float *to, bool is_int, int64_t i, float f) {
    if (l->dtype == ET_I32) {
        int32_t w = is_int ? (int32_t)et_int_low(i) : etrt_to_i32((double)f);
        memcpy(to, &w, 4);
    } else {
        *to = et_round_to(l->dtype, is_int ? (float)i : f);
    }
}

void run_store(struct run *m, const et_place *to, bool is_int, int64_t i, float f) {
    if (to->space == ET_LOAD_LOCAL) {
        float *l = local_element(m, to->id, to->index, true);
        if (l) keep_local(&m->f->locals[to->id], l, is_int, i, f);
        return;
    }
    et_dtype t = m->p->tensors[to->id].shape.dtype;
    int64_t at;
    char *data = element(m, to->id, to->index, true, &at);
    if (data && is_exchanged(m, to->id)) {
        run_partial_store(m, to->id, to->index, at, is_int ? (float)i : f);
        return;
    }
    if (is_int && t == ET_I32)
        i = et_int_low(i);
    else if (is_int)
        f = (float)i;
    if (data) etrt_element_set((int)t, data, at, t == ET_I32 && is_int ? (double)i : (double)f);
}
