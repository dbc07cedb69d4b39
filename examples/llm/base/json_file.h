/* json_file.h - read a JSON file of a checkpoint. */
#ifndef LLM_JSON_FILE_H
#define LLM_JSON_FILE_H

#include "examples/llm/base/error.h"
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* The object in DIR/NAME. NULL with a line in ERR (LLM_ERR characters) when there is none or it
 * cannot be read; with OPTIONAL, an absent file gives NULL with an empty ERR.
 * All numbers are reals: tokenizer_config.json is known to hold integers that no machine type can.
 */
json_t *json_file(const char *dir, const char *name, bool optional, char *err);

/* The same of a file that holds an array. */
json_t *json_file_list(const char *dir, const char *name, bool optional, char *err);

/* The token id J is, or -1: not a whole number from 0 to LLM_MAX_ID. */
enum { LLM_MAX_ID = (1 << 24) - 1 };
int32_t json_file_id(const json_t *j);

#endif
