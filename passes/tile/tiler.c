#include "passes/tile/tiler.h"
#include "ir/program/step.h"
#include <string.h>

/* ---- building a function ---- */

et_expr et_tiler_extent(const et_tiler *t, int d) {
    return et_var_extent(t->x, t->gr->axis[d]);
}

bool et_tiler_force(const et_tiler *t, et_value value, const char *what) {
    if (t->trial && value.id) {
        ++*t->forced;
        t->trial->force(t->trial->ctx, value);
        return false;
    }
    et_diag(t->p->g->diags, ET_ERROR, t->gr->loc,
            "%s: no tiling found; give %s a tensor of its own", t->gr->name, what);
    return false;
}

et_tiler et_tiler_begin(const et_tiler *common, const et_group *gr) {
    et_tiler t = {.p = common->p,
                  .opt = common->opt,
                  .trial = common->trial,
                  .forced = common->forced,
                  .by_cost = common->by_cost,
                  .x = common->p->g->exprs,
                  .gr = gr};
    t.f.name = gr->name;
    t.grid = (et_grid){.name = gr->name,
                       .model = et_model_of(common->p->g, gr->name),
                       .loop = gr->loop,
                       .range = gr->range,
                       .hint = gr->hint};
    t.grid.deal.coord = -1;
    for (int d = 0; d < gr->rank; d++)
        t.inner[d] = t.piece[d] = -1;
    return t;
}

et_expr et_tiler_coord(et_tiler *t, const char *name, et_expr extent) {
    int64_t n;
    if (et_is_int(t->x, extent, &n) && n == 1) return et_int(t->x, 0);
    int c = t->f.ncoords++;
    t->f.coord[c] = et_graph_var(t->p->g, name, extent);
    t->grid.extent[c] = extent;
    return et_var(t->x, t->f.coord[c]);
}

void et_tiler_slice(et_tiler *t) {
    t->grid.slice = (et_slice){t->f.ncoords, t->gr->slice.count};
}

bool et_tiler_straddles(const et_tiler *t, int d, int tile) {
    et_slice s = t->gr->slice;
    int64_t n;
    if (!s.count || d != s.coord) return false;
    return !et_is_int(t->x, et_tiler_extent(t, d), &n) || n % s.count || n / s.count % tile;
}

void et_tiler_axis(et_tiler *t, int d, int tile) {
    et_expr extent = et_tiler_extent(t, d), size = et_int(t->x, tile);
    const char *axis = et_var_name(t->x, t->gr->axis[d]);
    int64_t n;
    if (et_is_int(t->x, extent, &n) && n < tile) tile = (int)n, size = extent;
    t->tile[d] = tile;
    et_slice s = t->gr->slice;
    if (s.count && d == s.coord) et_tiler_slice(t);
    if (t->gr->dealt && d == 0) t->grid.deal = (et_grid_deal){tile, t->f.ncoords};
    et_expr c =
        et_tiler_coord(t, et_printf(t->p->g->arena, "%s0", axis), et_ceil_div(t->x, extent, size));
    if (et_x(t->x, c)->op == ET_X_INT && d == 0) t->grid.deal.coord = -1;
    t->outer[d] = et_mul(t->x, c, size);
    t->at[d] = t->outer[d];
    if (tile == 1) return;
    t->inner[d] = et_graph_var(t->p->g, et_printf(t->p->g->arena, "%s1", axis), size);
    t->at[d] = et_add(t->x, t->outer[d], et_var(t->x, t->inner[d]));
    et_expr in = et_op2(t->x, ET_X_LT, t->at[d], extent);
    if (et_x(t->x, in)->op != ET_X_INT) t->inside[d] = in;
}

void et_tiler_pieces(et_tiler *t, int d, int pieces, int width) {
    et_exprs *x = t->x;
    const char *axis = et_var_name(x, t->gr->axis[d]);
    int64_t n = 0;
    et_is_int(x, et_tiler_extent(t, d), &n);
    int64_t part = n / pieces;
    t->tile[d] = pieces * width;
    et_expr c = et_tiler_coord(t, et_printf(t->p->g->arena, "%s0", axis), et_int(x, part / width));
    t->outer[d] = et_mul(x, c, et_int(x, width));
    t->piece[d] = et_graph_var(t->p->g, et_printf(t->p->g->arena, "%sp", axis), et_int(x, pieces));
    t->inner[d] = et_graph_var(t->p->g, et_printf(t->p->g->arena, "%s1", axis), et_int(x, width));
    et_expr from = et_mul(x, et_var(x, t->piece[d]), et_int(x, part));
    t->at[d] = et_add(x, et_add(x, from, t->outer[d]), et_var(x, t->inner[d]));
}

