/* etrt_source.h - what stands in braces in a weight's name in a checkpoint: a sum of variables of
 * loops, each perhaps times a number, and of numbers. "l", "4*b+l+1". The language, etimport,
 * etinterp and the runtime read it by this function. */
#ifndef ETRT_SOURCE_H
#define ETRT_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ETRT_SOURCE_TERMS = 4 };

struct etrt_source_index {
    int64_t plus;
    int n;
    struct {
        const char *name; /* inside the text that was read */
        size_t bytes;
        int64_t times;
    } term[ETRT_SOURCE_TERMS];
};

/* A number of at most nine digits at *P, which is moved past it; -1 where there is none. */
static inline int64_t etrt_source_number(const char **p, const char *end) {
    int64_t n = -1;
    for (int digits = 0; *p < end && **p >= '0' && **p <= '9' && digits < 9; digits++)
        n = (n < 0 ? 0 : n) * 10 + *(*p)++ - '0';
    return n;
}

/* False where the BYTES at TEXT are no such sum. */
static inline bool etrt_source_index(const char *text, size_t bytes,
                                     struct etrt_source_index *out) {
    const char *p = text, *end = text + bytes;
    memset(out, 0, sizeof *out);
    do {
        int64_t number = etrt_source_number(&p, end);
        if (number >= 0 && (p == end || *p == '+')) {
            out->plus += number;
            continue;
        }
        if (number >= 0 && *p++ != '*') return false;
        const char *name = p;
        while (p < end && !strchr("+*{}", *p))
            p++;
        if (p == name || out->n == ETRT_SOURCE_TERMS) return false;
        out->term[out->n].name = name;
        out->term[out->n].bytes = (size_t)(p - name);
        out->term[out->n++].times = number < 0 ? 1 : number;
    } while (p < end && *p++ == '+');
    return p == end && p[-1] != '+';
}

/* Is that term the variable NAME? */
static inline bool etrt_source_is(const struct etrt_source_index *x, int term, const char *name) {
    return strlen(name) == x->term[term].bytes &&
           !memcmp(name, x->term[term].name, x->term[term].bytes);
}

#endif
