/* Likely contents of the integer tensors that waits depend on: inputs count up, and where
 * a node makes integers of reals (which experts a token goes to), the reals are random. */
#include "ir/graph/op_util.h"
#include "ir/graph/ops.h"
#include "passes/simulate/simulate.h"
#include <string.h>

/* Larger tensors are not filled for a prediction. */
enum { MOST_ELEMENTS = 1 << 24 };

static bool ends_with(const char *name, const char *end) {
    size_t n = name ? strlen(name) : 0, k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

/* ALIKE of each real is the same in all rows. */
static et_tensor_data *fill(et_arena *a, const et_graph *g, const et_val *v, const int64_t *syms,
                            uint64_t seed, const et_sim_known *known, float alike) {
    const et_shape *s = &v->shape;
    bool same = known && ends_with(v->name, known->name);
    et_tensor_data d = {.dtype = s->dtype, .rank = s->rank};
    for (int i = 0; i < s->rank; i++)
        d.dim[i] = et_eval(g->exprs, s->dim[i], syms, NULL);
    int64_t n = et_tensor_count(&d);
    if (n < 0 || n > MOST_ELEMENTS) return NULL;
    et_tensor_data *out = et_alloc(a, sizeof *out);
    *out = d;
    out->p = et_alloc(a, (size_t)n * 4);
    int64_t row = d.rank ? d.dim[d.rank - 1] : 1;
    for (int64_t i = 0; i < n; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        if (s->dtype == ET_I32)
            out->i[i] = same ? known->is : (int32_t)i;
        else
            out->f[i] = (float)(seed >> 40) / (1 << 23) - 1;
    }
    for (int64_t i = n - 1; i >= 0 && s->dtype != ET_I32 && alike > 0; i--)
        out->f[i] += alike * (out->f[i % row] - out->f[i]);
    return out;
}

/* Inputs of integers, and reals that integers are made of. */
static bool is_guessed(const et_graph *g, int value, const bool *decides) {
    const et_val *v = &g->vals[value];
    if (v->kind == ET_V_CONST) return false;
    return !et_dtype_is_float(v->shape.dtype) ? v->kind == ET_V_INPUT : decides[value];
}

static et_sim_values *guess(et_arena *a, et_program *p, const int64_t *syms,
                            et_tensor_data *const *own, const et_sim_known *known, float alike,
                            char err[ET_SIM_ERR]) {
    const et_graph *g = et_part_at(p, syms)->g;
    bool *decides = et_alloc(a, (size_t)g->nvals);
    et_tensor_data **given = et_alloc(a, (size_t)g->nvals * sizeof *given);
    for (int i = 0; i < g->nnodes; i++) {
        const et_node *n = &g->nodes[i];
        bool integers = n->result.id && g->vals[n->result.id].shape.dtype == ET_I32;
        for (int k = 0; integers && k < n->nargs; k++)
            decides[n->args[k].id] = true;
    }
    for (int i = 1; i < g->nvals; i++)
        if (own && own[i])
            given[i] = own[i];
        else if (is_guessed(g, i, decides))
            given[i] = fill(a, g, &g->vals[i], syms, (uint64_t)i, known, alike);
    return et_sim_values_create(p, syms, given, err);
}

et_sim_values *et_sim_values_guess(et_arena *a, et_program *p, const int64_t *syms,
                                   const et_sim_known *known, char err[ET_SIM_ERR]) {
    return guess(a, p, syms, NULL, known, 0, err);
}

et_sim_values *et_sim_values_guess_rest(et_arena *a, et_program *p, const int64_t *syms,
                                        et_tensor_data *const *given, float alike,
                                        char err[ET_SIM_ERR]) {
    return guess(a, p, syms, given, NULL, alike, err);
}
