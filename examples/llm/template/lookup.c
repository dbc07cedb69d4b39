/* lookup.c - x.name, x[key] and x[a:b:c], by the rules of jinja2's sandbox: of a dict, x.name is
 * the method before the item and x['name'] the other way round; what is not there is undefined;
 * methods that change what they belong to are told as unsafe when they are called. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/value/utf8.h"
#include <stdio.h>
#include <string.h>

static const char *object_type(jt_vm *vm, jt_value v) {
    if (v.kind == JT_NONE) return "None";
    char *text = jt_alloc(vm, 48);
    snprintf(text, 48, "%s object", jt_type_name(v));
    return text;
}

static jt_value no_attr(jt_vm *vm, jt_value v, const jt_str *name) {
    jt_undefined *u = jt_alloc(vm, sizeof *u);
    u->type = object_type(vm, v);
    u->name = name;
    return (jt_value){.kind = JT_UNDEFINED, .undefined = u};
}

static jt_value no_item(jt_vm *vm, jt_value v, jt_value key) {
    if (key.kind == JT_STR) return no_attr(vm, v, key.s);
    const char *type = object_type(vm, v), *what = jt_as_word(vm, key);
    size_t n = strlen(type) + strlen(what) + 32;
    char *text = jt_alloc(vm, n);
    snprintf(text, n, "%s has no element %s", type, what);
    return jt_missing(vm, text);
}

static jt_value unsafe(jt_vm *vm, jt_value v, const jt_str *name) {
    char *text = jt_alloc(vm, 160);
    snprintf(text, 160, "access to attribute '%.*s' of '%s' object is unsafe.",
             (int)(name->n < 60 ? name->n : 60), name->p, jt_type_name(v));
    return jt_missing(vm, text);
}

static bool is_one_of(const jt_str *name, const char *const *words) {
    for (; *words; words++)
        if (strlen(*words) == name->n && !memcmp(*words, name->p, name->n)) return true;
    return false;
}

/* Attributes of Python's objects that a template may not have. */
static bool is_unsafe(jt_value v, const jt_str *name) {
    static const char *const of_list[] = {"append", "clear",  "pop",    "reverse", "insert",
                                          "sort",   "extend", "remove", NULL};
    static const char *const of_dict[] = {"clear", "pop", "popitem", "setdefault", "update", NULL};
    if (v.kind == JT_LIST && is_one_of(name, of_list)) return true;
    if (v.kind == JT_DICT && is_one_of(name, of_dict)) return true;
    return name->n > 4 && !memcmp(name->p, "__", 2) && !memcmp(name->p + name->n - 2, "__", 2);
}

static jt_value macro_attr(jt_vm *vm, const struct jt_macro *m, const jt_str *name) {
    if (name->n == 4 && !memcmp(name->p, "name", 4))
        return m->name ? jt_text(vm, m->name->p, m->name->n) : jt_none();
    if (name->n == 9 && !memcmp(name->p, "arguments", 9)) {
        jt_list *l = jt_list_new(vm, m->params->names.n);
        for (uint32_t i = 0; i < m->params->names.n; i++)
            jt_list_add(vm, l, jt_of_str(m->params->names.at[i]->name));
        return jt_of_tuple(l);
    }
    return (jt_value){.kind = JT_ABSENT};
}

/* Python's getattr; JT_ABSENT: there is none. */
static jt_value attribute(jt_vm *vm, jt_value v, const jt_str *name) {
    char word[32];
    jt_value found = {.kind = JT_ABSENT};
    if (is_unsafe(v, name)) return unsafe(vm, v, name);
    const jt_builtin *method = jt_find_method(v, name->p, name->n);
    if (method) {
        struct jt_function *f = jt_alloc(vm, sizeof *f);
        *f = (struct jt_function){.builtin = method, .self = v};
        return (jt_value){.kind = JT_FUNCTION, .function = f};
    }
    if (v.kind == JT_NAMESPACE) return jt_dict_find(vm, v.d, name->p, name->n);
    if (v.kind == JT_MACRO) return macro_attr(vm, v.macro, name);
    if (v.kind == JT_LOOP && name->n < sizeof word) {
        memcpy(word, name->p, name->n);
        word[name->n] = 0;
        return jt_loop_attr(vm, v.loop, word);
    }
    return found;
}

/* An index as Python takes it: negative ones count from the end. False: out of range. */
static bool place(int64_t *i, int64_t n) {
    if (*i < 0) *i += n;
    return *i >= 0 && *i < n;
}

/* Python's x[key]; JT_ABSENT: it has none. */
static jt_value item(jt_vm *vm, jt_value v, jt_value key) {
    int64_t i, n;
    jt_value none = {.kind = JT_ABSENT};
    if (v.kind == JT_DICT) return jt_dict_get(vm, v.d, key);
    bool sequence =
        v.kind == JT_STR || v.kind == JT_LIST || v.kind == JT_TUPLE || v.kind == JT_RANGE;
    if (!sequence || !jt_integer(key, &i) || !jt_length(v, &n) || !place(&i, n)) return none;
    return jt_at(vm, v, i);
}

jt_value jt_get_attr(jt_vm *vm, jt_value v, const jt_str *name) {
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    jt_value found = attribute(vm, v, name);
    if (jt_absent(found) && v.kind == JT_DICT) found = jt_dict_find(vm, v.d, name->p, name->n);
    return jt_absent(found) ? no_attr(vm, v, name) : found;
}

