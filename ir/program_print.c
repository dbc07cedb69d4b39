/* The textual form of the stages after `graph`. */
#include "program.h"
#include <inttypes.h>

struct out {
    et_program *p;
    const et_func *f; /* whose locals are in scope */
    FILE *to;
};

static const char *place_name(void *ctx, int space, int id) {
    struct out *o = ctx;
    const char *name = space == ET_LOAD_LOCAL ? o->f->locals[id].name : o->p->tensors[id].name;
    return et_printf(o->p->g->arena, "%s%s", space == ET_LOAD_LOCAL ? "$" : "%", name);
}

static const char *text(struct out *o, et_expr e) {
    return e.id ? et_expr_text(o->p->g->exprs, e, place_name, o) : "-";
}

static void print_dims(struct out *o, const et_shape *s) {
    fprintf(o->to, "%s[", et_dtype_name(s->dtype));
    for (int i = 0; i < s->rank; i++)
        fprintf(o->to, "%s%s", i ? ", " : "", text(o, s->dim[i]));
    fprintf(o->to, "]");
}

static void print_tensor(struct out *o, const et_tensor *t) {
    static const char *const kind[] = {"input", "output", "weight", "state", "const", "temp"};
    fprintf(o->to, "%s %%%s : ", kind[t->kind], t->name);
    print_dims(o, &t->shape);
    if (t->source) fprintf(o->to, " = \"%s\"", t->source);
    if (t->kind == ET_TENSOR_TEMP && o->p->workspace_bytes)
        fprintf(o->to, " at %" PRId64, t->offset);
    fprintf(o->to, "\n");
}

static void print_vars(struct out *o, const et_step *s) {
    const et_exprs *x = o->p->g->exprs;
    fprintf(o->to, "[");
    for (int i = 0; i < s->nvars; i++)
        fprintf(o->to, "%s%s < %s", i ? ", " : "", et_var_name(x, s->vars[i]),
                text(o, et_var_extent(x, s->vars[i])));
    fprintf(o->to, "]");
    if (s->mask.id) fprintf(o->to, " where %s", text(o, s->mask));
}

static void print_place(struct out *o, const et_place *p) {
    fprintf(o->to, "%s[", place_name(o, p->space, p->id));
    for (int i = 0; i < p->rank; i++)
        fprintf(o->to, "%s%s", i ? ", " : "", text(o, p->index[i]));
    fprintf(o->to, "]");
}

static void print_step(struct out *o, const et_step *s) {
    const et_exprs *x = o->p->g->exprs;
    FILE *f = o->to;
    switch (s->kind) {
    case ET_STEP_MAP:
        fprintf(f, "  map ");
        print_vars(o, s);
        fprintf(f, "\n    ");
        print_place(o, &s->to);
        fprintf(f, " = %s\n", text(o, s->value));
        break;
    case ET_STEP_REDUCE:
        fprintf(f, "  reduce %s ", et_reduce_text(s->red));
        print_vars(o, s);
        fprintf(f, " over %s < %s\n    ", et_var_name(x, s->rvar), text(o, s->rextent));
        print_place(o, &s->to);
        fprintf(f, " = %s\n", text(o, s->value));
        break;
    case ET_STEP_CONTRACT:
        fprintf(f,
                "  contract %s [%s < %d live %s, %s < %d live %s] over %s < %s by %d waves %dx%d\n",
                et_dtype_name(s->operand), et_var_name(x, s->mvar), s->tm, text(o, s->mlive),
                et_var_name(x, s->nvar), s->tn, text(o, s->nlive), et_var_name(x, s->kvar),
                text(o, s->kextent), s->kc, s->wn, s->wk);
        fprintf(f, "    a = %s\n", text(o, s->a));
        for (int i = 0; i < s->nacc; i++)
            fprintf(f, "    $%s += a * %s\n", o->f->locals[s->acc[i]].name, text(o, s->b[i]));
        break;
    case ET_STEP_ATTEND:
        fprintf(f, "  attend [%s < %d, %s < %d] over %s < %s scale %.9g\n", et_var_name(x, s->hvar),
                s->heads, et_var_name(x, s->dvar), s->depth, et_var_name(x, s->pvar),
                text(o, s->pextent), s->scale);
        fprintf(f, "    q = %s\n    k = %s\n    v = %s\n    into $%s\n", text(o, s->q),
                text(o, s->k), text(o, s->v), o->f->locals[s->out].name);
        break;
    }
}

