/* A b that is computed: quantised values of weights and what they are multiplied by, in any
 * expression of tensors, decoded in registers. What may be done with them beside computing them as
 * they are written: packed pairs of bf16, operands without the scale, which sums are multiplied by,
 * these as f16, and products of values of e4m3 alone.
 *
 * A lane's k of a fragment follow each other. A load that is contiguous over them is one of whole
 * words, and one that is the same for all of them, as scales of groups are, one element; an
 * expression with other loads goes through local memory. */
#include "ir/product/product.h"
#include "ir/weights/scaled.h"
#include <math.h>
#include <string.h>

/* ---- what is loaded ---- */

et_expr et_computed_k(const et_product_cx *g, const et_mainloop *c, int u) {
    const et_computed *d = c->computed;
    et_exprs *x = g->x;
    et_expr k = et_int(x, (int64_t)u * c->unit_k);
    k = et_add(x, k, et_mul(x, et_var(x, d->chunk), et_int(x, c->kc)));
    k = et_add(x, k, et_mul(x, et_var(x, d->part), et_int(x, c->kc / c->s->wk)));
    return et_add(x, k, et_mul(x, et_var(x, d->group), et_int(x, c->lane_k)));
}

et_expr et_computed_of_unit(const et_product_cx *g, const et_mainloop *c, et_expr e, int u) {
    et_expr k = et_subst_var(g->x, et_computed_k(g, c, u), c->computed->group, et_int(g->x, 0));
    return et_same_in_run(g->x, e, c->s->kvar, k, c->unit_k);
}

/* LOAD in unit U as registers of a row of product I; false where it takes too many. */
static bool add_raw(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i,
                    et_expr load, int u, int most) {
    et_expr k = et_computed_k(g, c, u), one = et_same_in_run(g->x, load, c->s->kvar, k, c->lane_k);
    et_node_x x = *et_x(g->x, load);
    int bits = et_dtype_bits(g->p->tensors[x.i].shape.dtype);
    et_raw r = {.load = load, .u = u, .n = 1};
    bool same = one.id;
    if (!same) {
        r.n = c->lane_k;
        r.align = et_access_align(g->p, g->f, x.i2, x.i, x.ops, c->s->kvar, k, c->lane_k);
        if (!r.align || r.n * bits > 128) return false;
    }
    r.node = same ? one : et_subst_var(g->x, load, c->s->kvar, k);
    r.ring = d->streamed[i].id && et_expr_eq(d->streamed[i], load);
    if (r.ring && (same || r.n * bits % 32)) return false;
    if (!r.ring) r.side = et_mainloop_auxiliary(c, i, load);
    for (int o = 0; o < d->count[i]; o++)
        if (same && et_expr_eq(d->raw[i][o].node, r.node)) return true;
    if (d->count[i] == most) return false;
    d->raw[i][d->count[i]++] = r;
    return true;
}

/* Is LOAD of the numbers that runs share? */
static bool is_beside(const et_mainloop *c, int i, et_expr load) {
    const et_auxiliary *side = et_mainloop_auxiliary(c, i, load);
    return side && side->group > 1;
}

static int most_raws(const et_loads *l) {
    return l->n > ET_USUAL_LOADS ? ET_MAX_RAWS : ET_USUAL_RAWS;
}

/* What chunks of so many units are loaded of; false where some load is neither a run nor one
 * element, or there are more than can be kept. */
static bool find_raws(const et_product_cx *g, et_mainloop *c, et_computed *d, int units) {
    const et_step *s = c->s;
    d->chunk = et_var_add(g->x, "c", et_int(g->x, (c->k + c->kc - 1) / c->kc));
    d->part = et_var_add(g->x, "w", et_int(g->x, s->wk));
    d->group = et_var_add(g->x, "g", et_int(g->x, c->unit_k / c->lane_k));
    d->column = et_var_add(g->x, "m", et_int(g->x, 2 * et_layout_groups(c->fr->layout) - 1));
    for (int i = 0; i < s->nacc; i++) {
        et_loads l;
        if (!et_loads_of(g->x, s->b[i], s->kvar, &l)) return false;
        if (c->streamed) d->streamed[i] = et_stream_load(g->p, s, i);
        for (int u = 0; u < units; u++)
            for (int o = 0; o < l.n; o++)
                if (!((c->run || c->bf16) && is_beside(c, i, l.load[o])) &&
                    !add_raw(g, c, d, i, l.load[o], u, most_raws(&l)))
                    return false;
        if (c->run && !et_runs_raws(g, c, d, i, &l)) return false;
        if (c->bf16 && !et_bare_raws(g, c, d, i, &l)) return false;
        d->nraws += d->count[i];
    }
    return true;
}

