/* text.h - the text of one answer as its tokens come: decoded, cut at stop strings, and taken apart
 * into reasoning, text and calls of tools.
 *
 * What may still turn out to be the beginning of a stop string or of a mark is held back. */
#ifndef LLM_TEXT_H
#define LLM_TEXT_H

#include "examples/llm/api/buffer.h"
#include "examples/llm/api/request.h"

enum piece {
    PIECE_TEXT,
    PIECE_REASONING,
    PIECE_CALL,      /* a call begins; the text is the tool's name */
    PIECE_ARGUMENTS, /* of the call that began last: more of the text of its JSON */
};
/* TEXT is UTF-8, at least one byte, for this call. */
typedef void piece_taker(void *user, enum piece, const char *text, size_t bytes);

struct text;
/* An answer to PROMPT. NULL: out of memory. The model and the request must outlive it. */
struct text *text_make(const struct api_model *, const struct request *, const struct ids *prompt,
                       piece_taker *take, void *user);
void text_free(struct text *); /* NULL is fine */

/* False: nothing more is wanted, a stop string was there or memory ran out. */
bool text_push(struct text *, int32_t id);
/* No more tokens come: what was held back is given. */
void text_finish(struct text *);
bool text_thinks(const struct text *); /* the next token is of reasoning */
bool text_failed(const struct text *); /* memory ran out */

/* ---- for the parts of this room: calls.c, the JSON of one call as it comes ---- */

struct call {
    struct buffer raw, key, name, arguments; /* ARGUMENTS: those that were not given yet */
    int depth;
    bool in_string, escaped, in_key, in_value, is_name, is_arguments, named, over;
};
/* Takes one byte; the name is given once it is whole. OVER: the object is complete. */
void call_byte(struct call *, char c, piece_taker *take, void *user);
/* Gives the arguments that came, once the name is known. */
void call_flush(struct call *, piece_taker *take, void *user);
void call_free(struct call *); /* {0} again */

#endif
