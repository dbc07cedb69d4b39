/* tokens.h - what is told of single tokens: log probabilities, as chat and completions have them.
 */
#ifndef LLM_API_TOKENS_H
#define LLM_API_TOKENS_H

#include "examples/llm/api/form.h"

/* Adds a token to P's TOKENS and FRESH. False: out of memory. */
bool tokens_note(struct part *p, const struct engine_token *token);
/* What is told of the prompt's tokens, of which nothing is known yet; NULL: out of memory. */
json_t *tokens_prompt(const struct part *);
bool tokens_note_prompt(struct part *, size_t at, const struct engine_token *);
/* vLLM's "prompt_logprobs". A new reference. */
json_t *tokens_prompt_logprobs(const struct part *);
/* A list of what is told of the tokens behind reasoning. A new reference. */
json_t *tokens_of_text(const struct part *);
/* "logprobs" of TOKENS, as the dialect has it; JSON's null for a NULL. A new reference. */
json_t *tokens_logprobs(struct part *p, const json_t *tokens);
/* Those that were not streamed yet, which are then none. */
json_t *tokens_fresh(struct part *p);

#endif
