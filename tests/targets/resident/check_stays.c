/* check_stays - what a kernel that stays does when nothing comes, when one of its models hangs, and
 * when it is used wrongly.
 *
 *     check_stays DEVICE KERNEL BROKEN PLAIN MLP MOE MOE_BROKEN
 *
 * KERNEL and BROKEN are of two models, whose second hangs in BROKEN; PLAIN does not stay. The last
 * three are of one model each, for a residence of kernels of their own. Inputs and weights are
 * zeros. */
#include "runtime/etrt.h"
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static etrt_device *device;

static void fail(const char *what) {
    fprintf(stderr, "check_stays: %s; last error: %s\n", what, etrt_last_error());
    exit(1);
}

static void need(etrt_status status, etrt_status wanted, const char *what) {
    if (status == wanted) return;
    fprintf(stderr, "check_stays: %s: %s, not %s: %s\n", what, etrt_status_name(status),
            etrt_status_name(wanted), etrt_last_error());
    exit(1);
}

/* Everything is zero, dims are the least. */
static void fill(etrt_model *model, etrt_session *s) {
    etrt_dim_info dim;
    etrt_tensor_info t;
    for (int i = 0; etrt_model_dim(model, i, &dim) == ETRT_OK; i++)
        need(etrt_set_dim(s, dim.name, dim.lo), ETRT_OK, dim.name);
    for (int i = 0; etrt_model_tensor(model, i, &t) == ETRT_OK; i++) {
        void *zeros = calloc(1, (size_t)t.max_bytes + 1);
        int64_t shape[ETRT_MAX_RANK], bytes = t.dtype == ETRT_F32 || t.dtype == ETRT_I32 ? 4 : 2;
        int rank;
        if (!zeros) exit(1);
        if (t.kind == ETRT_WEIGHT)
            need(etrt_model_weight(model, t.name, zeros, (size_t)t.max_bytes), ETRT_OK, t.name);
        if (t.kind == ETRT_INPUT) {
            need(etrt_shape(s, t.name, shape, &rank), ETRT_OK, t.name);
            for (int d = 0; d < rank; d++)
                bytes *= shape[d];
            need(etrt_bind(s, t.name, zeros, (size_t)bytes), ETRT_OK, t.name);
        }
        free(zeros);
    }
}

struct kernel {
    etrt_model *model;
    etrt_session *session;
    etrt_residence *residence;
};

static struct kernel load(const char *path) {
    struct kernel k = {0};
    need(etrt_model_load(device, path, &k.model), ETRT_OK, path);
    need(etrt_session_create(k.model, &k.session), ETRT_OK, path);
    fill(k.model, k.session);
    return k;
}

static void unload(struct kernel *k) {
    etrt_session_destroy(k->session);
    etrt_model_unload(k->model);
}

static void nap(double seconds) {
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (long)(fmod(seconds, 1) * 1e9)},
        NULL);
}

static void step(struct kernel *k, const char *name) {
    need(etrt_residence_post(k->residence, name), ETRT_OK, name);
    need(etrt_residence_done(k->residence, name, INFINITY), ETRT_OK, name);
}

static uint64_t launches(void) {
    etrt_stats stats;
    etrt_device_stats(device, &stats);
    return stats.launches;
}

/* One launch for many steps; after a pause there is one more, and none without a step. */
static void idle(struct kernel *k) {
    uint64_t before = launches();
    for (int i = 0; i < 5; i++)
        step(k, i % 2 ? "moe" : "mlp");
    if (launches() != before + 1) fail("five steps are not one launch");
    nap(2.5);
    need(etrt_residence_done(k->residence, "mlp", 0), ETRT_INVALID, "done without a step");
    if (launches() != before + 1) fail("a launch without a step");
    step(k, "mlp");
    if (launches() != before + 2) fail("a step after a pause is not one more launch");
    step(k, "moe");
    if (launches() != before + 2) fail("another launch");
    /* Without its host the kernel comes to its end, and so does the step that it has. */
    need(etrt_residence_post(k->residence, "mlp"), ETRT_OK, "mlp");
    nap(2.5);
    need(etrt_residence_done(k->residence, "mlp", 0), ETRT_OK, "a step that nobody looked at");
    step(k, "mlp");
    if (launches() != before + 3) fail("the kernel stayed without its host");
}

