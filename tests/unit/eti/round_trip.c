/* round_trip [--target NAME] FILE...: the text of every stage of every program reads back as the
 * same text, and the passes that follow make the same of it. FILE is .etg or .eti. */
#include "frontend/frontend.h"
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include <stdlib.h>
#include <string.h>

static char *print(et_graph *g, et_program *p, size_t *out_bytes) {
    char *text = NULL;
    FILE *f = open_memstream(&text, out_bytes);
    if (!f) abort();
    if (p)
        et_program_print(p, f);
    else
        et_graph_print(g, f);
    fclose(f);
    return text;
}

static et_graph *read_text(et_arena *a, et_diags *d, const char *name, const char *text, size_t n,
                           et_program **out) {
    *out = NULL;
    return et_eti_looks(text, n) ? et_eti_parse(a, d, name, text, n, out)
                                 : et_parse_etg(a, d, name, text, n);
}

/* TEXT taken on to stage TO and printed; NULL after an error. With CHECK_TEXT every pass reads back
 * what it made. */
static char *lowered(const char *name, const char *text, size_t n, const char *to,
                     const char *target, bool check_text, size_t *out_bytes) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_program *p;
    et_graph *g = read_text(a, d, name, text, n, &p);
    const et_pass_options opt = {.machine = et_machine_for(target),
                                 .to = (et_stage)et_mode_find(et_stage_name, to),
                                 .check_text = check_text,
                                 .unverified = true};
    char *out = NULL;
    if (g && strcmp(to, "graph") == 0)
        out = print(g, NULL, out_bytes);
    else if (g && et_passes_resume(g, p, &opt, &p))
        out = print(g, p, out_bytes);
    et_diag_print(d, stderr);
    et_arena_destroy(a);
    return out;
}

static bool same(const char *file, const char *what, const char *a, size_t n, const char *b,
                 size_t m) {
    if (b && n == m && memcmp(a, b, n) == 0) return true;
    printf("%s: %s differs\n", file, what);
    return false;
}

static int stage_of(const char *text) {
    char word[32] = "";
    sscanf(text, "eti 1 %31s", word);
    return et_mode_find(et_stage_name, word);
}

/* From stage to stage by way of text, each read back, to what one run without text in between
 * gives. */
static bool check(const char *file, const char *text, size_t n, const char *target) {
    size_t nlast, nit, nagain, nnext;
    char *last = lowered(file, text, n, "scheduled", target, true, &nlast);
    int at = et_eti_looks(text, n) ? stage_of(text) : ET_STAGE_GRAPH;
    char *it = last ? lowered(file, text, n, et_stage_name(at), target, false, &nit) : NULL;
    bool ok = it != NULL;
    for (const char *stage; ok && (stage = et_stage_name(at)); at++) {
        char *again = lowered(stage, it, nit, stage, target, false, &nagain);
        ok = same(file, stage, it, nit, again, nagain);
        free(again);
        if (!ok || !et_stage_name(at + 1)) break;
        char *next = lowered(stage, it, nit, et_stage_name(at + 1), target, false, &nnext);
        free(it);
        it = next, nit = nnext, ok = it != NULL;
    }
    ok = ok && same(file, "what follows", last, nlast, it, nit);
    free(it);
    free(last);
    return ok;
}

int main(int argc, char **argv) {
    const char *target = "gfx942";
    int failed = 0, ran = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--target") == 0 && i + 1 < argc) {
            target = argv[++i];
            continue;
        }
        FILE *f = fopen(argv[i], "rb");
        char *text = malloc(1 << 22);
        size_t n = f ? fread(text, 1, 1 << 22, f) : 0;
        if (f) fclose(f);
        ran++;
        if (!n || !check(argv[i], text, n, target)) {
            printf("FAIL %s\n", argv[i]);
            failed++;
        }
        free(text);
    }
    printf("%d programs, %d failed\n", ran, failed);
    return failed || !ran;
}
