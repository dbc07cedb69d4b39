/* Events, waits and notifies. */
#include "ir/eti/parser.h"
#include <string.h>

/* ---- events ---- */

bool eti_positive(eti_parser *p, et_expr e, et_loc loc, int64_t most, const char *what) {
    int64_t lo, hi;
    bool never = et_bounds(p->x, e, &lo, &hi) && hi < 1;
    return eti_in_bounds(p, e, loc, never ? 1 : 0, most, what);
}

/* "e < E" instead of "E": the count may use e. */
static bool names_index(const eti_parser *p) {
    eti_parser ahead = *p;
    if (p->tok.kind != ETI_NAME) return false;
    ahead.broken = true; /* silence */
    eti_next(&ahead);
    return eti_is(&ahead, '<');
}

static void event_dim(eti_parser *p, et_event *e, int64_t *words) {
    et_loc loc = p->tok.loc;
    const char *name = NULL;
    if (names_index(p)) {
        name = eti_need_name(p, ETI_NAME, "a variable");
        eti_next(p);
    }
    et_loc at = p->tok.loc;
    et_expr d = eti_expr_of(p, 0, ET_T_I32, "a dimension");
    int64_t lo, hi;
    bool ok = d.id && eti_symbols_only(p, d, at, "a dimension") &&
              eti_positive(p, d, at, 1 << 28, "a dimension");
    int var = name ? eti_bind(p, name, loc, ok ? d : ET_NO_EXPR) : -1;
    if (e->rank == ET_MAX_RANK) {
        eti_error(p, loc, "more than %d dimensions", ET_MAX_RANK);
    } else {
        e->var[e->rank] = var + 1;
        e->dim[e->rank++] = d;
    }
    if (ok && et_bounds(p->x, d, &lo, &hi)) *words *= hi;
    if (*words > 1 << 28) {
        eti_error(p, loc, "too many counters");
        *words = 1;
    }
}

static void event_dims(eti_parser *p, et_event *e) {
    int64_t words = 1;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        event_dim(p, e, &words);
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    e->words = (int)words;
}

static void event_count(eti_parser *p, et_event *e) {
    et_loc at = p->tok.loc;
    int64_t lo, hi;
    e->count = eti_expr_of(p, ETI_TENSORS, ET_T_I32, "a count");
    if (!e->count.id) return;
    bool indexed = !et_expr_is_known(p->x, e->count);
    bool known = et_bounds(p->x, e->count, &lo, &hi);
    if (!indexed && !eti_symbols_only(p, e->count, at, "a count")) return;
    if (known && indexed && hi < 1)
        eti_error(p, at, "a count that is never above zero");
    else if (!indexed)
        eti_positive(p, e->count, at, INT32_MAX, "a count");
}

static void scope(eti_parser *p, et_event *e) {
    for (int s = ET_SCOPE_WORKGROUP; s <= ET_SCOPE_SYSTEM; s++)
        if (eti_take_word(p, et_scope_name((et_scope)s))) {
            e->scope = (et_scope)s;
            return;
        }
    eti_expected(p, "workgroup, die, device or system");
}

/* event %e[dims] [count E] [promised] [unfenced] [scope S] [at N] */
void eti_event(eti_parser *p) {
    eti_next(p);
    p->nscope = p->nmade = 0;
    et_loc loc = p->tok.loc;
    int before = p->errors;
    const char *name = eti_need_name(p, ETI_TENSOR, "a name such as %e");
    et_event e = {.name = name, .scope = ET_SCOPE_DEVICE, .count = et_int(p->x, 1), .base = -1};
    event_dims(p, &e);
    if (eti_take_word(p, "count")) event_count(p, &e);
    e.promised = eti_take_word(p, "promised");
    e.unfenced = eti_take_word(p, "unfenced");
    p->nscope = p->nmade = 0;
    if (eti_take_word(p, "scope")) scope(p, &e);
    et_loc at = p->tok.loc;
    if (eti_take_word(p, "at")) {
        e.base = (int)eti_need_int(p, ET_EVENT_RESERVED, 1 << 28, "the first word");
        if (e.base % 32) eti_error(p, at, "an event starts at a multiple of 32 words");
    }
    if (!name) return;
    if (p->p->nevents >= ETI_MAX_ITEMS) eti_error(p, loc, "more than %d events", ETI_MAX_ITEMS);
    if (p->broken || p->errors > before || !eti_declare_made(p, 'e', name, loc, p->p->nevents)) {
        eti_poison(p, 'e', name, loc);
        return;
    }
    ET_GROW(p->arena, p->p->events, p->p->nevents, p->p->cevents);
    p->p->events[p->p->nevents++] = e;
}

