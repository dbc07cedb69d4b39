/* The integer program over plans. Column generation solves its linear relaxation over all plans
 * there are: the relaxation of the plans known so far gives prices, dynamic programming finds the
 * cheapest plan of each model at these prices, and when none is cheaper than what its model already
 * has, the bound is exact. Then branch and bound chooses among the plans; and since a plan whose
 * reduced cost exceeds the distance between choice and bound cannot be part of a better choice,
 * looking at all that do not makes the answer exact whenever they are few enough. */
#include "passes/assign/assign.h"
#include <math.h>
#include <string.h>

#ifdef ETCC_GLPK
#include "passes/assign/int.h"
#include <glpk.h>

enum { ROUNDS = 400, MAX_PLANS = 1000, MAX_NODES = 2000, FEW_PLANS = 150, STEPS = 1000000 };
enum { MOST_PIVOTS = 5000 };
/* This close to the bound there is no branching among the plans that the relaxation has. */
static const double CLOSE = 1.002;

/* A plan of a model; column K of the program is plan K - 2. */
struct column {
    int model;
    int *range;
    assign_plan_cost cost;
};

struct master {
    const et_assign_problem *p;
    et_arena *arena;
    assign_table **table;
    struct column *column;
    int ncolumns, ccolumns;
    glp_prob *lp;
    double best_bound;
    int *scratch;
    et_assignment *best;
    int nodes, steps, max_nodes, max_plans;
    int adding; /* the model whose plans are being collected */
    int added;
};

/* Rows of the linear program, from 1. */
static int row_choose(int m) {
    return 1 + m;
}
static int row_completion(const struct master *s, int m) {
    return 1 + s->p->nmodels + m;
}
static int row_unit(const struct master *s, int u) {
    return 1 + 2 * s->p->nmodels + u;
}
static int row_memory(const struct master *s) {
    return 1 + 2 * s->p->nmodels + s->p->nunits;
}

static void start_lp(struct master *s) {
    const et_assign_problem *p = s->p;
    int rows = row_memory(s), n = 0;
    s->lp = glp_create_prob();
    glp_set_obj_dir(s->lp, GLP_MIN);
    glp_add_rows(s->lp, rows);
    int index[2 * ET_ASSIGN_UNITS + 8];
    double value[2 * ET_ASSIGN_UNITS + 8];
    for (int m = 0; m < p->nmodels; m++) {
        glp_set_row_bnds(s->lp, row_choose(m), GLP_FX, 1, 1);
        glp_set_row_bnds(s->lp, row_completion(s, m), GLP_LO, 0, 0);
    }
    for (int r = row_unit(s, 0); r <= rows; r++)
        glp_set_row_bnds(s->lp, r, GLP_LO, 0, 0);
    glp_add_cols(s->lp, 1);
    glp_set_col_bnds(s->lp, 1, GLP_LO, 0, 0);
    glp_set_obj_coef(s->lp, 1, 1);
    for (int r = row_completion(s, 0); r <= rows; r++) {
        index[++n] = r;
        value[n] = 1;
    }
    glp_set_mat_col(s->lp, 1, n, index, value);
}

static bool known(const struct master *s, int model, const int *range) {
    size_t bytes = (size_t)s->p->models[model].ngroups * sizeof *range;
    for (int c = 0; c < s->ncolumns; c++)
        if (s->column[c].model == model && !memcmp(s->column[c].range, range, bytes)) return true;
    return false;
}

/* Does another plan of the model cost no more in any row? Then this one is never needed. */
static bool dominated(const struct master *s, int model, const assign_plan_cost *c) {
    for (int k = 0; k < s->ncolumns; k++) {
        const assign_plan_cost *o = &s->column[k].cost;
        bool worse = s->column[k].model == model && o->us <= c->us && o->memory_us <= c->memory_us;
        for (int u = 0; worse && u < s->p->nunits; u++)
            worse = o->load[u] <= c->load[u];
        if (worse) return true;
    }
    return false;
}

/* Unless another plan of its model makes it superfluous. */
static bool add_plan(struct master *s, int model, const int *range) {
    const et_assign_problem *p = s->p;
    const et_assign_model *m = &p->models[model];
    assign_plan_cost cost;
    if (known(s, model, range) || !assign_plan_cost_of(p, m, range, &cost) ||
        dominated(s, model, &cost))
        return false;
    ET_GROW(s->arena, s->column, s->ncolumns, s->ccolumns);
    struct column *c = &s->column[s->ncolumns++];
    *c = (struct column){model, et_alloc(s->arena, (size_t)m->ngroups * sizeof *range), cost};
    memcpy(c->range, range, (size_t)m->ngroups * sizeof *range);
    int index[ET_ASSIGN_UNITS + 4], n = 0;
    double value[ET_ASSIGN_UNITS + 4];
    index[++n] = row_choose(model), value[n] = 1;
    index[++n] = row_completion(s, model), value[n] = -m->weight * c->cost.us;
    index[++n] = row_memory(s), value[n] = -c->cost.memory_us;
    for (int u = 0; u < p->nunits; u++)
        if (c->cost.load[u] > 0) index[++n] = row_unit(s, u), value[n] = -c->cost.load[u];
    int col = glp_add_cols(s->lp, 1);
    glp_set_mat_col(s->lp, col, n, index, value);
    glp_set_col_bnds(s->lp, col, GLP_LO, 0, 0);
    glp_set_obj_coef(s->lp, col, assign_epsilon * m->weight * c->cost.us / p->nmodels);
    return true;
}

