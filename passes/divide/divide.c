/* How a graph is divided among devices.
 *
 * Products by weights are cut by columns, what is computed of their results is cut as they are, and
 * where a cut value is summed over in a product, the rows of that weight are: the result is partial
 * over devices, and exchanged before anything reads it. That is Megatron's plan for a decoder:
 * queries, keys and values with their heads and caches, gate and up by columns; the projections
 * behind them by rows; the head by rows of the vocabulary.
 *
 * All of it is tried. Where an operator cannot follow, the weights and states that its arguments
 * are cut with are left whole, and the graph is looked at again from the beginning: each time one
 * more is whole, so this ends. */
#include "ir/base/diag.h"
#include "passes/divide/int.h"
#include <string.h>

struct divide {
    et_graph *g;
    int devices;
    /* By value: how it is cut; how many need all of it; each device has a part of the sum that it
     * is; and the weights and states it is cut with, a set. */
    struct div_cut *cut;
    int *needed;
    bool *partial;
    uint64_t **with;
    int words;
    /* By value, of weights and states: as many devices at least have the same part; all: whole. */
    int *least;
    struct div_cut (*arg)[ET_MAX_ARGS]; /* by node: how it reads a weight cut */
    bool again;
    /* By value: shall all devices have all of it where it is cut; it was cut by what it is computed
     * of, and not for a reader; and how each has a part of what then is not cut. */
    bool *gather, *direct;
    struct div_cut *gathered;
    const et_machine *m;
    et_gather how;
    const et_divided *decided; /* what is obeyed instead; or NULL */
};

static et_val *val(const struct divide *v, et_value x) {
    return et_val_of(v->g, x);
}

static void add_all(struct divide *v, et_value to, et_value from) {
    for (int w = 0; w < v->words; w++)
        v->with[to.id][w] |= v->with[from.id][w];
}

/* ---- what cannot be cut ---- */

/* The next number of devices after N that may share a part. */
static int next_repeat(const struct divide *v, int n) {
    do
        n++;
    while (v->devices % n);
    return n;
}

/* Those with a bit in WITH are in fewer parts, and whole where those are none. */
static void leave_whole(struct divide *v, const uint64_t *with) {
    for (int i = 1; i < v->g->nvals; i++) {
        if (!(with[i / 64] >> (i % 64) & 1) || v->least[i] == v->devices) continue;
        v->least[i] = next_repeat(v, v->least[i]);
        v->again = true;
    }
}

static bool is_cut(const struct divide *v, et_value x) {
    return v->cut[x.id].axis != WHOLE;
}

static bool same_cut(struct div_cut a, struct div_cut b) {
    return a.axis == b.axis && a.repeat == b.repeat;
}

/* ---- what each device gets of the others ---- */

const char *et_gather_name(int i) {
    static const char *const names[] = {"auto", "never", "always"};
    return i >= 0 && i <= ET_GATHER_ALWAYS ? names[i] : NULL;
}

/* Bytes that an iteration of the loops around reads of the weights in WITH. */
static double bytes_of(const struct divide *v, const uint64_t *with) {
    double all = 0;
    for (int i = 1; i < v->g->nvals; i++) {
        const et_val *w = &v->g->vals[i];
        if (!(with[i / 64] >> (i % 64) & 1) || w->kind != ET_V_WEIGHT) continue;
        double bytes = (double)et_shape_max_bytes(v->g->exprs, &w->shape);
        int64_t n;
        for (int d = 0; d < w->nloops; d++)
            if (et_is_int(v->g->exprs, w->shape.dim[d], &n) && n > 0) bytes /= (double)n;
        all += bytes;
    }
    return all;
}

/* Bytes of what is gathered, with the fewest rows: with more, the link and the product take longer
 * alike. */
static double least_bytes(const struct divide *v, const et_shape *s) {
    double bytes = 4; /* a word, f32 */
    for (int d = 0; d < s->rank; d++) {
        int64_t lo, hi;
        bytes *= et_bounds(v->g->exprs, s->dim[d], &lo, &hi) && lo > 0 ? (double)lo : 1;
    }
    return bytes;
}

