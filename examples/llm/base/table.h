/* table.h - a hash table from byte strings to numbers. */
#ifndef LLM_TABLE_H
#define LLM_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct table_entry {
    const void *key; /* NULL: free */
    size_t bytes;
    uint64_t value;
};
struct table {
    struct table_entry *entries;
    size_t size, used; /* size is a power of two */
};

/* Keys are not copied. A key that is there already keeps its value. False: out of memory. */
bool table_add(struct table *, const void *key, size_t bytes, uint64_t value);
const uint64_t *table_find(const struct table *, const void *key, size_t bytes);
void table_free(struct table *);

#endif
