/* emu.h - the boundary inside libetemu between the instruction executor (isa/) and the machine
 * around it (HSA entry points, memory, loader, workgroup scheduler).
 *
 * The executor owns: decoding a code object's text once, the architectural state of a wave, and
 * what each instruction does. The machine owns: which memory is live, which workgroups are
 * resident, when each wave runs, and how faults reach the user. Neither includes the other's
 * private headers. */
#ifndef EMU_H
#define EMU_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- memory, provided by the machine ---- */

/* A live range of device memory. Device addresses are host addresses. */
struct emu_range {
    uint64_t lo, hi; /* [lo, hi) */
    bool writable;
    bool uncached; /* host memory: no L2 keeps it */
    bool shared;   /* of a device, and others may write it */
};

/* The range holding ADDR, or a range with lo == hi when nothing live is there. Thread safe; the
 * answer stays true while the dispatch that asked is running (an allocation freed meanwhile is kept
 * until then), so a wave may cache it. */
struct emu_range emu_memory_find(uint64_t addr);

/* ---- caches, provided by the machine where the device models them ---- */

/* Where copies of memory are, nearest first; see runtime/emu/memory/cache.h. */
enum emu_level { EMU_NEAR, EMU_ARRAY, EMU_DIE, EMU_MEMORY, EMU_SCALAR };

struct emu_caches; /* what one CU sees */

enum { EMU_LANE_BYTES = 16 };
/* For the lanes I of MASK, BYTES (at most EMU_LANE_BYTES) at ADDR[I], which are live memory, from
 * or to lane I of DATA. A load may be answered by copies at level FROM and beyond; a store has
 * reached level TO afterwards, EMU_DIE or EMU_MEMORY, and every nearer copy of its own. */
void emu_cache_load(struct emu_caches *, enum emu_level from, const uint64_t *addr, uint64_t mask,
                    uint32_t bytes, uint8_t (*data)[EMU_LANE_BYTES]);
void emu_cache_store(struct emu_caches *, enum emu_level to, const uint64_t *addr, uint64_t mask,
                     uint32_t bytes, uint8_t (*data)[EMU_LANE_BYTES]);
/* Make ready for a read-modify-write of memory: own stores are there, own copies are gone. */
void emu_cache_atomic(struct emu_caches *, const uint64_t *addr, uint64_t mask, uint32_t bytes);
void emu_cache_scalar_load(struct emu_caches *, uint64_t addr, uint32_t bytes, void *out);
/* LEVELS has bit L for level L. Stores not yet written back stay. */
void emu_cache_invalidate(struct emu_caches *, unsigned levels);
void emu_cache_write_back(struct emu_caches *);

/* ---- programs, provided by the executor ---- */

struct emu_program; /* the decoded text of one loaded code object; immutable, shared by threads */

/* Decode BYTES bytes of machine code loaded at device address ADDR for ISA ("gfx942"). Instructions
 * the executor does not know decode to a trap that faults by name when reached, so code that never
 * runs does no harm. False with a message in ERR when the ISA itself is not known. */
bool emu_program_create(const char *isa, uint64_t addr, const void *text, size_t bytes,
                        struct emu_program **out, char err[256]);
void emu_program_destroy(struct emu_program *);
/* Lanes of a wave: 64, or 32. */
uint32_t emu_program_wave_lanes(const struct emu_program *);

/* ---- what one dispatch and one workgroup are ---- */

/* Totals over a dispatch; every wave adds its own when it ends (relaxed atomics). */
struct emu_counters {
    _Atomic uint64_t instructions; /* wave instructions */
    _Atomic uint64_t valu, salu, vmem, smem, lds, mfma, branch, other;
    _Atomic uint64_t global_bytes_read, global_bytes_written, lds_bytes;
    _Atomic uint64_t atomics;
    _Atomic uint64_t sleeps;   /* s_sleep executed */
    _Atomic uint64_t barriers; /* s_barrier executed, per wave */
};

/* The same of the tiles of one task, where the device counts by task; a wave adds its own at its
 * next mark. */
struct emu_task_counters {
    uint64_t tiles, waves; /* first waves of a workgroup that came to a tile, and all that did */
    uint64_t instructions, bytes_read, bytes_written;
    uint64_t round_trips;       /* to memory, one after another in a wave */
    uint64_t waits;             /* of a wave for bytes that it asked for */
    uint64_t in_flight;         /* bytes in flight to the wave when each of these began */
    uint64_t in_flight_squares; /* the squares of these, added up */
    uint64_t told, told_trips;  /* tiles that told of stores, and trips from the last store on */
    uint64_t used, used_trips;  /* that loaded after a look at a counter, and trips from it on */
    uint64_t code;              /* bytes of instructions that no wave had come to in this task */
};
/* Provided by the machine. */
void emu_tasks_add(uint32_t task, const struct emu_task_counters *);

