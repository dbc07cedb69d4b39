/* A policy: its devices opened, its kernels loaded, every model given something to do. */
#include "bench/share/share.h"

#include "bench/etbench/fill.h"
#include "runtime/etrt_dtype.h"

#include <stdlib.h>
#include <string.h>

const char *const sh_kind_name[] = {"one",   "turns", "streams", "parts", "stays",
                                    "fixed", "side",  "lent",    "plans", NULL};

/* ---- as text ---- */

bool sh_policy_read(const cli_item *item, struct sh_policy *p) {
    const char *files = strchr(item->value, ':');
    int kind = 0;
    if (!files) return sh_fail("policy %s: \"%s\" is not KIND:FILE,...", item->text, item->value);
    while (sh_kind_name[kind] &&
           (strncmp(item->value, sh_kind_name[kind], (size_t)(files - item->value)) != 0 ||
            strlen(sh_kind_name[kind]) != (size_t)(files - item->value)))
        kind++;
    if (!sh_kind_name[kind])
        return sh_fail("policy %s: \"%.*s\" is none of one, turns, streams, parts, stays, fixed, "
                       "side, lent, plans",
                       item->text, (int)(files - item->value), item->value);
    *p = (struct sh_policy){.name = item->text, .kind = (enum sh_kind)kind};
    while (*files) {
        const char *name = files + 1;
        size_t length = strcspn(name, ",");
        files = name + length;
        if (!length || p->nfiles == SH_MODELS)
            return sh_fail("policy %s: one to %d files with commas between them", p->name,
                           SH_MODELS);
        char *file = p->file[p->nfiles] = sh_alloc(length + 1);
        memcpy(file, name, length);
        file[length] = 0;
        char *at = strrchr(file, '@');
        int64_t cus = 0;
        if (at) *at = 0;
        char *half = kind == SH_PLANS ? strchr(file, '+') : NULL;
        if (half) *half = 0;
        p->half[p->nfiles] = half ? half + 1 : NULL;
        if (at && (sh_is_one((enum sh_kind)kind) || kind == SH_TURNS ||
                   !cli_integer(at + 1, 1, 65536, &cus)))
            return sh_fail("policy %s: \"%s\" after @ is no number of CUs that models of %s have",
                           p->name, at + 1, sh_kind_name[kind]);
        p->asked[p->nfiles++] = (int)cus;
    }
    if (sh_is_one(p->kind) != (p->nfiles == 1))
        return sh_fail("policy %s: %s takes %s", p->name, sh_kind_name[kind],
                       sh_is_one(p->kind) ? "one file, of all models" : "a file for each model");
    return true;
}

void sh_policy_free(struct sh_policy *p) {
    for (int i = 0; i < p->nfiles; i++)
        free(p->file[i]);
    sh_run_free(&p->closed);
    for (int i = 0; i < SH_LOADS; i++)
        sh_run_free(&p->open[i]);
}

/* ---- data ---- */

/* What --set or --range say of NAME of this model: under "MODEL.NAME", or NAME for all. */
static const cli_item *said(const cli_list *list, const char *model, const char *name) {
    size_t length = strlen(model);
    for (int i = list->n - 1; i >= 0; i--) {
        const char *text = list->at[i].text;
        if (strcmp(text, name) == 0 || (strncmp(text, model, length) == 0 && text[length] == '.' &&
                                        !strcmp(text + length + 1, name)))
            return &list->at[i];
    }
    return NULL;
}

/* "MODEL.x" of a kernel of several is "x". */
static const char *own_name(const struct sh_model *m, const char *name) {
    size_t length = strlen(m->name);
    return strncmp(name, m->name, length) == 0 && name[length] == '.' ? name + length + 1 : name;
}

static bool is_of(const struct sh_policy *p, const struct sh_model *m, const char *name) {
    return !sh_is_one(p->kind) || p->nmodels == 1 || own_name(m, name) != name;
}

static bool set_dims(const struct sh_options *o, const struct sh_policy *p,
                     const struct sh_model *m) {
    etrt_dim_info d;
    for (int i = 0; etrt_model_dim(m->kernel, i, &d) == ETRT_OK; i++) {
        if (!is_of(p, m, d.name)) continue;
        const cli_item *item = said(&o->sets, m->name, own_name(m, d.name));
        if (!sh_ok(p->name, etrt_set_dim(m->session, d.name, item ? item->number : d.hi)))
            return false;
    }
    return true;
}

