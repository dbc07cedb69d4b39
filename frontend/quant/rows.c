/* rows.c - the values of a weight, whatever type it has. */
#include "frontend/quant/quant.h"
#include "runtime/etrt_dtype.h"
#include <stdlib.h>
#include <string.h>

void qnt_note(struct qnt_fault *f, const char *fmt, ...) {
    va_list list;
    if (*f->text) return;
    va_start(list, fmt);
    vsnprintf(f->text, sizeof f->text, fmt, list);
    va_end(list);
}

float *qnt_rows_make(const struct qnt_weight *w, int64_t count, struct qnt_fault *fault) {
    size_t n;
    float *rows = NULL;
    if (!__builtin_mul_overflow((size_t)count, (size_t)w->columns, &n) &&
        !__builtin_mul_overflow(n, sizeof *rows, &n))
        rows = malloc(n + 1);
    if (!rows) qnt_note(fault, "out of memory");
    return rows;
}

static float value(const char *type, const unsigned char *p) {
    uint32_t word = 0;
    memcpy(&word, p, *type == 'F' && type[1] == '3' ? 4 : 2);
    return *type == 'B'     ? etrt_bf16_to_f32(word)
           : type[1] == '1' ? etrt_f16_to_f32(word)
                            : etrt_f32_of_word(word);
}

bool qnt_rows(const struct qnt_weight *w, int64_t from, int64_t count, float *to,
              struct qnt_fault *fault) {
    const struct etrt_st_tensor *t = w->from;
    size_t n = (size_t)(count * w->columns), bytes = etrt_st_dtype_bytes(t->dtype);
    const unsigned char *p = (const unsigned char *)t->data + (size_t)(from * w->columns) * bytes;
    bool finite = true;
    for (size_t i = 0; i < n; i++) {
        to[i] = value(t->dtype, p + i * bytes);
        finite &= to[i] - to[i] == 0;
    }
    return finite || qnt_fail(fault, "%s: tensor \"%s\" has values that are no finite numbers",
                              w->file, t->name);
}
