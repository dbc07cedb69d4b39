/* apart.h - sends that nobody waits for (apart.c). */
#ifndef ET_APART_H
#define ET_APART_H

#include "passes/pipeline/pipeline.h"

/* Which tasks leave it to waves of their own to send what they store for other devices,
 * and the order of their tiles then. By the schedule, after all else. */
void et_send_apart(const et_pipeline *);

#endif
