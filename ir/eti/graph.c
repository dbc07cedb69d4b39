/* The graph stage: leaves, nodes, loops, outputs. */
#include "ir/eti/parser.h"
#include "ir/graph/attention.h"
#include <string.h>

/* The index of a name that lives inside a loop that has ended. */
enum { GONE = -3 };

/* "over l, m" of a weight, which comes before the loops in the text. */
struct eti_pending {
    uint32_t value;
    int n;
    const char *label[ET_MAX_LOOPS];
    et_loc loc[ET_MAX_LOOPS];
    int nstacks, stacks[ET_MAX_LOOPS];
};

/* ---- nodes ---- */

static et_block *block(eti_parser *p) {
    return p->loop < 0 ? &p->g->body : et_graph_loop_body(p->g, p->loop);
}

static et_value value_named(eti_parser *p) {
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_TENSOR, "a value such as %x");
    int v = name ? eti_find(p, '%', name, loc, "value") : -1;
    if (v == GONE)
        eti_error(p, loc, "%%%s lives inside a loop: what follows the loop is what 'next' names",
                  name);
    return v < 0 ? ET_NO_VALUE : (et_value){(uint32_t)v};
}

/* What the user called the value with this label: nothing where the label is a number. */
static const char *name_of(eti_parser *p, const char *label) {
    const char *own = et_model_plain(p->g, label);
    return *own >= '0' && *own <= '9' ? NULL : eti_plain_name(p, label);
}

static void define(eti_parser *p, const char *label, et_loc loc, et_value v) {
    if (!v.id || p->broken || !eti_declare(p, '%', label, loc, (int)v.id))
        eti_poison(p, '%', label, loc);
    else
        et_val_of(p->g, v)->name = name_of(p, label);
}

static bool arguments(eti_parser *p, et_node *n) {
    bool ok = true;
    if (!n->op->nargs_max) return true;
    do {
        et_loc loc = p->tok.loc;
        et_value v = value_named(p);
        if (n->nargs == ET_MAX_ARGS) {
            eti_error(p, loc, "more than %d arguments", ET_MAX_ARGS);
            return false;
        }
        n->args[n->nargs++] = v;
        ok &= v.id != 0;
    } while (eti_take(p, ','));
    return ok;
}

static void check_shape(eti_parser *p, et_loc loc, const et_shape *want, et_value v) {
    const et_shape *have = v.id ? &et_val_of(p->g, v)->shape : NULL;
    if (have && want->rank >= 0 && !p->broken && !et_shape_eq(want, have))
        eti_error(p, loc, "this is %s", et_shape_text(p->x, have));
}

/* op %a, %b {attributes} [: shape], after "%label =" unless it is an update */
static void node(eti_parser *p, const char *label, et_loc at) {
    et_node n = {.loc = p->tok.loc};
    et_attr a[ETI_MAX_LIST];
    int na = 0, mark = p->nscope;
    et_value result = ET_NO_VALUE;
    const char *name = eti_need_name(p, ETI_NAME, "an operator");
    n.op = name ? et_op_find(name) : NULL;
    if (name && !n.op) {
        eti_error(p, n.loc, "there is no operator called '%s'", name);
        p->broken = true;
    }
    bool ok = n.op && !p->broken && arguments(p, &n);
    if (n.op && !p->broken && (n.op == &et_op_update) != !label)
        eti_error(p, n.loc, label ? "an update has no result" : "the result needs a name");
    p->node = &n;
    if (eti_take(p, '{')) {
        while (!p->broken && !eti_is(p, '}')) {
            if (na == ETI_MAX_LIST) {
                eti_expected(p, "fewer attributes");
                break;
            }
            eti_attribute(p, n.op, &a[na]);
            for (int i = 0; i < na && !p->broken; i++)
                if (strcmp(a[i].name, a[na].name) == 0)
                    eti_error(p, n.loc, "attribute %s twice", a[i].name);
            na++;
            if (!eti_take(p, ',')) break;
        }
        eti_need(p, '}');
    }
    p->node = NULL;
    p->nscope = mark;
    int before = p->errors;
    if (p->g->nnodes >= ETI_MAX_ITEMS) eti_error(p, n.loc, "more than %d nodes", ETI_MAX_ITEMS);
    if (ok && !p->broken && n.nargs >= n.op->nargs_min && n.nargs <= n.op->nargs_max)
        ok = eti_check_attrs(p, &n, na, a);
    if (ok && !p->broken && p->errors == before)
        et_graph_node(p->g, block(p), n.op, n.loc, n.nargs, n.args, na, a, &result);
    et_loc loc = p->tok.loc;
    if (eti_take(p, ':')) {
        et_shape shape;
        loc = p->tok.loc;
        eti_shape(p, &shape);
        check_shape(p, loc, &shape, result);
    }
    if (label) define(p, label, at, result);
}

