/* kit.h - build small event-tensor programs by hand, run them as machine code and in plain C. */
#ifndef ET_TEST_CODEGEN_KIT_H
#define ET_TEST_CODEGEN_KIT_H

#include "codegen/codegen.h"
#include "ir/base/diag.h"
#include "ir/program/program.h"

typedef struct {
    et_arena *arena;
    et_graph *g;
    et_exprs *x;
    et_program *p;
    et_codegen_options opt;
    et_codegen_info info;
    char path[4096];
    double tolerance; /* of every element, relative to the largest of its tensor */
    int launches;
    bool any_integers; /* inputs of i32 are any, at the ends of 32 bits too; else 0 .. 7 */
} kit;

/* The GPU is that of the environment's KIT_TARGET, or gfx942. */
void kit_begin(kit *, const char *name);
void kit_end(kit *);

int kit_sym(kit *, const char *name, int lo, int hi);
et_expr kit_n(kit *, int64_t);
int kit_tensor(kit *, et_tensor_kind, const char *name, et_dtype, int rank, const et_expr *dim);
et_expr kit_at(kit *, int tensor, int n, const et_expr *index); /* a load */
et_expr kit_local_at(kit *, const et_func *, int local, int n, const et_expr *index);
int kit_var(kit *, const char *name, int64_t extent);

/* A function with NCOORDS coordinates; its steps are appended through kit_step. */
et_func *kit_func(kit *, const char *name, int ncoords);
et_step *kit_step(kit *, et_func *, et_step_kind);
et_expr kit_coord(kit *, et_func *, int i);
et_place kit_place(int space, int id, int rank, const et_expr *index);
const char *kit_target(void);
int kit_wave(void); /* work-items */
int kit_waves(const kit *);
/* A MAP step over VARS. */
et_step *kit_map(kit *, et_func *, int nvars, const int *vars, et_expr value, et_expr mask,
                 et_place to);
/* A grid over FUNC's coordinates in LOOP (or -1), appended to the program's grids. */
int kit_grid(kit *, et_func *, const et_expr *extent, int loop);
int kit_event(kit *, const char *name, int rank, const et_expr *dim, et_expr count);
void kit_notify(kit *, int grid, int event, const et_expr *index, et_when);
void kit_wait(kit *, int grid, int event, const et_expr *lo, const et_expr *hi, et_when);
/* All grids at the top level in their order, unless KIT->p->items is already there. */
void kit_compile(kit *);
/* Compile, run on DEVICE ("cus=7:xcds=2" of the emulated GPU, as near as it can be) with the
 * symbols SYMS and random inputs, and compare every output and state with the interpreter. */
void kit_check(kit *, const char *device, const int64_t *syms);
/* Compile with EVENT broken and launch twice: both must end as waits that ran out, within a second,
 * and name TASK and the event. */
void kit_broken(kit *, const char *device, const int64_t *syms, int event, const char *task);

#endif
