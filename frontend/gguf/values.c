/* values.c - values of the metadata, as what is asked for. */
#include "frontend/gguf/gguf.h"
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} types[GGUF_TYPES] = {
    [GGUF_U8] = {"u8", 1},       [GGUF_I8] = {"i8", 1},     [GGUF_U16] = {"u16", 2},
    [GGUF_I16] = {"i16", 2},     [GGUF_U32] = {"u32", 4},   [GGUF_I32] = {"i32", 4},
    [GGUF_F32] = {"f32", 4},     [GGUF_BOOL] = {"bool", 1}, [GGUF_STRING] = {"text", 0},
    [GGUF_ARRAY] = {"array", 0}, [GGUF_U64] = {"u64", 8},   [GGUF_I64] = {"i64", 8},
    [GGUF_F64] = {"f64", 8},
};

size_t gguf_type_bytes(enum gguf_type t) {
    return types[t].bytes;
}

static uint64_t word(const unsigned char *p, size_t bytes) {
    uint64_t w = 0;
    for (size_t i = 0; i < bytes; i++)
        w |= (uint64_t)p[i] << (8 * i);
    return w;
}

bool gguf_item_int(const struct gguf_value *v, uint64_t i, int64_t *out) {
    enum gguf_type t = v->type == GGUF_ARRAY ? v->item : v->type;
    size_t bytes = types[t].bytes;
    uint64_t w = word(v->at + i * bytes, bytes);
    switch (t) {
    case GGUF_U8:
    case GGUF_U16:
    case GGUF_U32:
    case GGUF_U64:
        *out = (int64_t)w;
        return w <= INT64_MAX;
    case GGUF_I8:
    case GGUF_I16:
    case GGUF_I32:
    case GGUF_I64: {
        uint64_t sign = (uint64_t)1 << (8 * bytes - 1);
        *out = (int64_t)((w ^ sign) - sign);
        return true;
    }
    default:
        return false;
    }
}

bool gguf_item_real(const struct gguf_value *v, uint64_t i, double *out) {
    enum gguf_type t = v->type == GGUF_ARRAY ? v->item : v->type;
    const unsigned char *at = v->at + i * types[t].bytes;
    int64_t n;
    float f;
    if (t == GGUF_F32) {
        memcpy(&f, at, sizeof f);
        *out = f;
        return true;
    }
    if (t == GGUF_F64) {
        memcpy(out, at, sizeof *out);
        return true;
    }
    if (!gguf_item_int(v, i, &n)) return false;
    *out = (double)n;
    return true;
}

static bool wrong(const struct gguf *g, const struct gguf_value *v, const char *want) {
    bool array = v->type == GGUF_ARRAY;
    return gguf_fail(g->fault, "%s: metadata \"%s\" is %s%s, expected %s", g->path,
                     gguf_shown(v->key), array ? "an array of " : "",
                     types[array ? v->item : v->type].name, want);
}

bool gguf_get_int(const struct gguf *g, const char *key, int64_t otherwise, int64_t *out) {
    const struct gguf_value *v = gguf_find(g, key);
    *out = otherwise;
    if (!v) return true;
    if (v->type == GGUF_ARRAY || !gguf_item_int(v, 0, out)) return wrong(g, v, "an integer");
    return true;
}

bool gguf_get_real(const struct gguf *g, const char *key, double otherwise, double *out) {
    const struct gguf_value *v = gguf_find(g, key);
    *out = otherwise;
    if (!v) return true;
    if (v->type == GGUF_ARRAY || !gguf_item_real(v, 0, out)) return wrong(g, v, "a number");
    if (*out - *out != 0)
        return gguf_fail(g->fault, "%s: metadata \"%s\" is no finite number", g->path,
                         gguf_shown(v->key));
    return true;
}

bool gguf_get_bool(const struct gguf *g, const char *key, bool otherwise, bool *out) {
    const struct gguf_value *v = gguf_find(g, key);
    *out = otherwise;
    if (!v) return true;
    if (v->type != GGUF_BOOL) return wrong(g, v, "true or false");
    *out = *v->at;
    return true;
}

struct gguf_text gguf_next_text(const unsigned char **at) {
    uint64_t n = word(*at, 8);
    struct gguf_text t = {(const char *)*at + 8, (size_t)n};
    *at += 8 + n;
    return t;
}

bool gguf_get_text(const struct gguf *g, const char *key, struct gguf_text *out) {
    const struct gguf_value *v = gguf_find(g, key);
    *out = (struct gguf_text){0};
    if (!v) return true;
    if (v->type != GGUF_STRING) return wrong(g, v, "text");
    const unsigned char *at = v->at;
    *out = gguf_next_text(&at);
    return true;
}

bool gguf_get_array(const struct gguf *g, const char *key, enum gguf_type item,
                    const struct gguf_value **out) {
    char want[40];
    *out = gguf_find(g, key);
    if (!*out || ((*out)->type == GGUF_ARRAY && (*out)->item == item)) return true;
    snprintf(want, sizeof want, "an array of %s", types[item].name);
    return wrong(g, *out, want);
}

bool gguf_says_nothing(const struct gguf_value *v) {
    double x;
    if (v->type == GGUF_ARRAY) return !v->count;
    if (v->type == GGUF_STRING) {
        const unsigned char *at = v->at;
        return !gguf_next_text(&at).bytes;
    }
    return v->type == GGUF_BOOL ? !*v->at : gguf_item_real(v, 0, &x) && x == 0;
}
