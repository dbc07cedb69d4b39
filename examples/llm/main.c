/* etllm - serve a compiled language model: the worked example of linking libetrt. */
#include "examples/llm/options.h"
#include "examples/llm/prepare/prepare.h"
#include "runtime/cli/cli.h"
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int run_generate(void *o) {
    return generate(o) ? 0 : 1;
}
static int run_score(void *o) {
    return score(o) ? 0 : 1;
}
static int run_compare(void *o) {
    return compare(o) ? 0 : 1;
}
static int run_perplexity(void *o) {
    return perplexity(o) ? 0 : 1;
}
static int run_tokenize(void *o) {
    return tokenize(o) ? 0 : 1;
}
static int run_detokenize(void *o) {
    return detokenize(o) ? 0 : 1;
}
static int run_chat_template(void *o) {
    return chat_template(o) ? 0 : 1;
}

static const cli_tool tool;

static bool find_kernel(struct options *, struct prepared *);
static int run_embed(void *o) {
    static struct prepared p;
    return find_kernel(o, &p) && embed(o) ? 0 : 1;
}
static int run_rerank(void *o) {
    static struct prepared p;
    return find_kernel(o, &p) && rerank(o) ? 0 : 1;
}

/* Seconds, or as many minutes or hours. */
static bool take_idle(void *options, const char *value) {
    static const struct {
        char letter;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {0, 1}};
    struct options *o = options;
    char *end;
    double n = strtod(value, &end);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (*end != units[i].letter || (*end && end[1])) continue;
        o->serve.idle_seconds = n * units[i].seconds;
        return end != value && o->serve.idle_seconds > 0 && o->serve.idle_seconds < 1e8;
    }
    return false;
}

/* [NAME=]DIR; a folder may have such a name itself. */
static struct serve_model read_model(char *text) {
    struct stat st;
    char *sign = strchr(text, '=');
    if (!sign || stat(text, &st) == 0) return (struct serve_model){NULL, text};
    *sign = 0;
    return (struct serve_model){text, sign + 1};
}

/* The kernel and the checkpoint that are run; without --kernel they are made of --model. */
static bool find_kernel(struct options *o, struct prepared *p) {
    struct prepare_options make = {.model = o->model,
                                   .device = o->device,
                                   .cache = o->cache,
                                   .context = o->context,
                                   .slots = o->slots,
                                   .launch = o->serve.batch,
                                   .resident = o->serve.resident,
                                   .same_sums = o->same_sums};
    char err[LLM_ERR];
    if (o->kernel) return true;
    if (!prepare(&make, p, err)) return llm_complain("%s", err);
    o->kernel = p->kernel;
    o->model = p->folder;
    return true;
}

static int run_run(void *o) {
    struct options *all = o;
    static struct prepared p;
    return find_kernel(all, &p) && run_chat(all, all->kernel, all->model) ? 0 : 1;
}

/* Clients call a model as its file is called. */
static const char *name_of(const char *path) {
    static char name[256];
    const char *slash = strrchr(path, '/');
    snprintf(name, sizeof name, "%s", slash && slash[1] ? slash + 1 : path);
    char *end = strstr(name, ".gguf");
    if (end && !end[5]) *end = 0;
    return name;
}

/* ---- serve: models that have kernels of their own ---- */

static bool make_kernel(void *o, const char *model, struct serve_made *out, char *err) {
    const struct options *all = o;
    struct prepare_options make = {
        .model = model,
        .device = all->device,
        .cache = all->cache,
        .context = all->context,
        .slots = all->slots,
        .launch = all->serve.batch,
        .beside = (int)(all->serve.loaded ? all->serve.loaded : all->serve.nmodels),
        .same_sums = all->same_sums};
    struct prepared p;
    if (!prepare(&make, &p, err)) return false;
    return (snprintf(out->kernel, sizeof out->kernel, "%s", p.kernel) < (int)sizeof out->kernel &&
            snprintf(out->folder, sizeof out->folder, "%s", p.folder) < (int)sizeof out->folder) ||
           llm_fail(err, "%s: the path is too long", model);
}

/* GGUF files, and folders with a config.json. */
static int is_model(const struct dirent *entry) {
    size_t n = strlen(entry->d_name);
    return entry->d_name[0] != '.' && (n < 5 || strcmp(entry->d_name + n - 5, ".json") != 0);
}

