/* What can be streamed. */
#include "ir/program/stream.h"
#include "ir/program/step.h"
#include <string.h>

/* A weight, at a place that no tensor decides. */
static bool immutable(const et_program *p, et_expr e) {
    const et_node_x *n = et_x(p->g->exprs, e);
    if (n->i2 != ET_LOAD_TENSOR || p->tensors[n->i].kind != ET_TENSOR_WEIGHT) return false;
    for (int i = 0; i < n->nops; i++)
        if (et_expr_loads(p->g->exprs, n->ops[i])) return false;
    return true;
}

/* Is this the load that K, a variable, walks through rows that pieces of a ring can be of? */
static bool along(const et_program *p, et_expr load, int k) {
    const et_node_x n = *et_x(p->g->exprs, load);
    return et_k_contiguous(p, load, k, p->tensors[n.i].shape.dtype);
}

/* How many k of a row share an element of LOAD, which has the next ones' beside it; or 0. */
static int group_of(const et_program *p, et_expr load, int k) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, load);
    for (int d = 0; d + 1 < n.nops; d++)
        if (et_expr_has_var(x, n.ops[d], k)) return 0;
    const et_node_x last = n.nops ? *et_x(x, n.ops[n.nops - 1]) : n;
    int64_t by, all;
    if (last.op != ET_X_IDIV || !et_expr_eq(last.ops[0], et_var(x, k))) return 0;
    if (!et_is_int(x, last.ops[1], &by) || !et_is_int(x, et_var_extent(x, k), &all)) return 0;
    return by > 1 && by <= all && !(by & (by - 1)) && all % by == 0 ? (int)by : 0;
}

struct loads {
    const et_program *p;
    int k;
    et_expr found; /* the one along k */
    bool odd;      /* another, or one that may not be read ahead */
    et_auxiliary_load beside[ET_MOST_AUXILIARY];
    int n;
};

static void note_beside(struct loads *l, et_expr load) {
    int group = group_of(l->p, load, l->k);
    for (int i = 0; i < l->n; i++)
        if (et_expr_eq(l->beside[i].load, load)) return;
    if (group && l->n < ET_MOST_AUXILIARY) l->beside[l->n++] = (et_auxiliary_load){load, group};
}

/* What only one arm of a choice reads is not for everybody. */
static void find_loads(struct loads *l, et_expr e) {
    const et_node_x n = *et_x(l->p->g->exprs, e);
    if (n.op == ET_X_SELECT || n.op == ET_X_AND || n.op == ET_X_OR) l->odd = true;
    if (n.op != ET_X_LOAD) {
        for (int i = 0; i < n.nops; i++)
            find_loads(l, n.ops[i]);
        return;
    }
    if (!immutable(l->p, e))
        l->odd = true;
    else if (l->found.id && et_expr_eq(l->found, e))
        return;
    else if (along(l->p, e, l->k)) {
        l->odd |= l->found.id;
        l->found = e;
    } else {
        note_beside(l, e);
    }
}

et_expr et_stream_load(const et_program *p, const et_step *s, int i) {
    struct loads l = {.p = p, .k = s->kvar};
    find_loads(&l, s->b[i]);
    return l.odd ? ET_NO_EXPR : l.found;
}

static et_dtype dtype_of(const et_program *p, et_expr load) {
    return p->tensors[et_x(p->g->exprs, load)->i].shape.dtype;
}

int et_stream_auxiliary(const et_program *p, const et_step *s, int i, et_auxiliary_load *out) {
    struct loads l = {.p = p, .k = s->kvar};
    find_loads(&l, s->b[i]);
    if (l.odd || !l.found.id) return 0;
    memcpy(out, l.beside, sizeof l.beside);
    return l.n;
}

int64_t et_stream_auxiliary_bytes(const et_program *p, const et_step *s, int64_t bytes) {
    int64_t most = 0;
    for (int i = 0; i < s->nacc; i++) {
        et_auxiliary_load beside[ET_MOST_AUXILIARY];
        int n = et_stream_auxiliary(p, s, i, beside);
        int64_t all = 0;
        for (int b = 0; b < n; b++) {
            int64_t k = bytes * 8 / et_dtype_bits(dtype_of(p, et_stream_load(p, s, i)));
            all += et_dtype_size(dtype_of(p, beside[b].load), k / beside[b].group);
        }
        most = all > most ? all : most;
    }
    return most;
}

