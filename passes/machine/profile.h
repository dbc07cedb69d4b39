/* profile.h - times of task grids that were measured on a device, or predicted from instructions
 * that the emulator counted: where there is one it replaces the prediction of cost.h.
 *
 * A profile is a text that `etbench --profile` writes (bench/README.md has the format). An entry is
 * found by a hash of what its time depends on, so a profile is good for every program that has the
 * same device functions over the same shapes, however they are placed or scheduled. */
#ifndef ET_PROFILE_H
#define ET_PROFILE_H

#include "ir/program/program.h"
#include "passes/machine/machine.h"

typedef struct et_profile et_profile;

/* A hash of the text of the grid's device function, its tensors' types, and the grid's and the
 * tensors' shapes at these values of the symbols. */
uint64_t et_profile_hash(et_program *, const et_grid *, const int64_t *syms);

/* The time of one run of the grid with that hash on WIDTH workgroups, one per CU: interpolated
 * between widths of the profile; beyond them as if work divides evenly (narrower) or not at all
 * (wider). False where the profile (or NULL) has no such grid. */
bool et_profile_us(const et_profile *, uint64_t hash, double width, double *out_us);

/* SYMS are the values of P's symbols at which a pass decides. Where the profile has no times at
 * these, they become the nearest that it has. */
void et_profile_symbols(const et_profile *, const et_program *p, int64_t *syms);

/* ---- reading and writing ---- */

enum { ET_PROFILE_WIDTHS = 32, ET_PROFILE_TASKS = 16384, ET_PROFILE_SHAPES = 512 };

typedef struct {
    double width, us;
} et_profile_time;

typedef struct {
    const char *task;  /* of the program, for messages */
    int line;          /* where it was read */
    const char *shape; /* the dims of the launch: "N=16" */
    uint64_t hash;
    int ntimes;
    et_profile_time time[ET_PROFILE_WIDTHS]; /* by width, ascending */
} et_profile_task;

struct et_profile {
    const char *file;    /* for messages */
    const char *tool;    /* version of etcc that made it */
    const char *machine; /* a machine model's name */
    const char *model;   /* the program's name */
    const char *device;  /* what it was made on */
    bool counted;        /* instructions, not time: predicted */
    int ntasks;
    et_profile_task *task; /* by hash, ascending, each once */
};

/* The profile in TEXT, which may hold any bytes; in the arena. NULL after errors, which name file
 * and line. */
et_profile *et_profile_parse(et_arena *, et_diags *, const char *file_name, const char *text,
                             size_t bytes);
et_profile *et_profile_read(et_arena *, et_diags *, const char *path);
void et_profile_print(const et_profile *, FILE *);
/* Sorts the tasks by hash for lookup; of several with the same hash the first stays. */
void et_profile_sort(et_profile *);

/* Whether it was made by this version of etcc, for this machine and for all parts of P, which is
 * tiled. If not, reports an error with the reason. */
bool et_profile_check(const et_profile *, et_program *p, const et_machine *, et_diags *);

#endif
