/* The text of a graph. Values are %name where the user named them, %name.2 for a further value of
 * that name, %0, %1, ... in order of appearance where they have none. */
#include "ir/base/names.h"
#include "ir/base/text.h"
#include "ir/graph/ops.h"
#include <inttypes.h>
#include <string.h>

typedef struct {
    const et_graph *g;
    FILE *out;
    const char **name; /* value id -> text, NULL until it appears */
    int unnamed;
    et_names *names; /* taken */
} printer;

static const char *name_of(printer *p, et_value v) {
    const char **slot = &p->name[v.id], *user = et_val_of(p->g, v)->name;
    if (*slot) return *slot;
    if (!user) {
        user = et_printf(p->g->arena, "%d", p->unnamed++);
        return *slot = et_printf(p->g->arena, "%%%s",
                                 et_model_name(p->g, et_val_of(p->g, v)->model, user));
    }
    return *slot = et_names_add(p->names, et_printf(p->g->arena, "%%%s", user), '.');
}

static void indent(const printer *p, int depth) {
    fprintf(p->out, "%*s", 2 * depth, "");
}

static const char *expr_text(const printer *p, et_expr e) {
    return e.id ? et_expr_text(p->g->exprs, e, NULL, NULL) : "_";
}

static const char *loop_label(const printer *p, int loop) {
    return et_var_name(p->g->exprs, p->g->loops[loop].var);
}

static void put_declaration(printer *p, et_value v) {
    static const char *const kind[] = {"input", "weight", "state", "const"};
    const et_val *val = et_val_of(p->g, v);
    fprintf(p->out, "%s %s : %s", kind[val->kind], name_of(p, v),
            et_shape_text(p->g->exprs, &val->shape));
    if (val->kind == ET_V_WEIGHT && val->source) {
        fputs(" = ", p->out);
        et_put_string(p->out, val->source);
        for (int i = 0; i < val->nloops && !p->g->loops[val->loops[i]].stacks; i++)
            fprintf(p->out, "%s%s", i ? ", " : " over ", loop_label(p, val->loops[i]));
        et_stacks_print(p->g, val->nloops, val->loops, p->out);
    }
    if (val->kind == ET_V_CONST && val->data)
        et_shape_data_print(p->g->exprs, &val->shape, val->data, p->out);
    if (val->split.parts) fprintf(p->out, " split %d in %d", val->split.axis, val->split.parts);
    et_device_cut_print(&val->cut, p->out);
    fputc('\n', p->out);
}

void et_device_cut_print(const et_device_cut *c, FILE *out) {
    if (!c->devices) return;
    fprintf(out, " cut %d", c->axis);
    if (c->repeat > 1) fprintf(out, " repeat %d", c->repeat);
    if (c->of) fprintf(out, " from %" PRId64 " of %" PRId64, c->from, c->of);
}

void et_stacks_print(const et_graph *g, int nloops, const int *loops, FILE *out) {
    int n = 0;
    for (int i = 0; i < nloops; i++) {
        const et_loop *l = &g->loops[loops[i]];
        if (!l->stacks) continue;
        fprintf(out, "%s%s in 0..%" PRId64, n++ ? ", " : " each ", l->name, l->hi - l->lo);
        if (l->lo) fprintf(out, " from %" PRId64, l->lo);
    }
}

void et_shape_data_print(const et_exprs *x, const et_shape *s, const void *data, FILE *out) {
    int64_t count = 1;
    for (int k = 0; k < s->rank; k++)
        count *= et_eval(x, s->dim[k], NULL, NULL);
    fputs(" = [", out);
    for (int64_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        if (s->dtype == ET_I32)
            fprintf(out, "%d", ((const int32_t *)data)[i]);
        else
            et_put_float(out, (double)((const float *)data)[i]);
    }
    fputc(']', out);
}

static void put_attr(const printer *p, const et_node *n, const et_attr *a) {
    fprintf(p->out, "%s=", a->name);
    switch (a->kind) {
    case ET_A_INT:
        if (strcmp(a->name, "dtype") == 0)
            fputs(et_dtype_name((et_dtype)a->i), p->out);
        else if ((n->op == &et_op_reduce || n->op == &et_op_segment) &&
                 strcmp(a->name, "kind") == 0)
            fputs(et_reduce_text((et_reduce)a->i), p->out);
        else
            fprintf(p->out, "%lld", (long long)a->i);
        return;
    case ET_A_FLOAT:
        et_put_float(p->out, a->f);
        return;
    case ET_A_EXPR:
        fputs(expr_text(p, a->expr), p->out);
        return;
    default:
        break;
    }
    fputc('[', p->out);
    for (int i = 0; i < a->n; i++) {
        fputs(i ? ", " : "", p->out);
        if (a->kind == ET_A_INTS)
            fprintf(p->out, "%lld", (long long)a->ints[i]);
        else if (a->kind == ET_A_VARS)
            fprintf(p->out, "%s < %s", et_var_name(p->g->exprs, (int)a->ints[i]),
                    expr_text(p, et_var_extent(p->g->exprs, (int)a->ints[i])));
        else
            fputs(expr_text(p, a->exprs[i]), p->out);
    }
    fputc(']', p->out);
}

