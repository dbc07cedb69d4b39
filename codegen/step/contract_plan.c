/* How a CONTRACT step is cut up: chunks of k, units of a chunk, and k's of a lane in a unit; where
 * b comes from, and whether it goes to registers; where the waves' parts of a sum meet. */
#include "codegen/step/contract.h"
#include "ir/program/packed.h"
#include "ir/program/step.h"
#include "ir/program/stream.h"

/* Of WIDE k each: a power of two of them, which all rows of a chunk have room for in a slot. */
static int ring_units(const et_contract *c, int wide, int bytes) {
    int64_t of_one = (int64_t)c->s->nacc * c->s->tn * wide * c->bits / 8;
    int units = 1;
    while (2 * units * of_one <= bytes)
        units *= 2;
    return units;
}

int cg_contract_pitch(const cg *g, const et_contract *c) {
    const et_local *l = &g->f->locals[c->s->stage_a];
    return l->pitch * et_dtype_bytes(l->dtype) / c->size;
}

/* Elements between the rows of a, PITCH from one to the next, so that neighbours begin in other
 * banks. */
static int pad_of(const et_contract *c, int pitch) {
    int pad = pitch - c->s->kc, most = 16 / c->size;
    return pad < most ? pad : most;
}

/* The buffer for a holds 16 rows at a time: as much k per chunk as fits there and in registers. */
static void plan_direct(cg *g, et_contract *c, int pitch) {
    const et_step *s = c->s;
    int wide = s->wk * c->unit_k, pad = pad_of(c, pitch), per = c->nsub * c->rows_n * c->products;
    int units = (s->tm * pitch / 16 - pad) / wide;
    int most = g->t->loads * c->piece / c->lane_k / per;
    if (c->packed) most = g->t->loads / per; /* a load brings a lane's k's */
    if (c->streamed && c->packed)
        most = cg_contract_packed_units(c, g->p->ring.bytes);
    else if (c->streamed)
        most = ring_units(c, wide, g->p->ring.bytes);
    if (units > most) units = most;
    int turns = c->packed ? 4 : s->tm > 16 ? 2 : 1; /* of rows in the buffer, or fewer */
    while (turns > 1 && pitch / turns - pad < wide)
        turns /= 2;
    if (turns > 1 && units > (pitch / turns - pad) / wide && cg_contract_may_turn(g, c))
        units = (pitch / turns - pad) / wide;
    if (units < 1) units = 1;
    int64_t all = (c->k + wide - 1) / wide;
    if (c->k > 0 && c->k % wide == 0 && cg_contract_may_own(g, c)) {
        units = cg_contract_own_units(c, all, most);
    } else if (c->packed && c->streamed) { /* of which none is less than full */
        while (units > 1 && all % units)
            units--;
    } else if (c->k > 0) { /* chunks of one size */
        int64_t n = (all + units - 1) / units;
        units = (int)((all + n - 1) / n);
    }
    c->units = units;
    c->kc = units * wide;
    c->pitch_a = c->kc + pad;
    c->nload = c->packed ? 2 * units * per : units * per;
}

/* The k of a tile that has any. Where that is a choice between some and none, *OUT_COND says when
 * there is any; else it is none. */
static et_expr full_extent(cg *g, const et_step *s, et_expr *out_cond) {
    et_node_x x = *et_x(g->x, s->kextent);
    int64_t none;
    *out_cond = ET_NO_EXPR;
    if (x.op != ET_X_SELECT || !et_is_int(g->x, x.ops[2], &none) || none) return s->kextent;
    *out_cond = x.ops[0];
    return x.ops[1];
}

static void set_lane_k(et_contract *c, int lane_k) {
    c->lane_k = lane_k;
    c->piece = lane_k < 16 / c->size ? lane_k : 16 / c->size;
    c->unit_k = lane_k * et_layout_groups(c->fr->layout);
}

/* Elements of a row that the buffer for a has room for: of sixteen rows, or of one, where there are
 * never more and codes come in slots, which as many fill as sixteen rows have no room for. */
static int room_of_row(cg *g, const et_contract *c, bool ring) {
    const et_local *l = &g->f->locals[c->s->stage_a];
    int pitch = cg_contract_pitch(g, c), all = c->s->tm * pitch / 16;
    int one = (int)l->dim[0] * pitch - cg_contract_kept(g) / c->size;
    int64_t lo, rows;
    et_span(g->x, c->s->mlive, &lo, &rows);
    return (ring && rows == 1 && one > all ? one : all) - pad_of(c, pitch);
}

