/* Every index of every step stays inside what it indexes, and nothing is divided by zero. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"
#include <inttypes.h>

/* INDEX is in [0, extent): nothing to look at. */
static bool plain(struct steps *s, et_expr index, et_expr extent) {
    const et_node_x *n = et_x(s->x, index);
    int64_t size, most, lo, hi;
    if (n->op == ET_X_INT) return n->n >= 0 && et_is_int(s->x, extent, &size) && n->n < size;
    et_span(s->x, index, &lo, &hi);
    if (lo >= 0 && et_bounds(s->x, extent, &size, &most) && hi < size) return true;
    if (n->op != ET_X_VAR) return false;
    for (int c = 0; c < s->f->ncoords; c++)
        if (s->f->coord[c] == n->i) return et_expr_eq(s->grid->extent[c], extent);
    return et_expr_eq(et_step_extent(s->x, &s->f->steps[s->at], n->i), extent);
}

static sv_answer leaves(struct steps *s, const struct guards *g, et_expr index, et_expr extent) {
    sv_begin(s, s->at);
    sv_linear i = sv_form(s->one, index), n = sv_form(s->one, extent), zero = sv_constant(0);
    sv_cond out = sv_either(s->problem, sv_lt(s->problem, &i, &zero), sv_le(s->problem, &n, &i));
    sv_assert_guards(s, g);
    return sv_solve(s->problem, out);
}

static bool inside(struct steps *s, const struct guards *g, const et_place *at, bool store,
                   bool report) {
    for (int d = 0; d < at->rank; d++) {
        et_expr extent = sv_extent(s, at->space, at->id, d);
        if (plain(s, at->index[d], extent)) continue;
        sv_answer a = leaves(s, g, at->index[d], extent);
        if (a == SV_NO) continue;
        if (!report) return false;
        const char *does = store ? "stores" : "loads", *size = sv_text(s, extent);
        const char *element = sv_element(s, at->space, at->id, at->index);
        const char *index = sv_text(s, at->index[d]);
        if (a == SV_YES)
            sv_error(s, "%s %s outside: index %d, %s, is not in [0, %s)%s", does, element, d, index,
                     size, sv_where(s));
        else
            sv_error(s, "%s %s, and nothing shows that index %d, %s, stays in [0, %s): %s", does,
                     element, d, index, size,
                     sv_is_made(s->p) ? "reshape in smaller steps, or by fewer dims that vary"
                                      : "clamp it or guard it");
        return false;
    }
    return true;
}

/* What a tensor decides has a meaning where it is 0, too: see ir/expr/int_ops.h. */
static bool divides(struct steps *s, const struct guards *g, const et_node_x *n, bool report) {
    int64_t by;
    if ((et_is_int(s->x, n->ops[1], &by) && by) || et_expr_loads(s->x, n->ops[1])) return true;
    sv_begin(s, s->at);
    sv_linear divisor = sv_form(s->one, n->ops[1]), zero = sv_constant(0);
    sv_assert_guards(s, g);
    sv_answer a = sv_solve(s->problem, sv_eq(s->problem, &divisor, &zero));
    if (a == SV_NO) return true;
    if (report)
        sv_error(s, "divides by %s, which %s 0%s", sv_text(s, n->ops[1]),
                 a == SV_YES ? "is" : "is not shown not to be", a == SV_YES ? sv_where(s) : "");
    return false;
}

static bool look(void *ctx, const struct guards *g, const et_node_x *n, bool last) {
    struct steps *s = ctx;
    if (n->op == ET_X_IDIV || n->op == ET_X_MOD) return divides(s, g, n, last);
    if (n->op != ET_X_LOAD) return true;
    et_place at = {.space = n->i2, .id = n->i, .rank = n->nops};
    for (int d = 0; d < n->nops; d++)
        at.index[d] = n->ops[d];
    return inside(s, g, &at, false, last);
}

/* ---- sizes that codegen takes for granted ---- */

