/* The bytes from caches and the operations of a tile, step by step. */
#include "ir/program/step.h"
#include "ir/weights/scaled.h"
#include "ir/weights/stream.h"
#include "passes/cost/cost.h"
#include <math.h>

enum {
    OPS_PER_FUNCTION = 20, /* vector instructions of exp, tanh, ... */
    OPS_PER_ANGLE = 75,    /* of sin and cos, called for each: 19 us of 16384 elements on an H100 */
    OPS_PER_PHILOX = 150,  /* of 20 products of 64 bits, at a quarter of the rate, and the rest */
    ROW_OPS = 12,          /* and of the weight of a position for a row */
    LOCAL_BYTES = 128,     /* a clock from the local memory of a CU: 32 banks of four */
    TOGETHER = 4,          /* rows that are staged once for all chunks of k */
};

/* ---- one element of an expression ---- */

/* Loads of a value, and loads that only say which element another one reads: those are few, and the
 * same ones for many elements. */
enum { MOST_LOADS = 64, MOST_NODES = 256, NEAR = 8 };
struct element {
    const et_program *p;
    et_element_cost c;
    uint32_t load[MOST_LOADS], index[MOST_LOADS];
    double part[MOST_LOADS]; /* of a load, that is made for each element */
    int nloads, nindex;
    int along; /* a variable of whose values neighbours are computed together, or -1 */
    /* Nodes that have it, and for how many of its values side by side they are the same. */
    uint32_t node[MOST_NODES];
    double same[MOST_NODES];
    int nnodes;
};

static void note_index(void *ctx, et_expr x) {
    struct element *e = ctx;
    if (et_x(e->p->g->exprs, x)->op == ET_X_LOAD && e->nindex < MOST_LOADS)
        e->index[e->nindex++] = x.id;
}

static double same_of(const struct element *e, et_expr x) {
    for (int i = e->nnodes - 1; i >= 0; i--)
        if (e->node[i] == x.id) return e->same[i];
    return 0;
}

/* Its cost per element: neighbours share common parts, as those of an attention's head are.
 * Operands come first. */
static double part_of(struct element *e, et_expr x) {
    const et_node_x *n = et_x(e->p->g->exprs, x);
    double least = n->op == ET_X_VAR && n->i == e->along ? 1 : 0;
    int64_t by;
    for (int i = 0; i < n->nops; i++) {
        double same = same_of(e, n->ops[i]);
        least = same > 0 && (least == 0 || same < least) ? same : least;
    }
    if (least == 0) return 1;
    if (n->op == ET_X_IDIV && et_is_int(e->p->g->exprs, n->ops[1], &by) && by > 0)
        least *= (double)by;
    if (e->nnodes == MOST_NODES) return 1;
    e->node[e->nnodes] = x.id;
    e->same[e->nnodes++] = least;
    return 1 / (least < NEAR ? least : NEAR);
}

static void count_node(void *ctx, et_expr x) {
    struct element *e = ctx;
    const et_node_x *n = et_x(e->p->g->exprs, x);
    double part = e->along < 0 ? 1 : part_of(e, x);
    if (n->op == ET_X_LOAD) {
        if (n->i2 == ET_LOAD_TENSOR && e->nloads < MOST_LOADS) {
            e->part[e->nloads] = part;
            e->load[e->nloads++] = x.id;
        }
        for (int i = 0; i < n->nops; i++)
            et_walk(e->p->g->exprs, n->ops[i], note_index, e);
    }
    if (n->op == ET_X_PHILOX) e->c.ops += OPS_PER_PHILOX;
    if (n->type != ET_T_F32 || n->nops == 0 || n->op == ET_X_LOAD) return;
    bool function = et_xop_is(n->op, ET_XOP_FUNCTION);
    bool angle = et_xop_is(n->op, ET_XOP_ANGLE);
    e->c.ops += part * (angle ? OPS_PER_ANGLE : function ? OPS_PER_FUNCTION : 1);
}

