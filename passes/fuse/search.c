/* Fusion by cost. The values that may either way be materialised or folded into their readers are
 * split into independent partitions (values that can meet in one group), and each partition is
 * searched for the choice with the least predicted time, the rest held at its best so far. To
 * price a choice the graph is lowered and tiled under it, so fusions that tiling cannot do are
 * priced as what it does instead. */
#include "passes/fuse/lowering.h"
#include "passes/pipeline/findings.h"
#include "passes/pipeline/names.h"
#include "passes/tile/tiler.h"
#include "passes/trial/trial.h"
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_LIMIT = 10, /* values per partition that are searched exhaustively */
    LOOP_TRIPS = 16,  /* the plan, and so the code, is the same for any depth */
    /* Bounds on work, not on time, so that builds repeat: plans evaluated in all, nodes in
     * them, and elements of values asked for while they were lowered. */
    MAX_PLANS = 600,
    MAX_NODES_LOWERED = 40000,
    MAX_ASKED = 1000000,
};
/* A tensor of its own must gain this much, relative to the launch: less is noise of the model. */
static const double stored_value_price = 5e-4;

struct search {
    et_lowering *lo;
    const et_pass_options *opt;
    const et_value_info *info; /* of the plan by rule */
    int *part;                 /* by value: partition (union-find parent), 0 = not a choice */
    int *seen, visit;          /* by value: met by the visit of that number */
    int *like;                 /* by value: the next one that has the same choice, or 0 */
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    double reference[ET_SAMPLES]; /* cost of the plan by rule, us */
    double best;
    int64_t trips; /* of every loop, 0 for their own */
    int evaluated;
    bool cut_off;        /* some partition was not searched to the end */
    bool by_cost;        /* tilings are those that will be, not those by rule */
    int nodes;           /* that a plan lowers */
    double floor;        /* of the cost of any plan, relative to the plan by rule */
    et_finding *note;    /* or NULL */
    struct tried *tried; /* where notes are kept: the plans of the partition looked at */
    int ntried, ctried;
};

struct tried {
    unsigned mask;
    double cost;
};

/* ---- evaluating a plan ---- */

static bool lower_and_cost(struct search *s, const et_trial *t, et_cost out[ET_SAMPLES]) {
    et_lowering *lo = s->lo;
    if (!et_lower_graph(lo, &t->opt)) return false;
    if (!s->by_cost) {
        et_prices_add_up(lo->prices, lo->p, s->trips, out);
        return true;
    }
    et_tile_narrow(lo->p);
    if (!et_tile_program(lo->p, &t->opt, NULL)) return false;
    for (int i = 0; i < ET_SAMPLES; i++)
        out[i] = et_cost_at(lo->p, s->opt->machine, s->syms[i], s->trips);
    return true;
}

/* Predicted time relative to the plan by rule, averaged over the samples; huge when the plan cannot
 * be lowered. */
static double evaluate(struct search *s, et_cost out[ET_SAMPLES]) {
    et_lowering *lo = s->lo;
    et_trial trial;
    et_cost mine[ET_SAMPLES], *cost = out ? out : mine;
    size_t n = (size_t)lo->g->nvals * sizeof *lo->forced;
    bool *forced = malloc(n);
    if (!forced) return 1e30;
    memcpy(forced, lo->forced, n);
    et_trial_begin(&trial, lo->g, NULL, s->opt);
    bool ok = lower_and_cost(s, &trial, cost);
    et_trial_end(&trial);
    memcpy(lo->forced, forced, n);
    free(forced);
    s->evaluated++;
    double sum = 0;
    for (int i = 0; ok && i < ET_SAMPLES; i++)
        sum += cost[i].us / (s->reference[i] > 0 ? s->reference[i] : 1) / ET_SAMPLES;
    return ok ? sum : 1e30;
}

/* Store or fold V, and what it stands for in loops like its own. */
static void choose(struct search *s, int v, bool store) {
    for (; v; v = s->like[v])
        s->lo->choice[v] = (signed char)store;
}

/* ---- loops alike ---- */

