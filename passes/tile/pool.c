/* pool.c - groups that multiply the same rows run side by side, and their tiles are dealt to CUs
 * one group after the other: what tiles of one cost depends on those of the others. */
#include "passes/tile/tiler.h"
#include <stdlib.h>

static double columns_of(const et_program *p, const et_product *of) {
    const et_exprs *x = p->g->exprs;
    int64_t lo, hi = 1;
    double n = et_bounds(x, et_var_extent(x, of->n), &lo, &hi) ? (double)hi : 1;
    for (int b = 0; b < of->nbatch; b++)
        if (et_bounds(x, et_var_extent(x, of->batch[b]), &lo, &hi)) n *= (double)hi;
    return n;
}

static double columns(const et_program *p, const et_group *gr) {
    double n = 0;
    for (int i = 0; i < gr->nproduct; i++)
        n += columns_of(p, &gr->product[i]);
    return n;
}

double et_tile_cus_by_columns(const et_program *p, const et_group *gr, double cus) {
    et_rows rows = et_tile_rows_of(p, gr);
    double own = columns(p, gr), all = 0;
    for (int g = 0; g < p->ngroups; g++) {
        const et_group *o = &p->groups[g];
        if (o == gr || et_tile_same_rows(p, g, gr, &rows)) all += columns(p, o);
    }
    if (all < own) all = own; /* a group that is tried is none of the program's */
    return cus * own / all < 1 ? 1 : cus * own / all;
}

struct pool {
    int cus, next; /* next: the CU that gets the next tile */
    double *busy, memory, all;
};

static void deal(struct pool *o, double tiles, double us) {
    int64_t n = (int64_t)tiles, each = n / o->cus, rest = n % o->cus;
    for (int i = 0; i < o->cus; i++)
        o->busy[(o->next + i) % o->cus] += us * (double)(each + (i < rest));
    o->next = (int)((o->next + rest) % o->cus);
    o->all += us * (double)n;
}

double et_tile_pool_us(et_program *p, const et_group *gr, const et_grid_cost *own,
                       const et_machine *m, const int64_t *syms) {
    enum { LATE_PART = 8 };
    struct pool o = {.cus = m->cus, .busy = calloc((size_t)m->cus, sizeof *o.busy)};
    double latency = ET_DEPENDENT_LOADS * m->latency_us, mine = columns(p, gr), most = 0;
    et_rows rows = et_tile_rows_of(p, gr);
    if (!o.busy) et_no_memory();
    for (int g = 0; g < p->ngroups; g++) {
        const et_group *of = &p->groups[g];
        if (of != gr && !et_tile_same_rows(p, g, gr, &rows)) continue;
        et_grid_cost c = *own;
        bool known = of < gr && g < p->ngrids;
        double share = known ? 1 : columns(p, of) / mine;
        if (known) c = et_grid_cost_at(p, &p->grids[g], m, syms);
        deal(&o, c.tiles * share, c.tile_us + latency);
        o.memory += c.memory_bytes * share;
    }
    for (int i = 0; i < o.cus; i++)
        most = o.busy[i] > most ? o.busy[i] : most;
    free(o.busy);
    double memory = o.memory / (m->hbm_gbs * 1e3);
    /* Of two ways that end at the same time, that with less to do leaves CUs to what follows. */
    return (memory > most ? memory : most) + o.all / o.cus / LATE_PART;
}
