/* passes.h - from a graph to a scheduled event-tensor program. */
#ifndef ET_PASSES_H
#define ET_PASSES_H

#include "machine.h"
#include "program.h"

typedef struct {
    const et_machine *machine;
    const char *dump; /* a pass's name or "all": print what it leaves; NULL = nothing */
    FILE *dump_to;
    bool time_passes; /* report each pass's time to stderr */
    bool verbose;
} et_pass_options;

/* Run the pipeline. False with diagnostics in g->diags. */
bool et_passes_run(et_graph *g, const et_pass_options *, et_program **out_program);

/* The passes in order: name and one line of help; NULL past the end. */
const char *et_pass_name(int i);
const char *et_pass_help(int i);

#endif
