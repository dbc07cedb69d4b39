#include "ir/program/program.h"
#include <string.h>

const char *et_scope_name(et_scope s) {
    static const char *const name[] = {"workgroup", "die", "device", "system"};
    return name[s];
}

const char *et_hint_name(et_hint h) {
    static const char *const name[] = {"", "static", "dynamic"};
    return name[h];
}

et_program *et_program_create(et_graph *g) {
    et_program *p = et_alloc(g->arena, sizeof *p);
    p->g = g;
    p->stage = ET_STAGE_FUSED;
    p->workgroup = 256;
    p->occupancy = 1;
    p->schedule = ET_SCHEDULE_STATIC;
    p->source_hash = g->source_hash;
    return p;
}

et_schedule_kind et_program_schedule(const et_program *p) {
    int n = 0;
    bool claimed = false;
    for (int i = 0; i < p->ngrids; i++) {
        n += p->grids[i].dynamic;
        claimed |= p->grids[i].order == ET_TILES_CLAIMED;
    }
    return !n && claimed    ? ET_SCHEDULE_CLAIMED
           : !n             ? ET_SCHEDULE_STATIC
           : n == p->ngrids ? ET_SCHEDULE_DYNAMIC
                            : ET_SCHEDULE_HYBRID;
}

et_program *et_program_part(et_program *p, int i) {
    if (p->nvariants) return i < p->nvariants ? p->variant[i].program : NULL;
    return i == 0 ? p : NULL;
}

int et_part_number(const et_program *p, const int64_t *syms) {
    int i = 0;
    while (i + 1 < p->nvariants &&
           (p->variant[i].most || p->variant_sym < 0 || p->variant[i].upto < syms[p->variant_sym]))
        i++;
    return i;
}

et_program *et_part_at(et_program *p, const int64_t *syms) {
    return et_program_part(p, et_part_number(p, syms));
}

void et_variant_range(const et_program *p, int i, int64_t *out_lo, int64_t *out_hi) {
    et_sym_range(p->g->exprs, p->variant_sym, out_lo, out_hi);
    *out_hi = p->variant[i].upto;
    if (i && p->variant[i - 1].most == p->variant[i].most) *out_lo = p->variant[i - 1].upto + 1;
}

int et_item_model(const et_program *p, const et_item *it) {
    if (it->kind == ET_P_LOOP) return p->g->loops[it->index].model;
    return p->ngrids ? p->grids[it->index].model : et_model_of(p->g, p->groups[it->index].name);
}

int et_local_bytes(const et_local *l) {
    if (l->slot) return 0;
    int n = l->pitch * et_dtype_bytes(l->dtype);
    for (int i = 0; i + 1 < l->rank; i++)
        n *= l->rows && i + 2 == l->rank ? l->rows : l->dim[i];
    return (n + 15) & ~15;
}

static bool contiguous(const et_program *p, et_expr b, int kvar, et_dtype operand, int bytes) {
    et_exprs *x = p->g->exprs;
    const et_node_x *n = et_x(x, b);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return false;
    const et_tensor *t = &p->tensors[n->i];
    int64_t pitch;
    const int bits = et_dtype_bits(t->shape.dtype), load = 8 * bytes;
    if (n->nops < 1 || t->shape.dtype != operand ||
        !et_is_int(x, t->shape.dim[n->nops - 1], &pitch) || pitch * bits % load)
        return false;
    et_expr from = et_sub(x, n->ops[n->nops - 1], et_var(x, kvar));
    if (et_expr_has_var(x, from, kvar) || !et_divides(x, load / bits, from)) return false;
    for (int d = 0; d + 1 < n->nops; d++)
        if (et_expr_has_var(x, n->ops[d], kvar)) return false;
    return true;
}

bool et_k_contiguous(const et_program *p, et_expr b, int kvar, et_dtype operand) {
    return contiguous(p, b, kvar, operand, 16);
}

bool et_k_in_words(const et_program *p, et_expr b, int kvar, et_dtype operand) {
    return contiguous(p, b, kvar, operand, 4);
}

struct divided {
    const et_exprs *x;
    int kvar;
    et_expr var;
    int64_t by;
    bool several;
};

static void note_divisor(void *ctx, et_expr e) {
    struct divided *d = ctx;
    const et_node_x *n = et_x(d->x, e);
    int64_t by;
    if ((n->op != ET_X_IDIV && n->op != ET_X_MOD) || !et_expr_eq(n->ops[0], d->var) ||
        !et_is_int(d->x, n->ops[1], &by))
        return;
    d->several |= d->by && d->by != by;
    d->by = by;
}

/* A tensor's element, which one depends on the variable. */
static bool is_looked_up(const void *ctx, et_expr e) {
    const struct divided *d = ctx;
    return et_x(d->x, e)->op == ET_X_LOAD && et_expr_has_var(d->x, e, d->kvar);
}

