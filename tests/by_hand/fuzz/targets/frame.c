/* The bytes of a connection, as serve looks at them before the library does: the same however they
 * are cut, nothing is passed on behind what is refused, and requests that are let through end where
 * lenient readers see their ends, too, whichever of two readings these prefer. */
#include "examples/llm/serve/frame.h"
#include "tests/by_hand/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* How a reader reads what could be read in two ways. */
struct taste {
    bool last;     /* of several lengths the last counts, else the first */
    bool by_size;  /* a length counts more than chunks */
    bool old_also; /* chunks count in HTTP/1.0 */
    bool folded;   /* a line that begins with a space goes on with the one before */
};

struct reader {
    const char *at, *end;
};

/* The next line, without its end; false where it has none. A carriage return before a line feed is
 * part of the end. */
static bool line(struct reader *r, const char **out, size_t *n) {
    const char *feed = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!feed) return false;
    *out = r->at;
    *n = (size_t)(feed - r->at);
    if (*n && feed[-1] == '\r') --*n;
    r->at = feed + 1;
    return true;
}

static bool is_space(char c) {
    return c == ' ' || c == '\t';
}

/* Is it field NAME, whatever stands around the name? *OUT is its value as a string of at most 99
 * characters. */
static bool field(const char *text, size_t n, const char *name, char out[100]) {
    const char *colon = memchr(text, ':', n);
    if (!colon) return false;
    size_t k = (size_t)(colon - text), v = n - k - 1;
    while (k && is_space(*text))
        text++, k--;
    while (k && is_space(text[k - 1]))
        k--;
    if (k != strlen(name) || strncasecmp(text, name, k) != 0) return false;
    for (colon++; v && is_space(*colon); v--)
        colon++;
    if (v > 99) v = 99;
    memcpy(out, colon, v);
    out[v] = 0;
    return true;
}

static bool skip(struct reader *r, unsigned long long n) {
    if (n > (unsigned long long)(r->end - r->at)) return false;
    r->at += n;
    return true;
}

static bool chunks(struct reader *r) {
    for (;;) {
        const char *text;
        size_t n;
        if (!line(r, &text, &n)) return false;
        unsigned long long size = strtoull(text, NULL, 16);
        if (!size) break;
        if (!skip(r, size) || !line(r, &text, &n)) return false;
    }
    const char *text;
    size_t n;
    do
        if (!line(r, &text, &n)) return false;
    while (n);
    return true;
}

/* Goes behind the next request; false where its end is not there. */
static bool request(struct reader *r, const struct taste *t) {
    const char *text;
    char value[100];
    size_t n;
    bool chunked = false, sized = false;
    unsigned long long size = 0;
    do
        if (!line(r, &text, &n)) return false;
    while (!n);
    bool old = n < 8 || memcmp(text + n - 8, "HTTP/1.1", 8) != 0;
    while (line(r, &text, &n)) {
        if (!n) {
            if (chunked && (!old || t->old_also) && !(sized && t->by_size)) return chunks(r);
            return skip(r, size);
        }
        if (t->folded && is_space(*text)) continue;
        if (field(text, n, "content-length", value) && (!sized || t->last)) {
            size = strtoull(value, NULL, 10);
            sized = true;
        }
        if (field(text, n, "transfer-encoding", value))
            chunked |= strcasestr(value, "chunked") != NULL;
    }
    return false;
}

/* BYTES are whole requests that were let through, and end nowhere else than at ENDS. */
static void same_ends(const char *bytes, const size_t *ends, size_t n) {
    for (unsigned all = 0; all < 16; all++) {
        struct taste t = {all & 1, all & 2, all & 4, all & 8};
        struct reader r = {bytes, bytes + (n ? ends[n - 1] : 0)};
        for (size_t i = 0; i < n; i++) {
            FUZZ_EXPECT(request(&r, &t));
            FUZZ_EXPECT(r.at == bytes + ends[i]);
        }
    }
}

/* Where each whole request ends; *OUT_STATUS as of all bytes. */
static size_t by_byte(const char *bytes, size_t n, size_t *ends, size_t *out_passed,
                      struct frame *f) {
    size_t count = 0, whole = 0;
    memset(f, 0, sizeof *f);
    *out_passed = 0;
    for (size_t i = 0; i < n && !f->status; i++) {
        bool begun = f->begun;
        *out_passed += frame_take(f, bytes + i, 1);
        if (begun && !f->begun && !f->status) ends[count++] = whole = i + 1;
    }
    FUZZ_EXPECT(!f->status == !f->why);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    const char *bytes = (const char *)data;
    struct frame one, all = {0}, cut = {0};
    size_t *ends = malloc((n + 1) * sizeof *ends), passed;
    if (!ends) return -1;
    size_t count = by_byte(bytes, n, ends, &passed, &one);
    size_t taken = frame_take(&all, bytes, n);
    FUZZ_EXPECT(all.status == one.status && taken <= n);
    /* Byte by byte, what is refused in the end may have been passed on up to the byte before; at
     * once, whole requests are. */
    FUZZ_EXPECT(all.status ? taken <= passed : taken == n && passed == n);
    if (all.status && count) FUZZ_EXPECT(taken >= ends[count - 1]);
    FUZZ_EXPECT(!all.status || frame_take(&all, "GET / HTTP/1.0\r\n\r\n", 18) == 0);
    for (size_t at = 0; at < n && !cut.status;) {
        size_t some = 1 + (data[at] * 7u + at) % 23;
        if (some > n - at) some = n - at;
        frame_take(&cut, bytes + at, some);
        at += some;
    }
    FUZZ_EXPECT(cut.status == all.status && cut.begun == all.begun);
    same_ends(bytes, ends, count);
    free(ends);
    return 0;
}
