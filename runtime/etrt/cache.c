/* Weights in host memory, and the expert cache: copies of their entries on the device.
 *
 * Each weight has a part of the cache, of the same share of its entries as all others. Before a
 * launch, while no other runs, the entries that launches have used since the last look get a
 * higher score, and those without a copy replace, a quarter of them at most, copies of clearly
 * lower scores: so a launch that misses is at most a quarter slower for it, and where routing is
 * steady nothing is copied any more. The least score is looked for among a few neighbours. An entry
 * points to bytes that are there at any time: it changes after its copy has arrived. */
#include "runtime/etrt/cache.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    ALIGN = 256,        /* of copies */
    USED = 256,         /* what a use adds to a score, */
    FADES = 5,          /* which loses one of 2^FADES of itself at every look */
    NEIGHBOURS = 64,    /* of which the least score is replaced, */
    CLEARLY = USED / 2, /* where it is less by so much, and by a quarter */
};

/* A weight in host memory. */
struct table {
    int tensor;
    int64_t entries, slots;
    uint64_t bytes, pitch;   /* of an entry; from a copy to the next */
    char *elements, *copies; /* in host memory; on the device, of SLOTS entries */
    uint64_t *words;         /* the table as the device has it: its marks, then addresses */
    int64_t *slot, *entry;   /* of an entry, or -1; of a slot */
    uint32_t *score;         /* per entry */
    uint32_t *marks;         /* per entry, as the last look found them */
    int64_t hand;            /* the slot from which on the next is looked for */
    bool changed;
};

struct etrt_cache {
    pthread_mutex_t lock;
    int running; /* launches */
    int count;
    struct table *table;
    uint32_t *marks, *marked; /* of all tables: here and on the device */
    int64_t entries;          /* of all */
    uint64_t pitch;           /* of all entries together */
    etrt_cache_info info;
};

/* ---- making ---- */

static bool make_arrays(struct table *t) {
    size_t n = (size_t)t->entries + 1;
    t->words = calloc(n, sizeof *t->words);
    t->slot = calloc(n, sizeof *t->slot);
    t->entry = calloc(n, sizeof *t->entry);
    t->score = calloc(n, sizeof *t->score);
    return t->words && t->slot && t->entry && t->score;
}

static void point(struct table *t, int64_t entry, int64_t slot) {
    const char *at =
        slot < 0 ? t->elements + (uint64_t)entry * t->bytes : t->copies + (uint64_t)slot * t->pitch;
    t->slot[entry] = slot;
    if (slot >= 0) t->entry[slot] = entry;
    t->words[1 + entry] = (uintptr_t)at;
    t->changed = true;
}

static etrt_status send_table(etrt_model *m, struct table *t) {
    if (!t->changed) return ETRT_OK;
    t->changed = false;
    return etrt_mem_write(m->device, m->weights[t->tensor], t->words,
                          (uint64_t)(t->entries + 1) * sizeof *t->words);
}

static etrt_status make_table(etrt_model *m, struct table *t, int tensor) {
    const struct etrt_tensor *of = &m->manifest.tensors[tensor];
    void *memory = NULL;
    *t = (struct table){.tensor = tensor, .entries = of->entries};
    t->bytes = (uint64_t)(of->max_bytes / of->entries);
    t->pitch = (t->bytes + ALIGN - 1) / ALIGN * ALIGN;
    if (!make_arrays(t)) return etrt_no_memory();
    etrt_status st =
        etrt_mem_alloc(m->device, ETRT_ON_HOST, (uint64_t)of->max_bytes, of->name, &memory);
    m->hosted[tensor] = t->elements = memory;
    for (int64_t e = 0; e < t->entries; e++)
        point(t, e, -1);
    return st;
}

/* A host that overcommits memory notices only when it is too late. */
static etrt_status check_host(const etrt_model *m) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t need = 0, have = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
    for (int i = 0; i < m->manifest.ntensors; i++)
        need += etrt_tensor_host(&m->manifest.tensors[i]);
    if (!have || need <= have) return ETRT_OK;
    return etrt_fail(ETRT_NO_MEMORY, "needs %llu bytes of host memory, there are %llu",
                     (unsigned long long)need, (unsigned long long)have);
}

static etrt_status make_tables(etrt_model *m, struct etrt_cache *c) {
    etrt_status st = check_host(m);
    for (int i = 0; st == ETRT_OK && i < m->manifest.ntensors; i++) {
        if (!m->manifest.tensors[i].entries) continue;
        struct table *t = &c->table[c->count++];
        st = make_table(m, t, i);
        c->entries += t->entries;
        c->pitch += (uint64_t)t->entries * t->pitch;
        c->info.host_bytes += (uint64_t)m->manifest.tensors[i].max_bytes;
    }
    return st;
}