static void put_node(printer *p, const et_node *n, int depth) {
    indent(p, depth);
    const char *arg[ET_MAX_ARGS]; /* before the result: a name goes to the value seen first */
    for (int i = 0; i < n->nargs; i++)
        arg[i] = name_of(p, n->args[i]);
    if (n->result.id) fprintf(p->out, "%s = ", name_of(p, n->result));
    fputs(n->op->name, p->out);
    for (int i = 0; i < n->nargs; i++)
        fprintf(p->out, "%s%s", i ? ", " : " ", arg[i]);
    for (int i = 0; i < n->nattrs; i++) {
        fputs(i ? ", " : " {", p->out);
        put_attr(p, n, &n->attrs[i]);
    }
    fputs(n->nattrs ? "}" : "", p->out);
    if (n->result.id)
        fprintf(p->out, " : %s", et_shape_text(p->g->exprs, &et_val_of(p->g, n->result)->shape));
    fputc('\n', p->out);
}

static void put_block(printer *p, const et_block *b, int depth);

static void put_loop(printer *p, const et_loop *l, int depth) {
    indent(p, depth);
    fprintf(p->out, "for %s in 0..%lld", et_var_name(p->g->exprs, l->var),
            (long long)(l->hi - l->lo));
    if (et_loop_varies(p->g, l))
        fprintf(p->out, " until %s", et_expr_text(p->g->exprs, l->trips, NULL, NULL));
    if (l->lo) /* the variable counts from 0; names of weights add this */
        fprintf(p->out, " from %lld", (long long)l->lo);
    fputs(" {\n", p->out);
    for (int i = 0; i < l->ncarry; i++) {
        const et_carry *c = &l->carry[i];
        const char *init = name_of(p, c->init);
        indent(p, depth + 1);
        fprintf(p->out, "carry %s = %s : %s\n", name_of(p, c->in), init,
                et_shape_text(p->g->exprs, &et_val_of(p->g, c->in)->shape));
    }
    put_block(p, &l->body, depth + 1);
    for (int i = 0; i < l->ncarry; i++) {
        const et_carry *c = &l->carry[i];
        if (!c->out.id) /* a carry the front end could not close */
            continue;
        const char *out = name_of(p, c->out);
        indent(p, depth + 1);
        fprintf(p->out, "next %s = %s -> %s\n", name_of(p, c->in), out, name_of(p, c->result));
    }
    indent(p, depth);
    fputs("}\n", p->out);
}

static void put_block(printer *p, const et_block *b, int depth) {
    for (int i = 0; i < b->n; i++)
        if (b->stmt[i].kind == ET_S_NODE)
            put_node(p, &p->g->nodes[b->stmt[i].index], depth);
        else
            put_loop(p, &p->g->loops[b->stmt[i].index], depth);
}

void et_header_print(const et_graph *g, const char *stage, FILE *out) {
    fprintf(out, "eti 1 %s\nmodel %s\n", stage, g->name);
    if (*g->source_hash) {
        fputs("source ", out);
        et_put_string(out, g->source_hash);
        fputc('\n', out);
    }
    for (int i = 0; i < g->nmodels; i++) {
        const et_model *m = &g->model[i];
        fprintf(out, "part %s weight %.9g", m->name, m->weight);
        if (m->share.to)
            fprintf(out, " range [%.7g, %.7g]", m->share.from / 1e6, m->share.to / 1e6);
        fputc('\n', out);
    }
    if (g->devices) fprintf(out, "devices %d\n", g->devices);
    for (int s = 0; s < et_sym_count(g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(g->exprs, s, &lo, &hi);
        fprintf(out, "dim %s in %lld..%lld\n", et_sym_name(g->exprs, s), (long long)lo,
                (long long)hi);
    }
}

void et_graph_print(const et_graph *g, FILE *out) {
    printer p = {.g = g, .out = out, .names = et_names_create(g->arena)};
    p.name = et_alloc(g->arena, (size_t)g->nvals * sizeof *p.name);
    et_header_print(g, "graph", out);
    for (int i = 1; i < g->nvals; i++)
        if (g->vals[i].kind <= ET_V_CONST) put_declaration(&p, (et_value){(uint32_t)i});
    put_block(&p, &g->body, 0);
    for (int i = 0; i < g->noutputs; i++) {
        fprintf(out, "output %s", name_of(&p, g->outputs[i]));
        et_device_cut_print(&et_val_of(g, g->outputs[i])->cut, out);
        fputc('\n', out);
    }
}
