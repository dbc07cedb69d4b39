/* turns.h - launches of several kernels in one process: side by side, each on the part of the
 * device that libetrt's plan gives it (etrt_residence_open_each), or one after the other. Each is
 * made to fill the device, and two that wait for each other's workgroups would wait for ever. */
#ifndef LLM_ENGINE_TURNS_H
#define LLM_ENGINE_TURNS_H

#include "etrt.h"

/* Before the device of a session that is to join is opened. */
void turns_begin(void);
/* The launches of a session, which has none now, are among them from here on, or no more. They wait
 * until no other launch runs. Where not all sessions can share the device, all take turns. */
void turns_join(etrt_session *);
void turns_leave(etrt_session *);
/* Do they share it? */
int turns_are_shared(void);

/* Around a launch of a session that has joined: waits until all that came before have had their
 * turn, where there are turns. */
void turns_take(void);
void turns_give(void);

#endif
