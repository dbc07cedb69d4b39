/* modules.c - modules.json and its folders: what makes a vector of a text, where the file says it.
 */
#include "frontend/gguf/convert.h"
#include <jansson.h>

#define TYPES "sentence_transformers.models."

/* The number that files have for it is the place here. */
static const struct {
    const char *name, *mode;
} poolings[] = {
    {NULL, NULL},
    {"mean", "pooling_mode_mean_tokens"},
    {"cls", "pooling_mode_cls_token"},
    {"lasttoken", "pooling_mode_lasttoken"},
};
enum { POOLINGS = sizeof poolings / sizeof *poolings, BEFORE = 2 /* modules before a Dense */ };

bool gguf_modules_read(const struct gguf *g, const struct gguf_family *f, struct gguf_modules *m) {
    static const char *const layers[GGUF_MOST_DENSE] = {"dense_2.weight", "dense_3.weight"};
    const char *key = gguf_key(g, f, "pooling_type");
    int64_t type;
    *m = (struct gguf_modules){0};
    if (f->bit == GGUF_BERT_SCORES) return true; /* a score of its own */
    if (!gguf_get_int(g, key, 0, &type)) return false;
    if (type < 0 || type >= POOLINGS)
        return gguf_fail(g->fault,
                         "%s: metadata \"%s\" is %lld%s; supported: 0 (none), 1 (mean), 2 (the "
                         "first token), 3 (the last one)",
                         g->path, key, (long long)type, type == 4 ? " (a score of two texts)" : "");
    m->pooling = poolings[type].name;
    for (int i = 0; i < GGUF_MOST_DENSE && f->bit == GGUF_GEMMA_EMBEDDING; i++) {
        const struct gguf_tensor *t = gguf_tensor(g, layers[i]);
        if (t && (!m->pooling || t->rank != 2))
            return gguf_fail(g->fault, "%s: tensor \"%s\" %s", g->path, layers[i],
                             m->pooling ? "is no matrix" : "changes what no pooling gives");
        if (t) m->dense[m->ndense++] = t;
    }
    return true;
}

/* Transformer, Pooling, any Dense, Normalize: programs that read such files have all vectors of
 * one length. */
static const char *kind_of(const struct gguf_modules *m, int i) {
    return i == 0                   ? "Transformer"
           : i == 1                 ? "Pooling"
           : i < BEFORE + m->ndense ? "Dense"
                                    : "Normalize";
}

json_t *gguf_modules_list(const struct gguf_modules *m) {
    json_t *list = json_array();
    for (int i = 0; m->pooling && i < BEFORE + m->ndense + 1; i++) {
        const char *kind = kind_of(m, i);
        json_t *path = i ? json_sprintf("%d_%s", i, kind) : json_string("");
        json_array_append_new(list, json_pack("{s:i, s:o, s:o, s:o}", "idx", i, "name",
                                              json_sprintf("%d", i), "path", path, "type",
                                              json_sprintf(TYPES "%s", kind)));
    }
    return list;
}

const struct gguf_tensor *gguf_modules_tensor(const struct gguf_modules *m, int i) {
    return i >= BEFORE && i < BEFORE + m->ndense ? m->dense[i - BEFORE] : NULL;
}

static json_t *pooling_config(const struct gguf_modules *m, int64_t width) {
    json_t *config = json_pack("{s:I}", "word_embedding_dimension", (json_int_t)width);
    for (int k = 1; k < POOLINGS; k++)
        json_object_set_new(config, poolings[k].mode, json_boolean(poolings[k].name == m->pooling));
    return config;
}

const char *gguf_modules_folder(const struct gguf_modules *m, int i, int64_t width, json_t **out) {
    static const char *const names[] = {NULL, "1_Pooling", "2_Dense", "3_Dense"};
    const struct gguf_tensor *t = gguf_modules_tensor(m, i);
    *out = NULL;
    if (!m->pooling || i < 1 || i >= BEFORE + m->ndense) return NULL;
    if (t)
        *out = json_pack("{s:I, s:I, s:b, s:s}", "in_features", (json_int_t)t->dims[0],
                         "out_features", (json_int_t)t->dims[1], "bias", 0, "activation_function",
                         "torch.nn.modules.linear.Identity");
    else
        *out = pooling_config(m, width);
    return names[i];
}
