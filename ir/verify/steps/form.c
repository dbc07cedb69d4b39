#include "ir/verify/steps/form.h"
#include "ir/base/diag.h"
#include <string.h>

enum { MAX_NESTING = 2000, FIRST_SLOTS = 32 };

struct bound {
    int var;
    bool made; /* F is what it stands for */
    sv_linear f;
    et_expr extent;
};

/* What expressions are: SLOT[h] is 1 + the place in KEY and FORM, or 0. */
struct memo {
    int *slot, nslot;
    uint32_t *key;
    sv_linear *form;
    int n, cap;
};

struct sv_frame {
    et_arena *arena;
    et_exprs *x;
    sv_problem *p;
    sv_frame *outer;
    struct bound *bound;
    int nbound, cbound;
    struct memo memo;
    sv_element_fn element;
    void *ctx;
    int depth;
};

sv_frame *sv_frame_create(et_arena *a, et_exprs *x, sv_problem *p, sv_frame *outer) {
    sv_frame *f = et_alloc(a, sizeof *f);
    *f = (sv_frame){.arena = a, .x = x, .p = p, .outer = outer};
    return f;
}

void sv_frame_clear(sv_frame *f, sv_frame *outer) {
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

static const sv_linear *recall(const sv_frame *f, et_expr e) {
    if (!f->memo.nslot) return NULL;
    int s = *slot_of(&f->memo, e.id);
    return s ? &f->memo.form[s - 1] : NULL;
}

static void remember(sv_frame *f, et_expr e, const sv_linear *form) {
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
        sv_linear *forms = et_alloc(f->arena, (size_t)cap * sizeof *forms);
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

static struct bound *bound_of(const sv_frame *f, int var) {
    for (int i = 0; i < f->nbound; i++)
        if (f->bound[i].var == var) return &f->bound[i];
    return NULL;
}

static struct bound *bind(sv_frame *f, int var) {
    struct bound *b = bound_of(f, var);
    if (b) return b;
    ET_GROW(f->arena, f->bound, f->nbound, f->cbound);
    b = &f->bound[f->nbound++];
    *b = (struct bound){.var = var};
    return b;
}

void sv_frame_extent(sv_frame *f, int var, et_expr extent) {
    bind(f, var)->extent = extent;
}

void sv_frame_bind(sv_frame *f, int var, const sv_linear *form) {
    struct bound *b = bind(f, var);
    b->made = true;
    b->f = *form;
}

sv_linear sv_frame_own(sv_frame *f, int var) {
    struct bound *b = bind(f, var);
    if (b->made) return b->f;
    et_expr extent = b->extent.id ? b->extent : et_var_extent(f->x, var);
    sv_linear e = sv_form(f, extent);
    int64_t lo, hi;
    if (!sv_bounds(f->p, &e, &lo, &hi)) hi = SV_MOST;
    sv_linear v = sv_of(sv_number(f->p, 0, hi - 1));
    if (!sv_is_constant(&e)) sv_assert(f->p, sv_lt(f->p, &v, &e));
    if (hi < 1) sv_assert(f->p, sv_never(f->p)); /* there is nothing it could be */
    b = bind(f, var);                            /* what the extent mentions may have moved it */
    b->made = true;
    b->f = v;
    return v;
}

static sv_linear variable(sv_frame *f, int var) {
    const struct bound *b = bound_of(f, var);
    if (b && b->made) return b->f;
    if (!b && f->outer) return variable(f->outer, var);
    return sv_frame_own(f, var);
}

static int64_t value_of(const sv_frame *f, const sv_linear *form) {
    int64_t v = form->k;
    for (int i = 0; i < form->n; i++)
        v += form->coef[i] * sv_value(f->p, form->number[i]);
    return v;
}

bool sv_frame_value(const sv_frame *f, int var, int64_t *out) {
    const struct bound *b = bound_of(f, var);
    if (!b || !b->made) return false;
    *out = value_of(f, &b->f);
    return true;
}

bool sv_frame_symbol(const sv_frame *f, int sym, int64_t *out) {
    const sv_linear *form = recall(f, et_sym(f->x, sym));
    if (form) *out = value_of(f, form);
    return form != NULL;
}

/* Does anything in E stand for something of this frame's own? */
static bool is_own(const sv_frame *f, et_expr e) {
    if (!f->outer) return true;
    for (int i = 0; i < f->nbound; i++)
        if (et_expr_has_var(f->x, e, f->bound[i].var)) return true;
    return false;
}

/* ---- sums ---- */

static sv_linear any_number(sv_frame *f) {
    sv_leave_out(f->p);
    return sv_of(sv_number(f->p, -SV_MOST, SV_MOST));
}

sv_linear sv_sum(sv_frame *f, const sv_linear *a, const sv_linear *b, int64_t by) {
    sv_linear r;
    int64_t lo, hi;
    if (!sv_add_parts(f->p, a, b, by, &r) || !sv_bounds(f->p, &r, &lo, &hi)) return any_number(f);
    return r;
}

/* A as one number. */
static int single(sv_frame *f, const sv_linear *a) {
    if (a->n == 1 && a->coef[0] == 1 && !a->k) return a->number[0];
    int64_t lo, hi;
    if (!sv_bounds(f->p, a, &lo, &hi)) lo = -SV_MOST, hi = SV_MOST;
    int v = sv_number(f->p, lo, hi);
    sv_linear n = sv_of(v);
    sv_assert(f->p, sv_eq(f->p, &n, a));
    return v;
}

static sv_linear product_of(sv_frame *f, int x, int y) {
    int64_t a, b, c, d;
    int known = sv_find_product(f->p, x < y ? x : y, x < y ? y : x);
    if (known >= 0) return sv_of(known);
    sv_range(f->p, x, &a, &b);
    sv_range(f->p, y, &c, &d);
    __int128 end[] = {(__int128)a * c, (__int128)a * d, (__int128)b * c, (__int128)b * d};
    __int128 lo = end[0], hi = end[0];
    for (int i = 1; i < 4; i++) {
        lo = end[i] < lo ? end[i] : lo;
        hi = end[i] > hi ? end[i] : hi;
    }
    if (lo < -SV_MOST || hi > SV_MOST) return any_number(f);
    int z = sv_number(f->p, (int64_t)lo, (int64_t)hi);
    sv_product(f->p, z, x < y ? x : y, x < y ? y : x);
    return sv_of(z);
}

static sv_linear multiply(sv_frame *f, const sv_linear *a, const sv_linear *b) {
    sv_linear sum = sv_constant(0);
    if (sv_is_constant(a)) return sv_sum(f, &sum, b, a->k);
    if (sv_is_constant(b)) return sv_sum(f, &sum, a, b->k);
    /* Terms apart, so that those that two frames share cancel. */
    sv_linear first = sv_constant(0), rest = sv_constant(0);
    first = sv_sum(f, &first, b, a->k);
    bool term = b->n == 1 && !b->k;
    int64_t times = term ? b->coef[0] : 1, by;
    for (int i = 0; i < a->n; i++) {
        sv_linear z = product_of(f, a->number[i], term ? b->number[0] : single(f, b));
        if (__builtin_mul_overflow(a->coef[i], times, &by)) return any_number(f);
        rest = sv_sum(f, &rest, &z, by);
    }
    return sv_sum(f, &first, &rest, 1);
}

sv_linear sv_quotient(sv_frame *f, const sv_linear *a, int64_t divisor) {
    int64_t lo, hi;
    if (divisor == 1) return *a;
    if (!sv_bounds(f->p, a, &lo, &hi)) return any_number(f);
    lo = lo / divisor - (lo % divisor < 0);
    hi = hi / divisor - (hi % divisor < 0);
    sv_linear end = sv_constant(divisor), zero = sv_constant(0);
    int known = sv_find_quotient(f->p, a, &end);
    if (known >= 0) return sv_of(known);
    sv_linear q = sv_of(sv_number(f->p, lo, hi));
    sv_linear rest = sv_sum(f, a, &q, -divisor);
    sv_quotient_is(f->p, q.number[0], a, &end);
    sv_assert(f->p, sv_le(f->p, &zero, &rest));
    sv_assert(f->p, sv_lt(f->p, &rest, &end));
    return q;
}

/* A / B, B a number that varies. */
static sv_linear quotient_by(sv_frame *f, const sv_linear *a, const sv_linear *b) {
    int64_t lo, hi, first, last;
    sv_linear zero = sv_constant(0);
    if (!sv_bounds(f->p, a, &lo, &hi) || !sv_bounds(f->p, b, &first, &last) || first < 1)
        return any_number(f);
    int known = sv_find_quotient(f->p, a, b);
    if (known >= 0) return sv_of(known);
    sv_linear q = sv_of(sv_number(f->p, lo < 0 ? lo : 0, hi > 0 ? hi / first : 0));
    sv_quotient_is(f->p, q.number[0], a, b);
    sv_linear whole = multiply(f, &q, b), rest = sv_sum(f, a, &whole, -1);
    sv_assert(f->p, sv_le(f->p, &zero, &rest));
    sv_assert(f->p, sv_lt(f->p, &rest, b));
    return q;
}

/* The rest of A by B is at least 0 and less than B, whatever is known of A. */
static sv_linear rest_by(sv_frame *f, const sv_linear *a, const sv_linear *b) {
    int64_t lo, hi, least, most;
    if (!sv_bounds(f->p, b, &least, &most) || least < 1) return any_number(f);
    sv_linear rest = sv_of(sv_number(f->p, 0, most - 1));
    if (!sv_is_constant(b)) sv_assert(f->p, sv_lt(f->p, &rest, b));
    if (!sv_bounds(f->p, a, &lo, &hi) || lo <= -SV_MOST / 2 || hi >= SV_MOST / 2) return rest;
    sv_linear q = sv_is_constant(b) ? sv_quotient(f, a, b->k) : quotient_by(f, a, b);
    sv_linear whole = multiply(f, &q, b), sum = sv_sum(f, &whole, &rest, 1);
    /* As a sum what two work-items share cancels; of what tensors decide the range matters. */
    if (sv_is_constant(b) && hi - lo < (int64_t)1 << 31) return sv_sum(f, a, &q, -b->k);
    sv_assert(f->p, sv_eq(f->p, a, &sum));
    return rest;
}

/* By a divisor below zero: floor(a / b) = floor(-a / -b), a mod b = -(-a mod -b). */
static sv_linear divide(sv_frame *f, et_xop op, const sv_linear *a, const sv_linear *b) {
    int64_t lo, hi;
    if (sv_bounds(f->p, b, &lo, &hi) && lo > -SV_MOST && hi < 0) {
        sv_linear zero = sv_constant(0), u = sv_sum(f, &zero, a, -1), v = sv_sum(f, &zero, b, -1);
        sv_linear of_both = divide(f, op, &u, &v);
        return op == ET_X_MOD ? sv_sum(f, &zero, &of_both, -1) : of_both;
    }
    if (sv_is_constant(b) && b->k < 1) return any_number(f);
    if (op == ET_X_MOD) return rest_by(f, a, b);
    return sv_is_constant(b) ? sv_quotient(f, a, b->k) : quotient_by(f, a, b);
}

/* The smaller of two, or the larger. */
static sv_linear extreme(sv_frame *f, bool larger, const sv_linear *a, const sv_linear *b) {
    int64_t lo, hi, least, most;
    if (!sv_bounds(f->p, a, &lo, &hi) || !sv_bounds(f->p, b, &least, &most)) return any_number(f);
    const sv_linear *low = larger ? b : a, *high = larger ? a : b;
    if (hi <= least) return *low;
    if (most <= lo) return *high;
    bool up = larger == (least > lo);
    sv_linear v = sv_of(sv_number(f->p, up ? least : lo, larger == (most > hi) ? most : hi));
    sv_problem *p = f->p;
    sv_assert(p, larger ? sv_le(p, a, &v) : sv_le(p, &v, a));
    sv_assert(p, larger ? sv_le(p, b, &v) : sv_le(p, &v, b));
    sv_assert(p, sv_either(p, larger ? sv_le(p, &v, a) : sv_le(p, a, &v),
                           larger ? sv_le(p, &v, b) : sv_le(p, b, &v)));
    return v;
}

static sv_linear choice(sv_frame *f, const et_node_x *n) {
    sv_problem *p = f->p;
    sv_cond yes = sv_holds(f, n->ops[0]), no = sv_fails(f, n->ops[0]);
    sv_linear a = sv_form(f, n->ops[1]), b = sv_form(f, n->ops[2]);
    int64_t lo, hi, least, most;
    if (!sv_bounds(p, &a, &lo, &hi) || !sv_bounds(p, &b, &least, &most)) return any_number(f);
    sv_linear v = sv_of(sv_number(p, least < lo ? least : lo, most > hi ? most : hi));
    sv_assert(p, sv_either(p, sv_both(p, yes, sv_eq(p, &v, &a)), sv_both(p, no, sv_eq(p, &v, &b))));
    return v;
}

/* ---- expressions ---- */

void sv_frame_elements(sv_frame *f, sv_element_fn fn, void *ctx) {
    f->element = fn;
    f->ctx = ctx;
}

static sv_linear element(sv_frame *f, const et_node_x *n) {
    int64_t lo = INT32_MIN, hi = INT32_MAX;
    const sv_frame *outer = f;
    while (outer->outer)
        outer = outer->outer;
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_LOCAL && outer->element)
        outer->element(outer->ctx, n->i, &lo, &hi);
    return sv_of(sv_number(f->p, lo, hi));
}

/* The low 32 bits: E without as many times 2^32 as bring it into their range. As a sum what two
 * work-items share cancels. */
static sv_linear low_bits(sv_frame *f, const et_node_x *n) {
    const int64_t wrap = (int64_t)1 << 32;
    int64_t lo, hi;
    if (et_x(f->x, n->ops[0])->type != ET_T_I32) return element(f, n);
    sv_linear a = sv_form(f, n->ops[0]), half = sv_constant(wrap / 2);
    if (!sv_bounds(f->p, &a, &lo, &hi) || lo < -SV_MOST / 2 || hi > SV_MOST / 2)
        return element(f, n);
    if (lo >= INT32_MIN && hi <= INT32_MAX) return a;
    sv_linear above = sv_sum(f, &a, &half, 1), times = sv_quotient(f, &above, wrap);
    return sv_sum(f, &a, &times, -wrap);
}

static sv_linear form_of(sv_frame *f, const et_node_x *n) {
    int64_t lo, hi;
    sv_linear a, b, zero = sv_constant(0);
    switch (n->op) {
    case ET_X_INT:
        return n->n >= -SV_MOST && n->n <= SV_MOST ? sv_constant(n->n) : any_number(f);
    case ET_X_SYM:
        et_sym_range(f->x, n->i, &lo, &hi);
        return lo == hi ? sv_constant(lo) : sv_of(sv_dim(f->p, lo, hi));
    case ET_X_VAR:
        return variable(f, n->i);
    case ET_X_LOAD:
        return element(f, n);
    case ET_X_SELECT:
        return choice(f, n);
    default:
        break;
    }
    if (n->op == ET_X_TO_I32) return low_bits(f, n);
    if (n->type != ET_T_I32 || n->nops < 1) return any_number(f);
    a = sv_form(f, n->ops[0]);
    if (n->op == ET_X_NEG) return sv_sum(f, &zero, &a, -1);
    if (n->op == ET_X_ABS) {
        b = sv_sum(f, &zero, &a, -1);
        return extreme(f, true, &a, &b);
    }
    if (n->nops < 2) return any_number(f);
    b = sv_form(f, n->ops[1]);
    switch (n->op) {
    case ET_X_ADD:
    case ET_X_SUB:
        return sv_sum(f, &a, &b, n->op == ET_X_ADD ? 1 : -1);
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

sv_linear sv_form(sv_frame *f, et_expr e) {
    const sv_linear *known = recall(f, e);
    if (known) return *known;
    if (!is_own(f, e)) return sv_form(f->outer, e);
    const et_node_x n = *et_x(f->x, e);
    if (f->depth == MAX_NESTING) return any_number(f);
    f->depth++;
    sv_linear r = form_of(f, &n);
    f->depth--;
    if (n.op != ET_X_VAR) remember(f, e, &r);
    return r;
}

/* ---- predicates ---- */

static sv_cond condition(sv_frame *f, et_expr e, bool holds);

static sv_cond comparison(sv_frame *f, const et_node_x *n, bool holds) {
    if (et_x(f->x, n->ops[0])->type != ET_T_I32 || et_x(f->x, n->ops[1])->type != ET_T_I32)
        return SV_ANY;
    sv_linear a = sv_form(f, n->ops[0]), b = sv_form(f, n->ops[1]);
    switch (n->op) {
    case ET_X_LT:
        return holds ? sv_lt(f->p, &a, &b) : sv_le(f->p, &b, &a);
    case ET_X_LE:
        return holds ? sv_le(f->p, &a, &b) : sv_lt(f->p, &b, &a);
    default:
        return (n->op == ET_X_EQ) == holds ? sv_eq(f->p, &a, &b) : sv_ne(f->p, &a, &b);
    }
}

static sv_cond condition_of(sv_frame *f, const et_node_x *n, bool holds) {
    sv_cond a, b;
    switch (n->op) {
    case ET_X_INT:
        return (n->n != 0) == holds ? SV_ANY : sv_never(f->p);
    case ET_X_NOT:
        return condition(f, n->ops[0], !holds);
    case ET_X_AND:
    case ET_X_OR:
        a = condition(f, n->ops[0], holds);
        b = condition(f, n->ops[1], holds);
        return (n->op == ET_X_AND) == holds ? sv_both(f->p, a, b) : sv_either(f->p, a, b);
    case ET_X_SELECT:
        a = sv_both(f->p, condition(f, n->ops[0], true), condition(f, n->ops[1], holds));
        b = sv_both(f->p, condition(f, n->ops[0], false), condition(f, n->ops[2], holds));
        return sv_either(f->p, a, b);
    case ET_X_LT:
    case ET_X_LE:
    case ET_X_EQ:
    case ET_X_NE:
        return comparison(f, n, holds);
    default:
        return SV_ANY;
    }
}

static sv_cond condition(sv_frame *f, et_expr e, bool holds) {
    const et_node_x n = *et_x(f->x, e);
    if (f->depth == MAX_NESTING) {
        sv_leave_out(f->p);
        return SV_ANY;
    }
    f->depth++;
    sv_cond c = condition_of(f, &n, holds);
    f->depth--;
    return c;
}

sv_cond sv_holds(sv_frame *f, et_expr pred) {
    return pred.id ? condition(f, pred, true) : SV_ANY;
}

sv_cond sv_fails(sv_frame *f, et_expr pred) {
    return pred.id ? condition(f, pred, false) : sv_never(f->p);
}
