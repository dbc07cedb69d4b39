/* What a manifest says of a tensor beyond its shape: where a weight is in the checkpoint, how it
 * lies in memory, and which part of it each of several devices has. */
#include "runtime/etrt/manifest/parse.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt_abi.h"
#include "runtime/etrt_source.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SLICES = 1 << 20 };

/* Does each variable of "4*b+l" name a loop? */
static bool names_loops(const struct etrt_tensor *t, const char *text, size_t bytes) {
    struct etrt_source_index x;
    if (!etrt_source_index(text, bytes, &x) || !x.n) return false;
    for (int i = 0; i < x.n; i++) {
        bool found = false;
        for (int k = 0; k < t->nloops; k++)
            found |= etrt_source_is(&x, i, t->loops[k].name);
        if (!found) return false;
    }
    return true;
}

/* Every {x} of a source is of loops. */
static etrt_status check_source(const struct etrt_json_at *at, const struct etrt_tensor *t) {
    for (const char *p = t->source; (p = strpbrk(p, "{}")); p++) {
        size_t n = strcspn(p + 1, "{}");
        if (*p != '{' || p[1 + n] != '}' || !names_loops(t, p + 1, n))
            return etrt_json_fail(at, "source \"%s\" names something that is no loop", t->source);
        p += 1 + n;
    }
    return ETRT_OK;
}

static etrt_status parse_loops(const struct etrt_json_at *up, json_t *object,
                               struct etrt_tensor *t) {
    struct etrt_json_at at = {up, "loops", 0};
    json_t *array;
    int64_t slices = 1;
    if (!json_object_get(object, "loops")) return ETRT_OK;
    etrt_status st = etrt_json_array(up, object, "loops", (size_t)t->rank, &array);
    if (st != ETRT_OK) return st;
    for (size_t k = 0; k < json_array_size(array); k++) {
        struct etrt_json_at in = {&at, NULL, k};
        struct etrt_loop *loop = &t->loops[k];
        json_t *v = json_array_get(array, k);
        const char *name;
        int64_t extent;
        if (!json_is_array(v) || json_array_size(v) != 3)
            return etrt_json_fail(&in, "must be [name, lo, hi]");
        st = etrt_json_check_string(&in, json_array_get(v, 0), &name);
        if (st == ETRT_OK)
            st = etrt_json_check_int(&in, json_array_get(v, 1), 0, ETRT_MAX_BYTES, &loop->lo);
        if (st == ETRT_OK)
            st = etrt_json_check_int(&in, json_array_get(v, 2), 0, ETRT_MAX_BYTES, &loop->hi);
        if (st != ETRT_OK) return st;
        if (!etrt_expr_eval(&t->shape[k], NULL, &extent) || extent != loop->hi - loop->lo)
            return etrt_json_fail(&in, "%lld..%lld does not match dimension %zu of the shape",
                                  (long long)loop->lo, (long long)loop->hi, k);
        loop->name = strdup(name);
        if (!loop->name) return etrt_no_memory();
        t->nloops = (int)k + 1;
        if (__builtin_mul_overflow(slices, extent, &slices) || slices > MAX_SLICES)
            return etrt_json_fail(&in, "more than %d slices", MAX_SLICES);
    }
    return ETRT_OK;
}

