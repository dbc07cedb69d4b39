#include "ir/verify/steps/form.h"
#include "ir/base/diag.h"
#include <string.h>

enum { MAX_NESTING = 2000, FIRST_SLOTS = 128 };

struct bound {
    int var;
    bool made; /* F is what it stands for */
    vs_linear f;
    et_expr extent;
};

/* What expressions are: SLOT[h] is 1 + the place in KEY and FORM, or 0. */
struct memo {
    int *slot, nslot;
    uint32_t *key;
    vs_linear *form;
    int n, cap;
};

struct vs_frame {
    et_arena *arena;
    et_exprs *x;
    vs_problem *p;
    vs_frame *outer;
    struct bound *bound;
    int nbound, cbound;
    struct memo memo;
    vs_element_fn element;
    void *ctx;
    int depth;
};

vs_frame *vs_frame_create(et_arena *a, et_exprs *x, vs_problem *p, vs_frame *outer) {
    vs_frame *f = et_alloc(a, sizeof *f);
    *f = (vs_frame){.arena = a, .x = x, .p = p, .outer = outer};
    return f;
}

void vs_frame_clear(vs_frame *f, vs_frame *outer) {
    f->outer = outer;
    f->nbound = f->memo.n = 0;
    if (f->memo.nslot) memset(f->memo.slot, 0, (size_t)f->memo.nslot * sizeof *f->memo.slot);
}

/* ---- what expressions were found to be ---- */

static int *slot_of(const struct memo *m, uint32_t key) {
    for (uint32_t h = key * 0x9e3779b1u >> 7;; h++) {
        int *s = &m->slot[h & (uint32_t)(m->nslot - 1)];
        if (!*s || m->key[*s - 1] == key) return s;
    }
}

static const vs_linear *recall(const vs_frame *f, et_expr e) {
    if (!f->memo.nslot) return NULL;
    int s = *slot_of(&f->memo, e.id);
    return s ? &f->memo.form[s - 1] : NULL;
}

static void remember(vs_frame *f, et_expr e, const vs_linear *form) {
    struct memo *m = &f->memo;
    if (2 * m->n >= m->nslot) {
        m->nslot = m->nslot ? 2 * m->nslot : FIRST_SLOTS;
        m->slot = et_alloc(f->arena, (size_t)m->nslot * sizeof *m->slot);
        for (int i = 0; i < m->n; i++)
            *slot_of(m, m->key[i]) = i + 1;
    }
    if (m->n == m->cap) {
        int cap = m->cap ? 2 * m->cap : FIRST_SLOTS / 2;
        uint32_t *key = et_alloc(f->arena, (size_t)cap * sizeof *key);
        vs_linear *forms = et_alloc(f->arena, (size_t)cap * sizeof *forms);
        if (m->n) {
            memcpy(key, m->key, (size_t)m->n * sizeof *key);
            memcpy(forms, m->form, (size_t)m->n * sizeof *forms);
        }
        m->key = key;
        m->form = forms;
        m->cap = cap;
    }
    m->key[m->n] = e.id;
    m->form[m->n++] = *form;
    *slot_of(m, e.id) = m->n;
}

/* ---- variables ---- */

static struct bound *bound_of(const vs_frame *f, int var) {
    for (int i = 0; i < f->nbound; i++)
        if (f->bound[i].var == var) return &f->bound[i];
    return NULL;
}

static struct bound *bind(vs_frame *f, int var) {
    struct bound *b = bound_of(f, var);
    if (b) return b;
    ET_GROW(f->arena, f->bound, f->nbound, f->cbound);
    b = &f->bound[f->nbound++];
    *b = (struct bound){.var = var};
    return b;
}

void vs_frame_extent(vs_frame *f, int var, et_expr extent) {
    bind(f, var)->extent = extent;
}

void vs_frame_bind(vs_frame *f, int var, const vs_linear *form) {
    struct bound *b = bind(f, var);
    b->made = true;
    b->f = *form;
}

vs_linear vs_frame_own(vs_frame *f, int var) {
    struct bound *b = bind(f, var);
    if (b->made) return b->f;
    et_expr extent = b->extent.id ? b->extent : et_var_extent(f->x, var);
    vs_linear e = vs_form(f, extent);
    int64_t lo, hi;
    if (!vs_bounds(f->p, &e, &lo, &hi)) hi = VS_MOST;
    vs_linear v = vs_of(vs_number(f->p, 0, hi - 1));
    if (!vs_is_constant(&e)) vs_assert(f->p, vs_lt(f->p, &v, &e));
    if (hi < 1) vs_assert(f->p, vs_never(f->p)); /* there is nothing it could be */
    b = bind(f, var);                            /* what the extent mentions may have moved it */
    b->made = true;
    b->f = v;
    return v;
}

