/* Footprints: which elements a tile touches, by interval arithmetic over its index expressions.
 * What it leaves out is never touched; it may include more. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/program/step.h"
#include "ir/verify/int.h"
#include <string.h>

/* ---- intervals ---- */

enum { I32_BITS = 31 };
/* What a load may be. */
static const struct vf_range any = {-((int64_t)1 << I32_BITS), ((int64_t)1 << I32_BITS) - 1};
/* What an integer may be; sums and differences of the ends stay within 64 bits. */
static const struct vf_range all = {-((int64_t)1 << 61), (int64_t)1 << 61};

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static struct vf_range select_of(const struct verify *v, const et_node_x *n) {
    struct vf_range c = vf_eval(v, n->ops[0]);
    if (c.lo == 1) return vf_eval(v, n->ops[1]);
    if (c.hi == 0) return vf_eval(v, n->ops[2]);
    struct vf_range a = vf_eval(v, n->ops[1]), b = vf_eval(v, n->ops[2]);
    return (struct vf_range){least(a.lo, b.lo), most_of(a.hi, b.hi)};
}

static struct vf_range within(et_range r) {
    bool in = all.lo <= r.lo && r.hi <= all.hi;
    return in ? (struct vf_range){r.lo, r.hi} : all;
}

/* An operator of one integer, or of two. */
static struct vf_range operation(const struct verify *v, const et_node_x *n) {
    struct vf_range a = vf_eval(v, n->ops[0]), b = a;
    if (n->nops > 1) b = vf_eval(v, n->ops[1]);
    return within(et_range_total(n->op, (et_range){a.lo, a.hi}, (et_range){b.lo, b.hi}));
}

struct vf_range vf_eval(const struct verify *v, et_expr e) {
    const et_node_x *n = et_x(v->x, e);
    struct vf_range known;
    if (v->at.id && et_expr_eq(e, v->at)) return v->at_range;
    if (v->entered && vf_lookup(v, e, &known)) return known;
    switch (n->op) {
    case ET_X_INT:
        return within((et_range){n->n, n->n});
    case ET_X_SYM:
        return (struct vf_range){v->syms[n->i], v->syms[n->i]};
    case ET_X_VAR:
        return v->var[n->i];
    case ET_X_SELECT:
        return n->type == ET_T_I32 ? select_of(v, n) : any;
    case ET_X_NOT: {
        struct vf_range a = vf_eval(v, n->ops[0]);
        return (struct vf_range){!a.hi, !a.lo};
    }
    default:
        break;
    }
    /* Comparisons of floats, loads and conversions can be anything. */
    bool pred = n->type == ET_T_PRED;
    if (n->type == ET_T_F32 || n->nops < 1 || n->nops > 2 || n->op == ET_X_LOAD ||
        et_x(v->x, n->ops[0])->type == ET_T_F32)
        return pred ? (struct vf_range){0, 1} : any;
    return operation(v, n);
}

/* ---- what an expression depends on ---- */

unsigned vf_coords_in(struct verify *v, const et_func *f, et_expr e) {
    unsigned set = 0;
    for (int c = 0; c < f->ncoords; c++)
        if (et_expr_has_var(v->x, e, f->coord[c])) set |= 1u << c;
    return set;
}

/* ---- accesses ---- */

struct listing {
    struct verify *v;
    struct vf_grid *g;
};

static bool same_access(const struct vf_access *a, const struct vf_access *b, int rank) {
    if (a->tensor != b->tensor || a->store != b->store || a->step != b->step ||
        a->early != b->early || a->vars != b->vars)
        return false;
    for (int d = 0; d < rank; d++)
        if (!et_expr_eq(a->index[d], b->index[d])) return false;
    return true;
}

/* The sizes of what a step iterates over move its accesses too. */
unsigned vf_coords_of_extents(struct verify *v, const et_func *f, const et_step *s) {
    et_step_var var[ET_STEP_VARS];
    unsigned set = 0;
    for (int i = 0, n = et_step_vars(v->x, s, var); i < n; i++)
        set |= vf_coords_in(v, f, var[i].extent);
    return set;
}

/* What expression E of the access moves it with. */
static void note_moves(struct verify *v, const struct vf_grid *g, struct vf_access *a, et_expr e) {
    a->coords |= vf_coords_in(v, g->f, e);
    for (int i = 0; i < g->depth; i++)
        if (et_expr_has_var(v->x, e, v->p->g->loops[g->path[i]].var)) a->loops |= 1u << i;
}

void vf_add_access(struct verify *v, struct vf_grid *g, const struct vf_access *like) {
    struct vf_access a = *like;
    int rank = v->p->tensors[a.tensor].shape.rank;
    for (int d = 0; d < rank; d++) {
        a.data |= et_expr_loads(v->x, a.index[d]);
        note_moves(v, g, &a, a.index[d]);
    }
    if (a.step) a.coords |= vf_coords_of_extents(v, g->f, a.step);
    for (int k = 0; k < a.nvars; k++)
        note_moves(v, g, &a, et_var_extent(v->x, a.vars[k]));
    for (int i = 0; i < g->naccess; i++)
        if (same_access(&g->access[i], &a, rank)) return;
    ET_GROW(v->arena, g->access, g->naccess, g->caccess);
    g->access[g->naccess++] = a;
}

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    struct listing *l = ctx;
    struct vf_access a = {.tensor = tensor, .store = is_store, .step = step};
    int rank = l->v->p->tensors[tensor].shape.rank, n = 0;
    et_exprs *x = l->v->x;
    et_step_var var[ET_STEP_VARS];
    if (step) n = et_step_vars(x, step, var);
    for (int d = 0; d < rank; d++) {
        a.index[d] = index[d];
        for (int i = 0; i < n; i++) /* what has one value is that, as in the waits made for it */
            if (et_expr_eq(var[i].extent, et_int(x, 1)))
                a.index[d] = et_subst_var(x, a.index[d], var[i].var, et_int(x, 0));
    }
    vf_add_access(l->v, l->g, &a);
}

