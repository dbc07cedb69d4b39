/* explain.h - what was decided for a program and why, as text for its author:
 * `etcc --explain`. All times in it are predictions and say so. */
#ifndef ET_EXPLAIN_H
#define ET_EXPLAIN_H

#include "passes/pipeline/findings.h"

/* The blocks of a task's machine code that have matrix instructions: instructions of a wave for a
 * tile, and, [1], in each iteration of a loop; not all of them where some are DEEPER. */
typedef struct {
    int64_t instructions[2], flops[2];
    bool deeper;
    bool codes; /* some matrix instructions multiply codes of 8 bits */
} et_explain_code;

typedef struct {
    const char *input; /* what was compiled, for the first line */
    const et_machine *machine;
    const et_profile *profile;   /* or NULL */
    const et_findings *findings; /* of the passes that made the program; or NULL */
    const et_explain_code *code; /* by task, those of all variants one after the other; or NULL */
} et_explain_options;

/* Explains the program at any stage from fused on. False when memory runs out. */
bool et_explain(et_program *, const et_explain_options *, FILE *);

#endif
