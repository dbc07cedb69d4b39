/* device.h - a timeline out of what a kernel compiled with --profile-kernel recorded. */
#ifndef BENCH_TIMELINE_DEVICE_H
#define BENCH_TIMELINE_DEVICE_H

#include "passes/timeline/timeline.h"
#include "runtime/etrt.h"

/* The last launch of a session of MODEL on DEVICE whose tracing is on (etrt_session_trace). Names
 * come from the manifest; dependencies are not in it: timeline_link adds them when the program is
 * at hand. NULL with a message in ERR. */
timeline *timeline_of_launch(const etrt_device *, const etrt_model *, etrt_session *,
                             const char *title, char err[TIMELINE_ERR]);

#endif
