/* etimport - a Hugging Face checkpoint directory becomes a readable .etg. */
#include "frontend/import/import.h"
#include "frontend/syntax/lex.h"
#include "runtime/cli/cli.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/files/output.h"
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

/* A word of the language cannot name a model. */
static bool is_keyword(const char *s) {
#define X(NAME, text) text,
    static const char *const tokens[] = {ET_TOKENS(X)};
#undef X
    for (int i = ET_TOK_MODEL; i <= ET_TOK_NOT; i++)
        if (!strcmp(s, tokens[i])) return true;
    return false;
}

static bool take_name(void *options, const char *name) {
    struct imp_options *o = options;
    if (!is_name(name) || is_keyword(name) || strlen(name) >= sizeof o->name) return false;
    snprintf(o->name, sizeof o->name, "%s", name);
    return true;
}

static const char *frequency_name(int i) {
    static const char *const names[] = {"f32", "bf16", NULL};
    return names[i];
}

static const char *cache_name(int i) {
    static const char *const names[] = {"bf16", "f16", "f32", NULL};
    return names[i];
}

/* The directory's own name with what a name cannot hold turned into _. */
static void default_name(struct imp_options *o) {
    char *full = realpath(o->checkpoint, NULL);
    const char *base = full ? strrchr(full, '/') : NULL;
    base = base && base[1] ? base + 1 : "model";
    bool prefix = isdigit((unsigned char)*base) || is_keyword(base);
    snprintf(o->name, sizeof o->name, "%s%s", prefix ? "m_" : "", base);
    for (char *p = o->name; *p; p++)
        if (!isalnum((unsigned char)*p)) *p = '_';
    free(full);
}

static bool write_file(const char *path, const char *text, size_t bytes) {
    et_output f;
    if (et_output_open(&f, path) && et_output_close(&f, fwrite(text, 1, bytes, f.to) == bytes))
        return true;
    fprintf(stderr, "etimport: %s: %m\n", path);
    return false;
}

static bool import(struct imp_options *o, struct imp_report *r) {
    char path[PATH_MAX], err[ETRT_ST_ERR];
    struct imp_config config;
    struct imp_weight weights[IMP_MAX_WEIGHTS];
    struct etrt_st *st = NULL;
    if (snprintf(path, sizeof path, "%s/config.json", o->checkpoint) >= (int)sizeof path) {
        imp_error(r, "etimport", "the checkpoint's path is too long");
        return false;
    }
    if (!imp_read_config(path, &config, r) || !imp_check_caches(o, &config, r)) return false;
    if (!o->config_only && !etrt_st_open(o->checkpoint, &st, err, sizeof err)) {
        imp_error(r, "etimport", "%s", err);
        return false;
    }
    imp_list_weights(&config, st, weights);
    bool ok = !st || imp_check_weights(&config, st, weights, r);
    etrt_st_close(st);
    if (!ok) return false;

    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (f) {
        imp_emit(f, o, &config, weights);
        ok = !fclose(f) && write_file(o->output, text, bytes);
    }
    free(text);
    return f && ok;
}

#define TO(field) CLI_AT(struct imp_options, field)
static const cli_option options[] = {
    {"output", 'o', CLI_OUTPUT, "FILE", TO(output), "the .etg to write", .need = 1},
    {"max-tokens", 0, CLI_INT, "N", TO(max_tokens), "most tokens one launch may take (64)", .lo = 1,
     .hi = 1 << 20},
    {"slots", 0, CLI_INT, "N", TO(slots),
     "sequences whose keys and values are kept on the device (16)", .lo = 1, .hi = 1 << 20},
    {"context", 0, CLI_INT, "N", TO(context),
     "positions kept of each (what the model allows, at most 4096)", .lo = 1, .hi = 1 << 30},
    {"name", 0, CLI_TAKE, "NAME", .take = take_name,
     .help = "the model's name: letters, digits and _, no word of the language (from the "
             "directory's)"},
    {"wide", 0, CLI_FLAG, NULL, TO(wide),
     "declare weights and states f32, for etinterp: it converts a checkpoint's types, a device "
     "does not"},
    {"rope-frequencies", 0, CLI_CHOICE, NULL, TO(bf16_frequencies),
     "bf16: round rope's frequencies, as PyTorch does to a model that is cast to bf16 as a whole "
     "(not when it is loaded in bf16)",
     .names = frequency_name},
    {"cache", 0, CLI_TEXT, NULL, TO(cache), "the type of kept keys and values (bf16 as a rule)",
     .names = cache_name},
    {"config-only", 0, CLI_FLAG, NULL, TO(config_only),
     "read config.json alone: the weights need not be there"},
    {0},
};
static const cli_option checkpoint = {
    .kind = CLI_FOLDER, .arg = "checkpoint directory", TO(checkpoint), .need = 1};

static int run(void *read) {
    struct imp_options *o = read;
    struct imp_report report = {0, 0};
    if (!*o->name) default_name(o);
    bool ok = import(o, &report);
    imp_report_end(&report);
    return ok ? 0 : 1;
}

static const cli_tool tool = {
    .name = "etimport",
    .summary = "write the model of a Hugging Face checkpoint as .etg",
    .usage = "CHECKPOINT_DIR -o MODEL.etg [options]",
    .about = "Writes the model of a Hugging Face checkpoint (config.json beside safetensors files) "
             "as .etg.\nArchitectures: LlamaForCausalLM, Qwen3ForCausalLM, Qwen3MoeForCausalLM, "
             "MixtralForCausalLM, OlmoeForCausalLM.",
    .options = options,
    .rest = &checkpoint,
    .run = run,
};

int main(int argc, char **argv) {
    struct imp_options o = {.max_tokens = 64, .slots = 16};
    return cli_main(&tool, argc, argv, &o);
}
