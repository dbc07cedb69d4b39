/* Scans, of groups and as steps. */
#include "ir/eti/parser.h"
#include "ir/program/step.h"
#include <string.h>

/* The variables of a scan. */
struct scanned {
    int i, nrows, j;
    const int *rows;
};

static void bind_scanned(eti_parser *p, const struct scanned *s, const char *over) {
    eti_bind_var(p, s->i);
    for (int r = 0; strchr(over, 'r') && r < s->nrows; r++)
        eti_bind_var(p, s->rows[r]);
    if (strchr(over, 'j')) eti_bind_var(p, s->j);
}

/* Does each of the variables that the state has elements for move an index by itself, as codegen
 * takes for granted? */
static void check_state(eti_parser *p, const struct scanned *s, const et_place *state, et_loc loc) {
    if (state->space != ET_LOAD_TENSOR || state->id < 0) return;
    const et_tensor *t = &p->p->tensors[state->id];
    if (t->kind != ET_TENSOR_STATE || t->shape.dtype != ET_F32)
        eti_error(p, loc, "%%%s is no state of type f32", t->name);
    int found = 0;
    for (int d = 0; d < state->rank; d++) {
        et_expr e = state->index[d];
        if (!e.id) return; /* reported */
        bool j = et_expr_has_var(p->x, e, s->j);
        found += j;
        if (j && !et_expr_eq(e, et_var(p->x, s->j)))
            eti_error(p, loc, "an index of the state is the element alone, or does not have it");
        if (et_expr_has_var(p->x, e, s->i) && et_expr_has_vars(p->x, e, s->nrows, s->rows))
            eti_error(p, loc, "no index of the state has the row and what is beside it");
    }
    int64_t n;
    if (found > 1 || (!found && !(et_is_int(p->x, et_var_extent(p->x, s->j), &n) && n == 1)))
        eti_error(p, loc, "one index of the state is the element");
}

/* The part may only have ARG where LETTER says so. */
static void check_arg(eti_parser *p, const et_scan_row *r, et_expr part, char letter, int arg,
                      et_loc loc) {
    if (part.id && et_expr_has(p->x, part, ET_X_ARG, arg) && !strchr(r->over, letter))
        eti_error(p, loc, "%s: there is no $%s here", r->name, et_own_arg_name(arg));
}

void eti_scan(eti_parser *p, int i, int nrows, const int *rows, int j, et_place *state,
              et_expr part[ET_SC_PARTS]) {
    const struct scanned s = {i, nrows, j, rows};
    int mark = p->nscope;
    eti_need_word(p, "state");
    et_loc loc = p->tok.loc;
    bind_scanned(p, &s, "irj");
    bool ok = eti_target(p, ETI_TENSORS | ETI_LOOPS, state);
    p->nscope = mark;
    if (ok && state->space != ET_LOAD_TENSOR) eti_error(p, loc, "the state is a tensor");
    if (ok && !p->broken) check_state(p, &s, state, loc);
    bool looks = false;
    for (int k = 0; k < ET_SC_PARTS && !p->broken; k++) {
        const et_scan_row *r = &et_scan_rows[k];
        if (!r->required && !eti_is_word(p, r->name)) continue;
        bind_scanned(p, &s, r->over);
        int may = ETI_TENSORS | ETI_LOOPS | (strpbrk(r->over, "st") ? ETI_CARRIED : 0);
        part[k] = eti_side(p, r->name, may, r->type);
        looks |= k == ET_SC_LOOK;
        bool sees = part[k].id && et_expr_has(p->x, part[k], ET_X_ARG, ET_ARG_SEEN);
        if (sees && (!looks || !strchr(r->over, 'n')))
            eti_error(p, loc, "%s: nothing is seen here", r->name);
        check_arg(p, r, part[k], 's', ET_ARG_STATE, loc);
        check_arg(p, r, part[k], 't', ET_ARG_SUM, loc);
        p->nscope = mark;
    }
}

/* chunk C scratch $s */
static void chunk(eti_parser *p, et_step *s) {
    s->chunk = (int)eti_need_int(p, 1, ET_SCAN_CHUNK, "rows of a chunk");
    eti_need_word(p, "scratch");
    et_loc at = p->tok.loc;
    const char *name = eti_need_name(p, ETI_LOCAL, "a local buffer");
    int l = name ? eti_local(p, name) : -1;
    const et_local *has = l >= 0 ? &p->f->locals[l] : NULL;
    if (has && (has->dtype != ET_F32 || has->rank != 1 || has->pitch != has->dim[0]))
        eti_error(p, at, "$%s is no buffer of one dimension, of f32", name);
    s->scratch = l;
}

/* scan [vars] [where mask] over i < N [extent X], j < J lanes L [ahead A] [window | chunk C scratch
 * $s] state %s[...]  [fresh = E] [keep = E] [look = E] next = E  out = E  into %y[...] */
void eti_step_scan(eti_parser *p, et_step *s) {
    int coords = p->nscope;
    eti_next(p);
    et_loc loc = p->tok.loc;
    int64_t size = 1;
    s->nvars = eti_vars(p, ET_MAX_VARS, s->vars, ETI_MAX_TILE);
    if (s->nvars > 0) eti_check_total(p, s, loc);
    if (eti_take_word(p, "where"))
        s->mask = eti_expr_of(p, ETI_TENSORS | ETI_LOOPS, ET_T_PRED, "what follows where");
    eti_need_word(p, "over");
    p->nscope = coords;
    s->rvar = p->broken ? -1 : eti_var_over(p, ETI_LOOPS);
    if (s->rvar >= 0) s->rextent = et_var_extent(p->x, s->rvar);
    p->nscope = coords;
    if (s->rvar >= 0 && eti_take_word(p, "extent"))
        s->rextent = eti_expr_of(p, ETI_LOOPS, ET_T_I32, "an extent");
    eti_need(p, ',');
    s->evar = p->broken ? -1 : eti_var(p, 1 << 16);
    eti_need_word(p, "lanes");
    s->lanes = (int)eti_need_int(p, 1, 64, "lanes that share a result");
    if (eti_take_word(p, "ahead"))
        s->ahead = (int)eti_need_int(p, 1, ET_SCAN_AHEAD, "rows whose loads are ahead");
    s->window = eti_take_word(p, "window");
    if (!s->window && eti_take_word(p, "chunk")) chunk(p, s);
    if (p->broken || s->nvars < 0 || s->rvar < 0 || s->evar < 0) {
        p->broken = true;
        return;
    }
    et_is_int(p->x, et_var_extent(p->x, s->evar), &size);
    if (s->lanes & (s->lanes - 1) || size % s->lanes || size / s->lanes > ET_SCAN_ELEMENTS)
        eti_error(p, loc,
                  "%d lanes: a power of two that divides the %d elements, of which a lane "
                  "has at most %d",
                  s->lanes, (int)size, ET_SCAN_ELEMENTS);
    if (s->rvar == s->evar) eti_error(p, loc, "row and element need names of their own");
    p->nscope = coords;
    eti_scan(p, s->rvar, s->nvars, s->vars, s->evar, &s->state, s->scan);
    eti_need_word(p, "into");
    bind_scanned(p, &(struct scanned){s->rvar, s->nvars, s->evar, s->vars}, "ir");
    et_loc to = p->tok.loc;
    if (eti_target(p, ETI_TENSORS | ETI_LOOPS, &s->to) && s->to.space != ET_LOAD_TENSOR)
        eti_error(p, to, "the results of a scan are stored to a tensor");
}
