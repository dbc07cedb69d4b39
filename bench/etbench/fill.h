/* fill.h - tensors of random numbers, the same for the same seed and name. */
#ifndef ETBENCH_FILL_H
#define ETBENCH_FILL_H

#include "runtime/etrt.h"
#include "runtime/etrt/inspect.h"

#include <stdint.h>

/* A random number, and the state after it. */
uint64_t eb_random(uint64_t *state);
/* A state for things called NAME. */
uint64_t eb_seed(uint64_t seed, const char *name);

/* COUNT elements from CENTRE - SPREAD to CENTRE + SPREAD. */
void eb_fill_floats(void *data, enum etrt_dtype, int64_t count, uint64_t seed, float centre,
                    float spread);
/* Integers LO .. LO + SPAN - 1 shuffled, and again from the start where there are more places than
 * numbers. So rows that are named by several such inputs together, slot and position, do not
 * collide before they must. */
void eb_fill_indices(int32_t *data, int64_t count, uint64_t seed, int64_t lo, int64_t span);
/* After so many bytes of a random weight the same come again; 0: never. */
int64_t eb_weight_period(enum etrt_dtype);
/* Products of such weights keep the size of what they are multiplied with; gains and biases of
 * norms are about one. COUNT: of its elements, from the first on. */
void eb_fill_weight(const struct etrt_tensor *, const int64_t *shape, uint64_t seed, void *data,
                    int64_t count);
/* Every second one zero, of matrices of 16 bits: two in every four columns. */
void eb_prune_weight(const struct etrt_tensor *, void *data, int64_t count);

#endif
