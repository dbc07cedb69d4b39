/* The schedule: loops, and tasks. */
#include "ir/eti/parser.h"
#include "ir/program/step.h"
#include "ir/weights/stream.h"
#include <string.h>

/* ---- tasks ---- */

et_share eti_range(eti_parser *p) {
    et_loc loc = p->tok.loc;
    if (!eti_take_word(p, "range")) return (et_share){0};
    eti_need(p, '[');
    double from = p->broken ? 0 : eti_need_float(p);
    eti_need(p, ',');
    double to = p->broken ? 0 : eti_need_float(p);
    eti_need(p, ']');
    et_share s = et_share_of(from, to);
    if (!p->broken && !s.to)
        eti_error(p, loc, "a range is a part of the GPU: from 0 to 1, and not empty");
    return s;
}

et_slice eti_slice(eti_parser *p, int n, const int *vars) {
    et_slice none = {0};
    if (!eti_take_word(p, "slice")) return none;
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "what is sliced");
    eti_need_word(p, "of");
    int count = p->broken ? 0 : (int)eti_need_int(p, 1, ETI_MAX_SLICES, "the number of slices");
    if (p->broken || !name) return none;
    for (int i = 0; i < n; i++)
        if (strcmp(et_var_name(p->x, vars[i]), name) == 0) return (et_slice){i, count};
    eti_error(p, loc, "there is no %s here to slice", name);
    return none;
}

et_hint eti_hint(eti_parser *p) {
    for (int h = ET_HINT_STATIC; h <= ET_HINT_DYNAMIC; h++)
        if (eti_take_word(p, et_hint_name((et_hint)h))) return (et_hint)h;
    return ET_HINT_NONE;
}

/* [i0 < E, ...]: fewer tiles than the function allows for; nothing: as many. */
static void extents(eti_parser *p, const et_func *f, et_grid *g) {
    for (int i = 0; f && i < f->ncoords; i++)
        g->extent[i] = et_var_extent(p->x, f->coord[i]);
    if (!eti_is(p, '[')) return;
    et_loc open = p->tok.loc;
    int n = 0;
    eti_next(p);
    while (!p->broken && !eti_is(p, ']')) {
        et_loc loc = p->tok.loc;
        const char *name = eti_need_name(p, ETI_NAME, "a coordinate");
        eti_need(p, '<');
        et_loc at = p->tok.loc;
        et_expr e = p->broken ? ET_NO_EXPR : eti_expr_of(p, 0, ET_T_I32, "an extent");
        bool known = f && n < f->ncoords;
        if (known && name && strcmp(name, et_var_name(p->x, f->coord[n])) != 0)
            eti_error(p, loc, "coordinate %d of @%s is called %s", n, f->name,
                      et_var_name(p->x, f->coord[n]));
        if (known && e.id && eti_symbols_only(p, e, at, "an extent")) {
            if (!et_expr_eq(e, g->extent[n]) && !et_prove_le(p->x, e, g->extent[n]))
                eti_error(p, at, "@%s allows for fewer tiles along %s", f->name, name);
            eti_positive(p, e, at, INT32_MAX, "an extent");
            g->extent[n] = e;
        }
        n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (f && !p->broken && n != f->ncoords)
        eti_error(p, open, "@%s has %d coordinate%s, here are %d", f->name, f->ncoords,
                  f->ncoords == 1 ? "" : "s", n);
}

#define MAX_TILES ((int64_t)1 << 40)

static void check_tiles(eti_parser *p, const et_func *f, const et_grid *g, et_loc loc) {
    int64_t n = 1, lo, hi;
    for (int i = 0; i < f->ncoords; i++)
        if (et_bounds(p->x, g->extent[i], &lo, &hi) && hi > 0 && __builtin_mul_overflow(n, hi, &n))
            n = INT64_MAX;
    if (n > MAX_TILES) eti_error(p, loc, "more than %lld tiles", (long long)MAX_TILES);
}

/* ---- are the loops around a task those its function uses? ---- */

struct uses {
    eti_parser *p;
    int loop; /* of the task */
    et_loc loc;
    const char *name;
};

static void check_loop_var(void *ctx, et_expr e) {
    struct uses *u = ctx;
    const et_node_x *x = et_x(u->p->x, e);
    const et_graph *g = u->p->g;
    if (x->op != ET_X_VAR) return;
    for (int l = 0; l < g->nloops; l++) {
        if (g->loops[l].var != x->i) continue;
        int up = u->loop;
        while (up >= 0 && up != l)
            up = g->loops[up].parent;
        if (up < 0)
            eti_error(u->p, u->loc, "@%s uses the variable of loop %s, which is not around it",
                      u->name, et_var_name(u->p->x, x->i));
        return;
    }
}

static void check_func_loops(struct uses *u, const et_func *f) {
    et_step_expr e[ET_STEP_EXPRS];
    for (int i = 0; i < f->nsteps; i++)
        for (int k = 0, n = et_step_exprs(&f->steps[i], e); k < n; k++)
            et_walk(u->p->x, e[k].e, check_loop_var, u);
}

static void check_group_loops(struct uses *u, et_group *gr) {
    et_expr *e[ET_GROUP_EXPRS];
    for (int i = 0, n = et_group_exprs(gr, e); i < n; i++)
        et_walk(u->p->x, *e[i], check_loop_var, u);
}

/* ---- the tree ---- */

struct list {
    et_item *v;
    int n, cap;
};

static void push(eti_parser *p, struct list *to, et_item it) {
    ET_GROW(p->arena, to->v, to->n, to->cap);
    to->v[to->n++] = it;
}

/* NAME: a tile coordinate of F; -1: none. */
static int coordinate(eti_parser *p, const et_func *f) {
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "a tile coordinate");
    for (int i = 0; name && i < f->ncoords; i++)
        if (strcmp(et_var_name(p->x, f->coord[i]), name) == 0) return i;
    if (name) eti_error(p, loc, "there is no %s here to deal along", name);
    return -1;
}

