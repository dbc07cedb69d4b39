/* The text of a manifest, as untrusted input. */
#include "runtime/etrt/manifest/parse.h"

#include "runtime/etrt/base/error.h"
#include "runtime/etrt_abi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Bounds no honest model meets, so that sums and products below cannot overflow. */
enum {
    MAX_TENSORS = 4096,
    MAX_TEMPORARIES = 1 << 20,
    MAX_EVENTS = 4096,
    MAX_TASKS = 65536,
    MAX_EVENT_WORDS = 1 << 28,
    MAX_JSON = 64 << 20,
    MAX_MODELS = 256,
};

etrt_status etrt_parse_copy(const struct etrt_json_at *at, json_t *object, const char *key,
                            char **out) {
    const char *s;
    etrt_status st = etrt_json_string(at, object, key, &s);
    if (st != ETRT_OK) return st;
    *out = strdup(s);
    return *out ? ETRT_OK : etrt_no_memory();
}

/* Names of tensors and symbols become file names, command line arguments and JSON keys. */
static etrt_status copy_name(const struct etrt_json_at *at, json_t *object, char **out) {
    etrt_status st = etrt_parse_copy(at, object, "name", out);
    if (st != ETRT_OK) return st;
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$";
    if (strlen(*out) > ETRT_MAX_NAME)
        return etrt_json_fail(at, "name \"%.20s...\" is longer than %d letters", *out,
                              ETRT_MAX_NAME);
    if (strspn(*out, plain) != strlen(*out) || **out == '.')
        return etrt_json_fail(at, "name \"%s\" is not made of letters, digits, _ . $", *out);
    return ETRT_OK;
}

/* The model that NAME begins with, where there are several. */
static etrt_status parse_owner(const struct etrt_parser *p, const struct etrt_json_at *at,
                               const char *name, int *out) {
    size_t n = strcspn(name, ".");
    *out = 0;
    for (int i = 0; i < p->m->nmodels; i++)
        if (strlen(p->m->models[i].name) == n && memcmp(p->m->models[i].name, name, n) == 0 &&
            name[n]) {
            *out = i;
            return ETRT_OK;
        }
    return p->m->nmodels ? etrt_json_fail(at, "\"%s\" begins with the name of no model", name)
                         : ETRT_OK;
}

etrt_status etrt_parse_dim(struct etrt_parser *p, const struct etrt_json_at *at, json_t *v,
                           struct etrt_expr *out) {
    int64_t n;
    const char *text;
    char err[ETRT_EXPR_ERR];
    if (json_is_integer(v)) {
        etrt_status st = etrt_json_check_int(at, v, 0, ETRT_MAX_BYTES, &n);
        if (st != ETRT_OK) return st;
        return etrt_expr_const(n, out) ? ETRT_OK : etrt_no_memory();
    }
    if (!json_is_string(v)) return etrt_json_fail(at, "must be an integer or a string");
    text = json_string_value(v);
    if (!etrt_expr_parse(text, p->names, p->m->nsymbols, out, err))
        return etrt_json_fail(at, "\"%.200s\": %s", text, err);
    return ETRT_OK;
}

etrt_status etrt_parse_dims(struct etrt_parser *p, const struct etrt_json_at *up, json_t *object,
                            const char *key, struct etrt_expr *out, int *out_rank) {
    struct etrt_json_at at = {up, key, 0};
    json_t *array;
    etrt_status st = etrt_json_array(up, object, key, ETRT_MAX_RANK, &array);
    if (st != ETRT_OK) return st;
    for (size_t d = 0; d < json_array_size(array); d++) {
        struct etrt_json_at in = {&at, NULL, d};
        st = etrt_parse_dim(p, &in, json_array_get(array, d), &out[d]);
        if (st != ETRT_OK) return st;
        *out_rank = (int)d + 1;
    }
    return ETRT_OK;
}

static etrt_status parse_dtype(const struct etrt_json_at *up, json_t *object,
                               enum etrt_dtype *out) {
    struct etrt_json_at at = {up, "dtype", 0};
    const char *s;
    etrt_status st = etrt_json_string(up, object, "dtype", &s);
    if (st != ETRT_OK || etrt_dtype_find(s, out)) return st;
    return etrt_json_fail(&at, "\"%s\" is not known", s);
}

