/* Weights: checkpoint tensors into device memory, stacked where the model loops over layers. */
#include "runtime/etrt/cache.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"
#include "runtime/etrt_source.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

etrt_status etrt_weights_alloc(etrt_model *m) {
    const struct etrt_manifest *mf = &m->manifest;
    m->weights = calloc((size_t)mf->ntensors + 1, sizeof *m->weights);
    m->hosted = calloc((size_t)mf->ntensors + 1, sizeof *m->hosted);
    m->weight_given = calloc((size_t)mf->ntensors + 1, sizeof *m->weight_given);
    m->weight_zero = calloc((size_t)mf->ntensors + 1, sizeof *m->weight_zero);
    if (!m->weights || !m->hosted || !m->weight_given || !m->weight_zero) return etrt_no_memory();
    for (int i = 0; i < mf->ntensors; i++) {
        const struct etrt_tensor *t = &mf->tensors[i];
        if (t->kind != ETRT_WEIGHT) continue;
        if (m->first && m->lent[i] >= 0) {
            m->weights[i] = m->first->weights[m->lent[i]];
            continue;
        }
        etrt_status st = etrt_mem_alloc(m->device, ETRT_ON_DEVICE, etrt_tensor_memory(t), t->name,
                                        &m->weights[i]);
        if (st != ETRT_OK) return st;
    }
    return etrt_cache_make(m);
}

/* The checkpoint's name of one slice: every {loop} replaced by its index (etrt_source.h). */
static bool replace_loops(const struct etrt_tensor *t, const int64_t *index, char *out,
                          size_t bytes) {
    size_t used = 0;
    for (const char *p = t->source; *p;) {
        int n = -1;
        if (*p == '{') {
            size_t length = strcspn(p, "}");
            struct etrt_source_index x;
            if (!etrt_source_index(p + 1, length - 1, &x)) return false;
            int64_t at = x.plus;
            for (int i = 0; i < x.n; i++)
                for (int k = 0; k < t->nloops; k++)
                    if (etrt_source_is(&x, i, t->loops[k].name))
                        at += x.term[i].times * (t->loops[k].lo + index[k]);
            n = snprintf(out + used, bytes - used, "%lld", (long long)at);
            p += length + 1;
        } else {
            size_t length = strcspn(p, "{");
            n = snprintf(out + used, bytes - used, "%.*s", (int)length, p);
            p += length;
        }
        if (n < 0 || (size_t)n >= bytes - used) return false;
        used += (size_t)n;
    }
    out[used] = 0;
    return true;
}

struct slices {
    const struct etrt_tensor *tensor;
    int64_t shape[ETRT_MAX_RANK];
    int64_t count, bytes; /* slices, and bytes of each */
    int64_t from,
        of; /* of what is cut: where its parts begin, of how many elements of the dimension */
};

/* The part of one of several devices in a slice of a checkpoint: runs of RUN bytes, the first at
 * AT, each PITCH after the one before it. RUN 0: all of the slice. */
struct part {
    uint64_t at, run, pitch;
};

static struct part part_of(const struct slices *s, int device) {
    const struct etrt_tensor *t = s->tensor;
    int cut = t->cut - 1;
    uint64_t outer = 1;
    if (cut < 0) return (struct part){0};
    for (int d = t->nloops; d < cut; d++)
        outer *= (uint64_t)s->shape[d];
    uint64_t run = outer ? (uint64_t)s->bytes / outer : 0, size = (uint64_t)s->shape[cut];
    uint64_t first = (uint64_t)s->from + (uint64_t)(device / t->repeat) * size;
    if (!size) return (struct part){0};
    return (struct part){run * first / size, run, run * (uint64_t)s->of / size};
}

/* BYTES of the part from byte FIRST of it on, one after the other. */
static void gather(const struct part *p, const char *slice, uint64_t first, uint64_t bytes,
                   char *out) {
    for (uint64_t done = 0, n; done < bytes; done += n) {
        uint64_t row = (first + done) / p->run, in = (first + done) % p->run;
        n = p->run - in < bytes - done ? p->run - in : bytes - done;
        memcpy(out + done, slice + p->at + row * p->pitch + in, n);
    }
}

