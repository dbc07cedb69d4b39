/* rope(x, positions, ...): a table of cosines and sines, made once per set of positions, and the
 * rotation of x by it. */
#include "frontend/sema/sema.h"
#include "ir/graph/op_util.h"
#include <math.h>
#include <string.h>

/* The row's keywords. */
enum {
    THETA,
    SCALING,
    FACTOR,
    LOW,
    HIGH,
    CONTEXT,
    FAST,
    SLOW,
    TRUNCATE,
    FACTORS,
    MAGNITUDE,
    FREQUENCIES
};
enum { MAX_HEAD = 8192 };

/* All frequencies alike, as positions divided by `factor` would. */
static double linear(const et_call *c, int64_t i, int64_t head, double freq) {
    (void)i, (void)head;
    return freq / c->kw[FACTOR].f;
}

/* Long wavelengths are stretched by `factor`, short ones kept, those between interpolated. */
static double llama3(const et_call *c, int64_t i, int64_t head, double freq) {
    (void)i, (void)head;
    double wavelength = 2 * M_PI / freq, context = c->kw[CONTEXT].f;
    double turns = context / wavelength, low = c->kw[LOW].f, high = c->kw[HIGH].f;
    if (turns > high) return freq;
    if (turns < low) return freq / c->kw[FACTOR].f;
    double smooth = (turns - low) / (high - low);
    return (1 - smooth) * freq / c->kw[FACTOR].f + smooth * freq;
}

/* The number, with a fraction, of the frequency that turns so often in the original context. */
static double that_turns(const et_call *c, int64_t head, double turns) {
    return (double)head * log(c->kw[CONTEXT].f / (turns * 2 * M_PI)) / (2 * log(c->kw[THETA].f));
}

/* As llama3, but the ramp goes by the number of the frequency. */
static double yarn(const et_call *c, int64_t i, int64_t head, double freq) {
    double low = that_turns(c, head, c->kw[FAST].f), high = that_turns(c, head, c->kw[SLOW].f);
    if (c->kw[TRUNCATE].i) low = floor(low), high = ceil(high);
    low = fmax(low, 0);
    high = fmin(high, (double)head - 1);
    if (low == high) high += 0.001;
    double ramp = fmin(fmax(((double)i - low) / (high - low), 0), 1);
    return freq / c->kw[FACTOR].f * ramp + freq * (1 - ramp);
}

/* A divisor for each. */
static double longrope(const et_call *c, int64_t i, int64_t head, double freq) {
    (void)head;
    return freq / c->kw[FACTORS].list[i];
}

#define BIT(k) (1u << (k))
static const struct scaling {
    const char *name;
    unsigned needs, may; /* keywords between SCALING and MAGNITUDE */
    double (*of)(const et_call *, int64_t i, int64_t head, double freq);
} scalings[] = {
    {"linear", BIT(FACTOR), 0, linear},
    {"llama3", BIT(FACTOR) | BIT(LOW) | BIT(HIGH) | BIT(CONTEXT), 0, llama3},
    {"yarn", BIT(FACTOR) | BIT(CONTEXT), BIT(FAST) | BIT(SLOW) | BIT(TRUNCATE), yarn},
    {"longrope", BIT(FACTORS), 0, longrope},
};

/* NULL: there is none, or it is not known. */
static const struct scaling *scaling_of(const et_call *c) {
    for (size_t i = 0; c->kw[SCALING].given && i < sizeof scalings / sizeof *scalings; i++)
        if (!strcmp(c->kw[SCALING].text, scalings[i].name)) return &scalings[i];
    return NULL;
}

/* The type frequencies are rounded to before they are used. */
static bool frequency_type(et_sema *s, const et_call *c, et_dtype *out) {
    const char *name = c->kw[FREQUENCIES].text;
    *out = ET_F32;
    if (!c->kw[FREQUENCIES].given || (et_dtype_parse(name, out) && et_dtype_multiplies(*out)))
        return true;
    return et_sema_error(s, c->kw[FREQUENCIES].loc,
                         "frequencies are rounded to \"f32\", \"bf16\" or \"f16\", not to '%s'",
                         name);
}

