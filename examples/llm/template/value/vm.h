/* vm.h - the state of one rendering with its bounds and errors, and operations on values. */
#ifndef LLM_TEMPLATE_VM_H
#define LLM_TEMPLATE_VM_H

#include "examples/llm/template/value/arena.h"
#include "examples/llm/template/value/error.h"
#include "examples/llm/template/value/value.h"
#include <jansson.h>
#include <setjmp.h>
#include <time.h>

/* Text that grows, in the arena of the rendering. */
typedef struct {
    char *p;
    size_t n, cap;
    size_t limit; /* 0: the memory alone bounds it */
} jt_buf;

typedef struct {
    const jt_str *name;
    jt_value value;
} jt_var;

/* A scope. Macros keep the one they were defined in. */
typedef struct jt_frame {
    struct jt_frame *parent;
    jt_var *vars;
    size_t n, cap;
    bool kept; /* by a macro: it cannot be used again */
} jt_frame;

struct jt_vm {
    jt_arena arena;
    uint64_t steps;     /* left */
    const jt_place *at; /* what is being evaluated, for errors */
    jt_buf *out;
    jt_frame *frame;
    jt_dict *context; /* the variables given */
    jt_value input;   /* of N_INPUT */
    int depth;
    const struct tm *now;
    lm_template_error *error;
    jmp_buf fail;
};

_Noreturn void jt_fail(jt_vm *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
_Noreturn void jt_fail_as(jt_vm *, lm_template_status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

void *jt_alloc(jt_vm *, size_t bytes);
void *jt_alloc_array(jt_vm *, size_t n, size_t size);
void jt_step(jt_vm *, uint64_t n); /* N operations, or as many bytes gone through by 16 */
static inline void jt_step_bytes(jt_vm *vm, size_t bytes) {
    jt_step(vm, 1 + bytes / 16);
}
/* Around what may nest without end. */
void jt_enter(jt_vm *);
static inline void jt_leave(jt_vm *vm) {
    vm->depth--;
}

void jt_put(jt_vm *, jt_buf *, const char *p, size_t n);
void jt_put_word(jt_vm *, jt_buf *, const char *p); /* ended by 0 */
jt_value jt_buf_text(jt_vm *, const jt_buf *);

/* Python's str() and repr(). */
void jt_put_str(jt_vm *, jt_buf *, jt_value);
void jt_put_repr(jt_vm *, jt_buf *, jt_value);
void jt_put_float(jt_vm *, jt_buf *, double);
jt_str *jt_as_str(jt_vm *, jt_value);            /* str() */
const char *jt_as_word(jt_vm *, jt_value value); /* repr(), cut short, for messages */

/* json.dumps */
typedef struct {
    const jt_str *indent, *item, *key; /* INDENT NULL: on one line */
    bool ascii, sort;
} jt_json_form;
void jt_put_json(jt_vm *, jt_buf *, jt_value, const jt_json_form *, int level);
jt_value jt_from_json(jt_vm *, const json_t *);

jt_value jt_binary(jt_vm *, jt_op, jt_value, jt_value);
jt_value jt_negate(jt_vm *, jt_value);
bool jt_compare(jt_vm *, jt_op, jt_value, jt_value);
bool jt_contains(jt_vm *, jt_value container, jt_value);

/* ---- of strings and lists, for filters and methods ---- */
const jt_str *jt_need_str(jt_vm *, jt_value, const char *what);
int64_t jt_need_int(jt_vm *, jt_value, const char *what);
jt_value jt_strip(jt_vm *, const jt_str *, const jt_str *chars, bool left, bool right);
jt_value jt_split_lines(jt_vm *, const jt_str *, bool keep_ends);
jt_value jt_replace(jt_vm *, const jt_str *, const jt_str *old, const jt_str *with, int64_t count);
/* V in the form that stands behind the colon of a field of str.format. */
void jt_put_form(jt_vm *, jt_buf *, jt_value, const char *form, size_t n);
jt_value jt_format_percent(jt_vm *, const jt_str *format, jt_value args);
jt_value jt_escape(jt_vm *, jt_value);
jt_value jt_parse_float(jt_vm *, const jt_str *); /* JT_ABSENT: not a number */
jt_value jt_parse_int(jt_vm *, const jt_str *, int base);

typedef enum { JT_UPPER, JT_LOWER, JT_TITLE, JT_CAPITALIZE, JT_SWAP, JT_FOLD } jt_case;
jt_value jt_change_case(jt_vm *, const jt_str *, jt_case);

#endif
