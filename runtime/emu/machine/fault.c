/* fault.c - what a fault says to the user. */
#include "runtime/emu/machine/fault.h"

#include "runtime/emu/etemu.h"
#include "runtime/emu/hsa.h"
#include "runtime/emu/memory/loader.h"
#include "runtime/emu/memory/memory.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
/* A reader may hold the text of the fault before last while the next is being written. */
static char texts[2][2048];
static unsigned turn;

void emu_fault_remember(const char *text) {
    pthread_mutex_lock(&lock);
    char *to = texts[(turn + 1) % 2];
    snprintf(to, sizeof texts[0], "%s", text);
    turn++;
    pthread_mutex_unlock(&lock);
}

void emu_fault_clear(void) {
    emu_fault_remember("");
}

EMU_EXPORT const char *etemu_last_fault(void) {
    pthread_mutex_lock(&lock);
    const char *text = texts[turn % 2];
    pthread_mutex_unlock(&lock);
    return text;
}

void emu_failure_set(struct emu_failure *f, hsa_status_t status, const char *format, ...) {
    va_list args;
    va_start(args, format);
    f->status = status;
    f->addr = 0;
    f->memory = false;
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

void emu_fault_describe(const struct emu_fault *fault, const struct emu_group *g,
                        struct emu_failure *failure) {
    char where[160], near[256] = "";
    static const hsa_status_t status[] = {
        [EMU_FAULT_EXCEPTION] = HSA_STATUS_ERROR_EXCEPTION,
        [EMU_FAULT_MEMORY] = (hsa_status_t)HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION,
        [EMU_FAULT_UNKNOWN] = (hsa_status_t)HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION};
    bool memory = fault->kind == EMU_FAULT_MEMORY;
    emu_code_where(fault->pc, where, sizeof where);
    if (memory) emu_memory_describe(fault->addr, near, sizeof near);
    emu_failure_set(failure, status[fault->kind], "%s\n", fault->what);
    size_t used = strlen(failure->text), room = sizeof failure->text;
    if (memory)
        used += (size_t)snprintf(failure->text + used, room - used, "  address 0x%llx: %s\n",
                                 (unsigned long long)fault->addr, near);
    used += (size_t)snprintf(failure->text + used, room - used,
                             "  at pc 0x%llx%s%s: %s\n"
                             "  workgroup (%u,%u,%u) wave %u lane %u, on die %u SE %u CU %u\n",
                             (unsigned long long)fault->pc, *where ? " " : "", where,
                             fault->instruction, fault->workgroup[0], fault->workgroup[1],
                             fault->workgroup[2], fault->wave, fault->lane, g->xcc, g->se, g->cu);
    if (fault->traced)
        used += (size_t)snprintf(failure->text + used, room - used, "  last marks %u, %u\n",
                                 fault->trace[0], fault->trace[1]);
    snprintf(failure->text + used, room - used, "  dispatch %llu of its queue\n",
             (unsigned long long)g->dispatch->dispatch_id);
    failure->addr = fault->addr;
    failure->memory = memory;
}
