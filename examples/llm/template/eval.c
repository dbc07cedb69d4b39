/* eval.c - expressions: a case for each kind of node. */
#include "examples/llm/template/run.h"
#include <string.h>

void jt_set_var(jt_vm *vm, const jt_str *name, jt_value v) {
    jt_frame *f = vm->frame;
    for (size_t i = 0; i < f->n; i++)
        if (f->vars[i].name == name) {
            f->vars[i].value = v;
            return;
        }
    if (f->n == f->cap) {
        size_t cap = f->cap ? 2 * f->cap : 4;
        jt_var *grown = jt_alloc_array(vm, cap, sizeof *grown);
        if (f->n) memcpy(grown, f->vars, f->n * sizeof *grown);
        f->vars = grown;
        f->cap = cap;
    }
    f->vars[f->n++] = (jt_var){name, v};
}

/* Of the scopes from inside out, then of the variables given, then of all templates. */
static jt_value load(jt_vm *vm, const jt_str *name) {
    for (const jt_frame *f = vm->frame; f; f = f->parent) {
        jt_step(vm, 1 + f->n / 8);
        for (size_t i = 0; i < f->n; i++)
            if (f->vars[i].name == name) return f->vars[i].value;
    }
    jt_value v = jt_dict_find(vm, vm->context, name->p, name->n);
    if (!jt_absent(v)) return v;
    const jt_builtin *global = jt_find_global(name->p, name->n);
    if (global) {
        struct jt_function *f = jt_alloc(vm, sizeof *f);
        f->builtin = global;
        return (jt_value){.kind = JT_FUNCTION, .function = f};
    }
    jt_undefined *u = jt_alloc(vm, sizeof *u);
    u->name = name;
    return (jt_value){.kind = JT_UNDEFINED, .undefined = u};
}

/* ---- calls ---- */

static void add_named(jt_vm *vm, jt_args *args, size_t *cap, jt_str *name, jt_value v) {
    for (size_t i = 0; i < args->nnamed; i++)
        if (args->names[i]->n == name->n && !memcmp(args->names[i]->p, name->p, name->n))
            jt_fail(vm, "got multiple values for keyword argument '%.*s'",
                    (int)(name->n < 60 ? name->n : 60), name->p);
    if (args->nnamed == *cap) {
        *cap = *cap ? 2 * *cap : 4;
        jt_str **names = jt_alloc_array(vm, *cap, sizeof *names);
        jt_value *values = jt_alloc_array(vm, *cap, sizeof *values);
        if (args->nnamed) {
            memcpy(names, args->names, args->nnamed * sizeof *names);
            memcpy(values, args->named, args->nnamed * sizeof *values);
        }
        args->names = names;
        args->named = values;
    }
    args->names[args->nnamed] = name;
    args->named[args->nnamed++] = v;
}

static jt_args eval_args(jt_vm *vm, const jt_call_args *a) {
    jt_args args = {0};
    size_t cap = 0;
    if (!a) return args;
    jt_list *l = jt_list_new(vm, a->positional.n);
    for (uint32_t i = 0; i < a->positional.n; i++)
        jt_list_add(vm, l, jt_eval(vm, a->positional.at[i]));
    if (a->star) {
        jt_walk w = jt_walk_of(vm, jt_eval(vm, a->star));
        jt_value item;
        while (jt_walk_next(vm, &w, &item))
            jt_list_add(vm, l, item);
    }
    for (uint32_t i = 0; i < a->named.n; i++)
        add_named(vm, &args, &cap, a->names[i], jt_eval(vm, a->named.at[i]));
    if (a->star_star) {
        jt_value v = jt_eval(vm, a->star_star);
        if (v.kind != JT_DICT)
            jt_fail(vm, "argument after ** must be a mapping, not %s", jt_type_name(v));
        for (size_t i = 0; i < v.d->n; i++) {
            if (v.d->at[i].key.kind != JT_STR) jt_fail(vm, "keywords must be strings");
            add_named(vm, &args, &cap, v.d->at[i].key.s, v.d->at[i].value);
        }
    }
    args.at = l->at;
    args.n = l->n;
    return args;
}

/* The next name of PARAMS: its size, 0 at the end; goes on behind it. */
static size_t next_param(const char **params, const char **name, bool *optional) {
    const char *p = *params + strspn(*params, " ");
    size_t n = strcspn(p, " ?");
    *name = p;
    *optional = p[n] == '?';
    *params = p + n + *optional;
    return n;
}

