/* The textual form of the stages after `graph`. */
#include "ir/base/text.h"
#include "ir/program/program.h"
#include "ir/program/step.h"
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

static const char *loop_label(const struct out *o, int loop) {
    return et_var_name(o->p->g->exprs, o->p->g->loops[loop].var);
}

static void print_loop(struct out *o, const et_loop *l) {
    if (l->stacks) return; /* told by the weights */
    fprintf(o->to, "loop %s in 0..%" PRId64, et_var_name(o->p->g->exprs, l->var), l->hi - l->lo);
    if (et_loop_varies(o->p->g, l)) fprintf(o->to, " until %s", text(o, l->trips));
    if (l->lo) fprintf(o->to, " from %" PRId64, l->lo);
    if (l->parent >= 0) fprintf(o->to, " within %s", loop_label(o, l->parent));
    fprintf(o->to, "\n");
}

static void print_relaid(struct out *o, const et_relaid *t) {
    fprintf(o->to, " turned [");
    for (int d = 0; d < t->rank; d++)
        fprintf(o->to, "%s%s", d ? ", " : "", text(o, t->dim[d]));
    fprintf(o->to, "] [");
    for (int d = 0; d < t->rank; d++)
        fprintf(o->to, "%s%d", d ? ", " : "", t->order[d]);
    fprintf(o->to, "]");
}

static void print_tensor(struct out *o, const et_tensor *t) {
    static const char *const kind[] = {"input", "output", "weight", "state", "const", "temp"};
    fprintf(o->to, "%s %%%s : ", kind[t->kind], t->name);
    print_dims(o, &t->shape);
    if (t->source) {
        fprintf(o->to, " = ");
        et_put_string(o->to, t->source);
    }
    for (int i = 0; i < t->nloops && !o->p->g->loops[t->loops[i]].stacks; i++)
        fprintf(o->to, "%s%s", i ? ", " : " over ", loop_label(o, t->loops[i]));
    et_stacks_print(o->p->g, t->nloops, t->loops, o->to);
    if (t->relaid) print_relaid(o, t->relaid);
    if (t->kind == ET_TENSOR_CONST) et_shape_data_print(o->p->g->exprs, &t->shape, t->data, o->to);
    et_device_cut_print(&t->cut, o->to);
    if (t->host) fprintf(o->to, " host %d", t->host);
    if (t->carried) fprintf(o->to, " carried %s", loop_label(o, t->carried - 1));
    if (t->partial) fprintf(o->to, " partial");
    if (t->own) fprintf(o->to, " own %d", t->own - 1);
    if (t->flagged) fprintf(o->to, " flagged");
    if (t->dealt) fprintf(o->to, " dealt %d", t->dealt - 1);
    if (t->shared) fprintf(o->to, " shared");
    if (t->grouping.number)
        fprintf(o->to, " %s %d", t->grouping.pad ? "owners" : "places", t->grouping.number);
    if (t->grouping.pad) fprintf(o->to, " by %d", t->grouping.pad);
    if (t->tagged) fprintf(o->to, " tagged");
    if (t->kind == ET_TENSOR_TEMP && o->p->workspace_bytes)
        fprintf(o->to, " at %" PRId64, t->offset);
    fprintf(o->to, "\n");
}

static void print_var(struct out *o, int var) {
    const et_exprs *x = o->p->g->exprs;
    fprintf(o->to, "%s < %s", et_var_name(x, var), text(o, et_var_extent(x, var)));
}

static void print_vars(struct out *o, int n, const int *vars) {
    for (int i = 0; i < n; i++) {
        fprintf(o->to, "%s", i ? ", " : "");
        print_var(o, vars[i]);
    }
}

static void print_axes(struct out *o, int n, const int *vars) {
    fprintf(o->to, "[");
    print_vars(o, n, vars);
    fprintf(o->to, "]");
}

static void print_where(struct out *o, et_expr mask) {
    if (mask.id) fprintf(o->to, " where %s", text(o, mask));
}

