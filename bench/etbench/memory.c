/* What the tiles of each task ask of memory, counted from the machine code by an emulator that was
 * opened with count=tasks. */
#include "bench/etbench/etbench.h"

#include "runtime/emu/etemu.h"

#include <dlfcn.h>
#include <stdlib.h>

/* libetrt opened the library; this finds it again. */
static int (*emulator(void))(uint32_t, etemu_task *) {
    int (*get)(uint32_t, etemu_task *) = NULL;
    void *library = dlopen("libetemu.so", RTLD_NOW | RTLD_NOLOAD);
    if (!library) return NULL;
    *(void **)&get = dlsym(library, "etemu_get_task");
    dlclose(library);
    return get;
}

bool eb_counts_memory(const struct eb_bench *b) {
    int (*get)(uint32_t, etemu_task *) = b->device ? emulator() : NULL;
    return get && get(0, &(etemu_task){0}) == 0;
}

static int tasks_of(const struct eb_column *c) {
    int n = 0;
    while (etrt_model_task(c->model, n))
        n++;
    return n;
}

static double workgroups(const struct eb_bench *b) {
    return b->o->workgroups > 0 ? (double)b->o->workgroups : (double)etrt_device_cus(b->device);
}

/* How often the task runs, and on how many of COUNT workgroups, where the program tells. */
static void add_dealing(const struct eb_column *c, const int64_t *syms, double count,
                        struct eb_memory *m) {
    const et_program *p = c->program ? et_part_at(c->program, syms) : NULL;
    for (int i = 0; p && i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        if (strcmp(g->name, m->task) != 0) continue;
        double cus = count;
        m->runs = 1;
        if (g->loop >= 0) m->runs = et_loop_trips_at(p->g, g->loop, syms);
        if (g->range.to) cus *= (double)(g->range.to - g->range.from) / 1e6;
        m->cus = m->runs > 0 && m->tiles / m->runs < cus ? m->tiles / m->runs : cus;
    }
}

bool eb_count_memory(const struct eb_bench *b, const struct eb_point *p, const struct eb_column *c,
                     struct eb_cell *cell) {
    int64_t syms[EB_MAX_SETTINGS] = {0};
    if (c->program) eb_symbols(b, p, c->program, syms);
    int (*get)(uint32_t, etemu_task *) = emulator(), n = tasks_of(c);
    etemu_task *before = eb_alloc((size_t)n * sizeof *before);
    cell->memory = eb_alloc((size_t)n * sizeof *cell->memory);
    for (int i = 0; i < n; i++)
        get((uint32_t)i, &before[i]);
    etrt_status st = etrt_run(c->session);
    for (int i = 0; st == ETRT_OK && i < n; i++) {
        etemu_task t, was = before[i];
        struct eb_memory *m = &cell->memory[cell->nmemory];
        *m = (struct eb_memory){0};
        get((uint32_t)i, &t);
        if (t.tiles == was.tiles) continue;
        double tiles = (double)(t.tiles - was.tiles), waves = (double)(t.waves - was.waves);
        double bytes = (double)(t.in_flight - was.in_flight);
        double squares = (double)(t.in_flight_squares - was.in_flight_squares);
        m->task = etrt_model_task(c->model, i);
        m->tiles = tiles;
        m->bytes = (double)(t.bytes_read - was.bytes_read) / tiles;
        m->instructions = (double)(t.instructions - was.instructions) / tiles;
        m->trips = (double)(t.round_trips - was.round_trips) / waves;
        m->in_flight = bytes > 0 ? squares / bytes * waves / tiles : 0;
        double told = (double)(t.told - was.told), used = (double)(t.used - was.used);
        if (told > 0) m->told = (double)(t.told_trips - was.told_trips) / told;
        if (used > 0) m->used = (double)(t.used_trips - was.used_trips) / used;
        m->code = (double)t.code_bytes; /* found in the launches before, if any */
        add_dealing(c, syms, workgroups(b), m);
        cell->nmemory++;
    }
    free(before);
    return st == ETRT_OK || eb_fail_status(c->name, st);
}
