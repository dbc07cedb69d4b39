/* Every step of a program gets its plan. */
#include "passes/product/product.h"
#include "ir/product/items.h"
#include <string.h>

/* How a grid runs its function, as far as plans of its products depend on it. */
struct use {
    int step; /* whose b comes through the weight stream, or -1 */
    bool deep;
};

/* COPIES: the target can bring weights through a ring. */
static struct use use_of(const et_program *p, const et_grid *gr, bool copies) {
    const et_func *f = &p->funcs[gr->func];
    return (struct use){gr->streamed && copies ? et_stream_step(p, f) : -1, gr->deep};
}

/* The grid gets a function of its own: another one uses it in another way. */
static void own_func(et_program *p, int grid) {
    et_grid *gr = &p->grids[grid];
    ET_GROW(p->g->arena, p->funcs, p->nfuncs, p->cfuncs);
    et_func *f = &p->funcs[p->nfuncs];
    *f = p->funcs[gr->func];
    f->name = et_printf(p->g->arena, "%s_%d", f->name, grid);
    f->steps = et_alloc(p->g->arena, (size_t)f->nsteps * sizeof *f->steps);
    memcpy(f->steps, p->funcs[gr->func].steps, (size_t)f->nsteps * sizeof *f->steps);
    f->csteps = f->nsteps;
    gr->func = p->nfuncs++;
}

static void part_ways(et_program *p, int grid, bool copies) {
    struct use own = use_of(p, &p->grids[grid], copies);
    bool differs = false;
    for (int i = 0; i < grid; i++) {
        struct use of = use_of(p, &p->grids[i], copies);
        differs |=
            p->grids[i].func == p->grids[grid].func && (of.step != own.step || of.deep != own.deep);
    }
    if (differs) own_func(p, grid);
}

/* What plans of a program's products are made by. */
struct planning {
    et_program *p;
    const et_product_options *by;
    et_arena *arena;
    const bool *stored;
    bool *given; /* per grid: the plan of its first product is the text's */
    et_box_maps *maps;
};

static et_product_cx context(const struct planning *l, const et_func *f) {
    et_product_cx cx = et_product_context(l->p, f, l->by->target, l->arena);
    cx.without = l->by->without;
    cx.packed = l->by->packed;
    cx.orders = l->by->orders;
    cx.stored = l->stored;
    return cx;
}

static et_step *first_product(const et_func *f) {
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_CONTRACT) return &f->steps[i];
    return NULL;
}

/* ---- plans that the text gives: obeyed, or refused ---- */

/* WHAT, a step of the context's function, cannot have the plan that the text gives. */
static bool refuse(const et_product_cx *cx, const char *what, const char *plan, const char *why) {
    et_diag(cx->p->g->diags, ET_ERROR, (et_loc){0},
            "%s: its %s cannot have the %s that is given, for %s: %s", cx->f->name, what, plan,
            cx->t->name, why);
    et_diag(cx->p->g->diags, ET_NOTE, (et_loc){0}, "without a plan in the text one is chosen");
    return false;
}

static bool may_be_early(const et_product_cx *cx, const et_grid *gr, const et_mainloop *c,
                         et_plan_of which) {
    const et_product_plan *w = &c->plan;
    int most;
    return w->early == ET_EARLY_NONE ||
           (which != ET_PLAN_PACKED && first_product(cx->f)->acc[0] == c->s->acc[0] &&
            et_early_may(cx, gr, c, &most) == w->early && w->early_chunks <= most);
}