static void print_place(struct out *o, const et_place *p) {
    fprintf(o->to, "%s[", place_name(o, p->space, p->id));
    for (int i = 0; i < p->rank; i++)
        fprintf(o->to, "%s%s", i ? ", " : "", text(o, p->index[i]));
    fprintf(o->to, "]");
}

static const char *local_name(const struct out *o, int local) {
    return o->f->locals[local].name;
}

/* How far VAR runs where that is not what it was declared with. */
static void print_extent(struct out *o, int var, et_expr extent) {
    if (!et_expr_eq(et_var_extent(o->p->g->exprs, var), extent))
        fprintf(o->to, " extent %s", text(o, extent));
}

static void print_options(struct out *o, et_plan_options_of of, const void *plan) {
    int n;
    const et_plan_option *all = et_plan_options(of, &n);
    for (int i = 0; i < n; i++) {
        int is = et_plan_get(&all[i], plan);
        if (is == all[i].unsaid) continue;
        fprintf(o->to, " %s", all[i].name);
        if (all[i].kind == ET_PLAN_NUMBER) fprintf(o->to, " %d", is);
        if (all[i].kind == ET_PLAN_CHOICE) fprintf(o->to, " %s", et_plan_word(all[i].words, is));
    }
}

static void print_plan(struct out *o, et_plan_of which, const et_product_plan *w) {
    if (!w->made) return;
    fprintf(o->to, "    %s rows %s %d weights %s %d decode %s chunk %d lane %d sums %d",
            et_plan_word(ET_PLAN_WORD_PLAN, which), et_plan_word(ET_PLAN_WORD_ROWS, w->rows),
            w->rows_depth, et_plan_word(ET_PLAN_WORD_WEIGHTS, w->weights), w->depth,
            et_plan_word(ET_PLAN_WORD_DECODE, w->decode), w->chunk, w->lane_k, w->sets);
    print_options(o, ET_OPTIONS_PRODUCT, w);
    fprintf(o->to, "\n");
}

static void print_contract(struct out *o, const et_step *s) {
    FILE *f = o->to;
    fprintf(f, "  contract %s [", et_dtype_name(s->operand));
    print_var(o, s->mvar);
    fprintf(f, " live %s, ", text(o, s->mlive));
    print_var(o, s->nvar);
    fprintf(f, " live %s] over ", text(o, s->nlive));
    print_var(o, s->kvar);
    print_extent(o, s->kvar, s->kextent);
    if (!s->plan[ET_PLAN_MAIN].made) fprintf(f, " by %d", et_step_declared_k(o->f, s));
    fprintf(f, " waves %d * %d", s->wn, s->wk);
    if (s->wm > 1) fprintf(f, " * %d", s->wm);
    fprintf(f, " stage $%s", local_name(o, s->stage_a));
    if (s->stage_b >= 0) fprintf(f, ", $%s", local_name(o, s->stage_b));
    fprintf(f, "\n");
    for (int i = 0; i < ET_PLANS; i++)
        print_plan(o, i, &s->plan[i]);
    fprintf(f, "    a = %s\n", text(o, s->a));
    for (int i = 0; i < s->nacc; i++)
        fprintf(f, "    $%s += a * %s\n", local_name(o, s->acc[i]), text(o, s->b[i]));
}

/* What is as it would be without being said is not. */
static void print_parts(struct out *o, const et_expr part[ET_AT_PARTS]) {
    et_exprs *x = o->p->g->exprs;
    for (int i = 0; i < ET_AT_PARTS; i++) {
        bool plain = (i == ET_AT_FIRST && et_expr_eq(part[i], et_int(x, 0))) ||
                     (i == ET_AT_SCORE && et_expr_eq(part[i], et_arg(x, ET_ARG_QK, ET_T_F32)));
        if (part[i].id && !plain)
            fprintf(o->to, "    %s = %s\n", et_attention_rows[i].name, text(o, part[i]));
    }
}