/* A device that has its part of BYTES from each other one, in three steps in place of one, reads
 * less of its weights. */
static bool pays(const struct divide *v, double bytes, const uint64_t *with) {
    const et_machine *m = v->m;
    double others = 1 - 1.0 / v->devices;
    double events = 2 * m->event_us + m->release_us + m->acquire_us + m->system_us;
    return bytes_of(v, with) * others / m->hbm_gbs > events * 1e3 + bytes * others / m->link_gbs;
}

/* Can all of argument X be had by all devices: of a state by leaving it whole and what is stored to
 * it cut, which is looked at then. */
static bool can_gather(const struct divide *v, const et_node *n, et_value x) {
    const et_val *a = val(v, x);
    if (a->kind == ET_V_STATE)
        return n->op->class == ET_CLASS_VIEW || n->op->class == ET_CLASS_UPDATE;
    return a->kind == ET_V_NODE && v->direct[x.id] && v->cut[x.id].repeat == 1 &&
           et_dtype_is_float(a->shape.dtype) && a->shape.rank < ET_MAX_RANK - a->nloops - 1;
}

/* N needs all of its arguments, which are cut with the weights in WITH: all devices have them from
 * each other, if that pays. */
static bool gather(struct divide *v, const et_node *n, const uint64_t *with) {
    double bytes = 0;
    bool can = !v->decided && v->how != ET_GATHER_NEVER, any = false;
    for (int a = 0; a < n->nargs; a++) {
        if (!is_cut(v, n->args[a])) continue;
        any = true;
        can &= can_gather(v, n, n->args[a]);
        if (val(v, n->args[a])->kind != ET_V_STATE)
            bytes += least_bytes(v, &val(v, n->args[a])->shape);
    }
    if (!can || !any) return false;
    if (v->how == ET_GATHER_AUTO && !pays(v, bytes, with)) return false;
    for (int a = 0; a < n->nargs; a++) {
        int x = (int)n->args[a].id;
        if (!is_cut(v, n->args[a])) continue;
        v->gather[x] = true;
        if (v->g->vals[x].kind == ET_V_STATE) v->least[x] = v->devices;
    }
    return v->again = true;
}

/* All that N's arguments which are cut and its result are cut with is so in vain, or N has all of
 * these. */
static void give_up(struct divide *v, const et_node *n) {
    uint64_t *with = et_alloc(v->g->arena, (size_t)v->words * sizeof *with);
    for (int a = 0; a < n->nargs; a++)
        for (int w = 0; is_cut(v, n->args[a]) && w < v->words; w++)
            with[w] |= v->with[n->args[a].id][w];
    for (int w = 0; n->result.id && w < v->words; w++)
        with[w] |= v->with[n->result.id][w];
    if (!gather(v, n, with)) leave_whole(v, with);
}

/* The node's result is cut: for all who read it, or until every device has all of it. */
static void settle(struct divide *v, const et_node *n) {
    et_value x = n->result;
    if (!x.id || !is_cut(v, x)) return;
    v->direct[x.id] = true;
    if (!v->gather[x.id] || v->cut[x.id].repeat > 1) return;
    v->gathered[x.id] = v->cut[x.id];
    v->cut[x.id] = (struct div_cut){WHOLE, 1};
}

/* ---- cutting what is made of weights ---- */

static bool want_all(struct divide *v, int node, struct div_cut, uint64_t *with);

/* What the node reads and does not have cut, it needs, or does not need any more. */
static void need(struct divide *v, int node, int times) {
    const et_node *n = &v->g->nodes[node];
    for (int a = 0; a < n->nargs; a++)
        if (v->arg[node][a].axis == WHOLE && !is_cut(v, n->args[a]))
            v->needed[n->args[a].id] += times;
}

