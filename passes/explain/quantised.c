/* Products of quantised weights: the time of decoding beside the time of loading. */
#include "passes/explain/int.h"
#include <math.h>
#include <string.h>

enum { FUNCTION = 20, MOST_NAMES = 8, MOST_NODES = 512 };

/* One weight of a product. */
struct weight {
    const struct explain *e;
    const et_step *step;
    double ops, bytes;
    const et_tensor *code;
    const et_tensor *other[MOST_NAMES];           /* weights read with it: scales, zero points */
    double along[MOST_NAMES], across[MOST_NAMES]; /* one of them for so many weights of k, of n */
    int nothers;
    uint32_t seen[MOST_NODES];
    int nseen;
};

static bool is_new(struct weight *w, et_expr x) {
    for (int i = 0; i < w->nseen; i++)
        if (w->seen[i] == x.id) return false;
    if (w->nseen < MOST_NODES) w->seen[w->nseen++] = x.id;
    return true;
}

/* At how many values of VAR side by side LOAD gives the same, where parts of products begin
 * elsewhere, too: what is added to an index without VAR changes nothing of that. */
static double repeats(const struct weight *w, const et_node_x *load, int var) {
    const et_exprs *x = w->e->x;
    et_expr index[ET_MAX_RANK];
    et_node_x n = *load;
    for (int i = 0; i < load->nops; i++) {
        const et_node_x *at = et_x(x, index[i] = load->ops[i]);
        while (at->op == ET_X_ADD &&
               et_expr_has_var(x, at->ops[0], var) != et_expr_has_var(x, at->ops[1], var)) {
            index[i] = at->ops[!et_expr_has_var(x, at->ops[0], var)];
            at = et_x(x, index[i]);
        }
    }
    n.ops = index;
    return et_load_repeats(x, &n, var);
}

/* An element of a tensor; *OUT_FOR is the number of weights side by side that it is for. Where it
 * is, is not counted. */
static double count_load(struct weight *w, const et_node_x *n) {
    if (n->i2 != ET_LOAD_TENSOR) return 1;
    const et_tensor *t = &w->e->p->tensors[n->i];
    double often = repeats(w, n, w->step->kvar);
    double across = repeats(w, n, w->step->nvar);
    bool code = et_dtype_is_code(t->shape.dtype);
    if (t->kind == ET_TENSOR_WEIGHT) w->bytes += et_dtype_width(t->shape.dtype) / often / across;
    bool is_weight = t->kind == ET_TENSOR_WEIGHT && code && often == 1 && !w->code;
    if (is_weight)
        w->code = t;
    else if (t->kind == ET_TENSOR_WEIGHT && w->nothers < MOST_NAMES) {
        w->along[w->nothers] = often;
        w->across[w->nothers] = across;
        w->other[w->nothers++] = t;
    }
    if (t->shape.dtype != ET_F32 && t->shape.dtype != ET_I32) w->ops += 1 / often;
    return often;
}

/* Adds the cost of X, once; returns the number of neighbouring weights that share it. */
static double count(struct weight *w, et_expr x) {
    et_node_x n = *et_x(w->e->x, x);
    bool fresh = is_new(w, x);
    if (n.op == ET_X_LOAD) return fresh ? count_load(w, &n) : repeats(w, &n, w->step->kvar);
    double often = n.op == ET_X_VAR && n.i == w->step->kvar ? 1 : HUGE_VAL;
    for (int i = 0; i < n.nops; i++)
        often = fmin(often, count(w, n.ops[i]));
    bool function = et_xop_is(n.op, ET_XOP_FUNCTION);
    /* Integers have 32 bits in a tile, to which TO_I32 brings them back in meaning. */
    if (n.nops && fresh && n.op != ET_X_TO_I32) w->ops += (function ? FUNCTION : 1) / often;
    return often;
}

/* How many tiles of a launch decode a weight: those that differ in coordinates it does not depend
 * on. */
static double tiles_each(const struct explain *e, const et_grid *g, et_expr b,
                         const int64_t *syms) {
    const et_func *f = &e->p->funcs[g->func];
    double n = 1;
    for (int c = 0; c < f->ncoords; c++)
        if (!et_expr_has_var(e->x, b, f->coord[c]))
            n *= (double)et_eval(e->x, g->extent[c], syms, NULL);
    return n;
}

static double budget(const et_machine *m) {
    return m->vector_tflops * 1e3 / 2 / m->hbm_gbs;
}

static void put_run(const struct explain *e, double n, const char *before) {
    if (n > 1 && n < 1e9)
        fprintf(e->to, "%s%.0f", before, n);
    else if (n > 1)
        fprintf(e->to, "%sa row", before);
}