/* Where VALUE is in the body of a loop, from 1; 0: elsewhere. */
static int place_in(const et_graph *g, const et_block *b, et_value value) {
    const et_val *v = et_val_of(g, value);
    for (int i = 0; v->kind == ET_V_NODE && i < b->n; i++)
        if (b->stmt[i].index == v->node) return i + 1;
    return 0;
}

/* The same operators, of values of the same sizes. What they say besides, as the number of a layer,
 * may differ, and how many layers' weights there are. */
static bool are_alike(const et_graph *g, const et_block *a, const et_block *b) {
    for (int i = 0; i < a->n && a->n == b->n; i++) {
        if (a->stmt[i].kind != ET_S_NODE || b->stmt[i].kind != ET_S_NODE) return false;
        const et_node *n = &g->nodes[a->stmt[i].index], *o = &g->nodes[b->stmt[i].index];
        if (n->op != o->op || n->nargs != o->nargs || !n->result.id != !o->result.id) return false;
        for (int k = 0; k < n->nargs + !!n->result.id; k++) {
            et_value x = k < n->nargs ? n->args[k] : n->result;
            et_value y = k < n->nargs ? o->args[k] : o->result;
            const et_val *v = et_val_of(g, x), *w = et_val_of(g, y);
            bool same = v->kind == w->kind && v->shape.dtype == w->shape.dtype &&
                        v->shape.rank == w->shape.rank && place_in(g, a, x) == place_in(g, b, y);
            for (int d = 0; same && v->kind == ET_V_NODE && d < v->shape.rank; d++)
                same = et_expr_eq(v->shape.dim[d], w->shape.dim[d]);
            if (!same) return false;
        }
    }
    return a->n == b->n;
}

/* Layers of two loops that are alike get one plan: those of the second follow the first. */
static void find_alike(struct search *s) {
    const et_graph *g = s->lo->g;
    for (int l = 1; l < g->nloops; l++) {
        const et_block *b = &g->loops[l].body, *a = b;
        for (int k = 0; k < l && a == b; k++)
            if (are_alike(g, &g->loops[k].body, b)) a = &g->loops[k].body;
        for (int i = 0; i < b->n && a != b; i++) {
            int v = (int)g->nodes[a->stmt[i].index].result.id;
            int w = (int)g->nodes[b->stmt[i].index].result.id;
            if (!v || !s->part[v] || !s->part[w]) continue;
            s->part[w] = 0;
            s->like[w] = s->like[v];
            s->like[v] = w;
        }
    }
}

/* ---- partitions ---- */

static int find(struct search *s, int v) {
    while (s->part[v] != v)
        v = s->part[v] = s->part[s->part[v]];
    return v;
}

static bool is_choice(const struct search *s, int v) {
    const et_val *val = &s->lo->g->vals[v];
    if (val->kind != ET_V_NODE || s->info[v].must || s->info[v].uses == 0 || s->lo->choice[v] >= 0)
        return false;
    const et_node *n = &s->lo->g->nodes[val->node];
    const et_op *op = n->op;
    /* Values of weights alone are inlined: storing them would copy weights in every launch. */
    if (s->info[v].fixed && (op->class == ET_CLASS_MAP || op->class == ET_CLASS_VIEW)) return false;
    /* Matrices that a tensor chooses are read in place: a copy never pays, and a mask behind their
     * product may leave out tiles. */
    if (op == &et_op_gather) return !s->info[v].only_contracts;
    const et_node *right = op == &et_op_contract ? et_node_of(s->lo->g, n->args[1]) : NULL;
    if (right && right->op == &et_op_gather) return false;
    return op->class == ET_CLASS_MAP || op->class == ET_CLASS_REDUCE ||
           op->class == ET_CLASS_CONTRACT;
}

/* Every choice that the expression of V may inline belongs to one partition. What a choice in it
 * inlines is united with that one in its own turn. */
