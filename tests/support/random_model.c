#include "tests/support/random_model.h"
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

et_graph *tm_parse(et_arena *a, et_diags *d, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = malloc(1 << 20);
    size_t n = fread(text, 1, 1 << 20, f);
    fclose(f);
    et_graph *g = et_parse_etg(a, d, path, text, n);
    free(text);
    return g;
}

et_tensor_data *tm_tensor(et_arena *a, const et_graph *g, const et_shape *s, const int64_t *syms) {
    et_tensor_data *t = et_alloc(a, sizeof *t);
    t->dtype = s->dtype;
    t->rank = s->rank;
    for (int d = 0; d < s->rank; d++)
        t->dim[d] = et_eval(g->exprs, s->dim[d], syms, NULL);
    t->p = et_alloc(a, (size_t)et_tensor_count(t) * 4);
    return t;
}

/* Any code whose value is neither huge nor, but for zero, tiny. */
static double random_code(et_dtype t) {
    double v;
    do {
        unsigned char code[4] = {(unsigned char)(uniform() * 256)};
        v = etrt_element((int)t, code, 0);
    } while (!(fabs(v) < 1000 && (v == 0 || fabs(v) > 1e-3)));
    return v;
}

/* Indices stay small and distinct within a tensor, so that scatters do not collide. */
void tm_fill(et_tensor_data *t) {
    int64_t n = et_tensor_count(t), shift = (int64_t)(uniform() * 3);
    for (int64_t i = 0; i < n; i++)
        if (et_dtype_is_code(t->dtype) && !et_dtype_is_float(t->dtype))
            t->i[i] = (int32_t)random_code(t->dtype);
        else if (et_dtype_is_code(t->dtype))
            t->f[i] = (float)random_code(t->dtype);
        else if (t->dtype == ET_I32)
            t->i[i] = (int32_t)(i + shift);
        else
            t->f[i] = et_round_to(t->dtype, (float)(uniform() * 2 - 1));
}

static double value(const et_tensor_data *t, int64_t i) {
    return et_dtype_is_float(t->dtype) ? (double)t->f[i] : t->i[i];
}

void *tm_bytes(et_arena *a, const et_tensor_data *t) {
    int64_t n = et_tensor_count(t);
    char *out = et_alloc(a, (size_t)et_dtype_size(t->dtype, n));
    for (int64_t i = 0; i < n; i++)
        etrt_element_set((int)t->dtype, out, i, value(t, i));
    return out;
}

/* ||got - want|| / ||want||, of what is finite; what is not is the same or all is wrong. */
double tm_relative_error(const et_tensor_data *want, const void *got) {
    double num = 0, den = 0;
    for (int64_t i = 0; i < et_tensor_count(want); i++) {
        double w = value(want, i), g = etrt_element((int)want->dtype, got, i);
        if (isnan(w) != isnan(g)) return INFINITY;
        if (isnan(w)) continue;
        if (isinf(w) || isinf(g)) {
            if (w != g) return INFINITY;
            continue;
        }
        num += (g - w) * (g - w);
        den += w * w;
    }
    return sqrt(num) / (sqrt(den) + 1e-30);
}

bool tm_set_dim(const et_graph *g, const char *text, int64_t *syms) {
    const char *eq = strchr(text, '=');
    for (int s = 0; eq && s < et_sym_count(g->exprs); s++) {
        const char *name = et_sym_name(g->exprs, s);
        if (strlen(name) == (size_t)(eq - text) && strncmp(name, text, strlen(name)) == 0) {
            syms[s] = atoll(eq + 1);
            return true;
        }
    }
    return false;
}