/* Does all that a chunk is made of come with its stage, in whole pieces? */
static bool all_staged(const et_mainloop *c, const et_computed *d) {
    for (int i = 0; i < c->s->nacc; i++)
        for (int o = 0; o < d->count[i]; o++) {
            const et_raw *r = &d->raw[i][o];
            if (!r->ring && !(r->side && r->side->wide)) return false;
        }
    return true;
}

bool et_mainloop_compute(const et_product_cx *g, et_mainloop *c, int units) {
    const et_step *s = c->s;
    int rows = c->nsub * c->rows_n, wide = s->wk * c->unit_k;
    if (c->stages || c->side_by_side || c->k <= 0 || c->lane_k > (c->run ? 32 : 16) || units < 1 ||
        units > ET_USUAL_RAWS ||
        (c->k % ((int64_t)wide * units) && !et_stream_may_end(c, wide * units)) ||
        units * rows * s->nacc > ET_MAX_FRAGMENTS)
        return false;
    et_computed *d = et_alloc(g->arena, sizeof *d);
    et_mainloop by = *c;
    by.units = units;
    by.kc = units * wide;
    by.computed = d;
    by.auxiliary = NULL;
    if (c->streamed && !et_stream_fits(g, &by)) return false;
    if (c->streamed) by.auxiliary = et_auxiliaries_plan(g, &by, et_stream_stage_bytes(&by));
    if (!find_raws(g, &by, d, units)) return false;
    if (by.k % by.kc && !all_staged(&by, d)) return false; /* what is past k is not loaded */
    by.nload = d->nraws * rows;
    if (by.nload > ET_MAX_FRAGMENTS) return false;
    by.direct = true;
    by.pitch_a = by.kc + et_mainloop_pad(g, &by);
    *c = by;
    return true;
}

/* ---- values times a scale ---- */

struct same {
    const et_product_cx *g;
    const et_mainloop *c;
};

static bool is_same(const void *ctx, et_expr e) {
    const struct same *s = ctx;
    int run = s->c->run && s->c->run < s->c->lane_k ? s->c->run : s->c->lane_k;
    return et_same_in_run(s->g->x, e, s->c->s->kvar, et_computed_k(s->g, s->c, 0), run).id;
}

bool et_decode_scaled(const et_product_cx *g, const et_mainloop *c, int i, et_scaled *out) {
    return et_scaled_codes(g->p, c->s->b[i], is_same, &(struct same){g, c}, out);
}

et_dtype et_decode_type(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s;
    et_decode_scaled(g, c, i, &s);
    return g->p->tensors[et_x(g->x, s.load)->i].shape.dtype;
}

/* ---- packed pairs of bf16 ----
 *
 * Where that gives the same bits as computing in f32 and rounding the result: values, a small
 * integer added or not, times a scale, each of eight significant bits. What a word becomes without
 * arithmetic are numbers a power of two smaller. The scale makes up for that, but for 2^SMALLER,
 * which all of b and then the sums are divided by: so neither values nor scale, which is 2^-60 to
 * 2^58 or zero, need an instruction of their own to come to where bf16 has numbers. */

enum { SMALLER = 60 };

static int pairs_of(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s;
    if (c->s->operand != ET_BF16 || c->lane_k % 8 || !et_decode_scaled(g, c, i, &s) || !s.exact ||
        s.high.id)
        return 0;
    return g->t->decode[g->p->tensors[et_x(g->x, s.load)->i].shape.dtype].pairs;
}

int et_decode_pairs(const et_product_cx *g, const et_mainloop *c) {
    int apart = pairs_of(g, c, 0);
    for (int i = 1; i < c->s->nacc; i++)
        if (pairs_of(g, c, i) != apart) return 0;
    return apart;
}

