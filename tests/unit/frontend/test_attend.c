/* Attention with all that a program can say of it, through the reference interpreter, against loops
 * in plain C that know nothing of it. */
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include <check.h>
#include <math.h>
#include <string.h>

enum { N = 6, NH = 4, NKV = 2, D = 6, CTX = 12, SLOTS = 3, PAGE = 4, PAGES = 11 };

static const char text[] =
    "model t; dim N in 1..8; const NH = 4, NKV = 2, D = 6, CTX = 12, SLOTS = 3, PAGE = 4\n"
    "input q : f32[N, NH, D]; input slots, positions : i32[N]\n"
    "input table : i32[SLOTS, CTX / PAGE]\n"
    "state kc, vc : f32[SLOTS, NKV, CTX, D]; state kp, vp : f32[11, PAGE, NKV, D]\n"
    "input sinks, slope : f32[NH]\n"
    "output plain = attention(q, kc, vc, slots, positions, scale = 0.4)\n"
    "output window = attention(q, kc, vc, slots, positions, scale = 0.4, window = 3)\n"
    "output cap = attention(q, kc, vc, slots, positions, scale = 0.4, softcap = 0.7)\n"
    "output sink = attention(q, kc, vc, slots, positions, scale = 0.4, sink = sinks)\n"
    "output all = attention(q, kc, vc, slots, positions, scale = 0.4, window = 5, softcap = 0.7,\n"
    "                       sink = sinks)\n"
    "last = minimum(maximum(positions, -1), CTX - 1)\n"
    "output paged = attend(i in 0..N, h in 0..NH, p in 0..CTX, d in 0..D, q = q[i, h, d],\n"
    "    k = kp[table[slots[i], p / PAGE], mod(p, PAGE), h / 2, d],\n"
    "    v = vp[table[slots[i], p / PAGE], mod(p, PAGE), h / 2, d],\n"
    "    first = last[i] - 6, end = positions[i] + 1, mask = mod(p + h, 3) != 0 and p != 7,\n"
    "    score = 0.9 * tanh(qk * 0.4 / 0.9) + slope[h] * (p - last[i]), extra = sinks[h])\n";

/* What each output has of it. */
static const struct variant {
    const char *name;
    int window;
    double cap;
    bool sink, paged;
} variants[] = {{"plain", CTX, 0, false, false}, {"window", 3, 0, false, false},
                {"cap", CTX, 0.7, false, false}, {"sink", CTX, 0, true, false},
                {"all", 5, 0.7, true, false},    {"paged", 7, 0.9, true, true}};
enum { COUNT = sizeof variants / sizeof *variants };

static const int32_t slots[N] = {2, 0, 1, 1, -9, 7}, positions[N] = {0, 11, 5, 40, 9, -1};
static const int32_t table[SLOTS * CTX / PAGE] = {7, 0, 3, 10, 4, 1, 9, 2, 8};

struct data {
    et_graph *g;
    et_tensor_data **of;
};

static const float *values(const struct data *t, const char *name) {
    for (int id = 1; id < t->g->nvals; id++)
        if (t->g->vals[id].name && strcmp(t->g->vals[id].name, name) == 0) return t->of[id]->f;
    ck_abort_msg("no tensor is called %s", name);
}

static int between(int v, int lo, int hi) {
    return v < lo ? lo : v > hi ? hi : v;
}

/* Key or value D of position P for head H of query I. */
static double cached(const struct data *t, const struct variant *v, bool value, int i, int h, int p,
                     int d) {
    int slot = between(slots[i], 0, SLOTS - 1), kv = h / (NH / NKV);
    if (!v->paged)
        return (double)values(t, value ? "vc" : "kc")[((slot * NKV + kv) * CTX + p) * D + d];
    int page = table[slot * (CTX / PAGE) + p / PAGE];
    return (double)values(t, value ? "vp" : "kp")[((page * PAGE + p % PAGE) * NKV + kv) * D + d];
}

static double want(const struct data *t, const struct variant *v, int i, int h, int d) {
    int last = between(positions[i], -1, CTX - 1);
    double top = 0, bottom = v->sink ? exp((double)values(t, "sinks")[h]) : 0;
    bool any = false;
    for (int p = between(last + 1 - v->window, 0, CTX); p <= last; p++) {
        double s = 0;
        if (v->paged && ((p + h) % 3 == 0 || p == 7)) continue;
        for (int e = 0; e < D; e++)
            s += (double)values(t, "q")[(i * NH + h) * D + e] * cached(t, v, false, i, h, p, e);
        s *= 0.4;
        if (v->cap > 0) s = v->cap * tanh(s / v->cap);
        if (v->paged) s += (double)values(t, "slope")[h] * (p - last);
        top += exp(s) * cached(t, v, true, i, h, p, d);
        bottom += exp(s);
        any = true;
    }
    return any ? top / bottom : 0;
}

static void fill(const et_val *v, et_tensor_data *t, uint64_t *rng) {
    bool of_slots = v->name && strcmp(v->name, "slots") == 0;
    bool of_table = v->name && strcmp(v->name, "table") == 0;
    for (int64_t k = 0, n = et_tensor_count(t); k < n; k++) {
        *rng = *rng * 6364136223846793005u + 1442695040888963407u;
        if (t->dtype == ET_I32)
            t->i[k] = of_slots ? slots[k] : of_table ? table[k] : positions[k];
        else
            t->f[k] = (float)(*rng >> 40) / (float)(1 << 22) - 2;
        if (v->kind == ET_V_NODE) memset(&t->i[k], 0xff, 4);
    }
}

static struct data evaluate(et_arena *arena) {
    et_diags *diags = et_diags_create(arena);
    struct data t = {.g = et_parse_etg(arena, diags, "attend.etg", text, strlen(text))};
    if (!t.g) et_diag_print(diags, stdout);
    ck_assert(t.g != NULL);
    int64_t syms[] = {N};
    uint64_t rng = 1;
    t.of = et_alloc(arena, (size_t)t.g->nvals * sizeof *t.of);
    for (int id = 1; id < t.g->nvals; id++) {
        const et_val *v = &t.g->vals[id];
        if (v->kind == ET_V_CONST || (v->kind == ET_V_NODE && !v->is_output)) continue;
        et_tensor_data *x = t.of[id] = et_alloc(arena, sizeof *x);
        x->dtype = v->shape.dtype;
        x->rank = v->shape.rank;
        for (int k = 0; k < x->rank; k++)
            x->dim[k] = et_eval(t.g->exprs, v->shape.dim[k], syms, NULL);
        x->p = et_alloc(arena, (size_t)et_tensor_count(x) * sizeof *x->f);
        fill(v, x, &rng);
    }
    char err[256] = "";
    ck_assert_msg(et_graph_interp(t.g, syms, t.of, err), "%s", err);
    return t;
}

START_TEST(attends) {
    et_arena *arena = et_arena_create();
    struct data t = evaluate(arena);
    const struct variant *v = &variants[_i];
    const float *out = values(&t, v->name);
    for (int i = 0; i < N; i++)
        for (int h = 0; h < NH; h++)
            for (int d = 0; d < D; d++)
                ck_assert_double_eq_tol((double)out[(i * NH + h) * D + d], want(&t, v, i, h, d),
                                        1e-6);
    et_arena_destroy(arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("attend");
    TCase *tc = tcase_create("attend");
    tcase_add_loop_test(tc, attends, 0, COUNT);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