/* Argument A of the node, a weight, is cut so: others may read all of it, they get it whole. */
static bool want_weight(struct divide *v, int node, int a, struct div_cut cut, uint64_t *with) {
    et_value x = v->g->nodes[node].args[a];
    const et_split *asked = &val(v, x)->split;
    if (v->least[x.id] > cut.repeat || cut.axis < val(v, x)->nloops) return false;
    if (asked->parts && (cut.axis != asked->axis || cut.repeat != v->devices / asked->parts))
        return false;
    v->arg[node][a] = cut;
    with[x.id / 64] |= UINT64_C(1) << (x.id % 64);
    return true;
}

/* Argument A of the node is cut so, or made so: a weight, or what comes of weights alone. WITH gets
 * what it is cut with, also where that fails: it is then cut in vain. */
static bool want(struct divide *v, int node, int a, struct div_cut cut, uint64_t *with) {
    et_value x = v->g->nodes[node].args[a];
    if (v->partial[x.id] || v->gather[x.id] ||
        !div_has_parts(v->g, &val(v, x)->shape, cut.axis, v->devices / cut.repeat))
        return false;
    if (is_cut(v, x)) {
        for (int w = 0; w < v->words; w++)
            with[w] |= v->with[x.id][w];
        return same_cut(v->cut[x.id], cut);
    }
    if (val(v, x)->kind == ET_V_WEIGHT) return want_weight(v, node, a, cut, with);
    if (val(v, x)->kind == ET_V_STATE) {
        if (v->least[x.id] > cut.repeat || v->needed[x.id]) return false;
        v->cut[x.id] = cut;
        v->with[x.id][x.id / 64] |= UINT64_C(1) << (x.id % 64);
        with[x.id / 64] |= UINT64_C(1) << (x.id % 64);
        return true;
    }
    if (val(v, x)->kind != ET_V_NODE || v->needed[x.id] || val(v, x)->is_output) return false;
    int own = val(v, x)->node;
    need(v, own, -1);
    bool ok = want_all(v, own, cut, v->with[x.id]);
    if (ok) v->cut[x.id] = cut;
    need(v, own, 1);
    for (int w = 0; w < v->words; w++)
        with[w] |= v->with[x.id][w];
    return ok;
}

/* The node takes a piece of a weight, of which each device gets its part: rows of q, k and v in one
 * tensor. */
static bool want_piece(struct divide *v, int node, struct div_cut cut, uint64_t *with) {
    const et_node *n = &v->g->nodes[node];
    int64_t first;
    int axis;
    return div_is_piece(v->g, n, cut.axis, &axis, &first) &&
           val(v, n->args[0])->kind == ET_V_WEIGHT &&
           want_weight(v, node, 0, (struct div_cut){axis, cut.repeat}, with);
}

/* The node's result is cut so: its arguments are as that takes. */
static bool want_all(struct divide *v, int node, struct div_cut cut, uint64_t *with) {
    const et_node *n = &v->g->nodes[node];
    int axes[ET_MAX_ARGS], repeat[ET_MAX_ARGS];
    int parts = v->devices / cut.repeat;
    bool any = div_follows(v->g, n, cut.axis, parts) == parts;
    if (!div_axes(v->g, n, cut.axis, parts, axes, repeat)) return want_piece(v, node, cut, with);
    for (int a = 0; a < n->nargs; a++) {
        struct div_cut own = {axes[a], cut.repeat * repeat[a]};
        if (own.axis == WHOLE && is_cut(v, n->args[a])) return false;
        if (own.axis != WHOLE && !want(v, node, a, own, with)) return false;
        any |= own.axis != WHOLE;
    }
    return any;
}

/* ---- a node ---- */

/* The first argument that is cut; -1: none. */
static int first_cut(const struct divide *v, const et_node *n) {
    for (int a = 0; a < n->nargs; a++)
        if (is_cut(v, n->args[a])) return a;
    return -1;
}

