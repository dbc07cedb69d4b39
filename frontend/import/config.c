/* config.c - config.json of a Hugging Face checkpoint, and which of its fields were looked at.
 *
 * A field that no line of the template asks for may change what is computed: it is refused by its
 * name, unless it says nothing (null, false, 0, an empty list) or is known to be about something
 * else. */
#include "frontend/import/import.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/files/input.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* About training, text, files and the library that wrote it: without effect on what a forward pass
 * computes, in every architecture. What one architecture alone ignores stands in its template. */
static const char *const ignored[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_from_model_config",
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "attn_pdrop",
    "auto_map",
    "begin_suppress_tokens",
    "bos_token_id",
    "chunk_size_feed_forward",
    "classifier_dropout",
    "decoder_start_token_id",
    "diversity_penalty",
    "do_sample",
    "dtype",
    "early_stopping",
    "embd_pdrop",
    "eos_token_id",
    "exponential_decay_length_penalty",
    "finetuning_task",
    "forced_bos_token_id",
    "forced_eos_token_id",
    "gradient_checkpointing",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "label2id",
    "length_penalty",
    "max_length",
    "max_sequence_length",
    "min_length",
    "mlp_dropout",
    "model_max_length",
    "model_type",
    "modules",
    "num_beams",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "output_scores",
    "pad_token_id",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "repetition_penalty",
    "resid_pdrop",
    "residual_dropout",
    "return_dict",
    "return_dict_in_generate",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "sep_token_id",
    "task_specific_params",
    "temperature",
    "tokenizer_class",
    "top_k",
    "top_p",
    "torch_dtype",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "typical_p",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_cache",
};

const char *imp_json_kind(const json_t *j) {
    static const char *const names[] = {"an object",     "a list", "a string", "an integer",
                                        "a real number", "true",   "false",    "null"};
    return names[json_typeof(j)];
}

/* The JSON at PATH, or NULL. */
static json_t *load_beside(struct imp_config *c, const char *name) {
    enum { MAX_BYTES = 1 << 20 };
    const char *slash = strrchr(c->path, '/');
    int folder = slash ? (int)(slash + 1 - c->path) : 0;
    size_t bytes;
    char why[ET_WHY];
    char *text =
        et_file_read(et_printf(c->arena, "%.*s%s", folder, c->path, name), MAX_BYTES, &bytes, why);
    json_t *j = text ? json_loadb(text, bytes, 0, NULL) : NULL;
    free(text);
    return j;
}

/* modules.json says of an embedder what follows the model (sentence-transformers). It becomes the
 * field "modules": a list with the "kind" of each ("Pooling") and its own configuration. */
static void read_modules(struct imp_config *c) {
    json_t *modules = load_beside(c, "modules.json"), *module;
    size_t i;
    json_array_foreach(modules, i, module) {
        const char *type = json_string_value(json_object_get(module, "type"));
        const char *path = json_string_value(json_object_get(module, "path"));
        const char *dot = type ? strrchr(type, '.') : NULL;
        if (type) json_object_set_new(module, "kind", json_string(dot ? dot + 1 : type));
        json_t *own = path && *path && !strchr(path, '/')
                          ? load_beside(c, et_printf(c->arena, "%s/config.json", path))
                          : NULL;
        if (own) json_object_set_new(module, "config", own);
    }
    json_object_del(c->root, "modules");
    if (json_is_array(modules)) json_object_set(c->root, "modules", modules);
    json_decref(modules);
}

/* ModelOpt says how weights are quantised in a file of its own, "quantization" of
 * hf_quant_config.json, which stands for the field that there is none of. */
static void read_quantization(struct imp_config *c) {
    json_t *own = load_beside(c, "hf_quant_config.json");
    json_t *says = json_object_get(own, "quantization");
    if (json_is_object(says) && !json_object_get(c->root, "quantization_config")) {
        if (!json_object_get(says, "quant_method"))
            json_object_set_new(says, "quant_method", json_string("modelopt"));
        json_object_set(c->root, "quantization_config", says);
    }
    json_decref(own);
}

