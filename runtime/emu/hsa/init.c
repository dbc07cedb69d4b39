/* init.c - bringing the runtime up and down, the choice of device, system information. */
#include "runtime/emu/base/clock.h"
#include "runtime/emu/hsa/host.h"
#include "runtime/emu/machine/engine.h"
#include "runtime/emu/machine/fault.h"
#include "runtime/emu/machine/stats.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t users;
static struct emu_config chosen; /* arch is NULL until etemu_configure */

bool emu_is_up(void) {
    return atomic_load_explicit(&users, memory_order_acquire) != 0;
}

EMU_EXPORT int etemu_configure(const char *spec, char *err, size_t err_bytes) {
    char text[256] = "";
    struct emu_config config;
    pthread_mutex_lock(&lock);
    bool ok = false;
    if (emu_is_up())
        snprintf(text, sizeof text,
                 "the device cannot be chosen between hsa_init and hsa_shut_down");
    else if (!spec)
        snprintf(text, sizeof text, "no device specification given");
    else
        ok = emu_config_parse(spec, &config, text, sizeof text);
    if (ok) chosen = config;
    pthread_mutex_unlock(&lock);
    if (err && err_bytes) snprintf(err, err_bytes, "%s", text);
    return ok ? 0 : -1;
}

static hsa_status_t bring_up(void) {
    char err[256];
    struct emu_config device = chosen;
    if (!device.arch) {
        const char *spec = getenv("ETEMU_DEVICE");
        if (!emu_config_parse(spec && *spec ? spec : "gfx942", &device, err, sizeof err)) {
            emu_fault_remember(err);
            return HSA_STATUS_ERROR_INVALID_ARGUMENT;
        }
    }
    emu_stats_clear();
    emu_fault_clear();
    emu_clock_run(device.times ? device.times : 1);
    return emu_engine_start(&device) ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static void bring_down(void) {
    emu_queues_close();
    emu_copies_close();
    emu_handlers_close();
    emu_engine_stop();
    emu_executables_close();
    emu_signals_close();
    emu_memory_reset();
}

hsa_status_t HSA_API hsa_init(void) {
    hsa_status_t status = HSA_STATUS_SUCCESS;
    pthread_mutex_lock(&lock);
    uint32_t n = atomic_load(&users);
    if (n == INT32_MAX)
        status = HSA_STATUS_ERROR_REFCOUNT_OVERFLOW;
    else if (n == 0)
        status = bring_up();
    if (!status) atomic_store(&users, n + 1);
    pthread_mutex_unlock(&lock);
    return status;
}

hsa_status_t HSA_API hsa_shut_down(void) {
    EMU_CHECK_UP();
    pthread_mutex_lock(&lock);
    uint32_t n = atomic_load(&users);
    if (n == 1) bring_down();
    if (n) atomic_store(&users, n - 1);
    pthread_mutex_unlock(&lock);
    return n ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_NOT_INITIALIZED;
}

#define PUT(type, v) (*(type *)out = (type)(v), HSA_STATUS_SUCCESS)

hsa_status_t HSA_API hsa_system_get_info(hsa_system_info_t what, void *out) {
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch ((int)what) {
    case HSA_SYSTEM_INFO_VERSION_MAJOR:
        return PUT(uint16_t, 1);
    case HSA_SYSTEM_INFO_VERSION_MINOR:
        return PUT(uint16_t, 1);
    case HSA_SYSTEM_INFO_TIMESTAMP:
        return PUT(uint64_t, emu_host_ticks());
    case HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY:
        return PUT(uint64_t, 100000000);
    case HSA_SYSTEM_INFO_SIGNAL_MAX_WAIT:
        return PUT(uint64_t, UINT64_MAX);
    case HSA_SYSTEM_INFO_ENDIANNESS:
        return PUT(hsa_endianness_t, HSA_ENDIANNESS_LITTLE);
    case HSA_SYSTEM_INFO_MACHINE_MODEL:
        return PUT(hsa_machine_model_t, HSA_MACHINE_MODEL_LARGE);
    case HSA_SYSTEM_INFO_EXTENSIONS:
        memset(out, 0, 128);
        return HSA_STATUS_SUCCESS;
    case HSA_AMD_SYSTEM_INFO_BUILD_VERSION:
        return PUT(const char *, "libetemu " ETCC_VERSION);
    case HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED:
    case HSA_AMD_SYSTEM_INFO_SVM_ACCESSIBLE_BY_DEFAULT:
        return PUT(bool, false);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_system_extension_supported(uint16_t extension, uint16_t major,
                                                    uint16_t minor, bool *out) {
    (void)extension, (void)major, (void)minor;
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = false;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_system_major_extension_supported(uint16_t extension, uint16_t major,
                                                          uint16_t *minor, bool *out) {
    (void)extension, (void)major;
    EMU_CHECK_UP();
    if (!minor || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    *out = false;
    return HSA_STATUS_SUCCESS;
}

static const struct {
    int status;
    const char *text;
} statuses[] = {
    {HSA_STATUS_SUCCESS, "success"},
    {HSA_STATUS_INFO_BREAK, "the callback ended the iteration"},
    {HSA_STATUS_ERROR, "error"},
    {HSA_STATUS_ERROR_INVALID_ARGUMENT, "invalid argument"},
    {HSA_STATUS_ERROR_INVALID_QUEUE_CREATION, "a queue cannot be created like this"},
    {HSA_STATUS_ERROR_INVALID_ALLOCATION, "an allocation of this size is not possible"},
    {HSA_STATUS_ERROR_INVALID_AGENT, "invalid agent"},
    {HSA_STATUS_ERROR_INVALID_REGION, "invalid memory region"},
    {HSA_STATUS_ERROR_INVALID_SIGNAL, "invalid signal"},
    {HSA_STATUS_ERROR_INVALID_QUEUE, "invalid queue"},
    {HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of resources"},
    {HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "invalid packet"},
    {HSA_STATUS_ERROR_RESOURCE_FREE, "a resource could not be released"},
    {HSA_STATUS_ERROR_NOT_INITIALIZED, "hsa_init has not been called"},
    {HSA_STATUS_ERROR_REFCOUNT_OVERFLOW, "too many calls of hsa_init"},
    {HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, "the arguments do not go together"},
    {HSA_STATUS_ERROR_INVALID_INDEX, "invalid index"},
    {HSA_STATUS_ERROR_INVALID_ISA, "the code is for another instruction set"},
    {HSA_STATUS_ERROR_INVALID_ISA_NAME, "invalid instruction set name"},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT, "invalid code object"},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE, "invalid executable"},
    {HSA_STATUS_ERROR_FROZEN_EXECUTABLE, "the executable is frozen"},
    {HSA_STATUS_ERROR_INVALID_SYMBOL_NAME, "no symbol of this name"},
    {HSA_STATUS_ERROR_VARIABLE_ALREADY_DEFINED, "the variable is defined already"},
    {HSA_STATUS_ERROR_VARIABLE_UNDEFINED, "the variable is not defined"},
    {HSA_STATUS_ERROR_EXCEPTION, "a kernel raised an exception"},
    {HSA_STATUS_ERROR_INVALID_CODE_SYMBOL, "invalid code object symbol"},
    {HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL, "invalid executable symbol"},
    {HSA_STATUS_ERROR_INVALID_FILE, "invalid file"},
    {HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER, "invalid code object reader"},
    {HSA_STATUS_ERROR_INVALID_CACHE, "invalid cache"},
    {HSA_STATUS_ERROR_INVALID_WAVEFRONT, "invalid wavefront"},
    {HSA_STATUS_ERROR_INVALID_SIGNAL_GROUP, "invalid signal group"},
    {HSA_STATUS_ERROR_INVALID_RUNTIME_STATE, "the runtime is in the wrong state"},
    {HSA_STATUS_ERROR_FATAL, "fatal error"},
    {HSA_STATUS_ERROR_INVALID_MEMORY_POOL, "invalid memory pool"},
    {HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, "a kernel accessed memory that is not its own"},
    {HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION, "a kernel executed an unknown instruction"},
    {HSA_STATUS_ERROR_MEMORY_FAULT, "a kernel accessed memory that is not there"},
};

hsa_status_t HSA_API hsa_status_string(hsa_status_t status, const char **out) {
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == (int)status) {
            *out = statuses[i].text;
            return HSA_STATUS_SUCCESS;
        }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}
