/* SCAN steps. Lanes of a wave share a result: each has some elements of its state in registers, and
 * goes through the rows of the launch. Where a row is of another sequence than the one before it
 * the state goes to memory and that of the row is loaded. What lanes see together they add up in a
 * fixed order, by exchanges. */
#include "codegen/step/scan.h"
#include "ir/base/diag.h"
#include <string.h>

/* Numbers of ARGs that stand for elements of the state of this lane, before and after a row. */
enum { BEFORE = -1000, AFTER = -2000 };

/* Elements from number C * WIDE on are at this index. */
static et_expr base_of(const cg_scan *c, int chunk) {
    et_exprs *x = c->g->x;
    et_expr lane = et_add(x, et_var(x, c->sub), et_int(x, (int64_t)chunk * c->lanes));
    return et_mul(x, lane, et_int(x, c->wide));
}

static bool of_result(const cg_scan *c, et_expr index) {
    et_exprs *x = c->g->x;
    return et_expr_has_vars(x, index, c->s->nvars, c->s->vars) ||
           et_expr_has_var(x, index, c->s->evar);
}

static void find_places(cg_scan *c) {
    cg *g = c->g;
    const et_place *at = &c->s->state;
    et_expr row[ET_MAX_RANK], element[ET_MAX_RANK], zero = et_int(g->x, 0);
    for (int d = 0; d < at->rank; d++) {
        bool own = !et_expr_has_var(g->x, at->index[d], c->s->rvar) && of_result(c, at->index[d]);
        row[d] = own ? zero : at->index[d];
        element[d] = own ? at->index[d] : zero;
    }
    c->row = cg_offset(g, at->space, at->id, row);
    c->element = cg_offset(g, at->space, at->id, element);
}

/* Do CG_SCAN_WIDE neighbouring elements lie side by side, at a multiple of their size? */
static int alignment(const cg_scan *c) {
    const et_place *at = &c->s->state;
    const et_shape *shape = &c->g->p->tensors[at->id].shape;
    int64_t n;
    int last = at->rank - 1;
    bool ok = et_expr_eq(at->index[last], et_var(c->g->x, c->s->evar)) &&
              et_is_int(c->g->x, shape->dim[last], &n) && n % c->wide == 0;
    return ok ? 4 * c->wide : 0;
}

/* Loads or stores all elements of the lane at KEY. */
static void transfer(cg_scan *c, val key, bool store) {
    cg *g = c->g;
    const et_place *at = &c->s->state;
    int mark = cg_scope(g), align = alignment(c), each = align ? c->wide : 1;
    cg_bind(g, c->key, key, false);
    et_expr place = et_add(g->x, et_var(g->x, c->key), c->element);
    for (int e = 0; e < c->n; e += each) {
        et_expr j = et_add(g->x, base_of(c, e / c->wide), et_int(g->x, e % c->wide));
        et_expr offset = et_subst_var(g->x, place, c->s->evar, j);
        val ptr = cg_address(g, at->space, at->id, offset);
        if (store)
            cg_store_n(g, at->space, at->id, ptr, each, align ? align : 4, &c->state[e]);
        else
            cg_load_n(g, at->space, at->id, ptr, each, align ? align : 4, &c->state[e]);
    }
    cg_scope_end(g, mark);
}

/* ---- rows ahead ---- */

/* Those reached through one arm of a choice alone may be out of range outside it. */
static void find_loads(cg_scan *c, et_expr e, bool sure) {
    cg *g = c->g;
    et_node_x x = *et_x(g->x, e);
    if (!et_expr_has_var(g->x, e, c->s->rvar)) return;
    bool load = x.op == ET_X_LOAD && !et_expr_has_op(g->x, e, ET_X_ARG);
    if (load && (sure || cg_in_range(g, e))) {
        for (int i = 0; i < c->nloads; i++)
            if (c->load[i].id == e.id) return;
        if ((c->nloads + 1) * c->s->ahead <= CG_SCAN_LOADS) c->load[c->nloads++] = e;
        return;
    }
    bool choice = x.op == ET_X_SELECT || x.op == ET_X_AND || x.op == ET_X_OR;
    for (int i = 0; i < x.nops; i++)
        find_loads(c, x.ops[i], sure && (!choice || i == 0));
}

