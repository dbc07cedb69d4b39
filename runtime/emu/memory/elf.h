/* elf.h - reading an untrusted ELF file: every structure handed out was bounds checked. */
#ifndef EMU_ELF_H
#define EMU_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct emu_elf {
    const uint8_t *image;
    size_t bytes;
    Elf64_Ehdr head;
    const char *error; /* of the last call that failed */
};

/* Is IMAGE a 64-bit little-endian ELF file for AMD GPUs under HSA? */
bool emu_elf_open(struct emu_elf *, const void *image, size_t bytes);

/* Structures are copied out: the image may be at any alignment. */
bool emu_elf_segment(struct emu_elf *, size_t index, Elf64_Phdr *out);
bool emu_elf_section(struct emu_elf *, size_t index, Elf64_Shdr *out);

/* Is [OFFSET, OFFSET+BYTES) inside the file? */
bool emu_elf_inside(const struct emu_elf *, uint64_t offset, uint64_t bytes);

/* Symbol INDEX of the table in section SYMTAB, and its name in section STRTAB (always
 * terminated). */
bool emu_elf_symbol(struct emu_elf *, const Elf64_Shdr *symtab, const Elf64_Shdr *strtab,
                    size_t index, Elf64_Sym *out, const char **name);

#endif
