#include "examples/llm/grammar/regular/regex.h"
#include <stdlib.h>
#include <string.h>

bool characters_add(struct characters *c, uint32_t lo, uint32_t hi) {
    if (c->n == MOST_RANGES || lo > hi) return false;
    c->lo[c->n] = lo;
    c->hi[c->n++] = hi;
    return true;
}

bool characters_invert(struct characters *c) {
    struct characters out = {.n = 0};
    uint32_t at = 0;
    while (at <= 0x10ffff) {
        uint32_t next = 0x110000; /* where the next range begins, or the one that AT is in ends */
        bool in = false;
        for (int i = 0; i < c->n; i++) {
            if (c->lo[i] <= at && at <= c->hi[i]) {
                at = c->hi[i] + 1;
                in = true;
                break;
            }
            if (c->lo[i] > at && c->lo[i] < next) next = c->lo[i];
        }
        if (in) continue;
        if (!characters_add(&out, at, next - 1)) return false;
        at = next;
    }
    *c = out;
    return true;
}

/* What is no white space is none by anybody's reading, and so with the others: dialects differ in
 * what they take for it beyond ASCII. */
bool characters_class(struct characters *c, char letter, bool widest) {
    static const uint32_t blanks[][2] = {{'\t', '\r'},     {' ', ' '},       {0xa0, 0xa0},
                                         {0x85, 0x85},     {0x1680, 0x1680}, {0x2000, 0x200a},
                                         {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f},
                                         {0x3000, 0x3000}, {0xfeff, 0xfeff}, {0x1c, 0x1f}};
    struct characters set = {.n = 0};
    bool inverted = (letter < 'a') != widest;
    switch (letter | 0x20) {
    case 'd':
        characters_add(&set, '0', '9');
        break;
    case 'w':
        characters_add(&set, '0', '9');
        characters_add(&set, 'A', 'Z');
        characters_add(&set, '_', '_');
        characters_add(&set, 'a', 'z');
        break;
    case 's':
        for (size_t i = 0; i < (inverted ? sizeof blanks / sizeof *blanks : 2); i++)
            characters_add(&set, blanks[i][0], blanks[i][1]);
        break;
    default:
        return false;
    }
    /* Letters and digits of other scripts are such to some. */
    if (inverted && (letter | 0x20) != 's') characters_add(&set, 0x80, 0x10ffff);
    if (inverted != widest) characters_invert(&set);
    bool ok = true;
    for (int i = 0; i < set.n; i++)
        ok = ok && characters_add(c, set.lo[i], set.hi[i]);
    return ok;
}

struct linking {
    struct choices *c;
    int32_t from, to;
};

static bool link_bytes(void *user, const unsigned char lo[4], const unsigned char hi[4], int n) {
    const struct linking *l = user;
    int32_t at = choices_new(l->c);
    choices_link(l->c, l->from, at);
    for (int i = 0; i < n; i++) {
        int32_t next = i + 1 == n ? l->to : choices_new(l->c);
        choices_range(l->c, at, lo[i], hi[i], next);
        at = next;
    }
    return !l->c->failed;
}

bool characters_link(struct choices *c, const struct characters *set, int32_t from, int32_t to) {
    /* A state has two ways on: a chain of states, one for each range. */
    for (int i = 0; i < set->n; i++) {
        int32_t head = choices_new(c), rest = choices_new(c);
        struct linking l = {c, 0, to};
        choices_link(c, from, head);
        choices_link(c, from, rest);
        l.from = head;
        /* Each sequence of bytes hangs on a state of its own, and so on along a chain. */
        if (!utf8_ranges(set->lo[i], set->hi[i], link_bytes, &l)) return false;
        from = rest;
    }
    return !c->failed;
}

size_t characters_read(const char *text, size_t bytes, uint32_t *out) {
    const unsigned char *t = (const unsigned char *)text;
    size_t n = !bytes ? 0 : *t < 0x80 ? 1 : *t < 0xe0 ? 2 : *t < 0xf0 ? 3 : 4;
    if (n > bytes || !n) return 0;
    *out = n == 1 ? *t : *t & (0x7fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((t[i] & 0xc0) != 0x80) return 0;
        *out = *out << 6 | (t[i] & 0x3f);
    }
    return n;
}