/* PART at consecutive elements of the lane, of the row AT. */
static void unroll(cg_scan *c, et_scan_part part, int first, et_expr row, et_expr *out) {
    cg *g = c->g;
    et_expr e = et_subst_var(g->x, c->s->scan[part], c->s->rvar, row);
    cg_unroll_loads(g, e, c->s->evar, base_of(c, first / c->wide), c->wide, out);
}

static const et_scan_part parts_of_element[] = {ET_SC_LOOK, ET_SC_NEXT, ET_SC_OUT};
enum { ELEMENTS = sizeof parts_of_element / sizeof *parts_of_element };

static void find_all_loads(cg_scan *c) {
    const et_step *s = c->s;
    et_expr at[CG_SCAN_WIDE];
    find_loads(c, c->row, true);
    for (int i = 0; i < 2; i++) {
        et_expr e = s->scan[i ? ET_SC_KEEP : ET_SC_FRESH];
        if (e.id) find_loads(c, e, true);
    }
    for (int i = 0; i < ELEMENTS; i++)
        for (int e = 0; s->scan[parts_of_element[i]].id && e < c->n; e += c->wide) {
            cg_unroll(c->g, s->scan[parts_of_element[i]], s->evar, base_of(c, e / c->wide), c->wide,
                      at);
            for (int k = 0; k < c->wide; k++)
                find_loads(c, at[k], true);
        }
}

/* What ROW loads, of the last row where it is beyond it. */
static void load_ahead(cg_scan *c, val row, val *out) {
    cg *g = c->g;
    et_expr at[CG_SCAN_WIDE], later = et_var(g->x, c->later);
    int mark = cg_scope(g);
    val last = cg_addi(g, cg_emit_i32(g, c->s->rextent), -1);
    cg_bind(g, c->later, cg_select(g, cg_icmp(g, LLVMIntSLT, row, last), row, last), false);
    for (int i = 0; i < ELEMENTS; i++)
        for (int e = 0; c->s->scan[parts_of_element[i]].id && e < c->n; e += c->wide)
            unroll(c, parts_of_element[i], e, later, at);
    for (int i = 0; i < c->nloads; i++)
        out[i] = cg_emit(g, et_subst_var(g->x, c->load[i], c->s->rvar, later));
    cg_scope_end(g, mark);
}

/* ---- the parts of a row ---- */

static et_expr number_state(void *ctx, et_exprs *x, et_expr leaf) {
    const et_node_x *n = et_x(x, leaf);
    if (n->op != ET_X_ARG || n->i != ET_ARG_STATE) return ET_NO_EXPR;
    return et_arg(x, *(const int *)ctx, ET_T_F32);
}

/* A part for each element of the lane, of whose state FIRST is the first. */
static void values_of(cg_scan *c, et_scan_part part, int first, val *out) {
    cg *g = c->g;
    et_expr at[CG_SCAN_WIDE];
    for (int e = 0; e < c->n; e += c->wide) {
        cg_unroll_loads(g, c->s->scan[part], c->s->evar, base_of(c, e / c->wide), c->wide, at);
        for (int k = 0; k < c->wide; k++) {
            int number = first - e - k;
            out[e + k] = cg_emit_f32(g, et_subst(g->x, at[k], number_state, &number));
        }
    }
}

static void name_state(cg_scan *c, int first) {
    for (int e = 0; e < c->n; e++)
        cg_remember(c->g, et_arg(c->g->x, first - e, ET_T_F32), c->state[e]);
}

