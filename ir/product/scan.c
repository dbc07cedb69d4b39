/* Which scans have a chunked form (scan.h), and where its matrices lie. */
#include "ir/product/scan.h"

static bool no(const char **out_why, const char *why) {
    *out_why = why;
    return false;
}

/* ---- expressions that are linear ---- */

/* COEFFICIENT * ARG + rest, either none where it is zero. */
struct linear {
    et_expr coefficient, rest;
};

static bool is_one(const et_exprs *x, et_expr e) {
    return et_x(x, e)->op == ET_X_FLOAT && et_x(x, e)->f == 1;
}

static et_expr times(et_exprs *x, et_expr a, et_expr b) {
    if (!a.id || !b.id) return ET_NO_EXPR;
    return is_one(x, a) ? b : is_one(x, b) ? a : et_mul(x, a, b);
}

static et_expr sum(et_exprs *x, et_expr a, et_expr b, bool minus) {
    if (!b.id) return a;
    if (!a.id) return minus ? et_op1(x, ET_X_NEG, b) : b;
    return minus ? et_sub(x, a, b) : et_add(x, a, b);
}

/* E by the argument ARG; false where it is not linear in it. */
static bool by_argument(et_exprs *x, et_expr e, int arg, struct linear *out) {
    struct linear a, b;
    const et_node_x n = *et_x(x, e);
    *out = (struct linear){ET_NO_EXPR, e};
    if (!et_expr_has(x, e, ET_X_ARG, arg)) return true;
    switch (n.op) {
    case ET_X_ARG:
        *out = (struct linear){et_float(x, 1), ET_NO_EXPR};
        return true;
    case ET_X_NEG:
        if (!by_argument(x, n.ops[0], arg, &a)) return false;
        *out = (struct linear){sum(x, ET_NO_EXPR, a.coefficient, true),
                               sum(x, ET_NO_EXPR, a.rest, true)};
        return true;
    case ET_X_ADD:
    case ET_X_SUB:
        if (!by_argument(x, n.ops[0], arg, &a) || !by_argument(x, n.ops[1], arg, &b)) return false;
        *out = (struct linear){sum(x, a.coefficient, b.coefficient, n.op == ET_X_SUB),
                               sum(x, a.rest, b.rest, n.op == ET_X_SUB)};
        return true;
    case ET_X_MUL:
        if (!by_argument(x, n.ops[0], arg, &a) || !by_argument(x, n.ops[1], arg, &b)) return false;
        if (a.coefficient.id && b.coefficient.id) return false;
        *out = a.coefficient.id
                   ? (struct linear){times(x, a.coefficient, n.ops[1]), times(x, a.rest, n.ops[1])}
                   : (struct linear){times(x, b.coefficient, n.ops[0]), times(x, b.rest, n.ops[0])};
        return true;
    default:
        return false;
    }
}

/* The factors of E that have the variable J, and the product of all others. */
static void factors(et_exprs *x, et_expr e, int j, et_expr *with, et_expr *without) {
    const et_node_x n = *et_x(x, e);
    if (n.op == ET_X_MUL && et_expr_has_var(x, e, j)) {
        factors(x, n.ops[0], j, with, without);
        factors(x, n.ops[1], j, with, without);
        return;
    }
    if (n.op == ET_X_NEG && et_expr_has_var(x, e, j)) {
        factors(x, n.ops[0], j, with, without);
        *without = et_op1(x, ET_X_NEG, *without);
        return;
    }
    et_expr *of = et_expr_has_var(x, e, j) ? with : without;
    *of = times(x, *of, e);
}

/* A part that is a multiple of the state. */
static bool multiple(et_exprs *x, et_expr e, et_expr *out) {
    struct linear l;
    if (!by_argument(x, e, ET_ARG_STATE, &l) || l.rest.id) return false;
    *out = l.coefficient;
    return l.coefficient.id != 0;
}

static bool find_position(et_exprs *x, et_expr fresh, et_expr *out) {
    if (!fresh.id) return false;
    const et_node_x n = *et_x(x, fresh);
    int64_t v;
    for (int i = 0; n.op == ET_X_EQ && i < 2; i++)
        if (et_is_int(x, n.ops[i], &v) && v == 0 && et_x(x, n.ops[!i])->type == ET_T_I32) {
            *out = n.ops[!i];
            return true;
        }
    return false;
}