/* [dealt ROWS [along NAME]] */
static et_grid_deal deal(eti_parser *p, const et_func *f) {
    et_grid_deal d = {.coord = -1};
    if (!eti_take_word(p, "dealt")) return (et_grid_deal){0};
    d.rows = (int)eti_need_int(p, 1, 4096, "the rows of a tile");
    if (eti_take_word(p, "along")) d.coord = coordinate(p, f);
    return d;
}

/* [range [from, to] | slice NAME of K] [dealt ROWS [along NAME]] [static | dynamic [early] |
 * streamed [deep] [calm]] [order HOW [behind N | along NAME]] [apart]: how its tiles are given to
 * workgroups; a hint before that is settled. */
static void disposition(eti_parser *p, const et_func *f, et_grid *g) {
    et_loc loc = p->tok.loc;
    g->range = eti_range(p);
    g->slice = eti_slice(p, f->ncoords, f->coord);
    g->deal = deal(p, f);
    g->hint = eti_hint(p);
    if (g->slice.count && (g->range.to || g->hint == ET_HINT_DYNAMIC))
        eti_error(p, loc, "a task that is sliced has no range and is not dynamic");
    if (p->stage >= ET_STAGE_PLACED) g->streamed = eti_take_word(p, "streamed");
    g->deep = g->streamed && eti_take_word(p, "deep");
    g->calm = g->streamed && eti_take_word(p, "calm");
    bool dynamic = p->stage >= ET_STAGE_SCHEDULED && g->hint == ET_HINT_DYNAMIC;
    g->early = dynamic && eti_take_word(p, "early");
    if (eti_is_word(p, "order"))
        g->order = (et_tile_order)eti_plan_word(p, "order", ET_PLAN_WORD_TILES);
    if (g->order == ET_TILES_CLAIMED && eti_take_word(p, "behind"))
        g->behind = (int)eti_need_int(p, 1, ET_MOST_BEHIND, "how many blocks");
    if (et_order_is_own(g->order) && eti_take_word(p, "along")) {
        int at = coordinate(p, f);
        g->along = at < 0 ? 0 : at;
    } else if (et_order_is_own(g->order)) {
        eti_error(p, loc, "'along' says by which coordinate a device's tiles come first");
    }
    g->apart = p->stage >= ET_STAGE_SCHEDULED && eti_take_word(p, "apart");
    if (g->order && (dynamic || g->slice.count))
        eti_error(p, loc, "only tiles of a static task that is in no slices have an order");
    if (g->order == ET_TILES_CLAIMED && (g->range.to || g->streamed))
        eti_error(p, loc, "a task whose tiles are claimed has no range and does not stream");
    if (p->stage < ET_STAGE_SCHEDULED) return;
    g->dynamic = dynamic;
    g->hint = ET_HINT_NONE;
}

