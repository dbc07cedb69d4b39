/* etbench.h - the parts of etbench. What can fail has printed why and returns false. */
#ifndef ETBENCH_H
#define ETBENCH_H

#include "ir/program/program.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/timeline.h"
#include "runtime/cli/cli.h"
#include "runtime/etrt.h"
#include "runtime/etrt/inspect.h"
#include "runtime/files/output.h"

#include <stdbool.h>
#include <stdio.h>

/* ---- options: options.c ---- */

enum {
    EB_MAX_COLUMNS = 32,
    EB_MAX_VALUES = 64, /* of one sweep */
    EB_MAX_POINTS = 512,
    EB_MAX_SETTINGS = 64,
};

enum eb_states { EB_STATES_RANDOM, EB_STATES_ZERO, EB_STATES_POISON };

/* A dim and the values it goes through; of --set just one. */
struct eb_sweep {
    char *name;
    int64_t value[EB_MAX_VALUES];
    int n;
};

/* --input NAME=FILE, --range NAME=LO..HI (both included) */
struct eb_input {
    char *name;
    const char *file; /* NULL: a range */
    int64_t lo, hi;
};

struct eb_options {
    const char *files[EB_MAX_COLUMNS];
    int nfiles;
    et_schedule_kind schedules[EB_MAX_COLUMNS];
    int nschedules;
    struct eb_sweep sweep[EB_MAX_SETTINGS];
    int nsweeps;
    struct eb_input input[EB_MAX_SETTINGS];
    int ninputs;
    const char *device, *machine, *target, *weights, *trace_of;
    et_placement placement;
    const char *json, *markdown, *plot, *trace, *html; /* files to write, or NULL */
    const char *profile, *output;                      /* the same */
    enum eb_states states;
    uint64_t seed;
    bool two_of_four;       /* weights */
    int64_t repeat, warmup; /* -1: the default of the device */
    int64_t workgroups, variants;
    uint64_t cache; /* of experts, bytes */
    double wait_limit;
    double alike;  /* predictions without a device: of what decides routing, the same for all */
    bool resident; /* kernels that can stay do so, too */
    bool redraw;   /* inputs are drawn again before each launch */
    bool unfused, no_unfused, no_predictions, predicted, no_tasks, overhead, quiet;
    bool tune, calibrate;
    const char *between; /* a code object, or NULL */
    const char *kernels; /* the folder of --calibrate's, or NULL */
    bool one_kernel;     /* of all models together: they are one column */
    struct {
        cli_list files, schedules, sweeps, sets, inputs, ranges;
    } given; /* the same as text */
};

