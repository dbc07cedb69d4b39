/* answer.h - what a request is answered with, as its texts grow.
 *
 * An answer is whole, one JSON value at the end, or streamed, events as they come. It knows nothing
 * of threads: whoever shares one locks. */
#ifndef LLM_ANSWER_H
#define LLM_ANSWER_H

#include "examples/llm/api/request.h"
#include "examples/llm/base/buffer.h"
#include "examples/llm/engine/engine.h"

struct answer;
/* Takes the request, also on failure. NULL: out of memory. */
struct answer *answer_make(const struct api_model *, struct request *);
void answer_free(struct answer *); /* NULL is fine */

/* How many texts it has, and the prompt of each. */
int answer_texts(const struct answer *);
const struct ids *answer_prompt(const struct answer *, int text);
const struct request *answer_request(const struct answer *);
const char *answer_id(const struct answer *);

/* Of a request with a grammar: after answer_make and after each token for which answer_owes says
 * so, answer_advance is called before answer_mask. It takes long, and may run beside all but other
 * calls of itself for this answer. False: the text is complete. */
bool answer_owes(const struct answer *, int text);
bool answer_advance(struct answer *, int text);
/* Sets the logits of tokens that must not come next to -INFINITY. False: the text is complete. */
bool answer_mask(struct answer *, int text, float *logits);
/* The next token of a text; false: it is complete. */
bool answer_token(struct answer *, int text, const struct engine_token *);
/* How likely token AT of the prompt was. */
void answer_prompt_token(struct answer *, int text, size_t at, const struct engine_token *);
/* What a text becomes, of a request for vectors. */
void answer_vector(struct answer *, int text, const float *values, int64_t width);
/* A text has ended. True: it was the last, the answer is complete. */
bool answer_end(struct answer *, int text, const struct engine_result *);

/* Events that are yet to be sent; the caller drops what was. Whoever streams begins at once. */
struct buffer *answer_events(struct answer *);
/* Once complete, of one that is not streamed: the body, and the status that goes with it. */
int answer_body(struct answer *, struct buffer *out);

/* Token counts so far. */
struct usage {
    int64_t prompt, cached, generated, reasoning;
    int64_t dropped; /* characters or bytes of the prompts that have no token, and were left out */
};
void answer_usage(const struct answer *, struct usage *out);

#endif