static bool suits(const et_product_cx *cx, const et_reuse *u, et_box_maps *maps, const et_grid *gr,
                  const et_step *s) {
    const char *why;
    et_mainloop c;
    for (int i = 0; i < ET_PLANS; i++) {
        if (!s->plan[i].made) continue;
        if (!et_mainloop_of(cx, s, i, &c, &why)) {
        } else if (s->plan[i].boxes > et_boxes_may(cx, &c) ||
                   (s->plan[i].boxes && !et_boxes_add(cx, &c, maps))) {
            why = "its operands cannot come as TMA boxes, or there is no room for the barriers";
        } else if (s->plan[i].deferred && (s->wk == 1 || !et_sums_as_read(cx, s))) {
            why = "there is no step that could add up partial sums as it reads them";
        } else if (s->plan[i].reuse && !et_reuse_may_rows(u, &c)) {
            why = "another tile has other rows, or nothing keeps them";
        } else if (!may_be_early(cx, gr, &c, i)) {
            why = "so much cannot be asked for before a tile's waits";
        } else if (i == ET_PLAN_PACKED ? s->plan[i].prefetch || s->plan[i].prefetch_auxiliary
                                       : !et_prefetch_suits(cx, s, &s->plan[i])) {
            why = "so much cannot be prefetched";
        }
        if (why) return refuse(cx, "product", et_plan_word(ET_PLAN_WORD_PLAN, i), why);
    }
    return true;
}

/* ---- plans that are chosen ---- */

static void choose(const struct planning *l, const et_product_cx *cx, const et_reuse *u, et_step *s,
                   bool streamed, bool deep) {
    const char *why;
    et_mainloop c;
    et_product_choose(cx, s, streamed, deep, l->by->zeros, s->plan, &c);
    for (int i = 0; i < ET_PLANS; i++) {
        if (!s->plan[i].made || !et_mainloop_of(cx, s, i, &c, &why)) continue;
        et_product_finish(cx, u, &c, &s->plan[i]);
        c.plan.boxes = s->plan[i].boxes;
        if (c.plan.boxes && !et_boxes_add(cx, &c, l->maps)) s->plan[i].boxes = ET_BOXES_NONE;
    }
    for (int i = 0; i < ET_PLAN_PACKED; i++)
        if (s->plan[i].made) et_product_prefetch(cx, s, &s->plan[i]);
}

static bool attends(const et_product_cx *cx, et_step *s) {
    const char *why;
    et_attend_loop l;
    if (!s->attend.made) {
        et_attend_choose(cx, s, &s->attend);
        return true;
    }
    return et_attend_loop_of(cx, s, &l, &why) || refuse(cx, "attention", "plan", why);
}

static bool scans(const et_product_cx *cx, const et_step *s) {
    const char *why;
    return (!s->chunk && !s->window) || et_scan_suits(cx, s, &why) ||
           refuse(cx, "scan", s->window ? "window" : "chunk", why);
}

/* A map or reduction; STREAMED as for et_map_choose. */
static bool deals(const et_product_cx *cx, const et_reuse *u, et_step *s, const et_step *streamed) {
    const char *why = NULL;
    bool may = et_reuse_may_step(u, s);
    if (s->kind == ET_STEP_MAP && !s->map.made)
        et_map_choose(cx, s, streamed, may, &s->map);
    else if (s->kind == ET_STEP_MAP)
        why = et_map_problem(cx, s);
    else if (!s->reduce.made)
        et_reduce_choose(cx, s, may, &s->reduce);
    else
        why = et_reduce_problem(cx, s);
    if (!may && !why && (s->map.reuse || s->reduce.reuse))
        why = "another tile computes something else, or nothing keeps it";
    return !why || refuse(cx, s->kind == ET_STEP_MAP ? "map" : "reduction", "plan", why);
}

static bool plan_grid(const struct planning *l, int grid) {
    const et_grid *gr = &l->p->grids[grid];
    et_func *f = &l->p->funcs[gr->func];
    struct use use = use_of(l->p, gr, l->by->target->copies);
    et_product_cx cx = context(l, f);
    const et_reuse *u = et_reuse_of(&cx);
    bool ok = true;
    for (int i = 0; i < f->nsteps; i++) {
        et_step *s = &f->steps[i];
        if (s->kind == ET_STEP_ATTEND) ok &= attends(&cx, s);
        if (s->kind == ET_STEP_SCAN) ok &= scans(&cx, s);
        if (s->kind != ET_STEP_CONTRACT) continue;
        if (s->plan[ET_PLAN_MAIN].made)
            ok &= suits(&cx, u, l->maps, gr, s);
        else
            choose(l, &cx, u, s, i == use.step, use.deep);
    }
    const et_step *of = use.step < 0 ? NULL : &f->steps[use.step];
    if (of && of->plan[ET_PLAN_MAIN].weights != ET_WEIGHTS_STREAM) of = NULL;
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].kind == ET_STEP_MAP || f->steps[i].kind == ET_STEP_REDUCE)
            ok &= deals(&cx, u, &f->steps[i], of);
    return ok;
}