/* To what follows the task, without a word. */
static void skip_task(eti_parser *p) {
    p->broken = true;
    while (p->tok.kind != ETI_EOF && !eti_is(p, '}') && !eti_is_word(p, "task") &&
           !eti_is_word(p, "loop"))
        eti_next(p);
    p->broken = false;
}

/* task @name [= @func] [coords] [disposition], then its waits and notifies */
static void task(eti_parser *p, struct list *to, int loop) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors, mark = p->nscope;
    const char *name = eti_need_name(p, ETI_FUNC, "a name such as @x"), *func = name;
    et_loc at = loc;
    if (eti_take(p, '=')) {
        at = p->tok.loc;
        func = eti_need_name(p, ETI_FUNC, "a function such as @f");
    }
    if (!name || !func) return;
    et_grid g = {.name = name,
                 .model = p->g->building,
                 .loop = loop,
                 .func = eti_find(p, '@', func, at, "function")};
    const et_func *f = g.func >= 0 ? &p->p->funcs[g.func] : NULL;
    if (!f) { /* its coordinates are not known either */
        eti_poison(p, 't', name, loc);
        skip_task(p);
        return;
    }
    extents(p, f, &g);
    disposition(p, f, &g);
    for (int i = 0; f && i < f->ncoords; i++)
        eti_bind_var(p, f->coord[i]);
    while (!p->broken &&
           (eti_is_word(p, "wait") || eti_is_word(p, "notify") || eti_is_word(p, "await"))) {
        if (p->stage < ET_STAGE_EVENTED) {
            eti_error(p, p->tok.loc, "no '%s' at stage %s", p->tok.text, et_stage_name(p->stage));
            p->broken = true;
        } else if (eti_is_word(p, "wait")) {
            eti_wait(p, &g);
        } else if (eti_is_word(p, "await")) {
            eti_await(p, &g);
        } else {
            eti_notify(p, &g);
        }
    }
    p->nscope = mark;
    if (!eti_declare_made(p, 't', name, loc, p->p->ngrids) || p->broken || !f || p->errors > before)
        return;
    const char *problem = g.streamed ? et_stream_problem(p->p, &g) : NULL;
    if (problem) eti_error(p, loc, "@%s cannot be streamed: %s", name, problem);
    check_tiles(p, f, &g, loc);
    check_func_loops(&(struct uses){p, loop, loc, func}, f);
    push(p, to, (et_item){.kind = ET_P_GRID, .index = p->p->ngrids});
    ET_GROW(p->arena, p->p->grids, p->p->ngrids, p->p->cgrids);
    p->p->grids[p->p->ngrids++] = g;
}

static void group(eti_parser *p, struct list *to, int loop) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_FUNC, "a group such as @x");
    int gr = name ? eti_find(p, '@', name, loc, "group") : -1;
    if (gr < 0) return;
    if (!eti_declare_made(p, 't', name, loc, gr)) return;
    p->p->groups[gr].loop = loop;
    check_group_loops(&(struct uses){p, loop, loc, name}, &p->p->groups[gr]);
    push(p, to, (et_item){.kind = ET_P_GRID, .index = gr});
}

static void items(eti_parser *p, struct list *to, int loop, int depth);