static void unite_inlined(struct search *s, int v, int *first) {
    if (s->seen[v] == s->visit) return;
    s->seen[v] = s->visit;
    const et_node *n = et_node_of(s->lo->g, (et_value){(uint32_t)v});
    for (int a = 0; n && a < n->nargs; a++) {
        int arg = (int)n->args[a].id;
        if (s->lo->g->vals[arg].kind != ET_V_NODE || s->info[arg].must) continue;
        if (s->part[arg]) {
            if (*first) s->part[find(s, arg)] = find(s, *first);
            *first = arg;
        } else {
            unite_inlined(s, arg, first);
        }
    }
}

static void make_partitions(struct search *s) {
    et_graph *g = s->lo->g;
    for (int v = 1; v < g->nvals; v++)
        s->part[v] = is_choice(s, v) ? v : 0;
    find_alike(s);
    for (int v = 1; v < g->nvals; v++) {
        int first = s->part[v];
        s->visit++;
        if (g->vals[v].kind == ET_V_NODE && (s->info[v].must || s->part[v]))
            unite_inlined(s, v, &first);
    }
    for (int n = 0; n < g->nnodes; n++) { /* updates have no result */
        int first = 0;
        s->visit++;
        for (int a = 1; !g->nodes[n].result.id && a < g->nodes[n].nargs; a++) {
            int arg = (int)g->nodes[n].args[a].id;
            if (s->part[arg]) {
                if (first) s->part[find(s, arg)] = find(s, first);
                first = arg;
            }
            unite_inlined(s, arg, &first);
        }
    }
}

/* ---- a lower bound ---- */

static int model_of(const et_graph *g, const et_node *n) {
    et_value v = n->result.id || !n->nargs ? n->result : n->args[0];
    return v.id ? et_val_of(g, v)->model : 0;
}

/* Bytes that every plan reads: weights that are a side of a product, once per iteration. */
static double weight_bytes(const et_lowering *lo, const int64_t *syms, int64_t trips, int model) {
    const et_graph *g = lo->g;
    double sum = 0;
    for (int i = 0; i < g->nnodes; i++) {
        const et_node *n = &g->nodes[i];
        if (n->op != &et_op_contract || model_of(g, n) != model) continue;
        const et_val *side = &g->vals[n->args[1].id], *w = side;
        if (w->kind == ET_V_NODE && g->nodes[w->node].op == &et_op_slice)
            w = &g->vals[g->nodes[w->node].args[0].id]; /* this iteration's */
        if (w->kind != ET_V_WEIGHT) continue;
        double bytes = et_dtype_width(w->shape.dtype);
        for (int d = 0; d < side->shape.rank; d++)
            bytes *= (double)et_eval(g->exprs, et_most(lo, side->shape.dim[d]), syms, NULL);
        for (int l = 0; l < w->nloops; l++)
            bytes *= (double)(trips ? trips : g->loops[w->loops[l]].hi - g->loops[w->loops[l]].lo);
        sum += bytes;
    }
    return sum;
}

static double plan_floor(const struct search *s, int model) {
    double sum = 0;
    for (int i = 0; i < ET_SAMPLES; i++) {
        double us =
            weight_bytes(s->lo, s->syms[i], s->trips, model) / s->opt->machine->hbm_gbs * 1e-3;
        sum += us / (s->reference[i] > 0 ? s->reference[i] : 1) / ET_SAMPLES;
    }
    return sum;
}

/* ---- searching one partition ---- */

static bool spent(const struct search *s) {
    return s->evaluated >= MAX_PLANS || s->lo->asked >= MAX_ASKED ||
           (int64_t)s->evaluated * s->nodes >= MAX_NODES_LOWERED;
}

static void try_mask(struct search *s, const int *member, int n, unsigned mask, double *best,
                     unsigned *best_mask, double *second) {
    for (int i = 0; i < n; i++)
        choose(s, member[i], mask >> i & 1);
    double c = evaluate(s, NULL) + stored_value_price * __builtin_popcount(mask);
    if (s->note) {
        ET_GROW(s->lo->g->arena, s->tried, s->ntried, s->ctried);
        s->tried[s->ntried++] = (struct tried){mask, c};
    }
    if (c < *best - 1e-9) {
        *second = *best;
        *best = c;
        *best_mask = mask;
    } else if (c > *best + 1e-9 && c < *second) {
        *second = c;
    }
}