static vs_linear variable(vs_frame *f, int var) {
    const struct bound *b = bound_of(f, var);
    if (b && b->made) return b->f;
    if (!b && f->outer) return variable(f->outer, var);
    return vs_frame_own(f, var);
}

static int64_t value_of(const vs_frame *f, const vs_linear *form) {
    int64_t v = form->k;
    for (int i = 0; i < form->n; i++)
        v += form->coef[i] * vs_value(f->p, form->number[i]);
    return v;
}

bool vs_frame_value(const vs_frame *f, int var, int64_t *out) {
    const struct bound *b = bound_of(f, var);
    if (!b || !b->made) return false;
    *out = value_of(f, &b->f);
    return true;
}

bool vs_frame_symbol(const vs_frame *f, int sym, int64_t *out) {
    const vs_linear *form = recall(f, et_sym(f->x, sym));
    if (form) *out = value_of(f, form);
    return form != NULL;
}

/* Does anything in E stand for something of this frame's own? */
static bool is_own(const vs_frame *f, et_expr e) {
    if (!f->outer) return true;
    for (int i = 0; i < f->nbound; i++)
        if (et_expr_has_var(f->x, e, f->bound[i].var)) return true;
    return false;
}

/* ---- sums ---- */

static vs_linear any_number(vs_frame *f) {
    return vs_of(vs_number(f->p, -VS_MOST, VS_MOST));
}

vs_linear vs_sum(vs_frame *f, const vs_linear *a, const vs_linear *b, int64_t by) {
    vs_linear r;
    int64_t lo, hi;
    if (!vs_add(a, b, by, &r) || !vs_bounds(f->p, &r, &lo, &hi)) return any_number(f);
    return r;
}

/* A as one number. */
static int single(vs_frame *f, const vs_linear *a) {
    if (a->n == 1 && a->coef[0] == 1 && !a->k) return a->number[0];
    int64_t lo, hi;
    if (!vs_bounds(f->p, a, &lo, &hi)) lo = -VS_MOST, hi = VS_MOST;
    int v = vs_number(f->p, lo, hi);
    vs_linear n = vs_of(v);
    vs_assert(f->p, vs_eq(f->p, &n, a));
    return v;
}

static vs_linear product_of(vs_frame *f, int x, int y) {
    int64_t a, b, c, d;
    vs_range(f->p, x, &a, &b);
    vs_range(f->p, y, &c, &d);
    __int128 end[] = {(__int128)a * c, (__int128)a * d, (__int128)b * c, (__int128)b * d};
    __int128 lo = end[0], hi = end[0];
    for (int i = 1; i < 4; i++) {
        lo = end[i] < lo ? end[i] : lo;
        hi = end[i] > hi ? end[i] : hi;
    }
    if (lo < -VS_MOST || hi > VS_MOST) return any_number(f);
    int z = vs_number(f->p, (int64_t)lo, (int64_t)hi);
    vs_product(f->p, z, x < y ? x : y, x < y ? y : x);
    return vs_of(z);
}

static vs_linear multiply(vs_frame *f, const vs_linear *a, const vs_linear *b) {
    vs_linear sum = vs_constant(0);
    if (vs_is_constant(a)) return vs_sum(f, &sum, b, a->k);
    if (vs_is_constant(b)) return vs_sum(f, &sum, a, b->k);
    /* Terms apart, so that those that two frames share cancel. */
    vs_linear first = vs_constant(0), rest = vs_constant(0);
    first = vs_sum(f, &first, b, a->k);
    for (int i = 0; i < a->n; i++) {
        vs_linear term = product_of(f, a->number[i], single(f, b));
        rest = vs_sum(f, &rest, &term, a->coef[i]);
    }
    return vs_sum(f, &first, &rest, 1);
}

vs_linear vs_quotient(vs_frame *f, const vs_linear *a, int64_t divisor) {
    int64_t lo, hi;
    if (divisor == 1) return *a;
    if (!vs_bounds(f->p, a, &lo, &hi)) return any_number(f);
    lo = lo / divisor - (lo % divisor < 0);
    hi = hi / divisor - (hi % divisor < 0);
    vs_linear q = vs_of(vs_number(f->p, lo, hi));
    vs_linear rest = vs_sum(f, a, &q, -divisor), zero = vs_constant(0);
    vs_linear end = vs_constant(divisor);
    vs_assert(f->p, vs_le(f->p, &zero, &rest));
    vs_assert(f->p, vs_lt(f->p, &rest, &end));
    return q;
}

