/* elf.c - bounds-checked access to an ELF file. */
#include "runtime/emu/memory/elf.h"

#include <string.h>

static bool fail(struct emu_elf *e, const char *why) {
    e->error = why;
    return false;
}

bool emu_elf_inside(const struct emu_elf *e, uint64_t offset, uint64_t bytes) {
    return offset <= e->bytes && bytes <= e->bytes - offset;
}

static bool copy_out(struct emu_elf *e, uint64_t offset, size_t bytes, void *out) {
    if (!emu_elf_inside(e, offset, bytes)) return false;
    memcpy(out, e->image + offset, bytes);
    return true;
}

bool emu_elf_open(struct emu_elf *e, const void *image, size_t bytes) {
    *e = (struct emu_elf){.image = image, .bytes = bytes};
    if (!copy_out(e, 0, sizeof e->head, &e->head)) return fail(e, "the file is too short for ELF");
    const unsigned char *id = e->head.e_ident;
    if (memcmp(id, ELFMAG, SELFMAG)) return fail(e, "not an ELF file");
    if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB || id[EI_VERSION] != EV_CURRENT)
        return fail(e, "not a 64-bit little-endian ELF file");
    if (e->head.e_machine != EM_AMDGPU) return fail(e, "not a code object for AMD GPUs");
    enum { ELFOSABI_AMDGPU_HSA = 64, FIRST_ABI = 2, LAST_ABI = 4 };
    if (id[EI_OSABI] != ELFOSABI_AMDGPU_HSA)
        return fail(e, "a code object for another OS than HSA");
    if (id[EI_ABIVERSION] < FIRST_ABI || id[EI_ABIVERSION] > LAST_ABI)
        return fail(e, "a code object version other than 4, 5 and 6");
    if (e->head.e_type != ET_DYN)
        return fail(e, "not a linked code object (run it through ld.lld)");
    if (e->head.e_phnum && e->head.e_phentsize != sizeof(Elf64_Phdr))
        return fail(e, "program headers of an unknown size");
    if (e->head.e_shnum && e->head.e_shentsize != sizeof(Elf64_Shdr))
        return fail(e, "section headers of an unknown size");
    return true;
}

bool emu_elf_segment(struct emu_elf *e, size_t index, Elf64_Phdr *out) {
    uint64_t at = index * sizeof *out;
    if (index >= e->head.e_phnum || e->head.e_phoff > e->bytes ||
        !copy_out(e, e->head.e_phoff + at, sizeof *out, out))
        return fail(e, "program headers outside the file");
    return true;
}

bool emu_elf_section(struct emu_elf *e, size_t index, Elf64_Shdr *out) {
    uint64_t at = index * sizeof *out;
    if (index >= e->head.e_shnum || e->head.e_shoff > e->bytes ||
        !copy_out(e, e->head.e_shoff + at, sizeof *out, out))
        return fail(e, "section headers outside the file");
    return true;
}

bool emu_elf_symbol(struct emu_elf *e, const Elf64_Shdr *symtab, const Elf64_Shdr *strtab,
                    size_t index, Elf64_Sym *out, const char **name) {
    if (index >= symtab->sh_size / sizeof *out || symtab->sh_offset > e->bytes ||
        !copy_out(e, symtab->sh_offset + index * sizeof *out, sizeof *out, out))
        return fail(e, "a symbol outside the file");
    if (!emu_elf_inside(e, strtab->sh_offset, strtab->sh_size) || out->st_name >= strtab->sh_size)
        return fail(e, "a symbol's name outside the string table");
    *name = (const char *)e->image + strtab->sh_offset + out->st_name;
    if (!memchr(*name, 0, strtab->sh_size - out->st_name))
        return fail(e, "a symbol's name without an end");
    return true;
}
