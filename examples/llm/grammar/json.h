/* json.h - rules for what JSON is made of. Each makes a rule and returns it. */
#ifndef LLM_GRAMMAR_JSON_H
#define LLM_GRAMMAR_JSON_H

#include "examples/llm/grammar/rules.h"

/* N rules, of type int32_t, one after another. */
int32_t json_rule_sequence(struct rules *, int n, ...);
int32_t json_rule_text(struct rules *, const char *text, size_t bytes);

int32_t json_rule_blank(struct rules *); /* white space, or nothing */
/* A character inside a string. ZERO: U+0000, too, which readers do not take in a name. */
int32_t json_rule_letter(struct rules *, bool zero);
int32_t json_rule_string(struct rules *, int32_t letter, int64_t least, int64_t most);
int32_t json_rule_integer(struct rules *);
int32_t json_rule_number(struct rules *, int32_t integer);

#endif
