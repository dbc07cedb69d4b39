#include "frontend/frontend.h"
#include "frontend/sema/sema.h"
#include <string.h>

static void load_prelude(et_sema *s) {
    et_program_ast p = et_parse_text(s->arena, s->diags, 0, et_prelude, strlen(et_prelude));
    for (int i = 0; i < p.n; i++)
        et_check(et_sema_def(s, p.stm[i], true));
}

/* Tells which source a code object came from, not that nobody changed it. */
static const char *hash_text(et_arena *arena, uint64_t h) {
    return et_printf(arena, "%016llx", (unsigned long long)h);
}

/* Add what TEXT says to S's graph, with errors where it is wrong. */
static void parse(et_sema *s, const char *file_name, const char *text, size_t bytes) {
    int before = et_diag_errors(s->diags);
    et_loc start = {.line = 1, .col = 1, .len = 1};
    if (bytes > ET_MAX_SOURCE) {
        et_diag(s->diags, ET_ERROR, (et_loc){0}, "%s: larger than %zu MB", file_name,
                ET_MAX_SOURCE >> 20);
        return;
    }
    start.file = et_diag_file(s->diags, file_name, text, bytes);
    load_prelude(s);
    et_program_ast p = et_parse_text(s->arena, s->diags, start.file, text, bytes);
    for (int i = 0; i < p.n; i++)
        et_sema_statement(s, p.stm[i]);
    int errors = et_diag_errors(s->diags) - before;
    if (errors >= ET_MAX_ERRORS)
        et_diag(s->diags, ET_ERROR, (et_loc){0}, "%d errors: giving up", errors);
    else if (p.n == 0 && errors == 0)
        et_diag(s->diags, ET_ERROR, start, "an empty program: it starts with 'model NAME'");
    else if (!s->has_effect)
        et_diag(s->diags, ET_ERROR, start, "the program has no output and updates no state");
}

/* The graph of the programs, as one for MIX or of one alone. */
static et_graph *build(et_arena *arena, et_diags *diags, int n, const et_source *sources, bool mix,
                       const et_dim_range *narrow, et_choices *choices) {
    int before = et_diag_errors(diags);
    et_graph *g = et_graph_create(arena, diags);
    uint64_t h = ET_HASH;
    if (mix) g->name = "mix";
    for (int i = 0; i < n; i++) {
        const et_source *from = &sources[i];
        et_sema s = {.arena = arena,
                     .diags = diags,
                     .graph = g,
                     .x = g->exprs,
                     .loop = -1,
                     .mix = mix,
                     .choices = choices};
        if (narrow) s.narrow = narrow->dim, s.narrow_lo = narrow->lo, s.narrow_hi = narrow->hi;
        parse(&s, from->name, from->text, from->bytes);
        h = et_hash(h, from->text, from->bytes);
    }
    g->source_hash = hash_text(arena, h);
    et_graph_close(g);
    return et_diag_errors(diags) > before ? NULL : g;
}

/* The program as it stands, with choices that were MADE, or that are. */
static et_graph *whole(et_arena *arena, int n, const et_source *sources, bool mix,
                       et_choices *made) {
    made->fixed = made->n > 0;
    made->next = 0;
    return build(arena, et_diags_create(arena), n, sources, mix, NULL, made);
}

/* What a program means hangs on the bounds that it declares, not on narrower ones: where it leaves
 * choices to the front end that show, these are the ones of the program as it stands. */
static et_graph *build_for(et_arena *arena, et_diags *diags, int n, const et_source *sources,
                           bool mix, const et_dim_range *narrow) {
    et_choices made = {0}, declared = {0};
    et_graph *g = build(arena, diags, n, sources, mix, narrow, &made), *one, *other;
    if (!narrow || !g || !made.n) return g;
    one = whole(arena, n, sources, mix, &declared);
    if (!one) return NULL;
    if (memcmp(made.of, declared.of, (size_t)made.n * sizeof *made.of) == 0) return g;
    other = whole(arena, n, sources, mix, &made);
    if (other && !et_pads_show(one, other)) return g;
    declared.fixed = true;
    declared.next = 0;
    return build(arena, diags, n, sources, mix, narrow, &declared);
}

et_graph *et_parse_etg(et_arena *arena, et_diags *diags, const char *file_name, const char *text,
                       size_t bytes) {
    return et_parse_etg_narrow(arena, diags, file_name, text, bytes, NULL);
}

et_graph *et_parse_etg_narrow(et_arena *arena, et_diags *diags, const char *file_name,
                              const char *text, size_t bytes, const et_dim_range *narrow) {
    et_source source = {.name = file_name, .text = text, .bytes = bytes};
    return build_for(arena, diags, 1, &source, false, narrow);
}

et_graph *et_parse_etg_mix(et_arena *arena, et_diags *diags, int n, const et_source *sources,
                           const et_dim_range *narrow) {
    return build_for(arena, diags, n, sources, true, narrow);
}