/* The prices of T's rows add up to 1 at an optimum, up to rounding: where they are more, they are
 * scaled, so that the bound holds. */
static void prices_of(const struct master *s, int m, assign_prices *out) {
    const et_assign_problem *p = s->p;
    double sum = 0;
    for (int r = row_completion(s, 0); r <= row_memory(s); r++)
        sum += fmax(0, glp_get_row_dual(s->lp, r));
    sum = sum > 1 ? sum : 1;
    double own = fmax(0, glp_get_row_dual(s->lp, row_completion(s, m))) / sum;
    *out = (assign_prices){.completion = p->models[m].weight * (own + assign_epsilon / p->nmodels),
                           .memory = fmax(0, glp_get_row_dual(s->lp, row_memory(s))) / sum};
    for (int u = 0; u < p->nunits; u++)
        out->unit[u] = fmax(0, glp_get_row_dual(s->lp, row_unit(s, u))) / sum;
}

/* From the basis there is; where that gets nowhere (the simplex method may go round in circles),
 * from the beginning, by the other method. */
static bool solve(struct master *s) {
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.it_lim = MOST_PIVOTS;
    if (glp_simplex(s->lp, &how) == 0 && glp_get_status(s->lp) == GLP_OPT) return true;
    glp_std_basis(s->lp);
    how.meth = GLP_DUALP;
    return glp_simplex(s->lp, &how) == 0 && glp_get_status(s->lp) == GLP_OPT;
}

/* The relaxation over all plans, or as far as GLPK gets; false when that is nowhere. */
static bool generate(struct master *s) {
    for (int round = 0; round < ROUNDS; round++) {
        if (!solve(s)) return round > 0;
        double value = glp_get_obj_val(s->lp), bound = 0;
        bool new = false;
        for (int m = 0; m < s->p->nmodels; m++) {
            assign_prices price;
            prices_of(s, m, &price);
            bound += assign_cheapest(s->table[m], &price, s->scratch);
            new |= add_plan(s, m, s->scratch);
        }
        s->best_bound = fmax(s->best_bound, bound);
        if (!new || value - s->best_bound <= 1e-7 * value) return true;
    }
    return true;
}

/* Called several times for each node: a node may be solved again and again. */
static void watch(glp_tree *tree, void *ctx) {
    struct master *s = ctx;
    int active, current;
    glp_ios_tree_size(tree, &active, &current, &s->nodes);
    if (s->nodes > s->max_nodes || ++s->steps > STEPS / s->ncolumns) glp_ios_terminate(tree);
}

/* Best choice among the plans known; true when branch and bound finished. */
static bool choose(struct master *s) {
    glp_iocp how;
    glp_init_iocp(&how);
    how.msg_lev = GLP_MSG_OFF;
    if (s->ncolumns <= FEW_PLANS)
        how.gmi_cuts = how.mir_cuts = how.cov_cuts = how.clq_cuts = GLP_ON;
    how.cb_func = watch;
    how.cb_info = s;
    how.mip_gap = 1e-9;
    for (int c = 2; c <= glp_get_num_cols(s->lp); c++)
        glp_set_col_kind(s->lp, c, GLP_BV);
    bool done = solve(s) && glp_intopt(s->lp, &how) == 0;
    int status = glp_mip_status(s->lp);
    if (status == GLP_OPT || status == GLP_FEAS) {
        et_assignment now;
        assign_new(s->p, s->arena, &now);
        for (int c = 0; c < s->ncolumns; c++)
            if (glp_mip_col_val(s->lp, c + 2) > 0.5)
                memcpy(now.range[s->column[c].model], s->column[c].range,
                       (size_t)s->p->models[s->column[c].model].ngroups * sizeof(int));
        et_assign_evaluate(s->p, now.range, &now);
        if (now.objective < s->best->objective) *s->best = now;
    }
    for (int c = 2; c <= glp_get_num_cols(s->lp); c++) {
        glp_set_col_kind(s->lp, c, GLP_CV);
        glp_set_col_bnds(s->lp, c, GLP_LO, 0, 0);
    }
    return done && status == GLP_OPT;
}