double et_load_repeats(const et_exprs *x, const et_node_x *load, int kvar) {
    double most = 1e9;
    int64_t by;
    for (int i = 0; i < load->nops; i++) {
        const et_node_x *n = et_x(x, load->ops[i]);
        if (!et_expr_has_var(x, load->ops[i], kvar)) continue;
        bool divided = n->op == ET_X_IDIV && et_is_int(x, n->ops[1], &by) && by > 0;
        if (!divided) return 1;
        most = (double)by < most ? (double)by : most;
    }
    return most;
}

/* For how many elements of a MAP or REDUCE step the caches are asked for what LOAD gives once:
 * those that differ in variables of the step which it does not have. */
static double shared_by(const et_program *p, const et_step *s, const et_node_x *load) {
    const et_exprs *x = p->g->exprs;
    double n = 1;
    for (int v = 0; v < s->nvars; v++) {
        int64_t extent = 1;
        bool has = false;
        for (int i = 0; i < load->nops; i++)
            has |= et_expr_has_var(x, load->ops[i], s->vars[v]);
        if (!has && et_is_int(x, et_var_extent(x, s->vars[v]), &extent)) n *= (double)extent;
    }
    return n;
}

/* Of a right operand's element, whose KVAR is not -1; of a left one's, whose neighbours ALONG that
 * are computed together; or of any, of the MAP or REDUCE step S, or of none. */
static et_element_cost per_element(const et_program *p, et_expr x, int kvar, int along,
                                   const et_step *s) {
    struct element e = {.p = p, .along = along};
    if (x.id) et_walk(p->g->exprs, x, count_node, &e);
    for (int i = 0; i < e.nloads; i++) {
        bool is_index = false;
        for (int k = 0; k < e.nindex; k++)
            is_index |= e.index[k] == e.load[i];
        const et_node_x *n = et_x(p->g->exprs, (et_expr){e.load[i]});
        double often = kvar < 0 ? 1 / e.part[i] : et_load_repeats(p->g->exprs, n, kvar);
        if (s) often *= shared_by(p, s, n);
        double words = p->tensors[n->i].tagged ? 2 : 1; /* of an element and its tag */
        if (!is_index) e.c.bytes += words * et_dtype_width(p->tensors[n->i].shape.dtype) / often;
    }
    return e.c;
}

et_element_cost et_element_of(const et_program *p, et_expr value) {
    return per_element(p, value, -1, -1, NULL);
}

/* Where only the launch knows positions, they are those of a query with a context as it is guessed.
 */
static et_expr usual_position(void *ctx, et_exprs *x, et_expr leaf) {
    (void)ctx;
    const et_node_x *n = et_x(x, leaf);
    bool load = n->op == ET_X_LOAD && n->type == ET_T_I32;
    return load ? et_int(x, ET_GUESSED_CONTEXT - 1) : ET_NO_EXPR;
}

/* Behind a product all work-items load at the same time, and wait for their own loads. */
static bool multiplies(const et_func *f) {
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_CONTRACT) return true;
    return false;
}

et_step_elements *et_func_elements(const et_program *p, const et_func *f, const et_machine *m) {
    et_step_elements *out = et_alloc(p->g->arena, (size_t)(f->nsteps + 1) * sizeof *out);
    for (int i = 0; i < f->nsteps; i++) {
        const et_step *s = &f->steps[i];
        if (s->kind == ET_STEP_CONTRACT) {
            out[i].product = et_product_use_of(p, f, s, m);
            out[i].a = per_element(p, s->a, -1, s->kvar, NULL);
            for (int k = 0; k < s->nacc; k++) {
                out[i].b[k] = per_element(p, s->b[k], s->kvar, -1, NULL);
                et_element_cost *b = &out[i].b[k];
                if (et_dtype_bits(s->operand) == 16 && s->stage_b < 0)
                    b->code_bits = et_scaled_bits(p, s->b[k], s->kvar, &b->plain, &b->bare_bits);
                if (s->operand != ET_BF16) b->code_bits = 0, b->plain = false;
            }
        } else if (s->kind == ET_STEP_ATTEND) {
            out[i].attend = et_attend_use_of(p, f, s, m);
            for (int k = 0; k < ET_AT_PARTS; k++)
                out[i].part[k] = per_element(p, s->part[k], -1, -1, NULL);
            out[i].visits = et_sub(p->g->exprs, s->part[ET_AT_END], s->part[ET_AT_FIRST]);
            if (s->rows) /* the last row, whose positions are most where they go on */
                out[i].visits = et_subst_var(p->g->exprs, out[i].visits, s->ivar[0],
                                             et_sub(p->g->exprs, s->ilive, et_int(p->g->exprs, 1)));
            out[i].usual = et_subst(p->g->exprs, out[i].visits, usual_position, NULL);
        } else if (s->kind == ET_STEP_SCAN) {
            for (int k = 0; k < ET_SC_PARTS; k++) {
                et_element_cost c = per_element(p, s->scan[k], -1, -1, NULL);
                out[i].value.bytes += c.bytes;
                out[i].value.ops += c.ops;
            }
        } else {
            out[i].value = per_element(p, s->value, -1, -1, multiplies(f) ? NULL : s);
        }
    }
    return out;
}