enum emu_fault_kind {
    EMU_FAULT_EXCEPTION, /* everything else: a trap, LDS or scratch out of bounds, a wild jump */
    EMU_FAULT_MEMORY,    /* ADDR is not live, or not writable */
    EMU_FAULT_UNKNOWN,   /* an instruction the executor does not know */
};

struct emu_fault {
    bool set;
    enum emu_fault_kind kind;
    uint64_t pc;           /* device address of the instruction */
    uint64_t addr;         /* the offending address, for memory faults */
    uint32_t workgroup[3]; /* id of the workgroup */
    uint32_t wave, lane;   /* wave in the workgroup; first lane at fault */
    uint32_t trace[2];     /* what the wave last gave to s_ttracedata, in order */
    bool traced;           /* it did so twice at least */
    char instruction[128]; /* disassembled */
    char what[256];        /* "store of 4 bytes outside every live allocation", ... */
};

struct emu_dispatch {
    const struct emu_program *program;
    const void *descriptor; /* amdhsa_kernel_descriptor, 64 bytes, see LLVM's AMDGPUUsage */
    const void *packet;     /* hsa_kernel_dispatch_packet_t in the queue (dispatch_ptr) */
    const void *queue;      /* amd_queue_t (queue_ptr) */
    uint64_t kernarg;       /* device address */
    uint64_t entry;         /* device address of the first instruction */
    uint32_t group_size[3], grid_size[3];
    uint32_t lds_bytes;     /* per workgroup, static + dynamic */
    uint32_t scratch_bytes; /* per lane */
    uint64_t dispatch_id;
    struct emu_counters counters;
    _Atomic bool stop; /* set on the first fault; waves return EMU_ENDED soon after */
};

struct emu_wave; /* architectural state of one wave; private to the executor */

struct emu_group {
    struct emu_dispatch *dispatch;
    uint32_t id[3];           /* workgroup id */
    uint32_t xcc, se, sh, cu; /* where it runs; cu is the id inside the shader array */
    uint32_t xcc_id;          /* what the die calls itself */
    uint32_t nwaves;
    /* Of the CU, or the two of a pair, between which the waves alternate; NULL: every access is to
     * memory itself. */
    struct emu_caches *caches[2];
    uint8_t *lds; /* lds_bytes, 16-byte aligned */
    struct emu_wave **waves;
    uint64_t ran;   /* instructions of its waves, but for those that only look and sleep, from when
                       the  machine set it to 0 on */
    bool progress;  /* set when a wave gave s_ttracedata a pair of words unlike the last */
    bool counted;   /* the clock its waves read counts their instructions */
    uint64_t time;  /* then: what it says when a wave's turn begins */
    uint64_t took;  /* and by how much the turn that ended last moved it */
    bool by_task;   /* what its waves do is counted by task */
    uint64_t links; /* stores to shared memory arrive late and in any order, which follows from this
                       and the wave; 0: at once */
    /* Then: round trips of the deepest wave that came to the last barrier of even number, of odd.
     */
    uint32_t depth[2];
};

/* Bytes one wave state takes, and its initial state: registers as the kernel descriptor enables
 * them (dispatch/queue/kernarg pointers, workgroup ids, work-item ids packed in v0, scratch), EXEC
 * for the lanes that exist. SCRATCH is lanes * scratch_bytes of live memory or NULL. */
size_t emu_wave_bytes(const struct emu_dispatch *);
void emu_wave_init(struct emu_wave *, struct emu_group *, uint32_t index, void *scratch);

enum emu_stop {
    EMU_BUDGET,  /* ran BUDGET instructions, can go on */
    EMU_SLEEP,   /* executed s_sleep (or an equal hint): others should run first */
    EMU_BARRIER, /* at s_barrier; run again once every live wave of the workgroup is there */
    EMU_ENDED,
    EMU_FAULT, /* FAULT filled in */
};

/* Run up to BUDGET instructions. One thread at a time per wave. */
enum emu_stop emu_wave_run(struct emu_wave *, uint64_t budget, struct emu_fault *fault);

/* Between its turns: instructions since the wave began or last got to another tile, as its marks
 * tell; 0 when it has ended. */
uint64_t emu_wave_unmarked(const struct emu_wave *);
/* Between its turns: FAULT says WHY, and where the wave is, which has not ended. */
void emu_wave_give_up(struct emu_wave *, const char *why, struct emu_fault *fault);

/* ---- clocks, provided by the machine ---- */

/* They run slower than the host's while work is done; see runtime/emu/base/clock.h. Not read by
 * workgroups whose instructions are counted instead. */
uint64_t emu_clock_realtime(void); /* ticks of the 100 MHz clock, what s_memrealtime returns */
uint64_t emu_clock_cycles(void);   /* what s_memtime returns */

#endif