static void tell(const struct search *s, const int *member, int n, unsigned mask, bool exact,
                 double best, double second) {
    const et_pass_options *o = s->opt;
    if (!et_is_dumped(o, "fuse")) return;
    fprintf(o->dump_to, "# partition of %d:", n);
    for (int i = 0; i < n; i++)
        fprintf(o->dump_to, " %s%%%d %s", mask >> i & 1 ? "store " : "fold ", member[i],
                et_source_name(s->lo->g, (et_value){(uint32_t)member[i]}, NULL, NULL));
    fprintf(o->dump_to, "; predicted %.4f of the plan by rule", best);
    if (second < 1e29) fprintf(o->dump_to, ", best rejected %.4f", second);
    if (!exact)
        fprintf(o->dump_to, " (not exhaustive: no plan is below %.4f, a gap of %.1f %%)", s->floor,
                100 * (1 - s->floor / best));
    fputc('\n', o->dump_to);
}

/* For each value, what the other way would have cost. */
static void note_choices(struct search *s, const int *member, int n, unsigned mask, double best) {
    et_finding *f = s->note;
    for (int i = 0; f && i < n; i++) {
        et_found_choice c = {.value = member[i], .stored = mask >> i & 1};
        for (int k = 0; k < s->ntried; k++)
            if (s->tried[k].mask == (mask ^ 1u << i))
                c.known = true, c.other = s->tried[k].cost / best;
        ET_GROW(s->lo->g->arena, f->choice, f->nchoices, f->cchoices);
        f->choice[f->nchoices++] = c;
    }
}

static void search_partition(struct search *s, const int *member, int n) {
    unsigned start = 0, best_mask;
    for (int i = 0; i < n; i++)
        start |= (unsigned)s->info[member[i]].keep << i;
    bool exact = n <= EXACT_LIMIT;
    s->ntried = 0;
    double best = 1e30, second = 1e30;
    best_mask = start;
    try_mask(s, member, n, start, &best, &best_mask, &second);
    for (unsigned m = 0; exact && m < 1u << n; m++) {
        if (spent(s))
            exact = false;
        else if (m != start)
            try_mask(s, member, n, m, &best, &best_mask, &second);
    }
    for (bool better = n > EXACT_LIMIT; better && !spent(s);) { /* one value at a time */
        unsigned from = best_mask;
        for (int i = 0; i < n && !spent(s); i++)
            try_mask(s, member, n, best_mask ^ 1u << i, &best, &best_mask, &second);
        better = best_mask != from;
    }
    for (int i = 0; i < n; i++)
        choose(s, member[i], best_mask >> i & 1);
    s->best = best;
    s->cut_off |= !exact;
    tell(s, member, n, best_mask, exact, best, second);
    note_choices(s, member, n, best_mask, best);
}

static void search_all(struct search *s) {
    et_lowering *lo = s->lo;
    for (int r = 1; r < lo->g->nvals; r++) {
        int member[30], n = 0;
        if (s->part[r] != r) continue;
        s->cut_off |= spent(s); /* the rest stays as the rule has it */
        if (spent(s)) continue;
        for (int v = 1; v < lo->g->nvals && n < 30; v++)
            if (s->part[v] && find(s, v) == r) member[n++] = v;
        search_partition(s, member, n);
    }
}

/* ---- products of many rows, once more ---- */

enum { FEW_ROWS = 16, MOST_TOGETHER = 3 };
/* What another choice must gain then. */
static const double least_gain = 0.01;

static bool is_product_of_many(const struct search *s, int v) {
    const et_val *val = &s->lo->g->vals[v];
    double rows = 1;
    if (!s->part[v] || s->lo->g->nodes[val->node].op != &et_op_contract) return false;
    for (int d = 0; d < val->shape.rank - 1; d++) {
        int64_t lo, hi;
        rows *= et_bounds(s->lo->g->exprs, val->shape.dim[d], &lo, &hi) ? (double)hi : INT32_MAX;
    }
    return rows > FEW_ROWS;
}

