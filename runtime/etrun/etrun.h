/* etrun.h - the parts of etrun. Everything that fails has printed why and returns false. */
#ifndef ETRUN_H
#define ETRUN_H

#include "runtime/cli/cli.h"
#include "runtime/etrt.h"
#include "runtime/etrt/manifest/manifest.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"

#include <stdbool.h>
#include <stdio.h>

struct options {
    const char *model, *device, *in, *out, *capture, *replay;
    cli_list settings; /* DIM=VALUE */
    cli_list weights;  /* PATH or MODEL=PATH */
    char *only;        /* names of models with commas between them, or NULL */
    int64_t repeat, workgroups, capture_limit; /* of which in GiB */
    uint64_t cache;                            /* of experts */
    double wait_limit;                         /* 0: the library's default */
    bool stats, list, states, devices;
};

extern const cli_tool etrun_tool;

bool list_model(const char *path);
bool list_devices(void);
bool run_model(const struct options *);
bool replay_launch(const struct options *);

/* "etrun: MESSAGE" on stderr; returns false. */
bool fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The library's last error. */
bool fail_status(etrt_status);

void print_device(const etrt_device *);
double now(void); /* seconds of a clock that only goes on */
void print_stats(const etrt_device *, double seconds);
/* Up to COUNT elements of DTYPE at DATA. */
void print_values(FILE *, enum etrt_dtype dtype, const void *data, int64_t count);

/* ---- a capture folder, read and checked ---- */

struct launch_region {
    char *name;
    uint64_t address, bytes;
    bool on_host, has_after, has_dtype;
    enum etrt_dtype dtype;
    void *before, *after; /* images; AFTER only when has_after */
    uint64_t check_lo, check_hi;
    void *memory;   /* where it is in the replay */
    bool mapped_at; /* at its own address */
};

struct launch {
    char *isa, *status, *symbol;
    void *code, *kernarg;
    size_t code_bytes, kernarg_bytes;
    uint32_t workgroups, workgroup_size, group_bytes, private_bytes;
    double wait_limit;
    uint32_t *pointers; /* offsets in the kernarg bytes */
    size_t npointers;
    struct launch_region *regions;
    size_t nregions;
};

/* Fails where the images of the regions have more than LIMIT bytes together. */
etrt_status launch_read(const char *dir, uint64_t limit, struct launch *out);
void launch_free(struct launch *);

#endif
