/* guard.h - LLVM's disassembler, for untrusted code. */
#ifndef ISA_GUARD_H
#define ISA_GUARD_H

#include "runtime/emu/isa/isa.h"

#include <llvm-c/Disassembler.h>

/* The text of the instruction at byte AT of P in LINE, and its bytes; 0 when it is none, or one
 * that LLVM cannot be asked about. Never reads past the end of the text. */
size_t isa_llvm_text(LLVMDisasmContextRef, const struct emu_program *p, size_t at, char *line,
                     size_t line_bytes);

#endif
