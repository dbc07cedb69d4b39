/* Every product of a program gets its plan. */
#include "passes/product/product.h"
#include "passes/pipeline/pipeline.h"

/* How a grid runs its function, as far as plans of its products depend on it. */
struct use {
    int step; /* whose b comes through the ring, or -1 */
    bool deep;
};

/* COPIES: the target can bring weights through a ring. */
static struct use use_of(const et_program *p, const et_grid *gr, bool copies) {
    const et_func *f = &p->funcs[gr->func];
    return (struct use){gr->streamed && copies ? et_stream_step(p, f) : -1, gr->deep};
}

/* A function that grids use in different ways becomes as many, each with plans of its own. */
static void part_ways(et_program *p, int grid, bool copies) {
    et_grid *gr = &p->grids[grid];
    struct use own = use_of(p, gr, copies);
    bool differs = false;
    for (int i = 0; i < grid; i++) {
        struct use of = use_of(p, &p->grids[i], copies);
        differs |= p->grids[i].func == gr->func && (of.step != own.step || of.deep != own.deep);
    }
    if (!differs) return;
    ET_GROW(p->g->arena, p->funcs, p->nfuncs, p->cfuncs);
    et_func *f = &p->funcs[p->nfuncs];
    *f = p->funcs[gr->func];
    f->name = et_printf(p->g->arena, "%s_%d", f->name, grid);
    f->steps = et_alloc(p->g->arena, (size_t)f->nsteps * sizeof *f->steps);
    memcpy(f->steps, p->funcs[gr->func].steps, (size_t)f->nsteps * sizeof *f->steps);
    f->csteps = f->nsteps;
    gr->func = p->nfuncs++;
}

/* A plan that the text gives is obeyed, or refused. */
static bool suits(const et_product_cx *cx, const et_step *s) {
    const char *why;
    et_mainloop c;
    for (int i = 0; i < ET_PLANS; i++)
        if (s->plan[i].made && !et_mainloop_of(cx, s, i, &c, &why)) {
            et_diag(cx->p->g->diags, ET_ERROR, (et_loc){0},
                    "%s: its product cannot have the %s that is given, for %s: %s", cx->f->name,
                    et_plan_word(ET_PLAN_WORD_PLAN, i), cx->t->name, why);
            et_diag(cx->p->g->diags, ET_NOTE, (et_loc){0},
                    "without a plan in the text one is chosen");
            return false;
        }
    return true;
}

static bool plan_grid(et_program *p, et_grid *gr, const et_product_options *o, et_arena *arena) {
    et_func *f = &p->funcs[gr->func];
    struct use use = use_of(p, gr, o->target->copies);
    et_product_cx cx = et_product_context(p, f, o->target, arena);
    cx.without = o->without;
    cx.packed = o->packed;
    bool ok = true;
    for (int i = 0; i < f->nsteps; i++) {
        et_step *s = &f->steps[i];
        et_mainloop c;
        if (s->kind != ET_STEP_CONTRACT) continue;
        if (s->plan[ET_PLAN_MAIN].made) {
            ok &= suits(&cx, s);
            continue;
        }
        if (i == use.step && et_product_choose(&cx, s, true, use.deep, o->zeros, s->plan, &c))
            continue;
        et_product_choose(&cx, s, false, false, o->zeros, s->plan, &c);
    }
    return ok;
}

bool et_product_plan_all(et_program *whole, const et_product_options *o) {
    et_arena *arena = et_arena_create();
    et_program *p;
    bool ok = true;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++) {
            part_ways(p, i, o->target->copies);
            ok &= plan_grid(p, &p->grids[i], o, arena);
        }
    et_arena_destroy(arena);
    return ok;
}

bool et_pass_product(et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    const et_product_options by = {
        .target = o->target, .without = o->without, .packed = o->packed, .zeros = o->zeros};
    return !o->target || et_product_plan_all(pl->p, &by);
}
