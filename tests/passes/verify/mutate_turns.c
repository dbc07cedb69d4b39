/* mutate_turns.c - programs of which two grids have tiles that are claimed in turn, block by block.
 */
#include "tests/passes/verify/mutate.h"

struct turns {
    et_program *p;
    mutant_fn fn;
    void *ctx;
};

/* What means the same to tiles that are claimed in program order may not in turn. */
static void pass_on(void *ctx, et_program *p, const mutant *m) {
    const struct turns *t = ctx;
    mutant told = *m;
    told.same = false;
    t->fn(t->ctx, p, &told);
}

/* With TO so many blocks behind FROM: as it is, and, of some, changed. */
static void mutate_pair(struct turns *t, int from, int to) {
    static const int behind[] = {1, 2, ET_MOST_BEHIND};
    const et_grid *a = &t->p->grids[from];
    et_grid *b = &t->p->grids[to];
    bool claimed = a->order == ET_TILES_CLAIMED && b->order == ET_TILES_CLAIMED;
    bool wrong = !claimed || a->behind, alike = et_expr_eq(a->extent[0], b->extent[0]);
    int was = b->behind;
    for (size_t i = 0; i < sizeof behind / sizeof *behind; i++) {
        char what[256];
        b->behind = behind[i];
        snprintf(what, sizeof what, "%s is claimed %d blocks behind %s", b->name, behind[i],
                 a->name);
        t->fn(t->ctx, t->p, &(mutant){.what = what, .kind = MUTATE_TURNS, .wrong = wrong});
        if (!wrong && alike && i != 1) mutate_two(t->p, from, to, pass_on, t);
    }
    b->behind = was;
}

static void mutate_list(struct turns *t, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &t->p->items[i];
        if (it->kind == ET_P_LOOP)
            mutate_list(t, it->first, it->count);
        else if (i > first && it[-1].kind == ET_P_GRID)
            mutate_pair(t, it[-1].index, it->index);
    }
}

void mutate_turns(et_program *p, mutant_fn fn, void *ctx) {
    struct turns t = {p, fn, ctx};
    mutate_list(&t, p->first, p->count);
}