static bool code_units(cg *g, et_contract *c) {
    const et_step *s = c->s;
    bool ring = c->streamed && c->late;
    int wide = s->wk * c->unit_k, per = c->nsub * c->rows_n * s->nacc;
    int units = room_of_row(g, c, ring) / wide;
    int most = g->t->loads * c->piece / c->lane_k / per;
    if (ring) most = ring_units(c, wide, g->p->ring.bytes);
    units = units > most ? most : units;
    return cg_contract_code(g, c, units < 1 ? 1 : units);
}

/* A b that is not as it lies in memory, where registers can be made of it: c->direct then. From a
 * slot of the ring a lane takes as much as one load brings, if it can. */
static void plan_code(cg *g, et_contract *c) {
    if (c->direct || c->stages || c->side_by_side) return;
    int lane_k = c->lane_k, kw = c->s->kc / c->s->wk;
    c->late = c->msub == 1 && g->family->anew;
    for (int k = c->streamed ? 128 / c->bits : 0; k > lane_k && !c->direct; k /= 2) {
        if (k > 16 || kw % (k * et_layout_groups(c->fr->layout))) continue;
        set_lane_k(c, k);
        c->direct = code_units(g, c);
    }
    if (c->direct) return;
    set_lane_k(c, lane_k);
    c->direct = code_units(g, c);
    c->late &= c->direct;
}

/* Bits of an element of b where it comes from. */
static int bits_of(cg *g, const et_contract *c) {
    et_expr load = c->streamed ? et_stream_load(g->p, c->s, 0) : ET_NO_EXPR;
    if (!load.id) return 8 * c->size;
    return et_dtype_bits(g->p->tensors[et_x(g->x, load)->i].shape.dtype);
}

/* Few rows of a, so that two chunks of them are always staged at once. */
static bool is_deep(const cg *g, const et_contract *c) {
    int64_t lo, rows;
    et_span(g->x, c->s->mlive, &lo, &rows);
    return g->t->deep && c->direct && !c->coded && !c->streamed && c->chunks > 1 && c->msub == 1 &&
           rows <= 8;
}

/* Few rows leave the registers that another chunk takes. */
bool cg_contract_may_deepen(cg *g, const et_contract *c) {
    int64_t lo, rows;
    et_span(g->x, c->s->mlive, &lo, &rows);
    return c->streamed && c->direct && (!c->coded || c->late) && !c->packed && !c->either &&
           !c->zeros && !c->turns && !c->deep_a && !c->cond.id && c->chunks > 1 && c->msub == 1 &&
           rows <= ET_DEEP_ROWS;
}

/* Of the rows of a that are staged at once, where those of one chunk leave some, or where there is
 * room for fewer than sixteen. With few rows there is enough without: more would only begin the
 * products later. */
static int room_of(const cg *g, const et_contract *c) {
    int64_t held = g->f->locals[c->s->stage_a].dim[0], lo, rows;
    int64_t all = held * cg_contract_pitch(g, c);
    int room = 0;
    et_span(g->x, c->s->mlive, &lo, &rows);
    while (room > -4 && (16LL >> -room) * c->pitch_a > all)
        room--;
    if (held < 16 || room < 0) return room;
    if (!c->direct || c->msub > 1 || c->deep || rows <= ET_FEW_ROWS) return 0;
    while ((32LL << room) * c->pitch_a <= all)
        room++;
    return room;
}

/* Chunks are multiplied while the next is brought, and one more is on its way. */
static et_group_rows group_of(const cg *g, const et_contract *c) {
    enum { MOST_SUMS = 16 }; /* which leave half of the registers */
    const et_group_shape *of = g->t->group;
    const et_step *s = c->s;
    et_group_rows rows = of && c->stages >= 3 ? et_step_group(s, of->waves) : ET_GROUP_NONE;
    if (!rows || cg_contract_sums(c) > MOST_SUMS || g->f->locals[s->stage_a].offset % of->align ||
        g->f->locals[s->stage_b].offset % of->align)
        return ET_GROUP_NONE;
    int columns = rows == ET_GROUP_M ? s->tn / s->wn : s->tm / s->wm;
    /* A part has two: waves have all of some parts, or one of one part. */
    int steps = s->kc / of->k, own = steps / s->wk;
    bool whole = steps % s->wk == 0 && (own % 2 == 0 || steps == 2);
    return columns <= of->most && whole ? rows : ET_GROUP_NONE;
}