/* PARTS: of T that all devices have. */
static etrt_status describe_slices(const struct etrt_tensor *t, int parts, struct slices *out) {
    int64_t total;
    out->tensor = t;
    etrt_status st = etrt_tensor_shape(t, NULL, out->shape, &total);
    out->count = 1;
    for (int k = 0; k < t->nloops; k++)
        out->count *= out->shape[k];
    out->bytes = out->count ? total / out->count : 0;
    out->from = t->from;
    out->of = t->of ? t->of : t->cut ? out->shape[t->cut - 1] * parts : 0;
    return st;
}

etrt_status etrt_slice_name(const struct etrt_tensor *t, int64_t slice, char *out, size_t bytes) {
    struct slices s;
    int64_t index[ETRT_MAX_RANK];
    etrt_status st = describe_slices(t, 1, &s);
    if (st != ETRT_OK) return st;
    if (slice < 0 || slice >= s.count)
        return etrt_fail(ETRT_RANGE, "weight %s has %lld slices", t->name, (long long)s.count);
    for (int k = t->nloops; k-- > 0; slice /= s.shape[k])
        index[k] = slice % s.shape[k];
    if (replace_loops(t, index, out, bytes)) return ETRT_OK;
    return etrt_fail(ETRT_FORMAT, "weight %s: its source name is too long", t->name);
}

/* Is FOUND bf16 where weight T is f16? */
static bool is_converted(const struct etrt_st_tensor *found, const struct etrt_tensor *t) {
    return t->dtype == ETRT_F16 && !strcmp(found->dtype, etrt_dtype_safetensors(ETRT_BF16));
}

/* Is FOUND what a slice of T, of this SHAPE, is in a checkpoint? */
static bool is_slice(const struct etrt_st_tensor *found, const struct etrt_tensor *t,
                     const int64_t *shape, int rank) {
    int held = etrt_dtype_held((int)etrt_dtype_bits(t->dtype), etrt_dtype_safetensors(t->dtype),
                               found->dtype);
    if (is_converted(found, t)) held = 1;
    if (held == 1 && !found->rank) return !rank || (rank == 1 && shape[0] == 1); /* one number */
    return held && etrt_dtype_fits(held, rank, shape, found->rank, found->shape);
}

/* The device computes as if no code of e4m3 and no exponent were NaN. */
static etrt_status check_codes(const struct etrt_tensor *t, const char *name,
                               const unsigned char *code, size_t bytes) {
    unsigned bad = 0;
    for (size_t i = 0; t->dtype == ETRT_E4M3 && i < bytes; i++)
        bad |= (code[i] & 0x7f) == 0x7f;
    for (size_t i = 0; t->dtype == ETRT_UE8M0 && i < bytes; i++)
        bad |= code[i] == 0xff;
    return bad ? etrt_fail(ETRT_RANGE, "weight %s holds NaN", name) : ETRT_OK;
}

/* bf16 that f16 has, but for the rounding of what is below 2^-14. */
static etrt_status check_halves(const char *name, const unsigned char *brain, size_t bytes) {
    const unsigned first_beyond = 0x4780; /* 65536 */
    unsigned bad = 0;
    for (size_t i = 0; i + 1 < bytes; i += 2)
        bad |= (brain[i] | (brain[i + 1] & 0x7fu) << 8) >= first_beyond;
    return bad ? etrt_fail(ETRT_RANGE, "weight %s holds numbers beyond those of f16", name)
               : ETRT_OK;
}

static void halve(unsigned char *out, const unsigned char *brain, size_t bytes) {
    for (size_t i = 0; i + 1 < bytes; i += 2) {
        uint32_t half = etrt_f32_to_f16(etrt_bf16_to_f32(brain[i] | (uint32_t)brain[i + 1] << 8));
        out[i] = (unsigned char)half;
        out[i + 1] = (unsigned char)(half >> 8);
    }
}