/* "order": a permutation, in which loops stay where they are. */
static etrt_status parse_order(const struct etrt_json_at *up, json_t *object,
                               struct etrt_tensor *t) {
    struct etrt_json_at at = {up, "order", 0};
    json_t *array;
    unsigned seen = 0;
    if (!json_object_get(object, "order")) return ETRT_OK;
    if (json_object_get(object, "zeros") || json_object_get(object, "packed"))
        return etrt_json_fail(&at, "of a weight with \"zeros\" or \"packed\"");
    etrt_status st = etrt_json_array(up, object, "order", (size_t)t->rank, &array);
    if (st != ETRT_OK) return st;
    if (json_array_size(array) != (size_t)t->rank)
        return etrt_json_fail(&at, "must have %d dimensions", t->rank);
    for (int d = 0; d < t->rank; d++) {
        struct etrt_json_at in = {&at, NULL, (size_t)d};
        int64_t n;
        st = etrt_json_check_int(&in, json_array_get(array, (size_t)d), 0, t->rank - 1, &n);
        if (st != ETRT_OK) return st;
        if (seen >> n & 1 || (d < t->nloops && n != d))
            return etrt_json_fail(&in, "dimension %lld cannot be here", (long long)n);
        seen |= 1u << n;
        t->order[d] = (unsigned char)n;
        t->relaid |= n != d;
    }
    return ETRT_OK;
}

etrt_status etrt_parse_weight(const struct etrt_json_at *at, json_t *object,
                              struct etrt_tensor *t) {
    for (int d = 0; d < t->rank; d++)
        if (etrt_expr_uses_symbols(&t->shape[d]))
            return etrt_json_fail(at, "the shape of weight %s depends on a symbol", t->name);
    etrt_status st = etrt_parse_copy(at, object, "source", &t->source);
    if (st == ETRT_OK) st = parse_loops(at, object, t);
    if (st == ETRT_OK) st = parse_order(at, object, t);
    return st == ETRT_OK ? check_source(at, t) : st;
}

/* "host" of a weight whose size is known. */
etrt_status etrt_parse_host(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *t,
                            const int64_t *shape) {
    struct etrt_json_at at = {up, "host", 0};
    int64_t dims;
    if (!json_object_get(object, "host")) return ETRT_OK;
    etrt_status st = etrt_json_int(up, object, "host", 1, ETRT_MAX_RANK - 1, &dims);
    if (st != ETRT_OK) return st;
    bool fits = t->kind == ETRT_WEIGHT && dims < t->rank && dims >= t->nloops && t->max_bytes &&
                !json_object_get(object, "zeros") && !json_object_get(object, "packed") &&
                !json_object_get(object, "cut");
    t->entries = 1;
    for (int d = 0; fits && d < dims; d++) {
        fits = !t->relaid || t->order[d] == d;
        t->entries *= shape[d];
    }
    if (!fits || t->entries > ETRT_MAX_BYTES / 8 || t->max_bytes % t->entries ||
        t->max_bytes / t->entries % ETRT_HOST_ALIGN)
        return etrt_json_fail(&at, "%s has no entries of %d bytes each, or multiples", t->name,
                              ETRT_HOST_ALIGN);
    return ETRT_OK;
}

/* "zeros" of a weight whose size is known. */
etrt_status etrt_parse_zeros(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *t,
                             const int64_t *shape) {
    struct etrt_json_at at = {up, "zeros", 0};
    struct etrt_zeros *z = &t->zeros;
    int64_t columns;
    if (!json_object_get(object, "zeros")) return ETRT_OK;
    etrt_status st = etrt_json_int(up, object, "zeros", 1, (int64_t)1 << 40, &columns);
    if (st != ETRT_OK) return st;
    if (t->kind != ETRT_WEIGHT || t->rank - t->nloops < 2 || !t->max_bytes)
        return etrt_json_fail(&at, "%s is no weight that has rows in every slice", t->name);
    z->rows = shape[t->rank - 2];
    z->k = shape[t->rank - 1];
    if (columns % 8 || (z->k - 1) / columns >= ETRT_ZERO_BITS ||
        z->k * (int64_t)etrt_dtype_bits(t->dtype) % 8)
        return etrt_json_fail(&at, "rows of %lld are not %d pieces of %lld at most",
                              (long long)z->k, ETRT_ZERO_BITS, (long long)columns);
    z->matrices = 1;
    for (int d = 0; d + 2 < t->rank; d++)
        z->matrices *= shape[d];
    z->columns = columns;
    z->at = ((uint64_t)t->max_bytes + 15) / 16 * 16;
    z->bytes = (uint64_t)(z->matrices * ((z->rows - 1) / ETRT_ZERO_ROWS + 1)) * 8;
    return ETRT_OK;
}

