/* value.c - values: making them, comparing them, going through them. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <math.h>
#include <string.h>

/* ---- strings ---- */

jt_str *jt_str_of(jt_vm *vm, const char *p, size_t n) {
    jt_str *s = jt_alloc(vm, sizeof *s);
    *s = (jt_str){.p = p, .n = n, .chars = JT_CHARS_UNKNOWN};
    return s;
}

jt_value jt_text(jt_vm *vm, const char *p, size_t n) {
    return jt_of_str(jt_str_of(vm, p, n));
}

jt_value jt_word(jt_vm *vm, const char *p) {
    return jt_text(vm, p, strlen(p));
}

int64_t jt_chars(jt_str *s) {
    /* Literals know theirs since they were parsed: they may be shared between threads. */
    if (s->chars == JT_CHARS_UNKNOWN) s->chars = (int64_t)jt_utf8_count(s->p, s->n);
    return s->chars;
}

/* ---- lists ---- */

jt_list *jt_list_new(jt_vm *vm, size_t cap) {
    jt_list *l = jt_alloc(vm, sizeof *l);
    if (cap) l->at = jt_alloc_array(vm, cap, sizeof *l->at);
    l->cap = cap;
    return l;
}

void jt_list_add(jt_vm *vm, jt_list *l, jt_value v) {
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 4;
        jt_value *grown = jt_alloc_array(vm, cap, sizeof *grown);
        if (l->n) memcpy(grown, l->at, l->n * sizeof *grown);
        l->at = grown;
        l->cap = cap;
    }
    l->at[l->n++] = v;
}

jt_value jt_pair(jt_vm *vm, jt_value a, jt_value b) {
    jt_list *l = jt_list_new(vm, 2);
    jt_list_add(vm, l, a);
    jt_list_add(vm, l, b);
    return jt_of_tuple(l);
}

/* ---- what is not there ---- */

jt_value jt_missing(jt_vm *vm, const char *hint) {
    jt_undefined *u = jt_alloc(vm, sizeof *u);
    u->hint = hint;
    return (jt_value){.kind = JT_UNDEFINED, .undefined = u};
}

void jt_fail_undefined(jt_vm *vm, jt_value v) {
    const jt_undefined *u = v.undefined;
    if (!u) jt_fail(vm, "value is undefined");
    if (u->hint) jt_fail(vm, "%s", u->hint);
    int n = u->name ? (int)(u->name->n < 200 ? u->name->n : 200) : 0;
    const char *p = u->name ? u->name->p : "";
    if (!u->type) jt_fail(vm, "'%.*s' is undefined", n, p);
    jt_fail(vm, "'%s' has no attribute '%.*s'", u->type, n, p);
}

/* ---- numbers, names of types ---- */

bool jt_integer(jt_value v, int64_t *out) {
    if (v.kind == JT_INT)
        *out = v.i;
    else if (v.kind == JT_BOOL)
        *out = v.b;
    else
        return false;
    return true;
}

bool jt_number(jt_value v, double *out) {
    int64_t i;
    if (v.kind == JT_FLOAT)
        *out = v.f;
    else if (jt_integer(v, &i))
        *out = (double)i;
    else
        return false;
    return true;
}

const char *jt_type_name(jt_value v) {
    static const char *const names[] = {
        [JT_ABSENT] = "nothing",    [JT_UNDEFINED] = "Undefined",
        [JT_NONE] = "NoneType",     [JT_BOOL] = "bool",
        [JT_INT] = "int",           [JT_FLOAT] = "float",
        [JT_STR] = "str",           [JT_LIST] = "list",
        [JT_TUPLE] = "tuple",       [JT_DICT] = "dict",
        [JT_RANGE] = "range",       [JT_ITER] = "generator",
        [JT_VIEW] = "dict_items",   [JT_NAMESPACE] = "Namespace",
        [JT_LOOP] = "LoopContext",  [JT_MACRO] = "Macro",
        [JT_FUNCTION] = "function", [JT_CYCLER] = "Cycler",
        [JT_JOINER] = "Joiner",
    };
    if (v.kind == JT_VIEW && v.view->what != JT_ITEMS)
        return v.view->what == JT_KEYS ? "dict_keys" : "dict_values";
    return names[v.kind];
}

/* ---- truth and equality ---- */

