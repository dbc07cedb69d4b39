/* etllm - serve a compiled language model: the worked example of linking libetrt. */
#include "examples/llm/options.h"
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: etllm COMMAND [options]\n"
    "\n"
    "  etllm generate --kernel K.hsaco --model DIR -p PROMPT [-p PROMPT]... [-n 96]\n"
    "                 [--temperature T] [--top-k K] [--seed S] [--device SPEC]\n"
    "      Continue the prompts, all in one batch. Greedy unless a temperature is given.\n"
    "  etllm score    --kernel K.hsaco --model DIR --tokens X.safetensors --out Y.safetensors\n"
    "                 [--chunk C] [--batch B] [--device SPEC]\n"
    "      The logits after every token: input_ids [B, T] -> logits [B, T, V]; or sequences of\n"
    "      different lengths, tokens.0, tokens.1, ... -> logits.0, logits.1, ...\n"
    "      --chunk: tokens of a sequence per launch; --batch: sequences together (as many as fit)\n"
    "  etllm compare  --ref X.safetensors --out Y.safetensors [--tolerance 1e-2] [--gap 0.1]\n"
    "      Exit 1 when the relative error is above the tolerance, or the arg-max differs where "
    "the\n"
    "      reference's best two logits are more than the gap apart.\n"
    "  etllm tokenize --model DIR -p PROMPT [-p PROMPT]...\n"
    "      The token ids of each prompt, a line each.\n"
    "\n"
    "  DIR is a Hugging Face checkpoint: safetensors, tokenizer.json, generation_config.json.\n"
    "  SPEC is auto (default), hsa, emu, or emu:gfx942:cus=16:xcds=2 and the like.\n";

enum {
    KERNEL = 256,
    MODEL,
    DEVICE,
    TEMPERATURE,
    TOP_K,
    SEED,
    TOKENS,
    OUT,
    REF,
    CHUNK,
    BATCH,
    TOLERANCE,
    GAP,
    HELP,
    VERSION
};

static const struct option long_options[] = {
    {"kernel", required_argument, NULL, KERNEL},
    {"model", required_argument, NULL, MODEL},
    {"device", required_argument, NULL, DEVICE},
    {"prompt", required_argument, NULL, 'p'},
    {"temperature", required_argument, NULL, TEMPERATURE},
    {"top-k", required_argument, NULL, TOP_K},
    {"seed", required_argument, NULL, SEED},
    {"tokens", required_argument, NULL, TOKENS},
    {"out", required_argument, NULL, OUT},
    {"ref", required_argument, NULL, REF},
    {"chunk", required_argument, NULL, CHUNK},
    {"batch", required_argument, NULL, BATCH},
    {"tolerance", required_argument, NULL, TOLERANCE},
    {"gap", required_argument, NULL, GAP},
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {0},
};

/* Which options a command needs, beside those it may have. */
static const struct command {
    const char *name;
    bool (*run)(const struct options *);
    bool kernel, model, prompt, tokens, out, ref;
} commands[] = {
    {"generate", generate, true, true, true, false, false, false},
    {"score", score, true, true, false, true, true, false},
    {"compare", compare, false, false, false, false, true, true},
    {"tokenize", tokenize, false, true, true, false, false, false},
};

static bool parse_int(const char *name, const char *text, int64_t lo, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (errno || end == text || *end || v < lo) {
        fprintf(stderr, "etllm: %s: \"%s\" is not a number from %lld up\n", name, text,
                (long long)lo);
        return false;
    }
    *out = v;
    return true;
}

static bool parse_real(const char *name, const char *text, double *out) {
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !(v >= 0 && v <= 1e9)) {
        fprintf(stderr, "etllm: %s: \"%s\" is not a number from 0 up\n", name, text);
        return false;
    }
    *out = v;
    return true;
}

static bool add_prompt(struct options *o, const char *text) {
    if (o->nprompts == MAX_PROMPTS) {
        fprintf(stderr, "etllm: at most %d prompts\n", MAX_PROMPTS);
        return false;
    }
    o->prompts[o->nprompts++] = text;
    return true;
}

static bool set_option(struct options *o, int c, const char *arg) {
    switch (c) {
    case KERNEL:
        o->kernel = arg;
        return true;
    case MODEL:
        o->model = arg;
        return true;
    case DEVICE:
        o->device = arg;
        return true;
    case TOKENS:
        o->tokens = arg;
        return true;
    case OUT:
        o->out = arg;
        return true;
    case REF:
        o->ref = arg;
        return true;
    case 'p':
        return add_prompt(o, arg);
    case 'n':
        return parse_int("-n", arg, 0, &o->count);
    case TEMPERATURE:
        return parse_real("--temperature", arg, &o->temperature);
    case TOP_K:
        return parse_int("--top-k", arg, 0, &o->top_k);
    case SEED:
        return parse_int("--seed", arg, 0, &o->seed);
    case CHUNK:
        return parse_int("--chunk", arg, 1, &o->chunk);
    case BATCH:
        return parse_int("--batch", arg, 1, &o->batch);
    case TOLERANCE:
        return parse_real("--tolerance", arg, &o->tolerance);
    case GAP:
        return parse_real("--gap", arg, &o->gap);
    case HELP:
        fputs(usage, stdout);
        exit(0);
    case VERSION:
        puts("etllm " ETCC_VERSION);
        exit(0);
    default:
        return false;
    }
}

static bool need(bool needed, bool given, const char *option) {
    if (needed && !given) fprintf(stderr, "etllm: %s is missing\n", option);
    return !needed || given;
}

static bool complete(const struct command *c, const struct options *o) {
    bool all = need(c->kernel, o->kernel, "--kernel");
    all &= need(c->model, o->model, "--model");
    all &= need(c->prompt, o->nprompts, "-p");
    all &= need(c->tokens, o->tokens, "--tokens");
    all &= need(c->out, o->out, "--out");
    all &= need(c->ref, o->ref, "--ref");
    return all;
}

static const struct command *find_command(const char *name) {
    for (size_t i = 0; name && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(commands[i].name, name)) return &commands[i];
    if (name && *name != '-') fprintf(stderr, "etllm: there is no command \"%s\"\n", name);
    return NULL;
}

int main(int argc, char **argv) {
    struct options o = {.device = "auto", .count = 96, .tolerance = 1e-2, .gap = 0.1};
    bool ok = true;
    for (int c; (c = getopt_long(argc, argv, "p:n:", long_options, NULL)) != -1;)
        ok &= set_option(&o, c, optarg);
    const struct command *command = ok ? find_command(argv[optind]) : NULL;
    if (command && optind + 1 < argc) {
        fprintf(stderr, "etllm: \"%s\" is one too many\n", argv[optind + 1]);
        command = NULL;
    }
    if (!command || !complete(command, &o)) {
        fprintf(stderr, "etllm: try --help\n");
        return 1;
    }
    return command->run(&o) ? 0 : 1;
}
