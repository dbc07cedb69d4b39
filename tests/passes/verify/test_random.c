/* test_random [COUNT [FIRST [REFUSED NOT_FINITE]]]: (of one graph, its text where it fails) random
 * graphs over every operator through the passes. What comes out must verify, run in several orders
 * without a race, and give what the graph interpreter gives. With REFUSED and NOT_FINITE, exactly
 * so many graphs have no tiling, and so many hold results beyond the range of floats, which are not
 * compared. */
#include "ir/interp/interp.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "tests/support/random_model.h"
#include "tests/unit/ir/random_graph.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDERS = 3 };

static uint64_t count = 200, first = 1;
static long want_refused = -1, want_not_finite = -1;

struct tally {
    int ran, refused, not_finite, tasks;
};

/* The last value and some before it; values inside loops are not visible outside. */
static void add_outputs(fixture *f) {
    int made = 0, nvals = f->g->nvals;
    for (int v = nvals - 1; v > 0 && made < 3; v--) {
        const et_val *val = &f->g->vals[v];
        bool outer = val->kind == ET_V_LOOP && f->g->loops[val->node].parent < 0;
        for (int i = 0; val->kind == ET_V_NODE && i < f->g->body.n; i++)
            outer |= f->g->body.stmt[i].kind == ET_S_NODE && f->g->body.stmt[i].index == val->node;
        if (!outer || (made && pick(f, 3))) continue;
        et_graph_output(f->g, (et_value){(uint32_t)v}, et_printf(f->arena, "o%d", made++));
    }
}

static bool is_result(const et_tensor *t) {
    return t->kind == ET_TENSOR_OUTPUT || t->kind == ET_TENSOR_STATE;
}

/* The value's tensor, said to hold what its tensor in the program stores. */
static et_tensor_data stored(fixture *f, const et_tensor *x) {
    et_tensor_data d = *f->tensors[x->value.id];
    d.dtype = x->shape.dtype;
    return d;
}

/* Bytes of what the program reads, before the graph interpreter changes any state. */
static void **start_of(fixture *f, const et_program *p) {
    void **start = et_alloc(f->arena, (size_t)(p->ntensors + 1) * sizeof *start);
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        et_tensor_data d = stored(f, x);
        start[t] = tm_bytes(f->arena, &d);
        if (!x->relaid) continue;
        int64_t n = et_tensor_count(&d);
        void *turned = et_alloc(f->arena, (size_t)et_dtype_size(d.dtype, n) + 1);
        et_relay_elements(p->g->exprs, x, n, start[t], turned);
        start[t] = turned;
    }
    return start;
}

/* Where a graph leaves the range of floats, rounding decides what comes out. */
static bool is_finite(const et_tensor_data *t) {
    for (int64_t i = 0; t->dtype != ET_I32 && i < et_tensor_count(t); i++)
        if (!isfinite(t->f[i])) return false;
    return true;
}

static bool same(fixture *f, et_program *p, void *const *start, uint64_t seed, const char **why) {
    void **memory = et_alloc(f->arena, (size_t)(p->ntensors + 1) * sizeof *memory);
    char *err = et_alloc(f->arena, ET_INTERP_ERR);
    for (int t = 0; t < p->ntensors; t++) {
        if (!start[t]) continue;
        et_tensor_data d = stored(f, &p->tensors[t]);
        size_t bytes = (size_t)et_dtype_size(d.dtype, et_tensor_count(&d));
        memory[t] = memcpy(et_alloc(f->arena, bytes + 1), start[t], bytes);
        if (p->tensors[t].kind == ET_TENSOR_OUTPUT) memset(memory[t], 0xff, bytes);
    }
    et_interp_options opt = {.seed = seed, .races = true};
    *why = err;
    if (!et_program_run(p, f->syms, memory, &opt, err)) return false;
    for (int t = 0; t < p->ntensors; t++) {
        if (!is_result(&p->tensors[t])) continue;
        et_tensor_data want = stored(f, &p->tensors[t]);
        double e = tm_relative_error(&want, memory[t]);
        *why = et_printf(f->arena, "%s is off by %.2g", p->tensors[t].name, e);
        if (!(e < 2e-2) && is_finite(&want)) return false;
    }
    return true;
}

/* Whether some result is not compared, for what the graph interpreter made of it is not finite. */
static bool leaves_range(fixture *f, const et_program *p) {
    for (int t = 0; t < p->ntensors; t++) {
        if (!is_result(&p->tensors[t])) continue;
        et_tensor_data want = stored(f, &p->tensors[t]);
        if (!is_finite(&want)) return true;
    }
    return false;
}

static bool check(uint64_t seed, struct tally *n) {
    fixture *f = fixture_create(seed);
    et_pass_options opt = {.machine = et_machine_for("gfx942"), .unverified = true};
    et_program *p = NULL;
    const char *why = "";
    random_graph(f, 1 + pick(f, 9));
    add_outputs(f);
    bool ok = true, lowered = f->g->noutputs && et_passes_run(f->g, &opt, &p);
    if (!lowered) {
        n->refused++;
        fixture_destroy(f);
        return true;
    }
    et_verify_report r;
    fill(f);
    void **start = start_of(f, p);
    if (!et_verify(p, &(et_verify_options){.dies = 8}, f->diags, &r))
        ok = false, why = messages(f);
    else if (!run_graph(f))
        ok = false, why = f->err;
    for (uint64_t order = 0; ok && order < ORDERS; order++)
        ok = same(f, p, start, order, &why);
    n->ran++;
    n->not_finite += ok && leaves_range(f, p);
    n->tasks += (int)r.tasks;
    if (!ok) printf("graph %llu: %s\n", (unsigned long long)seed, why);
    if (!ok && count == 1) et_graph_print(f->g, stdout), et_program_print(p, stdout);
    fixture_destroy(f);
    return ok;
}

START_TEST(test_graphs) {
    struct tally n = {0};
    bool ok = true;
    for (uint64_t s = first; s < first + count; s++)
        ok &= check(s, &n);
    printf("%d graphs verified and run in %d orders, %d tasks; %d have no tiling, %d not finite\n",
           n.ran, ORDERS, n.tasks, n.refused, n.not_finite);
    ck_assert(ok);
    if (want_refused >= 0) ck_assert_int_eq(n.refused, want_refused);
    if (want_not_finite >= 0) ck_assert_int_eq(n.not_finite, want_not_finite);
}
END_TEST

int main(int argc, char **argv) {
    if (argc > 1) count = strtoull(argv[1], NULL, 10);
    if (argc > 2) first = strtoull(argv[2], NULL, 10);
    if (argc > 3) want_refused = strtol(argv[3], NULL, 10);
    if (argc > 4) want_not_finite = strtol(argv[4], NULL, 10);
    Suite *s = suite_create("random");
    TCase *c = tcase_create("random");
    tcase_set_timeout(c, 0);
    tcase_add_test(c, test_graphs);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
