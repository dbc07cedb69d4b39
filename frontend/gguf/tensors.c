/* tensors.c - the weights of a GGUF file as a safetensors file, a small piece at a time. */
#include "frontend/gguf/convert.h"
#include "frontend/gguf/layout.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 16, /* elements that are converted at once; a multiple of every block */
    MOST_EXPERTS = 4096,
    MOST_SLICE = 1 << 27, /* elements of a matrix of which columns are read */
};
#define WEIGHT ".weight" /* in whose place names of planes stand */

struct target {
    const char *name; /* as safetensors spells it */
    size_t bytes;
    uint32_t type; /* the format here that is the same, bit for bit */
    void (*pack)(const float *from, size_t count, void *to);
};

/* A tensor of the output, and what it is made of. */
struct part {
    const struct gguf_tensor *from; /* or the first of several */
    struct gguf_layout layout;
    uint64_t elements;
    unsigned change;
    const struct target *to;
    const struct gguf_planes *planes; /* it stays quantised: number PLANE of these; or NULL */
    int plane;
};

/* A matrix of which columns are read: as floats, since rows are far apart. */
struct slice {
    const struct gguf_tensor *of;
    uint64_t number, room;
    float *values;
};

struct gguf_plan {
    const struct gguf *g;
    const json_t *config;
    const struct target *type;
    struct part *parts;
    struct etrt_st_tensor *tensors;
    int nparts, cparts, ctensors;
    bool widens; /* the user said the type */
    struct slice slices[2];
    int next_slice;
    unsigned char *raw;
    float *values;
    void *packed, *ordered;
};

/* ---- types ---- */

static void pack_f32(const float *from, size_t count, void *to) {
    memcpy(to, from, count * sizeof *from);
}

static void pack_f16(const float *from, size_t count, void *to) {
    uint16_t *out = to;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)etrt_f32_to_f16(from[i]);
}

static void pack_bf16(const float *from, size_t count, void *to) {
    uint16_t *out = to;
    for (size_t i = 0; i < count; i++)
        out[i] = (uint16_t)etrt_f32_to_bf16(from[i]);
}

static const struct target targets[] = {
    {"F32", 4, 0, pack_f32}, {"F16", 2, 1, pack_f16}, {"BF16", 2, 30, pack_bf16}};

static const struct target *target_called(const char *name) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (!strcmp(targets[i].name, name)) return &targets[i];
    return NULL;
}

static const struct target *target_of(uint32_t type) {
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        if (targets[i].type == type) return &targets[i];
    return NULL;
}

/* Was it kept in F32 by those who make such files, whatever type it had? */
static bool is_widened(const struct part *part) {
    return part->from->type == 0 &&
           (part->from->rank == 1 ||
            part->change & (GGUF_ROUTER | GGUF_TAPS | GGUF_LOG | GGUF_FLAT));
}

/* The type that all matrices have; BF16 where there are several, or blocks. */
static const struct target *matrix_type(const struct gguf_plan *p) {
    const struct target *bf16 = target_called("BF16"), *found = NULL;
    for (int i = 0; i < p->nparts; i++) {
        const struct gguf_tensor *t = p->parts[i].from;
        const struct target *type = target_of(t->type);
        if (t->rank < 2 || is_widened(&p->parts[i]) || p->parts[i].planes) continue;
        if (!type || (found && found != type)) return bf16;
        found = type;
    }
    return found ? found : bf16;
}

/* ---- reading ---- */

static bool fail_tensor(const struct gguf *g, const struct gguf_tensor *t, const char *why) {
    return gguf_fail(g->fault, "%s: tensor \"%s\" %s", g->path, gguf_shown(t->name), why);
}

static bool all_finite(const float *values, size_t count) {
    bool finite = true;
    for (size_t i = 0; i < count; i++)
        finite &= values[i] - values[i] == 0;
    return finite;
}

/* Elements of the part that lie together: COUNT of FROM's from AT on, or, TURNED, of its matrices'
 * columns. */
