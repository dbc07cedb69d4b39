/* The steps with buffers of their own, contract and attend, and the plans of all steps. Buffers
 * that the text does not name are made here. */
#include "ir/program/step.h"
#include "ir/eti/parser.h"
#include "ir/weights/computed.h"
#include <string.h>

enum { PLAIN = ETI_TENSORS | ETI_LOCALS | ETI_LOOPS };

/* Where the text leaves the number of waves to be chosen. */
static int waves(const eti_parser *p) {
    return p->p->workgroup / p->wave;
}

/* Targets have waves of 64 or of 32 work-items; codegen checks for its own. */
static bool are_waves(const eti_parser *p, int n) {
    return n * 64 == p->p->workgroup || n * 32 == p->p->workgroup;
}

/* Waves that have no part of a product may be left. */
static bool has_waves(const eti_parser *p, int n) {
    return n * 32 <= p->p->workgroup;
}

/* A buffer that the text calls NAME, or NULL for none given: made when there is none of that name.
 * It must be as the step needs it. */
static int buffer(eti_parser *p, const char *name, et_loc loc, const char *fallback, et_dtype dtype,
                  int rank, const int *dim, int pad) {
    const char *own = name ? name : fallback;
    for (int n = 2; !name && eti_local(p, own) >= 0; n++)
        own = et_printf(p->arena, "%s%d", fallback, n);
    int l = eti_local(p, own);
    if (l < 0) {
        for (int i = 0; i < rank; i++)
            if (dim[i] < 1 || dim[i] > ETI_MAX_LDS) return -1;
        if (p->f->nlocals >= 1000) {
            eti_error(p, loc, "more than 1000 local buffers");
            return -1;
        }
        l = eti_add_local(p, own, dtype, rank, dim);
        p->f->locals[l].pitch += pad;
        int64_t bytes = (int64_t)p->f->locals[l].pitch * et_dtype_bytes(dtype);
        for (int i = 0; i + 1 < rank && bytes <= ETI_MAX_LDS; i++)
            bytes *= dim[i];
        if (bytes > ETI_MAX_LDS) {
            eti_error(p, loc, "$%s would take more than %d bytes", own, ETI_MAX_LDS);
            p->f->locals[l].rank = -1;
        }
        return l;
    }
    const et_local *have = &p->f->locals[l];
    if (have->rank < 0) return l;
    bool fits = have->rank == rank && have->dtype == dtype &&
                memcmp(have->dim, dim, (size_t)rank * sizeof *dim) == 0;
    if (!fits)
        eti_error(p, loc, "$%s must be %s[%d, %d%s] for this step", own, et_dtype_name(dtype),
                  dim[0], dim[1], rank == 3 ? et_printf(p->arena, ", %d", dim[2]) : "");
    return l;
}

/* name < extent [live E]: a side of the tile. E may read what is uniform over the workgroup. */
static void tile_side(eti_parser *p, int scope, int grain, int *out_var, int *out_size,
                      et_expr *out_live) {
    et_loc loc = p->tok.loc;
    int64_t n = 0;
    *out_var = eti_var(p, 4096);
    if (*out_var >= 0) et_is_int(p->x, et_var_extent(p->x, *out_var), &n);
    if (n % grain) {
        eti_error(p, loc, "the sides of a tile are multiples of %d, this is %d", grain, (int)n);
        *out_var = -1;
    }
    *out_size = (int)n;
    int inner = p->nscope;
    p->nscope = scope;
    loc = p->tok.loc;
    if (eti_take_word(p, "live")) {
        *out_live = eti_expr_of(p, ETI_TENSORS | ETI_LOOPS, ET_T_I32, "the number of live rows");
        int64_t lo, hi;
        bool known = out_live->id && n && et_bounds(p->x, *out_live, &lo, &hi);
        if (known && hi > n) eti_error(p, loc, "of %d rows up to %lld live", (int)n, (long long)hi);
        if (known && hi < 0)
            eti_error(p, loc, "of %d rows %lld live: there are never fewer than 0", (int)n,
                      (long long)hi);
    } else if (!p->broken) {
        *out_live = et_int(p->x, n);
    }
    p->nscope = inner;
}

