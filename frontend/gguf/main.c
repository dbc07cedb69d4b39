/* etgguf - a GGUF file becomes a checkpoint directory as Hugging Face's library writes them. */
#include "frontend/gguf/convert.h"
#include "runtime/cli/cli.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct options {
    const char *input, *output, *type, *pre;
};

struct conversion {
    struct gguf g;
    struct gguf_fault fault;
    const struct gguf_family *family;
    struct gguf_plan *plan;
    struct gguf_vocabulary *vocabulary; /* NULL: the file has none */
    struct gguf_modules modules;
    json_t *config;
    int rounded;
};

/* ---- reading ---- */

static int64_t field(const struct conversion *c, const char *name) {
    return json_integer_value(json_object_get(c->config, name));
}

static const char *dtype_name(const char *type) {
    return !strcmp(type, "BF16") ? "bfloat16" : !strcmp(type, "F16") ? "float16" : "float32";
}

static const char *type_of(const struct options *o) {
    return !o->type || !strcmp(o->type, "auto") ? NULL
           : !strcmp(o->type, "bf16")           ? "BF16"
           : !strcmp(o->type, "f16")            ? "F16"
                                                : "F32";
}

/* All that can be wrong with a file but its weights is found here, before anything is written. */
static bool understand(const struct options *o, struct conversion *c) {
    const struct gguf *g = &c->g;
    c->family = gguf_family_of(g);
    if (!c->family) return false;
    c->config = gguf_config(g, c->family, "");
    if (!c->config || !gguf_modules_read(g, c->family, &c->modules) ||
        !gguf_vocabulary_read(g, o->pre, &c->vocabulary))
        return false;
    if (json_is_false(json_object_get(c->config, "is_causal")) && !c->modules.pooling)
        return gguf_fail(&c->fault,
                         "%s: metadata \"%s\" is false and nothing says what becomes of a text "
                         "(\"%s\")",
                         g->path, gguf_key(g, c->family, "attention.causal"),
                         gguf_key(g, c->family, "pooling_type"));
    if (c->vocabulary && gguf_vocabulary_size(c->vocabulary) > field(c, "vocab_size"))
        return gguf_fail(&c->fault,
                         "%s: metadata \"tokenizer.ggml.tokens\" has %lld tokens, but tensor "
                         "\"token_embd.weight\" has %lld rows",
                         g->path, (long long)gguf_vocabulary_size(c->vocabulary),
                         (long long)field(c, "vocab_size"));
    c->plan = gguf_plan_make(g, c->family, type_of(o), c->config, &c->rounded);
    if (!c->plan) return false;
    json_object_set_new(c->config, "torch_dtype", json_string(dtype_name(gguf_plan_type(c->plan))));
    if (gguf_plan_quantised(c->plan))
        json_object_set_new(c->config, "quantization_config",
                            json_pack("{s:s}", "quant_method", "gguf"));
    return true;
}

/* ---- writing ---- */

static bool path_in(struct conversion *c, const et_output_folder *to, const char *name,
                    char path[PATH_MAX]) {
    int n = snprintf(path, PATH_MAX, "%s/%s", to->temporary, name);
    return n < PATH_MAX || gguf_fail(&c->fault, "%s: the name is too long", to->target);
}

static bool close_file(struct conversion *c, et_output *f, bool ok) {
    return et_output_close(f, ok) || gguf_fail(&c->fault, "%s: %s", f->path, strerror(errno));
}

static bool write_json(struct conversion *c, const et_output_folder *to, const char *name,
                       const json_t *value) {
    char path[PATH_MAX];
    et_output f;
    if (!path_in(c, to, name, path)) return false;
    if (!et_output_open(&f, path)) return gguf_fail(&c->fault, "%s: %s", path, strerror(errno));
    bool ok = !json_dumpf(value, f.to, JSON_INDENT(2)) && putc('\n', f.to) != EOF;
    return close_file(c, &f, ok);
}

/* FOLDER, in TO, with CONFIG, and with a layer's weight where there is one. */
static bool write_module(struct conversion *c, const et_output_folder *to, const char *folder,
                         const struct gguf_tensor *weight, const json_t *config) {
    char path[PATH_MAX], name[80];
    if (!path_in(c, to, folder, path)) return false;
    if (mkdir(path, 0777) != 0) return gguf_fail(&c->fault, "%s: %s", path, strerror(errno));
    snprintf(name, sizeof name, "%s/config.json", folder);
    if (!write_json(c, to, name, config)) return false;
    snprintf(name, sizeof name, "%s/model.safetensors", folder);
    return !weight || (path_in(c, to, name, path) &&
                       gguf_plan_write_one(&c->g, weight, "linear.weight", path));
}

static bool write_modules(struct conversion *c, const et_output_folder *to) {
    bool ok = true;
    json_t *list = gguf_modules_list(&c->modules);
    for (int i = 0; ok && i < (int)json_array_size(list); i++) {
        json_t *config;
        const char *folder = gguf_modules_folder(&c->modules, i, field(c, "hidden_size"), &config);
        const struct gguf_tensor *weight = gguf_modules_tensor(&c->modules, i);
        ok = !folder || write_module(c, to, folder, weight, config);
        json_decref(config);
    }
    ok = ok && (!json_array_size(list) || write_json(c, to, "modules.json", list));
    json_decref(list);
    return ok;
}

