/* The manifest: what the runtime must know of the kernel, as JSON within a frame by which it is
 * found wherever the family puts it. The format is in etrt_abi.h. */
#include "codegen/kernel/kernel.h"
#include "codegen/object.h"
#include "ir/base/diag.h"
#include "ir/base/text.h"
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include "ir/weights/packed.h"
#include "ir/weights/zeros.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)ET_PACKED_ROWS == (int)ETRT_PACKED_ROWS &&
                   (int)ET_PACKED_K == (int)ETRT_PACKED_K &&
                   (int)ET_PACKED_BYTES == (int)ETRT_PACKED_BYTES &&
                   (int)ET_PACKED_ALIGN == (int)ETRT_PACKED_ALIGN,
               "compiler and runtime agree on the size of packed blocks");

struct out {
    cg *g;
    et_exprs *x; /* of the tensors at hand */
    FILE *to;
    char *text;
    size_t n;
};

static void begin(struct out *o, cg *g) {
    *o = (struct out){.g = g, .x = g->x};
    o->to = open_memstream(&o->text, &o->n);
    if (!o->to) et_no_memory();
}

/* All that was put, in the arena. */
static char *end(struct out *o) {
    if (fclose(o->to) != 0) et_no_memory();
    char *text = et_strdup(o->g->arena, o->text);
    free(o->text);
    return text;
}

static void put(struct out *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vfprintf(o->to, fmt, ap);
    va_end(ap);
}

static void put_string(struct out *o, const char *s) {
    et_put_json(o->to, s);
}

/* Of a tensor or symbol, which the runtime takes up to a length. */
static void put_name(struct out *o, const char *s) {
    et_check(strlen(s) <= ETRT_MAX_NAME);
    put_string(o, s);
}

static void put_rpn(struct out *o, et_expr e) {
    static const struct {
        et_xop op;
        const char *text;
    } ops[] = {{ET_X_ADD, "+"}, {ET_X_SUB, "-"},   {ET_X_MUL, "*"},  {ET_X_IDIV, "/"},
               {ET_X_MOD, "%"}, {ET_X_MIN, "min"}, {ET_X_MAX, "max"}};
    et_node_x x = *et_x(o->x, e);
    if (x.op == ET_X_INT) {
        put(o, "%" PRId64, x.n);
        return;
    }
    if (x.op == ET_X_SYM) {
        put(o, "%s", et_sym_name(o->x, x.i));
        return;
    }
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].op == x.op) {
            put_rpn(o, x.ops[0]);
            put(o, " ");
            put_rpn(o, x.ops[1]);
            put(o, " %s", ops[i].text);
            return;
        }
    et_bug("a dimension holds %s", et_xop_text(x.op));
}

static void put_dims(struct out *o, int rank, const et_expr *dim) {
    put(o, "[");
    for (int i = 0; i < rank; i++) {
        int64_t n;
        if (i) put(o, ", ");
        if (et_is_int(o->x, dim[i], &n)) {
            put(o, "%" PRId64, n);
            continue;
        }
        put(o, "\"");
        put_rpn(o, dim[i]);
        put(o, "\"");
    }
    put(o, "]");
}

static bool is_argument(const et_tensor *t) {
    return t->kind != ET_TENSOR_TEMP && t->kind != ET_TENSOR_CONST;
}

/* Columns of a piece of argument number N, where a product of some part reads its map; else 0. */
static int64_t zeros_of(const struct out *o, int n) {
    const et_program *p;
    et_zeros z;
    for (int i = 0; o->g->opt->sparse == ET_SPARSE_ZEROS && (p = et_program_part(o->g->whole, i));
         i++)
        for (int t = 0, k = 0; t < p->ntensors; t++)
            if (is_argument(&p->tensors[t]) && k++ == n && et_zeros_used(p, t) &&
                et_zeros_of(p, t, &z))
                return INT64_C(1) << z.log2_columns;
    return 0;
}

static void note_load(void *ctx, const et_step *step, int tensor, bool is_store,
                      const et_expr *index) {
    (void)step, (void)index;
    ((bool *)ctx)[tensor] |= !is_store;
}