/* [by KC] [waves WN * WK [* WM]], else chosen: one wave per 16 columns. */
static et_loc division(eti_parser *p, et_step *s, int *out_by) {
    et_loc loc = p->tok.loc;
    if (eti_take_word(p, "by"))
        *out_by = (int)eti_need_int(p, 1, 1 << 16, "the k staged at a time");
    s->wn = waves(p);
    while (s->tn && (s->tn / 16) % s->wn)
        s->wn /= 2;
    s->wk = waves(p) / s->wn;
    if (eti_take_word(p, "waves")) {
        loc = p->tok.loc;
        s->wn = (int)eti_need_int(p, 1, 32, "the waves side by side over n");
        eti_need(p, '*');
        s->wk = (int)eti_need_int(p, 1, 32, "the waves side by side over k");
        if (eti_take(p, '*')) s->wm = (int)eti_need_int(p, 1, 32, "the waves side by side over m");
    }
    if (p->broken) return loc;
    int before = p->errors;
    if (!has_waves(p, s->wn * s->wk * s->wm))
        eti_error(p, loc, "%d * %d waves: a workgroup of %d has %d, or %d of 32", s->wn * s->wm,
                  s->wk, p->p->workgroup, p->p->workgroup / 64, p->p->workgroup / 32);
    else if (s->wm > 1 && s->tm % (16 * s->wm))
        eti_error(p, loc, "%d rows do not divide among %d waves by 16", s->tm, s->wm);
    p->broken |= p->errors > before; /* the buffers depend on it */
    return loc;
}

/* The k's that buffers are declared with: BY, those of the buffer for a that is there, or the
 * plan's; else as many as half of the memory. */
static int declared_k(eti_parser *p, const et_step *s, int by, const char *a, et_loc loc) {
    int unit = 64 / et_dtype_bytes(s->operand) * s->wk, have = a ? eti_local(p, a) : -1, kc = by;
    int least = 8 / et_dtype_bytes(s->operand) * s->wk;
    const et_local *l = have >= 0 ? &p->f->locals[have] : NULL;
    int64_t lo, hi, k = INT32_MAX;
    if (et_bounds(p->x, s->kextent, &lo, &hi)) k = hi;
    if (!kc && l && l->rank > 1) kc = l->dim[l->rank - 1];
    if (!kc && s->plan[ET_PLAN_MAIN].made) kc = s->plan[ET_PLAN_MAIN].chunk;
    if (!kc) kc = k < 256 ? (int)((k + unit - 1) / unit) * unit : (256 + unit - 1) / unit * unit;
    if (by && s->plan[ET_PLAN_MAIN].made)
        eti_error(p, loc, "the k of a chunk is the plan's: leave 'by' out");
    if (kc % least) eti_error(p, loc, "k is staged in multiples of %d here, not %d", least, kc);
    p->broken |= (by && s->plan[ET_PLAN_MAIN].made) || kc % least;
    return kc;
}

static void sums(eti_parser *p, et_step *s, const int dim[3]) {
    while (!p->broken && p->tok.kind == ETI_LOCAL) {
        et_loc loc = p->tok.loc;
        const char *name = p->tok.text;
        eti_next(p);
        eti_need(p, ETI_OP2('+', '='));
        eti_need_word(p, "a");
        eti_need(p, '*');
        if (p->broken) return;
        int mark = p->nscope;
        eti_bind_var(p, s->nvar);
        eti_bind_var(p, s->kvar);
        et_expr b = eti_expr_of(p, PLAIN, ET_T_F32, "b");
        p->nscope = mark;
        int acc = buffer(p, name, loc, name, ET_F32, 3, dim, 4);
        for (int i = 0; i < s->nacc; i++)
            if (s->acc[i] == acc) eti_error(p, loc, "$%s twice", name);
        if (s->nacc == ET_MAX_ACC) {
            eti_error(p, loc, "more than %d products in a step", ET_MAX_ACC);
            return;
        }
        s->b[s->nacc] = b;
        s->acc[s->nacc++] = acc;
    }
    if (!p->broken && !s->nacc) eti_expected(p, "a sum such as $acc += a * %w[n, k]");
}

