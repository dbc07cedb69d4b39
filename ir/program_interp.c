#include "program_interp.h"
#include "op_util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One grid in one iteration of the loops around it. */
struct instance {
    int grid;
    int64_t loop[ET_MAX_LOOPS]; /* iteration of each enclosing loop, outermost first */
    int64_t tiles, done;
    char *ran;
};

struct machine {
    et_program *p;
    et_exprs *x;
    const int64_t *syms;
    int64_t *vars; /* by variable */
    char **memory; /* by tensor */
    char *workspace;
    uint32_t *counter;
    float **local; /* of the running function; i32 values are stored as their bits */
    const et_func *f;
    struct instance *inst;
    int ninst, cinst;
    uint64_t random;
    char *err;
    bool failed;
};

static void fail(struct machine *m, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void fail(struct machine *m, const char *fmt, ...) {
    if (m->failed) return;
    m->failed = true;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(m->err, 256, fmt, ap);
    va_end(ap);
}

static int64_t whole(struct machine *m, et_expr e) {
    return et_eval(m->x, e, m->syms, m->vars);
}

/* ---- values ---- */

static float load_float(et_dtype t, const char *at) {
    uint16_t h;
    uint32_t w;
    float f;
    switch (t) {
    case ET_BF16:
        memcpy(&h, at, 2);
        w = (uint32_t)h << 16;
        memcpy(&f, &w, 4);
        return f;
    case ET_F16: {
        _Float16 x;
        memcpy(&x, at, 2);
        return (float)x;
    }
    default:
        memcpy(&f, at, 4);
        return f;
    }
}

static void store_float(et_dtype t, char *at, float v) {
    uint32_t w;
    if (t == ET_F16) {
        _Float16 x = (_Float16)v;
        memcpy(at, &x, 2);
        return;
    }
    v = et_round_to(t, v);
    memcpy(&w, &v, 4);
    if (t == ET_BF16)
        memcpy(at, &(uint16_t){(uint16_t)(w >> 16)}, 2);
    else
        memcpy(at, &w, 4);
}

static int64_t eval_i(struct machine *m, et_expr e);
static float eval_f(struct machine *m, et_expr e);

static char *element(struct machine *m, int tensor, const et_expr *index) {
    const et_tensor *t = &m->p->tensors[tensor];
    int64_t at = 0;
    for (int d = 0; d < t->shape.rank; d++) {
        int64_t i = eval_i(m, index[d]), n = whole(m, t->shape.dim[d]);
        if (i < 0 || i >= n) {
            fail(m, "%s: index %lld of dimension %d of %s is outside [0, %lld)", m->f->name,
                 (long long)i, d, t->name, (long long)n);
            return NULL;
        }
        at = at * n + i;
    }
    return m->memory[tensor] + at * et_dtype_bytes(t->shape.dtype);
}

static float *local_element(struct machine *m, int local, const et_expr *index) {
    const et_local *l = &m->f->locals[local];
    int64_t at = 0;
    for (int d = 0; d < l->rank; d++) {
        int64_t i = eval_i(m, index[d]);
        if (i < 0 || i >= l->dim[d]) {
            fail(m, "%s: index %lld of dimension %d of local %s is outside [0, %d)", m->f->name,
                 (long long)i, d, l->name, l->dim[d]);
            return NULL;
        }
        at = at * l->dim[d] + i;
    }
    return m->local[local] + at;
}

static int64_t bits_i(const float *f) {
    int32_t i;
    memcpy(&i, f, 4);
    return i;
}

static int64_t compare(struct machine *m, const et_node_x *n) {
    if (et_x(m->x, n->ops[0])->type == ET_T_F32) {
        float a = eval_f(m, n->ops[0]), b = eval_f(m, n->ops[1]);
        return n->op == ET_X_LT   ? a < b
               : n->op == ET_X_LE ? a <= b
               : n->op == ET_X_EQ ? a == b
                                  : a != b;
    }
    int64_t a = eval_i(m, n->ops[0]), b = eval_i(m, n->ops[1]);
    return n->op == ET_X_LT   ? a < b
           : n->op == ET_X_LE ? a <= b
           : n->op == ET_X_EQ ? a == b
                              : a != b;
}

static int64_t int_op2(et_xop op, int64_t a, int64_t b) {
    switch (op) {
    case ET_X_ADD:
        return (int32_t)(uint32_t)(uint64_t)(a + b);
    case ET_X_SUB:
        return (int32_t)(uint32_t)(uint64_t)(a - b);
    case ET_X_MUL:
        return (int32_t)((uint32_t)a * (uint32_t)b);
    case ET_X_IDIV:
        return b ? a / b - (a % b != 0 && (a < 0) != (b < 0)) : 0;
    case ET_X_MOD:
        return b ? a - b * int_op2(ET_X_IDIV, a, b) : 0;
    case ET_X_MIN:
        return a < b ? a : b;
    case ET_X_MAX:
        return a > b ? a : b;
    default:
        et_bug("integer operator %s", et_xop_text(op));
    }
}

static int64_t to_int(float f) {
    if (!(f > -2147483648.0f)) return f != f ? 0 : INT32_MIN;
    return f >= 2147483648.0f ? INT32_MAX : (int64_t)f;
}

static int64_t eval_i(struct machine *m, et_expr e) {
    const et_node_x *n = et_x(m->x, e);
    switch (n->op) {
    case ET_X_INT:
        return n->n;
    case ET_X_SYM:
        return m->syms[n->i];
    case ET_X_VAR:
        return m->vars[n->i];
    case ET_X_LOAD:
        if (n->i2 == ET_LOAD_LOCAL) {
            const float *l = local_element(m, n->i, n->ops);
            return l ? bits_i(l) : 0;
        } else {
            char *at = element(m, n->i, n->ops);
            int32_t v = 0;
            if (at) memcpy(&v, at, 4);
            return v;
        }
    case ET_X_SELECT:
        return eval_i(m, eval_i(m, n->ops[0]) ? n->ops[1] : n->ops[2]);
    case ET_X_NOT:
        return !eval_i(m, n->ops[0]);
    case ET_X_AND:
        return eval_i(m, n->ops[0]) && eval_i(m, n->ops[1]);
    case ET_X_OR:
        return eval_i(m, n->ops[0]) || eval_i(m, n->ops[1]);
    case ET_X_LT:
    case ET_X_LE:
    case ET_X_EQ:
    case ET_X_NE:
        return compare(m, n);
    case ET_X_TO_I32:
        return to_int(eval_f(m, n->ops[0]));
    case ET_X_ABS: {
        int64_t a = eval_i(m, n->ops[0]);
        return a < 0 ? -a : a;
    }
    default:
        return int_op2(n->op, eval_i(m, n->ops[0]), eval_i(m, n->ops[1]));
    }
}

static float float_op1(et_xop op, float a) {
    switch (op) {
    case ET_X_NEG:
        return -a;
    case ET_X_ABS:
        return fabsf(a);
    case ET_X_TO_F16:
        return et_round_to(ET_F16, a);
    case ET_X_TO_BF16:
        return et_round_to(ET_BF16, a);
    case ET_X_EXP:
        return expf(a);
    case ET_X_LOG:
        return logf(a);
    case ET_X_SQRT:
        return sqrtf(a);
    case ET_X_RSQRT:
        return (float)(1 / sqrt((double)a));
    case ET_X_SIN:
        return sinf(a);
    case ET_X_COS:
        return cosf(a);
    case ET_X_TANH:
        return tanhf(a);
    case ET_X_ERF:
        return erff(a);
    case ET_X_FLOOR:
        return floorf(a);
    default:
        et_bug("operator %s", et_xop_text(op));
    }
}

static float float_op2(et_xop op, float a, float b) {
    switch (op) {
    case ET_X_ADD:
        return a + b;
    case ET_X_SUB:
        return a - b;
    case ET_X_MUL:
        return a * b;
    case ET_X_DIV:
        return a / b;
    case ET_X_MIN:
        return fminf(a, b);
    case ET_X_MAX:
        return fmaxf(a, b);
    case ET_X_POW:
        return powf(a, b);
    default:
        et_bug("operator %s", et_xop_text(op));
    }
}

static float eval_f(struct machine *m, et_expr e) {
    const et_node_x *n = et_x(m->x, e);
    if (n->op == ET_X_FLOAT) return (float)n->f;
    if (n->op == ET_X_LOAD) {
        if (n->i2 == ET_LOAD_LOCAL) {
            const float *l = local_element(m, n->i, n->ops);
            return l ? *l : 0;
        }
        const char *at = element(m, n->i, n->ops);
        return at ? load_float(m->p->tensors[n->i].shape.dtype, at) : 0;
    }
    if (n->op == ET_X_SELECT) return eval_f(m, eval_i(m, n->ops[0]) ? n->ops[1] : n->ops[2]);
    if (n->op == ET_X_TO_F32) return (float)eval_i(m, n->ops[0]);
    if (n->nops == 1) return float_op1(n->op, eval_f(m, n->ops[0]));
    return float_op2(n->op, eval_f(m, n->ops[0]), eval_f(m, n->ops[1]));
}

/* ---- steps ---- */

static void store(struct machine *m, const et_place *to, bool is_int, int64_t i, float f) {
    if (to->space == ET_LOAD_LOCAL) {
        float *l = local_element(m, to->id, to->index);
        int32_t w = (int32_t)i;
        if (l && is_int)
            memcpy(l, &w, 4);
        else if (l)
            *l = f;
        return;
    }
    et_dtype t = m->p->tensors[to->id].shape.dtype;
    char *at = element(m, to->id, to->index);
    int32_t w = is_int ? (int32_t)i : (int32_t)to_int(f);
    if (at && t == ET_I32)
        memcpy(at, &w, 4);
    else if (at)
        store_float(t, at, is_int ? (float)i : f);
}

static void reduce(struct machine *m, const et_step *s) {
    int64_t n = whole(m, s->rextent), best = 0, isum = 0;
    bool is_int = et_x(m->x, s->value)->type != ET_T_F32, any = false;
    double sum = 0;
    float most = s->red == ET_RED_MIN ? INFINITY : -INFINITY;
    for (int64_t k = 0; k < n && !m->failed; k++) {
        m->vars[s->rvar] = k;
        if (is_int && s->red == ET_RED_SUM) {
            isum += eval_i(m, s->value);
            continue;
        }
        float v = is_int ? (float)eval_i(m, s->value) : eval_f(m, s->value);
        if (s->red == ET_RED_SUM)
            sum += (double)v;
        else if (s->red == ET_RED_MIN)
            most = fminf(most, v);
        else if (s->red == ET_RED_MAX)
            most = fmaxf(most, v);
        else if (v == v && (!any || v > most))
            any = true, best = k, most = v;
    }
    if (s->red == ET_RED_ARGMAX)
        store(m, &s->to, true, best, 0);
    else if (is_int)
        store(m, &s->to, true, s->red == ET_RED_SUM ? isum : (int64_t)most, 0);
    else
        store(m, &s->to, false, 0, s->red == ET_RED_SUM ? (float)sum : most);
}

static void iterate(struct machine *m, const et_step *s) {
    int64_t extent[ET_MAX_VARS], total = 1;
    for (int v = 0; v < s->nvars; v++)
        total *= extent[v] = whole(m, et_var_extent(m->x, s->vars[v]));
    for (int64_t e = 0; e < total && !m->failed; e++) {
        int64_t left = e;
        for (int v = s->nvars - 1; v >= 0; v--, left /= extent[v + 1])
            m->vars[s->vars[v]] = left % extent[v];
        if (s->mask.id && !eval_i(m, s->mask)) continue;
        if (s->kind == ET_STEP_REDUCE)
            reduce(m, s);
        else if (et_x(m->x, s->value)->type == ET_T_F32)
            store(m, &s->to, false, 0, eval_f(m, s->value));
        else
            store(m, &s->to, true, eval_i(m, s->value), 0);
    }
}

static float *matrix(struct machine *m, const et_step *s, et_expr e, int var, int64_t rows,
                     int64_t k) {
    float *out = malloc((size_t)(rows * k + 1) * sizeof *out);
    for (int64_t r = 0; out && r < rows && !m->failed; r++)
        for (int64_t i = 0; i < k && !m->failed; i++) {
            m->vars[var] = r;
            m->vars[s->kvar] = i;
            out[r * k + i] = et_round_to(s->operand, eval_f(m, e));
        }
    if (!out) fail(m, "out of memory");
    return out;
}

static void contract(struct machine *m, const et_step *s) {
    int64_t k = whole(m, s->kextent), rows = eval_i(m, s->mlive), cols = eval_i(m, s->nlive);
    float *a = matrix(m, s, s->a, s->mvar, rows, k);
    for (int i = 0; a && i < s->nacc; i++) {
        float *acc = m->local[s->acc[i]], *b = matrix(m, s, s->b[i], s->nvar, cols, k);
        for (int64_t r = 0; b && r < s->tm; r++)
            for (int64_t c = 0; c < s->tn; c++) {
                double sum = r < rows && c < cols ? 0 : NAN;
                for (int64_t j = 0; r < rows && c < cols && j < k; j++)
                    sum += (double)a[r * k + j] * (double)b[c * k + j];
                acc[r * s->tn + c] = (float)sum;
            }
        free(b);
    }
    free(a);
}

static void attend(struct machine *m, const et_step *s) {
    int64_t n = eval_i(m, s->pextent);
    double *score = malloc((size_t)(n + 1) * sizeof *score);
    for (int64_t h = 0; score && h < s->heads && !m->failed; h++) {
        double most = -INFINITY, sum = 0;
        m->vars[s->hvar] = h;
        for (int64_t p = 0; p < n; p++) {
            double dot = 0;
            for (int64_t d = 0; d < s->depth && !m->failed; d++) {
                m->vars[s->pvar] = p;
                m->vars[s->dvar] = d;
                dot += (double)eval_f(m, s->q) * (double)eval_f(m, s->k);
            }
            score[p] = dot * s->scale;
            most = score[p] > most ? score[p] : most;
        }
        for (int64_t p = 0; p < n; p++)
            sum += score[p] = exp(score[p] - most);
        for (int64_t d = 0; d < s->depth && !m->failed; d++) {
            double out = 0;
            for (int64_t p = 0; p < n; p++) {
                m->vars[s->pvar] = p;
                m->vars[s->dvar] = d;
                out += score[p] / sum * (double)eval_f(m, s->v);
            }
            m->local[s->out][h * s->depth + d] = (float)out;
        }
    }
    free(score);
}

static void run_steps(struct machine *m, const et_func *f) {
    m->f = f;
    m->local = calloc((size_t)f->nlocals + 1, sizeof *m->local);
    for (int l = 0; m->local && l < f->nlocals; l++) {
        size_t n = 1;
        for (int d = 0; d < f->locals[l].rank; d++)
            n *= (size_t)f->locals[l].dim[d];
        m->local[l] = malloc(n * sizeof(float));
        if (m->local[l])
            memset(m->local[l], 0xff, n * sizeof(float));
        else
            fail(m, "out of memory");
    }
    for (int i = 0; m->local && i < f->nsteps && !m->failed; i++) {
        const et_step *s = &f->steps[i];
        if (s->kind == ET_STEP_CONTRACT)
            contract(m, s);
        else if (s->kind == ET_STEP_ATTEND)
            attend(m, s);
        else
            iterate(m, s);
    }
    for (int l = 0; m->local && l < f->nlocals; l++)
        free(m->local[l]);
    free(m->local);
}

/* ---- tasks and events ---- */

static void enter(struct machine *m, const struct instance *in, int64_t tile) {
    const et_grid *g = &m->p->grids[in->grid];
    const et_func *f = &m->p->funcs[g->func];
    int path[ET_MAX_LOOPS], n = 0;
    for (int l = g->loop; l >= 0; l = m->p->g->loops[l].parent)
        path[n++] = l;
    for (int i = 0; i < n; i++)
        m->vars[m->p->g->loops[path[n - 1 - i]].var] = in->loop[i];
    for (int c = f->ncoords - 1; c >= 0; c--) {
        int64_t extent = whole(m, g->extent[c]);
        m->vars[f->coord[c]] = tile % extent;
        tile /= extent;
    }
}

static bool applies(struct machine *m, const et_grid *g, et_when when) {
    if (when == ET_ALWAYS || g->loop < 0) return true;
    const et_loop *l = &m->p->g->loops[g->loop];
    int64_t i = m->vars[l->var];
    if (when == ET_LAST_ITERATION) return i == l->hi - l->lo - 1;
    return (i == 0) == (when == ET_FIRST_ITERATION);
}

/* Counters of EV in the box, visited in row-major order: the first short one, or -1. */
static int64_t first_short(struct machine *m, const et_event *ev, const et_wait *w) {
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK], count = whole(m, ev->count);
    for (int d = 0; d < ev->rank; d++) {
        at[d] = lo[d] = whole(m, w->lo[d]);
        hi[d] = whole(m, w->hi[d]);
        if (lo[d] > hi[d]) return -1;
    }
    for (;;) {
        int64_t word = 0, l, h;
        for (int d = 0; d < ev->rank; d++) {
            et_bounds(m->x, ev->dim[d], &l, &h);
            word = word * h + at[d];
        }
        if (word < 0 || word >= ev->words) {
            fail(m, "a wait on %s leaves the event", ev->name);
            return word;
        }
        if (m->counter[ev->base + word] < count) return word;
        int d = ev->rank - 1;
        while (d >= 0 && at[d] == hi[d]) {
            at[d] = lo[d];
            d--;
        }
        if (d < 0) return -1;
        at[d]++;
    }
}