/* Does no part of the program read argument number N? */
static bool only_stored(const struct out *o, int n) {
    const et_program *p;
    bool any = false;
    for (int i = 0; !any && (p = et_program_part(o->g->whole, i)); i++) {
        bool *loaded = et_alloc(o->g->arena, (size_t)p->ntensors + 1);
        for (int k = 0; k < p->ngrids; k++)
            et_func_accesses(p, &p->funcs[p->grids[k].func], note_load, loaded);
        for (int t = 0, k = 0; t < p->ntensors; t++)
            any |= is_argument(&p->tensors[t]) && k++ == n && loaded[t];
    }
    return !any;
}

static void put_tensor(struct out *o, const et_tensor *t, int n, bool packed) {
    int64_t zeros = zeros_of(o, n);
    static const char *const kind[] = {"input", "output", "weight", "state"};
    put(o, "{\"name\": ");
    put_name(o, t->name ? t->name : "");
    put(o, ", \"kind\": \"%s\", \"dtype\": \"%s\", \"shape\": ", kind[t->kind],
        et_dtype_name(t->shape.dtype));
    put_dims(o, t->relaid ? t->relaid->rank : t->shape.rank,
             t->relaid ? t->relaid->dim : t->shape.dim);
    for (int d = 0; t->relaid && d < t->relaid->rank; d++)
        put(o, "%s%d%s", d ? ", " : ", \"order\": [", t->relaid->order[d],
            d + 1 < t->relaid->rank ? "" : "]");
    if (t->kind == ET_TENSOR_WEIGHT) {
        put(o, ", \"source\": ");
        put_string(o, t->source ? t->source : t->name ? t->name : "");
        if (t->nloops) {
            put(o, ", \"loops\": [");
            for (int i = 0; i < t->nloops; i++) {
                const et_loop *l = &o->g->p->g->loops[t->loops[i]];
                put(o, i ? ", [" : "[");
                put_string(o, l->name);
                put(o, ", %" PRId64 ", %" PRId64 "]", l->lo, l->hi);
            }
            put(o, "]");
        }
        if (t->host) put(o, ", \"host\": %d", t->host);
        if (zeros) put(o, ", \"zeros\": %" PRId64, zeros);
        if (packed) put(o, ", \"packed\": %d", ETRT_PACKED_K);
    }
    if (t->kind == ET_TENSOR_OUTPUT && only_stored(o, n)) put(o, ", \"stored\": true");
    if (t->cut.devices) put(o, ", \"cut\": %d", t->cut.axis);
    if (t->cut.repeat > 1) put(o, ", \"repeat\": %d", t->cut.repeat);
    if (t->cut.of) put(o, ", \"from\": %" PRId64 ", \"of\": %" PRId64, t->cut.from, t->cut.of);
    put(o, "}");
}

/* Event shapes at the upper bounds: that is how their words are laid out. */
static void put_event(struct out *o, const et_program *p, const et_event *e) {
    put_string(o, e->name);
    put(o, ", \"base\": %d, \"shape\": [", e->base);
    for (int d = 0; d < e->rank; d++) {
        int64_t lo, hi;
        et_check(et_bounds(p->g->exprs, e->dim[d], &lo, &hi));
        put(o, "%s%" PRId64, d ? ", " : "", hi);
    }
    put(o, "]}");
}

static void note_use(void *ctx, const et_step *step, int tensor, bool is_store,
                     const et_expr *index) {
    (void)step, (void)is_store, (void)index;
    ((bool *)ctx)[tensor] = true;
}

/* Runs of numbers of workgroups, ascending, the last without an end: run R is that of some narrow
 * variants, or between those of two. False: there is no such run. */
static bool run_of(const et_program *p, int r, int *out_least, int *out_most) {
    int from = 1, n = 0;
    for (int i = 0; i < p->nvariants && p->variant[i].most; i++) {
        const et_variant *v = &p->variant[i];
        if (v->least < from) continue; /* another range of values on the same */
        *out_least = from, *out_most = v->least - 1;
        if (from < v->least && n++ == r) return true;
        *out_least = v->least, *out_most = v->most;
        if (n++ == r) return true;
        from = v->most + 1;
    }
    *out_least = from, *out_most = INT32_MAX;
    return n == r;
}