static bool all_contiguous(eti_parser *p, const et_step *s,
                           bool (*how)(const et_program *, et_expr, int, et_dtype)) {
    bool yes = true;
    for (int i = 0; i < s->nacc; i++)
        yes &= !s->b[i].id || how(p->p, s->b[i], s->kvar, s->operand);
    return yes;
}

/* In the shortest runs of k that a lane of any target has. Whether a target's waves divide it so,
 * codegen says. */
static bool all_computed(eti_parser *p, const et_step *s) {
    bool yes = true;
    int run = et_dtype_bytes(s->operand) == 4 ? 4 : 8;
    for (int i = 0; i < s->nacc; i++)
        yes &= s->b[i].id && et_k_computed(p->p, s->b[i], s->kvar, run, run) > 0;
    return yes;
}

static void columns(eti_parser *p, const et_step *s, et_loc loc) {
    if (!p->broken && !et_step_divides_columns(s))
        eti_error(p, loc, "%d columns do not divide among %d waves by 16", s->tn, s->wn);
}

static void distinct(eti_parser *p, const et_step *s, et_loc loc) {
    int all[ET_MAX_ACC + 2] = {s->stage_a, s->stage_b};
    memcpy(all + 2, s->acc, sizeof s->acc);
    for (int i = 0; i < s->nacc + 2; i++)
        for (int k = 0; k < i; k++)
            if (all[i] >= 0 && all[i] == all[k]) eti_error(p, loc, "one buffer for two purposes");
}

/* Buffers that hold several chunks, of both operands; false where A, if it is given, is of one. */
static bool ring(eti_parser *p, et_step *s, int kc, const char *a, const char *b, et_loc loc) {
    int have = a ? eti_local(p, a) : -1;
    const et_local *l = have >= 0 ? &p->f->locals[have] : NULL;
    if (!l || l->rank != 3) {
        if (s->wm > 1) eti_error(p, loc, "waves side by side over m need a ring of chunks");
        return s->wm > 1;
    }
    int stages = l->dim[0];
    if (!b || stages < 2 || (!all_contiguous(p, s, et_k_in_words) && !all_computed(p, s))) {
        eti_error(
            p, loc,
            "a ring is of two chunks or more of both operands, each contiguous along k or computed "
            "of what is");
        return true;
    }
    have = eti_local(p, b);
    const et_local *of = have >= 0 ? &p->f->locals[have] : NULL;
    bool slot = of && of->slot && of->rank == 3;
    int k = slot ? of->dim[2] : kc;
    s->stage_a = buffer(p, a, loc, "a", s->operand, 3, (int[]){stages, s->tm, kc}, 0);
    s->stage_b =
        buffer(p, b, loc, "b", s->operand, 3, (int[]){slot ? 1 : stages, s->nacc * s->tn, k}, 0);
    if (k % kc) eti_error(p, loc, "a slot holds whole chunks of %d", kc);
    for (int i = 0; i < 2 && !p->broken; i++) {
        const et_local *r = &p->f->locals[i ? s->stage_b : s->stage_a];
        if (r->rank == 3 && r->pitch != (i ? k : kc))
            eti_error(p, loc, "the rows of a ring lie next to each other");
    }
    return true;
}

/* Rows of the buffer for a of one chunk: as many as the tile has, or fewer that are given and hold
 * all that exist, where b needs no buffer. */
