/* symbolic.h - what the files that prove things for all values of the symbols at once share:
 * affine.c writes expressions as sums of variables, relate.c says which tasks are done before
 * which, symbolic.c checks accesses against that, claims.c the other claims. */
#ifndef ET_VERIFY_SYMBOLIC_H
#define ET_VERIFY_SYMBOLIC_H

#include "ir/verify/int.h"
#include "ir/verify/linear.h"

/* Variables of constraints by number: symbols and what depends on them alone; the coordinates of
 * the earlier task, of the later one, and of one between them; all others. */
enum {
    VS_COORD = 256,
    VS_A = VS_COORD,
    VS_B = VS_A + ET_MAX_RANK,
    VS_MID = VS_B + ET_MAX_RANK,
    VS_TEMP = VS_MID + ET_MAX_RANK,
};

/* Whose variables an expression is over. */
typedef enum { VS_EARLIER, VS_LATER, VS_SIDES } vs_side;

/* What a form stands for: expression E of a task of SIDE. */
struct vs_known {
    et_expr e;
    int side; /* -1: no expression, but floor(of / by) */
    vl_form f;
    vl_form of;
    int64_t by; /* 0: an expression; 1: a part of a sum */
};

/* A way in which a task is done before another: these rows hold, over VS_A and VS_B. */
struct vs_piece {
    int n;
    vl_row *row;
};

enum { VS_PIECES = 10 };
struct vs_relation {
    int n;
    bool told;    /* false: the waits read tensors, see vs_ordered */
    bool reaches; /* every later task has one before it */
    bool feeds;   /* every earlier task has one after it */
    struct vs_piece piece[VS_PIECES];
};

/* Which edges count. LOCAL: kept iterations either side of a cut are neighbours, as any two in the
 * middle are. WHOLE: they are not; what every task hands to itself in the next iteration is. ALONE:
 * no edges between iterations of one loop. */
typedef enum { VS_LOCAL, VS_WHOLE, VS_ALONE, VS_MODES } vs_mode;

/* Instance FROM notifies what instance TO waits for. */
struct vs_edge {
    int from, wait, notify, next; /* of the list of edges to an instance */
    bool cut;                     /* across what was cut out of a loop */
    bool between;                 /* from one iteration of a loop to another */
    struct vs_relation *rel;
};

struct vs_slot {
    int64_t key; /* 0: free */
    struct vs_relation *rel;
};

struct symbolic {
    struct verify *v;
    et_arena *arena;
    et_arena *scratch; /* systems: freed after each question */
    vl_work *work;
    vl_sys context; /* what holds of variables below VS_COORD */
    int nparams;
    struct {
        int row, nrows, split, nsplits;
    } param[VS_COORD];
    int *of_sym;
    vl_form *var[VS_SIDES]; /* by variable; not ok: none */
    int nvars;
    int (*counter)[ET_MAX_RANK]; /* by event: a variable for each dimension */
    int *set, nset, cset;        /* variables that have one */
    int ntemps;                  /* from VS_TEMP on */
    bool loose;                  /* a variable was made for what may be anything */
    struct vs_known *known, *lasting;
    int nknown, cknown, nlasting, clasting;
    int *first_edge; /* by instance */
    struct vs_edge *edge;
    int nedges, cedges;
    uint64_t *
        *full[VS_MODES]; /* by instance: those all of whose tasks are done before all of its */
    uint64_t **reach[VS_MODES]; /* by instance: those any tasks of which may be shown to be */
    signed char *carries;   /* by grid of a shortened loop: each task is done before itself in the
                               next   iteration; -1: not, 0: not known yet */
    struct vs_piece *range; /* by instance: of its coordinates, as VS_A */
    struct vs_slot *slot;
    int nslots, nused;
    int depth;
    int words;
    bool searching;    /* for an example */
    const char *stuck; /* what could not be shown, for people */
    int64_t *example;  /* values of variables below VS_TEMP where that may be wrong, or NULL */
};

/* ---- affine.c */
void vs_start(struct symbolic *);           /* forget temporaries and what was entered */
void vs_forget(struct symbolic *, vs_side); /* what was entered on one side */
/* Coordinates of the task of SIDE are the variables from BASE on, with their ranges in Q. GLUED:
 * loops are as long as what is kept of them. */