bool jt_true(jt_vm *vm, jt_value v) {
    int64_t n;
    (void)vm;
    switch (v.kind) {
    case JT_ABSENT:
    case JT_UNDEFINED:
    case JT_NONE:
        return false;
    case JT_BOOL:
        return v.b;
    case JT_INT:
        return v.i != 0;
    case JT_FLOAT:
        return v.f != 0;
    default:
        return !jt_length(v, &n) || n > 0;
    }
}

bool jt_same(jt_value a, jt_value b) {
    if (a.kind != b.kind) return false;
    switch (a.kind) {
    case JT_ABSENT:
    case JT_UNDEFINED:
    case JT_NONE:
        return true;
    case JT_BOOL:
        return a.b == b.b;
    case JT_INT:
        return a.i == b.i;
    case JT_FLOAT:
        return a.f == b.f;
    case JT_STR:
        return a.s->n == b.s->n && !memcmp(a.s->p, b.s->p, a.s->n);
    default:
        return a.l == b.l;
    }
}

static bool equal_lists(jt_vm *vm, const jt_list *a, const jt_list *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++)
        if (!jt_equal(vm, a->at[i], b->at[i])) return false;
    return true;
}

static bool equal_dicts(jt_vm *vm, const jt_dict *a, const jt_dict *b) {
    if (a->n != b->n) return false;
    for (size_t i = 0; i < a->n; i++) {
        jt_value other = jt_dict_get(vm, b, a->at[i].key);
        if (jt_absent(other) || !jt_equal(vm, a->at[i].value, other)) return false;
    }
    return true;
}

bool jt_equal(jt_vm *vm, jt_value a, jt_value b) {
    int64_t i, j;
    double x, y;
    jt_step(vm, 1);
    if (jt_integer(a, &i) && jt_integer(b, &j)) return i == j;
    if (jt_number(a, &x) && jt_number(b, &y)) return x == y;
    if (a.kind != b.kind) return false;
    bool equal;
    switch (a.kind) {
    case JT_STR:
        jt_step_bytes(vm, a.s->n == b.s->n ? a.s->n : 0);
        return jt_same(a, b);
    case JT_LIST:
    case JT_TUPLE:
        jt_enter(vm);
        equal = equal_lists(vm, a.l, b.l);
        jt_leave(vm);
        return equal;
    case JT_DICT:
        jt_enter(vm);
        equal = equal_dicts(vm, a.d, b.d);
        jt_leave(vm);
        return equal;
    case JT_RANGE:
        return a.range->count == b.range->count &&
               (!a.range->count || (a.range->start == b.range->start &&
                                    (a.range->count == 1 || a.range->step == b.range->step)));
    default:
        return jt_same(a, b);
    }
}

int jt_order(jt_vm *vm, jt_value a, jt_value b, const char *op) {
    int64_t i, j;
    double x, y;
    jt_step(vm, 1);
    if (a.kind == JT_UNDEFINED) jt_fail_undefined(vm, a);
    if (b.kind == JT_UNDEFINED) jt_fail_undefined(vm, b);
    if (jt_integer(a, &i) && jt_integer(b, &j)) return (i > j) - (i < j);
    if (jt_number(a, &x) && jt_number(b, &y)) return (x > y) - (x < y);
    if (a.kind == JT_STR && b.kind == JT_STR) { /* bytes of UTF-8 order as characters do */
        size_t n = a.s->n < b.s->n ? a.s->n : b.s->n;
        jt_step_bytes(vm, n);
        int order = n ? memcmp(a.s->p, b.s->p, n) : 0;
        return order ? (order > 0) - (order < 0) : (a.s->n > b.s->n) - (a.s->n < b.s->n);
    }
    if ((a.kind != JT_LIST && a.kind != JT_TUPLE) || a.kind != b.kind)
        jt_fail(vm, "'%s' not supported between instances of '%s' and '%s'", op, jt_type_name(a),
                jt_type_name(b));
    int order = 0;
    jt_enter(vm);
    for (size_t k = 0; k < a.l->n && k < b.l->n; k++)
        if (!jt_equal(vm, a.l->at[k], b.l->at[k])) {
            order = jt_order(vm, a.l->at[k], b.l->at[k], op);
            jt_leave(vm);
            return order;
        }
    jt_leave(vm);
    return (a.l->n > b.l->n) - (a.l->n < b.l->n);
}

/* ---- going through ---- */

