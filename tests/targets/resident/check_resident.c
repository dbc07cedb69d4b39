/* check_resident - does a kernel that stays compute what launches of each model's own kernel do,
 * bit for bit, whenever steps of its models come?
 *
 *     check_resident DEVICE KERNEL STEPS SEED  NAME ALONE  [NAME ALONE]...
 *
 * Random weights; for each step of each model random dims and inputs, whose answers launches of the
 * model's own kernel give first. Then the steps of all models come at random times, with outputs
 * read and compared when each is over; before, between and after that the kernel is launched as
 * others are. STEPS are for all models together; beyond MADE of a model without states its inputs
 * come again. Not more than PASSED steps that came later begin while one waits.
 *
 * KERNEL may be "each": the models' own kernels on device handles of their own under one residence
 * (etrt_residence_open_each); or "both": with a second session of each, of the same file
 * loaded again, which has the first one's tensors and weights, for steps beside others. */
#include "runtime/etrt/inspect.h"
#include "tests/support/launches.h"
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_MODELS = 8, MAX_TENSORS = 64, MAX_DIMS = 8, MADE = 32, PASSED = 64, MANY = 100 };

/* Inputs of a step and what it gives: outputs and states, by tensor. */
struct step {
    int64_t dim[MAX_DIMS];
    void *data[MAX_TENSORS];
    size_t bytes[MAX_TENSORS];
};

struct alone {
    const char *name;
    etrt_model *model;
    etrt_session *session;
    etrt_session *on, *beside; /* where its steps run */
    etrt_device *device;       /* of "each" */
    etrt_model *own, *half;
    struct step *step;
    int steps, made, next, launched;
    bool busy, held;
    int posted, passed; /* when, in steps of all; later ones that have begun since */
};

static uint32_t workgroups;
static struct alone alone[MAX_MODELS];
static int nmodels;
static bool mixed, each;
static int64_t halved;
/* What the kernel's names of a model's tensors and dims begin with. */
static const char *prefix_of(const struct alone *a) {
    return mixed ? a->name : NULL;
}

/* The step's answer, by the model's own kernel. */
static void make_step(const struct alone *a, struct step *p) {
    etrt_dim_info dim;
    etrt_tensor_info t;
    for (int i = 0; etrt_model_dim(a->model, i, &dim) == ETRT_OK; i++) {
        if (i >= MAX_DIMS) exit(3);
        p->dim[i] = dim.lo + (int64_t)(draw() % (uint64_t)(dim.hi - dim.lo + 1));
        need(etrt_set_dim(a->session, dim.name, p->dim[i]), dim.name);
    }
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind == ETRT_WEIGHT) continue;
        p->bytes[i] = bytes_of(a->session, t.name, t.dtype);
        if (t.kind != ETRT_INPUT) continue;
        p->data[i] = numbers(t.dtype, (int64_t)p->bytes[i]);
        need(etrt_bind(a->session, t.name, p->data[i], p->bytes[i]), t.name);
    }
    need(etrt_run(a->session), a->name);
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        p->data[i] = malloc(p->bytes[i] + 1);
        if (!p->data[i]) exit(1);
        need(etrt_read(a->session, t.name, p->data[i], p->bytes[i]), t.name);
    }
}

static bool has_states(etrt_model *model) {
    etrt_tensor_info t;
    bool any = false;
    for (int i = 0; etrt_model_tensor(model, i, &t) == ETRT_OK; i++)
        any |= t.kind == ETRT_STATE;
    return any;
}

static void give(const struct alone *a, etrt_session *s) {
    const struct step *p = &a->step[a->next % a->made];
    etrt_dim_info dim;
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_dim(a->model, i, &dim) == ETRT_OK; i++)
        need(etrt_set_dim(s, prefixed(prefix_of(a), dim.name, name), p->dim[i]), name);
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++)
        if (t.kind == ETRT_INPUT)
            need(etrt_bind(s, prefixed(prefix_of(a), t.name, name), p->data[i], p->bytes[i]), name);
}