static bool ready(struct machine *m, const struct instance *in, int64_t tile, int *out_event) {
    const et_grid *g = &m->p->grids[in->grid];
    enter(m, in, tile);
    for (int i = 0; i < g->nwaits; i++)
        if (applies(m, g, g->waits[i].when) &&
            first_short(m, &m->p->events[g->waits[i].event], &g->waits[i]) >= 0) {
            *out_event = g->waits[i].event;
            return false;
        }
    return true;
}

static void notify(struct machine *m, const et_grid *g) {
    for (int i = 0; i < g->nnotifies; i++) {
        const et_notify *no = &g->notifies[i];
        const et_event *ev = &m->p->events[no->event];
        if (!applies(m, g, no->when)) continue;
        int64_t word = 0, l, h;
        for (int d = 0; d < ev->rank; d++) {
            et_bounds(m->x, ev->dim[d], &l, &h);
            word = word * h + whole(m, no->index[d]);
        }
        if (word < 0 || word >= ev->words)
            fail(m, "%s notifies %s outside its counters", g->name, ev->name);
        else if (++m->counter[ev->base + word] > whole(m, ev->count))
            fail(m, "%s notifies counter %lld of %s more than %lld times", g->name, (long long)word,
                 ev->name, (long long)whole(m, ev->count));
    }
}

