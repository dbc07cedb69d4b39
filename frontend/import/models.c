/* models.c - the templates of models/, part of this file when it is built. */
#include "frontend/import/import.h"
#include <string.h>
#include <strings.h>

#define X(id, path)                                                                                \
    extern const char model_##id[];                                                                \
    __asm__(".pushsection .rodata\n"                                                               \
            "model_" #id ": .incbin \"" path "\"\n"                                                \
            ".byte 0\n"                                                                            \
            ".popsection");
#include "models.inc"
#undef X

static const struct imp_source models[] = {
#define X(id, path) {#id ".etg.in", model_##id},
#include "models.inc"
#undef X
};
enum { MODELS = sizeof models / sizeof *models };

static const char row[] = "%architecture ";

/* The next such line of TEXT: its two words, or false. The lines are the first of a file, comments
 * aside. */
static bool next_row(const char **text, const char *word[2], size_t bytes[2]) {
    for (const char *p = *text; *p == '%';) {
        const char *end = p + strcspn(p, "\n");
        if (!strncmp(p, row, sizeof row - 1)) {
            p += sizeof row - 1;
            for (int i = 0; i < 2; i++) {
                p += strspn(p, " ");
                word[i] = p;
                bytes[i] = strcspn(p, " \n");
                p += bytes[i];
            }
            *text = *end ? end + 1 : end;
            return true;
        }
        p = *end ? end + 1 : end;
    }
    return false;
}

const char *imp_model_serves(et_arena *arena, const char *text, const char *architecture,
                             bool is_type) {
    const char *word[2];
    size_t bytes[2];
    while (next_row(&text, word, bytes))
        if (strlen(architecture) == bytes[is_type] &&
            !strncasecmp(architecture, word[is_type], bytes[is_type]))
            return et_strndup(arena, word[0], bytes[0]);
    return NULL;
}

const char *imp_model_of(et_arena *arena, const char *architecture, bool is_type,
                         struct imp_source *out) {
    const char *name = NULL;
    for (int i = 0; i < MODELS && !name; i++) {
        name = imp_model_serves(arena, models[i].text, architecture, is_type);
        *out = models[i];
    }
    return name;
}

bool imp_model_find(const char *name, struct imp_source *out) {
    size_t n = strlen(name);
    for (int i = 0; i < MODELS; i++)
        if (!strncmp(models[i].name, name, n) && !strcmp(models[i].name + n, ".etg.in")) {
            *out = models[i];
            return true;
        }
    return false;
}

const char *imp_model_next(et_arena *arena, size_t *at) {
    size_t n = 0;
    for (int i = 0; i < MODELS; i++) {
        const char *text = models[i].text, *word[2];
        size_t bytes[2];
        while (next_row(&text, word, bytes)) {
            if (n++ < *at) continue;
            ++*at;
            return et_strndup(arena, word[0], bytes[0]);
        }
    }
    return NULL;
}
