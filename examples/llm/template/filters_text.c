/* filters_text.c - filters of strings. One more: a function and a row of the table at the end. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/value/utf8.h"
#include <string.h>

static const jt_str *chars_or_null(jt_vm *vm, jt_value v) {
    return jt_absent(v) || v.kind == JT_NONE ? NULL : jt_need_str(vm, v, "chars");
}

static jt_value do_trim(jt_vm *vm, jt_value self, jt_value *arg) {
    return jt_strip(vm, jt_as_str(vm, self), chars_or_null(vm, arg[0]), true, true);
}

static jt_value do_upper(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_change_case(vm, jt_as_str(vm, self), JT_UPPER);
}

static jt_value do_lower(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_change_case(vm, jt_as_str(vm, self), JT_LOWER);
}

static jt_value do_capitalize(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_change_case(vm, jt_as_str(vm, self), JT_CAPITALIZE);
}

/* Unlike str.title, words begin behind blanks, hyphens and opening brackets alone. */
static jt_value do_title(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *s = jt_as_str(vm, self);
    jt_buf b = {0};
    (void)arg;
    for (size_t i = 0, n, size; i < s->n; i += n) {
        for (n = 0; i + n < s->n; n += size) {
            int32_t c = jt_utf8_read(s->p + i + n, &size);
            bool cut = jt_is_space(c) || (c < 0x80 && c && strchr("-({[<", c));
            if (cut && n) break;
            if (cut) {
                n = size;
                break;
            }
        }
        size_t first = jt_utf8_size(s->p[i]);
        jt_str letter = {.p = s->p + i, .n = first}, rest = {.p = s->p + i + first, .n = n - first};
        jt_put_str(vm, &b, jt_change_case(vm, &letter, JT_UPPER));
        jt_put_str(vm, &b, jt_change_case(vm, &rest, JT_LOWER));
    }
    return jt_buf_text(vm, &b);
}

static jt_value do_replace(jt_vm *vm, jt_value self, jt_value *arg) {
    bool all = jt_absent(arg[2]) || arg[2].kind == JT_NONE;
    return jt_replace(vm, jt_as_str(vm, self), jt_as_str(vm, arg[0]), jt_as_str(vm, arg[1]),
                      all ? -1 : jt_need_int(vm, arg[2], "count"));
}

static jt_value do_string(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_of_str(jt_as_str(vm, self));
}

static jt_value do_safe(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *s = jt_as_str(vm, self);
    (void)arg;
    jt_value v = jt_text(vm, s->p, s->n);
    v.s->markup = true;
    return v;
}

static jt_value do_escape(jt_vm *vm, jt_value self, jt_value *arg) {
    (void)arg;
    return jt_escape(vm, self);
}

static jt_value do_forceescape(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *s = jt_as_str(vm, self);
    (void)arg;
    return jt_escape(vm, jt_text(vm, s->p, s->n));
}

static void put_spaces(jt_vm *vm, jt_buf *b, int64_t n) {
    for (; n > 0; n--)
        jt_put(vm, b, " ", 1);
}

static jt_value do_center(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_str *s = jt_as_str(vm, self);
    int64_t width = jt_absent(arg[0]) ? 80 : jt_need_int(vm, arg[0], "width");
    int64_t pad = width - jt_chars(s), left = pad > 0 ? pad / 2 + (pad & width & 1) : 0;
    jt_buf b = {0};
    put_spaces(vm, &b, left);
    jt_put(vm, &b, s->p, s->n);
    put_spaces(vm, &b, pad - left);
    return jt_buf_text(vm, &b);
}

static jt_value do_indent(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *s = jt_need_str(vm, self, "what is indented");
    jt_buf by = {0}, b = {0};
    if (!jt_absent(arg[0]) && arg[0].kind == JT_STR)
        jt_put_str(vm, &by, arg[0]);
    else
        put_spaces(vm, &by, jt_absent(arg[0]) ? 4 : jt_need_int(vm, arg[0], "width"));
    bool first = jt_true(vm, arg[1]), blank = jt_true(vm, arg[2]);
    jt_value text = jt_binary(vm, OP_ADD, jt_text(vm, s->p, s->n), jt_word(vm, "\n"));
    const jt_list *lines = jt_split_lines(vm, text.s, false).l;
    for (size_t i = 0; i < lines->n; i++) {
        if (i) jt_put(vm, &b, "\n", 1);
        if (i ? blank || lines->at[i].s->n : first) jt_put(vm, &b, by.p, by.n);
        jt_put_str(vm, &b, lines->at[i]);
    }
    return jt_buf_text(vm, &b);
}

static jt_value do_wordcount(jt_vm *vm, jt_value self, jt_value *arg) {
    const jt_str *s = jt_as_str(vm, self);
    int64_t count = 0;
    bool in_word = false;
    (void)arg;
    for (size_t i = 0, size; i < s->n; i += size) {
        bool word = jt_is_word(jt_utf8_read(s->p + i, &size));
        count += word && !in_word;
        in_word = word;
    }
    jt_step_bytes(vm, s->n);
    return jt_int(count);
}

