/* Calls: of built-in functions by their rows, of defs by expansion. */
#include "frontend/sema/sema.h"
#include "runtime/cli/guess.h"
#include <math.h>
#include <string.h>

/* ---- defs ---- */

static void unknown_function(et_sema *s, const et_ast *e) {
    const et_binding *b = et_name_find(s, e->text);
    if (b) {
        if (!b->poison)
            et_sema_error(s, e->loc, "'%s' is %s, not a function", e->text,
                          et_name_kind_text(b->kind));
        return;
    }
    et_guess g = {.name = e->text};
    const et_builtin *fn;
    for (int i = 0; (fn = et_builtin_at(i)); i++)
        et_guess_try(&g, fn->name);
    for (int i = 0; i < s->defs.cap; i++)
        if (s->defs.slot[i]) et_guess_try(&g, ((const et_def *)s->defs.slot[i])->name);
    et_sema_error(s, e->loc, "unknown function '%s'", e->text);
    if (g.best) et_sema_note(s, e->loc, "did you mean '%s'?", g.best);
}

/* The calls around an expression, innermost first. */
struct form {
    const et_ast *call;
    const struct form *up;
};

/* A variable of a call around, such as i in attend(i in 0..N, ...), or what attend and scan give a
 * name to.
 */
static bool is_range(const struct form *f, const char *name) {
    for (; f; f = f->up)
        for (int i = 0; i < f->call->n; i++)
            if (f->call->kid[i]->kind == ET_E_RANGE &&
                (strcmp(f->call->kid[i]->text, name) == 0 || strcmp(name, "qk") == 0 ||
                 strcmp(name, "s") == 0 || strcmp(name, "seen") == 0))
                return true;
    return false;
}

/* Names in a def's body are its parameters, consts and dims. */
static bool check_body(et_sema *s, const et_def *d, const et_ast *e, const struct form *up) {
    bool ok = true;
    struct form own = {e, up};
    const struct form *forms = e && e->kind == ET_E_CALL ? &own : up;
    if (!e) return true;
    if (e->kind == ET_E_NAME) {
        for (int i = 0; i < d->nparams; i++)
            if (strcmp(d->params[i].text, e->text) == 0) return true;
        if (is_range(forms, e->text)) return true;
        const et_binding *b = et_name_find(s, e->text);
        if (!b) {
            et_name_unknown(s, e->text, e->loc);
            return false;
        }
        if (b->kind == ET_N_DIM || b->kind == ET_N_CONST || b->poison) return !b->poison;
        et_sema_error(s, e->loc, "'%s' is %s: a def sees its parameters, consts and dims only",
                      e->text, et_name_kind_text(b->kind));
        et_sema_note(s, e->loc, "pass it as one more parameter");
        return false;
    }
    if (e->kind == ET_E_CALL && strcmp(e->text, d->name) == 0)
        return et_sema_error(s, e->loc, "'%s' calls itself", d->name);
    if (e->kind == ET_E_CALL && !et_builtin_find(e->text) && !et_table_find(&s->defs, e->text)) {
        unknown_function(s, e);
        ok = false;
    }
    for (int i = 0; i < e->n; i++)
        ok &= check_body(s, d, e->kid[i], forms);
    for (int i = 0; i < e->nkw; i++)
        ok &= check_body(s, d, e->kw[i].value, forms);
    return ok;
}

static bool check_params(et_sema *s, const et_def *d) {
    for (int i = 0; i < d->nparams; i++)
        for (int j = 0; j < i; j++)
            if (strcmp(d->params[i].text, d->params[j].text) == 0)
                return et_sema_error(s, d->params[i].loc, "parameter '%s' is already there",
                                     d->params[i].text);
    if (d->nparams > ET_MAX_ARGS)
        return et_sema_error(s, d->params[ET_MAX_ARGS].loc, "more than %d parameters", ET_MAX_ARGS);
    return true;
}

bool et_sema_def(et_sema *s, const et_stm *stm, bool is_prelude) {
    if (stm->nnames == 0) return false;
    const et_ident *id = &stm->names[0];
    const et_def *old = et_table_find(&s->defs, id->text);
    const et_binding *b = et_name_find(s, id->text);
    if (et_builtin_find(id->text) || (old && old->is_prelude))
        return et_sema_error(s, id->loc, "'%s' is a built-in function", id->text);
    if (old || (b && !b->poison)) {
        et_sema_error(s, id->loc, "'%s' is already %s", id->text,
                      old ? "a function" : et_name_kind_text(b->kind));
        et_sema_note(s, old ? old->loc : b->loc, "it is defined here");
        return false;
    }
    et_def *d = et_alloc(s->arena, sizeof *d);
    *d = (et_def){.name = id->text,
                  .loc = id->loc,
                  .params = stm->params,
                  .nparams = stm->nparams,
                  .is_prelude = is_prelude};
    bool ok = !stm->bad && check_params(s, d) && check_body(s, d, stm->expr, NULL);
    d->body = ok ? stm->expr : NULL;
    et_table_add(s->arena, &s->defs, d);
    return ok;
}