static bool of_result(const et_exprs *x, const et_step *s, et_expr e) {
    return e.id && et_expr_has_vars(x, e, s->nvars, s->vars);
}

static const char mapped[] = "what is stored is a map of its results";

bool et_scan_form_of(et_exprs *x, const et_step *s, et_scan_form *out, const char **out_why) {
    struct linear next, seen;
    et_expr look = s->scan[ET_SC_LOOK], one = et_float(x, 1);
    *out = (et_scan_form){.along = one};
    *out_why = NULL;
    if (s->scan[ET_SC_THEN].id) return no(out_why, mapped);
    if (!find_position(x, s->scan[ET_SC_FRESH], &out->position))
        return no(out_why, "no integer says at which position of its sequence a row is");
    if (!by_argument(x, s->scan[ET_SC_NEXT], ET_ARG_STATE, &next) || !next.rest.id)
        return no(out_why, "the next state is not a multiple of the state and something added");
    out->kept = next.coefficient.id ? next.coefficient : et_float(x, 0);
    et_expr added = one;
    factors(x, next.rest, s->evar, &out->along, &added);
    if (!by_argument(x, added, ET_ARG_SEEN, &seen) ||
        et_expr_has(x, out->along, ET_X_ARG, ET_ARG_SEEN) ||
        et_expr_has(x, out->kept, ET_X_ARG, ET_ARG_SEEN))
        return no(out_why, "the next state does not have a multiple of what is seen");
    out->added = seen.rest.id ? seen.rest : et_float(x, 0);
    out->sees = seen.coefficient;
    if (!multiple(x, s->scan[ET_SC_OUT], &out->outs) ||
        (out->sees.id && !multiple(x, look, &out->looks)))
        return no(out_why, "what is seen, or the result, is not a sum of multiples of the state");
    if (et_expr_has_var(x, out->kept, s->evar) || et_expr_has_var(x, out->added, s->evar) ||
        (out->sees.id && et_expr_has_var(x, out->sees, s->evar)))
        return no(out_why, "elements of a state are not kept, or added to, alike");
    if (of_result(x, s, out->kept) || of_result(x, s, out->sees) || of_result(x, s, out->looks) ||
        of_result(x, s, out->along) || of_result(x, s, out->outs))
        return no(out_why, "results of a tile differ in more than what is added");
    return true;
}

/* ---- windows ---- */

/* E == J, or J == E, for E = Q % the elements of J. */
static bool is_place(et_exprs *x, et_expr e, int j, int64_t elements, et_expr *out) {
    const et_node_x n = *et_x(x, e);
    int64_t by;
    for (int i = 0; n.op == ET_X_EQ && i < 2; i++) {
        const et_node_x m = *et_x(x, n.ops[i]);
        if (m.op != ET_X_MOD || !et_expr_eq(n.ops[!i], et_var(x, j))) continue;
        *out = m.ops[0];
        return et_is_int(x, m.ops[1], &by) && by == elements;
    }
    return false;
}

bool et_scan_window_of(et_exprs *x, const et_step *s, int items, et_scan_window *out,
                       const char **out_why) {
    const et_node_x next = *et_x(x, s->scan[ET_SC_NEXT]);
    int64_t elements = 0, results = 1, n = 0;
    *out = (et_scan_window){.count = ET_NO_EXPR};
    if (s->scan[ET_SC_THEN].id) return no(out_why, mapped);
    et_is_int(x, et_var_extent(x, s->evar), &elements);
    if (next.op != ET_X_SELECT || !is_place(x, next.ops[0], s->evar, elements, &out->count) ||
        !et_expr_eq(next.ops[2], et_arg(x, ET_ARG_STATE, ET_T_F32)))
        return no(out_why, "an element of the state is not what one of the last rows brought");
    out->brought = next.ops[1];
    if (et_expr_has_op(x, out->brought, ET_X_ARG) || et_expr_has_op(x, out->count, ET_X_ARG) ||
        of_result(x, s, out->count) || et_expr_has_var(x, out->count, s->evar))
        return no(out_why, "what a row brings is made of the state, or not of the row alone");
    for (int i = 0; i < s->nvars; i++)
        results *= et_is_int(x, et_var_extent(x, s->vars[i]), &n) ? n : items + 1;
    if (elements > ET_SCAN_WINDOW || results > items)
        return no(out_why, "it has too many elements, or a tile too many results");
    out->elements = (int)elements;
    return true;
}