static void misuse(struct kernel *k, struct kernel *plain) {
    etrt_residence *other;
    int fd;
    need(etrt_residence_open(NULL, ETRT_RANGES_FIXED, &other), ETRT_INVALID, "no session");
    need(etrt_residence_open(k->session, ETRT_RANGES_FIXED, NULL), ETRT_INVALID, "no place");
    need(etrt_residence_open(k->session, (etrt_ranges)7, &other), ETRT_RANGE, "no such ranges");
    need(etrt_residence_open(plain->session, ETRT_RANGES_FIXED, &other), ETRT_UNSUPPORTED, "plain");
    need(etrt_residence_post(NULL, "mlp"), ETRT_INVALID, "post, no residence");
    need(etrt_residence_done(NULL, "mlp", 0), ETRT_INVALID, "done, no residence");
    need(etrt_residence_aims(NULL, "mlp", 1, 1, 1), ETRT_INVALID, "aims, no residence");
    need(etrt_residence_fd(NULL, &fd), ETRT_INVALID, "fd, no residence");
    need(etrt_residence_close(NULL), ETRT_OK, "close, no residence");
    need(etrt_set_workgroups(k->session, 1), ETRT_OK, "workgroups");
    need(etrt_residence_open(k->session, ETRT_RANGES_FIXED, &other), ETRT_UNSUPPORTED, "too few");
    need(etrt_set_workgroups(k->session, 0), ETRT_OK, "workgroups");
    need(etrt_residence_open(k->session, ETRT_RANGES_FIXED, &k->residence), ETRT_OK, "open");
    need(etrt_residence_open(k->session, ETRT_RANGES_FIXED, &other), ETRT_INVALID, "twice");
    need(etrt_residence_post(k->residence, NULL), ETRT_NOT_FOUND, "of two models, none");
    need(etrt_residence_post(k->residence, "mlq"), ETRT_NOT_FOUND, "no such model");
    need(etrt_residence_done(k->residence, "mlp", -1), ETRT_RANGE, "less than no time");
    need(etrt_run(k->session), ETRT_INVALID, "a launch while the kernel stays");
    need(etrt_select(k->session, "mlp", 0), ETRT_INVALID, "select while the kernel stays");
    need(etrt_set_wait_limit(k->session, 1), ETRT_INVALID, "a limit while the kernel stays");
    need(etrt_session_reset(k->session), ETRT_INVALID, "reset while the kernel stays");
    need(etrt_residence_aims(k->residence, "mlq", 1, 1, 1), ETRT_NOT_FOUND, "aims of no model");
    need(etrt_residence_aims(k->residence, "mlp", 0, 1, 1), ETRT_RANGE, "no weight");
    need(etrt_residence_aims(k->residence, "mlp", 1, 0, 1), ETRT_RANGE, "no time");
    need(etrt_residence_aims(k->residence, "mlp", 1, 1, 0), ETRT_RANGE, "no changes");
    need(etrt_residence_aims(k->residence, "mlp", 1, INFINITY, INFINITY), ETRT_OK, "aims");
    need(etrt_residence_post(k->residence, "mlp"), ETRT_OK, "post");
    need(etrt_residence_post(k->residence, "mlp"), ETRT_INVALID, "post twice");
    need(etrt_set_dim(k->session, "mlp.N", 1), ETRT_INVALID, "a dim of a step");
    need(etrt_bind(k->session, "mlp.x", "", 0), ETRT_INVALID, "an input of a step");
    need(etrt_run(plain->session), ETRT_OK, "a launch of another session");
    need(etrt_residence_done(k->residence, "mlp", INFINITY), ETRT_OK, "done");
    need(etrt_residence_done(k->residence, "mlp", 0), ETRT_INVALID, "done twice");
    pid_t child = fork();
    if (!child) _exit(etrt_residence_post(k->residence, "mlp") == ETRT_FORKED ? 0 : 1);
    int status;
    if (waitpid(child, &status, 0) != child || status) fail("a child of fork");
}