static void sum_of_lane(cg_scan *c, val *v) {
    for (int step = 1; step < c->n; step *= 2)
        for (int e = 0; e + step < c->n; e += 2 * step)
            v[e] = LLVMBuildFAdd(c->g->b, v[e], v[e + step], "");
}

val cg_scan_sum(cg_scan *c, val *of_element) {
    val lane[ET_SCAN_ELEMENTS], v[ET_SCAN_ELEMENTS];
    for (int at = 0; at < c->lanes; at++) {
        for (int e = 0; e < c->n; e++)
            v[e] = of_element[(e / c->wide * c->lanes + at) * c->wide + e % c->wide];
        sum_of_lane(c, v);
        lane[at] = v[0];
    }
    for (int m = 1; m < c->lanes; m *= 2)
        for (int at = 0; at < c->lanes; at += 2 * m)
            lane[at] = LLVMBuildFAdd(c->g->b, lane[at], lane[at + m], "");
    return lane[0];
}

/* Of all lanes that share the result, in all of them. */
static val sum_of(cg_scan *c, val *v) {
    cg *g = c->g;
    sum_of_lane(c, v);
    for (int m = 1; m < c->lanes; m *= 2)
        v[0] = LLVMBuildFAdd(g->b, v[0], cg_shuffle_xor(g, v[0], m), "");
    return v[0];
}

static void store_result(cg_scan *c, val v) {
    cg *g = c->g;
    const et_place *to = &c->s->to;
    cg_if first;
    if (c->lanes > 1) cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, c->at, cg_i32(g, 0)));
    int mark = cg_scope(g);
    val ptr = cg_address(g, to->space, to->id, cg_offset(g, to->space, to->id, to->index));
    cg_store_n(g, to->space, to->id, ptr, 1, 1, &v);
    cg_scope_end(g, mark);
    if (c->lanes > 1) cg_if_end(g, &first);
}

static void advance(cg_scan *c) {
    cg *g = c->g;
    val v[ET_SCAN_ELEMENTS];
    name_state(c, BEFORE);
    if (c->s->scan[ET_SC_LOOK].id) {
        values_of(c, ET_SC_LOOK, BEFORE, v);
        cg_remember(g, et_arg(g->x, ET_ARG_SEEN, ET_T_F32), sum_of(c, v));
    }
    values_of(c, ET_SC_NEXT, BEFORE, c->state);
    name_state(c, AFTER);
    values_of(c, ET_SC_OUT, AFTER, v);
    val sum = sum_of(c, v);
    et_expr then = c->s->scan[ET_SC_THEN];
    cg_remember(g, et_arg(g->x, ET_ARG_SUM, ET_T_F32), sum);
    store_result(c, then.id ? cg_emit_f32(g, then) : sum);
}

/* ---- rows ---- */

static val none(cg *g) {
    return LLVMConstAllOnes(g->i64);
}

static val is_some(cg *g, val key) {
    return cg_icmp(g, LLVMIntSGE, key, LLVMConstNull(g->i64));
}

static void keep_state(cg_scan *c, val key) {
    cg_if some;
    cg_if_begin(c->g, &some, is_some(c->g, key));
    transfer(c, key, true);
    cg_if_end(c->g, &some);
}

/* The state at KEY, zero where there is none. */
static void take_state(cg_scan *c, val key) {
    cg *g = c->g;
    val zero = cg_f32(g, 0);
    cg_if some;
    cg_if_begin(g, &some, is_some(g, key));
    transfer(c, key, false);
    block loaded = cg_here(g);
    cg_if_end(g, &some);
    for (int e = 0; e < c->n; e++) {
        val phi = LLVMBuildPhi(g->b, g->f32, "");
        LLVMAddIncoming(phi, (val[]){c->state[e], zero}, (block[]){loaded, some.otherwise}, 2);
        c->state[e] = phi;
    }
}