void vs_enter(struct symbolic *, vl_sys *q, vs_side, const struct vf_inst *, int base, bool glued);
/* Variables that range over [0, extent). */
void vs_enter_vars(struct symbolic *, vl_sys *q, vs_side, int n, const int *vars);
void vs_enter_step(struct symbolic *, vl_sys *q, vs_side, const et_step *);
/* E as a sum; what it takes to say so goes to Q. Where E is nothing of the kind, a variable that
 * may be anything. */
vl_form vs_form(struct symbolic *, vl_sys *q, vs_side, et_expr);
/* E came up on that side. */
bool vs_knows(const struct symbolic *, vs_side, et_expr);
/* E is the value that LIKE, which has one, has. */
void vs_alias(struct symbolic *, vs_side, et_expr e, const vl_form *like);
/* a + times_b * b; parts that depend on symbols alone get a variable where there are too many
 * terms.
 */
vl_form vs_add(struct symbolic *, const vl_form *a, const vl_form *b, int64_t times_b);
vl_form vs_minus_one(const vl_form *a, const vl_form *b); /* a - b - 1 */
int vs_temp(struct symbolic *);
/* No integers satisfy Q and what is known of the symbols. */
bool vs_empty(struct symbolic *, vl_sys *q);
/* What is known of the symbols in Q goes to Q. */
void vs_add_context(struct symbolic *, vl_sys *q);
vl_sys *vs_system(struct symbolic *); /* an empty one */

/* ---- piece.c */
/* Its rows to Q, the coordinates from FROM on as those from TO on. */
void vs_push_piece(vl_sys *q, const struct vs_piece *, int from, int to);
void vs_push_range(struct symbolic *, vl_sys *q, int inst, int base); /* being a task of it */
void vs_add_piece(struct vs_relation *, struct vs_piece);
void vs_add_all(struct vs_relation *to, const struct vs_relation *from);
/* A piece of what is left of Q without variables that only have to exist: those between tasks, and
 * temporaries from REST on. */
void vs_add_projected(struct symbolic *, vl_sys *q, int rest, int from, int to,
                      struct vs_relation *out);
/* By way of a task of MID: A is of FROM and MID, B of MID and TO. */
void vs_compose(struct symbolic *, const struct vs_relation *a, int mid,
                const struct vs_relation *b, int from, int to, struct vs_relation *out);

/* ---- edges.c: false where one cannot be told */
bool vs_list_edges(struct symbolic *);

/* ---- relate.c: what the edge, one of those to TO, says */
void vs_relate(struct symbolic *, struct vs_edge *, int to);
/* The edge, one of those to TO, counts, and its wait reads no tensor. */
bool vs_is_told(const struct symbolic *, int edge, int to, vs_mode);
/* To be called before what vs_ordered is asked about is written down. */
void vs_prepare(struct symbolic *, int from, int to, vs_mode);
/* Every task of instance FROM that is, with one of TO and others, a solution of Q is done before
 * it. B is the later one's access. */
bool vs_ordered(struct symbolic *, vl_sys *q, int from, int to, vs_mode, const struct vf_access *b);
/* Every solution of Q is in a piece from number PIECE on. */
bool vs_covered(struct symbolic *, vl_sys *q, const struct vs_relation *, int piece);
const struct vs_relation *vs_before(struct symbolic *, int from, int to, vs_mode);
/* The set of instances all tasks of which are done before any task of TO. */
const uint64_t *vs_full(struct symbolic *, int to, vs_mode);
bool vs_carries(struct symbolic *, int grid);
/* The loop around the grid that is shortened, or -1. */
int vs_cut_loop(const struct symbolic *, int inst);
/* The task of FROM, VS_A, arrives at a counter that the task of TO, VS_B, waits for: any that may.
 */
void vs_may_wait(struct symbolic *, vl_sys *q, const struct vs_edge *, int to);

/* ---- symbolic.c */
/* All claims hold for all values of the symbols. EXAMPLE: where not, and they are known, values for
 * which that may be so; else NULL. STUCK: what could not be shown. */
bool vf_symbolic(struct verify *, const char **out_stuck, int64_t **out_example);
bool vs_fail(struct symbolic *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- claims.c */
bool vs_counts(struct symbolic *);
bool vs_waits(struct symbolic *); /* reach, scope, progress */

/* ---- contents.c */
bool vs_contents(struct symbolic *);
bool vs_queues(struct symbolic *);

#endif
