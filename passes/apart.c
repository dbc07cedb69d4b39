/* Sends that nobody waits for, in programs of several devices whose rows are dealt to these.
 *
 * A store to another device holds up its SM until the link has taken it. Where the target has waves
 * beside those that run tiles, they send what products store for the devices that have the rows,
 * and what norms store for all (et_grid.apart). Each device multiplies others' rows first, so that
 * they are on their way while it multiplies its own; and what reads normalised rows begins with a
 * device's own, while others' are on their way. That pays where tiles have many rounds: on two H200
 * 9 % of a product, its sum and a product behind it with eight, 0 to 1 % with two
 * (bench/devices/README.md). */
#include "passes/apart.h"
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include "ir/program/tags.h"

enum { ROUNDS = 6 }; /* of tiles of each CU, at least */

struct apart {
    const et_pipeline *pl;
    const et_program *p;
    const et_func *f;
    bool multiplies;
    int along; /* the coordinate of rows that are shared and F reads; -1: none, or several */
    int reads; /* of such rows */
};

/* The only tile coordinate of F that INDEX has; -1: it has none, or several. */
static int coordinate_of(const struct apart *a, et_expr index) {
    int at = -1;
    for (int c = 0; c < a->f->ncoords; c++) {
        if (!et_expr_has_var(a->p->g->exprs, index, a->f->coord[c])) continue;
        if (at >= 0) return -1;
        at = c;
    }
    return at;
}

static struct apart look_at(const et_pipeline *pl, const et_grid *g) {
    struct apart a = {.pl = pl, .p = pl->p, .f = &pl->p->funcs[g->func], .along = -1};
    for (int i = 0; i < a.f->nsteps; i++)
        a.multiplies |= a.f->steps[i].kind == ET_STEP_CONTRACT;
    return a;
}

/* What the last step stores to other devices, or NULL. */
static const et_place *sent_by(const struct apart *a) {
    const et_step *last = a->f->nsteps ? &a->f->steps[a->f->nsteps - 1] : NULL;
    bool is = last && last->kind == ET_STEP_MAP && last->to.space == ET_LOAD_TENSOR &&
              et_may_be_sent_apart(a->p, a->f);
    return is ? &last->to : NULL;
}

static void note_shared(void *ctx, const et_step *s, int tensor, bool is_store,
                        const et_expr *index) {
    struct apart *a = ctx;
    (void)s;
    if (is_store || !a->p->tensors[tensor].shared) return;
    for (int d = 0; d < a->p->tensors[tensor].shape.rank; d++) {
        int at = coordinate_of(a, index[d]);
        if (at < 0) continue;
        a->reads += a->along != at;
        a->along = at;
    }
}

static bool is_plain(const et_grid *g) {
    return !g->dynamic && !g->slice.count && !g->streamed && !g->order && !g->range.to;
}

/* A product whose rows are dealt, with so many rounds in the smallest launch. */
static bool has_rounds(const et_pipeline *pl, const et_grid *g) {
    struct apart a = look_at(pl, g);
    const et_place *to = sent_by(&a);
    int64_t lo, hi;
    return a.multiplies && to && pl->p->tensors[to->id].dealt && is_plain(g) &&
           et_bounds(pl->p->g->exprs, et_grid_tiles(pl->p, g), &lo, &hi) &&
           lo >= (int64_t)ROUNDS * pl->opt->machine->cus;
}

static void send(const et_pipeline *pl, et_grid *g) {
    struct apart a = look_at(pl, g);
    const et_place *to = sent_by(&a);
    if (!is_plain(g)) return;
    if (to && a.multiplies && pl->p->tensors[to->id].dealt) {
        int along = coordinate_of(&a, to->index[pl->p->tensors[to->id].dealt - 1]);
        if (along < 0) return;
        g->order = ET_TILES_OTHERS_FIRST;
        g->along = along;
        g->apart = true;
    } else if (to && g->deal.rows) {
        g->apart = true;
    } else if (a.multiplies && !g->deal.rows) {
        et_func_accesses(pl->p, a.f, note_shared, &a);
        if (a.reads != 1) return;
        g->order = ET_TILES_OWN_FIRST;
        g->along = a.along;
    }
}

void et_send_apart(const et_pipeline *pl) {
    const et_product_options *by = pl->opt->machine->plans;
    bool any = false;
    if (!pl->p->g->devices || !by || !by->target->sends || pl->p->ring.slots || pl->opt->resident ||
        et_is_without(pl->opt->without, ET_FEATURE_APART))
        return;
    for (int i = 0; i < pl->p->ngrids; i++)
        any |= has_rounds(pl, &pl->p->grids[i]);
    for (int i = 0; i < pl->p->ngrids && any; i++)
        send(pl, &pl->p->grids[i]);
}