static void compare(struct alone *a, etrt_session *s) {
    const struct step *p = &a->step[a->next++ % a->made];
    etrt_tensor_info t;
    char name[256];
    for (int i = 0; etrt_model_tensor(a->model, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        char *got = malloc(p->bytes[i] + 1);
        if (!got) exit(1);
        need(etrt_read(s, prefixed(prefix_of(a), t.name, name), got, p->bytes[i]), name);
        if (memcmp(got, p->data[i], p->bytes[i]) != 0) {
            fprintf(stderr, "check_resident: step %d of %s: %s differs\n", a->next - 1, a->name,
                    name);
            exit(1);
        }
        free(got);
    }
}

/* One step of each model that has one left, by a launch. */
static void launch(void) {
    bool any = false;
    for (int i = 0; i < nmodels; i++) {
        struct alone *a = &alone[i];
        bool on = a->next < a->steps;
        if (mixed) need(etrt_select(a->on, a->name, on), a->name);
        if (on) give(a, a->on);
        if (on && each) need(etrt_run(a->on), "launch");
        any |= on;
    }
    if (any && !each) need(etrt_run(alone[0].on), "launch");
    for (int i = 0; i < nmodels; i++)
        if (alone[i].next < alone[i].steps) {
            compare(&alone[i], alone[i].on);
            alone[i].launched++;
        }
}

static void nap(uint64_t microseconds) {
    nanosleep(&(struct timespec){.tv_sec = (time_t)(microseconds / 1000000),
                                 .tv_nsec = (long)(microseconds % 1000000) * 1000},
              NULL);
}

static bool left(void) {
    bool any = false;
    for (int i = 0; i < nmodels; i++)
        any |= alone[i].busy || alone[i].next < alone[i].steps - 1; /* one for the last launch */
    return any;
}

static const char *step_name(const struct alone *a) {
    return nmodels > 1 || draw() % 2 ? a->name : NULL;
}

/* ---- who waits for how long ---- */

static int most_passed, divided, posted;

/* Which have begun since the last look, on all workgroups or on a part of them. */
static void look_at_waits(etrt_residence *r) {
    for (int i = 0; i < nmodels; i++) {
        struct alone *a = &alone[i];
        struct etrt_part on;
        if (!a->busy || !a->held || !etrt_residence_begun(r, i, &on)) continue;
        a->held = false;
        divided += on.count < workgroups;
        for (int k = 0; k < nmodels; k++)
            alone[k].passed += alone[k].busy && alone[k].held && alone[k].posted < a->posted;
        if (a->passed > most_passed) most_passed = a->passed;
    }
}

static void over(struct alone *a) {
    a->busy = false;
    compare(a, a->on);
}

static etrt_residence *open_residence(etrt_ranges ranges) {
    etrt_session *on[MAX_MODELS], *beside[MAX_MODELS];
    etrt_residence *r;
    for (int i = 0; i < nmodels; i++) {
        on[i] = alone[i].on;
        beside[i] = alone[i].beside;
    }
    if (each)
        need(etrt_residence_open_each(on, beside[0] ? beside : NULL, nmodels, &r), "open");
    else
        need(etrt_residence_open(on[0], ranges, &r), "open");
    return r;
}

/* Steps come and end in any order; every now and then nothing comes for a while. */
static void stay(etrt_ranges ranges, bool polled) {
    etrt_residence *r = open_residence(ranges);
    int fd = -1, rested = 0, until = 0;
    if (polled) need(etrt_residence_fd(r, &fd), "fd");
    for (int i = 0; i < nmodels; i++)
        until += (alone[i].steps - alone[i].next) / 2;
    while (left() && until-- > 0) {
        struct alone *a = &alone[draw() % (uint64_t)nmodels];
        if (!a->busy && a->next < a->steps - 1) {
            give(a, a->on);
            if (nmodels > 1 && draw() % 16 == 0)
                need(etrt_residence_aims(r, a->name, 1 + (double)(draw() % 3), INFINITY, 1000),
                     "aims");
            need(etrt_residence_post(r, a->name), a->name);
            a->busy = a->held = true;
            a->posted = posted++;
            a->passed = 0;
            look_at_waits(r);
        }
        if (draw() % 4 == 0) nap(draw() % 3000);
        if (draw() % 64 == 0 && rested++ < 1) nap(1300000);
        if (polled && draw() % 2) {
            uint64_t count;
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (poll(&p, 1, 1) == 1 && read(fd, &count, sizeof count) != sizeof count) exit(1);
        }
        for (int i = 0; i < nmodels; i++) {
            if (!alone[i].busy) continue;
            etrt_status st = etrt_residence_done(r, step_name(&alone[i]), draw() % 2 ? 0 : 1e-3);
            look_at_waits(r);
            if (st == ETRT_TIMEOUT) continue;
            need(st, alone[i].name);
            over(&alone[i]);
        }
    }
    for (int i = 0; i < nmodels; i++)
        if (alone[i].busy) {
            need(etrt_residence_done(r, alone[i].name, INFINITY), alone[i].name);
            over(&alone[i]);
        }
    for (int i = 0; i < nmodels && each; i++) {
        int64_t n;
        etrt_residence_halved(r, i, &n);
        halved += n;
    }
    need(etrt_residence_close(r), "close");
}

/* The model's own kernel on a device handle of its own, with one session or two. */
static void open_own(struct alone *a, const char *spec, const char *file, bool both) {
    need(etrt_device_open(spec, &a->device), spec);
    need(etrt_model_load(a->device, file, &a->own), file);
    need(etrt_session_create(a->own, &a->on), file);
    if (both) need(etrt_model_load_with(a->own, file, &a->half), file);
    if (both) need(etrt_session_create(a->half, &a->beside), file);
    give_weights(a->model, a->own, NULL);
}

static void close_own(struct alone *a) {
    etrt_session_destroy(a->on);
    etrt_session_destroy(a->beside);
    etrt_model_unload(a->own);
    etrt_model_unload(a->half);
    etrt_device_close(a->device);
}

int main(int argc, char **argv) {
    etrt_device *device;
    etrt_model *kernel = NULL;
    etrt_session *s = NULL;
    nmodels = (argc - 5) / 2;
    if (argc < 7 || argc % 2 == 0 || nmodels > MAX_MODELS) return 2;
    launches_begin("check_resident", strtoull(argv[4], NULL, 10));
    need(etrt_device_open(argv[1], &device), argv[1]);
    bool both = strcmp(argv[2], "both") == 0;
    each = both || strcmp(argv[2], "each") == 0;
    if (!each) {
        need(etrt_model_load(device, argv[2], &kernel), argv[2]);
        need(etrt_session_create(kernel, &s), argv[2]);
        mixed = etrt_model_part(kernel, 0) != NULL;
    }
    workgroups = etrt_device_cus(device);
    for (int i = 0; i < nmodels; i++) {
        struct alone *a = &alone[i];
        a->name = argv[5 + 2 * i];
        need(etrt_model_load(device, argv[6 + 2 * i], &a->model), argv[6 + 2 * i]);
        need(etrt_session_create(a->model, &a->session), a->name);
        a->on = s;
        if (each)
            open_own(a, argv[1], argv[6 + 2 * i], both);
        else
            give_weights(a->model, kernel, prefix_of(a));
        a->steps = atoi(argv[3]) / nmodels + 2;
        a->made = a->steps < MADE || has_states(a->model) ? a->steps : MADE;
        a->step = calloc((size_t)a->made, sizeof *a->step);
        if (!a->step) return 1;
        for (int k = 0; k < a->made; k++)
            make_step(a, &a->step[k]);
    }
    launch();
    while (left()) {
        stay(draw() % 2 ? ETRT_RANGES_ELASTIC : ETRT_RANGES_FIXED, draw() % 2);
        if (draw() % 2) launch();
    }
    launch();
    int steps = 0, launched = 0;
    for (int i = 0; i < nmodels; i++) {
        steps += alone[i].next;
        launched += alone[i].launched;
        if (alone[i].next != alone[i].steps) return 4;
    }
    printf(
        "%d steps of %d models, %d of them by launches, %d on a part of the workgroups; at most %d "
        "passed one that waited: the same bytes as alone\n",
        steps, nmodels, launched, divided, most_passed);
    if (each) printf("%lld of them beside others\n", (long long)halved);
    if (both && nmodels > 1 && !halved && steps >= MANY) {
        fprintf(stderr, "check_resident: no step was beside others\n");
        return 1;
    }
    if (most_passed > PASSED) {
        fprintf(stderr, "check_resident: a step waited while %d that came later began\n",
                most_passed);
        return 1;
    }
    /* Of a few steps it may be that none came while another ran. */
    if (nmodels > 1 && !divided && !each && steps >= MANY) {
        fprintf(stderr, "check_resident: no step had a part of the workgroups\n");
        return 1;
    }
    etrt_session_destroy(s);
    for (int i = 0; i < nmodels; i++) {
        if (each) close_own(&alone[i]);
        etrt_session_destroy(alone[i].session);
        etrt_model_unload(alone[i].model);
        for (int k = 0; k < alone[i].made; k++)
            for (int t = 0; t < MAX_TENSORS; t++)
                free(alone[i].step[k].data[t]);
        free(alone[i].step);
    }
    etrt_model_unload(kernel);
    etrt_device_close(device);
    return 0;
}
