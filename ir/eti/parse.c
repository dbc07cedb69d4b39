/* The outermost level of .eti: header, dims, declarations in order; and the tools all of the parser
 * is made of. Start reading at et_eti_parse. */
#include "ir/eti/parser.h"
#include "ir/weights/stream.h"
#include <string.h>

/* ---- errors ---- */

void eti_error(eti_parser *p, et_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    if (!p->broken) et_diag(p->diags, ET_ERROR, loc, "%s", et_vprintf(p->arena, fmt, ap));
    p->errors++;
    va_end(ap);
}

static const char *found(eti_parser *p) {
    static const char sign[] = {[ETI_TENSOR] = '%', [ETI_LOCAL] = '$', [ETI_FUNC] = '@'};
    const eti_tok *t = &p->tok;
    switch (t->kind) {
    case ETI_EOF:
        return "the end of the file";
    case ETI_NAME:
        return et_printf(p->arena, "'%s'", t->text);
    case ETI_INT:
    case ETI_FLOAT:
        return "a number";
    case ETI_STRING:
        return "a string";
    case ETI_OP:
        return et_printf(p->arena, "'%c%.*s'", t->op & 255, t->op > 255,
                         (char[]){(char)(t->op >> 8), 0});
    default:
        return et_printf(p->arena, "'%c%s'", sign[t->kind], t->text);
    }
}

void eti_expected(eti_parser *p, const char *what) {
    if (p->tok.kind != ETI_BAD) eti_error(p, p->tok.loc, "expected %s, found %s", what, found(p));
    p->broken = true;
}

/* ---- tokens ---- */

bool eti_is(const eti_parser *p, int op) {
    return p->tok.kind == ETI_OP && p->tok.op == op;
}

bool eti_take(eti_parser *p, int op) {
    if (p->broken || !eti_is(p, op)) return false;
    eti_next(p);
    return true;
}

void eti_need(eti_parser *p, int op) {
    if (p->broken || eti_take(p, op)) return;
    eti_expected(p,
                 et_printf(p->arena, "'%c%.*s'", op & 255, op > 255, (char[]){(char)(op >> 8), 0}));
}

bool eti_is_word(const eti_parser *p, const char *word) {
    return p->tok.kind == ETI_NAME && strcmp(p->tok.text, word) == 0;
}

bool eti_take_word(eti_parser *p, const char *word) {
    if (p->broken || !eti_is_word(p, word)) return false;
    eti_next(p);
    return true;
}

void eti_need_word(eti_parser *p, const char *word) {
    if (p->broken || eti_take_word(p, word)) return;
    eti_expected(p, et_printf(p->arena, "'%s'", word));
}

const char *eti_need_name(eti_parser *p, eti_kind kind, const char *what) {
    if (p->broken) return NULL;
    if (p->tok.kind != kind) {
        eti_expected(p, what);
        return NULL;
    }
    const char *text = p->tok.text;
    if (kind != ETI_STRING) eti_enter_model(p, text);
    eti_next(p);
    return text;
}

int64_t eti_need_int(eti_parser *p, int64_t lo, int64_t hi, const char *what) {
    et_loc loc = p->tok.loc;
    bool negative = eti_take(p, '-');
    if (p->broken) return lo;
    if (p->tok.kind != ETI_INT) {
        eti_expected(p, what);
        return lo;
    }
    int64_t v = negative ? -p->tok.i : p->tok.i;
    if (v < lo || v > hi) {
        eti_error(p, loc, "%s must be from %lld to %lld, this is %lld", what, (long long)lo,
                  (long long)hi, (long long)v);
        v = lo;
    }
    eti_next(p);
    return v;
}

double eti_need_float(eti_parser *p) {
    bool negative = eti_take(p, '-');
    if (p->broken) return 0;
    double v = p->tok.kind == ETI_INT     ? (double)p->tok.i
               : p->tok.kind == ETI_FLOAT ? p->tok.f
               : eti_is_word(p, "inf")    ? (double)__builtin_inf()
               : eti_is_word(p, "nan")    ? (double)__builtin_nan("")
                                          : 0;
    if (p->tok.kind != ETI_INT && p->tok.kind != ETI_FLOAT && !eti_is_word(p, "inf") &&
        !eti_is_word(p, "nan"))
        eti_expected(p, "a number");
    else
        eti_next(p);
    return negative ? -v : v;
}

