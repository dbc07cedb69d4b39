/* driver.h - the interface of a device.
 *
 * A driver is a struct of functions (struct etrt_driver) and a device that begins with struct
 * etrt_device. Nothing outside a driver's folder knows more of it than this. README.md goes through
 * the functions one by one, for writers of another. */
#ifndef ETRT_DRIVER_H
#define ETRT_DRIVER_H

#include "runtime/etrt.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct etrt_driver;

/* What a device can do beyond holding memory and loading code. */
enum etrt_can {
    ETRT_CAN_COMPUTE = 1, /* launches run: outputs, reports, traces and faults are a kernel's */
    ETRT_CAN_COUNT = 2,   /* its statistics count instructions */
    ETRT_CAN_TIME = 4,    /* launches are timed when that is asked for */
    ETRT_CAN_LOCATE = 8,  /* a fault tells the address */
    ETRT_CAN_REOPEN = 16, /* after a fault the process can open it again */
};

/* What every driver's device begins with. Filled in by open, or where open leaves ISA empty by the
 * first successful accept, and constant from then on except for the atomics and TIMING. */
struct etrt_device {
    const struct etrt_driver *driver;
    pid_t owner; /* set by device.c: the process that opened it, which alone has its threads */
    char name[256];
    char isa[64];          /* "" where code of any target is taken, or while none has been */
    unsigned can;          /* of enum etrt_can */
    bool emulated;         /* launches may take hours */
    bool counted;          /* the clock kernels read counts instructions */
    uint32_t cus;          /* workgroups that can be resident at once */
    uint32_t dies;         /* 1 .. ETRT_MAX_DIES; 1 where that is not known */
    uint32_t lds_bytes;    /* per workgroup at most */
    uint64_t memory_bytes; /* of the device's own memory; 0: not known */
    uint64_t realtime_hz;  /* of the clock kernels read */
    bool timing;           /* launches are to be timed */
    _Atomic uint64_t launches;
    _Atomic bool broken; /* after a fault: nothing works until the device is opened again */
    _Atomic(struct etrt_residence *) resident; /* the kernel that stays there, or NULL */
    _Atomic(etrt_device *) chosen; /* the device that "auto" has become, closed with it; or NULL */
};

enum etrt_place {
    ETRT_ON_DEVICE,  /* the device's own memory: copies reach it */
    ETRT_ON_HOST,    /* host memory that the device reads and writes coherently */
    ETRT_KERNARG,    /* kernel arguments, written by the host */
    ETRT_FROM_PEERS, /* the device's own memory, which kernels of others write while it reads */
};

enum etrt_direction { ETRT_TO_DEVICE, ETRT_FROM_DEVICE, ETRT_ON_IT };

/* A loaded kernel. What the driver does not know stays 0. */
struct etrt_code {
    void *loaded;              /* the driver's own */
    uint64_t object;           /* device address of the kernel, as captures tell it */
    uint64_t load_lo, load_hi; /* device addresses the code takes */
    uint32_t kernarg_bytes, group_bytes, private_bytes;
};

struct etrt_dispatch {
    const struct etrt_code *code;
    void *kernarg;
    uint32_t kernarg_bytes;
    uint32_t workgroups, workgroup_size;
    uint32_t group_bytes, private_bytes;
    bool resident;     /* all its workgroups must be, at once: they wait for each other */
    double wait_limit; /* seconds that any wait in it may take */
    /* Of a launch that several devices run: where addresses are among the arguments, and where
     * those say which device it is and, after that, where each one's INBOX is. */
    const uint32_t *pointers;
    int npointers;
    uint32_t devices_at;
    void *inbox;
    uint64_t events_bytes; /* and how much there is of `events`, which change while it gets on */
};

/* Which of a die's compute units a hardware register named; -1: not known, or there are no engines
 * and arrays. Numbers may have holes. */
struct etrt_unit {
    int engine, array, cu;
};

/* One launch at a time, from its start to its end; the driver's own. */
struct etrt_ticket;

