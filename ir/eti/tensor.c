/* Declarations of tensors. */
#include "ir/eti/parser.h"
#include "ir/program/tags.h"
#include "ir/weights/host.h"
#include <stdlib.h>
#include <string.h>

const char *eti_plain_name(eti_parser *p, const char *label) {
    const char *dot = strrchr(label, '.');
    if (!dot || dot[1] < '0' || dot[1] > '9') return label;
    return et_strndup(p->arena, label, (size_t)(dot - label));
}

int eti_loop_named(eti_parser *p) {
    et_loc loc = p->tok.loc;
    const char *label = eti_need_name(p, ETI_NAME, "a loop");
    int l = label ? eti_find(p, 'n', label, loc, "loop") : -1;
    if (l >= 0) eti_error(p, loc, "'%s' is a dim, not a loop", label);
    return l < -1 ? -2 - l : -1;
}

/* dtype[dim, ...] */
void eti_shape(eti_parser *p, et_shape *out_shape) {
    *out_shape = (et_shape){.rank = -1};
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "a type: f32, f16, bf16 or i32");
    if (!name) return;
    bool ok = et_dtype_parse(name, &out_shape->dtype);
    if (!ok)
        eti_error(p, loc,
                  "unknown type '%s': there are " ETRT_DTYPE_NAMES
                  "of which those of 8 bits and fewer are for weights alone",
                  name);
    int rank = 0;
    int64_t bytes = 8;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        loc = p->tok.loc;
        et_expr e = eti_expr_of(p, p->loop >= 0 ? ETI_LOOPS : 0, ET_T_I32, "a dimension");
        int64_t lo, hi;
        ok &= e.id && eti_symbols_only(p, e, loc, "a dimension") &&
              eti_in_bounds(p, e, loc, 1, INT32_MAX, "a dimension");
        if (rank == ET_MAX_RANK) {
            eti_error(p, loc, "more than %d dimensions", ET_MAX_RANK);
            ok = false;
        } else {
            out_shape->dim[rank++] = e;
        }
        if (ok && (!et_bounds(p->x, e, &lo, &hi) || __builtin_mul_overflow(bytes, hi, &bytes) ||
                   bytes > ETI_MAX_BYTES)) {
            eti_error(p, loc, "too many elements");
            ok = false;
        }
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (ok && !p->broken) out_shape->rank = rank;
}

bool eti_storable(eti_parser *p, et_loc loc, const et_shape *s, bool weight) {
    const char *problem = et_shape_problem(p->x, s, weight);
    if (problem) eti_error(p, loc, "%s", problem);
    return !problem;
}

/* ---- data of constants ---- */

static int64_t count_of(eti_parser *p, const et_shape *s, et_loc loc) {
    int64_t n = 1, d;
    for (int i = 0; i < s->rank; i++) {
        if (!et_is_int(p->x, s->dim[i], &d)) {
            eti_error(p, loc, "the dimensions of a constant are constants");
            return -1;
        }
        n *= d;
    }
    if (s->dtype == ET_F32 || s->dtype == ET_I32) return n;
    eti_error(p, loc, "a constant is f32 or i32");
    return -1;
}

const void *eti_data(eti_parser *p, const et_shape *s) {
    et_loc loc = p->tok.loc;
    int64_t want = s->rank >= 0 ? count_of(p, s, loc) : -1;
    bool integers = s->rank >= 0 && s->dtype == ET_I32;
    int32_t *v = NULL;
    int n = 0, cap = 0;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        int32_t word;
        if (integers) {
            word = (int32_t)eti_need_int(p, INT32_MIN, INT32_MAX, "an element");
        } else {
            float f = (float)eti_need_float(p);
            memcpy(&word, &f, sizeof word);
        }
        ET_GROW(p->arena, v, n, cap);
        v[n++] = word;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (p->broken || want < 0) return NULL;
    if (n == want) return v ? v : et_alloc(p->arena, 16);
    eti_error(p, loc, "%d elements for a constant of %lld", n, (long long)want);
    return NULL;
}

/* ---- weights in loops ---- */

