/* Windows of SCAN steps: an element of the state is what one of the last rows brought, so all rows
 * of a run are done at once, each by a work-item for a result (ir/product/scan.h). Sums are added
 * up in the order that lanes have, so that they have the same bits. */
#include "codegen/step/scan.h"
#include <string.h>

enum {
    FIRST_ARG = -3000, /* ARGs from here on stand for elements of rows */
    VALUES = 64,       /* elements of a work-item's rows, on their way at once */
    LOOKS = 8,         /* rows that a lane looks at at once, of a run's */
};

struct window {
    cg_scan *c;
    const et_scan_window *of;
    int row, source;            /* variables: of a result; of what it has an element of */
    int vars[ET_MAX_VARS];      /* for those of the step */
    int per_pass, rows;         /* of the workgroup, a row for each; of a work-item at once */
    val first, end, key, count; /* of the run */
    val fresh;                  /* i1, or NULL: it begins with zeros */
    val ok, at;                 /* i1: this work-item has a result; the row it has of a pass */
    val before[ET_SCAN_WINDOW]; /* the state then */
};

/* ---- runs ---- */

static val count_at(cg_scan *c, val row) {
    int mark = cg_scope(c->g);
    cg_bind(c->g, c->s->rvar, row, true);
    val v = cg_emit_i64(c->g, c->window.count);
    cg_scope_end(c->g, mark);
    return v;
}

static val is_fresh(cg_scan *c, val row, bool divergent) {
    cg *g = c->g;
    if (!c->s->scan[ET_SC_FRESH].id) return LLVMConstNull(g->i1);
    int mark = cg_scope(g);
    cg_bind(g, c->s->rvar, row, divergent);
    val v = cg_emit(g, c->s->scan[ET_SC_FRESH]);
    cg_scope_end(g, mark);
    return v;
}

/* i1: does ROW, one behind the first of the launch, go on with the one before it? */
static val goes_on(cg_scan *c, val row) {
    cg *g = c->g;
    val before = cg_addi(g, row, -1), key = cg_scan_key(c, row, true);
    val yes = cg_icmp(g, LLVMIntEQ, key, cg_scan_key(c, before, true));
    val next = LLVMBuildAdd(g->b, count_at(c, before), cg_i64(g, 1), "");
    yes = LLVMBuildAnd(g->b, yes, cg_icmp(g, LLVMIntEQ, count_at(c, row), next), "");
    yes = LLVMBuildAnd(g->b, yes, cg_icmp(g, LLVMIntSGE, key, LLVMConstNull(g->i64)), "");
    return LLVMBuildAnd(g->b, yes, LLVMBuildNot(g->b, is_fresh(c, row, true), ""), "");
}

val cg_scan_find_run(cg_scan *c, val row) {
    cg *g = c->g;
    val n = cg_emit_i32(g, c->s->rextent);
    block before = cg_here(g), head = cg_block(g, "find_run"), test = cg_block(g, "is_run"),
          over = cg_block(g, "no_run"), done = cg_block(g, "run_found");
    cg_br(g, head);
    cg_at(g, head);
    val at = LLVMBuildPhi(g->b, g->i32, "");
    val enough = cg_icmp(g, LLVMIntSLT, cg_addi(g, at, g->t->wave), n);
    cg_cond(g, enough, test, done);
    cg_at(g, test); /* from the last row on, so that none is looked at twice */
    val last = cg_addi(g, at, g->t->wave);
    val mask =
        cg_ballot(g, LLVMBuildNot(g->b, goes_on(c, LLVMBuildSub(g->b, last, g->lane, "")), ""));
    block tested = cg_here(g);
    cg_cond(g, cg_none(g, mask), done, over);
    cg_at(g, over);
    val next = cg_uniform(g, LLVMBuildSub(g->b, last, cg_first_lane(g, mask), ""));
    block here = cg_here(g);
    cg_br(g, head);
    LLVMAddIncoming(at, (val[]){row, next}, (block[]){before, here}, 2);
    cg_at(g, done);
    val found = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(found, (val[]){n, at}, (block[]){head, tested}, 2);
    return cg_uniform(g, found);
}