bool eti_among(const char *text, const char *const *words) {
    for (; words && *words; words++)
        if (strcmp(*words, text) == 0) return true;
    return false;
}

void eti_recover(eti_parser *p, const char *const *words, const char *signs) {
    static const char sign[] = {[ETI_TENSOR] = '%', [ETI_LOCAL] = '$', [ETI_FUNC] = '@'};
    p->broken = true; /* what the lexer finds in what is skipped is not worth telling */
    p->depth = 0;
    if (p->at == p->recovered) eti_next(p); /* nothing was read since the last time */
    while (p->tok.kind != ETI_EOF) {
        const eti_tok *t = &p->tok;
        bool named = t->kind == ETI_TENSOR || t->kind == ETI_LOCAL || t->kind == ETI_FUNC;
        if (t->fresh && (eti_is(p, '}') || (t->kind == ETI_NAME && eti_among(t->text, words)) ||
                         (named && strchr(signs, sign[t->kind]))))
            break;
        eti_next(p);
    }
    p->broken = false;
    p->recovered = p->at;
}

/* ---- the header and what comes first ---- */

static void header(eti_parser *p) {
    eti_need_word(p, "eti");
    et_loc loc = p->tok.loc;
    int64_t version = eti_need_int(p, 0, ETI_MAX_INT, "the version of the format");
    if (!p->broken && version != 1)
        eti_error(p, loc, "version %lld of .eti: this etcc reads version 1", (long long)version);
    loc = p->tok.loc;
    const char *stage = eti_need_name(p, ETI_NAME, "a stage");
    int found = stage ? et_mode_find(et_stage_name, stage) : ET_STAGE_NONE;
    p->stage = found < 0 ? ET_STAGE_NONE : (et_stage)found;
    if (found < 0) {
        eti_error(p, loc, "unknown stage '%s'", stage);
        et_diag(p->diags, ET_NOTE, loc,
                "the stages are graph, fused, tiled, evented, placed and scheduled");
        p->stage = ET_STAGE_GRAPH;
        p->broken = true;
    }
}

static void model(eti_parser *p) {
    eti_next(p);
    const char *name = eti_need_name(p, ETI_NAME, "the model's name");
    if (name) p->g->name = name;
}

static void source(eti_parser *p) {
    eti_next(p);
    const char *hash_text = eti_need_name(p, ETI_STRING, "the hash in quotes");
    if (hash_text) p->g->source_hash = hash_text;
}

static void dim(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "a name");
    eti_need_word(p, "in");
    int64_t lo = eti_need_int(p, 0, INT32_MAX, "the least value");
    eti_need(p, ETI_OP2('.', '.'));
    et_loc at = p->tok.loc;
    int64_t hi = eti_need_int(p, 0, INT32_MAX, "the greatest value");
    if (!name) return;
    if (!p->broken && lo > hi) eti_error(p, at, "the greatest value is less than the least");
    if (et_sym_count(p->x) >= ETI_MAX_ITEMS) {
        eti_error(p, loc, "too many dims");
        return;
    }
    bool narrowed = p->narrow && strcmp(p->narrow, name) == 0 && p->narrow_lo >= lo &&
                    p->narrow_hi <= hi && p->narrow_lo <= p->narrow_hi;
    if (lo > hi || p->broken || !eti_declare(p, 'n', name, loc, et_sym_count(p->x)))
        eti_poison(p, 'n', name, loc);
    else
        et_sym_add(p->x, name, narrowed ? p->narrow_lo : lo, narrowed ? p->narrow_hi : hi);
}

