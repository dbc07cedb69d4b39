/* dict.c - dicts: entries in the order of insertion, found by hash when there are many. */
#include "examples/llm/template/value/vm.h"
#include <math.h>
#include <string.h>

enum { FEW = 8 };

static uint64_t mix(uint64_t h, uint64_t x) {
    h ^= x;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t hash_bytes(const char *p, size_t n) {
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)p[i]) * 0x100000001b3u;
    return mix(h, n);
}

bool jt_hashable(jt_value v) {
    if (v.kind == JT_TUPLE)
        for (size_t i = 0; i < v.l->n; i++)
            if (!jt_hashable(v.l->at[i])) return false;
    return v.kind != JT_LIST && v.kind != JT_DICT && v.kind != JT_VIEW;
}

/* Equal values have equal hashes: 1, 1.0 and True are one key. */
static uint64_t hash(jt_vm *vm, jt_value v) {
    double f;
    int64_t i;
    uint64_t h = v.kind;
    if (v.kind == JT_STR) return hash_bytes(v.s->p, v.s->n);
    if (jt_integer(v, &i)) return mix(1, (uint64_t)i);
    if (jt_number(v, &f)) {
        if (fabs(f) < 9e18 && f == trunc(f)) return mix(1, (uint64_t)(int64_t)f);
        memcpy(&h, &f, sizeof h);
        return mix(2, h);
    }
    if (v.kind == JT_TUPLE) {
        jt_enter(vm);
        for (size_t k = 0; k < v.l->n; k++)
            h = mix(h, hash(vm, v.l->at[k]));
        jt_leave(vm);
    }
    return h;
}

jt_dict *jt_dict_new(jt_vm *vm) {
    return jt_alloc(vm, sizeof(jt_dict));
}

static bool is_key(jt_vm *vm, const jt_entry *e, jt_value key, uint64_t h) {
    if (e->hash != h) return false;
    if (e->key.kind == JT_STR && key.kind == JT_STR)
        return e->key.s->n == key.s->n && !memcmp(e->key.s->p, key.s->p, key.s->n);
    return jt_equal(vm, e->key, key);
}

static jt_entry *find(jt_vm *vm, const jt_dict *d, jt_value key, uint64_t h) {
    jt_step(vm, 1);
    if (!d->index) {
        for (size_t i = 0; i < d->n; i++)
            if (is_key(vm, &d->at[i], key, h)) return &d->at[i];
        return NULL;
    }
    for (size_t slot = h & d->mask; d->index[slot]; slot = (slot + 1) & d->mask) {
        jt_entry *e = &d->at[d->index[slot] - 1];
        if (is_key(vm, e, key, h)) return e;
        jt_step(vm, 1);
    }
    return NULL;
}

static void index_all(jt_vm *vm, jt_dict *d) {
    size_t slots = 4 * d->cap;
    d->index = jt_alloc_array(vm, slots, sizeof *d->index);
    d->mask = slots - 1;
    for (size_t i = 0; i < d->n; i++) {
        size_t slot = d->at[i].hash & d->mask;
        while (d->index[slot])
            slot = (slot + 1) & d->mask;
        d->index[slot] = (uint32_t)i + 1;
    }
}

void jt_dict_set(jt_vm *vm, jt_dict *d, jt_value key, jt_value value) {
    if (!jt_hashable(key)) jt_fail(vm, "unhashable type: '%s'", jt_type_name(key));
    uint64_t h = hash(vm, key);
    jt_entry *e = find(vm, d, key, h);
    if (e) {
        e->value = value;
        return;
    }
    if (d->n == d->cap) {
        size_t cap = d->cap ? 2 * d->cap : 4;
        jt_entry *grown = jt_alloc_array(vm, cap, sizeof *grown);
        if (d->n) memcpy(grown, d->at, d->n * sizeof *grown);
        d->at = grown;
        d->cap = cap;
        if (cap > FEW) index_all(vm, d);
    }
    d->at[d->n++] = (jt_entry){.key = key, .value = value, .hash = h};
    if (!d->index) return;
    size_t slot = h & d->mask;
    while (d->index[slot])
        slot = (slot + 1) & d->mask;
    d->index[slot] = (uint32_t)d->n;
}

jt_value jt_dict_get(jt_vm *vm, const jt_dict *d, jt_value key) {
    jt_entry *e = jt_hashable(key) ? find(vm, d, key, hash(vm, key)) : NULL;
    return e ? e->value : (jt_value){.kind = JT_ABSENT};
}

jt_value jt_dict_find(jt_vm *vm, const jt_dict *d, const char *key, size_t n) {
    jt_str s = {.p = key, .n = n, .chars = JT_CHARS_UNKNOWN};
    return jt_dict_get(vm, d, jt_of_str(&s));
}
