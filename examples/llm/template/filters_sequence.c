/* filters_sequence.c - filters of lists, dicts and whatever can be gone through. What is a
 * generator in jinja2 is a JT_ITER: it can be gone through once, has no length and is always true.
 */
#include "examples/llm/template/run.h"
#include <string.h>

static jt_value or_none(jt_value v) {
    return jt_absent(v) ? jt_none() : v;
}

static jt_value do_length(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t n;
    (void)arg;
    if (!jt_length(self, &n)) jt_fail(vm, "object of type '%s' has no len()", jt_type_name(self));
    return jt_int(n);
}

static jt_value do_first(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_walk w = jt_walk_of(vm, self);
    jt_value v;
    (void)arg;
    return jt_walk_next(vm, &w, &v) ? v : jt_missing(vm, "No first item, sequence was empty.");
}

static jt_value do_last(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t n;
    (void)arg;
    if (self.kind == JT_ITER || !jt_length(self, &n) || self.kind == JT_LOOP)
        jt_fail(vm, "'%s' object is not reversible", jt_type_name(self));
    return n ? jt_at(vm, self, n - 1) : jt_missing(vm, "No last item, sequence was empty.");
}

static jt_value do_list(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_of_list(jt_to_list(vm, self));
}

static jt_value do_join(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_walk w = jt_walk_of(vm, self);
    const jt_str *by = jt_absent(arg[0]) ? jt_word(vm, "").s : jt_as_str(vm, arg[0]);
    jt_value item, none = {.kind = JT_ABSENT};
    jt_buf b = {0};
    for (bool first = true; jt_walk_next(vm, &w, &item); first = false) {
        if (!first) jt_put(vm, &b, by->p, by->n);
        jt_put_str(vm, &b, jt_get_path(vm, item, arg[1], none));
    }
    return jt_buf_text(vm, &b);
}

static jt_value do_reverse(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    if (self.kind == JT_STR) return jt_get_slice(vm, self, jt_none(), jt_none(), jt_int(-1));
    bool once = self.kind == JT_ITER;
    jt_list *l = jt_to_list(vm, self);
    for (size_t i = 0; i < l->n / 2; i++) {
        jt_value v = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = v;
    }
    return once ? jt_of_list(l) : jt_of_iter(l);
}

static jt_value do_items(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    if (self.kind == JT_UNDEFINED) return jt_of_iter(jt_list_new(vm, 0));
    if (self.kind != JT_DICT) jt_fail(vm, "Can only get item pairs from a mapping.");
    jt_list *l = jt_list_new(vm, self.d->n);
    for (size_t i = 0; i < self.d->n; i++)
        jt_list_add(vm, l, jt_pair(vm, self.d->at[i].key, self.d->at[i].value));
    return jt_of_iter(l);
}

/* ---- order ---- */

static jt_value fold(jt_vm *vm, jt_value v, bool case_sensitive) {
    return v.kind == JT_STR && !case_sensitive ? jt_change_case(vm, v.s, JT_LOWER) : v;
}

/* What sort() orders an item by: a list of its attributes "a,b.c", or of itself alone. In a list,
 * what is undefined equals what is undefined, which has no order outside of one. */
static jt_value sort_key(jt_vm *vm, jt_value item, jt_value attribute, bool case_sensitive) {
    jt_value none = {.kind = JT_ABSENT};
    jt_list *keys = jt_list_new(vm, 1);
    if (attribute.kind != JT_STR) {
        jt_list_add(vm, keys, fold(vm, jt_get_path(vm, item, attribute, none), case_sensitive));
        return jt_of_list(keys);
    }
    const char *p = attribute.s->p, *end = p + attribute.s->n;
    for (const char *comma; p <= end; p = comma + 1) {
        comma = memchr(p, ',', (size_t)(end - p));
        if (!comma) comma = end;
        jt_value path = jt_text(vm, p, (size_t)(comma - p));
        jt_list_add(vm, keys, fold(vm, jt_get_path(vm, item, path, none), case_sensitive));
    }
    return jt_of_list(keys);
}

