// litmus.h - the language of test_coherence.c's programs, shared with the kernel that runs them.
#ifndef LITMUS_H
#define LITMUS_H

// Each step is one instruction, or a few, of one lane of one workgroup. A step starts when the one
// before it has completed.
enum litmus_do {
    LOAD, // plain; the result is kept
    LOAD_NT,
    LOAD_SC0,
    LOAD_SC1,
    LOAD_SC01,
    LOAD_FLAT,
    LOAD_BUFFER,
    LOAD_LDS, // straight into LDS, then read there
    LOAD_SCALAR,
    STORE,
    STORE_NT,
    STORE_SC0,
    STORE_SC1,
    STORE_SC01,
    STORE_BYTE,
    STORE_BUFFER,
    ADD,     // atomic, result kept
    ADD_SC1, // of system scope
    INV,     // buffer_inv
    INV_SC0,
    INV_SC1,
    INV_SC01,
    WB, // buffer_wbl2
    WB_SC0,
    WB_SC1,
    WB_SC01,
    INV_SCALAR,
    TOUCH,       // load one dword of VALUE lines from OFFSET on
    LOAD_DEVICE, // of scopes.c: atomics and fences by scope
    STORE_DEVICE,
    ACQUIRE_GROUP,
    ACQUIRE_DEVICE,
    RELEASE_GROUP,
    RELEASE_DEVICE,
    END,
};

struct litmus_step {
    unsigned workgroup, what, offset, value; // offset in bytes from the data's start
};

#endif
