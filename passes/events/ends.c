/* How boxes of tiles come out at the ends: of dims, coordinates and loops. The bounds of
 * expressions do not tell, since those of a box are clamped to the tiles there are. What is missed
 * here is refused by the verifier. */
#include "passes/events/int.h"

enum { MOST_SYMS = 8, MOST_VARS = 8 };

struct ends {
    const struct events *e;
    const et_grid *g;
    int var[MOST_VARS], n;
    et_expr extent[MOST_VARS];
    int64_t syms[ET_MAX_SYMS], *vars;
};

static void add_end(struct ends *s, int var, et_expr extent) {
    if (s->n == MOST_VARS) return;
    s->var[s->n] = var;
    s->extent[s->n++] = extent;
}

/* At the dims of now. */
static int64_t most_behind(struct ends *s, et_expr lo, et_expr hi) {
    const et_exprs *x = s->e->x;
    int64_t most = INT64_MIN;
    for (unsigned corner = 0; corner < 1u << s->n; corner++) {
        for (int i = 0; i < s->n; i++)
            s->vars[s->var[i]] =
                corner >> i & 1 ? et_eval(x, s->extent[i], s->syms, s->vars) - 1 : 0;
        int64_t behind = et_eval(x, lo, s->syms, s->vars) - et_eval(x, hi, s->syms, s->vars);
        most = behind > most ? behind : most;
    }
    return most;
}

static bool depends(const struct ends *s, et_expr lo, et_expr hi, int sym) {
    const et_exprs *x = s->e->x;
    bool found = et_expr_has(x, lo, ET_X_SYM, sym) || et_expr_has(x, hi, ET_X_SYM, sym);
    for (int i = 0; i < s->n && !found; i++)
        found = et_expr_has(x, s->extent[i], ET_X_SYM, sym);
    return found;
}

int64_t events_most_behind(const struct events *e, const et_grid *g, et_expr lo, et_expr hi) {
    struct ends s = {.e = e, .g = g};
    const et_func *f = &e->p->funcs[g->func];
    int64_t most = INT64_MIN;
    if (et_expr_loads(e->x, lo) || et_expr_loads(e->x, hi)) return -1;
    et_arena_mark mark = et_arena_set_mark(e->p->g->arena);
    s.vars = et_alloc(e->p->g->arena, (size_t)(et_var_count(e->x) + 1) * sizeof *s.vars);
    for (int c = 0; c < f->ncoords; c++)
        add_end(&s, f->coord[c], g->extent[c]);
    for (int l = g->loop; l >= 0; l = e->p->g->loops[l].parent)
        add_end(&s, e->p->g->loops[l].var, et_var_extent(e->x, e->p->g->loops[l].var));
    int end_of[ET_MAX_SYMS], nends = 0; /* the dims that decide, each at an end of its own */
    int n = et_sym_count(e->x) < ET_MAX_SYMS ? et_sym_count(e->x) : ET_MAX_SYMS;
    for (int i = 0; i < n; i++)
        end_of[i] = depends(&s, lo, hi, i) ? nends++ : 0;
    for (unsigned corner = 0; corner < 1u << (nends < MOST_SYMS ? nends : MOST_SYMS); corner++) {
        for (int i = 0; i < n; i++) {
            int64_t least, largest;
            et_sym_range(e->x, i, &least, &largest);
            s.syms[i] = corner >> (end_of[i] % MOST_SYMS) & 1 ? largest : least;
        }
        int64_t behind = most_behind(&s, lo, hi);
        most = behind > most ? behind : most;
    }
    et_arena_release(e->p->g->arena, mark);
    return most;
}
