/* options.h - the command line of etllm. */
#ifndef LLM_OPTIONS_H
#define LLM_OPTIONS_H

#include "examples/llm/serve/serve.h"
#include "runtime/cli/cli.h"

struct options {
    const char *kernel, *model, *device;
    uint64_t expert_cache; /* bytes */
    /* generate */
    cli_list prompts;
    int64_t count;
    double temperature;
    int64_t top_k, seed, speculate, steps;
    bool timings;
    /* score, compare */
    const char *tokens, *out, *ref;
    int64_t chunk, batch; /* 0: as many as fit */
    double tolerance, gap;
    /* embed, rerank */
    const char *query, *prompt_name;
    int64_t dimensions; /* 0: all */
    bool truncate;
    /* perplexity; embed, rerank: texts, a line each */
    const char *file;
    int64_t window, stride; /* 0: as much as is kept, half of it */
    /* tokenize, detokenize */
    cli_list id_lists;
    bool bare, no_specials, raw;
    /* chat-template */
    const char *messages, *tools, *template, *template_name, *kwargs, *now;
    bool no_generation;
    struct serve_options serve;
    cli_list models;
    cli_list hosts, aliases;
    /* serve, run: what is compiled where no kernel is given */
    const char *cache;
    const char *models_folder; /* of models that are served */
    int64_t context, slots;
    bool same_sums;
};

/* main.c: the tool, from its arguments to its exit status. */
int llm_main(int argc, char **argv);

/* Its commands. They print why they fail. */
bool generate(const struct options *);
bool embed(const struct options *);
bool rerank(const struct options *);
bool score(const struct options *);
bool compare(const struct options *);
bool perplexity(const struct options *);
/* Says on stderr what of the text WHAT has no token and was left out, where something was. */
struct ids;
void warn_dropped(const char *what, const struct ids *);
bool tokenize(const struct options *);
bool detokenize(const struct options *);
bool run_chat(const struct options *, const char *kernel, const char *folder);
bool chat_template(const struct options *);

#endif