struct piece {
    const struct gguf_tensor *from;
    uint64_t at;
    size_t count;
    bool turned;
};

/* What gave X as minus exp of it. Those who make such files round that to f32: a bf16 that gives X,
 * but for the last two bits, is what it was made of. */
static float log_of(float x) {
    float y = (float)log(-(double)x), near = etrt_bf16_to_f32(etrt_f32_to_bf16(y));
    return fabs(exp((double)near) + (double)x) <= 3e-7 * fabs((double)x) ? near : y;
}

static bool change_values(struct gguf_plan *p, const struct part *part, size_t count) {
    for (size_t i = 0; part->change & GGUF_NORM && i < count; i++)
        p->values[i] -= 1;
    if (!(part->change & GGUF_LOG)) return true;
    for (size_t i = 0; i < count; i++) {
        if (!(p->values[i] < 0) || p->values[i] - p->values[i] != 0)
            return fail_tensor(p->g, part->from, "has a value that is no minus exp of a number");
        p->values[i] = log_of(p->values[i]);
    }
    return true;
}

/* COUNT elements of T from AT on, a multiple of the block. */
static bool unpack(struct gguf_plan *p, const struct gguf_tensor *t, uint64_t at, size_t count,
                   float *to) {
    const struct gguf_format *f = gguf_format(t->type);
    if (!gguf_read(p->g, t->offset + at / f->elements * f->bytes, p->raw,
                   count / f->elements * f->bytes))
        return false;
    f->unpack(p->raw, count / f->elements, to);
    return f->elements == 1 || all_finite(to, count) ||
           fail_tensor(p->g, t, "has a scale that is no finite number");
}

/* Matrix NUMBER of T. */
static const float *slice_of(struct gguf_plan *p, const struct gguf_tensor *t, uint64_t number) {
    uint64_t n = t->dims[0] * t->dims[1];
    for (int i = 0; i < 2; i++)
        if (p->slices[i].of == t && p->slices[i].number == number) return p->slices[i].values;
    struct slice *s = &p->slices[p->next_slice++ % 2];
    if (s->room < n) s->values = et_alloc(p->g->arena, n * sizeof *s->values);
    if (s->room < n) s->room = n;
    *s = (struct slice){t, number, s->room, s->values};
    for (uint64_t at = 0; at < n; at += PIECE) {
        size_t count = n - at < PIECE ? (size_t)(n - at) : PIECE;
        if (!unpack(p, t, number * n + at, count, s->values + at)) {
            s->of = NULL;
            return NULL;
        }
    }
    return s->values;
}

static bool read_turned(struct gguf_plan *p, const struct piece *e) {
    const struct gguf_tensor *t = e->from;
    uint64_t row = e->at / t->dims[1], first = e->at % t->dims[1], column = row % t->dims[0];
    const float *slice = slice_of(p, t, row / t->dims[0]);
    for (size_t i = 0; slice && i < e->count; i++)
        p->values[i] = slice[(first + i) * t->dims[0] + column];
    return slice;
}

/* The values of a piece as they will be written. */
static bool read_values(struct gguf_plan *p, const struct part *part, const struct piece *e) {
    bool ok = e->turned ? read_turned(p, e) : unpack(p, e->from, e->at, e->count, p->values);
    return ok && change_values(p, part, e->count);
}

typedef bool visit(struct gguf_plan *, const struct part *, const struct piece *, void *user);

/* COUNT elements of FROM that lie together, PIECE at a time. */
static bool each_run(struct gguf_plan *p, const struct part *part, struct piece e, uint64_t count,
                     visit *see, void *user) {
    for (; count; e.at += e.count, count -= e.count) {
        e.count = count < PIECE ? (size_t)count : PIECE;
        if (!see(p, part, &e, user)) return false;
    }
    return true;
}

