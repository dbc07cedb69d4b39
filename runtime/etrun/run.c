/* etrun MODEL: load, bind from a file, launch, write outputs to a file. */
#include "runtime/etrun/etrun.h"
#include "runtime/files/output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct run {
    const struct options *o;
    etrt_device *device;
    etrt_model *model;
    etrt_session *session;
    struct etrt_st *in;
    uint64_t weight_bytes; /* of the file loaded last */
};

static int find_tensor(const etrt_model *m, const char *name, etrt_tensor_info *out) {
    for (int i = 0; etrt_model_tensor(m, i, out) == ETRT_OK; i++)
        if (strcmp(out->name, name) == 0) return i;
    return -1;
}

/* Does the launch run the model that this tensor is of? */
static bool runs(const struct run *r, const char *tensor) {
    const char *name;
    for (int i = 0; (name = etrt_model_part(r->model, i)); i++)
        if (strncmp(tensor, name, strlen(name)) == 0 && tensor[strlen(name)] == '.')
            return etrt_selected(r->session, name) != 0;
    return true;
}

/* Give one tensor of the input file to the session. */
static bool give(struct run *r, const struct etrt_st_tensor *t) {
    etrt_tensor_info info;
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    char want[256], have[256];
    if (find_tensor(r->model, t->name, &info) < 0 || info.kind == ETRT_WEIGHT ||
        info.kind == ETRT_OUTPUT)
        return fail("%s: %s is no input or state of the model", r->o->in, t->name);
    etrt_status st = etrt_shape(r->session, t->name, shape, &rank);
    if (st != ETRT_OK) return fail_status(st);
    bool same = rank == t->rank && strcmp(etrt_dtype_safetensors(info.dtype), t->dtype) == 0 &&
                memcmp(shape, t->shape, (size_t)rank * sizeof *shape) == 0;
    if (!same)
        return fail("%s: tensor %s is %s %s, the model takes %s %s", r->o->in, t->name, t->dtype,
                    etrt_st_shape_text(t->rank, t->shape, have, sizeof have),
                    etrt_dtype_safetensors(info.dtype),
                    etrt_st_shape_text(rank, shape, want, sizeof want));
    st = info.kind == ETRT_INPUT ? etrt_bind(r->session, t->name, t->data, t->bytes)
                                 : etrt_write(r->session, t->name, t->data, t->bytes);
    return st == ETRT_OK || fail_status(st);
}

/* One file serves a kernel of several models whichever of them run. */
static bool give_all(struct run *r) {
    size_t unused = 0;
    for (size_t i = 0; r->in && i < etrt_st_count(r->in); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(r->in, i);
        if (!runs(r, t->name))
            unused++;
        else if (!give(r, t))
            return false;
    }
    if (unused)
        fprintf(stderr, "etrun: note: %s: %zu tensors of models that do not run are not used\n",
                r->o->in, unused);
    return true;
}

static bool has_parts(const struct run *r) {
    return etrt_model_part(r->model, 0) != NULL;
}

/* MODEL=PATH of several models, PATH of one. */
static etrt_status load_weights(struct run *r, char *text) {
    char *path = has_parts(r) ? strchr(text, '=') : NULL;
    if (!path) return etrt_model_weights_file(r->model, text);
    *path = 0;
    etrt_status st = etrt_model_weights_of(r->model, text, path + 1);
    *path = '=';
    return st;
}

/* Leave out all models but those in the list, which is cut up in place. */
static etrt_status select_models(struct run *r, char *list) {
    const char *name;
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && (name = etrt_model_part(r->model, i)); i++)
        st = etrt_select(r->session, name, 0);
    for (char *item; st == ETRT_OK && (item = strsep(&list, ","));)
        st = etrt_select(r->session, item, 1);
    return st;
}

/* A library takes no signals: what it leaves when one ends the program is the program's. */
static void guard_capture(const char *folder) {
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s.tmp.%ld", folder, (long)getpid());
    if (n > 0 && n < PATH_MAX) et_guard(path);
}

static void tell(void *user, uint64_t done, uint64_t total) {
    (void)total;
    ((struct run *)user)->weight_bytes = done;
}

static etrt_status load_all_weights(struct run *r) {
    const struct options *o = r->o;
    double from = now();
    uint64_t bytes = 0;
    etrt_status st = etrt_model_progress(r->model, tell, r);
    for (int i = 0; st == ETRT_OK && i < o->weights.n; i++) {
        st = load_weights(r, o->weights.at[i].text);
        bytes += r->weight_bytes;
    }
    if (st == ETRT_OK && o->stats && bytes)
        printf("weights: %" PRIu64 " bytes in %.3f s\n", bytes, now() - from);
    return st;
}

