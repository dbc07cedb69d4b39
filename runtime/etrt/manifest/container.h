/* container.h - where in a file of code the manifest is. One row per format: container.c. */
#ifndef ETRT_CONTAINER_H
#define ETRT_CONTAINER_H

#include "runtime/etrt.h"

#include <stddef.h>

/* The text of the manifest, out of untrusted bytes. It points into FILE, or *OUT_OWNED holds it;
 * free *OUT_OWNED either way. */
etrt_status etrt_container_manifest(const void *file, size_t bytes, const char **out_text,
                                    size_t *out_bytes, char **out_owned);

#endif