static bool expand(et_sema *s, const et_def *d, const et_ast *e, et_mode mode, et_elem *out) {
    et_elem args[ET_MAX_ARGS];
    bool poison[ET_MAX_ARGS] = {false};
    if (!d->body) return false;
    if (e->nkw)
        return et_sema_error(s, e->kw[0].name.loc, "%s takes no keyword arguments", d->name);
    if (e->n != d->nparams) {
        et_sema_error(s, e->loc, "%s takes %d argument%s, not %d", d->name, d->nparams,
                      d->nparams == 1 ? "" : "s", e->n);
        if (!d->is_prelude) et_sema_note(s, d->loc, "it is defined here");
        return false;
    }
    bool ok = true;
    for (int i = 0; i < e->n; i++) {
        poison[i] = !et_sema_eval(s, e->kid[i], mode, &args[i]);
        ok &= !poison[i];
    }
    if (!ok) return false;
    et_frame frame = {.def = d, .args = args, .poison = poison, .call = e->loc, .up = s->frame};
    s->frame = &frame;
    ok = et_sema_eval(s, d->body, mode, out);
    s->frame = frame.up;
    return ok;
}

/* ---- built-in functions ---- */

static const char *ordinal(et_sema *s, int i) {
    return et_printf(s->arena, "argument %d", i + 1);
}

static bool place_tensor(et_sema *s, et_call *c, int i, char letter, et_loc loc) {
    et_elem *v = &c->arg[i];
    if (v->nargs == 0)
        return et_sema_error(s, loc, "%s of %s must be a tensor, this is a number", ordinal(s, i),
                             c->fn->name);
    if (v->type == ET_T_PRED || (letter == 'f' && v->type != ET_T_F32) ||
        (letter == 'i' && v->type != ET_T_I32)) {
        et_sema_error(s, loc, "%s of %s must be %s, this is %s", ordinal(s, i), c->fn->name,
                      letter == 'f'   ? "floating-point"
                      : letter == 'i' ? "i32"
                                      : "a tensor of numbers",
                      et_sema_shape_text(s, v));
        if (v->type != ET_T_PRED)
            et_sema_note(s, loc, "write %s(...) to convert", letter == 'f' ? "f32" : "i32");
        return false;
    }
    return et_elem_place(s, loc, v, &c->value[i]);
}

static bool bind_argument(et_sema *s, et_call *c, int i, char letter, const et_ast *e,
                          et_mode mode) {
    if (letter == 'l') {
        if (e->kind != ET_E_LIST)
            return et_sema_error(s, e->loc, "%s of %s is a list such as [N, 8]", ordinal(s, i),
                                 c->fn->name);
        c->list = e;
        return true;
    }
    if (letter == 's') return et_sema_size(s, e, &c->size);
    if (!et_sema_eval(s, e, letter == 'e' || letter == 'c' ? mode : ET_IN_VALUE, &c->arg[i]))
        return false;
    if (letter == 'f' || letter == 'i' || letter == 't')
        return place_tensor(s, c, i, letter, e->loc);
    return true;
}

static int results_of(const et_builtin *fn) {
    return *fn->args >= '2' && *fn->args <= '9' ? *fn->args - '0' : 1;
}

static bool bind_arguments(et_sema *s, et_call *c, const et_ast *e, et_mode mode) {
    const char *letters = c->fn->args + (results_of(c->fn) > 1);
    int least = (int)strcspn(letters, "+");
    bool more = letters[least] == '+';
    if (e->n < least || (e->n > least && !more) || e->n > ET_MAX_ARGS) {
        et_sema_error(s, e->loc, "%s takes %s%d argument%s, not %d", c->fn->name,
                      !more          ? ""
                      : e->n < least ? "at least "
                                     : "at most ",
                      e->n > ET_MAX_ARGS && more ? ET_MAX_ARGS : least, least == 1 ? "" : "s",
                      e->n);
        if (c->fn->hint) et_sema_note(s, e->loc, "%s", c->fn->hint);
        return false;
    }
    bool ok = true;
    for (c->n = 0; c->n < e->n; c->n++)
        ok &=
            bind_argument(s, c, c->n, letters[c->n < least ? c->n : least - 1], e->kid[c->n], mode);
    return ok;
}

static bool bind_list(et_sema *s, et_call *c, int k, const et_ast *e) {
    if (e->kind != ET_E_LIST)
        return et_sema_error(s, e->loc, "'%s' is a list of numbers such as [1, 2.5]",
                             c->fn->kw[k].name);
    double *list = et_alloc(s->arena, (size_t)(e->n + 1) * sizeof *list);
    for (int i = 0; i < e->n; i++)
        if (!et_sema_number(s, e->kid[i], &list[i])) return false;
    c->kw[k].list = list;
    c->kw[k].n = e->n;
    return true;
}

