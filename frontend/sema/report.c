/* Errors of sema, told where the user can act on them. */
#include "frontend/sema/sema.h"
#include <stdarg.h>
#include <string.h>

et_loc et_sema_loc(const et_sema *s, et_loc loc) {
    for (const et_frame *f = s->frame; f; f = f->up)
        if (f->def->is_prelude) loc = f->call;
    return loc;
}

enum { MAX_CALLS = 4 };

void et_sema_note_calls(et_sema *s) {
    int n = 0;
    for (const et_frame *f = s->frame; f; f = f->up) {
        if (f->def->is_prelude || f->inner) continue;
        if (n++ < MAX_CALLS || !f->up)
            et_diag(s->diags, ET_NOTE, f->call, "in this call of %s", f->def->name);
    }
}

bool et_sema_error(et_sema *s, et_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(s->diags, ET_ERROR, et_sema_loc(s, loc), "%s", et_vprintf(s->arena, fmt, ap));
    va_end(ap);
    et_sema_note_calls(s);
    return false;
}

void et_sema_note(et_sema *s, et_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(s->diags, ET_NOTE, et_sema_loc(s, loc), "%s", et_vprintf(s->arena, fmt, ap));
    va_end(ap);
}

/* TEXT with NAME in place of LABEL, which is told from longer labels by what follows. */
static const char *renamed(et_sema *s, const char *text, const char *label, const char *name) {
    size_t n = strlen(label);
    const char *out = "", *at;
    if (strcmp(label, name) == 0) return text;
    for (; (at = strstr(text, label)); text = at + n) {
        bool whole = !strchr("0123456789", at[n]) || !at[n];
        out = et_printf(s->arena, "%s%.*s%s", out, (int)(at - text), text, whole ? name : label);
    }
    return et_printf(s->arena, "%s%s", out, text);
}

const char *et_sema_text(et_sema *s, et_expr e) {
    const char *text = et_expr_text(s->x, e, NULL, NULL);
    for (int l = s->loop; l >= 0; l = s->graph->loops[l].parent)
        text = renamed(s, text, et_var_name(s->x, s->graph->loops[l].var), s->graph->loops[l].name);
    return text;
}

const char *et_sema_shape_text(et_sema *s, const et_elem *e) {
    if (e->nargs == 0 && e->type != ET_T_PRED)
        return et_printf(s->arena, "a number of type %s", et_dtype_name(e->shape.dtype));
    if (e->type == ET_T_PRED)
        return et_printf(s->arena, "a comparison of shape %s",
                         et_dims_text(s->x, e->shape.rank, e->shape.dim));
    return et_shape_text(s->x, &e->shape);
}
