#include "passes/machine/lines.h"
#include "runtime/files/input.h"
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool et_lines_open(et_lines *l, et_arena *arena, et_diags *d, const char *file_name,
                   const char *text, size_t bytes) {
    *l = (et_lines){.arena = arena, .diags = d, .text = text, .bytes = bytes};
    if (bytes > ET_LINES_TEXT) {
        et_diag(d, ET_ERROR, (et_loc){0}, "%s: more than %d MiB", file_name, ET_LINES_TEXT >> 20);
        return false;
    }
    l->file = et_diag_file(d, file_name, text, bytes);
    return true;
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

/* The length of the UTF-8 character at P; 0 where there is none, or a control character. */
static size_t plain(const unsigned char *p, const unsigned char *end) {
    if (*p < 0x80) return (*p >= 0x20 && *p != 0x7f) || *p == '\t';
    size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
    uint32_t c = *p & (0xffu >> (n + 1));
    if (*p < 0xc2 || *p > 0xf4 || (size_t)(end - p) < n) return 0;
    for (size_t i = 1; i < n; i++) {
        if ((p[i] & 0xc0) != 0x80) return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    bool legal = c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    return legal && c >= 0xa0 ? n : 0; /* 0x80 .. 0x9f are controls too */
}

static const char *find_bad(const char *from, const char *to) {
    const unsigned char *p = (const unsigned char *)from, *end = (const unsigned char *)to;
    while (p < end) {
        size_t n = plain(p, end);
        if (!n) return (const char *)p;
        p += n;
    }
    return NULL;
}

/* Whether the line from BEGIN to END may be read; if not, an error has been reported. */
static bool check(et_lines *l, const char *begin, const char *end) {
    et_loc loc = {.file = l->file, .line = l->line, .col = 1, .len = 1};
    if (end - begin > ET_LINE_BYTES) {
        et_diag(l->diags, ET_ERROR, loc, "the line is longer than %d bytes", ET_LINE_BYTES);
        return false;
    }
    const char *bad = find_bad(begin, end);
    if (!bad) return true;
    loc.col = (int)(bad - begin) + 1;
    et_diag(l->diags, ET_ERROR, loc, "byte 0x%02x is not text in UTF-8", (unsigned char)*bad);
    return false;
}

bool et_lines_next(et_lines *l, et_line *out) {
    while (l->at < l->bytes) {
        const char *begin = l->text + l->at;
        const char *end = memchr(begin, '\n', l->bytes - l->at);
        l->at = end ? (size_t)(end - l->text) + 1 : l->bytes;
        if (!end) end = l->text + l->bytes;
        l->line++;
        if (end > begin && end[-1] == '\r') end--;
        if (!check(l, begin, end)) continue;
        const char *comment = end > begin ? memchr(begin, '#', (size_t)(end - begin)) : NULL;
        if (comment) end = comment;
        while (end > begin && is_blank(end[-1]))
            end--;
        const char *key = begin;
        while (key < end && is_blank(*key))
            key++;
        if (key == end) continue;
        const char *stop = key;
        while (stop < end && !is_blank(*stop))
            stop++;
        const char *value = stop;
        while (value < end && is_blank(*value))
            value++;
        *out = (et_line){.key = et_strndup(l->arena, key, (size_t)(stop - key)),
                         .value = et_strndup(l->arena, value, (size_t)(end - value)),
                         .key_loc = {l->file, l->line, (int)(key - begin) + 1, (int)(stop - key)},
                         .value_loc = {l->file, l->line, (int)(value - begin) + 1,
                                       end > value ? (int)(end - value) : 1}};
        return true;
    }
    return false;
}

bool et_line_int(const char *value, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(value, &end, 10);
    *out = v;
    bool digits = isdigit((unsigned char)value[*value == '-']);
    return digits && !*end && !errno;
}

/* Decimal only: strtod would take hexadecimal, infinities and NaN as well. */
bool et_line_number(const char *value, double *out) {
    char *end;
    if (!*value || value[strspn(value, "0123456789.eE+-")]) return false;
    *out = strtod(value, &end);
    return !*end && isfinite(*out);
}

char *et_line_word(char **value) {
    char *word = *value + strspn(*value, " \t");
    if (!*word) return NULL;
    char *end = word + strcspn(word, " \t");
    *value = *end ? end + 1 : end;
    *end = 0;
    return word;
}

const char *et_lines_read(et_arena *arena, et_diags *d, const char *path, size_t *out_bytes) {
    char why[ET_WHY], *data = et_file_read(path, ET_LINES_TEXT, out_bytes, why);
    if (!data) {
        et_diag(d, ET_ERROR, (et_loc){0}, "%s: %s", path, why);
        return NULL;
    }
    char *text = et_strndup(arena, data, *out_bytes);
    free(data);
    return text;
}
