/* What is served: each model of the kernel, with its tokenizer, its chat template and its engine.
 */
#include "examples/llm/api/tools/tools.h"
#include "examples/llm/base/json_file.h"
#include "examples/llm/engine/turns.h"
#include "examples/llm/serve/server.h"
#include "examples/llm/vectors/vectors.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* What clients call the model, in letters that need no quoting anywhere. */
static void set_name(struct served *m, const char *name) {
    char folder[512];
    if (!name) {
        snprintf(folder, sizeof folder, "%s", m->folder);
        for (size_t n = strlen(folder); n > 1 && folder[n - 1] == '/'; n--)
            folder[n - 1] = 0;
        const char *slash = strrchr(folder, '/');
        name = slash && slash[1] ? slash + 1 : folder;
    }
    snprintf(m->name, sizeof m->name, "%.*s", (int)sizeof m->name - 1, name);
    for (char *c = m->name; *c; c++)
        if (*c <= ' ' || *c >= 127 || *c == '"' || *c == '\\') *c = '_';
}

/* ---- loading ---- */

/* What generation_config.json says counts where a request says nothing. */
static bool read_usual(struct served *s, char *err) {
    struct sampling *u = &s->model.usual;
    json_t *root = json_file(s->folder, "generation_config.json", true, err);
    if (!root && *err) return false;
    *u = sampling_greedy();
    const json_t *t = json_object_get(root, "temperature");
    const json_t *k = json_object_get(root, "top_k"), *p = json_object_get(root, "top_p");
    const json_t *m = json_object_get(root, "min_p");
    const json_t *r = json_object_get(root, "repetition_penalty");
    u->temperature = json_is_number(t) && json_number_value(t) >= 0 ? json_number_value(t) : 1;
    if (json_number_value(k) >= 1 && json_number_value(k) < 1e9)
        u->top_k = (int64_t)json_number_value(k);
    if (json_number_value(p) > 0 && json_number_value(p) <= 1) u->top_p = json_number_value(p);
    if (json_number_value(m) > 0 && json_number_value(m) <= 1) u->min_p = json_number_value(m);
    if (json_number_value(r) > 0.001 && json_number_value(r) <= 1000)
        u->repetition = json_number_value(r);
    json_decref(root);
    return true;
}

static int64_t read_trained(const char *folder) {
    static const char *const names[] = {"max_position_embeddings", "n_positions"};
    static const char *const inner[] = {"text_config", "language_config"};
    char err[LLM_ERR];
    json_t *root = json_file(folder, "config.json", true, err);
    const json_t *of = root;
    for (size_t i = 0; i < 2 && of == root; i++)
        if (json_is_object(json_object_get(root, inner[i]))) of = json_object_get(root, inner[i]);
    double most = 0;
    for (size_t i = 0; i < 2 && most <= 0; i++)
        most = json_number_value(json_object_get(of, names[i]));
    json_decref(root);
    return most > 0 && most < INT32_MAX ? (int64_t)most : 0;
}

static bool read_files(struct server *s, struct served *m, char *err) {
    m->trained = read_trained(m->folder);
    return tokenizer_load(m->folder, &m->tokenizer, err) && stops_read(m->folder, &m->stops, err) &&
           chat_open(m->folder, s->o->template_file, &m->chat, err) && read_usual(m, err) &&
           vectors_read(m->folder, &m->vectors, err) &&
           infill_find(m->folder, m->tokenizer, &m->infill, err);
}

static void forget_files(struct served *m) {
    vocabulary_free(m->vocabulary);
    chat_close(m->chat);
    vectors_free(m->vectors);
    tokenizer_free(m->tokenizer);
    m->vocabulary = NULL;
    m->chat = NULL;
    m->vectors = NULL;
    m->tokenizer = NULL;
}

