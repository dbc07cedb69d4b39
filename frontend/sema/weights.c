/* Weights: a tensor of the checkpoint, or a stack of them, along the iterations of loops and along
 * dimensions written `e in 0..8`. */
#include "frontend/sema/sema.h"
#include "runtime/cli/guess.h"
#include "runtime/etrt_source.h"
#include <string.h>

static et_loc inside(et_loc string, ptrdiff_t offset, ptrdiff_t len) {
    string.col += (int)offset + 1;
    string.len = len < 1 ? 1 : (int)len;
    return string;
}

/* The leading dimensions that are written `e in lo..hi`. */
struct stacked {
    const et_ast *at[ET_MAX_LOOPS];
    int64_t lo[ET_MAX_LOOPS], hi[ET_MAX_LOOPS];
    bool mentioned[ET_MAX_LOOPS];
    int n;
};

static int stacked_named(const struct stacked *d, const char *text, size_t n) {
    for (int i = 0; i < d->n; i++)
        if (strlen(d->at[i]->text) == n && memcmp(d->at[i]->text, text, n) == 0) return i;
    return -1;
}

/* The open loop whose variable is the N bytes at TEXT, or -1. */
static int loop_named(const et_sema *s, const char *text, size_t n) {
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent) {
        const char *name = s->graph->loops[l].name;
        if (strlen(name) == n && memcmp(name, text, n) == 0) return l;
    }
    return -1;
}

static bool unknown_variable(et_sema *s, const struct stacked *d, et_loc loc, const char *text,
                             size_t n) {
    et_guess g = {.name = et_strndup(s->arena, text, n)};
    for (int i = 0; i < d->n; i++)
        et_guess_try(&g, d->at[i]->text);
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent)
        et_guess_try(&g, s->graph->loops[l].name);
    et_sema_error(s, loc, "{%s} is not the variable of a loop around this weight", g.name);
    if (g.best) et_sema_note(s, loc, "did you mean {%s}?", g.best);
    return false;
}

/* One variable of what stands in braces: the N bytes at TEXT. */
static bool mention(et_sema *s, const et_stm *stm, struct stacked *d, bool mentioned[ET_MAX_LOOPS],
                    const char *text, size_t n) {
    int loop = loop_named(s, text, n), dim = stacked_named(d, text, n), depth = 0;
    if (dim >= 0) {
        d->mentioned[dim] = true;
        return true;
    }
    if (loop < 0) {
        bool alone = text[-1] == '{' && text[n] == '}';
        et_loc loc = inside(stm->source_loc, text - alone - stm->source, (ptrdiff_t)n + 2 * alone);
        return unknown_variable(s, d, loc, text, n);
    }
    for (int l = s->loop; l != loop; l = s->graph->loops[l].parent)
        depth++;
    mentioned[depth] = true;
    return true;
}

/* Which open loops the name in the checkpoint mentions, as a bit per loop counted from the
 * innermost. */
static bool scan_source(et_sema *s, const et_stm *stm, struct stacked *d,
                        bool mentioned[ET_MAX_LOOPS]) {
    for (const char *p = stm->source; *p; p++) {
        ptrdiff_t at = p - stm->source;
        if (*p == '}')
            return et_sema_error(s, inside(stm->source_loc, at, 1), "'}' without its '{'");
        if (*p != '{') continue;
        size_t n = strcspn(p + 1, "{}");
        if (p[n + 1] != '}')
            return et_sema_error(s, inside(stm->source_loc, at, 1), "'{' without its '}'");
        struct etrt_source_index x;
        if (!etrt_source_index(p + 1, n, &x) || !x.n)
            return et_sema_error(s, inside(stm->source_loc, at, (ptrdiff_t)n + 2),
                                 "{%.*s} is no sum of variables of loops, like {l} or {4*b+l+1}",
                                 (int)n, p + 1);
        for (int i = 0; i < x.n; i++)
            if (!mention(s, stm, d, mentioned, x.term[i].name, x.term[i].bytes)) return false;
        p += n + 1;
    }
    return true;
}

static bool check_source(et_sema *s, const et_stm *stm, struct stacked *d,
                         bool mentioned[ET_MAX_LOOPS]) {
    if (!stm->source && s->loop < 0 && !d->n) return true;
    if (!stm->source && s->loop < 0) {
        et_sema_error(s, stm->loc, "a weight made of several tensors needs their name");
        et_sema_note(s, stm->loc, "write = \"experts.{%s}.name\"", d->at[0]->text);
        return false;
    }
    if (!stm->source) {
        et_sema_error(s, stm->loc, "a weight in a loop needs its name in the checkpoint");
        et_sema_note(s, stm->loc, "write = \"layers.{%s}.name\"", s->graph->loops[s->loop].name);
        return false;
    }
    if (stm->nnames > 1)
        return et_sema_error(s, stm->names[1].loc, "one name in the checkpoint for %d weights",
                             stm->nnames);
    if (!*stm->source) return et_sema_error(s, stm->source_loc, "an empty name");
    if (!scan_source(s, stm, d, mentioned)) return false;
    for (int i = 0; i < d->n; i++)
        if (!d->mentioned[i])
            return et_sema_error(s, d->at[i]->loc, "the weight's name does not have {%s} in it",
                                 d->at[i]->text);
    return true;
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
    const char *problem = et_shape_problem(s->x, shape, true);
    if (problem) return et_sema_error(s, stm->type.dtype.loc, "%s", problem);
    for (int i = 0; i < shape->rank; i++)
        if (!et_is_int(s->x, shape->dim[i], &n))
            return et_sema_error(s, stm->type.dims->kid[i]->loc,
                                 "%s changes from launch to launch: a weight cannot have it",
                                 et_sema_text(s, shape->dim[i]));
    return true;
}