static etrt_status parse_kind(const struct etrt_json_at *up, json_t *object, enum etrt_kind *out) {
    struct etrt_json_at at = {up, "kind", 0};
    const char *s;
    etrt_status st = etrt_json_string(up, object, "kind", &s);
    if (st != ETRT_OK || etrt_kind_find(s, out)) return st;
    return etrt_json_fail(&at, "\"%s\" is not known", s);
}

static etrt_status parse_tensor(struct etrt_parser *p, const struct etrt_json_at *at,
                                json_t *object, struct etrt_tensor *t) {
    int64_t shape[ETRT_MAX_RANK];
    etrt_status st = copy_name(at, object, &t->name);
    if (st == ETRT_OK) st = parse_owner(p, at, t->name, &t->model);
    if (st == ETRT_OK) st = parse_kind(at, object, &t->kind);
    if (st == ETRT_OK) st = parse_dtype(at, object, &t->dtype);
    if (st == ETRT_OK) st = etrt_parse_dims(p, at, object, "shape", t->shape, &t->rank);
    if (st != ETRT_OK) return st;
    if (t->kind == ETRT_WEIGHT)
        st = etrt_parse_weight(at, object, t);
    else if (etrt_dtype_bits(t->dtype) < 8)
        st = etrt_json_fail(at, "%s: only weights are %s", t->name, etrt_dtype_name(t->dtype));
    if (st != ETRT_OK) return st;
    st = etrt_tensor_shape(t, p->upper, shape, &t->max_bytes);
    if (st != ETRT_OK) return etrt_json_fail(at, "%s", etrt_last_error());
    t->stored = t->kind == ETRT_OUTPUT && json_is_true(json_object_get(object, "stored"));
    st = etrt_parse_host(at, object, t, shape);
    if (st == ETRT_OK) st = etrt_parse_zeros(at, object, t, shape);
    return st == ETRT_OK ? etrt_parse_packed(at, object, t, shape) : st;
}

/* Workgroups of launches that have it. */
static etrt_status parse_on(const struct etrt_json_at *at, json_t *object,
                            struct etrt_temporary *t) {
    t->most = INT32_MAX;
    if (!json_object_get(object, "most")) return ETRT_OK;
    etrt_status st = etrt_json_int(at, object, "least", 1, INT32_MAX, &t->least);
    return st == ETRT_OK ? etrt_json_int(at, object, "most", 1, INT32_MAX, &t->most) : st;
}

static etrt_status parse_when(struct etrt_parser *p, const struct etrt_json_at *up, json_t *object,
                              struct etrt_temporary *t) {
    struct etrt_json_at at = {up, "when", 0};
    json_t *when = json_object_get(object, "when");
    const char *name;
    t->symbol = -1;
    if (!when) return ETRT_OK;
    if (!json_is_array(when) || json_array_size(when) != 3)
        return etrt_json_fail(&at, "must be [symbol, lo, hi]");
    etrt_status st = etrt_json_check_string(&at, json_array_get(when, 0), &name);
    if (st == ETRT_OK && (t->symbol = etrt_manifest_symbol(p->m, name)) < 0)
        st = etrt_json_fail(&at, "\"%s\" is not a symbol", name);
    if (st != ETRT_OK) return st;
    const struct etrt_symbol *s = &p->m->symbols[t->symbol];
    st = etrt_json_check_int(&at, json_array_get(when, 1), s->lo, s->hi, &t->lo);
    return st == ETRT_OK ? etrt_json_check_int(&at, json_array_get(when, 2), t->lo, s->hi, &t->hi)
                         : st;
}

static etrt_status parse_temporary(struct etrt_parser *p, const struct etrt_json_at *at,
                                   json_t *object, struct etrt_temporary *t) {
    int64_t shape[ETRT_MAX_RANK], offset = 0;
    etrt_status st = etrt_parse_copy(at, object, "name", &t->tensor.name);
    if (st == ETRT_OK) st = parse_dtype(at, object, &t->tensor.dtype);
    if (st == ETRT_OK)
        st = etrt_parse_dims(p, at, object, "shape", t->tensor.shape, &t->tensor.rank);
    if (st == ETRT_OK)
        st = etrt_json_int(at, object, "offset", 0, (int64_t)p->m->workspace_bytes, &offset);
    if (st == ETRT_OK) st = parse_when(p, at, object, t);
    if (st == ETRT_OK) st = parse_on(at, object, t);
    if (st != ETRT_OK) return st;
    t->offset = (uint64_t)offset;
    int64_t *upper = t->symbol >= 0 ? &p->upper[t->symbol] : NULL, whole = upper ? *upper : 0;
    if (upper) *upper = t->hi;
    st = etrt_tensor_shape(&t->tensor, p->upper, shape, &t->tensor.max_bytes);
    if (upper) *upper = whole;
    if (st != ETRT_OK) return etrt_json_fail(at, "%s", etrt_last_error());
    if ((uint64_t)t->tensor.max_bytes > p->m->workspace_bytes - t->offset)
        return etrt_json_fail(at, "%s ends past the workspace", t->tensor.name);
    return ETRT_OK;
}