/* The elements of the part in their order. Rows whose columns change places come one by one. */
static bool each_piece(struct gguf_plan *p, const struct part *part, visit *see, void *user) {
    const struct gguf_layout *l = &part->layout;
    for (int k = 0; k < l->nsections; k++)
        for (uint64_t turn = 0; turn < l->section[k].turns; turn++)
            for (int r = 0; r < l->section[k].nrows; r++) {
                const struct gguf_rows *rows = &l->section[k].rows[r];
                bool together = rows->step == 1 && !rows->turned && !l->piece;
                uint64_t runs = together ? 1 : rows->count;
                for (uint64_t i = 0; i < runs; i++) {
                    uint64_t row = rows->first + turn * rows->stride + i * rows->step;
                    struct piece e = {rows->from, row * l->row, 0, rows->turned};
                    if (!each_run(p, part, e, together ? rows->count * l->row : l->row, see, user))
                        return false;
                }
            }
    return true;
}

/* ---- planning ---- */

/* Is all that the part is made of of one format, and none of it turned? */
static bool is_of_one(const struct part *part) {
    const struct gguf_layout *l = &part->layout;
    for (int k = 0; k < l->nsections; k++)
        for (int r = 0; r < l->section[k].nrows; r++)
            if (l->section[k].rows[r].turned ||
                l->section[k].rows[r].from->type != part->from->type)
                return false;
    return true;
}

/* What rows cannot be: beyond the tensor's, a part of blocks, of too large matrices. */
static bool check_rows(const struct gguf_plan *p, const struct gguf_rows *rows, uint64_t turns,
                       uint64_t row) {
    const struct gguf_tensor *t = rows->from;
    uint64_t all = t->elements / row;
    if (!turns || !rows->count ||
        rows->first + (turns - 1) * rows->stride + (rows->count - 1) * rows->step >= all)
        return fail_tensor(p->g, t, "does not have rows for each head");
    if (!rows->turned && rows->count != all && row % gguf_format(t->type)->elements)
        return fail_tensor(p->g, t, "is in blocks, which is not supported");
    if (rows->turned && t->dims[0] * t->dims[1] > MOST_SLICE)
        return fail_tensor(p->g, t, "has matrices that are too large to be turned");
    return true;
}

static bool check_layout(const struct gguf_plan *p, const struct part *part) {
    const struct gguf_layout *l = &part->layout;
    uint64_t have = 0, want = 1;
    if (l->piece && l->row > PIECE) return fail_tensor(p->g, part->from, "has too many columns");
    for (int d = 0; d < l->rank; d++)
        want *= l->dims[d];
    for (int k = 0; k < l->nsections; k++)
        for (int r = 0; r < l->section[k].nrows; r++) {
            const struct gguf_rows *rows = &l->section[k].rows[r];
            have += l->section[k].turns * rows->count * l->row;
            if (!check_rows(p, rows, l->section[k].turns, l->row)) return false;
        }
    return have == want || fail_tensor(p->g, part->from, "does not have rows for each head");
}

static void add_part(struct gguf_plan *p, struct part part, const char *name) {
    et_arena *a = p->g->arena;
    const struct gguf_layout *l = &part.layout;
    struct etrt_st_tensor t = {.name = name, .rank = l->rank};
    part.elements = 1;
    for (int d = 0; d < l->rank; d++) {
        t.shape[l->rank - 1 - d] = (int64_t)l->dims[d];
        part.elements *= l->dims[d];
    }
    int n = p->nparts;
    ET_GROW(a, p->parts, n, p->cparts);
    ET_GROW(a, p->tensors, n, p->ctensors);
    p->parts[n] = part;
    p->tensors[n] = t;
    p->nparts++;
}

/* Can columns of blocks change places, piece by piece? Where no number is of two pieces. */
static bool keeps_pieces(const struct gguf_planes *f, uint64_t piece) {
    for (int k = 0; piece && k < GGUF_MOST_PLANES && f->plane[k].name; k++)
        if (piece % f->plane[k].group || piece / f->plane[k].group * f->plane[k].bits % 8)
            return false;
    return true;
}

