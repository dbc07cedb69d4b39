/* loader.c - from the bytes of a code object to live memory, decoded text and symbols.
 *
 * Order: headers and architecture, segments into memory, dynamic relocations, symbols, decode. All
 * that a file says is checked against the file and against the memory it was given. */
#include "runtime/emu/memory/loader.h"

#include "runtime/emu/memory/elf.h"
#include "runtime/emu/memory/memory.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PAGE = 4096,
    MAX_SPAN = 1 << 30, /* address space of one code object */
    MAX_ALIGN = 1 << 21,
};

enum {
    REL_NONE,
    REL_ABS32_LO,
    REL_ABS32_HI,
    REL_ABS64,
    REL_REL32,
    REL_REL64,
    REL_ABS32,
    REL_REL32_LO = 10,
    REL_REL32_HI,
    REL_RELATIVE64 = 13
};

static_assert(sizeof(struct emu_descriptor) == 64, "kernel descriptor");

struct load {
    struct emu_elf elf;
    const struct emu_config *config;
    struct emu_code *code;
    uint64_t low, high; /* virtual addresses of the segments */
    uint64_t bias;      /* memory address minus virtual address */
    Elf64_Shdr symtab, strtab;
    size_t nsyms;
    hsa_status_t status;
    char *err;
};

static bool refuse(struct load *l, hsa_status_t status, const char *why) {
    l->status = status;
    snprintf(l->err, 256, "%s", why);
    return false;
}

static bool corrupt(struct load *l, const char *why) {
    return refuse(l, HSA_STATUS_ERROR_INVALID_CODE_OBJECT, why);
}

static bool check_isa(struct load *l) {
    enum { MACH = 0xff, XNACK = 0x300, XNACK_ON = 0x300, SRAMECC = 0xc00, SRAMECC_OFF = 0x800 };
    uint32_t flags = l->elf.head.e_flags;
    if ((flags & MACH) != l->config->arch->elf_mach) {
        snprintf(l->err, 256, "the code object is for %s, the device is %s",
                 emu_mach_name(flags & MACH), l->config->arch->name);
        l->status = HSA_STATUS_ERROR_INVALID_ISA;
        return false;
    }
    if ((flags & XNACK) == XNACK_ON)
        return refuse(l, HSA_STATUS_ERROR_INVALID_ISA,
                      "the code object needs XNACK, the device has it off");
    if ((flags & SRAMECC) == SRAMECC_OFF)
        return refuse(l, HSA_STATUS_ERROR_INVALID_ISA,
                      "the code object needs SRAM ECC off, the device has it on");
    return true;
}

/* The bounds of all segments, which must be in ascending order and apart. */
static bool measure(struct load *l, uint64_t *align) {
    Elf64_Phdr p;
    bool any = false;
    *align = PAGE;
    for (size_t i = 0; i < l->elf.head.e_phnum; i++) {
        if (!emu_elf_segment(&l->elf, i, &p)) return corrupt(l, l->elf.error);
        if (p.p_type != PT_LOAD || (!p.p_memsz && !p.p_filesz)) continue;
        if (!emu_elf_inside(&l->elf, p.p_offset, p.p_filesz))
            return corrupt(l, "a segment outside the file");
        if (p.p_filesz > p.p_memsz)
            return corrupt(l, "a segment larger in the file than in memory");
        if (p.p_memsz > MAX_SPAN || p.p_vaddr > UINT64_MAX - p.p_memsz)
            return corrupt(l, "a segment too large to load");
        if (any && p.p_vaddr < l->high) return corrupt(l, "segments overlap or are out of order");
        if (!any) l->low = p.p_vaddr;
        any = true;
        l->high = p.p_vaddr + p.p_memsz;
        if (l->high - l->low > MAX_SPAN) return corrupt(l, "segments too far apart to load");
        if (p.p_align & (p.p_align - 1))
            return corrupt(l, "a segment's alignment is no power of 2");
        if (p.p_align > MAX_ALIGN) return corrupt(l, "a segment's alignment is too large");
        if (p.p_align > *align) *align = p.p_align;
    }
    return any || corrupt(l, "the code object has no segments");
}