bool imp_config_open(struct imp_config *c, et_arena *arena, const char *path,
                     struct imp_report *report) {
    enum { MAX_BYTES = 16 << 20 };
    char why[ET_WHY];
    size_t bytes;
    json_error_t e;
    *c = (struct imp_config){.arena = arena, .path = path, .report = report};
    char *text = et_file_read(path, MAX_BYTES, &bytes, why);
    if (!text) {
        imp_error(report, path, "%s", why);
        return false;
    }
    c->root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
    free(text);
    if (!c->root)
        imp_error(report, path, "line %d: %s", e.line, e.text);
    else if (!json_is_object(c->root))
        imp_error(report, path, "is %s, expected an object", imp_json_kind(c->root));
    if (!c->root || !json_is_object(c->root)) return false;
    read_modules(c);
    read_quantization(c);
    return true;
}

void imp_config_close(struct imp_config *c) {
    json_decref(c->outer ? c->outer : c->root);
    c->root = c->outer = NULL;
}

void imp_config_use(struct imp_config *c, const char *path) {
    ET_GROW(c->arena, c->used, c->nused, c->cused);
    c->used[c->nused++] = path;
}

/* What PARENT has by the name KEY: of a list, its items are called 0, 1, and so on. */
static const json_t *child(const json_t *parent, const char *key) {
    if (!json_is_array(parent)) return json_object_get(parent, key);
    char *end;
    unsigned long at = strtoul(key, &end, 10);
    return strspn(key, "0123456789") && !*end ? json_array_get(parent, at) : NULL;
}

const json_t *imp_config_find(struct imp_config *c, const char *path) {
    const json_t *j = c->root;
    char key[256];
    struct imp_default *d = imp_config_default(c, path);
    if (d) d->read = true;
    imp_config_use(c, path);
    for (const char *p = path; j;) {
        size_t n = strcspn(p, ".");
        if (n >= sizeof key) return NULL;
        memcpy(key, p, n);
        key[n] = 0;
        j = child(j, key);
        if (!p[n]) break;
        p += n + 1;
    }
    return json_is_null(j) ? NULL : j;
}

bool imp_config_has(const struct imp_config *c, const char *field) {
    const json_t *j = json_object_get(c->root, field);
    return j && !json_is_null(j);
}

const char *imp_config_architecture(struct imp_config *c, bool *out_is_type) {
    const json_t *names = imp_config_find(c, "architectures");
    const json_t *type = imp_config_find(c, "model_type");
    *out_is_type = false;
    if (names && !json_is_array(names)) {
        imp_error(c->report, c->path, "field \"architectures\" is %s, expected a list",
                  imp_json_kind(names));
        return NULL;
    }
    if (json_array_size(names) > 1) {
        imp_error(c->report, c->path,
                  "field \"architectures\" names %zu architectures, expected one",
                  json_array_size(names));
        return NULL;
    }
    const char *name = json_string_value(json_array_get(names, 0));
    if (name) return name;
    *out_is_type = true;
    if (!json_is_string(type))
        imp_error(c->report, c->path, "no field \"architectures\" or \"model_type\"");
    return json_string_value(type);
}

/* ---- a language model inside of a larger one ---- */

const char *imp_config_enter(struct imp_config *c) {
    static const char *const shared[] = {"quantization_config", "tie_word_embeddings",
                                         "transformers_version"};
    json_t *text = json_object_get(c->root, "text_config");
    const char *type = json_string_value(json_object_get(text, "model_type"));
    if (!type) return NULL;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        json_t *value = json_object_get(c->root, shared[i]);
        if (value && !json_object_get(text, shared[i]) && json_object_set(text, shared[i], value))
            et_no_memory();
    }
    c->outer = c->root;
    c->root = text;
    c->inner = true;
    return type;
}

