/* group.h - several devices as one (group.c). All of this holds of any device, which is a group of
 * one. */
#ifndef ETRT_GROUP_H
#define ETRT_GROUP_H

#include "runtime/etrt/driver/driver.h"

extern const struct etrt_driver etrt_group_driver;

/* Does SPEC name several devices: "cuda:0,1", "emu:gfx942:agents=2"? */
bool etrt_is_group(const char *spec);

int etrt_members(const etrt_device *);
etrt_device *etrt_member(etrt_device *, int i);
/* Where member I has what the group has at MEMORY; NULL where that is none of its allocations. */
void *etrt_member_memory(const etrt_device *, int i, const void *memory);
/* The member that a launch that failed did so on first. */
int etrt_member_failed(const etrt_device *);
/* A member that did not end when another had failed, and is not waited for any more; -1: none. */
int etrt_member_lost(const etrt_device *);
/* How long waits of the last launch may have taken, where LIMIT bounds them: less where no device
 * got on, and they were asked what they wait for. */
double etrt_waited(const etrt_device *, double limit);

#endif