float et_decode_pairs_times(void) {
    return ldexpf(1, SMALLER);
}

/* ---- unscaled ---- */

/* Is product I values times a scale, and what is added to them, that all lanes share in a unit? */
static bool is_shared(const et_product_cx *g, const et_mainloop *c, int i, et_scaled *s) {
    if (!et_decode_scaled(g, c, i, s) || s->high.id) return false;
    bool one = !s->times.id || !et_expr_has_var(g->x, s->times, c->s->kvar);
    for (int u = 0; u < c->units; u++) {
        if (!one && !et_computed_of_unit(g, c, s->times, u).id) return false;
        if (s->plus.id && (one || !et_computed_of_unit(g, c, s->plus, u).id)) return false;
        for (int k = 0; k < s->n; k++)
            if (!et_computed_of_unit(g, c, s->add[k], u).id) return false;
    }
    return true;
}

bool et_decode_shares(const et_product_cx *g, const et_mainloop *c) {
    et_scaled s;
    for (int i = 0; i < c->s->nacc; i++)
        if (!is_shared(g, c, i, &s)) return false;
    return true;
}

bool et_decode_is_wide(const et_product_cx *g, const et_mainloop *c, et_expr e) {
    int n = et_var_add(g->x, "n", et_int(g->x, INT32_MAX));
    et_expr first = et_mul(g->x, et_int(g->x, 16), et_var(g->x, n));
    return et_same_in_run(g->x, e, c->s->nvar, first, 16).id;
}

static bool is_dealt_alike(const et_deal *a, const et_deal *b) {
    return !memcmp(a, b, sizeof *a);
}

const et_fragment *et_decode_transposing(const et_product_cx *g, const et_mainloop *c) {
    const et_fragment *f = et_target_fragment(g->t, ET_F32);
    bool can = f && f->lane_k == 1 && c->rows_n == 1 && et_deal_values(&f->layout->n) == 1 &&
               is_dealt_alike(&f->layout->sum_n, &c->sums->sum_n) &&
               is_dealt_alike(&f->layout->sum_m, &c->sums->sum_m);
    return can ? f : NULL;
}

static bool suits_unscaled(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s;
    if (!is_shared(g, c, i, &s) || !g->t->decode[et_decode_type(g, c, i)].unscaled) return false;
    if (et_decode_transposing(g, c)) return true;
    if (s.plus.id && !et_decode_is_wide(g, c, s.plus)) return false;
    for (int k = 0; k < s.n; k++)
        if (!et_decode_is_wide(g, c, s.add[k])) return false;
    return !s.times.id || et_decode_is_wide(g, c, s.times);
}

bool et_decode_unscaled(const et_product_cx *g, et_mainloop *c) {
    if (et_is_without(g->without, ET_FEATURE_UNSCALED) || !c->computed || c->streamed ||
        et_mainloop_sums(c) + c->s->nacc > ET_MAX_SUMS || c->sets > 1 || c->pair_gap ||
        c->lane_k % 8 || (c->s->operand != ET_BF16 && c->s->operand != ET_F16))
        return false;
    for (int i = 0; i < c->s->nacc; i++)
        if (!suits_unscaled(g, c, i)) return false;
    float times = g->t->decode[et_decode_type(g, c, 0)].times;
    for (int i = 1; i < c->s->nacc; i++)
        if (g->t->decode[et_decode_type(g, c, i)].times != times) return false;
    c->times = times;
    c->unscaled = true;
    c->late = c->msub == 1;
    return true;
}

/* ---- f16, by few rows ----
 *
 * f16 has not the range of a row of bf16: its elements are multiplied by a power of two that brings
 * the largest of them to where f16 ends. For several rows this takes longer than is gained. Rows
 * that the product has as f16, up to eight, are multiplied as they are, by values of eight bits. */

enum {
    SETS = 2,   /* of sums, which do not wait for each other */
    CHAINS = 4, /* of such in a wave, with runs */
    ROWS = 8,   /* of a narrow fragment */
    HIGH_APART = 4
};

/* Values of four bits with a number added to them, or nothing, take as long in pairs of bf16, where
 * their scale suits these. */
