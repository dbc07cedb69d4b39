/* clock.h - the host's time, and the machine's part in the device's (emu.h has what kernels
 * read).
 *
 * A kernel bounds its waits by the device clock, in seconds of a GPU. Emulation is a thousand times
 * slower, so the device clock runs slower too while workgroups get on with their work; while all
 * only wait it runs at the host's pace, and a wait that can never end reaches its bound in the
 * time it says. */
#ifndef EMU_CLOCK_H
#define EMU_CLOCK_H

#include <stdint.h>

uint64_t emu_now_ns(void);

/* What hosts read: 100 MHz. */
static inline uint64_t emu_host_ticks(void) {
    return emu_now_ns() / 10;
}

/* From now on, while nothing runs, the device clock runs TIMES as fast as the host's while all
 * wait; a wait that is bounded is long then, and idle hours are short. */
void emu_clock_run(uint32_t times);

/* A workgroup got on from START to END (emu_now_ns). */
void emu_clock_slow_down(uint64_t start, uint64_t end);

#endif
