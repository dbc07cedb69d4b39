/* methods.c - methods of strings, dicts, lists and loops. One more: a function and a row of the
 * table of its kind. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/value/utf8.h"
#include <string.h>

#define METHOD(name) static jt_value name(jt_vm *vm, jt_value self, jt_value *arg)
#define UNUSED (void)vm, (void)arg

/* An argument that may be left out or None. */
static bool given(jt_value v) {
    return !jt_absent(v) && v.kind != JT_NONE;
}

static const jt_str *chars(jt_vm *vm, jt_value v) {
    return given(v) ? jt_need_str(vm, v, "an argument of strip") : NULL;
}

METHOD(m_strip) {
    return jt_strip(vm, self.s, chars(vm, arg[0]), true, true);
}
METHOD(m_lstrip) {
    return jt_strip(vm, self.s, chars(vm, arg[0]), true, false);
}
METHOD(m_rstrip) {
    return jt_strip(vm, self.s, chars(vm, arg[0]), false, true);
}
METHOD(m_upper) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_UPPER);
}
METHOD(m_lower) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_LOWER);
}
METHOD(m_title) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_TITLE);
}
METHOD(m_capitalize) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_CAPITALIZE);
}
METHOD(m_swapcase) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_SWAP);
}
METHOD(m_casefold) {
    UNUSED;
    return jt_change_case(vm, self.s, JT_FOLD);
}

/* ---- cutting ---- */

static void split_blanks(jt_vm *vm, const jt_str *s, int64_t most, jt_list *l) {
    size_t at = 0, size;
    for (;;) {
        while (at < s->n && jt_is_space(jt_utf8_read(s->p + at, &size)))
            at += size;
        if (at == s->n) return;
        if ((int64_t)l->n == most) break;
        size_t from = at;
        while (at < s->n && !jt_is_space(jt_utf8_read(s->p + at, &size)))
            at += size;
        jt_list_add(vm, l, jt_text(vm, s->p + from, at - from));
    }
    jt_list_add(vm, l, jt_text(vm, s->p + at, s->n - at));
}

static void rsplit_blanks(jt_vm *vm, const jt_str *s, int64_t most, jt_list *l) {
    size_t end = s->n, size;
    for (;;) {
        while (end && jt_is_space(jt_utf8_before(s->p, s->p + end, &size)))
            end -= size;
        if (!end) return;
        if ((int64_t)l->n == most) break;
        size_t to = end;
        while (end && !jt_is_space(jt_utf8_before(s->p, s->p + end, &size)))
            end -= size;
        jt_list_add(vm, l, jt_text(vm, s->p + end, to - end));
    }
    jt_list_add(vm, l, jt_text(vm, s->p, end));
}

/* Where WORD stands last in the N bytes at P. */
static const char *find_last(const char *p, size_t n, const jt_str *word) {
    for (size_t at = n < word->n ? 0 : n - word->n + 1; at-- > 0;)
        if (!memcmp(p + at, word->p, word->n)) return p + at;
    return NULL;
}

static void turn(jt_list *l) {
    for (size_t i = 0; i < l->n / 2; i++) {
        jt_value v = l->at[i];
        l->at[i] = l->at[l->n - 1 - i];
        l->at[l->n - 1 - i] = v;
    }
}

static jt_value split(jt_vm *vm, const jt_str *s, const jt_value *arg, bool from_right) {
    int64_t most = jt_absent(arg[1]) ? -1 : jt_need_int(vm, arg[1], "maxsplit");
    jt_list *l = jt_list_new(vm, 0);
    jt_step_bytes(vm, s->n);
    if (most < 0) most = INT64_MAX;
    if (!given(arg[0])) {
        (from_right ? rsplit_blanks : split_blanks)(vm, s, most, l);
    } else {
        const jt_str *by = jt_need_str(vm, arg[0], "a separator");
        const char *p = s->p, *end = p + s->n, *found;
        if (!by->n) jt_fail(vm, "empty separator");
        while ((int64_t)l->n < most &&
               (found = from_right ? find_last(p, (size_t)(end - p), by)
                                   : memmem(p, (size_t)(end - p), by->p, by->n))) {
            const char *next = found + by->n;
            jt_step_bytes(vm, from_right ? (size_t)(end - found) * by->n : 0);
            jt_list_add(vm, l,
                        from_right ? jt_text(vm, next, (size_t)(end - next))
                                   : jt_text(vm, p, (size_t)(found - p)));
            if (from_right)
                end = found;
            else
                p = next;
        }
        jt_list_add(vm, l, jt_text(vm, p, (size_t)(end - p)));
    }
    if (from_right) turn(l);
    return jt_of_list(l);
}

