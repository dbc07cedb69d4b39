/* emu_test.c - the fixture of the emulator's tests. */
#include "tests/unit/emu/emu_test.h"

#include <stdio.h>

struct emu_test T;

static hsa_status_t on_agent(hsa_agent_t agent, void *data) {
    (void)data;
    hsa_device_type_t type;
    OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    *(type == HSA_DEVICE_TYPE_GPU ? &T.gpu : &T.cpu) = agent;
    return HSA_STATUS_SUCCESS;
}

static hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void *gpu) {
    hsa_amd_segment_t segment;
    uint32_t flags;
    OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
    OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if (gpu)
        T.device = pool;
    else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT)
        T.kernarg = pool;
    else if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED)
        T.host = pool;
    return HSA_STATUS_SUCCESS;
}

void emu_test_init(const char *spec) {
    char err[256];
    ck_assert_msg(!spec || !etemu_configure(spec, err, sizeof err), "%s", err);
    OK(hsa_init());
    OK(hsa_iterate_agents(on_agent, NULL));
    OK(hsa_amd_agent_iterate_memory_pools(T.cpu, on_pool, NULL));
    OK(hsa_amd_agent_iterate_memory_pools(T.gpu, on_pool, &T));
    OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &T.cus));
}

void emu_test_read_image(const char *path) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "cannot open %s", path);
    fseek(f, 0, SEEK_END);
    T.image_bytes = (size_t)ftell(f);
    rewind(f);
    T.image = malloc(T.image_bytes);
    ck_assert_uint_eq(fread(T.image, 1, T.image_bytes, f), T.image_bytes);
    fclose(f);
}

hsa_status_t emu_test_load(const void *image, size_t bytes, hsa_executable_t *out) {
    hsa_code_object_reader_t reader;
    OK(hsa_code_object_reader_create_from_memory(image, bytes, &reader));
    OK(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, NULL,
                                 out));
    hsa_status_t status = hsa_executable_load_agent_code_object(*out, T.gpu, reader, NULL, NULL);
    OK(hsa_code_object_reader_destroy(reader));
    if (status)
        OK(hsa_executable_destroy(*out));
    else
        OK(hsa_executable_freeze(*out, NULL));
    return status;
}

static void on_error(hsa_status_t status, hsa_queue_t *queue, void *data) {
    (void)queue, (void)data;
    T.error = (int)status;
    T.errors++;
}

hsa_queue_t *emu_test_queue(uint32_t packets) {
    hsa_queue_t *q;
    OK(hsa_queue_create(T.gpu, packets, HSA_QUEUE_TYPE_MULTI, on_error, NULL, UINT32_MAX,
                        UINT32_MAX, &q));
    return q;
}

void emu_test_start(const char *spec) {
    emu_test_init(spec);
    char name[64], path[256];
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_NAME, name));
    bool usual = !strcmp(name, "gfx942");
    snprintf(path, sizeof path, EMU_TEST_CODE "basic%s%s.hsaco", usual ? "" : "-",
             usual ? "" : name);
    emu_test_read_image(path);
    OK(emu_test_load(T.image, T.image_bytes, &T.executable));
    T.queue = emu_test_queue(64);
}

void emu_test_stop(void) {
    OK(hsa_shut_down());
    free(T.image);
    T.image = NULL;
}

void *emu_test_alloc(size_t bytes) {
    void *p;
    OK(hsa_amd_memory_pool_allocate(T.device, bytes, 0, &p));
    return p;
}

void *emu_test_alloc_host(size_t bytes) {
    void *p;
    OK(hsa_amd_memory_pool_allocate(T.kernarg, bytes, 0, &p));
    OK(hsa_amd_agents_allow_access(1, &T.gpu, NULL, p));
    return p;
}

uint64_t emu_test_kernel(const char *name) {
    char symbol[64];
    hsa_executable_symbol_t s;
    uint64_t object;
    snprintf(symbol, sizeof symbol, "%s.kd", name);
    OK(hsa_executable_get_symbol_by_name(T.executable, symbol, &T.gpu, &s));
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object));
    return object;
}

hsa_signal_t emu_test_submit(hsa_queue_t *q, const struct emu_launch *l) {
    hsa_signal_t done;
    OK(hsa_signal_create(1, 0, NULL, &done));
    uint64_t i = hsa_queue_add_write_index_relaxed(q, 1);
    while (i - hsa_queue_load_read_index_scacquire(q) >= q->size)
        continue;
    hsa_kernel_dispatch_packet_t *p = q->base_address;
    p += i & (q->size - 1);
    void *args = NULL;
    if (l->args_bytes) memcpy(args = emu_test_alloc_host(l->args_bytes), l->args, l->args_bytes);
    hsa_kernel_dispatch_packet_t body = {
        .workgroup_size_x = (uint16_t)(l->group[0] ? l->group[0] : 1),
        .workgroup_size_y = (uint16_t)(l->group[1] ? l->group[1] : 1),
        .workgroup_size_z = (uint16_t)(l->group[2] ? l->group[2] : 1),
        .grid_size_x = l->grid[0] ? l->grid[0] : 1,
        .grid_size_y = l->grid[1] ? l->grid[1] : 1,
        .grid_size_z = l->grid[2] ? l->grid[2] : 1,
        .private_segment_size = l->scratch,
        .group_segment_size = l->lds,
        .kernel_object = emu_test_kernel(l->kernel),
        .kernarg_address = args,
        .completion_signal = done,
    };
    memcpy((char *)p + 4, (char *)&body + 4, sizeof body - 4);
    uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                      HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
    __atomic_store_n((uint32_t *)p, header | 3u << 16, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(q->doorbell_signal, (int64_t)i);
    return done;
}

hsa_signal_value_t emu_test_wait(hsa_signal_t done) {
    hsa_signal_value_t v = hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1,
                                                     60ull * 100000000, HSA_WAIT_STATE_BLOCKED);
    ck_assert_msg(v < 1, "the dispatch did not end");
    OK(hsa_signal_destroy(done));
    return v;
}

hsa_signal_value_t emu_test_run(const struct emu_launch *l) {
    return emu_test_wait(emu_test_submit(T.queue, l));
}