/* Keeps copies, until drop_models. */
static bool add_model(struct serve_options *s, struct serve_model m) {
    if (s->nmodels == MAX_MODELS) return llm_complain("there are more than %d models", MAX_MODELS);
    struct serve_model *to = &s->models[s->nmodels++];
    to->part = strdup(m.part ? m.part : name_of(m.folder));
    to->folder = strdup(m.folder);
    return (to->part && to->folder) || llm_complain("out of memory");
}

static void drop_models(struct serve_options *s) {
    for (int i = 0; i < s->nmodels; i++) {
        free((char *)s->models[i].part);
        free((char *)s->models[i].folder);
    }
}

static bool add_folder(struct serve_options *s, const char *folder) {
    struct dirent **entries;
    int n = scandir(folder, &entries, is_model, alphasort);
    bool ok = n >= 0 || llm_complain("%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char path[SERVE_PATH], config[SERVE_PATH + 16];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        snprintf(config, sizeof config, "%s/config.json", path);
        const char *end = strstr(entries[i]->d_name, ".gguf");
        if (ok && ((end && !end[5]) || access(config, R_OK) == 0))
            ok = add_model(s, (struct serve_model){NULL, path});
        free(entries[i]);
    }
    if (n >= 0) free(entries);
    return ok && (s->nmodels || llm_complain("%s: there are no models in it", folder));
}

/* False: the command line is wrong, as was said. drop_models all the same. */
static bool find_models(struct options *all) {
    struct serve_options *s = &all->serve;
    for (int i = 0; i < all->models.n; i++)
        if (!add_model(s, read_model(all->models.at[i].text))) return false;
    return !all->models_folder || add_folder(s, all->models_folder);
}

static int run_serve(void *o) {
    struct options *all = o;
    static struct prepared p;
    struct serve_options *s = &all->serve;
    const cli_list *models = &all->models;
    bool many = !all->kernel && !all->model; /* each has a kernel of its own */
    if ((all->model != NULL) + (models->n > 0) + (all->models_folder && !models->n) != 1)
        return cli_wrong(&tool, "either --model or --models is needed, or --models-dir");
    if (all->models_folder && !many)
        return cli_wrong(&tool, "--models-dir has no --model and no --kernel");
    if (s->loaded && !many)
        return cli_wrong(&tool, "--models-max is of models that have kernels of their own");
    if (many && (s->name || all->aliases.n || s->resident))
        return cli_wrong(&tool, "--name, --alias and --resident are of a model that is alone");
    if ((all->context || all->slots || all->same_sums) && all->kernel)
        return cli_wrong(&tool, "--context, --slots and --same-sums are of the kernel, which is "
                                "there already");
    if (s->resident && (all->timings || s->launch_seconds > 0))
        return cli_wrong(&tool, "--resident has no launches that --timings or --launch-timeout "
                                "could be of");
    if (!all->kernel && !many && !s->name) s->name = name_of(all->model);
    if (!many && !find_kernel(all, &p)) return 1;
    s->make = many ? make_kernel : NULL;
    s->user = all;
    if (models->n > MAX_MODELS)
        return cli_wrong(&tool, "--models: a kernel holds at most %d", MAX_MODELS);
    s->kernel = all->kernel;
    s->speculate = all->speculate;
    s->steps = all->steps;
    s->timed = all->timings;
    s->device = all->device;
    s->cache = all->expert_cache;
    if (many && !find_models(all)) {
        drop_models(s);
        return 1;
    }
    if (all->model) s->models[s->nmodels++].folder = all->model;
    for (int i = 0; i < models->n && !many; i++)
        s->models[s->nmodels++] = read_model(models->at[i].text);
    s->hosts = calloc((size_t)all->hosts.n + 1, sizeof *s->hosts);
    if (!s->hosts) return cli_wrong(&tool, "out of memory");
    for (; s->nhosts < all->hosts.n; s->nhosts++)
        s->hosts[s->nhosts] = all->hosts.at[s->nhosts].text;
    s->aliases = calloc((size_t)all->aliases.n + 1, sizeof *s->aliases);
    if (!s->aliases) return cli_wrong(&tool, "out of memory");
    for (int i = 0; i < all->aliases.n; i++)
        s->aliases[i] = all->aliases.at[i].text;
    int status = serve(&all->serve);
    free(s->hosts);
    free(s->aliases);
    if (many) drop_models(s);
    return status;
}