static bool open_engines(struct server *s, const struct instance *k, char *err) {
    const struct serve_options *o = s->o;
    struct engine *engines[MAX_MODELS];
    struct engine_model models[MAX_MODELS];
    struct engine_options e = {.kernel = k->made.kernel,
                               .device = o->device,
                               .cache = o->cache,
                               .batch = o->batch,
                               .chunk = o->chunk,
                               .waiting = o->queue,
                               .speculate = o->speculate,
                               .steps = o->steps,
                               .forget = o->forget,
                               .timed = o->timed,
                               .resident = o->resident,
                               .beside = o->make && !o->turns,
                               .launch_seconds = o->launch_seconds,
                               .idle_seconds = o->idle_seconds,
                               .abort_launch = o->abort_launch,
                               .abort_again = o->abort_again};
    struct served *m = &s->models[k->first];
    for (int i = 0; i < k->n; i++)
        models[i] = (struct engine_model){o->kernel ? o->models[k->first + i].part : NULL,
                                          m[i].folder, m[i].stops.ids, m[i].stops.n};
    if (!engine_open(&e, models, k->n, engines, err)) return false;
    for (int i = 0; i < k->n; i++) {
        m[i].engine = engines[i];
        engine_sizes(engines[i], &m[i].sizes);
    }
    return true;
}

/* How calls and reasoning are written: as is said, or as the chat template shows. */
static bool describe_formats(const struct serve_options *o, struct served *m, char *err) {
    struct api_model *a = &m->model;
    const char *source = chat_source(m->chat);
    a->tools = o->tools == 1 ? tool_format_of(source) : tool_format(o->tools - 2);
    a->thoughts = o->thoughts == 1 ? thought_format_of(source) : thought_format(o->thoughts - 2);
    a->reasoning = o->reasoning || a->thoughts;
    if (o->tools == 1 && !a->tools && source && strstr(source, "tools"))
        return llm_fail(err,
                        "%s: how its chat template writes calls of tools is not known: choose a "
                        "--tool-parser",
                        m->name);
    /* Its messages tell reasoning apart by themselves. */
    if (a->tools && !a->tools->read) a->reasoning = true;
    return true;
}

/* What texts and pairs of them may become. */
static bool describe_vectors(struct served *m, char *err) {
    enum { MOST = 2048 }; /* as OpenAI has it */
    struct api_model *a = &m->model;
    const struct engine_sizes *z = &m->sizes;
    int64_t most = vectors_most(m->vectors);
    a->vectors = m->vectors;
    a->only_vectors = z->vectors;
    a->gives_vectors = z->vectors && !z->scores;
    a->gives_scores = z->scores ? z->width == 1 : vectors_by_token(m->vectors) && !z->vectors;
    a->width = z->width;
    a->texts = MOST;
    a->text_tokens = z->vectors && most && most < z->context ? most : z->context;
    if (z->vectors || vectors_vocab(m->vectors) <= z->vocab) return true;
    return llm_fail(err, "%s: modules.json names a token beyond the vocabulary of %lld", m->name,
                    (long long)z->vocab);
}

/* What requests are read by. */
static bool describe(const struct serve_options *o, struct served *m, char *err) {
    struct api_model *a = &m->model;
    /* It is not known of some that write no texts. */
    if (m->sizes.vocab == INT32_MAX) m->sizes.vocab = tokenizer_size(m->tokenizer);
    m->vocabulary = vocabulary_make(m->tokenizer, m->sizes.vocab);
    if (!m->vocabulary) return llm_fail(err, "out of memory");
    a->name = m->name;
    a->tokenizer = m->tokenizer;
    a->chat = m->chat;
    a->vocabulary = m->vocabulary;
    a->stops = m->stops.ids;
    a->nstops = m->stops.n;
    a->context = m->sizes.context;
    a->vocab = m->sizes.vocab;
    a->most = o->most;
    a->choices = m->sizes.slots + o->queue < 1024 ? m->sizes.slots + o->queue : 1024;
    a->aliases = o->aliases;
    a->lenient = o->lenient;
    a->infill = infill_can(&m->infill) ? &m->infill : NULL;
    return describe_vectors(m, err) && describe_formats(o, m, err);
}

/* Closes what was opened of it. */
static void shut(struct server *s, const struct instance *k) {
    struct served *m = &s->models[k->first];
    engine_close(m->engine); /* and with it those of the others */
    for (int i = 0; i < k->n; i++) {
        m[i].engine = NULL;
        forget_files(&m[i]);
    }
}

