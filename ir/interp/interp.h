/* interp.h - run an event-tensor program in plain C: the oracle for codegen and schedules.
 */
#ifndef ET_PROGRAM_INTERP_H
#define ET_PROGRAM_INTERP_H

#include "ir/program/program.h"

enum { ET_INTERP_ERR = 1024 };

/* One element that is read or written. What a step touches is noted where the interpreter does it,
 * without a look at the description in step.h: tests compare the two. */
typedef struct {
    int task;            /* in program order */
    const et_step *step; /* NULL: by what a wait, a notify or a count says */
    int space, id;       /* as of et_place */
    int64_t element;     /* row-major */
    bool is_store;
    const int64_t *vars; /* their values at the time */
} et_interp_touch;

typedef struct {
    /* The order of the tasks that may run: 0 program order where possible, odd at random, even by
     * random priorities of whole grids, which starves some as long as events allow. */
    uint64_t seed;
    /* Watch every access: two tasks that touch the same bytes, one of them writing, of which events
     * order neither before the other; reads of memory that nothing wrote, or that was written as
     * another tensor; two work-items of a step of which one stores what the other reads or stores;
     * reads of local memory that no step wrote; events notified more or less often than they say.
     */
    bool races;
    /* Where tasks run, for events narrower than the device: tile t of a grid on workgroup
     * (base + t) mod workgroups, which is on die (workgroup mod dies); slice s of a
     * grid of model m on die (s + m) mod dies. 0: chosen by the seed. */
    int workgroups, dies;
    void (*touch)(void *ctx, const et_interp_touch *); /* or NULL */
    void *ctx;
} et_interp_options;

/* Run every task of P once, in an order that its events allow. Arithmetic is float32; stores round
 * to the tensor's type. Sums are not in the kernel's order, so results agree with it to rounding
 * only.
 *
 * SYMS gives the symbols. TENSOR[i] is the memory of tensor i, row-major in its storage type at
 * these symbols (row-major, contiguous); entries of temporaries and constants are ignored. The
 * workspace starts out filled with NaNs. False with a message that names the tasks when no task can
 * start, an event is notified too often, an index leaves its tensor or event, or what `races` looks
 * for is found. */
bool et_program_run(et_program *p, const int64_t *syms, void *const *tensor,
                    const et_interp_options *, char err[ET_INTERP_ERR]);

/* The same for a program that several devices run, of which TENSOR[d][i] is tensor i of device d.
 * Which of them goes on is by the seed. */
bool et_program_run_devices(et_program *p, const int64_t *syms, void *const *const *tensor,
                            const et_interp_options *, char err[ET_INTERP_ERR]);

/* As et_program_run without looking for races; ERR has 256 bytes. */
bool et_program_interp(et_program *p, const int64_t *syms, void *const *tensor, uint64_t seed,
                       char err[256]);

#endif