/* Find slice NUMBER in the checkpoint, and check what it is. */
static etrt_status find_slice(const struct slices *s, int64_t number, const struct etrt_st *ck,
                              const char *path, const struct etrt_st_tensor **out) {
    const struct etrt_tensor *t = s->tensor;
    char name[ETRT_SLICE_NAME], want[256], have[256];
    etrt_status st = etrt_slice_name(t, number, name, sizeof name);
    if (st != ETRT_OK) return st;
    int64_t shape[ETRT_MAX_RANK];
    int rank = t->rank - t->nloops;
    for (int d = 0; d < rank; d++)
        shape[d] = t->nloops + d == t->cut - 1 ? s->of : s->shape[t->nloops + d];
    etrt_st_shape_text(rank, shape, want, sizeof want);
    const struct etrt_st_tensor *found = etrt_st_find(ck, name);
    if (!found)
        return etrt_fail(ETRT_NOT_FOUND, "%s: no tensor %s (weight %s, %s %s)", path, name, t->name,
                         etrt_dtype_safetensors(t->dtype), want);
    if (!is_slice(found, t, shape, rank))
        return etrt_fail(ETRT_MISMATCH, "%s: tensor %s is %s %s, weight %s must be %s %s",
                         etrt_st_path(ck, found), name, found->dtype,
                         etrt_st_shape_text(found->rank, found->shape, have, sizeof have), t->name,
                         etrt_dtype_safetensors(t->dtype), want);
    *out = found;
    return is_converted(found, t) ? check_halves(name, found->data, found->bytes)
                                  : check_codes(t, name, found->data, found->bytes);
}

/* A slice to be copied, and all of them. */
struct job {
    etrt_device *device; /* NULL: TO is in host memory */
    char *to;
    const char *from; /* of what is cut the slice, and FIRST the byte of the part */
    struct part part;
    uint64_t first;
    uint64_t bytes;
    bool halves;                      /* bf16 that becomes f16 */
    const struct etrt_tensor *relaid; /* the weight, if it is relaid out; or NULL */
    /* Not the bytes as they are, but the matrix that they are packed, and to WORD whether it is. */
    const struct etrt_packed *packed;
    char *word;
};
struct jobs {
    etrt_device *device; /* of jobs that are added */
    struct part part;    /* and what of the slice is theirs */
    const char *slice;
    struct job *at;
    size_t count, room;
    uint64_t total;
    uint64_t **maps; /* of what is zero, per tensor, or NULL */
    uint64_t *zero;  /* bytes that are, per tensor */
};

static etrt_status add_job(struct jobs *j, struct job job) {
    if (j->count == j->room) {
        size_t room = j->room ? 2 * j->room : 64;
        struct job *more = realloc(j->at, room * sizeof *more);
        if (!more) return etrt_no_memory();
        j->at = more;
        j->room = room;
    }
    job.device = j->device;
    job.part = j->part;
    if (job.part.run) { /* FROM is where the part would be if it were all of the slice */
        job.first = (uint64_t)(job.from - j->slice);
        job.from = j->slice;
    }
    j->at[j->count++] = job;
    j->total += job.bytes;
    return ETRT_OK;
}

/* As pieces, so that there is a word of progress between one and the next, and work to share. */
static etrt_status add_jobs(struct jobs *j, char *to, const char *from, uint64_t bytes,
                            bool halves) {
    enum { PIECE = 16 << 20 };
    for (uint64_t at = 0, n; at < bytes; at += n) {
        n = bytes - at < PIECE ? bytes - at : PIECE;
        etrt_status st = add_job(
            j, (struct job){.to = to + at, .from = from + at, .bytes = n, .halves = halves});
        if (st != ETRT_OK) return st;
    }
    return ETRT_OK;
}

static etrt_status add_as_is(struct jobs *j, const struct slices *s, char *to,
                             const struct etrt_st_tensor *found) {
    return add_jobs(j, to, (const char *)found->data,
                    j->part.run ? (uint64_t)s->bytes : found->bytes,
                    is_converted(found, s->tensor));
}