static bool place_segments(struct load *l) {
    uint64_t align;
    if (!measure(l, &align)) return false;
    uint64_t low = l->low / align * align;
    l->code->bytes = l->high - low;
    void *memory = emu_memory_alloc_zeroed(l->code->bytes, align, EMU_MEM_CODE, false);
    if (!memory)
        return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no memory for the code object");
    l->code->base = (uint64_t)memory;
    l->bias = l->code->base - low;
    Elf64_Phdr p;
    for (size_t i = 0; i < l->elf.head.e_phnum && emu_elf_segment(&l->elf, i, &p); i++) {
        if (p.p_type != PT_LOAD || !p.p_memsz) continue;
        uint8_t *to = (uint8_t *)(l->bias + p.p_vaddr);
        memcpy(to, l->elf.image + p.p_offset, p.p_filesz);
        if (!emu_memory_show_part((uint64_t)to, (uint64_t)to + p.p_memsz, p.p_flags & PF_W))
            return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "no memory for the code object");
    }
    return true;
}

/* Is [VADDR, VADDR+BYTES) inside one loaded segment that has all of FLAGS? Only what the file holds
 * of an executable segment is code. */
static bool loaded(struct load *l, uint64_t vaddr, uint64_t bytes, uint32_t flags) {
    Elf64_Phdr p;
    for (size_t i = 0; i < l->elf.head.e_phnum && emu_elf_segment(&l->elf, i, &p); i++) {
        if (p.p_type != PT_LOAD || (p.p_flags & flags) != flags) continue;
        uint64_t size = flags & PF_X ? p.p_filesz : p.p_memsz;
        if (vaddr >= p.p_vaddr && vaddr - p.p_vaddr <= size && bytes <= size - (vaddr - p.p_vaddr))
            return true;
    }
    return false;
}

static bool find_symbol_table(struct load *l) {
    for (size_t i = 0; i < l->elf.head.e_shnum; i++) {
        if (!emu_elf_section(&l->elf, i, &l->symtab)) return corrupt(l, l->elf.error);
        if (l->symtab.sh_type != SHT_DYNSYM) continue;
        if (l->symtab.sh_entsize != sizeof(Elf64_Sym) ||
            !emu_elf_inside(&l->elf, l->symtab.sh_offset, l->symtab.sh_size))
            return corrupt(l, "a damaged symbol table");
        if (!emu_elf_section(&l->elf, l->symtab.sh_link, &l->strtab))
            return corrupt(l, "a symbol table without names");
        l->nsyms = l->symtab.sh_size / sizeof(Elf64_Sym);
        return true;
    }
    return corrupt(l, "the code object has no dynamic symbol table");
}

static bool symbol_value(struct load *l, uint64_t index, uint64_t *out) {
    Elf64_Sym s;
    const char *name;
    if (index >= l->nsyms || !emu_elf_symbol(&l->elf, &l->symtab, &l->strtab, index, &s, &name))
        return corrupt(l, "a relocation against a symbol that is not there");
    if (s.st_shndx == SHN_UNDEF) {
        if (ELF64_ST_BIND(s.st_info) != STB_WEAK) {
            snprintf(l->err, 256, "undefined symbol %.200s", name);
            l->status = HSA_STATUS_ERROR_VARIABLE_UNDEFINED;
            return false;
        }
        *out = 0;
        return true;
    }
    *out = s.st_value + (s.st_shndx == SHN_ABS ? 0 : l->bias);
    return true;
}

static bool relocate(struct load *l, const Elf64_Rela *r) {
    uint64_t type = ELF64_R_TYPE(r->r_info), value = 0, place = l->bias + r->r_offset;
    if (type == REL_NONE) return true;
    bool wide = type == REL_ABS64 || type == REL_REL64 || type == REL_RELATIVE64;
    if (!loaded(l, r->r_offset, wide ? 8 : 4, 0))
        return corrupt(l, "a relocation outside every segment");
    if (type == REL_RELATIVE64)
        value = l->bias;
    else if (!symbol_value(l, ELF64_R_SYM(r->r_info), &value))
        return false;
    value += (uint64_t)r->r_addend;
    switch (type) {
    case REL_ABS64:
    case REL_ABS32_LO:
    case REL_RELATIVE64:
        break;
    case REL_ABS32_HI:
        value >>= 32;
        break;
    case REL_ABS32:
        if (value >> 32) return corrupt(l, "a 32-bit relocation whose value does not fit");
        break;
    case REL_REL64:
    case REL_REL32:
    case REL_REL32_LO:
        value -= place;
        break;
    case REL_REL32_HI:
        value = (value - place) >> 32;
        break;
    default:
        return corrupt(l, "a relocation of an unknown type");
    }
    memcpy((void *)place, &value, wide ? 8 : 4);
    return true;
}