/* Rows of the next table, as masks. */
enum {
    GENERATE = 1,
    SERVE = 2,
    SCORE = 4,
    COMPARE = 8,
    TOKENIZE = 16,
    DETOKENIZE = 32,
    CHAT = 64,
    PERPLEXITY = 128,
    RUN = 256,
    EMBED = 512,
    RERANK = 1024,
    VECTORS = EMBED | RERANK
};
static const cli_command commands[] = {
    {"generate", "continue the prompts, all in one batch; greedy unless a temperature is given",
     run_generate},
    {"serve", "answer requests over HTTP, as OpenAI's programs make them", run_serve},
    {"score",
     "the logits after every token: input_ids [B, T] -> logits [B, T, V]; or sequences of "
     "different "
     "lengths, tokens.0, tokens.1, ... -> logits.0, logits.1, ...",
     run_score},
    {"compare",
     "fail when the relative error is above the tolerance, or the arg-max differs where the "
     "reference's best two logits are more than the gap apart",
     run_compare},
    {"tokenize", "the token ids of each prompt, a line each", run_tokenize},
    {"detokenize", "the text of each list of token ids, and a newline", run_detokenize},
    {"chat-template", "the prompt that the checkpoint's chat template makes of messages",
     run_chat_template},
    {"perplexity", "perplexity of a text: the lower, the better the model predicts it",
     run_perplexity},
    {"run", "a conversation in the terminal", run_run},
    {"embed", "a vector for each text, a line of JSON each", run_embed},
    {"rerank", "how much each text is about a query, the best first, a line of JSON each",
     run_rerank},
    {0},
};

