/* Device functions: the stages from tiled on. */
#include "ir/eti/parser.h"
#include "ir/program/step.h"
#include <string.h>

enum { PLAIN = ETI_TENSORS | ETI_LOCALS | ETI_LOOPS };

/* ---- local buffers ---- */

int eti_local(const eti_parser *p, const char *name) {
    for (int i = 0; i < p->f->nlocals; i++)
        if (strcmp(p->f->locals[i].name, name) == 0) return i;
    return -1;
}

/* Laid out with the rest at the end of the function: offset -1. */
int eti_add_local(eti_parser *p, const char *name, et_dtype dtype, int rank, const int *dim) {
    et_func *f = p->f;
    ET_GROW(p->arena, f->locals, f->nlocals, f->clocals);
    et_local *l = &f->locals[f->nlocals];
    *l = (et_local){.name = name, .dtype = dtype, .rank = rank, .offset = -1};
    if (rank > 0) {
        memcpy(l->dim, dim, (size_t)rank * sizeof *dim);
        l->pitch = dim[rank - 1];
    }
    return f->nlocals++;
}

static bool too_large(const et_local *l) {
    int64_t n = (int64_t)l->pitch * et_dtype_bytes(l->dtype);
    for (int i = 0; i + 1 < l->rank && n <= ETI_MAX_LDS; i++)
        n *= l->dim[i];
    return n > ETI_MAX_LDS;
}

static void local_dims(eti_parser *p, int *out_rank, int dim[ET_MAX_RANK]) {
    *out_rank = 0;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        et_loc loc = p->tok.loc;
        int n = (int)eti_need_int(p, 1, ETI_MAX_LDS, "a dimension of a local buffer");
        if (*out_rank == ET_MAX_RANK)
            eti_error(p, loc, "more than %d dimensions", ET_MAX_RANK);
        else
            dim[(*out_rank)++] = n;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
}

/* local $name : f32[16, 64] [pitch 68] [rows 8] [at 0 | slot] */
static void local(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors, rank = 0, dim[ET_MAX_RANK];
    const char *name = eti_need_name(p, ETI_LOCAL, "a local buffer such as $a");
    eti_need(p, ':');
    et_loc at = p->tok.loc;
    const char *type = eti_need_name(p, ETI_NAME, "a type: f32, f16, bf16 or i32");
    et_dtype dtype = ET_F32;
    if (type && (!et_dtype_parse(type, &dtype) || et_dtype_is_code(dtype))) {
        eti_error(p, at, "unknown type '%s': there are f32, f16, bf16 and i32", type);
        dtype = ET_F32;
    }
    local_dims(p, &rank, dim);
    if (!name) return;
    if (!p->broken && rank == 0) eti_error(p, loc, "a local buffer has at least one dimension");
    if (eti_local(p, name) >= 0) eti_error(p, loc, "'$%s' is declared twice", name);
    if (p->f->nlocals >= 1000) eti_error(p, loc, "more than 1000 local buffers");
    bool ok = !p->broken && p->errors == before;
    int slot = eti_add_local(p, name, dtype, ok ? rank : -1, dim);
    et_local *l = &p->f->locals[slot];
    if (eti_take_word(p, "pitch"))
        l->pitch = (int)eti_need_int(p, ok ? dim[rank - 1] : 1, ETI_MAX_LDS, "the pitch");
    at = p->tok.loc;
    if (eti_take_word(p, "rows")) {
        int all = ok && rank > 1 ? dim[rank - 2] : 1;
        l->rows = (int)eti_need_int(p, 1, all, "the rows that are there at a time");
        if (all % (l->rows ? l->rows : 1)) eti_error(p, at, "that many rows do not divide %d", all);
    }
    at = p->tok.loc;
    if (eti_take_word(p, "slot")) {
        l->slot = true;
        l->offset = 0;
    } else if (eti_take_word(p, "at")) {
        l->offset = (int)eti_need_int(p, 0, ETI_MAX_LDS, "an offset in local memory");
        if (l->offset % 16) eti_error(p, at, "an offset in local memory is a multiple of 16");
    }
    if (ok && too_large(l)) {
        eti_error(p, loc, "a local buffer of more than %d bytes", ETI_MAX_LDS);
        l->rank = -1;
    }
}