/* "over l, m": the loops of a weight of SHAPE. */
static void parse_over(eti_parser *p, const et_shape *s, int *out_n, int loops[ET_MAX_LOOPS]) {
    int n = 0, inner = -1;
    *out_n = 0;
    do {
        et_loc loc = p->tok.loc;
        int l = eti_loop_named(p);
        int64_t trips;
        if (l < 0) continue;
        int up = l;
        while (up >= 0 && up != inner && inner >= 0)
            up = p->g->loops[up].parent;
        if (inner >= 0 && (up < 0 || l == inner)) {
            eti_error(p, loc, "loops are named from the outermost in");
        } else if (n == ET_MAX_LOOPS) {
            eti_error(p, loc, "more than %d loops", ET_MAX_LOOPS);
        } else if (s->rank >= 0 && (n >= s->rank || !et_is_int(p->x, s->dim[n], &trips) ||
                                    trips != p->g->loops[l].hi - p->g->loops[l].lo)) {
            eti_error(p, loc, "dimension %d must be %lld, the iterations of this loop", n,
                      (long long)(p->g->loops[l].hi - p->g->loops[l].lo));
        } else {
            loops[n++] = l;
        }
        inner = l;
    } while (eti_take(p, ','));
    *out_n = n;
}

/* NAME in 0..TRIPS [from FIRST], ... after "each": appended to the loops of a weight. */
void eti_each(eti_parser *p, const et_shape *s, int *n, int loops[ET_MAX_LOOPS]) {
    do {
        et_loc loc = p->tok.loc;
        int64_t size, from = 0;
        const char *name = eti_need_name(p, ETI_NAME, "what the name in the checkpoint calls it");
        eti_need_word(p, "in");
        eti_need_int(p, 0, 0, "where it starts");
        eti_need(p, ETI_OP2('.', '.'));
        int64_t trips = eti_need_int(p, 1, INT32_MAX, "the number of tensors");
        if (eti_take_word(p, "from")) from = eti_need_int(p, 0, INT32_MAX - trips, "the first");
        if (p->broken || !name) return;
        if (*n == ET_MAX_LOOPS || p->g->nloops >= ETI_MAX_ITEMS)
            eti_error(p, loc, "more than %d loops", ET_MAX_LOOPS);
        else if (s->rank >= 0 &&
                 (*n >= s->rank || !et_is_int(p->x, s->dim[*n], &size) || size != trips))
            eti_error(p, loc, "dimension %d must be %lld, the number of tensors", *n,
                      (long long)trips);
        else
            loops[(*n)++] = et_graph_stack(p->g, name, from, from + trips, loc);
    } while (eti_take(p, ','));
}

et_expr eti_until(eti_parser *p, int64_t most) {
    et_expr all = et_int(p->x, most);
    if (!eti_take_word(p, "until")) return all;
    et_loc loc = p->tok.loc;
    et_expr e = eti_expr_of(p, 0, ET_T_I32, "the iterations of a launch");
    bool ok = e.id && eti_symbols_only(p, e, loc, "the iterations of a launch") &&
              eti_in_bounds(p, e, loc, 1, most, "the iterations of a launch");
    return ok ? e : all;
}

/* ---- the statement ---- */

static bool constant_dims(eti_parser *p, const et_shape *s) {
    int64_t n;
    for (int i = 0; i < s->rank; i++)
        if (!et_is_int(p->x, s->dim[i], &n)) return false;
    return true;
}

static void initial(eti_parser *p, et_tensor *t) {
    et_loc loc = p->tok.loc;
    if (t->kind == ET_TENSOR_CONST) {
        t->data = eti_data(p, &t->shape);
    } else if (t->kind == ET_TENSOR_WEIGHT) {
        const char *source = eti_need_name(p, ETI_STRING, "the weight's name in the checkpoint");
        if (source && !*source) eti_error(p, loc, "an empty name");
        if (source) t->source = source;
    } else {
        eti_error(p, loc, "only weights and constants have a value here");
        p->broken = true;
    }
}

static void place(eti_parser *p, et_tensor *t, int index) {
    et_loc loc = p->tok.loc;
    t->offset = eti_need_int(p, 0, ETI_MAX_BYTES, "an offset in the workspace");
    if (p->broken) return;
    if (t->kind != ET_TENSOR_TEMP)
        eti_error(p, loc, "only temporaries have a place in the workspace");
    else if (t->offset % 256)
        eti_error(p, loc, "an offset in the workspace is a multiple of 256");
    while (index >= p->cplaced) {
        int n = p->cplaced ? 2 * p->cplaced : 64;
        bool *v = et_alloc(p->arena, (size_t)n);
        if (p->cplaced) memcpy(v, p->placed, (size_t)p->cplaced);
        p->placed = v;
        p->cplaced = n;
    }
    p->placed[index] = p->planned = true;
}

/* The next of the dimensions in the checkpoint that make dimension *TO of SHAPE; *LEFT: what is
 * left of it. */
static bool fills(const eti_parser *p, const et_shape *shape, int64_t size, int *to,
                  int64_t *left) {
    while (*left == 1 && *to + 1 < shape->rank)
        if (!et_is_int(p->x, shape->dim[++*to], left)) return false;
    if (size < 1 || *left % size) return false;
    *left /= size;
    return true;
}