METHOD(m_split) {
    return split(vm, self.s, arg, false);
}
METHOD(m_rsplit) {
    return split(vm, self.s, arg, true);
}
METHOD(m_splitlines) {
    return jt_split_lines(vm, self.s, jt_true(vm, arg[0]));
}

static jt_value partition(jt_vm *vm, const jt_str *s, jt_value by, bool from_right) {
    const jt_str *b = jt_need_str(vm, by, "a separator");
    jt_list *l = jt_list_new(vm, 3);
    if (!b->n) jt_fail(vm, "empty separator");
    jt_step_bytes(vm, s->n * (from_right ? b->n : 1));
    const char *found = from_right ? find_last(s->p, s->n, b) : memmem(s->p, s->n, b->p, b->n);
    size_t before = found ? (size_t)(found - s->p) : from_right ? 0 : s->n;
    size_t behind = found ? before + b->n : before;
    jt_list_add(vm, l, jt_text(vm, s->p, before));
    jt_list_add(vm, l, found ? by : jt_word(vm, ""));
    jt_list_add(vm, l, jt_text(vm, s->p + behind, s->n - behind));
    return jt_of_tuple(l);
}

METHOD(m_partition) {
    return partition(vm, self.s, arg[0], false);
}
METHOD(m_rpartition) {
    return partition(vm, self.s, arg[0], true);
}

/* ---- finding ---- */

/* The part of the string from character START to END, as find and its like take them; false: START
 * is behind the end. *FIRST: the character it begins with. */
static bool part(jt_vm *vm, jt_value self, jt_value start, jt_value end, jt_str **out,
                 int64_t *first) {
    int64_t n = jt_chars(self.s), from = given(start) ? jt_need_int(vm, start, "start") : 0;
    int64_t to = given(end) ? jt_need_int(vm, end, "end") : n;
    if (from < 0) from = from < -n ? 0 : from + n;
    if (to < 0) to = to < -n ? 0 : to + n;
    *first = from;
    if (from > n || to < from) return false;
    *out = jt_get_slice(vm, self, jt_int(from), jt_int(to), jt_none()).s;
    return true;
}

static int64_t find(jt_vm *vm, jt_value self, const jt_value *arg, bool last) {
    const jt_str *word = jt_need_str(vm, arg[0], "what is looked for");
    jt_str *in;
    int64_t first;
    if (!part(vm, self, arg[1], arg[2], &in, &first)) return -1;
    jt_step_bytes(vm, in->n * (last ? word->n + 1 : 1));
    const char *found =
        last ? find_last(in->p, in->n, word) : memmem(in->p, in->n, word->p, word->n);
    return found ? first + (int64_t)jt_utf8_count(in->p, (size_t)(found - in->p)) : -1;
}

METHOD(m_find) {
    return jt_int(find(vm, self, arg, false));
}
METHOD(m_rfind) {
    return jt_int(find(vm, self, arg, true));
}
METHOD(m_index) {
    int64_t at = find(vm, self, arg, false);
    if (at < 0) jt_fail(vm, "substring not found");
    return jt_int(at);
}
METHOD(m_rindex) {
    int64_t at = find(vm, self, arg, true);
    if (at < 0) jt_fail(vm, "substring not found");
    return jt_int(at);
}

METHOD(m_count) {
    const jt_str *word = jt_need_str(vm, arg[0], "what is counted");
    jt_str *in;
    int64_t first, count = 0;
    if (!part(vm, self, arg[1], arg[2], &in, &first)) return jt_int(0);
    if (!word->n) return jt_int(jt_chars(in) + 1);
    jt_step_bytes(vm, in->n);
    const char *p = in->p, *end = p + in->n;
    while ((p = memmem(p, (size_t)(end - p), word->p, word->n))) {
        count++;
        p += word->n;
    }
    return jt_int(count);
}

static bool affix(jt_vm *vm, const jt_str *s, jt_value word, bool end) {
    const jt_str *w = jt_need_str(vm, word, "a prefix or suffix");
    return w->n <= s->n && !memcmp(s->p + (end ? s->n - w->n : 0), w->p, w->n);
}

