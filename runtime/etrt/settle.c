/* settle FROM TO: copies an object of one text, in which what the object calls of its own is no
 * relocation any more: where that lies within a section is known, so a linker need not be told, nor
 * of the names. A tool of the build (CMakeLists.txt): libetrt.a is smaller by a fifth. What is no
 * ELF of x86-64 is copied as it is. */
#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool within(size_t bytes, uint64_t at, uint64_t size) {
    return at <= bytes && size <= bytes - at;
}

static bool is_ours(const char *image, size_t bytes) {
    const Elf64_Ehdr *e = (const void *)image;
    return bytes >= sizeof *e && memcmp(e->e_ident, ELFMAG, SELFMAG) == 0 &&
           e->e_ident[EI_CLASS] == ELFCLASS64 && e->e_machine == EM_X86_64 && e->e_type == ET_REL &&
           e->e_shentsize == sizeof(Elf64_Shdr) &&
           within(bytes, e->e_shoff, (uint64_t)e->e_shnum * sizeof(Elf64_Shdr));
}

/* The relocations of section AT that are not of places in itself stay. */
static void settle(char *image, const Elf64_Shdr *all, Elf64_Shdr *relocations) {
    const Elf64_Shdr *at = &all[relocations->sh_info];
    const Elf64_Sym *symbols = (const void *)(image + all[relocations->sh_link].sh_offset);
    Elf64_Rela *r = (void *)(image + relocations->sh_offset);
    size_t kept = 0, n = relocations->sh_size / sizeof *r;
    for (size_t i = 0; i < n; i++) {
        const Elf64_Sym *s = &symbols[ELF64_R_SYM(r[i].r_info)];
        uint64_t type = ELF64_R_TYPE(r[i].r_info);
        int64_t value = (int64_t)s->st_value + r[i].r_addend - (int64_t)r[i].r_offset;
        int32_t word = (int32_t)value;
        if ((type == R_X86_64_PC32 || type == R_X86_64_PLT32) &&
            s->st_shndx == relocations->sh_info && ELF64_ST_BIND(s->st_info) == STB_LOCAL &&
            word == value && within(at->sh_size, r[i].r_offset, sizeof word))
            memcpy(image + at->sh_offset + r[i].r_offset, &word, sizeof word);
        else
            r[kept++] = r[i];
    }
    relocations->sh_size = kept * sizeof *r;
}

static void settle_all(char *image, size_t bytes) {
    const Elf64_Ehdr *e = (const void *)image;
    Elf64_Shdr *all = (void *)(image + e->e_shoff);
    for (int i = 0; i < e->e_shnum; i++) {
        Elf64_Shdr *s = &all[i];
        if (s->sh_type == SHT_RELA && s->sh_info < e->e_shnum && s->sh_link < e->e_shnum &&
            all[s->sh_info].sh_type == SHT_PROGBITS && within(bytes, s->sh_offset, s->sh_size) &&
            within(bytes, all[s->sh_info].sh_offset, all[s->sh_info].sh_size) &&
            within(bytes, all[s->sh_link].sh_offset, all[s->sh_link].sh_size))
            settle(image, all, s);
    }
}

int main(int argc, char **argv) {
    FILE *from = argc == 3 ? fopen(argv[1], "rb") : NULL;
    long bytes = -1;
    if (from && fseek(from, 0, SEEK_END) == 0) bytes = ftell(from);
    char *image = bytes >= 0 ? malloc((size_t)bytes + 1) : NULL;
    if (!image || fseek(from, 0, SEEK_SET) != 0 ||
        fread(image, 1, (size_t)bytes, from) != (size_t)bytes) {
        fprintf(stderr, "settle FROM TO: %s cannot be read\n", argc == 3 ? argv[1] : "FROM");
        return 1;
    }
    fclose(from);
    if (is_ours(image, (size_t)bytes)) settle_all(image, (size_t)bytes);
    FILE *to = fopen(argv[2], "wb");
    bool good = to && fwrite(image, 1, (size_t)bytes, to) == (size_t)bytes;
    if ((to && fclose(to) != 0) || !good) {
        fprintf(stderr, "settle FROM TO: %s cannot be written\n", argv[2]);
        return 1;
    }
    free(image);
    return 0;
}