static etrt_status parse_event(struct etrt_parser *p, const struct etrt_json_at *at, json_t *object,
                               struct etrt_event *e) {
    struct etrt_expr shape[ETRT_MAX_RANK] = {{0}};
    int64_t base = 0, words = 1;
    bool fits = true;
    etrt_status st = etrt_parse_copy(at, object, "name", &e->name);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "base", 0, p->m->event_words, &base);
    if (st == ETRT_OK) st = etrt_parse_dims(p, at, object, "shape", shape, &e->rank);
    for (int d = 0; d < e->rank; d++) {
        if (st == ETRT_OK && fits)
            fits = etrt_expr_eval(&shape[d], p->upper, &e->shape[d]) && e->shape[d] >= 0 &&
                   !__builtin_mul_overflow(words, e->shape[d], &words);
        etrt_expr_free(&shape[d]);
    }
    if (st != ETRT_OK) return st;
    if (!fits || words > p->m->event_words - base || base < ETRT_EVENT_FIRST)
        return etrt_json_fail(at, "event %s is not inside the event words %d..%u", e->name,
                              ETRT_EVENT_FIRST, p->m->event_words);
    e->base = (uint32_t)base;
    e->words = (uint32_t)words;
    return ETRT_OK;
}

static etrt_status parse_symbol(struct etrt_parser *p, const struct etrt_json_at *at,
                                json_t *object, struct etrt_symbol *s) {
    int i = p->m->nsymbols;
    etrt_status st = copy_name(at, object, &s->name);
    if (st == ETRT_OK) st = parse_owner(p, at, s->name, &s->model);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "lo", INT32_MIN, INT32_MAX, &s->lo);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "hi", s->lo, INT32_MAX, &s->hi);
    if (st == ETRT_OK && json_object_get(object, "tile"))
        st = etrt_json_int(at, object, "tile", 0, s->hi, &s->tile);
    if (st == ETRT_OK && json_object_get(object, "chunk"))
        st = etrt_json_int(at, object, "chunk", 0, s->hi, &s->chunk);
    if (st != ETRT_OK) return st;
    for (int k = 0; k < i; k++)
        if (strcmp(p->names[k], s->name) == 0)
            return etrt_json_fail(at, "a second symbol %s", s->name);
    p->names[i] = s->name;
    p->upper[i] = s->hi;
    return ETRT_OK;
}

/* Make room for the elements of array KEY, zeroed; *OUT_ARRAY is borrowed. */
static etrt_status open_array(json_t *root, const char *key, size_t max_count, size_t size,
                              json_t **out_array, void *out_elements) {
    etrt_status st = etrt_json_array(NULL, root, key, max_count, out_array);
    if (st != ETRT_OK) return st;
    size_t n = json_array_size(*out_array);
    void *elements = calloc(n ? n : 1, size);
    memcpy(out_elements, &elements, sizeof elements);
    return elements ? ETRT_OK : etrt_no_memory();
}

static etrt_status element(json_t *array, const struct etrt_json_at *at, json_t **out) {
    *out = json_array_get(array, at->index);
    return json_is_object(*out) ? ETRT_OK : etrt_json_fail(at, "must be an object");
}

static etrt_status parse_model(struct etrt_parser *p, const struct etrt_json_at *at, json_t *object,
                               struct etrt_mixed *m) {
    etrt_status st = copy_name(at, object, &m->name);
    if (st == ETRT_OK && strchr(m->name, '.'))
        st = etrt_json_fail(at, "the name of a model has a dot: \"%s\"", m->name);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "from", 0, 999999, &m->from);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "to", m->from + 1, 1000000, &m->to);
    int64_t first = offsetof(struct etrt_report, done), last = sizeof(struct etrt_report) - 4;
    if (st == ETRT_OK) st = etrt_json_int(at, object, "done", first, last, &m->done);
    if (st == ETRT_OK && m->done % 4) st = etrt_json_fail(at, "\"done\" is the place of no word");
    for (int i = 0; st == ETRT_OK && &p->m->models[i] != m; i++)
        if (strcmp(p->m->models[i].name, m->name) == 0)
            st = etrt_json_fail(at, "a second model %s", m->name);
    return st;
}

