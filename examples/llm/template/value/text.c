/* text.c - what filters and methods do to strings: trimming, replacing, letters' case, lines,
 * numbers in text. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

const jt_str *jt_need_str(jt_vm *vm, jt_value v, const char *what) {
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    if (v.kind != JT_STR) jt_fail(vm, "%s must be str, not %s", what, jt_type_name(v));
    return v.s;
}

int64_t jt_need_int(jt_vm *vm, jt_value v, const char *what) {
    int64_t i;
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    if (!jt_integer(v, &i)) jt_fail(vm, "%s must be int, not %s", what, jt_type_name(v));
    return i;
}

/* ---- trimming ---- */

static bool strips(int32_t c, const jt_str *chars) {
    if (!chars) return jt_is_space(c);
    for (size_t i = 0, size; i < chars->n; i += size)
        if (jt_utf8_read(chars->p + i, &size) == c) return true;
    return false;
}

jt_value jt_strip(jt_vm *vm, const jt_str *s, const jt_str *chars, bool left, bool right) {
    const char *p = s->p, *end = p + s->n;
    size_t size;
    while (left && p < end && strips(jt_utf8_read(p, &size), chars)) {
        p += size;
        jt_step(vm, 1 + (chars ? chars->n / 16 : 0));
    }
    while (right && p < end && strips(jt_utf8_before(p, end, &size), chars)) {
        end -= size;
        jt_step(vm, 1 + (chars ? chars->n / 16 : 0));
    }
    return jt_text(vm, p, (size_t)(end - p));
}

jt_value jt_split_lines(jt_vm *vm, const jt_str *s, bool keep_ends) {
    jt_list *l = jt_list_new(vm, 0);
    size_t from = 0, size;
    for (size_t i = 0; i < s->n;) {
        int32_t c = jt_utf8_read(s->p + i, &size);
        size_t end = i;
        i += size;
        if (!jt_is_line_end(c)) continue;
        if (c == '\r' && i < s->n && s->p[i] == '\n') i++;
        jt_list_add(vm, l, jt_text(vm, s->p + from, (keep_ends ? i : end) - from));
        from = i;
    }
    jt_step_bytes(vm, s->n);
    if (from < s->n) jt_list_add(vm, l, jt_text(vm, s->p + from, s->n - from));
    return jt_of_list(l);
}

jt_value jt_replace(jt_vm *vm, const jt_str *s, const jt_str *old, const jt_str *with,
                    int64_t count) {
    jt_buf b = {0};
    size_t at = 0;
    for (; count; count--) {
        const char *found = old->n ? memmem(s->p + at, s->n - at, old->p, old->n) : s->p + at;
        if (!found) break;
        jt_put(vm, &b, s->p + at, (size_t)(found - s->p) - at);
        jt_put(vm, &b, with->p, with->n);
        at = (size_t)(found - s->p) + old->n;
        if (old->n) continue;
        if (at == s->n) break; /* nothing stands between characters: WITH comes before each */
        size_t size = jt_utf8_size(s->p[at]);
        jt_put(vm, &b, s->p + at, size);
        at += size;
    }
    jt_put(vm, &b, s->p + at, s->n - at);
    return jt_buf_text(vm, &b);
}