static bool range_of(const struct sh_options *o, const struct sh_model *m, const char *name,
                     int64_t count, int64_t *lo, int64_t *hi) {
    const cli_item *item = said(&o->ranges, m->name, own_name(m, name));
    *lo = 0;
    *hi = count > 0 ? count - 1 : 0;
    if (!item) return true;
    char *dots = strstr(item->value, "..");
    if (dots) *dots = 0;
    bool ok = dots && cli_integer(item->value, INT32_MIN, INT32_MAX, lo) &&
              cli_integer(dots + 2, *lo, INT32_MAX, hi);
    if (dots) *dots = '.';
    return ok || sh_fail("--range %s=%s: write LO..HI, integers", item->text, item->value);
}

static bool give_input(const struct sh_options *o, const struct sh_model *m,
                       const struct etrt_tensor *t, void *data, size_t bytes) {
    int64_t count = (int64_t)(bytes * 8 / etrt_dtype_bits(t->dtype)), lo, hi;
    uint64_t seed = eb_seed((uint64_t)o->seed, own_name(m, t->name));
    if (t->dtype == ETRT_I32) {
        if (!range_of(o, m, t->name, count, &lo, &hi)) return false;
        for (int64_t i = 0; i < count; i++)
            ((int32_t *)data)[i] = (int32_t)(lo + i % (hi - lo + 1));
    } else
        eb_fill_floats(data, t->dtype, count, seed, 0, 1);
    return sh_ok(t->name, etrt_bind(m->session, t->name, data, bytes));
}

static bool give_weight(const struct sh_options *o, const struct sh_model *m,
                        const struct etrt_tensor *t, void *data, size_t bytes) {
    int64_t shape[ETRT_MAX_RANK], same;
    if (!sh_ok(t->name, etrt_tensor_shape(t, NULL, shape, &same))) return false;
    eb_fill_weight(t, shape, (uint64_t)o->seed, data,
                   (int64_t)(bytes * 8 / etrt_dtype_bits(t->dtype)));
    return sh_ok(t->name, etrt_model_weight(m->kernel, t->name, data, bytes));
}

/* Weights and inputs; states are zeros. */
static bool fill(const struct sh_options *o, const struct sh_policy *p, const struct sh_model *m) {
    const struct etrt_manifest *all = etrt_model_manifest(m->kernel);
    size_t most = 0;
    for (int i = 0; i < all->ntensors; i++)
        if ((size_t)all->tensors[i].max_bytes > most) most = (size_t)all->tensors[i].max_bytes;
    void *data = sh_alloc(most);
    bool ok = set_dims(o, p, m);
    for (int i = 0; ok && i < all->ntensors; i++) {
        const struct etrt_tensor *t = &all->tensors[i];
        int64_t shape[ETRT_MAX_RANK], bytes;
        if (t->model != m->index || (t->kind != ETRT_INPUT && t->kind != ETRT_WEIGHT)) continue;
        if (t->kind == ETRT_WEIGHT && etrt_model_given(m->kernel, i)) continue;
        ok = t->kind == ETRT_WEIGHT
                 ? give_weight(o, m, t, data, (size_t)t->max_bytes)
                 : sh_ok(t->name, etrt_session_shape(m->session, t, shape, &bytes)) &&
                       give_input(o, m, t, data, (size_t)bytes);
    }
    free(data);
    return ok;
}

/* ---- results ---- */

bool sh_same_outputs(struct sh_model *m) {
    const struct etrt_manifest *all = etrt_model_manifest(m->kernel);
    int k = 0;
    for (int i = 0; i < all->ntensors && k < SH_OUTPUTS; i++) {
        const struct etrt_tensor *t = &all->tensors[i];
        int64_t shape[ETRT_MAX_RANK], bytes;
        if (t->model != m->index || t->kind != ETRT_OUTPUT) continue;
        if (!sh_ok(t->name, etrt_session_shape(m->session, t, shape, &bytes))) return false;
        void *now = sh_alloc((size_t)bytes);
        bool ok = sh_ok(t->name, etrt_read(m->session, t->name, now, (size_t)bytes));
        void **output = &m->output[m->beside][k];
        if (ok && *output && memcmp(now, *output, (size_t)bytes) != 0)
            ok = sh_fail("%s of %s is not what the first launch gave", t->name, m->name);
        if (ok && !*output) {
            *output = now;
            m->bytes[m->beside][k] = (size_t)bytes;
        } else
            free(now);
        if (!ok) return false;
        k++;
    }
    return true;
}