/* Only sums may be there in part, and all of a product's alike. */
static void check_bands(eti_parser *p, const et_func *f, et_loc loc) {
    int after, row, rows = 0;
    bool alike = true, sums[1000] = {false};
    for (int i = 0; i < f->nsteps; i++)
        for (int k = 0; k < f->steps[i].nacc; k++) {
            if (f->steps[i].acc[k] < 0) return;
            sums[f->steps[i].acc[k]] = true;
            alike &= f->locals[f->steps[i].acc[k]].rows == f->locals[f->steps[i].acc[0]].rows;
        }
    for (int i = 0; i < f->nlocals; i++) {
        alike &= !f->locals[i].rows || sums[i];
        rows |= f->locals[i].rows;
    }
    if (!alike) eti_error(p, loc, "only sums are there in part, and all of a product's alike");
    if (alike && rows && et_func_bands(p->x, f, &after, &row) > 1 && row < 0)
        eti_error(p, loc, "the steps after sums that are there in part do not go by their rows");
}

struct slot_use {
    int local, times;
};

static void count_use(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct slot_use *u = ctx;
    (void)is_store, (void)index;
    u->times += space == ET_LOAD_LOCAL && id == u->local;
}

/* What lies in a slot takes no local memory: it is the right operand of one product, which has a
 * ring for its rows, and nothing else is there. */
static void check_slots(eti_parser *p, const et_func *f, et_loc loc) {
    for (int i = 0; i < f->nlocals; i++) {
        struct slot_use u = {i, 0};
        bool is = false;
        for (int k = 0; k < f->nsteps && f->locals[i].slot; k++) {
            const et_step *s = &f->steps[k];
            is |= s->kind == ET_STEP_CONTRACT && s->stage_b == i && et_step_stages(f, s);
            et_step_touches(p->x, s, count_use, &u);
        }
        if (f->locals[i].slot && (!is || u.times != 1))
            eti_error(p, loc, "$%s is a slot, but not just for the right operand of a ring",
                      f->locals[i].name);
    }
}

/* Buffers without an offset follow those before them. */
static void lay_out(eti_parser *p, et_func *f, int lds, et_loc loc) {
    int64_t end = 0;
    for (int i = 0; i < f->nlocals; i++) {
        et_local *l = &f->locals[i];
        if (l->offset < 0) l->offset = (int)end;
        int64_t last = l->offset + (int64_t)et_local_bytes(l);
        end = last > end ? last : end;
        for (int k = 0; k < i; k++) {
            const et_local *o = &f->locals[k];
            if (l->offset < o->offset + et_local_bytes(o) && o->offset < last &&
                !et_locals_may_meet(p->x, f, i, k))
                eti_error(p, loc, "local buffers $%s and $%s overlap", o->name, l->name);
        }
        if (end > ETI_MAX_LDS) {
            eti_error(p, loc, "more than %d bytes of local memory", ETI_MAX_LDS);
            return;
        }
    }
    if (lds >= 0 && lds < end)
        eti_error(p, loc, "the local buffers end at %lld, past the %d bytes given", (long long)end,
                  lds);
    f->lds_bytes = lds >= 0 ? lds : (int)end;
}

/* ---- steps ---- */

et_expr eti_side(eti_parser *p, const char *name, int may, et_type type) {
    eti_need_word(p, name);
    eti_need(p, '=');
    return p->broken ? ET_NO_EXPR : eti_expr_of(p, may, type, name);
}