static bool suits_f16(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s, shared;
    if (!et_decode_scaled(g, c, i, &s)) return false;
    et_dtype type = et_decode_type(g, c, i);
    if (!g->t->decode[type].f16 || type != et_decode_type(g, c, 0)) return false;
    bool gains = type == ET_E4M3 ? !s.n && !s.more && !s.plus.id
                                 : et_dtype_bits(type) == 8 || s.n || !c->pair_gap;
    return gains && is_shared(g, c, i, &shared);
}

bool et_decode_exact(const et_product_cx *g, const et_mainloop *c) {
    et_scaled s;
    return et_decode_scaled(g, c, 0, &s) && s.exact && !s.high.id;
}

bool et_decode_apart(const et_product_cx *g, const et_mainloop *c) {
    et_dtype type = et_decode_type(g, c, 0);
    return et_dtype_bits(type) == 4 && !g->t->decode[type].in_order;
}

int64_t et_decode_more(const et_product_cx *g, const et_mainloop *c) {
    et_scaled s;
    return et_decode_scaled(g, c, 0, &s) ? s.more : 0;
}

/* With runs all but the scales and minima is the same for all products. */
static bool suits_runs(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s;
    return et_decode_scaled(g, c, i, &s) && !s.n && s.more == et_decode_more(g, c) &&
           g->t->decode[et_decode_type(g, c, i)].f16 &&
           et_decode_type(g, c, i) == et_decode_type(g, c, 0);
}

/* Has a lane values of the rows n that it has sums of, two for each? */
static bool fits_f16(const et_layout *l) {
    return !memcmp(l->n.lane, l->sum_n.lane, sizeof l->n.lane) && et_deal_values(&l->n) == 2 &&
           et_deal_value(&l->n, 1) == et_deal_value(&l->sum_n, 2) && !et_deal_value(&l->sum_n, 1) &&
           !et_deal_value(&l->sum_m, 2);
}

static int waves(const et_product_cx *g) {
    return g->p->workgroup / g->t->wave;
}

int et_decode_kept(const et_product_cx *g) {
    return 4 * waves(g) + 16;
}

int et_decode_zeros(const et_product_cx *g, const et_mainloop *c) {
    int most = et_rows_units_at_once(g, c);
    return c->run ? (c->units < most ? c->units : most) * c->unit_k * c->size : 0;
}

int et_decode_each(const et_product_cx *g, const et_mainloop *c) {
    et_scaled s;
    for (int i = 0; i < c->s->nacc; i++)
        if (et_decode_scaled(g, c, i, &s) && s.plus.id) return 2;
    return 1;
}

int et_decode_kept_of(const et_product_cx *g, const et_mainloop *c) {
    int runs = c->run ? 4 * et_decode_each(g, c) * (int)(c->k / c->run) : 0;
    return et_decode_kept(g) + et_decode_zeros(g, c) + runs;
}

/* Rows of a that the buffer is to hold: with runs, of the one row, a chunk each. */
static int64_t rows_of(const et_mainloop *c, int room) {
    return c->run ? c->chunks : room < 0 ? 16 >> -room : 16 << room;
}

bool et_decode_f16(const et_product_cx *g, et_mainloop *c) {
    const et_fragment *f16 = et_target_fragment(g->t, ET_F16);
    const et_local *a = &g->f->locals[c->s->stage_a];
    bool scales = c->s->operand == ET_BF16;
    int room = c->room, kept = scales ? et_decode_kept_of(g, c) : 0;
    int kept_at = (et_local_bytes(a) - kept) / 16 * 16;
    if (c->run) room = et_log2_up(c->chunks) - 4;
    while (!c->run && !c->rows_ahead && room > -4 &&
           rows_of(c, room) * c->pitch_a * c->size > kept_at)
        room--;
    if (et_is_without(g->without, ET_FEATURE_F16) || !c->computed || !c->late ||
        (!scales && c->s->operand != ET_F16) || c->zeros || (scales && c->rows_ahead) || !f16 ||
        !f16->few || !fits_f16(f16->few->layout) || et_most_rows(g, c->s) > (scales ? 1 : ROWS) ||
        c->msub > 1 || waves(g) % 4 || c->lane_k % f16->few->lane_k ||
        (c->run ? !scales : c->kc % (g->t->wave * 16 / c->size)) ||
        (!c->rows_ahead && rows_of(c, room) * c->pitch_a * c->size > kept_at))
        return false;
    for (int i = 0; i < c->s->nacc; i++)
        if (!(c->run ? suits_runs(g, c, i) : suits_f16(g, c, i)) ||
            (!scales && et_dtype_bits(et_decode_type(g, c, i)) != 8))
            return false;
    et_mainloop by = *c;
    by.unscaled = by.f16 = true;
    by.row_scaled = scales;
    by.pair_gap = et_decode_apart(g, c) ? HIGH_APART : 1;
    by.room = room;
    by.times = 1;
    by.fr = f16->few;
    by.sums = by.fr->layout;
    by.rows_m = et_deal_values(&by.fr->layout->m);
    by.sets = !c->run ? SETS : et_mainloop_sums(c) > 2 ? 1 : CHAINS / et_mainloop_sums(c);
    if (c->run && et_rows_prologue(g, &by) != ET_PROLOGUE_REGISTERS) return false;
    *c = by;
    return true;
}