/* Is variant I for launches on so many workgroups? */
static bool is_on(const et_program *p, int i, int workgroups) {
    const et_variant *v = &p->variant[i];
    bool narrow = false;
    for (int k = 0; k < p->nvariants; k++)
        narrow |= p->variant[k].least <= workgroups && workgroups <= p->variant[k].most;
    return v->most ? v->least <= workgroups && workgroups <= v->most : !narrow;
}

/* What of the workspace program NUMBER, which is PART, uses, on LEAST to MOST workgroups; 0: on any
 * number. */
static void put_temporaries(struct out *o, const et_program *part, int number, int least, int most,
                            bool *any) {
    const et_program *whole = o->g->whole;
    int64_t from = 0, upto = 0;
    if (whole->nvariants && whole->variant_sym >= 0) et_variant_range(whole, number, &from, &upto);
    bool *used = et_alloc(o->g->arena, (size_t)part->ntensors + 1);
    for (int i = 0; i < part->ngrids; i++)
        et_func_accesses(part, &part->funcs[part->grids[i].func], note_use, used);
    o->x = part->g->exprs;
    for (int i = 0; i < part->ntensors; i++) {
        const et_tensor *t = &part->tensors[i];
        if (t->kind != ET_TENSOR_TEMP || !used[i] || t->tagged || et_in_inbox(t)) continue;
        put(o, *any ? ",\n  {\"name\": " : "\n  {\"name\": ");
        put_string(o, t->name);
        put(o, ", \"dtype\": \"%s\", \"shape\": ", et_dtype_name(t->shape.dtype));
        put_dims(o, t->shape.rank, t->shape.dim);
        put(o, ", \"offset\": %" PRId64, t->offset);
        if (whole->nvariants && whole->variant_sym >= 0)
            put(o, ", \"when\": [\"%s\", %" PRId64 ", %" PRId64 "]",
                et_sym_name(o->g->x, whole->variant_sym), from, upto);
        if (least) put(o, ", \"least\": %d, \"most\": %d", least, most);
        put(o, "}");
        *any = true;
    }
    o->x = o->g->x;
}

/* Workspace, events and tasks of all parts; reports count tasks and events through them. */
static void put_parts(struct out *o) {
    const et_program *p;
    int64_t workspace = 0;
    for (int i = 0; (p = et_program_part(o->g->whole, i)); i++)
        workspace = p->workspace_bytes > workspace ? p->workspace_bytes : workspace;
    if (o->g->tags.inbox_bytes) workspace = o->g->tags.inbox;
    put(o, "],\n \"workspace_bytes\": %" PRId64 ", \"event_words\": %d,\n ", workspace,
        o->g->event_words);
    if (o->g->tags.bytes)
        put(o,
            "\"tags\": {\"offset\": %" PRId64 ", \"bytes\": %" PRId64 ", \"launches\": %" PRId64
            "},\n ",
            o->g->tags.offset, o->g->tags.bytes, o->g->tags.launches);
    if (o->g->whole->g->devices)
        put(o,
            "\"devices\": {\"count\": %d, \"inbox_bytes\": %" PRId64 ", \"launches\": %" PRId64
            "},\n ",
            o->g->whole->g->devices, o->g->tags.inbox_bytes, o->g->tags.launches);
    put(o, "\"temporaries\": [");
    bool any = false;
    const et_program *whole = o->g->whole;
    bool by_width = whole->nvariants && whole->variant[0].most;
    for (int i = 0, least, most; (p = et_program_part(o->g->whole, i)); i++)
        for (int r = 0; by_width ? run_of(whole, r, &least, &most) : r < 1; r++)
            if (!by_width)
                put_temporaries(o, p, i, 0, 0, &any);
            else if (is_on(whole, i, least))
                put_temporaries(o, p, i, least, most, &any);
    put(o, "],\n \"events\": [");
    any = false;
    for (int i = 0; (p = et_program_part(o->g->whole, i)); i++)
        for (int k = 0; k < p->nevents; k++, any = true) {
            put(o, any ? ",\n  {\"name\": " : "\n  {\"name\": ");
            put_event(o, p, &p->events[k]);
        }
    put(o, "],\n \"tasks\": [");
    any = false;
    for (int i = 0; (p = et_program_part(o->g->whole, i)); i++)
        for (int k = 0; k < p->ngrids; k++, any = true) {
            put(o, any ? ", {\"name\": " : "{\"name\": ");
            put_string(o, p->grids[k].name);
            put(o, "}");
        }
}