jt_value jt_get_item(jt_vm *vm, jt_value v, jt_value key) {
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    jt_value found = item(vm, v, key);
    if (jt_absent(found) && key.kind == JT_STR) found = attribute(vm, v, key.s);
    return jt_absent(found) ? no_item(vm, v, key) : found;
}

/* ---- paths ---- */

/* A part of a path: a number where it is made of digits. */
static jt_value path_part(jt_vm *vm, const char *p, size_t n) {
    bool digits = n && n < 18;
    int64_t number = 0;
    for (size_t i = 0; i < n && digits; i++) {
        digits = p[i] >= '0' && p[i] <= '9';
        number = number * 10 + (p[i] - '0');
    }
    return digits ? jt_int(number) : jt_text(vm, p, n);
}

jt_value jt_get_path(jt_vm *vm, jt_value v, jt_value path, jt_value otherwise) {
    bool replace = !jt_absent(otherwise) && otherwise.kind != JT_NONE;
    if (jt_absent(path) || path.kind == JT_NONE) return v;
    if (path.kind != JT_STR) {
        v = jt_get_item(vm, v, path);
        return v.kind == JT_UNDEFINED && replace ? otherwise : v;
    }
    const char *p = path.s->p, *end = p + path.s->n;
    for (;;) {
        const char *dot = memchr(p, '.', (size_t)(end - p));
        v = jt_get_item(vm, v, path_part(vm, p, (size_t)((dot ? dot : end) - p)));
        if (v.kind == JT_UNDEFINED && replace) v = otherwise;
        if (!dot) return v;
        p = dot + 1;
    }
}

/* ---- slices ---- */

static int64_t slice_int(jt_vm *vm, jt_value v, int64_t otherwise) {
    int64_t i;
    if (jt_absent(v) || v.kind == JT_NONE) return otherwise;
    if (!jt_integer(v, &i))
        jt_fail(vm, "slice indices must be integers or None or have an __index__ method");
    return i;
}

static int64_t clamp(int64_t i, int64_t n, int64_t lo, int64_t hi) {
    if (i < 0) i = i < -n ? lo : i + n;
    return i < lo ? lo : i > hi ? hi : i;
}

/* The bytes from character FROM on of COUNT characters. */
static jt_value substring(jt_vm *vm, jt_str *s, int64_t from, int64_t count) {
    bool ascii = jt_chars(s) == (int64_t)s->n;
    if (!ascii) jt_step_bytes(vm, s->n);
    size_t begin = ascii ? (size_t)from : jt_utf8_offset(s->p, s->n, (size_t)from);
    size_t n = ascii ? (size_t)count : jt_utf8_offset(s->p + begin, s->n - begin, (size_t)count);
    jt_value v = jt_text(vm, s->p + begin, n);
    v.s->chars = count;
    return v;
}

static jt_value stepped_string(jt_vm *vm, jt_str *s, int64_t from, int64_t step, int64_t count) {
    /* Where each character is, so that going backwards is no search for each. */
    size_t chars = (size_t)jt_chars(s), at = 0;
    size_t *offsets = jt_alloc_array(vm, chars + 1, sizeof *offsets);
    for (size_t i = 0; i < chars; i++) {
        offsets[i] = at;
        at += jt_utf8_size(s->p[at]);
    }
    jt_buf b = {0};
    for (int64_t i = 0; i < count; i++) {
        const char *p = s->p + offsets[from + i * step];
        jt_put(vm, &b, p, jt_utf8_size(*p));
    }
    return jt_buf_text(vm, &b);
}

jt_value jt_get_slice(jt_vm *vm, jt_value v, jt_value start, jt_value stop, jt_value step) {
    int64_t n = 0, by = slice_int(vm, step, 1);
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    if (v.kind == JT_DICT) jt_fail(vm, "unhashable type: 'slice'");
    bool sequence =
        v.kind == JT_STR || v.kind == JT_LIST || v.kind == JT_TUPLE || v.kind == JT_RANGE;
    if (!sequence || !jt_length(v, &n))
        jt_fail(vm, "'%s' object is not subscriptable", jt_type_name(v));
    if (!by) jt_fail(vm, "slice step cannot be zero");
    if (by < -INT64_MAX) by = -INT64_MAX;
    int64_t lo = by < 0 ? -1 : 0, hi = by < 0 ? n - 1 : n;
    bool all_from = jt_absent(start) || start.kind == JT_NONE;
    bool all_to = jt_absent(stop) || stop.kind == JT_NONE;
    int64_t from = all_from ? (by < 0 ? hi : lo) : clamp(slice_int(vm, start, 0), n, lo, hi);
    int64_t to = all_to ? (by < 0 ? lo : hi) : clamp(slice_int(vm, stop, 0), n, lo, hi);
    int64_t count = by > 0 ? (to > from ? (to - from - 1) / by + 1 : 0)
                           : (from > to ? (from - to - 1) / -by + 1 : 0);
    if (count < 2 && v.kind != JT_RANGE) by = 1;
    if (v.kind == JT_STR)
        return by == 1 ? substring(vm, v.s, count ? from : 0, count)
                       : stepped_string(vm, v.s, from, by, count);
    if (v.kind == JT_RANGE) {
        jt_range *r = jt_alloc(vm, sizeof *r);
        *r = (jt_range){.start = v.range->start + from * v.range->step,
                        .stop = v.range->start + to * v.range->step,
                        .step = v.range->step * by,
                        .count = count};
        v.range = r;
        return v;
    }
    jt_list *l = jt_list_new(vm, (size_t)count);
    for (int64_t i = 0; i < count; i++)
        jt_list_add(vm, l, v.l->at[from + i * by]);
    v.l = l;
    return v;
}
