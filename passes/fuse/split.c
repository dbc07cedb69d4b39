/* Products cut along k. Where a product has few columns and a long k, tiles enough for all CUs are
 * narrow, and each reads all rows again: with parts of k the same tiles are wide and read a part of
 * the rows each. Their sums are a tensor of their own, a row of columns for each part, and what was
 * computed of the product before is a group that adds them up, in the order of the parts: a task
 * more, which costs an event and what it reads. */
#include "ir/base/diag.h"
#include "ir/base/names.h"
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/fuse/lowering.h"
#include "passes/tile/tiler.h"
#include <math.h>

enum {
    MOST_PARTS = 8,
    LEAST_K = 512, /* of a part */
    STEP_K = 64,   /* whose multiples parts have where k is no multiple of the least, */
    SMALL_K = 16,  /* or none of that */
    FEW_ROWS = 64, /* so many are in a tile, all of them */
    LEAST_COLUMNS = 16,
    FEW_COLUMNS = 128,     /* of a tile of few rows, at most */
    MOST_COLUMNS = 256,    /* and of more */
    MOST_SUMS = 128 * 256, /* of a tile */
    STAGED_ROWS = 64,      /* of a tile without a pipeline, at most */
    TASK_LOADS = 3,        /* round trips of a task: its event, what it reads, its own */
};

static int64_t upper(const et_exprs *x, et_expr e) {
    int64_t lo, hi;
    return et_bounds(x, e, &lo, &hi) ? hi : INT32_MAX;
}

/* ---- what it costs ---- */

struct size {
    double rows, columns, k, bytes; /* bytes: of an element of the right operand */
    double cus;                     /* that are its */
    bool by_chunk;                  /* both operands are staged, a chunk of k at a time */
    bool piped;                     /* many rows are: both are copied to a ring of chunks */
    bool exchanged;                 /* the result goes to other devices: behind the sums */
};

/* Chunks of K in a tile of f32: one is loaded while the one before is multiplied. */
static double chunks_of(double high, double wide, double k, const et_machine *m) {
    int rows = (int)fmin(ceil(high / 16) * 16, STAGED_ROWS) + (int)wide;
    int along_n = (int)fmin(wide / 16, m->waves);
    return k / et_tile_staged_k(m, 4, rows, m->waves / along_n, 0);
}

/* Many rows: chunks are copied while others are multiplied, both at rates that the chip has for all
 * its CUs, of which one gets more where few have tiles. What a part leaves comes behind. */
static double piped_us(const struct size *s, double tiles, double k, double high, double wide,
                       const et_machine *m) {
    double share = et_piped_share(tiles * m->cus / s->cus, m);
    double copied = k * (wide * s->bytes + high * 2) / (m->copy_gbs_cu * 1e3);
    double multiplied = 2 * k * high * wide / (m->matrix_tflops / m->cus * 1e6);
    return share * fmax(copied, multiplied);
}

/* Tiles of HIGH rows and WIDE columns: what a CU reads, and what it leaves of parts. */
static double rounds_us(const struct size *s, int parts, double high, double wide,
                        const et_machine *m) {
    double tiles = ceil(s->rows / high) * ceil(s->columns / wide) * parts, k = s->k / parts;
    double sums = parts > 1 ? high * wide * 4 : 0, cache = m->cache_gbs_cu * 1e3, us;
    if (s->piped && s->rows > FEW_ROWS)
        us = piped_us(s, tiles, k, high, wide, m) + sums / cache;
    else
        us = (k * (wide * s->bytes + high * 2) + sums) / cache;
    if (s->by_chunk) us = fmax(us, chunks_of(high, wide, k, m) * m->latency_us);
    return ceil(tiles / s->cus) * (us + TASK_LOADS * m->latency_us);
}

