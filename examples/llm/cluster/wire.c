#include "examples/llm/cluster/wire.h"
#include "examples/llm/engine/lm.h"
#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

bool wire_open(struct wire *w, int *argc, char ***argv, char *err) {
    int level = 0;
    MPI_Comm here;
    /* The engine's thread is the only one that sends and receives, after main has begun. */
    if (MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS)
        return llm_fail(err, "MPI does not start");
    if (level < MPI_THREAD_SERIALIZED)
        return llm_fail(err, "this MPI cannot be called from a second thread");
    MPI_Comm_rank(MPI_COMM_WORLD, &w->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w->ranks);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, w->rank, MPI_INFO_NULL, &here);
    MPI_Comm_rank(here, &w->local);
    MPI_Comm_free(&here);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    return true;
}

void wire_close(void) {
    MPI_Finalize();
}

void wire_abort(void) {
    MPI_Abort(MPI_COMM_WORLD, 1);
    _Exit(1);
}

bool wire_all(const struct wire *w, bool own) {
    int all = own;
    (void)w;
    return MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD) == MPI_SUCCESS &&
           all;
}

bool wire_share(const struct wire *w, char id[WIRE_ID]) {
    (void)w;
    return MPI_Bcast(id, WIRE_ID, MPI_BYTE, 0, MPI_COMM_WORLD) == MPI_SUCCESS;
}

int wire_stage(const struct wire *w, int rank) {
    return rank ? rank : w->ranks;
}

int wire_rank(const struct wire *w, int stage) {
    return stage == w->ranks ? 0 : stage;
}

const char *wire_name(const struct wire *w, int rank, char out[64]) {
    snprintf(out, 64, "stage %d of %d (rank %d)", wire_stage(w, rank), w->ranks, rank);
    return out;
}

/* At first others come soon; a rank that waits for requests leaves the processor to others. */
void wire_rest(int turn) {
    struct timespec nap = {.tv_nsec = turn < 20000 ? 20000 : 500000};
    if (turn < 2000)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

static bool silent(const struct wire *w, int rank, double limit, char *err) {
    char name[64];
    return llm_fail(err, "%s has not answered for %g s", wire_name(w, rank, name), limit);
}

static bool broken(const struct wire *w, int rank, int status, char *err) {
    char name[64], why[MPI_MAX_ERROR_STRING] = "";
    int n = 0;
    MPI_Error_string(status, why, &n);
    return llm_fail(err, "%s is lost: %s", wire_name(w, rank, name), why);
}

static bool fits(size_t bytes, char *err) {
    return bytes <= INT_MAX || llm_fail(err, "%zu bytes are too many for one message", bytes);
}

/* Waits for what REQUEST began. */
static bool ends(const struct wire *w, int other, MPI_Request *request, char *err) {
    double began = lm_now();
    int done = 0;
    for (int turn = 0; !done; turn++) {
        int status = MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (status != MPI_SUCCESS) return broken(w, other, status, err);
        if (!done && lm_now() - began > w->limit) return silent(w, other, w->limit, err);
        if (!done) wire_rest(turn);
    }
    return true;
}

bool wire_send(const struct wire *w, int to, int tag, const void *data, size_t bytes, char *err) {
    MPI_Request request;
    if (!fits(bytes, err)) return false;
    int status = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
    return status == MPI_SUCCESS ? ends(w, to, &request, err) : broken(w, to, status, err);
}

bool wire_next(const struct wire *w, int from, int tag, double limit, size_t *out_bytes,
               char *err) {
    double began = lm_now();
    int here = 0, bytes = 0;
    for (int turn = 0; !here; turn++) {
        MPI_Status message;
        int status = MPI_Iprobe(from, tag, MPI_COMM_WORLD, &here, &message);
        if (status != MPI_SUCCESS) return broken(w, from, status, err);
        if (here) MPI_Get_count(&message, MPI_BYTE, &bytes);
        if (!here && limit > 0 && lm_now() - began > limit) return silent(w, from, limit, err);
        if (!here) wire_rest(turn);
    }
    *out_bytes = (size_t)bytes;
    return true;
}

bool wire_take(const struct wire *w, int from, int tag, void *out, size_t bytes, char *err) {
    MPI_Request request;
    if (!fits(bytes, err)) return false;
    int status = MPI_Irecv(out, (int)bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request);
    return status == MPI_SUCCESS ? ends(w, from, &request, err) : broken(w, from, status, err);
}
