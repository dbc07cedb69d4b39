/* Scans: a tile has some of the results of a row, and goes through all rows of the launch. */
#include "ir/product/scan.h"
#include "ir/program/step.h"
#include "ir/target/target.h"
#include "passes/tile/tiler.h"

enum {
    LANE_ELEMENTS = 16, /* of the state that a work-item has of a result, if lanes suffice */
    MOST_CHUNK = 32,    /* rows that matrix products do at once */
};

/* Results of a row. */
static int64_t results(const et_tiler *t) {
    int64_t all = 1, n = 1;
    for (int d = 1; d < t->gr->rank; d++) {
        et_is_int(t->x, et_tiler_extent(t, d), &n);
        all *= n;
    }
    return all;
}

/* Work-items that share a result: a power of two that divides its elements of the state, as few as
 * can hold them, or more while all tiles have a CU at once: a row takes little less by more. */
static int lanes_of(const et_tiler *t, int64_t elements) {
    const et_machine *m = t->opt->machine;
    int lanes = 1;
    int64_t all = results(t), items = (int64_t)m->waves * m->wave_size;
    while (elements % (2 * lanes) == 0 && 2 * lanes <= m->wave_size &&
           (elements / lanes > LANE_ELEMENTS || all * 2 * lanes <= items * m->cus))
        lanes *= 2;
    return lanes;
}

/* ---- rows ahead ---- */

struct loads {
    const et_exprs *x;
    const et_step *s;
    et_expr seen[64];
    int nseen, n; /* N: values of a row in a lane */
};

static void count_load(void *ctx, et_expr e) {
    struct loads *l = ctx;
    const et_node_x *n = et_x(l->x, e);
    int64_t elements = 1;
    if (n->op != ET_X_LOAD || !et_expr_has_var(l->x, e, l->s->rvar)) return;
    for (int i = 0; i < l->nseen; i++)
        if (l->seen[i].id == e.id) return;
    if (l->nseen < (int)(sizeof l->seen / sizeof *l->seen)) l->seen[l->nseen++] = e;
    et_is_int(l->x, et_var_extent(l->x, l->s->evar), &elements);
    l->n += et_expr_has_var(l->x, e, l->s->evar) ? (int)elements / l->s->lanes : 1;
}

/* As many rows as keep some tens of values under way; none, where there is one row or a row loads
 * too many. */
static int rows_ahead(const et_tiler *t, const et_step *s) {
    enum { UNDER_WAY = 40, MOST_OF_A_ROW = 64 };
    struct loads l = {t->x, s, {{0}}, 0, 0};
    int64_t lo, hi;
    int rows = 1;
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (s->scan[i].id) et_walk(t->x, s->scan[i], count_load, &l);
    for (int d = 0; d < s->state.rank; d++)
        et_walk(t->x, s->state.index[d], count_load, &l);
    et_span(t->x, s->rextent, &lo, &hi);
    if (hi < 2 || l.n > MOST_OF_A_ROW) return 0;
    while (2 * rows <= ET_SCAN_AHEAD && 2 * rows * l.n <= UNDER_WAY && 4 * rows <= hi)
        rows *= 2;
    return rows;
}

static void cover(et_tiler *t, int64_t left) {
    for (int d = t->gr->rank - 1; d > 0; d--) {
        int64_t n = 1, tile = 1;
        et_is_int(t->x, et_tiler_extent(t, d), &n);
        while (tile < n && 2 * tile <= left)
            tile *= 2;
        if (n <= left) tile = n;
        if (t->gr->tile[d]) tile = t->gr->tile[d] < n ? t->gr->tile[d] : n;
        et_tiler_axis(t, d, (int)tile);
        left = left / tile > 0 ? left / tile : 1;
    }
}

/* As many results as work-items can hold at once, fewer where CUs would be left without a tile; but
 * those of a wave. */
static int64_t per_tile(const et_tiler *t, int lanes) {
    const et_machine *m = t->opt->machine;
    int64_t most = (int64_t)m->waves * m->wave_size / lanes, least = m->wave_size / lanes;
    int64_t each = (results(t) + m->cus - 1) / (m->cus > 0 ? m->cus : 1), n = least > 0 ? least : 1;
    while (n < each && 2 * n <= most)
        n *= 2;
    return n;
}

/* ---- chunks ---- */

