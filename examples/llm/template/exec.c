/* exec.c - statements: a case for each kind of node; loops and macros. */
#include "examples/llm/template/run.h"
#include <string.h>

/* How a body ended. */
typedef enum { GO_ON, BREAK, CONTINUE } flow;

static flow run_body(jt_vm *, const jt_nodes *);

static void push_frame(jt_vm *vm, jt_frame *parent) {
    jt_frame *f = jt_alloc(vm, sizeof *f);
    f->parent = parent;
    vm->frame = f;
}

/* The same for one more iteration; AGAIN: the scope of the one before may do. */
static void fresh_frame(jt_vm *vm, jt_frame *parent, bool again) {
    if (again && !vm->frame->kept)
        vm->frame->n = 0;
    else
        push_frame(vm, parent);
}

/* ---- assignments ---- */

static void assign(jt_vm *, const jt_node *target, jt_value);

static void unpack(jt_vm *vm, const jt_node *target, jt_value v) {
    jt_walk w = jt_walk_of(vm, v);
    jt_value item;
    uint32_t n = 0;
    while (n < target->items.n && jt_walk_next(vm, &w, &item))
        assign(vm, target->items.at[n++], item);
    vm->at = &target->place;
    if (n < target->items.n)
        jt_fail(vm, "not enough values to unpack (expected %u, got %u)", target->items.n, n);
    if (jt_walk_next(vm, &w, &item))
        jt_fail(vm, "too many values to unpack (expected %u)", target->items.n);
}

static void assign(jt_vm *vm, const jt_node *target, jt_value v) {
    if (target->kind == N_TUPLE) {
        unpack(vm, target, v);
    } else if (!target->attr) {
        jt_set_var(vm, target->name, v);
    } else {
        const jt_node name = {.kind = N_NAME, .place = target->place, .name = target->name};
        jt_value ns = jt_eval(vm, &name);
        vm->at = &target->place;
        if (ns.kind != JT_NAMESPACE) jt_fail(vm, "cannot assign attribute on non-namespace object");
        jt_dict_set(vm, ns.d, jt_of_str(target->attr), v);
    }
}

/* ---- bodies whose text becomes a value ---- */

static jt_value capture(jt_vm *vm, const jt_nodes *body, flow *how) {
    jt_buf text = {0}, *out = vm->out;
    vm->out = &text;
    *how = run_body(vm, body);
    vm->out = out;
    return jt_buf_text(vm, &text);
}

/* The text of BODY in a scope of its own, through FILTERS. */
static jt_value capture_filtered(jt_vm *vm, const jt_nodes *body, const jt_node *filters,
                                 flow *how) {
    jt_frame *frame = vm->frame;
    jt_value input = vm->input;
    push_frame(vm, frame);
    jt_value v = capture(vm, body, how);
    vm->input = v;
    if (filters && *how == GO_ON) v = jt_eval(vm, filters);
    vm->input = input;
    vm->frame = frame;
    return v;
}

/* ---- loops ---- */

/* Takes one more item that the loop's condition lets through; false: there is none. It is done as
 * late as can be, since a body may change what the condition reads. */
static bool take_item(jt_vm *vm, struct jt_loop *l) {
    const jt_node *n = l->node;
    jt_frame *frame = vm->frame;
    jt_value item;
    while (!l->done) {
        bool chosen = true;
        if (!jt_walk_next(vm, &l->walk, &item)) {
            l->done = true;
            break;
        }
        if (n->c) {
            push_frame(vm, l->frame);
            assign(vm, n->a, item);
            chosen = jt_true(vm, jt_eval(vm, n->c));
            vm->frame = frame;
        }
        if (!chosen) continue;
        jt_list_add(vm, l->items, item);
        return true;
    }
    return false;
}

static bool has_item(jt_vm *vm, struct jt_loop *l, size_t i) {
    return i < l->items->n || take_item(vm, l);
}

static struct jt_loop *begin_loop(jt_vm *vm, const jt_node *n, jt_value iterable, int depth0) {
    struct jt_loop *l = jt_alloc(vm, sizeof *l);
    bool all = !n->c && (iterable.kind == JT_LIST || iterable.kind == JT_TUPLE);
    vm->at = &n->b->place;
    *l = (struct jt_loop){.node = n, .frame = vm->frame, .depth0 = depth0, .done = all};
    l->walk = jt_walk_of(vm, iterable);
    l->items = all ? iterable.l : jt_list_new(vm, 0);
    return l;
}

