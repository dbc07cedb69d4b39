/* moves.h - changes of a choice worth trying, and what they are made of. */
#ifndef ET_ASSIGN_MOVES_H
#define ET_ASSIGN_MOVES_H

#include "passes/assign/int.h"

/* Groups a piece has at most, unless they are all on one range; numbers a range is drawn by. */
enum { ASSIGN_AT_ONCE = 6, ASSIGN_SLOTS = 256 };

/* A model, as the search knows it. Times are of all trips. */
struct assign_member {
    const et_assign_model *m;
    int n;
    int *range, *first, *end; /* by group: its range, and the run on one range it is in */
    double *upto;             /* [nranges][n + 1]: time of the groups before */
    int *fits;  /* [nranges][n + 1]: the first group from here on it will not do for */
    int *trips; /* by group: how often one comes to it from the one before */
    int nloops;
    struct assign_loop {
        int first, last, back; /* back: how often one comes to the first from the last */
    } * loop;
    double *price;     /* [nranges]: of a us there */
    uint16_t *slot;    /* [n][ASSIGN_SLOTS]: ranges, the cheap ones often */
    double completion; /* price of a us of moving */
    double us;
    int64_t changes, budget;
};

struct assign_members {
    const et_assign_problem *p;
    struct assign_member *member; /* by model */
    uint64_t state;
};

/* Groups [a, b) of the model go to range R. */
struct assign_piece {
    int model, a, b, r;
};

/* Ranges are drawn by what they cost at the prices, relative to T. */
void assign_members_create(const et_assign_problem *, et_arena *, const assign_prices *by_model,
                           double t, struct assign_members *out);
void assign_find_runs(struct assign_member *);
/* One change, of one piece or two; 0 where what was drawn is none. */
int assign_propose(struct assign_members *, struct assign_piece out[2]);

/* A number below N; the same ones in every build. */
static inline int assign_draw(struct assign_members *s, int n) {
    s->state = s->state * 6364136223846793005u + 1442695040888963407u;
    return (int)((s->state >> 33) * (uint64_t)n >> 31);
}

/* Logarithm and exponential by sums and products alone: those of the library may differ in the last
 * bit from one machine to another, and so would what is chosen. */
double assign_ln(double);
double assign_exp(double);

#endif