static void run_task(struct machine *m, struct instance *in, int64_t tile) {
    const et_grid *g = &m->p->grids[in->grid];
    run_steps(m, &m->p->funcs[g->func]);
    enter(m, in, tile);
    if (!m->failed) notify(m, g);
    in->ran[tile] = 1;
    in->done++;
}

/* ---- the order of tasks ---- */

static void list_instances(struct machine *m, int first, int count, int64_t *loop, int depth) {
    for (int i = first; i < first + count && !m->failed; i++) {
        const et_item *it = &m->p->items[i];
        if (it->kind == ET_P_LOOP) {
            const et_loop *l = &m->p->g->loops[it->index];
            if (depth == ET_MAX_LOOPS) {
                fail(m, "loops nested too deeply");
                return;
            }
            for (loop[depth] = 0; loop[depth] < l->hi - l->lo; loop[depth]++)
                list_instances(m, it->first, it->count, loop, depth + 1);
            continue;
        }
        if (m->ninst == m->cinst) {
            m->cinst = m->cinst ? 2 * m->cinst : 64;
            m->inst = realloc(m->inst, (size_t)m->cinst * sizeof *m->inst);
        }
        struct instance *in = &m->inst[m->ninst++];
        *in = (struct instance){.grid = it->index};
        memcpy(in->loop, loop, (size_t)depth * sizeof *loop);
        in->tiles = whole(m, et_grid_tiles(m->p, &m->p->grids[it->index]));
        in->ran = calloc((size_t)in->tiles + 1, 1);
    }
}