static jt_value do_truncate(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t length = jt_absent(arg[0]) ? 255 : jt_need_int(vm, arg[0], "length"), n;
    jt_value end = jt_absent(arg[2]) ? jt_word(vm, "...") : arg[2];
    jt_need_str(vm, end, "end");
    bool default_leeway = jt_absent(arg[3]) || arg[3].kind == JT_NONE;
    int64_t leeway = default_leeway ? 5 : jt_need_int(vm, arg[3], "leeway");
    int64_t keep = length - jt_chars(end.s);
    if (keep < 0) jt_fail(vm, "expected length >= %lld", (long long)jt_chars(end.s));
    if (leeway < 0) jt_fail(vm, "expected leeway >= 0");
    if (jt_length(self, &n) && n - leeway <= length) return self;
    jt_need_str(vm, self, "what is truncated");
    jt_value cut = jt_get_slice(vm, self, jt_none(), jt_int(keep), jt_none());
    const char *blank = memrchr(cut.s->p, ' ', cut.s->n);
    size_t bytes = jt_true(vm, arg[1]) || !blank ? cut.s->n : (size_t)(blank - cut.s->p);
    return jt_binary(vm, OP_ADD, jt_text(vm, cut.s->p, bytes), end);
}

static jt_value do_format(jt_vm *vm, jt_value self, const jt_args *args) {
    if (args->n && args->nnamed)
        jt_fail(vm, "can't handle positional and keyword arguments at the same time");
    if (args->nnamed) {
        jt_dict *d = jt_dict_new(vm);
        for (size_t i = 0; i < args->nnamed; i++)
            jt_dict_set(vm, d, jt_of_str(args->names[i]), args->named[i]);
        return jt_format_percent(vm, jt_as_str(vm, self), jt_of_dict(d));
    }
    jt_list *l = jt_list_new(vm, args->n);
    for (size_t i = 0; i < args->n; i++)
        jt_list_add(vm, l, args->at[i]);
    return jt_format_percent(vm, jt_as_str(vm, self), jt_of_tuple(l));
}

/* The argument json.dumps takes as `indent`: a number of blanks, a string, or None. */
static const jt_str *json_indent(jt_vm *vm, jt_value v) {
    jt_buf b = {0};
    if (jt_absent(v) || v.kind == JT_NONE) return NULL;
    if (v.kind == JT_STR) return v.s;
    put_spaces(vm, &b, jt_need_int(vm, v, "indent"));
    return jt_buf_text(vm, &b).s;
}

static jt_value do_tojson(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_json_form form = {.ascii = jt_true(vm, arg[0]), .sort = jt_true(vm, arg[3])};
    form.indent = json_indent(vm, arg[1]);
    form.item = jt_word(vm, form.indent ? "," : ", ").s;
    form.key = jt_word(vm, ": ").s;
    if (!jt_absent(arg[2]) && arg[2].kind != JT_NONE) {
        const jt_list *two = jt_to_list(vm, arg[2]);
        if (two->n != 2) jt_fail(vm, "separators must be two");
        form.item = jt_need_str(vm, two->at[0], "a separator");
        form.key = jt_need_str(vm, two->at[1], "a separator");
    }
    jt_buf b = {0};
    jt_put_json(vm, &b, self, &form, 0);
    return jt_buf_text(vm, &b);
}

static jt_value do_urlencode(jt_vm *vm, jt_value self, jt_value *arg) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~/";
    static const char hex[] = "0123456789ABCDEF";
    const jt_str *s = jt_as_str(vm, self);
    jt_buf b = {0};
    (void)arg;
    if (self.kind != JT_STR && jt_iterable(self))
        jt_fail(vm, "urlencode of a %s is not supported", jt_type_name(self));
    for (size_t i = 0; i < s->n; i++) {
        unsigned char c = (unsigned char)s->p[i];
        char code[3] = {'%', hex[c >> 4], hex[c & 15]};
        if (c && strchr(plain, c))
            jt_put(vm, &b, s->p + i, 1);
        else
            jt_put(vm, &b, code, 3);
    }
    return jt_buf_text(vm, &b);
}

const jt_builtin jt_text_filters[] = {
    {"trim", "chars?", do_trim, NULL, false},
    {"upper", "", do_upper, NULL, false},
    {"lower", "", do_lower, NULL, false},
    {"capitalize", "", do_capitalize, NULL, false},
    {"title", "", do_title, NULL, false},
    {"replace", "old new count?", do_replace, NULL, false},
    {"string", "", do_string, NULL, false},
    {"safe", "", do_safe, NULL, false},
    {"escape", "", do_escape, NULL, false},
    {"e", "", do_escape, NULL, false},
    {"forceescape", "", do_forceescape, NULL, false},
    {"center", "width?", do_center, NULL, false},
    {"indent", "width? first? blank?", do_indent, NULL, false},
    {"wordcount", "", do_wordcount, NULL, false},
    {"truncate", "length? killwords? end? leeway?", do_truncate, NULL, false},
    {"format", NULL, NULL, do_format, false},
    {"tojson", "ensure_ascii? indent? separators? sort_keys?", do_tojson, NULL, false},
    {"urlencode", "", do_urlencode, NULL, false},
    {0},
};