/* ---- one tile ---- */

struct tile {
    const et_program *p;
    const et_func *f;
    const et_machine *m;
    et_value_fn value;
    void *ctx;
    et_tile_cost c;
};

static double value(const struct tile *t, et_expr x, double guess) {
    return t->value(t->ctx, x, guess);
}

static double iterations(const struct tile *t, const et_step *s) {
    double n = 1;
    for (int i = 0; i < s->nvars; i++)
        n *= value(t, et_var_extent(t->p->g->exprs, s->vars[i]), 1);
    return n;
}

/* Is what the step leaves out, which nobody reads, all that it has in this tile? */
static bool leaves_out(const struct tile *t, const et_step *s) {
    return s->promised && value(t, s->mask, 1) == 0;
}

/* Rows past the end of the tensor are masked: a tile of 64 rows does the work of those that exist.
 */
static double live_share(const struct tile *t, const et_step *s) {
    double share = 1;
    for (int i = 0; i < t->f->nsteps; i++)
        if (t->f->steps[i].kind == ET_STEP_CONTRACT && s->kind != ET_STEP_CONTRACT)
            share = value(t, t->f->steps[i].mlive, 1) / t->f->steps[i].tm;
    return share < 1 ? share : 1;
}

double et_pipeline_rows(const et_step *s, et_warpgroup_rows rows, int group_waves) {
    double m = s->tm / s->wm, n = (double)s->nacc * s->tn / s->wn, waves = s->wm * s->wn;
    if (rows == ET_WARPGROUP_NONE) return waves * (m + n);
    int own = et_step_products(s);
    if (rows == ET_WARPGROUP_N) own *= et_step_pieces(s, group_waves);
    double together =
        rows == ET_WARPGROUP_M ? m * group_waves * own + n : m * own + n * group_waves;
    return waves / group_waves * together;
}

/* How often all waves of a tile wait for rows of K that they stage together, copied ahead of their
 * turn or not: a buffer's at a time. Where weights come ahead of tasks this shows, and a wave may
 * have rows of its own instead. */
static double rows_waited_for(const struct tile *t, const et_step *s, const et_step_elements *e,
                              double m, double k) {
    double pieces = (double)(((int64_t)m + 15) / 16), n = 0;
    int held = et_step_declared_k(t->f, s);
    if (t->m->stream_kb && m > TOGETHER && e->a.ops > 0) n += pieces * (k / held); /* computed */
    if (e->product.rows != ET_ROWS_OWN && pieces > 1)
        n += (pieces - 1) * (double)(int64_t)((k + held - 1) / held);
    return n;
}

/* Operations of a vector unit for an element of b. Values of four bits take as long as f16 as they
 * do in pairs. */
