/* stops.h - the tokens that end a text, as a checkpoint names them. */
#ifndef LLM_STOPS_H
#define LLM_STOPS_H

#include "examples/llm/base/error.h"
#include <stdbool.h>
#include <stdint.h>

enum { MAX_STOPS = 16 };
struct stops {
    int32_t ids[MAX_STOPS];
    int n;
};

/* "eos_token_id" of DIR/generation_config.json, or of config.json: a number, a list, or nothing. */
bool stops_read(const char *dir, struct stops *out, char *err);

#endif