/* ---- leaves ---- */

static void pend(eti_parser *p, et_value v, const et_shape *s) {
    struct eti_pending w = {.value = v.id};
    if (eti_take_word(p, "over")) do {
            et_loc loc = p->tok.loc;
            const char *label = eti_need_name(p, ETI_NAME, "a loop");
            if (w.n == ET_MAX_LOOPS)
                eti_error(p, loc, "more than %d loops", ET_MAX_LOOPS);
            else if (label)
                w.label[w.n] = label, w.loc[w.n++] = loc;
        } while (eti_take(p, ','));
    int n = w.n;
    if (eti_take_word(p, "each")) eti_each(p, s, &n, w.stacks);
    w.nstacks = n - w.n;
    if (!v.id || p->broken) return;
    ET_GROW(p->arena, p->pending, p->npending, p->cpending);
    p->pending[p->npending++] = w;
}

/* "split AXIS in PARTS". */
static void split(eti_parser *p, const et_shape *s, et_split *out) {
    et_loc loc = p->tok.loc;
    if (!eti_take_word(p, "split")) return;
    out->axis = (int)eti_need_int(p, 0, ET_MAX_RANK - 1, "the dimension that is split");
    if (!eti_take_word(p, "in")) eti_error(p, p->tok.loc, "expected 'in' and how many parts");
    out->parts = (int)eti_need_int(p, 1, ET_MAX_DEVICES, "parts");
    if (!p->broken && s->rank >= 0 && out->axis >= s->rank)
        eti_error(p, loc, "there are %d dimensions", s->rank);
}

static void leaf(eti_parser *p, et_value_kind kind) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors;
    const char *label = eti_need_name(p, ETI_TENSOR, "a value such as %x"), *source = NULL;
    const void *data = NULL;
    et_shape s;
    eti_need(p, ':');
    if (p->broken) return;
    eti_shape(p, &s);
    if (kind == ET_V_CONST) {
        eti_need(p, '=');
        if (!p->broken) data = eti_data(p, &s);
    } else if (kind == ET_V_WEIGHT) {
        source = et_model_plain(p->g, eti_plain_name(p, label));
        if (eti_take(p, '=')) source = eti_need_name(p, ETI_STRING, "its name in the checkpoint");
        if (source && !*source) eti_error(p, loc, "an empty name");
    }
    int64_t n;
    if (s.rank >= 0) eti_storable(p, loc, &s, kind == ET_V_WEIGHT);
    for (int i = 0; kind == ET_V_WEIGHT && i < s.rank; i++)
        if (!et_is_int(p->x, s.dim[i], &n)) {
            eti_error(p, loc, "the dimensions of a weight are constants");
            break;
        }
    et_value v = ET_NO_VALUE;
    if (!p->broken && p->errors == before && s.rank >= 0) {
        v = et_graph_value(p->g, kind, NULL, &s, loc);
        et_val_of(p->g, v)->source = source;
        et_val_of(p->g, v)->data = data;
    }
    et_device_cut cut = {0};
    et_split parts = {0};
    if (kind == ET_V_WEIGHT && (eti_is_word(p, "over") || eti_is_word(p, "each"))) pend(p, v, &s);
    if (kind == ET_V_WEIGHT) split(p, &s, &parts);
    if (kind == ET_V_WEIGHT || kind == ET_V_STATE) eti_cut(p, &s, kind == ET_V_WEIGHT, &cut);
    if (v.id) et_val_of(p->g, v)->cut = cut, et_val_of(p->g, v)->split = parts;
    define(p, label, loc, v);
}

/* ---- loops ---- */

static void statements(eti_parser *p);