static double b_ops(const et_machine *m, const et_step *s, const et_element_cost *b,
                    et_decode_as decode) {
    bool eight = b->code_bits ? b->code_bits == 8 : b->bare_bits == 8;
    double pairs = eight ? m->code8_ops : m->code4_ops, bare = eight ? m->bare8_ops : m->bare4_ops;
    double one = eight ? m->code8_one_ops : 0, of[] = {[ET_DECODE_PLAIN] = 0,
                                                       [ET_DECODE_COMPUTED] = 0,
                                                       [ET_DECODE_PAIRS] = pairs,
                                                       [ET_DECODE_UNSCALED] = bare > 0 ? bare : one,
                                                       [ET_DECODE_F16] = eight ? one : pairs,
                                                       [ET_DECODE_BF16] = bare > 0 ? bare : pairs,
                                                       [ET_DECODE_FP8] = 0};
    bool plain = decode == ET_DECODE_PLAIN && s->stage_b < 0 && !(b->ops > 0);
    return of[decode] > 0 || plain || decode == ET_DECODE_FP8 ? of[decode] : b->ops + 1;
}

static void cost_contract(struct tile *t, const et_step *s, const et_step_elements *e) {
    double k = value(t, s->kextent, 1), m = value(t, s->mlive, 1), n = value(t, s->nlive, 1);
    const et_product_use *by = &e->product;
    bool pipeline = by->rows == ET_ROWS_PIPELINE;
    double m16 = pipeline ? s->tm : (double)(((int64_t)m + 15) / 16 * 16);
    double chunks = (k + by->chunk - 1) / by->chunk;
    double rows = pipeline ? et_pipeline_rows(s, by->warpgroup, t->m->group_waves) : m16 * s->wn;
    if (pipeline && !t->m->local_copies) rows += s->tm + s->nacc * s->tn; /* that are stored */
    t->c.local_bytes += rows * k * et_dtype_bytes(s->operand);
    if (by->in_flight) t->c.ring += chunks / by->in_flight;
    if (!pipeline) t->c.turns += rows_waited_for(t, s, e, m, k);
    if (by->by_chunk) t->c.ring += chunks;
    t->c.cache_bytes += m * k * e->a.bytes;
    if (by->rows == ET_ROWS_OWN) t->c.own_bytes += m * k * e->a.bytes;
    if (by->rows == ET_ROWS_OWN && et_x(t->p->g->exprs, s->kextent)->op == ET_X_SELECT)
        t->c.beside_bytes += m * k * e->a.bytes;
    if (pipeline) t->c.copied_bytes += m * k * e->a.bytes;
    t->c.vector_flops += m * k * (e->a.ops + 1);
    if (by->streamed && by->chunk) k = ceil(k / by->chunk) * by->chunk; /* k may end in a chunk */
    for (int i = 0; i < s->nacc; i++) {
        t->c.cache_bytes += n * k * e->b[i].bytes;
        if (pipeline && !by->streamed) t->c.copied_bytes += n * k * e->b[i].bytes;
        if (by->streamed) t->c.stream_bytes += n * k * e->b[i].bytes;
        t->c.vector_flops += n * k * b_ops(t->m, s, &e->b[i], by->decode);
        double slow = s->operand == ET_F32 ? t->m->matrix_tflops / t->m->f32_matrix_tflops : 1;
        t->c.matrix_flops += 2 * m16 * s->tn * k * slow;
    }
}

static void cost_attend(struct tile *t, const et_step *s, const et_step_elements *e) {
    enum { COLUMNS = 8 }; /* of a matrix instruction, which are heads */
    double n = value(t, e->visits, value(t, e->usual, ET_GUESSED_CONTEXT));
    const et_element_cost *of = e->part;
    const et_attend_use *by = &e->attend;
    if (n < 0) n = 0;
    double blocks = (n + by->positions - 1) / by->positions;
    t->c.cache_bytes += by->passes * n * s->depth * (of[ET_AT_K].bytes + of[ET_AT_V].bytes);
    t->c.ring += by->passes * blocks / by->in_flight;
    if (s->rows) {
        double rows = (double)s->rows * s->heads;
        blocks = (n + ET_ATTEND_BLOCK - 1) / ET_ATTEND_BLOCK;
        t->c.cache_bytes += rows * s->depth * of[ET_AT_Q].bytes;
        t->c.matrix_flops += blocks * ET_ATTEND_BLOCK * s->depth * rows * 4;
        t->c.local_bytes += blocks * et_attend_slot(s->depth) * (rows / 16);
        t->c.vector_flops += n * rows * (ROW_OPS + of[ET_AT_SCORE].ops);
        return;
    }
    t->c.cache_bytes += n * s->heads * (of[ET_AT_MASK].bytes + of[ET_AT_SCORE].bytes);
    if (by->matrix) {
        t->c.matrix_flops += by->passes * n * s->depth * COLUMNS * 4;
        t->c.vector_flops += n * s->heads * ROW_OPS;
    } else {
        t->c.vector_flops += n * s->depth * s->heads * 4;
    }
    t->c.vector_flops += n * s->heads * (of[ET_AT_MASK].ops + of[ET_AT_SCORE].ops);
}

