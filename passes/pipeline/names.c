#include "passes/pipeline/names.h"
#include "ir/graph/ops.h"
#include <ctype.h>
#include <string.h>

enum { MOST_PARTS = 4, MOST_SEARCHED = 64 };

/* ---- the name of a weight in its checkpoint ---- */

/* "self_attn" and "q" of "model.layers.{l}.self_attn.q_proj.weight". */
struct path {
    const char *of, *last; /* OF may be "" */
};

static bool ends_with(const char *s, const char *end) {
    size_t n = strlen(s), k = strlen(end);
    return n > k && strcmp(s + n - k, end) == 0;
}

static const char *shortened(et_arena *a, const char *s) {
    if (ends_with(s, "_proj")) s = et_strndup(a, s, strlen(s) - strlen("_proj"));
    return strncmp(s, "self_", 5) == 0 && s[5] ? s + 5 : s;
}

/* Can it be a part of a name in .etg and .eti? */
static bool is_plain(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    while (isalnum((unsigned char)*s) || *s == '_')
        s++;
    return !*s;
}

/* False for a name without parts, or with nothing but the weight's own NAME, which is no path. */
static bool path_of(et_arena *a, const char *source, const char *name, struct path *out) {
    *out = (struct path){"", NULL};
    if (!source || !strchr(source, '.')) return false;
    char *rest = et_strdup(a, source);
    for (char *part; (part = strsep(&rest, "."));) {
        bool says_nothing = strstr(part, "weight") || strcmp(part, "model") == 0 ||
                            strcmp(part, "layers") == 0 || !is_plain(part);
        if (says_nothing) continue;
        out->of = out->last ? out->last : "";
        out->last = shortened(a, part);
    }
    return out->last && (*out->of || strcmp(out->last, name) != 0);
}

/* ---- the products of a value ---- */

struct products {
    const et_graph *g;
    et_folded_fn folded;
    void *ctx;
    const et_val *weight[MOST_PARTS + 1];
    int n, searched;
};

/* The first matrix among the weights that V is made of. */
static const et_val *weight_of(struct products *p, et_value v) {
    const et_val *val = et_val_of(p->g, v);
    const et_node *n = et_node_of(p->g, v);
    if (val->kind == ET_V_WEIGHT) return val->shape.rank - val->nloops >= 2 ? val : NULL;
    for (int a = 0; n && a < n->nargs && p->searched++ < MOST_SEARCHED; a++) {
        const et_val *w = weight_of(p, n->args[a]);
        if (w) return w;
    }
    return NULL;
}

/* Those that the task computing N's value multiplies by. */
static void find_products(struct products *p, const et_node *n) {
    if (n->op->class == ET_CLASS_CONTRACT) {
        const et_val *w = weight_of(p, n->args[1]);
        for (int i = 0; i < p->n; i++)
            if (p->weight[i] == w) return;
        if (w && p->n <= MOST_PARTS) p->weight[p->n++] = w;
        return;
    }
    for (int a = 0; a < n->nargs && p->searched++ < MOST_SEARCHED; a++) {
        const et_node *arg = et_node_of(p->g, n->args[a]);
        if (arg && p->folded && p->folded(p->ctx, n->args[a])) find_products(p, arg);
    }
}

/* "attn.qkv", "mlp.gate_up"; where weights have no path, their own names if ANY, else NULL. */
static const char *name_of_products(const struct products *p, bool any) {
    et_arena *a = p->g->arena;
    struct path path[MOST_PARTS + 1] = {{"", ""}};
    bool letters = true, same = true;
    if (!p->n || p->n > MOST_PARTS) return NULL;
    for (int i = 0; i < p->n; i++) {
        const char *own = p->weight[i]->name ? et_model_plain(p->g, p->weight[i]->name) : "";
        if (!path_of(a, p->weight[i]->source, own, &path[i])) {
            if (!any || !*own) return NULL;
            path[i] = (struct path){"", own};
        }
        letters &= !path[i].last[1];
        same &= strcmp(path[i].of, path[0].of) == 0;
    }
    const char *name = path[0].last;
    for (int i = 1; i < p->n; i++)
        name = et_printf(a, letters ? "%s%s" : "%s_%s", name, path[i].last);
    return same && *path[0].of ? et_printf(a, "%s.%s", path[0].of, name) : name;
}

/* ---- names ---- */

/* The name of the variable or state that V goes into, at once or through values without a name;
 * NULL where there is none. */
static const char *reader_name(const et_graph *g, et_value v) {
    for (int left = MOST_SEARCHED; left > 0; left--) {
        const et_node *reader = NULL;
        for (int i = 0; i < g->nnodes && !reader; i++)
            for (int a = 0; a < g->nodes[i].nargs; a++)
                if (g->nodes[i].args[a].id == v.id) reader = &g->nodes[i];
        if (!reader) return NULL;
        v = reader->result.id ? reader->result : reader->args[0];
        if (et_val_of(g, v)->name) return et_model_plain(g, et_val_of(g, v)->name);
        if (!reader->result.id) return NULL;
    }
    return NULL;
}

const char *et_source_name(const et_graph *g, et_value v, et_folded_fn folded, void *ctx) {
    const et_val *val = et_val_of(g, v);
    const et_node *n = et_node_of(g, v);
    struct products p = {.g = g, .folded = folded, .ctx = ctx};
    if (val->is_output) return val->name;
    if (n) find_products(&p, n);
    const char *name = name_of_products(&p, false);
    if (!name && val->name) return val->name;
    if (!name) {
        const char *what = name_of_products(&p, true), *reader = reader_name(g, v);
        if (!what) what = n ? n->op->name : "value";
        name = reader ? et_printf(g->arena, "%s.%s", reader, what) : what;
    }
    return et_model_name(g, val->model, name);
}
