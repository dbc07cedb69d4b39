/* etrt_abi.h - what a compiled kernel and the runtime agree on. The only header shared by codegen
 * and runtime; everything here is versioned by ETRT_ABI_VERSION, which the manifest carries.
 *
 * Launch contract. One dispatch of `workgroups` workgroups of `kernel.workgroup` work-items, all
 * resident at once (the static LDS size allows one per CU). The runtime provides:
 *   - the kernarg segment laid out below;
 *   - two arrays of event words, both zero before the first launch. Launch i counts in one and
 *     zeroes the other for launch i+1. After an aborted launch the runtime zeroes both and the
 *     control block.
 *   - a workspace of manifest "workspace_bytes", contents arbitrary, but for what "tags" says.
 */
#ifndef ETRT_ABI_H
#define ETRT_ABI_H

#include <stddef.h>
#include <stdint.h>

#define ETRT_ABI_VERSION 4
/* What the manifest of a kernel with "tags" says instead: a runtime that knows nothing of them must
 * not run it. */
#define ETRT_ABI_TAGS 5
/* And what that of a kernel says whose weights have "zeros", be there tags or not. */
#define ETRT_ABI_ZEROS 7
/* And that of one whose weights have "packed". */
#define ETRT_ABI_PACKED 8
/* And that of one whose weights have "order". */
#define ETRT_ABI_ORDER 9
/* And that of one that stays: it takes steps from mailboxes (struct etrt_mail). */
#define ETRT_ABI_RESIDENT 11
/* And that of one whose weights have "host". */
#define ETRT_ABI_HOST 12
/* And that of one that several devices run together. */
#define ETRT_ABI_DEVICES 13

