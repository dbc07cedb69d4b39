/* etrt.h - libetrt: load a compiled model, bind tensors, launch it.
 *
 * Devices are AMD's GPUs through libhsa-runtime64.so.1, the GPUs that libetemu.so emulates with the
 * same functions, NVIDIA's GPUs through libcuda.so.1, and one that computes nothing. The libraries
 * are opened at run time.
 *
 * Statuses: 0 is success. Every failing call leaves a message for etrt_last_error(). The library
 * never prints and never aborts.
 * Threads: handles are independent; one handle must not be used by two threads at once, but for
 * etrt_cancel. A device may be shared by models of several threads, and a model by sessions of
 * several threads: they share its weights, which must not be loaded while any of them launches.
 * Processes: handles are their opener's. In a child of fork every call that would need the device
 * is ETRT_FORKED; _close, _unload and _destroy give back host memory and leave the device alone.
 * While the parent had a device open at the fork, the child cannot open one: fork first, or exec.
 * Ownership: every _open/_load/_create has its _close/_unload/_destroy; these accept NULL. Destroy
 * sessions before their model, models before their device. */
#ifndef ETRT_H
#define ETRT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined(__GNUC__)
#pragma GCC visibility push(default)
#endif

/* The version of this header; etrt_version() returns the library's, "0.1.0". A library of the same
 * major and minor version has every call of this header. */
#define ETRT_VERSION_MAJOR 0
#define ETRT_VERSION_MINOR 1
#define ETRT_VERSION_PATCH 0

#define ETRT_STATUSES(X)                                                                           \
    X(OK, "success")                                                                               \
    X(INVALID, "invalid argument")                                                                 \
    X(NOT_FOUND, "not found")                                                                      \
    X(IO, "input or output error")                                                                 \
    X(FORMAT, "malformed file")                                                                    \
    X(MISMATCH, "shape or type mismatch")                                                          \
    X(RANGE, "value out of range")                                                                 \
    X(NO_DEVICE, "no device")                                                                      \
    X(NO_MEMORY, "out of memory")                                                                  \
    X(UNBOUND, "tensor not bound")                                                                 \
    X(WAIT, "a wait inside the kernel ran past its bound")                                         \
    X(FAULT, "the device reported a fault")                                                        \
    X(DEVICE, "the device runtime reported an error")                                              \
    X(UNSUPPORTED, "not supported")                                                                \
    X(FORKED, "opened by another process")                                                         \
    X(TIMEOUT, "not over in the time given")                                                       \
    X(CANCELLED, "cancelled")

typedef enum etrt_status {
#define X(name, text) ETRT_##name,
    ETRT_STATUSES(X)
#undef X
} etrt_status;

typedef struct etrt_device etrt_device;
typedef struct etrt_model etrt_model;
typedef struct etrt_session etrt_session;

/* Types from ETRT_E4M3 on occur only in weights. */
typedef enum etrt_dtype {
    ETRT_F32,
    ETRT_F16,
    ETRT_BF16,
    ETRT_I32,
    ETRT_E4M3,
    ETRT_E5M2,
    ETRT_UE8M0,
    ETRT_E2M1,
    ETRT_I8,
    ETRT_U8,
    ETRT_I4,
    ETRT_U4,
    ETRT_U2,
    ETRT_U1,
    ETRT_IQ4
} etrt_dtype;
typedef enum etrt_kind { ETRT_INPUT, ETRT_OUTPUT, ETRT_WEIGHT, ETRT_STATE } etrt_kind;

const char *etrt_version(void);            /* "0.1.0"; never NULL */
const char *etrt_status_name(etrt_status); /* "ETRT_RANGE"; never NULL */
const char *etrt_status_text(etrt_status); /* "value out of range"; never NULL */

/* The detail of the calling thread's last failing call; "" when there was none. Valid until that
 * thread's next failing call. May be several lines (a fault or a state dump). */
const char *etrt_last_error(void);

/* ---- devices --------------------------------------------------------------------------------- */