static bool names_symbol(et_exprs *x, et_expr e, const char *name) {
    for (int y = 0; y < et_sym_count(x); y++)
        if (!strcmp(et_sym_name(x, y), name) && et_expr_has(x, e, ET_X_SYM, y)) return true;
    return false;
}

/* How many rows, numbered by the symbol NAME, steps of a KIND take at most: of queries a tile,
 * where rows have no tiles of their own; of a scan a chunk, where it has chunks; or else 0. */
static int rows_of(const struct out *o, const char *name, et_step_kind kind) {
    const et_program *p;
    int most = 0;
    for (int i = 0; (p = et_program_part(o->g->whole, i)); i++)
        for (int f = 0; f < p->nfuncs; f++)
            for (int k = 0; k < p->funcs[f].nsteps; k++) {
                const et_step *s = &p->funcs[f].steps[k];
                bool scan = kind == ET_STEP_SCAN;
                int rows = scan ? s->chunk : s->rows;
                if (s->kind == kind && rows > most &&
                    names_symbol(p->g->exprs, scan ? s->rextent : s->ilive, name))
                    most = rows;
            }
    return most;
}

static void put_symbol(struct out *o, int i) {
    const char *name = et_sym_name(o->g->x, i);
    int tile = rows_of(o, name, ET_STEP_ATTEND), chunk = rows_of(o, name, ET_STEP_SCAN);
    int64_t lo, hi;
    et_sym_range(o->g->x, i, &lo, &hi);
    put(o, "%s{\"name\": ", i ? ", " : "");
    put_name(o, name);
    put(o, ", \"lo\": %" PRId64 ", \"hi\": %" PRId64, lo, hi);
    if (tile) put(o, ", \"tile\": %" PRId64, tile < hi ? tile : hi);
    if (chunk) put(o, ", \"chunk\": %d", chunk);
    put(o, "}");
}

/* Can the host evaluate it? */
static bool is_plain(et_exprs *x, et_expr e) {
    et_node_x n = *et_x(x, e);
    switch (n.op) {
    case ET_X_INT:
    case ET_X_SYM:
        return true;
    case ET_X_ADD:
    case ET_X_SUB:
    case ET_X_MUL:
    case ET_X_IDIV:
    case ET_X_MOD:
    case ET_X_MIN:
    case ET_X_MAX:
        return is_plain(x, n.ops[0]) && is_plain(x, n.ops[1]);
    default:
        return false;
    }
}

static void put_kernel(struct out *o, const et_kernel *k, int task) {
    const et_grid *gr = &k->p->grids[k->grid];
    int rank = k->p->funcs[gr->func].ncoords;
    bool plain = !k->waits;
    o->x = k->p->g->exprs;
    for (int i = 0; i < rank; i++)
        plain = plain && is_plain(o->x, gr->extent[i]);
    put(o, "{\"symbol\": \"%s\", \"task\": %d, \"lds_bytes\": %d", k->symbol, task, k->lds_bytes);
    if (plain) {
        put(o, ", \"tiles\": ");
        put_dims(o, rank, gr->extent);
    }
    put(o, "}");
    o->x = o->g->x;
}

/* The items of a list, as numbers of kernels and loops of them; KERNEL counts on. */
static void put_run(struct out *o, const et_program *p, int first, int count, int *kernel) {
    put(o, "[");
    for (int i = first; i < first + count; i++) {
        const et_item *it = &p->items[i];
        if (i > first) put(o, ", ");
        if (it->kind == ET_P_GRID) {
            put(o, "%d", (*kernel)++);
            continue;
        }
        const et_loop *l = &p->g->loops[it->index];
        et_expr times[] = {et_int(p->g->exprs, l->hi - l->lo), l->trips};
        o->x = p->g->exprs;
        put(o, "{\"times\": ");
        if (et_loop_varies(p->g, l))
            put_dims(o, 2, times);
        else
            put(o, "%" PRId64, l->hi - l->lo);
        o->x = o->g->x;
        put(o, ", \"run\": ");
        put_run(o, p, it->first, it->count, kernel);
        put(o, "}");
    }
    put(o, "]");
}

