/* percent.c - values in a given form: 'format' % values, and what stands behind the colon of a
 * field of str.format. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char fill[4];
    size_t fill_size;
    char align; /* < > ^ = or 0 */
    char sign;  /* + - or blank */
    bool alternate, comma;
    int64_t width, precision; /* -1: not given */
    char type;
} form;

enum { MAX_WIDTH = 4096 };

/* Digits of a number without its sign, in the form of TYPE. */
static size_t number_text(jt_vm *vm, jt_value v, const form *f, char *out, size_t bytes,
                          bool *negative) {
    int64_t i;
    double x;
    char pattern[16];
    int precision = f->precision < 0 ? 6 : (int)f->precision, n;
    if (f->type && strchr("eEfFgG%", f->type)) {
        if (!jt_number(v, &x)) jt_fail(vm, "a number is required, not %s", jt_type_name(v));
        *negative = x < 0;
        if (x < 0) x = -x;
        if (f->type == '%') x *= 100;
        snprintf(pattern, sizeof pattern, "%%.%d%c", precision, f->type == '%' ? 'f' : f->type);
        n = snprintf(out, bytes, pattern, x);
        if (f->type == '%') n += snprintf(out + n, bytes - (size_t)n, "%%");
        return (size_t)n;
    }
    if (v.kind == JT_FLOAT && f->type == 'd') {
        if (!(fabs(v.f) < 9223372036854775808.0))
            jt_fail(vm, "a float does not fit an integer of 64 bits");
        v = jt_int((int64_t)v.f);
    }
    if (!jt_integer(v, &i)) jt_fail(vm, "a number is required, not %s", jt_type_name(v));
    *negative = i < 0;
    uint64_t u = i < 0 ? 0 - (uint64_t)i : (uint64_t)i;
    if (f->type == 'x')
        return (size_t)snprintf(out, bytes, "%s%" PRIx64, f->alternate ? "0x" : "", u);
    if (f->type == 'X')
        return (size_t)snprintf(out, bytes, "%s%" PRIX64, f->alternate ? "0X" : "", u);
    if (f->type == 'o')
        return (size_t)snprintf(out, bytes, "%s%" PRIo64, f->alternate ? "0o" : "", u);
    return (size_t)snprintf(out, bytes, "%" PRIu64, u);
}

/* Commas between the thousands of the N digits at TEXT that stand before a point. */
static size_t add_commas(char *text, size_t n) {
    size_t digits = strspn(text, "0123456789"), commas = digits ? (digits - 1) / 3 : 0;
    memmove(text + digits + commas, text + digits, n - digits);
    for (size_t i = digits, to = digits + commas, k = 0; i-- > 0; k++) {
        if (k && k % 3 == 0) text[--to] = ',';
        text[--to] = text[i];
    }
    return n + commas;
}

static void put_padded(jt_vm *vm, jt_buf *b, const form *f, const char *sign, jt_str *text) {
    int64_t pad = f->width - jt_chars(text) - (int64_t)strlen(sign);
    if (pad < 0) pad = 0;
    int64_t before = f->align == '>' || f->align == '=' ? pad : f->align == '^' ? pad / 2 : 0;
    if (f->align == '=') jt_put_word(vm, b, sign);
    for (int64_t i = 0; i < before; i++)
        jt_put(vm, b, f->fill, f->fill_size);
    if (f->align != '=') jt_put_word(vm, b, sign);
    jt_put(vm, b, text->p, text->n);
    for (int64_t i = before; i < pad; i++)
        jt_put(vm, b, f->fill, f->fill_size);
}

static void put_number(jt_vm *vm, jt_buf *b, jt_value v, form *f) {
    enum { BYTES = MAX_WIDTH + 800 };
    char *text = jt_alloc(vm, BYTES);
    bool negative = false;
    const char *sign;
    size_t n = number_text(vm, v, f, text, BYTES - 200, &negative);
    if (f->comma) n = add_commas(text, n);
    sign = negative ? "-" : f->sign == '+' ? "+" : f->sign == ' ' ? " " : "";
    if (!f->align) f->align = '>';
    put_padded(vm, b, f, sign, jt_str_of(vm, text, n));
}

static void put_string(jt_vm *vm, jt_buf *b, jt_str *s, form *f) {
    if (f->precision >= 0 && f->precision < jt_chars(s))
        s = jt_str_of(vm, s->p, jt_utf8_offset(s->p, s->n, (size_t)f->precision));
    if (!f->align) f->align = '<';
    put_padded(vm, b, f, "", s);
}

static int64_t digits(jt_vm *vm, const char **p, const char *end) {
    int64_t n = -1;
    for (; *p < end && **p >= '0' && **p <= '9'; ++*p) {
        n = (n < 0 ? 0 : n) * 10 + (**p - '0');
        if (n > MAX_WIDTH) jt_fail(vm, "a width in a format is more than %d", MAX_WIDTH);
    }
    return n;
}