/* The manifest, JSON text, is in the file of code within a frame: a head of 32 bytes, all ASCII,
 *
 *     ETCC-MANIFEST 000004d2 89abcdef     (and a newline)
 *
 * with the length of the text in bytes and its sum (etrt_manifest_sum), eight hexadecimal digits
 * each, and the text right after it. Where the frame is depends on the file:
 *   - in an ELF file it is the section ETRT_MANIFEST_SECTION, which is not loaded to the device;
 *   - in the text of an assembler it is the bytes, in decimal, of an initialised array whose name
 *     begins with ETRT_MANIFEST_ARRAY, as in PTX: .b8 etcc_manifest[40] = {69, 84, 67, ...};
 *   - in any other file, and in an ELF file without that section, it is anywhere, as it is.
 *
 * The text:
 *
 * {
 *   "abi": 4, "etcc": "0.1.0", "target": "gfx942", "model": "stories_llama",
 *   "source_hash": "hex", "schedule": "static",     // or "dynamic", "hybrid", "kernels"
 *   "kernel": { "symbol": "NAME", "workgroup": 256, "wavefront": 64, "lds_bytes": 40960 },
 *   "models": [                            // only where there are several
 *     { "name": "llama", "from": 0, "to": 500000, "done": 64 } ],
 *   "symbols": [ { "name": "N", "lo": 1, "hi": 64, "tile": 16, "chunk": 32 } ],
 *   "tensors": [                           // order = order of pointers in the kernarg segment
 *     { "name": "tokens", "kind": "input", "dtype": "i32", "shape": ["N"] },
 *     { "name": "wq", "kind": "weight", "dtype": "bf16", "shape": [4, 256, 256],
 *       "source": "model.layers.{l}.self_attn.q_proj.weight", "loops": [["l", 0, 4]],
 *       "zeros": 64 },                     // only with ABI ETRT_ABI_ZEROS
 *                                          // or, with ETRT_ABI_PACKED, "packed": 64
 *                                          // or, with ETRT_ABI_ORDER, "order": [0, 2, 1]: which
 *                                          // dimension of that shape is first in memory, which
 *                                          // second, ...
 *                                          // and, with ETRT_ABI_HOST, "host": 2
 *     { "name": "kc", "kind": "state",  ... }, { "name": "logits", "kind": "output", ...,
 *       "stored": true } ],                // an output that the kernel never reads
 *   "workspace_bytes": 123456,
 *   "temporaries": [                       // what is in the workspace, for debugging
 *     { "name": "h", "dtype": "f32", "shape": ["N", 256], "offset": 4096,
 *       "when": ["N", 1, 16] } ],          // only where launches differ by the value of a symbol;
 *                                          // "least": 1, "most": 93 where they do by these
 *   "tags": { "offset": 8192, "bytes": 4096, "launches": 1024 }, // only with ABI ETRT_ABI_TAGS
 *   "devices": { "count": 2, "inbox_bytes": 8192, "launches": 1024 }, // only with ABI
 *                                          // ETRT_ABI_DEVICES; tensors may have "cut": 1 then,
 *                                          // "repeat": 2 where so many share a part, weights
 *                                          // "from": 96, "of": 160 where a piece is cut
 *   "event_words": 64,                     // including the ETRT_EVENT_FIRST reserved ones
 *   "events": [ { "name": "e3", "base": 48, "shape": [4, "N 15 + 16 /"] } ],
 *   "tasks": [ { "name": "qkv" } ],        // task ids in reports index this
 *   "profile": { "tasks": 1200 },          // only where the kernel records its tasks: at most so
 *                                          // many in a launch
 *   "kernels": [                           // only with "schedule": "kernels"
 *     { "symbol": "m_0_qkv", "task": 0, "lds_bytes": 9000, "tiles": [3, "N 15 + 16 /"] } ],
 *   "sequences": [ { "upto": ["N", 16], "workgroups": 93,
 *                    "run": [0, { "times": 4, "run": [1, 2] }, 3] } ]
 * }
 *
 * A dimension is an integer or a string in reverse Polish over symbols and integers with
 * + - * / % min max (integer arithmetic, / and % round toward minus infinity). "loops" lists the
 * leading dimensions of a weight that come from enclosing loops, outermost first, with [lo, hi):
 * the slice at index i of dimension 0 is the checkpoint tensor whose name has {l} replaced by
 * lo + i. Event indices in reports are row-major in the event's shape at the symbols' upper
 * bounds. Models that share a kernel have in "from" and "to" their parts of the workgroups when all
 * of them run, in millionths, and in "done" where in struct etrt_report the kernel tells the host
 * that the model is done; names of symbols, tensors, events and tasks begin with the name of the
 * model and a dot then. Temporaries lie at "offset" bytes from the start of the workspace,
 * row-major, in launches whose symbol is within "when", both ends included, and whose workgroups
 * are "least" to "most"; those that are not needed at the same time may share bytes, and
 * one inside a loop holds what the last iteration left. What "tags" names of the workspace is none
 * of "temporaries": words that hold numbers made of that of the launch, modulo "launches", a power
 * of 2. They are all zero before a launch whose number is a multiple of that, and before one that
 * follows a launch that has not ended.
 *
 * "paces", where there are, has for each model, or the one that there is, a list of numbers, which
 * tell what its steps are predicted to take. The first three are that of a symbol; how much the
 * model's time counts against that of others, in millionths; and the latency that is wished for,
 * in ns, at least 1. Then follow for the values of the symbol up to one number, in ascending order,
 * that number and ETRT_PACE_UNITS times in ns: on so many equal parts of the workgroups.
 *
 * A kernel with "devices" runs on so many of them at once, each with memory of its own for all
 * there is. A tensor with "cut": D has on each an equal part along dimension D, of which "shape"
 * tells, in the order of the devices; all else is the same on all. Every device has an inbox of
 * "inbox_bytes", 256-aligned, that the others can write; its words are zeroed like "tags", on all
 * devices while none runs, and a launch begins on any of them when the one before has ended on all.
 *
 * A kernel with ABI ETRT_ABI_RESIDENT stays: see struct etrt_mail.
 *
 * With "schedule": "kernels" a launch is not one kernel but a sequence of them, each begun when the
 * one before has ended: the first of "sequences" whose "upto" the symbol does not pass, nor the
 * launch's workgroups its "workgroups", where it has these, all of which "run" names, in order, by
 * their places in "kernels", loops as often as they say: "times" is a number, or [most, times],
 * most a number and times a dimension of 0 to most. "kernel" is the first of "kernels" then. A
 * kernel has as many workgroups as "tiles" multiply to, one at least, or fewer, and where that is
 * left out no more than can be resident at once. With other schedules each of "sequences" runs one
 * of "kernels", which is for some values of the symbol and some numbers of workgroups; what that
 * needs of local memory and of work-items, "workgroup", it says itself, and "kernel" the most that
 * any needs. */
