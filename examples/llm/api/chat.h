/* chat.h - messages to the text a model reads, by the checkpoint's chat template. */
#ifndef LLM_API_CHAT_H
#define LLM_API_CHAT_H

#include "examples/llm/api/fault.h"
#include "examples/llm/base/buffer.h"
#include "examples/llm/base/error.h"

struct chat;

/* The template in FILE; or where FILE is NULL the one of the checkpoint in DIR. A checkpoint
 * without one has the contents of messages after each other, parted by empty lines. */
bool chat_open(const char *dir, const char *file, struct chat **out, char *err);
void chat_close(struct chat *); /* NULL is fine */
/* The template that is used with tools; NULL: there is none. */
const char *chat_source(const struct chat *);
bool chat_has_template(const struct chat *);

/* VARIABLES has "messages", contents being strings; it may have "tools", "documents" and
 * "add_generation_prompt", and "kwargs", more for the template to see. */
bool chat_render(const struct chat *, const json_t *variables, struct buffer *out, struct fault *);

#endif
