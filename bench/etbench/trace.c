#include "bench/etbench/trace.h"

#include "passes/timeline/int.h"

#include <stdlib.h>

static etrt_trace_task *read_tasks(etrt_session *s, etrt_trace_info *info) {
    if (etrt_session_trace_read(s, NULL, 0, info) != ETRT_OK) return NULL;
    etrt_trace_task *tasks = timeline_alloc(info->tasks, sizeof *tasks);
    if (etrt_session_trace_read(s, tasks, info->tasks, info) == ETRT_OK) return tasks;
    free(tasks);
    return NULL;
}

static void fill(timeline *t, const etrt_model *m, const etrt_trace_task *tasks,
                 const etrt_trace_info *info) {
    uint64_t zero = UINT64_MAX;
    double us = info->instructions ? 1 : 1e6 / info->ticks_per_second;
    const char *name;
    for (int i = 0; (name = etrt_model_task(m, i)); i++)
        timeline_name_task(t, i, name);
    for (size_t i = 0; i < info->tasks; i++) {
        if (tasks[i].reached < zero) zero = tasks[i].reached;
        if (tasks[i].look && tasks[i].look < zero) zero = tasks[i].look;
    }
    for (size_t i = 0; i < info->tasks; i++) {
        const etrt_trace_task *k = &tasks[i];
        timeline_place_row(t, (int)k->workgroup, (int)k->die, k->cu);
        timeline_add(t, &(timeline_span){.task = k->task,
                                         .tile = k->tile,
                                         .iteration = k->iteration,
                                         .row = (int)k->workgroup,
                                         .look = k->look ? (double)(k->look - zero) * us : -1,
                                         .reached = (double)(k->reached - zero) * us,
                                         .ready = (double)(k->ready - zero) * us,
                                         .done = (double)(k->done - zero) * us,
                                         .left = (double)(k->left - zero) * us});
    }
    timeline_set_dropped(t, info->dropped);
}

timeline *timeline_of_launch(const etrt_device *device, const etrt_model *model, etrt_session *s,
                             const char *title, char err[TIMELINE_ERR]) {
    etrt_trace_info info;
    etrt_trace_task *tasks = read_tasks(s, &info);
    if (!tasks) {
        snprintf(err, TIMELINE_ERR, "%s", etrt_last_error());
        return NULL;
    }
    timeline_source source = info.instructions                 ? TIMELINE_COUNTED
                             : etrt_device_is_emulated(device) ? TIMELINE_EMULATED
                                                               : TIMELINE_MEASURED;
    timeline *t = timeline_create(title, source, etrt_device_name(device));
    fill(t, model, tasks, &info);
    free(tasks);
    return t;
}