static void print_axes(struct out *o, int n, const int *vars) {
    const et_exprs *x = o->p->g->exprs;
    fprintf(o->to, "[");
    for (int i = 0; i < n; i++)
        fprintf(o->to, "%s%s < %s", i ? ", " : "", et_var_name(x, vars[i]),
                text(o, et_var_extent(x, vars[i])));
    fprintf(o->to, "]");
}

static void print_product(struct out *o, const et_product *p) {
    int vars[ET_MAX_RANK + 1], n = 0;
    for (; n < p->nbatch; n++)
        vars[n] = p->batch[n];
    vars[n++] = p->m;
    vars[n++] = p->n;
    fprintf(o->to, "  product %s : %s ", p->name, et_dtype_name(p->operand));
    print_axes(o, n, vars);
    fprintf(o->to, " over %s < %s\n", et_var_name(o->p->g->exprs, p->k),
            text(o, et_var_extent(o->p->g->exprs, p->k)));
    fprintf(o->to, "    a = %s\n    b = %s\n", text(o, p->a), text(o, p->b));
}

static void print_group(struct out *o, const et_group *gr) {
    const et_exprs *x = o->p->g->exprs;
    fprintf(o->to, "group @%s ", gr->name);
    print_axes(o, gr->rank, gr->axis);
    fprintf(o->to, " {\n");
    for (int i = 0; i < gr->nproduct; i++)
        print_product(o, &gr->product[i]);
    if (gr->kind == ET_GROUP_ATTEND) {
        fprintf(o->to, "  attend %s < %s, %s < %s shared %d extent %s where %s scale %.9g\n",
                et_var_name(x, gr->gvar), text(o, et_var_extent(x, gr->gvar)),
                et_var_name(x, gr->pvar), text(o, et_var_extent(x, gr->pvar)), gr->shared,
                text(o, gr->pextent), text(o, gr->live), gr->scale);
        fprintf(o->to, "    q = %s\n    k = %s\n    v = %s\n", text(o, gr->q), text(o, gr->k),
                text(o, gr->v));
    }
    fprintf(o->to, "  ");
    print_place(o, &gr->to);
    if (gr->kind == ET_GROUP_STORE) fprintf(o->to, " = %s", text(o, gr->value));
    if (gr->mask.id) fprintf(o->to, " where %s", text(o, gr->mask));
    fprintf(o->to, "\n}\n");
}

static void print_func(struct out *o, const et_func *f) {
    const et_exprs *x = o->p->g->exprs;
    o->f = f;
    fprintf(o->to, "func @%s(", f->name);
    for (int i = 0; i < f->ncoords; i++)
        fprintf(o->to, "%s%s", i ? ", " : "", et_var_name(x, f->coord[i]));
    fprintf(o->to, ") lds %d {\n", f->lds_bytes);
    for (int i = 0; i < f->nlocals; i++) {
        const et_local *l = &f->locals[i];
        fprintf(o->to, "  local $%s : %s[", l->name, et_dtype_name(l->dtype));
        for (int k = 0; k < l->rank; k++)
            fprintf(o->to, "%s%d", k ? ", " : "", l->dim[k]);
        fprintf(o->to, "] pitch %d at %d\n", l->pitch, l->offset);
    }
    for (int i = 0; i < f->nsteps; i++)
        print_step(o, &f->steps[i]);
    fprintf(o->to, "}\n");
}

