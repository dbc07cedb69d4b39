/* containers.c - methods of dicts, lists, loops and cyclers, and the functions every template has.
 */
#include "examples/llm/template/run.h"
#include <math.h>
#include <string.h>

#define METHOD(name) static jt_value name(jt_vm *vm, jt_value self, jt_value *arg)
#define RAW(name) static jt_value name(jt_vm *vm, jt_value self, const jt_args *args)

/* ---- dicts ---- */

static jt_value view(jt_vm *vm, jt_dict *d, int what) {
    jt_view *v = jt_alloc(vm, sizeof *v);
    v->what = what;
    v->dict = d;
    return (jt_value){.kind = JT_VIEW, .view = v};
}

METHOD(d_items) {
    (void)arg;
    return view(vm, self.d, JT_ITEMS);
}
METHOD(d_keys) {
    (void)arg;
    return view(vm, self.d, JT_KEYS);
}
METHOD(d_values) {
    (void)arg;
    return view(vm, self.d, JT_VALUES);
}
METHOD(d_get) {
    if (!jt_hashable(arg[0])) jt_fail(vm, "unhashable type: '%s'", jt_type_name(arg[0]));
    jt_value v = jt_dict_get(vm, self.d, arg[0]);
    if (!jt_absent(v)) return v;
    return jt_absent(arg[1]) ? jt_none() : arg[1];
}

static void add_all(jt_vm *vm, jt_dict *to, const jt_dict *from) {
    for (size_t i = 0; i < from->n; i++)
        jt_dict_set(vm, to, from->at[i].key, from->at[i].value);
}

METHOD(d_copy) {
    jt_dict *d = jt_dict_new(vm);
    (void)arg;
    add_all(vm, d, self.d);
    return jt_of_dict(d);
}

/* ---- lists, ranges ---- */

METHOD(l_index) {
    int64_t n, i = jt_absent(arg[1]) ? 0 : jt_need_int(vm, arg[1], "start");
    if (!jt_length(self, &n)) n = 0;
    if (i < 0) i = i < -n ? 0 : i + n;
    for (; i < n; i++)
        if (jt_equal(vm, jt_at(vm, self, i), arg[0])) return jt_int(i);
    jt_fail(vm, "%s is not in list", jt_as_word(vm, arg[0]));
}
METHOD(l_count) {
    int64_t n, count = 0;
    if (!jt_length(self, &n)) n = 0;
    for (int64_t i = 0; i < n; i++)
        count += jt_equal(vm, jt_at(vm, self, i), arg[0]);
    return jt_int(count);
}
METHOD(l_copy) {
    (void)arg;
    return jt_of_list(jt_to_list(vm, self));
}

/* ---- loops, cyclers ---- */

RAW(loop_cycle) {
    if (args->nnamed) jt_fail(vm, "cycle() takes no keyword arguments");
    if (!args->n) jt_fail(vm, "no items for cycling given");
    return args->at[self.loop->index0 % args->n];
}

RAW(loop_changed) {
    jt_list *l = jt_list_new(vm, args->n), *before = self.loop->changed;
    if (args->nnamed) jt_fail(vm, "changed() takes no keyword arguments");
    for (size_t i = 0; i < args->n; i++)
        jt_list_add(vm, l, args->at[i]);
    if (before && jt_equal(vm, jt_of_tuple(before), jt_of_tuple(l))) return jt_bool(false);
    self.loop->changed = l;
    return jt_bool(true);
}

METHOD(cycler_next) {
    struct jt_cycler *c = self.cycler;
    (void)vm, (void)arg;
    jt_value v = c->items->at[c->at];
    c->at = (c->at + 1) % c->items->n;
    return v;
}
METHOD(cycler_reset) {
    (void)vm, (void)arg;
    self.cycler->at = 0;
    return jt_none();
}
METHOD(float_is_integer) {
    (void)vm, (void)arg;
    return jt_bool(isfinite(self.f) && self.f == trunc(self.f));
}

static const jt_builtin of_dict[] = {
    {"items", "", d_items, NULL, false},   {"keys", "", d_keys, NULL, false},
    {"values", "", d_values, NULL, false}, {"get", "key default?", d_get, NULL, false},
    {"copy", "", d_copy, NULL, false},     {0},
};
static const jt_builtin of_list[] = {
    {"index", "value start?", l_index, NULL, false},
    {"count", "value", l_count, NULL, false},
    {"copy", "", l_copy, NULL, false},
    {0},
};
static const jt_builtin of_tuple[] = {
    {"index", "value start?", l_index, NULL, false}, {"count", "value", l_count, NULL, false}, {0}};
static const jt_builtin of_loop[] = {
    {"cycle", NULL, NULL, loop_cycle, false}, {"changed", NULL, NULL, loop_changed, false}, {0}};
static const jt_builtin of_cycler[] = {
    {"next", "", cycler_next, NULL, false}, {"reset", "", cycler_reset, NULL, false}, {0}};
static const jt_builtin of_float[] = {{"is_integer", "", float_is_integer, NULL, false}, {0}};
static const jt_builtin of_nothing[] = {{0}};

