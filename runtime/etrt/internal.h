/* internal.h - the objects behind etrt.h's handles. */
#ifndef ETRT_INTERNAL_H
#define ETRT_INTERNAL_H

#include "runtime/etrt/driver/driver.h"
#include "runtime/etrt/group/group.h"
#include "runtime/etrt/inspect.h"
#include "runtime/etrt/manifest/manifest.h"
#include "runtime/etrt/relay/relay.h"
#include "runtime/etrt_abi.h"

#include <pthread.h>
#include <stdatomic.h>

struct etrt_model {
    etrt_device *device;
    char *path;
    void *image; /* the file's bytes; the loader may refer to them */
    size_t image_bytes;
    struct etrt_manifest manifest;
    struct etrt_code code;
    struct etrt_code *kernels; /* of a sequence, by number; `code` is the first */
    void **weights;            /* per tensor; NULL for what is no weight */
    void **hosted;            /* per tensor: elements of a weight in host memory, of which `weights`
                                 has the table; or NULL */
    struct etrt_cache *cache; /* of these; NULL where there are none */
    bool *weight_given;       /* per tensor */
    uint64_t *weight_zero;    /* per tensor: bytes of pieces that are zero, where it has a map */
    etrt_progress tell;       /* of weights that are loaded, or NULL */
    void *tell_user;
    /* Another kernel of the model, or NULL; per tensor which of that one's weights it is, -1: none
     * of them. USERS: this handle, and models of which this is the first. */
    etrt_model *first;
    int *lent;
    atomic_int users;
};

/* Has weight I been given? */
static inline bool *etrt_weight_given(const etrt_model *m, int i) {
    return m->first && m->lent[i] >= 0 ? &m->first->weight_given[m->lent[i]] : &m->weight_given[i];
}

enum { ETRT_ANY_SIZE = -1 }; /* of an input in memory of the caller's */

struct etrt_capture;
struct etrt_watch;

struct etrt_session {
    etrt_model *model;
    int64_t *dims; /* per symbol */
    bool *dim_set;
    void **tensors;      /* per tensor: device memory; weights are the model's */
    void **own;          /* the same, as the session allocated them */
    bool *at_host;       /* per tensor: OWN is memory of the host's */
    bool *bound;         /* per tensor: inputs given */
    bool *left_out;      /* per model of several: launches do not run it */
    int64_t *bound_size; /* per tensor: bytes given, or ETRT_ANY_SIZE */
    bool *written;       /* per tensor: outputs the last launch of their model has written */
    void *workspace;
    void *inbox;        /* of several devices; or NULL */
    uint32_t *pointers; /* where addresses are among the kernel's arguments */
    int npointers;
    uint32_t *events[2];
    int events_now; /* which one the next launch counts in */
    struct etrt_control *control;
    struct etrt_report
        *report;   /* coherent host memory; of a kernel that stays one for each model */
    void *kernarg; /* of all kernels of a launch, etrt_kernarg_pitch apart */
    struct etrt_dispatch *dispatch; /* of the launch in flight or the last one */
    struct etrt_ticket *ticket;
    double seconds;  /* of the last launch, negative when it was not timed */
    uint32_t launch; /* running number of the next launch */
    /* Of a kernel that stays, else NULL: the number of each model's next step; what host and device
     * tell each other of steps; the kernel that stays now, or NULL. */
    uint32_t *step;
    struct etrt_mail *mailbox, *board;
    struct etrt_residence *residence;
    bool tags_open; /* a launch of that number has begun: there may be tags of it */
    uint32_t workgroups_wanted;
    uint32_t workgroups; /* of the launch in flight or the last one */
    double wait_limit;
    struct etrt_patience patience; /* of the launch in flight */
    struct etrt_watch *watch;      /* NULL: no notification */
    bool in_flight;
    bool cancelled;               /* the launch in flight */
    pthread_mutex_t lock;         /* of the two: another thread may cancel */
    char *capture_dir;            /* wish for the next launch */
    uint64_t capture_limit;       /* bytes; 0: as the environment says, or the default */
    struct etrt_capture *capture; /* of the launch in flight */
    void *trace;                  /* struct etrt_trace on the device, while tracing is on */
    bool traced;                  /* it holds records of a launch */
};