/* "[3, 2, 8] [0, 2, 1]": the checkpoint's dimensions, and which of them lie in which order. */
static void relaid(eti_parser *p, et_tensor *t) {
    et_loc loc = p->tok.loc;
    et_relaid *as = et_alloc(p->arena, sizeof *as);
    int64_t size[ET_MAX_RANK], left = 1;
    unsigned seen = 0;
    int to = -1;
    eti_need(p, '[');
    do {
        if (as->rank == ET_MAX_RANK) eti_error(p, loc, "more than %d dimensions", ET_MAX_RANK);
        if (as->rank == ET_MAX_RANK || p->broken) return;
        size[as->rank] = eti_need_int(p, 1, ETI_MAX_BYTES, "a dimension");
        as->dim[as->rank] = et_int(p->x, size[as->rank]);
        as->rank++;
    } while (eti_take(p, ','));
    eti_need(p, ']');
    eti_need(p, '[');
    for (int d = 0; d < as->rank && !p->broken; d++) {
        if (d) eti_need(p, ',');
        as->order[d] = (unsigned char)eti_need_int(p, 0, as->rank - 1, "the number of a dimension");
        if (seen >> as->order[d] & 1)
            eti_error(p, loc, "dimension %d is there twice", as->order[d]);
        if (d < t->nloops && as->order[d] != d)
            eti_error(p, loc, "dimensions from loops keep their places");
        seen |= 1u << as->order[d];
        if (!p->broken && t->shape.rank >= 0 &&
            !fills(p, &t->shape, size[as->order[d]], &to, &left))
            eti_error(p, loc, "the checkpoint's dimensions are not those of the weight");
    }
    eti_need(p, ']');
    if (!p->broken && t->shape.rank >= 0 && (left != 1 || to + 1 != t->shape.rank))
        eti_error(p, loc, "the checkpoint's dimensions are fewer than those of the weight");
    t->relaid = as;
}

/* "from FIRST of SIZE": in the checkpoint the axis has SIZE elements. */
static void piece(eti_parser *p, et_device_cut *out) {
    out->from = eti_need_int(p, 0, INT32_MAX, "the first element that is divided");
    if (!eti_take_word(p, "of")) eti_error(p, p->tok.loc, "expected 'of' and how many there are");
    out->of = eti_need_int(p, 1, INT32_MAX, "elements of the checkpoint's tensor");
}

static bool fits(const eti_parser *p, const et_shape *s, const et_device_cut *c) {
    int64_t part;
    return et_is_int(p->g->exprs, s->dim[c->axis], &part) &&
           part <= (c->of - c->from) / (c->devices / c->repeat);
}

/* "cut AXIS [repeat R] [from FIRST of SIZE]": each of the devices has a part of it. */
void eti_cut(eti_parser *p, const et_shape *s, bool weight, et_device_cut *out) {
    et_loc loc = p->tok.loc;
    if (!eti_take_word(p, "cut")) return;
    out->axis = (int)eti_need_int(p, 0, ET_MAX_RANK - 1, "the dimension that is cut");
    out->devices = p->g->devices;
    out->repeat = 1;
    if (eti_take_word(p, "repeat"))
        out->repeat = (int)eti_need_int(p, 2, ET_MAX_DEVICES, "devices that have the same part");
    if (weight && eti_take_word(p, "from")) piece(p, out);
    if (p->broken) return;
    if (!p->g->devices)
        eti_error(p, loc, "'devices' says before this how many have a part");
    else if (out->devices % out->repeat || out->repeat == out->devices)
        eti_error(p, loc, "%d devices do not have parts that %d share", out->devices, out->repeat);
    else if (s->rank >= 0 && out->axis >= s->rank)
        eti_error(p, loc, "there are %d dimensions", s->rank);
    else if (s->rank >= 0 && out->of && !fits(p, s, out))
        eti_error(p, loc, "the checkpoint has less of that dimension");
}

static void partial(eti_parser *p, et_tensor *t) {
    et_loc loc = p->tok.loc;
    if (!eti_take_word(p, "partial")) return;
    t->partial = p->g->devices;
    if (!t->partial) eti_error(p, loc, "'devices' says before this how many have a part");
    if (eti_take_word(p, "own"))
        t->own = 1 + (int)eti_need_int(p, 0, ET_MAX_RANK - 1, "the dimension of devices");
    t->flagged = eti_take_word(p, "flagged");
    if (t->flagged && eti_take_word(p, "dealt"))
        t->dealt = 1 + (int)eti_need_int(p, 0, ET_MAX_RANK - 1, "the dimension of rows");
    if (!et_may_be_partial(t))
        eti_error(p, loc, "what is partial over devices is f32, or a sum's flagged parts bf16");
}