static et_expr axis_to_tile(void *ctx, et_exprs *x, et_expr leaf) {
    et_tiler *t = ctx;
    const et_node_x *n = et_x(x, leaf);
    for (int d = 0; n->op == ET_X_VAR && d < t->gr->rank; d++)
        if (n->i == t->gr->axis[d]) return t->at[d];
    return ET_NO_EXPR;
}

et_expr et_tiler_subst(et_tiler *t, et_expr e) {
    return e.id ? et_subst(t->x, e, axis_to_tile, t) : e;
}

static et_expr axis_to_first(void *ctx, et_exprs *x, et_expr leaf) {
    et_tiler *t = ctx;
    const et_node_x *n = et_x(x, leaf);
    if (n->op != ET_X_VAR) return ET_NO_EXPR;
    for (int d = 0; d < t->gr->rank; d++)
        if (n->i == t->gr->axis[d]) return t->outer[d];
    for (int l = t->gr->loop; l >= 0; l = t->p->g->loops[l].parent)
        if (n->i == t->p->g->loops[l].var) return ET_NO_EXPR;
    return et_int(x, 0); /* of a reduction within the tile */
}

et_expr et_tiler_subst_first(et_tiler *t, et_expr e) {
    return et_subst(t->x, e, axis_to_first, t);
}

et_step *et_tiler_step(et_tiler *t, et_step_kind kind) {
    ET_GROW(t->p->g->arena, t->f.steps, t->f.nsteps, t->f.csteps);
    et_step *s = &t->f.steps[t->f.nsteps++];
    *s = et_step_make(kind);
    return s;
}

/* The predicates of the inner variables VARS, and MASK where it is given. */
static et_expr tiler_mask(et_tiler *t, int nvars, const int *vars, et_expr mask) {
    et_expr in = ET_NO_EXPR;
    for (int d = 0; d < t->gr->rank; d++)
        for (int v = 0; v < nvars; v++)
            if (t->inner[d] == vars[v] && t->inside[d].id)
                in = in.id ? et_op2(t->x, ET_X_AND, in, t->inside[d]) : t->inside[d];
    if (!in.id || !mask.id) return in.id ? in : mask;
    return et_op2(t->x, ET_X_AND, in, mask);
}

/* ---- reductions ---- */

struct innermost {
    const et_exprs *x;
    et_expr found;
};

static void find_innermost(void *ctx, et_expr e) {
    struct innermost *f = ctx;
    const et_node_x *n = et_x(f->x, e);
    if (!f->found.id && n->op == ET_X_REDUCE && !et_expr_has_op(f->x, n->ops[1], ET_X_REDUCE))
        f->found = e;
}

static et_expr reduce_step(et_tiler *t, et_expr r, int nvars, const int *vars) {
    et_node_x n = *et_x(t->x, r);
    int dim[ET_MAX_RANK], used[ET_MAX_VARS], nused = 0;
    int64_t extent = 0, least, most;
    et_place to = {.space = ET_LOAD_LOCAL};
    for (int v = 0; v < nvars; v++) {
        if (!et_expr_has_var(t->x, n.ops[0], vars[v]) && !et_expr_has_var(t->x, n.ops[1], vars[v]))
            continue;
        et_is_int(t->x, et_var_extent(t->x, vars[v]), &extent);
        used[nused] = vars[v];
        to.index[nused] = et_var(t->x, vars[v]);
        dim[nused++] = (int)extent;
    }
    int of_mask = nused;
    if (n.i == ET_RED_TOP) { /* all places, up to the last that is asked for */
        et_check(et_bounds(t->x, n.ops[2], &least, &most) && et_is_int(t->x, n.ops[0], &extent));
        if (extent > most + 1) extent = most + 1;
        used[nused] = et_graph_var(t->p->g, "t", et_int(t->x, extent));
        to.index[nused] = et_var(t->x, used[nused]);
        dim[nused++] = (int)extent;
    }
    to.rank = nused;
    if (!nused) {
        dim[0] = 1;
        to.index[0] = et_int(t->x, 0);
        to.rank = 1;
    }
    const char *name = et_printf(t->p->g->arena, "r%d", t->f.nlocals);
    to.id = et_local_add(t->p, &t->f, name, n.type == ET_T_I32 ? ET_I32 : ET_F32, to.rank, dim,
                         dim[to.rank - 1]);
    et_step *s = et_tiler_step(t, ET_STEP_REDUCE);
    s->nvars = nused;
    memcpy(s->vars, used, sizeof used);
    s->mask = tiler_mask(t, of_mask, used, ET_NO_EXPR);
    s->to = to;
    s->red = (et_reduce)n.i;
    s->rvar = n.i2;
    s->rextent = n.ops[0];
    s->value = n.ops[1];
    if (n.i == ET_RED_TOP) to.index[to.rank - 1] = n.ops[2];
    return et_load(t->x, ET_LOAD_LOCAL, to.id, n.type, to.rank, to.index);
}

