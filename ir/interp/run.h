/* run.h - what the files of the program interpreter share: run.c orders tasks,
 * event.c keeps counters and clocks, step.c and value.c compute,
 * race.c watches memory, item.c what work-items of one step do. */
#ifndef ET_INTERP_RUN_H
#define ET_INTERP_RUN_H

#include "ir/interp/interp.h"
#include "ir/program/step.h"

/* One grid in one iteration of the loops around it. Its tiles are tasks first .. first + tiles. */
struct run_instance {
    int grid;
    int64_t loop[ET_MAX_LOOPS]; /* iteration of each enclosing loop, outermost first */
    int64_t tiles;
    int first;
};

/* What a counter has seen. A clock is a set of tasks: those that arrived and all that happened
 * before them; a counter of an event whose scope is narrower than the device has one for each place
 * (die or workgroup) that arrivals came from, as only the same place sees them. */
struct run_counter {
    uint32_t arrivals;
    int last, before; /* the last two tasks that arrived, -1 none */
    int64_t need;     /* arrivals that complete it, once a task has waited for it or notified it */
    int needed_by;    /* that task, -1 none */
    int waiter;       /* first of the tasks that are blocked on it, linked by `next` */
    uint64_t **clock; /* by place; NULL until an arrival */
};

struct run_task {
    int next;          /* of the tasks blocked on one counter */
    uint64_t priority; /* the ready task of the lowest one runs */
    int instance;
};

/* Two bytes of memory: who wrote them last, who has read them since (a set, see race.c). */
struct run_cell {
    int writer; /* task + 1, 0 none */
    int readers;
};

struct run_shadow;
struct run_items;

struct run {
    et_program *p;
    et_exprs *x;
    const et_interp_options *opt;
    const int64_t *syms;
    int64_t *vars;               /* by variable */
    int64_t (*dim)[ET_MAX_RANK]; /* by tensor, at these symbols */
    char **memory;               /* by tensor */
    char *workspace;
    int64_t (*stride)[ET_MAX_RANK]; /* by event */
    int64_t (*edim)[ET_MAX_RANK];   /* by event, at these symbols */
    int64_t *need; /* by event: its count, or INT64_MIN where more than symbols decide */
    struct run_counter *counter; /* by word of the event array */
    float **local;               /* of the running function; i32 values are stored as their bits */
    float product;               /* of the query and the key whose score is computed */
    float state, seen, sum;      /* of the scan: an element, what is seen of its row, the result */
    const et_func *f;
    const et_step *step;     /* that is running, or NULL */
    int64_t item;            /* its work-item that is running, -1: all of them together */
    unsigned char **written; /* by local: its elements that have a value; NULL: not tracked */
    struct run_items *items; /* NULL: not tracked */
    struct run_instance *inst;
    int ninst, cinst;
    struct run_task *task;
    int ntasks, now; /* now: the running task */
    int *ready;      /* heap */
    int nready;
    int woken; /* first of the tasks to look at again, linked by `next` */
    int words; /* of a set of tasks */
    /* A clock is a set of tasks, and, where there are unfenced events, from word FENCED on a second
     * one: those that fences order too. ROOM: words of both. */
    int fenced, room;
    uint64_t *past;          /* of the running task */
    int32_t **tag;           /* by tensor: of each element, 0 until it is stored; or NULL */
    struct run_inbox *inbox; /* by tensor: what is partial over devices; NULL: one device */
    struct run *all;         /* of the devices, by number */
    int device;              /* its own */
    bool waits;              /* a word that the entered task asks for has not come */
    int late, nlate;         /* tasks that were left so, linked by `next`; -1: none */
    char *done;              /* by task */
    int ran;
    struct run_shadow *shadow; /* NULL: races are not looked for */
    char *err;
    bool failed;
};

void run_fail(struct run *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* "x_2[j0=3], l=2" */
const char *run_task_name(struct run *, int task, char buf[160]);
static inline int64_t run_whole(struct run *m, et_expr e) {
    return et_eval(m->x, e, m->syms, m->vars);
}
/* Bound or index of a wait or notify: may read index tensors. */
int64_t run_index(struct run *, et_expr);

/* ---- item.c: work-items of one step */
bool run_items_create(struct run *);
void run_items_destroy(struct run *);
void run_items_begin(struct run *); /* of a step */
void run_items_touch(struct run *, int space, int id, int64_t element, bool is_store);

/* ---- step.c, value.c */
void run_steps(struct run *, const et_func *);
int64_t run_eval_i(struct run *, et_expr);
float run_eval_f(struct run *, et_expr);
void run_store(struct run *, const et_place *to, bool is_int, int64_t i, float f);
/* Tell listeners that an element of a tensor or local buffer is touched, and look whether
 * work-items race. */
static inline void run_touch(struct run *m, int space, int id, int64_t element, bool is_store) {
    if (m->items && m->step && et_step_to(m->step))
        run_items_touch(m, space, id, element, is_store);
    if (m->opt->touch)
        m->opt->touch(m->opt->ctx,
                      &(et_interp_touch){m->now, m->step, space, id, element, is_store, m->vars});
}

/* ---- devices.c: tensors that devices exchange: those that are partial, with words or flags, and
 * those that are shared */
struct run_inbox {
    float *sum; /* of each device, one after the other */
    int32_t *tag;
};
void run_partial_store(struct run *, int tensor, const et_expr *index, int64_t element, float);
/* The sum; with a word missing, whatever, and m->waits. */
float run_partial_load(struct run *, int tensor, int64_t element);
/* ---- run.c: a run, step by step */
void run_begin(struct run *, void *const *tensor);
et_interp_options run_options(const et_interp_options *);
bool run_one(struct run *); /* false: there is no ready task */
void run_retry(struct run *);
void run_end(struct run *, bool deadlock);
void run_free(struct run *);

/* ---- event.c */
bool run_events_create(struct run *);
void run_events_destroy(struct run *);
/* The entered task's first counter that is short, as a word of the event array; -1 when none is. */
int run_first_short(struct run *, const et_grid *, int *out_event);
/* On every device: what the entered task waits for of events of the system is complete there. */
bool run_told_by_all(struct run *, const et_grid *);
/* Collect what happened before the entered task into m->past. */
void run_collect_past(struct run *, const et_grid *);
/* Count the arrivals of the entered task and put tasks that were blocked on what is now complete on
 * m->woken. */
void run_notify(struct run *, const et_grid *);
/* The words the entered task would notify include WORD. */
bool run_notifies(struct run *, const et_grid *, int word);
/* The count of a counter that a task waited for or notified. */
int64_t run_need(const struct run *, int event, int word);
/* After all tasks: every counter has what its event says. */
void run_check_counts(struct run *);
const char *run_counter_name(struct run *, int event, int word, char buf[160]);
/* By events of any kind, or by those with fences alone. */
static inline bool run_before(const struct run *m, int task, bool fenced) {
    return m->past[(fenced ? m->fenced : 0) + (task >> 6)] >> (task & 63) & 1;
}

/* ---- race.c: called for each element an entered task touches, at AT within TENSOR */
bool run_shadow_create(struct run *);
void run_shadow_destroy(struct run *);
void run_shadow_read(struct run *, int tensor, int64_t element);
void run_shadow_write(struct run *, int tensor, int64_t element);

#endif