/* Rows by themselves have other sums than those of a chunk. */
static bool may_have_chunks(const et_tiler *t, const et_step *s) {
    const char *why;
    et_scan_form form;
    int64_t lo, hi;
    et_span(t->x, s->rextent, &lo, &hi);
    return !t->opt->same_sums && hi >= 2 * ET_SCAN_CHUNK_UNIT &&
           et_scan_form_of(t->x, s, &form, &why);
}

/* Rows of a chunk: as many as local memory has room for, where the launch may have two chunks. */
static bool choose_chunk(et_tiler *t, et_step *s) {
    const et_machine *m = t->opt->machine;
    et_scan_chunk c;
    const char *why;
    int64_t lo, hi;
    et_span(t->x, s->rextent, &lo, &hi);
    for (int rows = MOST_CHUNK; rows >= ET_SCAN_CHUNK_UNIT; rows /= 2) {
        if (hi < 2 * rows ||
            !et_scan_chunk_of(t->x, s, m->waves * m->wave_size, m->wave_size, rows, &c, &why) ||
            4 * c.words > m->lds_bytes - ET_LDS_OWN)
            continue;
        s->chunk = rows;
        s->scratch = et_local_add(t->p, &t->f, "part", ET_F32, 1, &c.words, c.words);
        return true;
    }
    return false;
}

/* Are elements of the state what the last rows brought? The same sums, so always, where a launch
 * may have a run of such rows. */
static bool has_window(const et_tiler *t, const et_step *s) {
    const et_machine *m = t->opt->machine;
    et_scan_window w;
    const char *why;
    int64_t lo, hi;
    et_span(t->x, s->rextent, &lo, &hi);
    return hi >= 2 * m->wave_size && et_scan_window_of(t->x, s, m->waves * m->wave_size, &w, &why);
}

/* A step of as many results as MOST. */
static et_step step_of(et_tiler *t, int lanes, int64_t most) {
    const et_group *gr = t->gr;
    et_step s = et_step_make(ET_STEP_SCAN);
    s.lanes = lanes;
    s.rvar = et_graph_var(t->p->g, "i", et_tiler_extent(t, 0));
    s.rextent = et_tiler_extent(t, 0);
    s.evar = gr->pvar;
    t->at[0] = et_var(t->x, s.rvar);
    cover(t, most);
    s.nvars = et_tiler_inner(t, s.vars);
    for (int d = 1; d < gr->rank; d++)
        if (t->inside[d].id)
            s.mask = s.mask.id ? et_op2(t->x, ET_X_AND, s.mask, t->inside[d]) : t->inside[d];
    for (int i = 0; i < ET_SC_PARTS; i++)
        s.scan[i] = et_tiler_subst(t, gr->scan[i]);
    s.to = gr->to;
    s.state = gr->state;
    for (int d = 0; d < s.to.rank; d++)
        s.to.index[d] = et_tiler_subst(t, s.to.index[d]);
    for (int d = 0; d < s.state.rank; d++)
        s.state.index[d] = et_tiler_subst(t, s.state.index[d]);
    s.ahead = rows_ahead(t, &s);
    return s;
}

bool et_tile_scan(const et_tiler *common, const et_group *gr) {
    et_tiler t = et_tiler_begin(common, gr), other;
    const et_machine *m = t.opt->machine;
    int64_t elements = 1;
    et_is_int(t.x, et_var_extent(t.x, gr->pvar), &elements);
    int lanes = lanes_of(&t, elements);
    if (elements / lanes > ET_SCAN_ELEMENTS) {
        et_diag(t.p->g->diags, ET_ERROR, gr->loc,
                "scan: %lld elements of the state, which lanes share by powers of two: %d are too "
                "many for one",
                (long long)elements, (int)(elements / lanes));
        return false;
    }
    et_step s = step_of(&t, lanes, per_tile(&t, lanes));
    s.window = has_window(&t, &s);
    if (!s.window && may_have_chunks(&t, &s)) choose_chunk(&t, &s);
    /* Else of as many results as there are lanes for, and more where fewer lanes can hold each. */
    for (int l = lanes; !s.window && !s.chunk && may_have_chunks(&t, &s) && l > 0; l /= 2) {
        if (elements / l > 2 * LANE_ELEMENTS) break;
        other = et_tiler_begin(common, gr);
        et_step wide = step_of(&other, l, m->waves * m->wave_size / l);
        if (choose_chunk(&other, &wide)) t = other, s = wide;
    }
    *et_tiler_step(&t, ET_STEP_SCAN) = s;
    return et_tiler_end(&t);
}
