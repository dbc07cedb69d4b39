/* play [--device SPEC] [--rounds R] [--wait-limit SECONDS] KERNEL CASE [KERNEL CASE]...
 *
 * Launch kernels with given inputs and compare all that they leave with what is given, word by
 * word. A case is a safetensors file as `stress --record` writes it: SETTING/dim/NAME,
 * SETTING/in/NAME, SETTING.LAUNCH/in/NAME and SETTING.LAUNCH/out/NAME; states start as zeros in
 * every setting, and launches follow each other. The first round has one workgroup for each CU, the
 * others any number. A kernel that hangs, faults or is wrong is told of, and the next one gets its
 * turn, as long as the device can be opened again. Exit status 0 only if all was right. */
#include "runtime/etrt.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct play {
    const char *spec, *kernel;
    etrt_device *device;
    int cus, rounds;
    double wait_limit; /* 0: the library's */
    uint64_t draw;
    unsigned long launches, failed, wrong;
};

static bool complain(const struct play *p, const char *doing) {
    printf("%s: %s: %s\n", p->kernel, doing, etrt_last_error());
    return false;
}

/* The tensors of KIND in a setting, for one launch (-1: for all): bound, compared, or dims set. */
static bool each(struct play *p, etrt_session *s, const struct etrt_st *words, int setting,
                 int launch, const char *kind) {
    char prefix[64];
    if (launch < 0)
        snprintf(prefix, sizeof prefix, "%d/%s/", setting, kind);
    else
        snprintf(prefix, sizeof prefix, "%d.%d/%s/", setting, launch, kind);
    for (size_t i = 0; i < etrt_st_count(words); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(words, i);
        if (strncmp(t->name, prefix, strlen(prefix)) != 0) continue;
        const char *name = t->name + strlen(prefix);
        void *data = malloc(t->bytes + 1);
        bool ok = data != NULL;
        if (ok && strcmp(kind, "dim") == 0) {
            int32_t value;
            memcpy(&value, t->data, 4);
            ok = etrt_set_dim(s, name, value) == ETRT_OK || complain(p, name);
        } else if (ok && strcmp(kind, "in") == 0) {
            memcpy(data, t->data, t->bytes);
            ok = etrt_bind(s, name, data, t->bytes) == ETRT_OK || complain(p, name);
        } else if (ok) {
            ok = etrt_read(s, name, data, t->bytes) == ETRT_OK || complain(p, name);
            if (ok && memcmp(data, t->data, t->bytes) != 0) {
                printf("%s: setting %d, launch %d: %s is wrong\n", p->kernel, setting, launch + 1,
                       name);
                p->wrong++;
                ok = false;
            }
        }
        free(data);
        if (!ok) return false;
    }
    return true;
}

/* Is there anything of a setting, of one of its launches? */
static bool has(const struct etrt_st *words, int setting, int launch) {
    char prefix[64];
    if (launch < 0)
        snprintf(prefix, sizeof prefix, "%d/", setting);
    else
        snprintf(prefix, sizeof prefix, "%d.%d/", setting, launch);
    for (size_t i = 0; i < etrt_st_count(words); i++)
        if (strncmp(etrt_st_at(words, i)->name, prefix, strlen(prefix)) == 0) return true;
    return false;
}

static bool play_settings(struct play *p, etrt_session *s, const struct etrt_st *words) {
    for (int setting = 0; has(words, setting, -1); setting++) {
        if (etrt_session_reset(s) != ETRT_OK) return complain(p, "reset");
        if (!each(p, s, words, setting, -1, "dim") || !each(p, s, words, setting, -1, "in"))
            return false;
        for (int launch = 0; has(words, setting, launch); launch++) {
            if (!each(p, s, words, setting, launch, "in")) return false;
            p->launches++;
            if (etrt_run(s) != ETRT_OK) {
                p->failed++;
                return complain(p, "launch");
            }
            if (!each(p, s, words, setting, launch, "out")) return false;
        }
    }
    return true;
}

/* Any number of workgroups from 1 to one per CU. */
static int some_workgroups(struct play *p) {
    p->draw = p->draw * 6364136223846793005u + 1442695040888963407u;
    return 1 + (int)((p->draw >> 33) % (uint64_t)p->cus);
}

/* A device that has become what the first file is for knows how many CUs it has. */
static int most_workgroups(etrt_session *s) {
    int lo = 1, hi = 1 << 20; /* one that may be, one that may not */
    while (hi - lo > 1) {
        int w = lo + (hi - lo) / 2;
        *(etrt_set_workgroups(s, w) == ETRT_OK ? &lo : &hi) = w;
    }
    return lo;
}

static bool play_kernel(struct play *p, const struct etrt_st *words) {
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    if (!p->device && etrt_device_open(p->spec, &p->device) != ETRT_OK) {
        complain(p, "open");
        exit(1);
    }
    bool ok = etrt_model_load(p->device, p->kernel, &m) == ETRT_OK || complain(p, "load");
    if (ok) ok = etrt_session_create(m, &s) == ETRT_OK || complain(p, "session");
    if (ok && p->wait_limit > 0)
        ok = !etrt_set_wait_limit(s, p->wait_limit) || complain(p, "limit");
    if (ok && !p->cus) p->cus = most_workgroups(s);
    for (int round = 0; ok && round < p->rounds; round++) {
        int w = round ? some_workgroups(p) : 0;
        if (etrt_set_workgroups(s, w) != ETRT_OK) ok = complain(p, "workgroups");
        if (ok && !play_settings(p, s, words)) {
            printf("%s: with %d workgroups, 0 for one per CU\n", p->kernel, w);
            ok = false;
        }
    }
    etrt_session_destroy(s);
    etrt_model_unload(m);
    if (!ok) { /* it may have been a fault */
        etrt_device_close(p->device);
        p->device = NULL;
    }
    return ok;
}

int main(int argc, char **argv) {
    struct play p = {.spec = "auto", .rounds = 1};
    int at = 1, bad = 0, kernels = 0;
    for (; at + 1 < argc && strncmp(argv[at], "--", 2) == 0; at += 2)
        if (strcmp(argv[at], "--device") == 0)
            p.spec = argv[at + 1];
        else if (strcmp(argv[at], "--rounds") == 0)
            p.rounds = atoi(argv[at + 1]);
        else if (strcmp(argv[at], "--wait-limit") == 0)
            p.wait_limit = atof(argv[at + 1]);
    if (at >= argc || (argc - at) % 2) {
        fprintf(stderr, "usage: see the head of play.c\n");
        return 2;
    }
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (; at < argc; at += 2) {
        struct etrt_st *words;
        char err[ETRT_ST_ERR];
        p.kernel = argv[at];
        kernels++;
        if (!etrt_st_open(argv[at + 1], &words, err, sizeof err)) {
            printf("%s\n", err);
            bad++;
            continue;
        }
        bad += !play_kernel(&p, words);
        etrt_st_close(words);
    }
    etrt_device_close(p.device);
    printf("%d kernels, %lu launches: %lu did not end, %lu wrong, %d kernels bad\n", kernels,
           p.launches, p.failed, p.wrong, bad);
    return bad != 0;
}
