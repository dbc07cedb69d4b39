/* call.h - the pieces that an answer is made of, and the JSON of one call as it comes. */
#ifndef LLM_TOOLS_CALL_H
#define LLM_TOOLS_CALL_H

#include "examples/llm/base/buffer.h"

enum piece {
    PIECE_TEXT,
    PIECE_REASONING,
    PIECE_CALL,      /* a call begins; the text is the tool's name */
    PIECE_ARGUMENTS, /* of the call that began last: more of the text of its JSON */
};
/* TEXT is UTF-8, at least one byte, for this call. */
typedef void piece_taker(void *user, enum piece, const char *text, size_t bytes);

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