static bool collect(void *ctx, const int *range) {
    struct master *s = ctx;
    add_plan(s, s->adding, range);
    return ++s->added < s->max_plans;
}

/* Add every plan that could be part of a better choice than the best known; true when that was all.
 */
static bool collect_promising(struct master *s) {
    if (!solve(s)) return false;
    double bound = 0;
    double *least = et_alloc(s->arena, (size_t)s->p->nmodels * sizeof *least);
    assign_prices *price = et_alloc(s->arena, (size_t)s->p->nmodels * sizeof *price);
    for (int m = 0; m < s->p->nmodels; m++) {
        prices_of(s, m, &price[m]);
        bound += least[m] = assign_cheapest(s->table[m], &price[m], s->scratch);
    }
    double room = s->best->objective - bound;
    bool all = true;
    for (int m = 0; m < s->p->nmodels; m++) {
        s->adding = m;
        s->added = 0;
        all &= assign_each_plan(s->table[m], least[m] + room * (1 + 1e-9), collect, s);
    }
    return all;
}

/* Plans to start from: every model on one range throughout, and its fastest. */
static bool first_plans(struct master *s) {
    for (int m = 0; m < s->p->nmodels; m++) {
        assign_prices alone = {.completion = 1};
        if (!(assign_cheapest(s->table[m], &alone, s->scratch) < INFINITY)) return false;
        add_plan(s, m, s->scratch);
        for (int r = 0; r < s->p->nranges; r++) {
            for (int g = 0; g < s->p->models[m].ngroups; g++)
                s->scratch[g] = r;
            add_plan(s, m, s->scratch);
        }
    }
    return true;
}

static void keep_better(struct master *s, bool found, const et_assignment *other) {
    if (found && other->objective < s->best->objective) *s->best = *other;
}

/* The choice of the plans that have most of each model in the relaxation. */
static void round_off(struct master *s) {
    et_assignment now;
    assign_new(s->p, s->arena, &now);
    for (int m = 0; m < s->p->nmodels; m++) {
        double most = -1;
        for (int c = 0; c < s->ncolumns; c++) {
            double part = glp_get_col_prim(s->lp, c + 2);
            if (s->column[c].model != m || part <= most) continue;
            most = part;
            memcpy(now.range[m], s->column[c].range, (size_t)s->p->models[m].ngroups * sizeof(int));
        }
    }
    et_assign_evaluate(s->p, now.range, &now);
    keep_better(s, true, &now);
}

/* From the relaxation to a choice: the best of the simple ones and of the one nearest to the
 * relaxation; by branch and bound among the plans the relaxation has, if that is not close; and
 * among all plans that can matter, where they are few. */
static void search(struct master *s) {
    const et_assign_problem *p = s->p;
    et_assignment other, *out = s->best;
    round_off(s);
    keep_better(s, et_assign_greedy(p, s->arena, &other), &other);
    keep_better(s, et_assign_partition(p, s->arena, &other), &other);
    if (out->objective > s->best_bound * CLOSE) choose(s);
    for (int m = 0; m < p->nmodels; m++)
        add_plan(s, m, out->range[m]);
    bool all = collect_promising(s), done = false;
    if (all || s->ncolumns <= FEW_PLANS) done = choose(s);
    out->optimal = all && done;
    out->bound = out->optimal ? out->objective : fmin(s->best_bound, out->objective);
    out->plans = s->ncolumns;
    out->nodes = s->nodes;
}

bool et_assign_optimal(const et_assign_problem *p, et_arena *a, et_assignment *out) {
    struct master s = {.p = p, .arena = a, .best = assign_new(p, a, out)};
    s.max_plans = p->max_plans ? p->max_plans : MAX_PLANS;
    s.max_nodes = p->max_nodes ? p->max_nodes : MAX_NODES;
    int most = 0;
    s.table = et_alloc(a, (size_t)p->nmodels * sizeof *s.table);
    et_arena *tables = et_arena_create(); /* megabytes for each loop */
    for (int m = 0; m < p->nmodels; m++) {
        s.table[m] = assign_table_create(p, &p->models[m], tables);
        most = p->models[m].ngroups > most ? p->models[m].ngroups : most;
    }
    s.scratch = et_alloc(a, (size_t)most * sizeof *s.scratch);
    int talks = glp_term_out(GLP_OFF); /* message levels do not silence the cuts */
    out->objective = INFINITY;
    start_lp(&s);
    bool ok = first_plans(&s) && generate(&s);
    if (ok) search(&s);
    et_arena_destroy(tables);
    glp_delete_prob(s.lp);
    glp_term_out(talks);
    glp_free_env(); /* a thread has one, and nothing else frees it */
    return ok && out->objective < INFINITY;
}

#else
bool et_assign_optimal(const et_assign_problem *p, et_arena *a, et_assignment *out) {
    (void)p, (void)a, (void)out;
    return false;
}
#endif
