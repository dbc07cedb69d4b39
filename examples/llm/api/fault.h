/* fault.h - what a client is told when a request is not answered. */
#ifndef LLM_FAULT_H
#define LLM_FAULT_H

#include <jansson.h>
#include <stdbool.h>

struct fault {
    int status;     /* of HTTP */
    char param[96]; /* the parameter at fault; "": none is */
    char code[48];  /* for programs; "": none */
    char message[600];
};

/* Formats into *F and returns false. PARAM and CODE may be NULL. */
bool fault_set(struct fault *f, int status, const char *param, const char *code, const char *fmt,
               ...) __attribute__((format(printf, 5, 6)));

/* {"error": {...}} as OpenAI's programs read it, or as Anthropic's do. NULL: no memory. */
json_t *fault_json(const struct fault *, bool anthropic);

#endif