/* Letters of the name of a tensor or symbol: 255, and before them a model's 255, "_16" and a dot.
 */
#define ETRT_MAX_NAME 520
#define ETRT_MANIFEST_SECTION ".etcc.manifest"
#define ETRT_MANIFEST_ARRAY "etcc_manifest"
#define ETRT_MANIFEST_MAGIC "ETCC-MANIFEST "
enum { ETRT_MANIFEST_HEAD = 32 };

enum { ETRT_PACE_UNITS = 16, ETRT_MAX_SIZES = 8 };

/* The CRC-32 of Ethernet, zlib and PNG. */
static inline uint32_t etrt_manifest_sum(const char *text, size_t bytes) {
    uint32_t sum = UINT32_MAX;
    for (size_t i = 0; i < bytes; i++) {
        sum ^= (unsigned char)text[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0xEDB88320u : 0);
    }
    return ~sum;
}

/* Behind a weight that has "zeros": C, at the next multiple of 16 bytes from its begin, lies its
 * map. It has a 64-bit word for every ETRT_ZERO_ROWS rows of every matrix of the last two
 * dimensions, the last word of a matrix for those that are left, and in it from the lowest a bit
 * for every C columns: 0 where all that these have is zero, whatever its sign. A word among the
 * kernel's arguments says whether it is worth looking at maps; what is zero is multiplied by
 * otherwise, as in a kernel without them. */
enum { ETRT_ZERO_ROWS = 16, ETRT_ZERO_BITS = 64 };

/* Behind a weight of bf16 or f16 that has "packed": K, at the next multiple of ETRT_PACKED_ALIGN
 * bytes from its begin, lie its matrices, of the last two dimensions, packed, and behind all of
 * them a 32-bit word for each: 1 where of every four neighbours of a row, from its begin, at most
 * two are not zero, whatever the sign of zeros; else 0, and what lies there for the matrix has no
 * meaning. A kernel multiplies each matrix packed or as it is by that word.
 *
 * A packed matrix is blocks of ETRT_PACKED_ROWS rows by K columns, those of the same rows one
 * behind the other, then those of the next rows; what is past the last row or column is zero. Each
 * has ETRT_PACKED_BYTES: for each of four quarters of its columns, and in that for each row, eight
 * elements, of each four columns two; then for each in the same order 16 bits, from the lowest two
 * for each of the eight, that say which of its four columns it is, the first of two the lower.
 * Where fewer than two are not zero, zeros are among the two. */
enum {
    ETRT_PACKED_ROWS = 16,
    ETRT_PACKED_K = 64,
    ETRT_PACKED_BYTES = 1152,
    ETRT_PACKED_ALIGN = 128
};

/* A weight that has "host": D is in entries, which its first D dimensions number, row-major; their
 * bytes are a multiple of ETRT_HOST_ALIGN. The kernel's argument is a table in device memory: a
 * pointer to a 32-bit word for each entry, which the kernel sets to 1 where a launch uses it, and
 * then for each entry a pointer to its elements, aligned so: in memory of the host, or in a copy on
 * the device. The table does not change while a launch runs. */
enum { ETRT_HOST_ALIGN = 16 };

/* Dies a device may have; devices that may run a kernel; models that may share a kernel. */
#define ETRT_MAX_DIES 16
#define ETRT_MAX_DEVICES 16
#define ETRT_MAX_MODELS 16

/* Kernarg segment: this header, then int32 symbols[nsym] in manifest order padded to 8 bytes, then
 * uint64 tensors[ntensor] device pointers in manifest order, then struct etrt_part parts[nmodel] in
 * manifest order, where there are models, then, with ABI ETRT_ABI_ZEROS, uint64 zeros, 1 or 0, or,
 * with ETRT_ABI_DEVICES, uint64 device, its number from 0, and uint64 inbox[count], each as this
 * device reaches it, or, with ETRT_ABI_RESIDENT, struct etrt_resident. In a sequence of kernels
 * int32 iterations[] follow: of the loops around the kernel, from 0, outermost first; `workgroups`
 * and `place` are the kernel's.
 */
