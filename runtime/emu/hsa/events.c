/* events.c - callbacks into the program: memory faults and asynchronous signal handlers. */
#include "runtime/emu/hsa/host.h"
#include "runtime/emu/machine/signal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static hsa_amd_system_event_callback_t event_callback;
static void *event_data;

hsa_status_t HSA_API hsa_amd_register_system_event_handler(hsa_amd_system_event_callback_t callback,
                                                           void *data) {
    EMU_CHECK_UP();
    pthread_mutex_lock(&lock);
    bool taken = event_callback && callback;
    if (!taken) {
        event_callback = callback;
        event_data = data;
    }
    pthread_mutex_unlock(&lock);
    return taken ? HSA_STATUS_ERROR : HSA_STATUS_SUCCESS;
}

void emu_report_memory_fault(uint64_t addr) {
    pthread_mutex_lock(&lock);
    hsa_amd_system_event_callback_t callback = event_callback;
    void *data = event_data;
    pthread_mutex_unlock(&lock);
    if (!callback) return;
    hsa_amd_event_t event = {
        .event_type = HSA_AMD_GPU_MEMORY_FAULT_EVENT,
        .memory_fault = {.agent = emu_agent_handle(EMU_GPU_AGENT),
                         .virtual_address = addr,
                         .fault_reason_mask = HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT}};
    callback(&event, data);
}

struct handler {
    struct handler *next;
    struct emu_signal *signal;
    hsa_signal_condition_t condition;
    hsa_signal_value_t value;
    hsa_amd_signal_handler call;
    void *arg;
};

/* One thread watches all signals with handlers; it exists while there have been any. */
static struct handler *handlers;
static struct emu_event changed;
static _Atomic bool closing;
static bool running;
static pthread_t thread;

/* Take a handler whose condition holds off the list. */
static struct handler *take_due(int64_t *value) {
    struct handler *due = NULL;
    pthread_mutex_lock(&lock);
    for (struct handler **at = &handlers; *at && !due; at = &(*at)->next) {
        *value = atomic_load(&(*at)->signal->value);
        if (!emu_signal_test(*value, (*at)->condition, (*at)->value)) continue;
        due = *at;
        *at = due->next;
        break;
    }
    pthread_mutex_unlock(&lock);
    return due;
}

static void *watch(void *arg) {
    (void)arg;
    enum { POLL_NS = 100000 };
    while (!atomic_load(&closing)) {
        uint32_t seen = emu_event_read(&changed);
        int64_t value;
        struct handler *h = take_due(&value);
        if (h && h->call(value, h->arg)) {
            pthread_mutex_lock(&lock);
            h->next = handlers;
            handlers = h;
            pthread_mutex_unlock(&lock);
        } else if (h) {
            free(h);
        } else {
            pthread_mutex_lock(&lock);
            bool none = !handlers;
            pthread_mutex_unlock(&lock);
            emu_event_wait(&changed, seen, 0, none ? UINT64_MAX : POLL_NS);
        }
    }
    return NULL;
}

hsa_status_t HSA_API hsa_amd_signal_async_handler(hsa_signal_t signal,
                                                  hsa_signal_condition_t condition,
                                                  hsa_signal_value_t value,
                                                  hsa_amd_signal_handler call, void *arg) {
    EMU_CHECK_UP();
    if (!signal.handle) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (!call) return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    struct handler *h = malloc(sizeof *h);
    if (!h) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    *h = (struct handler){NULL, emu_signal_from(signal), condition, value, call, arg};
    pthread_mutex_lock(&lock);
    if (!running) running = !pthread_create(&thread, NULL, watch, NULL);
    bool ok = running;
    if (ok) {
        h->next = handlers;
        handlers = h;
    }
    pthread_mutex_unlock(&lock);
    if (!ok) {
        free(h);
        return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    }
    emu_event_post(&changed);
    return HSA_STATUS_SUCCESS;
}

void emu_handlers_close(void) {
    pthread_mutex_lock(&lock);
    bool join = running;
    running = false;
    pthread_mutex_unlock(&lock);
    atomic_store(&closing, true);
    emu_event_post(&changed);
    if (join) pthread_join(thread, NULL);
    atomic_store(&closing, false);
    while (handlers) {
        struct handler *next = handlers->next;
        free(handlers);
        handlers = next;
    }
    event_callback = NULL;
}