static int staged(eti_parser *p, const et_step *s, const char *a, const char *b) {
    int have = a && !b ? eti_local(p, a) : -1;
    const et_local *l = have >= 0 ? &p->f->locals[have] : NULL;
    int64_t lo, rows;
    if (!l || l->rank != 2 || l->dim[0] >= 16 || s->tm != 16 || !s->mlive.id) return s->tm;
    et_span(p->x, s->mlive, &lo, &rows);
    return l->dim[0] >= rows ? l->dim[0] : s->tm;
}

int eti_plan_word(eti_parser *p, const char *name, et_plan_words kind) {
    eti_need_word(p, name);
    for (int i = 0; et_plan_word(kind, i) && !p->broken; i++)
        if (eti_take_word(p, et_plan_word(kind, i))) return i;
    if (!p->broken) {
        eti_error(p, p->tok.loc, "there are no such %s (ETI.md)", name);
        p->broken = true;
    }
    return 0;
}

/* What a plan may say beside (et_plan_options). */
static void plan_options(eti_parser *p, et_plan_options_of of, void *plan) {
    int n, i = 0;
    const et_plan_option *all = et_plan_options(of, &n);
    for (int k = 0; k < n; k++)
        et_plan_set(&all[k], plan, all[k].unsaid);
    while (i < n && !p->broken) {
        for (i = 0; i < n && !eti_is_word(p, all[i].name); i++) {
        }
        if (i == n) return;
        int to = 1;
        if (all[i].kind == ET_PLAN_CHOICE)
            to = eti_plan_word(p, all[i].name, all[i].words);
        else
            eti_next(p);
        if (all[i].kind == ET_PLAN_NUMBER)
            to = (int)eti_need_int(p, all[i].least, all[i].most, all[i].name);
        et_plan_set(&all[i], plan, to);
    }
}

/* plan rows HOW N weights HOW N decode HOW chunk K lane K sums N [OPTION ...]; whether it suits the
 * step and the target is looked at where that is known (ir/product/plan.c). */
static void plan(eti_parser *p, et_product_plan *w) {
    w->made = true;
    w->rows = (et_rows_from)eti_plan_word(p, "rows", ET_PLAN_WORD_ROWS);
    w->rows_depth = (int)eti_need_int(p, 1, 64, "chunks of rows at once");
    w->weights = (et_weights_from)eti_plan_word(p, "weights", ET_PLAN_WORD_WEIGHTS);
    w->depth = (int)eti_need_int(p, 1, 4, "chunks of weights in registers");
    w->decode = (et_decode_as)eti_plan_word(p, "decode", ET_PLAN_WORD_DECODE);
    eti_need_word(p, "chunk");
    w->chunk = (int)eti_need_int(p, 1, 1 << 20, "the k of a chunk");
    eti_need_word(p, "lane");
    w->lane_k = (int)eti_need_int(p, 1, 32, "the k of a lane");
    eti_need_word(p, "sums");
    w->sets = (int)eti_need_int(p, 1, 64, "sums that take turns");
    plan_options(p, ET_OPTIONS_PRODUCT, w);
}

static void plans(eti_parser *p, et_step *s) {
    for (int i = 0; i < ET_PLANS && !p->broken; i++)
        if (eti_take_word(p, et_plan_word(ET_PLAN_WORD_PLAN, i))) plan(p, &s->plan[i]);
    if (!s->plan[ET_PLAN_MAIN].made && !p->broken)
        for (int i = 0; i < ET_PLANS; i++)
            if (s->plan[i].made)
                eti_error(p, p->tok.loc, "there is no plan of the same product as it is");
}

/* contract TYPE [m < TM [live E], n < TN [live E]] over k < K [extent E] [by KC]
 * [waves WN * WK [* WM]] [stage $a [, $b]] [plan ...]  a = E  $acc += a * E ... */