/* A / B, B a number that varies. */
static vs_linear quotient_by(vs_frame *f, const vs_linear *a, const vs_linear *b) {
    int64_t lo, hi, first, last;
    vs_linear zero = vs_constant(0);
    if (!vs_bounds(f->p, a, &lo, &hi) || !vs_bounds(f->p, b, &first, &last) || first < 1)
        return any_number(f);
    vs_linear q = vs_of(vs_number(f->p, lo < 0 ? lo : 0, hi > 0 ? hi / first : 0));
    vs_linear whole = multiply(f, &q, b), rest = vs_sum(f, a, &whole, -1);
    vs_assert(f->p, vs_le(f->p, &zero, &rest));
    vs_assert(f->p, vs_lt(f->p, &rest, b));
    return q;
}

static vs_linear divide(vs_frame *f, et_xop op, const vs_linear *a, const vs_linear *b) {
    vs_linear q;
    if (vs_is_constant(b) && b->k < 1) return any_number(f);
    q = vs_is_constant(b) ? vs_quotient(f, a, b->k) : quotient_by(f, a, b);
    if (op == ET_X_IDIV) return q;
    if (vs_is_constant(b)) return vs_sum(f, a, &q, -b->k);
    int64_t lo, hi;
    if (!vs_bounds(f->p, b, &lo, &hi) || lo < 1) return any_number(f);
    vs_linear whole = multiply(f, &q, b);
    return vs_sum(f, a, &whole, -1);
}

/* The smaller of two, or the larger. */
static vs_linear extreme(vs_frame *f, bool larger, const vs_linear *a, const vs_linear *b) {
    int64_t lo, hi, least, most;
    if (!vs_bounds(f->p, a, &lo, &hi) || !vs_bounds(f->p, b, &least, &most)) return any_number(f);
    const vs_linear *low = larger ? b : a, *high = larger ? a : b;
    if (hi <= least) return *low;
    if (most <= lo) return *high;
    bool up = larger == (least > lo);
    vs_linear v = vs_of(vs_number(f->p, up ? least : lo, larger == (most > hi) ? most : hi));
    vs_problem *p = f->p;
    vs_assert(p, larger ? vs_le(p, a, &v) : vs_le(p, &v, a));
    vs_assert(p, larger ? vs_le(p, b, &v) : vs_le(p, &v, b));
    vs_assert(p, vs_either(p, larger ? vs_le(p, &v, a) : vs_le(p, a, &v),
                           larger ? vs_le(p, &v, b) : vs_le(p, b, &v)));
    return v;
}

static vs_linear choice(vs_frame *f, const et_node_x *n) {
    vs_problem *p = f->p;
    vs_cond yes = vs_holds(f, n->ops[0]), no = vs_fails(f, n->ops[0]);
    vs_linear a = vs_form(f, n->ops[1]), b = vs_form(f, n->ops[2]);
    int64_t lo, hi, least, most;
    if (!vs_bounds(p, &a, &lo, &hi) || !vs_bounds(p, &b, &least, &most)) return any_number(f);
    vs_linear v = vs_of(vs_number(p, least < lo ? least : lo, most > hi ? most : hi));
    vs_assert(p, vs_either(p, vs_both(p, yes, vs_eq(p, &v, &a)), vs_both(p, no, vs_eq(p, &v, &b))));
    return v;
}

/* ---- expressions ---- */

void vs_frame_elements(vs_frame *f, vs_element_fn fn, void *ctx) {
    f->element = fn;
    f->ctx = ctx;
}

static vs_linear element(vs_frame *f, const et_node_x *n) {
    int64_t lo = INT32_MIN, hi = INT32_MAX;
    const vs_frame *outer = f;
    while (outer->outer)
        outer = outer->outer;
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_LOCAL && outer->element)
        outer->element(outer->ctx, n->i, &lo, &hi);
    return vs_of(vs_number(f->p, lo, hi));
}

