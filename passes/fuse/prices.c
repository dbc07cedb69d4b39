/* Prices of groups, by what they compute. Two groups are the same where their expressions are, with
 * variables and temporaries numbered in the order in which they occur, since names and numbers
 * depend on the rest of the plan. Groups are compared by a hash, so that two different ones are
 * taken for the same once in 2^64: a plan would have a wrong price, no more. */
#include "ir/base/diag.h"
#include "passes/fuse/lowering.h"
#include "passes/tile/tiler.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_TENSORS = 32, MOST_VARS = 64 };

struct price {
    uint64_t key; /* 0: nothing is here */
    et_grid_cost cost[ET_SAMPLES];
    uint32_t reads, writes; /* of the tensors that the group has, in the order of the key */
};

/* Numbers in the key of a group. */
struct names {
    int tensor[MOST_TENSORS], ntensors;
    int var[MOST_VARS], nvars;
    bool too_many;
};

struct priced_group {
    uint64_t key;
    struct names names;
};

struct et_prices {
    et_machine m;
    et_product_options plans; /* the machine's, by which prices depend on a group alone */
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    struct price *price; /* open addressing, power of two */
    int nprice, cprice;
    unsigned asked;             /* for prices that are known */
    struct priced_group *group; /* of the plan looked at */
    int cgroup;
    /* of the group looked at, by node */
    uint64_t *hash;
    uint32_t *stamp, now;
    int cnode;
};

static void *grown(void *v, size_t from, size_t to) {
    v = realloc(v, to);
    if (!v) et_no_memory();
    memset((char *)v + from, 0, to - from);
    return v;
}

et_prices *et_prices_create(const et_machine *m, int64_t syms[ET_SAMPLES][ET_MAX_SYMS]) {
    et_prices *s = grown(NULL, 0, sizeof *s);
    s->m = *m;
    if (m->plans) s->plans = *m->plans;
    s->plans.alone = true;
    if (m->plans) s->m.plans = &s->plans;
    memcpy(s->syms, syms, sizeof s->syms);
    s->cprice = 256;
    s->price = grown(NULL, 0, (size_t)s->cprice * sizeof *s->price);
    return s;
}

void et_prices_free(et_prices *s) {
    free(s->price);
    free(s->group);
    free(s->hash);
    free(s->stamp);
    free(s);
}

/* ---- keys ---- */

struct keys {
    et_prices *s;
    const et_program *p;
    struct names *names;
};

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9E3779B97F4A7C15u;
    return h ^ (h >> 31);
}

static uint64_t key_of(struct keys *k, et_expr e);

static int number_of(int *v, int *n, int most, int id, bool *too_many) {
    for (int i = 0; i < *n; i++)
        if (v[i] == id) return i;
    if (*n == most) {
        *too_many = true;
        return most;
    }
    v[*n] = id;
    return (*n)++;
}

static uint64_t key_of_var(struct keys *k, int var) {
    struct names *s = k->names;
    const et_graph *g = k->p->g;
    for (int l = 0; l < g->nloops; l++)
        if (g->loops[l].var == var) return mix(MOST_VARS, (uint64_t)l + 1);
    int before = s->nvars, i = number_of(s->var, &s->nvars, MOST_VARS, var, &s->too_many);
    return s->nvars == before ? (uint64_t)i
                              : mix((uint64_t)i, key_of(k, et_var_extent(g->exprs, var)));
}

static uint64_t key_of_tensor(struct keys *k, int tensor) {
    struct names *s = k->names;
    const et_tensor *t = &k->p->tensors[tensor];
    int before = s->ntensors;
    uint64_t h = (uint64_t)number_of(s->tensor, &s->ntensors, MOST_TENSORS, tensor, &s->too_many);
    if (s->ntensors == before) return h;
    bool made = t->kind == ET_TENSOR_TEMP || t->kind == ET_TENSOR_OUTPUT;
    h = mix(h, t->kind);
    h = mix(h, made ? 0 : t->value.id);
    h = mix(h, t->shape.dtype);
    for (int d = 0; d < t->shape.rank; d++)
        h = mix(h, key_of(k, t->shape.dim[d]));
    return h;
}

