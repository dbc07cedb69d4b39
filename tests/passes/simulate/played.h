/* played.h - programs played by the simulator on a machine of round numbers, for tests that work
 * them out by hand. A body lasts 1 us unless it loads something: three dependent loads of a third.
 */
#ifndef TEST_PLAYED_H
#define TEST_PLAYED_H

#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "tests/unit/ir/main.h"

enum { MOST = 4096 };

struct played {
    et_arena *arena;
    et_program *p;
    et_machine m;
    et_sim_options opt;
    et_sim_result r;
    et_sim_task task[MOST]; /* as they ended */
    int n;
    char err[ET_SIM_ERR];
};

/* The program of a text in .eti, N = 1, under a static schedule; drop() it. */
struct played *load(const char *text);
void set_n(struct played *, int64_t n);
double play(struct played *); /* us */
void drop(struct played *);
/* A task that was played; there has to be one. */
const et_sim_task *find(const struct played *, int grid, int64_t iteration, int64_t tile);

/* A task, and one that waits for it by an event of this scope. */
struct played *chain_of(const char *scope);
/* N tiles of 250 elements, at most 64. */
extern const char *const ten;

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-6)

#endif