static jt_value has_affix(jt_vm *vm, jt_value self, const jt_value *arg, bool end) {
    jt_str *in;
    int64_t first;
    if (!part(vm, self, arg[1], arg[2], &in, &first)) return jt_bool(false);
    if (arg[0].kind != JT_TUPLE) return jt_bool(affix(vm, in, arg[0], end));
    for (size_t i = 0; i < arg[0].l->n; i++)
        if (affix(vm, in, arg[0].l->at[i], end)) return jt_bool(true);
    return jt_bool(false);
}

METHOD(m_startswith) {
    return has_affix(vm, self, arg, false);
}
METHOD(m_endswith) {
    return has_affix(vm, self, arg, true);
}
METHOD(m_removeprefix) {
    if (!affix(vm, self.s, arg[0], false)) return self;
    return jt_text(vm, self.s->p + arg[0].s->n, self.s->n - arg[0].s->n);
}
METHOD(m_removesuffix) {
    return affix(vm, self.s, arg[0], true) ? jt_text(vm, self.s->p, self.s->n - arg[0].s->n) : self;
}

/* ---- making ---- */

METHOD(m_replace) {
    int64_t count = jt_absent(arg[2]) ? -1 : jt_need_int(vm, arg[2], "count");
    return jt_replace(vm, self.s, jt_need_str(vm, arg[0], "replace() argument 1"),
                      jt_need_str(vm, arg[1], "replace() argument 2"), count);
}

METHOD(m_join) {
    jt_walk w = jt_walk_of(vm, arg[0]);
    jt_buf b = {0};
    jt_value item;
    for (bool first = true; jt_walk_next(vm, &w, &item); first = false) {
        const jt_str *s = jt_need_str(vm, item, "an item that is joined");
        if (!first) jt_put(vm, &b, self.s->p, self.s->n);
        jt_put(vm, &b, s->p, s->n);
    }
    return jt_buf_text(vm, &b);
}

/* Filled up to a width with the character ARG[1]: LEFT of 2 parts before the text. */
static jt_value pad(jt_vm *vm, jt_value self, const jt_value *arg, int left) {
    int64_t width = jt_need_int(vm, arg[0], "width"), by = width - jt_chars(self.s), before = 0;
    const jt_str *fill =
        jt_absent(arg[1]) ? jt_word(vm, " ").s : jt_need_str(vm, arg[1], "fillchar");
    if (jt_utf8_count(fill->p, fill->n) != 1)
        jt_fail(vm, "The fill character must be exactly one character long");
    if (by <= 0) return self;
    before = left == 2 ? by : left ? by / 2 + (by & width & 1) : 0;
    jt_buf b = {0};
    for (int64_t i = 0; i <= by; i++)
        if (i == before) {
            jt_put(vm, &b, self.s->p, self.s->n);
            if (i < by) jt_put(vm, &b, fill->p, fill->n);
        } else if (i < by) {
            jt_put(vm, &b, fill->p, fill->n);
        }
    return jt_buf_text(vm, &b);
}

METHOD(m_ljust) {
    return pad(vm, self, arg, 0);
}
METHOD(m_center) {
    return pad(vm, self, arg, 1);
}
METHOD(m_rjust) {
    return pad(vm, self, arg, 2);
}
METHOD(m_zfill) {
    bool sign = self.s->n && (*self.s->p == '-' || *self.s->p == '+');
    int64_t width = jt_need_int(vm, arg[0], "width") - sign;
    jt_value digits = jt_text(vm, self.s->p + sign, self.s->n - sign);
    jt_value args[] = {jt_int(width), jt_word(vm, "0")};
    return jt_binary(vm, OP_ADD, jt_text(vm, self.s->p, sign), pad(vm, digits, args, 2));
}

METHOD(m_expandtabs) {
    int64_t size = jt_absent(arg[0]) ? 8 : jt_need_int(vm, arg[0], "tabsize"), column = 0;
    jt_buf b = {0};
    for (size_t i = 0, n; i < self.s->n; i += n) {
        const char *p = self.s->p + i;
        n = jt_utf8_size(*p);
        if (*p != '\t') {
            jt_put(vm, &b, p, n);
            column = *p == '\n' || *p == '\r' ? 0 : column + 1;
        } else if (size > 0) {
            for (int64_t k = size - column % size; k > 0; k--, column++)
                jt_put(vm, &b, " ", 1);
        }
    }
    return jt_buf_text(vm, &b);
}

static jt_value m_format(jt_vm *vm, jt_value self, const jt_args *args) {
    return jt_format_braces(vm, self, args);
}

/* ---- kinds of characters ---- */

