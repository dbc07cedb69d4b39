/* codegen.h - from an event-tensor program at stage `scheduled` to a code object. */
#ifndef ET_CODEGEN_H
#define ET_CODEGEN_H

#include "ir/program/program.h"

typedef struct et_target et_target; /* a row of targets.def, opaque to users */

/* The target called NAME ("gfx942"), or NULL. */
const et_target *et_target_find(const char *name);
/* The I-th target's name, NULL past the end. */
const char *et_target_name(int i);

/* What to take from the fences that go with an event. */
typedef enum {
    ET_WEAKEN_NOTHING,
    ET_WEAKEN_FENCE,   /* both */
    ET_WEAKEN_SCOPE,   /* both order the workgroup only */
    ET_WEAKEN_RELEASE, /* the one before arrivals */
    ET_WEAKEN_ACQUIRE, /* the one after waits */
} et_weaken;

typedef struct {
    const et_target *target;
    const char
        *output; /* path of the code object, or NULL; written to a temporary name and renamed */
    const char *emit_llvm; /* path for the optimised LLVM IR text, or NULL */
    const char
        *device_libs; /* folder of the ROCm device libraries' bitcode, NULL = as configured */
    int opt_level;    /* 0..3 */
    const char *break_event;  /* fault injection: waits on events of this name need one arrival too
                                 many; NULL = none */
    bool time_passes;         /* report LLVM's stages to stderr */
    bool profile;             /* the kernel records when and where every task ran */
    et_weaken weaken;         /* fault injection: the fences of task grids that wait on or notify */
    const char *weaken_event; /* events of this name lack this */
} et_codegen_options;

/* Facts about what was made, for -v and tests. */
typedef struct {
    int vgprs, agprs, sgprs, lds_bytes, scratch_bytes;
    int64_t text_bytes, file_bytes;
} et_codegen_info;

/* False with diagnostics on anything the user or the machine can cause (no linker, disk full, LDS
 * larger than the target has). */
bool et_codegen(et_program *, const et_codegen_options *, et_codegen_info *out_info);

#endif
