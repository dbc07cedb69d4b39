/* explain.h - what was decided for a program and why, as text for its author:
 * `etcc --explain`. All times in it are predictions and say so. */
#ifndef ET_EXPLAIN_H
#define ET_EXPLAIN_H

#include "passes/pipeline/findings.h"

/* The blocks of a task's machine code that have matrix instructions in them: what a wave runs of
 * them for a tile, and, [1], each time around a loop; not all of it where some are DEEPER. */
typedef struct {
    int64_t instructions[2], flops[2];
    bool deeper;
    bool codes; /* some matrix instructions multiply codes of 8 bits */
} et_explain_code;

typedef struct {
    const char *input; /* what was compiled, for the first line */
    const et_machine *machine;
    const et_profile *profile;   /* or NULL */
    const et_findings *findings; /* of the passes that made the program: what is not in them was
                                    decided elsewhere; or NULL */
    const et_explain_code *code; /* by task, those of all variants one after the other; or NULL */
} et_explain_options;

/* Of the program at any stage from fused on: what that stage has. False when there is no memory for
 * it. */
bool et_explain(et_program *, const et_explain_options *, FILE *);

#endif