/* The state of the row at KEY in place of the one at BEFORE. */
static void change_state(cg_scan *c, val before, val key) {
    cg *g = c->g;
    val was[ET_SCAN_ELEMENTS];
    cg_if other;
    memcpy(was, c->state, sizeof was);
    cg_if_begin(g, &other, cg_icmp(g, LLVMIntNE, before, key));
    keep_state(c, before);
    take_state(c, key);
    block changed = cg_here(g);
    cg_if_end(g, &other);
    for (int e = 0; e < c->n; e++) {
        val phi = LLVMBuildPhi(g->b, g->f32, "");
        LLVMAddIncoming(phi, (val[]){c->state[e], was[e]}, (block[]){changed, other.otherwise}, 2);
        c->state[e] = phi;
    }
}

static void begin_anew(cg_scan *c, val key) {
    cg *g = c->g;
    et_expr fresh = c->s->scan[ET_SC_FRESH], keep = c->s->scan[ET_SC_KEEP];
    val zero = NULL;
    if (fresh.id) zero = cg_emit(g, fresh);
    if (keep.id) {
        val lost = LLVMBuildNot(g->b, is_some(g, key), "");
        zero = zero ? LLVMBuildOr(g->b, zero, lost, "") : lost;
    }
    for (int e = 0; e < c->n && zero; e++)
        c->state[e] = cg_select(g, zero, cg_f32(g, 0), c->state[e]);
}

static val key_of(cg_scan *c) {
    cg *g = c->g;
    et_expr keep = c->s->scan[ET_SC_KEEP];
    val key = cg_emit_i64(g, c->row);
    return keep.id ? cg_select(g, cg_emit(g, keep), key, none(g)) : key;
}

val cg_scan_key(cg_scan *c, val row, bool divergent) {
    cg *g = c->g;
    int mark = cg_scope(g);
    cg_bind(g, c->s->rvar, row, divergent);
    val key = key_of(c);
    cg_scope_end(g, mark);
    return key;
}

val cg_scan_enter(cg_scan *c, val row, val before) {
    cg *g = c->g;
    int mark = cg_scope(g);
    cg_bind(g, c->s->rvar, row, false);
    val key = key_of(c);
    change_state(c, before, key);
    begin_anew(c, key);
    cg_scope_end(g, mark);
    return key;
}

/* The row ROW, whose loads are AHEAD; V: the state before and after it, and where it lies. */
static void scan_row(cg_scan *c, val row, const val *ahead, val *v) {
    cg *g = c->g;
    int mark = cg_scope(g);
    cg_bind(g, c->s->rvar, row, false);
    for (int i = 0; i < c->nloads; i++)
        cg_remember(g, c->load[i], ahead[i]);
    val key = key_of(c);
    memcpy(c->state, v, (size_t)c->n * sizeof *v);
    change_state(c, v[c->n], key);
    begin_anew(c, key);
    advance(c);
    cg_scope_end(g, mark);
    memcpy(v, c->state, (size_t)c->n * sizeof *v);
    v[c->n] = key;
}

/* Row number R of a block that begins at FIRST: V as it is where it is not before END. */
static void scan_row_of(cg_scan *c, val first, int r, val end, const val *ahead, val *v) {
    cg *g = c->g;
    cg_if in;
    val row = r ? cg_addi(g, first, r) : first, was[ET_SCAN_ELEMENTS + 1];
    if (!r) {
        scan_row(c, row, ahead, v);
        return;
    }
    memcpy(was, v, ((size_t)c->n + 1) * sizeof *v);
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, row, end));
    scan_row(c, row, ahead, v);
    block here = cg_here(g);
    cg_if_end(g, &in);
    for (int e = 0; e <= c->n; e++) {
        val phi = LLVMBuildPhi(g->b, LLVMTypeOf(v[e]), "");
        LLVMAddIncoming(phi, (val[]){v[e], was[e]}, (block[]){here, in.otherwise}, 2);
        v[e] = phi;
    }
}

/* Rows FROM to END - 1 one after the other: in blocks, while what those of the next one load is
 * under way. V: the state before and after them, and where it lies. SOME: there are some. */