void eti_step_contract(eti_parser *p, et_step *s) {
    et_loc begin = p->tok.loc;
    int coords = p->nscope;
    eti_next(p);
    et_loc loc = p->tok.loc, at = loc;
    const char *type = eti_need_name(p, ETI_NAME, "the type of the operands"), *a = NULL, *b = NULL;
    s->operand = ET_F32;
    if (type && (!et_dtype_parse(type, &s->operand) || !et_dtype_multiplies(s->operand))) {
        eti_error(p, loc, "operands are f32, f16 or bf16");
        s->operand = ET_F32;
    }
    eti_need(p, '[');
    if (!p->broken) tile_side(p, coords, 16, &s->mvar, &s->tm, &s->mlive);
    eti_need(p, ',');
    if (!p->broken) tile_side(p, coords, 8, &s->nvar, &s->tn, &s->nlive);
    eti_need(p, ']');
    eti_need_word(p, "over");
    p->nscope = coords;
    s->kvar = p->broken ? -1 : eti_var_over(p, ETI_TENSORS | ETI_LOOPS);
    if (s->kvar >= 0) s->kextent = et_var_extent(p->x, s->kvar);
    p->nscope = coords;
    if (s->kvar >= 0 && eti_take_word(p, "extent")) {
        et_expr extent = eti_expr_of(p, ETI_TENSORS | ETI_LOOPS, ET_T_I32, "an extent");
        if (extent.id) s->kextent = extent; /* else it was told why not */
    }
    int by = 0;
    et_loc waves = division(p, s, &by);
    if (eti_take_word(p, "stage")) {
        at = p->tok.loc;
        a = eti_need_name(p, ETI_LOCAL, "a local buffer");
        if (eti_take(p, ',')) b = eti_need_name(p, ETI_LOCAL, "a local buffer");
    }
    if (!p->broken) plans(p, s);
    p->nscope = coords;
    if (p->broken || s->mvar < 0 || s->nvar < 0 || s->kvar < 0) {
        p->broken = true; /* reported */
        return;
    }
    int kc = declared_k(p, s, by, a, waves);
    if (p->broken) return;
    if (s->mvar == s->nvar || s->kvar == s->mvar || s->kvar == s->nvar)
        eti_error(p, loc, "m, n and k need names of their own");
    eti_bind_var(p, s->mvar);
    eti_bind_var(p, s->kvar);
    s->a = eti_side(p, "a", PLAIN, ET_T_F32);
    p->nscope = coords;
    sums(p, s, (int[]){s->wk, s->tm, s->tn});
    if (p->broken) return;
    if (ring(p, s, kc, a, b, at)) {
        columns(p, s, waves);
        distinct(p, s, begin);
        return;
    }
    int pad = 16 / et_dtype_bytes(s->operand);
    s->stage_a = buffer(p, a, at, "a", s->operand, 2, (int[]){staged(p, s, a, b), kc}, pad);
    bool direct = all_contiguous(p, s, et_k_contiguous);
    if (b || (!a && !direct))
        s->stage_b = buffer(p, b, at, "b", s->operand, 2, (int[]){s->tn, kc}, pad);
    else if (!direct && !all_computed(p, s))
        eti_error(p, at, "b is not contiguous along k: give a second buffer to stage it");
    columns(p, s, waves);
    distinct(p, s, begin);
}

/* What a part may depend on is what is known where it is read. */
void eti_attention(eti_parser *p, const int var[ET_AT_VARS], int keys, int may,
                   et_expr part[ET_AT_PARTS]) {
    static const char letters[] = "ihpd";
    int mark = p->nscope;
    for (int i = 0; i < ET_AT_PARTS && !p->broken; i++) {
        const et_attention_row *r = &et_attention_rows[i];
        bool of_keys = i == ET_AT_K || i == ET_AT_V, uniform = i == ET_AT_FIRST || i == ET_AT_END;
        if (i == ET_AT_FIRST) part[i] = et_int(p->x, 0);
        if (i == ET_AT_SCORE) part[i] = et_arg(p->x, ET_ARG_QK, ET_T_F32);
        if (!r->required && i != ET_AT_END && !eti_is_word(p, r->name)) continue;
        for (int v = 0; v < ET_AT_VARS; v++) {
            int bound = of_keys && v == ET_AT_H ? keys : var[v];
            if (strchr(r->over, letters[v]) && bound >= 0) eti_bind_var(p, bound);
        }
        part[i] = eti_side(p, r->name,
                           (uniform ? may & ~ETI_LOCALS : may) | (i == ET_AT_SCORE ? ETI_SCORE : 0),
                           r->type);
        p->nscope = mark;
    }
}