/* ---- waits and notifies ---- */

static et_when when(eti_parser *p, const et_grid *g) {
    static const char *const text[] = {NULL, "first", "later", "last"};
    if (!eti_take_word(p, "when")) return ET_ALWAYS;
    et_loc loc = p->tok.loc;
    for (int w = ET_FIRST_ITERATION; w <= ET_LAST_ITERATION; w++)
        if (eti_take_word(p, text[w])) {
            if (g->loop < 0) eti_error(p, loc, "'when' without a loop around the task");
            return (et_when)w;
        }
    eti_expected(p, "first, later or last");
    return ET_ALWAYS;
}

/* The event named here; -1 after an error. */
static int event_named(eti_parser *p, const char **out_name) {
    et_loc loc = p->tok.loc;
    *out_name = eti_need_name(p, ETI_TENSOR, "an event such as %e");
    return *out_name ? eti_find(p, 'e', *out_name, loc, "event") : -1;
}

enum { MAP = ETI_TENSORS };

/* One dimension of a box: E, E .. E, or * for all of it. */
static bool range(eti_parser *p, et_expr dim, et_expr *out_lo, et_expr *out_hi) {
    if (eti_take(p, '*')) {
        *out_lo = et_int(p->x, 0);
        if (dim.id) *out_hi = et_sub(p->x, dim, et_int(p->x, 1));
        return dim.id != 0;
    }
    *out_lo = *out_hi = eti_expr_of(p, MAP, ET_T_I32, "an index");
    if (eti_take(p, ETI_OP2('.', '.'))) *out_hi = eti_expr_of(p, MAP, ET_T_I32, "an index");
    return out_lo->id && out_hi->id;
}

static void check_range(eti_parser *p, const et_event *e, int d, et_expr lo, et_expr hi,
                        et_loc loc) {
    int64_t least, most, dim_lo, dim_hi;
    et_bounds(p->x, e->dim[d], &dim_lo, &dim_hi);
    if (et_bounds(p->x, lo, &least, &most) && most < 0)
        eti_error(p, loc, "index %d of %%%s is below 0", d, e->name);
    else if (et_bounds(p->x, hi, &least, &most) && least >= dim_hi)
        eti_error(p, loc, "index %d of %%%s is %lld and more, the dimension at most %lld", d,
                  e->name, (long long)least, (long long)dim_hi);
}

static bool box(eti_parser *p, int event, const char *name, et_expr *lo, et_expr *hi) {
    et_loc open = p->tok.loc;
    const et_event *e = event >= 0 ? &p->p->events[event] : NULL;
    int n = 0;
    bool ok = true;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        et_loc loc = p->tok.loc;
        et_expr a = ET_NO_EXPR, b = ET_NO_EXPR;
        bool good = range(p, e && n < e->rank ? e->dim[n] : ET_NO_EXPR, &a, &b);
        if (good && e && n < e->rank) check_range(p, e, n, a, b, loc);
        if (n < ET_MAX_RANK) lo[n] = a, hi[n] = b;
        ok &= good;
        n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (p->broken || !e) return false;
    if (n != e->rank)
        eti_error(p, open, "%%%s has %d dimension%s, here are %d", name, e->rank,
                  e->rank == 1 ? "" : "s", n);
    return ok && n == e->rank;
}

/* ---- variables of a wait or notify: they are read before the box that stands before them ---- */

/* Where the text is, to go back to. */
struct spot {
    const char *at, *line_begin;
    int line;
    eti_tok tok;
};

static struct spot here(const eti_parser *p) {
    return (struct spot){p->at, p->line_begin, p->line, p->tok};
}

