/* text.h - the text of one answer as its tokens come: decoded, cut at stop strings, and taken apart
 * into reasoning, text and calls of tools.
 *
 * What may still turn out to be the beginning of a stop string or of a mark is held back. */
#ifndef LLM_TEXT_H
#define LLM_TEXT_H

#include "examples/llm/api/request.h"
#include "examples/llm/api/tools/call.h"
#include "examples/llm/base/buffer.h"

struct text;
/* An answer to PROMPT. NULL: out of memory. The model and the request must outlive it. */
struct text *text_make(const struct api_model *, const struct request *, const struct ids *prompt,
                       piece_taker *take, void *user);
void text_free(struct text *); /* NULL is fine */

/* False: nothing more is wanted, a stop string was there or memory ran out. */
bool text_push(struct text *, int32_t id);
/* No more tokens come: what was held back is given. */
void text_finish(struct text *);
bool text_thinks(const struct text *);      /* the next token is of reasoning */
const char *text_stop(const struct text *); /* the stop string that was there, or NULL */
bool text_failed(const struct text *);      /* memory ran out */

#endif