static bool take_cache(void *options, const char *value) {
    return cli_bytes(value, &((struct options *)options)->expert_cache);
}

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"kernel", 0, CLI_INPUT, "K.hsaco", TO(kernel),
     "the compiled model; serve, run, embed, rerank: without it, one is made of --model and kept",
     .need = GENERATE | SCORE | PERPLEXITY, .may = SERVE | RUN | VECTORS},
    {"model", 0, CLI_FOLDER, "DIR", TO(model),
     "a Hugging Face checkpoint: safetensors, tokenizer.json, generation_config.json; serve, run, "
     "embed, rerank: or a GGUF file",
     .need = GENERATE | SCORE | TOKENIZE | DETOKENIZE | CHAT | PERPLEXITY | RUN | VECTORS,
     .may = SERVE, .bare = SERVE | RUN | VECTORS},
    {"device", 0, CLI_TEXT, "SPEC", TO(device),
     "auto (default), hsa, cuda, cuda:1, emu, or emu:gfx942:cus=16:xcds=2 and the like",
     .may = GENERATE | SERVE | SCORE | PERPLEXITY | RUN | VECTORS},
    {"expert-cache", 0, CLI_TAKE, "SIZE",
     .help = "of a kernel of etcc --experts-on=host: so much device memory for copies of experts "
             "(8G, 512M, all; none)",
     .take = take_cache, .may = GENERATE | SERVE | SCORE | PERPLEXITY | RUN | VECTORS},
    {"context", 0, CLI_INT, "N", TO(context),
     "positions of a text, where no kernel is given (what the model knows, at most 8192, if there "
     "is memory)",
     .lo = 1, .hi = INT32_MAX, .may = SERVE | RUN | VECTORS},
    {"slots", 0, CLI_INT, "N", TO(slots), "texts at once, where no kernel is given", .lo = 1,
     .hi = INT32_MAX, .may = SERVE | RUN | VECTORS},
    {"same-sums", 0, CLI_FLAG, NULL, TO(same_sums),
     "a text has the same bits whatever is in its launches, where no kernel is given",
     .may = SERVE | RUN},
    {"cache", 0, CLI_FOLDER, "DIR", TO(cache),
     "where kernels are kept that were made (~/.cache/etcc)", .may = SERVE | RUN | VECTORS},
    {"prompt", 'p', CLI_LIST, "PROMPT", TO(prompts),
     "a text to begin with; embed, rerank: a text; may be repeated", .need = GENERATE | TOKENIZE,
     .may = VECTORS},
    {"ids", 0, CLI_LIST, "IDS", TO(id_lists), "token ids with spaces between; may be repeated",
     .need = DETOKENIZE},
    {"bare", 0, CLI_FLAG, NULL, TO(bare), "nothing is put around the text, as a bos token",
     .may = TOKENIZE},
    {"no-specials", 0, CLI_FLAG, NULL, TO(no_specials),
     "names of special tokens are text; special tokens give none", .may = TOKENIZE | DETOKENIZE},
    {"raw", 0, CLI_FLAG, NULL, TO(raw),
     "bytes as they are: a text need not be UTF-8, and what comes out may not be",
     .may = TOKENIZE | DETOKENIZE},
    {NULL, 'n', CLI_INT, "COUNT", TO(count), "most tokens to add (96)", .hi = INT32_MAX,
     .may = GENERATE},
    {"temperature", 0, CLI_REAL, "T", TO(temperature), "choose at random", .hi = 1000000000,
     .may = GENERATE | RUN},
    {"top-k", 0, CLI_INT, "K", TO(top_k), "among the K likeliest", .hi = INT32_MAX,
     .may = GENERATE},
    {"timings", 0, CLI_FLAG, NULL, TO(timings),
     "say on standard error what the time before the first launch went to; serve: have the device "
     "tell for /metrics how long it works",
     .may = GENERATE | SERVE},
    {"speculate", 0, CLI_INT, "N", TO(speculate),
     "guess up to N tokens from what the text said before, and check them in one launch; the text "
     "is the same (0)",
     .hi = 16, .may = GENERATE | SERVE},
    {"steps", 0, CLI_INT, "N", TO(steps),
     "most tokens of a text in one launch of a kernel imported with --steps, while no request "
     "waits; "
     "the text is the same (as many as the kernel can)",
     .lo = 1, .hi = INT32_MAX, .may = GENERATE | SERVE},
    {"seed", 0, CLI_INT, "S", TO(seed), "of what is random", .hi = INT64_MAX, .may = GENERATE},
    {"tokens", 0, CLI_INPUT, "X.safetensors", TO(tokens), "the sequences", .need = SCORE},
    {"ref", 0, CLI_INPUT, "X.safetensors", TO(ref), "the logits that are right", .need = COMPARE},
    {"out", 0, CLI_OUTPUT, "Y.safetensors", TO(out), "where the logits go, or are",
     .need = SCORE | COMPARE, .reads = COMPARE},
    {"chunk", 0, CLI_INT, "C", TO(chunk), "tokens of a sequence per launch (as many as fit)",
     .lo = 1, .hi = INT32_MAX, .may = SCORE},
    {"batch", 0, CLI_INT, "B", TO(batch), "sequences together (as many as fit)", .lo = 1,
     .hi = INT32_MAX, .may = SCORE},
    {"tolerance", 0, CLI_REAL, "E", TO(tolerance), "the relative error there may be (0.01)",
     .hi = 1000000000, .may = COMPARE},
    {"gap", 0, CLI_REAL, "G", TO(gap), "nearer than that, rounding decides (0.1)", .hi = 1000000000,
     .may = COMPARE},
    {"file", 0, CLI_INPUT, "TEXT", TO(file),
     "the text; embed, rerank: texts, a line each (standard input)", .need = PERPLEXITY,
     .may = VECTORS},
    {"window", 0, CLI_INT, "N", TO(window),
     "tokens that the model sees at once (as many as it keeps)", .lo = 2, .hi = INT32_MAX,
     .may = PERPLEXITY},
    {"stride", 0, CLI_INT, "N", TO(stride), "from one window to the next (half of one)", .lo = 1,
     .hi = INT32_MAX, .may = PERPLEXITY},
    CLI_HEADING("embed, rerank"),
    {"query", 0, CLI_TEXT, "TEXT", TO(query), "what the texts shall be about", .need = RERANK},
    {"prompt-name", 0, CLI_TEXT, "NAME", TO(prompt_name),
     "which of the prompts of config_sentence_transformers.json goes before each text, or before "
     "the query (the one it has as default)",
     .may = VECTORS},
    {"dimensions", 0, CLI_INT, "N", TO(dimensions),
     "the first N numbers of each vector, of length 1 again where it was (all)", .lo = 1,
     .hi = INT32_MAX, .may = EMBED},
    {"truncate", 0, CLI_FLAG, NULL, TO(truncate),
     "leave out the end of a text that is too long; of a query and a text, of the longer one",
     .may = VECTORS},
    CLI_HEADING("chat-template"),
    {"messages", 0, CLI_INPUT, "M.json", TO(messages),
     "the messages: an array, or a request of the OpenAI interface that has them", .need = CHAT},
    {"tools", 0, CLI_INPUT, "T.json", TO(tools), "the tools there are, an array", .may = CHAT},
    {"template", 0, CLI_INPUT, "F.jinja", TO(template), "this template instead of the checkpoint's",
     .may = CHAT},
    {"template-name", 0, CLI_TEXT, "NAME", TO(template_name),
     "which of several templates (tool_use with tools, else default)", .may = CHAT},
    {"kwargs", 0, CLI_TEXT, "JSON", TO(kwargs), "more variables for the template, an object",
     .may = CHAT},
    {"no-generation-prompt", 0, CLI_FLAG, NULL, TO(no_generation),
     "end with the last message, not with what begins an answer", .may = CHAT},
    {"now", 0, CLI_TEXT, "TIME", TO(now),
     "the time that the template sees, YYYY-MM-DD or YYYY-MM-DD HH:MM:SS", .may = CHAT},
    CLI_HEADING("serve: where"),
    {"host", 0, CLI_TEXT, "HOST", TO(serve.host), "the address to listen to (127.0.0.1)",
     .may = SERVE},
    {"port", 0, CLI_INT, "PORT", TO(serve.port), "8080; 0: any that is free", .hi = 65535,
     .may = SERVE},
    {"unix", 0, CLI_TEXT, "PATH", TO(serve.unix_path), "listen to a UNIX socket instead",
     .may = SERVE},
    {"api-key-file", 0, CLI_INPUT, "FILE", TO(serve.key_file),
     "who may ask: a key a line (everybody)", .may = SERVE},
    {"allow-host", 0, CLI_LIST, "NAME", TO(hosts),
     "a name under which it may be asked, beside the addresses it listens to; '*': any; may be "
     "repeated",
     .commas = true, .may = SERVE},
    {"cors", 0, CLI_TEXT, "ORIGIN", TO(serve.cors),
     "pages of this origin may ask too; '*': of any (none)", .may = SERVE},
    CLI_HEADING("serve: what"),
    {"models", 0, CLI_LIST, "[NAME=]DIR", TO(models),
     "the checkpoint of each model that the kernel holds, in its order or by the names that etcc "
     "gave them; without --kernel, checkpoints and GGUF files, each loaded when it is asked for; "
     "in place of --model",
     .commas = true, .may = SERVE},
    {"models-dir", 0, CLI_FOLDER, "DIR", TO(models_folder),
     "all checkpoints and GGUF files in a folder, likewise", .may = SERVE},
    {"models-max", 0, CLI_INT, "N", TO(serve.loaded),
     "of models with kernels of their own, most that have the device's memory at once: who was not "
     "asked for the longest is put to sleep (all)",
     .lo = 1, .hi = MAX_MODELS, .may = SERVE},
    {"name", 0, CLI_TEXT, "NAME", TO(serve.name), "of the model, for clients (the folder's name)",
     .may = SERVE},
    {"chat-template-file", 0, CLI_INPUT, "FILE", TO(serve.template_file),
     "a chat template instead of the checkpoint's", .may = SERVE},
    {"tool-parser", 0, CLI_CHOICE, NULL, TO(serve.tools), "how the model writes calls of tools",
     .names = serve_tool_style, .may = SERVE},
    {"reasoning", 0, CLI_FLAG, NULL, TO(serve.reasoning),
     "tell what is between <think> and </think> apart", .may = SERVE},
    {"reasoning-parser", 0, CLI_CHOICE, NULL, TO(serve.thoughts),
     "the same, between marks of other models", .names = serve_thought_style, .may = SERVE},
    {"alias", 0, CLI_LIST, "NAME", TO(aliases),
     "another name of the model, for clients; may be repeated", .commas = true, .may = SERVE},
    {"lenient", 0, CLI_FLAG, NULL, TO(serve.lenient),
     "take parameters of other servers that do not change the answer, and any name for the model",
     .may = SERVE},
    CLI_HEADING("serve: how much"),
    {"queue", 0, CLI_INT, "N", TO(serve.queue), "texts that may wait for a slot (256)", .lo = 1,
     .hi = 1000000, .may = SERVE},
    {"max-tokens", 0, CLI_INT, "N", TO(serve.most), "most tokens of an answer (the context)",
     .lo = 1, .hi = INT32_MAX, .may = SERVE | RUN},
    {"launch-tokens", 0, CLI_INT, "N", TO(serve.batch),
     "most tokens of a launch (as many as the kernel takes)", .lo = 1, .hi = INT32_MAX,
     .may = SERVE},
    {"prompt-tokens", 0, CLI_INT, "N", TO(serve.chunk),
     "most tokens of prompts in a launch while texts are written (of each a quarter of a launch; "
     "up to all, where that takes hardly longer)",
     .lo = 1, .hi = INT32_MAX, .may = SERVE},
    {"launch-timeout", 0, CLI_REAL, "SECONDS", TO(serve.launch_seconds),
     "a launch that takes longer is ended, and fails (none is too long)", .hi = 86400,
     .may = SERVE},
    {"idle", 0, CLI_TAKE, "TIME",
     .help = "without a request for as long (30s, 10m, 2h), give the device's memory back until "
             "one comes (never)",
     .take = take_idle, .may = SERVE},
    {"resident", 0, CLI_FLAG, NULL, TO(serve.resident),
     "the kernel, of etcc --resident, stays on the device; each model goes at its own pace",
     .may = SERVE},
    {"turns", 0, CLI_FLAG, NULL, TO(serve.turns),
     "launches of several models' kernels go one after the other, not side by side", .may = SERVE},
    {"no-prefix-cache", 0, CLI_FLAG, NULL, TO(serve.forget), "read every prompt from its beginning",
     .may = SERVE},
    {"body-limit", 0, CLI_INT, "BYTES", TO(serve.body_limit), "most of a request (8 MiB)",
     .lo = 1024, .hi = INT32_MAX, .may = SERVE},
    {"connections", 0, CLI_INT, "N", TO(serve.connections), "most at once (1024)", .lo = 1,
     .hi = 60000, .may = SERVE},
    {"address-connections", 0, CLI_INT, "N", TO(serve.address_connections),
     "most at once of one address; 0: as many as there are (256)", .hi = 60000, .may = SERVE},
    CLI_HEADING("serve: when, and what is written down"),
    {"timeout", 0, CLI_INT, "SECONDS", TO(serve.timeout),
     "for a client to say what it wants, or to take what it is sent (60)", .lo = 1, .hi = 86400,
     .may = SERVE},
    {"drain-timeout", 0, CLI_INT, "SECONDS", TO(serve.drain_timeout),
     "to finish what runs when the server is to stop (60)", .hi = 86400, .may = SERVE},
    {"ping", 0, CLI_INT, "SECONDS", TO(serve.ping),
     "of silence after which a stream says that it lives (15)", .lo = 1, .hi = 86400, .may = SERVE},
    {"access-log", 0, CLI_TEXT, "FILE", TO(serve.access_log),
     "a line for every request (standard error)", .may = SERVE},
    {"abort-launch", 0, CLI_INT, "N", TO(serve.abort_launch),
     "fail launch N, and lose the device where N is below 0", .lo = -INT32_MAX, .hi = INT32_MAX,
     .may = SERVE, .hidden = true},
    {"abort-again", 0, CLI_FLAG, NULL, TO(serve.abort_again), "and every Nth after it",
     .may = SERVE, .hidden = true},
    {0},
};