/* Does what PART is made of stay quantised? It is a matrix that products read. */
static const struct gguf_planes *planes_of(const struct gguf_plan *p, const struct part *part) {
    unsigned other = GGUF_NORM | GGUF_ROUTER | GGUF_TAPS | GGUF_LOG | GGUF_FLAT;
    const struct gguf_planes *f =
        p->widens || part->layout.rank < 2 || part->change & other || !is_of_one(part)
            ? NULL
            : gguf_planes(part->from->type);
    return f && keeps_pieces(f, part->layout.piece) ? f : NULL;
}

/* A matrix, whole or in planes. */
static bool add_matrix(struct gguf_plan *p, struct part part, const char *name) {
    if (!check_layout(p, &part)) return false;
    size_t n = strlen(name), end = strlen(WEIGHT);
    bool weight = n > end && !strcmp(name + n - end, WEIGHT);
    part.planes = weight || part.change & GGUF_STACKED ? planes_of(p, &part) : NULL;
    if (!part.planes) {
        add_part(p, part, name);
        return true;
    }
    for (; part.plane < GGUF_MOST_PLANES && part.planes->plane[part.plane].name; part.plane++) {
        const struct gguf_plane *plane = &part.planes->plane[part.plane];
        add_part(p, part,
                 et_printf(p->g->arena, "%.*s.%s_%s", (int)(weight ? n - end : n), name,
                           part.planes->name, plane->name));
        int64_t *columns = &p->tensors[p->nparts - 1].shape[part.layout.rank - 1];
        *columns = gguf_plane_columns(plane, *columns);
    }
    return true;
}

static bool add_experts(struct gguf_plan *p, struct part part, const char *name) {
    const struct gguf_tensor *t = part.from;
    const char *number = strstr(name, "{e}");
    if (t->rank != 3) return fail_tensor(p->g, t, "has not three dimensions, as experts have");
    if (t->dims[2] > MOST_EXPERTS) return fail_tensor(p->g, t, "has too many experts");
    for (uint64_t e = 0; e < t->dims[2]; e++) {
        gguf_layout_expert(p->g, t, e, &part.layout);
        if (!add_matrix(p, part,
                        et_printf(p->g->arena, "%.*s%" PRIu64 "%s", (int)(number - name), name, e,
                                  number + 3)))
            return false;
    }
    return true;
}

static bool add_tensor(struct gguf_plan *p, const struct gguf_family *f,
                       const struct gguf_tensor *t) {
    struct part part = {.from = t};
    bool stays = !p->widens && gguf_planes(t->type);
    const char *name = gguf_tensor_name(p->g, f, p->config, t->name, stays, &part.change);
    unsigned shaped = GGUF_STACKED | GGUF_FLAT | GGUF_TAPS | GGUF_KV_B | GGUF_LOG;
    if (!name)
        return fail_tensor(p->g, t,
                           et_printf(p->g->arena, "has no place in a %s model", f->architecture));
    if (part.change & (GGUF_ASIDE | GGUF_BEHIND | GGUF_JOINED)) return true;
    if (part.change & GGUF_EXPERTS) return add_experts(p, part, name);
    if (t->rank > 2 && !(part.change & shaped))
        return fail_tensor(p->g, t, "has more than two dimensions");
    return gguf_layout(p->g, p->config, t, part.change, &part.layout) && add_matrix(p, part, name);
}

/* Does every value of a small tensor stay what it is? */
struct exact {
    const struct target *to;
    bool is;
};

static bool compare_exact(struct gguf_plan *p, const struct part *part, const struct piece *e,
                          void *user) {
    struct exact *x = user;
    const struct gguf_format *back = gguf_format(x->to->type);
    float *again = p->ordered;
    if (!x->is) return true;
    if (!read_values(p, part, e)) return false;
    x->to->pack(p->values, e->count, p->packed);
    back->unpack(p->packed, e->count, again);
    x->is = !memcmp(again, p->values, e->count * sizeof *again);
    return true;
}

