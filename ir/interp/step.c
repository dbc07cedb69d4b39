/* The steps of a device function. */
#include "ir/expr/int_ops.h"
#include "ir/interp/run.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of elements of 32 bits: SUM wraps around; an empty MAX or MIN is the type's other end. */
static int64_t reduce_ints(struct run *m, const et_step *s, int64_t n) {
    int64_t sum = 0, most = s->red == ET_RED_MIN ? INT32_MAX : INT32_MIN, place = 0;
    for (int64_t k = 0; k < n && !m->failed; k++) {
        m->vars[s->rvar] = k;
        int64_t v = et_int_low(run_eval_i(m, s->value));
        sum = et_int_low(sum + v);
        if (s->red == ET_RED_MIN ? v < most : v > most) most = v, place = k;
    }
    return s->red == ET_RED_SUM ? sum : s->red == ET_RED_ARGMAX ? place : most;
}

/* What a reduction to a place compares: NaN is as if it were minus infinity. */
static double compared(struct run *m, const et_step *s, int64_t k) {
    m->vars[s->rvar] = k;
    if (et_x(m->x, s->value)->type != ET_T_F32) return (double)et_int_low(run_eval_i(m, s->value));
    float v = run_eval_f(m, s->value);
    return isnan(v) ? -INFINITY : (double)v;
}

/* The element whose place is that of the step's last variable: so many are greater, or equal and
 * before it. */
static void top(struct run *m, const et_step *s, int64_t n) {
    int64_t place = m->vars[s->vars[s->nvars - 1]], found = 0;
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; v && i < n && !m->failed; i++)
        v[i] = compared(m, s, i);
    for (int64_t i = 0; v && i < n; i++) {
        int64_t before = 0;
        for (int64_t k = 0; k < n && before <= place; k++)
            before += v[k] > v[i] || (v[k] == v[i] && k < i);
        if (before == place) found = i;
    }
    if (!v) run_fail(m, "out of memory");
    free(v);
    run_store(m, &s->to, true, found, 0);
}

static void reduce(struct run *m, const et_step *s) {
    int64_t n = run_eval_i(m, s->rextent), place = 0;
    if (s->red == ET_RED_TOP) {
        top(m, s, n);
        return;
    }
    if (et_x(m->x, s->value)->type != ET_T_F32) {
        run_store(m, &s->to, true, reduce_ints(m, s, n), 0);
        return;
    }
    double sum = 0;
    float most = s->red == ET_RED_MIN ? INFINITY : -INFINITY;
    for (int64_t k = 0; k < n && !m->failed; k++) {
        m->vars[s->rvar] = k;
        float v = run_eval_f(m, s->value);
        if (s->red == ET_RED_SUM)
            sum += (double)v;
        else if (s->red == ET_RED_MIN)
            most = fminf(most, v);
        else if (s->red == ET_RED_MAX)
            most = fmaxf(most, v);
        else if (v > most)
            place = k, most = v;
    }
    if (s->red == ET_RED_ARGMAX)
        run_store(m, &s->to, true, place, 0);
    else
        run_store(m, &s->to, false, 0, s->red == ET_RED_SUM ? (float)sum : most);
}

/* ONE for each work-item of a step that its mask lets through. */
static void each_item(struct run *m, const et_step *s,
                      void (*one)(struct run *, const et_step *, void *), void *user) {
    int64_t extent[ET_MAX_VARS], total = 1;
    for (int v = 0; v < s->nvars; v++)
        total *= extent[v] = run_whole(m, et_var_extent(m->x, s->vars[v]));
    for (int64_t e = 0; e < total && !m->failed; e++) {
        int64_t left = e;
        m->item = e;
        for (int v = s->nvars - 1; v >= 0; v--, left /= extent[v + 1])
            m->vars[s->vars[v]] = left % extent[v];
        if (!s->mask.id || run_eval_i(m, s->mask)) one(m, s, user);
    }
}

static void map_or_reduce(struct run *m, const et_step *s, void *user) {
    (void)user;
    if (s->kind == ET_STEP_REDUCE)
        reduce(m, s);
    else if (et_x(m->x, s->value)->type == ET_T_F32)
        run_store(m, &s->to, false, 0, run_eval_f(m, s->value));
    else
        run_store(m, &s->to, true, run_eval_i(m, s->value), 0);
}

static float *matrix(struct run *m, const et_step *s, et_expr e, int var, int64_t rows, int64_t k) {
    float *out = malloc((size_t)(rows * k + 1) * sizeof *out);
    for (int64_t r = 0; out && r < rows && !m->failed; r++)
        for (int64_t i = 0; i < k && !m->failed; i++) {
            m->vars[var] = r;
            m->vars[s->kvar] = i;
            out[r * k + i] = et_round_to(s->operand, run_eval_f(m, e));
        }
    if (!out) run_fail(m, "out of memory");
    return out;
}

/* What a program that is not verified may have negative. */
static int64_t extent_of(struct run *m, et_expr e) {
    int64_t n = run_eval_i(m, e);
    return n < 0 ? 0 : n;
}

