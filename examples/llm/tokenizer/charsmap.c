/* charsmap.c - SentencePiece's table of characters and what they become: a trie in a double array,
 * then the texts it points to, each with a NUL behind. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

struct charsmap {
    unsigned char *blob; /* of the file */
    uint32_t *units;
    size_t nunits;
    const char *texts;
    size_t bytes; /* of TEXTS, the last is a NUL */
};

static int digit(char c) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *at = c ? strchr(digits, c) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The bytes in TEXT, a NUL behind; NULL with ERR: not base64. */
static unsigned char *unbase64(struct span text, size_t *out_bytes, char *err) {
    uint32_t bits = 0;
    size_t n = 0, end = text.n;
    while (end && text.p[end - 1] == '=' && text.n - end < 2)
        end--;
    unsigned char *out = malloc(text.n / 4 * 3 + 4);
    if (!out) {
        llm_fail(err, "out of memory");
        return NULL;
    }
    for (size_t i = 0; i < end; i++) {
        int d = digit(text.p[i]);
        if (d < 0 || text.n % 4) {
            llm_fail(err, "Precompiled: \"precompiled_charsmap\" is not base64");
            free(out);
            return NULL;
        }
        bits = bits << 6 | (uint32_t)d;
        if (i % 4) out[n++] = (unsigned char)(bits >> (6 - 2 * (i % 4)));
    }
    out[n] = 0;
    *out_bytes = n;
    return out;
}

static uint32_t word_at(const unsigned char *p) {
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool charsmap_load(struct span base64, struct charsmap **out, char *err) {
    size_t n = 0;
    *out = NULL;
    unsigned char *blob = unbase64(base64, &n, err);
    if (!blob) return false;
    size_t trie = n >= 4 ? word_at(blob) : 1;
    struct charsmap *m = trie % 4 || trie > n - 4 || !trie ? NULL : calloc(1, sizeof *m);
    uint32_t *units = m ? malloc(trie) : NULL;
    if (!units) {
        llm_fail(err, m ? "out of memory" : "Precompiled: the table is damaged");
        free(m);
        free(blob);
        return false;
    }
    for (size_t i = 0; i < trie / 4; i++)
        units[i] = word_at(blob + 4 + 4 * i);
    *m = (struct charsmap){blob, units, trie / 4, (const char *)blob + 4 + trie, n - 4 - trie + 1};
    *out = m;
    if (utf8_valid(m->texts, m->bytes) == m->bytes) return true;
    charsmap_free(m);
    *out = NULL;
    return llm_fail(err, "Precompiled: a text of the table is not UTF-8");
}

void charsmap_free(struct charsmap *m) {
    if (!m) return;
    free(m->blob);
    free(m->units);
    free(m);
}

/* What TEXT becomes by the shortest key it begins with, or .p NULL. */
static struct span transform(const struct charsmap *m, struct span text) {
    struct span none = {NULL, 0};
    size_t node = 0;
    uint32_t unit = m->units[0];
    node ^= (size_t)(unit >> 10) << ((unit & 1 << 9) >> 6);
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        node ^= c;
        if (!c || node >= m->nunits) return none;
        unit = m->units[node];
        if ((unit & (1u << 31 | 0xff)) != c) return none;
        node ^= (size_t)(unit >> 10) << ((unit & 1 << 9) >> 6);
        if (!(unit >> 8 & 1)) continue;
        if (node >= m->nunits) return none;
        size_t at = m->units[node] & 0x7fffffff;
        if (at >= m->bytes || ((unsigned char)m->texts[at] & 0xc0) == 0x80)
            return none; /* it points into the middle of a character */
        return (struct span){m->texts + at, strlen(m->texts + at)};
    }
    return none;
}

static bool add(struct bytes *out, struct span s, size_t limit, char *err) {
    if (s.n > limit - out->n)
        return llm_fail(err, "normalising makes the text longer than %zu bytes", limit);
    return bytes_add(out, s.p, s.n) || llm_fail(err, "out of memory");
}

/* Graphemes of less than six bytes are looked up as a whole first. */
bool charsmap_apply(const struct charsmap *m, struct span text, size_t limit, struct bytes *out,
                    char *err) {
    for (size_t at = 0, end; at < text.n; at = end) {
        end = text_grapheme(text, at);
        struct span whole = {text.p + at, end - at}, s = {NULL, 0};
        if (whole.n < 6) s = transform(m, whole);
        if (s.p) {
            if (!add(out, s, limit, err)) return false;
            continue;
        }
        while (at < end) {
            struct span part = {text.p + at, 0};
            utf8_next(text, &at);
            part.n = (size_t)(text.p + at - part.p);
            s = transform(m, part);
            if (!add(out, s.p ? s : part, limit, err)) return false;
        }
    }
    return true;
}
