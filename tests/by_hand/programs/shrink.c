#include "tests/by_hand/programs/shrink.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct shrinking {
    char *text;
    int tries;
    bool (*fails)(void *ctx, const char *text);
    void *ctx;
};

/* Put N bytes at WITH in place of text[from .. to); false, and nothing changed, where that does not
 * fail. */
static bool replace(struct shrinking *s, size_t from, size_t to, const char *with, size_t n) {
    size_t all = strlen(s->text);
    if (s->tries-- <= 0) return false;
    char *next = malloc(all + n + 1);
    memcpy(next, s->text, from);
    memcpy(next + from, with, n);
    memcpy(next + from + n, s->text + to, all - to + 1);
    bool ok = s->fails(s->ctx, next);
    if (ok) {
        free(s->text);
        s->text = next;
    } else {
        free(next);
    }
    return ok;
}

static size_t line_end(const char *t, size_t at) {
    size_t n = strcspn(t + at, "\n");
    return at + n + (t[at + n] == '\n');
}

/* Where what opens at AT is closed; the end of the text where it is not. */
static size_t closing(const char *t, size_t at) {
    int depth = 0;
    for (; t[at]; at++) {
        depth += strchr("([{", t[at]) != NULL;
        depth -= strchr(")]}", t[at]) != NULL;
        if (!depth) return at;
    }
    return at;
}

static bool without_lines(struct shrinking *s) {
    bool any = false;
    for (size_t at = 0; s->text[at];) {
        size_t end = line_end(s->text, at), first = at + strspn(s->text + at, " ");
        const char *open = memchr(s->text + at, '{', end - at);
        if (!strncmp(s->text + first, "for ", 4) && open) { /* a loop as a whole, or its braces */
            size_t close = closing(s->text, (size_t)(open - s->text));
            if (replace(s, at, line_end(s->text, close), "", 0)) {
                any = true;
                continue;
            }
        }
        if (replace(s, at, end, "", 0))
            any = true;
        else
            at = end;
    }
    return any;
}

/* The operands of what stands in brackets from FROM to TO: between commas, or on both sides of an
 * operator. */
static int parts(const char *t, size_t from, size_t to, size_t begin[16], size_t end[16]) {
    int n = 0;
    begin[0] = from;
    for (size_t i = from; i < to && n < 15; i++) {
        if (strchr("([{", t[i])) {
            i = closing(t, i);
            if (i >= to) break;
        }
        size_t sign = t[i] == ' ' ? strspn(t + i + 1, "+-*/@<>=!") : 0;
        bool op = sign && t[i + 1 + sign] == ' ' && i + 2 + sign < to;
        if (t[i] != ',' && !op) continue;
        end[n++] = i;
        i += op ? 1 + sign : 0;
        begin[n] = i + 1 + (t[i + 1] == ' ');
    }
    end[n++] = to;
    return n;
}

static bool with_operands(struct shrinking *s) {
    bool any = false;
    for (size_t at = 0; s->text[at]; at++) {
        if (s->text[at] != '(') continue;
        size_t close = closing(s->text, at), from = at, begin[16], end[16];
        if (!s->text[close]) continue;
        while (from > 0 && (isalnum((unsigned char)s->text[from - 1]) || s->text[from - 1] == '_'))
            from--;
        int n = parts(s->text, at + 1, close, begin, end);
        for (int i = 0; i < n; i++) {
            size_t bytes = end[i] - begin[i];
            char *part = malloc(bytes + 3);
            part[0] = '(';
            memcpy(part + 1, s->text + begin[i], bytes);
            part[bytes + 1] = ')';
            bool done = (n > 1 || from < at) && replace(s, from, close + 1, part, bytes + 2);
            done = replace(s, from, done ? from + bytes + 2 : close + 1, part + 1, bytes) || done;
            free(part);
            any |= done;
            if (done) {
                at = from ? from - 1 : 0;
                break;
            }
        }
    }
    return any;
}

/* x[...] as x. */
static bool without_indices(struct shrinking *s) {
    bool any = false;
    for (size_t at = 0; s->text[at]; at++)
        if (s->text[at] == '[' || !strncmp(s->text + at, ".T", 2)) {
            size_t close = s->text[at] == '[' ? closing(s->text, at) : at + 1;
            if (s->text[close]) any |= replace(s, at, close + 1, "", 0);
        }
    return any;
}

char *shrink(const char *text, int tries, bool (*fails)(void *ctx, const char *text), void *ctx) {
    struct shrinking s = {strdup(text), tries, fails, ctx};
    for (bool smaller = true; smaller && s.tries > 0;) {
        smaller = without_lines(&s);
        smaller |= with_operands(&s);
        smaller |= without_indices(&s);
    }
    return s.text;
}
