/* table.h - things found by their names. */
#ifndef ET_TABLE_H
#define ET_TABLE_H

#include "ir/base/arena.h"
#include <stdint.h>

/* Zeroed, it is empty. Every entry starts with `const char *name`, which says where it is. */
typedef struct {
    void **slot; /* open addressing; NULL: free */
    int n, cap;  /* cap: a power of two, at least twice n */
} et_table;
void *et_table_find(const et_table *, const char *name); /* NULL: there is none */
void et_table_add(et_arena *, et_table *, void *entry);  /* whose name is not there yet */

/* FNV-1a: H, ET_HASH to begin with, with so many bytes more. It tells apart what differs by chance,
 * not what somebody made alike. */
#define ET_HASH UINT64_C(0xcbf29ce484222325)
uint64_t et_hash(uint64_t h, const void *data, size_t bytes);

#endif