/* Where the arguments of a builtin go by its names of them. */
static void bind(jt_vm *vm, const jt_builtin *b, const jt_args *args, jt_value *bound) {
    size_t count = 0, used = 0;
    const char *params = b->params, *name;
    bool optional;
    for (size_t n; (n = next_param(&params, &name, &optional)); count++) {
        if (count < args->n) bound[count] = args->at[count];
        for (size_t i = 0; i < args->nnamed; i++) {
            if (args->names[i]->n != n || memcmp(args->names[i]->p, name, n)) continue;
            if (count < args->n)
                jt_fail(vm, "%s() got multiple values for argument '%.*s'", b->name, (int)n, name);
            bound[count] = args->named[i];
            used++;
        }
        if (jt_absent(bound[count]) && !optional)
            jt_fail(vm, "%s() missing the argument '%.*s'", b->name, (int)n, name);
    }
    if (args->n > count)
        jt_fail(vm, "%s() takes at most %zu argument%s (%zu given)", b->name, count,
                count == 1 ? "" : "s", args->n);
    if (used < args->nnamed) jt_fail(vm, "%s() got an unexpected keyword argument", b->name);
}

/* A call that waits until its first item is wanted. */
struct waiting {
    struct jt_pending pending;
    const jt_builtin *builtin;
    const jt_place *at;
    jt_value self, bound[JT_MAX_ARGS];
    jt_args args;
};

static void make_items(jt_vm *vm, struct jt_pending *pending, jt_list *out) {
    struct waiting *w = (struct waiting *)pending;
    const jt_place *at = vm->at;
    vm->at = w->at;
    jt_value v = w->builtin->params ? w->builtin->run(vm, w->self, w->bound)
                                    : w->builtin->raw(vm, w->self, &w->args);
    vm->at = at;
    *out = *v.l;
}

jt_value jt_call_builtin(jt_vm *vm, const jt_builtin *b, jt_value self, const jt_args *args) {
    jt_value bound[JT_MAX_ARGS] = {{.kind = JT_ABSENT}};
    jt_step(vm, 1);
    if (b->params) bind(vm, b, args, bound);
    if (!b->lazy) return b->params ? b->run(vm, self, bound) : b->raw(vm, self, args);
    struct waiting *w = jt_alloc(vm, sizeof *w);
    *w = (struct waiting){{make_items}, b, vm->at, self, .args = *args};
    memcpy(w->bound, bound, sizeof bound);
    jt_list *l = jt_list_new(vm, 0);
    l->pending = &w->pending;
    return jt_of_iter(l);
}

static jt_value call_value(jt_vm *vm, jt_value f, const jt_args *args) {
    switch (f.kind) {
    case JT_FUNCTION:
        return jt_call_builtin(vm, f.function->builtin, f.function->self, args);
    case JT_MACRO:
        return jt_call_macro(vm, f.macro, args);
    case JT_LOOP:
        if (args->n != 1 || args->nnamed) jt_fail(vm, "loop() takes one argument");
        return jt_call_loop(vm, f.loop, args->at[0]);
    case JT_CYCLER:
        jt_fail(vm, "'Cycler' object is not callable");
    case JT_JOINER:
        if (!f.joiner->used) {
            f.joiner->used = true;
            return jt_word(vm, "");
        }
        return jt_of_str(f.joiner->with);
    case JT_UNDEFINED:
        jt_fail_undefined(vm, f);
    default:
        jt_fail(vm, "'%s' object is not callable", jt_type_name(f));
    }
}

jt_value jt_eval_call(jt_vm *vm, const jt_node *n, jt_str *name, jt_value value) {
    jt_value f = jt_eval(vm, n->a);
    jt_args args = eval_args(vm, n->args);
    vm->at = &n->place;
    size_t cap = args.nnamed; /* what is there is full */
    if (name) add_named(vm, &args, &cap, name, value);
    return call_value(vm, f, &args);
}

static jt_value eval_builtin(jt_vm *vm, const jt_node *n, const char *what) {
    jt_value self = jt_eval(vm, n->a);
    jt_args args = eval_args(vm, n->args);
    vm->at = &n->place;
    if (!n->builtin) jt_fail(vm, "there is no %s '%.*s'", what, (int)n->name->n, n->name->p);
    return jt_call_builtin(vm, n->builtin, self, &args);
}

/* ---- the other kinds ---- */

static jt_value eval_list(jt_vm *vm, const jt_node *n) {
    jt_list *l = jt_list_new(vm, n->items.n);
    for (uint32_t i = 0; i < n->items.n; i++)
        jt_list_add(vm, l, jt_eval(vm, n->items.at[i]));
    return n->kind == N_TUPLE ? jt_of_tuple(l) : jt_of_list(l);
}

