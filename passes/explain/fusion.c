/* Which values have a tensor of their own, which are computed where they are read, and what the
 * other way would have cost. */
#include "ir/graph/ops.h"
#include "passes/explain/int.h"
#include "passes/pipeline/names.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_CHOICES = 12, MOST_FOLDED = 256 };

struct fusion {
    struct explain *e;
    const et_graph *g;
    int *tensor; /* by value: 1 + the tensor that holds it, or 0 */
    const char *folded[MOST_FOLDED];
    int times[MOST_FOLDED];
    int nfolded;
    char *seen;
};

static void add_name(struct fusion *f, const char *name) {
    for (int i = 0; i < f->nfolded; i++)
        if (strcmp(f->folded[i], name) == 0) {
            f->times[i]++;
            return;
        }
    if (f->nfolded == MOST_FOLDED) return;
    f->times[f->nfolded] = 1;
    f->folded[f->nfolded++] = name;
}

/* The nodes that V's reader computes for itself. */
static void fold(struct fusion *f, et_value v) {
    const et_node *n = et_node_of(f->g, v);
    if (!n || f->tensor[v.id] || f->seen[v.id]) return;
    f->seen[v.id] = 1;
    for (int i = 0; i < n->nargs; i++)
        fold(f, n->args[i]);
    if (n->op->class == ET_CLASS_VIEW) return; /* nothing is computed */
    const char *op = n->op->name, *name = et_val_of(f->g, v)->name;
    add_name(f, name ? et_printf(f->e->arena, "%s (%s)", name, op) : op);
}

/* The value that a group of loop LOOP stores for V: of a loop-carried value the initial one outside
 * of the loop, and the result of an iteration inside. */
static et_value stored(const struct fusion *f, int loop, et_value v) {
    const et_val *val = et_val_of(f->g, v);
    for (int n = 2 * f->g->nloops; n > 0 && v.id; n--, val = et_val_of(f->g, v)) {
        if (val->kind != ET_V_CARRY && val->kind != ET_V_LOOP) break;
        const et_loop *l = &f->g->loops[val->node];
        int inside = loop, k = 0;
        while (inside >= 0 && inside != val->node)
            inside = f->g->loops[inside].parent;
        while (k < l->ncarry && l->carry[k].in.id != v.id && l->carry[k].result.id != v.id)
            k++;
        if (k == l->ncarry) break;
        v = inside >= 0 ? l->carry[k].out : l->carry[k].init;
    }
    return v;
}

/* The node that the group is for: of a tensor computed, or the update of a state that is its
 * Nth. */
static const et_node *node_of(const struct fusion *f, const et_group *gr, int nth) {
    const et_tensor *t = &f->e->p->tensors[gr->to.id];
    if (t->kind != ET_TENSOR_STATE)
        return t->value.id ? et_node_of(f->g, stored(f, gr->loop, t->value)) : NULL;
    for (int i = 0; i < f->g->nnodes; i++) {
        const et_node *n = &f->g->nodes[i];
        bool same = n->op->class == ET_CLASS_UPDATE && n->args[0].id == t->value.id;
        if (same && nth-- == 0) return n;
    }
    return NULL;
}

static void put_group(struct fusion *f, const et_group *gr) {
    FILE *to = f->e->to;
    int nth = 0;
    for (const et_group *o = f->e->p->groups; o < gr; o++)
        nth += o->to.id == gr->to.id;
    const et_node *n = node_of(f, gr, nth);
    if (!n) {
        bool value = f->e->p->tensors[gr->to.id].value.id != 0;
        fprintf(to, "  %-16s%s %s\n", gr->name, explain_line(f->e, gr->loc),
                value ? "copies what a loop starts from"
                      : "holds no value of the model: what a slice adds to one, or the sum");
        return;
    }
    f->nfolded = 0;
    memset(f->seen, 0, (size_t)f->g->nvals);
    for (int i = 0; i < n->nargs; i++)
        fold(f, n->args[i]);
    fprintf(to, "  %-16s%s %s", gr->name, explain_line(f->e, gr->loc), n->op->name);
    for (int i = 0; i < f->nfolded; i++) {
        fprintf(to, "%s %s", i ? "," : "; computes", f->folded[i]);
        if (f->times[i] > 1) fprintf(to, " x %d", f->times[i]);
    }
    fputs(f->nfolded ? " on the way\n" : "\n", to);
}

