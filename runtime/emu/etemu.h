/* etemu.h - what libetemu offers beside the HSA API it implements.
 *
 * libetemu.so exports the HSA runtime functions that libetrt uses (hsa.h, hsa_ext_amd.h), with
 * agents that are emulated AMD GPUs executing real machine code. Any HSA program may use it. */
#ifndef ETEMU_H
#define ETEMU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Choose the emulated device before hsa_init (or between the last hsa_shut_down and the next
 * hsa_init). SPEC is "gfx942" or "gfx942:cus=16:xcds=2:threads=2:..."; the
 * GPUs are gfx90a, gfx942, gfx950, gfx1100 and gfx1201; options: cus (total, spread
 * over the dies, the first dies take the remainder; or each die's, as in 4+4+3), xcds, firstdie=N
 * (kernels find themselves on dies N, N + 1, ...), threads (host threads, 0 = one per host core),
 * map=rr|block|N|shuffle-SEED|fill-DIE (workgroup to die: round robin, blocks, round robin shifted
 * by N, drawn, or that die while it has room; where a die is full, the next),
 * seed=N (run waves in a random order drawn from N and the dispatch's number in its queue; with
 * threads=1 the same order every time), starve=WG and slow=DIE (that workgroup, the workgroups of
 * that die, run rarely while others can), stall=Q (dispatches of that queue stop half way),
 * coherence=off|caches|model (caches that may be stale; see README.md) and l1=KIB, l2=KIB (their
 * sizes; unlimited without), clock=host|instructions (what the clocks that kernels read count; see
 * README.md), count=launches|tasks (etemu_get_task), budget=MILLIONS and idle=SECONDS (what a
 * dispatch may do without getting on: instructions, and only sleeping; 0 for anything; see
 * README.md). Without a call, the environment variable ETEMU_DEVICE is used, else "gfx942". Returns
 * 0, or -1 with a message in ERR (always terminated).
 */
int etemu_configure(const char *spec, char *err, size_t err_bytes);

/* Totals since the last hsa_init over all finished dispatches. */
typedef struct etemu_stats {
    uint64_t dispatches;
    uint64_t instructions; /* wave instructions, and by kind: */
    uint64_t valu, salu, vmem, smem, lds, mfma, branch, other;
    uint64_t global_bytes_read, global_bytes_written, lds_bytes;
    uint64_t atomics, sleeps, barriers;
    uint64_t busy_ns; /* host time spent executing waves, summed over threads */
} etemu_stats;
void etemu_get_stats(etemu_stats *out_stats);

/* What the waves of finished dispatches did in the tiles of one task since the last hsa_init, where
 * the device was opened with count=tasks. A tile begins where a wave gives s_ttracedata two words,
 * the task's number and the tile's, and ends where it does so again. */
typedef struct etemu_task {
    uint64_t tiles; /* that were computed */
    uint64_t waves; /* how often a wave came to one of them */
    uint64_t instructions, bytes_read, bytes_written;
    /* Trips to memory that follow one another in a wave, of all its tiles together: a wait ends one
     * if something it waits for was asked for after the one before had ended. */
    uint64_t round_trips;
    uint64_t waits; /* trips for bytes that vector instructions load */
    /* Bytes in flight to the wave when it began to wait, added up, and their squares:
     * the quotient is what a byte finds on its way on the average. */
    uint64_t in_flight, in_flight_squares;
    /* Between a tile and one that waits for it. TOLD: how often a wave added to a counter after it
     * had stored, and the trips from its last store until that addition is in memory. USED: how
     * often a wave loaded something after a look at a counter, and the trips from that look until
     * it is there. */
    uint64_t told, told_trips, used, used_trips;
    /* Of instructions that any wave came to, since the code was loaded, not the last hsa_init; 0
     * for tasks from number 64 on. */
    uint64_t code_bytes;
} etemu_task;
/* Zeros for a task that was not seen. Returns 0, or -1 where nothing is counted by task or TASK is
 * 4096 or more. */
int etemu_get_task(uint32_t task, etemu_task *out);

/* Kernels bound their waits themselves, by SECONDS at most: only beyond that does a dispatch in
 * which all workgroups sleep count as one that never ends (device option idle). */
void etemu_expect_wait(double seconds);

/* 1 where the clocks that kernels read count instructions, 0 where they follow the host's. */
int etemu_clock_counts(void);

/* The message of the last fault (memory violation, unknown instruction) as several lines of text,
 * or "" when there was none. Valid until the next dispatch faults. */
const char *etemu_last_fault(void);

/* Create the next device memory allocations at exactly the address asked for, for replaying a
 * captured launch: 0 when [ADDR, ADDR+BYTES) became live memory, -1 when the host has something
 * there. Free with etemu_unmap. */
int etemu_map_at(uint64_t addr, uint64_t bytes);
int etemu_unmap(uint64_t addr);

#ifdef __cplusplus
}
#endif
#endif