static void loop(eti_parser *p, struct list *to, int around, int depth) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int l = eti_loop_named(p), mark = p->nscope;
    if (l >= 0 && p->g->loops[l].parent != around)
        eti_error(p, loc, "this loop is declared %s%s",
                  p->g->loops[l].parent < 0 ? "outermost" : "within ",
                  p->g->loops[l].parent < 0
                      ? ""
                      : et_var_name(p->x, p->g->loops[p->g->loops[l].parent].var));
    else if (l >= 0)
        eti_declare(p, 'l', et_var_name(p->x, p->g->loops[l].var), loc, l);
    eti_need(p, '{');
    if (p->broken) return;
    if (l >= 0) eti_bind_var(p, p->g->loops[l].var);
    struct list inner = {0};
    items(p, &inner, l, depth + 1);
    p->nscope = mark;
    et_item it = {.kind = ET_P_LOOP, .index = l, .first = p->p->nitems, .count = inner.n};
    for (int i = 0; i < inner.n; i++) {
        ET_GROW(p->arena, p->p->items, p->p->nitems, p->p->citems);
        p->p->items[p->p->nitems++] = inner.v[i];
    }
    if (!p->broken && !inner.n) eti_error(p, loc, "an empty loop");
    eti_need(p, '}');
    if (l >= 0) push(p, to, it);
}

static void items(eti_parser *p, struct list *to, int loop_index, int depth) {
    static const char *const words[] = {"task", "group", "loop", NULL};
    while (p->tok.kind != ETI_EOF && !eti_is(p, '}')) {
        if (depth > 2 * ET_MAX_LOOPS) {
            eti_error(p, p->tok.loc, "loops nest at most %d deep", ET_MAX_LOOPS);
            p->broken = true;
            return;
        }
        int mark = p->nscope;
        if (!depth) eti_any_model(p);
        if (eti_is_word(p, "task") && p->stage >= ET_STAGE_TILED)
            task(p, to, loop_index);
        else if (eti_is_word(p, "group") && p->stage == ET_STAGE_FUSED)
            group(p, to, loop_index);
        else if (eti_is_word(p, "loop"))
            loop(p, to, loop_index, depth);
        else
            eti_expected(p, p->stage == ET_STAGE_FUSED ? "a group or a loop" : "a task or a loop");
        p->nscope = mark;
        if (p->broken) eti_recover(p, words, "");
    }
}

/* The word must say what the tasks do. */
static void check_schedule(eti_parser *p, et_loc loc, bool said) {
    et_schedule_kind is = et_program_schedule(p->p);
    if (et_schedule_of(p->p->schedule)->kernels && is == ET_SCHEDULE_STATIC) is = p->p->schedule;
    if (said && is != p->p->schedule)
        eti_error(p, loc, "the schedule is %s: look which tasks are dynamic%s",
                  et_schedule_name(is), is == ET_SCHEDULE_CLAIMED ? " or claimed" : "");
    p->p->schedule = is;
}

/* schedule [static | dynamic | hybrid | kernels | claimed] { ... } */
void eti_schedule(eti_parser *p) {
    et_loc loc = p->tok.loc;
    bool said = false;
    eti_next(p);
    for (int i = ET_SCHEDULE_STATIC; et_schedule_name(i) && !said; i++)
        if ((said = eti_take_word(p, et_schedule_name(i)))) p->p->schedule = (et_schedule_kind)i;
    eti_need(p, '{');
    if (p->broken) return;
    if (!eti_declare(p, 's', "schedule", loc, 0)) {
        p->broken = true;
        return;
    }
    p->nscope = p->nmade = 0;
    struct list top = {0};
    items(p, &top, -1, 0);
    eti_need(p, '}');
    p->p->first = p->p->nitems;
    p->p->count = top.n;
    for (int i = 0; i < top.n; i++) {
        ET_GROW(p->arena, p->p->items, p->p->nitems, p->p->citems);
        p->p->items[p->p->nitems++] = top.v[i];
    }
    if (!p->broken && !p->errors) check_schedule(p, loc, said);
}
