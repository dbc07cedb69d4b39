#include "ir/base/arena.h"
#include "ir/base/diag.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct block {
    struct block *next;
    size_t used, size;
    _Alignas(16) char data[];
};

struct et_arena {
    struct block *head;
    size_t bytes;
    int marks; /* while there are any, blocks are kept in order of allocation */
};

enum { BLOCK = 1 << 16 };

static size_t in_use; /* bytes of blocks of all arenas; atomic */
static et_last_fn last_words;

et_last_fn et_on_give_up(et_last_fn fn) {
    return __atomic_exchange_n(&last_words, fn, __ATOMIC_ACQ_REL);
}

static void say(const char *text) {
    ssize_t ignored = write(STDERR_FILENO, text, strlen(text));
    (void)ignored;
}

/* Called where anything may be half done, in LLVM too: nothing is freed or flushed. */
_Noreturn void et_give_up(const char *why) {
    et_last_fn fn = et_on_give_up(NULL);
    say("error: ");
    say(why);
    say("\n");
    if (fn) fn();
    _exit(1);
}

_Noreturn void et_no_memory(void) {
    et_give_up("out of memory");
}

static struct block *take_block(size_t size) {
    struct block *b = NULL;
    size_t all = __atomic_add_fetch(&in_use, sizeof *b + size, __ATOMIC_RELAXED);
    if (all > ET_MAX_MEMORY || size > ET_MAX_MEMORY)
        et_give_up("out of memory: the program takes more than 4 GiB to compile");
    b = malloc(sizeof *b + size);
    if (!b) et_no_memory();
    b->used = 0;
    b->size = size;
    return b;
}

static void give_block(struct block *b) {
    __atomic_sub_fetch(&in_use, sizeof *b + b->size, __ATOMIC_RELAXED);
    free(b);
}

et_arena *et_arena_create(void) {
    et_arena *a = calloc(1, sizeof *a);
    if (!a) et_no_memory();
    return a;
}

void et_arena_destroy(et_arena *a) {
    if (!a) return;
    for (struct block *b = a->head, *next; b; b = next) {
        next = b->next;
        give_block(b);
    }
    free(a);
}

void *et_alloc(et_arena *a, size_t bytes) {
    if (bytes > SIZE_MAX / 2) et_no_memory();
    bytes = (bytes + 15) & ~(size_t)15;
    if (!a->head || a->head->size - a->head->used < bytes) {
        size_t size = bytes > BLOCK ? bytes : BLOCK;
        struct block *b = take_block(size);
        if (bytes > BLOCK && a->head && !a->marks) { /* keep filling the block in use */
            b->next = a->head->next;
            a->head->next = b;
            b->used = bytes;
            a->bytes += bytes;
            return memset(b->data, 0, bytes);
        }
        b->next = a->head;
        a->head = b;
    }
    void *p = a->head->data + a->head->used;
    a->head->used += bytes;
    a->bytes += bytes;
    return memset(p, 0, bytes);
}

char *et_strndup(et_arena *a, const char *s, size_t n) {
    char *p = et_alloc(a, n + 1);
    memcpy(p, s, n);
    return p;
}

char *et_strdup(et_arena *a, const char *s) {
    return et_strndup(a, s, strlen(s));
}

char *et_vprintf(et_arena *a, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n < 0) et_bug("bad format");
    char *p = et_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *et_printf(et_arena *a, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *p = et_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

et_arena_mark et_arena_set_mark(et_arena *a) {
    a->marks++;
    return (et_arena_mark){a->head, a->head ? a->head->used : 0, a->bytes};
}

void et_arena_release(et_arena *a, et_arena_mark m) {
    a->marks--;
    while (a->head != m.block) {
        struct block *next = a->head->next;
        give_block(a->head);
        a->head = next;
    }
    if (a->head) a->head->used = m.used;
    a->bytes = m.bytes;
}

size_t et_arena_bytes(const et_arena *a) {
    return a->bytes;
}

void *et_grow(et_arena *a, void *old, size_t n, int *cap, size_t item) {
    if (*cap > INT_MAX / 2) et_no_memory();
    int want = *cap ? *cap * 2 : 8;
    void *p = et_alloc(a, (size_t)want * item);
    if (n) memcpy(p, old, n * item);
    *cap = want;
    return p;
}
