/* etrun --list: what a code object says about itself, which needs no device. etrun --devices. */
#include "runtime/etrun/etrun.h"

#include "runtime/etrt/base/file.h"
#include "runtime/etrt/inspect.h"
#include "runtime/etrt_abi.h"

#include <inttypes.h>
#include <stdlib.h>

static void print_tensor(const struct etrt_manifest *m, const struct etrt_tensor *t) {
    printf("  %-6s %s: %s[", etrt_kind_name(t->kind), t->name, etrt_dtype_name(t->dtype));
    etrt_shape_print(stdout, m, t);
    printf("]");
    if (t->source) printf(" = \"%s\"", t->source);
    for (int k = 0; k < t->nloops; k++)
        printf(" %s in %" PRId64 "..%" PRId64, t->loops[k].name, t->loops[k].lo, t->loops[k].hi);
    if (t->zeros.columns)
        printf(", less its zero pieces of %d x %" PRId64, ETRT_ZERO_ROWS, t->zeros.columns);
    if (t->entries) printf(", %" PRId64 " entries in host memory", t->entries);
    if (t->packed.matrices) printf(", packed where it is 2:4");
    printf("\n");
}

/* What a launch at the upper bounds of the dims needs on the device. */
static void print_memory(const struct etrt_manifest *m) {
    etrt_memory need;
    if (etrt_manifest_memory(m, NULL, 0, &need) != ETRT_OK) return;
    printf("device memory: %" PRIu64 " bytes of weights; %" PRIu64 " per session: states %" PRIu64
           ", inputs %" PRIu64 ", outputs %" PRIu64 ", workspace %" PRIu64 "\n",
           need.weights, need.session, need.states, need.inputs, need.outputs, need.workspace);
    if (need.host)
        printf("host memory: %" PRIu64 " bytes of weights, of which a cache on the device has as "
               "many as it is given\n",
               need.host);
}

bool list_model(const char *path) {
    void *elf;
    size_t bytes;
    struct etrt_manifest m;
    etrt_status st = etrt_file_read(path, 0, ETRT_MAX_CODE, &elf, &bytes);
    if (st != ETRT_OK) return fail_status(st);
    st = etrt_manifest_of_code(elf, bytes, &m);
    free(elf);
    if (st != ETRT_OK) return fail("%s: %s", path, etrt_last_error());
    printf("model %s for %s, compiled by etcc %s, schedule %s\n", m.model, m.target, m.etcc,
           m.schedule);
    printf("kernel %s: %u work-items per workgroup, wave%u, %u bytes of LDS, %u of arguments\n",
           m.kernel, m.workgroup, m.wavefront, m.lds_bytes, m.kernarg_bytes);
    printf("workspace %" PRIu64 " bytes, %d events in %u words, %d tasks\n", m.workspace_bytes,
           m.nevents, m.event_words, m.ntasks);
    print_memory(&m);
    if (m.profile_tasks >= 0)
        printf("records its tasks when traced, at most %" PRId64 " in a launch\n", m.profile_tasks);
    for (int i = 0; i < m.nmodels; i++)
        printf("  model  %s on %.1f%% to %.1f%% of the workgroups\n", m.models[i].name,
               (double)m.models[i].from / 1e4, (double)m.models[i].to / 1e4);
    for (int i = 0; i < m.nsymbols; i++)
        printf("  dim    %s in %" PRId64 "..%" PRId64 "\n", m.symbols[i].name, m.symbols[i].lo,
               m.symbols[i].hi);
    for (int i = 0; i < m.ntensors; i++)
        print_tensor(&m, &m.tensors[i]);
    etrt_manifest_free(&m);
    return true;
}

bool list_devices(void) {
    etrt_device_info d;
    printf("%-8s  %-10s  %4s  %10s  %s\n", "device", "target", "CUs", "memory GiB", "name");
    for (int i = 0; etrt_device_at(i, &d) == ETRT_OK; i++) {
        char cus[16] = "-", memory[32] = "-";
        if (d.cus) snprintf(cus, sizeof cus, "%u", d.cus);
        if (d.memory_bytes)
            snprintf(memory, sizeof memory, "%.1f", (double)d.memory_bytes / (1 << 30));
        printf("%-8s  %-10s  %4s  %10s  %s\n", d.spec, *d.isa ? d.isa : "any", cus, memory, d.name);
    }
    return true;
}