/* The parts of a slice of S, which is turned. */
static etrt_status add_relaid(struct jobs *j, const struct slices *s, char *to,
                              const struct etrt_st_tensor *found) {
    int64_t parts = s->count ? etrt_relaid_parts(s->tensor, s->shape) / s->count : 0;
    uint64_t bytes = parts ? (uint64_t)(s->bytes / parts) : 0;
    for (int64_t i = 0; i < parts; i++) {
        struct job job = {.to = to + (uint64_t)i * bytes,
                          .from = (const char *)found->data + (uint64_t)i * bytes,
                          .bytes = bytes,
                          .halves = is_converted(found, s->tensor),
                          .relaid = s->tensor};
        etrt_status st = add_job(j, job);
        if (st != ETRT_OK) return st;
    }
    return ETRT_OK;
}

/* The matrices at FROM, of which T's from number FIRST on are packed. */
static etrt_status add_packed(struct jobs *j, const struct etrt_tensor *t, char *weight,
                              const char *from, int64_t first, int64_t matrices, bool halves) {
    const struct etrt_packed *d = &t->packed;
    uint64_t bytes = (uint64_t)(d->rows * d->k) * 2;
    for (int64_t m = 0; m < matrices; m++) {
        char *to = weight + d->at + (uint64_t)(first + m) * d->block;
        char *word = weight + d->words + 4 * (first + m);
        etrt_status st = add_job(j, (struct job){.to = to,
                                                 .from = from + (uint64_t)m * bytes,
                                                 .bytes = bytes,
                                                 .halves = halves,
                                                 .packed = d,
                                                 .word = word});
        if (st != ETRT_OK) return st;
    }
    return ETRT_OK;
}

/* Several threads copy, where the driver's copies do not overlap by themselves. */
struct copying {
    etrt_device *device;
    const struct jobs *jobs;
    _Atomic size_t next;
    _Atomic uint64_t done;
    atomic_bool failed;
    etrt_status status; /* of the first that failed, and why */
    char why[512];
};

/* A matrix that is not 2:4 is not sent. */
static etrt_status send_packed(etrt_device *device, const struct job *j, const void *matrix) {
    void *packed = malloc(j->packed->block);
    if (!packed) return etrt_no_memory();
    uint32_t is = etrt_packed_make(j->packed, matrix, packed);
    etrt_status st = is ? etrt_mem_send(device, j->to, packed, j->packed->block) : ETRT_OK;
    if (st == ETRT_OK) st = etrt_mem_write(device, j->word, &is, sizeof is);
    free(packed);
    return st;
}

static etrt_status copy_job(const struct job *j);

static etrt_status send(etrt_device *device, const struct job *j, const void *from) {
    if (!device) {
        memcpy(j->to, from, j->bytes);
        return ETRT_OK;
    }
    return j->packed ? send_packed(device, j, from) : etrt_mem_send(device, j->to, from, j->bytes);
}

static etrt_status copy_part(const struct job *j) {
    struct job all = *j;
    char *own = malloc(j->bytes + 1);
    if (!own) return etrt_no_memory();
    gather(&j->part, j->from, j->first, j->bytes, own);
    all.from = own;
    all.part.run = 0;
    etrt_status st = copy_job(&all);
    free(own);
    return st;
}

static etrt_status copy_job(const struct job *j) {
    struct slices s;
    etrt_device *device = j->device;
    if (j->part.run) return copy_part(j);
    if (!j->halves && !j->relaid) return send(device, j, j->from);
    unsigned char *made = calloc(1, j->bytes + 1);
    const unsigned char *from = (const unsigned char *)j->from;
    if (!made) return etrt_no_memory();
    etrt_status st = j->relaid ? describe_slices(j->relaid, 1, &s) : ETRT_OK;
    if (st == ETRT_OK && j->relaid) {
        etrt_relay(j->relaid, s.shape, from, made);
        from = made;
    }
    if (j->halves) halve(made, from, j->bytes);
    if (st == ETRT_OK) st = send(device, j, made);
    free(made);
    return st;
}

