/* cache.h - weights in host memory, and the cache of their entries on the device (etrt_abi.h). */
#ifndef ETRT_CACHE_H
#define ETRT_CACHE_H

#include "runtime/etrt/internal.h"

/* The memory of a model's weights that are in host memory, and their tables, in which all entries
 * are there; nothing for a model that has none. Weights are freed by the model. */
etrt_status etrt_cache_make(etrt_model *);
void etrt_cache_free(etrt_model *);
/* Elements of weights have been written, which copies on the device are to have, too. */
etrt_status etrt_cache_fill(etrt_model *);
/* A launch of the model begins: what is used more has its copies in the cache from here on, unless
 * another launch runs. It has ended, or has not begun after all. */
etrt_status etrt_cache_begin(etrt_model *);
void etrt_cache_end(etrt_model *);

#endif
