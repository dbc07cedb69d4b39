/* play [--device SPEC] [--rounds R] [--wait-limit SECONDS] KERNEL CASE [KERNEL CASE]...
 *
 * Launch kernels with given inputs and compare all that they leave with what is given. A case is a
 * safetensors file as `stress --record` and `programs --record` write it:
 *   weight/NAME                               loaded once
 *   SETTING/dim|in|state/NAME                 given before the first launch; states that are not
 * are zeros SETTING.LAUNCH/dim|in/NAME                given before that launch; launches follow
 * each other SETTING.LAUNCH/out|equal|near/NAME        left by it: these bytes; these numbers, and
 * NaN where there is one; or numbers that are off by `bound` Of a kernel of several models CASE is
 * MODEL=FILE,MODEL=FILE: one of each, with the same settings and launches. Before each launch
 * outputs hold what no kernel writes, and so does what lies behind them.
 *
 * The first round has one workgroup for each CU, the others any number. A kernel that hangs, faults
 * or is wrong is told of, and the next one gets its turn, as long as the device can be opened
 * again. Exit status 0 only if all was right. */
#include "runtime/etrt.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MODELS = 8, MAX_OUTPUTS = 256, BEHIND = 4096, POISON = 0xa5 };

/* What one model is given and must leave. */
struct part {
    char prefix[64]; /* "MODEL.", or "" where the kernel has one */
    struct etrt_st *words;
    void **first; /* by tensor of `words`: what the first round left */
};

/* The memory of an output, with BEHIND bytes more. */
struct output {
    void *memory;
    uint64_t bytes;
    char name[256];
};

struct play {
    const char *spec, *kernel;
    etrt_device *device;
    struct part part[MAX_MODELS];
    struct output output[MAX_OUTPUTS];
    int nparts, noutputs;
    int cus, rounds;
    double wait_limit; /* 0: the library's */
    uint64_t draw;
    unsigned long launches, failed, wrong, compared;
};

static bool complain(const struct play *p, const char *doing) {
    printf("%s: %s: %s\n", p->kernel, doing, etrt_last_error());
    return false;
}

/* ---- comparing ---- */

static int row_of(const char *dtype) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    if (!strcmp(dtype, safetensors)) return ETRT_ROW_##NAME;
    ETRT_DTYPES(X)
#undef X
    return -1;
}

/* Numbers that are no further off than BOUND says: each by itself, or all as a vector. */
static bool is_near(int row, const void *want, const void *got, int64_t n, double bound) {
    double off = 0, size = 0;
    bool each = true;
    for (int64_t i = 0; i < n; i++) {
        double w = etrt_element(row, want, i), g = etrt_element(row, got, i);
        if (w == g || (isnan(w) && isnan(g))) continue;
        if (!isfinite(w) || !isfinite(g)) return false;
        each &= fabs(w - g) <= bound * fmax(fabs(w), 1);
        off += (w - g) * (w - g);
    }
    for (int64_t i = 0; i < n; i++) {
        double w = etrt_element(row, want, i);
        if (isfinite(w)) size += w * w;
    }
    return each || sqrt(off) <= bound * sqrt(size);
}

static bool is_as_told(const struct etrt_st *words, const char *kind,
                       const struct etrt_st_tensor *want, const void *got) {
    if (!strcmp(kind, "out")) return memcmp(got, want->data, want->bytes) == 0;
    int row = row_of(want->dtype);
    const struct etrt_st_tensor *b = etrt_st_find(words, "bound");
    float bound = 0;
    if (!strcmp(kind, "near") && b) memcpy(&bound, b->data, sizeof bound);
    return row >= 0 && is_near(row, want->data, got, want->shape[0], (double)bound);
}

/* ---- what is given and left ---- */

static bool give(etrt_session *s, const char *kind, const char *name, const void *data,
                 size_t bytes) {
    int32_t value;
    if (!strcmp(kind, "in")) return etrt_bind(s, name, data, bytes) == ETRT_OK;
    if (!strcmp(kind, "state")) return etrt_write(s, name, data, bytes) == ETRT_OK;
    memcpy(&value, data, sizeof value);
    return etrt_set_dim(s, name, value) == ETRT_OK;
}

/* Whatever is said of it: every round leaves the same bits. */
static bool has_same_bits(struct play *p, void **first, void *got,
                          const struct etrt_st_tensor *want) {
    if (!*first) {
        *first = got;
        return true;
    }
    bool same = memcmp(*first, got, want->bytes) == 0;
    if (!same) printf("%s: %s has other bits\n", p->kernel, want->name);
    free(got);
    return same;
}

