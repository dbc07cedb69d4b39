/* Rules for regular languages: words, and what machines take. */
#include "examples/llm/grammar/regular/machine.h"
#include "examples/llm/grammar/rules.h"
#include <stdlib.h>
#include <string.h>

/* ---- words ---- */

/* Words in order that have N bytes in common and then the same one: up to where they differ. */
static size_t common(const struct machine_word *first, const struct machine_word *last, size_t n) {
    while (n < first->bytes && n < last->bytes && first->text[n] == last->text[n])
        n++;
    return n;
}

/* What is left of words FIRST to LAST behind N bytes that they share. Rules are made before they
 * are referred to: those of the branches first. */
static int32_t tree(struct rules *r, const struct machine_word *words, size_t first, size_t last,
                    size_t n) {
    size_t branches = 0, *ends = NULL;
    int32_t rule, *rests = NULL;
    while (first < last && words[first].bytes == n && words[first + 1].bytes == n)
        first++; /* the same word again */
    size_t begin = first + (words[first].bytes == n);
    for (size_t i = begin; i <= last; i++)
        branches += i == last || words[i].text[n] != words[i + 1].text[n];
    rests = malloc((branches + 1) * sizeof *rests);
    ends = malloc((branches + 1) * sizeof *ends);
    if (!rests || !ends) r->failed = true;
    size_t at = begin;
    for (size_t b = 0; b < branches && !r->failed; b++) {
        size_t end = at;
        while (end < last && words[end + 1].text[n] == words[at].text[n])
            end++;
        ends[b] = end;
        size_t shared = common(&words[at], &words[end], n);
        /* Equal words, or one alone: nothing is left. */
        rests[b] = words[at].bytes == shared && words[end].bytes == shared
                       ? -1
                       : tree(r, words, at, end, shared);
        at = end + 1;
    }
    rule = rules_new(r);
    at = begin;
    for (size_t b = 0; b < branches && !r->failed; b++) {
        size_t shared = common(&words[at], &words[ends[b]], n);
        rules_open(r, rule);
        rules_text(r, words[at].text + n, shared - n);
        if (rests[b] >= 0) rules_refer(r, rests[b]);
        rules_close(r);
        at = ends[b] + 1;
    }
    if (begin > first) {
        rules_open(r, rule);
        rules_close(r);
    }
    free(rests);
    free(ends);
    return rule;
}

int32_t words_rule(struct rules *r, const char *const *texts, const size_t *bytes, size_t n) {
    struct machine_word *words = malloc((n + 1) * sizeof *words);
    if (!words) r->failed = true;
    if (!n || r->failed) {
        free(words);
        return rules_new(r);
    }
    for (size_t i = 0; i < n; i++)
        words[i] = (struct machine_word){texts[i], bytes[i]};
    qsort(words, n, sizeof *words, machine_word_order);
    int32_t rule = tree(r, words, 0, n - 1, 0);
    free(words);
    return rule;
}

/* ---- machines ---- */

/* BYTE as a JSON string has it, where it cannot stand for itself. */
static bool escaped(unsigned char byte, char out[8]) {
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    static const char hex[] = "0123456789abcdef";
    const char *known = byte ? strchr(from, byte) : NULL;
    if (byte >= ' ' && byte != '"' && byte != '\\') return false;
    if (known) {
        out[0] = '\\';
        out[1] = to[known - from];
        out[2] = 0;
    } else {
        memcpy(out, "\\u00", 4);
        out[4] = hex[byte >> 4];
        out[5] = hex[byte & 15];
        out[6] = 0;
    }
    return true;
}

/* All bytes that lead from STATE to TO. */
static void edges(struct rules *r, const struct machine *m, int32_t state, int32_t to,
                  enum rule_as as, int32_t self, int32_t base) {
    struct class plain = {{0}};
    bool any = false;
    char text[8];
    for (int b = as == RULE_NAME; b < 256; b++) {
        if (m->next[state * m->nclasses + m->of[b]] != to) continue;
        if (as == RULE_TEXT || !escaped((unsigned char)b, text)) {
            class_add(&plain, (unsigned char)b, (unsigned char)b);
            any = true;
            continue;
        }
        rules_open(r, self);
        rules_text(r, text, strlen(text));
        rules_refer(r, base + to);
        rules_close(r);
    }
    if (!any) return;
    rules_open(r, self);
    rules_class(r, &plain);
    rules_refer(r, base + to);
    rules_close(r);
}

int32_t regex_rule(struct rules *r, const char *pattern, char *err) {
    struct machine *m = machine_regex(pattern, strlen(pattern), true, err);
    if (!m) return -1;
    int32_t rule = machine_rule(r, m, RULE_TEXT);
    machine_free(m);
    return rule;
}

int32_t machine_rule(struct rules *r, const struct machine *m, enum rule_as as) {
    int32_t base = r->nrules;
    for (int32_t i = 0; i < m->n; i++)
        rules_new(r);
    for (int32_t i = 0; i < m->n && !r->failed; i++) {
        const int32_t *next = &m->next[i * m->nclasses];
        for (int c = 0; c < m->nclasses; c++) {
            bool seen = next[c] < 0;
            for (int k = 0; k < c && !seen; k++)
                seen = next[k] == next[c];
            if (!seen) edges(r, m, i, next[c], as, base + i, base);
        }
        if (!m->ends[i]) continue;
        rules_open(r, base + i);
        if (as != RULE_TEXT) rules_byte(r, '"');
        rules_close(r);
    }
    return base;
}