static uint64_t key_of_node(struct keys *k, const et_node_x *n) {
    uint64_t bits, h = mix(n->op, n->type);
    memcpy(&bits, &n->f, sizeof bits);
    bool tensor = n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR;
    h = mix(h, tensor              ? key_of_tensor(k, n->i)
               : n->op == ET_X_VAR ? key_of_var(k, n->i)
                                   : (uint64_t)(uint32_t)n->i);
    h = mix(h, n->op == ET_X_REDUCE ? key_of_var(k, n->i2) : (uint64_t)(uint32_t)n->i2);
    h = mix(mix(h, (uint64_t)n->n), bits);
    for (int i = 0; i < n->nops; i++)
        h = mix(h, key_of(k, n->ops[i]));
    return h;
}

static uint64_t key_of(struct keys *k, et_expr e) {
    et_prices *s = k->s;
    if (!e.id) return 0;
    if ((int)e.id >= s->cnode) {
        size_t from = (size_t)s->cnode, to = 2 * ((size_t)e.id + 512);
        s->hash = grown(s->hash, from * sizeof *s->hash, to * sizeof *s->hash);
        s->stamp = grown(s->stamp, from * sizeof *s->stamp, to * sizeof *s->stamp);
        s->cnode = (int)to;
    }
    if (s->stamp[e.id] == s->now) return s->hash[e.id];
    const et_node_x n = *et_x(k->p->g->exprs, e);
    uint64_t h = key_of_node(k, &n);
    s->stamp[e.id] = s->now;
    return s->hash[e.id] = h;
}

static uint64_t key_of_product(struct keys *k, const et_product *p) {
    uint64_t h = mix((uint64_t)p->nbatch, p->operand);
    for (int b = 0; b < p->nbatch; b++)
        h = mix(h, key_of_var(k, p->batch[b]));
    h = mix(h, key_of_var(k, p->m));
    h = mix(h, key_of_var(k, p->n));
    h = mix(h, key_of_var(k, p->k));
    return mix(mix(h, key_of(k, p->a)), key_of(k, p->b));
}

/* Hints, and how many CUs the tiler lets the group have. */
static uint64_t key_of_hints(const et_prices *s, const et_program *p, const et_group *gr) {
    const int hint[] = {gr->range.from,
                        gr->range.to,
                        (int)gr->hint,
                        gr->loop,
                        gr->slice.count,
                        gr->slice.coord,
                        gr->parts,
                        gr->heads,
                        gr->shared,
                        (int)gr->kind,
                        gr->nproduct ? 0 : et_tile_own_cus(p, gr, s->m.cus)};
    uint64_t h = (uint64_t)gr->rank;
    for (size_t i = 0; i < sizeof hint / sizeof *hint; i++)
        h = mix(h, (uint32_t)hint[i]);
    for (int d = 0; d < gr->rank; d++)
        h = mix(h, (uint32_t)gr->tile[d]);
    return h;
}

/* 0 where the group has more than can be counted. */
static uint64_t key_of_group(et_prices *s, const et_program *p, const et_group *gr,
                             struct names *names) {
    struct keys k = {s, p, names};
    names->ntensors = names->nvars = 0;
    names->too_many = false;
    s->now++;
    uint64_t h = key_of_hints(s, p, gr);
    for (int d = 0; d < gr->rank; d++)
        h = mix(h, key_of_var(&k, gr->axis[d]));
    if (gr->to.space == ET_LOAD_TENSOR) h = mix(h, key_of_tensor(&k, gr->to.id));
    if (gr->kind == ET_GROUP_ATTEND)
        h = mix(mix(h, key_of_var(&k, gr->gvar)), key_of_var(&k, gr->pvar));
    for (int i = 0; i < gr->nproduct; i++)
        h = mix(h, key_of_product(&k, &gr->product[i]));
    h = mix(mix(h, key_of(&k, gr->mask)), key_of(&k, gr->value));
    for (int d = 0; d < gr->to.rank; d++)
        h = mix(h, key_of(&k, gr->to.index[d]));
    for (int i = 0; i < ET_AT_PARTS; i++)
        h = mix(h, key_of(&k, gr->part[i]));
    if (gr->kind != ET_GROUP_SCAN) return names->too_many ? 0 : h | 1;
    h = mix(mix(h, key_of_var(&k, gr->pvar)), key_of_tensor(&k, gr->state.id));
    for (int i = 0; i < ET_SC_PARTS; i++)
        h = mix(h, key_of(&k, gr->scan[i]));
    for (int d = 0; d < gr->state.rank; d++)
        h = mix(h, key_of(&k, gr->state.index[d]));
    return names->too_many ? 0 : h | 1;
}

/* ---- prices ---- */

static struct price *place_of(const et_prices *s, uint64_t key) {
    size_t at = (size_t)(key >> 1) & ((size_t)s->cprice - 1);
    while (s->price[at].key && s->price[at].key != key)
        at = (at + 1) & ((size_t)s->cprice - 1);
    return &s->price[at];
}

