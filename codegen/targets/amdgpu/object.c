/* The code object: LLVM's object file, linked by ld.lld, with the manifest; and facts read back
 * from it. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include "codegen/targets/tool.h"
#include "ir/base/diag.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* ---- the manifest ---- */

/* In a section that is not loaded. Module-level assembly is the only way to a section without the
 * alloc flag. */
void amdgpu_embed(cg *g, const char *manifest) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    int column = 0;
    fprintf(f, ".section %s,\"\",@progbits\n", ETRT_MANIFEST_SECTION);
    for (const char *s = manifest; *s; s++) {
        if (column == 0) column = fprintf(f, ".ascii \"");
        if (*s == '"' || *s == '\\')
            column += fprintf(f, "\\%c", *s);
        else if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
            column += fprintf(f, "\\%03o", (unsigned char)*s);
        else
            column += fprintf(f, "%c", *s);
        if (column > 400 || !s[1]) {
            fprintf(f, "\"\n");
            column = 0;
        }
    }
    fprintf(f, ".text\n");
    et_check(fclose(f) == 0);
    LLVMAppendModuleInlineAsm(g->mod, text, bytes);
    free(text);
}

/* ---- the linker ---- */

static const char *linker(void) {
    const char *env = getenv("ETCC_LLD");
    return env && *env ? env : ETCC_LLD_PATH;
}

static char *run_linker(cg *g, const char *object, size_t object_bytes, size_t *out_bytes) {
    const char *argv[] = {
        linker(), "-shared", "--no-undefined", "--build-id=none", "/dev/stdin", "-o", "-", NULL};
    char *said, *file = et_tool_run(g->arena, argv, object, object_bytes, out_bytes, &said);
    if (!file) cg_error(g, "%s %s", argv[0], said);
    return file;
}

/* ---- the file ---- */

char *amdgpu_package(cg *g, LLVMTargetMachineRef tm, size_t *out_bytes) {
    char *err = NULL, *file = NULL;
    LLVMMemoryBufferRef object = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, g->mod, LLVMObjectFile, &err, &object)) {
        cg_error(g, "cannot emit machine code: %s", err);
        LLVMDisposeMessage(err);
        return NULL;
    }
    cg_stage(g, "machine code");
    if (!et_diag_errors(g->p->g->diags))
        file = run_linker(g, LLVMGetBufferStart(object), LLVMGetBufferSize(object), out_bytes);
    LLVMDisposeMemoryBuffer(object);
    cg_stage(g, "link");
    return file;
}

/* ---- facts from the file ---- */

/* The integer that follows KEY in a MessagePack map. */
static int note_value(const char *note, size_t n, const char *key) {
    size_t len = strlen(key);
    for (size_t i = 0; i + len + 6 < n; i++) {
        const unsigned char *p = (const unsigned char *)note + i;
        if (p[0] != (0xa0 | len) || memcmp(p + 1, key, len) != 0) continue;
        p += 1 + len;
        if (p[0] < 0x80) return p[0];
        if (p[0] == 0xcc) return p[1];
        if (p[0] == 0xcd) return p[1] << 8 | p[2];
        if (p[0] == 0xce) return (int)((uint32_t)p[1] << 24 | p[2] << 16 | p[3] << 8 | p[4]);
    }
    return 0;
}

void amdgpu_inspect(cg *g, const char *f, size_t n, et_codegen_info *info) {
    (void)g;
    if (n < sizeof(Elf64_Ehdr)) return;
    info->file_bytes = (int64_t)n;
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)f;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(f + h->e_shoff);
    const char *names = f + s[h->e_shstrndx].sh_offset;
    for (int i = 0; i < h->e_shnum; i++) {
        if (strcmp(names + s[i].sh_name, ".text") == 0) info->text_bytes = (int64_t)s[i].sh_size;
        if (s[i].sh_type != SHT_NOTE) continue;
        const char *note = f + s[i].sh_offset;
        info->vgprs = note_value(note, s[i].sh_size, ".vgpr_count");
        info->sgprs = note_value(note, s[i].sh_size, ".sgpr_count");
        info->agprs = note_value(note, s[i].sh_size, ".agpr_count");
        info->lds_bytes = note_value(note, s[i].sh_size, ".group_segment_fixed_size");
        info->scratch_bytes = note_value(note, s[i].sh_size, ".private_segment_fixed_size");
    }
}
