/* template.h - the chat templates of checkpoints: a sandboxed interpreter of Jinja.
 *
 * It renders as jinja2's ImmutableSandboxedEnvironment does with the settings of Hugging Face's
 * transformers: trim_blocks, lstrip_blocks, loop controls, `generation` blocks, `tojson` that
 * escapes no HTML, `raise_exception` and `strftime_now`. A template is untrusted: it reaches
 * nothing but its variables, and steps, memory, output and nesting are bounded.
 *
 * A parsed template never changes, so threads may render it at once. README.md says what the
 * language has. */
#ifndef LLM_TEMPLATE_H
#define LLM_TEMPLATE_H

#include "examples/llm/template/value/error.h"
#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef struct lm_template lm_template;

/* Bounds of one rendering, and what it sees of the world. 0 or NULL: the default. */
typedef struct {
    uint64_t steps;       /* operations, about 10 to 100 ns each (20 million) */
    size_t memory;        /* bytes of values, the output among them (128 MiB) */
    size_t output;        /* bytes (16 MiB) */
    const struct tm *now; /* what strftime_now tells; the local time */
} lm_template_options;

/* Parses N bytes of UTF-8 TEXT, which need not outlive the call; at most 1 MiB. NULL with *ERROR
 * when it is no template. */
lm_template *lm_template_parse(const char *text, size_t n, lm_template_error *error);

/* Renders with the members of the object VARIABLES as variables. The text, *OUT_N bytes (OUT_N may
 * be NULL) and a 0 behind them, for free(); NULL with *ERROR. VARIABLES is only read, but must not
 * change meanwhile. OPTIONS may be NULL. */
char *lm_template_render(const lm_template *, const json_t *variables, const lm_template_options *,
                         size_t *out_n, lm_template_error *error);

void lm_template_free(lm_template *); /* NULL is fine */

#endif
