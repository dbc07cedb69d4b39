/* form.h - how each dialect writes answers: a table of functions per dialect.
 *
 * One more dialect: a file with such a table, a row in answer.c, and in convert.c where its
 * requests are not those of chat. */
#ifndef LLM_FORM_H
#define LLM_FORM_H

#include "examples/llm/api/answer.h"
#include "examples/llm/api/text.h"

/* A call of a tool. */
struct tool_call {
    char id[40];
    struct buffer name, arguments;
};

/* One of the texts of an answer. */
struct part {
    struct answer *answer;
    int index;
    const struct ids *prompt;
    struct text *text;
    int32_t state;          /* of the grammar, up to the tokens that it was given */
    int32_t owed;           /* the token that it was not given yet, or -1 */
    bool owes;              /* the grammar is to be asked what may come */
    bool may_end, complete; /* as it said */
    uint64_t *allowed;      /* bits of tokens that may come */
    json_t *prompt_tokens;  /* of log probabilities of the prompt; NULL: they are not told */
    struct buffer content, reasoning;
    struct tool_call *calls;
    int ncalls;
    int64_t nreasoning; /* tokens of reasoning */
    int64_t ntokens;
    json_t *tokens;     /* of logprobs; an array of what this dialect tells of each, or NULL */
    json_t *fresh;      /* those of it that were not streamed yet */
    size_t offset;      /* characters of the text before the next token, of completions */
    const char *finish; /* why it ended; NULL: it did not */
    bool failed;
    struct engine_result result;
    int item; /* responses, messages: what is being written; -1: nothing */
    enum piece item_kind;
    int nitems;
    /* Of texts.c: */
    float *values;
    int64_t nvalues;
    double score;
    struct fault fault;
};

struct form {
    void (*begin)(struct answer *); /* events before all others */
    void (*piece)(struct part *, enum piece, const char *text, size_t bytes);
    void (*end)(struct part *);     /* events of a text that ended */
    void (*close)(struct answer *); /* events after all others */
    json_t *(*whole)(struct answer *);
};
extern const struct form form_chat, form_completions, form_responses, form_messages, form_ollama,
    form_native, form_embeddings, form_rerank, form_ollama_embed;

struct answer {
    const struct api_model *model;
    struct request *request;
    const struct form *form;
    char id[48];
    int64_t created; /* seconds since 1970 */
    struct part *parts;
    int nparts, nended;
    struct buffer events;
    struct buffer frame; /* of a chunk of chat and completions, as JSON with empty choices */
    size_t framed;       /* bytes of it before those; 0: it is not made yet */
    bool failed;         /* memory ran out */
    char why[256];       /* a text failed; "": none */
};

/* ---- for the dialects ---- */

/* texts.c: what the model gives of a text. False: it is of no use, as FAULT says. */
bool texts_take(struct part *, const float *values, int64_t width);

/* "data: JSON\n\n", or with "event: NAME\n" before it. Takes the reference. */
void answer_event(struct answer *, const char *name, json_t *data);
json_t *answer_string(const struct buffer *);
/* native.c: how long a text that ended took, as llama-server tells it. */
json_t *answer_timings(const struct part *);

#endif
