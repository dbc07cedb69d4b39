/* vm.c - the bounds of a rendering, its errors, and text that grows. */
#include "examples/llm/template/value/vm.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_DEPTH = 600 }; /* of expressions, statements, macros and values in one another */

static void tell(jt_vm *vm, lm_template_status status, const char *fmt, va_list ap) {
    lm_template_error *e = vm->error;
    e->status = status;
    e->line = vm->at ? vm->at->line : 0;
    e->column = vm->at ? vm->at->column : 0;
    vsnprintf(e->message, sizeof e->message, fmt, ap);
}

void jt_fail(jt_vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(vm, LM_TEMPLATE_FAILED, fmt, ap);
    va_end(ap);
    longjmp(vm->fail, 1);
}

void jt_fail_as(jt_vm *vm, lm_template_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tell(vm, status, fmt, ap);
    va_end(ap);
    longjmp(vm->fail, 1);
}

void *jt_alloc(jt_vm *vm, size_t bytes) {
    void *p = jt_arena_alloc(&vm->arena, bytes);
    if (p) {
        jt_step_bytes(vm, bytes);
        return p;
    }
    if (vm->arena.exhausted) jt_fail_as(vm, LM_TEMPLATE_MEMORY, "out of memory");
    jt_fail_as(vm, LM_TEMPLATE_LIMIT, "the template needs more than %zu bytes of memory",
               vm->arena.limit);
}

void *jt_alloc_array(jt_vm *vm, size_t n, size_t size) {
    return jt_alloc(vm, n > SIZE_MAX / 2 / size ? SIZE_MAX / 2 : n * size);
}

void jt_step(jt_vm *vm, uint64_t n) {
    if (vm->steps >= n) {
        vm->steps -= n;
        return;
    }
    vm->steps = 0;
    jt_fail_as(vm, LM_TEMPLATE_LIMIT, "the template takes too many steps");
}

void jt_enter(jt_vm *vm) {
    if (++vm->depth > MAX_DEPTH) jt_fail_as(vm, LM_TEMPLATE_LIMIT, "nested too deep");
}

void jt_put(jt_vm *vm, jt_buf *b, const char *p, size_t n) {
    jt_step_bytes(vm, n);
    if (b->limit && n > b->limit - b->n)
        jt_fail_as(vm, LM_TEMPLATE_LIMIT, "the text has more than %zu bytes", b->limit);
    if (n > b->cap - b->n) {
        size_t cap = b->cap ? 2 * b->cap : 64;
        while (n > cap - b->n)
            cap *= 2;
        char *grown = jt_alloc(vm, cap);
        if (b->n) memcpy(grown, b->p, b->n);
        b->p = grown;
        b->cap = cap;
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
}

void jt_put_word(jt_vm *vm, jt_buf *b, const char *p) {
    jt_put(vm, b, p, strlen(p));
}

jt_value jt_buf_text(jt_vm *vm, const jt_buf *b) {
    return jt_text(vm, b->n ? b->p : "", b->n);
}