static jt_value do_sort(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_list *l = jt_to_list(vm, self);
    jt_value *keys = jt_alloc_array(vm, l->n + 1, sizeof *keys);
    bool case_sensitive = jt_true(vm, arg[1]);
    for (size_t i = 0; i < l->n; i++)
        keys[i] = sort_key(vm, l->at[i], or_none(arg[2]), case_sensitive);
    jt_sort(vm, l->at, keys, l->n, jt_true(vm, arg[0]));
    return jt_of_list(l);
}

static jt_value do_dictsort(jt_vm *vm, jt_value self, jt_value *arg) {
    if (self.kind != JT_DICT)
        jt_fail(vm, "'%s' object has no attribute 'items'", jt_type_name(self));
    const char *by = jt_absent(arg[1]) ? "'key'" : jt_as_word(vm, arg[1]);
    bool value = !strcmp(by, "'value'"), case_sensitive = jt_true(vm, arg[0]);
    if (!value && strcmp(by, "'key'") != 0)
        jt_fail(vm, "You can only sort by either \"key\" or \"value\"");
    jt_list *l = do_items(vm, self, NULL).l;
    jt_value *keys = jt_alloc_array(vm, l->n + 1, sizeof *keys);
    for (size_t i = 0; i < l->n; i++)
        keys[i] = fold(vm, l->at[i].l->at[value], case_sensitive);
    jt_sort(vm, l->at, keys, l->n, jt_true(vm, arg[2]));
    return jt_of_list(l);
}

static jt_value extreme(jt_vm *vm, jt_value self, const jt_value *arg, int sign, const char *op) {
    jt_walk w = jt_walk_of(vm, self);
    jt_value item, best, best_key;
    if (!jt_walk_next(vm, &w, &best))
        return jt_missing(vm, "No aggregated item, sequence was empty.");
    bool case_sensitive = jt_true(vm, arg[0]);
    jt_value attribute = or_none(arg[1]), none = {.kind = JT_ABSENT};
    best_key = fold(vm, jt_get_path(vm, best, attribute, none), case_sensitive);
    while (jt_walk_next(vm, &w, &item)) {
        jt_value key = fold(vm, jt_get_path(vm, item, attribute, none), case_sensitive);
        if (sign * jt_order(vm, key, best_key, op) <= 0) continue;
        best = item;
        best_key = key;
    }
    return best;
}

static jt_value do_min(jt_vm *vm, jt_value self, jt_value *arg) {
    return extreme(vm, self, arg, -1, "<");
}

static jt_value do_max(jt_vm *vm, jt_value self, jt_value *arg) {
    return extreme(vm, self, arg, 1, ">");
}

static jt_value do_unique(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_walk w = jt_walk_of(vm, self);
    jt_list *l = jt_list_new(vm, 0);
    jt_dict *seen = jt_dict_new(vm);
    jt_value item, none = {.kind = JT_ABSENT};
    while (jt_walk_next(vm, &w, &item)) {
        jt_value key = fold(vm, jt_get_path(vm, item, or_none(arg[1]), none), jt_true(vm, arg[0]));
        size_t before = seen->n;
        jt_dict_set(vm, seen, key, jt_none());
        if (seen->n > before) jt_list_add(vm, l, item);
    }
    return jt_of_iter(l);
}