/* ---- open and close ---- */

static bool open_device(const struct sh_options *o, struct sh_policy *p, int i) {
    const char *spec = o->device;
    bool apart = sh_is_launched_apart(p->kind) || p->kind == SH_PARTS || p->kind == SH_SIDE;
    if (p->kind == SH_PARTS && o->gpu < 0)
        return sh_fail("policy %s: only NVIDIA's GPUs are divided (--device cuda)", p->name);
    if (p->kind == SH_PARTS) {
        if (!sh_context_begin(o->gpu, p->asked[i] ? p->asked[i] : -1)) return false;
        spec = "cuda:current";
    }
    etrt_devices_share(apart);
    return sh_ok(spec, etrt_device_open(spec, &p->opened[i]));
}

static bool add_model(struct sh_policy *p, etrt_model *kernel, etrt_session *session, int index,
                      const char *name, int cus) {
    if (p->nmodels == SH_MODELS)
        return sh_fail("policy %s: more than %d models", p->name, SH_MODELS);
    struct sh_model *m = &p->model[p->nmodels];
    *m = (struct sh_model){.index = index, .kernel = kernel, .session = session, .cus = cus};
    m->place = p->nmodels++;
    snprintf(m->name, sizeof m->name, "%s", name);
    return true;
}

static bool open_file(const struct sh_options *o, struct sh_policy *p, int i) {
    bool one_device = sh_is_one(p->kind) || p->kind == SH_TURNS;
    if ((!one_device || i == 0) && !open_device(o, p, i)) return false;
    etrt_device *device = p->opened[one_device ? 0 : i];
    etrt_model *kernel;
    etrt_session *session = NULL;
    if (!sh_ok(p->file[i], etrt_model_load(device, p->file[i], &kernel))) return false;
    if (!sh_ok(p->file[i], etrt_session_create(kernel, &session))) {
        etrt_model_unload(kernel);
        return false;
    }
    int cus = p->asked[i] ? p->asked[i] : (int)etrt_device_cus(device);
    if (p->kind == SH_PARTS) cus = (int)etrt_device_cus(device);
    const char *part = etrt_model_part(kernel, 0);
    bool ok = add_model(p, kernel, session, 0, part ? part : etrt_model_name(kernel), cus);
    if (!ok) {
        etrt_session_destroy(session);
        etrt_model_unload(kernel);
    }
    for (int k = 1; ok && part && (part = etrt_model_part(kernel, k)); k++)
        ok = add_model(p, kernel, session, k, part, cus);
    if (ok && !sh_is_one(p->kind) && etrt_model_part(kernel, 0))
        ok = sh_fail("%s is of several models, which policies of kinds one, stays and fixed take",
                     p->file[i]);
    if (ok && (sh_is_launched_apart(p->kind) || p->kind == SH_SIDE))
        ok = sh_ok("@", etrt_set_workgroups(session, cus));
    if (ok && o->wait_limit > 0)
        ok = sh_ok("--wait-limit", etrt_set_wait_limit(session, o->wait_limit));
    return ok;
}

/* The kernel of model M of which a CU holds two, with the same data. */
static bool open_half(const struct sh_options *o, struct sh_policy *p, int m) {
    struct sh_model *half = p->model[m].half = sh_alloc(sizeof *half);
    *half = (struct sh_model){.index = 0};
    memcpy(half->name, p->model[m].name, sizeof half->name);
    return sh_ok(p->half[m], etrt_model_load_with(p->model[m].kernel, p->half[m], &half->kernel)) &&
           sh_ok(p->half[m], etrt_session_create(half->kernel, &half->session)) &&
           (!(o->wait_limit > 0) ||
            sh_ok("--wait-limit", etrt_set_wait_limit(half->session, o->wait_limit))) &&
           fill(o, p, half);
}

static void close_half(struct sh_model *half) {
    if (!half) return;
    etrt_session_destroy(half->session);
    etrt_model_unload(half->kernel);
    free(half);
}

/* One launch of each model alone, whose outputs are kept, and in one kernel of all together. */
static bool try_all(const struct sh_options *o, struct sh_policy *p) {
    struct sh_run run;
    bool ok = true;
    for (int m = 0; ok && m < p->nmodels; m++) {
        ok = sh_play_closed(o, p, 1u << m, 1e-9, &run) && sh_same_outputs(&p->model[m]);
        sh_run_free(&run);
    }
    return ok;
}