/* How N's result is cut where argument A is as it is; WHOLE: it is not. */
static struct div_cut cut_by(const struct divide *v, const et_node *n, int a) {
    const et_shape *s = &val(v, n->result)->shape;
    struct div_cut own = v->cut[n->args[a].id];
    int axes[ET_MAX_ARGS], repeat[ET_MAX_ARGS];
    for (int r = 1; r <= own.repeat; r++)
        for (int axis = 0; own.repeat % r == 0 && axis < s->rank; axis++)
            if (div_has_parts(v->g, s, axis, v->devices / r) &&
                div_axes(v->g, n, axis, v->devices / r, axes, repeat) && axes[a] == own.axis &&
                r * repeat[a] == own.repeat)
                return (struct div_cut){axis, r};
    return (struct div_cut){WHOLE, 1};
}

/* Arguments that are cut otherwise than a result cut so takes are so in vain: the first one's cut
 * is the one to keep. False: there are none. */
static bool give_up_misfits(struct divide *v, const et_node *n, struct div_cut cut) {
    int axes[ET_MAX_ARGS], repeat[ET_MAX_ARGS];
    uint64_t *with = et_alloc(v->g->arena, (size_t)v->words * sizeof *with);
    bool any = false;
    if (!div_axes(v->g, n, cut.axis, v->devices / cut.repeat, axes, repeat)) return false;
    for (int a = 0; a < n->nargs; a++) {
        struct div_cut own = {axes[a], cut.repeat * repeat[a]};
        if (!is_cut(v, n->args[a]) || same_cut(v->cut[n->args[a].id], own)) continue;
        for (int w = 0; w < v->words; w++)
            with[w] |= v->with[n->args[a].id][w];
        any = true;
    }
    leave_whole(v, with);
    return any && v->again;
}

/* A product over k of which each device has a part of its own: the weight is cut along k, too. */
static bool sum_of_parts(struct divide *v, int node) {
    const et_node *n = &v->g->nodes[node];
    if (n->op != &et_op_contract) return false;
    const et_shape *a = et_arg_shape(v->g, n, 0), *b = et_arg_shape(v->g, n, 1);
    int k = et_attr_int(n, "trans_b", 0) ? b->rank - 1 : b->rank - 2;
    if (!same_cut(v->cut[n->args[0].id], (struct div_cut){a->rank - 1, 1}) ||
        val(v, n->result)->shape.dtype != ET_F32 ||
        !want(v, node, 1, (struct div_cut){k, 1}, v->with[n->result.id]))
        return false;
    v->partial[n->result.id] = true;
    return true;
}

/* A product of what all have by a weight, by columns: in as many parts as can be. */
static bool columns(struct divide *v, int node) {
    const et_node *n = &v->g->nodes[node];
    int last = val(v, n->result)->shape.rank - 1;
    if (n->op != &et_op_contract) return false;
    uint64_t *with = et_alloc(v->g->arena, (size_t)v->words * sizeof *with);
    for (int r = 1; r < v->devices && !v->again; r = next_repeat(v, r)) {
        struct div_cut cut = {last, r};
        if (!div_has_parts(v->g, &val(v, n->result)->shape, last, v->devices / r)) continue;
        if (want_all(v, node, cut, with)) {
            v->cut[n->result.id] = cut;
            memcpy(v->with[n->result.id], with, (size_t)v->words * sizeof *with);
            return true;
        }
        leave_whole(v, with);
    }
    return false;
}

static void update(struct divide *v, int node) {
    const et_node *n = &v->g->nodes[node];
    et_value state = n->args[0], value = n->args[1];
    struct div_cut cut = v->cut[value.id];
    if (cut.axis != WHOLE) cut.axis = div_updated_axis(n, cut.axis);
    bool ok = cut.axis == WHOLE ? !is_cut(v, value) && !is_cut(v, state)
                                : want(v, node, 0, cut, v->with[value.id]);
    for (int a = 2; a < n->nargs; a++)
        ok &= !is_cut(v, n->args[a]);
    if (ok && cut.axis != WHOLE) add_all(v, state, value);
    if (!ok) give_up(v, n);
    need(v, node, 1);
}