static bool write_tokenizer(struct conversion *c, const et_output_folder *to) {
    char path[PATH_MAX];
    et_output f;
    if (!c->vocabulary) return true;
    if (!path_in(c, to, "tokenizer.json", path)) return false;
    if (!et_output_open(&f, path)) return gguf_fail(&c->fault, "%s: %s", path, strerror(errno));
    if (!close_file(c, &f, gguf_tokenizer_write(c->vocabulary, f.to))) return false;
    bool texts = c->modules.pooling || c->family->bit & GGUF_ENCODERS;
    int64_t most = texts ? field(c, "max_position_embeddings") : 0;
    json_t *config = gguf_tokenizer_config(c->vocabulary, most);
    json_t *generation = gguf_generation_config(c->vocabulary);
    bool ok = write_json(c, to, "tokenizer_config.json", config) &&
              write_json(c, to, "generation_config.json", generation);
    json_decref(config);
    json_decref(generation);
    return ok;
}

static bool write_folder(struct conversion *c, const char *output) {
    et_output_folder to;
    char path[PATH_MAX];
    if (!et_output_folder_open(&to, output))
        return gguf_fail(&c->fault, "%s: %s", output,
                         errno == ENOTEMPTY ? "is there, and has files in it" : strerror(errno));
    bool ok = path_in(c, &to, "model.safetensors", path) && gguf_plan_write(c->plan, path) &&
              write_tokenizer(c, &to) && write_modules(c, &to) &&
              write_json(c, &to, "config.json", c->config);
    return et_output_folder_close(&to, ok) ||
           gguf_fail(&c->fault, "%s: %s", output, strerror(errno));
}

static bool convert(const struct options *o, et_arena *arena, struct conversion *c) {
    if (!gguf_open(o->input, arena, &c->fault, &c->g)) return false;
    bool ok = understand(o, c);
    if (ok && c->rounded)
        fprintf(stderr, "etgguf: %s: warning: %d tensors are rounded to %s (--type)\n", o->input,
                c->rounded, gguf_plan_type(c->plan));
    if (ok && !c->vocabulary)
        fprintf(stderr, "etgguf: %s: warning: there is no tokenizer in the file\n", o->input);
    ok = ok && write_folder(c, o->output);
    json_decref(c->config);
    gguf_close(&c->g);
    return ok;
}

/* ---- the command line ---- */

static const char *type_name(int i) {
    static const char *const names[] = {"auto", "bf16", "f16", "f32", NULL};
    return names[i];
}

static void print_pre(const cli_tool *tool, FILE *f) {
    (void)tool;
    for (int i = 0; gguf_pre_at(i); i++)
        fprintf(f, "%s\n", gguf_pre_at(i));
}

static void print_formats(const cli_tool *tool, FILE *f) {
    (void)tool;
    for (int i = 0; gguf_format_at(i); i++)
        fprintf(f, "%s\n", gguf_format_at(i)->name);
}

static void print_architectures(const cli_tool *tool, FILE *f) {
    (void)tool;
    for (int i = 0; gguf_family_at(i); i++)
        if (!i || strcmp(gguf_family_at(i), gguf_family_at(i - 1)) != 0)
            fprintf(f, "%s\n", gguf_family_at(i));
}

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"output", 'o', CLI_FOLDER, "DIR", TO(output),
     "the checkpoint directory to make; it may be there when it is empty", .need = 1},
    {"type", 0, CLI_TEXT, NULL, TO(type),
     "the type of all weights (auto: what the matrices have, and those that are quantised stay so)",
     .names = type_name},
    {"pre", 0, CLI_TEXT, "NAME", TO(pre),
     "how text is split into words, where the file does not say it: a name of --list-pre"},
    {"list-architectures", 0, CLI_PRINT, NULL, .print = print_architectures,
     .help = "print which architectures are known"},
    {"list-formats", 0, CLI_PRINT, NULL, .print = print_formats,
     .help = "print which formats of tensors are known"},
    {"list-pre", 0, CLI_PRINT, NULL, .print = print_pre,
     .help = "print which names of ways to split text are known"},
    {0},
};
static const cli_option input = {.kind = CLI_INPUT, .arg = "model.gguf", TO(input), .need = 1};

static int run(void *read) {
    struct conversion c = {0};
    et_arena *arena = et_arena_create();
    bool ok = convert(read, arena, &c);
    et_arena_destroy(arena);
    if (!ok) fprintf(stderr, "etgguf: %s\n", c.fault.text);
    return ok ? 0 : 1;
}

static const cli_tool tool = {
    .name = "etgguf",
    .summary = "make a Hugging Face checkpoint of a GGUF file",
    .usage = "MODEL.gguf -o CHECKPOINT_DIR [options]",
    .about = "Writes what a GGUF file holds as a checkpoint directory: config.json, the tokenizer "
             "and model.safetensors, which etimport and etllm then take. Quantised weights stay "
             "so, unless --type widens them.",
    .options = options,
    .rest = &input,
    .run = run,
};

int main(int argc, char **argv) {
    struct options o = {0};
    return cli_main(&tool, argc, argv, &o);
}
