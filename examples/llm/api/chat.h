/* chat.h - messages to the text a model reads, by the checkpoint's chat template. */
#ifndef LLM_CHAT_H
#define LLM_CHAT_H

#include "examples/llm/api/buffer.h"
#include "examples/llm/api/fault.h"
#include "examples/llm/base/error.h"

struct chat;

/* The template in FILE; or where FILE is NULL the one of the checkpoint in DIR: chat_template.jinja
 * or "chat_template" of tokenizer_config.json. A checkpoint without one has contents of messages
 * after each other, parted by empty lines. */
bool chat_open(const char *dir, const char *file, struct chat **out, char *err);
void chat_close(struct chat *); /* NULL is fine */

/* The template's text; NULL: the checkpoint has none. Lives as long as the chat. */
const char *chat_source(const struct chat *);

/* VARIABLES has "messages", contents being strings, and what else the template shall see. */
bool chat_render(const struct chat *, json_t *variables, struct buffer *out, struct fault *);

#endif