/* Open the device that SPEC names; ETRT_NO_DEVICE where there is none, ETRT_INVALID for a malformed
 * SPEC.
 *   "auto"     the first GPU, in the order of etrt_device_at, that runs the target of the first
 * model loaded, else "emu". It then stays that device; until then etrt_device_isa is "" "hsa" AMD's
 * first GPU, "hsa:1" the second, or ETRT_NO_DEVICE "cuda"     NVIDIA's, likewise "cuda:current" the
 * CUDA context that is current in the calling thread, which may be a green one with a part of the
 * SMs, for libraries that share their memory, or to run beside others. The caller destroys it,
 * after the device is closed "emu"      the emulator. It becomes the GPU that the first model
 * loaded was compiled for, and stays that; until then etrt_device_isa is "". The environment
 * variable ETEMU_DEVICE decides before any model does, and so does an emulator that this process
 * has open already "emu:gfx942:cus=16:xcds=2" this GPU and no other (options as etemu_configure
 * takes them) "null"     takes models for any GPU and computes nothing: launches succeed at once
 * and write nothing, so outputs are NaNs and states stay. For trying everything around a launch */
etrt_status etrt_device_open(const char *spec, etrt_device **out_device);
/* ON: handles of one GPU that this process opens from here on share what the driver keeps launches
 * apart by (a CUDA context; there is nothing of the kind elsewhere), so that they run beside each
 * other (etrt_residence_open_each). A fault of one is then one of all. */
void etrt_devices_share(int on);
/* After its models. NULL is fine, here and below. */
void etrt_device_close(etrt_device *);
/* One line for people: "emulated gfx942, 16 CUs in 2 dies" or a GPU's name. */
const char *etrt_device_name(const etrt_device *);
const char *etrt_device_isa(const etrt_device *); /* "gfx942"; "" while any will do */
int etrt_device_is_emulated(const etrt_device *);

/* Enumerate devices from index 0 on, ETRT_RANGE past the last: GPUs, and the emulator if its
 * library is found. Every call looks again. */
typedef struct etrt_device_info {
    char spec[32];         /* for etrt_device_open: "cuda:0" */
    char name[256];        /* for people */
    char isa[64];          /* the target to compile for; "": an emulator that has no target yet */
    uint32_t cus;          /* workgroups that can be resident at once; 0: not known */
    uint64_t memory_bytes; /* 0: not known */
    int emulated;
} etrt_device_info;
etrt_status etrt_device_at(int index, etrt_device_info *out_info);
int etrt_device_count(void);

/* Device memory, aligned for any use, at the address that kernels see. On NVIDIA's GPUs it belongs
 * to libetrt's own context (cuPointerGetAttribute returns it). Free it before the device is closed.
 * ETRT_INVALID while a device of "auto" or "emu" has no target yet. */
etrt_status etrt_device_alloc(etrt_device *, uint64_t bytes, void **out_memory);
void etrt_device_free(etrt_device *, void *memory);
/* Copy BYTES to it or from it, done when it returns; the addresses are not checked. */
etrt_status etrt_device_write(etrt_device *, void *memory, const void *data, size_t bytes);
etrt_status etrt_device_read(etrt_device *, void *out_data, const void *memory, size_t bytes);

/* Counters since the device was opened. All but launches are zero on a real GPU and on the null
 * device, which count nothing. */
typedef struct etrt_stats {
    uint64_t launches;
    uint64_t instructions, valu, salu, vmem, smem, lds, mfma, branch, other; /* of waves */
    uint64_t bytes_read, bytes_written;                                      /* global memory */
    uint64_t atomics, sleeps, barriers; /* sleeps: polls of waits that had to be repeated */
    double busy_seconds;                /* host time spent executing waves, over all threads */
} etrt_stats;
void etrt_device_stats(const etrt_device *, etrt_stats *out_stats);

/* Switch timing of launches on or off; off at the start. On a GPU it costs a little per launch. */
etrt_status etrt_device_timing(etrt_device *, int on);

/* ---- models ---- */

/* Load the code file at PATH: ETRT_IO when it cannot be read, ETRT_FORMAT when it is no code file,
 * ETRT_MISMATCH when it is for another GPU, ETRT_NO_MEMORY when weights and one session do not fit.
 * Weights are loaded separately. Unload it after its sessions. */
etrt_status etrt_model_load(etrt_device *, const char *path, etrt_model **out_model);
/* The same for a file's BYTES in memory. They are copied: the caller may free IMAGE afterwards. */
etrt_status etrt_model_load_memory(etrt_device *, const void *image, size_t bytes,
                                   etrt_model **out_model);
