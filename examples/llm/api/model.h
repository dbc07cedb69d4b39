/* model.h - what the dialects know of the model that is served. */
#ifndef LLM_API_MODEL_H
#define LLM_API_MODEL_H

#include "examples/llm/api/fault.h"
#include "examples/llm/engine/sampler.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <jansson.h>

struct tool_format; /* tools/tools.h */
struct thought_format;
struct vocabulary; /* its tokens in order: grammar.h */
struct chat;       /* the chat template: chat.h */
struct infill;     /* infill.h */
struct vectors;    /* what is to be known of texts that become vectors: vectors.h */

struct api_model {
    const char *name; /* as clients call it */
    const struct tokenizer *tokenizer;
    const struct chat *chat; /* NULL: the checkpoint has none, and none was given */
    int64_t context, vocab;
    int64_t most;                          /* tokens of one answer; 0: as the context allows */
    int64_t choices;                       /* of one request */
    struct sampling usual;                 /* where a request does not say */
    const struct tool_format *tools;       /* how it writes calls; NULL: tools are refused */
    const struct thought_format *thoughts; /* how reasoning is marked; NULL: as "think" has it */
    const struct vocabulary *vocabulary;
    const int32_t *stops; /* tokens that end a text */
    int nstops;
    bool reasoning; /* it is told apart */
    bool lenient;   /* what does not matter may be said; any model's name is this one's */
    const struct infill *infill; /* NULL: it was not taught to fill in */
    const struct vectors *vectors;
    bool gives_vectors, gives_scores; /* of texts; of pairs of them */
    bool only_vectors;                /* or scores: it writes no texts */
    int64_t width;                    /* of its vectors */
    int64_t text_tokens, texts;       /* most of a text, most of a request */
    const char *const *aliases;       /* names it has beside its own, up to a NULL; NULL: none */
};

#endif