struct etrt_kernarg {
    uint64_t control;     /* struct etrt_control, device memory */
    uint64_t report;      /* struct etrt_report, host-coherent memory */
    uint64_t events;      /* uint32[event_words] this launch counts in */
    uint64_t events_next; /* uint32[event_words] this launch zeroes */
    uint64_t workspace;
    uint64_t wait_ticks; /* bound of every wait, in ticks of the device's realtime clock */
    uint32_t workgroups;
    uint32_t launch; /* running number, for reports */
    uint64_t trace;  /* struct etrt_trace, or 0: nothing is to be recorded */
    /* Schedules count workgroups by rank. Those of die d are place[d] .. place[d + 1] - 1, for the
     * DIES of the device (1 where that is not known): ascending from 0 to `workgroups`, an even
     * split of them. Every workgroup claims the next place of the die it finds itself on, or,
     * where that is full, of the first after it that is not, in a circle. */
    uint32_t dies; /* 1 .. ETRT_MAX_DIES */
    uint32_t place[ETRT_MAX_DIES + 1];
};

/* The ranks that run a model: first .. first + count - 1, which may be another's too. COUNT is 0
 * for a model that the launch leaves out: nothing of its is touched. */
struct etrt_part {
    uint32_t first, count;
};

/* A kernel that stays.
 *
 * It does nothing until it is given a step: one model's work at some values of its symbols, on some
 * of the workgroups, which are all where there is one model. The host writes a step to that model's
 * entry of a mailbox in host memory. The workgroup that has the model's first rank, of `parts`,
 * reads it there and writes it to the same entry of the board in device memory, where all
 * workgroups look; those whose ranks are in the step run it. The last of them writes the `done`
 * word in the report. The host gives a model no step before its last one is done, nor one whose
 * ranks are those of a step that is not.
 *
 * The kernel ends when the board's gate is closed: by the host's QUIT, or by itself when it has had
 * no step for IDLE_TICKS. A step that finds the gate closed is not taken, and is still in the
 * mailbox for the next launch. A board that has steps and a closed gate when the kernel begins
 * makes it run those and end.
 *
 * Every model has two event arrays, of which steps of even number count in the first and the others
 * in the second, each zeroing the other; a control word of its own, `abort` and the words after it;
 * and a report, struct etrt_report, of which the first has the `done` words of all. With one model
 * that is what other kernels have. The argument `events` is for the ranks of the workgroups, zeroed
 * before each launch, and `events_next` is where the two arrays of each model begin. */
struct etrt_resident {
    uint64_t mailbox; /* host-coherent memory: struct etrt_mail and its entries */
    uint64_t board;   /* device memory: the same */
    uint64_t idle_ticks;
};

/* An entry is a 64-bit word and, written before it, an int32 for each symbol. The word has the
 * step's number in its upper half, and the first of its ranks in the upper and their count in the
 * lower 16 bits of the other. Entry m is at sizeof(struct etrt_mail) + m * etrt_mail_pitch from the
 * begin. */
struct etrt_mail {
    uint32_t gate; /* of the board: 1: closed; plus 2 for every step that is being written to it */
    uint32_t quit; /* of the mailbox: the kernel is to end */
    uint32_t none[14];
    uint32_t last[ETRT_MAX_MODELS]; /* of the board: steps before the first of this launch */
};

/* Bytes from one of these event arrays to the next. */
static inline uint64_t etrt_events_pitch(uint32_t event_words) {
    return ((uint64_t)event_words * 4 + 127) / 128 * 128;
}

static inline uint32_t etrt_mail_pitch(uint32_t symbols) {
    return (8 + 4 * symbols + 63) / 64 * 64;
}

/* The first ETRT_MAX_DIES words of every event array count, per die, the workgroups that have
 * asked for a place there; as many after them, in kernels that deal tasks by die, the workgroups
 * that are there. Where models share such a kernel, the last words of the array count these of
 * each model. */
#define ETRT_EVENT_FIRST 32