/* The same of a second kernel of a model, on FIRST's device: weights that both lay out alike are
 * FIRST's, in its memory, and what either is given both have. A file does not load again what the
 * other has been given. FIRST may be unloaded before. ETRT_MISMATCH for another model's kernel. */
etrt_status etrt_model_load_with(etrt_model *first, const char *path, etrt_model **out_model);
void etrt_model_unload(etrt_model *);
/* As its source says; lives as long as the model. */
const char *etrt_model_name(const etrt_model *);

#define ETRT_MAX_RANK 8

typedef struct etrt_dim_info {
    const char *name;
    int64_t lo, hi; /* bounds, both included */
    int64_t tile;   /* so many values next to each other share what they read, where they read the
                       same;   0: none do */
    int64_t chunk;  /* so many values next to each other, from one that this divides on, are summed
                       up together where a text has all of them, with other sums;   0: none are */
} etrt_dim_info;
typedef struct etrt_tensor_info {
    const char *name;
    etrt_kind kind;
    etrt_dtype dtype;
    int rank;           /* at most ETRT_MAX_RANK */
    int64_t max_bytes;  /* at the upper bounds of the dims */
    const char *source; /* of a weight: its name in checkpoints, "{l}" for the index of loop l; else
                           NULL */
    int loops; /* of a weight: how many of its outermost dimensions are loops; the checkpoint has a
                  tensor for each index of these */
} etrt_tensor_info;

/* Enumerate; ETRT_RANGE past the end. Strings live as long as the model. */
etrt_status etrt_model_dim(const etrt_model *, int index, etrt_dim_info *out_info);
etrt_status etrt_model_tensor(const etrt_model *, int index, etrt_tensor_info *out_info);
/* The shape of tensor INDEX and its bytes for dims DIMS, in the order of etrt_model_dim; NULL:
 * their upper bounds. ETRT_RANGE for a value outside its bounds. */
etrt_status etrt_model_shape(const etrt_model *, int index, const int64_t *dims,
                             int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes);
/* Its shape as text, "N, (N + 15) / 16, 256"; division rounds toward minus infinity. ETRT_RANGE,
 * with the size needed in the message, where text and final 0 do not fit in ROOM bytes. */
etrt_status etrt_model_shape_text(const etrt_model *, int index, char *out_text, size_t room);
/* The checkpoint's name of slice SLICE of weight INDEX, row-major in its loops, from 0 on:
 * ETRT_RANGE past the last, and where ROOM is too small. */
etrt_status etrt_model_source(const etrt_model *, int index, int64_t slice, char *out_text,
                              size_t room);

/* Bytes of device memory. Tensors are allocated once, for the upper bounds of the dims; a launch
 * touches only the part of states, inputs and outputs that its dims give. */
typedef struct etrt_memory {
    uint64_t weights; /* of the model, shared by all its sessions; without those that are another
                         kernel's (etrt_model_load_with) */
    uint64_t states, inputs, outputs; /* at the given dims */
    uint64_t workspace;
    uint64_t session; /* all that a session allocates */
    uint64_t host;    /* of the host's memory: weights of etcc --experts-on=host */
} etrt_memory;
/* At DIMS, as etrt_model_shape takes them. */
etrt_status etrt_model_memory(const etrt_model *, const int64_t *dims, etrt_memory *out_memory);
/* At the upper bounds, for a code file in memory or at PATH, before anything is opened or
 * allocated. SESSION is without the part that depends on the device: 16 bytes for each of its CUs.
 */
etrt_status etrt_memory_needed(const void *image, size_t bytes, etrt_memory *out_memory);
etrt_status etrt_memory_needed_file(const char *path, etrt_memory *out_memory);

/* Load weights from a safetensors file, from every shard of an index (PATH ends in
 * ".safetensors.index.json"), or from a checkpoint directory holding either. Tensors with other
 * names are ignored; every weight must be present with the dtype and shape that the model declares.
 * Quantised values of 8 and 4 bits may be stored as U8 or I32, each holding as many as fit: the
 * last dimension of the weight then combines them with dimensions of the file's. bf16 becomes f16
 * where the model declares that. ETRT_RANGE where a value of e4m3 or ue8m0 is NaN, or beyond f16's
 * range (65504). */
