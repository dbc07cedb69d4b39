/* rope(x, positions, ...): a table of cosines and sines, made once per set of positions, and the
 * rotation of x by it. */
#include "frontend/sema/sema.h"
#include "ir/graph/op_util.h"
#include <math.h>
#include <string.h>

enum { THETA, SCALING, FACTOR, LOW, HIGH, CONTEXT, FREQUENCIES }; /* the row's keywords */
enum { MAX_HEAD = 8192 };

/* Long wavelengths are stretched by `factor`, short ones kept, those between interpolated. */
static double llama3(const et_call *c, double freq) {
    double wavelength = 2 * M_PI / freq, context = c->kw[CONTEXT].f;
    double turns = context / wavelength, low = c->kw[LOW].f, high = c->kw[HIGH].f;
    if (turns > high) return freq;
    if (turns < low) return freq / c->kw[FACTOR].f;
    double smooth = (turns - low) / (high - low);
    return (1 - smooth) * freq / c->kw[FACTOR].f + smooth * freq;
}

/* The type frequencies are rounded to before they are used. */
static bool frequency_type(et_sema *s, const et_call *c, et_dtype *out) {
    const char *name = c->kw[FREQUENCIES].text;
    *out = ET_F32;
    if (!c->kw[FREQUENCIES].given || (et_dtype_parse(name, out) && *out != ET_I32)) return true;
    return et_sema_error(s, c->kw[FREQUENCIES].loc,
                         "frequencies are rounded to \"f32\", \"bf16\" or \"f16\", not to '%s'",
                         name);
}

static bool check_scaling(et_sema *s, const et_call *c) {
    if (!(c->kw[THETA].f > 1))
        return et_sema_error(s, c->kw[THETA].loc, "theta must be greater than 1, this is %g",
                             c->kw[THETA].f);
    bool scaled = c->kw[SCALING].given;
    if (scaled && strcmp(c->kw[SCALING].text, "llama3") != 0)
        return et_sema_error(s, c->kw[SCALING].loc, "unknown scaling '%s': there is \"llama3\"",
                             c->kw[SCALING].text);
    for (int k = FACTOR; k <= CONTEXT; k++) {
        const char *name = c->fn->kw[k].name;
        if (scaled && !c->kw[k].given)
            return et_sema_error(s, c->loc, "scaling = \"llama3\" needs '%s'", name);
        if (!scaled && c->kw[k].given)
            return et_sema_error(s, c->kw[k].loc,
                                 "'%s' has a meaning only with scaling = \"llama3\"", name);
        if (scaled && !(c->kw[k].f > 0))
            return et_sema_error(s, c->kw[k].loc, "'%s' must be positive, this is %g", name,
                                 c->kw[k].f);
    }
    if (scaled && !(c->kw[LOW].f < c->kw[HIGH].f))
        return et_sema_error(s, c->kw[HIGH].loc,
                             "high_freq_factor %g must exceed low_freq_factor %g", c->kw[HIGH].f,
                             c->kw[LOW].f);
    return true;
}

static et_value frequencies(et_sema *s, const et_call *c, int64_t head, et_dtype type) {
    int64_t n = head / 2;
    float *data = et_alloc(s->arena, (size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++) {
        double f = pow(c->kw[THETA].f, -2.0 * (double)i / (double)head);
        data[i] = et_round_to(type, (float)(c->kw[SCALING].given ? llama3(c, f) : f));
    }
    et_shape shape = {.dtype = ET_F32, .rank = 1, .dim = {et_int(s->x, n)}};
    et_value v = et_graph_value(s->graph, ET_V_CONST, NULL, &shape, et_sema_loc(s, c->loc));
    et_val_of(s->graph, v)->data = data;
    return v;
}

/* A table that dominates this point: made in an open loop (or none) from the same positions. */
static bool known_table(et_sema *s, et_value positions, const char *key, et_value *out) {
    for (int i = s->nropes - 1; i >= 0; i--)
        if (s->ropes[i].positions.id == positions.id && strcmp(s->ropes[i].key, key) == 0) {
            *out = s->ropes[i].table;
            return true;
        }
    return false;
}

static bool table_of(et_sema *s, const et_call *c, int64_t head, et_value *out) {
    et_value positions = c->value[1];
    et_dtype type;
    if (!frequency_type(s, c, &type)) return false;
    const char *key = et_printf(s->arena, "%lld %d %.17g %d %.17g %.17g %.17g %.17g",
                                (long long)head, (int)type, c->kw[THETA].f, c->kw[SCALING].given,
                                c->kw[FACTOR].f, c->kw[LOW].f, c->kw[HIGH].f, c->kw[CONTEXT].f);
    if (known_table(s, positions, key, out)) return true;
    et_value args[] = {positions, frequencies(s, c, head, type)};
    int loop = et_sema_home(s, positions);
    if (!et_sema_node_in(s, loop, &et_op_rope_table, c->loc, 2, args, 0, NULL, out)) return false;
    if (et_val_of(s->graph, positions)->kind == ET_V_STATE) return true; /* may be written */
    ET_GROW(s->arena, s->ropes, s->nropes, s->cropes);
    s->ropes[s->nropes++] =
        (et_rope_entry){.positions = positions, .table = *out, .key = key, .loop = loop};
    return true;
}

bool et_lower_rope(et_sema *s, const et_call *c, et_elem *out) {
    const et_shape *x = &et_val_of(s->graph, c->value[0])->shape;
    int64_t head = 0;
    if (x->rank < 2)
        return et_sema_error(s, c->loc, "rope takes [positions, ..., head size], this is %s",
                             et_shape_text(s->x, x));
    if (!et_is_int(s->x, x->dim[x->rank - 1], &head) || head % 2 != 0 || head > MAX_HEAD)
        return et_sema_error(s, c->loc, "rope pairs the halves of each head: %s must be even%s",
                             et_expr_text(s->x, x->dim[x->rank - 1], NULL, NULL),
                             head > MAX_HEAD ? " and at most 8192" : "");
    et_value args[2] = {c->value[0]};
    return check_scaling(s, c) && table_of(s, c, head, &args[1]) &&
           et_sema_node(s, &et_op_rope, c->loc, 2, args, 0, NULL, out);
}