static bool check_keyword(et_sema *s, const et_call *c, const struct scaling *scaling, int k) {
    const char *name = c->fn->kw[k].name;
    unsigned needs = scaling ? scaling->needs : 0, may = scaling ? scaling->may : 0;
    if (!c->kw[k].given)
        return !(needs & BIT(k)) ||
               et_sema_error(s, c->loc, "scaling = \"%s\" needs '%s'", scaling->name, name);
    if (!((needs | may) & BIT(k)))
        return et_sema_error(s, c->kw[k].loc, "'%s' has no meaning %s%s%s", name,
                             scaling ? "with scaling = \"" : "without a scaling",
                             scaling ? scaling->name : "", scaling ? "\"" : "");
    if (k == TRUNCATE || k == FACTORS || c->kw[k].f > 0) return true;
    return et_sema_error(s, c->kw[k].loc, "'%s' must be positive, this is %g", name, c->kw[k].f);
}

static bool check_factors(et_sema *s, const et_call *c, int64_t head) {
    int n = c->kw[FACTORS].n;
    if (n != head / 2)
        return et_sema_error(s, c->kw[FACTORS].loc,
                             "heads of %lld elements have %lld frequencies, not %d",
                             (long long)head, (long long)head / 2, n);
    for (int i = 0; i < n; i++)
        if (!(c->kw[FACTORS].list[i] > 0))
            return et_sema_error(s, c->kw[FACTORS].loc, "'factors' must be positive, one is %g",
                                 c->kw[FACTORS].list[i]);
    return true;
}

static bool check_scaling(et_sema *s, const et_call *c, int64_t head) {
    const struct scaling *scaling = scaling_of(c);
    if (!(c->kw[THETA].f > 1))
        return et_sema_error(s, c->kw[THETA].loc, "theta must be greater than 1, this is %g",
                             c->kw[THETA].f);
    if (c->kw[SCALING].given && !scaling)
        return et_sema_error(s, c->kw[SCALING].loc,
                             "unknown scaling '%s': there are \"linear\", \"llama3\", \"yarn\" and "
                             "\"longrope\"",
                             c->kw[SCALING].text);
    for (int k = FACTOR; k < MAGNITUDE; k++)
        if (!check_keyword(s, c, scaling, k)) return false;
    if (c->kw[LOW].given && !(c->kw[LOW].f < c->kw[HIGH].f))
        return et_sema_error(s, c->kw[HIGH].loc,
                             "high_freq_factor %g must exceed low_freq_factor %g", c->kw[HIGH].f,
                             c->kw[LOW].f);
    if (!(c->kw[SLOW].f < c->kw[FAST].f))
        return et_sema_error(s, c->kw[FAST].given ? c->kw[FAST].loc : c->kw[SLOW].loc,
                             "beta_fast %g must exceed beta_slow %g", c->kw[FAST].f, c->kw[SLOW].f);
    return !c->kw[FACTORS].given || check_factors(s, c, head);
}

static et_value frequencies(et_sema *s, const et_call *c, int64_t head, et_dtype type) {
    int64_t n = head / 2;
    const struct scaling *scaling = scaling_of(c);
    float *data = et_alloc(s->arena, (size_t)n * sizeof *data);
    for (int64_t i = 0; i < n; i++) {
        double f = pow(c->kw[THETA].f, -2.0 * (double)i / (double)head);
        data[i] = et_round_to(type, (float)(scaling ? scaling->of(c, i, head, f) : f));
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
    const char *key = et_printf(s->arena, "%lld %d", (long long)head, (int)type);
    for (int k = THETA; k < FACTORS; k++)
        key = k == SCALING ? et_printf(s->arena, "%s %s", key, c->kw[k].given ? c->kw[k].text : "")
                           : et_printf(s->arena, "%s %.17g", key,
                                       k == TRUNCATE ? (double)c->kw[k].i : c->kw[k].f);
    for (int i = 0; i < c->kw[FACTORS].n; i++)
        key = et_printf(s->arena, "%s %.17g", key, c->kw[FACTORS].list[i]);
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
                             et_sema_text(s, x->dim[x->rank - 1]),
                             head > MAX_HEAD ? " and at most 8192" : "");
    et_value args[2] = {c->value[0]};
    if (!check_scaling(s, c, head) || !table_of(s, c, head, &args[1]) ||
        !et_sema_node(s, &et_op_rope, c->loc, 2, args, 0, NULL, out))
        return false;
    if (!c->kw[MAGNITUDE].given || c->kw[MAGNITUDE].f == 1) return true;
    et_elem turned = *out, times = et_elem_float(s, c->kw[MAGNITUDE].f);
    return et_elem_op2(s, c->loc, ET_X_MUL, &turned, &times, out);
}