/* The model that hangs is named, in time, and comes again; the other goes on. */
static void hang(struct kernel *k) {
    need(etrt_set_wait_limit(k->session, 0.5), ETRT_OK, "limit");
    need(etrt_residence_open(k->session, ETRT_RANGES_FIXED, &k->residence), ETRT_OK, "open");
    for (int i = 0; i < 2; i++) {
        step(k, "mlp");
        need(etrt_residence_post(k->residence, "moe"), ETRT_OK, "moe");
        for (int n = 0; n < 3; n++)
            step(k, "mlp");
        need(etrt_residence_done(k->residence, "moe", INFINITY), ETRT_WAIT, "moe");
        if (!strstr(etrt_last_error(), "task moe.")) fail("the task is not named");
        step(k, "mlp");
    }
    need(etrt_residence_close(k->residence), ETRT_OK, "close");
    need(etrt_select(k->session, "moe", 0), ETRT_OK, "select");
    need(etrt_run(k->session), ETRT_OK, "a launch after that");
}

/* Kernels of their own: what is refused, and that a model that hangs is named while the others go
 * on, after which all that they share is as it was. */
static void own(const char *spec, char **file) {
    etrt_device *first = device, *second;
    struct kernel mlp = load(file[0]), beside = load(file[0]), other = load(file[1]);
    need(etrt_device_open(spec, &second), ETRT_OK, spec);
    device = second;
    struct kernel moe = load(file[2]);
    device = first;
    etrt_session *each[] = {mlp.session, moe.session}, *same[] = {beside.session, NULL};
    etrt_session *one_handle[] = {mlp.session, other.session}, *wrong[] = {other.session, NULL};
    etrt_residence *r;
    etrt_model *none;
    need(etrt_model_load_with(mlp.model, file[1], &none), ETRT_MISMATCH, "weights of two models");
    need(etrt_residence_open_each(each, NULL, 2, NULL), ETRT_INVALID, "no place");
    need(etrt_residence_open_each(NULL, NULL, 2, &r), ETRT_INVALID, "no sessions");
    need(etrt_residence_open_each(each, NULL, 0, &r), ETRT_INVALID, "no models");
    need(etrt_residence_open_each(one_handle, NULL, 2, &r), ETRT_INVALID, "one handle");
    need(etrt_residence_open_each(each, wrong, 2, &r), ETRT_MISMATCH, "kernels of two models");
    need(etrt_residence_open_each(each, each, 2, &r), ETRT_MISMATCH, "one session twice");
    need(etrt_set_wait_limit(moe.session, 0.5), ETRT_OK, "limit");
    for (int i = 0; i < 2; i++) {
        struct kernel k = {.session = mlp.session};
        need(etrt_residence_open_each(each, same, 2, &k.residence), ETRT_OK, "open");
        need(etrt_residence_post(k.residence, NULL), ETRT_NOT_FOUND, "no model");
        need(etrt_residence_post(k.residence, "no"), ETRT_NOT_FOUND, "an unknown model");
        need(etrt_run(beside.session), ETRT_INVALID, "a launch while models share the GPU");
        need(etrt_residence_post(k.residence, "moe"), ETRT_OK, "moe");
        need(etrt_residence_post(k.residence, "moe"), ETRT_INVALID, "post twice");
        need(etrt_set_dim(moe.session, "N", 1), ETRT_INVALID, "a dim of a step");
        for (int n = 0; n < 3; n++)
            step(&k, "mlp");
        need(etrt_residence_done(k.residence, "moe", INFINITY), ETRT_WAIT, "moe");
        if (!strstr(etrt_last_error(), "task ")) fail("the task is not named");
        step(&k, "mlp");
        if (i) need(etrt_residence_post(k.residence, "mlp"), ETRT_OK, "mlp");
        if (i) etrt_session_destroy(beside.session), same[0] = NULL;
        if (!i) need(etrt_residence_close(k.residence), ETRT_OK, "close");
        need(etrt_run(mlp.session), ETRT_OK, "a launch after that");
    }
    etrt_model_unload(beside.model);
    unload(&mlp);
    unload(&other);
    unload(&moe);
    etrt_device_close(second);
}