static void print_attend_plan(struct out *o, const et_attend_plan *w) {
    FILE *f = o->to;
    if (!w->made) return;
    fprintf(f, "    plan %s", et_plan_word(ET_PLAN_WORD_ATTEND_BY, w->by));
    if (w->by <= ET_ATTEND_BY_COLUMNS) fprintf(f, " heads %d", w->heads);
    if (w->by == ET_ATTEND_BY_LANES) fprintf(f, " lane %d", w->lane_d);
    if (w->by >= ET_ATTEND_BY_ROWS) fprintf(f, " waves %d", w->waves);
    fprintf(f, " positions %d depth %d", w->block.positions, w->block.depth);
    if (w->rest.positions)
        fprintf(f, " rest positions %d depth %d", w->rest.positions, w->rest.depth);
    if (w->early) fprintf(f, " early %s", et_plan_word(ET_PLAN_WORD_ATTEND_EARLY, w->early));
    if (w->alone) fprintf(f, " alone");
    fprintf(f, "\n");
}

static void print_attend(struct out *o, const et_step *s) {
    int vars[] = {s->hvar, s->dvar};
    fprintf(o->to, "  attend ");
    print_axes(o, 2, vars);
    if (s->rows) {
        fprintf(o->to, " rows [");
        print_var(o, s->ivar[0]);
        fprintf(o->to, " live %s]", text(o, s->ilive));
    }
    fprintf(o->to, " over ");
    print_var(o, s->pvar);
    fprintf(o->to, " scratch $%s\n", local_name(o, s->scratch));
    print_attend_plan(o, &s->attend);
    print_parts(o, s->part);
    fprintf(o->to, "    into $%s\n", local_name(o, s->out));
}

static void print_map_plan(struct out *o, const et_map_plan *w) {
    fprintf(o->to, "\n    plan vector %d", w->vector);
    print_options(o, ET_OPTIONS_MAP, w);
}

static void print_reduce_plan(struct out *o, const et_reduce_plan *w) {
    fprintf(o->to, "\n    plan lanes %d vector %d unroll %d", w->lanes, w->vector, w->unroll);
    print_options(o, ET_OPTIONS_REDUCE, w);
}

static void print_map_or_reduce(struct out *o, const et_step *s) {
    bool reduce = s->kind == ET_STEP_REDUCE;
    fprintf(o->to, "  %s ", et_step_name(s->kind));
    if (reduce) fprintf(o->to, "%s ", et_reduce_text(s->red));
    print_axes(o, s->nvars, s->vars);
    print_where(o, s->mask);
    if (s->promised) fprintf(o->to, " promised");
    if (reduce) {
        fprintf(o->to, " over ");
        print_var(o, s->rvar);
        print_extent(o, s->rvar, s->rextent);
    }
    if (s->tag.id) fprintf(o->to, " tag %s", text(o, s->tag));
    if (s->map.made) print_map_plan(o, &s->map);
    if (s->reduce.made) print_reduce_plan(o, &s->reduce);
    fprintf(o->to, "\n    ");
    print_place(o, &s->to);
    fprintf(o->to, " = %s\n", text(o, s->value));
}

/* Of a step or a group. */
static void print_scan_parts(struct out *o, const et_place *state, const et_expr *part) {
    fprintf(o->to, "    state ");
    print_place(o, state);
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (part[i].id) fprintf(o->to, "\n    %s = %s", et_scan_rows[i].name, text(o, part[i]));
    fprintf(o->to, "\n");
}

static void print_scan(struct out *o, const et_step *s) {
    fprintf(o->to, "  scan ");
    print_axes(o, s->nvars, s->vars);
    print_where(o, s->mask);
    fprintf(o->to, " over ");
    print_var(o, s->rvar);
    print_extent(o, s->rvar, s->rextent);
    fprintf(o->to, ", ");
    print_var(o, s->evar);
    fprintf(o->to, " lanes %d", s->lanes);
    if (s->ahead) fprintf(o->to, " ahead %d", s->ahead);
    if (s->window) fprintf(o->to, " window");
    if (s->chunk) fprintf(o->to, " chunk %d scratch $%s", s->chunk, local_name(o, s->scratch));
    fprintf(o->to, "\n");
    print_scan_parts(o, &s->state, s->scan);
    fprintf(o->to, "    into ");
    print_place(o, &s->to);
    fprintf(o->to, "\n");
}