/* ---- fp8 x fp8 ----
 *
 * Rows that are rounded to e4m3, and weights that are kept so. In programs they are products of
 * bf16, which has all of these values. */

static bool is_zero(const et_product_cx *g, et_expr e) {
    const et_node_x *x = et_x(g->x, e);
    return (x->op == ET_X_FLOAT && x->f == 0) || (x->op == ET_X_INT && x->n == 0);
}

static bool stored_rounded(const et_product_cx *g, int t);

/* Is E, a value of bf16, always one of e4m3? LOADS: it may be loaded. */
static bool is_rounded(const et_product_cx *g, et_expr e, bool loads) {
    et_node_x x = *et_x(g->x, e);
    switch (x.op) {
    case ET_X_TO_E4M3:
        return true;
    case ET_X_TO_BF16:
    case ET_X_NEG:
        return is_rounded(g, x.ops[0], loads);
    case ET_X_SELECT:
        return (is_zero(g, x.ops[1]) || is_rounded(g, x.ops[1], loads)) &&
               (is_zero(g, x.ops[2]) || is_rounded(g, x.ops[2], loads));
    case ET_X_LOAD:
        return loads && x.i2 == ET_LOAD_TENSOR && stored_rounded(g, x.i);
    default:
        return false;
    }
}

/* Does every step that stores to tensor T store values of e4m3? */
static bool stored_rounded(const et_product_cx *g, int t) {
    bool any = false;
    if (g->alone || g->p->tensors[t].kind != ET_TENSOR_TEMP) return false;
    for (int f = 0; f < g->p->nfuncs; f++)
        for (int i = 0; i < g->p->funcs[f].nsteps; i++) {
            const et_step *s = &g->p->funcs[f].steps[i];
            const et_place *to = et_step_to(s);
            if (!to || to->space != ET_LOAD_TENSOR || to->id != t) continue;
            if (s->kind != ET_STEP_MAP || !is_rounded(g, s->value, false)) return false;
            any = true;
        }
    return any;
}

/* The load of e4m3 that E is, rounded to what has all of its values. */
static et_expr load_of(const et_product_cx *g, et_expr e) {
    const et_node_x *x = et_x(g->x, e);
    while (x->op == ET_X_TO_BF16 || x->op == ET_X_TO_F32)
        e = x->ops[0], x = et_x(g->x, e);
    bool is =
        x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR && g->p->tensors[x->i].shape.dtype == ET_E4M3;
    return is ? e : ET_NO_EXPR;
}

const et_step *et_decode_fp8(const et_product_cx *g, const et_step *s) {
    if (s->operand != ET_BF16 || s->stage_b >= 0 || et_step_stages(g->f, s) ||
        !et_target_fragment(g->t, ET_E4M3) || !is_rounded(g, s->a, true))
        return NULL;
    et_step *as = et_alloc(g->arena, sizeof *as);
    *as = *s;
    as->operand = ET_E4M3;
    for (int i = 0; i < s->nacc; i++) {
        as->b[i] = load_of(g, s->b[i]);
        if (!as->b[i].id) return NULL;
    }
    return as;
}
