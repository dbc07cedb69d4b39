/* Does the text of a program read back as the same text? */
#include "ir/eti/eti.h"
#include <stdlib.h>
#include <string.h>

static char *text_of(et_graph *g, et_program *p, size_t *out_bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, out_bytes);
    if (!f) et_no_memory();
    if (p)
        et_program_print(p, f);
    else
        et_graph_print(g, f);
    if (fclose(f) != 0) et_no_memory();
    return text;
}

/* The first line in which the texts differ. */
static char *difference(et_arena *a, const char *was, const char *is) {
    const char *u = was, *v = is;
    int line = 1;
    for (; *was && *was == *is; was++, is++)
        if (*was == '\n') {
            line++;
            u = was + 1;
            v = is + 1;
        }
    return et_printf(a, "line %d of\n  %.*s\nbecomes\n  %.*s", line, (int)strcspn(u, "\n"), u,
                     (int)strcspn(v, "\n"), v);
}

char *et_eti_round_trip(et_arena *arena, et_graph *g, et_program *p) {
    size_t n, m;
    char *text = text_of(g, p, &n), *again = NULL, *problem = NULL;
    et_arena *own = et_arena_create();
    et_diags *d = et_diags_create(own);
    et_program *q;
    et_graph *h = et_eti_parse(own, d, "text", text, n, &q);
    if (h) {
        again = text_of(h, q, &m);
        if (n != m || memcmp(text, again, n) != 0) problem = difference(arena, text, again);
    } else {
        char *said = NULL;
        FILE *f = open_memstream(&said, &m);
        if (!f) et_no_memory();
        et_diag_print(d, f);
        fclose(f);
        problem = et_strdup(arena, said);
        free(said);
    }
    et_arena_destroy(own);
    free(text);
    free(again);
    return problem;
}
