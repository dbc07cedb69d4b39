/* Statements, in program order. */
#include "frontend/sema/sema.h"
#include <string.h>

static void poison_names(et_sema *s, const et_stm *stm) {
    for (int i = 0; i < stm->nnames; i++) {
        et_binding *b = et_name_find(s, stm->names[i].text);
        if (!b) b = et_name_add(s, &stm->names[i], ET_N_VALUE);
        if (b && (b->kind == ET_N_VALUE || stm->kind != ET_ST_ASSIGN)) b->poison = true;
    }
}

/* ---- declarations ---- */

static void dim(et_sema *s, const et_stm *stm) {
    int64_t lo, hi;
    bool ok = et_sema_int(s, stm->lo, &lo);
    ok &= et_sema_int(s, stm->hi, &hi);
    et_binding *b = et_name_add(s, &stm->names[0], ET_N_DIM);
    if (!b) return;
    if (ok && lo < 1)
        ok = et_sema_error(s, stm->lo->loc, "a dim is at least 1, this is %lld", (long long)lo);
    if (ok && lo > hi)
        ok = et_sema_error(s, stm->hi->loc, "the bounds of '%s' are reversed: %lld is above %lld",
                           b->name, (long long)lo, (long long)hi);
    if (ok && hi > INT32_MAX) ok = et_sema_error(s, stm->hi->loc, "a dim is at most %d", INT32_MAX);
    if (ok && et_sym_count(s->x) == ET_MAX_SYMS)
        ok = et_sema_error(s, stm->names[0].loc, "'%s' is one dim too many: at most %d", b->name,
                           ET_MAX_SYMS);
    b->poison = !ok;
    if (!ok) return;
    const char *name = et_graph_name(s->graph, b->name);
    /* What is known of a dim in a variant alone makes no const of it: that would have another type
     * and other values where it is divided. */
    bool several = lo < hi;
    if (s->narrow && strcmp(s->narrow, name) == 0) lo = s->narrow_lo, hi = s->narrow_hi;
    int sym = et_sym_add(s->x, name, lo, hi);
    if (several) et_sym_open(s->x, sym);
    b->elem = et_elem_scalar(s, et_sym(s->x, sym));
}

static void constant(et_sema *s, const et_stm *stm) {
    et_elem v;
    double ignored;
    bool ok = et_sema_eval(s, stm->expr, ET_IN_VALUE, &v);
    ok = ok && et_sema_settled(s, stm->expr->loc, v.body);
    if (ok && !et_elem_is_number(s, &v, &ignored))
        ok = et_sema_error(s, stm->expr->loc,
                           "a const is a number known when the program is "
                           "compiled, this is %s",
                           v.nargs ? et_sema_shape_text(s, &v) : et_sema_text(s, v.body));
    et_binding *b = et_name_add(s, &stm->names[0], ET_N_CONST);
    if (!b) return;
    b->poison = !ok;
    b->elem = v;
}

static void tensors(et_sema *s, const et_stm *stm) {
    et_shape shape;
    bool ok = et_sema_type(s, &stm->type, &shape), input = stm->kind == ET_ST_INPUT;
    const char *problem = ok ? et_shape_problem(s->x, &shape, false) : NULL;
    if (problem) ok = et_sema_error(s, stm->type.dtype.loc, "%s", problem);
    for (int i = 0; i < stm->nnames; i++) {
        const et_ident *id = &stm->names[i];
        et_binding *b = et_name_add(s, id, input ? ET_N_INPUT : ET_N_STATE);
        if (!b) continue;
        b->poison = !ok;
        if (ok)
            b->elem = et_elem_value(s, et_graph_value(s->graph, input ? ET_V_INPUT : ET_V_STATE,
                                                      et_graph_name(s->graph, id->text), &shape,
                                                      id->loc));
    }
}

/* ---- values ---- */

static bool reads_state(et_sema *s, const et_elem *e) {
    for (int i = 0; i < e->nargs; i++)
        if (et_val_of(s->graph, e->args[i])->kind == ET_V_STATE) return true;
    return false;
}

/* Make NAME mean E, which is placed in the graph unless it is a number or a comparison. What it
 * reads of a state is what the state holds now. */
static void bind_value(et_sema *s, et_binding *b, et_loc loc, const et_elem *e) {
    et_value v;
    b->poison = true;
    b->assigned = loc;
    if (e->nargs > 0 && (e->type != ET_T_PRED || reads_state(s, e))) {
        if (!et_elem_place(s, loc, e, &v)) return;
        if (et_val_of(s->graph, v)->kind == ET_V_STATE && !et_elem_copy(s, loc, v, &v)) return;
        et_val *val = et_val_of(s->graph, v);
        if (val->kind == ET_V_NODE && !val->name) val->name = et_graph_name(s->graph, b->name);
        b->elem = et_elem_value(s, v);
    } else {
        b->elem = *e;
    }
    b->poison = false;
}

