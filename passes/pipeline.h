/* pipeline.h - what the passes hand on. A pass is a row of pipeline.def and a function here. */
#ifndef ET_PIPELINE_H
#define ET_PIPELINE_H

#include "lowering.h"

typedef struct et_pipeline {
    et_graph *g;
    const et_pass_options *opt;
    et_lowering *lo; /* from fuse on */
    et_program *p;   /* from fuse on */
} et_pipeline;

typedef bool (*et_pass_fn)(et_pipeline *);
#define X(name, from, to, help) bool et_pass_##name(et_pipeline *);
#include "pipeline.def"
#undef X

/* Print the groups of the fused stage. */
void et_groups_print(et_lowering *, FILE *);

#endif