/* The first row behind FIRST that does not go on with the one before it, or the number of rows. */
static val end_of_run(cg_scan *c, val first) {
    cg *g = c->g;
    int wave = g->t->wave;
    val n = cg_emit_i32(g, c->s->rextent), last = cg_addi(g, n, -1);
    block before = cg_here(g), head = cg_block(g, "run"), done = cg_block(g, "run_ended");
    cg_br(g, head);
    cg_at(g, head);
    val at = LLVMBuildPhi(g->b, g->i32, ""), mask[LOOKS], ended = NULL;
    int mark = cg_scope(g);
    for (int k = 0; k < LOOKS; k++) {
        val row = cg_add(g, cg_addi(g, at, 1 + k * wave), g->lane);
        val past = cg_icmp(g, LLVMIntSGT, row, last);
        val on = goes_on(c, cg_select(g, past, last, row)); /* there are two rows */
        mask[k] = cg_ballot(g, LLVMBuildOr(g->b, past, LLVMBuildNot(g->b, on, ""), ""));
    }
    cg_scope_end(g, mark);
    val end = cg_addi(g, at, LOOKS * wave);
    for (int k = LOOKS - 1; k >= 0; k--) {
        val none = cg_none(g, mask[k]);
        val here = cg_add(g, cg_addi(g, at, 1 + k * wave), cg_first_lane(g, mask[k]));
        end = cg_select(g, none, end, here);
        ended = ended ? LLVMBuildOr(g->b, ended, LLVMBuildNot(g->b, none, ""), "")
                      : LLVMBuildNot(g->b, none, "");
    }
    block here = cg_here(g);
    LLVMAddIncoming(at, (val[]){first, cg_addi(g, at, LOOKS * wave)}, (block[]){before, here}, 2);
    cg_cond(g, ended, done, head);
    cg_at(g, done);
    return cg_uniform(g, end);
}

/* ---- elements ---- */

static et_expr of_item(const struct window *w, et_expr e) {
    const et_step *s = w->c->s;
    for (int i = 0; i < s->nvars; i++)
        e = et_subst_var(w->c->g->x, e, s->vars[i], et_var(w->c->g->x, w->vars[i]));
    return e;
}

/* E of the element J of the row in the variable ROW. */
static et_expr of_row(const struct window *w, et_expr e, int row, int j) {
    et_exprs *x = w->c->g->x;
    e = et_subst_var(x, of_item(w, e), w->c->s->evar, et_int(x, j));
    return et_subst_var(x, e, w->c->s->rvar, et_var(x, row));
}

static val state_at(const struct window *w, int j) {
    cg *g = w->c->g;
    const et_place *at = &w->c->s->state;
    et_expr e = et_subst_var(g->x, of_item(w, w->c->element), w->c->s->evar, et_int(g->x, j));
    return cg_address(g, at->space, at->id, et_add(g->x, et_var(g->x, w->c->key), e));
}

static void load_before(struct window *w) {
    cg *g = w->c->g;
    const et_place *at = &w->c->s->state;
    for (int j = 0; j < w->of->elements; j++) {
        cg_load_n(g, at->space, at->id, state_at(w, j), 1, 4, &w->before[j]);
        w->before[j] = cg_select(g, w->fresh, cg_f32(g, 0), w->before[j]);
    }
}

/* A row's count is known from the run's. */
static void bind_row(const struct window *w, val row) {
    cg *g = w->c->g;
    cg_bind(g, w->row, row, true);
    et_expr count = of_row(w, w->of->count, w->row, 0);
    val here = cg_add(g, w->count, LLVMBuildSub(g->b, row, w->first, ""));
    if (et_x(g->x, count)->op == ET_X_LOAD) cg_remember(g, count, here);
}

/* All elements behind ROW of the run. */
static void elements_of(const struct window *w, val row, val *out) {
    cg *g = w->c->g;
    et_exprs *x = g->x;
    int mark = cg_scope(g);
    bind_row(w, row);
    for (int j = 0; j < w->of->elements; j++) {
        et_expr count = of_row(w, w->of->count, w->row, j), all = et_int(x, w->of->elements);
        val ago = cg_emit_i32(g, et_op2(x, ET_X_MOD, et_sub(x, count, et_int(x, j)), all));
        val from = LLVMBuildSub(g->b, row, ago, "");
        val in = cg_icmp(g, LLVMIntSGE, from, w->first);
        int inner = cg_scope(g);
        cg_bind(g, w->source, cg_select(g, in, from, w->first), true);
        val brought = cg_emit_f32(g, of_row(w, w->of->brought, w->source, j));
        cg_scope_end(g, inner);
        out[j] = cg_select(g, in, brought, w->before[j]);
    }
    cg_scope_end(g, mark);
}

static et_expr number_state(void *ctx, et_exprs *x, et_expr leaf) {
    const et_node_x *n = et_x(x, leaf);
    if (n->op != ET_X_ARG || n->i != ET_ARG_STATE) return ET_NO_EXPR;
    return et_arg(x, *(const int *)ctx, ET_T_F32);
}

static val result_of(const struct window *w, val row, val *state) {
    cg *g = w->c->g;
    val v[ET_SCAN_WINDOW];
    int mark = cg_scope(g);
    bind_row(w, row);
    for (int j = 0; j < w->of->elements; j++) {
        int number = FIRST_ARG - j;
        cg_remember(g, et_arg(g->x, number, ET_T_F32), state[j]);
        et_expr e = of_row(w, w->c->s->scan[ET_SC_OUT], w->row, j);
        v[j] = cg_emit_f32(g, et_subst(g->x, e, number_state, &number));
    }
    val sum = cg_scan_sum(w->c, v);
    cg_scope_end(g, mark);
    return sum;
}

/* ---- a run ---- */

