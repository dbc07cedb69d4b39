/* What a launch dispatches: one kernel, or a sequence of them. */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>

etrt_status etrt_sequence_load(etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    etrt_status st = ETRT_OK;
    if (!mf->nkernels) return ETRT_OK;
    m->kernels = calloc((size_t)mf->nkernels, sizeof *m->kernels);
    if (!m->kernels) return etrt_no_memory();
    for (int i = 0; i < mf->nkernels && st == ETRT_OK; i++)
        st = m->device->driver->find(m->device, &m->code, mf->kernels[i].symbol, &m->kernels[i]);
    return st;
}

int64_t etrt_launch_kernels(const struct etrt_manifest *m) {
    int64_t most = 1;
    for (int i = 0; i < m->nsequences; i++)
        if (m->sequences[i].launches > most) most = m->sequences[i].launches;
    return most;
}

uint64_t etrt_kernarg_pitch(const struct etrt_manifest *m) {
    return ((uint64_t)m->kernarg_bytes + 63) & ~(uint64_t)63;
}

/* A sequence being unrolled: where its loops are. */
struct unroll {
    etrt_session *s;
    const struct etrt_sequence *sequence;
    int32_t *iteration; /* of the loops around, outermost first */
    int depth, count;
};

/* What a group of devices has to know of the arguments. */
static void add_devices(const etrt_session *s, struct etrt_dispatch *d) {
    const struct etrt_manifest *mf = &s->model->manifest;
    d->pointers = s->pointers;
    d->npointers = s->npointers;
    d->devices_at = mf->kernarg_bytes - 4 * (uint32_t)mf->depth - 8 * (1 + (uint32_t)mf->devices);
    d->inbox = s->inbox;
    d->events_bytes = etrt_events_bytes(mf);
}

static etrt_status add(struct unroll *u, int number) {
    etrt_session *s = u->s;
    const struct etrt_manifest *mf = &s->model->manifest;
    const struct etrt_kernel *k = &mf->kernels[number];
    uint32_t workgroups = s->workgroups;
    etrt_status st = k->counted ? etrt_kernel_tiles(k, s->dims, &workgroups) : ETRT_OK;
    char *args = (char *)s->kernarg + (uint64_t)u->count * etrt_kernarg_pitch(mf);
    struct etrt_kernarg head;
    if (u->count) memcpy(args, s->kernarg, mf->kernarg_bytes);
    memcpy(&head, args, sizeof head);
    head.workgroups = workgroups;
    etrt_set_places(&head, s->model->device->dies);
    memcpy(args, &head, sizeof head);
    char *iterations = args + mf->kernarg_bytes - 4 * (size_t)mf->depth;
    memset(iterations, 0, 4 * (size_t)mf->depth);
    memcpy(iterations, u->iteration, 4 * (size_t)u->depth);
    s->dispatch[u->count++] = (struct etrt_dispatch){
        .code = &s->model->kernels[number],
        .kernarg = args,
        .kernarg_bytes = mf->kernarg_bytes,
        .workgroups = workgroups,
        .workgroup_size = k->workgroup,
        .group_bytes = k->lds_bytes,
        .private_bytes = s->model->kernels[number].private_bytes,
        .wait_limit = s->wait_limit,
        .resident = !k->counted,
    };
    add_devices(s, &s->dispatch[u->count - 1]);
    return st;
}

/* Steps FROM to TO; the manifest bounds how deep loops are. */
static etrt_status unroll(struct unroll *u, int from, int to) {
    etrt_status st = ETRT_OK;
    for (int i = from; i < to && st == ETRT_OK; i++) {
        const struct etrt_step *step = &u->sequence->steps[i];
        if (step->kernel >= 0) {
            st = add(u, step->kernel);
            continue;
        }
        int64_t times;
        st = etrt_step_times(step, u->s->dims, &times);
        if (st != ETRT_OK) break;
        int32_t *at = u->iteration + u->depth++;
        for (*at = 0; *at < times && st == ETRT_OK; ++*at)
            st = unroll(u, i + 1, i + 1 + step->count);
        u->depth--;
        i += step->count;
    }
    return st;
}

etrt_status etrt_sequence_make(etrt_session *s, int *out_count) {
    const struct etrt_manifest *mf = &s->model->manifest;
    *out_count = 1;
    s->dispatch[0] = (struct etrt_dispatch){
        .code = &s->model->code,
        .kernarg = s->kernarg,
        .kernarg_bytes = mf->kernarg_bytes,
        .workgroups = s->workgroups,
        .workgroup_size = mf->workgroup,
        .group_bytes = mf->lds_bytes,
        .private_bytes = s->model->code.private_bytes,
        .wait_limit = s->wait_limit,
        .resident = true,
    };
    add_devices(s, &s->dispatch[0]);
    if (!mf->nkernels) return ETRT_OK;
    int32_t iteration[ETRT_MAX_DEPTH] = {0};
    struct unroll u = {.s = s,
                       .sequence = etrt_manifest_sequence(mf, s->dims, s->workgroups),
                       .iteration = iteration};
    etrt_status st = unroll(&u, 0, u.sequence->nsteps);
    *out_count = u.count;
    return st;
}
