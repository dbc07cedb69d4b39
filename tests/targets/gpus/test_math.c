/* Mathematical functions that a family makes of arithmetic: what it emits is compiled for this
 * machine, with models of the GPU's own instructions that are as wrong as their manual allows, and
 * compared with the library's in f64, over numbers of all sizes. */
#include "codegen/emit/emit.h"
#include <check.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the GPU's instructions ---- */

static int wrong; /* by so many ulp */

static float off(double exact) {
    float v = (float)exact;
    for (int i = 0; i < abs(wrong) && isfinite(v) && v != 0; i++)
        v = nextafterf(v, wrong < 0 ? -INFINITY : INFINITY);
    return v;
}

static float ex2(float x) {
    return off(exp2((double)x));
}

static float divide(float a, float b) {
    return off((double)a / (double)b);
}

static const struct {
    const char *name;
    void *model;
    int nargs;
} instructions[] = {{"llvm.nvvm.ex2.approx.f32", (void *)ex2, 1},
                    {"llvm.nvvm.div.full", (void *)divide, 2}};
enum { INSTRUCTIONS = sizeof instructions / sizeof *instructions };

/* ---- the functions, as machine code of this machine ---- */

typedef float (*function)(float, float);

static const struct {
    const char *name;
    et_xop op;
    int nargs;
    double (*exact)(double);
    double ulp;     /* it may be wrong by, as the family's README says */
    float from, to; /* where it is looked at in particular */
} functions[] = {
    {"exp", ET_X_EXP, 1, exp, 5, -105, 90},   {"log", ET_X_LOG, 1, log, 1.5, 0, 3},
    {"sin", ET_X_SIN, 1, sin, 2, -1000, 1e6}, {"cos", ET_X_COS, 1, cos, 2, -1000, 1e6},
    {"tanh", ET_X_TANH, 1, tanh, 3, -10, 10}, {"erf", ET_X_ERF, 1, erf, 3, -5, 5},
    {"pow", ET_X_POW, 2, NULL, 1, 0, 0},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

static LLVMContextRef context;
static LLVMExecutionEngineRef engine;
static function compiled[FUNCTIONS];

/* fN(a, b): what the family makes of function N. */
static void emit(cg *g, int n) {
    char name[32];
    snprintf(name, sizeof name, "f%d", n);
    LLVMTypeRef t[] = {g->f32, g->f32};
    g->fn = LLVMAddFunction(g->mod, name, LLVMFunctionType(g->f32, t, 2, false));
    cg_at(g, cg_block(g, "entry"));
    val args[] = {LLVMGetParam(g->fn, 0), LLVMGetParam(g->fn, 1)};
    LLVMBuildRet(g->b, g->family->math(g, functions[n].op, functions[n].nargs, args));
}

static void model(cg *g, int i) {
    LLVMTypeRef t[] = {g->f32, g->f32};
    LLVMTypeRef type = LLVMFunctionType(g->f32, t, (unsigned)instructions[i].nargs, false);
    val of = LLVMGetNamedFunction(g->mod, instructions[i].name);
    ck_assert_ptr_nonnull(of);
    char name[32];
    snprintf(name, sizeof name, "model%d", i);
    val by = LLVMAddFunction(g->mod, name, type);
    LLVMReplaceAllUsesWith(of, by);
    LLVMDeleteFunction(of);
}

static void compile(void) {
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    context = LLVMContextCreate();
    cg g = {.t = et_target_find("sm_90"), .ctx = context};
    ck_assert_ptr_nonnull(g.t);
    g.family = g.t->family;
    g.mod = LLVMModuleCreateWithNameInContext("math", context);
    g.b = LLVMCreateBuilderInContext(context);
    cg_init_types(&g);
    for (int i = 0; i < FUNCTIONS; i++)
        emit(&g, i);
    for (int i = 0; i < INSTRUCTIONS; i++)
        model(&g, i);
    char *err = NULL;
    ck_assert_msg(!LLVMVerifyModule(g.mod, LLVMReturnStatusAction, &err), "%s", err);
    LLVMDisposeMessage(err);
    struct LLVMMCJITCompilerOptions o;
    LLVMInitializeMCJITCompilerOptions(&o, sizeof o);
    o.OptLevel = 2;
    ck_assert_msg(!LLVMCreateMCJITCompilerForModule(&engine, g.mod, &o, sizeof o, &err), "%s", err);
    for (int i = 0; i < INSTRUCTIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "model%d", i);
        LLVMAddGlobalMapping(engine, LLVMGetNamedFunction(g.mod, name), instructions[i].model);
    }
    for (int i = 0; i < FUNCTIONS; i++) {
        char name[32];
        snprintf(name, sizeof name, "f%d", i);
        uint64_t at = LLVMGetFunctionAddress(engine, name);
        memcpy(&compiled[i], &at, sizeof compiled[i]);
        ck_assert_ptr_nonnull((void *)(uintptr_t)at);
    }
    LLVMDisposeBuilder(g.b);
}