/* The fastest tiles of any size. */
static double tiles_us(const struct size *s, int parts, const et_machine *m) {
    bool few = s->rows <= FEW_ROWS;
    double least = INFINITY, most = few ? FEW_COLUMNS : MOST_COLUMNS;
    for (double wide = LEAST_COLUMNS; wide <= most; wide *= 2)
        for (double high = few ? s->rows : FEW_ROWS; high * wide <= MOST_SUMS; high *= 2) {
            least = fmin(least, rounds_us(s, parts, high, wide, m));
            if (high >= s->rows) break;
        }
    return least;
}

static double us_of(const struct size *s, int parts, const et_machine *m) {
    double us = tiles_us(s, parts, m), share = m->hbm_gbs * s->cus / m->cus;
    double floor = s->columns * s->k * s->bytes / (share * 1e3);
    if (us < floor) us = floor;
    if (parts == 1) return us;
    double sums = s->rows * s->columns * 4 * (parts + 1) / m->cus;
    if (s->exchanged) us += 2 * m->system_us;
    return us + m->event_us + m->release_us + m->acquire_us + TASK_LOADS * m->latency_us +
           sums / (m->cache_gbs_cu * 1e3);
}

/* The parts that cost least over the samples, clearly less than none and than fewer do. */
static int parts_of(const et_lowering *lo, const et_group *gr, const et_machine *m) {
    const et_exprs *x = lo->g->exprs;
    const et_product *p = &gr->product[0];
    const et_node_x *b = et_x(x, p->b);
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS], k = upper(x, et_var_extent(x, p->k));
    struct size s = {.columns = (double)upper(x, et_var_extent(x, p->n)), .k = (double)k};
    double least = 0.9;
    int best = 1;
    s.cus = et_tile_cus_by_columns(lo->p, gr, m->cus);
    s.bytes = b->op == ET_X_LOAD && b->i2 == ET_LOAD_TENSOR
                  ? et_dtype_width(lo->p->tensors[b->i].shape.dtype)
                  : 2;
    /* Where weights stream (et_product_use.by_chunk is the same of a tile). */
    s.by_chunk = m->stream_kb && p->operand == ET_F32 && s.bytes < 4;
    s.exchanged = gr->to.space == ET_LOAD_TENSOR && lo->p->tensors[gr->to.id].partial;
    s.piped = m->group_waves && m->copy_gbs_cu > 0 && p->operand != ET_F32 && s.bytes == 2;
    et_sample_symbols(x, syms);
    bool odd = k % LEAST_K;
    int64_t grain = !odd ? LEAST_K : k % STEP_K ? SMALL_K : STEP_K;
    for (int parts = 2; parts <= MOST_PARTS && k / parts >= LEAST_K; parts += odd ? 1 : parts) {
        double sum = 0;
        for (int i = 0; i < ET_SAMPLES; i++) {
            s.rows = (double)et_eval(x, et_var_extent(x, p->m), syms[i], NULL);
            sum += us_of(&s, parts, m) / us_of(&s, 1, m) / ET_SAMPLES;
        }
        if (k % parts || k / parts % grain || sum >= least) continue;
        least = 0.98 * sum;
        best = parts;
    }
    return best;
}

/* ---- what may be cut ---- */

static bool may_be_cut(const et_lowering *lo, const et_group *gr, const et_pass_options *opt) {
    const et_exprs *x = lo->g->exprs;
    const et_product *p = &gr->product[0];
    int64_t k;
    if (gr->kind != ET_GROUP_STORE || gr->nproduct != 1 || p->nbatch || gr->slice.count ||
        gr->range.to || gr->hint != ET_HINT_NONE || lo->p->ngroups >= ET_MAX_TASKS)
        return false;
    for (int d = 0; d < gr->rank; d++)
        if (gr->tile[d]) return false;
    et_tiler t = {.p = lo->p, .opt = opt, .x = lo->g->exprs};
    return et_is_int(x, et_var_extent(x, p->k), &k) && k >= 2 * LEAST_K && !et_tile_sums_k(&t, gr);
}

/* ---- the cut ---- */