/* loop LABEL in 0..TRIPS [until ITERATIONS] [from FIRST] [within LABEL] */
static void loop(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *label = eti_need_name(p, ETI_NAME, "the loop's variable");
    eti_need_word(p, "in");
    eti_need_int(p, 0, 0, "where the variable starts");
    eti_need(p, ETI_OP2('.', '.'));
    int64_t trips = eti_need_int(p, 1, INT32_MAX, "the number of iterations"), from = 0;
    et_expr until = eti_until(p, trips);
    if (eti_take_word(p, "from")) from = eti_need_int(p, 0, INT32_MAX - trips, "what is added");
    int parent = eti_take_word(p, "within") ? eti_loop_named(p) : -1;
    if (!label) return;
    int depth = 1;
    for (int l = parent; l >= 0; l = p->g->loops[l].parent)
        depth++;
    if (depth > ET_MAX_LOOPS) eti_error(p, loc, "loops nest at most %d deep", ET_MAX_LOOPS);
    if (p->broken || depth > ET_MAX_LOOPS || !eti_declare(p, 'n', label, loc, -2 - p->g->nloops)) {
        eti_poison(p, 'n', label, loc);
        return;
    }
    et_graph *g = p->g;
    ET_GROW(g->arena, g->loops, g->nloops, g->cloops);
    g->loops[g->nloops++] = (et_loop){.name = et_model_plain(g, eti_plain_name(p, label)),
                                      .model = g->building,
                                      .var = et_var_add(p->x, label, until),
                                      .lo = from,
                                      .hi = from + trips,
                                      .trips = until,
                                      .parent = parent,
                                      .loc = loc};
}

static void workgroup(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int n = (int)eti_need_int(p, 64, 1024, "work-items per workgroup");
    if (!p->broken && (n & (n - 1))) {
        eti_error(p, loc, "work-items per workgroup must be a power of two, this is %d", n);
        n = 256;
    }
    p->p->workgroup = n;
    if (eti_take_word(p, "occupancy"))
        p->p->occupancy =
            (int)eti_need_int(p, 1, ET_MAX_OCCUPANCY, "the workgroups that a CU holds at once");
}

static void devices(eti_parser *p) {
    eti_next(p);
    p->g->devices = (int)eti_need_int(p, 2, ET_MAX_DEVICES, "the devices that run it together");
}

/* rows E by UNIT */
static void rows(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    et_expr e = eti_expr_of(p, 0, ET_T_I32, "the rows that are dealt to devices");
    eti_need_word(p, "by");
    p->p->deal_unit = (int)eti_need_int(p, 1, 4096, "rows that stay together");
    if (p->broken || !e.id || !eti_symbols_only(p, e, loc, "how many rows are dealt")) return;
    if (!p->g->devices) eti_error(p, loc, "'devices' says before this how many rows are dealt to");
    p->p->rows = e;
}

static void wave(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    p->wave = (int)eti_need_int(p, 32, 64, "work-items per wave");
    if (!p->broken && p->wave != 32 && p->wave != 64)
        eti_error(p, loc, "a wave has 32 or 64 work-items");
    if (p->wave != 32) p->wave = 64;
}

static void workspace(eti_parser *p) {
    eti_next(p);
    p->p->workspace_bytes = eti_need_int(p, 0, ETI_MAX_BYTES, "the size of the workspace");
    p->planned |= p->p->workspace_bytes > 0;
}

/* ring SLOTS of BYTES flight BYTES [calm BYTES] [prefetch BYTES] [producers N] */
static void ring(eti_parser *p) {
    et_ring r = {0};
    eti_next(p);
    r.slots = (int)eti_need_int(p, ET_RING_MIN_SLOTS, ET_RING_MAX_SLOTS, "the slots of a ring");
    eti_need_word(p, "of");
    et_loc loc = p->tok.loc;
    r.bytes = (int)eti_need_int(p, ET_RING_LINE, 1 << 20, "the bytes of a slot");
    if (r.bytes % ET_RING_LINE)
        eti_error(p, loc, "a slot's bytes are a multiple of %d", ET_RING_LINE);
    eti_need_word(p, "flight");
    r.flight = (int)eti_need_int(p, ET_RING_LINE, INT64_C(1) << 26, "the bytes in flight");
    r.calm = r.flight;
    if (eti_take_word(p, "calm"))
        r.calm = (int)eti_need_int(p, ET_RING_LINE, r.flight, "the bytes in flight in a calm");
    if (eti_take_word(p, "prefetch"))
        r.prefetch =
            (int)eti_need_int(p, ET_RING_LINE, INT64_C(1) << 26, "the bytes that are prefetched");
    if (eti_take_word(p, "producers"))
        r.producers = (int)eti_need_int(p, 1, ET_RING_MAX_PRODUCERS, "the producers of a ring");
    if (!p->broken) p->p->ring = r;
}

static void variant(eti_parser *);