/* The sequences, each "{" and for which launches it is; PUT_RUN writes what variant I runs. */
static void put_sequences(struct out *o, void (*put_run_of)(struct out *, int)) {
    const et_program *p = o->g->whole;
    bool any = false;
    for (int r = 0, least = 1, most = INT32_MAX; p->nvariants && run_of(p, r, &least, &most); r++)
        for (int i = 0; i < p->nvariants; i++) {
            if (!is_on(p, i, least)) continue;
            put(o, any ? ",\n  {" : "\n  {");
            if (p->variant_sym >= 0)
                put(o, "\"upto\": [\"%s\", %" PRId64 "], ", et_sym_name(o->g->x, p->variant_sym),
                    p->variant[i].upto);
            if (most < INT32_MAX) put(o, "\"workgroups\": %d, ", most);
            put_run_of(o, i);
            any = true;
        }
    if (p->nvariants) return;
    put(o, "\n  {");
    put_run_of(o, 0);
}

static void put_number(struct out *o, int i) {
    put(o, "\"run\": [%d]}", i);
}

/* Where each variant has a kernel of its own. */
static void put_variants(struct out *o) {
    cg *g = o->g;
    const et_program *p;
    put(o, ",\n \"kernels\": [");
    for (int i = 0, task = 0; (p = et_program_part(g->whole, i)); i++, task += p->ngrids) {
        const et_kernel *k = &g->kernels[i];
        put(o, "%s\n  {\"symbol\": \"%s\", \"task\": %d, \"workgroup\": %d, \"lds_bytes\": %d}",
            i ? "," : "", k->symbol, task, k->workitems, k->lds_bytes);
    }
    put(o, "],\n \"sequences\": [");
    put_sequences(o, put_number);
    put(o, "]");
}

static void put_grids(struct out *o, int i) {
    et_program *p = et_program_part(o->g->whole, i);
    int kernel = 0;
    for (int k = 0; k < i; k++)
        kernel += et_program_part(o->g->whole, k)->ngrids;
    put(o, "\"run\": ");
    put_run(o, p, p->first, p->count, &kernel);
    put(o, "}");
}

/* Of a launch that is a sequence of kernels: which there are, and in what order they run. */
static void put_sequence(struct out *o) {
    cg *g = o->g;
    const et_program *p;
    if (g->kernels && !g->nkernels) put_variants(o);
    if (!g->nkernels) return;
    put(o, ",\n \"kernels\": [");
    for (int i = 0, k = 0, task = 0; (p = et_program_part(g->whole, i)); i++, task += p->ngrids)
        for (int n = 0; n < p->ngrids; n++, k++) {
            put(o, k ? ",\n  " : "\n  ");
            put_kernel(o, &g->kernels[k], task + g->kernels[k].grid);
        }
    put(o, "],\n \"sequences\": [");
    put_sequences(o, put_grids);
    put(o, "]");
}

/* What all parts have, or hybrid where they differ. */
static const char *schedule_of(et_program *whole) {
    et_schedule_kind all = et_program_part(whole, 0)->schedule;
    const et_program *p;
    for (int i = 1; (p = et_program_part(whole, i)); i++)
        if (p->schedule != all) all = ET_SCHEDULE_HYBRID;
    return et_schedule_name(all);
}

static void put_models(struct out *o) {
    const et_graph *g = o->g->p->g;
    if (!g->nmodels) return;
    put(o, "\"models\": [");
    for (int i = 0; i < g->nmodels; i++) {
        put(o, i ? ", {\"name\": " : "{\"name\": ");
        put_string(o, g->model[i].name);
        et_share s = g->model[i].share;
        put(o, ", \"from\": %d, \"to\": %d, \"done\": %zu}", s.to ? s.from : 0,
            s.to ? s.to : 1000000, offsetof(struct etrt_report, done) + 4 * (size_t)i);
    }
    put(o, "],\n ");
}

