/* executable.c - code object readers, executables and their symbols. */
#include "runtime/emu/hsa/host.h"
#include "runtime/emu/machine/fault.h"
#include "runtime/emu/memory/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Handles are addresses of these; they are looked up, never trusted. */
struct reader {
    struct reader *next;
    const void *image; /* the caller's, or of the mapped file */
    size_t bytes;
    bool mapped;
};

struct loaded {
    struct loaded *next;
    struct emu_code *code;
};

struct executable {
    struct executable *next;
    hsa_profile_t profile;
    hsa_default_float_rounding_mode_t rounding;
    bool frozen;
    struct loaded *loaded;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reader *readers;
static struct executable *executables;

static struct reader *find_reader(uint64_t handle) {
    struct reader *r = readers;
    while (r && (uint64_t)r != handle)
        r = r->next;
    return r;
}

static struct executable *find_executable(uint64_t handle) {
    struct executable *e = executables;
    while (e && (uint64_t)e != handle)
        e = e->next;
    return e;
}

static hsa_status_t add_reader(const void *image, size_t bytes, bool mapped,
                               hsa_code_object_reader_t *out) {
    struct reader *r = malloc(sizeof *r);
    if (!r) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    pthread_mutex_lock(&lock);
    *r = (struct reader){.next = readers, .image = image, .bytes = bytes, .mapped = mapped};
    readers = r;
    pthread_mutex_unlock(&lock);
    out->handle = (uint64_t)r;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_code_object_reader_create_from_memory(const void *image, size_t bytes,
                                                               hsa_code_object_reader_t *out) {
    EMU_CHECK_UP();
    if (!image || !bytes || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    return add_reader(image, bytes, false, out);
}

hsa_status_t HSA_API hsa_code_object_reader_create_from_file(hsa_file_t file,
                                                             hsa_code_object_reader_t *out) {
    EMU_CHECK_UP();
    struct stat st;
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (fstat(file, &st) || st.st_size <= 0) return HSA_STATUS_ERROR_INVALID_FILE;
    size_t bytes = (size_t)st.st_size;
    void *image = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (image == MAP_FAILED) return HSA_STATUS_ERROR_INVALID_FILE;
    hsa_status_t status = add_reader(image, bytes, true, out);
    if (status) munmap(image, bytes);
    return status;
}

static void free_reader(struct reader *r) {
    if (r->mapped) munmap((void *)r->image, r->bytes);
    free(r);
}

hsa_status_t HSA_API hsa_code_object_reader_destroy(hsa_code_object_reader_t handle) {
    EMU_CHECK_UP();
    pthread_mutex_lock(&lock);
    struct reader *r = find_reader(handle.handle);
    for (struct reader **at = &readers; r && *at; at = &(*at)->next)
        if (*at == r) {
            *at = r->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!r) return HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER;
    free_reader(r);
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_executable_create_alt(hsa_profile_t profile,
                                               hsa_default_float_rounding_mode_t rounding,
                                               const char *options, hsa_executable_t *out) {
    (void)options;
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct executable *e = calloc(1, sizeof *e);
    if (!e) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    e->profile = profile;
    e->rounding = rounding;
    pthread_mutex_lock(&lock);
    e->next = executables;
    executables = e;
    pthread_mutex_unlock(&lock);
    out->handle = (uint64_t)e;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_executable_create(hsa_profile_t profile, hsa_executable_state_t state,
                                           const char *options, hsa_executable_t *out) {
    hsa_status_t status =
        hsa_executable_create_alt(profile, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, options, out);
    if (!status && state == HSA_EXECUTABLE_STATE_FROZEN)
        ((struct executable *)out->handle)->frozen = true; // NOLINT
    return status;
}

static void free_executable(struct executable *e) {
    while (e->loaded) {
        struct loaded *next = e->loaded->next;
        emu_code_release(e->loaded->code);
        free(e->loaded);
        e->loaded = next;
    }
    free(e);
}

hsa_status_t HSA_API hsa_executable_destroy(hsa_executable_t handle) {
    EMU_CHECK_UP();
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle);
    for (struct executable **at = &executables; e && *at; at = &(*at)->next)
        if (*at == e) {
            *at = e->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    if (!e) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    free_executable(e);
    return HSA_STATUS_SUCCESS;
}

void emu_executables_close(void) {
    pthread_mutex_lock(&lock);
    while (executables) {
        struct executable *e = executables;
        executables = e->next;
        free_executable(e);
    }
    while (readers) {
        struct reader *r = readers;
        readers = r->next;
        free_reader(r);
    }
    pthread_mutex_unlock(&lock);
}

static hsa_status_t load(struct executable *e, const struct reader *r,
                         hsa_loaded_code_object_t *out) {
    char err[256];
    hsa_status_t status;
    if (e->frozen) return HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    struct loaded *l = calloc(1, sizeof *l);
    if (!l) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    l->code = emu_code_load(r->image, r->bytes, emu_device(), &status, err);
    if (!l->code) {
        free(l);
        emu_fault_remember(err);
        return status;
    }
    l->next = e->loaded;
    e->loaded = l;
    if (out) out->handle = (uint64_t)l;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_executable_load_agent_code_object(hsa_executable_t handle,
                                                           hsa_agent_t agent_handle,
                                                           hsa_code_object_reader_t reader,
                                                           const char *options,
                                                           hsa_loaded_code_object_t *out) {
    (void)options;
    EMU_CHECK_UP();
    const struct emu_agent *agent = emu_agent_from(agent_handle);
    if (!agent || agent->id != EMU_GPU_AGENT) return HSA_STATUS_ERROR_INVALID_AGENT;
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle);
    struct reader *r = find_reader(reader.handle);
    hsa_status_t status = !e   ? HSA_STATUS_ERROR_INVALID_EXECUTABLE
                          : !r ? HSA_STATUS_ERROR_INVALID_CODE_OBJECT_READER
                               : load(e, r, out);
    pthread_mutex_unlock(&lock);
    return status;
}

hsa_status_t HSA_API hsa_executable_freeze(hsa_executable_t handle, const char *options) {
    (void)options;
    EMU_CHECK_UP();
    hsa_status_t status = HSA_STATUS_SUCCESS;
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle);
    if (!e)
        status = HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    else if (e->frozen)
        status = HSA_STATUS_ERROR_FROZEN_EXECUTABLE;
    else
        e->frozen = true;
    pthread_mutex_unlock(&lock);
    return status;
}

#define PUT(type, v) (*(type *)out = (type)(v), HSA_STATUS_SUCCESS)

hsa_status_t HSA_API hsa_executable_get_info(hsa_executable_t handle, hsa_executable_info_t what,
                                             void *out) {
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle), copy = {0};
    if (e) copy = *e;
    pthread_mutex_unlock(&lock);
    if (!e) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    switch ((int)what) {
    case HSA_EXECUTABLE_INFO_PROFILE:
        return PUT(hsa_profile_t, copy.profile);
    case HSA_EXECUTABLE_INFO_STATE:
        return PUT(hsa_executable_state_t,
                   copy.frozen ? HSA_EXECUTABLE_STATE_FROZEN : HSA_EXECUTABLE_STATE_UNFROZEN);
    case HSA_EXECUTABLE_INFO_DEFAULT_FLOAT_ROUNDING_MODE:
        return PUT(hsa_default_float_rounding_mode_t, copy.rounding);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

hsa_status_t HSA_API hsa_executable_validate(hsa_executable_t handle, uint32_t *out) {
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    bool there = find_executable(handle.handle) != NULL;
    pthread_mutex_unlock(&lock);
    *out = 0;
    return there ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_EXECUTABLE;
}

static struct emu_symbol *find_symbol(struct executable *e, const char *name) {
    for (struct loaded *l = e->loaded; l; l = l->next)
        for (size_t i = 0; i < l->code->nsymbols; i++)
            if (!strcmp(l->code->symbols[i].name, name)) return &l->code->symbols[i];
    return NULL;
}

hsa_status_t HSA_API hsa_executable_get_symbol_by_name(hsa_executable_t handle, const char *name,
                                                       const hsa_agent_t *agent,
                                                       hsa_executable_symbol_t *out) {
    EMU_CHECK_UP();
    if (!name || !out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (agent && !emu_agent_from(*agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle);
    struct emu_symbol *s = e ? find_symbol(e, name) : NULL;
    pthread_mutex_unlock(&lock);
    if (!e) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    if (!s) return HSA_STATUS_ERROR_INVALID_SYMBOL_NAME;
    out->handle = (uint64_t)s;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t HSA_API hsa_executable_get_symbol(hsa_executable_t handle, const char *module,
                                               const char *name, hsa_agent_t agent,
                                               int32_t call_convention,
                                               hsa_executable_symbol_t *out) {
    (void)module, (void)call_convention;
    return hsa_executable_get_symbol_by_name(handle, name, agent.handle ? &agent : NULL, out);
}

/* The callback may use the executable, so it runs on a copy of the list. */
static hsa_status_t list_symbols(hsa_executable_t handle, struct emu_symbol ***out, size_t *out_n) {
    size_t n = 0;
    pthread_mutex_lock(&lock);
    struct executable *e = find_executable(handle.handle);
    for (struct loaded *l = e ? e->loaded : NULL; l; l = l->next)
        n += l->code->nsymbols;
    struct emu_symbol **all = e ? malloc((n + 1) * sizeof(struct emu_symbol *)) : NULL;
    *out_n = 0;
    for (struct loaded *l = all ? e->loaded : NULL; l; l = l->next)
        for (size_t i = 0; i < l->code->nsymbols; i++)
            all[(*out_n)++] = &l->code->symbols[i];
    pthread_mutex_unlock(&lock);
    *out = all;
    if (!e) return HSA_STATUS_ERROR_INVALID_EXECUTABLE;
    return all ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t HSA_API hsa_executable_iterate_symbols(
    hsa_executable_t handle,
    hsa_status_t (*callback)(hsa_executable_t, hsa_executable_symbol_t, void *), void *data) {
    EMU_CHECK_UP();
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct emu_symbol **all;
    size_t n;
    hsa_status_t status = list_symbols(handle, &all, &n);
    for (size_t i = 0; !status && i < n; i++)
        status = callback(handle, (hsa_executable_symbol_t){(uint64_t)all[i]}, data);
    free(all);
    return status;
}

hsa_status_t HSA_API hsa_executable_iterate_agent_symbols(
    hsa_executable_t handle, hsa_agent_t agent,
    hsa_status_t (*callback)(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t, void *),
    void *data) {
    EMU_CHECK_UP();
    if (!callback) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!emu_agent_from(agent)) return HSA_STATUS_ERROR_INVALID_AGENT;
    struct emu_symbol **all;
    size_t n;
    hsa_status_t status = list_symbols(handle, &all, &n);
    for (size_t i = 0; !status && i < n; i++)
        status = callback(handle, agent, (hsa_executable_symbol_t){(uint64_t)all[i]}, data);
    free(all);
    return status;
}

/* Is HANDLE a symbol of a live executable? */
static const struct emu_symbol *symbol_from(uint64_t handle) {
    for (struct executable *e = executables; e; e = e->next)
        for (struct loaded *l = e->loaded; l; l = l->next) {
            uint64_t first = (uint64_t)l->code->symbols;
            uint64_t at = (handle - first) / sizeof(struct emu_symbol);
            if (handle >= first && at < l->code->nsymbols &&
                handle == first + at * sizeof(struct emu_symbol))
                return &l->code->symbols[at];
        }
    return NULL;
}

static hsa_status_t kernel_info(const struct emu_symbol *s, int what, void *out) {
    struct emu_descriptor d;
    enum { DYNAMIC_STACK = 1 << 11 };
    if (!s->kernel) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    memcpy(&d, (const void *)s->addr, sizeof d);
    switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT:
        return PUT(uint64_t, s->addr);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE:
        return PUT(uint32_t, d.kernarg_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_ALIGNMENT:
        return PUT(uint32_t, 16);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE:
        return PUT(uint32_t, d.group_segment_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE:
        return PUT(uint32_t, d.private_segment_bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_DYNAMIC_CALLSTACK:
        return PUT(bool, (d.properties & DYNAMIC_STACK) != 0);
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_CALL_CONVENTION:
        return PUT(uint32_t, 0);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static hsa_status_t variable_info(const struct emu_symbol *s, int what, void *out) {
    if (s->kernel) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS:
        return PUT(uint64_t, s->addr);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE:
        return PUT(uint32_t, s->bytes);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_IS_CONST:
        return PUT(bool, !s->writable);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALLOCATION:
        return PUT(hsa_variable_allocation_t, HSA_VARIABLE_ALLOCATION_AGENT);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SEGMENT:
        return PUT(hsa_variable_segment_t, HSA_VARIABLE_SEGMENT_GLOBAL);
    case HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ALIGNMENT:
        return PUT(uint32_t, 0);
    }
    return HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

static hsa_status_t symbol_info(const struct emu_symbol *s, int what, void *out) {
    switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE:
        return PUT(hsa_symbol_kind_t,
                   s->kernel ? HSA_SYMBOL_KIND_KERNEL : HSA_SYMBOL_KIND_VARIABLE);
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH:
        return PUT(uint32_t, strlen(s->name));
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME:
        memcpy(out, s->name, strlen(s->name)); /* HSA leaves out the end mark */
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME_LENGTH:
        return PUT(uint32_t, 0);
    case HSA_EXECUTABLE_SYMBOL_INFO_MODULE_NAME:
        return HSA_STATUS_SUCCESS;
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT:
        return PUT(hsa_agent_t, emu_agent_handle(EMU_GPU_AGENT));
    case HSA_EXECUTABLE_SYMBOL_INFO_LINKAGE:
        return PUT(hsa_symbol_linkage_t,
                   s->global ? HSA_SYMBOL_LINKAGE_PROGRAM : HSA_SYMBOL_LINKAGE_MODULE);
    case HSA_EXECUTABLE_SYMBOL_INFO_IS_DEFINITION:
        return PUT(bool, true);
    }
    return s->kernel ? kernel_info(s, what, out) : variable_info(s, what, out);
}

hsa_status_t HSA_API hsa_executable_symbol_get_info(hsa_executable_symbol_t handle,
                                                    hsa_executable_symbol_info_t what, void *out) {
    EMU_CHECK_UP();
    if (!out) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    const struct emu_symbol *s = symbol_from(handle.handle);
    hsa_status_t status =
        s ? symbol_info(s, (int)what, out) : HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL;
    pthread_mutex_unlock(&lock);
    return status;
}