enum {
    GRAPH = ET_STAGE_GRAPH,
    FUSED = ET_STAGE_FUSED,
    TILED = ET_STAGE_TILED,
    EVENTED = ET_STAGE_EVENTED,
    PLACED = ET_STAGE_PLACED,
    SCHEDULED = ET_STAGE_SCHEDULED
};
static const struct {
    const char *word;
    void (*parse)(eti_parser *);
    int first, last; /* stages */
} statements[] = {
    {"model", model, GRAPH, SCHEDULED},       {"source", source, GRAPH, SCHEDULED},
    {"part", eti_part, GRAPH, SCHEDULED},     {"dim", dim, GRAPH, SCHEDULED},
    {"devices", devices, GRAPH, SCHEDULED},   {"workgroup", workgroup, FUSED, SCHEDULED},
    {"wave", wave, FUSED, SCHEDULED},         {"workspace", workspace, FUSED, SCHEDULED},
    {"loop", loop, FUSED, SCHEDULED},         {"input", eti_tensor, FUSED, SCHEDULED},
    {"output", eti_tensor, FUSED, SCHEDULED}, {"weight", eti_tensor, FUSED, SCHEDULED},
    {"state", eti_tensor, FUSED, SCHEDULED},  {"const", eti_tensor, FUSED, SCHEDULED},
    {"temp", eti_tensor, FUSED, SCHEDULED},   {"variant", variant, FUSED, SCHEDULED},
    {"group", eti_group, FUSED, FUSED},       {"func", eti_function, TILED, SCHEDULED},
    {"event", eti_event, EVENTED, SCHEDULED}, {"schedule", eti_schedule, FUSED, SCHEDULED},
    {"ring", ring, PLACED, SCHEDULED},        {"rows", rows, FUSED, SCHEDULED},
};
enum { NSTATEMENTS = sizeof statements / sizeof *statements };

/* A parser for a program of its own, at the same place of the same text. */
static eti_parser *begin(eti_parser *from) {
    eti_parser *p = et_alloc(from->arena, sizeof *p);
    *p = (eti_parser){.arena = from->arena,
                      .diags = from->diags,
                      .g = et_graph_create(from->arena, from->diags),
                      .file = from->file,
                      .at = from->at,
                      .end = from->end,
                      .line_begin = from->line_begin,
                      .line = from->line,
                      .tok = from->tok,
                      .loop = -1,
                      .model = -1,
                      .wave = 64,
                      .told_before = from->told_before,
                      .narrow = from->narrow,
                      .narrow_lo = from->narrow_lo,
                      .narrow_hi = from->narrow_hi};
    p->x = p->g->exprs;
    return p;
}

static et_graph *whole_program(eti_parser *p, et_program **out_program);

static bool visible(const et_tensor *t) {
    return t->kind != ET_TENSOR_TEMP && t->kind != ET_TENSOR_CONST;
}

/* The caller binds tensors by name and in order: they must be the same in all variants. */
static bool same_tensors(const et_program *a, const et_program *b) {
    int i = 0, k = 0;
    for (;;) {
        while (i < a->ntensors && !visible(&a->tensors[i]))
            i++;
        while (k < b->ntensors && !visible(&b->tensors[k]))
            k++;
        if (i == a->ntensors || k == b->ntensors) return i == a->ntensors && k == b->ntensors;
        const et_tensor *s = &a->tensors[i++], *t = &b->tensors[k++];
        if (s->kind != t->kind || strcmp(s->name, t->name) != 0 ||
            s->shape.dtype != t->shape.dtype || s->shape.rank != t->shape.rank)
            return false;
    }
}

static bool same_dims(const eti_parser *p, const eti_parser *q, int sym, int64_t lo, int64_t hi) {
    if (et_sym_count(p->x) != et_sym_count(q->x)) return false;
    for (int s = 0; s < et_sym_count(p->x); s++) {
        int64_t a, b, u, v;
        et_sym_range(p->x, s, &a, &b);
        et_sym_range(q->x, s, &u, &v);
        if (s == sym) a = lo, b = hi;
        if (strcmp(et_sym_name(p->x, s), et_sym_name(q->x, s)) != 0 || u > a || v < b) return false;
    }
    return true;
}

