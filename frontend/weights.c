/* Weights: a tensor of the checkpoint, or in loops a stack of them along the loops' iterations. */
#include "sema.h"
#include <string.h>

static et_loc inside(et_loc string, ptrdiff_t offset, ptrdiff_t len) {
    string.col += (int)offset + 1;
    string.len = len < 1 ? 1 : (int)len;
    return string;
}

/* The open loop whose variable is the N bytes at TEXT, or -1. */
static int loop_named(const et_sema *s, const char *text, size_t n) {
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent) {
        const char *name = s->graph->loops[l].name;
        if (strlen(name) == n && memcmp(name, text, n) == 0) return l;
    }
    return -1;
}

static bool unknown_variable(et_sema *s, et_loc loc, const char *text, size_t n) {
    et_guess g = {.name = et_strndup(s->arena, text, n)};
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent)
        et_guess_try(&g, s->graph->loops[l].name);
    et_sema_error(s, loc, "{%s} is not the variable of a loop around this weight", g.name);
    if (g.best) et_sema_note(s, loc, "did you mean {%s}?", g.best);
    return false;
}

/* Which open loops the name in the checkpoint mentions, as a bit per loop counted from the
 * innermost. */
static bool scan_source(et_sema *s, const et_stm *stm, bool mentioned[ET_MAX_LOOPS]) {
    for (const char *p = stm->source; *p; p++) {
        ptrdiff_t at = p - stm->source;
        if (*p == '}')
            return et_sema_error(s, inside(stm->source_loc, at, 1), "'}' without its '{'");
        if (*p != '{') continue;
        size_t n = strcspn(p + 1, "{}");
        if (p[n + 1] != '}')
            return et_sema_error(s, inside(stm->source_loc, at, 1), "'{' without its '}'");
        int loop = loop_named(s, p + 1, n);
        if (loop < 0)
            return unknown_variable(s, inside(stm->source_loc, at, (ptrdiff_t)n + 2), p + 1, n);
        int depth = 0;
        for (int l = s->loop; l != loop; l = s->graph->loops[l].parent)
            depth++;
        mentioned[depth] = true;
        p += n + 1;
    }
    return true;
}

static bool check_source(et_sema *s, const et_stm *stm, bool mentioned[ET_MAX_LOOPS]) {
    if (!stm->source && s->loop < 0) return true;
    if (!stm->source) {
        et_sema_error(s, stm->loc, "a weight in a loop needs its name in the checkpoint");
        et_sema_note(s, stm->loc, "write = \"layers.{%s}.name\"", s->graph->loops[s->loop].name);
        return false;
    }
    if (stm->nnames > 1)
        return et_sema_error(s, stm->names[1].loc, "one name in the checkpoint for %d weights",
                             stm->nnames);
    if (!*stm->source) return et_sema_error(s, stm->source_loc, "an empty name");
    return scan_source(s, stm, mentioned);
}

/* Put the trip counts of the mentioned loops before SHAPE, outermost first. */
static bool stack(et_sema *s, et_loc loc, const bool mentioned[ET_MAX_LOOPS], et_shape *shape,
                  int loops[ET_MAX_LOOPS], int *out_n) {
    int n = 0, depth = 0;
    int64_t count = 1, lo, hi;
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent, depth++)
        if (mentioned[depth]) loops[n++] = l;
    for (int i = 0; i < n / 2; i++) {
        int swap = loops[i];
        loops[i] = loops[n - 1 - i];
        loops[n - 1 - i] = swap;
    }
    *out_n = n;
    if (shape->rank + n > ET_MAX_RANK)
        return et_sema_error(s, loc, "with its %d loops this weight has %d dimensions: at most %d",
                             n, shape->rank + n, ET_MAX_RANK);
    memmove(shape->dim + n, shape->dim, (size_t)shape->rank * sizeof *shape->dim);
    for (int i = 0; i < n; i++)
        shape->dim[i] = et_int(s->x, s->graph->loops[loops[i]].hi - s->graph->loops[loops[i]].lo);
    shape->rank += n;
    for (int i = 0; i < shape->rank; i++)
        if (!et_bounds(s->x, shape->dim[i], &lo, &hi) ||
            __builtin_mul_overflow(count, hi, &count) || count > (int64_t)1 << 44)
            return et_sema_error(s, loc, "a stack of weights with too many elements");
    return true;
}

/* This iteration's tensor out of the stack V. */
static bool pick(et_sema *s, et_loc loc, et_value v, int nloops, const int *loops, et_elem *out) {
    et_shape shape = et_val_of(s->graph, v)->shape;
    et_expr start[ET_MAX_RANK], size[ET_MAX_RANK];
    int64_t drop[ET_MAX_RANK];
    for (int i = 0; i < shape.rank; i++) {
        bool looped = i < nloops;
        start[i] = looped ? et_var(s->x, s->graph->loops[loops[i]].var) : et_int(s->x, 0);
        size[i] = looped ? et_int(s->x, 1) : shape.dim[i];
        drop[i] = looped;
    }
    et_attr attrs[] = {
        et_attr_of_exprs("start", shape.rank, start),
        et_attr_of_exprs("size", shape.rank, size),
        et_attr_of_ints("drop", shape.rank, drop),
    };
    return et_sema_node(s, &et_op_slice, loc, 1, &v, 3, attrs, out);
}

static bool constant_shape(et_sema *s, const et_stm *stm, const et_shape *shape) {
    int64_t n;
    for (int i = 0; i < shape->rank; i++)
        if (!et_is_int(s->x, shape->dim[i], &n))
            return et_sema_error(s, stm->type.dims->kid[i]->loc,
                                 "%s changes from launch to launch: a weight cannot have it",
                                 et_expr_text(s->x, shape->dim[i], NULL, NULL));
    return true;
}

void et_sema_weight(et_sema *s, const et_stm *stm) {
    et_shape shape;
    bool mentioned[ET_MAX_LOOPS] = {false};
    int loops[ET_MAX_LOOPS], nloops = 0;
    bool ok = et_sema_type(s, &stm->type, &shape) && constant_shape(s, stm, &shape);
    ok &= check_source(s, stm, mentioned);
    if (ok) ok = stack(s, stm->loc, mentioned, &shape, loops, &nloops);
    for (int i = 0; i < stm->nnames; i++) {
        const et_ident *id = &stm->names[i];
        et_binding *b = et_name_add(s, id, ET_N_WEIGHT);
        if (!b) continue;
        b->poison = true;
        if (!ok) continue;
        et_value v = et_graph_value(s->graph, ET_V_WEIGHT, id->text, &shape, id->loc);
        et_val *val = et_val_of(s->graph, v);
        val->source = stm->source ? stm->source : id->text;
        val->nloops = nloops;
        memcpy(val->loops, loops, sizeof loops);
        b->elem = et_elem_value(s, v);
        b->poison = nloops > 0 && !pick(s, id->loc, v, nloops, loops, &b->elem);
    }
}
