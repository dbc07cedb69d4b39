/* etimport - a Hugging Face checkpoint directory becomes a readable .etg. */
#include "frontend/import/import.h"
#include "frontend/syntax/lex.h"
#include "ir/base/output.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: etimport CHECKPOINT_DIR -o MODEL.etg [options]\n"
    "\n"
    "Writes the model of a Hugging Face checkpoint (config.json beside safetensors files) as "
    ".etg.\n"
    "Architectures: LlamaForCausalLM, Qwen3ForCausalLM, Qwen3MoeForCausalLM, MixtralForCausalLM,\n"
    "OlmoeForCausalLM.\n"
    "\n"
    "  -o FILE           the .etg to write\n"
    "  --max-tokens N    most tokens one launch may take (64)\n"
    "  --slots N         sequences whose keys and values are kept on the device (16)\n"
    "  --context N       positions kept of each (what the model allows, at most 4096)\n"
    "  --name NAME       the model's name (from the directory's)\n"
    "  --wide            declare weights and states f32, for etinterp: it converts a checkpoint's\n"
    "                    types, a device does not\n"
    "  --rope-frequencies bf16\n"
    "                    round rope's frequencies to bf16, as PyTorch does to a model that is "
    "cast\n"
    "                    to bf16 as a whole (not when it is loaded in bf16)\n"
    "  --cache TYPE      keep keys and values as bf16 (as a rule), f16 or f32\n"
    "  --config-only     read config.json alone: the weights need not be there\n"
    "  --help, --version\n";

static bool parse_count(const char *option, const char *text, int64_t hi, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < 1 || v > hi) {
        fprintf(stderr, "etimport: %s: \"%s\" is not a number from 1 to %lld\n", option, text,
                (long long)hi);
        return false;
    }
    *out = v;
    return true;
}

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

static bool set_name(struct imp_options *o, const char *name) {
    if (!is_name(name) || is_keyword(name) || strlen(name) >= sizeof o->name) {
        fprintf(stderr,
                "etimport: --name: \"%s\" is not a name of letters, digits and _, or "
                "is a word of the language\n",
                name);
        return false;
    }
    snprintf(o->name, sizeof o->name, "%s", name);
    return true;
}

static bool set_frequencies(struct imp_options *o, const char *type) {
    o->bf16_frequencies = !strcmp(type, "bf16");
    if (o->bf16_frequencies || !strcmp(type, "f32")) return true;
    fprintf(stderr, "etimport: --rope-frequencies: \"%s\" is neither f32 nor bf16\n", type);
    return false;
}

static bool set_cache(struct imp_options *o, const char *type) {
    static const char *const types[] = {"bf16", "f16", "f32"};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(type, types[i])) o->cache = types[i];
    if (o->cache) return true;
    fprintf(stderr, "etimport: --cache: \"%s\" is neither bf16 nor f16 nor f32\n", type);
    return false;
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

/* 0: go on; 1: usage error; 2: done (--help). */
static int parse_options(int argc, char **argv, struct imp_options *o) {
    enum {
        MAX_TOKENS = 256,
        SLOTS,
        CONTEXT,
        NAME,
        WIDE,
        FREQUENCIES,
        CACHE,
        CONFIG_ONLY,
        HELP,
        VERSION
    };
    static const struct option options[] = {
        {"max-tokens", required_argument, NULL, MAX_TOKENS},
        {"slots", required_argument, NULL, SLOTS},
        {"context", required_argument, NULL, CONTEXT},
        {"name", required_argument, NULL, NAME},
        {"wide", no_argument, NULL, WIDE},
        {"rope-frequencies", required_argument, NULL, FREQUENCIES},
        {"cache", required_argument, NULL, CACHE},
        {"config-only", no_argument, NULL, CONFIG_ONLY},
        {"help", no_argument, NULL, HELP},
        {"version", no_argument, NULL, VERSION},
        {0},
    };
    bool ok = true;
    for (int c; (c = getopt_long(argc, argv, "o:", options, NULL)) != -1;)
        switch (c) {
        case 'o':
            o->output = optarg;
            break;
        case MAX_TOKENS:
            ok &= parse_count("--max-tokens", optarg, 1 << 20, &o->max_tokens);
            break;
        case SLOTS:
            ok &= parse_count("--slots", optarg, 1 << 20, &o->slots);
            break;
        case CONTEXT:
            ok &= parse_count("--context", optarg, 1 << 30, &o->context);
            break;
        case NAME:
            ok &= set_name(o, optarg);
            break;
        case WIDE:
            o->wide = true;
            break;
        case FREQUENCIES:
            ok &= set_frequencies(o, optarg);
            break;
        case CACHE:
            ok &= set_cache(o, optarg);
            break;
        case CONFIG_ONLY:
            o->config_only = true;
            break;
        case HELP:
            fputs(usage, stdout);
            return 2;
        case VERSION:
            puts("etimport " ETCC_VERSION);
            return 2;
        default:
            ok = false;
        }
    if (ok && (optind + 1 != argc || !o->output)) {
        fprintf(stderr, "etimport: expected one checkpoint directory and -o FILE\n");
        ok = false;
    }
    if (!ok) {
        fprintf(stderr, "etimport: try --help\n");
        return 1;
    }
    o->checkpoint = argv[optind];
    if (!*o->name) default_name(o);
    return 0;
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

int main(int argc, char **argv) {
    struct imp_options o = {.max_tokens = 64, .slots = 16};
    struct imp_report report = {0, 0};
    int status = parse_options(argc, argv, &o);
    if (status) return status == 2 ? 0 : 1;
    bool ok = import(&o, &report);
    imp_report_end(&report);
    return ok ? 0 : 1;
}
