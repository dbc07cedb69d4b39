/* json_file.h - read a JSON file of a checkpoint. */
#ifndef LLM_JSON_FILE_H
#define LLM_JSON_FILE_H

#include "error.h"
#include <jansson.h>
#include <stdbool.h>

/* The object in DIR/NAME. NULL with a line in ERR (LLM_ERR characters) when there is none or it
 * cannot be read; with OPTIONAL, an absent file gives NULL with an empty ERR. */
json_t *json_file(const char *dir, const char *name, bool optional, char *err);

#endif