static void look(struct divide *v, int node) {
    const et_node *n = &v->g->nodes[node];
    if (n->op->class == ET_CLASS_UPDATE) {
        update(v, node);
        return;
    }
    if (n->op->class == ET_CLASS_SCAN) { /* its state stays whole */
        bool whole = true;
        for (int i = 0; i < n->nargs; i++)
            whole &= !is_cut(v, n->args[i]);
        if (!whole) give_up(v, n);
        need(v, node, 1);
        return;
    }
    int a = first_cut(v, n);
    for (int i = 0; a >= 0 && i < n->nargs; i++)
        if (is_cut(v, n->args[i])) add_all(v, n->result, n->args[i]);
    if (a < 0) {
        if (columns(v, node)) {
            settle(v, n);
            return;
        }
        for (int i = 0; i < n->nargs; i++)
            v->arg[node][i] = (struct div_cut){WHOLE, 1};
    } else if (!sum_of_parts(v, node)) {
        struct div_cut cut = cut_by(v, n, a);
        if (cut.axis != WHOLE && want_all(v, node, cut, v->with[n->result.id]))
            v->cut[n->result.id] = cut;
        else if (cut.axis == WHOLE || !give_up_misfits(v, n, cut))
            give_up(v, n);
    }
    settle(v, n);
    need(v, node, 1);
}

/* ---- the graph ---- */

/* What a loop carries is the same on all. */
static void carry(struct divide *v, et_value x) {
    if (is_cut(v, x)) leave_whole(v, v->with[x.id]);
    v->needed[x.id]++;
}

static void look_at(struct divide *v, const et_block *b) {
    for (int i = 0; i < b->n && !v->again; i++) {
        int at = b->stmt[i].index;
        if (b->stmt[i].kind == ET_S_NODE) {
            look(v, at);
            continue;
        }
        const et_loop *l = &v->g->loops[at];
        for (int c = 0; c < l->ncarry; c++)
            carry(v, l->carry[c].init);
        look_at(v, &l->body);
        for (int c = 0; c < l->ncarry && !v->again; c++)
            carry(v, l->carry[c].out);
    }
}

static void forget(struct divide *v) {
    v->again = false;
    for (int i = 0; i < v->g->nvals; i++) {
        v->cut[i] = (struct div_cut){WHOLE, 1};
        v->needed[i] = 0;
        v->partial[i] = v->direct[i] = false;
        v->gathered[i] = (struct div_cut){WHOLE, 1};
        memset(v->with[i], 0, (size_t)v->words * sizeof **v->with);
    }
    for (int i = 0; i < v->g->nnodes; i++)
        for (int a = 0; a < ET_MAX_ARGS; a++)
            v->arg[i][a] = (struct div_cut){WHOLE, 1};
}

/* Weights that shall be in parts are in no more from the beginning. */
static const char *ask(struct divide *v) {
    for (int i = 1; i < v->g->nvals; i++) {
        int parts = v->g->vals[i].split.parts;
        if (parts && v->devices % parts)
            return et_printf(v->g->arena, "@split of %s: %d devices do not divide by %d parts",
                             v->g->vals[i].name, v->devices, parts);
        if (parts) v->least[i] = v->devices / parts;
    }
    return NULL;
}

