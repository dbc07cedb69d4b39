/* A program that several devices run: their tasks in any order that events and words allow. */
#include "ir/interp/run.h"
#include "ir/program/deal.h"
#include "ir/program/tags.h"
#include <stdlib.h>

static int64_t elements_of(const struct run *m, int tensor) {
    int64_t n = 1;
    for (int d = 0; d < m->p->tensors[tensor].shape.rank; d++)
        n *= m->dim[tensor][d];
    return n;
}

static bool create_inboxes(struct run *m) {
    m->inbox = calloc((size_t)m->p->ntensors + 1, sizeof *m->inbox);
    for (int t = 0; m->inbox && t < m->p->ntensors; t++) {
        size_t n = (size_t)elements_of(m, t);
        n *= (size_t)et_parts(&m->p->tensors[t]);
        if (!n || !et_in_inbox(&m->p->tensors[t])) continue;
        m->inbox[t].sum = calloc(n, sizeof(float));
        m->inbox[t].tag = calloc(n, sizeof(int32_t));
        if (!m->inbox[t].sum || !m->inbox[t].tag) return false;
    }
    return m->inbox != NULL;
}

static void destroy_inboxes(struct run *m) {
    for (int t = 0; m->inbox && t < m->p->ntensors; t++) {
        free(m->inbox[t].sum);
        free(m->inbox[t].tag);
    }
    free(m->inbox);
}

static int32_t asked(struct run *m) {
    return m->step && m->step->tag.id ? (int32_t)run_eval_i(m, m->step->tag) + 1 : 0;
}

static bool is_tagged(const struct run *m, int tensor) {
    return m->p->tensors[tensor].tagged;
}

/* The device that has the row of the element that a store or load is of; -1: all have one. */
static int owner(struct run *m, int tensor, const et_expr *index) {
    int dim = m->p->tensors[tensor].dealt;
    return dim ? (int)run_eval_i(m, et_deal_owner_of(m->p, index[dim - 1])) : -1;
}

/* A word that has a tag already may not have been read yet where it lies. */
void run_partial_store(struct run *m, int tensor, const et_expr *index, int64_t element, float f) {
    const et_tensor *t = &m->p->tensors[tensor];
    int64_t at = (et_parts(t) > 1 ? m->device * elements_of(m, tensor) : 0) + element;
    if (t->own && run_eval_i(m, index[t->own - 1]) != m->device) return;
    int only = owner(m, tensor, index);
    int32_t tag = is_tagged(m, tensor) ? asked(m) : 1;
    char task[160];
    for (int d = 0; d < m->p->g->devices && !m->failed; d++) {
        struct run_inbox *box = &m->all[d].inbox[tensor];
        if (only >= 0 && d != only) continue;
        if (box->tag[at] || !tag)
            run_fail(m, "device %d: task %s stores element %lld of %%%s a second time", m->device,
                     run_task_name(m, m->now, task), (long long)element,
                     m->p->tensors[tensor].name);
        box->tag[at] = tag;
        box->sum[at] = et_round_to(m->p->tensors[tensor].shape.dtype, f);
    }
}

float run_partial_load(struct run *m, int tensor, int64_t element) {
    const struct run_inbox *box = &m->inbox[tensor];
    int64_t n = elements_of(m, tensor);
    int parts = et_parts(&m->p->tensors[tensor]);
    int32_t tag = is_tagged(m, tensor) ? asked(m) : 1;
    char task[160];
    float sum = 0;
    for (int d = 0; d < parts; d++) {
        int64_t at = d * n + element;
        if (!box->tag[at] && !is_tagged(m, tensor))
            run_fail(m, "device %d: task %s reads element %lld of %%%s, which has not been stored",
                     m->device, run_task_name(m, m->now, task), (long long)element,
                     m->p->tensors[tensor].name);
        else if (!box->tag[at])
            m->waits = true;
        else if (box->tag[at] != tag)
            run_fail(m,
                     "device %d: task %s takes element %lld of %%%s with tag %d, where there is %d",
                     m->device, run_task_name(m, m->now, task), (long long)element,
                     m->p->tensors[tensor].name, (int)tag - 1, (int)box->tag[at] - 1);
        sum = d ? sum + box->sum[at] : box->sum[at];
    }
    return sum;
}

/* ---- all devices ---- */

/* Of those that have a ready task, one; -1 when none has. */
static int choose(const struct run *all, int n, uint64_t *state) {
    *state = *state * 0x5851f42d4c957f2du + 0x14057b7ef767814fu;
    int first = (int)(*state >> 33) % n;
    for (int i = 0; i < n; i++)
        if (all[(first + i) % n].nready) return (first + i) % n;
    return -1;
}

static void tell_waiting(struct run *all, int n) {
    char task[160];
    for (int d = 0; d < n; d++)
        if (all[d].late >= 0)
            run_fail(&all[d], "deadlock: task %s of device %d waits for words of other devices",
                     run_task_name(&all[d], all[d].late, task), d);
}

/* Tasks that wait are tried again whenever some device has done something since. */
static void run_together(struct run *all, int n, uint64_t seed) {
    uint64_t state = seed;
    bool failed = false, progress = true;
    while (!failed) {
        int d = choose(all, n, &state);
        if (d >= 0) {
            int before = all[d].ran;
            run_one(&all[d]);
            progress |= all[d].ran != before;
            failed = all[d].failed;
            continue;
        }
        if (!progress) break;
        progress = false;
        for (int i = 0; i < n; i++)
            run_retry(&all[i]);
    }
    if (!failed) tell_waiting(all, n);
    for (int d = 0; d < n; d++)
        if (!failed) run_end(&all[d], all[d].ran < all[d].ntasks);
}

bool et_program_run_devices(et_program *p, const int64_t *syms, void *const *const *tensor,
                            const et_interp_options *options, char err[ET_INTERP_ERR]) {
    et_interp_options opt = run_options(options);
    int n = p->g->devices;
    bool ok = true;
    err[0] = 0;
    if (n < 1) {
        snprintf(err, ET_INTERP_ERR, "the program is for one device");
        return false;
    }
    struct run *all = calloc((size_t)n, sizeof *all);
    if (!all) {
        snprintf(err, ET_INTERP_ERR, "out of memory");
        return false;
    }
    for (int d = 0; d < n && ok; d++) {
        all[d] = (struct run){.p = p, .x = p->g->exprs, .syms = syms, .opt = &opt, .err = err};
        all[d].all = all;
        all[d].device = d;
        run_begin(&all[d], tensor[d]);
        if (!all[d].failed && !create_inboxes(&all[d])) run_fail(&all[d], "out of memory");
        ok = !all[d].failed;
    }
    if (ok) run_together(all, n, opt.seed);
    for (int d = 0; d < n; d++) {
        ok &= !all[d].failed;
        destroy_inboxes(&all[d]);
        run_free(&all[d]);
    }
    free(all);
    return ok;
}