static void store_result(const struct window *w, val row, val v) {
    cg *g = w->c->g;
    const et_place *to = &w->c->s->to;
    et_expr index[ET_MAX_RANK];
    cg_if in;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, row, w->end));
    int mark = cg_scope(g);
    cg_bind(g, w->row, row, true);
    for (int i = 0; i < to->rank; i++)
        index[i] = of_row(w, to->index[i], w->row, 0);
    val ptr = cg_address(g, to->space, to->id, cg_offset(g, to->space, to->id, index));
    cg_store_n(g, to->space, to->id, ptr, 1, 1, &v);
    cg_scope_end(g, mark);
    cg_if_end(g, &in);
}

/* The rows of a work-item from BASE on: all their loads, then all sums, then all stores. */
static void some_rows(const struct window *w, val base) {
    cg *g = w->c->g;
    val row[ET_SCAN_RUN_ROWS], sum[ET_SCAN_RUN_ROWS], state[ET_SCAN_RUN_ROWS][ET_SCAN_WINDOW];
    val last = cg_addi(g, w->end, -1);
    for (int r = 0; r < w->rows; r++) {
        row[r] = cg_add(g, cg_addi(g, base, (int64_t)r * w->per_pass), w->at);
        val past = cg_icmp(g, LLVMIntSGT, row[r], last);
        elements_of(w, cg_select(g, past, last, row[r]), state[r]);
    }
    for (int r = 0; r < w->rows; r++) {
        val past = cg_icmp(g, LLVMIntSGT, row[r], last);
        sum[r] = result_of(w, cg_select(g, past, last, row[r]), state[r]);
    }
    for (int r = 0; r < w->rows; r++)
        store_result(w, row[r], sum[r]);
}

static void all_rows(struct window *w) {
    cg *g = w->c->g;
    val nothing = NULL;
    cg_for f;
    cg_if in;
    cg_if_begin(g, &in, w->ok);
    int mark = cg_scope(g);
    load_before(w);
    val base = cg_for_begin(g, &f, w->first, w->end, cg_i32(g, (int64_t)w->rows * w->per_pass),
                            true, 0, &nothing);
    int inner = cg_scope(g);
    some_rows(w, base);
    cg_scope_end(g, inner);
    cg_for_end(g, &f, &nothing);
    cg_scope_end(g, mark);
    cg_if_end(g, &in);
}

/* What the last row leaves, by the work-items that have the first of a pass. */
static void keep_state(struct window *w) {
    cg *g = w->c->g;
    const et_place *at = &w->c->s->state;
    val v[ET_SCAN_WINDOW], first = cg_icmp(g, LLVMIntEQ, w->at, cg_i32(g, 0));
    cg_if in;
    cg_if_begin(g, &in, LLVMBuildAnd(g->b, w->ok, first, ""));
    int mark = cg_scope(g);
    load_before(w);
    elements_of(w, cg_addi(g, w->end, -1), v);
    for (int j = 0; j < w->of->elements; j++)
        cg_store_n(g, at->space, at->id, state_at(w, j), 1, 4, &v[j]);
    cg_scope_end(g, mark);
    cg_if_end(g, &in);
}

static void begin(struct window *w, cg_scan *c, val first) {
    cg *g = c->g;
    const et_step *s = c->s;
    int all = (int)c->all;
    *w = (struct window){.c = c, .of = &c->window, .per_pass = g->p->workgroup / all};
    w->rows = VALUES / c->window.elements < ET_SCAN_RUN_ROWS ? VALUES / c->window.elements
                                                             : ET_SCAN_RUN_ROWS;
    w->row = et_var_add(g->x, "row", et_var_extent(g->x, s->rvar));
    w->source = et_var_add(g->x, "source", et_var_extent(g->x, s->rvar));
    for (int i = 0; i < s->nvars; i++)
        w->vars[i] = cg_fresh_var(g, "result", c->extent[i]);
    w->first = first;
    w->end = end_of_run(c, first);
    w->key = cg_scan_key(c, first, false);
    w->fresh = is_fresh(c, first, false);
    int mark = cg_scope(g);
    cg_bind(g, w->row, first, false);
    w->count = cg_emit_i32(g, of_row(w, w->of->count, w->row, 0));
    cg_scope_end(g, mark);
    cg_bind(g, c->key, w->key, false);
    val size = cg_i32(g, all);
    w->at = LLVMBuildUDiv(g->b, g->tid, size, "");
    w->ok = cg_icmp(g, LLVMIntSLT, w->at, cg_i32(g, w->per_pass));
    cg_decode(g, LLVMBuildURem(g->b, g->tid, size, ""), s->nvars, w->vars, c->extent);
    if (s->mask.id) w->ok = LLVMBuildAnd(g->b, w->ok, cg_emit(g, of_item(w, s->mask)), "");
}

val cg_scan_run(cg_scan *c, val first) {
    cg *g = c->g;
    struct window w;
    int mark = cg_scope(g);
    begin(&w, c, first);
    all_rows(&w);
    cg_barrier(g); /* the state before has been read */
    keep_state(&w);
    cg_scope_end(g, mark);
    return w.end;
}