etrt_status etrt_cache_make(etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    uint64_t bytes = 0;
    void *marks = NULL;
    bool any = false;
    for (int i = 0; i < mf->ntensors; i++)
        any |= mf->tensors[i].entries > 0;
    if (!any) return ETRT_OK;
    if (mf->devices || mf->resident)
        return etrt_fail(ETRT_UNSUPPORTED, "weights in host memory, and %s",
                         mf->devices ? "several devices" : "a kernel that stays");
    struct etrt_cache *c = m->cache = calloc(1, sizeof *c);
    if (!c) return etrt_no_memory();
    pthread_mutex_init(&c->lock, NULL);
    c->table = calloc((size_t)mf->ntensors, sizeof *c->table);
    etrt_status st = c->table ? make_tables(m, c) : etrt_no_memory();
    bytes = (uint64_t)c->entries * sizeof *c->marks;
    if (st == ETRT_OK && !(c->marks = calloc((size_t)c->entries, sizeof *c->marks)))
        st = etrt_no_memory();
    if (st == ETRT_OK) st = etrt_mem_alloc(m->device, ETRT_ON_DEVICE, bytes, "marks", &marks);
    c->marked = marks;
    if (st == ETRT_OK) st = etrt_mem_fill(m->device, marks, 0, bytes);
    for (int64_t i = 0, at = 0; st == ETRT_OK && i < c->count; at += c->table[i++].entries) {
        c->table[i].marks = c->marks + at;
        c->table[i].words[0] = (uintptr_t)(c->marked + at);
        st = send_table(m, &c->table[i]);
    }
    return st;
}

void etrt_cache_free(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    if (!c) return;
    for (int i = 0; i < c->count; i++) {
        struct table *t = &c->table[i];
        etrt_mem_free(m->device, t->copies);
        etrt_mem_free(m->device, t->elements);
        free(t->words);
        free(t->slot);
        free(t->entry);
        free(t->score);
    }
    etrt_mem_free(m->device, c->marked);
    if (etrt_device_owned(m->device)) pthread_mutex_destroy(&c->lock);
    free(c->marks);
    free(c->table);
    free(c);
    m->cache = NULL;
}

/* ---- copies ---- */

static etrt_status copy(etrt_model *m, const struct table *t, int64_t entry, int64_t slot) {
    return etrt_mem_write(m->device, t->copies + (uint64_t)slot * t->pitch,
                          t->elements + (uint64_t)entry * t->bytes, t->bytes);
}

/* SLOTS copies, of entries all over the table, for which it does not yet speak. */
static etrt_status resize(etrt_model *m, struct table *t, int64_t slots) {
    void *copies = NULL;
    for (int64_t e = 0; e < t->entries; e++)
        point(t, e, -1);
    etrt_status st = send_table(m, t);
    if (st == ETRT_OK) etrt_mem_free(m->device, t->copies);
    t->copies = NULL;
    t->slots = t->hand = 0;
    if (st != ETRT_OK || !slots) return st;
    st =
        etrt_mem_alloc(m->device, ETRT_ON_DEVICE, (uint64_t)slots * t->pitch, "the cache", &copies);
    if (st != ETRT_OK) return st;
    t->copies = copies;
    t->slots = slots;
    for (int64_t s = 0; s < slots; s++)
        point(t, s * t->entries / slots, s);
    return ETRT_OK;
}

/* Everything there is a slot for is copied, and tables say so; or there are no copies. */
static etrt_status fill(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    etrt_status st = ETRT_OK;
    for (int i = 0; i < c->count; i++) {
        struct table *t = &c->table[i];
        for (int64_t s = 0; st == ETRT_OK && s < t->slots; s++)
            st = copy(m, t, t->entry[s], s);
        if (st == ETRT_OK) st = send_table(m, t);
    }
    c->info.cache_bytes = 0;
    c->info.cached = 0;
    for (int i = 0; i < c->count; i++) {
        if (st != ETRT_OK) resize(m, &c->table[i], 0);
        c->info.cache_bytes += (uint64_t)c->table[i].slots * c->table[i].pitch;
        c->info.cached += c->table[i].slots;
    }
    return st;
}

etrt_status etrt_cache_fill(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    if (!c) return ETRT_OK;
    pthread_mutex_lock(&c->lock);
    etrt_status st = fill(m);
    pthread_mutex_unlock(&c->lock);
    return st;
}