static int add_sums(et_lowering *lo, const et_group *gr, int parts) {
    et_exprs *x = lo->g->exprs;
    const et_product *p = &gr->product[0];
    et_shape s = {.dtype = ET_F32, .rank = 3};
    s.dim[0] = et_int(x, parts);
    s.dim[1] = et_var_extent(x, p->m);
    s.dim[2] = et_var_extent(x, p->n);
    const char *name = et_printf(lo->g->arena, "%s.parts", gr->name);
    return et_add_tensor(lo, ET_TENSOR_TEMP, name, p->value, &s);
}

/* The group that leaves the sums of each part in tensor SUMS. */
static et_group parts_group(et_lowering *lo, const et_group *gr, int parts, int sums) {
    et_exprs *x = lo->g->exprs;
    const et_product *of = &gr->product[0];
    int64_t k = upper(x, et_var_extent(x, of->k)) / parts;
    et_group out = {.kind = ET_GROUP_STORE, .loc = gr->loc, .loop = gr->loop, .rank = 3};
    et_product *p = &out.product[0];
    out.name = et_names_add(lo->group_names, et_printf(lo->g->arena, "%s.parts", gr->name), '_');
    out.axis[0] = et_graph_var(lo->g, "s", et_int(x, parts));
    out.axis[1] = et_graph_var(lo->g, "i", et_var_extent(x, of->m));
    out.axis[2] = et_graph_var(lo->g, "j", et_var_extent(x, of->n));
    out.to = (et_place){.space = ET_LOAD_TENSOR, .id = sums, .rank = 3};
    *p = *of;
    p->nbatch = 1;
    p->batch[0] = et_graph_var(lo->g, "b0", et_int(x, parts));
    p->k = et_graph_var(lo->g, "k", et_int(x, k));
    et_expr at = et_mul(x, et_var(x, p->batch[0]), et_int(x, k));
    at = et_add(x, at, et_var(x, p->k));
    p->a = et_subst_var(x, of->a, of->k, at);
    p->b = et_subst_var(x, of->b, of->k, at);
    out.nproduct = 1;
    for (int d = 0; d < 3; d++)
        out.to.index[d] = et_var(x, out.axis[d]);
    out.value = et_contract_x(x, 0, 3, out.to.index);
    return out;
}

struct adding {
    int sums, parts;
};

static et_expr add_up(void *ctx, et_exprs *x, et_expr leaf) {
    const struct adding *a = ctx;
    const et_node_x n = *et_x(x, leaf);
    et_expr sum = ET_NO_EXPR;
    if (n.op != ET_X_CONTRACT) return sum;
    for (int s = 0; s < a->parts; s++) {
        et_expr index[] = {et_int(x, s), n.ops[0], n.ops[1]};
        et_expr one = et_load(x, ET_LOAD_TENSOR, a->sums, ET_T_F32, 3, index);
        sum = s ? et_add(x, sum, one) : one;
    }
    return sum;
}

static void cut(et_lowering *lo, int at, int parts) {
    et_program *p = lo->p;
    int group = p->items[at].index;
    int sums = add_sums(lo, &p->groups[group], parts);
    et_group first = parts_group(lo, &p->groups[group], parts, sums);
    struct adding a = {sums, parts};
    ET_GROW(lo->g->arena, p->groups, p->ngroups, p->cgroups);
    for (int i = p->ngroups++; i > group; i--)
        p->groups[i] = p->groups[i - 1];
    p->groups[group] = first;
    et_group *gr = &p->groups[group + 1];
    gr->value = et_subst(lo->g->exprs, gr->value, add_up, &a);
    gr->nproduct = 0;
    et_program_insert_group(p, at);
}

void et_split_products(et_lowering *lo, const et_pass_options *opt) {
    et_program *p = lo->p;
    if (et_is_without(opt->without, ET_FEATURE_SPLIT_K)) return;
    for (int i = 0; i < p->nitems; i++) {
        if (p->items[i].kind != ET_P_GRID) continue;
        const et_group *gr = &p->groups[p->items[i].index];
        if (!may_be_cut(lo, gr, opt)) continue;
        int parts = parts_of(lo, gr, opt->machine);
        if (parts < 2) continue;
        cut(lo, i, parts);
        i++; /* the group that adds up */
    }
}