/* "packed" likewise. */
etrt_status etrt_parse_packed(const struct etrt_json_at *up, json_t *object, struct etrt_tensor *t,
                              const int64_t *shape) {
    struct etrt_json_at at = {up, "packed", 0};
    struct etrt_packed *d = &t->packed;
    int64_t columns, blocks;
    if (!json_object_get(object, "packed")) return ETRT_OK;
    etrt_status st = etrt_json_int(up, object, "packed", ETRT_PACKED_K, ETRT_PACKED_K, &columns);
    if (st != ETRT_OK) return st;
    if (t->kind != ETRT_WEIGHT || t->rank - t->nloops < 2 || !t->max_bytes ||
        (t->dtype != ETRT_BF16 && t->dtype != ETRT_F16) || t->zeros.columns)
        return etrt_json_fail(&at, "%s is no weight of 16 bits that has rows in every slice",
                              t->name);
    d->rows = shape[t->rank - 2];
    d->k = shape[t->rank - 1];
    d->matrices = t->max_bytes / 2 / d->rows / d->k;
    blocks = ((d->rows - 1) / ETRT_PACKED_ROWS + 1) * ((d->k - 1) / columns + 1);
    d->block = (uint64_t)blocks * ETRT_PACKED_BYTES;
    d->at =
        ((uint64_t)t->max_bytes + ETRT_PACKED_ALIGN - 1) / ETRT_PACKED_ALIGN * ETRT_PACKED_ALIGN;
    d->words = d->at + (uint64_t)d->matrices * d->block;
    d->bytes = d->words - d->at + (uint64_t)d->matrices * 4;
    return ETRT_OK;
}

/* The piece of the checkpoint's dimension that is cut. */
static etrt_status parse_piece(const struct etrt_parser *p, const struct etrt_json_at *at,
                               json_t *object, struct etrt_tensor *t) {
    etrt_status st = etrt_json_int(at, object, "from", 0, INT32_MAX, &t->from);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "of", 1, INT32_MAX, &t->of);
    if (st != ETRT_OK) return st;
    int64_t part = t->shape[t->cut - 1].steps[0].value;
    if (t->kind != ETRT_WEIGHT || part > (t->of - t->from) / (p->m->devices / t->repeat))
        return etrt_json_fail(at, "%s is no piece of %lld elements", t->name, (long long)t->of);
    return ETRT_OK;
}

/* "cut" of a tensor, as far as its kind goes. */
etrt_status etrt_parse_cut(const struct etrt_parser *p, const struct etrt_json_at *at,
                           json_t *object, struct etrt_tensor *t) {
    int64_t cut, repeat = 1;
    if (!json_object_get(object, "cut")) return ETRT_OK;
    etrt_status st = etrt_json_int(at, object, "cut", 0, ETRT_MAX_RANK - 1, &cut);
    if (st == ETRT_OK && json_object_get(object, "repeat"))
        st = etrt_json_int(at, object, "repeat", 2, ETRT_MAX_DEVICES - 1, &repeat);
    if (st != ETRT_OK) return st;
    if (!p->m->devices || t->kind == ETRT_INPUT || cut >= t->rank || cut < t->nloops ||
        etrt_expr_uses_symbols(&t->shape[cut]) || t->zeros.columns || t->packed.matrices)
        return etrt_json_fail(at, "%s cannot be cut along dimension %lld", t->name, (long long)cut);
    if (p->m->devices % repeat || repeat >= p->m->devices)
        return etrt_json_fail(at, "%d devices have no parts that %lld share", p->m->devices,
                              (long long)repeat);
    t->cut = (int)cut + 1;
    t->repeat = (int)repeat;
    return json_object_get(object, "of") ? parse_piece(p, at, object, t) : ETRT_OK;
}
