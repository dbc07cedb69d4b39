/* dispatch.c - from a kernel dispatch packet to a dispatch the engine can run. */
#include "runtime/emu/machine/fault.h"
#include "runtime/emu/machine/queue.h"
#include "runtime/emu/machine/stats.h"
#include "runtime/emu/memory/loader.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_GROUP_ITEMS = 1024, MAX_SCRATCH = 1 << 20 };

static bool bad_packet(struct emu_failure *f, const char *why) {
    emu_failure_set(f, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "kernel dispatch packet: %s\n", why);
    return false;
}

static bool take_sizes(struct emu_dispatch *d, const hsa_kernel_dispatch_packet_t *p,
                       struct emu_failure *f) {
    unsigned dims = p->setup & 3;
    uint32_t group[3] = {p->workgroup_size_x, p->workgroup_size_y, p->workgroup_size_z};
    uint32_t grid[3] = {p->grid_size_x, p->grid_size_y, p->grid_size_z};
    uint64_t items = 1, total = 1;
    if (!dims) return bad_packet(f, "the number of dimensions is 0");
    for (unsigned i = 0; i < 3; i++) {
        d->group_size[i] = i < dims ? group[i] : 1;
        d->grid_size[i] = i < dims ? grid[i] : 1;
        if (!d->group_size[i]) return bad_packet(f, "a workgroup size is 0");
        if (!d->grid_size[i]) return bad_packet(f, "a grid size is 0");
        items *= d->group_size[i];
        if (items > MAX_GROUP_ITEMS)
            return bad_packet(f, "a workgroup has more than 1024 work-items");
        /* Both factors are below 2^32, so the product shows before it could wrap. */
        total *= d->grid_size[i];
        if (total > UINT32_MAX) return bad_packet(f, "a grid has more than 4294967295 work-items");
    }
    return true;
}

static bool take_kernel(struct emu_dispatch *d, const struct emu_symbol *k,
                        const hsa_kernel_dispatch_packet_t *p, struct emu_failure *f) {
    struct emu_descriptor kd;
    memcpy(&kd, (const void *)k->addr, sizeof kd);
    d->descriptor = (const void *)k->addr;
    d->entry = k->addr + (uint64_t)kd.entry_offset;
    const struct emu_text *text = emu_code_text(k->code, d->entry);
    if (!text) return bad_packet(f, "the kernel's first instruction is outside its code");
    d->program = text->program;
    d->kernarg = (uint64_t)p->kernarg_address;
    uint32_t lds = p->group_segment_size, scratch = p->private_segment_size;
    if (lds < kd.group_segment_bytes) lds = kd.group_segment_bytes;
    if (scratch < kd.private_segment_bytes) scratch = kd.private_segment_bytes;
    if (scratch > MAX_SCRATCH)
        return bad_packet(f, "more than 1 MiB of private memory per work-item");
    d->lds_bytes = lds;
    d->scratch_bytes = (scratch + 15) / 16 * 16;
    if (!kd.kernarg_bytes) return true;
    struct emu_range r = emu_memory_find(d->kernarg);
    if (r.lo == r.hi || r.hi - d->kernarg < kd.kernarg_bytes) {
        char near[256];
        emu_memory_describe(d->kernarg, near, sizeof near);
        emu_failure_set(
            f, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT,
            "kernel dispatch packet: the %u bytes of kernel arguments at 0x%llx are not "
            "in memory the GPU can access\n  %s\n",
            kd.kernarg_bytes, (unsigned long long)d->kernarg, near);
        return false;
    }
    return true;
}

/* Fields of the kernel descriptor: VGPRs less one, by eight; work-groups on a pair of CUs. */
enum { VGPRS = 63, VGPRS_UNIT = 8, PAIR_MODE = 1 << 29, WAVE32 = 1 << 10 };

static bool take_needs(struct emu_needs *n, const struct emu_dispatch *d, struct emu_failure *f) {
    const struct emu_config *c = emu_device();
    struct emu_descriptor kd;
    memcpy(&kd, d->descriptor, sizeof kd);
    uint32_t items = d->group_size[0] * d->group_size[1] * d->group_size[2];
    n->waves = (items + c->arch->wave_lanes - 1) / c->arch->wave_lanes;
    uint32_t vgprs = ((kd.rsrc1 & VGPRS) + 1) * VGPRS_UNIT, granule = c->arch->vgpr_granule;
    n->vgprs = (vgprs + granule - 1) / granule * granule;
    n->lds_bytes = d->lds_bytes;
    n->cus = c->arch->pairs && kd.rsrc1 & PAIR_MODE ? 2 : 1;
    bool wave32 = kd.properties & WAVE32;
    if (wave32 != (c->arch->wave_lanes == 32)) {
        emu_failure_set(f, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                        "the kernel is compiled for waves of %u lanes, the device's have %u\n",
                        wave32 ? 32 : 64, c->arch->wave_lanes);
        return false;
    }
    if (emu_engine_groups_per_cu(c, n)) return true;
    emu_failure_set(
        f, HSA_STATUS_ERROR_OUT_OF_RESOURCES,
        "a workgroup of %u waves with %u vector registers each and %u bytes of LDS does "
        "not fit on a compute unit (%u waves of %u registers per SIMD, %u bytes of LDS)\n",
        n->waves, n->vgprs, n->lds_bytes, c->arch->waves_per_simd, c->arch->vgprs,
        c->arch->lds_bytes);
    return false;
}

static void set_running(struct emu_queue *q, struct emu_dispatch *d) {
    pthread_mutex_lock(&q->lock);
    q->running = d;
    if (d && atomic_load(&q->stop)) atomic_store(&d->stop, true);
    pthread_mutex_unlock(&q->lock);
}

void emu_dispatch_packet(struct emu_queue *q, const hsa_kernel_dispatch_packet_t *p, uint64_t id,
                         struct emu_failure *f) {
    struct emu_needs needs;
    f->status = HSA_STATUS_SUCCESS;
    const struct emu_symbol *k = emu_code_find_kernel(p->kernel_object);
    struct emu_dispatch *d = calloc(1, sizeof *d);
    if (!k) {
        emu_failure_set(f, HSA_STATUS_ERROR_INVALID_CODE_OBJECT,
                        "kernel dispatch packet: no kernel is loaded at 0x%llx\n",
                        (unsigned long long)p->kernel_object);
    } else if (!d) {
        emu_failure_set(f, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of host memory\n");
    } else if (take_sizes(d, p, f) && take_kernel(d, k, p, f) && take_needs(&needs, d, f)) {
        d->packet = p;
        d->queue = q->amd;
        d->dispatch_id = id;
        set_running(q, d);
        emu_engine_execute(d, &needs, f);
        set_running(q, NULL);
        emu_stats_add(&d->counters);
    }
    free(d);
    if (k) emu_code_release(k->code);
}
