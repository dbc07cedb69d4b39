/* --trace and --html: one launch of one column, as it ran or as it is predicted. */
#include "bench/etbench/etbench.h"

#include "bench/etbench/trace.h"
#include "passes/timeline/link.h"

#include <stdlib.h>
#include <string.h>

static struct eb_column *find_column(struct eb_bench *b) {
    if (!b->o->trace_of) return &b->column[0];
    for (int i = 0; i < b->ncolumns; i++)
        if (strcmp(b->column[i].name, b->o->trace_of) == 0) return &b->column[i];
    eb_fail("--trace-of %s: there is no such column", b->o->trace_of);
    for (int i = 0; i < b->ncolumns; i++)
        fprintf(stderr, "there is %s\n", b->column[i].name);
    return NULL;
}

/* ---- predicted ---- */

static void collect(void *ctx, const et_sim_task *s) {
    timeline_collect(ctx, s);
}

static timeline *predict(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
                         const char *title) {
    int64_t syms[EB_MAX_SETTINGS] = {0};
    char err[ET_SIM_ERR] = "";
    et_sim_result result;
    struct eb_values *values = NULL;
    eb_symbols(b, p, c->program, syms);
    if (!eb_play(b, c, p, &result, &values, err)) {
        eb_fail("%s cannot be predicted: %s", title, err);
        return NULL;
    }
    struct timeline_collector to = {timeline_create(title, TIMELINE_PREDICTED, b->machine->name),
                                    timeline_first_task(c->program, syms)};
    eb_play_with(b, c, syms, values, collect, &to, &result, err);
    timeline_link(to.t, c->program, syms, eb_value, values);
    eb_values_free(values);
    return to.t;
}

/* ---- as it ran ---- */

static bool run_traced(struct eb_bench *b, struct eb_column *c, const struct eb_point *p) {
    if (!eb_bind_point(b, c, p)) return false;
    etrt_status st = etrt_session_trace(c->session, 1);
    for (int i = 0; i < 2 && st == ETRT_OK; i++) /* the first one warms up */
        st = etrt_run(c->session);
    return st == ETRT_OK || eb_fail_status(c->name, st);
}

/* Dependencies are known of programs alone, and as far as the simulator knows what routes. */
static timeline *read_traced(struct eb_bench *b, struct eb_column *c, const struct eb_point *p,
                             const char *title) {
    char err[TIMELINE_ERR];
    timeline *t = timeline_of_launch(b->device, c->model, c->session, title, err);
    if (!t) eb_fail("%s: %s", title, err);
    if (!t || !c->program) return t;
    int64_t syms[EB_MAX_SETTINGS] = {0};
    char why[ET_SIM_ERR] = "";
    et_sim_result result;
    struct eb_values *values = NULL;
    eb_symbols(b, p, c->program, syms);
    if (b->machine) eb_play(b, c, p, &result, &values, why);
    timeline_link(t, c->program, syms, values ? eb_value : NULL, values);
    eb_values_free(values);
    return t;
}

timeline *eb_record(struct eb_bench *b, struct eb_column *c, const struct eb_point *p,
                    const char *title) {
    struct eb_column *traced = eb_traced(b, c);
    return traced && run_traced(b, traced, p) ? read_traced(b, traced, p, title) : NULL;
}

bool eb_write_timelines(struct eb_bench *b) {
    const struct eb_options *o = b->o;
    if (!o->trace && !o->html) return true;
    struct eb_column *c = find_column(b);
    const struct eb_point *p = &b->point[b->npoints - 1];
    char err[TIMELINE_ERR];
    bool predicted = o->predicted || !c || !c->model;
    if (!c) return false;
    if (predicted && (!c->program || !b->machine))
        return eb_fail("%s cannot be predicted: it is a code object, or predictions are off",
                       c->name);
    const char *model = c->program ? c->program->g->name : etrt_model_name(c->model);
    char *title = eb_text("%s, %s, %s", model, p->name, c->name);
    timeline *t = predicted ? predict(b, c, p, title) : eb_record(b, c, p, title);
    bool ok = t != NULL;
    if (ok && o->trace) ok = timeline_write_chrome(t, o->trace, err) || eb_fail("%s", err);
    if (ok && o->html) ok = timeline_write_html(&t, 1, o->html, err) || eb_fail("%s", err);
    timeline_destroy(t);
    free(title);
    return ok;
}