/* Models with kernels of their own, which launches of the library share the GPU among. */
static bool stay_apart(struct sh_policy *p) {
    etrt_session *each[SH_MODELS] = {0}, *beside[SH_MODELS] = {0};
    if (p->kind != SH_PLANS) return true;
    for (int m = 0; m < p->nmodels; m++) {
        each[m] = p->model[m].session;
        beside[m] = p->model[m].half ? p->model[m].half->session : NULL;
    }
    bool ok =
        sh_ok(p->name, etrt_residence_open_each(each, beside, p->nmodels, &p->model[0].stays));
    for (int m = 0; m < p->nmodels; m++)
        p->model[m].stays = p->model[0].stays;
    return ok;
}

/* Models of one kernel stay together. */
static bool stay(struct sh_policy *p, int m) {
    struct sh_model *model = &p->model[m];
    etrt_ranges ranges = p->kind == SH_FIXED ? ETRT_RANGES_FIXED : ETRT_RANGES_ELASTIC;
    if (p->kind != SH_STAYS && p->kind != SH_FIXED && p->kind != SH_SIDE) return true;
    if (m && p->kind != SH_SIDE) {
        model->stays = p->model[0].stays;
        return true;
    }
    return sh_ok(model->name, etrt_residence_open(model->session, ranges, &model->stays));
}

/* The same kernels on the same devices, launched with other numbers of workgroups. */
static bool take_over(struct sh_policy *p, struct sh_policy *last) {
    bool same = sh_is_launched_apart(p->kind) && sh_is_launched_apart(last->kind) &&
                p->nfiles == last->nfiles && !last->passed_on;
    for (int i = 0; same && i < p->nfiles; i++)
        same = strcmp(p->file[i], last->file[i]) == 0 && !p->half[i] && !last->half[i];
    if (!same) return false;
    if (last->kind == SH_PLANS) etrt_residence_close(last->model[0].stays);
    p->nmodels = last->nmodels;
    memcpy(p->model, last->model, sizeof p->model);
    memcpy(p->opened, last->opened, sizeof p->opened);
    memcpy(p->device, last->device, sizeof p->device);
    last->passed_on = true;
    return true;
}

static bool set_widths(struct sh_policy *p) {
    bool ok = true;
    for (int m = 0; ok && m < p->nmodels; m++) {
        struct sh_model *model = &p->model[m];
        model->stays = NULL;
        model->cus = p->asked[m] ? p->asked[m] : (int)etrt_device_cus(p->opened[m]);
        ok = sh_ok("@", etrt_set_workgroups(model->session, model->cus));
    }
    return ok;
}

bool sh_policy_open(const struct sh_options *o, struct sh_policy *p, struct sh_policy *last) {
    bool ok = true;
    if (last && take_over(p, last)) return set_widths(p) && stay_apart(p);
    if (last) sh_policy_close(last);
    for (int i = 0; ok && i < p->nfiles; i++)
        ok = open_file(o, p, i);
    for (int m = 0; ok && m < p->nmodels; m++)
        ok = fill(o, p, &p->model[m]);
    if (ok) snprintf(p->device, sizeof p->device, "%s", etrt_device_name(p->opened[0]));
    for (int m = 0; ok && m < p->nmodels; m++)
        ok = stay(p, m) && (!p->half[m] || open_half(o, p, m));
    return ok && stay_apart(p) && try_all(o, p);
}

void sh_policy_close(struct sh_policy *p) {
    if (p->passed_on) return;
    p->passed_on = true;
    for (int m = 0; m < p->nmodels; m++) {
        struct sh_model *model = &p->model[m];
        for (int k = 0; k < 2 * SH_OUTPUTS; k++)
            free(model->output[k / SH_OUTPUTS][k % SH_OUTPUTS]);
        close_half(model->half);
        if (m && model->kernel == p->model[m - 1].kernel) continue;
        etrt_session_destroy(model->session);
    }
    for (int m = p->nmodels - 1; m >= 0; m--)
        if (!m || p->model[m].kernel != p->model[m - 1].kernel)
            etrt_model_unload(p->model[m].kernel);
    for (int i = 0; i < SH_MODELS; i++)
        etrt_device_close(p->opened[i]);
    sh_contexts_end();
}