int64_t et_k_part(const et_program *p, et_expr b, int kvar) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, b);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.nops < 2) return 0;
    const et_tensor *t = &p->tensors[n.i];
    const int per = 8 * 16 / et_dtype_bits(t->shape.dtype);
    int64_t pitch, all;
    bool looked_up = false;
    struct divided by = {x, kvar, et_var(x, kvar), 0, false};
    for (int d = 0; d + 1 < n.nops; d++)
        looked_up |= et_expr_any(x, n.ops[d], is_looked_up, &by);
    if (looked_up) et_walk(x, b, note_divisor, &by);
    if (by.by < per || by.several || by.by % per || !et_is_int(x, et_var_extent(x, kvar), &all) ||
        all % by.by || !et_is_int(x, t->shape.dim[n.nops - 1], &pitch) || pitch % per)
        return 0;
    int high = et_var_add(x, "part", et_int(x, all / by.by));
    int low = et_var_add(x, "k", et_int(x, by.by));
    et_expr k = et_add(x, et_mul(x, et_var(x, high), et_int(x, by.by)), et_var(x, low));
    for (int d = 0; d < n.nops; d++) {
        et_expr at = et_subst_var(x, n.ops[d], kvar, k);
        if (d + 1 == n.nops) at = et_sub(x, at, et_var(x, low));
        if (et_expr_has_var(x, at, low)) return 0;
        if (d + 1 == n.nops && !et_divides(x, per, at)) return 0;
    }
    return by.by;
}

static bool is_local(const et_func *f, const char *name) {
    for (int i = 0; i < f->nlocals; i++)
        if (strcmp(f->locals[i].name, name) == 0) return true;
    return false;
}

int et_local_add(et_program *p, et_func *f, const char *wanted, et_dtype t, int rank,
                 const int *dim, int pitch) {
    const char *name = wanted;
    for (int i = 1; is_local(f, name); i++)
        name = et_printf(p->g->arena, "%s_%d", wanted, i);
    ET_GROW(p->g->arena, f->locals, f->nlocals, f->clocals);
    et_local *l = &f->locals[f->nlocals];
    *l = (et_local){.name = name, .dtype = t, .rank = rank, .pitch = pitch, .offset = f->lds_bytes};
    memcpy(l->dim, dim, (size_t)rank * sizeof *dim);
    f->lds_bytes += et_local_bytes(l);
    return f->nlocals++;
}

et_expr et_grid_tiles(et_program *p, const et_grid *gr) {
    et_expr n = et_int(p->g->exprs, 1);
    for (int i = 0; i < p->funcs[gr->func].ncoords; i++)
        n = et_mul(p->g->exprs, n, gr->extent[i]);
    return n;
}

int64_t et_relaid_place(const et_exprs *x, const et_relaid *as, int64_t i) {
    int64_t extent[ET_MAX_RANK], step[ET_MAX_RANK], n = 1, place = 0;
    for (int d = as->rank; d-- > 0; n *= extent[d]) {
        et_check(et_is_int(x, as->dim[d], &extent[d]));
        step[d] = n;
    }
    for (int d = as->rank; d-- > 0; i /= extent[as->order[d]])
        place += i % extent[as->order[d]] * step[as->order[d]];
    return place;
}

void et_relay_elements(const et_exprs *x, const et_tensor *t, int64_t count, const void *from,
                       void *to) {
    int bits = et_dtype_bits(t->shape.dtype);
    for (int64_t i = 0; i < count; i++)
        etrt_element_word_set(to, i, bits,
                              etrt_element_word(from, et_relaid_place(x, t->relaid, i), bits));
}

void et_program_insert_item(et_program *p, int at, et_item item) {
    ET_GROW(p->g->arena, p->items, p->nitems, p->citems);
    memmove(p->items + at + 1, p->items + at, (size_t)(p->nitems++ - at) * sizeof *p->items);
    for (int i = 0; i < p->nitems; i++) {
        et_item *it = &p->items[i];
        if (it->kind != ET_P_LOOP) continue;
        if (it->first > at)
            it->first++;
        else if (at < it->first + it->count)
            it->count++;
    }
    if (p->first > at)
        p->first++;
    else if (at < p->first + p->count)
        p->count++;
    p->items[at + 1] = item;
}

void et_program_insert_group(et_program *p, int at) {
    int group = p->items[at].index;
    for (int i = 0; i < p->nitems; i++) {
        et_item *it = &p->items[i];
        if (it->kind == ET_P_GRID && it->index > group) it->index++;
    }
    et_program_insert_item(p, at, (et_item){.kind = ET_P_GRID, .index = group + 1});
}