static int dim_called(const eti_parser *p, const char *name) {
    int s = et_sym_count(p->x) - 1;
    while (s >= 0 && strcmp(et_sym_name(p->x, s), name) != 0)
        s--;
    return s;
}

/* Which workgroups are whose is decided before the variant is. */
static bool same_models(const et_graph *a, const et_graph *b) {
    bool same = a->nmodels == b->nmodels;
    for (int i = 0; same && i < a->nmodels; i++)
        same = strcmp(a->model[i].name, b->model[i].name) == 0 &&
               a->model[i].share.from == b->model[i].share.from &&
               a->model[i].share.to == b->model[i].share.to;
    return same;
}

/* What a variant is for, but for its program: NAME, a dim or NULL, and what it and workgroups are
 * up to; *OUT_LO: the dim's least. */
static void check_bounds(eti_parser *p, et_loc loc, const char *name, const et_variant *v,
                         int64_t *out_lo) {
    et_program *pr = p->p;
    const et_variant *last = pr->nvariants ? &pr->variant[pr->nvariants - 1] : NULL;
    bool wider = last && last->most != v->most;
    int sym = name ? dim_called(p, name) : -1;
    int64_t hi = 0;
    *out_lo = 0;
    if ((name && sym < 0) || (last && sym != pr->variant_sym)) {
        eti_error(p, loc, "variants go by the value of one dim");
        return;
    }
    pr->variant_sym = sym;
    bool behind = wider ? last->most && (!v->most || v->least > last->most)
                        : !last || (sym >= 0 && v->least == last->least);
    if (!behind)
        eti_error(p, loc,
                  "variants are in the order of their workgroups, those for any number last");
    if (sym < 0) return;
    et_sym_range(p->x, sym, out_lo, &hi);
    if (wider && last->upto != hi)
        eti_error(p, loc, "none is for the largest value of the dim on %d", last->most);
    if (last && !wider) *out_lo = last->upto + 1;
    if (v->upto < *out_lo || v->upto > hi)
        eti_error(p, loc, "this variant must be for values from %lld up to at most %lld",
                  (long long)*out_lo, (long long)hi);
}

/* variant [N up to 4] [on 64..68] { a whole program } */
static void variant(eti_parser *p) {
    et_program *pr = p->p, *part;
    et_variant of = {0};
    eti_next(p);
    et_loc loc = p->tok.loc;
    const char *name = NULL;
    int64_t lo;
    if (!eti_is(p, '{')) name = eti_need_name(p, ETI_NAME, "a dim");
    bool on = name && strcmp(name, "on") == 0 && eti_is(p, ETI_INT);
    if (on) {
        name = NULL;
    } else if (name) {
        eti_need_word(p, "up");
        eti_need_word(p, "to");
        of.upto = eti_need_int(p, 0, INT32_MAX, "the largest value of the dim");
        on = eti_take_word(p, "on");
    }
    if (on) {
        of.least = (int)eti_need_int(p, 1, 65535, "the least workgroups");
        eti_need(p, ETI_OP2('.', '.'));
        of.most = (int)eti_need_int(p, of.least, 65535, "the most workgroups");
    }
    if (p->broken || !eti_is(p, '{')) {
        eti_need(p, '{');
        return;
    }
    check_bounds(p, loc, name, &of, &lo);
    if (pr->nvariants == ET_MAX_VARIANTS)
        eti_error(p, loc, "more than %d variants", ET_MAX_VARIANTS);
    if (p->inside) {
        eti_error(p, loc, "a variant within a variant");
        p->broken = true;
        return;
    }
    eti_next(p);
    eti_parser *q = begin(p);
    q->inside = true;
    et_graph *g = whole_program(q, &part);
    p->at = q->at, p->line = q->line, p->line_begin = q->line_begin, p->tok = q->tok;
    eti_need(p, '}');
    p->errors += q->errors;
    if (!g || p->broken || p->errors) return;
    if (q->stage != p->stage || !same_dims(p, q, pr->variant_sym, lo, of.upto) ||
        !same_tensors(pr, part) || !same_models(p->g, g)) {
        eti_error(p, loc,
                  "a variant has the stage, the dims, the tensors and the parts of the program");
        return;
    }
    of.program = part;
    pr->variant[pr->nvariants++] = of;
}

