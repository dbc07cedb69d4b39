#include "tests/unit/ir/build.h"
#include <stdlib.h>
#include <string.h>

fixture *fixture_create(uint64_t seed) {
    et_arena *arena = et_arena_create();
    fixture *f = et_alloc(arena, sizeof *f);
    f->arena = arena;
    f->diags = et_diags_create(arena);
    f->g = et_graph_create(arena, f->diags);
    f->g->name = "test";
    f->p = f->g->exprs;
    f->block = &f->g->body;
    f->rng = seed * 0x9e3779b97f4a7c15u + 1;
    return f;
}

void fixture_destroy(fixture *f) {
    et_arena_destroy(f->arena);
}

uint64_t random_bits(fixture *f) {
    f->rng ^= f->rng << 13;
    f->rng ^= f->rng >> 7;
    f->rng ^= f->rng << 17;
    return f->rng * 0x2545f4914f6cdd1du;
}

int pick(fixture *f, int n) {
    return (int)((random_bits(f) >> 33) % (uint64_t)n);
}

float uniform(fixture *f) {
    return (float)(random_bits(f) >> 40) / (float)(1 << 23) - 1;
}

et_shape shape_of(fixture *f, et_dtype dtype, int rank, const int64_t *dims) {
    et_shape s = {.dtype = dtype, .rank = rank};
    for (int k = 0; k < rank; k++) /* negative: symbol number -1 - dim */
        s.dim[k] = dims[k] < 0 ? et_sym(f->p, (int)(-1 - dims[k])) : et_int(f->p, dims[k]);
    return s;
}

et_value input(fixture *f, const char *name, et_shape s) {
    return et_graph_value(f->g, ET_V_INPUT, name, &s, (et_loc){0});
}

et_value state(fixture *f, const char *name, et_shape s) {
    return et_graph_value(f->g, ET_V_STATE, name, &s, (et_loc){0});
}

et_attr attr_int(const char *name, int64_t i) {
    return (et_attr){.name = name, .kind = ET_A_INT, .i = i};
}
et_attr attr_float(const char *name, double v) {
    return (et_attr){.name = name, .kind = ET_A_FLOAT, .f = v};
}
et_attr attr_ints(const char *name, int n, const int64_t *v) {
    return (et_attr){.name = name, .kind = ET_A_INTS, .n = n, .ints = v};
}
et_attr attr_exprs(const char *name, int n, const et_expr *v) {
    return (et_attr){.name = name, .kind = ET_A_EXPRS, .n = n, .exprs = v};
}
et_attr attr_expr(const char *name, et_expr e) {
    return (et_attr){.name = name, .kind = ET_A_EXPR, .expr = e};
}

et_value node(fixture *f, const char *op, int nargs, const et_value *args, int nattrs,
              const et_attr *attrs) {
    et_value v;
    et_graph_node(f->g, f->block, et_op_find(op), (et_loc){0}, nargs, args, nattrs, attrs, &v);
    return v;
}

et_value map2(fixture *f, et_xop op, et_value a, et_value b) {
    et_type ta = et_dtype_type(et_val_of(f->g, a)->shape.dtype);
    et_type tb = et_dtype_type(et_val_of(f->g, b)->shape.dtype);
    et_expr body = et_op2(f->p, op, et_arg(f->p, 0, ta), et_arg(f->p, 1, tb));
    return node(f, "map", ARGS(a, b), ATTRS(attr_expr("body", body), attr_int("dtype", ET_F32)));
}

