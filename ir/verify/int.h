/* int.h - what the files of the verifier share: verify.c chooses values of the symbols,
 * rows.c says which values follow from others, box.c evaluates footprints,
 * data.c and point.c find what tensors decide, promise.c what the user vouches
 * for, loop.c shortens loops, count.c counts arrivals, order.c computes what
 * happens before what, hazard.c checks accesses against it, queue.c that queues make
 * progress, memory.c where things are. */
#ifndef ET_VERIFY_INT_H
#define ET_VERIFY_INT_H

#include "ir/program/queue.h"
#include "ir/verify/verify.h"

/* Integers lo..hi; none where lo > hi. */
struct vf_range {
    int64_t lo, hi;
};

struct vf_box {
    struct vf_range d[ET_MAX_RANK];
    bool empty;
};

enum { VF_POINTS = 4 };

/* How a load that a wait with variables reads comes up in an access: the load, and by variable of
 * the wait what stands there for it. */
struct vf_match {
    et_expr load; /* none: it does not come up */
    bool alike;   /* apart from it, neither the access nor the wait depends on coordinates */
    et_expr by[ET_MAX_VARS];
};

/* A tensor access of a device function. */
struct vf_access {
    int tensor;
    bool store;
    bool data;           /* its place depends on what tensors hold */
    const et_step *step; /* NULL: of a wait, a notify or a count */
    bool early;          /* of a wait: before that wait is over */
    int nvars;           /* with no step: what it ranges over */
    const int *vars;
    struct vf_match match[VF_POINTS]; /* by point of the grid */
    et_expr index[ET_MAX_RANK];
    unsigned coords; /* tile coordinates its place depends on */
    unsigned loops;  /* loops around the grid, outermost first, likewise */
};

enum { VF_UNKNOWNS = 2, VF_BOUNDS = 16 };

/* A bound of a wait that is an unknown number plus a rest, see data.c. */
struct vf_bound {
    int unknown, event, dim;
    et_expr rest;
};

/* A wait with variables whose index reads one element of a tensor for each of their values. */
struct vf_point {
    int wait;
    et_expr load; /* or its remainder by a number, where nothing else matters */
    bool alike;   /* apart from it, the wait does not depend on coordinates or unknown numbers */
};

struct vf_grid {
    const et_grid *g;
    const et_func *f;
    struct vf_access *access;
    int naccess, caccess;
    int path[ET_MAX_LOOPS], depth;       /* loops around it, outermost first */
    unsigned wait_coords, notify_coords; /* tile coordinates its waits and notifies depend on */
    /* At the values of the symbols looked at. Tasks that agree on wait_coords are one class: they
     * wait for the same counters. Those that agree on notify_coords are one group: they notify the
     * same counters. */
    int64_t extent[ET_MAX_RANK];
    int64_t tiles;
    int nclasses, ngroups;
    /* Unknown numbers in its waits: a class is for one value of each of them too. */
    et_expr unknown[VF_UNKNOWNS];
    struct vf_bound bound[VF_BOUNDS];
    int nunknown, nbounds;
    struct vf_point point[VF_POINTS];
    int npoints;
    int first_unknown;                /* the first wait that depends on tensors */
    bool untold;                      /* a wait depends on tensors in another way */
    struct vf_range may[VF_UNKNOWNS]; /* be anywhere here */
    int64_t from[VF_UNKNOWNS], among[VF_UNKNOWNS], values;
};

/* A grid in one iteration of the loops around it. */
struct vf_inst {
    int grid;
    int at[ET_MAX_LOOPS]; /* which of the kept iterations, outermost loop first */
    int first_class, first_group;
};

/* Iterations kept of a loop, see loop.c. */
struct vf_loop {
    int64_t trips;
    int kept;  /* trips, or fewer when it is shortened */
    int reach; /* how many iterations back its waits and footprints go, at least 1 */
    bool shortened;
};

struct vf_event {
    int64_t dim[ET_MAX_RANK];  /* at these symbols */
    int64_t kept[ET_MAX_RANK]; /* with shortened loops */
    int loop[ET_MAX_RANK];     /* the loop a dimension counts the iterations of, or -1 */
    int64_t first;             /* of its counters */
    int loose;                 /* the last instance that notifies it through tensors, or -1 */
};

struct vf_arrival {
    int inst, group, next;
};

struct vf_counter {
    int64_t arrivals;
    int arrival; /* first of a list */
    int latest;  /* instance of all arrivals */
    bool waited;
    bool sliced; /* SLICE is known: of all arrivals, or -1 */
    int64_t slice;
    uint64_t *clock; /* all arrivals and what happened before them; made on demand */
};