static et_attend_block block(eti_parser *p) {
    et_attend_block b = {0};
    eti_need_word(p, "positions");
    b.positions = (int)eti_need_int(p, 1, 1024, "positions of a block");
    eti_need_word(p, "depth");
    b.depth = (int)eti_need_int(p, 1, 2, "blocks at once");
    return b;
}

/* plan lanes heads H lane D BLOCK [rest BLOCK] | columns heads H BLOCK | rows waves W BLOCK |
 * warpgroup waves W BLOCK  [early HOW] [alone], where BLOCK is: positions P depth N. */
static void attend_plan(eti_parser *p, et_attend_plan *w) {
    w->made = true;
    w->by = (et_attend_by)eti_plan_word(p, "plan", ET_PLAN_WORD_ATTEND_BY);
    if (w->by <= ET_ATTEND_BY_COLUMNS) {
        eti_need_word(p, "heads");
        w->heads = (int)eti_need_int(p, 1, 64, "heads at once");
    } else {
        eti_need_word(p, "waves");
        w->waves = (int)eti_need_int(p, 1, 32, "waves that share rows");
    }
    if (w->by == ET_ATTEND_BY_LANES) {
        eti_need_word(p, "lane");
        w->lane_d = (int)eti_need_int(p, 1, 64, "elements of a lane");
    }
    w->block = block(p);
    if (w->by == ET_ATTEND_BY_LANES && eti_take_word(p, "rest")) w->rest = block(p);
    if (!p->broken && eti_is_word(p, "early"))
        w->early = (et_attend_early_as)eti_plan_word(p, "early", ET_PLAN_WORD_ATTEND_EARLY);
    w->alone = eti_take_word(p, "alone");
}

/* A step of rows has the buffers that matrix instructions need, unless it says that each row has
 * its own there. */
static void attend_buffers(eti_parser *p, et_step *s, const char *out, et_loc to,
                           const char *scratch, et_loc at) {
    int own = eti_local(p, out), wide = s->depth;
    if (s->rows) {
        int words = et_attend_slot(s->depth) / 4 / ET_ATTEND_BLOCK;
        int dim[] = {2, ET_ATTEND_BLOCK, words}, l = scratch ? eti_local(p, scratch) : -1;
        const et_local *has = l >= 0 ? &p->f->locals[l] : NULL;
        if (has && has->rank == 3 && has->dim[1] == s->rows * s->heads &&
            has->dim[2] == s->depth + 2 && are_waves(p, has->dim[0]))
            memcpy(dim, has->dim, sizeof dim);
        if (own >= 0 && p->f->locals[own].rank == 3 && p->f->locals[own].dim[2] == wide + 2)
            wide += 2;
        s->out = buffer(p, out, to, out, ET_F32, 3, (int[]){s->rows, s->heads, wide}, 0);
        s->scratch = buffer(p, scratch, at, "part", ET_F32, 3, dim, 0);
        return;
    }
    if (own >= 0 && p->f->locals[own].rank == 2 && p->f->locals[own].dim[1] == wide + 2) wide += 2;
    s->out = buffer(p, out, to, out, ET_F32, 2, (int[]){s->heads, wide}, 0);
    int l = scratch ? eti_local(p, scratch) : -1, most = waves(p);
    if (l >= 0 && p->f->locals[l].rank == 3 && are_waves(p, p->f->locals[l].dim[0]))
        most = p->f->locals[l].dim[0];
    int dim[] = {most, s->heads, s->depth + 2};
    s->scratch = buffer(p, scratch, at, "part", ET_F32, 3, dim, 0);
}

