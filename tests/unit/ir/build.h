/* build.h - short ways to build graphs, fill their tensors and run them, for the tests of ir. */
#ifndef TEST_IR_BUILD_H
#define TEST_IR_BUILD_H

#include "ir/graph/op_util.h"

typedef struct {
    et_arena *arena;
    et_diags *diags;
    et_graph *g;
    et_exprs *p;
    et_block *block; /* nodes go here */
    int64_t syms[8];
    et_tensor_data **tensors; /* one per value after fill() */
    char err[256];
    uint64_t rng;
} fixture;

fixture *fixture_create(uint64_t seed);
void fixture_destroy(fixture *);

uint64_t random_bits(fixture *);
int pick(fixture *, int n); /* 0 .. n-1 */
float uniform(fixture *);   /* -1 .. 1 */

et_shape shape_of(fixture *, et_dtype, int rank, const int64_t *dims);
#define SHAPE(f, dtype, ...)                                                                       \
    shape_of((f), (dtype), (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)),                \
             (int64_t[]){__VA_ARGS__})
et_value input(fixture *, const char *name, et_shape);
et_value state(fixture *, const char *name, et_shape);
#define INPUT(f, name, dtype, ...) input((f), (name), SHAPE((f), (dtype), __VA_ARGS__))
#define STATE(f, name, dtype, ...) state((f), (name), SHAPE((f), (dtype), __VA_ARGS__))

et_attr attr_int(const char *name, int64_t);
et_attr attr_float(const char *name, double);
et_attr attr_ints(const char *name, int n, const int64_t *);
et_attr attr_exprs(const char *name, int n, const et_expr *);
et_attr attr_expr(const char *name, et_expr);
#define ATTRS(...)                                                                                 \
    (int)(sizeof(et_attr[]){__VA_ARGS__} / sizeof(et_attr)), (et_attr[]) {                         \
        __VA_ARGS__                                                                                \
    }
#define ARGS(...)                                                                                  \
    (int)(sizeof(et_value[]){__VA_ARGS__} / sizeof(et_value)), (et_value[]) {                      \
        __VA_ARGS__                                                                                \
    }
#define NO_ATTRS 0, NULL

/* A node at the current block; ET_NO_VALUE after an error. */
et_value node(fixture *, const char *op, int nargs, const et_value *, int nattrs, const et_attr *);
/* Attention of q[N, heads, D] to positions 0 to positions[n] of slot slots[n] of caches [slots,
 * heads, context, D]. */
et_value attention(fixture *, et_value q, et_value k, et_value v, et_value slots,
                   et_value positions, double scale);
et_value map2(fixture *, et_xop, et_value a, et_value b); /* f32 */

/* Allocate every value's tensor and fill what the caller owes: random numbers as its type stores
 * them, indices in and out of range. */
void fill(fixture *);
et_tensor_data *tensor(fixture *, et_value);
void set_floats(fixture *, et_value, const float *);
void set_ints(fixture *, et_value, const int32_t *);
bool run_graph(fixture *);

/* What the diagnostics print, in the arena. */
const char *messages(fixture *);

#endif