/* A pair of accesses that may conflict, of two grids or one. */
struct vf_pair {
    int a, b;         /* accesses */
    bool overlapping; /* different tensors that share memory */
};

struct vf_pairs {
    struct vf_pair *v;
    int n, cap;
};

/* Numbers of those accesses of a grid that store. */
struct vf_stores {
    int *access, n;
};

/* The pairs of two grids, found when they are first asked for: of most grids that meet in memory
 * nobody asks, since what orders others orders them too. */
struct vf_met {
    int64_t key; /* 0: free */
    struct vf_pairs pairs;
};

/* A notify, or a wait, of a grid. */
struct vf_use {
    int grid, at;
};

struct vf_uses {
    struct vf_use *v; /* in the order of the grids */
    int n, cap;
};

struct verify {
    et_program *p;
    et_exprs *x;
    const et_verify_options *opt;
    et_diags *d;
    et_arena *arena; /* the verifier's own */
    et_verify_report *report;
    struct vf_grid *grid;
    struct vf_loop *loop;               /* by loop of the graph */
    struct vf_event *event;             /* by event */
    struct vf_uses *notified, *awaited; /* by event */
    uint64_t *meets; /* by grid: the set of grids that touch memory it touches, where any stores */
    int meet_words;
    struct vf_stores *stores; /* by grid */
    struct vf_met *met_pairs; /* see vf_pairs_of */
    int nmet_pairs, cmet_pairs;
    struct vf_pairs *within; /* by grid: of two tiles of one instance */
    bool *apart;             /* by grid: no two tiles conflict, for any value of the symbols */

    bool *is_fixed;        /* by symbol: only a span of its values is looked at for now, ... */
    int64_t *fixed, *upto; /* ... from this one to that */
    bool wide;             /* some such span has more than one value */
    int64_t *trial;        /* by symbol: room for values that are tried */
    int64_t *syms;
    struct vf_range *var; /* by variable */
    struct vf_inst *inst;
    int ninst, cinst;
    int *by_grid, *of_grid; /* numbers of instances by grid, and where those of each grid begin */
    int nclasses, ngroups, words;  /* of all instances; words of a set of groups */
    uint64_t **past;               /* by class: the groups that are done before it starts */
    uint64_t **sure;               /* by class: done before it whatever its unknown numbers are */
    uint64_t **early;              /* by class: done before its waits with unknown numbers */
    const struct vf_grid *entered; /* whose unknown numbers are known */
    struct vf_range known[VF_UNKNOWNS];
    int64_t near[VF_UNKNOWNS]; /* the value of each that bounds of waits can tell apart */
    bool pointwise;            /* evaluate with those */
    et_expr at;                /* a load whose value is known to be in ... */
    struct vf_range at_range;
    struct vf_counter *counter;
    int64_t ncounters;
    struct vf_arrival *arrival;
    int narrivals, carrivals;
    void *scratch; /* of hazard.c */
    int nscratch;
    uint64_t *sets; /* room for sets of groups, reused from value to value */
    size_t nsets, csets;
    et_arena *round;   /* freed after each value of the symbols */
    bool has_unfenced; /* there are unfenced events ... */
    bool fenced;       /* ... which do not count now: tasks are ordered by the other events alone */
    bool has_flagged;  /* there are flagged or shared tensors ... */
    bool system;       /* ... and now events of the system alone count */
    /* So many of the outermost loops are taken as if their kept iterations were all there are: two
     * accesses inside one loop then meet as neighbouring iterations do. */
    int glued;
    bool skipped; /* a value that was to be looked at was not */
    int errors;
    int64_t limit; /* of work */
    int64_t met;   /* pairs of instances that were to be shown at once so far; limited likewise */
};