bool jt_length(jt_value v, int64_t *out) {
    switch (v.kind) {
    case JT_UNDEFINED:
        *out = 0;
        return true;
    case JT_STR:
        *out = jt_chars(v.s);
        return true;
    case JT_LIST:
    case JT_TUPLE:
        *out = (int64_t)v.l->n;
        return true;
    case JT_DICT:
        *out = (int64_t)v.d->n;
        return true;
    case JT_VIEW:
        *out = (int64_t)v.view->dict->n;
        return true;
    case JT_RANGE:
        *out = v.range->count;
        return true;
    case JT_LOOP:
        *out = (int64_t)v.loop->items->n;
        return true;
    default:
        return false;
    }
}

bool jt_iterable(jt_value v) {
    int64_t n;
    return v.kind == JT_ITER || jt_length(v, &n);
}

jt_walk jt_walk_of(jt_vm *vm, jt_value v) {
    if (!jt_iterable(v) || v.kind == JT_LOOP)
        jt_fail(vm, "'%s' object is not iterable", jt_type_name(v));
    return (jt_walk){.of = v};
}

static jt_value view_at(jt_vm *vm, const jt_view *view, size_t i) {
    const jt_entry *e = &view->dict->at[i];
    return view->what == JT_KEYS     ? e->key
           : view->what == JT_VALUES ? e->value
                                     : jt_pair(vm, e->key, e->value);
}

jt_value jt_at(jt_vm *vm, jt_value v, int64_t i) {
    switch (v.kind) {
    case JT_LIST:
    case JT_TUPLE:
        return v.l->at[i];
    case JT_RANGE:
        return jt_int(v.range->start + i * v.range->step);
    case JT_VIEW:
        return view_at(vm, v.view, (size_t)i);
    case JT_DICT:
        return v.d->at[i].key;
    case JT_STR: {
        bool ascii = jt_chars(v.s) == (int64_t)v.s->n;
        if (!ascii) jt_step_bytes(vm, v.s->n);
        size_t from = ascii ? (size_t)i : jt_utf8_offset(v.s->p, v.s->n, (size_t)i);
        return jt_text(vm, v.s->p + from, jt_utf8_size(v.s->p[from]));
    }
    default:
        return jt_none();
    }
}

bool jt_walk_next(jt_vm *vm, jt_walk *w, jt_value *out) {
    int64_t n;
    jt_step(vm, 1);
    if (w->of.kind == JT_ITER) {
        jt_list *l = w->of.l;
        if (l->pending) {
            struct jt_pending *pending = l->pending;
            l->pending = NULL;
            jt_enter(vm);
            pending->make(vm, pending, l);
            jt_leave(vm);
        }
        if (l->taken == l->n) return false;
        *out = l->at[l->taken++];
        return true;
    }
    if (w->of.kind == JT_STR) {
        const jt_str *s = w->of.s;
        if (w->bytes == s->n) return false;
        size_t size = jt_utf8_size(s->p[w->bytes]);
        *out = jt_text(vm, s->p + w->bytes, size);
        w->bytes += size;
        return true;
    }
    if (!jt_length(w->of, &n) || (int64_t)w->at >= n) return false;
    *out = jt_at(vm, w->of, (int64_t)w->at++);
    return true;
}

jt_list *jt_to_list(jt_vm *vm, jt_value v) {
    jt_walk w = jt_walk_of(vm, v);
    jt_list *l = jt_list_new(vm, 0);
    jt_value item;
    while (jt_walk_next(vm, &w, &item))
        jt_list_add(vm, l, item);
    return l;
}

/* ---- order ---- */

/* A stable merge sort of ITEMS by KEYS, both of N. */
static void merge_sort(jt_vm *vm, jt_value *items, jt_value *keys, jt_value *spare, size_t n,
                       bool reverse) {
    if (n < 2) return;
    size_t half = n / 2, i = 0, j = half, k = 0;
    merge_sort(vm, items, keys, spare, half, reverse);
    merge_sort(vm, items + half, keys + half, spare, n - half, reverse);
    for (; i < half && j < n; k++) {
        bool second = reverse ? jt_order(vm, keys[i], keys[j], "<") < 0
                              : jt_order(vm, keys[j], keys[i], "<") < 0;
        size_t from = second ? j++ : i++;
        spare[k] = items[from];
        spare[n + k] = keys[from];
    }
    for (; i < half; i++, k++) {
        spare[k] = items[i];
        spare[n + k] = keys[i];
    }
    memcpy(items, spare, k * sizeof *items);
    memcpy(keys, spare + n, k * sizeof *keys);
}

void jt_sort(jt_vm *vm, jt_value *items, jt_value *keys, size_t n, bool reverse) {
    if (n) merge_sort(vm, items, keys, jt_alloc_array(vm, 2 * n, sizeof *keys), n, reverse);
}