static void *cancel_later(void *session) {
    nap(0.05);
    while (etrt_cancel(session) == ETRT_INVALID)
        nap(0.001);
    return NULL;
}

/* Launches of sessions are steps: of two models of one name, and of one that hangs and is
 * cancelled, before it begins as well. */
static void by_session(const char *spec, char **file) {
    etrt_device *first = device, *other[2];
    struct kernel k[3] = {load(file[0])};
    etrt_residence *r;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        need(etrt_device_open(spec, &other[i]), ETRT_OK, spec);
        device = other[i];
        k[i + 1] = load(file[2 * i]);
    }
    device = first;
    etrt_session *each[] = {k[0].session, k[1].session, k[2].session};
    need(etrt_residence_open_each(each, NULL, 3, &r), ETRT_OK, "open");
    need(etrt_residence_post(r, "mlp"), ETRT_INVALID, "a name of two models");
    need(etrt_wait(each[0]), ETRT_INVALID, "wait without a launch");
    need(etrt_cancel(each[0]), ETRT_INVALID, "cancel without a launch");
    for (int i = 0; i < 40; i++) {
        for (int m = 0; m < 2; m++)
            need(etrt_submit(each[m]), ETRT_OK, "submit");
        need(etrt_submit(each[i % 2]), ETRT_INVALID, "submit twice");
        for (int m = 0; m < 2; m++)
            need(etrt_wait(each[(m + i) % 2]), ETRT_OK, "wait");
    }
    need(etrt_submit(each[2]), ETRT_OK, "submit what hangs");
    need(etrt_wait_for(each[2], 0.01), ETRT_TIMEOUT, "wait a little");
    need(etrt_submit(each[0]), ETRT_OK, "submit behind it");
    etrt_cancel(each[0]); /* that may have begun */
    etrt_status st = etrt_wait(each[0]);
    if (st != ETRT_OK) need(st, ETRT_CANCELLED, "cancelled");
    if (pthread_create(&thread, NULL, cancel_later, each[2])) fail("no thread");
    need(etrt_wait(each[2]), ETRT_CANCELLED, "what hangs is cancelled");
    pthread_join(thread, NULL);
    for (int m = 0; m < 2; m++)
        need(etrt_run(each[m]), ETRT_OK, "run after that");
    need(etrt_residence_close(r), ETRT_OK, "close");
    need(etrt_run(each[1]), ETRT_OK, "a launch after that");
    for (int i = 0; i < 3; i++)
        unload(&k[i]);
    for (int i = 0; i < 2; i++)
        etrt_device_close(other[i]);
}

int main(int argc, char **argv) {
    if (argc != 8) return 2;
    need(etrt_device_open(argv[1], &device), ETRT_OK, argv[1]);
    struct kernel k = load(argv[2]), broken = load(argv[3]), plain = load(argv[4]);
    misuse(&k, &plain);
    idle(&k);
    need(etrt_residence_close(k.residence), ETRT_OK, "close");
    need(etrt_run(k.session), ETRT_OK, "a launch after that");
    hang(&broken);
    /* A session that is destroyed ends the kernel. */
    need(etrt_residence_open(k.session, ETRT_RANGES_ELASTIC, &k.residence), ETRT_OK, "open");
    need(etrt_residence_post(k.residence, "moe"), ETRT_OK, "moe");
    unload(&k);
    unload(&broken);
    unload(&plain);
    own(argv[1], argv + 5);
    by_session(argv[1], argv + 5);
    etrt_device_close(device);
    return 0;
}
