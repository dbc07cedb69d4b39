/* snapshots.h - copies of what a model's layers keep of a text: which row has whose.
 *
 * A row holds what was kept after so many tokens, and is known by all of them, which are compared:
 * a text never goes on from another one's. When a row is needed the one that was of use last
 * longest ago is given. Nothing here knows of a device, of threads, or of sequences. */
#ifndef LLM_SNAPSHOTS_H
#define LLM_SNAPSHOTS_H

#include <stdbool.h>
#include <stdint.h>

struct snapshots;

/* COUNT rows, numbered from 0, that hold nothing. NULL: no memory. */
struct snapshots *snapshots_make(int64_t count);
void snapshots_free(struct snapshots *); /* NULL is fine */
/* No row holds anything. */
void snapshots_clear(struct snapshots *);

/* The row with the longest beginning of these tokens, of at most MOST; *OUT_N: how many it is of.
 * -1, and 0: there is none. The first does not count as a use. */
int32_t snapshots_look(const struct snapshots *, const int32_t *ids, int64_t most, int64_t *out_n);
int32_t snapshots_find(struct snapshots *, const int32_t *ids, int64_t most, int64_t *out_n);
/* How many of these N tokens some row's text begins with. */
int64_t snapshots_common(const struct snapshots *, const int32_t *ids, int64_t n);

/* What somebody put last. */
struct snapshot {
    int32_t row;
    uint64_t number; /* of the put; 0: nothing was */
};
/* A row for what is kept after these N tokens, which it holds from now on; -1: one holds it
 * already, or there is no memory. INSTEAD (may be NULL): what the caller put last is given up for
 * it, if it is still there; and becomes this. */
int32_t snapshots_put(struct snapshots *, const int32_t *ids, int64_t n, struct snapshot *instead);
/* The row holds nothing. */
void snapshots_drop(struct snapshots *, int32_t row);

#endif