/* The relocation table the dynamic section names, by virtual address. */
static bool find_relocations(struct load *l, uint64_t *at, uint64_t *bytes) {
    Elf64_Phdr p;
    *at = *bytes = 0;
    for (size_t i = 0; i < l->elf.head.e_phnum && emu_elf_segment(&l->elf, i, &p); i++) {
        if (p.p_type != PT_DYNAMIC) continue;
        if (!emu_elf_inside(&l->elf, p.p_offset, p.p_filesz))
            return corrupt(l, "a dynamic section outside the file");
        Elf64_Dyn d;
        for (uint64_t o = 0; o + sizeof d <= p.p_filesz; o += sizeof d) {
            memcpy(&d, l->elf.image + p.p_offset + o, sizeof d);
            if (d.d_tag == DT_NULL) break;
            if (d.d_tag == DT_RELA) *at = d.d_un.d_ptr;
            if (d.d_tag == DT_RELASZ) *bytes = d.d_un.d_val;
            if (d.d_tag == DT_RELAENT && d.d_un.d_val != sizeof(Elf64_Rela))
                return corrupt(l, "relocations of an unknown size");
        }
        return true;
    }
    return true;
}

static bool relocate_all(struct load *l) {
    uint64_t at, bytes;
    if (!find_relocations(l, &at, &bytes)) return false;
    if (bytes && !loaded(l, at, bytes, 0)) return corrupt(l, "relocations outside every segment");
    /* Copied first: a relocation may aim at the table itself. */
    size_t n = bytes / sizeof(Elf64_Rela);
    Elf64_Rela *table = malloc(n * sizeof *table + 1);
    if (!table) return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
    if (n) memcpy(table, (const void *)(l->bias + at), n * sizeof *table);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++)
        ok = relocate(l, &table[i]);
    free(table);
    return ok;
}

static bool ends_in_kd(const char *name) {
    size_t n = strlen(name);
    return n > 3 && !strcmp(name + n - 3, ".kd");
}

static bool check_kernel(struct load *l, const Elf64_Sym *s) {
    struct emu_descriptor d;
    if (s->st_size != sizeof d || s->st_value % 64 || !loaded(l, s->st_value, sizeof d, 0))
        return corrupt(l, "a damaged kernel descriptor");
    memcpy(&d, (const void *)(l->bias + s->st_value), sizeof d);
    uint64_t entry = s->st_value + (uint64_t)d.entry_offset;
    if (entry % 4 || !loaded(l, entry, 4, PF_X))
        return corrupt(l, "a kernel whose first instruction is in no executable segment");
    return true;
}

static bool add_symbol(struct load *l, const Elf64_Sym *s, const char *name) {
    struct emu_symbol *to = &l->code->symbols[l->code->nsymbols];
    *to = (struct emu_symbol){.addr = l->bias + s->st_value,
                              .bytes = s->st_size,
                              .kernel = ends_in_kd(name),
                              .global = ELF64_ST_BIND(s->st_info) != STB_LOCAL,
                              .writable = loaded(l, s->st_value, s->st_size, PF_W),
                              .code = l->code};
    if (to->kernel && !check_kernel(l, s)) return false;
    if (!to->kernel && !loaded(l, s->st_value, s->st_size, 0))
        return corrupt(l, "a variable outside every segment");
    to->name = strdup(name);
    if (!to->name) return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
    l->code->nsymbols++;
    return true;
}

static bool read_symbols(struct load *l) {
    Elf64_Sym s;
    const char *name;
    l->code->symbols = calloc(l->nsyms + 1, sizeof *l->code->symbols);
    if (!l->code->symbols) return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
    for (size_t i = 0; i < l->nsyms; i++) {
        if (!emu_elf_symbol(&l->elf, &l->symtab, &l->strtab, i, &s, &name))
            return corrupt(l, l->elf.error);
        if (ELF64_ST_TYPE(s.st_info) != STT_OBJECT || s.st_shndx == SHN_UNDEF) continue;
        if (!add_symbol(l, &s, name)) return false;
    }
    return true;
}