/* Functions that fail leave the reason in the last error; the callers put before it what they were
 * about. Those marked optional may be NULL. */
struct etrt_driver {
    /* What device specifications begin with, before a ':' and options, NULL at the end. */
    const char *const *specs;

    etrt_status (*open)(const char *spec, etrt_device **out);
    void (*close)(etrt_device *);
    /* Optional: what can be opened, from INDEX 0 on: ETRT_RANGE past the last. */
    etrt_status (*list)(int index, etrt_device_info *out);
    /* Can code compiled for TARGET run here? Asked before every load. A device that may still be
     * any of several becomes one that can. May be called by several threads. */
    etrt_status (*accept)(etrt_device *, const char *target);

    etrt_status (*alloc)(etrt_device *, enum etrt_place, uint64_t bytes, void **out);
    void (*free)(etrt_device *, void *);
    /* Done when it returns. On the device itself the ranges do not overlap. */
    etrt_status (*copy)(etrt_device *, void *to, const void *from, uint64_t bytes,
                        enum etrt_direction);
    /* Optional, both or none: a copy to the device whose bytes may arrive later, before a launch
     * begins at the latest, FROM is free again when it returns; and wait until all that was sent
     * has arrived. */
    etrt_status (*send)(etrt_device *, void *to, const void *from, uint64_t bytes);
    etrt_status (*settle)(etrt_device *);
    /* Optional: false where it cannot, and copies do it. */
    bool (*fill)(etrt_device *, void *device, uint8_t byte, uint64_t bytes);
    /* Optional: kernels of all N devices, of this driver and with this one among them, may use
     * MEMORY, which was allocated for that, at its address. */
    etrt_status (*share)(etrt_device *, void *memory, etrt_device *const *all, int n);
    /* Optional, for replays: device memory at exactly this address, false where that cannot be. */
    bool (*map_at)(etrt_device *, uint64_t address, uint64_t bytes);
    void (*unmap_at)(etrt_device *, uint64_t address);

    /* IMAGE is a whole file of code and lives until unload, which comes after failures too. */
    etrt_status (*load)(etrt_device *, const void *image, size_t bytes, const char *kernel,
                        struct etrt_code *);
    void (*unload)(etrt_device *, struct etrt_code *);
    /* Another kernel of the file that CODE was loaded from, for as long as that is. */
    etrt_status (*find)(etrt_device *, const struct etrt_code *code, const char *kernel,
                        struct etrt_code *out);

    etrt_status (*ticket_make)(etrt_device *, struct etrt_ticket **out);
    void (*ticket_free)(etrt_device *, struct etrt_ticket *);
    /* Start a launch of COUNT kernels, each when the one before has ended, and the first when the
     * device's last launch has. The array is the caller's until the launch has ended. */
    etrt_status (*launch)(etrt_device *, const struct etrt_dispatch *, int count,
                          struct etrt_ticket *);
    /* Wait for up to SECONDS, 0 to a twentieth; true when the launch has ended or the device is
     * broken. *OUT_ENDED changes whenever any launch of the device ends. */
    bool (*wait)(etrt_device *, struct etrt_ticket *, double seconds, uint64_t *out_ended);
    /* The device is broken: leave what is known of it in the last error. */
    void (*fault)(etrt_device *);
    /* How long the device worked on the launch that ended; only while timing is on. */
    etrt_status (*seconds)(etrt_device *, const struct etrt_ticket *, double *out);
    /* Follow DEVICE->timing. Optional where launches cannot be timed. */
    etrt_status (*timing)(etrt_device *);
    /* Optional: all but the number of launches. */
    void (*stats)(const etrt_device *, etrt_stats *out);
    /* Optional: read the id of the hardware that a kernel for TARGET left in a report or a trace.
     */
    struct etrt_unit (*unit)(const char *target, uint32_t hw_id);
};

/* Each in a folder of its own; "auto", one level up, opens one of the others. */
extern const struct etrt_driver etrt_hsa_driver, etrt_cuda_driver, etrt_null_driver,
    etrt_auto_driver;