static void carry(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *label = eti_need_name(p, ETI_TENSOR, "a value such as %x");
    eti_need(p, '=');
    et_value init = p->broken ? ET_NO_VALUE : value_named(p), in = ET_NO_VALUE;
    if (p->loop < 0) {
        eti_error(p, loc, "a carry outside of loops");
        init = ET_NO_VALUE;
    } else if (p->g->loops[p->loop].body.n || p->g->loops[p->loop].ncarry == 64) {
        eti_error(p, loc, "at most 64 carries at the beginning of a loop");
        init = ET_NO_VALUE;
    }
    if (init.id && !p->broken) in = et_graph_carry(p->g, p->loop, init);
    if (eti_take(p, ':')) {
        et_shape s;
        et_loc at = p->tok.loc;
        eti_shape(p, &s);
        check_shape(p, at, &s, in);
    }
    if (label) define(p, label, loc, in);
}

/* next %in = %out -> %result */
static void next(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    et_value in = value_named(p), result = ET_NO_VALUE;
    eti_need(p, '=');
    et_value out = p->broken ? ET_NO_VALUE : value_named(p);
    eti_need(p, ETI_OP2('-', '>'));
    et_loc at = p->tok.loc;
    const char *label = eti_need_name(p, ETI_TENSOR, "a value such as %x");
    const et_carry *c = NULL;
    for (int i = 0; p->loop >= 0 && in.id && i < p->g->loops[p->loop].ncarry; i++)
        if (p->g->loops[p->loop].carry[i].in.id == in.id) c = &p->g->loops[p->loop].carry[i];
    if (in.id && !c)
        eti_error(p, loc, "this is not carried by the loop");
    else if (c && c->out.id)
        eti_error(p, loc, "carried on twice");
    else if (c && out.id && !p->broken)
        et_graph_carry_close(p->g, p->loop, in, out, loc, &result);
    if (label) define(p, label, at, result);
}

/* Names of a loop's values are not known behind it. */
static void forget(eti_parser *p, uint32_t from, uint32_t to) {
    for (int i = 0; i < p->names.cap; i++) {
        eti_name *n = p->names.slot[i];
        if (!n || *n->key != '%' || n->index < (int)from || n->index >= (int)to) continue;
        if (et_val_of(p->g, (et_value){(uint32_t)n->index})->kind == ET_V_LOOP &&
            et_val_of(p->g, (et_value){(uint32_t)n->index})->node == p->loop)
            continue;
        n->index = GONE;
    }
}

static void check_carries(eti_parser *p, int l, et_loc loc) {
    for (int i = 0; i < p->g->loops[l].ncarry; i++)
        if (!p->g->loops[l].carry[i].out.id)
            eti_error(p, loc, "carry %d of this loop has no next", i);
}

/* for LABEL in 0..TRIPS [until ITERATIONS] [from FIRST] { carries, statements, nexts } */
static void for_loop(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *label = eti_need_name(p, ETI_NAME, "the loop's variable");
    eti_need_word(p, "in");
    eti_need_int(p, 0, 0, "where the variable starts");
    eti_need(p, ETI_OP2('.', '.'));
    int64_t trips = eti_need_int(p, 1, INT32_MAX, "the number of iterations"), from = 0;
    et_expr until = eti_until(p, trips);
    if (eti_take_word(p, "from")) from = eti_need_int(p, 0, INT32_MAX - trips, "what is added");
    eti_need(p, '{');
    if (p->broken || !label) return;
    int depth = 1, outer = p->loop, mark = p->nscope;
    for (int l = outer; l >= 0; l = p->g->loops[l].parent)
        depth++;
    if (depth > ET_MAX_LOOPS || p->g->nloops >= ETI_MAX_ITEMS) {
        eti_error(p, loc, "loops nest at most %d deep", ET_MAX_LOOPS);
        p->broken = true;
        return;
    }
    if (!eti_known(p, 'l', label)) eti_declare(p, 'l', label, loc, p->g->nloops);
    uint32_t first = (uint32_t)p->g->nvals;
    p->loop = et_graph_loop_until(p->g, block(p), et_model_plain(p->g, eti_plain_name(p, label)),
                                  outer, from, from + trips, until, loc);
    if (eti_known(p, 'n', label))
        eti_error(p, loc, "'%s' is a dim", label);
    else
        for (int i = 0; i < p->nscope; i++)
            if (strcmp(p->scope[i].name, label) == 0)
                eti_error(p, loc, "'%s' is the variable of a loop around this one", label);
    ET_GROW(p->arena, p->scope, p->nscope, p->cscope);
    p->scope[p->nscope++] = (eti_binding){label, p->g->loops[p->loop].var};
    statements(p);
    if (!eti_is(p, '}')) eti_expected(p, "a node, 'next' or '}'");
    if (!p->broken) check_carries(p, p->loop, loc);
    forget(p, first, (uint32_t)p->g->nvals);
    p->loop = outer;
    p->nscope = mark;
    eti_need(p, '}');
}