static bool bind_keyword(et_sema *s, et_call *c, const et_kwarg *kw) {
    const et_builtin *fn = c->fn;
    et_guess g = {.name = kw->name.text};
    int k = 0;
    while (k < ET_MAX_KW && fn->kw[k].name && strcmp(fn->kw[k].name, kw->name.text) != 0)
        et_guess_try(&g, fn->kw[k++].name);
    if (k == ET_MAX_KW || !fn->kw[k].name) {
        et_sema_error(s, kw->name.loc, "%s has no argument '%s'", fn->name, kw->name.text);
        if (g.best) et_sema_note(s, kw->name.loc, "did you mean '%s'?", g.best);
        return false;
    }
    if (c->kw[k].given) return et_sema_error(s, kw->name.loc, "'%s' is given twice", kw->name.text);
    c->kw[k].given = true;
    c->kw[k].loc = kw->value->loc;
    if (fn->kw[k].kind == ET_KW_SIZE) return et_sema_size(s, kw->value, &c->kw[k].size);
    if (fn->kw[k].kind == ET_KW_TENSOR) {
        et_elem v;
        return et_sema_eval(s, kw->value, ET_IN_VALUE, &v) &&
               et_elem_place(s, kw->value->loc, &v, &c->kw[k].value);
    }
    if (fn->kw[k].kind == ET_KW_LIST) return bind_list(s, c, k, kw->value);
    if (fn->kw[k].kind == ET_KW_INT) return et_sema_int(s, kw->value, &c->kw[k].i);
    if (fn->kw[k].kind == ET_KW_FLOAT)
        return et_sema_number(s, kw->value, &c->kw[k].f) &&
               (isfinite(c->kw[k].f) ||
                et_sema_error(s, kw->value->loc, "'%s' must be a finite number", kw->name.text));
    if (kw->value->kind != ET_E_STRING)
        return et_sema_error(s, kw->value->loc, "'%s' is given in quotes", kw->name.text);
    c->kw[k].text = kw->value->text;
    return true;
}

static bool bind_keywords(et_sema *s, et_call *c, const et_ast *e) {
    bool ok = true;
    for (int i = 0; i < e->nkw; i++)
        ok &= bind_keyword(s, c, &e->kw[i]);
    for (int k = 0; ok && k < ET_MAX_KW && c->fn->kw[k].name; k++) {
        const et_kw *row = &c->fn->kw[k];
        if (c->kw[k].given) continue;
        if (row->required) {
            ok = et_sema_error(s, e->loc, "%s needs '%s'", c->fn->name, row->name);
            et_sema_note(s, e->loc, "write %s(..., %s = ...)", c->fn->name, row->name);
        }
        c->kw[k].loc = e->loc;
        c->kw[k].f = row->otherwise;
        c->kw[k].i = (int64_t)row->otherwise;
    }
    return ok;
}

static bool call_builtin(et_sema *s, const et_builtin *fn, const et_ast *e, et_mode mode,
                         et_elem *out) {
    et_call c = {.fn = fn, .ast = e, .loc = e->loc};
    if (*fn->args == '*') return fn->lower(s, &c, out);
    bool ok = bind_arguments(s, &c, e, mode);
    return bind_keywords(s, &c, e) && ok && fn->lower(s, &c, out);
}

bool et_sema_call_many(et_sema *s, const et_ast *e, int n, et_elem out[ET_MAX_RESULTS]) {
    const et_builtin *fn = e->kind == ET_E_CALL ? et_builtin_find(e->text) : NULL;
    if (!fn || results_of(fn) < 2) return et_sema_error(s, e->loc, "one value for %d names", n);
    if (results_of(fn) != n)
        return et_sema_error(s, e->loc, "%s has %d results for %d names", fn->name, results_of(fn),
                             n);
    return call_builtin(s, fn, e, ET_IN_VALUE, out);
}

bool et_sema_call(et_sema *s, const et_ast *e, et_mode mode, et_elem *out) {
    const et_builtin *fn = et_builtin_find(e->text);
    if (fn && results_of(fn) > 1) {
        et_sema_error(s, e->loc, "%s has %d results and stands alone", fn->name, results_of(fn));
        if (fn->hint) et_sema_note(s, e->loc, "%s", fn->hint);
        return false;
    }
    if (fn) return call_builtin(s, fn, e, mode, out);
    const et_def *d = et_table_find(&s->defs, e->text);
    if (d) return expand(s, d, e, mode, out);
    unknown_function(s, e);
    et_elem ignored; /* mistakes in the arguments are worth saying too */
    for (int i = 0; i < e->n; i++)
        if (e->kid[i]->kind != ET_E_LIST) et_sema_eval(s, e->kid[i], mode, &ignored);
    return false;
}