/* ---- the same for all devices: driver.c ---- */

/* Handles that are opened share a context (etrt_devices_share). */
extern atomic_bool etrt_sharing;
/* The number after the colon of a specification such as "hsa:1"; 0 where there is none. */
etrt_status etrt_spec_number(const char *spec, int *out);

/* All but the specification. */
void etrt_device_tell(const etrt_device *, etrt_device_info *out);

/* What DEVICE is: itself, or what "auto" has become. */
etrt_device *etrt_device_itself(const etrt_device *device);
/* Can code for TARGET run there? *DEVICE becomes the device that runs it, which "auto" chooses. */
etrt_status etrt_device_accept(etrt_device **device, const char *target);

struct etrt_unit etrt_device_unit(const etrt_device *, const char *target, uint32_t hw_id);

/* The failure every use of a broken device gets, or of one that was inherited by fork: no driver is
 * called for that, since it would wait for threads and locks of another process. Else ETRT_OK. */
etrt_status etrt_device_check(const etrt_device *);
/* Was it opened by this process? */
bool etrt_device_owned(const etrt_device *);

/* WHAT names the memory in the message of a failure. */
etrt_status etrt_mem_alloc(etrt_device *, enum etrt_place, uint64_t bytes, const char *what,
                           void **out);
void etrt_mem_free(etrt_device *, void *); /* NULL is fine */
etrt_status etrt_mem_write(etrt_device *, void *device, const void *host, uint64_t bytes);
/* Many writes, of which none has surely arrived before they are settled, or a launch that came
 * later begins. */
etrt_status etrt_mem_send(etrt_device *, void *device, const void *host, uint64_t bytes);
etrt_status etrt_mem_settle(etrt_device *);
etrt_status etrt_mem_read(etrt_device *, void *host, const void *device, uint64_t bytes);
/* Within the device, of ranges that do not overlap. */
etrt_status etrt_mem_copy(etrt_device *, void *to, const void *from, uint64_t bytes);
etrt_status etrt_mem_fill(etrt_device *, void *device, uint8_t byte, uint64_t bytes);

/* On failure CODE needs no unload. */
etrt_status etrt_code_load(etrt_device *, const void *image, size_t bytes, const char *kernel,
                           struct etrt_code *code);
void etrt_code_unload(etrt_device *, struct etrt_code *code);
void etrt_ticket_free(etrt_device *, struct etrt_ticket *); /* NULL is fine */

etrt_status etrt_launch_start(etrt_device *, const struct etrt_dispatch *, int count,
                              struct etrt_ticket *);
/* A launch that is waited for, zeroed when it starts; the ticket is its waiter's meanwhile. */
struct etrt_patience {
    bool begun;
    double since;   /* when a launch was last seen to end */
    uint64_t ended; /* and what the driver counted then */
};
enum etrt_outcome { ETRT_RUNNING, ETRT_ENDED, ETRT_BROKEN, ETRT_SILENT };
/* Look for up to SECONDS (INFINITY: until there is something to tell). Silent is a device of which
 * no launch has ended for as long as one whose waits are bounded by WAIT_LIMIT may take. */
enum etrt_outcome etrt_launch_look(etrt_device *, struct etrt_ticket *, double wait_limit,
                                   struct etrt_patience *, double seconds);
/* The same with a status: ETRT_TIMEOUT while it runs; ETRT_FAULT when the device reports a fault;
 * ETRT_DEVICE when it is silent, which breaks it. */
etrt_status etrt_launch_wait(etrt_device *, struct etrt_ticket *, double wait_limit,
                             struct etrt_patience *, double seconds);
/* How long that is, of launches whose waits are bounded by WAIT_LIMIT. */
double etrt_silence(const etrt_device *, double wait_limit);
/* That is over: the device counts as broken. */
etrt_status etrt_device_silent(etrt_device *, double wait_limit);
/* Code for TARGET does not run there. */
etrt_status etrt_device_unmatched(const etrt_device *, const char *target);
/* Seconds of the clock that waits are measured with. */
double etrt_now(void);

#endif
