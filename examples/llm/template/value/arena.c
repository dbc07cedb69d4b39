#include "examples/llm/template/value/arena.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 16, CHUNK = 64 << 10 };

struct jt_chunk {
    struct jt_chunk *before;
    size_t used, size;
    _Alignas(ALIGN) char bytes[];
};

static bool grow(jt_arena *a, size_t bytes) {
    size_t size = bytes > CHUNK / 2 ? bytes : CHUNK;
    struct jt_chunk *c = malloc(sizeof *c + size);
    if (!c) return false;
    c->used = 0;
    c->size = size;
    /* A chunk made for one large block goes behind the one that still has room. */
    if (a->last && size != CHUNK) {
        c->before = a->last->before;
        a->last->before = c;
    } else {
        c->before = a->last;
        a->last = c;
    }
    return true;
}

void *jt_arena_alloc(jt_arena *a, size_t bytes) {
    if (bytes > a->limit - a->used) return NULL;
    bytes = (bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (bytes > a->limit - a->used) return NULL;
    struct jt_chunk *c = a->last;
    if (!c || bytes > c->size - c->used) {
        if (!grow(a, bytes)) {
            a->exhausted = true;
            return NULL;
        }
        c = a->last;
        if (bytes > c->size - c->used) c = c->before; /* the large one */
    }
    void *p = c->bytes + c->used;
    c->used += bytes;
    a->used += bytes;
    return memset(p, 0, bytes);
}

void jt_arena_free(jt_arena *a) {
    for (struct jt_chunk *c = a->last, *before; c; c = before) {
        before = c->before;
        free(c);
    }
    *a = (jt_arena){.limit = a->limit};
}