static void enter(et_prices *s, const struct price *v) {
    if (2 * ++s->nprice > s->cprice) {
        struct price *old = s->price;
        int n = s->cprice;
        s->cprice *= 2;
        s->price = grown(NULL, 0, (size_t)s->cprice * sizeof *s->price);
        for (int i = 0; i < n; i++)
            if (old[i].key) *place_of(s, old[i].key) = old[i];
        free(old);
    }
    *place_of(s, v->key) = *v;
}

/* In builds that check themselves some of the groups that are known are priced again. */
static bool is_checked(et_prices *s) {
#ifndef NDEBUG
    enum { ONE_IN = 8 };
    return ++s->asked % ONE_IN == 0;
#else
    return (void)s, false;
#endif
}

static void compare(const struct price *a, const struct price *b) {
#ifndef NDEBUG
    et_check(a->reads == b->reads && a->writes == b->writes);
    for (int i = 0; i < ET_SAMPLES; i++)
        et_check(a->cost[i].us == b->cost[i].us && a->cost[i].tiles == b->cost[i].tiles &&
                 a->cost[i].memory_bytes == b->cost[i].memory_bytes);
#else
    (void)a, (void)b;
#endif
}

bool et_price_is_known(et_prices *s, et_program *p, int group) {
    if (group >= s->cgroup) {
        size_t each = sizeof *s->group, from = (size_t)s->cgroup, to = 2 * ((size_t)group + 8);
        s->group = grown(s->group, from * each, to * each);
        s->cgroup = (int)to;
    }
    struct priced_group *gr = &s->group[group];
    gr->key = key_of_group(s, p, &p->groups[group], &gr->names);
    return gr->key && place_of(s, gr->key)->key && !is_checked(s);
}

static void take_uses(et_program *p, const struct names *names, const struct price *v,
                      et_task_cost *out) {
    for (int t = 0; t < names->ntensors; t++)
        for (int store = 0; store < 2; store++) {
            if (!((store ? v->writes : v->reads) >> t & 1)) continue;
            ET_GROW(p->g->arena, out->use, out->nuses, out->cuses);
            out->use[out->nuses++] = (et_use){names->tensor[t], store};
        }
}

/* False where the tensors that a group uses do not follow from its names. */
static bool note_uses(const struct names *names, const et_task_cost *t, struct price *v) {
    for (int i = 0; i < t->nuses; i++) {
        int at = 0;
        while (at < names->ntensors && names->tensor[at] != t->use[i].tensor)
            at++;
        if (at == names->ntensors) return false;
        *(t->use[i].is_store ? &v->writes : &v->reads) |= (uint32_t)1 << at;
    }
    return true;
}

static void learn(et_prices *s, const struct price *v) {
    const struct price *was = place_of(s, v->key);
    if (was->key)
        compare(was, v);
    else
        enter(s, v);
}

/* The costs of a group at all samples, and its uses in the first. */
static void price_group(et_prices *s, et_program *p, int group, et_task_cost *const *out) {
    struct priced_group *gr = &s->group[group];
    const et_grid *grid = &p->grids[group];
    struct price v = {.key = gr->key};
    if (grid->func < 0) {
        v = *place_of(s, gr->key);
        take_uses(p, &gr->names, &v, &out[0][group]);
    } else {
        et_grid_costs(p, grid, &s->m, s->syms, v.cost);
        et_task_uses(p, grid, &out[0][group]);
        if (gr->key && note_uses(&gr->names, &out[0][group], &v)) learn(s, &v);
    }
    out[0][group].one = true;
    for (int i = 0; i < ET_SAMPLES; i++)
        out[0][group].one &= v.cost[i].tiles <= 1;
    for (int i = 0; i < ET_SAMPLES; i++) {
        out[i][group] = out[0][group];
        out[i][group].cost = v.cost[i];
    }
}

void et_prices_add_up(et_prices *s, et_program *p, int64_t trips, et_cost out[ET_SAMPLES]) {
    et_task_cost *task[ET_SAMPLES];
    for (int i = 0; i < ET_SAMPLES; i++)
        task[i] = et_alloc(p->g->arena, (size_t)(p->ngrids + 1) * sizeof *task[i]);
    for (int g = 0; g < p->ngrids; g++)
        price_group(s, p, g, task);
    for (int i = 0; i < ET_SAMPLES; i++)
        out[i] = et_cost_of(p, task[i], &s->m, s->syms[i], trips);
}
