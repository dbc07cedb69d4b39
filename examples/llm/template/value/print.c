/* print.c - values as text: Python's str() and repr(), and what messages show of them. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jt_put_float(jt_vm *vm, jt_buf *b, double f) {
    char digits[40], text[64];
    if (isnan(f) || isinf(f)) {
        jt_put_word(vm, b, isnan(f) ? "nan" : f > 0 ? "inf" : "-inf");
        return;
    }
    /* The fewest digits that read back as the same number. */
    int precision = 0;
    do {
        snprintf(digits, sizeof digits, "%.*e", precision, f);
    } while (strtod(digits, NULL) != f && ++precision < 17);
    char *e = strchr(digits, 'e');
    int exponent = atoi(e + 1);
    if (exponent >= -4 && exponent < 16) {
        int after = precision - exponent;
        snprintf(text, sizeof text, "%.*f", after > 1 ? after : 1, f);
    } else {
        *e = 0;
        snprintf(text, sizeof text, "%se%c%02d", digits, exponent < 0 ? '-' : '+', abs(exponent));
    }
    jt_put_word(vm, b, text);
}

static void put_int(jt_vm *vm, jt_buf *b, int64_t i) {
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, i);
    jt_put_word(vm, b, text);
}

static void put_quoted(jt_vm *vm, jt_buf *b, const jt_str *s) {
    char quote = memchr(s->p, '\'', s->n) && !memchr(s->p, '"', s->n) ? '"' : '\'', text[16];
    jt_put(vm, b, &quote, 1);
    for (size_t i = 0, size; i < s->n; i += size) {
        int32_t c = jt_utf8_read(s->p + i, &size);
        if (c == quote || c == '\\')
            snprintf(text, sizeof text, "\\%c", (char)c);
        else if (c == '\n' || c == '\r' || c == '\t')
            snprintf(text, sizeof text, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        else if (jt_is_printable(c))
            text[0] = 0;
        else
            snprintf(text, sizeof text,
                     c < 0x100     ? "\\x%02x"
                     : c < 0x10000 ? "\\u%04x"
                                   : "\\U%08x",
                     (unsigned)c);
        if (*text)
            jt_put_word(vm, b, text);
        else
            jt_put(vm, b, s->p + i, size);
    }
    jt_put(vm, b, &quote, 1);
}

static void put_list(jt_vm *vm, jt_buf *b, const jt_list *l, const char *open, const char *close) {
    jt_put_word(vm, b, open);
    for (size_t i = 0; i < l->n; i++) {
        if (i) jt_put(vm, b, ", ", 2);
        jt_put_repr(vm, b, l->at[i]);
    }
    jt_put_word(vm, b, close);
}

static void put_dict(jt_vm *vm, jt_buf *b, const jt_dict *d) {
    jt_put(vm, b, "{", 1);
    for (size_t i = 0; i < d->n; i++) {
        if (i) jt_put(vm, b, ", ", 2);
        jt_put_repr(vm, b, d->at[i].key);
        jt_put(vm, b, ": ", 2);
        jt_put_repr(vm, b, d->at[i].value);
    }
    jt_put(vm, b, "}", 1);
}

static void put_range(jt_vm *vm, jt_buf *b, const jt_range *r) {
    char text[96];
    int n = snprintf(text, sizeof text, "range(%" PRId64 ", %" PRId64, r->start, r->stop);
    if (r->step == 1)
        snprintf(text + n, sizeof text - (size_t)n, ")");
    else
        snprintf(text + n, sizeof text - (size_t)n, ", %" PRId64 ")", r->step);
    jt_put_word(vm, b, text);
}

static void put_view(jt_vm *vm, jt_buf *b, jt_value v) {
    jt_put_word(vm, b, jt_type_name(v));
    put_list(vm, b, jt_to_list(vm, v), "([", "])");
}

/* What has no text of its own: "<function>". */
static void put_other(jt_vm *vm, jt_buf *b, jt_value v) {
    char text[96];
    if (v.kind == JT_NAMESPACE) {
        jt_put_word(vm, b, "<Namespace ");
        put_dict(vm, b, v.d);
        jt_put_word(vm, b, ">");
        return;
    }
    if (v.kind == JT_LOOP)
        snprintf(text, sizeof text, "<LoopContext %zu/%zu>", v.loop->index0 + 1, v.loop->items->n);
    else if (v.kind == JT_MACRO && v.macro->name)
        snprintf(text, sizeof text, "<Macro '%.*s'>",
                 (int)(v.macro->name->n < 60 ? v.macro->name->n : 60), v.macro->name->p);
    else if (v.kind == JT_MACRO)
        snprintf(text, sizeof text, "<Macro anonymous>");
    else
        snprintf(text, sizeof text, "<%s>", jt_type_name(v));
    jt_put_word(vm, b, text);
}

void jt_put_repr(jt_vm *vm, jt_buf *b, jt_value v) {
    jt_enter(vm);
    jt_step(vm, 1);
    switch (v.kind) {
    case JT_UNDEFINED:
        jt_put_word(vm, b, "Undefined");
        break;
    case JT_NONE:
        jt_put_word(vm, b, "None");
        break;
    case JT_BOOL:
        jt_put_word(vm, b, v.b ? "True" : "False");
        break;
    case JT_INT:
        put_int(vm, b, v.i);
        break;
    case JT_FLOAT:
        jt_put_float(vm, b, v.f);
        break;
    case JT_STR:
        put_quoted(vm, b, v.s);
        break;
    case JT_LIST:
        put_list(vm, b, v.l, "[", "]");
        break;
    case JT_TUPLE:
        put_list(vm, b, v.l, "(", v.l->n == 1 ? ",)" : ")");
        break;
    case JT_DICT:
        put_dict(vm, b, v.d);
        break;
    case JT_RANGE:
        put_range(vm, b, v.range);
        break;
    case JT_VIEW:
        put_view(vm, b, v);
        break;
    default:
        put_other(vm, b, v);
        break;
    }
    jt_leave(vm);
}

void jt_put_str(jt_vm *vm, jt_buf *b, jt_value v) {
    if (v.kind == JT_STR)
        jt_put(vm, b, v.s->p, v.s->n);
    else if (v.kind != JT_UNDEFINED)
        jt_put_repr(vm, b, v);
}

jt_str *jt_as_str(jt_vm *vm, jt_value v) {
    if (v.kind == JT_STR) return v.s;
    jt_buf b = {0};
    jt_put_str(vm, &b, v);
    return jt_buf_text(vm, &b).s;
}

const char *jt_as_word(jt_vm *vm, jt_value v) {
    jt_buf b = {0};
    jt_put_repr(vm, &b, v);
    if (b.n > 80) { /* cut between characters */
        b.n = 80;
        while (((unsigned char)b.p[b.n] & 0xc0) == 0x80)
            b.n--;
    }
    jt_put(vm, &b, "", 1);
    return b.p;
}
