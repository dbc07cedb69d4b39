/* line.h - one cache: lines of 128 bytes with masks of valid and dirty bytes, and room for as
 * many as are asked for. The caller holds the lock, but for emu_cache_drop_all. */
#ifndef EMU_LINE_H
#define EMU_LINE_H

#include "runtime/emu/emu.h"

#include <pthread.h>
#include <string.h>

enum { EMU_LINE = 128 };

typedef unsigned __int128 emu_bytes; /* a bit per byte of a line */

struct emu_line {
    uint64_t number;     /* address / EMU_LINE */
    uint64_t generation; /* of the cache when it was last looked at */
    emu_bytes valid, dirty;
    bool listed;        /* among the cache's dirty lines, and then: */
    const void *writer; /* NULL: several */
    uint64_t written;   /* stamp of the first store */
    uint8_t data[EMU_LINE];
};

struct emu_cache {
    pthread_mutex_t lock;
    uint64_t generation; /* lines of an older one hold nothing but their dirty bytes */
    struct emu_line **chunks;
    uint32_t nchunks, chunks_room;
    uint32_t count, limit; /* lines; limit 0: none */
    uint32_t *slots, nslots;
    uint32_t *dirty, ndirty, dirty_room;
    uint32_t last;          /* line found last, plus one */
    struct emu_cache *next; /* nearer to memory; NULL: memory itself */
    bool may_be_dirty;
    /* Caches that are to keep the old bytes when this one writes back, itself among them. */
    struct emu_cache *peers;
    uint32_t npeers;
};

bool emu_cache_create(struct emu_cache *, struct emu_cache *next, uint64_t limit_bytes);
void emu_cache_destroy(struct emu_cache *);

/* The line, or NULL; made when there is room; made in any case, after writing back and emptying the
 * whole cache if need be. Valid until the next line is made. */
struct emu_line *emu_cache_find(struct emu_cache *, uint64_t number);
struct emu_line *emu_cache_try(struct emu_cache *, uint64_t number);
struct emu_line *emu_cache_get(struct emu_cache *, uint64_t number);

/* MASK of the line just found is now newer than memory; WRITER wrote it at time STAMP. */
void emu_cache_make_dirty(struct emu_cache *, struct emu_line *, emu_bytes mask, const void *writer,
                          uint64_t stamp);
/* Before MASK of a line changes in memory: peers of WRITER keep what is there. */
void emu_cache_leave_old(const struct emu_cache *writer, uint64_t number, emu_bytes mask);
void emu_cache_write_line(const struct emu_cache *, struct emu_line *, emu_bytes mask);
/* Every line; or, BY given, those that BY or several wrote, or that were written by time SEEN. */
void emu_cache_write_lines(struct emu_cache *, const void *by, uint64_t seen);
void emu_cache_empty(struct emu_cache *);
/* All but dirty bytes is forgotten. Takes the lock. */
void emu_cache_drop_all(struct emu_cache *);

static inline emu_bytes emu_bytes_mask(uint32_t from, uint32_t bytes) {
    return (bytes < EMU_LINE ? ((emu_bytes)1 << bytes) - 1 : ~(emu_bytes)0) << from;
}

/* Between lines, or a line and memory: the bytes of MASK, in the largest pieces they allow, so that
 * a dword is moved as one. */
void emu_bytes_copy(uint8_t *to, const uint8_t *from, emu_bytes mask);

#endif