etrt_status etrt_model_weights_file(etrt_model *, const char *path);
/* The same for MODEL, one of several models that share the kernel, or its only one. */
etrt_status etrt_model_weights_of(etrt_model *, const char *model, const char *path);
/* Report the progress of loading weights. (Files are mapped, and copied by several threads where
 * the device does not overlap copies itself.) TELL is called in the loading thread: DONE of TOTAL
 * bytes have left the host; DONE is TOTAL once all have arrived. It must return and use no handle
 * of this library. NULL, as at first: no reports. */
typedef void (*etrt_progress)(void *user, uint64_t done, uint64_t total);
etrt_status etrt_model_progress(etrt_model *, etrt_progress tell, void *user);
/* Load one weight, NAME, whole: the slices of all loops one after another. */
etrt_status etrt_model_weight(etrt_model *, const char *name, const void *data, size_t bytes);

/* Weights in host memory, where etcc --experts-on=host left those of experts: the device reads them
 * over the link, and for as many of them as fit in BYTES of device memory a copy. Which ones is
 * chosen between launches, by how often launches use them; 0, as at first: none. Every launch sees
 * the same weights. BYTES beyond what there is are not taken; for a model that has none nothing
 * happens. ETRT_INVALID while a launch of the model is in flight, ETRT_NO_MEMORY where the device
 * has not so much: there is no cache then. */
etrt_status etrt_model_cache(etrt_model *, uint64_t bytes);
typedef struct etrt_cache_info {
    uint64_t host_bytes, cache_bytes; /* of weights in host memory; of copies on the device */
    int64_t entries, cached;          /* an entry is one weight of one expert; those with a copy */
    /* Since the model was loaded, but for what the last launch used, and while some entries have a
     * copy and others have none: entries used, of these those with a copy; bytes of new copies. */
    uint64_t used, hits, copied_bytes;
} etrt_cache_info;
etrt_status etrt_model_cached(etrt_model *, etrt_cache_info *out_info);

/* ---- several models in one kernel -------------------------------------------------------------
 * A kernel that etcc made of several models holds them under their names, and what a model calls
 * "x" is "MODEL.x" here: its dims, tensors and tasks. */

/* The name of a model that shares the kernel with others; NULL past the last, and for a kernel of
 * one model. */
const char *etrt_model_part(const etrt_model *, int index);
/* Include MODEL in launches of the session (ON) or leave it out. A new session includes all. A
 * model that is left out needs no dims, inputs or weights and is not touched; its workgroups run
 * the others. */
etrt_status etrt_select(etrt_session *, const char *model, int on);
int etrt_selected(const etrt_session *, const char *model); /* 0 for a name of no model */
/* Wait for at most SECONDS, 0 to look only, until MODEL of the launch in flight is done: from then
 * on its outputs can be read, by etrt_read and etrt_read_part, while other models still run.
 * ETRT_TIMEOUT while it runs itself. A kernel of one model is done when its launch ends. The launch
 * stays in flight until etrt_wait; if that fails, outputs of models that were done remain valid.
 * ETRT_INVALID when no launch is in flight or it leaves the model out. Where the launch ended and
 * the model was not done: ETRT_CANCELLED, ETRT_WAIT or ETRT_FAULT; etrt_wait has the detail. */
etrt_status etrt_wait_model(etrt_session *, const char *model, double seconds);

/* ---- sessions: state tensors, workspace, events ---- */

/* A session of the model, with the memory that etrt_model_memory tells; ETRT_NO_MEMORY where it
 * cannot be allocated. Destroying it waits for its launch. */
etrt_status etrt_session_create(etrt_model *, etrt_session **out_session);
void etrt_session_destroy(etrt_session *);
/* Zero every state tensor, as in a new session. */
etrt_status etrt_session_reset(etrt_session *);

/* Dims keep their value between launches; each must be set once (a dim with one legal value is set
 * from the start). */
etrt_status etrt_set_dim(etrt_session *, const char *name, int64_t value);

/* Copy an input tensor in, row-major. BYTES must be its size at the current dims; checked again at
 * launch if dims change later. Inputs keep their contents between launches. */
etrt_status etrt_bind(etrt_session *, const char *name, const void *data, size_t bytes);

