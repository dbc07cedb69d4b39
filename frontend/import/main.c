/* etimport - a Hugging Face checkpoint directory becomes a readable .etg. */
#include "frontend/import/import.h"
#include "frontend/syntax/lex.h"
#include "ir/base/arena.h"
#include "runtime/cli/cli.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/files/input.h"
#include "runtime/files/output.h"
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

static bool take_snapshots(void *options, const char *text) {
    struct imp_options *o = options;
    char *end;
    o->snapshots_if = !strcmp(text, "slots");
    if (o->snapshots_if) return true;
    errno = 0;
    o->snapshots = strtoll(text, &end, 10);
    return end > text && !*end && !errno && o->snapshots >= 1 && o->snapshots <= 1 << 20;
}

static const char *frequency_name(int i) {
    static const char *const names[] = {"f32", "bf16", NULL};
    return names[i];
}

static const char *product_name(int i) {
    static const char *const names[] = {"bf16", "f16", NULL};
    return names[i];
}

static const char *results_name(int i) {
    static const char *const names[] = {"bf16", "f16", NULL};
    return names[i];
}

static const char *cache_name(int i) {
    static const char *const names[] = {"bf16", "f16", "f32", NULL};
    return names[i];
}

static const char *sample_name(int i) {
    static const char *const names[] = {"greedy", "all", NULL};
    return names[i];
}

static const char *activations_name(int i) {
    static const char *const names[] = {"fp8", NULL};
    return names[i];
}