int64_t et_stream_row(const et_program *p, const et_step *s, int b, int row) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, et_stream_load(p, s, b));
    const et_tensor *t = &p->tensors[n.i];
    int64_t ahead = 0, stride = 1, d, size;
    for (int i = n.nops - 1; i >= 0; i--) {
        et_expr at = et_subst_var(x, n.ops[i], s->nvar, et_int(x, row));
        et_expr by = et_sub(x, at, et_subst_var(x, n.ops[i], s->nvar, et_int(x, 0)));
        if (!et_is_int(x, by, &d)) return -1;
        ahead += d * stride;
        if (i && !et_is_int(x, t->shape.dim[i], &size)) return -1;
        if (i) stride *= size;
    }
    return ahead;
}

/* Rows one behind the other, of K elements at least. */
static bool in_order(const et_program *p, const et_step *s, int b, int64_t k) {
    for (int64_t n = 1, at = 0, next; n < s->tn; n++, at = next) {
        next = et_stream_row(p, s, b, (int)n);
        if (next < at + k) return false;
    }
    return true;
}

/* Is it a multiple of 16, whatever its variables are? */
static bool sixteens(const et_exprs *x, et_expr e) {
    const et_node_x *n = et_x(x, e);
    int some = 0;
    for (int i = 0; i < n->nops; i++)
        some += sixteens(x, n->ops[i]);
    if (n->op == ET_X_INT) return n->n % 16 == 0;
    if (n->op == ET_X_MUL) return some > 0;
    return (n->op == ET_X_ADD || n->op == ET_X_SUB || n->op == ET_X_MIN) && some == n->nops;
}

bool et_stream_is_full(const et_program *p, const et_step *s) {
    int64_t n;
    return et_is_int(p->g->exprs, s->nlive, &n) && n == s->tn;
}

static bool streamable(const et_program *p, const et_step *s) {
    et_exprs *x = p->g->exprs;
    int64_t k;
    if (!et_is_int(x, s->kextent, &k) ||
        (!et_stream_is_full(p, s) && (s->tn % 16 || !sixteens(x, s->nlive))))
        return false;
    int bits = 0;
    for (int b = 0; b < s->nacc; b++) {
        et_expr load = et_stream_load(p, s, b);
        if (!load.id || !in_order(p, s, b, k)) return false;
        if (et_expr_eq(load, s->b[b]) && dtype_of(p, load) != s->operand) return false;
        if (b && et_dtype_bits(dtype_of(p, load)) != bits) return false;
        bits = et_dtype_bits(dtype_of(p, load));
    }
    return true;
}

int et_stream_step(const et_program *p, const et_func *f) {
    int found = -1;
    for (int i = 0; i < f->nsteps; i++) {
        if (f->steps[i].kind != ET_STEP_CONTRACT) continue;
        const et_step *s = &f->steps[i];
        bool itself = et_step_stages(f, s) && !f->locals[s->stage_b].slot;
        if (found >= 0 || itself || !streamable(p, s)) return -1;
        found = i;
    }
    return found;
}

const char *et_stream_problem(const et_program *p, const et_grid *g) {
    if (g->dynamic || g->slice.count) return "its tiles are not known from the start of a launch";
    if (!p->ring.slots) return "there is no ring";
    if (et_stream_step(p, &p->funcs[g->func]) < 0)
        return "it has no product with rows of weights that are known from the start of a launch";
    return NULL;
}

int64_t et_stream_bytes(et_program *p, const et_grid *g) {
    et_exprs *x = p->g->exprs;
    const et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    int64_t k = 0, lo, hi;
    et_is_int(x, s->kextent, &k);
    int64_t bytes = s->nacc * s->tn * et_dtype_size(dtype_of(p, et_stream_load(p, s, 0)), k);
    for (int i = 0; i < f->ncoords; i++) {
        bool used = false;
        for (int b = 0; b < s->nacc; b++)
            used |= et_expr_has_var(x, s->b[b], f->coord[i]);
        if (used && et_bounds(x, g->extent[i], &lo, &hi)) bytes *= hi > 1 ? hi : 1;
    }
    return bytes;
}