/* Where a workgroup ran. Diagnostics only. */
struct etrt_placement {
    uint32_t launch;    /* 1 + the launch that wrote this */
    uint32_t workgroup; /* its number in the dispatch */
    uint32_t die;       /* the hardware's, of which it may be a guest by its rank */
    uint32_t hw_id;     /* the raw register */
};

/* What `abort` may hold. The host asks kernels of several devices where none gets on: waits for
 * other devices give up then as if their time were over, and where it asks ALL the others, too. */
enum { ETRT_ABORT_NOT, ETRT_ABORT_QUIT, ETRT_ABORT_ASK, ETRT_ABORT_ASK_ALL };

struct etrt_control {
    uint32_t abort; /* QUIT: every wait gives up; set by the first failing workgroup */
    uint32_t reserved[31];
    struct etrt_placement placement[]; /* by rank */
};

enum etrt_report_status {
    ETRT_REPORT_OK = 0,
    ETRT_REPORT_WAIT = 1, /* a wait ran past its bound; `need`: see ETRT_NO_COUNTER */
    /* A workgroup found no task to run for as long: `task` is the first of the region of dynamic
     * tasks, `index` the region's instance, of which `count` tasks of `need` had been taken (0 if
     * it had been promised one that did not come). */
    ETRT_REPORT_IDLE = 2,
    /* A workgroup waited as long for all to start, of several models for all that run the one of
     * `task`: `count` of `need` had. */
    ETRT_REPORT_START = 3,
    /* What a task takes of a tagged temporary did not come in as long: step number `event` of it,
     * from 0, where the word of work-item `index` has the tag `count`, and `need` was to come. */
    ETRT_REPORT_WORD = 4,
};

/* The `need` of a wait for which a tensor names a counter that the event does not have. */
enum { ETRT_NO_COUNTER = 0x7fffffff };

/* What a kernel whose manifest has a "profile" records, in device memory that the runtime zeroes
 * before a launch. A workgroup takes ETRT_TRACE_CHUNK records at a time: the first it takes are
 * record[taken before * ETRT_TRACE_CHUNK]. So ceil(tasks / ETRT_TRACE_CHUNK) + workgroups chunks
 * are enough, whichever workgroup runs which task. */
enum { ETRT_TRACE_CHUNK = 64, ETRT_TRACE_MAX_TASKS = 1 << 30 };

/* Times are ticks of the device's realtime clock. */
struct etrt_trace_record {
    uint32_t task; /* 1 + the index into "tasks"; 0: not written */
    uint32_t tile;
    uint32_t iteration; /* of the loops around the task as one number, outermost first, from 0 */
    uint32_t workgroup; /* its rank */
    uint32_t die, hw_id;
    uint64_t look;    /* a queue was looked into and held this task; 0: it came from no queue */
    uint64_t reached; /* the workgroup had the task */
    uint64_t ready;   /* what it waited for had arrived */
    uint64_t done;    /* the body's stores were out */
    uint64_t left;    /* so were notifications */
};

struct etrt_trace {
    uint32_t chunks;  /* there is room for, set by the runtime */
    uint32_t taken;   /* chunks, or tries to take one when there was none left */
    uint32_t dropped; /* records for which there was no room */
    uint32_t reserved[29];
    struct etrt_trace_record record[];
};

/* Zeroed by the runtime before a launch. All but `done` is written by the workgroup that set
 * `abort`. */
struct etrt_report {
    uint32_t status;
    uint32_t launch;
    uint32_t workgroup; /* its rank */
    uint32_t task;      /* the task that waited, index into "tasks" */
    uint32_t tile;      /* its linear tile index */
    uint32_t event;     /* index into "events" */
    uint32_t index;     /* word inside that event tensor */
    uint32_t count;     /* arrivals seen */
    uint32_t need;      /* arrivals needed */
    uint32_t die, hw_id;
    uint32_t device; /* of several, with WAIT and WORD: 1 + the one that did not send it, or 0 */
    uint32_t reserved[4];
    /* 1 + the launch, once all that it has of a model is done and what that wrote can be read; in
     * kernels of several models, by their order in the manifest. */
    uint32_t done[ETRT_MAX_MODELS];
};

#endif
