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

bool eb_count_memory(const struct eb_column *c, struct eb_cell *cell) {
    int (*get)(uint32_t, etemu_task *) = emulator(), n = tasks_of(c);
    etemu_task *before = eb_alloc((size_t)n * sizeof *before);
    cell->memory = eb_alloc((size_t)n * sizeof *cell->memory);
    for (int i = 0; i < n; i++)
        get((uint32_t)i, &before[i]);
    etrt_status st = etrt_run(c->session);
    for (int i = 0; st == ETRT_OK && i < n; i++) {
        etemu_task t, was = before[i];
        struct eb_memory *m = &cell->memory[cell->nmemory];
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
        cell->nmemory++;
    }
    free(before);
    return st == ETRT_OK || eb_fail_status(c->name, st);
}
