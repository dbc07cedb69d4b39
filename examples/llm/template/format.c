/* format.c - '...'.format(): fields of names, numbers, attributes and items, with the common forms
 * of numbers and widths. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/value/utf8.h"
#include <string.h>

typedef struct {
    const char *p, *end;
    const jt_args *args;
    int64_t next; /* the argument that {} takes; -1: fields are numbered */
} fields;

static jt_value named(jt_vm *vm, const jt_args *args, const char *p, size_t n) {
    for (size_t i = 0; i < args->nnamed; i++)
        if (args->names[i]->n == n && !memcmp(args->names[i]->p, p, n)) return args->named[i];
    jt_fail(vm, "there is no argument '%.*s'", (int)(n < 60 ? n : 60), p);
}

static bool number(const char *p, size_t n, int64_t *out) {
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] < '0' || p[i] > '9' || *out > 1000000) return false;
        *out = *out * 10 + (p[i] - '0');
    }
    return n > 0;
}

/* The argument a field begins with. */
static jt_value first_value(jt_vm *vm, fields *f, const char *p, size_t n) {
    int64_t i;
    if (!n) {
        i = f->next++;
    } else if (!number(p, n, &i)) {
        return named(vm, f->args, p, n);
    }
    if ((size_t)i >= f->args->n)
        jt_fail(vm, "Replacement index %lld out of range for positional args tuple", (long long)i);
    return f->args->at[i];
}

/* The value of a field "name.attribute[item]". */
static jt_value field_value(jt_vm *vm, fields *f, const char *p, size_t n) {
    size_t at = 0, from;
    int64_t i;
    while (at < n && p[at] != '.' && p[at] != '[')
        at++;
    jt_value v = first_value(vm, f, p, at);
    while (at < n) {
        bool item = p[at] == '[';
        from = ++at;
        while (at < n && (item ? p[at] != ']' : p[at] != '.' && p[at] != '['))
            at++;
        if (at == from || (item && at == n)) jt_fail(vm, "bad field in a format");
        jt_str *name = jt_str_of(vm, p + from, at - from);
        if (!item)
            v = jt_get_attr(vm, v, name);
        else if (number(name->p, name->n, &i))
            v = jt_get_item(vm, v, jt_int(i));
        else
            v = jt_get_item(vm, v, jt_of_str(name));
        at += item;
    }
    return v;
}

jt_value jt_format_braces(jt_vm *vm, jt_value format, const jt_args *args) {
    fields f = {.p = format.s->p, .end = format.s->p + format.s->n, .args = args};
    jt_buf b = {0};
    while (f.p < f.end) {
        char c = *f.p;
        bool twice = f.p + 1 < f.end && f.p[1] == c;
        if ((c != '{' && c != '}') || twice) {
            size_t n = jt_utf8_size(c);
            jt_put(vm, &b, f.p, n);
            f.p += n + (c == '{' || c == '}');
            continue;
        }
        const char *close = c == '{' ? memchr(f.p, '}', (size_t)(f.end - f.p)) : NULL;
        if (!close) jt_fail(vm, "single '%c' encountered in format string", c);
        size_t n = (size_t)(close - f.p - 1), name = 0, conversion;
        const char *field = f.p + 1;
        while (name < n && field[name] != ':' && field[name] != '!')
            name++;
        conversion = name < n && field[name] == '!' ? 2 : 0;
        if (memchr(field, '{', n)) jt_fail(vm, "fields in fields of a format are not supported");
        jt_value v = field_value(vm, &f, field, name);
        if (conversion) {
            jt_buf text = {0};
            char how = name + 1 < n ? field[name + 1] : 0;
            if (how != 'r' && how != 's') jt_fail(vm, "bad conversion in a format");
            (how == 'r' ? jt_put_repr : jt_put_str)(vm, &text, v);
            v = jt_buf_text(vm, &text);
        }
        const char *spec = field + name + conversion;
        if (spec < close && *spec != ':') jt_fail(vm, "bad field in a format");
        if (spec < close) spec++;
        jt_put_form(vm, &b, v, spec, (size_t)(close - spec));
        f.p = close + 1;
    }
    return jt_buf_text(vm, &b);
}