/* The node that computes V takes the tile sizes of the statement's hint. */
static bool give_hint(et_sema *s, const et_ast *hint, et_value v) {
    et_node *n = et_node_of(s->graph, v);
    int rank = et_val_of(s->graph, v)->shape.rank;
    int64_t tile[ET_MAX_RANK];
    if (!n) return et_sema_error(s, hint->loc, "nothing is computed here that could be tiled");
    if (hint->n != rank)
        return et_sema_error(s, hint->loc, "%d tile size%s for a value with %d dimension%s",
                             hint->n, hint->n == 1 ? "" : "s", rank, rank == 1 ? "" : "s");
    for (int i = 0; i < rank; i++) {
        if (!et_sema_int(s, hint->kid[i], &tile[i])) return false;
        if (tile[i] < 0 || tile[i] > 4096)
            return et_sema_error(s, hint->kid[i]->loc,
                                 "a tile has from 1 to 4096 elements along a dimension, or 0 to "
                                 "leave it open");
    }
    et_graph_hint(s->graph, v, rank, tile);
    return true;
}

/* @range(0.5): the first half of the workgroups; @range(0.25, 0.75): those between. */
static bool give_range(et_sema *s, const et_ast *hint, et_value v) {
    double part[2] = {0, 1};
    if (!et_node_of(s->graph, v))
        return et_sema_error(s, hint->loc, "nothing is computed here that could be placed");
    if (hint->n > 2)
        return et_sema_error(s, hint->loc, "a range has one number, where it ends, or two");
    for (int i = 0; i < hint->n; i++)
        if (!et_sema_number(s, hint->kid[i], &part[hint->n == 1 ? 1 : i])) return false;
    et_share share = et_share_of(part[0], part[1]);
    if (!share.to)
        return et_sema_error(s, hint->loc,
                             "a range is a part of the GPU: from 0 to 1, and not empty");
    et_graph_hint_range(s->graph, v, share);
    return true;
}

/* The hints of a statement to the node that computes V. */
static bool give_hints(et_sema *s, const et_stm *stm, et_value v) {
    if (stm->hint && !give_hint(s, stm->hint, v)) return false;
    if (stm->range && !give_range(s, stm->range, v)) return false;
    if (!stm->dynamic) return true;
    if (!et_node_of(s->graph, v))
        return et_sema_error(s, stm->dynamic_loc,
                             "nothing is computed here that could be scheduled");
    et_graph_hint_dynamic(s->graph, v, stm->dynamic > 0);
    return true;
}

static bool hinted(et_sema *s, const et_stm *stm, et_elem *e) {
    et_value v;
    if (!stm->hint && !stm->range && !stm->dynamic) return true;
    if (!et_elem_place(s, stm->expr->loc, e, &v) || !give_hints(s, stm, v)) return false;
    *e = et_elem_value(s, v);
    return true;
}

static void assign_one(et_sema *s, const et_stm *stm, const et_ident *id, bool ok,
                       const et_elem *v) {
    et_binding *b = et_name_find(s, id->text);
    if (b && b->kind != ET_N_VALUE) {
        if (b->poison) return;
        et_sema_error(s, id->loc, "'%s' is %s and cannot be assigned", id->text,
                      et_name_kind_text(b->kind));
        if (b->kind == ET_N_STATE)
            et_sema_note(s, id->loc, "write %s[:] = ... to replace all of it", id->text);
        return;
    }
    if (!b || b->unknown) b = et_name_add(s, id, ET_N_VALUE);
    b->poison = true;
    if (ok) bind_value(s, b, stm->expr->loc, v);
}

static void assign(et_sema *s, const et_stm *stm) {
    et_elem v[ET_MAX_RESULTS] = {{0}};
    bool many = stm->nnames > 1;
    bool ok = many ? et_sema_call_many(s, stm->expr, stm->nnames, v)
                   : et_sema_eval(s, stm->expr, ET_IN_VALUE, &v[0]) && hinted(s, stm, &v[0]);
    if (many && stm->hint)
        ok = et_sema_error(s, stm->hint->loc, "a tile hint is for one value, not for several");
    for (int i = 0; i < stm->nnames; i++)
        for (int k = 0; k < i; k++)
            if (strcmp(stm->names[i].text, stm->names[k].text) == 0)
                ok = et_sema_error(s, stm->names[i].loc, "'%s' twice", stm->names[i].text);
    for (int i = 0; i < stm->nnames; i++)
        assign_one(s, stm, &stm->names[i], ok, &v[i < ET_MAX_RESULTS ? i : 0]);
}