bool eti_target(eti_parser *p, int may, et_place *out) {
    et_loc loc = p->tok.loc;
    if (p->broken) return false;
    if (p->tok.kind == ETI_LOCAL && p->f) {
        const char *name = p->tok.text;
        int l = eti_local(p, name);
        if (l < 0) eti_error(p, loc, "there is no local buffer called '$%s'", name);
        eti_next(p);
        *out = (et_place){.space = ET_LOAD_LOCAL, .id = l};
        out->rank = l >= 0 ? p->f->locals[l].rank : -1;
        return eti_indices(p, may, out->rank, out->index, name);
    }
    const char *name = eti_need_name(p, ETI_TENSOR, "what is written, such as %x[...]");
    if (!name) return false;
    int t = eti_find(p, '%', name, loc, "tensor");
    *out = (et_place){.space = ET_LOAD_TENSOR, .id = t};
    if (t >= 0) {
        et_tensor_kind kind = p->p->tensors[t].kind;
        out->rank = p->p->tensors[t].shape.rank;
        if (kind == ET_TENSOR_INPUT || kind == ET_TENSOR_WEIGHT || kind == ET_TENSOR_CONST)
            eti_error(p, loc, "%%%s cannot be written", name);
    }
    return eti_indices(p, may, t >= 0 ? out->rank : -1, out->index, name);
}

void eti_check_total(eti_parser *p, const et_step *s, et_loc loc) {
    int64_t total = 1, n;
    for (int i = 0; i < s->nvars; i++)
        if (et_is_int(p->x, et_var_extent(p->x, s->vars[i]), &n))
            total *= n;
        else
            return;
    if (total > ETI_MAX_TILE) eti_error(p, loc, "more than %d elements in a step", ETI_MAX_TILE);
}

static bool reduce_kind(eti_parser *p, et_reduce *out) {
    for (int r = 0; r < ET_REDUCES; r++)
        if (eti_take_word(p, et_reduce_text((et_reduce)r))) {
            *out = (et_reduce)r;
            return true;
        }
    eti_expected(p, "sum, max, min, argmax or top");
    return false;
}

/* The last variable counts places of one row. */
static void check_top(eti_parser *p, const et_step *s, et_loc loc) {
    int64_t n, places;
    int var = s->nvars ? s->vars[s->nvars - 1] : -1;
    if (var < 0 || !et_is_int(p->x, s->rextent, &n) ||
        !et_is_int(p->x, et_var_extent(p->x, var), &places) || places > n)
        eti_error(p, loc, "'top' has a last variable that counts no more places than are reduced");
    else if (et_expr_has_var(p->x, s->value, var) ||
             (s->mask.id && et_expr_has_var(p->x, s->mask, var)))
        eti_error(p, loc, "'%s' counts places of 'top', which are of the same values",
                  et_var_name(p->x, var));
}

/* map [vars] [where mask [promised]] [tag E] target = value; reduce KIND [vars] [where mask] over
 * r < E [extent X] target = value */
static void map_or_reduce(eti_parser *p, et_step *s) {
    int coords = p->nscope;
    eti_next(p);
    if (s->kind == ET_STEP_REDUCE && !reduce_kind(p, &s->red)) return;
    et_loc loc = p->tok.loc;
    s->nvars = eti_vars(p, ET_MAX_VARS, s->vars, ETI_MAX_TILE);
    if (s->nvars > 0) eti_check_total(p, s, loc);
    if (eti_take_word(p, "where")) s->mask = eti_expr_of(p, PLAIN, ET_T_PRED, "what follows where");
    if (s->mask.id && s->kind == ET_STEP_MAP) s->promised = eti_take_word(p, "promised");
    if (s->kind == ET_STEP_REDUCE) {
        eti_need_word(p, "over");
        p->nscope = coords;
        s->rvar = p->broken ? -1 : eti_var_over(p, PLAIN & ~ETI_LOCALS);
        if (s->rvar >= 0) s->rextent = et_var_extent(p->x, s->rvar);
        p->nscope = coords;
        for (int i = 0; i < s->nvars; i++)
            if (s->vars[i] >= 0) eti_bind_var(p, s->vars[i]);
        if (s->rvar >= 0 && eti_take_word(p, "extent"))
            s->rextent = eti_expr_of(p, PLAIN, ET_T_I32, "an extent");
    }
    if (s->kind == ET_STEP_MAP && eti_take_word(p, "tag")) {
        int inner = p->nscope;
        p->nscope = 0; /* one number for the whole task, and all tasks of an iteration */
        s->tag = eti_expr_of(p, ETI_LOOPS, ET_T_I32, "a tag");
        p->nscope = inner;
    }
    if (!p->broken && eti_take_word(p, "plan")) eti_items_plan(p, s);
    eti_target(p, PLAIN, &s->to);
    if (s->promised && !p->broken &&
        (s->to.space != ET_LOAD_TENSOR || p->p->tensors[s->to.id].kind != ET_TENSOR_TEMP))
        eti_error(p, loc, "'promised' is said of what is left out of a temporary");
    eti_need(p, '=');
    if (s->kind == ET_STEP_REDUCE && s->rvar >= 0) {
        for (int i = 0; i < s->nvars; i++)
            if (s->vars[i] == s->rvar)
                eti_error(p, loc, "'%s' means two things here", et_var_name(p->x, s->rvar));
        eti_bind_var(p, s->rvar);
    }
    if (!p->broken) s->value = eti_number(p, PLAIN, "the value");
    if (s->kind == ET_STEP_REDUCE && s->red == ET_RED_TOP && !p->broken) check_top(p, s, loc);
}