static void print_box(struct out *o, const et_event *e, const et_expr *lo, const et_expr *hi) {
    fprintf(o->to, "%%%s[", e->name);
    for (int i = 0; i < e->rank; i++) {
        fprintf(o->to, "%s%s", i ? ", " : "", text(o, lo[i]));
        if (!et_expr_eq(lo[i], hi[i])) fprintf(o->to, " .. %s", text(o, hi[i]));
    }
    fprintf(o->to, "]");
}

static const char *when_text(et_when w) {
    static const char *const t[] = {"", " when first", " when later", " when last"};
    return t[w];
}

static void print_grid(struct out *o, const et_grid *g, int depth) {
    const et_func *f = &o->p->funcs[g->func];
    o->f = f;
    fprintf(o->to, "%*stask %s = @%s [", depth * 2, "", g->name, f->name);
    for (int i = 0; i < f->ncoords; i++)
        fprintf(o->to, "%s%s < %s", i ? ", " : "", et_var_name(o->p->g->exprs, f->coord[i]),
                text(o, g->extent[i]));
    fprintf(o->to, "]\n");
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        fprintf(o->to, "%*swait ", depth * 2 + 2, "");
        print_box(o, &o->p->events[w->event], w->lo, w->hi);
        fprintf(o->to, "%s\n", when_text(w->when));
    }
    for (int i = 0; i < g->nnotifies; i++) {
        const et_notify *n = &g->notifies[i];
        fprintf(o->to, "%*snotify ", depth * 2 + 2, "");
        print_box(o, &o->p->events[n->event], n->index, n->index);
        fprintf(o->to, "%s\n", when_text(n->when));
    }
}

static void print_items(struct out *o, int first, int count, int depth) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &o->p->items[i];
        if (it->kind == ET_P_GRID && !o->p->ngrids) {
            fprintf(o->to, "%*sgroup @%s\n", depth * 2, "", o->p->groups[it->index].name);
            continue;
        }
        if (it->kind == ET_P_GRID) {
            print_grid(o, &o->p->grids[it->index], depth);
            continue;
        }
        const et_loop *l = &o->p->g->loops[it->index];
        fprintf(o->to, "%*sloop %s in %" PRId64 "..%" PRId64 " {\n", depth * 2, "", l->name, l->lo,
                l->hi);
        print_items(o, it->first, it->count, depth + 1);
        fprintf(o->to, "%*s}\n", depth * 2, "");
    }
}

void et_program_print(et_program *p, FILE *to) {
    struct out o = {.p = p, .to = to};
    const et_exprs *x = p->g->exprs;
    fprintf(to, "eti 1 %s\nmodel %s\n", p->stage, p->g->name);
    for (int i = 0; i < et_sym_count(x); i++) {
        int64_t lo, hi;
        et_sym_range(x, i, &lo, &hi);
        fprintf(to, "dim %s in %" PRId64 "..%" PRId64 "\n", et_sym_name(x, i), lo, hi);
    }
    for (int i = 0; i < p->ntensors; i++)
        print_tensor(&o, &p->tensors[i]);
    for (int i = 0; i < p->ngroups && !p->ngrids; i++)
        print_group(&o, &p->groups[i]);
    for (int i = 0; i < p->nfuncs; i++)
        print_func(&o, &p->funcs[i]);
    for (int i = 0; i < p->nevents; i++) {
        const et_event *e = &p->events[i];
        fprintf(to, "event %%%s[", e->name);
        for (int k = 0; k < e->rank; k++)
            fprintf(to, "%s%s", k ? ", " : "", text(&o, e->dim[k]));
        fprintf(to, "] count %s scope %s at %d\n", text(&o, e->count), et_scope_name(e->scope),
                e->base);
    }
    if (p->workspace_bytes) fprintf(to, "workspace %" PRId64 "\n", p->workspace_bytes);
    fprintf(to, "schedule %s {\n", p->schedule);
    print_items(&o, p->first, p->count, 1);
    fprintf(to, "}\n");
}