/* Use MEMORY, BYTES at a device address, as an input, output or state tensor from the next launch
 * on. Nothing is copied; the caller keeps it alive. BYTES must be at least the tensor's max_bytes
 * (else ETRT_MISMATCH) and MEMORY a multiple of 256. An input then counts as bound, whatever the
 * dims; etrt_bind writes into MEMORY, and its size is checked against the dims again. A state
 * tensor has the contents of MEMORY. NULL: the session's own memory again. One memory may be bound
 * to several tensors: conflicts between them are the caller's responsibility, and captures refuse
 * it. */
etrt_status etrt_bind_device(etrt_session *, const char *name, void *memory, uint64_t bytes);

/* The shape of a tensor at the current dims. */
etrt_status etrt_shape(etrt_session *, const char *name, int64_t out_shape[ETRT_MAX_RANK],
                       int *out_rank);

/* Launch and wait; or launch, and wait later (one launch in flight per session). On ETRT_WAIT and
 * ETRT_FAULT etrt_last_error() names workgroup, task, event, count and need; the session can launch
 * again after ETRT_WAIT, with state tensors as the aborted launch left them. After ETRT_FAULT the
 * device must be closed and opened again, in another process where the driver allows no more in
 * this one (CUDA). While a launch is in flight other calls for the session are ETRT_INVALID. */
etrt_status etrt_run(etrt_session *);
etrt_status etrt_submit(etrt_session *);
etrt_status etrt_wait(etrt_session *);
/* Wait for at most SECONDS, 0 to look only; ETRT_TIMEOUT while the launch is still in flight, and
 * it stays so. */
etrt_status etrt_wait_for(etrt_session *, double seconds);
/* Stop the launch in flight; ETRT_INVALID when there is none. Its workgroups quit at their next
 * wait, and launches queued behind it on the device follow. etrt_wait must still be called; it
 * returns ETRT_CANCELLED, even where the launch has completed meanwhile: outputs are invalid, state
 * tensors as the launch left them, and the session can launch again. The only call that another
 * thread may make while etrt_wait waits. */
etrt_status etrt_cancel(etrt_session *);
/* A descriptor for poll, epoll or select: readable from when a launch of etrt_submit has ended, in
 * any way, until etrt_wait, which then does not block. It belongs to the session, which keeps a
 * thread for it from this call on: only poll it. The same at every call. */
etrt_status etrt_session_fd(etrt_session *, int *out_fd);
/* The same as a callback, TELL, in that thread. It must return and use no handle; NULL: no more
 * calls. etrt_session_destroy waits for it to return. */
typedef void (*etrt_done)(void *user);
etrt_status etrt_session_notify(etrt_session *, etrt_done tell, void *user);
/* The device's time for the session's last launch that succeeded, by the timestamps of its
 * dispatch. On the emulator that is host time and says nothing about a GPU. ETRT_INVALID when
 * timing was off. */
etrt_status etrt_launch_seconds(const etrt_session *, double *out_seconds);

/* Copy a tensor out. BYTES must be its size at the current dims. A state can be read at any time
 * and an input once it is bound. An output can be read once a launch that ran its model has
 * completed, or etrt_wait_model has returned ETRT_OK, until the next one is submitted. Before any
 * launch, and after one that failed: ETRT_INVALID. Where larger dims were set after the launch, the
 * part that it did not write holds NaNs or older values. */
etrt_status etrt_read(etrt_session *, const char *name, void *out_data, size_t bytes);
/* Write a state tensor, whole. */
etrt_status etrt_write(etrt_session *, const char *name, const void *data, size_t bytes);

/* ---- parts of tensors ----
 * A part is COUNT indices of axis AXIS (0 is the outermost) from FIRST on, and all of the other
 * axes, at the current dims: rows of an output, a slot or a page of a cache. In the caller's memory
 * it is packed, row-major: with shape [L, SLOTS, D], slot 3 of axis 1 is [L, 1, D]. What lies
 * outside the axis is ETRT_RANGE; BYTES must be those of the part. An axis further in costs a copy
 * per index of those outside it. */

/* As etrt_read. */
etrt_status etrt_read_part(etrt_session *, const char *name, int axis, int64_t first, int64_t count,
                           void *out_data, size_t bytes);
/* Of a state tensor, or of an input that is bound with the size it has at the current dims. */
etrt_status etrt_write_part(etrt_session *, const char *name, int axis, int64_t first,
                            int64_t count, const void *data, size_t bytes);
