/* fault.h - turning a fault into text, and remembering the last one for etemu_last_fault. */
#ifndef EMU_FAULT_H
#define EMU_FAULT_H

#include "runtime/emu/machine/engine.h"

/* Describe FAULT of workgroup G in FAILURE. */
void emu_fault_describe(const struct emu_fault *fault, const struct emu_group *g,
                        struct emu_failure *failure);

/* A failure that no instruction caused: a bad packet, a kernel that cannot fit. */
void emu_failure_set(struct emu_failure *, hsa_status_t, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void emu_fault_remember(const char *text);
void emu_fault_clear(void);

#endif