static void contract(struct run *m, const et_step *s) {
    int64_t k = extent_of(m, s->kextent), rows = extent_of(m, s->mlive),
            cols = extent_of(m, s->nlive);
    float *a = matrix(m, s, s->a, s->mvar, rows, k);
    for (int i = 0; a && i < s->nacc; i++) {
        float *acc = m->local[s->acc[i]], *b = matrix(m, s, s->b[i], s->nvar, cols, k);
        for (int64_t r = 0; b && r < s->tm; r++)
            for (int64_t c = 0; c < s->tn; c++) {
                double sum = r < rows && c < cols ? 0 : NAN;
                for (int64_t j = 0; r < rows && c < cols && j < k; j++)
                    sum += (double)a[r * k + j] * (double)b[c * k + j];
                acc[r * s->tn + c] = (float)sum;
                run_touch(m, ET_LOAD_LOCAL, s->acc[i], r * s->tn + c, true);
                if (m->written) m->written[s->acc[i]][r * s->tn + c] = r < rows && c < cols;
            }
        free(b);
    }
    free(a);
}

/* Scores of the positions from FIRST to N for head H, minus infinity where the mask is false;
 * returns the largest. OUT_NONE: all are minus infinity. */
static double scores(struct run *m, const et_step *s, int64_t first, int64_t n, double *score,
                     bool *out_none) {
    double most = -INFINITY;
    *out_none = true;
    for (int64_t p = first; p < n && !m->failed; p++) {
        double dot = 0;
        m->vars[s->pvar] = p;
        score[p] = -INFINITY;
        if (s->part[ET_AT_MASK].id && !run_eval_i(m, s->part[ET_AT_MASK])) continue;
        for (int64_t d = 0; d < s->depth; d++) {
            m->vars[s->dvar] = d;
            dot +=
                (double)run_eval_f(m, s->part[ET_AT_Q]) * (double)run_eval_f(m, s->part[ET_AT_K]);
        }
        m->product = (float)dot;
        score[p] = (double)run_eval_f(m, s->part[ET_AT_SCORE]);
        most = score[p] > most ? score[p] : most;
        *out_none &= score[p] == -INFINITY;
    }
    return most;
}

/* PART: the sum of weights comes after the result, which is not divided by it. */
static void attend_head(struct run *m, const et_step *s, int64_t first, int64_t n, double *score,
                        bool part, float *out) {
    bool has_extra = s->part[ET_AT_EXTRA].id != 0, none;
    double most = scores(m, s, first, n, score, &none), sum = 0;
    double extra = has_extra ? (double)run_eval_f(m, s->part[ET_AT_EXTRA]) : 0;
    double shift = has_extra && extra > most ? extra : most;
    for (int64_t p = first; p < n && !none; p++)
        sum += score[p] = exp(score[p] - shift);
    if (has_extra) sum += exp(extra - shift);
    if (part) {
        out[s->depth] = none && !has_extra ? -1e38F : (float)(shift * M_LOG2E);
        out[s->depth + 1] = (float)sum;
        sum = 1;
    }
    for (int64_t d = 0; d < s->depth && !m->failed; d++) {
        double total = 0;
        m->vars[s->dvar] = d;
        for (int64_t p = first; p < n && !none; p++) {
            m->vars[s->pvar] = p;
            if (score[p] != 0) total += score[p] / sum * (double)run_eval_f(m, s->part[ET_AT_V]);
        }
        out[d] = (float)total;
    }
}

/* One row; its results begin at element AT of the output. */
static void attend_row(struct run *m, const et_step *s, int64_t at) {
    int64_t first = run_eval_i(m, s->part[ET_AT_FIRST]), n = run_eval_i(m, s->part[ET_AT_END]);
    double *score = malloc((size_t)(n > 0 ? n + 1 : 1) * sizeof *score);
    if (!score) run_fail(m, "out of memory");
    if (first < 0) run_fail(m, "%s: an attention from position %lld", m->f->name, (long long)first);
    const et_local *to = &m->f->locals[s->out];
    int64_t wide = to->dim[to->rank - 1];
    for (int64_t h = 0; score && h < s->heads && !m->failed; h++) {
        m->vars[s->hvar] = h;
        float *out = m->local[s->out] + at + h * wide;
        attend_head(m, s, first, n, score, wide > s->depth, out);
        for (int64_t d = 0; d < wide; d++) {
            run_touch(m, ET_LOAD_LOCAL, s->out, at + h * wide + d, true);
            if (m->written) m->written[s->out][at + h * wide + d] = 1;
        }
    }
    free(score);
}

static void attend(struct run *m, const et_step *s) {
    if (!s->rows) {
        attend_row(m, s, 0);
        return;
    }
    int64_t rows = run_eval_i(m, s->ilive);
    for (int64_t i = 0; i < rows && i < s->rows && !m->failed; i++) {
        m->vars[s->ivar[0]] = i;
        attend_row(m, s, i * s->heads * m->f->locals[s->out].dim[2]);
    }
}