static jt_value eval_dict(jt_vm *vm, const jt_node *n) {
    jt_dict *d = jt_dict_new(vm);
    for (uint32_t i = 0; i < n->items.n; i++) {
        jt_value key = jt_eval(vm, n->items.at[i]);
        jt_value value = jt_eval(vm, n->more.at[i]);
        vm->at = &n->items.at[i]->place;
        jt_dict_set(vm, d, key, value);
    }
    return jt_of_dict(d);
}

static jt_value eval_concat(jt_vm *vm, const jt_node *n) {
    jt_buf b = {0};
    for (uint32_t i = 0; i < n->items.n; i++)
        jt_put_str(vm, &b, jt_eval(vm, n->items.at[i]));
    return jt_buf_text(vm, &b);
}

static jt_value eval_compare(jt_vm *vm, const jt_node *n) {
    jt_value left = jt_eval(vm, n->a);
    for (uint32_t i = 0; i < n->items.n; i++) {
        const jt_node *operand = n->items.at[i];
        jt_value right = jt_eval(vm, operand->a);
        vm->at = &operand->place;
        if (!jt_compare(vm, operand->op, left, right)) return jt_bool(false);
        left = right;
    }
    return jt_bool(true);
}

static jt_value eval_optional(jt_vm *vm, const jt_node *n) {
    return n ? jt_eval(vm, n) : (jt_value){.kind = JT_ABSENT};
}

static jt_value eval_slice(jt_vm *vm, const jt_node *n) {
    jt_value of = jt_eval(vm, n->a), start = eval_optional(vm, n->b);
    jt_value stop = eval_optional(vm, n->c), step = eval_optional(vm, n->d);
    vm->at = &n->place;
    return jt_get_slice(vm, of, start, stop, step);
}

static jt_value eval_cond(jt_vm *vm, const jt_node *n) {
    if (jt_true(vm, jt_eval(vm, n->b))) return jt_eval(vm, n->a);
    if (n->c) return jt_eval(vm, n->c);
    return jt_missing(vm, "the inline if-expression evaluated to false and no else section was "
                          "defined.");
}

static jt_value eval_sign(jt_vm *vm, const jt_node *n) {
    jt_value v = jt_eval(vm, n->a);
    vm->at = &n->place;
    if (n->kind == N_NEGATE) return jt_negate(vm, v);
    return jt_negate(vm, jt_negate(vm, v));
}

static jt_value eval_binary(jt_vm *vm, const jt_node *n) {
    jt_value a = jt_eval(vm, n->a);
    bool both = n->kind == N_AND;
    if (both || n->kind == N_OR) return jt_true(vm, a) == both ? jt_eval(vm, n->b) : a;
    jt_value b = jt_eval(vm, n->b);
    vm->at = &n->place;
    return n->kind == N_ITEM ? jt_get_item(vm, a, b) : jt_binary(vm, n->op, a, b);
}

static jt_value eval_attr(jt_vm *vm, const jt_node *n) {
    jt_value v = jt_eval(vm, n->a);
    vm->at = &n->place;
    return jt_get_attr(vm, v, n->name);
}

static jt_value eval_kind(jt_vm *vm, const jt_node *n) {
    switch (n->kind) {
    case N_CONST:
        return n->value;
    case N_NAME:
        return load(vm, n->name);
    case N_INPUT:
        return vm->input;
    case N_LIST:
    case N_TUPLE:
        return eval_list(vm, n);
    case N_DICT:
        return eval_dict(vm, n);
    case N_CONCAT:
        return eval_concat(vm, n);
    case N_BINARY:
    case N_AND:
    case N_OR:
    case N_ITEM:
        return eval_binary(vm, n);
    case N_NEGATE:
    case N_PLUS:
        return eval_sign(vm, n);
    case N_NOT:
        return jt_bool(!jt_true(vm, jt_eval(vm, n->a)));
    case N_COMPARE:
        return eval_compare(vm, n);
    case N_COND:
        return eval_cond(vm, n);
    case N_ATTR:
        return eval_attr(vm, n);
    case N_SLICE:
        return eval_slice(vm, n);
    case N_FILTER:
        return eval_builtin(vm, n, "filter");
    case N_TEST:
        return eval_builtin(vm, n, "test");
    case N_CALL:
        return jt_eval_call(vm, n, NULL, jt_none());
    default:
        jt_fail(vm, "not an expression");
    }
}

jt_value jt_eval(jt_vm *vm, const jt_node *n) {
    vm->at = &n->place;
    jt_enter(vm);
    jt_step(vm, 1);
    jt_value v = eval_kind(vm, n);
    jt_leave(vm);
    return v;
}