static inline uint64_t etrt_events_bytes(const struct etrt_manifest *m) {
    return (uint64_t)m->event_words * 4;
}

static inline uint64_t etrt_control_bytes(const etrt_device *dev) {
    return sizeof(struct etrt_control) + (uint64_t)dev->cus * sizeof(struct etrt_placement);
}

/* residence.c: kernels that stay. Memory of a session for events, and of such a kernel beside them.
 */
enum { ETRT_IDLE_SECONDS = 1 }; /* without a step, after which it ends */
int etrt_models(const struct etrt_manifest *);
uint64_t etrt_resident_bytes(const struct etrt_manifest *);
etrt_status etrt_resident_make(etrt_session *);
/* The board for a launch of what the session has selected. */
etrt_status etrt_board_launch(etrt_session *);
void etrt_resident_arguments(const etrt_session *, struct etrt_kernarg *, char *at);
uint32_t *etrt_step_events(const etrt_session *, int model); /* device memory */
etrt_status etrt_step_over(etrt_session *, int model, bool failed);

/* residence_calls.c: while a kernel stays, has MODEL no step, for CALL? And: it ends, until the
 * next step, for work that needs its CUs; steps that it runs are waited for. */
etrt_status etrt_residence_settled(const etrt_session *, const char *call, int model);
void etrt_residence_rest(etrt_device *);

/* launch.c: begins a launch of a session that has none; waits for it; ends it. */
etrt_status etrt_launch_session(etrt_session *);
etrt_status etrt_launch_over(etrt_session *, double seconds);
etrt_status etrt_launch_cancel(etrt_session *);
/* The first kernel's arguments; what a wait that expired left of MODEL; outputs of a
 * model are there or not. */
void etrt_write_kernarg(etrt_session *);
etrt_status etrt_explain(etrt_session *, int model);
void etrt_outputs_written(etrt_session *, int model, bool written);

/* session.c: everything a launch needs is set, bound and fits; no launch is in flight, for CALL. */
etrt_status etrt_session_ready(const etrt_session *);
etrt_status etrt_model_ready(const etrt_session *, int model); /* the same of one model */
etrt_status etrt_session_idle(const etrt_session *, const char *call);
/* The same of what belongs to one model, while a kernel stays. */
etrt_status etrt_session_free(const etrt_session *, const char *call, int model);
/* The same, but for an output that is there already: of a model that is done before others. */
etrt_status etrt_session_settled(const etrt_session *, const char *call, const char *tensor);

/* tensors.c: by name. */
etrt_status etrt_dim_check(const struct etrt_symbol *, int64_t value);
etrt_status etrt_tensor_find(const struct etrt_manifest *, const char *name, int *out);
/* Of a session, by name; shape and size at the current dims, which must be set. */
etrt_status etrt_session_tensor(const etrt_session *, const char *name, int *out);
etrt_status etrt_session_now(const etrt_session *, const struct etrt_tensor *,
                             int64_t shape[ETRT_MAX_RANK], int64_t *bytes);
/* May CALL read tensor INDEX, or write it? */
/* BYTES FROM a place in a tensor. */
etrt_status etrt_session_read(const etrt_session *, int index, void *out, const void *from,
                              uint64_t bytes);
etrt_status etrt_session_readable(const etrt_session *, const char *call, int index);
etrt_status etrt_session_writable(const etrt_session *, const char *call, int index);

/* watch.c: the launch that has started is watched, where somebody wants to be told; for up to
 * SECONDS wait for the watcher to be done with it, false when it is not; and no watching any more.
 */
void etrt_watch_launch(etrt_session *);
bool etrt_watch_yield(etrt_session *, double seconds);
/* The watcher has the launch in flight; and what it knows of it. */
bool etrt_watch_has(etrt_session *, bool *out_ended);
void etrt_watch_end(etrt_session *);

