/* pages.h - the pages in which a kernel keeps keys and values: who has them, and what lies in those
 * that nobody has.
 *
 * A page holds so many positions of a sequence. It may be of several sequences that begin alike:
 * each holds it. What lies in a page is known by its tokens and by the page before it, both
 * compared and not only hashed, so two texts never share what is not the same. A page that nobody
 * holds keeps what lies in it until it is taken for something else, first the one that was dropped
 * first.
 *
 * A sequence holds all pages from its beginning on, and drops them from its end (pages_drop_all):
 * so a page goes before the one that it follows. Nothing here knows of a device, of threads, or of
 * sequences. */
#ifndef LLM_PAGES_H
#define LLM_PAGES_H

#include <stdbool.h>
#include <stdint.h>

struct pages;

/* COUNT pages, numbered from 0, of SIZE positions each. NULL: no memory. */
struct pages *pages_make(int64_t count, int64_t size);
void pages_free(struct pages *); /* NULL is fine */
/* Empty the pool: all pages are free and none is cached. */
void pages_clear(struct pages *);

/* How many pages no sequence holds; they can be taken, whatever they cache. */
int64_t pages_free_count(const struct pages *);

/* A page for the caller alone, in which nothing lies that is known; -1: all are held. */
int32_t pages_take(struct pages *);
/* Held once less. */
void pages_drop(struct pages *, int32_t page);
/* The N pages of a sequence, from its last. */
void pages_drop_all(struct pages *, const int32_t *list, int64_t n);
bool pages_is_held(const struct pages *, int32_t page);

/* The page that has just these SIZE tokens and follows the page BEFORE (-1: a sequence begins with
 * it); -1: there is none. BEFORE is held by the caller, and known itself. The first does not hold
 * the page for the caller, the second does. */
int32_t pages_look(const struct pages *, int32_t before, const int32_t *ids);
int32_t pages_find(struct pages *, int32_t before, const int32_t *ids);
/* The page behind BEFORE that begins with most of these N tokens, N at most SIZE, and how many they
 * are; held for the caller; -1: none has even the first. Of very many pages it looks at some. */
int32_t pages_find_like(struct pages *, int32_t before, const int32_t *ids, int64_t n,
                        int64_t *out_common);

/* These SIZE tokens lie in PAGE, behind BEFORE: from now on others find it. PAGE was taken by the
 * caller and is not known yet. Returns it, or the page that had the same already, held for the
 * caller in PAGE's place, which is dropped. */
int32_t pages_keep(struct pages *, int32_t page, int32_t before, const int32_t *ids);

#endif