static etrt_status parse_models(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "models", 0};
    json_t *array, *v;
    if (!json_object_get(root, "models")) return ETRT_OK;
    etrt_status st = open_array(root, "models", MAX_MODELS, sizeof *m->models, &array, &m->models);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        st = element(array, &at, &v);
        m->nmodels = (int)i + 1;
        if (st == ETRT_OK) st = parse_model(p, &at, v, &m->models[i]);
    }
    return st;
}

static etrt_status parse_symbols(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "symbols", 0};
    json_t *array, *v;
    etrt_status st =
        open_array(root, "symbols", ETRT_MAX_SYMBOLS, sizeof *m->symbols, &array, &m->symbols);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        struct etrt_symbol s = {0};
        st = element(array, &at, &v);
        if (st == ETRT_OK) st = parse_symbol(p, &at, v, &s);
        m->symbols[m->nsymbols++] = s;
    }
    return st;
}

static etrt_status parse_devices(struct etrt_manifest *m, json_t *root) {
    const struct etrt_json_at at = {NULL, "devices", 0};
    json_t *devices;
    int64_t count = 0, bytes = 0, launches = 1;
    if (!m->devices) return ETRT_OK;
    etrt_status st = etrt_json_object(NULL, root, "devices", &devices);
    if (st == ETRT_OK) st = etrt_json_int(&at, devices, "count", 2, ETRT_MAX_DEVICES, &count);
    if (st == ETRT_OK) st = etrt_json_int(&at, devices, "inbox_bytes", 0, ETRT_MAX_BYTES, &bytes);
    if (st == ETRT_OK) st = etrt_json_int(&at, devices, "launches", 1, (int64_t)1 << 31, &launches);
    if (st != ETRT_OK) return st;
    if (launches & (launches - 1)) return etrt_json_fail(&at, "launches is no power of 2");
    m->devices = (int)count;
    m->inbox_bytes = (uint64_t)bytes;
    m->inbox_launches = (uint32_t)launches;
    return ETRT_OK;
}

static etrt_status parse_tensors(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "tensors", 0};
    json_t *array, *v;
    int64_t total = 0;
    etrt_status st =
        open_array(root, "tensors", MAX_TENSORS, sizeof *m->tensors, &array, &m->tensors);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        struct etrt_tensor *t = &m->tensors[i];
        st = element(array, &at, &v);
        if (st == ETRT_OK) st = parse_tensor(p, &at, v, t);
        if (st == ETRT_OK) st = etrt_parse_cut(p, &at, v, t);
        if (st == ETRT_OK && etrt_manifest_tensor(m, t->name) >= 0)
            st = etrt_json_fail(&at, "a second tensor %s", t->name);
        if (st == ETRT_OK && (total += t->max_bytes) > ETRT_MAX_BYTES)
            st = etrt_json_fail(&at, "all tensors take more than %lld bytes",
                                (long long)ETRT_MAX_BYTES);
        m->ntensors = (int)i + 1;
    }
    return st;
}

static etrt_status parse_temporaries(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "temporaries", 0};
    json_t *array, *v;
    if (!json_object_get(root, "temporaries")) return ETRT_OK;
    etrt_status st = open_array(root, "temporaries", MAX_TEMPORARIES, sizeof *m->temporaries,
                                &array, &m->temporaries);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        st = element(array, &at, &v);
        m->ntemporaries = (int)i + 1;
        if (st == ETRT_OK) st = parse_temporary(p, &at, v, &m->temporaries[i]);
    }
    return st;
}

static etrt_status parse_events(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "events", 0};
    json_t *array, *v;
    etrt_status st = open_array(root, "events", MAX_EVENTS, sizeof *m->events, &array, &m->events);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        st = element(array, &at, &v);
        m->nevents = (int)i + 1;
        if (st == ETRT_OK) st = parse_event(p, &at, v, &m->events[i]);
    }
    return st;
}

