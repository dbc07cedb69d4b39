/* unicode.c - what Unicode says of characters, and its normal forms. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

int32_t utf8_next(struct span text, size_t *at) {
    const unsigned char *p = (const unsigned char *)text.p + *at;
    int length = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    int32_t c = length == 1 ? p[0] : p[0] & (0x7f >> length);
    for (int i = 1; i < length; i++)
        c = c << 6 | (p[i] & 0x3f);
    *at += (size_t)length;
    return c;
}

bool utf8_add(struct bytes *b, int32_t c) {
    utf8proc_uint8_t buf[4];
    return bytes_add(b, (const char *)buf, (size_t)utf8proc_encode_char(c, buf));
}

bool char_is_space(int32_t c) {
    return (c >= 9 && c <= 13) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
           (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
           c == 0x205f || c == 0x3000;
}

bool char_is_punctuation(int32_t c) {
    if (c < 128)
        return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
               (c >= '{' && c <= '~');
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_PC && k <= UTF8PROC_CATEGORY_PO;
}

bool char_is_mark(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return k >= UTF8PROC_CATEGORY_MN && k <= UTF8PROC_CATEGORY_ME;
}

bool char_is_accent(int32_t c) {
    return utf8proc_category(c) == UTF8PROC_CATEGORY_MN;
}

bool char_is_control(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_CC || k == UTF8PROC_CATEGORY_CF || k == UTF8PROC_CATEGORY_CO;
}

bool char_is_word(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    /* Letters in circles and squares are symbols, and alphabetic. */
    bool enclosed = (c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
                    (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189);
    bool joiner = c == 0x200c || c == 0x200d;
    return (k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_NL) || k == UTF8PROC_CATEGORY_PC ||
           enclosed || joiner;
}

bool text_lowercase(struct span in, struct bytes *out) {
    for (size_t at = 0; at < in.n;) {
        int32_t c = utf8_next(in, &at);
        bool dotted = c == 0x130; /* the one letter that becomes two */
        if (!utf8_add(out, dotted ? 'i' : utf8proc_tolower(c)) || (dotted && !utf8_add(out, 0x307)))
            return false;
    }
    return true;
}

/* ---- normal forms ---- */

static int class_of(int32_t c) {
    return utf8proc_get_property(c)->combining_class;
}

static bool decompose(struct span in, bool compatible, struct ids *out) {
    int options = UTF8PROC_DECOMPOSE | UTF8PROC_STABLE | (compatible ? UTF8PROC_COMPAT : 0);
    for (size_t at = 0; at < in.n;) {
        int32_t c = utf8_next(in, &at), parts[32];
        int bound = 0;
        utf8proc_ssize_t n =
            utf8proc_decompose_char(c, parts, 32, (utf8proc_option_t)options, &bound);
        if (n < 0 || n > 32) {
            parts[0] = c;
            n = 1;
        }
        for (utf8proc_ssize_t i = 0; i < n; i++)
            if (!ids_add(out, parts[i])) return false;
    }
    return true;
}

/* Orders the marks that follow a letter by their class, those of one class as they stand. Counting,
 * since there may be a million of them. */
static void order_marks(int32_t *v, size_t n, int32_t *spare) {
    size_t start[257] = {0};
    for (size_t i = 0; i < n; i++)
        start[class_of(v[i]) + 1]++;
    for (int k = 0; k < 256; k++)
        start[k + 1] += start[k];
    for (size_t i = 0; i < n; i++)
        spare[start[class_of(v[i])]++] = v[i];
    memcpy(v, spare, n * sizeof *v);
}

static bool order_all(struct ids *text) {
    int32_t *spare = NULL;
    for (size_t i = 0, end; i < text->n; i = end) {
        bool ordered = true;
        for (end = i + 1; end < text->n && class_of(text->v[end]); end++)
            ordered =
                ordered && (end == i + 1 || class_of(text->v[end]) >= class_of(text->v[end - 1]));
        if (ordered && class_of(text->v[i]) && end > i + 1) /* a text that begins with a mark */
            ordered = class_of(text->v[i + 1]) >= class_of(text->v[i]);
        if (ordered) continue;
        if (!spare) spare = malloc(text->n * sizeof *spare);
        if (!spare) return false;
        order_marks(text->v + i + !class_of(text->v[i]), end - i - !class_of(text->v[i]), spare);
    }
    free(spare);
    return true;
}

bool text_normal_form(struct span in, bool compose, bool compatible, struct bytes *out) {
    size_t plain = 0;
    while (plain < in.n && (unsigned char)in.p[plain] < 0x80)
        plain++;
    if (plain == in.n) return bytes_add(out, in.p, in.n);
    struct ids text = {0};
    bool ok = decompose(in, compatible, &text) && order_all(&text);
    utf8proc_ssize_t n = (utf8proc_ssize_t)text.n;
    if (ok && compose)
        n = utf8proc_normalize_utf32(text.v, n,
                                     (utf8proc_option_t)(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
    for (utf8proc_ssize_t i = 0; ok && i < n; i++)
        ok = utf8_add(out, text.v[i]);
    free(text.v);
    return ok && n >= 0;
}

size_t text_grapheme(struct span text, size_t at) {
    utf8proc_int32_t state = 0;
    int32_t c = utf8_next(text, &at);
    while (at < text.n) {
        size_t next = at;
        int32_t d = utf8_next(text, &next);
        if (utf8proc_grapheme_break_stateful(c, d, &state)) break;
        c = d;
        at = next;
    }
    return at;
}
