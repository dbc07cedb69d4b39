/* run.h - what the parts that render offer one another: calls, look-ups, tables of functions. */
#ifndef LLM_TEMPLATE_RUN_H
#define LLM_TEMPLATE_RUN_H

#include "examples/llm/template/ast.h"
#include "examples/llm/template/value/vm.h"

/* The arguments of a call. */
typedef struct {
    jt_value *at;
    size_t n;
    jt_str **names;
    jt_value *named;
    size_t nnamed;
} jt_args;

enum { JT_MAX_ARGS = 6 };

/* A function, filter, test or method. PARAMS are names parted by blanks, those that may be left out
 * (and are JT_ABSENT then) with a ? behind them; NULL: RAW takes the arguments as they are. */
typedef struct jt_builtin {
    const char *name, *params;
    jt_value (*run)(jt_vm *, jt_value self, jt_value *arg);
    jt_value (*raw)(jt_vm *, jt_value self, const jt_args *);
    bool lazy; /* a generator in jinja2: it gives a JT_ITER and is run when the first item is wanted
                */
} jt_builtin;

struct jt_function {
    const jt_builtin *builtin;
    jt_value self;
};

jt_value jt_get_attr(jt_vm *, jt_value, const jt_str *name); /* x.name */
jt_value jt_get_item(jt_vm *, jt_value, jt_value key);       /* x[key] */
jt_value jt_get_slice(jt_vm *, jt_value, jt_value start, jt_value stop, jt_value step);
/* Attributes by a path "a.b.0", as map(attribute=...) takes it. */
jt_value jt_get_path(jt_vm *, jt_value, jt_value path, jt_value otherwise);

jt_value jt_call_builtin(jt_vm *, const jt_builtin *, jt_value self, const jt_args *);
jt_value jt_eval(jt_vm *, const jt_node *);
/* The call N, with one more argument NAME=VALUE unless NAME is NULL. */
jt_value jt_eval_call(jt_vm *, const jt_node *n, jt_str *name, jt_value value);
void jt_set_var(jt_vm *, const jt_str *name, jt_value);

/* exec.c */
jt_value jt_call_macro(jt_vm *, const struct jt_macro *, const jt_args *);
jt_value jt_call_loop(jt_vm *, const struct jt_loop *, jt_value iterable);
jt_value jt_loop_attr(jt_vm *, struct jt_loop *, const char *name);
void jt_run(jt_vm *, const jt_nodes *);

/* Tables; NULL: there is none of that name. */
const jt_builtin *jt_find_filter(const char *name, size_t n);
const jt_builtin *jt_find_test(const char *name, size_t n);
const jt_builtin *jt_find_global(const char *name, size_t n);
const jt_builtin *jt_find_method(jt_value, const char *name, size_t n);
const jt_builtin *jt_container_methods(jt_value);
const jt_builtin *jt_find_in(const jt_builtin *table, const char *name, size_t n);
extern const jt_builtin jt_text_filters[], jt_sequence_filters[], jt_number_filters[];

jt_value jt_format_braces(jt_vm *, jt_value format, const jt_args *);

#endif