static jt_value all(jt_vm *vm, jt_value self, bool (*is)(int32_t)) {
    jt_step_bytes(vm, self.s->n);
    for (size_t i = 0, size; i < self.s->n; i += size)
        if (!is(jt_utf8_read(self.s->p + i, &size))) return jt_bool(false);
    return jt_bool(self.s->n > 0);
}

static bool alnum(int32_t c) {
    return c != '_' && jt_is_word(c);
}
static bool ascii(int32_t c) {
    return c < 0x80;
}

METHOD(m_isspace) {
    UNUSED;
    return all(vm, self, jt_is_space);
}
METHOD(m_isalpha) {
    UNUSED;
    return all(vm, self, jt_is_alpha);
}
METHOD(m_isdigit) {
    UNUSED;
    return all(vm, self, jt_is_digit);
}
METHOD(m_isalnum) {
    UNUSED;
    return all(vm, self, alnum);
}
METHOD(m_isascii) {
    UNUSED;
    return jt_bool(!self.s->n || all(vm, self, ascii).b);
}
METHOD(m_isidentifier) {
    size_t size;
    UNUSED;
    return jt_bool(all(vm, self, jt_is_word).b && !jt_is_digit(jt_utf8_read(self.s->p, &size)));
}
METHOD(m_isupper) {
    UNUSED;
    return jt_call_builtin(vm, jt_find_test("upper", 5), self, &(jt_args){0});
}
METHOD(m_islower) {
    UNUSED;
    return jt_call_builtin(vm, jt_find_test("lower", 5), self, &(jt_args){0});
}

static const jt_builtin of_str[] = {
    {"strip", "chars?", m_strip, NULL, false},
    {"lstrip", "chars?", m_lstrip, NULL, false},
    {"rstrip", "chars?", m_rstrip, NULL, false},
    {"split", "sep? maxsplit?", m_split, NULL, false},
    {"rsplit", "sep? maxsplit?", m_rsplit, NULL, false},
    {"splitlines", "keepends?", m_splitlines, NULL, false},
    {"partition", "sep", m_partition, NULL, false},
    {"rpartition", "sep", m_rpartition, NULL, false},
    {"startswith", "prefix start? end?", m_startswith, NULL, false},
    {"endswith", "suffix start? end?", m_endswith, NULL, false},
    {"removeprefix", "prefix", m_removeprefix, NULL, false},
    {"removesuffix", "suffix", m_removesuffix, NULL, false},
    {"replace", "old new count?", m_replace, NULL, false},
    {"join", "iterable", m_join, NULL, false},
    {"find", "sub start? end?", m_find, NULL, false},
    {"rfind", "sub start? end?", m_rfind, NULL, false},
    {"index", "sub start? end?", m_index, NULL, false},
    {"rindex", "sub start? end?", m_rindex, NULL, false},
    {"count", "sub start? end?", m_count, NULL, false},
    {"upper", "", m_upper, NULL, false},
    {"lower", "", m_lower, NULL, false},
    {"title", "", m_title, NULL, false},
    {"capitalize", "", m_capitalize, NULL, false},
    {"swapcase", "", m_swapcase, NULL, false},
    {"casefold", "", m_casefold, NULL, false},
    {"ljust", "width fillchar?", m_ljust, NULL, false},
    {"rjust", "width fillchar?", m_rjust, NULL, false},
    {"center", "width fillchar?", m_center, NULL, false},
    {"zfill", "width", m_zfill, NULL, false},
    {"expandtabs", "tabsize?", m_expandtabs, NULL, false},
    {"format", NULL, NULL, m_format, false},
    {"isspace", "", m_isspace, NULL, false},
    {"isalpha", "", m_isalpha, NULL, false},
    {"isdigit", "", m_isdigit, NULL, false},
    {"isdecimal", "", m_isdigit, NULL, false},
    {"isnumeric", "", m_isdigit, NULL, false},
    {"isalnum", "", m_isalnum, NULL, false},
    {"isascii", "", m_isascii, NULL, false},
    {"isidentifier", "", m_isidentifier, NULL, false},
    {"isupper", "", m_isupper, NULL, false},
    {"islower", "", m_islower, NULL, false},
    {0},
};

/* ---- what has methods beside strings: containers.c ---- */

const jt_builtin *jt_find_method(jt_value v, const char *name, size_t n) {
    return jt_find_in(v.kind == JT_STR ? of_str : jt_container_methods(v), name, n);
}
