/* int.h - what the files that look at steps share: scope.c says what variables stand for and what
 * is said of a step that is wrong; bounds.c, race.c, local.c and temp.c prove one thing each. */
#ifndef ET_VERIFY_STEPS_INT_H
#define ET_VERIFY_STEPS_INT_H

#include "ir/program/step.h"
#include "ir/verify/steps/form.h"
#include "ir/verify/steps/steps.h"

/* What a local buffer of integers holds where it has been written; nothing where lo > hi. */
struct held {
    int64_t lo, hi;
};

struct sv_writers;

struct steps {
    et_program *p;
    et_exprs *x;
    et_diags *d;
    et_arena *arena;
    sv_problem *problem;
    sv_frame *one, *other; /* of a work-item; of another one, inside it */
    const et_grid *grid;
    const et_func *f;
    int at; /* the step looked at, -1: none */
    int errors;
    struct held *held;          /* by local buffer of the function */
    struct sv_writers *writers; /* of temp.c */
    sv_frame **spare;           /* frames of the current problem, used again for the next one */
    int nspare, cspare, used;
    unsigned char *hard; /* of guard.c */
    uint32_t nhard;
};

/* Set what the function's local buffers hold. */
void sv_find_held(struct steps *);

/* Begin a problem about a tile of the task, with the variables of step number STEP in the outer
 * frame; -1: of none. */
void sv_begin(struct steps *, int step);
/* An empty frame inside OUTER, until the next problem begins. */
sv_frame *sv_inside(struct steps *, sv_frame *outer);
/* "with N = 3, i = 0" after SV_YES. */
const char *sv_where(struct steps *);
/* Text of an expression, of an element, of a tensor or local buffer. */
const char *sv_text(struct steps *, et_expr);
const char *sv_element(struct steps *, int space, int id, const et_expr *index);
/* An error about the step looked at. */
void sv_error(struct steps *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Dimension D of a tensor, or of a local buffer of the function. */
et_expr sv_extent(struct steps *, int space, int id, int d);

/* Predicates that hold, or do not, where something is evaluated. */
enum { SV_GUARDS = 64 };
struct guard {
    et_expr e;
    bool holds;
};
struct guards {
    int n;
    struct guard guard[SV_GUARDS];
};
void sv_assert_guards(struct steps *, const struct guards *);
/* Call FN for the nodes of the expressions of the step looked at. It is asked first with the step's
 * mask alone, once for each node; where it says no, again with all that guards the node, and LAST:
 * then it must report, and all ends. */
typedef bool (*sv_node_fn)(void *ctx, const struct guards *, const et_node_x *, bool last);
bool sv_each_node(struct steps *, sv_node_fn fn, void *ctx);

/* ---- cover.c */
enum { SV_WHOLES = 6 };
/* A step that stores: over which variables, and where. */
struct store {
    const et_place *to;
    et_expr mask;
    bool promised; /* what tensors decide in the mask holds */
    int nvars;
    et_step_var var[2 * ET_STEP_VARS + ET_MAX_RANK + ET_MAX_LOOPS];
    /* Of cover.c: what variables were before they were split, and what that is below. */
    et_expr whole[SV_WHOLES], below[SV_WHOLES];
    int nwhole;
};
/* The step does not store to the element whose indices are AT. FRAME is empty, and inside the frame
 * in which all other variables have their values; the values that the store's would have are bound
 * there. Where an index of the store is read from a tensor, it is taken to be the one asked for. */
sv_cond sv_uncovered(struct steps *, sv_frame *frame, const struct store *, const sv_linear *at);

/* ---- local.c */
/* A step from number FROM on, before the one looked at, stores to what E reads. */
bool sv_changed(struct steps *, et_expr e, int from);

/* Each of these looks at the current function, and says what is wrong. */
bool sv_check_bounds(struct steps *);
bool sv_check_races(struct steps *);
bool sv_check_locals(struct steps *);
bool sv_check_temps(struct steps *);
/* Once, before the first of those. */
void sv_find_writers(struct steps *);
/* Two temporaries lie in the same memory, at their largest. */
bool sv_share_memory(const et_tensor *, const et_tensor *);

#endif