static bool is_exact(struct gguf_plan *p, const struct part *part, const struct target *to,
                     bool *out) {
    struct exact x = {to, true};
    bool ok = each_piece(p, part, compare_exact, &x);
    *out = x.is;
    return ok;
}

/* The name without the number of its layer. */
static struct gguf_text kind_of(const struct part *part) {
    struct gguf_text name = part->from->name;
    const char *dot;
    if (name.bytes > 4 && !memcmp(name.at, "blk.", 4) &&
        (dot = memchr(name.at + 4, '.', name.bytes - 4))) {
        name.bytes -= (size_t)(dot - name.at);
        name.at = dot;
    }
    return name;
}

struct kinds { /* of what was widened: does all of it lose nothing in the type of the matrices? */
    struct gguf_text *name;
    bool *exact;
    int n, cname, cexact;
};

static bool *kind_in(struct kinds *k, et_arena *arena, const struct part *part) {
    struct gguf_text name = kind_of(part);
    for (int i = 0; i < k->n; i++)
        if (k->name[i].bytes == name.bytes && !memcmp(k->name[i].at, name.at, name.bytes))
            return &k->exact[i];
    ET_GROW(arena, k->name, k->n, k->cname);
    ET_GROW(arena, k->exact, k->n, k->cexact);
    k->name[k->n] = name;
    k->exact[k->n] = !(part->change & GGUF_KEPT);
    return &k->exact[k->n++];
}

/* What was widened has the type of the matrices again where it loses nothing by it in any layer,
 * else it stays F32: one kind of weight has one type in all layers. CHOSEN: the user said the type.
 */
static bool choose_types(struct gguf_plan *p, bool chosen, int *rounded) {
    struct kinds kinds = {0};
    *rounded = 0;
    for (int i = 0; !chosen && i < p->nparts; i++) {
        if (!is_widened(&p->parts[i])) continue;
        bool *exact = kind_in(&kinds, p->g->arena, &p->parts[i]);
        if (*exact && !is_exact(p, &p->parts[i], p->type, exact)) return false;
    }
    for (int i = 0; i < p->nparts; i++) {
        struct part *part = &p->parts[i];
        const struct target *had = target_of(part->from->type);
        bool back = is_widened(part) && !chosen;
        part->to = back && !*kind_in(&kinds, p->g->arena, part) ? target_called("F32") : p->type;
        *rounded +=
            !part->planes && had && had != part->to && part->to->bytes <= had->bytes && !back;
    }
    return true;
}

static void describe(struct gguf_plan *p) {
    for (int i = 0; i < p->nparts; i++) {
        const struct part *part = &p->parts[i];
        const struct gguf_plane *plane = part->planes ? &part->planes->plane[part->plane] : NULL;
        p->tensors[i].dtype = plane ? plane->dtype : part->to->name;
        p->tensors[i].bytes =
            plane ? gguf_plane_bytes(plane, part->elements) : part->elements * part->to->bytes;
    }
}

static struct gguf_plan *make_empty(const struct gguf *g) {
    struct gguf_plan *p = et_alloc(g->arena, sizeof *p);
    p->g = g;
    p->raw = et_alloc(g->arena, PIECE * sizeof(float));
    p->values = et_alloc(g->arena, PIECE * sizeof(float));
    p->packed = et_alloc(g->arena, PIECE * sizeof(float));
    p->ordered = et_alloc(g->arena, PIECE * sizeof(float));
    return p;
}

struct gguf_plan *gguf_plan_make(const struct gguf *g, const struct gguf_family *f,
                                 const char *type, const json_t *config, int *rounded) {
    struct gguf_plan *p = make_empty(g);
    p->config = config;
    p->widens = type;
    for (int i = 0; i < g->ntensors; i++)
        if (!add_tensor(p, f, &g->tensors[i])) return NULL;
    p->type = type ? target_called(type) : matrix_type(p);
    if (!choose_types(p, type, rounded)) return NULL;
    describe(p);
    return p;
}

const char *gguf_plan_type(const struct gguf_plan *p) {
    return p->type->name;
}