/* "host DIMS": it lies in host memory, in entries that the first DIMS dimensions number. */
static void host(eti_parser *p, et_tensor *t) {
    et_loc loc = p->tok.loc;
    if (!eti_take_word(p, "host")) return;
    int dims = (int)eti_need_int(p, 1, ET_MAX_RANK - 1, "the dimensions that number its entries");
    if (p->broken || t->shape.rank < 0 || !constant_dims(p, &t->shape)) return;
    const char *problem = et_host_problem(p->p, t, dims);
    if (problem) eti_error(p, loc, "%s", problem);
    t->host = dims;
}

/* "owners N by PAD", "places N": of grouping number N. */
static void grouping(eti_parser *p, et_tensor *t) {
    et_loc loc = p->tok.loc;
    bool owners = eti_take_word(p, "owners"), places = !owners && eti_take_word(p, "places");
    if (!owners && !places) return;
    t->grouping.number = (int)eti_need_int(p, 1, INT32_MAX, "the number of a grouping");
    if (owners) {
        eti_need_word(p, "by");
        t->grouping.pad = (int)eti_need_int(p, 1, 4096, "the places of a block");
    }
    if (t->shape.dtype != ET_I32) eti_error(p, loc, "owners and places are i32");
}

static void clauses(eti_parser *p, et_tensor *t, int index) {
    if (eti_take(p, '=')) initial(p, t);
    if (eti_is_word(p, "over") && t->kind == ET_TENSOR_WEIGHT) {
        eti_next(p);
        parse_over(p, &t->shape, &t->nloops, t->loops);
    }
    if (t->kind == ET_TENSOR_WEIGHT && eti_take_word(p, "each"))
        eti_each(p, &t->shape, &t->nloops, t->loops);
    if (t->kind == ET_TENSOR_WEIGHT && eti_take_word(p, "turned")) relaid(p, t);
    if (t->kind == ET_TENSOR_TEMP && eti_take_word(p, "carried"))
        t->carried = eti_loop_named(p) + 1;
    if (t->kind != ET_TENSOR_TEMP) eti_cut(p, &t->shape, t->kind == ET_TENSOR_WEIGHT, &t->cut);
    if (t->kind == ET_TENSOR_WEIGHT) host(p, t);
    if (t->kind == ET_TENSOR_TEMP) partial(p, t);
    if (t->kind == ET_TENSOR_TEMP) t->shared = eti_take_word(p, "shared");
    if (t->kind == ET_TENSOR_TEMP) grouping(p, t);
    if (t->kind == ET_TENSOR_TEMP) t->tagged = eti_take_word(p, "tagged");
    if (eti_take_word(p, "at")) place(p, t, index);
}

void eti_tensor(eti_parser *p) {
    static const char *const kinds[] = {"input", "output", "weight", "state", "const", "temp"};
    int kind = 0, index = p->p->ntensors;
    while (!eti_is_word(p, kinds[kind]))
        kind++;
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors;
    const char *name = eti_need_name(p, ETI_TENSOR, "a tensor such as %x");
    et_tensor t = {.kind = (et_tensor_kind)kind, .name = name, .shape = {.rank = -1}};
    if (t.kind == ET_TENSOR_WEIGHT && name) t.source = et_model_plain(p->g, name);
    eti_need(p, ':');
    if (!p->broken) eti_shape(p, &t.shape);
    clauses(p, &t, index);
    if (!name) return;
    bool fixed = t.kind == ET_TENSOR_WEIGHT;
    if (t.shape.rank >= 0 && fixed && !constant_dims(p, &t.shape))
        eti_error(p, loc, "the dimensions of a weight are constants");
    else if (t.shape.rank >= 0)
        eti_storable(p, loc, &t.shape, fixed);
    if (t.kind == ET_TENSOR_CONST && !t.data && !p->broken && p->errors == before)
        eti_error(p, loc, "a constant needs its elements: = [...]");
    if (index >= ETI_MAX_ITEMS) eti_error(p, loc, "more than %d tensors", ETI_MAX_ITEMS);
    bool (*declare)(eti_parser *, char, const char *, et_loc, int) =
        t.kind == ET_TENSOR_TEMP ? eti_declare_made : eti_declare;
    if (p->broken || p->errors > before || t.shape.rank < 0 || !declare(p, '%', name, loc, index)) {
        eti_poison(p, '%', name, loc);
        return;
    }
    t.max_bytes = et_tagged_bytes(&t, et_shape_max_bytes(p->x, &t.shape));
    ET_GROW(p->arena, p->p->tensors, p->p->ntensors, p->p->ctensors);
    p->p->tensors[p->p->ntensors++] = t;
}
