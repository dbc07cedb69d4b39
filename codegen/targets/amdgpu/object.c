/* The code object: LLVM's object file, linked by ld.lld; the manifest inside; what came out. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include "ir/base/diag.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* ---- the manifest ---- */

/* In a section that is not loaded, as module-level assembly: the only way to one without the alloc
 * flag. */
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

static bool run_linker(cg *g, const char *obj, const char *out) {
    const char *ld = linker();
    char *argv[] = {(char *)ld,  "-shared", "--no-undefined", "--build-id=none",
                    (char *)obj, "-o",      (char *)out,      NULL};
    int fd[2];
    if (pipe2(fd, O_CLOEXEC)) {
        cg_error(g, "cannot start %s: %s", ld, strerror(errno));
        return false;
    }
    posix_spawn_file_actions_t fa;
    posix_spawn_file_actions_init(&fa);
    posix_spawn_file_actions_adddup2(&fa, fd[1], 2);
    pid_t pid;
    int err = posix_spawnp(&pid, ld, &fa, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&fa);
    close(fd[1]);
    if (err) {
        close(fd[0]);
        cg_error(g, "cannot start the linker %s: %s", ld, strerror(err));
        return false;
    }
    char said[2048], rest[512];
    size_t n = 0;
    for (ssize_t k; (k = n + 1 < sizeof said ? read(fd[0], said + n, sizeof said - 1 - n)
                                             : read(fd[0], rest, sizeof rest)) != 0;)
        if (k < 0 && errno != EINTR)
            break;
        else if (k > 0 && n + 1 < sizeof said)
            n += (size_t)k;
    said[n] = 0;
    close(fd[0]);
    int status;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    cg_error(g, "%s failed%s%s", ld, n ? ": " : "", said);
    return false;
}

/* ---- the file ---- */

bool amdgpu_package(cg *g, LLVMTargetMachineRef tm, const char *path) {
    char *err = NULL, *obj = et_printf(g->arena, "%s.o", path);
    bool ok = !LLVMTargetMachineEmitToFile(tm, g->mod, obj, LLVMObjectFile, &err);
    if (!ok) {
        cg_error(g, "cannot emit machine code: %s", err);
        LLVMDisposeMessage(err);
    }
    cg_stage(g, "machine code");
    ok = ok && !et_diag_errors(g->p->g->diags) && run_linker(g, obj, path);
    cg_stage(g, "link");
    unlink(obj);
    return ok;
}

/* ---- facts from the file ---- */

static char *read_file(cg *g, const char *path, size_t *out_bytes) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f) return NULL;
    char *buf = fstat(fileno(f), &st) ? NULL : et_alloc(g->arena, (size_t)st.st_size + 1);
    if (buf && fread(buf, 1, (size_t)st.st_size, f) != (size_t)st.st_size) buf = NULL;
    fclose(f);
    *out_bytes = buf ? (size_t)st.st_size : 0;
    return buf;
}

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

void amdgpu_inspect(cg *g, const char *path, et_codegen_info *info) {
    size_t n;
    const char *f = read_file(g, path, &n);
    if (!f || n < sizeof(Elf64_Ehdr)) return;
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