/* attend [h < H, d < D] [rows [i < R live E]] over p < P [scratch $s] [plan ...]  q = E  k = E  v =
 * E ... into $out, which is two elements longer where the result is one part of several. */
void eti_step_attend(eti_parser *p, et_step *s) {
    int coords = p->nscope, vars[2] = {-1, -1};
    eti_next(p);
    et_loc loc = p->tok.loc, at = loc;
    const char *scratch = NULL;
    int64_t heads = 0, depth = 0;
    int n = eti_vars(p, 2, vars, 4096);
    if (n >= 0 && n != 2) eti_error(p, loc, "attention needs a head and an element");
    p->nscope = coords;
    if (eti_take_word(p, "rows")) {
        eti_need(p, '[');
        s->nivar = 1;
        s->ivar[0] = -1;
        if (!p->broken) tile_side(p, coords, 16, &s->ivar[0], &s->rows, &s->ilive);
        eti_need(p, ']');
        p->broken |= s->ivar[0] < 0;
        p->nscope = coords;
    }
    eti_need_word(p, "over");
    s->pvar = p->broken ? -1 : eti_var_over(p, ETI_TENSORS | ETI_LOOPS);
    p->nscope = coords;
    if (eti_take_word(p, "scratch")) {
        at = p->tok.loc;
        scratch = eti_need_name(p, ETI_LOCAL, "a local buffer");
    }
    if (!p->broken && eti_is_word(p, "plan")) attend_plan(p, &s->attend);
    if (p->broken || n != 2 || s->pvar < 0) {
        p->broken = true;
        return;
    }
    s->hvar = vars[0], s->dvar = vars[1];
    et_is_int(p->x, et_var_extent(p->x, s->hvar), &heads);
    et_is_int(p->x, et_var_extent(p->x, s->dvar), &depth);
    s->heads = (int)heads, s->depth = (int)depth;
    int ivar = s->nivar ? s->ivar[0] : -1;
    if (s->hvar == s->dvar || s->pvar == s->hvar || s->pvar == s->dvar || ivar == s->hvar ||
        ivar == s->dvar || ivar == s->pvar)
        eti_error(p, loc, "head, element, position and row need names of their own");
    eti_attention(p, (int[]){ivar, s->hvar, s->pvar, s->dvar}, -1, PLAIN, s->part);
    eti_need_word(p, "into");
    et_loc to = p->tok.loc;
    const char *out = eti_need_name(p, ETI_LOCAL, "a local buffer");
    if (!out) return;
    attend_buffers(p, s, out, to, scratch, at);
    if (s->out == s->scratch) eti_error(p, to, "one buffer for two purposes");
}

/* plan vector N [OPTION ...] */
static void map_plan(eti_parser *p, et_map_plan *w) {
    *w = (et_map_plan){.made = true};
    eti_need_word(p, "vector");
    w->vector = (int)eti_need_int(p, 1, 16, "elements of an item");
    plan_options(p, ET_OPTIONS_MAP, w);
}

/* plan lanes N vector N unroll N [OPTION ...] */
static void reduce_plan(eti_parser *p, et_reduce_plan *w) {
    *w = (et_reduce_plan){.made = true};
    eti_need_word(p, "lanes");
    w->lanes = (int)eti_need_int(p, 1, 1024, "lanes that share a row");
    eti_need_word(p, "vector");
    w->vector = (int)eti_need_int(p, 1, 8, "elements of a lane at a time");
    eti_need_word(p, "unroll");
    w->unroll = (int)eti_need_int(p, 1, 8, "loads at once");
    plan_options(p, ET_OPTIONS_REDUCE, w);
}

void eti_items_plan(eti_parser *p, et_step *s) {
    if (s->kind == ET_STEP_MAP)
        map_plan(p, &s->map);
    else
        reduce_plan(p, &s->reduce);
}
