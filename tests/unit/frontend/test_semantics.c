/* What programs compute: small ones through the reference interpreter, against plain C. */
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include <check.h>
#include <math.h>
#include <string.h>

enum { N = 3, W = 4 };

/* The tensors every program may use: a, b : f32[N, 4]; i, j : i32[N]; weights count up from 0. */
static const char prologue[] = "model test; dim N in 1..9\n"
                               "input a, b : f32[N, 4]; input i, j : i32[N]\n"
                               "def f(x) = x / (1 + exp(-x)) + x\n";

static double a(int k) {
    return 0.5 * k - 3;
}
static double b(int k) {
    return 1 + 0.25 * k;
}
static int i(int k) {
    return 2 * k - 3;
}
static int j(int k) {
    return 2 - k;
}

static void fill(const et_val *v, et_tensor_data *t) {
    int64_t n = et_tensor_count(t);
    for (int k = 0; k < n; k++)
        if (v->kind == ET_V_WEIGHT)
            t->f[k] = (float)k;
        else if (v->kind == ET_V_INPUT && t->dtype == ET_I32)
            t->i[k] = v->name[0] == 'i' ? i(k) : j(k);
        else if (v->kind == ET_V_INPUT)
            t->f[k] = (float)(v->name[0] == 'a' ? a(k) : b(k));
}

static et_tensor_data **tensors(et_arena *arena, const et_graph *g, const int64_t *syms) {
    et_tensor_data **of = et_alloc(arena, (size_t)g->nvals * sizeof *of);
    for (int id = 1; id < g->nvals; id++) {
        const et_val *v = &g->vals[id];
        if (v->kind == ET_V_CONST) continue;
        et_tensor_data *t = of[id] = et_alloc(arena, sizeof *t);
        t->dtype = v->shape.dtype == ET_I32 ? ET_I32 : ET_F32;
        t->rank = v->shape.rank;
        for (int k = 0; k < t->rank; k++)
            t->dim[k] = et_eval(g->exprs, v->shape.dim[k], syms, NULL);
        t->p = et_alloc(arena, (size_t)et_tensor_count(t) * sizeof *t->f);
        fill(v, t);
    }
    return of;
}

static et_graph *parse(et_arena *arena, const char *text) {
    et_diags *d = et_diags_create(arena);
    const char *all = et_printf(arena, "%s%s\n", prologue, text);
    et_graph *g = et_parse_etg(arena, d, text, all, strlen(all));
    if (!g) et_diag_print(d, stdout);
    ck_assert_msg(g != NULL, "does not compile: %s", text);
    return g;
}

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}
static double f(double x) {
    return x * sigmoid(x) + x;
}

