/* flight.h - what a wave has asked memory for and does not have yet, where the device counts by
 * task. */
#ifndef ISA_FLIGHT_H
#define ISA_FLIGHT_H

#include "runtime/emu/isa/isa.h"

/* A wave executed O, which read and wrote so many bytes of memory, ATOMIC: in one. */
void isa_flight_step(struct emu_wave *, const struct emu_op *o, uint64_t read, uint64_t written,
                     bool atomic);
/* It goes on after a barrier; it has ended. */
void isa_flight_barrier(struct emu_wave *);
void isa_flight_end(struct emu_wave *);

#endif
