/* elf_file.h - the little of an untrusted ELF file of code the runtime reads itself. */
#ifndef ETRT_ELF_H
#define ETRT_ELF_H

#include "runtime/etrt.h"

#include <stddef.h>
#include <stdint.h>

/* The bytes of section NAME, which point into FILE; NULL when there is no such section. */
etrt_status etrt_elf_section(const void *file, size_t bytes, const char *name, const char **out,
                             size_t *out_bytes);
/* Value of a dynamic symbol. */
etrt_status etrt_elf_symbol(const void *file, size_t bytes, const char *name, uint64_t *out_value);
/* The range of virtual addresses that loading takes. */
etrt_status etrt_elf_extent(const void *file, size_t bytes, uint64_t *out_lo, uint64_t *out_hi);

#endif
