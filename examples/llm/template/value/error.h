/* error.h - how a template fails. */
#ifndef LLM_TEMPLATE_ERROR_H
#define LLM_TEMPLATE_ERROR_H

/* What ended a call that failed. */
typedef enum {
    LM_TEMPLATE_OK,
    LM_TEMPLATE_SYNTAX, /* the template is not Jinja, or uses what is not there */
    LM_TEMPLATE_FAILED, /* an operation of the template went wrong */
    LM_TEMPLATE_RAISED, /* raise_exception: the variables are not what the template takes */
    LM_TEMPLATE_LIMIT,  /* steps, memory, output or nesting */
    LM_TEMPLATE_MEMORY, /* the system has none left */
} lm_template_status;

typedef struct {
    lm_template_status status;
    int line, column; /* from 1, column in characters; 0 where no place is to blame */
    char message[400];
} lm_template_error;

#endif