static bool check_output(et_sema *s, const et_stm *stm, const et_elem *v) {
    et_shape want;
    const char *problem = et_shape_problem(s->x, &v->shape, false);
    if (problem) return et_sema_error(s, stm->expr->loc, "%s", problem);
    if (!stm->type.dtype.text) return true;
    if (!et_sema_type(s, &stm->type, &want)) return false;
    if (v->type != ET_T_PRED && et_shape_eq(&want, &v->shape)) return true;
    et_sema_error(s, stm->type.dtype.loc, "output '%s' is declared %s, but its value is %s",
                  stm->names[0].text, et_shape_text(s->x, &want), et_sema_shape_text(s, v));
    if (v->type != ET_T_PRED && want.rank == v->shape.rank && want.dtype != v->shape.dtype)
        et_sema_note(s, stm->expr->loc, "write %s(...) to convert it", et_dtype_name(want.dtype));
    return false;
}

static void output(et_sema *s, const et_stm *stm) {
    const et_ident *id = &stm->names[0];
    et_elem e;
    et_value v;
    s->has_effect = true;
    bool ok = et_sema_eval(s, stm->expr, ET_IN_VALUE, &e) && check_output(s, stm, &e) &&
              et_elem_place(s, stm->expr->loc, &e, &v);
    et_binding *b = et_name_find(s, id->text);
    if (b && b->kind == ET_N_VALUE) /* `output x = x` */
        b->kind = ET_N_OUTPUT;
    else
        b = et_name_add(s, id, ET_N_OUTPUT);
    if (!b) return;
    b->loc = id->loc;
    b->poison = !ok;
    b->unknown = false;
    if (!ok) return;
    et_graph_output(s->graph, v, et_graph_name(s->graph, b->name));
    give_hints(s, stm, s->graph->outputs[s->graph->noutputs - 1]);
    b->elem = et_elem_value(s, s->graph->outputs[s->graph->noutputs - 1]);
}

/* ---- dispatch ---- */

static void model(et_sema *s, const et_stm *stm) {
    if (s->has_model) et_sema_error(s, stm->loc, "a file has one 'model' statement");
    s->has_model = true;
    if (!s->mix)
        s->graph->name = stm->names[0].text;
    else if (!et_graph_model(s->graph, stm->names[0].text))
        et_sema_error(s, stm->loc, "more than %d models", ET_MAX_MODELS);
}

static void def(et_sema *s, const et_stm *stm) {
    et_sema_def(s, stm, false);
}

static const struct {
    const char *text;
    void (*run)(et_sema *, const et_stm *);
    bool in_loops;
} kinds[] = {
    [ET_ST_MODEL] = {"model", model, false},
    [ET_ST_DIM] = {"dim", dim, false},
    [ET_ST_CONST] = {"const", constant, false},
    [ET_ST_INPUT] = {"input", tensors, false},
    [ET_ST_WEIGHT] = {"weight", et_sema_weight, true},
    [ET_ST_STATE] = {"state", tensors, false},
    [ET_ST_DEF] = {"def", def, false},
    [ET_ST_FOR] = {"for", et_sema_loop, true},
    [ET_ST_OUTPUT] = {"output", output, false},
    [ET_ST_ASSIGN] = {"", assign, true},
};

void et_sema_statement(et_sema *s, const et_stm *stm) {
    if (et_diag_errors(s->diags) >= ET_MAX_ERRORS) return;
    if (!s->has_model && stm->kind != ET_ST_MODEL) {
        s->has_model = true;
        et_sema_error(s, stm->loc, "a program starts with 'model NAME'");
    }
    if (s->loop >= 0 && !kinds[stm->kind].in_loops) {
        et_sema_error(s, stm->loc, "'%s' must stand outside loops", kinds[stm->kind].text);
        poison_names(s, stm);
        return;
    }
    if (stm->kind == ET_ST_FOR || stm->kind == ET_ST_DEF) {
        kinds[stm->kind].run(s, stm); /* they have uses for what was read of them */
    } else if (stm->bad) {
        s->has_effect |= stm->kind == ET_ST_OUTPUT || stm->target;
        s->has_model |= stm->kind == ET_ST_MODEL;
        poison_names(s, stm);
    } else if (stm->target) {
        if (stm->hint || stm->range || stm->dynamic)
            et_sema_error(s,
                          stm->hint    ? stm->hint->loc
                          : stm->range ? stm->range->loc
                                       : stm->dynamic_loc,
                          "hints are for values, not for updates");
        et_sema_update(s, stm);
    } else {
        kinds[stm->kind].run(s, stm);
    }
}