static bool check_size(struct steps *s, const char *what, et_expr e, int64_t lo, int64_t hi) {
    int64_t n;
    if (et_is_int(s->x, e, &n) && n >= lo && n <= hi) return true;
    sv_begin(s, s->at);
    sv_linear f = sv_form(s->one, e), least = sv_constant(lo), most = sv_constant(hi);
    sv_cond out =
        sv_either(s->problem, sv_lt(s->problem, &f, &least), sv_lt(s->problem, &most, &f));
    sv_answer a = sv_solve(s->problem, out);
    if (a == SV_NO) return true;
    sv_error(s, "has %s %s, which %s in [%" PRId64 ", %" PRId64 "]%s", what, sv_text(s, e),
             a == SV_YES ? "is not" : "is not shown to stay", lo, hi,
             a == SV_YES ? sv_where(s) : "");
    return false;
}

/* How far a variable goes is no further than it says of itself, which all that was simplified rests
 * on. */
static bool check_range(struct steps *s, const et_step_var *v) {
    et_expr most = et_var_extent(s->x, v->var);
    if (et_expr_eq(v->extent, most)) return true;
    sv_begin(s, s->at);
    sv_assert(s->problem, sv_holds(s->one, s->f->steps[s->at].mask));
    sv_linear far = sv_form(s->one, v->extent), end = sv_form(s->one, most);
    sv_answer a = sv_solve(s->problem, sv_lt(s->problem, &end, &far));
    if (a == SV_NO) return true;
    sv_error(s, "takes %s to %s, which %s more than %s%s", et_var_name(s->x, v->var),
             sv_text(s, v->extent), a == SV_YES ? "is" : "is not shown not to be", sv_text(s, most),
             a == SV_YES ? sv_where(s) : "");
    return false;
}

static bool check_ranges(struct steps *s, const et_step *st) {
    et_step_var var[ET_STEP_VARS];
    bool ok = true;
    for (int i = 0, n = et_step_vars(s->x, st, var); i < n && ok; i++)
        ok = check_range(s, &var[i]);
    return ok;
}

/* A product's b that comes straight from memory is loaded ahead, its first element even where there
 * is nothing to sum. */
static bool check_ahead(struct steps *s, const et_step *st) {
    int64_t least, most;
    const et_node_x *k = et_x(s->x, st->kextent);
    if (et_bounds(s->x, st->kextent, &least, &most) && least > 0) return true;
    if (k->op == ET_X_SELECT && et_is_int(s->x, k->ops[2], &least) && !least) return true;
    et_step saved = *st, *now = &s->f->steps[s->at];
    bool ok = true;
    now->kextent = et_int(s->x, 1);
    for (int i = 0; i < st->nacc && ok; i++) {
        const et_node_x *n = et_x(s->x, st->b[i]);
        struct guards none = {.n = 0};
        if (n->op == ET_X_LOAD) ok = look(s, &none, n, true);
    }
    *now = saved;
    return ok;
}

static bool check_sizes(struct steps *s, const et_step *st) {
    if (st->kind == ET_STEP_CONTRACT)
        return check_size(s, "an extent", st->kextent, 0, INT32_MAX) &&
               check_size(s, "live rows", st->mlive, 0, st->tm) &&
               check_size(s, "live columns", st->nlive, 1, st->tn);
    if (st->kind == ET_STEP_ATTEND)
        return (!st->rows || check_size(s, "live rows", st->ilive, 1, st->rows)) &&
               check_size(s, "a first position", st->part[ET_AT_FIRST], 0, INT32_MAX);
    return true;
}

static bool check_step(struct steps *s) {
    const et_step *st = &s->f->steps[s->at];
    const et_place *to = et_step_to(st), *state = et_step_state(st);
    struct guards g = {.n = st->mask.id != 0, .guard = {{st->mask, true}}};
    return check_ranges(s, st) && check_sizes(s, st) && sv_each_node(s, look, s) &&
           (st->kind != ET_STEP_CONTRACT || check_ahead(s, st)) &&
           (!to || inside(s, &g, to, true, true)) && (!state || inside(s, &g, state, true, true));
}

bool sv_check_bounds(struct steps *s) {
    bool ok = true;
    for (s->at = 0; ok && s->at < s->f->nsteps; s->at++)
        ok = check_step(s);
    s->at = -1;
    return ok;
}
