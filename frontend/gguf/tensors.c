/* tensors.c - the weights of a GGUF file as a safetensors file, a small piece at a time. */
#include "frontend/gguf/convert.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE = 1 << 16, /* elements that are converted at once; a multiple of every block */
    MOST_EXPERTS = 4096,
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
    const struct gguf_tensor *from;
    uint64_t first, elements; /* of them: all, or one expert */
    unsigned change;
    uint64_t head_rows; /* with GGUF_QUERY and GGUF_KEY */
    const struct target *to;
    const struct gguf_planes *planes; /* it stays quantised: number PLANE of these; or NULL */
    int plane;
};

struct gguf_plan {
    const struct gguf *g;
    const struct target *type;
    struct part *parts;
    struct etrt_st_tensor *tensors;
    int nparts, cparts, ctensors;
    bool widens; /* the user said the type */
    unsigned char *raw;
    float *values;
    void *packed;
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
           (part->from->rank == 1 || part->change & (GGUF_ROUTER | GGUF_TAPS));
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

/* COUNT elements of the part from its FROM on, a multiple of the block, as they will be written. */
static bool read_values(struct gguf_plan *p, const struct part *part, uint64_t from, size_t count) {
    const struct gguf_format *f = gguf_format(part->from->type);
    size_t bytes = count / f->elements * f->bytes;
    uint64_t at = part->from->offset + (part->first + from) / f->elements * f->bytes;
    if (!gguf_read(p->g, at, p->raw, bytes)) return false;
    f->unpack(p->raw, count / f->elements, p->values);
    if (f->elements > 1 && !all_finite(p->values, count))
        return fail_tensor(p->g, part->from, "has a scale that is no finite number");
    if (part->change & GGUF_NORM)
        for (size_t i = 0; i < count; i++)
            p->values[i] -= 1;
    return true;
}

/* Row ROW of the output is this one of the file. There a head has its two halves, which rope turns
 * against each other, row by row: 0, D/2, 1, D/2 + 1, ... */
static uint64_t row_of(const struct part *part, uint64_t row) {
    if (!(part->change & (GGUF_QUERY | GGUF_KEY))) return row;
    uint64_t d = part->head_rows, in_head = row % d;
    return row - in_head + in_head % (d / 2) * 2 + in_head / (d / 2);
}

/* ---- planning ---- */

/* A head's rows can be put in order where they are rows: of a matrix, or of a bias. */
static bool find_heads(const struct gguf *g, struct part *part, int64_t heads, int64_t kv_heads) {
    const struct gguf_tensor *t = part->from;
    if (!(part->change & (GGUF_QUERY | GGUF_KEY))) return true;
    int64_t n = part->change & GGUF_QUERY ? heads : kv_heads;
    uint64_t rows = t->rank == 1 ? t->dims[0] : t->dims[1];
    if (t->rank > 2 || n < 1 || rows % (2 * (uint64_t)n))
        return fail_tensor(g, t, "does not have rows for each head");
    if (t->rank == 1 && gguf_format(t->type)->elements > 1)
        return fail_tensor(g, t, "is a bias in blocks, which is not supported");
    part->head_rows = rows / (uint64_t)n;
    return true;
}

static void add_part(struct gguf_plan *p, struct part part, const char *name, int rank) {
    et_arena *a = p->g->arena;
    struct etrt_st_tensor t = {.name = name, .rank = rank};
    for (int d = 0; d < rank; d++)
        t.shape[rank - 1 - d] = (int64_t)part.from->dims[d];
    int n = p->nparts;
    ET_GROW(a, p->parts, n, p->cparts);
    ET_GROW(a, p->tensors, n, p->ctensors);
    p->parts[n] = part;
    p->tensors[n] = t;
    p->nparts++;
}

/* Does what PART is made of stay quantised? It is a matrix that products read. */
static const struct gguf_planes *planes_of(const struct gguf_plan *p, const struct part *part,
                                           const char *name) {
    size_t n = strlen(name), end = strlen(WEIGHT);
    bool matrix = part->from->rank > 1 && !(part->change & (GGUF_NORM | GGUF_ROUTER | GGUF_TAPS)) &&
                  n > end && !strcmp(name + n - end, WEIGHT);
    return matrix && !p->widens ? gguf_planes(part->from->type) : NULL;
}

/* A matrix, whole or in planes. */
static void add_matrix(struct gguf_plan *p, struct part part, const char *name, int rank) {
    part.planes = planes_of(p, &part, name);
    if (!part.planes) {
        add_part(p, part, name, rank);
        return;
    }
    int base = (int)(strlen(name) - strlen(WEIGHT));
    for (; part.plane < GGUF_MOST_PLANES && part.planes->plane[part.plane].name; part.plane++) {
        const struct gguf_plane *plane = &part.planes->plane[part.plane];
        add_part(p, part,
                 et_printf(p->g->arena, "%.*s.%s_%s", base, name, part.planes->name, plane->name),
                 rank);
        int64_t *columns = &p->tensors[p->nparts - 1].shape[rank - 1];
        *columns = gguf_plane_columns(plane, *columns);
    }
}

static bool add_experts(struct gguf_plan *p, struct part part, const char *name) {
    const struct gguf_tensor *t = part.from;
    const char *number = strstr(name, "{e}");
    if (t->rank != 3) return fail_tensor(p->g, t, "has not three dimensions, as experts have");
    if (t->dims[2] > MOST_EXPERTS) return fail_tensor(p->g, t, "has too many experts");
    part.elements = t->elements / t->dims[2];
    for (uint64_t e = 0; e < t->dims[2]; e++) {
        part.first = e * part.elements;
        add_matrix(
            p, part,
            et_printf(p->g->arena, "%.*s%" PRIu64 "%s", (int)(number - name), name, e, number + 3),
            2);
    }
    return true;
}

/* A convolution of each channel, [channels, taps] there and [channels, 1, taps] here. */
static bool add_taps(struct gguf_plan *p, struct part part, const char *name) {
    if (part.from->rank != 2) return fail_tensor(p->g, part.from, "has not two dimensions");
    add_part(p, part, name, 3);
    int64_t *shape = p->tensors[p->nparts - 1].shape;
    shape[0] = (int64_t)part.from->dims[1];
    shape[1] = 1;
    return true;
}

static bool add_tensor(struct gguf_plan *p, const struct gguf_family *f,
                       const struct gguf_tensor *t, int64_t heads, int64_t kv_heads) {
    struct part part = {.from = t, .elements = t->elements};
    const char *name = gguf_tensor_name(p->g, f, t->name, &part.change);
    if (!name)
        return fail_tensor(p->g, t,
                           et_printf(p->g->arena, "has no place in a %s model", f->architecture));
    if (part.change & (GGUF_ASIDE | GGUF_BEHIND)) return true;
    if (part.change & GGUF_EXPERTS) return add_experts(p, part, name);
    if (t->rank > 2) return fail_tensor(p->g, t, "has more than two dimensions");
    if (!find_heads(p->g, &part, heads, kv_heads)) return false;
    if (part.change & GGUF_TAPS) return add_taps(p, part, name);
    add_matrix(p, part, name, part.change & GGUF_ROW ? 2 : t->rank);
    return true;
}

/* Does every value of a small tensor stay what it is? */
static bool is_exact(struct gguf_plan *p, const struct part *part, const struct target *to,
                     bool *out) {
    const struct gguf_format *back = gguf_format(to->type);
    float again[256];
    *out = true;
    for (uint64_t at = 0; *out && at < part->elements; at += 256) {
        size_t n = part->elements - at < 256 ? (size_t)(part->elements - at) : 256;
        if (!read_values(p, part, at, n)) return false;
        to->pack(p->values, n, p->packed);
        back->unpack(p->packed, n, again);
        *out = !memcmp(again, p->values, n * sizeof *again);
    }
    return true;
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
    return p;
}

struct gguf_plan *gguf_plan_make(const struct gguf *g, const struct gguf_family *f,
                                 const char *type, int64_t heads, int64_t kv_heads, int *rounded) {
    struct gguf_plan *p = make_empty(g);
    p->widens = type;
    for (int i = 0; i < g->ntensors; i++)
        if (!add_tensor(p, f, &g->tensors[i], heads, kv_heads)) return NULL;
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
static bool check_range(struct gguf_plan *p, const struct part *part, size_t count) {
    const unsigned char *halves = p->packed;
    if (part->to->type != 1 || part->from->type == 1) return true;
    for (size_t i = 0; i < count; i++)
        if (is_infinite(halves + 2 * i) && p->values[i] - p->values[i] == 0)
            return fail_tensor(p->g, part->from, "has values beyond what F16 holds");
    return true;
}

/* What the first plane comes of is looked at as values, too: their scales are numbers. */
static bool put_plane(struct gguf_plan *p, const struct part *part, uint64_t from, size_t count,
                      struct etrt_st_sink *to) {
    const struct gguf_format *f = gguf_format(part->from->type);
    size_t blocks = count / f->elements;
    uint64_t at = part->from->offset + (part->first + from) / f->elements * f->bytes;
    if (!part->plane ? !read_values(p, part, from, count)
                     : !gguf_read(p->g, at, p->raw, blocks * f->bytes))
        return false;
    gguf_plane_take(part->planes, part->plane, p->raw, blocks, p->packed);
    return etrt_st_put(to, p->packed, gguf_plane_bytes(&part->planes->plane[part->plane], count));
}

static bool put_values(struct gguf_plan *p, const struct part *part, uint64_t from, size_t count,
                       struct etrt_st_sink *to) {
    if (part->planes) return put_plane(p, part, from, count, to);
    if (part->from->type == part->to->type && !(part->change & GGUF_NORM)) {
        size_t bytes = count * part->to->bytes;
        return gguf_read(p->g, part->from->offset + (part->first + from) * part->to->bytes, p->raw,
                         bytes) &&
               etrt_st_put(to, p->raw, bytes);
    }
    if (!read_values(p, part, from, count)) return false;
    part->to->pack(p->values, count, p->packed);
    return check_range(p, part, count) && etrt_st_put(to, p->packed, count * part->to->bytes);
}

static bool give(void *user, size_t index, struct etrt_st_sink *to) {
    struct gguf_plan *p = user;
    const struct part *part = &p->parts[index];
    uint64_t run = part->elements; /* elements that lie together here and there */
    if (part->change & (GGUF_QUERY | GGUF_KEY))
        run = part->from->rank == 1 ? 1 : part->from->dims[0];
    for (uint64_t at = 0; at < part->elements; at += run) {
        uint64_t from = row_of(part, at / run) * run;
        for (uint64_t done = 0; done < run; done += PIECE) {
            size_t n = run - done < PIECE ? (size_t)(run - done) : PIECE;
            if (!put_values(p, part, from + done, n, to)) return false;
        }
    }
    return true;
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
    add_part(p, (struct part){.from = t, .elements = t->elements, .to = p->type}, name, t->rank);
    describe(p);
    return gguf_plan_write(p, path);
}
