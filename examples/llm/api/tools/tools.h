/* tools.h - how models write calls of tools and reasoning: a row in table.c and a file for each.
 *
 * A call is told once it is whole and its arguments are a JSON object, so that what is none stays
 * text. */
#ifndef LLM_TOOLS_H
#define LLM_TOOLS_H

#include "examples/llm/base/buffer.h"
#include <sys/types.h>

/* What a model wrote, from a mark that begins calls on. */
struct writing {
    const char *text;
    size_t n;
    bool last;           /* no more comes */
    const json_t *tools; /* of the request, as OpenAI has them */
    /* Takes a call; ARGUMENTS are the text of a JSON object. */
    void (*take)(void *user, const char *name, size_t bytes, const char *arguments, size_t n);
    void *user;
};

enum { TOOLS_MARKS = 3 };

struct tool_format {
    const char *name;
    const char *signs[TOOLS_MARKS]; /* a chat template that has one of these is of this format */
    const char *opens[TOOLS_MARKS]; /* marks that begin calls, anywhere in a text */
    bool bare;                      /* a '{' that begins the answer begins a call too */
    bool specials;                  /* the marks are special tokens */
    bool told; /* a prompt can say how calls are written: between OPENS[0] and CLOSE, as JSON */
    const char *close, *arguments; /* ARGUMENTS: the key of them */
    /* How many bytes are calls, given to TAKE; 0: more must come; -N: N bytes are text. A bare call
     * begins with its '{'. NULL: gpt-oss's messages, which text.c takes apart. */
    ssize_t (*read)(const struct writing *);
};

/* By number, from 0; NULL past the last. */
const struct tool_format *tool_format(int);
/* The format of a chat template (NULL: of none); NULL: it is not known. */
const struct tool_format *tool_format_of(const char *template);

/* How reasoning is marked. */
struct thought_format {
    const char *name, *open, *close;
    const char *sign; /* in a chat template; NULL: OPEN */
};
const struct thought_format *thought_format(int);
const struct thought_format *thought_format_of(const char *template);

/* ---- for the files of this room ---- */

/* The bytes of the JSON object or array at TEXT; 0: more must come; -1: it is none. */
ssize_t tools_json(const char *text, size_t n);
/* {"name": ..., "arguments": {...}}, N bytes, as a call. False: it is none. */
bool tools_call(const struct writing *, const char *text, size_t n);
/* One of them, or an array. */
bool tools_calls(const struct writing *, const char *text, size_t n);
/* NAME and the text of an object. False: it is none. */
bool tools_named(const struct writing *, const char *name, size_t bytes, const char *arguments,
                 size_t n);
/* NAME and what was made of arguments that are not JSON; takes the reference. */
bool tools_made(const struct writing *, const char *name, size_t bytes, json_t *arguments);
/* TEXT as the value of an argument: as the tool's schema has it, a string or JSON. A new reference.
 */
json_t *tools_value(const struct writing *, const char *name, size_t bytes, const char *key,
                    size_t nkey, const char *text, size_t n);
/* Where WORD is; NULL: nowhere. */
const char *tools_find(const char *text, const char *end, const char *word);
bool tools_next(const char **at, const char *end, const char *word); /* skips it, if it is next */
void tools_blanks(const char **at, const char *end);
/* WORD may still come at AT: what is there begins it. */
bool tools_begun(const char *at, const char *end, const char *word);
/* What READ returns where a close mark was not found yet, or the text is none: all up to it. */
ssize_t tools_none(const struct writing *, const char *close);

ssize_t hermes_read(const struct writing *);
ssize_t llama_read(const struct writing *);
ssize_t mistral_read(const struct writing *);
ssize_t deepseek_read(const struct writing *);
ssize_t qwen_coder_read(const struct writing *);
ssize_t glm_read(const struct writing *);
ssize_t kimi_read(const struct writing *);
ssize_t granite_read(const struct writing *);
ssize_t gemma_read(const struct writing *);

#endif