static void decide(struct divide *v, const char **why) {
    et_arena *a = v->g->arena;
    size_t n = (size_t)v->g->nvals, nodes = (size_t)v->g->nnodes + 1;
    v->words = (int)(n + 63) / 64;
    v->cut = et_alloc(a, n * sizeof *v->cut);
    v->needed = et_alloc(a, n * sizeof *v->needed);
    v->partial = et_alloc(a, n);
    v->least = et_alloc(a, n * sizeof *v->least);
    v->gather = et_alloc(a, n);
    v->direct = et_alloc(a, n);
    v->gathered = et_alloc(a, n * sizeof *v->gathered);
    v->with = et_alloc(a, n * sizeof *v->with);
    v->arg = et_alloc(a, nodes * sizeof *v->arg);
    for (size_t i = 0; i < n; i++) {
        v->with[i] = et_alloc(a, (size_t)v->words * sizeof **v->with);
        v->least[i] = 1;
    }
    *why = ask(v);
    bool alike = !v->decided || v->decided->nvals == v->g->nvals;
    if (!*why && v->decided && alike) {
        memcpy(v->least, v->decided->least, n * sizeof *v->least);
        memcpy(v->gather, v->decided->gather, n);
    }
    for (v->again = true; !*why && alike && v->again;) {
        forget(v);
        look_at(v, &v->g->body);
    }
    if (v->decided && alike)
        alike = !memcmp(v->least, v->decided->least, n * sizeof *v->least) &&
                !memcmp(v->gather, v->decided->gather, n);
    if (!*why && !alike) *why = "with other dims other weights would be cut";
    if (*why) return;
    /* What was looked at before its reader asked for a part of it has noted the weight as whole. */
    for (int i = 1; i < v->g->nvals; i++)
        if (v->g->vals[i].kind == ET_V_WEIGHT) v->needed[i] = 0;
    for (int i = 0; i < v->g->nnodes; i++)
        need(v, i, 1);
    for (int l = 0; l < v->g->nloops; l++)
        for (int c = 0; c < v->g->loops[l].ncarry; c++)
            v->needed[v->g->loops[l].carry[c].init.id]++;
}

/* A weight that is not as its @split asks; NULL: all are. */
static const et_val *unlike_asked(const struct divide *v) {
    for (int i = 1; i < v->g->nvals; i++) {
        const et_val *w = &v->g->vals[i];
        bool any = w->split.parts <= 1;
        for (int k = 0; k < v->g->nnodes; k++)
            for (int a = 0; a < v->g->nodes[k].nargs; a++)
                any |= v->g->nodes[k].args[a].id == (uint32_t)i && v->arg[k][a].axis != WHOLE;
        if (!any) return w;
    }
    return NULL;
}

bool et_divide(et_graph *g, int devices, const et_machine *m, et_gather how, et_divided *io) {
    struct divide v = {.g = g, .devices = devices, .m = m, .how = how};
    const char *why = NULL;
    bool any = false;
    if (devices <= 1) return true;
    if (g->nmodels) why = "several models in one kernel are not divided yet";
    if (g->devices) why = "the program is divided already";
    v.decided = io && io->nvals ? io : NULL;
    if (!why) {
        div_join_pieces(g);
        decide(&v, &why);
        const et_val *unlike = why ? NULL : unlike_asked(&v);
        if (unlike)
            why = et_printf(g->arena, "@split of %s: what reads it does not go with such parts",
                            unlike->name);
        for (int i = 1; i < g->nvals; i++)
            any |= v.partial[i] || v.cut[i].axis != WHOLE || v.gathered[i].axis != WHOLE;
        if (!why && !any)
            why = et_printf(g->arena,
                            "no product by weights can be divided by %d: its columns, or the heads "
                            "they are of, are no multiple of that, or what follows needs all of "
                            "them",
                            devices);
    }
    if (why) {
        et_diag(g->diags, ET_ERROR, (et_loc){0}, "--devices=%d: %s", devices, why);
        return false;
    }
    if (io && !io->nvals) *io = (et_divided){g->nvals, v.least, v.gather};
    for (int i = 1; i < g->nvals; i++)
        g->vals[i].split = (et_split){0};
    struct div_plan plan = {.devices = devices, .cut = v.cut, .needed = v.needed};
    plan.partial = v.partial, plan.gathered = v.gathered, plan.arg = v.arg;
    div_exchange_late(g, &plan);
    div_apply(g, &plan);
    return true;
}