void jt_put_form(jt_vm *vm, jt_buf *b, jt_value v, const char *p, size_t n) {
    const char *end = p + n;
    form f = {.fill = " ", .fill_size = 1};
    size_t size = n ? jt_utf8_size(*p) : 0;
    if (size && p + size < end && strchr("<>^=", p[size])) {
        memcpy(f.fill, p, size);
        f.fill_size = size;
        f.align = p[size];
        p += size + 1;
    } else if (p < end && strchr("<>^=", *p)) {
        f.align = *p++;
    }
    if (p < end && strchr("+- ", *p)) f.sign = *p++;
    if (p < end && *p == '#') f.alternate = *p++;
    if (p < end && *p == '0') {
        if (!f.align) {
            f.align = '=';
            f.fill[0] = '0';
            f.fill_size = 1;
        }
        p++;
    }
    f.width = digits(vm, &p, end);
    if (p < end && *p == ',') f.comma = *p++;
    f.precision = -1;
    if (p < end && *p == '.') {
        p++;
        f.precision = digits(vm, &p, end);
        if (f.precision < 0) jt_fail(vm, "Format specifier missing precision");
    }
    if (p < end && strchr("sdxXoeEfFgG%", *p)) f.type = *p++;
    if (p < end) jt_fail(vm, "bad form in a format");
    bool numeric = v.kind == JT_INT || v.kind == JT_FLOAT || (v.kind == JT_BOOL && f.type);
    if (!n || !numeric || (f.type == 's')) {
        if (n && f.type && f.type != 's') jt_fail(vm, "bad form for a %s", jt_type_name(v));
        put_string(vm, b, jt_as_str(vm, v), &f);
    } else if (v.kind == JT_FLOAT && !f.type) {
        bool negative = v.f < 0;
        if (f.precision >= 0) f.type = 'g';
        if (!f.align) f.align = '>';
        if (f.type)
            put_number(vm, b, v, &f);
        else
            put_padded(vm, b, &f, negative ? "-" : "",
                       jt_as_str(vm, jt_float(negative ? -v.f : v.f)));
    } else {
        put_number(vm, b, v, &f);
    }
}

/* ---- 'format' % values ---- */

typedef struct {
    jt_value values;
    size_t used;
    const char *p, *end;
} source;

static jt_value next_value(jt_vm *vm, source *s) {
    if (s->values.kind != JT_TUPLE) {
        if (s->used++) jt_fail(vm, "not enough arguments for format string");
        return s->values;
    }
    if (s->used >= s->values.l->n) jt_fail(vm, "not enough arguments for format string");
    return s->values.l->at[s->used++];
}

static int64_t star_or_digits(jt_vm *vm, source *s) {
    if (s->p >= s->end || *s->p != '*') return digits(vm, &s->p, s->end);
    s->p++;
    int64_t n = jt_need_int(vm, next_value(vm, s), "* in a format");
    if (n < 0 || n > MAX_WIDTH) jt_fail(vm, "a width in a format is more than %d", MAX_WIDTH);
    return n;
}

/* One conversion, behind its %. */
static void put_conversion(jt_vm *vm, jt_buf *b, source *s) {
    form f = {.fill = " ", .fill_size = 1, .align = '>', .precision = -1};
    bool left = false, zero = false;
    jt_value v = {.kind = JT_ABSENT};
    if (s->p < s->end && *s->p == '(') {
        const char *close = memchr(s->p, ')', (size_t)(s->end - s->p));
        if (!close || s->values.kind != JT_DICT) jt_fail(vm, "format requires a mapping");
        v = jt_dict_find(vm, s->values.d, s->p + 1, (size_t)(close - s->p - 1));
        if (jt_absent(v)) jt_fail(vm, "a name in a format is not in the mapping");
        s->p = close + 1;
        s->used = 1;
    }
    for (; s->p < s->end && strchr("-+ #0", *s->p) && *s->p; s->p++) {
        left |= *s->p == '-';
        zero |= *s->p == '0';
        if (*s->p == '+' || (*s->p == ' ' && f.sign != '+')) f.sign = *s->p;
        f.alternate |= *s->p == '#';
    }
    f.width = star_or_digits(vm, s);
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        f.precision = star_or_digits(vm, s);
        if (f.precision < 0) f.precision = 0;
    }
    if (s->p >= s->end) jt_fail(vm, "incomplete format");
    f.type = *s->p++;
    if (!f.type || !strchr("sradiuxXoeEfFgGc", f.type))
        jt_fail(vm, "unsupported format character in a format");
    if (jt_absent(v)) v = next_value(vm, s);
    if (left) f.align = '<';
    if (strchr("srac", f.type)) {
        jt_buf text = {0};
        (f.type == 'r' || f.type == 'a' ? jt_put_repr : jt_put_str)(vm, &text, v);
        put_string(vm, b, jt_buf_text(vm, &text).s, &f);
        return;
    }
    if (zero && !left) {
        f.align = '=';
        f.fill[0] = '0';
    }
    if (f.type == 'i' || f.type == 'u') f.type = 'd';
    put_number(vm, b, v, &f);
}

jt_value jt_format_percent(jt_vm *vm, const jt_str *format, jt_value values) {
    source s = {.values = values, .p = format->p, .end = format->p + format->n};
    jt_buf b = {0};
    while (s.p < s.end) {
        const char *percent = memchr(s.p, '%', (size_t)(s.end - s.p));
        const char *to = percent ? percent : s.end;
        jt_put(vm, &b, s.p, (size_t)(to - s.p));
        if (!percent) break;
        s.p = percent + 1;
        if (s.p < s.end && *s.p == '%') {
            jt_put(vm, &b, "%", 1);
            s.p++;
        } else {
            put_conversion(vm, &b, &s);
        }
    }
    /* What has items by a key may be left over, as Python has it. */
    bool keyed = values.kind == JT_DICT || values.kind == JT_LIST || values.kind == JT_RANGE ||
                 values.kind == JT_UNDEFINED;
    size_t count = values.kind == JT_TUPLE ? values.l->n : !keyed;
    if (s.used < count) jt_fail(vm, "not all arguments converted during string formatting");
    return jt_buf_text(vm, &b);
}