static bool decode(struct load *l) {
    Elf64_Phdr p;
    l->code->texts = calloc(l->elf.head.e_phnum + 1u, sizeof *l->code->texts);
    if (!l->code->texts) return refuse(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
    for (size_t i = 0; i < l->elf.head.e_phnum && emu_elf_segment(&l->elf, i, &p); i++) {
        if (p.p_type != PT_LOAD || !(p.p_flags & PF_X) || p.p_filesz < 4) continue;
        struct emu_text *t = &l->code->texts[l->code->ntexts];
        t->addr = l->bias + p.p_vaddr;
        t->bytes = p.p_filesz / 4 * 4;
        if (t->addr % 4) return corrupt(l, "an executable segment that is not aligned");
        if (!emu_program_create(l->config->arch->name, t->addr, (const void *)t->addr, t->bytes,
                                &t->program, l->err)) {
            l->status = HSA_STATUS_ERROR_INVALID_ISA;
            return false;
        }
        l->code->ntexts++;
    }
    return true;
}

/* All loaded code, to find kernels by the address packets give. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct emu_code **list;
static size_t nlist, list_room;

static bool list_add(struct emu_code *c) {
    pthread_mutex_lock(&list_lock);
    if (nlist == list_room) {
        size_t room = list_room ? list_room * 2 : 8;
        struct emu_code **bigger = realloc(list, room * sizeof(struct emu_code *));
        if (bigger) {
            list = bigger;
            list_room = room;
        }
    }
    bool ok = nlist < list_room;
    if (ok) list[nlist++] = c;
    pthread_mutex_unlock(&list_lock);
    return ok;
}

static void list_remove(struct emu_code *c) {
    pthread_mutex_lock(&list_lock);
    for (size_t i = 0; i < nlist; i++)
        if (list[i] == c) {
            list[i] = list[--nlist];
            break;
        }
    if (!nlist) {
        free(list);
        list = NULL;
        list_room = 0;
    }
    pthread_mutex_unlock(&list_lock);
}

static void destroy(struct emu_code *c) {
    for (size_t i = 0; i < c->ntexts; i++)
        emu_program_destroy(c->texts[i].program);
    for (size_t i = 0; i < c->nsymbols; i++)
        free(c->symbols[i].name);
    if (c->base) emu_memory_free((const void *)c->base, EMU_MEM_CODE);
    free(c->texts);
    free(c->symbols);
    free(c);
}

struct emu_code *emu_code_load(const void *image, size_t bytes, const struct emu_config *config,
                               hsa_status_t *status, char err[256]) {
    struct load l = {.config = config, .err = err, .code = calloc(1, sizeof *l.code)};
    *err = 0;
    if (!l.code) {
        refuse(&l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
        *status = l.status;
        return NULL;
    }
    atomic_store(&l.code->refs, 1);
    bool ok = emu_elf_open(&l.elf, image, bytes) || corrupt(&l, l.elf.error);
    ok = ok && check_isa(&l) && place_segments(&l) && find_symbol_table(&l) && relocate_all(&l) &&
         read_symbols(&l) && decode(&l);
    if (ok && !list_add(l.code))
        ok = refuse(&l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "out of memory");
    *status = l.status;
    if (ok) return l.code;
    destroy(l.code);
    return NULL;
}

void emu_code_release(struct emu_code *c) {
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1) return;
    list_remove(c);
    destroy(c);
}

const struct emu_symbol *emu_code_find_kernel(uint64_t addr) {
    const struct emu_symbol *found = NULL;
    pthread_mutex_lock(&list_lock);
    for (size_t i = 0; i < nlist && !found; i++) {
        struct emu_code *c = list[i];
        if (addr < c->base || addr - c->base >= c->bytes) continue;
        for (size_t k = 0; k < c->nsymbols && !found; k++)
            if (c->symbols[k].kernel && c->symbols[k].addr == addr) found = &c->symbols[k];
        /* One that is being destroyed has no references left to share. */
        uint32_t refs = atomic_load(&c->refs);
        while (found && refs && !atomic_compare_exchange_weak(&c->refs, &refs, refs + 1))
            continue;
        if (!refs) found = NULL;
    }
    pthread_mutex_unlock(&list_lock);
    return found;
}

const struct emu_text *emu_code_text(const struct emu_code *c, uint64_t addr) {
    for (size_t i = 0; i < c->ntexts; i++)
        if (addr >= c->texts[i].addr && addr - c->texts[i].addr < c->texts[i].bytes)
            return &c->texts[i];
    return NULL;
}

void emu_code_where(uint64_t addr, char *out, size_t n) {
    const struct emu_symbol *best = NULL;
    uint64_t best_entry = 0;
    *out = 0;
    pthread_mutex_lock(&list_lock);
    for (size_t i = 0; i < nlist; i++) {
        struct emu_code *c = list[i];
        if (addr < c->base || addr - c->base >= c->bytes) continue;
        for (size_t k = 0; k < c->nsymbols; k++) {
            struct emu_descriptor d;
            if (!c->symbols[k].kernel) continue;
            memcpy(&d, (const void *)c->symbols[k].addr, sizeof d);
            uint64_t entry = c->symbols[k].addr + (uint64_t)d.entry_offset;
            if (entry > addr || entry < best_entry) continue;
            best = &c->symbols[k];
            best_entry = entry;
        }
        if (best)
            snprintf(out, n, "%.*s+0x%llx", (int)(strlen(best->name) - 3), best->name,
                     (unsigned long long)(addr - best_entry));
    }
    pthread_mutex_unlock(&list_lock);
}
