/* Loops. A name that has a value before the loop and is assigned inside it is carried around it. */
#include "frontend/sema/sema.h"

typedef struct {
    et_binding *name;
    et_value in; /* none: its initial value was an error, and so is what follows the loop */
    et_value out;
} carry;

typedef struct {
    carry *v;
    int n, cap;
} carries;

static void find_carries(et_sema *s, const et_stm *stm, carries *c) {
    for (int i = 0; i < stm->nbody; i++) {
        const et_stm *inner = stm->body[i];
        if (inner->kind == ET_ST_FOR) find_carries(s, inner, c);
        if (inner->kind != ET_ST_ASSIGN || inner->target || !inner->nnames) continue;
        for (int k = 0; k < inner->nnames; k++) {
            et_binding *b = et_name_find(s, inner->names[k].text);
            if (!b || b->kind != ET_N_VALUE || b->poison || b->carried) continue;
            b->carried = true;
            ET_GROW(s->arena, c->v, c->n, c->cap);
            c->v[c->n++] = (carry){.name = b};
        }
    }
}

/* Where a loop ends, END, in the launches that reach furthest, *HI. */
static bool check_end(et_sema *s, et_loc loc, et_expr end, int64_t lo, int64_t *hi) {
    int64_t least;
    const char *text = et_sema_text(s, end);
    if (!et_bounds(s->x, end, &least, hi)) return false;
    if (!et_expr_is_known(s->x, end))
        return et_sema_error(s, loc, "a loop ends where consts and dims say, this is %s", text);
    if (*hi > INT32_MAX) return et_sema_error(s, loc, "more than %d iterations", INT32_MAX);
    if (lo < least) return true;
    if (least == *hi)
        return et_sema_error(s, loc,
                             "a loop from %lld up to but not including %lld has no iterations",
                             (long long)lo, (long long)*hi);
    return et_sema_error(s, loc,
                         "a loop from %lld up to but not including %s has no iterations where "
                         "that is %lld: every launch needs one",
                         (long long)lo, text, (long long)least);
}

static bool bounds(et_sema *s, const et_stm *stm, int64_t *lo, int64_t *hi, et_expr *trips) {
    et_expr end;
    if (!stm->lo || !stm->hi) return false;
    bool ok = et_sema_int(s, stm->lo, lo);
    ok &= et_sema_size(s, stm->hi, &end);
    if (!ok) return false;
    if (*lo < 0)
        return et_sema_error(s, stm->lo->loc, "a loop starts at 0 or above, this is %lld",
                             (long long)*lo);
    *trips = et_sub(s->x, end, et_int(s->x, *lo));
    return check_end(s, stm->hi->loc, end, *lo, hi);
}

/* Before the loop: what each carried name starts as, placed in the block around the loop. */
static void place_initial(et_sema *s, carries *c) {
    for (int i = 0; i < c->n; i++) {
        et_binding *b = c->v[i].name;
        b->carried = false;
        b->poison = !et_elem_place(s, b->assigned, &b->elem, &c->v[i].in);
    }
}

static void open_carries(et_sema *s, int loop, carries *c) {
    for (int i = 0; i < c->n; i++) {
        et_binding *b = c->v[i].name;
        if (!c->v[i].in.id) continue;
        c->v[i].in = et_graph_carry(s->graph, loop, c->v[i].in);
        et_val_of(s->graph, c->v[i].in)->name = et_graph_name(s->graph, b->name);
        b->elem = et_elem_value(s, c->v[i].in);
    }
}

static bool same_shape(et_sema *s, const carry *c, et_loc loop_loc) {
    et_shape in = et_val_of(s->graph, c->in)->shape, out = c->name->elem.shape;
    if (c->name->elem.type != ET_T_PRED && et_shape_eq(&in, &out)) return true;
    et_sema_error(s, c->name->assigned, "'%s' is %s before the loop and %s after an iteration",
                  c->name->name, et_shape_text(s->x, &in), et_sema_shape_text(s, &c->name->elem));
    et_sema_note(s, loop_loc,
                 in.dtype != out.dtype && in.rank == out.rank
                     ? "a value carried around a loop keeps its type: convert it before the loop"
                     : "a value carried around a loop keeps its shape: another name for what lives "
                       "inside an iteration avoids that");
    return false;
}

/* Every carry ends in a node of its own in the loop's body. */
static bool final_value(et_sema *s, int loop, carries *c, int i) {
    carry *k = &c->v[i];
    et_loc loc = k->name->assigned;
    if (!et_elem_place(s, loc, &k->name->elem, &k->out)) return false;
    bool own = et_val_of(s->graph, k->out)->kind == ET_V_NODE && et_sema_home(s, k->out) == loop;
    for (int j = 0; j < i; j++)
        own &= c->v[j].out.id != k->out.id;
    return own || et_elem_copy(s, loc, k->out, &k->out);
}

static void close_carries(et_sema *s, int loop, et_loc loop_loc, carries *c) {
    for (int i = 0; i < c->n; i++) {
        et_binding *b = c->v[i].name;
        b->poison |= !c->v[i].in.id;
        if (b->poison) continue;
        b->poison = !same_shape(s, &c->v[i], loop_loc) || !final_value(s, loop, c, i);
    }
    for (int i = 0; i < c->n; i++) {
        et_binding *b = c->v[i].name;
        et_value result;
        if (b->poison) continue;
        b->poison =
            !et_graph_carry_close(s->graph, loop, c->v[i].in, c->v[i].out, b->assigned, &result);
        if (!b->poison) b->elem = et_elem_value(s, result);
    }
}

static void forget_tables(et_sema *s, int loop) {
    int n = 0;
    for (int i = 0; i < s->nropes; i++)
        if (s->ropes[i].loop != loop) s->ropes[n++] = s->ropes[i];
    s->nropes = n;
}

static void bind_variable(et_sema *s, const et_stm *stm, int loop, int64_t lo) {
    if (!stm->nnames) return;
    et_binding *b = et_name_add(s, &stm->names[0], ET_N_LOOP);
    if (!b) return;
    b->poison = stm->bad;
    et_expr var = et_var(s->x, s->graph->loops[loop].var);
    b->elem = et_elem_scalar(s, et_add(s->x, var, et_int(s->x, lo)));
}

void et_sema_loop(et_sema *s, const et_stm *stm) {
    int64_t lo = 0, hi = 1;
    et_expr trips;
    if (!bounds(s, stm, &lo, &hi, &trips)) /* go on, for what is wrong in the body */
        lo = 0, hi = 1, trips = et_int(s->x, 1);
    if (s->nloops == ET_MAX_LOOPS) {
        et_sema_error(s, stm->loc, "more than %d loops within each other", ET_MAX_LOOPS);
        return;
    }
    carries c = {0};
    find_carries(s, stm, &c);
    place_initial(s, &c);
    int outer = s->loop;
    int loop =
        et_graph_loop_until(s->graph, et_sema_block(s, outer),
                            stm->nnames ? stm->names[0].text : "", outer, lo, hi, trips, stm->loc);
    s->loop = loop;
    s->nloops++;
    open_carries(s, loop, &c);
    bind_variable(s, stm, loop, lo);
    for (int i = 0; i < stm->nbody; i++)
        et_sema_statement(s, stm->body[i]);
    close_carries(s, loop, stm->loc, &c);
    et_names_leave_loop(s, loop);
    forget_tables(s, loop);
    s->loop = outer;
    s->nloops--;
}