et_value attention(fixture *f, et_value q, et_value k, et_value v, et_value slots,
                   et_value positions, double scale) {
    et_exprs *x = f->p;
    const et_shape *sq = &et_val_of(f->g, q)->shape, *sk = &et_val_of(f->g, k)->shape;
    et_expr size[] = {sq->dim[0], sq->dim[1], sk->dim[2], sq->dim[2]}, at[4];
    int64_t over[4], heads = 1, kv_heads = 1;
    for (int i = 0; i < 4; i++) {
        over[i] = et_graph_var(f->g, (char[]){"ihpd"[i], 0}, size[i]);
        at[i] = et_var(x, (int)over[i]);
    }
    et_is_int(x, size[1], &heads);
    et_is_int(x, sk->dim[1], &kv_heads);
    et_expr slot = et_load(x, ET_LOAD_ARG, 3, ET_T_I32, 1, at);
    slot = et_op2(x, ET_X_MAX, slot, et_int(x, 0));
    slot = et_op2(x, ET_X_MIN, slot, et_sub(x, sk->dim[0], et_int(x, 1)));
    et_expr last = et_load(x, ET_LOAD_ARG, 4, ET_T_I32, 1, at);
    last = et_op2(x, ET_X_MIN, last, et_sub(x, size[2], et_int(x, 1)));
    last = et_op2(x, ET_X_MAX, last, et_int(x, -1));
    et_expr row[] = {slot, et_op2(x, ET_X_IDIV, at[1], et_int(x, heads / kv_heads)), at[2], at[3]};
    et_expr query[] = {at[0], at[1], at[3]};
    et_expr score = et_mul(x, et_arg(x, ET_ARG_QK, ET_T_F32), et_float(x, scale));
    return node(f, "attention", ARGS(q, k, v, slots, positions),
                ATTRS({.name = "over", .kind = ET_A_VARS, .n = 4, .ints = over},
                      attr_expr("q", et_load(x, ET_LOAD_ARG, 0, ET_T_F32, 3, query)),
                      attr_expr("k", et_load(x, ET_LOAD_ARG, 1, ET_T_F32, 4, row)),
                      attr_expr("v", et_load(x, ET_LOAD_ARG, 2, ET_T_F32, 4, row)),
                      attr_expr("end", et_add(x, last, et_int(x, 1))), attr_expr("score", score)));
}

static int32_t random_index(fixture *f) {
    static const int32_t extreme[] = {INT32_MIN, INT32_MAX, -1, 1000};
    return pick(f, 8) == 0 ? extreme[pick(f, 4)] : (int32_t)pick(f, 8);
}

et_tensor_data *tensor(fixture *f, et_value v) {
    return f->tensors[v.id];
}

void fill(fixture *f) {
    f->tensors = et_alloc(f->arena, (size_t)f->g->nvals * sizeof *f->tensors);
    for (int id = 1; id < f->g->nvals; id++) {
        const et_val *v = &f->g->vals[id];
        et_tensor_data *t = f->tensors[id] = et_alloc(f->arena, sizeof *t);
        t->dtype = v->shape.dtype == ET_I32 ? ET_I32 : ET_F32;
        t->rank = v->shape.rank;
        for (int k = 0; k < t->rank; k++)
            t->dim[k] = et_eval(f->p, v->shape.dim[k], f->syms, NULL);
        int64_t n = et_tensor_count(t);
        t->p = et_alloc(f->arena, (size_t)n * sizeof *t->f);
        for (int64_t i = 0; i < n; i++)
            if (t->dtype == ET_I32)
                t->i[i] = random_index(f);
            else
                t->f[i] = et_round_to(v->shape.dtype, uniform(f));
        if (v->kind == ET_V_CONST) f->tensors[id] = NULL;
    }
}

void set_floats(fixture *f, et_value v, const float *data) {
    memcpy(tensor(f, v)->f, data, (size_t)et_tensor_count(tensor(f, v)) * sizeof *data);
}

void set_ints(fixture *f, et_value v, const int32_t *data) {
    memcpy(tensor(f, v)->i, data, (size_t)et_tensor_count(tensor(f, v)) * sizeof *data);
}

bool run_graph(fixture *f) {
    return et_graph_interp(f->g, f->syms, f->tensors, f->err);
}

const char *messages(fixture *f) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    et_diag_print(f->diags, out);
    fclose(out);
    char *copy = et_strdup(f->arena, text);
    free(text);
    return copy;
}