static uint64_t draw(struct machine *m, uint64_t below) {
    m->random = m->random * 6364136223846793005u + 1442695040888963407u;
    return (m->random >> 33) % below;
}

/* Some task that may start, looking from a random instance and tile on. */
static bool pick(struct machine *m, bool shuffle, int from, int *out_inst, int64_t *out_tile,
                 int *out_stuck, int *out_event) {
    int n = m->ninst - from, start = shuffle ? (int)draw(m, (uint64_t)n) : 0;
    for (int k = 0; k < n; k++) {
        struct instance *in = &m->inst[from + (start + k) % n];
        int64_t begin = shuffle && in->tiles ? (int64_t)draw(m, (uint64_t)in->tiles) : 0;
        for (int64_t t = 0; t < in->tiles && in->done < in->tiles; t++) {
            int64_t tile = (begin + t) % in->tiles;
            if (in->ran[tile]) continue;
            if (ready(m, in, tile, out_event)) {
                *out_inst = from + (start + k) % n;
                *out_tile = tile;
                return true;
            }
            *out_stuck = in->grid;
            if (m->failed) return false;
        }
    }
    return false;
}

static void run_all(struct machine *m, bool shuffle) {
    for (int from = 0; !m->failed;) {
        while (from < m->ninst && m->inst[from].done == m->inst[from].tiles)
            from++;
        if (from == m->ninst) return;
        int inst, stuck = 0, event = 0;
        int64_t tile;
        if (!pick(m, shuffle, from, &inst, &tile, &stuck, &event)) {
            fail(m, "no task can start: %s waits for event %s", m->p->grids[stuck].name,
                 m->p->events[event].name);
            return;
        }
        run_task(m, &m->inst[inst], tile);
    }
}