static void dispose(void) {
    LLVMDisposeExecutionEngine(engine);
    LLVMContextDispose(context);
}

/* ---- how wrong ---- */

static float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* From GOT to EXACT, in units of the last place of an f32 there. */
static double ulps(float got, double exact) {
    if (isnan(exact)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    float near = (float)exact;
    if (isinf(near) || isinf(got)) /* past the largest there is as much room as below it */
        return near == got || fabs(exact) > 0x1.fffff8p127 ? 0 : INFINITY;
    int e;
    frexp(exact, &e);
    return fabs((double)got - exact) / ldexp(1, (e < -125 ? -125 : e) - 24);
}

struct worst {
    double by;
    float x, y, got;
};

static void look(int f, float x, float y, struct worst *w) {
    float got = compiled[f](x, y);
    double exact = functions[f].exact ? functions[f].exact((double)x) : pow((double)x, (double)y);
    double by = ulps(got, exact);
    if (by > w->by) *w = (struct worst){by, x, y, got};
}

static void check_worst(int f, const struct worst *w) {
    if (getenv("MATH_SAY") && w->by > 1)
        printf("%s: %.3f ulp at %a %a, instructions %+d\n", functions[f].name, w->by, (double)w->x,
               (double)w->y, wrong);
    ck_assert_msg(w->by <= functions[f].ulp, "%s(%a, %a) = %a, wrong by %g ulp", functions[f].name,
                  (double)w->x, (double)w->y, (double)w->got, w->by);
}

static uint32_t stride(void) {
    return getenv("ETCC_LONG") ? 37 : 4093;
}

START_TEST(one_argument) {
    for (wrong = -2; wrong <= 2; wrong += 2)
        for (int f = 0; functions[f].exact; f++) {
            struct worst w = {-1, 0, 0, 0};
            for (uint64_t i = 0; i < (uint64_t)1 << 32; i += stride())
                look(f, of_bits((uint32_t)i), 0, &w);
            float size = functions[f].to - functions[f].from;
            for (uint32_t i = 0; i < 1 << 24; i += stride() / 16 + 1)
                look(f, functions[f].from + size * (float)i * 0x1p-24f, 0, &w);
            check_worst(f, &w);
        }
    wrong = 0;
}
END_TEST

static float any(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return of_bits((uint32_t)(*seed >> 32));
}

static const float special[] = {0.f,     -0.f,      1.f,        -1.f,      2.f,    -2.f,
                                3.f,     -3.f,      0.5f,       -0.5f,     1.5f,   -1.5f,
                                127.f,   -149.f,    16777217.f, 1e30f,     -1e30f, 1e-45f,
                                -1e-45f, 0x1p-126f, INFINITY,   -INFINITY, NAN};
enum { SPECIAL = sizeof special / sizeof *special };

/* Powers of what is anything, and of what has a power that is a number. */
START_TEST(powers) {
    int f = FUNCTIONS - 1;
    uint64_t seed = 1;
    struct worst w = {-1, 0, 0, 0};
    for (int i = 0; i < SPECIAL; i++)
        for (int k = 0; k < SPECIAL; k++)
            look(f, special[i], special[k], &w);
    for (uint32_t i = 0; i < 1u << 27; i += stride() / 16 + 1) {
        float x = any(&seed), y = any(&seed);
        look(f, x, y, &w);
        float t = y * 0x1p-7f;
        if (!(fabsf(t) < 130)) t = fmodf(t, 130);
        look(f, fabsf(x), (float)((double)t / log2(fabs((double)x))), &w);
    }
    check_worst(f, &w);
}
END_TEST

START_TEST(special_numbers) {
    for (int f = 0; functions[f].exact; f++)
        for (int i = 0; i < SPECIAL; i++) {
            struct worst w = {-1, 0, 0, 0};
            look(f, special[i], 0, &w);
            check_worst(f, &w);
        }
}
END_TEST

int main(void) {
    Suite *s = suite_create("math");
    TCase *c = tcase_create("math");
    tcase_add_checked_fixture(c, compile, dispose);
    tcase_set_timeout(c, 600);
    tcase_add_test(c, one_argument);
    tcase_add_test(c, powers);
    tcase_add_test(c, special_numbers);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
