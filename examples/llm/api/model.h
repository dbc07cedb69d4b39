/* model.h - what the dialects know of the model that is served. */
#ifndef LLM_API_MODEL_H
#define LLM_API_MODEL_H

#include "examples/llm/api/fault.h"
#include "examples/llm/engine/sampler.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <jansson.h>

/* How a model writes calls of tools. */
enum tool_style {
    TOOLS_NONE,   /* it does not: tools are refused */
    TOOLS_HERMES, /* <tool_call>{"name": ..., "arguments": {...}}</tool_call>, as Qwen does too */
    TOOLS_LLAMA,  /* {"name": ..., "parameters": {...}} as the whole answer */
};

struct vocabulary; /* its tokens in order: grammar.h */
struct chat;       /* the chat template: chat.h */

struct api_model {
    const char *name; /* as clients call it */
    const struct tokenizer *tokenizer;
    const struct chat *chat; /* NULL: the checkpoint has none, and none was given */
    int64_t context, vocab;
    int64_t most;          /* tokens of one answer; 0: as the context allows */
    int64_t choices;       /* of one request */
    struct sampling usual; /* where a request does not say */
    enum tool_style tools;
    const struct vocabulary *vocabulary;
    const int32_t *stops; /* tokens that end a text */
    int nstops;
    bool reasoning; /* what is between <think> and </think> is told apart */
};

#endif
