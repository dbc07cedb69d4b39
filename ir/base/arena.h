/* arena.h - bump allocation for one compilation; everything is freed at once. */
#ifndef ET_ARENA_H
#define ET_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct et_arena et_arena;

/* What all arenas of a process may hold together. A program that needs more is refused where it
 * would otherwise take the machine down with it. */
#define ET_MAX_MEMORY ((size_t)4 << 30)

/* Nothing in a compiler can go on from here: says WHY on standard error, calls what et_on_give_up
 * was given, and ends the process with exit status 1. Allocates nothing. */
_Noreturn void et_give_up(const char *why);
_Noreturn void et_no_memory(void); /* for want of memory */
/* FN, or NULL, runs before the process ends like that: it may not allocate. Returns what was there
 * before. */
typedef void (*et_last_fn)(void);
et_last_fn et_on_give_up(et_last_fn fn);

/* Neither this nor what allocates from an arena fails: see et_no_memory. */
et_arena *et_arena_create(void);
void et_arena_destroy(et_arena *);

/* Zeroed, 16-byte aligned. */
void *et_alloc(et_arena *, size_t bytes);
char *et_strdup(et_arena *, const char *);
char *et_strndup(et_arena *, const char *, size_t n);
char *et_printf(et_arena *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *et_vprintf(et_arena *, const char *fmt, va_list);
size_t et_arena_bytes(const et_arena *); /* handed out so far */

/* Free everything allocated since a mark. Marks nest. */
typedef struct {
    void *block;
    size_t used, bytes;
} et_arena_mark;
et_arena_mark et_arena_set_mark(et_arena *);
void et_arena_release(et_arena *, et_arena_mark);

/* A growable array: `T *v; int nv, cv;` grown in place so that v[nv] is writable. */
#define ET_GROW(arena, v, n, cap)                                                                  \
    ((n) < (cap) ? (void)0 : (void)((v) = et_grow((arena), (v), (size_t)(n), &(cap), sizeof *(v))))
void *et_grow(et_arena *, void *old, size_t n, int *cap, size_t item);

#endif