static etrt_status set_size(etrt_model *m, uint64_t bytes) {
    struct etrt_cache *c = m->cache;
    etrt_status st = ETRT_OK;
    if (c->running)
        return etrt_fail(ETRT_INVALID, "etrt_model_cache: a launch of the model is in flight");
    if (bytes > c->pitch) bytes = c->pitch;
    for (int i = 0; i < c->count; i++) {
        struct table *t = &c->table[i];
        int64_t slots = (int64_t)((long double)bytes / c->pitch * t->entries);
        etrt_status own = resize(m, t, st == ETRT_OK ? slots : 0);
        if (st == ETRT_OK) st = own;
    }
    if (st == ETRT_OK) return fill(m);
    for (int i = 0; i < c->count; i++)
        resize(m, &c->table[i], 0);
    c->info.cache_bytes = 0;
    c->info.cached = 0;
    return st;
}

etrt_status etrt_model_cache(etrt_model *m, uint64_t bytes) {
    if (!m) return etrt_fail(ETRT_INVALID, "etrt_model_cache: no model");
    etrt_status st = etrt_device_check(m->device);
    if (st != ETRT_OK || !m->cache) return st;
    pthread_mutex_lock(&m->cache->lock);
    st = set_size(m, bytes);
    pthread_mutex_unlock(&m->cache->lock);
    return st;
}

etrt_status etrt_model_cached(etrt_model *m, etrt_cache_info *out) {
    if (!m || !out) return etrt_fail(ETRT_INVALID, "etrt_model_cached: NULL argument");
    *out = (etrt_cache_info){0};
    if (!m->cache) return ETRT_OK;
    pthread_mutex_lock(&m->cache->lock);
    *out = m->cache->info;
    out->entries = m->cache->entries;
    pthread_mutex_unlock(&m->cache->lock);
    return ETRT_OK;
}

/* ---- looking ---- */

/* The slot of the least score among the next neighbours. */
static int64_t least(struct table *t) {
    int64_t best = -1;
    for (int64_t i = 0; i < NEIGHBOURS && i < t->slots; i++) {
        int64_t s = (t->hand + i) % t->slots;
        if (best < 0 || t->score[t->entry[s]] < t->score[t->entry[best]]) best = s;
    }
    t->hand = (t->hand + NEIGHBOURS) % t->slots;
    return best;
}

static etrt_status replace(etrt_model *m, struct table *t, int64_t entry, bool *out_done) {
    int64_t slot = least(t), old = t->entry[slot];
    uint64_t high = t->score[entry], low = t->score[old];
    *out_done = high >= low + CLEARLY && high >= low + low / 4;
    if (!*out_done) return ETRT_OK;
    point(t, old, -1);
    etrt_status st = send_table(m, t); /* not before this is the copy written over */
    if (st == ETRT_OK) st = copy(m, t, entry, slot);
    if (st == ETRT_OK) point(t, entry, slot);
    return st;
}

static etrt_status look_at(etrt_model *m, struct table *t) {
    struct etrt_cache *c = m->cache;
    etrt_status st = ETRT_OK;
    int64_t missed = 0;
    for (int64_t e = 0; e < t->entries; e++) {
        t->score[e] -= t->score[e] >> FADES;
        if (!t->marks[e]) continue;
        t->score[e] += USED;
        c->info.used++;
        c->info.hits += t->slot[e] >= 0;
        missed += t->slot[e] < 0;
    }
    int64_t most = t->slots ? (missed + 3) / 4 : 0;
    for (int64_t e = 0; st == ETRT_OK && most && e < t->entries; e++) {
        bool done;
        if (!t->marks[e] || t->slot[e] >= 0) continue;
        st = replace(m, t, e, &done);
        most -= done;
        c->info.copied_bytes += done ? t->bytes : 0;
    }
    if (st == ETRT_OK) st = send_table(m, t);
    return st;
}

static etrt_status look(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    uint64_t bytes = (uint64_t)c->entries * sizeof *c->marks;
    etrt_status st = etrt_mem_read(m->device, c->marks, c->marked, bytes);
    if (st == ETRT_OK) st = etrt_mem_fill(m->device, c->marked, 0, bytes);
    for (int i = 0; st == ETRT_OK && i < c->count; i++)
        st = look_at(m, &c->table[i]);
    return st;
}

etrt_status etrt_cache_begin(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    if (!c) return ETRT_OK;
    pthread_mutex_lock(&c->lock);
    bool choice = c->info.cached > 0 && c->info.cached < c->entries;
    etrt_status st = c->running || !choice ? ETRT_OK : look(m);
    c->running += st == ETRT_OK;
    pthread_mutex_unlock(&c->lock);
    return st;
}

void etrt_cache_end(etrt_model *m) {
    struct etrt_cache *c = m->cache;
    if (!c) return;
    pthread_mutex_lock(&c->lock);
    c->running--;
    pthread_mutex_unlock(&c->lock);
}