/* WHICH of the tensors of a part. */
static bool look(struct play *p, etrt_session *s, const struct part *part, const char *kind,
                 const char *name, size_t which) {
    const struct etrt_st_tensor *want = etrt_st_at(part->words, which);
    void *got = malloc(want->bytes + 1);
    p->compared++;
    if (!got || etrt_read(s, name, got, want->bytes) != ETRT_OK) {
        free(got);
        return complain(p, name);
    }
    bool right = is_as_told(part->words, kind, want, got);
    if (!right) printf("%s: %s is wrong\n", p->kernel, want->name);
    right &= has_same_bits(p, &part->first[which], got, want);
    p->wrong += !right;
    return right;
}

/* The tensors of KIND in a setting, for one launch (-1: for all): given, or compared. */
static bool each(struct play *p, etrt_session *s, const struct part *part, int setting, int launch,
                 const char *kind) {
    char prefix[64], name[512];
    bool left = !strcmp(kind, "out") || !strcmp(kind, "equal") || !strcmp(kind, "near");
    if (launch < 0)
        snprintf(prefix, sizeof prefix, "%d/%s/", setting, kind);
    else
        snprintf(prefix, sizeof prefix, "%d.%d/%s/", setting, launch, kind);
    for (size_t i = 0; i < etrt_st_count(part->words); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(part->words, i);
        if (strncmp(t->name, prefix, strlen(prefix)) != 0) continue;
        snprintf(name, sizeof name, "%s%s", part->prefix, t->name + strlen(prefix));
        if (left ? !look(p, s, part, kind, name, i)
                 : !give(s, kind, name, t->data, t->bytes) && !complain(p, name))
            return false;
    }
    return true;
}

/* The same of all models. */
static bool all(struct play *p, etrt_session *s, int setting, int launch, const char *kind) {
    for (int i = 0; i < p->nparts; i++)
        if (!each(p, s, &p->part[i], setting, launch, kind)) return false;
    return true;
}

/* Is there anything of a setting, of one of its launches? */
static bool has(const struct play *p, int setting, int launch) {
    char prefix[64];
    const struct etrt_st *words = p->part[0].words;
    if (launch < 0)
        snprintf(prefix, sizeof prefix, "%d/", setting);
    else
        snprintf(prefix, sizeof prefix, "%d.%d/", setting, launch);
    for (size_t i = 0; i < etrt_st_count(words); i++)
        if (strncmp(etrt_st_at(words, i)->name, prefix, strlen(prefix)) == 0) return true;
    return false;
}

/* ---- outputs, poisoned ---- */

static bool bind_outputs(struct play *p, etrt_model *m, etrt_session *s) {
    etrt_tensor_info t;
    p->noutputs = 0;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT || p->noutputs == MAX_OUTPUTS) continue;
        struct output *o = &p->output[p->noutputs];
        o->bytes = (uint64_t)t.max_bytes;
        snprintf(o->name, sizeof o->name, "%s", t.name);
        if (etrt_device_alloc(p->device, o->bytes + BEHIND, &o->memory) != ETRT_OK)
            return complain(p, "memory");
        p->noutputs++;
        if (etrt_bind_device(s, o->name, o->memory, o->bytes) != ETRT_OK)
            return complain(p, o->name);
    }
    return true;
}

static void free_outputs(struct play *p) {
    for (int i = 0; i < p->noutputs; i++)
        etrt_device_free(p->device, p->output[i].memory);
    p->noutputs = 0;
}

static bool poison_outputs(struct play *p) {
    for (int i = 0; i < p->noutputs; i++) {
        struct output *o = &p->output[i];
        size_t bytes = (size_t)o->bytes + BEHIND;
        void *data = malloc(bytes);
        bool ok = data && etrt_device_write(p->device, o->memory, memset(data, POISON, bytes),
                                            bytes) == ETRT_OK;
        free(data);
        if (!ok) return complain(p, o->name);
    }
    return true;
}

static bool nothing_behind(struct play *p) {
    for (int i = 0; i < p->noutputs; i++) {
        struct output *o = &p->output[i];
        unsigned char data[BEHIND];
        bool same = true;
        if (etrt_device_read(p->device, data, (char *)o->memory + o->bytes, BEHIND) != ETRT_OK)
            return complain(p, o->name);
        for (int k = 0; k < BEHIND; k++)
            same &= data[k] == POISON;
        if (same) continue;
        printf("%s: what lies behind %s is overwritten\n", p->kernel, o->name);
        p->wrong++;
        return false;
    }
    return true;
}

/* ---- launches ---- */