/* ---- statements ---- */

static bool is_nested(const eti_parser *p) {
    return p->tok.kind == ETI_TENSOR || eti_is_word(p, "update") || eti_is_word(p, "for") ||
           eti_is_word(p, "carry") || eti_is_word(p, "next");
}

static void nested(eti_parser *p) {
    et_loc loc = p->tok.loc;
    if (p->tok.kind == ETI_TENSOR) {
        const char *label = p->tok.text;
        eti_enter_model(p, label);
        eti_next(p);
        eti_need(p, '=');
        if (p->broken)
            eti_poison(p, '%', label, loc);
        else
            node(p, label, loc);
    } else if (eti_is_word(p, "for")) {
        for_loop(p);
    } else if (eti_is_word(p, "carry")) {
        carry(p);
    } else if (eti_is_word(p, "next")) {
        next(p);
    } else {
        node(p, NULL, loc);
    }
}

static void statements(eti_parser *p) {
    static const char *const words[] = {"for",    "carry", "next",  "update", "input",
                                        "weight", "state", "const", "output", NULL};
    while (is_nested(p)) {
        nested(p);
        if (p->errors >= ETI_MAX_ERRORS) p->broken = true;
        if (p->tok.kind == ETI_EOF) return;
        if (p->broken) eti_recover(p, words, "%");
    }
}

static void output(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *label = eti_need_name(p, ETI_TENSOR, "a value such as %x");
    int v = label ? eti_find(p, '%', label, loc, "value") : -1;
    if (v == GONE) eti_error(p, loc, "%%%s lives inside a loop", label);
    if (v < 0 || p->broken) return;
    const char *name = name_of(p, label);
    if (!name)
        eti_error(p, loc, "an output needs a name, not a number");
    else if (eti_storable(p, loc, &et_val_of(p->g, (et_value){(uint32_t)v})->shape, false) &&
             eti_declare(p, 'o', name, loc, v))
        et_graph_output(p->g, (et_value){(uint32_t)v}, name);
    et_val *last = et_val_of(p->g, p->g->noutputs ? p->g->outputs[p->g->noutputs - 1]
                                                  : (et_value){(uint32_t)v});
    eti_cut(p, &last->shape, false, &last->cut);
}

static void fix_weights(eti_parser *p) {
    for (int i = 0; i < p->npending; i++) {
        const struct eti_pending *w = &p->pending[i];
        et_val *v = et_val_of(p->g, (et_value){w->value});
        p->model = v->model;
        for (int k = 0; k < w->n; k++) {
            int l = eti_find(p, 'l', w->label[k], w->loc[k], "loop");
            int64_t trips;
            if (l < 0) continue;
            int up = l;
            for (up = p->g->loops[l].parent; up >= 0 && k && up != v->loops[k - 1];)
                up = p->g->loops[up].parent;
            if (k && up < 0)
                eti_error(p, w->loc[k], "loops are named from the outermost in");
            else if (k >= v->shape.rank || !et_is_int(p->x, v->shape.dim[k], &trips) ||
                     trips != p->g->loops[l].hi - p->g->loops[l].lo)
                eti_error(p, w->loc[k], "dimension %d must be %lld, the iterations of this loop", k,
                          (long long)(p->g->loops[l].hi - p->g->loops[l].lo));
            v->loops[k] = l;
            v->nloops = k + 1;
        }
        for (int k = w->n; k < w->n + w->nstacks && v->nloops == k; k++)
            v->loops[v->nloops++] = w->stacks[k];
    }
}

void eti_graph_end(eti_parser *p) {
    fix_weights(p);
}

/* One statement of the outermost level. */
void eti_graph_body(eti_parser *p) {
    static const struct {
        const char *word;
        et_value_kind kind;
    } leaves[] = {{"input", ET_V_INPUT},
                  {"weight", ET_V_WEIGHT},
                  {"state", ET_V_STATE},
                  {"const", ET_V_CONST}};
    for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++)
        if (eti_is_word(p, leaves[i].word)) {
            leaf(p, leaves[i].kind);
            return;
        }
    if (eti_is_word(p, "output"))
        output(p);
    else if (is_nested(p))
        nested(p);
    else
        eti_expected(p, "a declaration, a node, 'for' or 'output'");
}
