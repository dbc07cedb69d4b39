/* The launches of a floor plan, played and given to the page of timelines. */
#include "passes/explain/floor_plan.h"
#include "passes/cost/cost.h"
#include "passes/simulate/simulate.h"
#include "passes/timeline/link.h"
#include <string.h>

struct player {
    et_sim_values *values;
    struct timeline_collector to;
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    struct player *p = ctx;
    return p->values && et_sim_value(p->values, tensor, iteration, index, out);
}

static void task(void *ctx, const et_sim_task *t) {
    timeline_collect(&((struct player *)ctx)->to, t);
}

/* Millionths of the workgroups that a grid was given. */
static et_share share_of(const et_program *p, const et_grid *g) {
    et_share whole = {0, 1000000}, s = p->g->nmodels ? p->g->model[g->model].share : whole;
    if (!s.to) s = whole;
    if (!g->range.to || g->dynamic) return s;
    int64_t n = s.to - s.from;
    return (et_share){s.from + (int)(n * g->range.from / 1000000),
                      s.from + (int)(n * g->range.to / 1000000)};
}

static void tell_ranges(timeline *t, const et_program *part, int first) {
    for (int i = 0; i < part->ngrids; i++) {
        et_share s = share_of(part, &part->grids[i]);
        timeline_set_range(t, first + i, s.from, s.to, part->grids[i].dynamic);
    }
}

static const char *title(et_arena *a, const et_program *p, const int64_t *syms) {
    const et_exprs *x = p->g->exprs;
    char *text = et_strdup(a, p->g->name);
    for (int i = 0; i < et_sym_count(x); i++)
        text = et_printf(a, "%s, %s = %lld", text, et_sym_name(x, i), (long long)syms[i]);
    return text;
}

static timeline *play(et_arena *a, et_program *p, const et_machine *m, const et_profile *profile,
                      const int64_t *syms) {
    char err[ET_SIM_ERR] = "";
    et_sim_result result;
    const char *machine = profile ? et_printf(a, "%s and a profile", m->name) : m->name;
    timeline *t = timeline_create(title(a, p, syms), TIMELINE_PREDICTED, machine);
    struct player player = {et_sim_values_guess(a, p, syms, NULL, err),
                            {t, timeline_first_task(p, syms)}};
    et_sim_options o = {.machine = m,
                        .profile = profile,
                        .syms = syms,
                        .value = value,
                        .task = task,
                        .ctx = &player};
    if (et_simulate(p, &o, &result, err)) {
        for (int i = 0; i < m->cus; i++)
            timeline_place_row(t, i, et_sim_die(i, m->cus, m->dies), -1);
        tell_ranges(t, et_part_at(p, syms), player.to.first);
        timeline_link(t, p, syms, value, &player);
    } else {
        timeline_set_note(t, et_printf(a, "This launch is not predicted: %s.", err));
    }
    et_sim_values_destroy(player.values);
    return t;
}

bool et_floor_plan(et_program *p, const et_machine *m, const et_profile *profile, FILE *to) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    timeline *t[ET_SAMPLES];
    int n = 0;
    et_arena *a = et_arena_create();
    et_sample_symbols(p->g->exprs, syms);
    et_profile_symbols(profile, p, syms[1]);
    size_t bytes = (size_t)et_sym_count(p->g->exprs) * sizeof **syms;
    for (int i = 0; i < ET_SAMPLES; i++)
        if (!i || memcmp(syms[i], syms[i - 1], bytes) != 0)
            t[n++] = play(a, p, m, profile, syms[i]);
    bool ok = timeline_put_html(t, n, to);
    for (int i = 0; i < n; i++)
        timeline_destroy(t[i]);
    et_arena_destroy(a);
    return ok;
}