/* ---- verify.c */
/* "x_2[j0=3] l=2": coordinates not in KNOWN are "..". */
const char *vf_task(struct verify *, const struct vf_inst *, unsigned known, const int64_t *coord);
/* An error about grid G of the program, ending in the values of the symbols. */
void vf_error(struct verify *, int grid, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- box.c */
struct vf_range vf_eval(const struct verify *, et_expr);
void vf_list_accesses(struct verify *, struct vf_grid *);
/* Unless it is listed already. */
void vf_add_access(struct verify *, struct vf_grid *, const struct vf_access *);
unsigned vf_coords_in(struct verify *, const et_func *, et_expr);
/* Of the sizes of what a step iterates over. */
unsigned vf_coords_of_extents(struct verify *, const et_func *, const et_step *);
/* Set loop variables to the iteration of INST, and the coordinates in MASK to those of number
 * AT, mixed radix with the last fastest; the others to all they can be. */
void vf_enter(struct verify *, const struct vf_inst *, unsigned mask, int64_t at);
/* The coordinates and unknown numbers of a class. */
void vf_enter_class(struct verify *, const struct vf_inst *, int klass);
int64_t vf_count(const struct vf_grid *, unsigned mask); /* how many numbers MASK has */
/* Variables of the step to all they can be for the entered tasks. */
void vf_enter_step(struct verify *, const et_step *);
/* What the entered tasks touch of the access's tensor. */
struct vf_box vf_box_of(struct verify *, const struct vf_access *);
static inline bool vf_meet(const struct vf_box *a, const struct vf_box *b, int rank) {
    if (a->empty || b->empty) return false;
    for (int d = 0; d < rank; d++)
        if (a->d[d].hi < b->d[d].lo || b->d[d].hi < a->d[d].lo) return false;
    return true;
}
/* Bytes of the workspace, first to last, that hold the box; none when it is empty. */
struct vf_range vf_bytes(const struct verify *, int tensor, const struct vf_box *);

/* ---- data.c */
void vf_find_unknowns(struct verify *, struct vf_grid *);
void vf_measure_unknowns(struct verify *, struct vf_grid *);
/* Take the unknown numbers of G to be those of number VALUE. */
void vf_know(struct verify *, const struct vf_grid *, int64_t value);
bool vf_lookup(const struct verify *, et_expr, struct vf_range *out);

/* ---- point.c */
/* A wait whose index depends on its variables through one load alone becomes a point of the grid.
 */
bool vf_find_point(struct verify *, struct vf_grid *, int wait);
/* Once all accesses and points are known. */
void vf_match_points(struct verify *, struct vf_grid *);
/* The points of G that wait, for every element that A touches, at the value the load has there; a
 * set by number. */
unsigned vf_covering(struct verify *, const struct vf_inst *, int klass, const struct vf_access *a);
/* Where the load is in X, point k waits for BOX[k]. */
struct vf_cut {
    const struct vf_inst *in;
    int klass;
    unsigned points;
    struct vf_range x;
    struct vf_box box[VF_POINTS];
};
typedef bool (*vf_cut_fn)(void *ctx, struct verify *, const struct vf_cut *);
/* Call FN for ranges of what the loads may hold, all together, in each of which every point names
 * one box. False when FN says so, or after an error. */
bool vf_each_cut(struct verify *, const struct vf_inst *, int klass, unsigned points, vf_cut_fn fn,
                 void *ctx);

/* ---- promise.c */
/* Events that tensors complete have their promise, and others need none. */
bool vf_promises(struct verify *);
/* The user promises that A, a task of one instance, has notified a counter that class KLASS of
 * another waits for, if the two must be ordered. */
bool vf_vouched(struct verify *, const struct vf_inst *first, const int64_t *coord,
                const struct vf_inst *second, int klass);
bool vf_is_loose(struct verify *, const et_notify *);

/* ---- trips.c */
/* For each number of iterations of loops that a launch decides: sets loops and what is fixed, and
 * calls AT_ONCE, which may fail without a word, and where it does PROVE for each of the values.
 * They prove for all values of the other symbols and fill in the report. False where PROVE is false
 * or there are too many. */
bool vf_each_trips(struct verify *, bool (*prove)(struct verify *),
                   bool (*at_once)(struct verify *));
/* The values of a symbol to be looked at now. */
void vf_sym_range(const struct verify *, int sym, int64_t *out_lo, int64_t *out_hi);
/* Has E one value, whatever the symbols are within what is looked at now? */
bool vf_is_int(const struct verify *, et_expr e, int64_t *out);
/* Is it over a symbol of which only some values are looked at now? */
bool vf_mentions_fixed(const struct verify *, et_expr);

/* ---- loop.c */
void vf_shorten_loops(struct verify *);
int64_t vf_label(const struct vf_loop *, int at); /* the iteration a kept one stands for */
/* The kept iteration that V, an index along LOOP computed by a task of INST, stands for; false when
 * there is none. */
bool vf_map_iteration(const struct verify *, const struct vf_inst *, int loop, int64_t v,
                      int64_t *out);
/* The pair of instances has a translation to earlier iterations of a shortened loop that is looked
 * at as well and says the same. */
bool vf_translated(const struct verify *, const struct vf_inst *, const struct vf_inst *);
/* May be called once the order of tasks is known: the middle of every shortened loop is the same
 * for whatever is before and after it. */
bool vf_loops_settled(struct verify *);

/* ---- rows.c */
/* The symbol only counts rows: what is ordered at a value that leaves three blocks of PERIOD rows
 * is ordered at that value plus PERIOD too. */
bool vf_counts_rows(struct verify *, int sym, int64_t period);

/* ---- count.c */
/* Where index I of dimension D is among the counters kept; false when it is outside the event. */
bool vf_locate(const struct verify *, const struct vf_inst *, int event, int d, int64_t i,
               int64_t *out);
/* The counters of an event, by number, as indices of the whole loops. */
void vf_indices_of(const struct verify *, int event, int64_t word, int64_t *at);
/* A task of INST for messages: coordinates in MASK from AT, the others open. */
const char *vf_task_at(struct verify *, const struct vf_inst *, unsigned mask, int64_t at);
const char *vf_counter_text(struct verify *, int event, const int64_t *at);
/* What the entered tasks read by the variables of their waits (EARLY) or notifies is inside the
 * tensors, which no mask looks after there. */
bool vf_reads_inside(struct verify *, const struct vf_inst *, bool early);
/* N variables to their first or next values; false past the last. */
bool vf_first_values(struct verify *, int n, const int *vars);
bool vf_next_values(struct verify *, int n, const int *vars);
bool vf_list_arrivals(struct verify *);
bool vf_check_counts(struct verify *);

/* ---- order.c */
typedef enum { VF_OK, VF_WRONG, VF_TOO_LARGE } vf_status;
bool vf_applies(const struct verify *, const struct vf_inst *, et_when);
/* What is done once every counter of the box of EVENT is complete, is added to TO. */
void vf_join_box(struct verify *, const struct vf_inst *, int event, const struct vf_box *,
                 uint64_t *to);
/* Lists the instances; false when there are too many. */
bool vf_instances(struct verify *);
/* Instances, counters, and each class's past; reports counts, progress, bounds and scopes. */
vf_status vf_order(struct verify *);

/* ---- index.c */
void vf_index_events(struct verify *); /* once */
/* To be called when instances are listed. */
void vf_index_instances(struct verify *);
/* Numbers of the instances of a grid, in order. */
static inline int vf_instances_of(const struct verify *v, int grid, const int **out) {
    *out = v->by_grid + v->of_grid[grid];
    return v->of_grid[grid + 1] - v->of_grid[grid];
}
/* Numbers of the instances that notify EVENT, whatever their iteration, in order. */
int vf_notifying(const struct verify *, et_arena *, int event, int **out);
/* Instances before INST of grids that meet its grid in memory, in order. */
int vf_meeting_before(const struct verify *, et_arena *, int inst, int **out);
/* Bit I of a set. */
static inline bool vf_bit(const uint64_t *set, int i) {
    return set[i >> 6] >> (i & 63) & 1;
}
static inline void vf_set_bit(uint64_t *set, int i) {
    set[i >> 6] |= (uint64_t)1 << (i & 63);
}

/* ---- pairs.c */
void vf_list_pairs(struct verify *);
/* The set of grids that the grid meets. */
const uint64_t *vf_meets(const struct verify *, int grid);
/* Of two grids, or of one with itself; there may be none. */
const struct vf_pairs *vf_pairs_of(struct verify *, int earlier, int later);
/* Two temporaries overlap, at their largest. */
bool vf_share_memory(const et_program *, int a, int b);

/* ---- hazard.c */
void vf_list_apart(struct verify *); /* of the pairs within each grid */
bool vf_hazards(struct verify *);

/* ---- tagged.c */
bool vf_has_unfenced(const et_program *);
/* Tags grow in the order of the program, for the number of iterations that loops have now. */
bool vf_tags(struct verify *);
/* Accesses of this tensor are ordered by events that count now, if by any: those of tagged tensors
 * by all events, all others by those with fences. Those of flagged and shared tensors are once more
 * by events of the system alone: each edge of such a path is between tasks of all devices, and so
 * is all of it. */
static inline bool vf_is_now(const struct verify *v, int tensor) {
    if (v->system) return v->p->tensors[tensor].flagged || v->p->tensors[tensor].shared;
    return !v->has_unfenced || v->p->tensors[tensor].tagged != v->fenced;
}
/* The event does not count now. */
static inline bool vf_is_out(const struct verify *v, int event) {
    if (v->system) return v->p->events[event].scope != ET_SCOPE_SYSTEM;
    return v->fenced && v->p->events[event].unfenced;
}

/* ---- queue.c */
bool vf_queues(struct verify *);                        /* once instances are listed */
bool vf_queue_plan(struct verify *, const et_queues *); /* what does not depend on values */

/* ---- memory.c */
bool vf_layout(struct verify *);   /* of events and workspace, once */
bool vf_contents(struct verify *); /* reads find what was last written as their tensor */

#endif