static bool step(eti_parser *p) {
    static void (*const parse[])(eti_parser *, et_step *) = {
        [ET_STEP_MAP] = map_or_reduce,          [ET_STEP_REDUCE] = map_or_reduce,
        [ET_STEP_CONTRACT] = eti_step_contract, [ET_STEP_ATTEND] = eti_step_attend,
        [ET_STEP_SCAN] = eti_step_scan,
    };
    for (int kind = 0; kind < ET_STEP_KINDS; kind++) {
        if (!eti_is_word(p, et_step_name((et_step_kind)kind))) continue;
        int mark = p->nscope;
        et_step s = et_step_make((et_step_kind)kind);
        parse[kind](p, &s);
        p->nscope = mark;
        ET_GROW(p->arena, p->f->steps, p->f->nsteps, p->f->csteps);
        p->f->steps[p->f->nsteps++] = s;
        return true;
    }
    return false;
}

static void body(eti_parser *p, int coords) {
    static const char *const words[] = {"local", "map",   "reduce",   "contract", "attend", "scan",
                                        "func",  "event", "schedule", "temp",     NULL};
    static const char *const outer[] = {"func", "event", "schedule", "temp", NULL};
    while (p->tok.kind != ETI_EOF && !eti_is(p, '}')) {
        if (p->tok.kind == ETI_NAME && p->tok.fresh && eti_among(p->tok.text, outer)) break;
        if (eti_is_word(p, "local"))
            local(p);
        else if (!step(p))
            eti_expected(p, "a step: map, reduce, contract, attend or scan; or a local");
        if (!p->broken) continue;
        eti_recover(p, words, "");
        p->nscope = coords;
    }
}

/* func @name [coords] [lds N] { locals and steps } */
void eti_function(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors, lds = -1;
    const char *name = eti_need_name(p, ETI_FUNC, "a name such as @f");
    et_func f = {.name = name};
    p->f = &f;
    p->nscope = p->nmade = 0;
    f.ncoords = eti_vars(p, ET_MAX_RANK, f.coord, 0);
    if (eti_take_word(p, "lds"))
        lds = (int)eti_need_int(p, 0, ETI_MAX_LDS, "the bytes of local memory");
    eti_need(p, '{');
    bool open = !p->broken;
    if (open) body(p, p->nscope);
    if (open) eti_need(p, '}');
    if (p->errors == before && !p->broken) lay_out(p, &f, lds, loc);
    if (p->errors == before && !p->broken) check_bands(p, &f, loc);
    if (p->errors == before && !p->broken) check_slots(p, &f, loc);
    if (p->errors == before && !p->broken && !f.nsteps)
        eti_error(p, loc, "a function without steps");
    p->f = NULL;
    p->nscope = p->nmade = 0;
    if (!name) return;
    if (p->p->nfuncs >= ETI_MAX_ITEMS) eti_error(p, loc, "more than %d functions", ETI_MAX_ITEMS);
    if (p->broken || p->errors > before || !eti_declare_made(p, '@', name, loc, p->p->nfuncs)) {
        eti_poison(p, '@', name, loc);
        return;
    }
    ET_GROW(p->arena, p->p->funcs, p->p->nfuncs, p->p->cfuncs);
    p->p->funcs[p->p->nfuncs++] = f;
}