/* Symbols of all dims are in the manifest, in their order. */
static void put_paces(struct out *o) {
    const et_graph *g = o->g->p->g;
    et_check((int)ET_PACE_UNITS == (int)ETRT_PACE_UNITS);
    et_check((int)ET_MAX_PACES == (int)ETRT_MAX_SIZES);
    if (!o->g->opt->resident || !g->nmodels) return;
    put(o, ",\n \"paces\": [");
    for (int i = 0; i < g->nmodels; i++) {
        const et_model *m = &g->model[i];
        const et_pace *p = m->pace;
        double never = 6e13, ns = m->latency_us > 0 ? m->latency_us * 1e3 : never;
        put(o, "%s[%d, %.0f, %.0f", i ? ", " : "", p && p->sym >= 0 ? p->sym : 0,
            fmax(1, m->weight * 1e6), fmax(1, ns));
        for (int k = 0; p && k < p->n; k++) {
            put(o, ",\n  %" PRId64, p->upto[k]);
            for (int w = 0; w < ET_PACE_UNITS; w++)
                put(o, ", %.0f", fmin(never, fmax(1, p->us[k][w] * 1e3)));
        }
        put(o, "]");
    }
    put(o, "]");
}

static char *framed(cg *g, const char *text) {
    size_t n = strlen(text);
    return et_printf(g->arena, "%s%08zx %08x\n%s", ETRT_MANIFEST_MAGIC, n,
                     etrt_manifest_sum(text, n), text);
}

static bool any_relaid(const cg *g) {
    const et_program *p;
    for (int i = 0; (p = et_program_part(g->whole, i)); i++)
        for (int t = 0; t < p->ntensors; t++)
            if (p->tensors[t].relaid) return true;
    return false;
}

static bool any_host(const cg *g) {
    for (int t = 0; t < g->whole->ntensors; t++)
        if (g->whole->tensors[t].host) return true;
    return false;
}

static bool any_packed(const cg *g) {
    for (int i = 0; i < g->whole->ntensors; i++)
        if (g->packed[i]) return true;
    return false;
}

char *cg_manifest(cg *g) {
    const et_program *p = g->p;
    struct out o;
    begin(&o, g);
    put(&o, "{\"abi\": %d, \"etcc\": \"%s\", \"target\": \"%s\", \"model\": ",
        g->whole->g->devices ? ETRT_ABI_DEVICES
        : g->opt->resident   ? ETRT_ABI_RESIDENT
        : any_host(g)        ? ETRT_ABI_HOST
        : any_packed(g)      ? ETRT_ABI_PACKED
        : cg_has_zeros(g)    ? ETRT_ABI_ZEROS
        : any_relaid(g)      ? ETRT_ABI_ORDER
        : g->tags.bytes      ? ETRT_ABI_TAGS
                             : ETRT_ABI_VERSION,
        ETCC_VERSION, g->t->name);
    put_string(&o, p->g->name ? p->g->name : "");
    put(&o, ",\n \"source_hash\": ");
    put_string(&o, p->source_hash && *p->source_hash ? p->source_hash : "none");
    put(&o, ", \"schedule\": ");
    put_string(&o, schedule_of(g->whole));
    put(&o,
        ",\n \"kernel\": {\"symbol\": \"%s\", \"workgroup\": %d, \"wavefront\": %d, "
        "\"lds_bytes\": %d},\n ",
        g->nkernels ? g->kernels[0].symbol : g->symbol, cg_workitems(g), g->t->wave, g->lds_bytes);
    put_models(&o);
    put(&o, "\"symbols\": [");
    for (int i = 0; i < et_sym_count(g->x); i++)
        put_symbol(&o, i);
    put(&o, "],\n \"tensors\": [");
    for (int i = 0, k = 0; i < p->ntensors; i++) {
        if (!is_argument(&p->tensors[i])) continue;
        put(&o, k ? ",\n  " : "\n  ");
        put_tensor(&o, &p->tensors[i], k, g->packed[k]);
        k++;
    }
    put_parts(&o);
    put(&o, "]");
    put_sequence(&o);
    put_paces(&o);
    if (cg_trace_tasks(g) >= 0)
        put(&o, ",\n \"profile\": {\"tasks\": %" PRId64 "}", cg_trace_tasks(g));
    put(&o, "}\n");
    return framed(g, end(&o));
}