static void print_step(struct out *o, const et_step *s) {
    static void (*const print[])(struct out *, const et_step *) = {
        [ET_STEP_MAP] = print_map_or_reduce, [ET_STEP_REDUCE] = print_map_or_reduce,
        [ET_STEP_CONTRACT] = print_contract, [ET_STEP_ATTEND] = print_attend,
        [ET_STEP_SCAN] = print_scan,
    };
    print[s->kind](o, s);
}

static void print_product(struct out *o, const et_product *p) {
    int vars[ET_MAX_RANK + 1], n = 0;
    for (; n < p->nbatch; n++)
        vars[n] = p->batch[n];
    vars[n++] = p->m;
    vars[n++] = p->n;
    fprintf(o->to, "  product %s : %s ", p->name, et_dtype_name(p->operand));
    print_axes(o, n, vars);
    fprintf(o->to, " over ");
    print_var(o, p->k);
    fprintf(o->to, "\n    a = %s\n    b = %s\n", text(o, p->a), text(o, p->b));
}

static void print_group_attend(struct out *o, const et_group *gr) {
    fprintf(o->to, "  attend ");
    print_var(o, gr->gvar);
    fprintf(o->to, " shared %d over ", gr->shared);
    print_var(o, gr->pvar);
    fprintf(o->to, "\n");
    print_parts(o, gr->part);
}

static void print_group_scan(struct out *o, const et_group *gr) {
    fprintf(o->to, "  scan ");
    print_var(o, gr->pvar);
    fprintf(o->to, "\n");
    print_scan_parts(o, &gr->state, gr->scan);
}

static void print_hint(struct out *o, const et_group *gr) {
    bool any = false;
    for (int i = 0; i < gr->rank; i++)
        any |= gr->tile[i] > 0;
    if (!any) return;
    for (int i = 0; i < gr->rank; i++)
        fprintf(o->to, "%s%d", i ? ", " : " tile [", gr->tile[i]);
    fprintf(o->to, "]");
}

static void print_range(struct out *o, et_share s) {
    if (s.to) fprintf(o->to, " range [%.7g, %.7g]", s.from / 1e6, s.to / 1e6);
}

static void print_slice(struct out *o, et_slice s, const int *var) {
    if (s.count)
        fprintf(o->to, " slice %s of %d", et_var_name(o->p->g->exprs, var[s.coord]), s.count);
}

static void print_group(struct out *o, const et_group *gr) {
    fprintf(o->to, "group @%s ", gr->name);
    print_axes(o, gr->rank, gr->axis);
    print_hint(o, gr);
    print_range(o, gr->range);
    print_slice(o, gr->slice, gr->axis);
    if (gr->dealt) fprintf(o->to, " dealt");
    fprintf(o->to, "%s%s {\n", gr->hint ? " " : "", et_hint_name(gr->hint));
    for (int i = 0; i < gr->nproduct; i++)
        print_product(o, &gr->product[i]);
    if (gr->kind == ET_GROUP_ATTEND) print_group_attend(o, gr);
    if (gr->kind == ET_GROUP_SCAN) print_group_scan(o, gr);
    fprintf(o->to, gr->kind != ET_GROUP_STORE ? "  into " : "  ");
    print_place(o, &gr->to);
    if (gr->kind == ET_GROUP_STORE) fprintf(o->to, " = %s", text(o, gr->value));
    print_where(o, gr->mask);
    fprintf(o->to, "\n}\n");
}