static etrt_status parse_tasks(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    struct etrt_json_at up = {NULL, "tasks", 0};
    json_t *array, *v;
    etrt_status st = open_array(root, "tasks", MAX_TASKS, sizeof *m->tasks, &array, &m->tasks);
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        st = element(array, &at, &v);
        if (st == ETRT_OK) st = etrt_parse_copy(&at, v, "name", &m->tasks[i]);
        m->ntasks = (int)i + 1;
    }
    return st;
}

static etrt_status parse_profile(struct etrt_manifest *m, json_t *root) {
    const struct etrt_json_at at = {NULL, "profile", 0};
    json_t *profile;
    m->profile_tasks = -1;
    if (!json_object_get(root, "profile")) return ETRT_OK;
    etrt_status st = etrt_json_object(NULL, root, "profile", &profile);
    if (st != ETRT_OK) return st;
    return etrt_json_int(&at, profile, "tasks", 0, ETRT_TRACE_MAX_TASKS, &m->profile_tasks);
}

static etrt_status parse_tags(struct etrt_manifest *m, json_t *root) {
    const struct etrt_json_at at = {NULL, "tags", 0};
    json_t *tags;
    int64_t offset = 0, bytes = 0, launches = 1, most = (int64_t)m->workspace_bytes;
    if (!json_object_get(root, "tags")) return ETRT_OK;
    etrt_status st = etrt_json_object(NULL, root, "tags", &tags);
    if (st == ETRT_OK) st = etrt_json_int(&at, tags, "offset", 0, most, &offset);
    if (st == ETRT_OK) st = etrt_json_int(&at, tags, "bytes", 0, most - offset, &bytes);
    if (st == ETRT_OK) st = etrt_json_int(&at, tags, "launches", 1, (int64_t)1 << 31, &launches);
    if (st != ETRT_OK) return st;
    if (launches & (launches - 1)) return etrt_json_fail(&at, "launches is no power of 2");
    m->tags_at = (uint64_t)offset;
    m->tags_bytes = (uint64_t)bytes;
    m->tags_launches = (uint32_t)launches;
    return ETRT_OK;
}

static etrt_status parse_kernel(struct etrt_manifest *m, json_t *root) {
    const struct etrt_json_at at = {NULL, "kernel", 0};
    json_t *kernel;
    int64_t workgroup, wavefront, lds;
    etrt_status st = etrt_json_object(NULL, root, "kernel", &kernel);
    if (st == ETRT_OK) st = etrt_parse_copy(&at, kernel, "symbol", &m->kernel);
    if (st == ETRT_OK) st = etrt_json_int(&at, kernel, "workgroup", 1, 1024, &workgroup);
    if (st == ETRT_OK) st = etrt_json_int(&at, kernel, "wavefront", 32, 64, &wavefront);
    if (st == ETRT_OK) st = etrt_json_int(&at, kernel, "lds_bytes", 0, 1 << 20, &lds);
    if (st != ETRT_OK) return st;
    m->workgroup = (uint32_t)workgroup;
    m->wavefront = (uint32_t)wavefront;
    m->lds_bytes = (uint32_t)lds;
    return ETRT_OK;
}

static etrt_status parse_head(struct etrt_manifest *m, json_t *root) {
    int64_t abi, workspace, words;
    etrt_status st = etrt_json_int(NULL, root, "abi", 0, INT32_MAX, &abi);
    if (st != ETRT_OK) return st;
    if (abi != ETRT_ABI_VERSION && abi != ETRT_ABI_TAGS && abi != ETRT_ABI_ZEROS &&
        abi != ETRT_ABI_PACKED && abi != ETRT_ABI_ORDER && abi != ETRT_ABI_DEVICES &&
        abi != ETRT_ABI_RESIDENT && abi != ETRT_ABI_HOST)
        return etrt_fail(ETRT_UNSUPPORTED,
                         "the model speaks ABI version %lld, this runtime %d: compile it again",
                         (long long)abi, ETRT_ABI_VERSION);
    m->zeros = abi == ETRT_ABI_ZEROS;
    m->resident = abi == ETRT_ABI_RESIDENT;
    m->devices = abi == ETRT_ABI_DEVICES; /* their number follows */
    st = etrt_parse_copy(NULL, root, "etcc", &m->etcc);
    if (st == ETRT_OK) st = etrt_parse_copy(NULL, root, "target", &m->target);
    if (st == ETRT_OK) st = etrt_parse_copy(NULL, root, "model", &m->model);
    if (st == ETRT_OK) st = etrt_parse_copy(NULL, root, "source_hash", &m->source_hash);
    if (st == ETRT_OK) st = etrt_parse_copy(NULL, root, "schedule", &m->schedule);
    if (st == ETRT_OK) st = parse_kernel(m, root);
    if (st == ETRT_OK)
        st = etrt_json_int(NULL, root, "workspace_bytes", 0, ETRT_MAX_BYTES, &workspace);
    if (st == ETRT_OK)
        st = etrt_json_int(NULL, root, "event_words", ETRT_EVENT_FIRST, MAX_EVENT_WORDS, &words);
    if (st != ETRT_OK) return st;
    m->workspace_bytes = (uint64_t)workspace;
    m->event_words = (uint32_t)words;
    return ETRT_OK;
}