const jt_builtin *jt_container_methods(jt_value v) {
    switch (v.kind) {
    case JT_DICT:
        return of_dict;
    case JT_LIST:
        return of_list;
    case JT_TUPLE:
    case JT_RANGE:
        return of_tuple;
    case JT_LOOP:
        return of_loop;
    case JT_CYCLER:
        return of_cycler;
    case JT_FLOAT:
        return of_float;
    default:
        return of_nothing;
    }
}

/* ---- functions ---- */

enum { MAX_RANGE = 100000 };

METHOD(f_range) {
    int64_t a[3], n = jt_absent(arg[1]) ? 1 : jt_absent(arg[2]) ? 2 : 3, count;
    (void)self;
    for (int64_t i = 0; i < n; i++)
        a[i] = jt_need_int(vm, arg[i], "range() argument");
    int64_t start = n > 1 ? a[0] : 0, stop = n > 1 ? a[1] : a[0], step = n > 2 ? a[2] : 1;
    if (!step) jt_fail(vm, "range() arg 3 must not be zero");
    if (step == INT64_MIN || __builtin_sub_overflow(stop, start, &count))
        jt_fail(vm, "Range too big. The sandbox blocks ranges larger than %d.", MAX_RANGE);
    if (step > 0)
        count = count > 0 ? (count - 1) / step + 1 : 0;
    else
        count = count < 0 ? (count + 1) / step + 1 : 0;
    if (count > MAX_RANGE)
        jt_fail(vm, "Range too big. The sandbox blocks ranges larger than %d.", MAX_RANGE);
    jt_range *r = jt_alloc(vm, sizeof *r);
    *r = (jt_range){.start = start, .stop = stop, .step = step, .count = count};
    return (jt_value){.kind = JT_RANGE, .range = r};
}

/* A dict of a mapping or pairs, if one is given, and of the named arguments. */
static jt_dict *make_dict(jt_vm *vm, const jt_args *args) {
    jt_dict *d = jt_dict_new(vm);
    if (args->n > 1) jt_fail(vm, "dict expected at most 1 argument, got %zu", args->n);
    if (args->n && args->at[0].kind == JT_DICT) {
        add_all(vm, d, args->at[0].d);
    } else if (args->n) {
        jt_walk w = jt_walk_of(vm, args->at[0]);
        jt_value item;
        while (jt_walk_next(vm, &w, &item)) {
            const jt_list *pair = jt_to_list(vm, item);
            if (pair->n != 2)
                jt_fail(vm, "dictionary update sequence element has length %zu; 2 is required",
                        pair->n);
            jt_dict_set(vm, d, pair->at[0], pair->at[1]);
        }
    }
    for (size_t i = 0; i < args->nnamed; i++)
        jt_dict_set(vm, d, jt_of_str(args->names[i]), args->named[i]);
    return d;
}

RAW(f_dict) {
    (void)self;
    return jt_of_dict(make_dict(vm, args));
}
RAW(f_namespace) {
    (void)self;
    return (jt_value){.kind = JT_NAMESPACE, .d = make_dict(vm, args)};
}
METHOD(f_raise_exception) {
    const jt_str *s = jt_as_str(vm, arg[0]);
    (void)self;
    jt_fail_as(vm, LM_TEMPLATE_RAISED, "%.*s", (int)(s->n < 390 ? s->n : 390), s->p);
}

METHOD(f_strftime_now) {
    const jt_str *format = jt_need_str(vm, arg[0], "the format");
    time_t seconds = time(NULL);
    struct tm now = {0};
    (void)self;
    if (vm->now)
        now = *vm->now;
    else
        localtime_r(&seconds, &now);
    if (format->n > 200 || memchr(format->p, 0, format->n)) jt_fail(vm, "bad format of a time");
    char text[256];
    enum { MOST = 8192 };
    memcpy(text, format->p, format->n);
    memcpy(text + format->n, "!", 2); /* so that nothing is told from too much */
    char *out = jt_alloc(vm, MOST);
    size_t n = strftime(out, MOST, text, &now);
    if (!n) jt_fail(vm, "bad format of a time");
    return jt_text(vm, out, n - 1);
}

RAW(f_cycler) {
    struct jt_cycler *c = jt_alloc(vm, sizeof *c);
    (void)self;
    if (!args->n || args->nnamed) jt_fail(vm, "at least one item has to be provided");
    c->items = jt_list_new(vm, args->n);
    for (size_t i = 0; i < args->n; i++)
        jt_list_add(vm, c->items, args->at[i]);
    return (jt_value){.kind = JT_CYCLER, .cycler = c};
}

METHOD(f_joiner) {
    struct jt_joiner *j = jt_alloc(vm, sizeof *j);
    (void)self;
    j->with = jt_absent(arg[0]) ? jt_word(vm, ", ").s : jt_as_str(vm, arg[0]);
    return (jt_value){.kind = JT_JOINER, .joiner = j};
}

static const jt_builtin globals[] = {
    {"range", "start stop? step?", f_range, NULL, false},
    {"dict", NULL, NULL, f_dict, false},
    {"namespace", NULL, NULL, f_namespace, false},
    {"raise_exception", "message", f_raise_exception, NULL, false},
    {"strftime_now", "format", f_strftime_now, NULL, false},
    {"cycler", NULL, NULL, f_cycler, false},
    {"joiner", "sep?", f_joiner, NULL, false},
    {0},
};

const jt_builtin *jt_find_global(const char *name, size_t n) {
    return jt_find_in(globals, name, n);
}