static bool copy_next(struct copying *c) {
    size_t k = atomic_fetch_add(&c->next, 1);
    if (k >= c->jobs->count || atomic_load(&c->failed)) return false;
    const struct job *j = &c->jobs->at[k];
    etrt_status st = copy_job(j);
    if (st == ETRT_OK)
        atomic_fetch_add(&c->done, j->bytes);
    else if (!atomic_exchange(&c->failed, true)) {
        c->status = st;
        snprintf(c->why, sizeof c->why, "%s", etrt_last_error());
    }
    return true;
}

static void *help(void *of) {
    while (copy_next(of))
        continue;
    return NULL;
}

static int start_helpers(struct copying *c, pthread_t *threads) {
    enum { HELPERS = 3 };
    const uint64_t worth = 32 << 20;
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    sigset_t all, before;
    int n = 0;
    if (c->device->driver->send || c->jobs->total < worth) return 0;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    while (n < HELPERS && n + 1 < cpus && pthread_create(&threads[n], NULL, help, c) == 0)
        n++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return n;
}

static etrt_status copy_all(etrt_model *m, const struct jobs *jobs) {
    pthread_t threads[8];
    struct copying c = {.device = m->device, .jobs = jobs};
    int helpers = start_helpers(&c, threads);
    for (uint64_t done; copy_next(&c);)
        if (m->tell && (done = atomic_load(&c.done)) && done < jobs->total)
            m->tell(m->tell_user, done, jobs->total);
    while (helpers)
        pthread_join(threads[--helpers], NULL);
    etrt_status st = c.status == ETRT_OK ? ETRT_OK : etrt_fail(c.status, "%s", c.why);
    if (jobs->count) {
        etrt_status settled = etrt_mem_settle(m->device);
        if (st == ETRT_OK) st = settled;
    }
    return st;
}

/* Slice NUMBER of weight INDEX, to all devices or its parts to theirs. */
static etrt_status add_slice(etrt_model *m, int index, const struct slices *s, int64_t number,
                             const struct etrt_st_tensor *found, struct jobs *jobs) {
    etrt_status st = ETRT_OK;
    int parts = s->tensor->cut ? m->manifest.devices : 1;
    bool hosted = m->hosted[index] != NULL;
    char *lead = (char *)(hosted ? m->hosted : m->weights)[index] + number * s->bytes;
    for (int i = 0; st == ETRT_OK && i < parts; i++) {
        char *to = parts > 1 ? etrt_member_memory(m->device, i, lead) : lead;
        jobs->device = hosted ? NULL : parts > 1 ? etrt_member(m->device, i) : m->device;
        jobs->part = part_of(s, i);
        jobs->slice = (const char *)found->data;
        st = (s->tensor->relaid ? add_relaid : add_as_is)(jobs, s, to, found);
    }
    jobs->device = m->device;
    jobs->part.run = 0;
    return st;
}

/* Check every slice of weight INDEX, and have it copied. */
static etrt_status visit(etrt_model *m, int index, const struct etrt_st *ck, const char *path,
                         struct jobs *jobs) {
    struct slices s;
    const struct etrt_st_tensor *found = NULL;
    const struct etrt_tensor *t = &m->manifest.tensors[index];
    etrt_status st = describe_slices(t, etrt_parts(&m->manifest, t), &s);
    const struct etrt_zeros *z = &s.tensor->zeros;
    const struct etrt_packed *d = &s.tensor->packed;
    uint64_t *map = NULL;
    if (st == ETRT_OK && z->columns) {
        map = jobs->maps[index] = malloc(z->bytes);
        if (!map) return etrt_no_memory();
    }
    for (int64_t k = 0; st == ETRT_OK && k < s.count; k++) {
        st = find_slice(&s, k, ck, path, &found);
        if (st == ETRT_OK) st = add_slice(m, index, &s, k, found, jobs);
        if (st == ETRT_OK && d->matrices)
            st = add_packed(jobs, s.tensor, m->weights[index], found->data,
                            k * (d->matrices / s.count), d->matrices / s.count,
                            is_converted(found, s.tensor));
        if (st == ETRT_OK && z->columns)
            jobs->zero[index] += etrt_zeros_find(s.tensor, found->data, z->matrices / s.count,
                                                 map + k * (int64_t)(z->bytes / 8) / s.count);
    }
    if (st == ETRT_OK && z->columns)
        st = add_jobs(jobs, (char *)m->weights[index] + z->at, (const char *)map, z->bytes, false);
    return st;
}