static void put_groups(struct fusion *f) {
    const et_program *p = f->e->p;
    bool known = false;
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].value.id) f->tensor[p->tensors[i].value.id] = 1 + i, known = true;
    if (!known || !p->ngroups || p->ngroups != (p->ngrids ? p->ngrids : p->ngroups)) {
        fprintf(f->e->to, "  as the text that was compiled has them: it is an .etg whose tasks are "
                          "chosen\n");
        return;
    }
    for (int i = 0; i < p->ngroups; i++)
        put_group(f, &p->groups[i]);
}

/* ---- the alternatives ---- */

static void put_plans(const struct fusion *f, int model) {
    const struct explain *e = f->e;
    const et_found_fusion *fu = &e->found->fusion[model];
    static const char *const words[ET_PLAN_EXTREMES] = {
        [ET_PLAN_CHOSEN] = "as chosen",
        [ET_PLAN_STORED] = "with a tensor for everything",
        [ET_PLAN_FOLDED] = "with everything folded that can be"};
    if (!fu->known[ET_PLAN_CHOSEN]) return;
    fprintf(e->to,
            "  Predicted without overlap, dims in the middle%s%s:", f->g->nmodels ? ", " : "",
            f->g->nmodels ? f->g->model[model].name : "");
    for (int i = 0; i < ET_PLAN_EXTREMES; i++) {
        const et_cost *c = &fu->cost[i][1];
        if (!fu->known[i]) continue;
        fprintf(e->to, "%s %s %s (%d tasks, %d waits, %s moved)", i ? ";" : "",
                explain_us(e, c->us), words[i], c->tasks, c->events,
                explain_bytes(e, c->memory_bytes));
    }
    fprintf(e->to, ".\n  %d plans compared%s.\n", fu->plans,
            fu->cut_off ? ", not all there are: what was not reached is as rules have it" : "");
}

static int by_weight(const void *a, const void *b) {
    const et_found_choice *x = a, *y = b;
    double u = x->known ? x->other : 0, v = y->known ? y->other : 0;
    if (u != v) return u < v ? 1 : -1;
    return x->value - y->value;
}

static void put_choice(const struct fusion *f, const et_found_choice *c) {
    const et_val *v = &f->g->vals[c->value];
    FILE *to = f->e->to;
    const char *name = et_source_name(f->g, (et_value){(uint32_t)c->value}, NULL, NULL);
    fprintf(to, "  %s%s %s; ", name, explain_line(f->e, v->loc),
            c->stored ? "has a tensor" : "is computed where it is read");
    const char *other = c->stored ? "computed where it is read" : "with a tensor of its own";
    if (!c->known)
        fprintf(to, "%s: not looked at\n", other);
    else if (c->other > 1e20)
        fprintf(to, "%s: cannot be made\n", other);
    else
        fprintf(to, "%s: %+.1f %% predicted\n", other, 100 * (c->other - 1));
}

static void put_choices(const struct fusion *f) {
    const et_finding *found = f->e->found;
    int n = found->nchoices;
    if (!n) return;
    et_found_choice *c = et_alloc(f->e->arena, (size_t)n * sizeof *c);
    memcpy(c, found->choice, (size_t)n * sizeof *c);
    qsort(c, (size_t)n, sizeof *c, by_weight);
    int said = 0;
    fprintf(f->e->to, "  What was chosen by cost, and the launch the other way:\n");
    while (said < n && said < MOST_CHOICES && !(c[said].known && c[said].other < 1.0005))
        put_choice(f, &c[said++]);
    if (said < n)
        fprintf(f->e->to, "  %s %d%s that matter%s less\n", said ? "and" : "all", n - said,
                said ? " more" : "", n - said == 1 ? "s" : "");
}

void explain_fusion(struct explain *e) {
    const et_graph *g = e->p->g;
    struct fusion f = {.e = e,
                       .g = g,
                       .tensor = et_alloc(e->arena, (size_t)g->nvals * sizeof(int)),
                       .seen = et_alloc(e->arena, (size_t)g->nvals)};
    fprintf(e->to,
            "\nFUSION: the tasks, and what each computes on the way instead of reading it\n");
    put_groups(&f);
    if (!e->found) return;
    for (int m = 0; m < (g->nmodels ? g->nmodels : 1); m++)
        put_plans(&f, m);
    put_choices(&f);
    if (e->found->nchoices)
        fprintf(e->to, "  Any hint before a value in the .etg, as @tile(0, 0), gives it a tensor "
                       "of its own.\n");
}
