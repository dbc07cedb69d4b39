/* fake_cuda.h - libcuda for tests: the functions that libetrt uses, on memory of the host.
 *
 * It is harsher than the real one. Memory of a device cannot be touched by the host; what is
 * asynchronous happens as late as it may, a step at a time; every call is checked for its context,
 * its handles and its ranges; and what is not destroyed is counted. Of kernels it knows one, the
 * probe, which it works out in C. FAKE_CUDA_GPUS in the environment is how many GPUs there are
 * (default 2; "0": none). */
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

/* What tests find by dlsym in the library. */
struct fake_cuda {
    long calls;      /* so far, of those that may fail */
    long fail_at;    /* the number of the call that fails; 0: none */
    int fail_with;   /* its result */
    int silent;      /* launches do not end */
    long live;       /* contexts, streams, events, modules and allocations there are */
    long in_flight;  /* the most copies that were on their way at a time */
    char failed[64]; /* the function that failed */
};

#define FAKE_CUDA_NAME "fake_cuda"

#endif
