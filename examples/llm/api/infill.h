/* infill.h - prompts of a text with a hole in it, for models that were taught to fill one. */
#ifndef LLM_INFILL_H
#define LLM_INFILL_H

#include "examples/llm/base/error.h"
#include "examples/llm/tokenizer/tokenizer.h"
#include <stdbool.h>
#include <stdint.h>

/* Tokens that stand before the parts of such a prompt; -1: the model has none. */
struct infill {
    int32_t prefix, suffix, middle;
    int32_t file, repository; /* before other files, and before all of them */
    int32_t padding;          /* ends a text, as the others do */
    bool suffix_first;
};

/* As DIR/tokenizer_config.json names them ("fim_token_ids" of etgguf, "prefix_token" and the like
 * of CodeLlama), or by the names that they have in the models there are. Without PREFIX and SUFFIX
 * the model cannot. False with ERR, LLM_ERR characters: the file cannot be read. */
bool infill_find(const char *dir, const struct tokenizer *, struct infill *out, char *err);
bool infill_can(const struct infill *);

#endif