static void statement(eti_parser *p) {
    for (int i = 0; i < NSTATEMENTS; i++) {
        bool of_programs = p->stage == ET_STAGE_GRAPH && statements[i].first > GRAPH;
        if (of_programs || !eti_is_word(p, statements[i].word)) continue;
        if ((int)p->stage < statements[i].first || (int)p->stage > statements[i].last) {
            eti_error(p, p->tok.loc, "no '%s' at stage %s", statements[i].word,
                      et_stage_name(p->stage));
            p->broken = true;
            return;
        }
        eti_any_model(p);
        statements[i].parse(p);
        return;
    }
    eti_any_model(p);
    if (p->stage == ET_STAGE_GRAPH)
        eti_graph_body(p);
    else
        eti_expected(p, "a declaration, a func or the schedule");
}

static bool gave_up(const eti_parser *p) {
    return p->errors >= ETI_MAX_ERRORS;
}

static void statement_list(eti_parser *p) {
    const char *words[NSTATEMENTS + 2];
    for (int i = 0; i < NSTATEMENTS; i++)
        words[i] = statements[i].word;
    words[NSTATEMENTS] = "for";
    words[NSTATEMENTS + 1] = NULL;
    while (p->tok.kind != ETI_EOF && !gave_up(p)) {
        if (p->inside && eti_is(p, '}')) return;
        statement(p);
        if (!p->broken) continue;
        eti_recover(p, words, p->stage > ET_STAGE_GRAPH ? "" : "%");
        while (eti_is(p, '}') && !p->inside) { /* of what was skipped */
            eti_next(p);
            eti_recover(p, words, p->stage > ET_STAGE_GRAPH ? "" : "%");
        }
    }
}

bool et_eti_looks(const char *text, size_t bytes) {
    size_t i = 0;
    while (i < bytes && (strchr(" \t\r\n", text[i]) || text[i] == '#')) {
        if (!text[i]) return false;
        if (text[i] == '#')
            while (i < bytes && text[i] != '\n')
                i++;
        i += i < bytes;
    }
    return bytes - i >= 4 && memcmp(text + i, "eti", 3) == 0 && strchr(" \t", text[i + 3]) &&
           text[i + 3];
}

/* From "eti" to the end of the text, or of the variant. */
static et_graph *whole_program(eti_parser *p, et_program **out_program) {
    *out_program = NULL;
    header(p);
    if (p->broken) return NULL;
    if (p->stage > ET_STAGE_GRAPH) {
        p->p = et_program_create(p->g);
        p->p->stage = p->stage;
    }
    statement_list(p);
    if (p->stage == ET_STAGE_GRAPH) eti_graph_end(p);
    if (gave_up(p))
        et_diag(p->diags, ET_ERROR, (et_loc){0}, "%d errors: giving up", ETI_MAX_ERRORS);
    if (!p->errors && et_diag_errors(p->diags) == p->told_before) eti_finish(p);
    if (p->errors || et_diag_errors(p->diags) > p->told_before) return NULL;
    if (p->p) p->p->source_hash = p->g->source_hash;
    *out_program = p->p;
    return p->g;
}

et_graph *et_eti_parse_narrow(et_arena *arena, et_diags *diags, const char *file_name,
                              const char *text, size_t bytes, const char *dim_name, int64_t lo,
                              int64_t hi, et_program **out_program) {
    *out_program = NULL;
    eti_parser first = {.arena = arena,
                        .diags = diags,
                        .at = text,
                        .end = text + bytes,
                        .line_begin = text,
                        .line = 1,
                        .told_before = et_diag_errors(diags),
                        .narrow = dim_name,
                        .narrow_lo = lo,
                        .narrow_hi = hi};
    if (bytes > (size_t)256 << 20) {
        et_diag(diags, ET_ERROR, (et_loc){0}, "%s: larger than 256 MB", file_name);
        return NULL;
    }
    first.file = et_diag_file(diags, file_name, text, bytes);
    eti_parser *p = begin(&first);
    eti_next(p);
    return whole_program(p, out_program);
}

et_graph *et_eti_parse(et_arena *arena, et_diags *diags, const char *file_name, const char *text,
                       size_t bytes, et_program **out_program) {
    return et_eti_parse_narrow(arena, diags, file_name, text, bytes, NULL, 0, 0, out_program);
}
