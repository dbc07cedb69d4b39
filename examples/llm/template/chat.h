/* chat.h - a conversation as the prompt that a checkpoint's own chat template makes of it. */
#ifndef LLM_TEMPLATE_CHAT_H
#define LLM_TEMPLATE_CHAT_H

#include "examples/llm/template/template.h"
#include <stdbool.h>

typedef struct lm_chat lm_chat;

/* The templates of the checkpoint in DIR and the special tokens they name. Of several files the
 * first counts that there is: chat_template.jinja (with additional_chat_templates/NAME.jinja),
 * "chat_template" of tokenizer_config.json (a template, or a list of them with names), and of
 * chat_template.json. With FILE, the template of that file and none of DIR's; DIR may be NULL then.
 * NULL with a line in ERR (LLM_ERR characters) when there is none or one is wrong. */
lm_chat *lm_chat_load(const char *dir, const char *file, char *err);
void lm_chat_free(lm_chat *); /* NULL is fine */

/* The name of template I ("default", "tool_use"); NULL beyond the last. */
const char *lm_chat_name(const lm_chat *, size_t i);
const char *lm_chat_source(const lm_chat *, size_t i); /* its text; kept as long as the chat */

/* What is rendered. All JSON is only read; NULL: not given. */
typedef struct {
    const json_t *messages;          /* array of objects */
    const json_t *tools, *documents; /* arrays; a template sees None where there is none */
    const json_t *kwargs;       /* object: more variables, which win over all but the messages */
    bool add_generation_prompt; /* end with what the assistant's turn begins with */
    const char *name;           /* of the template; NULL: tool_use with tools, else default */
    /* The messages come from a client of the OpenAI interface: arguments of tool calls that are
     * text are parsed, and reasoning under one of its names (reasoning_content, reasoning,
     * thinking) is given as reasoning_content and thinking too. */
    bool from_api;
} lm_chat_request;

/* The prompt, *OUT_N bytes (OUT_N may be NULL) and a 0 behind them, for free(). NULL with *ERROR,
 * whose line and column are of the template. Threads may call it at once. */
char *lm_chat_render(const lm_chat *, const lm_chat_request *, const lm_template_options *,
                     size_t *out_n, lm_template_error *error);

#endif