et_expr et_tiler_reductions(et_tiler *t, et_expr e, int nvars, const int *vars, int forbidden) {
    for (;;) {
        struct innermost f = {t->x, ET_NO_EXPR};
        et_walk(t->x, e, find_innermost, &f);
        if (!f.found.id) return e;
        if (forbidden >= 0 && et_expr_has_var(t->x, f.found, forbidden)) return ET_NO_EXPR;
        et_expr load = reduce_step(t, f.found, nvars, vars);
        e = et_replace(t->x, e, f.found, load);
    }
}

void et_tiler_rows(et_tiler *t, et_step *s, int var, et_expr in, int rows) {
    if (s->nvars && et_x(t->x, in)->op != ET_X_INT) s->mask = in;
    if (rows % 16 == 0 || s->nvars != 1 || s->vars[0] != var) return;
    s->vars[0] = et_graph_var(t->p->g, "m", et_int(t->x, rows));
    et_expr row = et_var(t->x, s->vars[0]);
    s->value = et_subst_var(t->x, s->value, var, row);
    s->rextent = et_subst_var(t->x, s->rextent, var, row);
    if (s->mask.id) s->mask = et_subst_var(t->x, s->mask, var, row);
    for (int i = 0; i < s->to.rank; i++)
        s->to.index[i] = et_subst_var(t->x, s->to.index[i], var, row);
}

/* ---- the end of a function ---- */

int et_tiler_inner(const et_tiler *t, int vars[ET_MAX_VARS]) {
    int n = 0;
    for (int d = 0; d < t->gr->rank; d++) {
        if (t->piece[d] >= 0) vars[n++] = t->piece[d];
        if (t->inner[d] >= 0) vars[n++] = t->inner[d];
    }
    return n;
}

void et_tiler_store(et_tiler *t, et_expr value) {
    et_step *s = et_tiler_step(t, ET_STEP_MAP);
    s->nvars = et_tiler_inner(t, s->vars);
    s->mask = tiler_mask(t, s->nvars, s->vars, et_tiler_subst(t, t->gr->mask));
    s->to = t->gr->to;
    for (int d = 0; d < s->to.rank; d++)
        s->to.index[d] = et_tiler_subst(t, s->to.index[d]);
    s->value = value;
}

bool et_tiler_end(et_tiler *t) {
    et_program *p = t->p;
    int limit = t->opt->machine->lds_bytes;
    if (t->grid.slice.coord >= t->f.ncoords) t->grid.slice = (et_slice){0}; /* there is one tile */
    if (t->f.lds_bytes > limit) {
        et_diag(t->p->g->diags, ET_ERROR, t->gr->loc,
                "one tile of %s needs %d bytes of local memory, the target has %d", t->gr->name,
                t->f.lds_bytes, limit);
        return false;
    }
    ET_GROW(t->p->g->arena, p->funcs, p->nfuncs, p->cfuncs);
    p->funcs[p->nfuncs] = t->f;
    t->grid.func = p->nfuncs++;
    ET_GROW(t->p->g->arena, p->grids, p->ngrids, p->cgrids);
    p->grids[p->ngrids++] = t->grid;
    return true;
}

static bool tile_group(const et_tiler *common, const et_group *gr) {
    if (gr->kind == ET_GROUP_ATTEND) return et_tile_attend(common, gr);
    if (gr->kind == ET_GROUP_SCAN) return et_tile_scan(common, gr);
    return gr->nproduct ? et_tile_contract(common, gr) : et_tile_elements(common, gr);
}