static double w_precedence(int k) {
    return 2 - 3 * a(k) / 8 - -b(k) * 2;
}
static double w_sigmoid(int k) {
    return sigmoid(20 * a(k));
}
static double w_silu(int k) {
    return 40 * a(k) * sigmoid(40 * a(k));
}
static double w_relu(int k) {
    return fmax(a(k), 0);
}
static double w_gelu(int k) {
    return 0.5 * a(k) * (1 + erf(a(k) / sqrt(2)));
}
static double w_gelu_tanh(int k) {
    double x = a(k);
    return 0.5 * x * (1 + tanh(sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
static double w_deep(int k) {
    return f(f(f(f(f(f(0.01 * a(k)))))));
}
static double w_halves(int k) {
    return i(k) / 2.0;
}
static double w_whole(int k) {
    return floor(i(k) / 2.0) * 10 + (i(k) + 300) % 3;
}
static double w_index(int k) {
    return a(2 * W + 1 + k) + a(2);
}
static double w_half_size(int k) {
    return a((k / 2) * W + 1 + k % 2);
}
static double w_mean(int k) {
    return (a(k) + a(W + k) + a(2 * W + k)) / 3 + (b(0) + b(1) + b(2) + b(3)) / 4;
}
static double w_where(int k) {
    return a(k) > 0 && b(k) <= 3 ? a(k) : k / W == 2 ? 5 : b(k);
}
static double w_product(int k) {
    double sum = 0;
    for (int c = 0; c < W; c++)
        sum += a(k / N * W + c) * b(k % N * W + c);
    return sum;
}
static double w_count(int k) {
    return a(k) + (2 + 3 + 4) * 10 + 3;
}
static double w_swap(int k) {
    return b(k) * 100 + a(k);
}
static double w_stack(int k) {
    int c = k % W;
    return a(k) + (0 * W + c) + (1 * W + c) + (2 * W + c);
}
static double w_nested(int k) {
    double sum = 0;
    for (int o = 0; o < 2; o++)
        for (int n = 0; n < 3; n++)
            sum += (o * 3 + n) * W + k;
    return sum;
}
static double w_copy(int k) {
    return a(k) - 0;
}
static double w_update(int k) {
    int row = k / W; /* i is -3, -1, 1: only i[2] = 1 is inside; then j + 2 is 4, 3, 2 */
    if (row == 1) return a(2 * W + k % W);
    return row >= 2 && row <= 4 ? b((4 - row) * W + k % W) : 0;
}
static double w_columns(int k) {
    int r = k / 5, c = k % 5; /* s[j, j + 1] = a[:, 0]: j is 2, 1, 0 */
    return c == r + 1 && r < 3 ? a((2 - r) * W) : 0;
}
static double w_gather(int k) {
    int row = j(k / W);
    return a(row * W + k % W);
}

static const struct {
    const char *text; /* its last output is compared */
    double (*want)(int k);
} programs[] = {
    {"output y = 2 - 3 * a / 8 - -b * 2", w_precedence},
    {"output y = sigmoid(20 * a)", w_sigmoid},
    {"output y = silu(40 * a)", w_silu},
    {"output y = relu(a)", w_relu},
    {"output y = gelu(a)", w_gelu},
    {"output y = gelu_tanh(a)", w_gelu_tanh},
    {"output y = f(f(f(f(f(f(0.01 * a))))))", w_deep},
    {"output y = i / 2", w_halves},
    {"output y : i32[N] = idiv(i, 2) * 10 + mod(i, 3)", w_whole},
    {"output y = a[-1, 1:3] + a[:, :-1][0, -1]", w_index},
    {"output y = a[:, 5/4:7/2]", w_half_size},
    {"output y = mean(a, axis=0) + mean(b)[0]", w_mean},
    {"m = a > 0 and not (b > 3)\nr = reshape(i, [N, 1]) == 1\n"
     "output y = where(m, a, where(r, 5, b))",
     w_where},
    {"output y = a @ b.T", w_product},
    {"output y = a @ transpose(b, [1, 0])", w_product},
    {"x = a; n = 0\nfor l in 2..5 { x = x + l * 10; n = n + 1 }\noutput y = x + n", w_count},
    {"x = a; y = b\nfor l in 0..3 { t = x; x = y; y = t }\noutput z = x * 100 + y", w_swap},
    {"x = a\nfor l in 1..4 { weight w : f32[4] = \"w.{l}\"; x = x + w }\noutput y = x", w_stack},
    {"x = f32(a[0] * 0)\nfor o in 0..2 { for n in 5..8 {\n"
     "  weight w : f32[4] = \"w.{n}.{o}\"; x = x + w } }\noutput y = x",
     w_nested},
    {"state s : f32[9, 4]\nold = s; cell = s[0]\ns[j] = a\noutput y = gather(s, j) - old[0:N] - "
     "cell",
     w_copy},
    {"state s : f32[6, 4]\ns[i] = a\ns[j + 2] = b\noutput y = s", w_update},
    {"state s : f32[6, 5]\ns[j, j + 1] = a[:, 0]\noutput y = s", w_columns},
    {"output y = gather(a, j)", w_gather},
};
enum { COUNT = sizeof programs / sizeof *programs };

START_TEST(computes) {
    const char *text = programs[_i].text;
    et_arena *arena = et_arena_create();
    et_graph *g = parse(arena, text);
    int64_t syms[] = {N};
    char err[256];
    et_tensor_data **of = tensors(arena, g, syms);
    ck_assert_msg(et_graph_interp(g, syms, of, err), "%s: %s", text, err);
    const et_tensor_data *t = of[g->outputs[g->noutputs - 1].id];
    for (int k = 0; k < et_tensor_count(t); k++) {
        double have = t->dtype == ET_I32 ? t->i[k] : (double)t->f[k], want = programs[_i].want(k);
        double limit = t->dtype == ET_I32 ? 0 : 4e-6 * (fabs(want) + 1e-30) + 1e-12;
        ck_assert_msg(fabs(have - want) <= limit, "%s\nelement %d is %.9g, not %.9g", text, k, have,
                      want);
    }
    et_arena_destroy(arena);
}
END_TEST

/* Hugging Face states the scaling in wavelengths. */
static double llama3_frequency(int d) {
    double freq = pow(500000, -d / 32.0), wavelength = 2 * M_PI / freq, context = 8192;
    if (wavelength < context / 4) return freq;
    if (wavelength > context / 1) return freq / 8;
    double smooth = (context / wavelength - 1) / (4 - 1);
    return (1 - smooth) * freq / 8 + smooth * freq;
}

static void check_frequencies(const char *call, double (*want)(int d)) {
    et_arena *arena = et_arena_create();
    et_graph *g = parse(arena, call);
    int tables = 0;
    for (int n = 0; n < g->nnodes; n++) {
        if (strcmp(g->nodes[n].op->name, "rope_table") != 0) continue;
        const et_val *v = et_val_of(g, g->nodes[n].args[1]);
        const float *freq = v->data;
        for (int d = 0; d < 32; d++)
            ck_assert_msg(fabs((double)freq[d] - want(d)) <= 1e-7 * want(d), "%s: %d: %.9g", call,
                          d, (double)freq[d]);
        tables++;
    }
    ck_assert_int_eq(tables, 1);
    et_arena_destroy(arena);
}

static double plain_frequency(int d) {
    return pow(10000, -2.0 * d / 64);
}

START_TEST(rope_frequencies) {
    check_frequencies("input x : f32[N, 2, 64]; output y = rope(x, i)", plain_frequency);
    check_frequencies("input x : f32[N, 2, 64]; output y = rope(x, i, theta=500000, "
                      "scaling=\"llama3\", factor=8, low_freq_factor=1, high_freq_factor=4, "
                      "original_context=8192)",
                      llama3_frequency);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("semantics");
    TCase *tc = tcase_create("semantics");
    tcase_add_loop_test(tc, computes, 0, COUNT);
    tcase_add_test(tc, rope_frequencies);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