/* One result of one row; STATE: its elements, carried from row to row. */
static void scan_one(struct run *m, const et_step *s, bool fresh, bool keep, int64_t size,
                     float *state) {
    int64_t *j = &m->vars[s->evar];
    et_expr element =
        et_load(m->x, ET_LOAD_TENSOR, s->state.id, ET_T_F32, s->state.rank, s->state.index);
    double seen = 0, out = 0;
    for (*j = 0; *j < size && !m->failed; ++*j) {
        m->state = state[*j] = fresh ? 0 : run_eval_f(m, element);
        if (s->scan[ET_SC_LOOK].id) seen += (double)run_eval_f(m, s->scan[ET_SC_LOOK]);
    }
    m->seen = (float)seen;
    for (*j = 0; *j < size && !m->failed; ++*j) {
        m->state = state[*j];
        m->state = run_eval_f(m, s->scan[ET_SC_NEXT]);
        out += (double)run_eval_f(m, s->scan[ET_SC_OUT]);
        if (keep) run_store(m, &s->state, false, 0, m->state);
    }
    m->sum = (float)out;
    run_store(m, &s->to, false, 0,
              s->scan[ET_SC_THEN].id ? run_eval_f(m, s->scan[ET_SC_THEN]) : m->sum);
}

static void iterate(struct run *m, const et_step *s) {
    each_item(m, s, map_or_reduce, NULL);
}

struct scanned {
    int64_t rows, size; /* size: elements of the state that a result has */
    float *state;
};

static void scan_rows(struct run *m, const et_step *s, void *user) {
    const struct scanned *n = user;
    for (int64_t i = 0; i < n->rows && !m->failed; i++) {
        m->vars[s->rvar] = i;
        bool keep = !s->scan[ET_SC_KEEP].id || run_eval_i(m, s->scan[ET_SC_KEEP]);
        bool fresh = !keep || (s->scan[ET_SC_FRESH].id && run_eval_i(m, s->scan[ET_SC_FRESH]));
        scan_one(m, s, fresh, keep, n->size, n->state);
    }
}

/* Results are work-items of their own, which go through all rows. */
static void scan(struct run *m, const et_step *s) {
    struct scanned n = {run_eval_i(m, s->rextent), run_whole(m, et_var_extent(m->x, s->evar)),
                        NULL};
    n.state = malloc((size_t)n.size * sizeof *n.state);
    if (!n.state) run_fail(m, "out of memory");
    each_item(m, s, scan_rows, &n);
    free(n.state);
}

static size_t elements(const et_local *l) {
    size_t n = 1;
    for (int d = 0; d < l->rank; d++)
        n *= (size_t)l->dim[d];
    return n;
}

static void forget(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct run *m = ctx;
    (void)index;
    if (is_store && space == ET_LOAD_LOCAL) memset(m->written[id], 0, elements(&m->f->locals[id]));
}

/* A buffer that a step writes as a whole holds what the step says and nothing else. */
static void begin_step(struct run *m, const et_step *s) {
    m->step = s;
    m->item = -1;
    run_items_begin(m);
    if (m->written && !et_step_to(s)) et_step_touches(m->x, s, forget, m);
}

static bool make_locals(struct run *m, const et_func *f) {
    m->local = calloc((size_t)f->nlocals + 1, sizeof *m->local);
    m->written = m->opt->races ? calloc((size_t)f->nlocals + 1, sizeof *m->written) : NULL;
    bool ok = m->local && (m->written || !m->opt->races);
    for (int l = 0; ok && l < f->nlocals; l++) {
        size_t n = elements(&f->locals[l]);
        m->local[l] = malloc(n * sizeof(float));
        if (m->local[l]) memset(m->local[l], 0xff, n * sizeof(float));
        if (m->written) m->written[l] = calloc(n, 1);
        ok = m->local[l] && (m->written == NULL || m->written[l]);
    }
    if (!ok) run_fail(m, "out of memory");
    return ok;
}

static void free_locals(struct run *m, const et_func *f) {
    for (int l = 0; l < f->nlocals; l++) {
        if (m->local) free(m->local[l]);
        if (m->written) free(m->written[l]);
    }
    free(m->local);
    free(m->written);
    m->written = NULL;
}

void run_steps(struct run *m, const et_func *f) {
    static void (*const run[])(struct run *, const et_step *) = {
        [ET_STEP_MAP] = iterate,   [ET_STEP_REDUCE] = iterate, [ET_STEP_CONTRACT] = contract,
        [ET_STEP_ATTEND] = attend, [ET_STEP_SCAN] = scan,
    };
    m->f = f;
    bool ok = make_locals(m, f);
    for (int i = 0; ok && i < f->nsteps && !m->failed && !m->waits; i++) {
        begin_step(m, &f->steps[i]);
        run[m->step->kind](m, m->step);
    }
    m->step = NULL;
    free_locals(m, f);
}