/* ---- memory ---- */

static int take(et_scan_chunk *c, int words) {
    int at = c->words;
    c->words += (words + 3) / 4 * 4;
    return at;
}

/* Rows of so many words, EXTRA further than a multiple of 32, of as many banks: sixteen for rows
 * that two lanes load four words of at once, beside each other; eight for such of which lanes load
 * a column. */
static int padded(int words, int extra) {
    return (words + 31 - extra) / 32 * 32 + extra;
}

static int largest(int a, int b) {
    return a > b ? a : b;
}

/* Is what a wave multiplies, and a work-item loads, no more than code is emitted for? */
static bool is_small(const et_scan_chunk *c, int items, int wave) {
    int rows = c->rows / ET_SCAN_CHUNK_UNIT, results = c->results / ET_SCAN_CHUNK_UNIT,
        elements = c->elements / ET_SCAN_CHUNK_UNIT;
    int tiles = largest((c->form.sees.id ? 2 : 1) * rows * (rows + results), results * elements);
    int words = c->rows * largest(c->elements / ET_SCAN_LANE_K, c->results);
    return tiles <= items / wave * ET_SCAN_TILES && words <= items * ET_SCAN_PIECES;
}

bool et_scan_chunk_of(et_exprs *x, const et_step *s, int items, int wave, int rows,
                      et_scan_chunk *out, const char **out_why) {
    int64_t results = 0, elements = 0;
    *out = (et_scan_chunk){.rows = rows};
    if (!et_scan_form_of(x, s, &out->form, out_why)) return false;
    if (s->nvars == 1) et_is_int(x, et_var_extent(x, s->vars[0]), &results);
    et_is_int(x, et_var_extent(x, s->evar), &elements);
    if (results < 1 || s->mask.id || results * s->lanes != items)
        return no(out_why, "a tile has not the results of one variable, one for all its lanes");
    if (rows >= items) return no(out_why, "there are not more work-items than rows");
    if (rows % ET_SCAN_CHUNK_UNIT || results % ET_SCAN_CHUNK_UNIT || elements % ET_SCAN_CHUNK_UNIT)
        return no(out_why, "its rows, results and elements are no multiples of 16");
    out->results = (int)results;
    out->elements = (int)elements;
    if (!is_small(out, items, wave)) return no(out_why, "a chunk is too large for its waves");
    out->pitch = padded(out->elements, 16);
    out->outs = take(out, (out->form.sees.id ? 2 : 1) * rows * out->pitch);
    out->along = take(out, (rows + out->results) * out->pitch);
    out->states = out->along + rows * out->pitch;
    out->product_pitch = padded(rows + out->results, 16);
    out->products = take(out, (out->form.sees.id ? 2 : 1) * rows * out->product_pitch);
    out->kept = take(out, rows);
    out->sees = take(out, rows);
    out->table_pitch = rows + 2;
    out->table = take(out, (rows + 1) * out->table_pitch);
    out->add_pitch = padded(out->results, 8);
    out->adds = take(out, rows * out->add_pitch);
    return true;
}

bool et_scan_suits(const et_product_cx *g, const et_step *s, const char **out_why) {
    et_scan_window w;
    et_scan_chunk c;
    if (s->window) return et_scan_window_of(g->x, s, g->p->workgroup, &w, out_why);
    const et_fragment *fr = et_target_fragment(g->t, ET_F32);
    if (!et_scan_chunk_of(g->x, s, g->p->workgroup, g->t->wave, s->chunk, &c, out_why))
        return false;
    if (s->chunk & (s->chunk - 1) || s->chunk > g->t->wave)
        return no(out_why, "a chunk has a power of two of rows, one for each lane at most");
    if (!fr || et_layout_groups(fr->layout) * ET_SCAN_LANE_K > ET_SCAN_CHUNK_UNIT)
        return no(out_why, "there is no matrix instruction that suits");
    return et_local_bytes(&g->f->locals[s->scratch]) >= 4 * c.words ||
           no(out_why, "its buffer is too small");
}