static void cost_map_or_reduce(struct tile *t, const et_step *s, const et_step_elements *e) {
    if (leaves_out(t, s)) return;
    double stored = iterations(t, s) * live_share(t, s), n = stored;
    if (s->kind == ET_STEP_REDUCE) n *= value(t, s->rextent, 1);
    t->c.cache_bytes += n * e->value.bytes;
    t->c.vector_flops += n * (e->value.ops + 1);
    if (t->c.matrix_flops > 0) t->c.after_flops += n * (e->value.ops + 1);
    if (s->to.space == ET_LOAD_TENSOR)
        t->c.cache_bytes += stored * et_dtype_bytes(t->p->tensors[s->to.id].shape.dtype) *
                            (t->p->tensors[s->to.id].tagged ? 2 : 1);
}

/* Rows come one after the other, each a trip to memory and to the other lanes; those of a window
 * are shared by work-items, each of which has some on their way. */
static void cost_scan(struct tile *t, const et_step *s, const et_step_elements *e) {
    enum { STATE_BYTES = 8 }; /* read and written, f32 */
    double size = value(t, et_var_extent(t->p->g->exprs, s->evar), 1);
    double rows = value(t, s->rextent, 1), n = iterations(t, s);
    t->c.cache_bytes += n * (rows * size * e->value.bytes / n + size * STATE_BYTES);
    t->c.vector_flops += n * rows * size * (e->value.ops + 1);
    double at_once = s->window ? fmax(1, t->p->workgroup / n) * ET_SCAN_RUN_ROWS : 1;
    t->c.turns += ceil(rows / at_once);
}

et_tile_cost et_tile_cost_of(const et_program *p, const et_func *f, const et_step_elements *e,
                             const et_machine *m, et_value_fn fn, void *ctx) {
    static void (*const cost[])(struct tile *, const et_step *, const et_step_elements *) = {
        [ET_STEP_MAP] = cost_map_or_reduce, [ET_STEP_REDUCE] = cost_map_or_reduce,
        [ET_STEP_CONTRACT] = cost_contract, [ET_STEP_ATTEND] = cost_attend,
        [ET_STEP_SCAN] = cost_scan,
    };
    struct tile t = {.p = p, .f = f, .m = m, .value = fn, .ctx = ctx};
    for (int i = 0; i < f->nsteps; i++)
        cost[f->steps[i].kind](&t, &f->steps[i], &e[i]);
    return t.c;
}

static double most(double a, double b) {
    return a > b ? a : b;
}

double et_tile_us(const et_tile_cost *c, const et_machine *m) {
    double local = c->local_bytes / (LOCAL_BYTES * m->clock_ghz * 1e3);
    double near = most(local, (c->cache_bytes - c->beside_bytes) / (m->cache_gbs_cu * 1e3));
    near = most(near, c->ring * m->latency_us);
    double vector_rate = m->vector_tflops / m->cus * 1e6 / 2;
    return c->turns * m->latency_us + c->after_flops / vector_rate +
           most(near, most(c->matrix_flops / (m->matrix_tflops / m->cus * 1e6),
                           (c->vector_flops - c->after_flops) / vector_rate));
}

/* A CU multiplies so much faster when it is alone: 7.6 TFLOP/s where 132 have 4.7 each (H200,
 * bench/journal/2026-11/h200-devices.md). Of other machines it is not known. */
double et_piped_share(double busy, const et_machine *m) {
    const double alone = 1.6;
    if (!m->group_waves) return 1;
    return most(busy < m->cus ? busy / m->cus : 1, 1 / alone);
}