jt_value jt_escape(jt_vm *vm, jt_value v) {
    const jt_str *s = jt_as_str(vm, v);
    if (s->markup) return v;
    jt_buf b = {0};
    for (size_t i = 0; i < s->n; i++) {
        static const char *const names[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
        const char *found = s->p[i] ? strchr("&<>'\"", s->p[i]) : NULL;
        if (found)
            jt_put_word(vm, &b, names[found - strchr("&<>'\"", '&')]);
        else
            jt_put(vm, &b, s->p + i, 1);
    }
    jt_value text = jt_buf_text(vm, &b);
    text.s->markup = true;
    return text;
}

/* ---- letters ---- */

/* Letters whose capital is several; TITLE: at the beginning of a word. */
static const struct {
    int32_t from;
    const char *upper, *title;
} several[] = {
    {0xdf, "SS", "Ss"},
    {0x149, "\xca\xbcN", "\xca\xbcN"},
    {0x1f0, "J\xcc\x8c", "J\xcc\x8c"},
    {0x587, "\xd4\xb5\xd5\x92", "\xd4\xb5\xd6\x82"},
    {0xfb00, "FF", "Ff"},
    {0xfb01, "FI", "Fi"},
    {0xfb02, "FL", "Fl"},
    {0xfb03, "FFI", "Ffi"},
    {0xfb04, "FFL", "Ffl"},
    {0xfb05, "ST", "St"},
    {0xfb06, "ST", "St"},
};

static void put_upper(jt_vm *vm, jt_buf *b, int32_t c, bool title) {
    char text[4];
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (several[i].from == c) {
            jt_put_word(vm, b, title ? several[i].title : several[i].upper);
            return;
        }
    jt_put(vm, b, text, jt_utf8_write(title ? utf8proc_totitle(c) : utf8proc_toupper(c), text));
}

static bool cased(int32_t c) {
    return utf8proc_toupper(c) != c || utf8proc_tolower(c) != c || jt_is_upper(c) || jt_is_lower(c);
}

/* A sigma at the end of a word has a form of its own. */
static bool final_sigma(const jt_str *s, size_t at) {
    size_t size, next = at + 2;
    bool before = at && cased(jt_utf8_before(s->p, s->p + at, &size));
    return before && !(next < s->n && cased(jt_utf8_read(s->p + next, &size)));
}

static void put_lower(jt_vm *vm, jt_buf *b, const jt_str *s, size_t at, int32_t c) {
    char text[4];
    if (c == 0x130) { /* the dot of the capital stays */
        jt_put_word(vm, b, "i\xcc\x87");
        return;
    }
    if (c == 0x3a3 && final_sigma(s, at))
        c = 0x3c2;
    else
        c = utf8proc_tolower(c);
    jt_put(vm, b, text, jt_utf8_write(c, text));
}

jt_value jt_change_case(jt_vm *vm, const jt_str *s, jt_case to) {
    jt_buf b = {0};
    bool in_word = false;
    for (size_t i = 0, size; i < s->n; i += size) {
        int32_t c = jt_utf8_read(s->p + i, &size);
        bool upper = to == JT_UPPER || (to == JT_SWAP && jt_is_lower(c));
        bool first = (to == JT_TITLE && !in_word) || (to == JT_CAPITALIZE && i == 0);
        if (to == JT_FOLD && c == 0xdf)
            jt_put(vm, &b, "ss", 2);
        else if (upper || first || (to == JT_SWAP && !jt_is_upper(c)))
            put_upper(vm, &b, c, first);
        else
            put_lower(vm, &b, s, i, c);
        in_word = cased(c);
    }
    return jt_buf_text(vm, &b);
}

/* ---- numbers ---- */

/* S without blanks around it and single _ between digits, ended by 0; NULL: too long, or an _ that
 * stands elsewhere. */
static char *bare(jt_vm *vm, const jt_str *s) {
    jt_str *t = jt_strip(vm, s, NULL, true, true).s;
    if (t->n > 1000) return NULL;
    char *text = jt_alloc(vm, t->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < t->n; i++) {
        bool between = i && i + 1 < t->n && isalnum((unsigned char)t->p[i - 1]) &&
                       isalnum((unsigned char)t->p[i + 1]);
        if (t->p[i] == '_' && !between) return NULL;
        if (!t->p[i]) return NULL;
        if (t->p[i] != '_') text[n++] = t->p[i];
    }
    return text;
}

jt_value jt_parse_float(jt_vm *vm, const jt_str *s) {
    jt_value none = {.kind = JT_ABSENT};
    char *text = bare(vm, s), *end;
    if (!text || !*text) return none;
    const char *digits = text + (*text == '-' || *text == '+');
    bool word =
        !strcasecmp(digits, "inf") || !strcasecmp(digits, "infinity") || !strcasecmp(digits, "nan");
    if (!word && (strspn(digits, "0123456789.eE+-") != strlen(digits))) return none;
    double f = strtod(text, &end);
    return *end || end == text ? none : jt_float(f);
}

jt_value jt_parse_int(jt_vm *vm, const jt_str *s, int base) {
    jt_value none = {.kind = JT_ABSENT};
    char *text = bare(vm, s), *end;
    if (!text || !*text) return none;
    char *digits = text + (*text == '-' || *text == '+');
    bool prefixed = digits[0] == '0' && isalpha((unsigned char)digits[1]);
    if (prefixed) {
        int own = tolower((unsigned char)digits[1]) == 'x'   ? 16
                  : tolower((unsigned char)digits[1]) == 'o' ? 8
                  : tolower((unsigned char)digits[1]) == 'b' ? 2
                                                             : 0;
        if (own && (base == own || base == 0)) {
            base = own;
            digits += 2;
        }
    }
    if (!isalnum((unsigned char)*digits)) return none;
    errno = 0;
    long long i = strtoll(digits, &end, base ? base : 10);
    if (*end) return none;
    if (errno) jt_fail(vm, "an integer does not fit 64 bits");
    return jt_int(*text == '-' ? -i : i);
}