static uint32_t rows_of(const struct search *s, int v) {
    return et_node_of(s->lo->g, (et_value){(uint32_t)v})->args[0].id;
}

/* All ways to store or fold the values V. */
static void try_ways(struct search *s, const int *v, int n, double *best) {
    unsigned start = 0, best_way;
    for (int i = 0; i < n; i++)
        start |= (unsigned)(s->lo->choice[v[i]] == 1) << i;
    best_way = start;
    for (unsigned way = 0; way < 1u << n; way++) {
        if (way == start) continue;
        for (int i = 0; i < n; i++)
            choose(s, v[i], way >> i & 1);
        double now = evaluate(s, NULL);
        if (now >= *best * (best_way == start ? 1 - least_gain : 1)) continue;
        *best = now;
        best_way = way;
    }
    for (int i = 0; i < n; i++)
        choose(s, v[i], best_way >> i & 1);
}

/* With warpgroup MMA, tiles by rule differ much from the final ones: a product that needs all
 * columns of a head, for the head's norm, has wider ones. So products of many rows are tried once
 * more with final tiles, those of the same rows together, since their tiles run side by side. */
static void try_by_cost(struct search *s) {
    char *done = et_alloc(s->lo->g->arena, (size_t)s->lo->g->nvals);
    double best = 0;
    s->by_cost = s->opt->machine->group_waves != 0;
    for (int v = 1; s->by_cost && v < s->lo->g->nvals && !spent(s); v++) {
        int of[MOST_TOGETHER], n = 0;
        if (done[v] || !is_product_of_many(s, v)) continue;
        for (int o = v; o < s->lo->g->nvals && n < MOST_TOGETHER; o++)
            if (!done[o] && is_product_of_many(s, o) && rows_of(s, o) == rows_of(s, v))
                done[o] = 1, of[n++] = o;
        if (best == 0) best = evaluate(s, NULL);
        try_ways(s, of, n, &best);
    }
    s->by_cost = false;
}

/* ---- the extremes, for comparison ---- */

/* The plan chosen, or all values stored or folded that can be. False when it cannot be lowered. */
static bool cost_of(struct search *s, int plan, et_cost out[ET_SAMPLES]) {
    et_lowering *lo = s->lo;
    size_t n = (size_t)lo->g->nvals;
    signed char *saved = malloc(n);
    if (!saved) return false;
    memcpy(saved, lo->choice, n);
    for (int v = 1; plan != ET_PLAN_CHOSEN && v < lo->g->nvals; v++)
        lo->choice[v] = -1;
    for (int v = 1; plan != ET_PLAN_CHOSEN && v < lo->g->nvals; v++)
        if (s->part[v]) choose(s, v, plan == ET_PLAN_STORED);
    double all = evaluate(s, out);
    memcpy(lo->choice, saved, n);
    free(saved);
    return all < 1e29;
}

static void tell_cost(struct search *s, const char *what, const et_cost *c) {
    static const char *const sample[ET_SAMPLES] = {"least", "middle", "largest"};
    for (int i = 0; i < ET_SAMPLES; i++)
        fprintf(s->opt->dump_to,
                "# %s, %s symbols: predicted %.2f us, %d tasks, %d waits, %.3f MB moved\n", what,
                sample[i], c[i].us, c[i].tasks, c[i].events, c[i].memory_bytes * 1e-6);
}

static void compare_extremes(struct search *s, int model) {
    static const struct {
        int plan;
        const char *name;
    } plans[] = {{ET_PLAN_STORED, "nothing folded"},
                 {ET_PLAN_FOLDED, "everything folded"},
                 {ET_PLAN_CHOSEN, "chosen"}};
    bool told = et_is_dumped(s->opt, "fuse");
    if (!told && !s->note) return;
    s->trips = 0;
    if (s->note) {
        s->note->fusion[model].plans = s->evaluated;
        s->note->fusion[model].cut_off = s->cut_off;
    }
    for (int i = 0; i < ET_PLAN_EXTREMES; i++) {
        et_cost c[ET_SAMPLES];
        bool known = cost_of(s, plans[i].plan, c);
        if (known && told) tell_cost(s, plans[i].name, c);
        if (!known || !s->note) continue;
        et_found_fusion *f = &s->note->fusion[model];
        f->known[plans[i].plan] = true;
        memcpy(f->cost[plans[i].plan], c, sizeof c);
    }
    if (told) fprintf(s->opt->dump_to, "# %d plans evaluated\n", s->evaluated);
}

