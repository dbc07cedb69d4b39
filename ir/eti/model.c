/* Several models in one text: which there are, and what is whose. */
#include "ir/eti/parser.h"
#include <string.h>

void eti_any_model(eti_parser *p) {
    p->model = -1;
}

void eti_enter_model(eti_parser *p, const char *name) {
    int m = p->g->nmodels && p->model < 0 ? et_model_of(p->g, name) : -1;
    if (m >= 0) p->model = p->g->building = m;
}

bool eti_of_this_model(eti_parser *p, const char *name, et_loc loc) {
    int m = et_model_of(p->g, name);
    if (p->model < 0 || m == p->model) return true;
    eti_error(p, loc, "'%s' is not of model %s, as the rest of this is", name,
              p->g->model[p->model].name);
    return false;
}

bool eti_check_model(eti_parser *p, const char *name, et_loc loc) {
    if (p->g->nmodels) {
        if (et_model_of(p->g, name) >= 0) return eti_of_this_model(p, name, loc);
        eti_error(p, loc, "'%s' does not begin with the name of a model and a dot", name);
        return false;
    }
    if (!strchr(eti_plain_name(p, name), '.')) return true;
    eti_error(p, loc, "'%s' is of a model that is not declared", name);
    return false;
}

/* part MODEL [weight W] [range [from, to]] */
void eti_part(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    et_graph *g = p->g;
    const char *name = eti_need_name(p, ETI_NAME, "the name of one of several models");
    double weight = 1;
    et_loc at = p->tok.loc;
    if (eti_take_word(p, "weight")) weight = eti_need_float(p);
    et_share share = eti_range(p);
    if (!name || p->broken) return;
    if (et_sym_count(p->x) || g->nvals > 1 || g->nloops || (p->p && p->p->ntensors))
        eti_error(p, loc, "models are named before anything they have");
    else if (strchr(name, '.'))
        eti_error(p, loc, "a model's name has no dot");
    else if (!(weight > 0 && weight < 1e6))
        eti_error(p, at, "a weight is above 0 and below a million");
    else if (!eti_declare(p, 's', et_printf(p->arena, "part %s", name), loc, 0))
        return;
    else if (!et_graph_model(g, name))
        eti_error(p, loc, "more than %d models", ET_MAX_MODELS);
    else
        g->model[g->nmodels - 1].weight = weight, g->model[g->nmodels - 1].share = share;
}
