/* render.c - one rendering: its state, its end. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/template.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 20000000, MEMORY = 128 << 20, OUTPUT = 16 << 20 };

/* What jt_fail jumps to; VM keeps what must be freed. */
static bool run(jt_vm *vm, const lm_template *t, const json_t *variables, jt_buf *out) {
    if (setjmp(vm->fail)) return false;
    jt_value context = jt_from_json(vm, variables);
    if (context.kind != JT_DICT) jt_fail(vm, "the variables are not an object");
    vm->context = context.d;
    vm->out = out;
    vm->frame = jt_alloc(vm, sizeof *vm->frame);
    jt_run(vm, &t->body);
    vm->at = NULL;
    out->limit++; /* for the 0 behind it */
    jt_put(vm, out, "", 1);
    return true;
}

char *lm_template_render(const lm_template *t, const json_t *variables,
                         const lm_template_options *options, size_t *out_n,
                         lm_template_error *error) {
    static const lm_template_options none;
    const lm_template_options *o = options ? options : &none;
    *error = (lm_template_error){.status = LM_TEMPLATE_OK};
    if (out_n) *out_n = 0;
    jt_vm vm = {.error = error, .now = o->now};
    vm.steps = o->steps ? o->steps : STEPS;
    vm.arena.limit = o->memory ? o->memory : MEMORY;
    jt_buf out = {.limit = o->output ? o->output : OUTPUT};
    char *text = NULL;
    if (run(&vm, t, variables, &out)) {
        text = malloc(out.n);
        if (!text) {
            error->status = LM_TEMPLATE_MEMORY;
            snprintf(error->message, sizeof error->message, "out of memory");
        } else {
            memcpy(text, out.p, out.n);
            if (out_n) *out_n = out.n - 1;
        }
    }
    jt_arena_free(&vm.arena);
    return text;
}