/* Elements of a sum in one lane. */
static int results_of(const et_layout *l) {
    int n = 0;
    for (int i = 0; i < (int)sizeof l->sum_n.value; i++)
        if (l->sum_n.value[i] || l->sum_m.value[i]) n = i + 1;
    return 1 << n;
}

/* Where no tile has more than eight rows of a, b in registers is multiplied with these alone, and
 * into several sums in turn: a wave has one row of sixteens, so its products wait for each other
 * otherwise. */
static void take_few(cg *g, et_contract *c) {
    enum { SETS = 4, MOST_RESULTS = 64 };
    int64_t lo, rows;
    et_span(g->x, c->s->mlive, &lo, &rows);
    c->sets = 1;
    if (!c->direct || !c->fr->few || c->msub > 1 || rows > 8) return;
    c->fr = c->fr->few;
    c->sums = c->fr->layout;
    c->rows_m = et_deal_values(&c->fr->layout->m);
    for (c->sets = SETS; c->sets * results_of(c->sums) * cg_contract_sums(c) > MOST_RESULTS;)
        c->sets /= 2;
}

/* Do the rows of a not fit the buffer, which was laid out for waves that have rows of their own? */
static bool lacks_room(cg *g, const et_contract *c) {
    int64_t lo, rows;
    et_span(g->x, c->s->mlive, &lo, &rows);
    return c->room < 0 && rows > 16 >> -c->room && !c->deep_a && !c->turns &&
           cg_contract_may_own(g, c);
}

static bool plan_step(cg *g, et_contract *c) {
    const et_step *s = c->s;
    if (!c->codes) c->times = 1;
    c->fr = et_target_fragment(g->t, s->operand);
    if (c->either) c->fr = et_target_either(g->t, s->operand);
    int groups = et_layout_groups(c->fr->layout), kw = s->kc / s->wk;
    if (s->stage_b >= 0 && g->f->locals[s->stage_b].slot) {
        c->slot_k = g->f->locals[s->stage_b].dim[2];
        c->streamed = true;
    }
    c->size = et_dtype_bytes(s->operand);
    c->lane_k = c->fr->lane_k > 16 / c->size ? c->fr->lane_k : 16 / c->size;
    c->bits = bits_of(g, c);
    while (kw % (c->lane_k * groups))
        c->lane_k /= 2;
    set_lane_k(c, c->packed ? ET_PACKED_LANE_K : c->lane_k);
    c->rows_n = et_deal_values(&c->fr->layout->n);
    c->rows_m = et_deal_values(&c->fr->layout->m);
    c->products = et_step_products(s);
    c->side_by_side = et_step_side_by_side(s);
    c->nsub = (c->products < s->nacc ? s->nacc : 1) * s->tn / s->wn / 16;
    c->msub = s->tm / s->wm / 16;
    c->stages = et_step_stages(g->f, s);
    c->bands = g->f->locals[s->acc[0]].rows ? s->tm / g->f->locals[s->acc[0]].rows : 1;
    c->next_m = c->bands > 1 ? 16 * s->wm : 16; /* a band's rows are next to each other */
    c->together = group_of(g, c);
    c->sums = !c->together                ? c->fr->layout
              : c->together == ET_GROUP_M ? g->t->group->rows_m
                                          : g->t->group->rows_n;
    c->extent = full_extent(g, s, &c->cond);
    if (!et_is_int(g->x, c->extent, &c->k)) c->k = -1;
    c->direct = !c->stages;
    for (int i = 0; i < s->nacc && !c->stages && !c->packed; i++)
        c->direct &= cg_contract_direct(g, s, s->b[i], c->piece);
    plan_code(g, c);
    if (!c->direct && s->stage_b < 0) return false;
    if (!c->coded) c->kc = s->kc;
    if (!c->coded) c->units = kw / c->unit_k;
    c->pitch_a = cg_contract_pitch(g, c);
    if (c->coded)
        c->pitch_a = c->kc + pad_of(c, c->pitch_a);
    else if (c->direct)
        plan_direct(g, c, c->pitch_a);
    c->chunks = c->k < 0 ? -1 : c->k <= c->kc ? 1 : (c->k + c->kc - 1) / c->kc;
    c->tail = c->k < 0 || c->chunks * c->kc != c->k;
    c->zeros = cg_contract_zeros(g, c);
    c->deep = !c->zeros && is_deep(g, c);
    c->turns = c->zeros ? 0 : cg_contract_turns(g, c);
    c->room = room_of(g, c);
    take_few(g, c);
    if (!cg_contract_take_halves(g, c)) cg_contract_take_bare(g, c);
    c->results = results_of(c->sums);
    c->deep_a = cg_contract_deep_a(g, c);
    if (c->deep_a) c->turns = c->room = 0;
    if (lacks_room(g, c)) {
        *c = (et_contract){
            .s = s, .streamed = c->streamed, .packed = c->packed, .either = c->either};
        c->through = true;
        return plan_step(g, c);
    }
    cg_contract_spread(g, c);
    return true;
}