bool etrt_weights_loaded(const etrt_model *m, int model) {
    const struct etrt_manifest *mf = &m->manifest;
    for (int i = 0; i < mf->ntensors; i++)
        if (mf->tensors[i].kind == ETRT_WEIGHT && mf->tensors[i].model == model &&
            !*etrt_weight_given(m, i))
            return false;
    return true;
}

/* Of MODEL, and not there by another kernel's file. */
static bool is_wanted(const etrt_model *m, int i, int model) {
    const struct etrt_tensor *t = &m->manifest.tensors[i];
    bool lent = m->first && m->lent[i] >= 0;
    return t->kind == ETRT_WEIGHT && t->model == model && !(lent && *etrt_weight_given(m, i));
}

static etrt_status load_from(etrt_model *m, int model, const char *path) {
    struct etrt_st *ck;
    char err[ETRT_ST_ERR];
    const struct etrt_manifest *mf = &m->manifest;
    etrt_status st = etrt_device_check(m->device);
    if (st != ETRT_OK) return st;
    if (access(path, R_OK) != 0) return etrt_fail(ETRT_IO, "%s: %s", path, strerror(errno));
    if (!etrt_st_open(path, &ck, err, sizeof err)) return etrt_fail(ETRT_FORMAT, "%s", err);
    /* All is checked before anything is copied, so that a bad file leaves the weights as they
     * were. */
    struct jobs jobs = {.device = m->device,
                        .maps = calloc((size_t)mf->ntensors + 1, sizeof *jobs.maps),
                        .zero = calloc((size_t)mf->ntensors + 1, sizeof *jobs.zero)};
    if (!jobs.maps || !jobs.zero) st = etrt_no_memory();
    for (int i = 0; st == ETRT_OK && i < mf->ntensors; i++)
        if (is_wanted(m, i, model)) st = visit(m, i, ck, path, &jobs);
    if (st == ETRT_OK) st = copy_all(m, &jobs);
    for (int i = 0; jobs.maps && i < mf->ntensors; i++)
        free(jobs.maps[i]);
    free(jobs.maps);
    free(jobs.at);
    etrt_st_close(ck);
    for (int i = 0; st == ETRT_OK && i < mf->ntensors; i++) {
        if (!is_wanted(m, i, model)) continue;
        *etrt_weight_given(m, i) = true;
        m->weight_zero[i] = jobs.zero[i];
    }
    free(jobs.zero);
    if (st == ETRT_OK) st = etrt_cache_fill(m);
    if (st != ETRT_OK) return st;
    if (m->tell) m->tell(m->tell_user, jobs.total, jobs.total);
    return ETRT_OK;
}

etrt_status etrt_model_progress(etrt_model *m, etrt_progress tell, void *user) {
    if (!m) return etrt_fail(ETRT_INVALID, "etrt_model_progress: no model");
    m->tell = tell;
    m->tell_user = user;
    return ETRT_OK;
}

etrt_status etrt_model_weights_file(etrt_model *m, const char *path) {
    if (!m || !path) return etrt_fail(ETRT_INVALID, "etrt_model_weights_file: NULL argument");
    if (m->manifest.nmodels)
        return etrt_fail(ETRT_INVALID, "%s holds %d models: name the one whose weights %s has",
                         m->path, m->manifest.nmodels, path);
    return load_from(m, 0, path);
}

etrt_status etrt_model_weights_of(etrt_model *m, const char *name, const char *path) {
    if (!m || !name || !path)
        return etrt_fail(ETRT_INVALID, "etrt_model_weights_of: NULL argument");
    int model;
    etrt_status st = etrt_mix_find(&m->manifest, name, &model);
    return st == ETRT_OK ? load_from(m, model, path) : st;
}