static void print_func(struct out *o, const et_func *f) {
    o->f = f;
    fprintf(o->to, "func @%s ", f->name);
    print_axes(o, f->ncoords, f->coord);
    fprintf(o->to, " lds %d {\n", f->lds_bytes);
    for (int i = 0; i < f->nlocals; i++) {
        const et_local *l = &f->locals[i];
        fprintf(o->to, "  local $%s : %s[", l->name, et_dtype_name(l->dtype));
        for (int k = 0; k < l->rank; k++)
            fprintf(o->to, "%s%d", k ? ", " : "", l->dim[k]);
        fprintf(o->to, "] pitch %d", l->pitch);
        if (l->rows) fprintf(o->to, " rows %d", l->rows);
        if (l->slot)
            fprintf(o->to, " slot\n");
        else
            fprintf(o->to, " at %d\n", l->offset);
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

static void print_for(struct out *o, int n, const int *vars) {
    if (!n) return;
    fprintf(o->to, " for ");
    print_vars(o, n, vars);
}

static const char *when_text(et_when w) {
    static const char *const t[] = {"", " when first", " when later", " when last"};
    return t[w];
}

static void print_waits(struct out *o, const char *word, const et_wait *w, int n, int depth) {
    for (int i = 0; i < n; i++, w++) {
        fprintf(o->to, "%*s%s ", depth * 2 + 2, "", word);
        print_box(o, &o->p->events[w->event], w->lo, w->hi);
        print_for(o, w->nvars, w->vars);
        fprintf(o->to, "%s\n", when_text(w->when));
    }
}

static void print_grid(struct out *o, const et_grid *g, int depth) {
    const et_func *f = &o->p->funcs[g->func];
    o->f = f;
    fprintf(o->to, "%*stask @%s = @%s [", depth * 2, "", g->name, f->name);
    for (int i = 0; i < f->ncoords; i++)
        fprintf(o->to, "%s%s < %s", i ? ", " : "", et_var_name(o->p->g->exprs, f->coord[i]),
                text(o, g->extent[i]));
    et_hint hint = g->dynamic ? ET_HINT_DYNAMIC : g->hint;
    fputc(']', o->to);
    print_range(o, g->range);
    print_slice(o, g->slice, f->coord);
    if (g->deal.rows) fprintf(o->to, " dealt %d", g->deal.rows);
    if (g->deal.rows && g->deal.coord >= 0)
        fprintf(o->to, " along %s", et_var_name(o->p->g->exprs, f->coord[g->deal.coord]));
    fprintf(o->to, "%s%s%s%s%s%s", hint ? " " : "", et_hint_name(hint), g->early ? " early" : "",
            g->streamed ? " streamed" : "", g->deep ? " deep" : "", g->calm ? " calm" : "");
    if (g->order) fprintf(o->to, " order %s", et_plan_word(ET_PLAN_WORD_TILES, g->order));
    if (g->behind) fprintf(o->to, " behind %d", g->behind);
    if (et_order_is_own(g->order))
        fprintf(o->to, " along %s", et_var_name(o->p->g->exprs, f->coord[g->along]));
    if (g->apart) fputs(" apart", o->to);
    fputc('\n', o->to);
    print_waits(o, "await", g->awaits, g->nawaits, depth);
    print_waits(o, "wait", g->waits, g->nwaits, depth);
    for (int i = 0; i < g->nnotifies; i++) {
        const et_notify *n = &g->notifies[i];
        fprintf(o->to, "%*snotify ", depth * 2 + 2, "");
        print_box(o, &o->p->events[n->event], n->index, n->index);
        print_for(o, n->nvars, n->vars);
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
        fprintf(o->to, "%*sloop %s {\n", depth * 2, "", loop_label(o, it->index));
        print_items(o, it->first, it->count, depth + 1);
        fprintf(o->to, "%*s}\n", depth * 2, "");
    }
}

static void print_event(struct out *o, const et_event *e) {
    fprintf(o->to, "event %%%s[", e->name);
    for (int k = 0; k < e->rank; k++) {
        fprintf(o->to, "%s", k ? ", " : "");
        if (e->var[k]) fprintf(o->to, "%s < ", et_var_name(o->p->g->exprs, e->var[k] - 1));
        fprintf(o->to, "%s", text(o, e->dim[k]));
    }
    fprintf(o->to, "] count %s%s%s scope %s at %d\n", text(o, e->count),
            e->promised ? " promised" : "", e->unfenced ? " unfenced" : "", et_scope_name(e->scope),
            e->base);
}

void et_func_print(et_program *p, const et_func *f, FILE *to) {
    struct out o = {.p = p, .to = to};
    print_func(&o, f);
}

void et_task_print(et_program *p, int grid, FILE *to) {
    struct out o = {.p = p, .to = to};
    const et_grid *g = &p->grids[grid];
    print_func(&o, &p->funcs[g->func]);
    for (int i = 0; i < g->nwaits; i++)
        print_event(&o, &p->events[g->waits[i].event]);
    for (int i = 0; i < g->nnotifies; i++)
        print_event(&o, &p->events[g->notifies[i].event]);
    print_grid(&o, g, 0);
}

/* What the caller of a kernel with variants sees of it, then each variant. */
static void print_variants(struct out *o) {
    et_program *p = o->p;
    for (int i = 0; i < p->g->nloops; i++)
        print_loop(o, &p->g->loops[i]);
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].kind != ET_TENSOR_TEMP && p->tensors[i].kind != ET_TENSOR_CONST)
            print_tensor(o, &p->tensors[i]);
    for (int i = 0; i < p->nvariants; i++) {
        const et_variant *v = &p->variant[i];
        fprintf(o->to, "variant ");
        if (p->variant_sym >= 0)
            fprintf(o->to, "%s up to %" PRId64 " ", et_sym_name(p->g->exprs, p->variant_sym),
                    v->upto);
        if (v->most) fprintf(o->to, "on %d..%d ", v->least, v->most);
        fprintf(o->to, "{\n");
        et_program_print(p->variant[i].program, o->to);
        fprintf(o->to, "}\n");
    }
}