bool gguf_plan_quantised(const struct gguf_plan *p) {
    for (int i = 0; i < p->nparts; i++)
        if (p->parts[i].planes) return true;
    return false;
}

/* ---- writing ---- */

static bool is_infinite(const unsigned char *half) {
    return (half[0] | (half[1] & 0x7f) << 8) == 0x7c00;
}

/* F16 has no numbers as large as the other types have. */
static bool check_range(struct gguf_plan *p, const struct part *part, const struct piece *e) {
    const unsigned char *halves = p->packed;
    if (part->to->type != 1 || e->from->type == 1) return true;
    for (size_t i = 0; i < e->count; i++)
        if (is_infinite(halves + 2 * i) && p->values[i] - p->values[i] == 0)
            return fail_tensor(p->g, e->from, "has values beyond what F16 holds");
    return true;
}

/* BYTES of a row, or of a piece of one that is in order. */
static bool put_bytes(struct gguf_plan *p, const struct part *part, size_t bytes,
                      struct etrt_st_sink *to) {
    const struct gguf_layout *l = &part->layout;
    if (!l->piece) return etrt_st_put(to, p->packed, bytes);
    size_t each = l->row / l->piece / l->groups, piece = bytes / (each * l->groups);
    for (size_t i = 0; i < each * l->groups; i++)
        memcpy((char *)p->ordered + i * piece,
               (char *)p->packed + (i % each * l->groups + i / each) * piece, piece);
    return etrt_st_put(to, p->ordered, bytes);
}

/* What the first plane comes of is looked at as values, too: their scales are numbers. */
static bool put_plane(struct gguf_plan *p, const struct part *part, const struct piece *e,
                      struct etrt_st_sink *to) {
    const struct gguf_format *f = gguf_format(e->from->type);
    size_t blocks = e->count / f->elements;
    uint64_t at = e->from->offset + e->at / f->elements * f->bytes;
    if (!part->plane ? !read_values(p, part, e) : !gguf_read(p->g, at, p->raw, blocks * f->bytes))
        return false;
    gguf_plane_take(part->planes, part->plane, p->raw, blocks, p->packed);
    return put_bytes(p, part, gguf_plane_bytes(&part->planes->plane[part->plane], e->count), to);
}

static bool put_piece(struct gguf_plan *p, const struct part *part, const struct piece *e,
                      void *user) {
    struct etrt_st_sink *to = user;
    bool same = e->from->type == part->to->type && !(part->change & (GGUF_NORM | GGUF_LOG));
    size_t bytes = e->count * part->to->bytes;
    if (part->planes) return put_plane(p, part, e, to);
    if (same && !e->turned)
        return gguf_read(p->g, e->from->offset + e->at * part->to->bytes, p->packed, bytes) &&
               put_bytes(p, part, bytes, to);
    if (!read_values(p, part, e)) return false;
    part->to->pack(p->values, e->count, p->packed);
    return check_range(p, part, e) && put_bytes(p, part, bytes, to);
}

static bool give(void *user, size_t index, struct etrt_st_sink *to) {
    struct gguf_plan *p = user;
    return each_piece(p, &p->parts[index], put_piece, to);
}

bool gguf_plan_write(struct gguf_plan *p, const char *path) {
    char err[ETRT_ST_ERR];
    if (etrt_st_write_from(path, p->tensors, (size_t)p->nparts, give, p, err, sizeof err))
        return true;
    return gguf_fail(p->g->fault, "%s", *err ? err : "the weights could not be converted");
}

bool gguf_plan_write_one(const struct gguf *g, const struct gguf_tensor *t, const char *name,
                         const char *path) {
    struct gguf_plan *p = make_empty(g);
    p->widens = true;
    p->type = target_called("F32");
    struct part part = {.from = t, .to = p->type};
    gguf_layout_plain(g, t, &part.layout);
    add_part(p, part, name);
    describe(p);
    return gguf_plan_write(p, path);
}
