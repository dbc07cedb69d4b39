/* request.h - a request, read from the JSON of its body.
 *
 * All dialects become one form here. What is not known is refused by name, since leaving a
 * parameter out may change the answer. */
#ifndef LLM_REQUEST_H
#define LLM_REQUEST_H

#include "examples/llm/api/fault.h"
#include "examples/llm/api/model.h"
#include "examples/llm/base/buffer.h"

enum dialect {
    DIALECT_CHAT,        /* /v1/chat/completions */
    DIALECT_COMPLETIONS, /* /v1/completions */
    DIALECT_RESPONSES,   /* /v1/responses */
    DIALECT_MESSAGES,    /* /v1/messages */
    DIALECT_OLLAMA,      /* /api/chat and /api/generate */
    DIALECT_NATIVE,      /* llama-server's /completion and /infill */
    /* Those that write no text: */
    DIALECT_EMBEDDINGS,   /* /v1/embeddings */
    DIALECT_RERANK,       /* /v1/rerank */
    DIALECT_OLLAMA_EMBED, /* /api/embed and /api/embeddings */
};

enum { MAX_STOP_STRINGS = 64, MAX_STOP_BYTES = 256, MAX_STOP_IDS = 16 };

/* What an answer must be. */
enum answer_form { FORM_TEXT, FORM_JSON, FORM_SCHEMA, FORM_CHOICE, FORM_REGEX, FORM_GRAMMAR };

struct request {
    enum dialect dialect;
    json_t *body; /* strings below point into it */
    struct ids *prompts;
    int nprompts;
    int64_t n;           /* answers to each prompt */
    int64_t most, least; /* tokens of each answer */
    bool stream, usage, echo, run_on, specials;
    bool timings;         /* how long it took is told at the end */
    bool plain_reasoning; /* reasoning is part of the text */
    bool infill;          /* of a text with a hole, what is to be there */
    bool bare;            /* nothing is put around the prompt, as a bos token */
    bool logprobs;
    int64_t top;        /* of logprobs */
    int64_t prompt_top; /* log probabilities of the prompt's tokens, and as many others; -1: none */
    struct sampling sampling;
    const json_t *fields;   /* what is told of an answer; NULL: all */
    const json_t *samplers; /* llama-server's: which of them count, and in which order */
    struct logit_bias *bias;
    const char *stops[MAX_STOP_STRINGS];
    int nstops;
    int32_t stop_ids[MAX_STOP_IDS];
    int nstop_ids;
    enum answer_form form;
    const json_t *schema;     /* or an array of texts, of FORM_CHOICE */
    const char *expression;   /* of FORM_REGEX and FORM_GRAMMAR */
    const char *form_name;    /* the parameter that says so */
    json_t *parsed;           /* a schema that came as text; NULL: none */
    const json_t *tools;      /* an array, or NULL: the answer has no calls of tools */
    const json_t *allowed;    /* those that may be called; NULL: all */
    const char *forced;       /* the tool that must be called; "": any; NULL: none must */
    struct grammar *grammar;  /* what every answer must be; NULL: any text */
    bool reasoning, thinking; /* answers have reasoning; they begin inside of it */
    bool seeded, parallel;    /* a seed was given; several calls at once are welcome */
    /* Prompts become vectors, or pairs of texts scores: */
    bool vectors, base64;
    size_t *seconds;    /* [nprompts]: where the second text of a pair begins */
    const char *before; /* what goes before each text */
    int64_t dimensions; /* of a vector; 0: all */
    int64_t cut;        /* tokens of a text, whose end is left out; 0: it must fit */
    int64_t top_n;      /* the best so many are told; 0: all */
    bool documents;     /* and what they are */
};

/* BODY is taken, also on failure. *OUT is NULL on failure. */
bool request_read(const struct api_model *, enum dialect, json_t *body, struct request **out,
                  struct fault *);
/* The prompt that the chat template makes of a body of chat, which is taken. */
bool request_prompt(const struct api_model *, json_t *body, struct buffer *out, struct fault *);
void request_free(struct request *); /* NULL is fine */

/* ---- for the parts of this room ---- */

/* params.c: every member of the body into the request, but for messages and prompt. */
bool params_read(const struct api_model *, struct request *, struct fault *);
/* calls.c: parameters of tools; what hangs together of them. */
bool calls_tools(const struct api_model *, struct request *, const char *name, const json_t *,
                 struct fault *);
bool calls_choice(const struct api_model *, struct request *, const char *name, const json_t *,
                  struct fault *);
bool calls_check(struct request *, struct fault *);
/* samplers.c: llama-server's parameters of how tokens are drawn. */
bool samplers_read(const struct api_model *, struct request *, const char *name, const json_t *,
                   struct fault *);
bool samplers_window(const struct api_model *, struct request *, const char *name, const json_t *,
                     struct fault *);
bool samplers_check(const struct api_model *, struct request *, struct fault *);
/* prompt.c: "prompt", or "messages" through the chat template, into ids. */
bool prompt_read(const struct api_model *, struct request *, struct fault *);
/* infill.c: a text with a hole, likewise, which then ends where another part of it would begin. */
bool infill_read(const struct api_model *, struct request *, struct fault *);
/* What the template makes of the messages. */
bool prompt_render(const struct api_model *, const struct request *, struct buffer *out,
                   struct fault *);
/* constrain.c: the grammar of the answers. */
bool request_constrain(const struct api_model *, struct request *, struct fault *);
/* Is it the model that V, the parameter NAME, is the name of? */
bool request_names(const struct api_model *, const struct request *, const char *name,
                   const json_t *v, struct fault *);
/* texts.c: the body of a request for vectors or scores. */
bool texts_read(const struct api_model *, struct request *, struct fault *);
/* convert.c: the body of another dialect as one of chat; NULL with *F when that cannot be. */
json_t *convert_responses(const json_t *body, struct fault *f);
json_t *convert_messages(const json_t *body, struct fault *f);
json_t *convert_ollama(const json_t *body, struct fault *f); /* ollama.c */

#endif