bool et_tile_program(et_program *p, const et_pass_options *opt, const et_tile_trial *trial) {
    int forced = 0;
    et_tiler common = {.p = p, .opt = opt, .trial = trial, .forced = &forced, .by_cost = !trial};
    p->nfuncs = p->ngrids = 0;
    for (int i = 0; i < p->ngroups; i++) {
        int before = forced;
        if (before && trial->stale(trial->ctx, i)) continue;
        if (trial && trial->known(trial->ctx, i)) {
            ET_GROW(p->g->arena, p->grids, p->ngrids, p->cgrids);
            p->grids[p->ngrids++] = (et_grid){.name = p->groups[i].name, .func = -1};
            continue;
        }
        if (!tile_group(&common, &p->groups[i]) && forced == before) return false;
    }
    return true;
}

/* Take out the items that are GONE, and their grids and groups. */
static void take_out_items(et_program *p, const bool *gone) {
    int *item_at = et_alloc(p->g->arena, (size_t)(p->nitems + 1) * sizeof *item_at);
    int *grid_at = et_alloc(p->g->arena, (size_t)(p->ngrids + 1) * sizeof *grid_at);
    for (int i = 0; i < p->nitems; i++) {
        item_at[i + 1] = item_at[i] + !gone[i];
        if (gone[i]) grid_at[p->items[i].index + 1] = -1;
    }
    for (int g = 0; g < p->ngrids; g++) {
        grid_at[g + 1] = grid_at[g] + 1 + grid_at[g + 1];
        p->grids[grid_at[g]] = p->grids[g];
        p->groups[grid_at[g]] = p->groups[g];
    }
    p->count = item_at[p->first + p->count] - item_at[p->first];
    p->first = item_at[p->first];
    for (int i = 0; i < p->nitems; i++) {
        et_item it = p->items[i];
        if (it.kind == ET_P_GRID) {
            it.index = grid_at[it.index];
        } else {
            it.count = item_at[it.first + it.count] - item_at[it.first];
            it.first = item_at[it.first];
        }
        if (!gone[i]) p->items[item_at[i]] = it;
    }
    p->nitems = item_at[p->nitems];
    p->ngrids = p->ngroups = grid_at[p->ngrids];
}

/* Functions that no grid has any more, and those of grids that were tried as one tile. */
static void drop_functions(et_program *p) {
    int n = 0;
    et_func *all = et_alloc(p->g->arena, (size_t)(p->nfuncs + 1) * sizeof *all);
    memcpy(all, p->funcs, (size_t)p->nfuncs * sizeof *all);
    for (int g = 0; g < p->ngrids; g++) {
        p->funcs[n] = all[p->grids[g].func];
        p->grids[g].func = n++;
    }
    p->nfuncs = n;
}

void et_tile_take_out(et_program *p, const bool *gone) {
    take_out_items(p, gone);
    drop_functions(p);
}

/* Later rows of a prompt attend to more positions: the workgroup with the longest tile of a round
 * gets the shortest of the next. Other tiles run in memory order. */
static et_tile_order order_of(const et_program *p, const et_grid *gr, et_features without) {
    const et_func *f = &p->funcs[gr->func];
    if (gr->slice.count) return ET_TILES_ROUND_ROBIN;
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_ATTEND && f->steps[i].rows) return ET_TILES_BACK_AND_FORTH;
    return et_is_without(without, ET_FEATURE_ORDER) ? ET_TILES_ADJACENT : ET_TILES_ROUND_ROBIN;
}

bool et_pass_tile(et_pipeline *pl) {
    et_tiler common = {.p = pl->p, .opt = pl->opt, .x = pl->p->g->exprs};
    if (!et_is_without(pl->opt->without, ET_FEATURE_POSITIONS)) et_tile_parts(&common);
    if (!et_is_without(pl->opt->without, ET_FEATURE_SPLIT_K)) et_tile_sums(&common);
    et_tile_narrow(pl->p);
    if (!et_tile_program(pl->p, pl->opt, NULL)) return false;
    /* Heads that are columns have queries of f32, be they of one row or of several. */
    if (!pl->opt->same_sums) et_tile_narrow_queries(pl->p);
    et_tile_unowned(pl->p);
    if (!et_is_without(pl->opt->without, ET_FEATURE_JOIN)) {
        et_tile_join(&common);
        et_tile_follow(pl->p);
    }
    for (int i = 0; i < pl->p->ngrids; i++)
        pl->p->grids[i].order = order_of(pl->p, &pl->p->grids[i], pl->opt->without);
    return true;
}