static void search(et_lowering *lo, const et_pass_options *opt, int model) {
    struct search s = {
        .lo = lo, .opt = opt, .best = 1, .trips = LOOP_TRIPS, .note = et_finding_note(opt, lo->g)};
    for (int i = 0; i < lo->g->nnodes; i++)
        s.nodes += model_of(lo->g, &lo->g->nodes[i]) == model;
    size_t n = (size_t)lo->g->nvals;
    s.part = et_alloc(lo->g->arena, n * sizeof *s.part);
    s.seen = et_alloc(lo->g->arena, n * sizeof *s.seen);
    s.like = et_alloc(lo->g->arena, n * sizeof *s.like);
    et_sample_symbols(lo->g->exprs, s.syms);
    lo->prices = et_prices_create(opt->machine, s.syms);
    et_cost rule[ET_SAMPLES];
    if (evaluate(&s, rule) > 1e29) return;
    for (int i = 0; i < ET_SAMPLES; i++)
        s.reference[i] = rule[i].us;
    s.floor = plan_floor(&s, model);
    et_value_info *info = et_alloc(lo->g->arena, n * sizeof *info);
    et_plan_materialise(lo);
    s.info = memcpy(info, lo->info, n * sizeof *info);
    make_partitions(&s);
    for (size_t v = 1; v < n; v++)
        if (s.part[v]) choose(&s, (int)v, info[v].keep);
    search_all(&s);
    try_by_cost(&s);
    compare_extremes(&s, model);
}

/* The graph with MODEL alone. */
static void search_model(et_lowering *lo, const et_pass_options *opt, int model) {
    search(lo, opt, model);
    et_prices_free(lo->prices);
    lo->prices = NULL;
}

/* Without a table of angles, what rope() needs of a position is computed where it is read. */
void et_leave_out_choices(et_lowering *lo, const et_pass_options *opt) {
    for (int n = 0; n < lo->g->nnodes && et_is_without(opt->without, ET_FEATURE_ANGLES); n++)
        if (lo->g->nodes[n].op == &et_op_rope_table) lo->choice[lo->g->nodes[n].result.id] = 0;
}

/* One model at a time: each gets the choices that are best for it alone. */
void et_search_fusion(et_lowering *lo, const et_pass_options *opt) {
    et_graph *g = lo->g;
    const et_block body = g->body;
    et_value *const outputs = g->outputs;
    const int noutputs = g->noutputs;
    if (!g->nmodels) {
        search_model(lo, opt, 0);
        return;
    }
    et_block own = {.stmt = et_alloc(g->arena, (size_t)(body.n + 1) * sizeof *own.stmt),
                    .cap = body.n};
    et_value *own_outputs = et_alloc(g->arena, (size_t)(noutputs + 1) * sizeof *own_outputs);
    for (int m = 0; m < g->nmodels; m++) {
        own.n = g->noutputs = 0;
        for (int i = 0; i < body.n; i++) {
            et_stmt st = body.stmt[i];
            int of =
                st.kind == ET_S_LOOP ? g->loops[st.index].model : model_of(g, &g->nodes[st.index]);
            if (of == m) own.stmt[own.n++] = st;
        }
        for (int i = 0; i < noutputs; i++)
            if (et_val_of(g, outputs[i])->model == m) own_outputs[g->noutputs++] = outputs[i];
        g->body = own;
        g->outputs = own_outputs;
        lo->asked = 0;
        search_model(lo, opt, m);
        g->body = body;
        g->outputs = outputs;
        g->noutputs = noutputs;
    }
}