/* What comes before waits depends on the grid that has them. */
static void plan_early(const struct planning *l, int grid) {
    et_program *p = l->p;
    const et_grid *gr = &p->grids[grid];
    et_step *s = first_product(&p->funcs[gr->func]);
    et_product_cx cx = context(l, &p->funcs[gr->func]);
    et_product_plan of[ET_PLANS];
    const char *why;
    et_mainloop c;
    bool shared = false, differs = false;
    if (!s || l->given[grid]) return;
    memcpy(of, s->plan, sizeof of);
    for (int i = 0; i < ET_PLAN_PACKED; i++) {
        if (!of[i].made || !et_mainloop_of(&cx, s, i, &c, &why)) continue;
        et_product_early(&cx, gr, &c, &of[i]);
        differs |= of[i].early != s->plan[i].early;
    }
    for (int i = 0; i < grid; i++)
        shared |= p->grids[i].func == gr->func;
    if (shared && differs) own_func(p, grid);
    memcpy(first_product(&p->funcs[p->grids[grid].func])->plan, of, sizeof of);
}

static bool plan_program(et_program *p, const et_product_options *by, et_arena *arena,
                         et_box_maps *maps) {
    struct planning l = {p, by, arena, et_program_stored(p, arena), NULL, maps};
    bool ok = true;
    maps->first = maps->n;
    l.given = et_alloc(arena, (size_t)p->ngrids + 1);
    for (int i = 0; i < p->ngrids; i++) {
        const et_step *s = first_product(&p->funcs[p->grids[i].func]);
        l.given[i] = s && s->plan[ET_PLAN_MAIN].made;
    }
    for (int i = 0; i < p->ngrids; i++) {
        part_ways(p, i, by->target->copies);
        ok &= plan_grid(&l, i);
    }
    for (int i = 0; i < p->ngrids; i++)
        plan_early(&l, i);
    return ok;
}

bool et_product_plan_all(et_program *whole, const et_product_options *o) {
    et_arena *arena = et_arena_create();
    et_box_maps *maps = et_alloc(arena, sizeof *maps);
    et_program *p;
    bool ok = true;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        ok &= plan_program(p, o, arena, maps);
    et_arena_destroy(arena);
    return ok && et_producers_plan(whole, o);
}

/* Could the step have the plan that it has, or one that is chosen? */
static bool is_possible(const et_product_cx *cx, const et_step *s) {
    et_product_plan plans[ET_PLANS];
    et_attend_plan attend;
    et_attend_loop l;
    et_mainloop c;
    const char *why;
    if (s->kind == ET_STEP_ATTEND)
        return s->attend.made ? et_attend_loop_of(cx, s, &l, &why)
                              : et_attend_choose(cx, s, &attend);
    if (s->kind == ET_STEP_SCAN) return (!s->chunk && !s->window) || et_scan_suits(cx, s, &why);
    if (s->kind != ET_STEP_CONTRACT) return true;
    return s->plan[ET_PLAN_MAIN].made ? et_mainloop_of(cx, s, ET_PLAN_MAIN, &c, &why)
                                      : et_product_choose(cx, s, false, false, false, plans, &c);
}

bool et_product_possible(et_program *p, const et_product_options *o) {
    et_arena *arena = et_arena_create();
    const struct planning l = {p, o, arena, et_program_stored(p, arena), NULL, NULL};
    bool all = true;
    for (int i = 0; i < p->nfuncs; i++) {
        et_product_cx cx = context(&l, &p->funcs[i]);
        for (int k = 0; k < p->funcs[i].nsteps; k++)
            all = all && is_possible(&cx, &p->funcs[i].steps[k]);
    }
    et_arena_destroy(arena);
    return all;
}
