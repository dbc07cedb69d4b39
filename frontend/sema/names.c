/* Names and what they mean. */
#include "frontend/sema/sema.h"
#include "runtime/cli/guess.h"
#include <string.h>

const char *et_name_kind_text(et_name_kind k) {
    static const char *const text[] = {"a dim",   "a const", "an input",  "a weight",
                                       "a state", "a value", "an output", "a loop variable"};
    return text[k];
}

et_binding *et_name_find(et_sema *s, const char *name) {
    et_binding *b = et_table_find(&s->names, name);
    return b && b->live ? b : NULL;
}

/* A binding of NAME in the body of LOOP. */
static et_binding *bind(et_sema *s, const et_ident *id, et_name_kind kind, int loop) {
    et_binding *b = et_table_find(&s->names, id->text);
    if (!b) {
        b = et_alloc(s->arena, sizeof *b);
        b->name = id->text;
        et_table_add(s->arena, &s->names, b);
    }
    et_binding *below = b->live ? b->below : NULL;
    bool listed = b->live && b->loop >= 0;
    *b = (et_binding){.name = b->name, .kind = kind, .loc = id->loc, .loop = loop, .live = true};
    if (listed) {
        b->below = below;
    } else if (loop >= 0) {
        b->below = s->locals;
        s->locals = b;
    }
    return b;
}

et_binding *et_name_add(et_sema *s, const et_ident *id, et_name_kind kind) {
    et_binding *b = et_name_find(s, id->text);
    if (b && !b->poison) {
        et_sema_error(s, id->loc, "'%s' is already %s", id->text, et_name_kind_text(b->kind));
        et_sema_note(s, b->loc, "it is defined here");
        return NULL;
    }
    return bind(s, id, kind, b ? b->loop : s->loop);
}

static const char *guess(et_sema *s, const char *name) {
    et_guess g = {.name = name};
    for (const et_frame *f = s->frame; f; f = f->inner ? f->up : NULL)
        for (int i = 0; i < f->def->nparams; i++)
            et_guess_try(&g, f->def->params[i].text);
    for (int i = 0; i < s->names.cap; i++) {
        const et_binding *b = s->names.slot[i];
        if (b && b->live && !b->unknown) et_guess_try(&g, b->name);
    }
    return g.best;
}

void et_name_unknown(et_sema *s, const char *name, et_loc loc) {
    if (strcmp(name, "None") == 0) {
        et_sema_error(s, loc, "there is no None");
        et_sema_note(s, loc, "reshape(x, [N, 1]) adds a dimension of one, which broadcasts");
        return;
    }
    const et_binding *b = et_table_find(&s->names, name);
    if (b) {
        et_sema_error(s, loc, "'%s' is defined only inside a loop that has ended", name);
        et_sema_note(s, b->loc, "give it a value before the loop to carry it out of the loop");
        return;
    }
    if (et_table_find(&s->defs, name) || et_builtin_find(name)) {
        et_sema_error(s, loc, "'%s' is a function: it needs its arguments in parentheses", name);
        return;
    }
    et_sema_error(s, loc, "unknown name '%s'", name);
    const char *best = guess(s, name);
    if (best) et_sema_note(s, loc, "did you mean '%s'?", best);
    /* Say it once: from here on the name is known to be an error. */
    et_binding *unknown = bind(s, &(et_ident){et_strdup(s->arena, name), loc}, ET_N_VALUE, -1);
    unknown->poison = unknown->unknown = true;
}

void et_names_leave_loop(et_sema *s, int loop) {
    for (; s->locals && s->locals->loop == loop; s->locals = s->locals->below)
        s->locals->live = false;
}