static bool open_all(struct server *s, struct instance *k, char *err) {
    const struct serve_options *o = s->o;
    struct served *m = &s->models[k->first];
    if (o->make && !o->make(o->user, o->models[k->first].folder, &k->made, err)) return false;
    if (o->make) m->folder = k->made.folder;
    for (int i = 0; i < k->n; i++)
        if (!read_files(s, &m[i], err)) return false;
    if (!open_engines(s, k, err)) return false;
    for (int i = 0; i < k->n; i++)
        if (!describe(o, &m[i], err)) return false;
    return true;
}

bool models_open(struct server *s, struct instance *k, char *err) {
    struct served *m = &s->models[k->first];
    if (!open_all(s, k, err)) {
        shut(s, k);
        return false;
    }
    for (int i = 0; i < k->n; i++) {
        const struct engine_sizes *z = &m[i].sizes;
        char less[80] = "";
        if (z->context < m[i].trained)
            snprintf(less, sizeof less, " (the model knows %lld: --context, --slots)",
                     (long long)m[i].trained);
        m[i].open = true;
        fprintf(stderr, "etllm: %s: %s on %s, %lld slots of %lld tokens%s%s%s\n",
                s->o->make ? "loaded" : "ready", m[i].name, z->device, (long long)z->slots,
                (long long)z->context, less, z->emulated ? " (emulated: no GPU is used)" : "",
                turns_are_shared() ? ", beside others" : "");
    }
    return true;
}

bool models_load(struct server *s, char *err) {
    for (int i = 0; i < s->ninstances && !s->o->make; i++) {
        if (!models_open(s, &s->instances[i], err)) return false;
        s->instances[i].state = INSTANCE_OPEN;
    }
    return true;
}

void models_free(struct server *s) {
    pool_close(s->masks); /* they wake engines */
    s->masks = NULL;
    for (int i = 0; i < s->ninstances; i++)
        shut(s, &s->instances[i]);
    for (int i = 0; i < s->nmodels; i++)
        metrics_free(&s->models[i].metrics);
}

bool models_name(struct server *s, char *err) {
    const struct serve_options *o = s->o;
    s->nmodels = o->nmodels;
    s->ninstances = o->make ? o->nmodels : 1;
    for (int i = 0; i < s->nmodels; i++) {
        struct served *m = &s->models[i];
        metrics_init(&m->metrics);
        struct instance *k = &s->instances[o->make ? i : 0];
        m->folder = o->models[i].folder;
        m->instance = k;
        if (!k->n++) k->first = i;
        if (o->kernel) snprintf(k->made.kernel, sizeof k->made.kernel, "%s", o->kernel);
        set_name(m, o->models[i].part ? o->models[i].part : s->nmodels == 1 ? o->name : NULL);
        if (models_find(s, m->name) != m)
            return llm_fail(err, "two models are called %s: name them, as in NAME=DIR", m->name);
    }
    return true;
}

/* ---- which ---- */

struct served *models_find(struct server *s, const char *name) {
    for (int i = 0; i < s->nmodels; i++)
        if (!strcmp(s->models[i].name, name)) return &s->models[i];
    return NULL;
}

/* Ollama's clients name a version too. */
static struct served *find_tagged(struct server *s, const char *name) {
    char bare[256];
    const char *tag = strstr(name, ":latest");
    struct served *m = models_find(s, name);
    if (m || !tag || tag[7]) return m;
    snprintf(bare, sizeof bare, "%.*s", (int)(tag - name), name);
    return models_find(s, bare);
}

const char *models_list(const struct server *s, const char *between, char *out, size_t bytes) {
    size_t n = 0;
    out[0] = 0;
    for (int i = 0; i < s->nmodels && n < bytes; i++)
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? between : "", s->models[i].name);
    return out;
}

struct served *models_choose(struct server *s, const json_t *body, struct fault *f) {
    const json_t *name = json_object_get(body, "model");
    char all[400];
    if (s->nmodels == 1) return &s->models[0]; /* if it is another, what reads the body says so */
    models_list(s, ", ", all, sizeof all);
    struct served *m = json_is_string(name) ? find_tagged(s, json_string_value(name)) : NULL;
    if (m) return m;
    if (s->o->lenient) return &s->models[0];
    if (json_is_string(name))
        fault_set(f, 404, "model", "model_not_found",
                  "the model '%.200s' is not here; there are %s", json_string_value(name), all);
    else
        fault_set(f, 400, "model", NULL, "'model' must be one of %s", all);
    return NULL;
}