static vs_linear form_of(vs_frame *f, const et_node_x *n) {
    int64_t lo, hi;
    vs_linear a, b, zero = vs_constant(0);
    switch (n->op) {
    case ET_X_INT:
        return n->n >= -VS_MOST && n->n <= VS_MOST ? vs_constant(n->n) : any_number(f);
    case ET_X_SYM:
        et_sym_range(f->x, n->i, &lo, &hi);
        return lo == hi ? vs_constant(lo) : vs_of(vs_number(f->p, lo, hi));
    case ET_X_VAR:
        return variable(f, n->i);
    case ET_X_LOAD:
        return element(f, n);
    case ET_X_SELECT:
        return choice(f, n);
    default:
        break;
    }
    if (n->op == ET_X_TO_I32) return element(f, n);
    if (n->type != ET_T_I32 || n->nops < 1) return any_number(f);
    a = vs_form(f, n->ops[0]);
    if (n->op == ET_X_NEG) return vs_sum(f, &zero, &a, -1);
    if (n->op == ET_X_ABS) {
        b = vs_sum(f, &zero, &a, -1);
        return extreme(f, true, &a, &b);
    }
    if (n->nops < 2) return any_number(f);
    b = vs_form(f, n->ops[1]);
    switch (n->op) {
    case ET_X_ADD:
    case ET_X_SUB:
        return vs_sum(f, &a, &b, n->op == ET_X_ADD ? 1 : -1);
    case ET_X_MUL:
        return multiply(f, &a, &b);
    case ET_X_IDIV:
    case ET_X_MOD:
        return divide(f, n->op, &a, &b);
    case ET_X_MIN:
    case ET_X_MAX:
        return extreme(f, n->op == ET_X_MAX, &a, &b);
    default:
        return any_number(f);
    }
}

vs_linear vs_form(vs_frame *f, et_expr e) {
    const vs_linear *known = recall(f, e);
    if (known) return *known;
    if (!is_own(f, e)) return vs_form(f->outer, e);
    const et_node_x n = *et_x(f->x, e);
    if (f->depth == MAX_NESTING) return any_number(f);
    f->depth++;
    vs_linear r = form_of(f, &n);
    f->depth--;
    if (n.op != ET_X_VAR) remember(f, e, &r);
    return r;
}

/* ---- predicates ---- */

static vs_cond condition(vs_frame *f, et_expr e, bool holds);

static vs_cond comparison(vs_frame *f, const et_node_x *n, bool holds) {
    if (et_x(f->x, n->ops[0])->type != ET_T_I32 || et_x(f->x, n->ops[1])->type != ET_T_I32)
        return VS_ANY;
    vs_linear a = vs_form(f, n->ops[0]), b = vs_form(f, n->ops[1]);
    switch (n->op) {
    case ET_X_LT:
        return holds ? vs_lt(f->p, &a, &b) : vs_le(f->p, &b, &a);
    case ET_X_LE:
        return holds ? vs_le(f->p, &a, &b) : vs_lt(f->p, &b, &a);
    default:
        return (n->op == ET_X_EQ) == holds ? vs_eq(f->p, &a, &b) : vs_ne(f->p, &a, &b);
    }
}

static vs_cond condition_of(vs_frame *f, const et_node_x *n, bool holds) {
    vs_cond a, b;
    switch (n->op) {
    case ET_X_INT:
        return (n->n != 0) == holds ? VS_ANY : vs_never(f->p);
    case ET_X_NOT:
        return condition(f, n->ops[0], !holds);
    case ET_X_AND:
    case ET_X_OR:
        a = condition(f, n->ops[0], holds);
        b = condition(f, n->ops[1], holds);
        return (n->op == ET_X_AND) == holds ? vs_both(f->p, a, b) : vs_either(f->p, a, b);
    case ET_X_SELECT:
        a = vs_both(f->p, condition(f, n->ops[0], true), condition(f, n->ops[1], holds));
        b = vs_both(f->p, condition(f, n->ops[0], false), condition(f, n->ops[2], holds));
        return vs_either(f->p, a, b);
    case ET_X_LT:
    case ET_X_LE:
    case ET_X_EQ:
    case ET_X_NE:
        return comparison(f, n, holds);
    default:
        return VS_ANY;
    }
}

static vs_cond condition(vs_frame *f, et_expr e, bool holds) {
    const et_node_x n = *et_x(f->x, e);
    if (f->depth == MAX_NESTING) return VS_ANY;
    f->depth++;
    vs_cond c = condition_of(f, &n, holds);
    f->depth--;
    return c;
}

vs_cond vs_holds(vs_frame *f, et_expr pred) {
    return pred.id ? condition(f, pred, true) : VS_ANY;
}

vs_cond vs_fails(vs_frame *f, et_expr pred) {
    return pred.id ? condition(f, pred, false) : vs_never(f->p);
}