static etrt_status write_map(etrt_model *m, int i, const void *data) {
    const struct etrt_zeros *z = &m->manifest.tensors[i].zeros;
    if (!z->columns) return ETRT_OK;
    uint64_t *map = malloc(z->bytes);
    if (!map) return etrt_no_memory();
    uint64_t zero = etrt_zeros_find(&m->manifest.tensors[i], data, z->matrices, map);
    etrt_status st = etrt_mem_write(m->device, (char *)m->weights[i] + z->at, map, z->bytes);
    if (st == ETRT_OK) m->weight_zero[i] = zero;
    free(map);
    return st;
}

static etrt_status write_packed(etrt_model *m, int i, const void *data) {
    const struct etrt_packed *d = &m->manifest.tensors[i].packed;
    struct jobs jobs = {.device = m->device};
    etrt_status st =
        add_packed(&jobs, &m->manifest.tensors[i], m->weights[i], data, 0, d->matrices, false);
    for (size_t k = 0; st == ETRT_OK && k < jobs.count; k++)
        st = copy_job(&jobs.at[k]);
    free(jobs.at);
    return st;
}

/* Of a weight that is relaid out, cut or in host memory. */
static etrt_status write_slices(etrt_model *m, int i, const void *data) {
    struct slices s;
    struct jobs jobs = {.device = m->device};
    int parts = etrt_parts(&m->manifest, &m->manifest.tensors[i]);
    etrt_status st = describe_slices(&m->manifest.tensors[i], parts, &s);
    int64_t bytes = s.bytes * parts;
    if (s.of)
        s.from = 0, s.of = s.shape[s.tensor->cut - 1] * parts; /* DATA is of the piece alone */
    for (int64_t k = 0; st == ETRT_OK && k < s.count; k++) {
        const struct etrt_st_tensor one = {
            .data = (const unsigned char *)data + k * bytes, .bytes = (uint64_t)bytes, .dtype = ""};
        st = add_slice(m, i, &s, k, &one, &jobs);
    }
    for (size_t k = 0; st == ETRT_OK && k < jobs.count; k++)
        st = copy_job(&jobs.at[k]);
    free(jobs.at);
    etrt_status settled = etrt_mem_settle(m->device);
    return st == ETRT_OK ? settled : st;
}

etrt_status etrt_model_weight(etrt_model *m, const char *name, const void *data, size_t bytes) {
    if (!m || !name || !data) return etrt_fail(ETRT_INVALID, "etrt_model_weight: NULL argument");
    etrt_status st = etrt_device_check(m->device);
    const struct etrt_manifest *mf = &m->manifest;
    int i;
    if (st == ETRT_OK) st = etrt_tensor_find(mf, name, &i);
    if (st != ETRT_OK) return st;
    const struct etrt_tensor *t = &mf->tensors[i];
    if (t->kind != ETRT_WEIGHT)
        return etrt_fail(ETRT_INVALID, "etrt_model_weight: %s is no weight but %s", name,
                         etrt_kind_name(t->kind));
    uint64_t need = (uint64_t)t->max_bytes * (uint64_t)etrt_parts(mf, t);
    if (bytes != need)
        return etrt_fail(ETRT_MISMATCH, "weight %s: %zu bytes given, %llu needed", name, bytes,
                         (unsigned long long)need);
    st = check_codes(t, name, data, bytes);
    if (st == ETRT_OK && (t->relaid || t->cut || t->entries))
        st = write_slices(m, i, data);
    else if (st == ETRT_OK)
        st = etrt_mem_write(m->device, m->weights[i], data, bytes);
    if (st == ETRT_OK) st = write_map(m, i, data);
    if (st == ETRT_OK) st = write_packed(m, i, data);
    if (st == ETRT_OK && t->entries) st = etrt_cache_fill(m);
    *etrt_weight_given(m, i) |= st == ETRT_OK;
    return st;
}
