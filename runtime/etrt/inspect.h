/* inspect.h - what tools of this tree may see of libetrt's objects beyond etrt.h. No part of the
 * library's interface: its symbols are hidden in libetrt.a and libetrt.so. */
#ifndef ETRT_INSPECT_H
#define ETRT_INSPECT_H

#include "runtime/etrt/manifest/manifest.h"

#include <stdbool.h>

const struct etrt_manifest *etrt_model_manifest(const etrt_model *);
/* Workgroups the device can hold at once. */
uint32_t etrt_device_cus(const etrt_device *);
/* Does the clock that kernels read count instructions? */
bool etrt_device_counted(const etrt_device *);

/* describe.c: as etrt_model_memory, on a device of CUS. */
etrt_status etrt_manifest_memory(const struct etrt_manifest *, const int64_t *dims, uint32_t cus,
                                 etrt_memory *out);
/* Shape and size of a tensor of the session's model at its dims. */
etrt_status etrt_session_shape(const etrt_session *, const struct etrt_tensor *,
                               int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes);
/* Copy device memory as it is, of tensor INDEX or with index ETRT_WORKSPACE of the workspace, BYTES
 * from OFFSET on. */
enum { ETRT_WORKSPACE = -1 };
etrt_status etrt_session_peek(const etrt_session *, int index, uint64_t offset, void *out,
                              uint64_t bytes);

/* Has weight INDEX been given, to this kernel of the model or one that it shares it with? */
bool etrt_model_given(const etrt_model *, int index);
/* Copy BYTES to weight INDEX, which has no map of what is zero, from OFFSET on, without a look at
 * what they are. The weight is given with its last byte. */
etrt_status etrt_model_poke(etrt_model *, int index, uint64_t offset, const void *data,
                            uint64_t bytes);

/* Text for people out of what an aborted launch left. EVENTS (host copies) may be NULL. */
struct etrt_report;
struct etrt_control;
etrt_status etrt_report_wait(const etrt_device *, const struct etrt_manifest *,
                             const struct etrt_report *, const uint32_t *events,
                             const struct etrt_control *, uint32_t workgroups, double wait_limit);

/* Has the step that MODEL (a number, from 0) was given begun? And on which workgroups. */
bool etrt_residence_begun(etrt_residence *, int model, struct etrt_part *out);
/* Of a model with kernels of its own: was its last step one of which a CU holds two, and how many
 * were. */
bool etrt_residence_halved(etrt_residence *, int model, int64_t *out_steps);

#endif