static void put_weight(const struct explain *e, const et_grid *g, et_expr b,
                       const struct weight *w) {
    double ops = w->ops / w->bytes, most = budget(e->m);
    fprintf(e->to, "  %s: %s of %s", g->name, et_dtype_name(w->code->shape.dtype), w->code->name);
    for (int i = 0; i < w->nothers; i++) {
        fprintf(e->to, ", %s of %s", et_dtype_name(w->other[i]->shape.dtype), w->other[i]->name);
        put_run(e, w->across[i], " for ");
        put_run(e, w->along[i], w->across[i] > 1 ? " x " : " for ");
    }
    fprintf(e->to, "; %.3g bytes and %.3g operations a weight: %.3g a byte, %.0f %% of %.3g\n",
            w->bytes, w->ops, ops, 100 * ops / most, most);
    double before = 1;
    for (int s = 0; s < e->nsamples; s++) {
        double again = tiles_each(e, g, b, e->syms[s]);
        if (again == before) continue;
        fprintf(e->to, "    %s: in %.0f tiles of rows each: %.3g a byte that comes from memory\n",
                explain_dims(e, e->syms[s]), again, ops * again);
        before = again;
    }
}

static bool look_at(const struct explain *e, et_expr b, const et_step *step, struct weight *w) {
    *w = (struct weight){.e = e, .step = step};
    count(w, b);
    return w->code != NULL;
}

/* Iterations of the loop with matrix instructions for a tile, derived from the instructions that
 * its products need; -1 where they do not divide. */
static int64_t rounds_of(const et_explain_code *c, double flops) {
    double rest = flops - (double)c->flops[0];
    if (c->deeper || c->flops[0] + c->flops[1] == 0) return -1;
    if (!c->flops[1]) return rest == 0 ? 0 : -1;
    double n = rest / (double)c->flops[1];
    return n >= 1 && n == floor(n) ? (int64_t)n : -1;
}

/* BYTES of weights that a tile's products read, in FLOPS of all waves. */
static void put_code(const struct explain *e, int grid, double bytes, double flops) {
    int waves = e->p->workgroup / e->m->wave_size;
    if (!e->opt->code || bytes <= 0) return;
    const et_explain_code *c = &e->opt->code[e->first_task + grid];
    int64_t rounds = rounds_of(c, flops / waves);
    if (rounds < 0) {
        fputs("    machine code: how often a tile runs each part is not known\n", e->to);
        return;
    }
    double all = (double)c->instructions[0] + (double)rounds * (double)c->instructions[1];
    fprintf(e->to, "    machine code: %.0f instructions of each of %d waves", all, waves);
    if (rounds > 1)
        fprintf(e->to, ", %lld times %lld in a loop", (long long)rounds,
                (long long)c->instructions[1]);
    fprintf(e->to, ": %.3g a byte%s\n", all * waves * e->m->wave_size / bytes,
            c->codes ? ", multiplied as fp8 x fp8" : "");
}

static void put_head(const struct explain *e) {
    fprintf(
        e->to,
        "\nQUANTISED WEIGHTS: operations for each byte of them\n"
        "  Counted, not measured: the dequantisation as it is written, for one weight in one "
        "lane. Each conversion, rounding or unpacking is one operation; what neighbouring weights "
        "share is counted once. Not counted: addresses, loads, matrix instructions. A target may "
        "need more instructions or fewer: without one that rounds to bf16, four or five.");
    if (e->opt->code)
        fputs(" Counted in the machine code: all instructions of the blocks that have matrix "
              "instructions, for a lane and a byte of a tile's weights.",
              e->to);
    else if (strncmp(e->m->target, "gfx", 3) == 0)
        fputs(" With -o, instructions are counted in the machine code as well.", e->to);
    fprintf(e->to,
            "\n  While a byte arrives from memory the vector units do at most %.3g operations "
            "(vector_tflops / 2 / hbm_gbs of the machine).\n",
            budget(e->m));
}

/* The products of one task; true where one is of quantised weights. */
static bool put_task(const struct explain *e, int grid, bool any) {
    const et_grid *g = &e->p->grids[grid];
    const et_func *f = &e->p->funcs[g->func];
    bool some = false, all = true;
    double bytes = 0, flops = 0;
    for (int i = 0; i < f->nsteps; i++) {
        const et_step *s = &f->steps[i];
        int64_t k = 0;
        if (s->kind != ET_STEP_CONTRACT) continue;
        all &= et_is_int(e->x, s->kextent, &k);
        for (int n = 0; n < s->nacc; n++) {
            struct weight w;
            bool code = look_at(e, s->b[n], s, &w);
            bytes += w.bytes * s->tn * (double)k;
            flops += 2.0 * s->tm * s->tn * (double)k;
            all &= w.bytes > 0;
            if (!code) continue;
            if (!any && !some) put_head(e);
            some = true;
            put_weight(e, g, s->b[n], &w);
        }
    }
    if (some && all) put_code(e, grid, bytes, flops);
    return some;
}

void explain_quantised(struct explain *e) {
    bool any = false;
    for (int i = 0; i < e->p->ngrids; i++)
        any |= put_task(e, i, any);
}