static const char *logits_name(int i) {
    static const char *const names[] = {"all", "asked", NULL};
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

/* The template for what config.json says it is, and that architecture's name; NULL after an error.
 */
static const char *find_template(const struct imp_options *o, struct imp_config *c,
                                 struct imp_source *out) {
    enum { MAX_BYTES = 1 << 20 };
    char why[ET_WHY];
    bool is_type;
    size_t bytes, at = 0;
    const char *said = imp_config_architecture(c, &is_type), *list = "", *name, *type;
    if (!said) return NULL;
    if (!o->template) {
        if ((name = imp_model_of(c->arena, said, is_type, out))) return name;
        if ((type = imp_config_enter(c)) && (name = imp_model_of(c->arena, type, true, out)))
            return name;
        if (type) said = et_printf(c->arena, "%s, of %s", said, type);
        while ((name = imp_model_next(c->arena, &at)))
            list = et_printf(c->arena, "%s%s%s", list, *list ? ", " : "", name);
        imp_error(c->report, c->path, "architecture \"%s\" is not supported; supported: %s", said,
                  list);
        return NULL;
    }
    char *text = et_file_read(o->template, MAX_BYTES, &bytes, why);
    if (!text) {
        imp_error(c->report, o->template, "%s", why);
        return NULL;
    }
    *out = (struct imp_source){o->template, et_strdup(c->arena, text)};
    free(text);
    if ((name = imp_model_serves(c->arena, out->text, said, is_type))) return name;
    if ((type = imp_config_enter(c)) && (name = imp_model_serves(c->arena, out->text, type, true)))
        return name;
    imp_error(c->report, o->template, "no line \"%%architecture\" names \"%s\", which %s is of",
              said, c->path);
    return NULL;
}

/* Did the template round what --results is about? */
static bool rounds_results(const struct imp_options *o, const struct imp_filled *filled,
                           const struct imp_config *c, const char *architecture) {
    if (!o->results || strstr(filled->text, et_printf(c->arena, " = %s(grouped(", o->results)))
        return true;
    imp_error(c->report, "etimport", "--results %s: %s has no results of experts that it rounds",
              o->results, architecture);
    return false;
}

/* Is there anything that --snapshots is about? */
static bool keeps_states(const struct imp_options *o, const struct imp_filled *filled,
                         const struct imp_config *c, const char *architecture) {
    if (!o->snapshots || o->snapshots_if || strstr(filled->text, "\nstate snapshots : "))
        return true;
    imp_error(c->report, "etimport",
              "--snapshots %lld: no layer of this %s carries a state along a text",
              (long long)o->snapshots, architecture);
    return false;
}

static bool import_config(struct imp_options *o, struct imp_config *c) {
    char err[ETRT_ST_ERR];
    struct imp_source from;
    struct imp_filled filled;
    struct etrt_st *st = NULL;
    const char *architecture = find_template(o, c, &from);
    if (!architecture || !imp_config_complete(c, architecture)) return false;
    if (!o->config_only && !etrt_st_open(o->checkpoint, &st, err, sizeof err)) {
        imp_error(c->report, "etimport", "%s", err);
        return false;
    }
    if (st) imp_config_tensors(c, st);
    bool ok = imp_template_fill(&from, c, o, st, architecture, &filled) &&
              rounds_results(o, &filled, c, architecture) &&
              keeps_states(o, &filled, c, architecture) && imp_config_unused(c, o, architecture) &&
              imp_check_weights(&filled, c, from.name, st, o);
    etrt_st_close(st);
    if (!ok) imp_config_defaults_note(c);
    return ok && write_file(o->output, filled.text, filled.bytes);
}

static bool import(struct imp_options *o, struct imp_report *r) {
    char path[PATH_MAX];
    struct imp_config config;
    struct stat st;
    if (stat(o->checkpoint, &st) == 0 && S_ISREG(st.st_mode)) {
        imp_error(r, o->checkpoint,
                  "is a file, expected a checkpoint directory (etgguf makes one of a GGUF file)");
        return false;
    }
    if (snprintf(path, sizeof path, "%s/config.json", o->checkpoint) >= (int)sizeof path) {
        imp_error(r, "etimport", "the checkpoint's path is too long");
        return false;
    }
    et_arena *arena = et_arena_create();
    bool ok = imp_config_open(&config, arena, path, r) && import_config(o, &config);
    imp_config_close(&config);
    et_arena_destroy(arena);
    return ok;
}

static bool take_ignored(void *options, const char *name) {
    struct imp_options *o = options;
    size_t room = sizeof o->ignored / sizeof *o->ignored;
    if (!*name || (size_t)o->nignored == room) return false;
    o->ignored[o->nignored++] = name;
    return true;
}

static void print_architectures(const cli_tool *tool, FILE *f) {
    (void)tool;
    et_arena *arena = et_arena_create();
    const char *name;
    for (size_t at = 0; (name = imp_model_next(arena, &at));)
        fprintf(f, "%s\n", name);
    et_arena_destroy(arena);
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
    {"cache-room", 0, CLI_INT, "BYTES", TO(cache_room),
     "without --context: more of them, up to 8192, where the model allows it and those of all "
     "slots take no more bytes than this",
     .lo = 1, .hi = (int64_t)1 << 50},
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
    {"products", 0, CLI_CHOICE, NULL, TO(f16_products),
     "the type that quantised weights are converted to in products: bf16 (the default) or f16, "
     "which needs activations below 65504",
     .names = product_name},
    {"results", 0, CLI_TEXT, NULL, TO(results),
     "the type that results of experts are rounded to before they are added up: bf16 or f16, which "
     "needs them below 65504 (off by default; prompts take 2 % less time with it)",
     .names = results_name},
    {"cache", 0, CLI_TEXT, NULL, TO(cache),
     "the type of kept keys and values (bf16 as a rule, of mixtures f16)", .names = cache_name},
    {"paged", 0, CLI_INT, "POSITIONS", TO(page),
     "keep keys and values in pages of so many positions each, which the input `table` deals to "
     "the "
     "slots",
     .lo = 1, .hi = 1 << 20},
    {"pages", 0, CLI_INT, "N", TO(pages),
     "how many pages there are (as many as all slots can fill)", .lo = 1, .hi = 1 << 30},
    {"snapshots", 0, CLI_TAKE, "1..1048576|slots", .take = take_snapshots,
     .help = "of layers that carry states: room for so many copies of what a slot keeps of a text, "
             "so that texts with the same beginning go on from there (none); slots: one for each "
             "slot, where there are such layers"},
    {"sample", 0, CLI_TEXT, NULL, TO(sample),
     "choose the next tokens on the device: the likeliest, or in all ways that etllm knows",
     .names = sample_name},
    {"activations", 0, CLI_TEXT, NULL, TO(activations),
     "fp8: quantise the activations of products by quantised weights too, where config.json says "
     "so "
     "(off by default)",
     .names = activations_name},
    {"logits", 0, CLI_CHOICE, NULL, TO(asked),
     "the tokens whose logits a launch computes: all, or those that the input `asked` names, so "
     "that "
     "a prompt does not pay for unused logits",
     .names = logits_name},
    {"steps", 0, CLI_INT, "S", TO(steps),
     "up to so many steps in a launch, the tokens chosen in one being those of the next; with "
     "--logits asked --sample greedy",
     .lo = 1, .hi = 64},
    {"config-only", 0, CLI_FLAG, NULL, TO(config_only),
     "read config.json alone: the weights need not be there"},
    {"template", 0, CLI_INPUT, "FILE", TO(template),
     "a template to use instead of the one that is built in"},
    {"ignore-field", 0, CLI_TAKE, "NAME", .take = take_ignored,
     .help = "a field of config.json that does not matter here; may be given up to 16 times"},
    {"list-architectures", 0, CLI_PRINT, NULL, .print = print_architectures,
     .help = "print what templates are built in for"},
    {0},
};
static const cli_option checkpoint = {
    .kind = CLI_FOLDER, .arg = "checkpoint directory", TO(checkpoint), .need = 1};

static int run(void *read) {
    struct imp_options *o = read;
    struct imp_report report = {0, 0};
    if (!*o->name) default_name(o);
    if (o->snapshots_if) o->snapshots = o->slots;
    bool ok = import(o, &report);
    imp_report_end(&report);
    return ok ? 0 : 1;
}

static const cli_tool tool = {
    .name = "etimport",
    .summary = "write the model of a Hugging Face checkpoint as .etg",
    .usage = "CHECKPOINT_DIR -o MODEL.etg [options]",
    .about = "Writes the model of a Hugging Face checkpoint (config.json beside safetensors files) "
             "as .etg, by a template for its architecture: --list-architectures.",
    .options = options,
    .rest = &checkpoint,
    .run = run,
};

int main(int argc, char **argv) {
    struct imp_options o = {.max_tokens = 64, .slots = 16};
    et_on_give_up(et_remove_guarded);
    return cli_main(&tool, argc, argv, &o);
}