static bool prepare(struct run *r) {
    const struct options *o = r->o;
    char err[ETRT_ST_ERR];
    etrt_status st = etrt_device_open(o->device, &r->device);
    if (st == ETRT_OK) st = etrt_model_load(r->device, o->model, &r->model);
    if (st == ETRT_OK) st = etrt_model_cache(r->model, o->cache);
    if (st == ETRT_OK) st = load_all_weights(r);
    if (st == ETRT_OK) st = etrt_session_create(r->model, &r->session);
    if (st == ETRT_OK && o->only) st = select_models(r, o->only);
    if (st == ETRT_OK && o->wait_limit > 0) st = etrt_set_wait_limit(r->session, o->wait_limit);
    if (st == ETRT_OK && o->workgroups) st = etrt_set_workgroups(r->session, (int)o->workgroups);
    for (int i = 0; i < o->settings.n && st == ETRT_OK; i++)
        st = etrt_set_dim(r->session, o->settings.at[i].text, o->settings.at[i].number);
    if (st == ETRT_OK) st = etrt_set_capture_limit(r->session, (uint64_t)o->capture_limit << 30);
    if (st == ETRT_OK && o->capture) st = etrt_capture(r->session, o->capture);
    if (o->capture) guard_capture(o->capture);
    if (st != ETRT_OK) return fail_status(st);
    if (o->in && !etrt_st_open(o->in, &r->in, err, sizeof err)) return fail("%s", err);
    return give_all(r);
}

double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void print_cache(etrt_model *m) {
    etrt_cache_info c;
    if (etrt_model_cached(m, &c) != ETRT_OK || !c.entries) return;
    printf("experts: %" PRIu64 " bytes in host memory, %" PRIu64 " in the cache; %" PRId64
           " of %" PRId64 " entries there; %" PRIu64 " of %" PRIu64 " used were; %" PRIu64
           " bytes copied\n",
           c.host_bytes, c.cache_bytes, c.cached, c.entries, c.hits, c.used, c.copied_bytes);
}

static bool launch(struct run *r) {
    double from = now();
    for (int64_t k = 0; k < r->o->repeat; k++) {
        etrt_status st = etrt_run(r->session);
        if (st != ETRT_OK) return fail_status(st);
    }
    if (r->o->stats) {
        print_device(r->device);
        print_stats(r->device, now() - from);
        print_cache(r->model);
    }
    return true;
}

/* Read tensor NAME into T; T->data is malloc'ed. */
static bool take(struct run *r, const etrt_tensor_info *info, struct etrt_st_tensor *t) {
    t->name = info->name;
    t->dtype = etrt_dtype_safetensors(info->dtype);
    etrt_status st = etrt_shape(r->session, info->name, t->shape, &t->rank);
    if (st != ETRT_OK) return fail_status(st);
    t->bytes = etrt_dtype_bytes(info->dtype);
    for (int d = 0; d < t->rank; d++)
        t->bytes *= (size_t)t->shape[d];
    void *data = malloc(t->bytes + 1);
    t->data = data;
    if (!data) return fail("out of memory");
    st = etrt_read(r->session, info->name, data, t->bytes);
    return st == ETRT_OK || fail_status(st);
}

static void show(const etrt_tensor_info *info, const struct etrt_st_tensor *t) {
    enum { SHOWN = 8 };
    char shape[256];
    int64_t count = (int64_t)(t->bytes / etrt_dtype_bytes(info->dtype));
    printf("%s: %s%s =", t->name, etrt_dtype_name(info->dtype),
           etrt_st_shape_text(t->rank, t->shape, shape, sizeof shape));
    print_values(stdout, info->dtype, t->data, count < SHOWN ? count : SHOWN);
    printf("%s\n", count > SHOWN ? " ..." : "");
}

static bool wanted(const struct run *r, const etrt_tensor_info *info) {
    if (!runs(r, info->name)) return false;
    return info->kind == ETRT_OUTPUT || (info->kind == ETRT_STATE && r->o->states);
}

static bool collect(struct run *r) {
    etrt_tensor_info info;
    char err[ETRT_ST_ERR];
    int total = 0, count = 0;
    while (etrt_model_tensor(r->model, total, &info) == ETRT_OK)
        total++;
    struct etrt_st_tensor *tensors = calloc((size_t)total + 1, sizeof *tensors);
    bool ok = tensors || fail("out of memory");
    for (int i = 0; ok && i < total; i++) {
        if (etrt_model_tensor(r->model, i, &info) != ETRT_OK || !wanted(r, &info)) continue;
        ok = take(r, &info, &tensors[count++]);
        if (ok && !r->o->out) show(&info, &tensors[count - 1]);
    }
    if (ok && r->o->out && !etrt_st_write(r->o->out, tensors, (size_t)count, err, sizeof err))
        ok = fail("%s", err);
    for (int i = 0; i < count; i++)
        free((void *)tensors[i].data);
    free(tensors);
    return ok;
}

bool run_model(const struct options *o) {
    struct run r = {.o = o};
    bool ok = prepare(&r) && launch(&r) && collect(&r);
    etrt_st_close(r.in);
    etrt_session_destroy(r.session);
    etrt_model_unload(r.model);
    etrt_device_close(r.device);
    return ok;
}
