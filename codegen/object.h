/* object.h - what is made of the kernel once it is emitted. */
#ifndef ET_OBJECT_H
#define ET_OBJECT_H

#include "codegen/emit/emit.h"

char *cg_manifest(cg *);
/* Optimises the module and writes what the options ask for. */
bool cg_object(cg *, LLVMTargetMachineRef, et_codegen_info *);

#endif
