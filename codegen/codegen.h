/* codegen.h - from an event-tensor program at stage `scheduled` to a code object. Which targets
 * there are says codegen/targets/targets.h, and what can be asked for codegen/emit/options.h. */
#ifndef ET_CODEGEN_H
#define ET_CODEGEN_H

#include "codegen/emit/options.h"
#include "ir/program/program.h"

const char *et_sparse_name(int); /* "none", ...; NULL past the last */

/* False with diagnostics on anything the user or the machine can cause (no linker, disk full, LDS
 * larger than the target has). */
bool et_codegen(et_program *, const et_codegen_options *, et_codegen_info *out_info);

#endif