static flow run_loop(jt_vm *vm, const jt_node *n, jt_value iterable, int depth0) {
    jt_frame *frame = vm->frame;
    struct jt_loop *loop = begin_loop(vm, n, iterable, depth0);
    flow how = GO_ON;
    bool ended =
        false; /* a body came to its end: `continue` at all of them leads to the else too */
    for (; how != BREAK && has_item(vm, loop, loop->index0); loop->index0++) {
        jt_step(vm, 1);
        fresh_frame(vm, frame, loop->index0 > 0);
        jt_set_var(vm, n->name, (jt_value){.kind = JT_LOOP, .loop = loop});
        assign(vm, n->a, loop->items->at[loop->index0]);
        how = run_body(vm, &n->items);
        ended |= how == GO_ON;
    }
    vm->frame = frame;
    if (ended || !n->more.n) return GO_ON;
    push_frame(vm, frame);
    how = run_body(vm, &n->more);
    vm->frame = frame;
    return how;
}

jt_value jt_call_loop(jt_vm *vm, const struct jt_loop *loop, jt_value iterable) {
    if (!loop->node->flag)
        jt_fail(vm, "the loop must have the 'recursive' marker to be called recursively");
    jt_frame *frame = vm->frame;
    const jt_place *at = vm->at;
    jt_buf text = {0}, *out = vm->out;
    jt_enter(vm);
    vm->out = &text;
    vm->frame = loop->frame;
    run_loop(vm, loop->node, iterable, loop->depth0 + 1);
    vm->frame = frame;
    vm->out = out;
    vm->at = at;
    jt_leave(vm);
    return jt_buf_text(vm, &text);
}

jt_value jt_loop_attr(jt_vm *vm, struct jt_loop *l, const char *name) {
    int64_t i = (int64_t)l->index0;
    if (!strcmp(name, "index")) return jt_int(i + 1);
    if (!strcmp(name, "index0")) return jt_int(i);
    if (!strcmp(name, "first")) return jt_bool(i == 0);
    if (!strcmp(name, "last")) return jt_bool(!has_item(vm, l, l->index0 + 1));
    if (!strcmp(name, "depth")) return jt_int(l->depth0 + 1);
    if (!strcmp(name, "depth0")) return jt_int(l->depth0);
    if (!strcmp(name, "previtem"))
        return i ? l->items->at[i - 1] : jt_missing(vm, "there is no previous item");
    if (!strcmp(name, "nextitem"))
        return has_item(vm, l, l->index0 + 1) ? l->items->at[i + 1]
                                              : jt_missing(vm, "there is no next item");
    bool length = !strcmp(name, "length"), revindex = !strcmp(name, "revindex");
    if (!length && !revindex && strcmp(name, "revindex0") != 0)
        return (jt_value){.kind = JT_ABSENT};
    while (take_item(vm, l)) {
    }
    return jt_int((int64_t)l->items->n - (length ? 0 : revindex ? i : i + 1));
}

/* ---- macros ---- */

/* The argument of ARGS that is called NAME; it is marked as used. */
static jt_value take_named(const jt_args *args, bool *used, const jt_str *name) {
    for (size_t i = 0; i < args->nnamed; i++)
        if (!used[i] && args->names[i]->n == name->n &&
            !memcmp(args->names[i]->p, name->p, name->n)) {
            used[i] = true;
            return args->named[i];
        }
    return (jt_value){.kind = JT_ABSENT};
}

static void bind_params(jt_vm *vm, const struct jt_macro *m, const jt_args *args, bool *used) {
    const jt_params *p = m->params;
    for (uint32_t i = 0; i < p->names.n; i++) {
        const jt_str *name = p->names.at[i]->name;
        jt_value v = i < args->n ? args->at[i] : take_named(args, used, name);
        uint32_t without = p->names.n - p->defaults.n;
        if (jt_absent(v) && i >= without) v = jt_eval(vm, p->defaults.at[i - without]);
        if (jt_absent(v)) {
            v = jt_missing(vm, "a parameter was not provided");
            v.undefined->hint = NULL;
            v.undefined->name = name;
        }
        jt_set_var(vm, name, v);
    }
}

/* What a macro takes beyond its parameters, where its body names it. */
static void bind_rest(jt_vm *vm, const jt_params *p, const jt_args *args, bool *used) {
    if (p->caller) {
        jt_value caller = take_named(args, used, p->caller);
        jt_set_var(vm, p->caller, jt_absent(caller) ? jt_missing(vm, "No caller defined") : caller);
    }
    if (p->kwargs) {
        jt_dict *d = jt_dict_new(vm);
        for (size_t i = 0; i < args->nnamed; i++)
            if (!used[i]) jt_dict_set(vm, d, jt_of_str(args->names[i]), args->named[i]);
        jt_set_var(vm, p->kwargs, jt_of_dict(d));
    }
    for (size_t i = 0; i < args->nnamed && !p->kwargs; i++)
        if (!used[i])
            jt_fail(vm, "macro takes no keyword argument '%.*s'",
                    (int)(args->names[i]->n < 60 ? args->names[i]->n : 60), args->names[i]->p);
    if (p->varargs) {
        jt_list *l = jt_list_new(vm, 0);
        for (size_t i = p->names.n; i < args->n; i++)
            jt_list_add(vm, l, args->at[i]);
        jt_set_var(vm, p->varargs, jt_of_tuple(l));
    } else if (args->n > p->names.n) {
        jt_fail(vm, "macro takes not more than %u argument(s)", p->names.n);
    }
}