static void scan_rows(cg_scan *c, val from, val end, bool some, val *state) {
    cg *g = c->g;
    int rows = c->nloads ? c->s->ahead : 1, first = c->n + 1, n = c->nloads;
    val v[ET_SCAN_ELEMENTS + 1 + CG_SCAN_LOADS], next[CG_SCAN_LOADS];
    cg_for f;
    memcpy(v, state, (size_t)first * sizeof *v);
    for (int r = 0; r < rows && n; r++)
        load_ahead(c, cg_addi(g, from, r), v + first + r * n);
    val row = cg_for_begin(g, &f, from, end, cg_i32(g, rows), some, first + rows * n, v);
    int mark = cg_scope(g);
    for (int r = 0; r < rows && n; r++)
        load_ahead(c, cg_addi(g, row, rows + r), next + r * n);
    for (int r = 0; r < rows; r++)
        scan_row_of(c, row, r, end, v + first + r * n, v);
    cg_scope_end(g, mark);
    memcpy(v + first, next, (size_t)(rows * n) * sizeof *next);
    cg_for_end(g, &f, v);
    memcpy(state, v, (size_t)first * sizeof *v);
}

/* Chunks, and the rows between them. */
static void scan_chunks(cg_scan *c, val *v) {
    cg *g = c->g;
    val phi[ET_SCAN_ELEMENTS + 1], was[ET_SCAN_ELEMENTS + 1];
    block before = cg_here(g), head = cg_block(g, "rows"), done = cg_block(g, "scanned");
    cg_if in;
    int n = c->n + 1;
    cg_br(g, head);
    cg_at(g, head);
    val row = LLVMBuildPhi(g->b, g->i32, ""), end = cg_emit_i32(g, c->s->rextent);
    for (int e = 0; e < n; e++) {
        phi[e] = LLVMBuildPhi(g->b, LLVMTypeOf(v[e]), "");
        LLVMAddIncoming(phi[e], &v[e], &before, 1);
        v[e] = phi[e];
    }
    int mark = cg_scope(g);
    val first = cg_scan_find(c, row);
    scan_rows(c, row, first, false, v);
    memcpy(was, v, sizeof was);
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, first, end));
    val after = cg_scan_chunks(c, first, v);
    cg_if_end(g, &in);
    for (int e = 0; e < n; e++)
        v[e] = cg_if_value(g, &in, v[e], was[e]);
    after = cg_if_value(g, &in, after, first);
    cg_scope_end(g, mark);
    block here = cg_here(g);
    for (int e = 0; e < n; e++)
        LLVMAddIncoming(phi[e], &v[e], &here, 1);
    LLVMAddIncoming(row, (val[]){cg_i32(g, 0), after}, (block[]){before, here}, 2);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, after, end), head, done);
    cg_at(g, done);
}

/* One result, of rows FROM to END - 1; SOME: there are some. */
static void scan_result(cg_scan *c, val from, val end, bool some) {
    cg *g = c->g;
    val v[ET_SCAN_ELEMENTS + 1];
    for (int e = 0; e < c->n; e++)
        v[e] = cg_f32(g, 0);
    v[c->n] = none(g);
    if (c->s->chunk)
        scan_chunks(c, v);
    else
        scan_rows(c, from, end, some, v);
    memcpy(c->state, v, (size_t)c->n * sizeof *v);
    keep_state(c, v[c->n]);
}

