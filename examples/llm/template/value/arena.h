/* arena.h - memory that is freed all at once, with a bound. */
#ifndef LLM_TEMPLATE_ARENA_H
#define LLM_TEMPLATE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
    struct jt_chunk *last;
    size_t used, limit; /* bytes handed out; 0 < limit */
    bool exhausted;     /* an allocation failed for want of memory, not because of the limit */
} jt_arena;

/* Zeroed and aligned for anything; NULL beyond the limit or when there is no memory. */
void *jt_arena_alloc(jt_arena *, size_t bytes);
void jt_arena_free(jt_arena *);

#endif