static jt_value do_groupby(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_list *l = jt_to_list(vm, self), *groups = jt_list_new(vm, 0), *group = NULL;
    bool case_sensitive = jt_true(vm, arg[2]);
    jt_value *keys = jt_alloc_array(vm, l->n + 1, sizeof *keys);
    for (size_t i = 0; i < l->n; i++)
        keys[i] = fold(vm, jt_get_path(vm, l->at[i], arg[0], arg[1]), case_sensitive);
    jt_sort(vm, l->at, keys, l->n, false);
    for (size_t i = 0; i < l->n; i++) {
        if (!group || !jt_equal(vm, keys[i - 1], keys[i])) {
            group = jt_list_new(vm, 0);
            jt_list_add(vm, groups,
                        jt_pair(vm, jt_get_path(vm, l->at[i], arg[0], arg[1]), jt_of_list(group)));
        }
        jt_list_add(vm, group, l->at[i]);
    }
    return jt_of_list(groups);
}

/* ---- sums and parts ---- */

static jt_value do_sum(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_walk w = jt_walk_of(vm, self);
    jt_value total = jt_absent(arg[1]) ? jt_int(0) : arg[1], item, none = {.kind = JT_ABSENT};
    if (total.kind == JT_STR) jt_fail(vm, "sum() can't sum strings [use ''.join(seq) instead]");
    while (jt_walk_next(vm, &w, &item))
        total = jt_binary(vm, OP_ADD, total, jt_get_path(vm, item, arg[0], none));
    return total;
}

static jt_value do_batch(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t size = jt_need_int(vm, arg[0], "linecount");
    bool fill = !jt_absent(arg[1]) && arg[1].kind != JT_NONE;
    jt_walk w = jt_walk_of(vm, self);
    jt_list *batches = jt_list_new(vm, 0), *batch = NULL;
    jt_value item;
    while (jt_walk_next(vm, &w, &item)) {
        if (!batch || (int64_t)batch->n == size) {
            batch = jt_list_new(vm, 0);
            jt_list_add(vm, batches, jt_of_list(batch));
        }
        jt_list_add(vm, batch, item);
    }
    while (batch && fill && (int64_t)batch->n < size)
        jt_list_add(vm, batch, arg[1]);
    return jt_of_iter(batches);
}

static jt_value do_slice(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t slices = jt_need_int(vm, arg[0], "slices");
    bool fill = !jt_absent(arg[1]) && arg[1].kind != JT_NONE;
    jt_list *all = jt_to_list(vm, self), *out = jt_list_new(vm, 0);
    if (!slices) jt_fail(vm, "integer division or modulo by zero");
    int64_t n = (int64_t)all->n, each = n / slices, extra = n % slices, at = 0;
    for (int64_t i = 0; i < slices; i++) {
        jt_list *slice = jt_list_new(vm, 0);
        for (int64_t k = each + (i < extra); k > 0; k--)
            jt_list_add(vm, slice, all->at[at++]);
        if (fill && i >= extra) jt_list_add(vm, slice, arg[1]);
        jt_list_add(vm, out, jt_of_list(slice));
    }
    return jt_of_iter(out);
}

const jt_builtin jt_sequence_filters[] = {
    {"length", "", do_length, NULL, false},
    {"count", "", do_length, NULL, false},
    {"first", "", do_first, NULL, false},
    {"last", "", do_last, NULL, false},
    {"list", "", do_list, NULL, false},
    {"join", "d? attribute?", do_join, NULL, false},
    {"reverse", "", do_reverse, NULL, false},
    {"items", "", do_items, NULL, true},
    {"sort", "reverse? case_sensitive? attribute?", do_sort, NULL, false},
    {"dictsort", "case_sensitive? by? reverse?", do_dictsort, NULL, false},
    {"min", "case_sensitive? attribute?", do_min, NULL, false},
    {"max", "case_sensitive? attribute?", do_max, NULL, false},
    {"unique", "case_sensitive? attribute?", do_unique, NULL, true},
    {"groupby", "attribute default? case_sensitive?", do_groupby, NULL, false},
    {"sum", "attribute? start?", do_sum, NULL, false},
    {"batch", "linecount fill_with?", do_batch, NULL, true},
    {"slice", "slices fill_with?", do_slice, NULL, true},
    {0},
};