jt_value jt_call_macro(jt_vm *vm, const struct jt_macro *m, const jt_args *args) {
    jt_frame *frame = vm->frame;
    const jt_place *at = vm->at;
    bool *used = jt_alloc(vm, args->nnamed + 1);
    flow how;
    jt_enter(vm);
    push_frame(vm, m->frame);
    bind_params(vm, m, args, used);
    vm->at = at;
    bind_rest(vm, m->params, args, used);
    jt_value text = capture(vm, m->body, &how);
    vm->frame = frame;
    vm->at = at;
    jt_leave(vm);
    return text;
}

static jt_value make_macro(jt_vm *vm, const jt_node *n) {
    struct jt_macro *m = jt_alloc(vm, sizeof *m);
    for (jt_frame *f = vm->frame; f && !f->kept; f = f->parent)
        f->kept = true;
    *m = (struct jt_macro){n->kind == N_MACRO ? n->name : NULL, n->params, &n->items, vm->frame};
    return (jt_value){.kind = JT_MACRO, .macro = m};
}

/* ---- statements ---- */

static void print(jt_vm *vm, const jt_node *n) {
    for (uint32_t i = 0; i < n->items.n; i++) {
        jt_value v = jt_eval(vm, n->items.at[i]);
        vm->at = &n->place;
        jt_put_str(vm, vm->out, v);
    }
}

static flow run_if(jt_vm *vm, const jt_node *n) {
    for (;;) {
        if (jt_true(vm, jt_eval(vm, n->a))) return run_body(vm, &n->items);
        if (n->more.n != 1 || n->more.at[0]->kind != N_IF) return run_body(vm, &n->more);
        n = n->more.at[0];
    }
}

static flow run_with(jt_vm *vm, const jt_node *n) {
    jt_frame *frame = vm->frame;
    jt_list *values = jt_list_new(vm, n->more.n);
    for (uint32_t i = 0; i < n->more.n; i++)
        jt_list_add(vm, values, jt_eval(vm, n->more.at[i]));
    push_frame(vm, frame);
    for (uint32_t i = 0; i < n->targets.n; i++)
        assign(vm, n->targets.at[i], values->at[i]);
    flow how = run_body(vm, &n->items);
    vm->frame = frame;
    return how;
}

static flow run_captured(jt_vm *vm, const jt_node *n) {
    flow how;
    jt_value v = capture_filtered(vm, &n->items, n->b, &how);
    vm->at = &n->place;
    if (how != GO_ON) return how;
    if (n->kind == N_SET_BLOCK)
        assign(vm, n->a, v);
    else
        jt_put_str(vm, vm->out, v);
    return how;
}

static flow run(jt_vm *vm, const jt_node *n) {
    vm->at = &n->place;
    switch (n->kind) {
    case N_TEXT:
        jt_put(vm, vm->out, n->value.s->p, n->value.s->n);
        return GO_ON;
    case N_PRINT:
        print(vm, n);
        return GO_ON;
    case N_IF:
        return run_if(vm, n);
    case N_FOR:
        return run_loop(vm, n, jt_eval(vm, n->b), 0);
    case N_SET:
        assign(vm, n->a, jt_eval(vm, n->b));
        return GO_ON;
    case N_SET_BLOCK:
    case N_FILTER_BLOCK:
    case N_SCOPE:
        return run_captured(vm, n);
    case N_WITH:
        return run_with(vm, n);
    case N_MACRO:
        jt_set_var(vm, n->name, make_macro(vm, n));
        return GO_ON;
    case N_CALL_BLOCK:
        jt_put_str(vm, vm->out, jt_eval_call(vm, n->a, n->name, make_macro(vm, n)));
        return GO_ON;
    case N_BREAK:
        return BREAK;
    case N_CONTINUE:
        return CONTINUE;
    default:
        jt_fail(vm, "not a statement");
    }
}

static flow run_body(jt_vm *vm, const jt_nodes *body) {
    flow how = GO_ON;
    jt_enter(vm);
    for (uint32_t i = 0; i < body->n && how == GO_ON; i++) {
        jt_step(vm, 1);
        how = run(vm, body->at[i]);
    }
    jt_leave(vm);
    return how;
}

void jt_run(jt_vm *vm, const jt_nodes *body) {
    run_body(vm, body);
}