bool et_program_interp(et_program *p, const int64_t *syms, void *const *tensor, uint64_t seed,
                       char err[256]) {
    struct machine m = {.p = p, .x = p->g->exprs, .syms = syms, .random = seed, .err = err};
    m.vars = calloc((size_t)et_var_count(m.x) + 1, sizeof *m.vars);
    m.memory = calloc((size_t)p->ntensors + 1, sizeof *m.memory);
    m.workspace = malloc((size_t)p->workspace_bytes + 1);
    m.counter = calloc((size_t)p->event_words + 1, sizeof *m.counter);
    err[0] = 0;
    if (!m.vars || !m.memory || !m.workspace || !m.counter) fail(&m, "out of memory");
    if (!m.failed) {
        memset(m.workspace, 0xff, (size_t)p->workspace_bytes);
        for (int t = 0; t < p->ntensors; t++)
            m.memory[t] = p->tensors[t].kind == ET_TENSOR_TEMP ? m.workspace + p->tensors[t].offset
                          : p->tensors[t].kind == ET_TENSOR_CONST
                              ? (char *)(uintptr_t)p->tensors[t].data
                              : tensor[t];
        int64_t loop[ET_MAX_LOOPS] = {0};
        list_instances(&m, p->first, p->count, loop, 0);
        run_all(&m, seed != 0);
    }
    for (int i = 0; i < m.ninst; i++)
        free(m.inst[i].ran);
    free(m.inst);
    free(m.vars);
    free(m.memory);
    free(m.workspace);
    free(m.counter);
    return !m.failed;
}