/* Zero a part of a state tensor. */
etrt_status etrt_reset_part(etrt_session *, const char *name, int axis, int64_t first,
                            int64_t count);
/* Copy a part of a state tensor on the device, to another place of the same tensor or to another
 * session of the same model, where all other axes have the same length. Overlapping ranges are
 * ETRT_RANGE; a range copied to itself is no operation. */
etrt_status etrt_copy_part(etrt_session *to, etrt_session *from, const char *name, int axis,
                           int64_t to_first, int64_t from_first, int64_t count);

/* ---- a kernel that stays ----------------------------------------------------------------------
 * A model that etcc compiled with --resident can stay on the device: one launch runs step after
 * step, each of which does what a launch would, and of several models each goes at its own pace.
 * Between steps inputs are bound, outputs read and states changed by the calls of a session, for a
 * model that has no step; dims are those that are set when a step is posted. The kernel ends by
 * itself when it has had no step for a second, when the process is gone, and before work of the
 * device's that needs its CUs (etrt_reset_part, etrt_copy_part, launches of other sessions); it is
 * launched again when a step comes. Launches of the session itself, and what changes how it is
 * launched, are ETRT_INVALID while a residence is open. One at a time on a device. */

typedef struct etrt_residence etrt_residence;
/* Of several models: each has its part of the workgroups at all times (those that etcc gave them,
 * or equal ones where models share theirs); or what a plan for the models that have steps gives
 * it, from its next step on: all of them while no other has steps, and else ranges of its own or
 * all in turn with the others, by what steps are predicted to take and have taken (plan/plan.h). */
typedef enum etrt_ranges { ETRT_RANGES_FIXED, ETRT_RANGES_ELASTIC } etrt_ranges;
/* ETRT_UNSUPPORTED for a model without --resident, for fewer workgroups than models, and on the
 * null device. Nothing is launched before the first step. */
etrt_status etrt_residence_open(etrt_session *, etrt_ranges, etrt_residence **out_residence);
/* The same of COUNT models with a kernel each, none of which stays: a step is a launch. EACH has a
 * session of each model, on a device handle of its own, all of the same GPU (etrt_devices_share, or
 * "cuda:current"): launches on one handle wait for each other. BESIDE may be NULL, or has of each
 * model NULL or a session on the same handle of the same source compiled with --occupancy=2, for
 * all or some of its dims' values. Models that have steps go by a plan, each on a part of the CUs
 * by EACH, or beside each other on all by BESIDE, whichever has been measured to be better; one
 * alone has all by EACH. Inputs, states and outputs are those of EACH, whichever kernel runs;
 * weights are each kernel's own unless it was loaded by etrt_model_load_with. A launch of a session
 * of EACH (etrt_submit, etrt_wait, etrt_cancel, but not by descriptor) is a step, which is how
 * steps of models of one name are told apart. ETRT_MISMATCH for a kernel of BESIDE that is of
 * another model, ETRT_INVALID for two models of one handle, ETRT_UNSUPPORTED for kernels of several
 * models or devices. */
etrt_status etrt_residence_open_each(etrt_session *const *each, etrt_session *const *beside,
                                     int count, etrt_residence **out_residence);
/* Begin a step of MODEL (of the one that there is: its name or NULL), and return at once.
 * ETRT_INVALID while the model has one; what etrt_submit tells of missing dims, inputs, weights. */
etrt_status etrt_residence_post(etrt_residence *, const char *model);
/* Wait for at most SECONDS (0 to look only, INFINITY) until the model's step is over, and tell how
 * it ended: ETRT_TIMEOUT while it goes on, which it also does only as calls or the thread of
 * etrt_residence_fd look after it; ETRT_WAIT naming the task that waited too long, while steps of
 * other models go on; ETRT_FAULT and ETRT_DEVICE for all. ETRT_INVALID where there is none. */
etrt_status etrt_residence_done(etrt_residence *, const char *model, double seconds);
/* A descriptor to poll, readable when a step has ended since it was last read, by the caller, as an
 * eventfd; it belongs to the residence, which keeps a thread for it from this call on. */
