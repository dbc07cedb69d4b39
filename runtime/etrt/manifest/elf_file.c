#include "runtime/etrt/manifest/elf_file.h"

#include "runtime/etrt/base/error.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

static bool inside(size_t bytes, uint64_t offset, uint64_t count, uint64_t size) {
    return offset <= bytes && (size == 0 || count <= (bytes - offset) / size);
}

/* Everything is copied out: nothing in the file need be aligned. */
static etrt_status read_header(const void *file, size_t bytes, Elf64_Ehdr *eh) {
    if (bytes < sizeof *eh || memcmp(file, ELFMAG, SELFMAG) != 0)
        return etrt_fail(ETRT_FORMAT, "not a code object (no ELF header)");
    memcpy(eh, file, sizeof *eh);
    if (eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_ident[EI_DATA] != ELFDATA2LSB)
        return etrt_fail(ETRT_FORMAT, "not a code object (its ELF is not 64-bit little-endian)");
    if (eh->e_shnum && (eh->e_shentsize != sizeof(Elf64_Shdr) ||
                        !inside(bytes, eh->e_shoff, eh->e_shnum, sizeof(Elf64_Shdr))))
        return etrt_fail(ETRT_FORMAT, "truncated code object: its section table is outside");
    if (eh->e_phnum && (eh->e_phentsize != sizeof(Elf64_Phdr) ||
                        !inside(bytes, eh->e_phoff, eh->e_phnum, sizeof(Elf64_Phdr))))
        return etrt_fail(ETRT_FORMAT, "truncated code object: its segment table is outside");
    return ETRT_OK;
}

static void section_at(const void *file, const Elf64_Ehdr *eh, unsigned index, Elf64_Shdr *sh) {
    memcpy(sh, (const char *)file + eh->e_shoff + index * sizeof *sh, sizeof *sh);
}

/* The string at OFFSET of a string table, or NULL when it does not end inside. */
static const char *string_at(const void *file, size_t bytes, const Elf64_Shdr *table,
                             uint64_t offset) {
    if (!inside(bytes, table->sh_offset, table->sh_size, 1) || offset >= table->sh_size)
        return NULL;
    const char *s = (const char *)file + table->sh_offset + offset;
    return memchr(s, 0, table->sh_size - offset) ? s : NULL;
}

etrt_status etrt_elf_section(const void *file, size_t bytes, const char *name, const char **out,
                             size_t *out_bytes) {
    Elf64_Ehdr eh;
    Elf64_Shdr names, sh;
    etrt_status st = read_header(file, bytes, &eh);
    if (st != ETRT_OK) return st;
    if (eh.e_shnum && eh.e_shstrndx >= eh.e_shnum)
        return etrt_fail(ETRT_FORMAT, "the code object has no section names");
    if (eh.e_shnum) section_at(file, &eh, eh.e_shstrndx, &names);
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        section_at(file, &eh, i, &sh);
        const char *s = string_at(file, bytes, &names, sh.sh_name);
        if (!s || strcmp(s, name) != 0) continue;
        if (sh.sh_type == SHT_NOBITS || !inside(bytes, sh.sh_offset, sh.sh_size, 1))
            return etrt_fail(ETRT_FORMAT, "truncated code object: section %s is outside", name);
        *out = (const char *)file + sh.sh_offset;
        *out_bytes = sh.sh_size;
        return ETRT_OK;
    }
    *out = NULL;
    *out_bytes = 0;
    return ETRT_OK;
}

etrt_status etrt_elf_symbol(const void *file, size_t bytes, const char *name, uint64_t *out_value) {
    Elf64_Ehdr eh;
    Elf64_Shdr sh, strings;
    etrt_status st = read_header(file, bytes, &eh);
    if (st != ETRT_OK) return st;
    for (unsigned i = 0; i < eh.e_shnum; i++) {
        section_at(file, &eh, i, &sh);
        if (sh.sh_type != SHT_DYNSYM || sh.sh_link >= eh.e_shnum ||
            !inside(bytes, sh.sh_offset, sh.sh_size, 1))
            continue;
        section_at(file, &eh, sh.sh_link, &strings);
        for (uint64_t k = 0; k < sh.sh_size / sizeof(Elf64_Sym); k++) {
            Elf64_Sym sym;
            memcpy(&sym, (const char *)file + sh.sh_offset + k * sizeof sym, sizeof sym);
            const char *s = string_at(file, bytes, &strings, sym.st_name);
            if (sym.st_shndx == SHN_UNDEF || !s || strcmp(s, name) != 0) continue;
            *out_value = sym.st_value;
            return ETRT_OK;
        }
    }
    return etrt_fail(ETRT_FORMAT, "the code object has no symbol %s", name);
}

etrt_status etrt_elf_extent(const void *file, size_t bytes, uint64_t *out_lo, uint64_t *out_hi) {
    Elf64_Ehdr eh;
    etrt_status st = read_header(file, bytes, &eh);
    if (st != ETRT_OK) return st;
    *out_lo = UINT64_MAX;
    *out_hi = 0;
    for (unsigned i = 0; i < eh.e_phnum; i++) {
        Elf64_Phdr ph;
        memcpy(&ph, (const char *)file + eh.e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type != PT_LOAD) continue;
        uint64_t end;
        if (__builtin_add_overflow(ph.p_vaddr, ph.p_memsz, &end) ||
            !inside(bytes, ph.p_offset, ph.p_filesz, 1) || ph.p_filesz > ph.p_memsz)
            return etrt_fail(ETRT_FORMAT, "truncated code object: segment %u is outside", i);
        if (ph.p_vaddr < *out_lo) *out_lo = ph.p_vaddr;
        if (end > *out_hi) *out_hi = end;
    }
    if (*out_lo >= *out_hi) return etrt_fail(ETRT_FORMAT, "the code object has nothing to load");
    return ETRT_OK;
}