static const cli_tool tool = {
    .name = "etllm",
    .summary = "serve a compiled language model",
    .usage = "generate --kernel K.hsaco --model DIR -p PROMPT [-p PROMPT]... [options]\n"
             "serve [--model] MODEL.gguf|DIR [options]\n"
             "run [--model] MODEL.gguf|DIR [options]\n"
             "embed [--model] MODEL.gguf|DIR [-p TEXT]... [options]\n"
             "rerank [--model] MODEL.gguf|DIR --query TEXT [-p TEXT]... [options]\n"
             "serve --kernel K.hsaco --model DIR [options]\n"
             "serve --kernel K.hsaco --models DIR,DIR,... [options]\n"
             "score --kernel K.hsaco --model DIR --tokens X.safetensors --out Y.safetensors "
             "[options]\n"
             "compare --ref X.safetensors --out Y.safetensors [options]\n"
             "perplexity --kernel K.hsaco --model DIR --file TEXT [options]\n"
             "tokenize --model DIR -p PROMPT [-p PROMPT]... [options]\n"
             "detokenize --model DIR --ids IDS [--ids IDS]... [options]\n"
             "chat-template --model DIR --messages M.json [--tools T.json] [options]",
    .about = "Runs a decoder or an encoder of texts that etimport wrote and etcc compiled.",
    .options = options,
    .commands = commands,
    .notes = "A file may be '-', standard input or output.",
};

int llm_main(int argc, char **argv) {
    struct options o = {.device = "auto", .count = 96, .tolerance = 1e-2, .gap = 0.1};
    o.serve = (struct serve_options){.host = "127.0.0.1",
                                     .port = 8080,
                                     .queue = 256,
                                     .body_limit = 8 << 20,
                                     .connections = 1024,
                                     .address_connections = 256,
                                     .timeout = 60,
                                     .drain_timeout = 60,
                                     .ping = 15};
    return cli_main(&tool, argc, argv, &o);
}
