/* What variables stand for in the task that is looked at, and what is said when it is wrong. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"
#include <inttypes.h>
#include <stdarg.h>

/* The variables of a step in FRAME, which need not be the one a problem was begun with. */
static void enter_step(struct steps *s, sv_frame *frame, const et_step *st) {
    et_step_var var[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(s->x, st, var); i < n; i++)
        sv_frame_extent(frame, var[i].var, var[i].extent);
}

sv_frame *sv_inside(struct steps *s, sv_frame *outer) {
    if (s->used == s->nspare) {
        ET_GROW(s->arena, s->spare, s->nspare, s->cspare);
        s->spare[s->nspare++] = sv_frame_create(s->arena, s->x, s->problem, NULL);
    }
    sv_frame *f = s->spare[s->used++];
    sv_frame_clear(f, outer);
    return f;
}

void sv_begin(struct steps *s, int step) {
    s->at = step;
    s->used = 0;
    sv_clear(s->problem);
    sv_frame_clear(s->one, NULL);
    sv_frame_clear(s->other, s->one);
    for (int c = 0; c < s->f->ncoords; c++)
        sv_frame_extent(s->one, s->f->coord[c], s->grid->extent[c]);
    if (step < 0) return;
    const et_step *st = &s->f->steps[step];
    enter_step(s, s->one, st);
    if (st->kind != ET_STEP_ATTEND) return;
    sv_linear p = sv_frame_own(s->one, st->pvar), first = sv_form(s->one, st->part[ET_AT_FIRST]);
    sv_assert(s->problem, sv_le(s->problem, &first, &p));
}

et_expr sv_extent(struct steps *s, int space, int id, int d) {
    return space == ET_LOAD_LOCAL ? et_int(s->x, s->f->locals[id].dim[d])
                                  : s->p->tensors[id].shape.dim[d];
}

/* ---- text ---- */

static const char *name_of(void *ctx, int space, int id) {
    const struct steps *s = ctx;
    return space == ET_LOAD_LOCAL ? et_printf(s->arena, "$%s", s->f->locals[id].name)
                                  : et_printf(s->arena, "%%%s", s->p->tensors[id].name);
}

const char *sv_text(struct steps *s, et_expr e) {
    const char *text = et_expr_text(s->x, e, name_of, s);
    size_t n = 0;
    while (text[n] && n < 120)
        n++;
    return et_printf(s->arena, "%.*s%s", (int)n, text, text[n] ? "..." : "");
}

const char *sv_element(struct steps *s, int space, int id, const et_expr *index) {
    int rank = space == ET_LOAD_LOCAL ? s->f->locals[id].rank : s->p->tensors[id].shape.rank;
    const char *text = et_printf(s->arena, "%s[", name_of(s, space, id));
    for (int d = 0; d < rank; d++)
        text = et_printf(s->arena, "%s%s%s", text, d ? ", " : "", sv_text(s, index[d]));
    return et_printf(s->arena, "%s]", text);
}

/* A variable as far as the frame has it. */
static const char *add_value(struct steps *s, const char *text, sv_frame *frame, const char *name,
                             int var, const char *prime) {
    int64_t v;
    if (!sv_frame_value(frame, var, &v)) return text;
    return et_printf(s->arena, "%s%s%s%s = %" PRId64, text, *text ? ", " : "", name, prime, v);
}

const char *sv_where(struct steps *s) {
    const char *text = "";
    et_step_var var[ET_STEP_VARS];
    int n = s->at < 0 ? 0 : et_step_vars(s->x, &s->f->steps[s->at], var);
    for (int i = 0; i < et_sym_count(s->x); i++) {
        int64_t v;
        if (sv_frame_symbol(s->one, i, &v))
            text = et_printf(s->arena, "%s%s%s = %" PRId64, text, *text ? ", " : "",
                             et_sym_name(s->x, i), v);
    }
    for (int l = s->grid->loop; l >= 0; l = s->p->g->loops[l].parent)
        text = add_value(s, text, s->one, s->p->g->loops[l].name, s->p->g->loops[l].var, "");
    for (int c = 0; c < s->f->ncoords; c++)
        text = add_value(s, text, s->one, et_var_name(s->x, s->f->coord[c]), s->f->coord[c], "");
    for (int i = 0; i < n; i++)
        text = add_value(s, text, s->one, et_var_name(s->x, var[i].var), var[i].var, "");
    for (int i = 0; i < n; i++)
        text = add_value(s, text, s->other, et_var_name(s->x, var[i].var), var[i].var, "'");
    return *text ? et_printf(s->arena, " (with %s)", text) : "";
}

bool sv_is_made(const et_program *p) {
    return p->ngroups && p->ngroups == p->ngrids;
}

const char *sv_lead(const et_program *p) {
    return sv_is_made(p)
               ? "etcc cannot show that what it makes of this is right, nor make it otherwise "
                 "(--unverified compiles it as it is)"
               : "the schedule is wrong";
}

void sv_error(struct steps *s, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *text = et_vprintf(s->arena, fmt, ap), *at = "";
    va_end(ap);
    if (s->at >= 0)
        at =
            et_printf(s->arena, ", step %d (%s)", s->at + 1, et_step_name(s->f->steps[s->at].kind));
    et_loc loc = {0};
    int grid = (int)(s->grid - s->p->grids);
    if (s->p->ngroups == s->p->ngrids) loc = s->p->groups[grid].loc;
    et_diag(s->d, ET_ERROR, loc, "%s: task %s%s %s", sv_lead(s->p), s->grid->name, at, text);
    s->errors++;
}