/* parts.c: are COUNT from FIRST on within AXIS of T, which has this SHAPE; are there NEED BYTES of
 * DATA of NAME? */
etrt_status etrt_axis_check(const struct etrt_tensor *, const char *call, const int64_t *shape,
                            int axis, int64_t first, int64_t count);
etrt_status etrt_bytes_check(const char *call, const char *name, uint64_t need, const void *data,
                             size_t bytes);

/* cut.c: tensors of which each of several devices has a part. SHAPE and BYTES of a part as those of
 * the whole. */
void etrt_whole(const struct etrt_manifest *, const struct etrt_tensor *, int64_t *shape,
                int64_t *bytes);
/* Copy elements FIRST .. FIRST + COUNT of axis AXIS, of all devices: to DATA, or, with WRITE, from
 * it. */
etrt_status etrt_cut_copy(const etrt_session *, const char *call, int index, int axis,
                          int64_t first, int64_t count, void *data, size_t bytes, bool write);

/* weights.c */
etrt_status etrt_weights_alloc(etrt_model *);
bool etrt_weights_loaded(const etrt_model *, int model);
/* The checkpoint's name of slice SLICE of a weight, row-major in its loops. A source has up to 1024
 * letters, of which three, "{l}", may become ten digits. */
#define ETRT_SLICE_NAME 4096
etrt_status etrt_slice_name(const struct etrt_tensor *, int64_t slice, char *out, size_t bytes);

/* mix.c: several models in one kernel. */
etrt_status etrt_mix_find(const struct etrt_manifest *, const char *name, int *out_model);
etrt_status etrt_not_done(const char *name, double seconds);
/* Does the next launch run what is MODEL's? */
bool etrt_mix_runs(const etrt_session *, int model);
/* The ranks of each model in a launch of WORKGROUPS. */
void etrt_mix_parts(const etrt_session *, uint32_t workgroups, struct etrt_part *out);

/* report.c: append to the last error, a fault, which region its address is in or near. */
void etrt_report_fault(const etrt_session *);

/* sequence.c: launches of several kernels, and of one. */
etrt_status etrt_sequence_load(etrt_model *);              /* the kernels after the first */
int64_t etrt_launch_kernels(const struct etrt_manifest *); /* most that one launch has */
uint64_t etrt_kernarg_pitch(const struct etrt_manifest *);
/* The dispatches of a launch whose first kernel's arguments are written. */
etrt_status etrt_sequence_make(etrt_session *, int *out_count);
/* Where addresses are among a kernel's arguments, in bytes; NULL: out of memory. */
uint32_t *etrt_kernarg_pointers(const struct etrt_manifest *, int *out_count);
/* The ranks of a device's dies among WORKGROUPS. */
void etrt_set_places(struct etrt_kernarg *, uint32_t dies);

/* capture.c. Begin takes the wish from the session; end writes the after-images and renames. */
etrt_status etrt_capture_begin(etrt_session *);
etrt_status etrt_capture_end(etrt_session *, etrt_status launch_status);
void etrt_capture_drop(etrt_session *);

/* A region of device memory a launch may touch. */
struct etrt_region {
    char name[160];
    void *address;
    uint64_t bytes;
    enum etrt_place place;
    uint64_t check_lo, check_hi;      /* bytes a replay must reproduce */
    const struct etrt_tensor *tensor; /* or NULL */
};

/* A region of memory in a capture, and the files that hold it: "" for none yet. */
struct etrt_captured {
    struct etrt_region region;
    char before[176], after[176];
};
/* launch_json.c: the text of launch.json, which free() frees. */
etrt_status etrt_launch_json(const etrt_session *, const struct etrt_captured *, size_t count,
                             etrt_status, const char *message, char **out_text, size_t *out_bytes);

/* trace.c */
etrt_status etrt_trace_begin(etrt_session *);
uint64_t etrt_trace_bytes(const etrt_session *); /* 0 while tracing is off */

/* report.c: all of a session's regions, in the order of the kernarg segment; free() the array. */
etrt_status etrt_session_regions(const etrt_session *, struct etrt_region **out, size_t *out_count);

#endif