static bool bounds_of(et_sema *s, const et_ast *e, struct stacked *d) {
    int64_t *lo = &d->lo[d->n], *hi = &d->hi[d->n];
    if (!et_sema_int(s, e->kid[0], lo) || !et_sema_int(s, e->kid[1], hi)) return false;
    if (*lo < 0 || *lo >= *hi || *hi > INT32_MAX)
        return et_sema_error(s, e->loc, "'%s' in %lld..%lld: one tensor or more, from 0 on",
                             e->text, (long long)*lo, (long long)*hi);
    if (loop_named(s, e->text, strlen(e->text)) >= 0 || et_name_find(s, e->text) ||
        stacked_named(d, e->text, strlen(e->text)) >= 0)
        return et_sema_error(s, e->loc, "'%s' has a meaning already", e->text);
    d->at[d->n++] = e;
    return true;
}

/* TYPE with numbers for dimensions `e in lo..hi`, which are listed in D. */
static bool take_stacked(et_sema *s, et_type_ast *type, struct stacked *d) {
    if (!type->dims) return true;
    et_ast *dims = et_alloc(s->arena, sizeof *dims);
    *dims = *type->dims;
    dims->kid = et_alloc(s->arena, (size_t)(dims->n + 1) * sizeof *dims->kid);
    for (int i = 0; i < dims->n; i++) {
        const et_ast *e = type->dims->kid[i];
        dims->kid[i] = type->dims->kid[i];
        if (e->kind != ET_E_RANGE) continue;
        if (d->n != i || d->n == ET_MAX_LOOPS)
            return et_sema_error(s, e->loc, "dimensions '%s in ...' are the first of a weight",
                                 e->text);
        if (!bounds_of(s, e, d)) return false;
        et_ast *size = et_alloc(s->arena, sizeof *size);
        *size = (et_ast){.kind = ET_E_INT, .depth = 1, .loc = e->loc, .i = d->hi[i] - d->lo[i]};
        dims->kid[i] = size;
    }
    type->dims = dims;
    return true;
}

/* @split(AXIS, PARTS) of a weight of SHAPE, whose first dimensions are of NLOOPS loops around it.
 */
static bool take_split(et_sema *s, const et_ast *call, const et_shape *shape, int nloops,
                       et_split *out) {
    int64_t n[2], size;
    if (!call) return true;
    if (call->n != 2)
        return et_sema_error(s, call->loc, "write @split(0, 2): the axis, and into how many parts");
    for (int i = 0; i < 2; i++)
        if (!et_sema_int(s, call->kid[i], &n[i])) return false;
    if (n[0] < 0 || n[0] >= shape->rank - nloops)
        return et_sema_error(s, call->kid[0]->loc, "the weight has no axis %lld", (long long)n[0]);
    if (n[1] < 1 || n[1] > ET_MAX_DEVICES)
        return et_sema_error(s, call->kid[1]->loc, "a weight has 1 to %d parts", ET_MAX_DEVICES);
    *out = (et_split){(int)n[0] + nloops, (int)n[1]};
    if (!et_is_int(s->graph->exprs, shape->dim[out->axis], &size) || size % n[1])
        return et_sema_error(s, call->loc, "axis %lld does not have %lld equal parts",
                             (long long)n[0], (long long)n[1]);
    return true;
}

void et_sema_weight(et_sema *s, const et_stm *stm) {
    et_shape shape;
    et_type_ast type = stm->type;
    struct stacked d = {.n = 0};
    bool mentioned[ET_MAX_LOOPS] = {false};
    int loops[ET_MAX_LOOPS] = {0}, nloops = 0;
    bool ok = take_stacked(s, &type, &d) && et_sema_type(s, &type, &shape) &&
              constant_shape(s, stm, &shape);
    ok = ok && check_source(s, stm, &d, mentioned);
    if (ok) ok = stack(s, stm->loc, mentioned, &shape, loops, &nloops);
    if (ok && nloops + d.n > ET_MAX_LOOPS)
        ok = et_sema_error(s, stm->loc, "a stack of weights over more than %d loops and dimensions",
                           ET_MAX_LOOPS);
    et_split split = {0};
    ok = ok && take_split(s, stm->split, &shape, nloops, &split);
    for (int i = 0; i < stm->nnames; i++) {
        const et_ident *id = &stm->names[i];
        et_binding *b = et_name_add(s, id, ET_N_WEIGHT);
        if (!b) continue;
        b->poison = true;
        if (!ok) continue;
        et_value v = et_graph_value(s->graph, ET_V_WEIGHT, et_graph_name(s->graph, id->text),
                                    &shape, id->loc);
        et_val *val = et_val_of(s->graph, v);
        val->source = stm->source ? stm->source : id->text;
        val->nloops = nloops;
        val->split = split;
        memcpy(val->loops, loops, sizeof loops);
        for (int k = 0; k < d.n; k++) {
            int loop = et_graph_stack(s->graph, d.at[k]->text, d.lo[k], d.hi[k], d.at[k]->loc);
            et_val_of(s->graph, v)->loops[et_val_of(s->graph, v)->nloops++] = loop;
        }
        b->elem = et_elem_value(s, v);
        b->poison = nloops > 0 && !pick(s, id->loc, v, nloops, loops, &b->elem);
    }
}