/* What checkpoints of larger models call the tensors that the language model alone calls "model."
 * and "lm_head.". */
static const struct {
    const char *model, *head;
} inner[] = {{"language_model.model.", "language_model.lm_head."},
             {"model.language_model.", "lm_head."}};

/* A model that was saved without its head has no "model." in front of its tensors. */
static bool is_bare(const struct etrt_st *st) {
    bool bare = etrt_st_find(st, "embed_tokens.weight") != NULL;
    for (size_t k = 0; bare && k < etrt_st_count(st); k++)
        bare = strncmp(etrt_st_at(st, k)->name, "model.", 6) != 0;
    return bare;
}

void imp_config_tensors(struct imp_config *c, const struct etrt_st *st) {
    if (!c->inner && is_bare(st)) {
        c->model = "";
        c->head = "lm_head.";
    }
    for (size_t i = 0; c->inner && i < sizeof inner / sizeof *inner; i++)
        for (size_t k = 0; k < etrt_st_count(st); k++)
            if (!strncmp(etrt_st_at(st, k)->name, inner[i].model, strlen(inner[i].model))) {
                c->model = inner[i].model;
                c->head = inner[i].head;
            }
}

const char *imp_config_tensor(const struct imp_config *c, const char *name) {
    if (c->model && !strncmp(name, "model.", 6))
        return et_printf(c->arena, "%s%s", c->model, name + 6);
    if (c->model && !strncmp(name, "lm_head.", 8))
        return et_printf(c->arena, "%s%s", c->head, name + 8);
    return name;
}

bool imp_config_outside(const struct imp_config *c, const char *name) {
    return c->model && strncmp(name, c->model, strlen(c->model)) != 0 &&
           strncmp(name, c->head, strlen(c->head)) != 0;
}

/* ---- unused fields ---- */

static bool means_nothing(const json_t *j) {
    return json_is_null(j) || json_is_false(j) ||
           (json_is_number(j) && json_number_value(j) == 0) ||
           (json_is_array(j) && json_array_size(j) == 0) ||
           (json_is_object(j) && json_object_size(j) == 0);
}

static bool in_list(const char *const *list, size_t n, const char *s) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], s)) return true;
    return false;
}

/* Was something inside of PATH looked at? */
static bool is_open(const struct imp_config *c, const char *path) {
    size_t n = strlen(path);
    for (int i = 0; i < c->nused; i++)
        if (!strncmp(c->used[i], path, n) && c->used[i][n] == '.') return true;
    return false;
}

static void refuse(const struct imp_config *c, const char *path, const char *architecture) {
    imp_error(c->report, c->path,
              "field \"%s\" may change what is computed, and nothing is known of it for %s "
              "(--ignore-field, where it does not)",
              path, architecture);
}

static void unused_in(const struct imp_config *c, const struct imp_options *o, const json_t *object,
                      const char *prefix, const char *architecture) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        const char *path = et_printf(c->arena, "%s%s", prefix, key);
        bool plain = !strchr(key, '.'); /* "a.b" is a path, to b inside of a */
        if (means_nothing(value) || in_list(o->ignored, (size_t)o->nignored, path)) continue;
        if (plain && (imp_config_default(c, path) || in_list(c->used, (size_t)c->nused, path)))
            continue;
        if (!*prefix && in_list(ignored, sizeof ignored / sizeof *ignored, key)) continue;
        if (json_is_object(value) && is_open(c, path))
            unused_in(c, o, value, et_printf(c->arena, "%s.", path), architecture);
        else
            refuse(c, path, architecture);
    }
}

bool imp_config_unused(struct imp_config *c, const struct imp_options *o,
                       const char *architecture) {
    int errors = c->report->errors;
    unused_in(c, o, c->root, "", architecture);
    return c->report->errors == errors;
}