static void back_to(eti_parser *p, const struct spot *s) {
    p->at = s->at;
    p->line_begin = s->line_begin;
    p->line = s->line;
    p->tok = s->tok;
}

/* Past the bracket that opens here. */
static void skip_box(eti_parser *p) {
    int depth = 0;
    bool broken = p->broken;
    p->broken = true; /* silence */
    do {
        depth += eti_is(p, '[') - eti_is(p, ']');
        eti_next(p);
    } while (depth > 0 && p->tok.kind != ETI_EOF && !p->tok.fresh);
    p->broken = broken;
}

/* "for j < E, k < E" */
static int variables(eti_parser *p, int vars[ET_MAX_VARS]) {
    int n = 0;
    bool ok = true;
    do {
        et_loc loc = p->tok.loc;
        int var = eti_var_over(p, MAP);
        bool beside = var >= 0 && et_expr_has_vars(p->x, et_var_extent(p->x, var), n, vars);
        if (beside) eti_error(p, loc, "this extent uses a variable that stands beside it");
        ok &= var >= 0 && !beside;
        if (n == ET_MAX_VARS) {
            eti_error(p, loc, "more than %d variables", ET_MAX_VARS);
            ok = false;
        } else {
            vars[n++] = var;
        }
    } while (!p->broken && eti_take(p, ','));
    return ok ? n : -1;
}

/* The box of EVENT, and the variables it is for; -1 after an error, else how many. */
static int boxes(eti_parser *p, int event, const char *name, et_expr *lo, et_expr *hi,
                 int vars[ET_MAX_VARS]) {
    struct spot start = here(p), end;
    int mark = p->nscope, n = 0;
    if (eti_is(p, '[')) skip_box(p);
    bool some = eti_is_word(p, "for") && !p->tok.fresh;
    if (some) {
        eti_next(p);
        n = variables(p, vars);
        end = here(p);
    }
    if (p->broken) return -1;
    back_to(p, &start);
    bool ok = box(p, event, name, lo, hi);
    if (some && !p->broken) back_to(p, &end);
    p->nscope = mark;
    return ok ? n : -1;
}

/* A box of an event, and when it is waited for. */
static bool waited(eti_parser *p, const et_grid *g, et_wait *out) {
    const char *name;
    eti_next(p);
    *out = (et_wait){.event = event_named(p, &name)};
    out->nvars = name ? boxes(p, out->event, name, out->lo, out->hi, out->vars) : -1;
    if (!p->broken) out->when = when(p, g);
    return out->nvars >= 0 && !p->broken;
}

void eti_wait(eti_parser *p, et_grid *g) {
    et_wait w;
    if (!waited(p, g, &w)) return;
    ET_GROW(p->arena, g->waits, g->nwaits, g->cwaits);
    g->waits[g->nwaits++] = w;
}

void eti_await(eti_parser *p, et_grid *g) {
    et_loc loc = p->tok.loc;
    et_wait w;
    if (!waited(p, g, &w)) return;
    if (!g->streamed) eti_error(p, loc, "only a task that is streamed awaits an event");
    ET_GROW(p->arena, g->awaits, g->nawaits, g->cawaits);
    g->awaits[g->nawaits++] = w;
}

void eti_notify(eti_parser *p, et_grid *g) {
    const char *name;
    et_expr hi[ET_MAX_RANK];
    eti_next(p);
    et_loc loc = p->tok.loc;
    et_notify n = {.event = event_named(p, &name)};
    n.nvars = name ? boxes(p, n.event, name, n.index, hi, n.vars) : -1;
    for (int i = 0; n.nvars >= 0 && i < p->p->events[n.event].rank; i++)
        if (!et_expr_eq(n.index[i], hi[i])) {
            eti_error(p, loc, "a task notifies one counter: write a notify for each");
            n.nvars = -1;
        }
    if (!p->broken) n.when = when(p, g);
    if (n.nvars < 0 || p->broken) return;
    ET_GROW(p->arena, g->notifies, g->nnotifies, g->cnotifies);
    g->notifies[g->nnotifies++] = n;
}