/* "etbench: MESSAGE" on stderr; returns false. */
bool eb_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library's last error, with the name of what failed before it. */
bool eb_fail_status(const char *what, etrt_status);
/* Memory, or the end of the program. */
void *eb_alloc(size_t bytes);
char *eb_text(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- columns: column.c ---- */

struct eb_column {
    char *name;
    const char *file;       /* what the user gave */
    et_schedule_kind asked; /* schedule to compile with, none for a code object */
    const char *schedule;   /* that came out; in the manifest */
    bool timed;             /* compiled with the times of eb_bench */
    bool unfused;           /* predicted alone: the tiles of the first program, a kernel per task */
    et_arena *arena;        /* of the program, NULL when the column is a code object */
    et_program *program;    /* lives as long as the arena, or another column's arena */
    char *code;             /* path of the code object */
    bool made_here;         /* it is, and does not stay */
    double compile_seconds;
    int64_t code_bytes;
    etrt_model *model;
    etrt_session *session;
    struct eb_column *traced; /* the same, recording its tasks; made when it is needed */
};

struct eb_bench {
    const struct eb_options *o;
    etrt_device *device; /* NULL: nothing is run */
    const char *target;
    const et_machine *machine; /* of predictions, NULL for none */
    const et_profile *times;   /* that replace predicted ones, or NULL */
    et_arena *arena;           /* of a machine from a file, or NULL */
    char *folder;              /* for code objects, removed at the end */
    struct eb_column column[EB_MAX_COLUMNS + 1];
    int ncolumns, ncompiled;
    int nruns;                /* columns that are run: the first ones */
    struct eb_column between; /* launched before each launch of those; no session: nothing is */
    struct eb_point *point;
    int npoints;
    uint64_t draw; /* of random integers, where they are drawn again */
};

/* Open the device asked for, if any, and find its target and its machine. */
bool eb_device_open(struct eb_bench *);
/* A new folder for files that do not stay; NULL after an error. */
char *eb_folder(void);
bool eb_columns_make(struct eb_bench *);
void eb_columns_free(struct eb_bench *);
/* The column that records the tasks of this one; NULL after an error. */
struct eb_column *eb_traced(struct eb_bench *, struct eb_column *);
bool eb_is_code(const char *path);
/* The dims of a column, by index: those of its manifest, or of its program. False past the end. */
bool eb_column_dim(const struct eb_column *, int index, etrt_dim_info *out);

/* ---- points: point.c ---- */

enum eb_metric {
    EB_PREDICTED, /* microseconds, by the simulator */
    EB_TIME,      /* microseconds of the device's clock; of the host's when emulated */
    EB_LAUNCH,    /* these by the host's clock: microseconds of a launch, */
    EB_STEP,      /* of a step of a kernel that stays, of each model one after the other, */
    EB_STEP_P99,  /* of those of one model, or of several that all ask again at once */
    EB_PROGRESS,  /* of these: 1 is what taking turns gives */
    EB_INSTRUCTIONS,
    EB_READ,
    EB_WRITTEN,
    EB_ATOMICS,
    EB_POLLS,
    EB_BARRIERS,
    EB_SPAN, /* these from one launch that recorded its tasks */
    EB_TASK_BODY,
    EB_TASK_SCHEDULING,
    EB_METRICS
};
extern const struct eb_metric_info {
    const char *name;  /* in JSON */
    const char *title; /* for people */
    bool emulated;     /* only the emulator tells */
} eb_metric_info[EB_METRICS];

/* What the tiles of a task ask of memory: memory.c. */
struct eb_memory {
    const char *task;           /* the model's */
    double tiles;               /* in a launch, of all iterations */
    double bytes, instructions; /* a tile: read from memory, of all waves */
    double trips;               /* to memory, one after another */
    double in_flight;           /* bytes in flight to the workgroup, for the average byte of them */
    double told; /* trips from a tile's last store until it has told of it, 0: none does */
    double used; /* and from looking for what was told until the first load after that is there */
    double cus;  /* workgroups with a tile, each time the task runs; 0: the program is not known */
    double runs; /* of the task in a launch */
    double code; /* bytes of the instructions that its tiles came to, 0: not counted */
};

struct eb_cell {
    double *sample[EB_METRICS]; /* one per repetition; of PREDICTED one */
    int n[EB_METRICS];
    bool has_prediction;
    et_sim_result prediction;
    bool routing_from_device;  /* see enum eb_effort */
    char why[ET_SIM_ERR + 32]; /* why there is none */
    bool has_tasks;
    timeline_summary tasks; /* counted by the emulator */
    struct eb_memory *memory;
    int nmemory;
    etrt_cache_info experts; /* what the launches that count did to the cache of experts */
    double beside;           /* seconds that these took beyond the device's time, together */
};

/* One choice of values for the dims. */
struct eb_point {
    int64_t value[EB_MAX_SETTINGS]; /* of the dims of column 0, in order */
    char *name;                     /* "N=4" */
    struct eb_cell *cell;           /* by column */
    double seconds;                 /* it took */
};

/* The points of the sweeps, checked against the dims of all columns. */
bool eb_points_make(struct eb_bench *);
void eb_points_free(struct eb_bench *);

/* ---- data: data.c, domain.c, same.c ---- */

/* Weights from the file, or random: the same for tensors of the same name. */
bool eb_weights(struct eb_bench *, struct eb_column *);
/* Set the dims of a point; bind inputs, the same for every column; start states afresh. */
/* With --redraw: inputs that are random integers, for the bench's next draw. */
bool eb_redraw(struct eb_bench *, struct eb_column *, const struct eb_point *);
bool eb_bind_point(struct eb_bench *, struct eb_column *, const struct eb_point *);
/* What input or state T holds before the first launch of a point, and a random weight. */
bool eb_make_first(struct eb_bench *, const struct eb_point *, const struct etrt_tensor *t,
                   const int64_t *shape, void *data, int64_t bytes);
/* One more than the largest index that input NAME is good for, by what P does with it at these
 * symbols; 0 when nothing is known. */
int64_t eb_index_bound(et_program *p, const char *name, const int64_t *syms);
/* Do all columns take and give the same tensors? */
bool eb_columns_agree(struct eb_bench *);
/* Outputs and states of column C against those of column 0, bit by bit. */
bool eb_same_results(struct eb_bench *, const struct eb_column *c, const struct eb_point *);

/* ---- runs, predictions: run.c, predict.c, values.c ---- */

/* Run and predict every point. */
bool eb_run(struct eb_bench *);
void eb_predict(struct eb_bench *, struct eb_point *);

/* What predictions know of tensors that decide who waits for what: what the interpreter makes of
 * the inputs, of weights and states as well, of the inputs and what the last launch left on the
 * device, of a loop's tensors what its last iteration wrote, or of the inputs and random scores.
 * NULL when there is no more to be had. */
enum eb_effort { EB_INPUTS, EB_ALL, EB_DEVICE, EB_GUESS };
struct eb_values;
struct eb_values *eb_values_make(struct eb_bench *, const struct eb_column *,
                                 const struct eb_point *, enum eb_effort, char err[ET_SIM_ERR]);
void eb_values_free(struct eb_values *);
bool eb_values_from_device(const struct eb_values *); /* Was anything of it asked for? */
/* As et_sim_options.value. */
bool eb_value(void *values, int tensor, int64_t iteration, const int64_t *index, int64_t *out);

/* Play column C at a point, with as much effort as it takes. */
bool eb_play(struct eb_bench *b, const struct eb_column *c, const struct eb_point *,
             et_sim_result *out, struct eb_values **out_values, char err[ET_SIM_ERR]);
/* The same again, and TASK is called for every task. */
bool eb_play_with(struct eb_bench *b, const struct eb_column *c, const int64_t *syms,
                  struct eb_values *, void (*task)(void *ctx, const et_sim_task *), void *ctx,
                  et_sim_result *out, char err[ET_SIM_ERR]);
/* The values of the point in the order of the program's symbols. */
void eb_symbols(const struct eb_bench *, const struct eb_point *, const et_program *, int64_t *out);
bool eb_write_timelines(struct eb_bench *); /* timeline.c */
/* A launch of column C at a point that recorded its tasks; NULL after an error. */
timeline *eb_record(struct eb_bench *, struct eb_column *c, const struct eb_point *,
                    const char *title);
bool eb_overhead(const struct eb_options *); /* overhead.c */
/* Does the device count by task? One launch more of C at the point that is bound, counted. */
bool eb_counts_memory(const struct eb_bench *);
bool eb_count_memory(const struct eb_bench *, const struct eb_point *, const struct eb_column *c,
                     struct eb_cell *);

/* ---- profiles: profile.c, widths.c, tune.c ---- */

/* A task of a launch: one tile of a grid in one iteration. */
struct eb_task {
    int64_t iteration, tile;
    int workgroup;
    int64_t lane; /* eb_busiest's */
    double us;
};
/* How long the workgroup with most to do is busy with these tasks of one grid, the mean over
 * iterations: as they ran (WIDTH 0), or with tile t on workgroup t mod WIDTH. Sorts them. */
double eb_busiest(struct eb_task *, int n, int width);
/* Numbers of workgroups worth knowing times for, ascending, at most MOST: all CUs, some or all
 * numbers of whole dies, shader engines of one, and a few. At most ET_PROFILE_WIDTHS. */
int eb_widths(const et_machine *, int most, int *out);
/* The points of the sweeps; without sweeps those at which the passes look. */
bool eb_points_of_passes(struct eb_bench *);
/* The times of column 0 at all points; NULL after an error. What it points to is the arena's, the
 * bench's and the options'. */
et_profile *eb_profile_make(struct eb_bench *, et_arena *);
bool eb_profile_write(const struct eb_bench *, const et_profile *, const char *path);
bool eb_profile(const struct eb_options *); /* --profile */
bool eb_tune(const struct eb_options *);    /* --tune */
/* --calibrate: measure the device into a machine file (calibrate.c). */
bool eb_calibrate(const struct eb_options *);
/* One more column from the same file, compiled with the times of the bench. */
bool eb_add_timed(struct eb_bench *, const char *name);

/* ---- statistics: stats.c ---- */

struct eb_summary {
    int n;
    double median, q1, q3, least, most;
};
/* The value a share P of the way through the samples, which are sorted. NAN of none. */
double eb_quantile(double *sample, int n, double p);
struct eb_summary eb_summarise(const double *sample, int n);
/* Median of A over the median of B, and where 95 % of resamplings put it; NAN where that says
 * nothing because B has zeros. */
struct eb_ratio {
    double value, lo, hi;
};
struct eb_ratio eb_ratio_of(const double *a, int na, const double *b, int nb, uint64_t seed);

/* ---- reports: text.c, json.c, plot.c ---- */

/* Does the metric tell something here: is there a sample of it, other than zero? */
bool eb_metric_shown(const struct eb_bench *, enum eb_metric);
/* Its name in JSON. */
const char *eb_metric_key(const struct eb_bench *, enum eb_metric);
/* "predicted for MI300X, us" */
char *eb_metric_title(const struct eb_bench *, enum eb_metric);
void eb_print_text(const struct eb_bench *, FILE *);
bool eb_write_markdown(const struct eb_bench *, const char *path);
bool eb_write_json(const struct eb_bench *, const char *path);
bool eb_write_plot(const struct eb_bench *, const char *path);
/* et_output_open and et_output_close; they say what is wrong. */
bool eb_file_open(et_output *, const char *path);
bool eb_file_close(et_output *);

/* A bar on standard error while that is a terminal: DONE of TOTAL, and what is next. */
void eb_progress(const struct eb_bench *, int done, int total, const char *what);
void eb_progress_end(const struct eb_bench *);

#endif
