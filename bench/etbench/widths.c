/* From the tasks of a launch to the time of a task grid on so many workgroups. */
#include "bench/etbench/etbench.h"

#include <stdlib.h>

static int in_order(const void *a, const void *b) {
    const struct eb_task *x = a, *y = b;
    if (x->iteration != y->iteration) return x->iteration < y->iteration ? -1 : 1;
    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    return (x->tile > y->tile) - (x->tile < y->tile);
}

double eb_busiest(struct eb_task *task, int n, int width) {
    double sum = 0, most = 0, lane = 0;
    int iterations = 0;
    if (n < 1) return 0;
    for (int i = 0; i < n; i++)
        task[i].lane = width ? task[i].tile % width : task[i].workgroup;
    qsort(task, (size_t)n, sizeof *task, in_order);
    for (int i = 0; i < n; i++) {
        bool first = !i || task[i].iteration != task[i - 1].iteration;
        if (first) {
            sum += most;
            most = 0;
            iterations++;
        }
        if (first || task[i].lane != task[i - 1].lane) lane = 0;
        lane += task[i].us;
        if (lane > most) most = lane;
    }
    return (sum + most) / iterations;
}

static void add_width(int *out, int *n, int width, int most) {
    if (width < 1 || width > most || *n == ET_PROFILE_WIDTHS) return;
    for (int i = 0; i < *n; i++)
        if (out[i] == width) return;
    out[(*n)++] = width;
}

static int ascending(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

int eb_widths(const et_machine *m, int most, int *out) {
    int n = 0, die = m->cus / m->dies, dies = ET_PROFILE_WIDTHS / 2;
    add_width(out, &n, most < m->cus ? most : m->cus, most);
    for (int i = 1; i < die / m->shader_engines && i <= 8; i *= 2)
        add_width(out, &n, i, most);
    for (int i = 1; i <= m->shader_engines && n < ET_PROFILE_WIDTHS - dies; i++)
        add_width(out, &n, die * i / m->shader_engines, most);
    /* All numbers of dies, or as many as there is room for. */
    int step = (m->dies + dies - 1) / dies;
    for (int i = step; i <= m->dies; i += step)
        add_width(out, &n, die * i, most);
    qsort(out, (size_t)n, sizeof *out, ascending);
    return n;
}
