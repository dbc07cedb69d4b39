/* filters_choice.c - filters that apply others: map, select and theirs; and where filters are
 * found by name. */
#include "examples/llm/template/run.h"
#include <string.h>

static jt_value absent(void) {
    return (jt_value){.kind = JT_ABSENT};
}

/* The argument of ARGS called NAME. */
static jt_value named(const jt_args *args, const char *name) {
    for (size_t i = 0; i < args->nnamed; i++)
        if (args->names[i]->n == strlen(name) &&
            !memcmp(args->names[i]->p, name, args->names[i]->n))
            return args->named[i];
    return absent();
}

/* The arguments from the one numbered FROM on. */
static jt_args rest(const jt_args *args, size_t from) {
    jt_args r = *args;
    r.at += from;
    r.n -= from;
    return r;
}

static const jt_builtin *need(jt_vm *vm, const jt_args *args, size_t at, bool filter) {
    const char *what = filter ? "filter" : "test";
    if (args->at[at].kind != JT_STR)
        jt_fail(vm, "there is no %s %s", what, jt_as_word(vm, args->at[at]));
    const jt_str *name = args->at[at].s;
    const jt_builtin *b =
        filter ? jt_find_filter(name->p, name->n) : jt_find_test(name->p, name->n);
    if (!b) jt_fail(vm, "there is no %s %s", what, jt_as_word(vm, args->at[at]));
    return b;
}

static jt_value do_map(jt_vm *vm, jt_value self, const jt_args *args) {
    jt_list *l = jt_list_new(vm, 0);
    if (!jt_true(vm, self)) return jt_of_iter(l);
    jt_value attribute = named(args, "attribute"), otherwise = named(args, "default"), item;
    bool by_name = !args->n && !jt_absent(attribute);
    const jt_builtin *filter = NULL;
    jt_args others = {0};
    if (!by_name) {
        if (!args->n) jt_fail(vm, "map requires a filter argument");
        filter = need(vm, args, 0, true);
        others = rest(args, 1);
    } else if (args->nnamed > 1 + (size_t)!jt_absent(otherwise)) {
        jt_fail(vm, "map() got an unexpected keyword argument");
    }
    jt_walk w = jt_walk_of(vm, self);
    while (jt_walk_next(vm, &w, &item))
        jt_list_add(vm, l,
                    by_name ? jt_get_path(vm, item, attribute, otherwise)
                            : jt_call_builtin(vm, filter, item, &others));
    return jt_of_iter(l);
}

/* Those of which a test, or their truth, is WANTED; BY_ATTR: that of the attribute named first. */
static jt_value choose(jt_vm *vm, jt_value self, const jt_args *args, bool wanted, bool by_attr) {
    jt_list *l = jt_list_new(vm, 0);
    if (!jt_true(vm, self)) return jt_of_iter(l);
    if (by_attr && !args->n) jt_fail(vm, "Missing parameter for attribute name");
    const jt_builtin *test = args->n > by_attr ? need(vm, args, by_attr, false) : NULL;
    jt_args others = test ? rest(args, 1 + (size_t)by_attr) : (jt_args){0};
    jt_walk w = jt_walk_of(vm, self);
    jt_value item;
    while (jt_walk_next(vm, &w, &item)) {
        jt_value v = by_attr ? jt_get_path(vm, item, args->at[0], absent()) : item;
        if (test) v = jt_call_builtin(vm, test, v, &others);
        if (jt_true(vm, v) == wanted) jt_list_add(vm, l, item);
    }
    return jt_of_iter(l);
}

static jt_value do_select(jt_vm *vm, jt_value self, const jt_args *args) {
    return choose(vm, self, args, true, false);
}

static jt_value do_reject(jt_vm *vm, jt_value self, const jt_args *args) {
    return choose(vm, self, args, false, false);
}

static jt_value do_selectattr(jt_vm *vm, jt_value self, const jt_args *args) {
    return choose(vm, self, args, true, true);
}

static jt_value do_rejectattr(jt_vm *vm, jt_value self, const jt_args *args) {
    return choose(vm, self, args, false, true);
}

static jt_value do_default(jt_vm *vm, jt_value self, jt_value *arg) {
    bool replace = self.kind == JT_UNDEFINED || (jt_true(vm, arg[1]) && !jt_true(vm, self));
    if (!replace) return self;
    return jt_absent(arg[0]) ? jt_word(vm, "") : arg[0];
}

/* Attributes alone, no items: of what templates have, methods and those of loops and namespaces. */
static jt_value do_attr(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *name = jt_need_str(vm, arg[0], "an attribute");
    jt_value v = jt_get_attr(vm, self, name);
    bool item = self.kind == JT_DICT && v.kind != JT_FUNCTION;
    return item ? jt_missing(vm, "the object has no such attribute") : v;
}

static const jt_builtin choice_filters[] = {
    {"map", NULL, NULL, do_map, true},
    {"select", NULL, NULL, do_select, true},
    {"reject", NULL, NULL, do_reject, true},
    {"selectattr", NULL, NULL, do_selectattr, true},
    {"rejectattr", NULL, NULL, do_rejectattr, true},
    {"default", "default_value? boolean?", do_default, NULL, false},
    {"d", "default_value? boolean?", do_default, NULL, false},
    {"attr", "name", do_attr, NULL, false},
    {0},
};

const jt_builtin *jt_find_in(const jt_builtin *table, const char *name, size_t n) {
    for (; table->name; table++)
        if (strlen(table->name) == n && !memcmp(table->name, name, n)) return table;
    return NULL;
}

const jt_builtin *jt_find_filter(const char *name, size_t n) {
    const jt_builtin *const tables[] = {jt_text_filters, jt_sequence_filters, jt_number_filters,
                                        choice_filters};
    const jt_builtin *found = NULL;
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !found; i++)
        found = jt_find_in(tables[i], name, n);
    return found;
}
