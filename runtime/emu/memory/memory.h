/* memory.h - live allocations: what kernels may touch, to the byte.
 *
 * Device addresses are host addresses. Every allocation has address space of its own with guard
 * gaps around it, is filled with a poison pattern, and after it is freed its address space is not
 * handed out again soon, so that stray and stale accesses are caught. All functions are thread
 * safe. Look-ups by kernels are emu_memory_find in emu.h. */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum emu_memory_kind {
    EMU_MEM_DEVICE,  /* a pool of the GPU agent */
    EMU_MEM_HOST,    /* a pool of the CPU agent: kernels see it once access is allowed */
    EMU_MEM_CODE,    /* a loaded code object */
    EMU_MEM_SCRATCH, /* private memory of a workgroup's waves */
    EMU_MEM_QUEUE,   /* packets and queue structures */
    EMU_MEM_SIGNAL,
    EMU_MEM_LOCKED, /* the program's own memory, locked */
    EMU_MEM_MAPPED, /* etemu_map_at */
};

enum { EMU_POISON = 0xA5 };

struct emu_memory_info {
    uint64_t base;
    size_t bytes;
    enum emu_memory_kind kind;
    uint32_t tag; /* the pool, for pool memory */
    bool visible; /* to kernels */
};

/* An allocation of more than EMU_SPARSE bytes is zero rather than poisoned, and takes the host's
 * memory only where it is touched: a test may have a tensor larger than the host. */
#define EMU_SPARSE ((size_t)1 << 30)

/* BYTES of poisoned memory at a multiple of ALIGN (a power of two; at least a page is given), or
 * NULL. VISIBLE: kernels may read and write all of it. TAG is kept for emu_memory_info. */
void *emu_memory_alloc(size_t bytes, size_t align, enum emu_memory_kind, uint32_t tag,
                       bool visible);
/* Zeroed, for what the machine fills in itself; poison would only be overwritten. */
void *emu_memory_alloc_zeroed(size_t bytes, size_t align, enum emu_memory_kind, bool visible);

/* Make the allocation at BASE (or the part of it at LO) visible to kernels or hide it. */
bool emu_memory_show(uint64_t base, bool visible);
bool emu_memory_show_part(uint64_t lo, uint64_t hi, bool writable);

/* What kernels of other devices may write, too. */
void emu_memory_share(uint64_t base);

/* Free the allocation of KIND that starts at BASE; false when there is none. Kernels no longer
 * find it; its bytes stay until the dispatches now running have ended. */
bool emu_memory_free(const void *base, enum emu_memory_kind);

/* Let kernels use memory that belongs to someone else. The same range may be adopted again. False
 * when it overlaps something live in another way. */
bool emu_memory_adopt(const void *base, size_t bytes);
bool emu_memory_disown(const void *base);

/* etemu_map_at and etemu_unmap. */
bool emu_memory_map_at(uint64_t addr, uint64_t bytes);
bool emu_memory_unmap(uint64_t addr);

/* The allocation holding ADDR. */
bool emu_memory_lookup(uint64_t addr, struct emu_memory_info *out);

/* Where [ADDR, ADDR+BYTES) is wholly in one allocation, or wholly outside all that we own. */
bool emu_memory_span_ok(const void *addr, size_t bytes);

/* Make BYTES at ADDR zero, giving whole pages back to the host; false when they are no part of a
 * pool's allocation, or too few to be worth it. */
bool emu_memory_zero(void *addr, size_t bytes);

/* One line about what is at or nearest to ADDR. */
void emu_memory_describe(uint64_t addr, char *out, size_t out_bytes);

/* A running dispatch keeps freed memory mapped. */
struct emu_memory_pin {
    uint64_t stamp;
    struct emu_memory_pin *prev, *next;
};
void emu_memory_pin(struct emu_memory_pin *);
void emu_memory_unpin(struct emu_memory_pin *);

/* Free everything. No dispatch may be running. */
void emu_memory_reset(void);

#endif