/* Of each model, three numbers and then rows. */
static etrt_status parse_paces(struct etrt_manifest *m, json_t *root) {
    enum { HEAD = offsetof(struct etrt_pacing, size) / 8, ROW = sizeof(struct etrt_paced) / 8 };
    size_t models = m->nmodels ? (size_t)m->nmodels : 1;
    struct etrt_json_at up = {NULL, "paces", 0};
    json_t *array, *row;
    if (!json_object_get(root, "paces")) return ETRT_OK;
    etrt_status st = open_array(root, "paces", models, sizeof *m->paces, &array, &m->paces);
    for (size_t i = 0; st == ETRT_OK && i < models; i++) {
        struct etrt_json_at at = {&up, NULL, i};
        row = json_array_get(array, i);
        size_t n = json_array_size(row);
        int64_t *to = (int64_t *)(void *)&m->paces[i];
        for (size_t k = 0; st == ETRT_OK && k < n && k < sizeof *m->paces / 8; k++)
            st = etrt_json_check_int(&at, json_array_get(row, k), k > 0,
                                     k ? ETRT_MAX_BYTES : m->nsymbols - (n > HEAD + ROW), &to[k]);
        if (st == ETRT_OK && (n < HEAD || n > sizeof *m->paces / 8 || (n - HEAD) % ROW))
            return etrt_json_fail(&at, "has %zu numbers", n);
    }
    return st;
}

static uint32_t kernarg_bytes(const struct etrt_manifest *m) {
    uint32_t symbols = ((uint32_t)m->nsymbols * 4 + 7) / 8 * 8;
    return (uint32_t)sizeof(struct etrt_kernarg) + symbols + (uint32_t)m->ntensors * 8 +
           (uint32_t)m->nmodels * (uint32_t)sizeof(struct etrt_part) + (m->zeros ? 8 : 0) +
           (m->resident ? (uint32_t)sizeof(struct etrt_resident) : 0) +
           (m->devices ? 8 * (1 + (uint32_t)m->devices) : 0) + (uint32_t)m->depth * 4;
}

etrt_status etrt_manifest_parse(const char *json, size_t bytes, struct etrt_manifest *out) {
    json_t *root = NULL;
    memset(out, 0, sizeof *out);
    struct etrt_parser *p = calloc(1, sizeof *p);
    if (!p) return etrt_no_memory();
    p->m = out;
    while (bytes && json[bytes - 1] == 0)
        bytes--;
    etrt_status st = bytes > MAX_JSON ? etrt_fail(ETRT_FORMAT, "has %zu bytes", bytes)
                                      : etrt_json_parse(json, bytes, &root);
    if (st == ETRT_OK) st = parse_head(out, root);
    if (st == ETRT_OK) st = parse_devices(out, root);
    if (st == ETRT_OK) st = parse_models(p, root);
    if (st == ETRT_OK) st = parse_symbols(p, root);
    if (st == ETRT_OK) st = parse_tensors(p, root);
    if (st == ETRT_OK) st = parse_temporaries(p, root);
    if (st == ETRT_OK) st = parse_events(p, root);
    if (st == ETRT_OK) st = parse_tasks(p, root);
    if (st == ETRT_OK) st = parse_tags(out, root);
    if (st == ETRT_OK) st = parse_profile(out, root);
    if (st == ETRT_OK) st = etrt_parse_sequences(p, root);
    if (st == ETRT_OK) st = parse_paces(out, root);
    out->kernarg_bytes = kernarg_bytes(out);
    json_decref(root);
    free(p);
    if (st == ETRT_OK) return ETRT_OK;
    etrt_manifest_free(out);
    return etrt_fail_in(st, "manifest");
}