void vf_list_accesses(struct verify *v, struct vf_grid *g) {
    et_func_accesses(v->p, g->f, note, &(struct listing){v, g});
}

/* ---- tiles ---- */

int64_t vf_count(const struct vf_grid *g, unsigned mask) {
    int64_t n = 1;
    for (int c = 0; c < g->f->ncoords; c++)
        if (mask >> c & 1) n *= g->extent[c];
    return n;
}

void vf_enter(struct verify *v, const struct vf_inst *in, unsigned mask, int64_t at) {
    const struct vf_grid *g = &v->grid[in->grid];
    v->entered = NULL;
    v->at = ET_NO_EXPR;
    for (int i = 0; i < g->depth; i++) {
        const struct vf_loop *l = &v->loop[g->path[i]];
        int64_t label = i < v->glued ? in->at[i] : vf_label(l, in->at[i]);
        v->var[v->p->g->loops[g->path[i]].var] = (struct vf_range){label, label};
    }
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        struct vf_range r = {0, g->extent[c] - 1};
        if (mask >> c & 1) {
            r.lo = r.hi = at % g->extent[c];
            at /= g->extent[c];
        }
        v->var[g->f->coord[c]] = r;
    }
}

void vf_enter_class(struct verify *v, const struct vf_inst *in, int klass) {
    const struct vf_grid *g = &v->grid[in->grid];
    vf_enter(v, in, g->wait_coords, klass / g->values);
    vf_know(v, g, klass % g->values);
}

static void set_var(struct verify *v, int var, et_expr extent) {
    v->var[var] = (struct vf_range){0, vf_eval(v, extent).hi - 1};
}

/* Where the mask holds a variable is below what it says of itself too: steps/bounds.c. */
void vf_enter_step(struct verify *v, const et_step *s) {
    et_step_var var[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(v->x, s, var); i < n; i++) {
        et_expr most = et_var_extent(v->x, var[i].var);
        set_var(v, var[i].var, var[i].extent);
        struct vf_range *r = &v->var[var[i].var];
        if (!et_expr_eq(most, var[i].extent)) r->hi = least(r->hi, vf_eval(v, most).hi - 1);
    }
}

/* Does the access have a variable that goes nowhere? Then nothing is touched. */
static bool never_made(const struct verify *v, const struct vf_access *a) {
    et_step_var var[ET_STEP_VARS];
    int rank = v->p->tensors[a->tensor].shape.rank;
    for (int i = 0, n = a->step ? et_step_vars(v->x, a->step, var) : 0; i < n; i++)
        for (int d = 0; d < rank && v->var[var[i].var].hi < 0; d++)
            if (et_expr_has_var(v->x, a->index[d], var[i].var)) return true;
    return false;
}

/* The last index of dimension D that the access may touch where the step's mask holds. */
static int64_t last_of(struct verify *v, const struct vf_access *a, int d) {
    int64_t last = vf_eval(v, v->p->tensors[a->tensor].shape.dim[d]).hi - 1;
    et_expr end = a->step ? et_step_masked_end(v->x, a->step, a->index[d]) : ET_NO_EXPR;
    return end.id ? least(last, vf_eval(v, end).hi - 1) : last;
}

/* Elements outside the tensor are never touched: there the step's mask is false. */
struct vf_box vf_box_of(struct verify *v, const struct vf_access *a) {
    const et_shape *s = &v->p->tensors[a->tensor].shape;
    struct vf_box b = {.empty = false};
    if (a->step) vf_enter_step(v, a->step);
    for (int i = 0; i < a->nvars; i++)
        set_var(v, a->vars[i], et_var_extent(v->x, a->vars[i]));
    v->report->work += 2 + s->rank;
    for (int d = 0; d < s->rank; d++) {
        struct vf_range r = vf_eval(v, a->index[d]);
        b.d[d] = (struct vf_range){most_of(r.lo, 0), least(r.hi, last_of(v, a, d))};
        b.empty |= b.d[d].lo > b.d[d].hi;
    }
    b.empty |= never_made(v, a);
    return b;
}

struct vf_range vf_bytes(const struct verify *v, int tensor, const struct vf_box *b) {
    const et_tensor *t = &v->p->tensors[tensor];
    int64_t bits = et_dtype_bits(t->shape.dtype), lo = 0, hi = 0;
    if (b->empty) return (struct vf_range){0, -1};
    for (int d = 0; d < t->shape.rank; d++) {
        int64_t n = vf_eval(v, t->shape.dim[d]).lo;
        lo = lo * n + b->d[d].lo;
        hi = hi * n + b->d[d].hi;
    }
    return (struct vf_range){t->offset + lo * bits / 8, t->offset + (hi * bits + bits - 1) / 8};
}
