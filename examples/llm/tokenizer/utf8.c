/* utf8.c - bytes that come in pieces, let through as whole characters. */
#include "examples/llm/tokenizer/parts.h"
#include <stdlib.h>
#include <string.h>

bool bytes_add(struct bytes *b, const char *p, size_t n) {
    if (n >= b->cap - b->n) { /* one more than N: there is always room for the NUL */
        size_t cap = b->cap ? b->cap : 64;
        while (n >= cap - b->n) {
            if (cap > SIZE_MAX / 2) return false;
            cap *= 2;
        }
        char *grown = realloc(b->p, cap);
        if (!grown) return false;
        b->p = grown;
        b->cap = cap;
    }
    if (n) memcpy(b->p + b->n, p, n);
    b->n += n;
    b->p[b->n] = 0;
    return true;
}

int utf8_scan(const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    unsigned char lo = 0x80, hi = 0xbf; /* of the second byte */
    int length;
    if (p[0] < 0x80) return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4) return -1;
    length = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (p[0] == 0xe0) lo = 0xa0; /* what follows would fit into fewer bytes */
    if (p[0] == 0xed) hi = 0x9f; /* surrogates */
    if (p[0] == 0xf0) lo = 0x90;
    if (p[0] == 0xf4) hi = 0x8f; /* beyond U+10FFFF */
    for (int i = 1; i < length; i++, lo = 0x80, hi = 0xbf) {
        if ((size_t)i == n) return 0;
        if (p[i] < lo || p[i] > hi) return -i;
    }
    return length;
}

size_t utf8_valid(const char *text, size_t n) {
    size_t at = 0;
    while (at < n) {
        int length = utf8_scan(text + at, n - at);
        if (length <= 0) break;
        at += (size_t)length;
    }
    return at;
}

static bool replace(struct bytes *out, int times) {
    for (int i = 0; i < times; i++)
        if (!bytes_add(out, "\xef\xbf\xbd", 3)) return false;
    return true;
}

bool utf8_gate_put(struct utf8_gate *g, const char *p, size_t n, struct bytes *out) {
    for (size_t i = 0; i < n; i++) {
        g->held[g->n++] = p[i];
        for (int length; g->n && (length = utf8_scan(g->held, (size_t)g->n)) != 0;) {
            int done = length > 0 ? length : -length;
            if (length > 0 ? !bytes_add(out, g->held, (size_t)done)
                           : !replace(out, g->each_byte ? done : 1))
                return false;
            g->n -= done;
            memmove(g->held, g->held + done, (size_t)g->n);
        }
    }
    return true;
}

bool utf8_gate_end(struct utf8_gate *g, struct bytes *out) {
    int times = g->n && !g->each_byte ? 1 : g->n;
    g->n = 0;
    return replace(out, times);
}
