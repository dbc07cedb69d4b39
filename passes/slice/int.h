/* int.h - what slice.c (which chooses) and rewrite.c (which cuts) share. */
#ifndef ET_SLICE_INT_H
#define ET_SLICE_INT_H

#include "passes/tile/split_k.h"
#include "passes/tile/tiler.h"

enum { WHOLE = -1 };

struct slicing {
    et_program *p;
    et_exprs *x;
    int count;
    int ntensors;      /* of the program before: those that follow are made here */
    int *axis;         /* by group: the one that is sliced, or WHOLE */
    int nsliced, most; /* groups that are, and may be, where MOST is anything */
    bool *cut;         /* by group: its product is cut along k */
    bool *split;       /* by tensor: it holds partial sums */
};

struct known {
    int var;
    int64_t extent;
    int within; /* a variable over one slice */
};

/* Variable VAR - 1 is known to be in a slice of its extent; VAR is 0 where it has no slices. */
struct known sl_know(struct slicing *, int var);
/* Then INDEX is in the same slice of 0 .. SIZE - 1. */
bool sl_follows(struct slicing *, et_expr index, int64_t size, const struct known *);
void sl_rewrite(struct slicing *);

#endif