static void print_ring(const et_ring *r, FILE *to) {
    fprintf(to, "ring %d of %d flight %d", r->slots, r->bytes, r->flight);
    if (r->calm < r->flight) fprintf(to, " calm %d", r->calm);
    if (r->prefetch) fprintf(to, " prefetch %d", r->prefetch);
    if (r->producers > 1) fprintf(to, " producers %d", r->producers);
    fputc('\n', to);
}

void et_program_print(et_program *p, FILE *to) {
    struct out o = {.p = p, .to = to};
    et_header_print(p->g, et_stage_name(p->stage), to);
    if (p->nvariants) {
        print_variants(&o);
        return;
    }
    fprintf(to, "workgroup %d", p->workgroup);
    if (p->occupancy > 1) fprintf(to, " occupancy %d", p->occupancy);
    fprintf(to, "\n");
    if (p->workspace_bytes) fprintf(to, "workspace %" PRId64 "\n", p->workspace_bytes);
    if (p->ring.slots) print_ring(&p->ring, to);
    if (p->rows.id) fprintf(to, "rows %s by %d\n", text(&o, p->rows), p->deal_unit);
    for (int i = 0; i < p->g->nloops; i++)
        print_loop(&o, &p->g->loops[i]);
    for (int i = 0; i < p->ntensors; i++)
        print_tensor(&o, &p->tensors[i]);
    for (int i = 0; i < p->ngroups && !p->ngrids; i++)
        print_group(&o, &p->groups[i]);
    for (int i = 0; i < p->nfuncs; i++)
        print_func(&o, &p->funcs[i]);
    for (int i = 0; i < p->nevents; i++)
        print_event(&o, &p->events[i]);
    fprintf(to, "schedule %s {\n", et_schedule_name(p->schedule));
    print_items(&o, p->first, p->count, 1);
    fprintf(to, "}\n");
}
