/* relay.h - weights as a kernel has them in memory, out of how files have them. */
#ifndef ETRT_RELAY_RELAY_H
#define ETRT_RELAY_RELAY_H

#include "runtime/etrt/manifest/manifest.h"

/* sparse.c: the words of the map of MATRICES of T whose elements are DATA. Returns how many bytes
 * of them are in pieces that are zero. */
uint64_t etrt_zeros_find(const struct etrt_tensor *t, const void *data, int64_t matrices,
                         uint64_t *out);

/* The same: MATRIX packed to OUT, of D's `block` bytes; false, and nothing that counts, where it is
 * not 2:4. */
bool etrt_packed_make(const struct etrt_packed *d, const void *matrix, void *out);

/* relaid.c: a relaid-out weight; SHAPE is that in the file. How many parts it has that are
 * contiguous both in the file and in memory; and one part FROM the file's order to OUT in memory's.
 */
int64_t etrt_relaid_parts(const struct etrt_tensor *t, const int64_t *shape);
void etrt_relay(const struct etrt_tensor *t, const int64_t *shape, const void *from, void *out);

#endif