/* The buffer for a holds what waves multiply of a unit. */
static bool fits_packed(const cg *g, const et_contract *c) {
    const et_step *s = c->s;
    const et_local *l = &g->f->locals[s->stage_a];
    int wide = s->wk * ET_PACKED_K, pitch = l->pitch * et_dtype_bytes(l->dtype) / 2,
        pad = pitch - s->kc;
    return wide + (pad < 8 ? pad : 8) <= s->tm * pitch / 16;
}

/* A plan of codes takes twice as many k at once as one of bf16: where waves would have none of the
 * last ones, that is not better. */
static bool takes_codes(const et_contract *c) {
    return c->direct && !c->coded && c->piece * c->size == 16 && c->k > 0 &&
           c->k % (c->s->wk * c->unit_k) == 0;
}

bool cg_contract_plan(cg *g, et_contract *c) {
    const et_contract as_it_is = {.s = c->s, .streamed = c->streamed};
    if (c->packed) return fits_packed(g, c) && plan_step(g, c);
    const et_step *codes =
        c->streamed || et_step_stages(g->f, c->s) ? NULL : cg_contract_codes(g, c->s);
    if (codes) {
        c->s = codes;
        c->codes = true;
        c->times = g->t->codes_times;
        if (plan_step(g, c) && takes_codes(c)) return true;
        *c = as_it_is;
    }
    if (!plan_step(g, c)) return false;
    if (!cg_contract_may_pack(g, c) || c->fr->packed) return true;
    *c = as_it_is;
    c->either = true;
    return plan_step(g, c);
}

/* ---- sums of which each wave has those of its part of k ----
 *
 * They lie one behind the other in local memory. Mostly maps follow that read each of them once:
 * then whoever reads one adds up its parts, in the order of the waves, and there is no step of all
 * waves and no barrier for that alone. */

struct readers {
    cg *g;
    const et_step *product;
    const et_step *map; /* the one step that reads sums, */
    int loads;          /* so many times */
    bool otherwise; /* something else reads or writes them, or not just those of the first part */
};

static bool is_sum(const et_step *s, int space, int id) {
    bool is = false;
    for (int i = 0; i < s->nacc; i++)
        is |= space == ET_LOAD_LOCAL && s->acc[i] == id;
    return is;
}

struct reader {
    struct readers *r;
    const et_step *s;
};

static void find(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct reader *of = ctx;
    struct readers *r = of->r;
    int64_t part;
    if (!is_sum(r->product, space, id)) return;
    if (is_store || of->s->kind != ET_STEP_MAP || (r->map && r->map != of->s) ||
        !et_is_int(r->g->x, index[0], &part) || part) {
        r->otherwise = true;
        return;
    }
    r->map = of->s;
    r->loads++;
}

/* How many elements MAP has at most; -1 where nobody knows. */
static int64_t elements(cg *g, const et_step *map) {
    int64_t n = 1, lo, hi;
    for (int i = 0; i < map->nvars; i++) {
        if (!et_bounds(g->x, et_var_extent(g->x, map->vars[i]), &lo, &hi)) return -1;
        n *= hi;
    }
    return n;
}

bool cg_sums_as_read(cg *g, const et_step *s) {
    enum { TWICE = 2 }; /* as rotations do */
    struct readers r = {.g = g, .product = s};
    bool after = false;
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *step = &g->f->steps[i];
        if (step != s) et_step_touches(g->x, step, find, &(struct reader){&r, step});
        after |= step == s;
        if (r.map == step && !after) r.otherwise = true;
    }
    if (r.otherwise || !r.map || r.loads > TWICE * s->nacc) return false;
    int64_t n = elements(g, r.map);
    return n >= 0 && n <= (int64_t)s->tm * s->tn;
}

void cg_sums_begin(cg *g, const et_step *s) {
    for (int i = 0; i < s->nacc; i++)
        g->parts[s->acc[i]] = (cg_parts){s->wk, s->tm * g->f->locals[s->acc[i]].pitch * 4};
}
