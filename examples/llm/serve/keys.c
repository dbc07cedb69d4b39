#include "examples/llm/serve/server.h"
#include "runtime/files/input.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_KEY_FILE = 1 << 20 };

struct keys {
    char *text;
    const char **key;
    size_t n;
};

/* A key a line; empty lines and those that begin with # are none. */
static bool cut(struct keys *k) {
    size_t lines = 1;
    for (const char *c = k->text; *c; c++)
        lines += *c == '\n';
    k->key = calloc(lines, sizeof *k->key);
    if (!k->key) return false;
    char *rest = k->text;
    for (char *line = strsep(&rest, "\n"); line; line = strsep(&rest, "\n")) {
        line[strcspn(line, " \t\r")] = 0;
        if (*line && *line != '#') k->key[k->n++] = line;
    }
    return true;
}

bool keys_read(const char *file, struct keys **out, char *err) {
    char why[ET_WHY];
    struct keys *k = calloc(1, sizeof *k);
    if (!k) return llm_fail(err, "out of memory");
    size_t bytes;
    k->text = et_file_read(file, MAX_KEY_FILE, &bytes, why);
    bool ok = k->text ? true : llm_fail(err, "%s: %s", file, why);
    if (ok && !cut(k)) ok = llm_fail(err, "out of memory");
    if (ok && !k->n) ok = llm_fail(err, "%s has no key", file);
    if (ok)
        *out = k;
    else
        keys_free(k);
    return ok;
}

void keys_free(struct keys *k) {
    if (!k) return;
    if (k->text) explicit_bzero(k->text, strlen(k->text));
    free(k->text);
    free(k->key);
    free(k);
}

/* Every byte of GIVEN is compared with one of KEY, whatever was found before. */
static unsigned differs(const char *key, const char *given, size_t bytes) {
    size_t n = strlen(key);
    volatile unsigned differs = n != bytes;
    for (size_t i = 0; i < bytes; i++)
        differs |= (unsigned char)given[i] ^ (unsigned char)key[i % n];
    return differs;
}

bool keys_have(const struct keys *k, const char *given) {
    size_t bytes = given ? strlen(given) : 0;
    unsigned found = 0;
    for (size_t i = 0; i < k->n; i++)
        found |= !differs(k->key[i], given ? given : "", bytes);
    return found && bytes;
}