etrt_status etrt_residence_fd(etrt_residence *, int *out_fd);
/* What plans are made for: a step of MODEL takes at most LATENCY seconds (INFINITY: any time) if
 * that can be, and of plans that give all this, and nobody less than turns would, that with the
 * largest sum over models of WEIGHT by speed is taken; CHANGES a second at most, but for a model
 * that has no range in the last one. At first weight and latency are what etcc --weight and
 * --latency say, and changes 2000. ETRT_RANGE for numbers that are not above 0, and weights of a
 * million. */
etrt_status etrt_residence_aims(etrt_residence *, const char *model, double weight, double latency,
                                double changes);
/* Ends the kernel, when the steps that it runs are over, and the residence; others are forgotten.
 * Before the session is destroyed, which does the same. */
etrt_status etrt_residence_close(etrt_residence *);

/* ---- knobs and capture ---- */

/* Bound of every wait inside the kernel, in seconds of device clock. Default 2; 60 on the emulator,
 * whose clock runs 64 times slower than the host's while workgroups make progress, and as fast
 * while all of them wait. */
etrt_status etrt_set_wait_limit(etrt_session *, double seconds);
/* Workgroups per launch; 0 is one per CU, which is the default unless the environment variable
 * ETRT_WORKGROUPS says less. More than one per CU is ETRT_RANGE. */
etrt_status etrt_set_workgroups(etrt_session *, int workgroups);
/* Capture the next launch into folder DIR (created; must not exist): see runtime/README.md. The
 * environment variable ETRT_CAPTURE=DIR captures the first launch of a process the same way. Until
 * it is complete its name is DIR.tmp.PID, with the process number; a program that a signal ends
 * leaves that folder behind. ETRT_UNSUPPORTED for a model that several devices run. */
etrt_status etrt_capture(etrt_session *, const char *dir);
/* Limit the bytes of a capture of this session, memory before and after the launch together. A
 * launch whose capture could be larger is ETRT_RANGE, before anything is written. Default 16 GiB,
 * or the number of bytes in the environment variable ETRT_CAPTURE_LIMIT. */
etrt_status etrt_set_capture_limit(etrt_session *, uint64_t bytes);

/* ---- tracing: when and where every task of a launch ran ---- */

/* Was the model compiled with etcc --profile-kernel? */
int etrt_model_traceable(const etrt_model *);
/* Name of a task, NULL past the last. Lives as long as the model. */
const char *etrt_model_task(const etrt_model *, int index);

/* Switch tracing of this session's launches on or off; off at the start. Takes device memory for
 * the most tasks a launch of the model can have (64 bytes each, for 8 million at most) while it is
 * on. ETRT_UNSUPPORTED when the model is not traceable. Switching off forgets what was recorded. */
etrt_status etrt_session_trace(etrt_session *, int on);

/* One task of a launch. Times are ticks of the device's realtime clock, in this order. */
typedef struct etrt_trace_task {
    int task;           /* for etrt_model_task */
    uint32_t tile;      /* row-major among the task's tiles */
    uint32_t iteration; /* of the loops around the task as one number, outermost first, from 0 */
    uint32_t workgroup; /* its rank: die after die (README.md) */
    uint32_t die;
    int cu;           /* on its die; numbers may have gaps; -1: unknown */
    uint64_t look;    /* the workgroup began to pop a queue for it; 0: a static task */
    uint64_t reached; /* the workgroup had the task */
    uint64_t ready;   /* its waits had ended */
    uint64_t done;    /* its results were written */
    uint64_t left;    /* its notifications had been sent */
} etrt_trace_task;

typedef struct etrt_trace_info {
    size_t tasks;     /* recorded */
    uint64_t dropped; /* tasks for which there was no memory left */
    double ticks_per_second;
    int instructions; /* ticks are instructions: an emulator with clock=instructions */
} etrt_trace_info;

/* The tasks of the session's last launch, sorted by REACHED: the first ROOM of them into OUT_TASKS
 * (may be NULL when ROOM is 0: to learn how many). After a launch that gave up: the tasks that
 * had finished. ETRT_INVALID when the last launch was not traced.
 *
 * On the emulator ticks are no GPU times. With "emu:...:clock=instructions" they are instructions
 * (runtime/emu/README.md); else they follow the host's clock, slowed down while workgroups make
 * progress, and tell little more than the order of tasks. */
etrt_status etrt_session_trace_read(etrt_session *, etrt_trace_task *out_tasks, size_t room,
                                    etrt_trace_info *out_info);

#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
