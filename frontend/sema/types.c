/* Types as written: f32[N, 256]. */
#include "frontend/sema/sema.h"
#include "runtime/cli/guess.h"

#define MAX_ELEMENTS ((int64_t)1 << 40)

static bool eval_dtype(et_sema *s, const et_ident *id, et_dtype *out) {
    if (et_dtype_parse(id->text, out)) return true;
    et_guess g = {.name = id->text};
    for (int d = 0; d < ET_DTYPE_COUNT; d++)
        et_guess_try(&g, et_dtype_name((et_dtype)d));
    et_sema_error(s, id->loc, "unknown type '%s'", id->text);
    if (g.best)
        et_sema_note(s, id->loc, "did you mean '%s'?", g.best);
    else
        et_sema_note(s, id->loc,
                     "the types are " ETRT_DTYPE_NAMES
                     "of which those of 8 bits and fewer are for weights alone");
    return false;
}

static bool eval_dim(et_sema *s, const et_ast *e, et_expr *out, int64_t *count) {
    int64_t lo, hi;
    if (!et_sema_size(s, e, out)) return false;
    et_bounds(s->x, *out, &lo, &hi);
    const char *text = et_sema_text(s, *out);
    if (lo == hi && lo < 1)
        return et_sema_error(s, e->loc, "a dimension must be at least 1, this is %lld",
                             (long long)lo);
    if (lo < 1)
        return et_sema_error(s, e->loc,
                             "dimension %s may be as small as %lld: it must be at least 1", text,
                             (long long)lo);
    if (lo == hi && hi > INT32_MAX)
        return et_sema_error(s, e->loc, "dimension %s: at most %d", text, INT32_MAX);
    if (hi > INT32_MAX)
        return et_sema_error(s, e->loc, "dimension %s may be as large as %lld: at most %d", text,
                             (long long)hi, INT32_MAX);
    if (__builtin_mul_overflow(*count, hi, count) || *count > MAX_ELEMENTS)
        return et_sema_error(s, e->loc, "a tensor of more than %lld elements",
                             (long long)MAX_ELEMENTS);
    return true;
}

bool et_sema_type(et_sema *s, const et_type_ast *t, et_shape *out) {
    *out = (et_shape){0};
    if (t->bad || !t->dtype.text) return false;
    bool ok = eval_dtype(s, &t->dtype, &out->dtype);
    if (!t->dims) return ok;
    if (t->dims->n > ET_MAX_RANK)
        return et_sema_error(s, t->dims->loc, "%d dimensions: at most %d", t->dims->n, ET_MAX_RANK);
    int64_t count = 1;
    for (int i = 0; i < t->dims->n; i++)
        ok &= eval_dim(s, t->dims->kid[i], &out->dim[i], &count);
    out->rank = t->dims->n;
    return ok;
}
