/* Pages, by what lies in them. */
#include "examples/llm/engine/kept/pages.h"
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 256 }; /* pages behind one page that are compared for a beginning */

struct page {
    int64_t holders;
    bool known;                    /* its tokens are in IDS */
    int32_t before;                /* the page it follows, which is known too; -1: none */
    int32_t newer, older;          /* of pages that no sequence holds */
    int32_t next;                  /* in its chain of the hash table */
    int32_t child;                 /* one that follows this page */
    int32_t sibling, last_sibling; /* others that follow the same page */
};

struct pages {
    int64_t count, size, nfree;
    struct page *all;
    int32_t *ids;           /* [count, size] */
    int32_t *chains;        /* hash table, a power of two */
    uint64_t mask;          /* its size less 1 */
    int32_t oldest, newest; /* of pages that no sequence holds */
    int32_t child;          /* a page that sequences begin with */
};

/* ---- lists ---- */

static void unlink_free(struct pages *p, int32_t i) {
    struct page *g = &p->all[i];
    *(g->older >= 0 ? &p->all[g->older].newer : &p->oldest) = g->newer;
    *(g->newer >= 0 ? &p->all[g->newer].older : &p->newest) = g->older;
    p->nfree--;
}

/* What is not known is of no use to anybody: it goes before what is. */
static void link_free(struct pages *p, int32_t i) {
    struct page *g = &p->all[i];
    g->older = g->known ? p->newest : -1;
    g->newer = g->known ? -1 : p->oldest;
    *(g->older >= 0 ? &p->all[g->older].newer : &p->oldest) = i;
    *(g->newer >= 0 ? &p->all[g->newer].older : &p->newest) = i;
    p->nfree++;
}

static int32_t *first_behind(struct pages *p, int32_t before) {
    return before < 0 ? &p->child : &p->all[before].child;
}

static int32_t *chain(const struct pages *p, int32_t before, const int32_t *ids) {
    uint64_t h = (uint64_t)(before + 2) * 0x9e3779b97f4a7c15u;
    for (int64_t i = 0; i < p->size; i++)
        h = ((h ^ (uint32_t)ids[i]) * 0xff51afd7ed558ccdu) ^ (h >> 29);
    return &p->chains[(h ^ (h >> 32)) & p->mask];
}

static int32_t *ids_of(const struct pages *p, int32_t i) {
    return p->ids + i * p->size;
}

/* ---- what is known ---- */

/* What lies in the page is about to be written over. Nothing that followed it could be found any
 * more; as a rule that went before. */
static void forget(struct pages *p, int32_t i) {
    struct page *g = &p->all[i];
    if (!g->known) return;
    while (g->child >= 0)
        forget(p, g->child);
    int32_t *at = chain(p, g->before, ids_of(p, i));
    while (*at != i)
        at = &p->all[*at].next;
    *at = g->next;
    *(g->last_sibling >= 0 ? &p->all[g->last_sibling].sibling : first_behind(p, g->before)) =
        g->sibling;
    if (g->sibling >= 0) p->all[g->sibling].last_sibling = g->last_sibling;
    g->known = false;
}

static void learn(struct pages *p, int32_t i, int32_t before, const int32_t *ids) {
    struct page *g = &p->all[i];
    int32_t *at = chain(p, before, ids), *first = first_behind(p, before);
    memcpy(ids_of(p, i), ids, (size_t)p->size * sizeof *ids);
    g->known = true;
    g->before = before;
    g->next = *at;
    *at = i;
    g->child = g->last_sibling = -1;
    g->sibling = *first;
    if (g->sibling >= 0) p->all[g->sibling].last_sibling = i;
    *first = i;
}

static void hold(struct pages *p, int32_t i) {
    if (p->all[i].holders++ == 0) unlink_free(p, i);
}

/* ---- the interface ---- */

void pages_clear(struct pages *p) {
    p->nfree = 0;
    p->oldest = p->newest = p->child = -1;
    for (uint64_t i = 0; i <= p->mask; i++)
        p->chains[i] = -1;
    for (int32_t i = 0; i < p->count; i++) {
        p->all[i] = (struct page){.child = -1};
        link_free(p, i);
    }
}

struct pages *pages_make(int64_t count, int64_t size) {
    if (count < 1 || size < 1 || count > INT32_MAX / 2 || size > INT32_MAX / 4) return NULL;
    struct pages *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->count = count;
    p->size = size;
    uint64_t chains = 1;
    while (chains < (uint64_t)count)
        chains *= 2;
    p->mask = chains - 1;
    p->all = calloc((size_t)count, sizeof *p->all);
    p->ids = calloc((size_t)count, (size_t)size * sizeof *p->ids);
    p->chains = calloc((size_t)chains, sizeof *p->chains);
    if (p->all && p->ids && p->chains) {
        pages_clear(p);
        return p;
    }
    pages_free(p);
    return NULL;
}

void pages_free(struct pages *p) {
    if (!p) return;
    free(p->all);
    free(p->ids);
    free(p->chains);
    free(p);
}

int64_t pages_free_count(const struct pages *p) {
    return p->nfree;
}

bool pages_is_held(const struct pages *p, int32_t page) {
    return p->all[page].holders > 0;
}

int32_t pages_take(struct pages *p) {
    int32_t i = p->oldest;
    if (i < 0) return -1;
    forget(p, i);
    hold(p, i);
    return i;
}

void pages_drop(struct pages *p, int32_t page) {
    if (--p->all[page].holders == 0) link_free(p, page);
}

void pages_drop_all(struct pages *p, const int32_t *list, int64_t n) {
    while (n-- > 0)
        pages_drop(p, list[n]);
}

int32_t pages_look(const struct pages *p, int32_t before, const int32_t *ids) {
    int32_t i = *chain(p, before, ids);
    while (i >= 0 && (p->all[i].before != before ||
                      memcmp(ids_of(p, i), ids, (size_t)p->size * sizeof *ids) != 0))
        i = p->all[i].next;
    return i;
}

int32_t pages_find(struct pages *p, int32_t before, const int32_t *ids) {
    int32_t i = pages_look(p, before, ids);
    if (i >= 0) hold(p, i);
    return i;
}

int32_t pages_find_like(struct pages *p, int32_t before, const int32_t *ids, int64_t n,
                        int64_t *out_common) {
    int32_t best = -1, i = *first_behind(p, before);
    *out_common = 0;
    for (int looked = 0; i >= 0 && looked < LOOKED_AT; i = p->all[i].sibling, looked++) {
        const int32_t *its = ids_of(p, i);
        int64_t common = 0;
        while (common < n && its[common] == ids[common])
            common++;
        if (common <= *out_common) continue;
        *out_common = common;
        best = i;
    }
    if (best >= 0) hold(p, best);
    return best;
}

int32_t pages_keep(struct pages *p, int32_t page, int32_t before, const int32_t *ids) {
    int32_t same = pages_find(p, before, ids);
    if (same < 0) {
        learn(p, page, before, ids);
        return page;
    }
    pages_drop(p, page);
    return same;
}
