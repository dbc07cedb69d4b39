/* alphabet.c - byte-level designs spell every byte as a printable character. */
#include "examples/llm/tokenizer/parts.h"

/* Printable Latin-1 bytes stand for themselves; the others are U+0100, U+0101, ... in order. */
static const struct { int first, last; } unprintable[] = {{0, 32}, {127, 160}, {173, 173}};

int byte_of_char(int32_t c) {
    int next = 256;
    for (size_t i = 0; i < sizeof unprintable / sizeof *unprintable; i++) {
        int n = unprintable[i].last - unprintable[i].first + 1;
        if (c >= unprintable[i].first && c <= unprintable[i].last) return -1;
        if (c >= next && c < next + n) return unprintable[i].first + c - next;
        next += n;
    }
    return c >= 0 && c < 256 ? c : -1;
}

static int32_t char_of_byte(int byte) {
    int next = 256;
    for (size_t i = 0; i < sizeof unprintable / sizeof *unprintable; i++) {
        if (byte >= unprintable[i].first && byte <= unprintable[i].last)
            return next + byte - unprintable[i].first;
        next += unprintable[i].last - unprintable[i].first + 1;
    }
    return byte;
}

bool spell_bytes(struct span any, struct bytes *out) {
    for (size_t i = 0; i < any.n; i++)
        if (!utf8_add(out, char_of_byte((unsigned char)any.p[i]))) return false;
    return true;
}

bool unspell_bytes(struct span text, struct bytes *out, bool *out_memory) {
    size_t before = out->n;
    *out_memory = bytes_add(out, "", 0);
    for (size_t at = 0; *out_memory && at < text.n;) {
        int byte = byte_of_char(utf8_next(text, &at));
        char c = (char)byte;
        if (byte < 0) {
            out->n = before;
            return false;
        }
        *out_memory = bytes_add(out, &c, 1);
    }
    return *out_memory;
}