/* All results of the tile, of those rows. */
static void scan_tile(cg_scan *c, val from, val end, bool some) {
    cg *g = c->g;
    const et_step *s = c->s;
    int64_t groups = g->p->workgroup / s->lanes;
    val first = LLVMBuildUDiv(g->b, g->tid, cg_i32(g, s->lanes), ""), item = first, nothing = NULL;
    bool looped = c->all > groups, guarded = c->all % groups != 0;
    cg_for f;
    cg_if in, masked;
    if (looped)
        item = cg_add(g, first,
                      cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, c->all), cg_i32(g, groups), true,
                                   0, &nothing));
    if (guarded) cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, item, cg_i32(g, c->all)));
    c->item = item;
    int mark = cg_scope(g);
    cg_decode(g, item, s->nvars, s->vars, c->extent);
    if (s->mask.id) cg_if_begin(g, &masked, cg_emit(g, s->mask));
    int inner = cg_scope(g);
    g->diverged = s->lanes < g->t->wave && (guarded || s->mask.id);
    if (s->ahead) find_all_loads(c);
    scan_result(c, from, end, some);
    g->diverged = false;
    cg_scope_end(g, inner);
    if (s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
    if (guarded) cg_if_end(g, &in);
    if (looped) cg_for_end(g, &f, &nothing);
}

/* Runs, and the rows between them; states are in memory from one of these to the next. */
static void scan_runs(cg_scan *c) {
    cg *g = c->g;
    block before = cg_here(g), head = cg_block(g, "rows"), some = cg_block(g, "some_rows"),
          found = cg_block(g, "runs"), run = cg_block(g, "one_run"), done = cg_block(g, "scanned");
    val n = cg_emit_i32(g, c->s->rextent);
    cg_br(g, head);
    cg_at(g, head);
    val row = LLVMBuildPhi(g->b, g->i32, "");
    int mark = cg_scope(g);
    val first = cg_scan_find_run(c, row);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, row, first), some, found);
    cg_at(g, some);
    scan_tile(c, row, first, true);
    cg_barrier(g);
    cg_br(g, found);
    cg_at(g, found);
    cg_scope_end(g, mark);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, first, n), run, done);
    cg_at(g, run);
    val after = cg_scan_run(c, first);
    cg_barrier(g);
    cg_scope_end(g, mark);
    block here = cg_here(g);
    LLVMAddIncoming(row, (val[]){cg_i32(g, 0), after}, (block[]){before, here}, 2);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, after, n), head, done);
    cg_at(g, done);
}

void cg_step_scan(cg *g, const et_step *s) {
    int64_t size = 1, most = 1;
    et_is_int(g->x, et_var_extent(g->x, s->evar), &size);
    cg_scan c = {.g = g, .s = s, .lanes = s->lanes, .n = (int)size / s->lanes, .all = 1};
    c.wide = c.n % 4 == 0 ? 4 : c.n % 2 == 0 ? 2 : 1;
    for (int v = 0; v < s->nvars; v++) {
        et_is_int(g->x, et_var_extent(g->x, s->vars[v]), &c.extent[v]);
        c.all *= c.extent[v];
    }
    if (g->p->tensors[s->state.id].max_bytes > 4) most = g->p->tensors[s->state.id].max_bytes / 4;
    c.sub = cg_fresh_var(g, "sub", s->lanes);
    c.key = cg_fresh_var(g, "key", most);
    c.later = et_var_add(g->x, "later", et_var_extent(g->x, s->rvar));
    const char *why;
    if ((s->chunk &&
         !et_scan_chunk_of(g->x, s, g->p->workgroup, g->t->wave, s->chunk, &c.chunk, &why)) ||
        (s->window && !et_scan_window_of(g->x, s, g->p->workgroup, &c.window, &why)))
        et_bug("%s: %s", g->f->name, why);
    find_places(&c);
    c.at = LLVMBuildURem(g->b, g->lane, cg_i32(g, s->lanes), "");
    cg_bind(g, c.sub, c.at, true);
    if (s->window)
        scan_runs(&c);
    else
        scan_tile(&c, cg_i32(g, 0), cg_emit_i32(g, s->rextent), true);
}

const char *cg_scan_problem(cg *g, const et_step *s) {
    const char *why;
    return (!s->chunk && !s->window) || et_scan_suits(cg_cx(g), s, &why) ? NULL : why;
}
