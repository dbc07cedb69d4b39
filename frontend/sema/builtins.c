/* The built-in functions: one row each. Those that are plain formulas are defs in prelude.c. */
#include "frontend/sema/sema.h"
#include <string.h>

#define OP1(name, op)                                                                              \
    { name, "e", et_lower_op1, op, {{0}}, NULL }
#define OP2(name, op)                                                                              \
    { name, "ee", et_lower_op2, op, {{0}}, NULL }
#define CAST(name, dtype)                                                                          \
    { name, "e", et_lower_cast, dtype, {{0}}, NULL }
#define AXIS                                                                                       \
    { "axis", ET_KW_INT, false, -1 }
#define KEEP                                                                                       \
    { "keep", ET_KW_INT, false, 0 }
#define EPS                                                                                        \
    { "eps", ET_KW_FLOAT, true, 0 }

static const et_builtin builtins[] = {
#define X(NAME, text, arity, traits)
#define F(NAME, text, traits, of) OP1(text, ET_X_##NAME),
#include "ir/expr/expr.def"
#undef X
    OP1("abs", ET_X_ABS),
    OP2("minimum", ET_X_MIN),
    OP2("maximum", ET_X_MAX),
    OP2("pow", ET_X_POW),
    OP2("idiv", ET_X_IDIV),
    OP2("mod", ET_X_MOD),
    {"where", "cee", et_lower_where, 0, {{0}}, NULL},
    {"random_bits", "eee", et_lower_random, 0, {{0}}, "write random_bits(seed, i, j)"},
    CAST("f32", ET_F32),
    CAST("f16", ET_F16),
    CAST("bf16", ET_BF16),
    CAST("i32", ET_I32),
    CAST("e4m3", ET_E4M3),
    {"sum", "t", et_lower_reduce, ET_RED_SUM, {AXIS, KEEP}, NULL},
    {"mean", "f", et_lower_mean, 0, {AXIS, KEEP}, NULL},
    {"max",
     "t",
     et_lower_reduce,
     ET_RED_MAX,
     {AXIS, KEEP},
     "maximum(a, b) takes the larger of two"},
    {"min",
     "t",
     et_lower_reduce,
     ET_RED_MIN,
     {AXIS, KEEP},
     "minimum(a, b) takes the smaller of two"},
    {"argmax", "t", et_lower_reduce, ET_RED_ARGMAX, {AXIS, KEEP}, NULL},
    {"softmax", "f", et_lower_softmax, 0, {AXIS}, NULL},
    {"rmsnorm", "ff", et_lower_rmsnorm, 0, {EPS}, "write rmsnorm(x, g, eps = 1e-5)"},
    {"layernorm", "fff", et_lower_layernorm, 0, {EPS}, "write layernorm(x, g, b, eps = 1e-5)"},
    {"rope",
     "fi",
     et_lower_rope,
     0,
     {{"theta", ET_KW_FLOAT, false, 10000},
      {"scaling", ET_KW_TEXT, false, 0},
      {"factor", ET_KW_FLOAT, false, 0},
      {"low_freq_factor", ET_KW_FLOAT, false, 0},
      {"high_freq_factor", ET_KW_FLOAT, false, 0},
      {"original_context", ET_KW_FLOAT, false, 0},
      {"beta_fast", ET_KW_FLOAT, false, 32},
      {"beta_slow", ET_KW_FLOAT, false, 1},
      {"truncate", ET_KW_INT, false, 1},
      {"factors", ET_KW_LIST, false, 0},
      {"magnitude", ET_KW_FLOAT, false, 1},
      {"frequencies", ET_KW_TEXT, false, 0}},
     "write rope(x, positions, theta = 10000)"},
    {"attention",
     "fffii",
     et_lower_attention,
     0,
     {{"scale", ET_KW_FLOAT, true, 0},
      {"window", ET_KW_SIZE, false, 0},
      {"softcap", ET_KW_FLOAT, false, 0},
      {"sink", ET_KW_TENSOR, false, 0}},
     "write attention(q, k_cache, v_cache, slots, positions, scale = 1/8)"},
    {"attend", "*", et_lower_attend, 0, {{0}}, NULL},
    {"scan", "*", et_lower_scan, 0, {{0}}, NULL},
    {"gather", "ti", et_lower_gather, 0, {{0}}, "write gather(table, indices)"},
    {"reshape", "tl", et_lower_reshape, 0, {{0}}, "write reshape(x, [N, 8])"},
    {"transpose", "tl", et_lower_transpose, 0, {{0}}, "write transpose(x, [1, 0])"},
    {"concat",
     "t+",
     et_lower_concat,
     0,
     {{"axis", ET_KW_INT, true, 0}},
     "write concat(a, b, axis = 0)"},
    {"iota", "s", et_lower_iota, 0, {{0}}, "write iota(N)"},
    {"size", "t", et_lower_size, 0, {{"axis", ET_KW_INT, true, 0}}, "write size(x, axis = 0)"},
    {"take", "ti", et_lower_take, 0, {{0}}, "write take(x, indices)"},
    {"rank", "t", et_lower_rank, 0, {{0}}, NULL},
    {"cumsum",
     "t",
     et_lower_cumsum,
     0,
     {{"axis", ET_KW_INT, false, -1}},
     "write cumsum(x, axis = 0)"},
    {"topk", "2ts", et_lower_topk, 0, {{0}}, "write values, indices = topk(x, 2)"},
    {"group",
     "4is",
     et_lower_group,
     0,
     {{"pad", ET_KW_INT, false, 0}},
     "write rows, place, owner, first = group(index, 8)"},
    {"segment_sum", "ti", et_lower_segment, ET_RED_SUM, {{0}}, "write segment_sum(x, first)"},
    {"segment_max", "ti", et_lower_segment, ET_RED_MAX, {{0}}, "write segment_max(x, first)"},
    {"segment_min", "ti", et_lower_segment, ET_RED_MIN, {{0}}, "write segment_min(x, first)"},
    {"segment_mean", "fi", et_lower_segment, -1, {{0}}, "write segment_mean(x, first)"},
};
enum { COUNT = sizeof builtins / sizeof *builtins };

const et_builtin *et_builtin_at(int i) {
    return i >= 0 && i < COUNT ? &builtins[i] : NULL;
}

const et_builtin *et_builtin_find(const char *name) {
    for (int i = 0; i < COUNT; i++)
        if (strcmp(builtins[i].name, name) == 0) return &builtins[i];
    return NULL;
}