static bool play_settings(struct play *p, etrt_session *s) {
    for (int setting = 0; has(p, setting, 0); setting++) {
        if (etrt_session_reset(s) != ETRT_OK) return complain(p, "reset");
        if (!all(p, s, setting, -1, "dim") || !all(p, s, setting, -1, "in") ||
            !all(p, s, setting, -1, "state"))
            return false;
        for (int launch = 0; has(p, setting, launch); launch++) {
            if (!all(p, s, setting, launch, "dim") || !all(p, s, setting, launch, "in") ||
                !poison_outputs(p))
                return false;
            p->launches++;
            if (etrt_run(s) != ETRT_OK) {
                p->failed++;
                return complain(p, "launch");
            }
            if (!all(p, s, setting, launch, "out") || !all(p, s, setting, launch, "equal") ||
                !all(p, s, setting, launch, "near") || !nothing_behind(p)) {
                printf("%s: setting %d, launch %d\n", p->kernel, setting, launch + 1);
                return false;
            }
        }
    }
    return true;
}

static bool give_weights(struct play *p, etrt_model *m) {
    char name[512];
    for (int k = 0; k < p->nparts; k++)
        for (size_t i = 0; i < etrt_st_count(p->part[k].words); i++) {
            const struct etrt_st_tensor *t = etrt_st_at(p->part[k].words, i);
            if (strncmp(t->name, "weight/", 7) != 0) continue;
            snprintf(name, sizeof name, "%s%s", p->part[k].prefix, t->name + 7);
            if (etrt_model_weight(m, name, t->data, t->bytes) != ETRT_OK) return complain(p, name);
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

static bool play_kernel(struct play *p) {
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    if (!p->device && etrt_device_open(p->spec, &p->device) != ETRT_OK) {
        complain(p, "open");
        exit(1);
    }
    bool ok = etrt_model_load(p->device, p->kernel, &m) == ETRT_OK || complain(p, "load");
    if (ok) ok = give_weights(p, m);
    if (ok) ok = etrt_session_create(m, &s) == ETRT_OK || complain(p, "session");
    if (ok) ok = bind_outputs(p, m, s);
    if (ok && p->wait_limit > 0)
        ok = !etrt_set_wait_limit(s, p->wait_limit) || complain(p, "limit");
    if (ok && !p->cus) p->cus = most_workgroups(s);
    for (int round = 0; ok && round < p->rounds; round++) {
        int w = round ? some_workgroups(p) : 0;
        if (etrt_set_workgroups(s, w) != ETRT_OK) ok = complain(p, "workgroups");
        if (ok && !play_settings(p, s)) {
            printf("%s: with %d workgroups, 0 for one per CU\n", p->kernel, w);
            ok = false;
        }
    }
    etrt_session_destroy(s);
    free_outputs(p);
    etrt_model_unload(m);
    if (!ok) { /* it may have been a fault */
        etrt_device_close(p->device);
        p->device = NULL;
    }
    return ok;
}

/* "FILE", or "MODEL=FILE,MODEL=FILE". */
static bool open_case(struct play *p, char *text) {
    char err[ETRT_ST_ERR], *end;
    p->nparts = 0;
    for (char *one = strtok_r(text, ",", &end); one; one = strtok_r(NULL, ",", &end)) {
        if (p->nparts == MAX_MODELS) return false;
        struct part *part = &p->part[p->nparts];
        char *file = strchr(one, '=');
        snprintf(part->prefix, sizeof part->prefix, "%.*s%s", file ? (int)(file - one) : 0, one,
                 file ? "." : "");
        if (!etrt_st_open(file ? file + 1 : one, &part->words, err, sizeof err)) {
            printf("%s\n", err);
            return false;
        }
        part->first = calloc(etrt_st_count(part->words) + 1, sizeof *part->first);
        p->nparts++;
        if (!part->first) return false;
    }
    return p->nparts > 0;
}

static void close_case(struct play *p) {
    for (int i = 0; i < p->nparts; i++) {
        struct part *part = &p->part[i];
        for (size_t t = 0; part->first && t < etrt_st_count(part->words); t++)
            free(part->first[t]);
        free(part->first);
        etrt_st_close(part->words);
    }
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
        unsigned long before = p.compared;
        p.kernel = argv[at];
        kernels++;
        bool ok = open_case(&p, argv[at + 1]) && play_kernel(&p) && p.compared > before;
        bad += !ok;
        close_case(&p);
    }
    etrt_device_close(p.device);
    printf("%d kernels, %lu launches, %lu tensors: %lu did not end, %lu wrong, %d kernels bad\n",
           kernels, p.launches, p.compared, p.failed, p.wrong, bad);
    return bad != 0;
}
