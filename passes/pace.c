/* How long a step of each model takes alone, by the size of the step and the part of the chip that
 * it has: what plans for a kernel that stays are made of (runtime/etrt/plan/plan.h). */
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/trial/play.h"
#include <math.h>
#include <string.h>

enum { WHOLE = 1000000, GROWTH = 4, MOST_TASKS_PLAYED = 3000000 };

static int first_dim(const et_graph *g, int model) {
    int64_t lo, hi;
    for (int i = 0; i < et_sym_count(g->exprs); i++) {
        et_sym_range(g->exprs, i, &lo, &hi);
        if (lo < hi && et_model_of(g, et_sym_name(g->exprs, i)) == model) return i;
    }
    return -1;
}

/* Widths that are played; what lies between two of them takes as long as if a part of the work
 * could be divided and the rest could not: width x time is linear in the width then. */
static bool play_widths(et_program *p, et_player *player, int model, double *us) {
    static const int width[] = {1, 2, 4, 8, ET_PACE_UNITS};
    enum { WIDTHS = sizeof width / sizeof *width };
    et_share before = p->g->model[model].share;
    double done[ET_MAX_MODELS];
    for (int k = 0; k < WIDTHS; k++) {
        p->g->model[model].share = (et_share){0, (int)((int64_t)WHOLE * width[k] / ET_PACE_UNITS)};
        us[width[k] - 1] = et_player_launch(player, model, done);
        for (int w = k ? width[k - 1] + 1 : width[k]; w < width[k]; w++) {
            double from = us[width[k - 1] - 1] * width[k - 1], to = us[width[k] - 1] * width[k];
            double part = (double)(w - width[k - 1]) / (width[k] - width[k - 1]);
            us[w - 1] = (from + part * (to - from)) / w;
        }
    }
    p->g->model[model].share = before;
    return us[0] < INFINITY && us[ET_PACE_UNITS - 1] > 0;
}

static const et_pace *find_pace(et_program *p, const et_pass_options *o, int model) {
    et_pace *out = et_alloc(p->g->arena, sizeof *out);
    int64_t *syms = et_alloc(p->g->arena, ET_SAMPLES * ET_MAX_SYMS * sizeof *syms), lo = 1, hi = 1;
    et_sample_symbols(p->g->exprs, (int64_t(*)[ET_MAX_SYMS])(void *)syms);
    syms += ET_MAX_SYMS;
    *out = (et_pace){.sym = first_dim(p->g, model)};
    if (out->sym >= 0) et_sym_range(p->g->exprs, out->sym, &lo, &hi);
    for (int64_t at = lo > 0 ? lo : 1;
         out->n<ET_MAX_PACES; at = at> hi / GROWTH ? hi : at * GROWTH) {
        if (out->sym >= 0) syms[out->sym] = at;
        et_player *player = et_player_create(p, o, syms);
        bool played = et_player_tasks(player, model) < MOST_TASKS_PLAYED / 5 / ET_MAX_PACES &&
                      play_widths(p, player, model, out->us[out->n]);
        et_player_destroy(player);
        if (!played) break;
        out->upto[out->n++] = at;
        if (at >= hi) break;
    }
    return out->n ? out : NULL;
}

void et_find_paces(et_program *p, const et_pass_options *o) {
    for (int m = 0; m < p->g->nmodels; m++)
        p->g->model[m].pace = find_pace(p, o, m);
}
