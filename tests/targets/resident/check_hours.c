/* check_hours - hours of steps and pauses of a kernel that stays, on an emulator whose clock is
 * fast: does every step give what the model's own kernel gives, and does nothing grow?
 *
 *     check_hours DEVICE TIMES HOURS SEED KERNEL  NAME ALONE  [NAME ALONE]...
 *
 * DEVICE's clock is TIMES as fast as the host's (clock=TIMES). Pauses are drawn, half of them long
 * enough for the kernel to end, until they are HOURS of that clock together. Memory and open files
 * are looked at when a quarter of them is over, and at the end. */
#include "tests/support/launches.h"
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MODELS = 4, MAX_TENSORS = 16, BURST = 24, ROOM = 512 };

struct part {
    const char *name;
    etrt_model *alone;
    etrt_session *session;
    void *data[MAX_TENSORS]; /* inputs, and outputs as they are to be */
    size_t bytes[MAX_TENSORS];
    long steps;
};

static struct part part[MAX_MODELS];
static int nparts;

static void nap(double seconds) {
    double whole = floor(seconds);
    nanosleep(
        &(struct timespec){.tv_sec = (time_t)whole, .tv_nsec = (long)((seconds - whole) * 1e9)},
        NULL);
}

/* KiB of memory, and files that are open. */
static void look(long *out_kib, int *out_files) {
    FILE *f = fopen("/proc/self/statm", "r");
    long all, pages;
    if (!f || fscanf(f, "%ld %ld", &all, &pages) != 2) exit(1);
    fclose(f);
    *out_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    DIR *open = opendir("/proc/self/fd");
    if (!open) exit(1);
    *out_files = 0;
    while (readdir(open))
        ++*out_files;
    closedir(open);
}

/* What the model's own kernel gives for inputs that are drawn, with the most of every dim. */
static void prepare(struct part *p, etrt_device *device, const char *path, etrt_model *kernel,
                    etrt_session *s) {
    etrt_dim_info dim;
    etrt_tensor_info t;
    char name[256];
    need(etrt_model_load(device, path, &p->alone), path);
    need(etrt_session_create(p->alone, &p->session), path);
    give_weights(p->alone, kernel, p->name);
    for (int i = 0; etrt_model_dim(p->alone, i, &dim) == ETRT_OK; i++) {
        need(etrt_set_dim(p->session, dim.name, dim.hi), dim.name);
        need(etrt_set_dim(s, prefixed(p->name, dim.name, name), dim.hi), name);
    }
    for (int i = 0; etrt_model_tensor(p->alone, i, &t) == ETRT_OK; i++) {
        if (i >= MAX_TENSORS) exit(3);
        if (t.kind != ETRT_INPUT) continue;
        p->bytes[i] = bytes_of(p->session, t.name, t.dtype);
        p->data[i] = numbers(t.dtype, (int64_t)p->bytes[i]);
        need(etrt_bind(p->session, t.name, p->data[i], p->bytes[i]), t.name);
        need(etrt_bind(s, prefixed(p->name, t.name, name), p->data[i], p->bytes[i]), name);
    }
    need(etrt_run(p->session), p->name);
    for (int i = 0; etrt_model_tensor(p->alone, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT) continue;
        p->bytes[i] = bytes_of(p->session, t.name, t.dtype);
        p->data[i] = malloc(p->bytes[i] + 1);
        if (!p->data[i]) exit(1);
        need(etrt_read(p->session, t.name, p->data[i], p->bytes[i]), t.name);
    }
}

static void compare(struct part *p, etrt_session *s) {
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(p->alone, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT) continue;
        char *got = malloc(p->bytes[i] + 1);
        if (!got) exit(1);
        need(etrt_read(s, prefixed(p->name, t.name, name), got, p->bytes[i]), name);
        if (memcmp(got, p->data[i], p->bytes[i]) != 0) {
            fprintf(stderr, "check_hours: step %ld of %s: %s differs\n", p->steps, p->name, name);
            exit(1);
        }
        free(got);
    }
    p->steps++;
}

/* Some steps, of some of the models at once. */
static void burst(etrt_residence *r, etrt_session *s) {
    for (int n = 1 + (int)(draw() % BURST); n > 0; n--) {
        unsigned set = 1 + (unsigned)(draw() % ((1u << nparts) - 1));
        for (int i = 0; i < nparts; i++)
            if (set >> i & 1) need(etrt_residence_post(r, part[i].name), part[i].name);
        for (int i = 0; i < nparts; i++) {
            if (!(set >> i & 1)) continue;
            need(etrt_residence_done(r, part[i].name, INFINITY), part[i].name);
            compare(&part[i], s);
        }
    }
}

int main(int argc, char **argv) {
    etrt_device *device;
    etrt_model *kernel;
    etrt_session *s;
    etrt_residence *r;
    etrt_stats stats;
    long kib[2] = {0}, steps = 0;
    int files[2] = {0};
    nparts = (argc - 6) / 2;
    if (argc < 8 || argc % 2 || nparts > MAX_MODELS) return 2;
    double times = atof(argv[2]), hours = atof(argv[3]), passed = 0;
    launches_begin("check_hours", strtoull(argv[4], NULL, 10));
    need(etrt_device_open(argv[1], &device), argv[1]);
    need(etrt_model_load(device, argv[5], &kernel), argv[5]);
    need(etrt_session_create(kernel, &s), argv[5]);
    /* A host that is slow for a moment is so for minutes of a fast clock. */
    need(etrt_set_wait_limit(s, 4 * times), "wait limit");
    for (int i = 0; i < nparts; i++) {
        part[i].name = argv[6 + 2 * i];
        prepare(&part[i], device, argv[7 + 2 * i], kernel, s);
    }
    need(etrt_residence_open(s, ETRT_RANGES_ELASTIC, &r), "open");
    while (passed < hours * 3600) {
        burst(r, s);
        double most = draw() % 2 ? 0.9 : 200; /* seconds; after one the kernel ends */
        double pause = most * (double)(draw() % 1000) / 1000;
        nap(pause / times);
        passed += pause;
        if (!kib[0] && passed > hours * 900) look(&kib[0], &files[0]);
    }
    look(&kib[1], &files[1]);
    need(etrt_residence_close(r), "close");
    etrt_device_stats(device, &stats);
    for (int i = 0; i < nparts; i++)
        steps += part[i].steps;
    printf("%.2f hours, %ld steps, %llu launches: the same bytes as alone; %ld and %ld KiB, %d and "
           "%d files after a quarter and all of it\n",
           passed / 3600, steps, (unsigned long long)stats.launches, kib[0], kib[1], files[0],
           files[1]);
    if (kib[1] > kib[0] + ROOM || files[1] > files[0]) {
        fprintf(stderr, "check_hours: it grows\n");
        return 1;
    }
    if (stats.launches < 4) {
        fprintf(stderr, "check_hours: the kernel never ended in a pause\n");
        return 1;
    }
    etrt_session_destroy(s);
    etrt_model_unload(kernel);
    for (int i = 0; i < nparts; i++) {
        etrt_session_destroy(part[i].session);
        etrt_model_unload(part[i].alone);
        for (int t = 0; t < MAX_TENSORS; t++)
            free(part[i].data[t]);
    }
    etrt_device_close(device);
    return 0;
}
