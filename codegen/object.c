/* From the LLVM module to the code object on disk: optimise, emit, link, look at what came out. */
#include "codegen/internal.h"
#include "ir/base/clock.h"
#include "ir/base/diag.h"
#include "ir/base/output.h"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void stage(cg *g, const char *name, double *since) {
    double now = et_seconds();
    if (g->opt->time_passes) fprintf(stderr, "  %-24s %8.3f s\n", name, now - *since);
    *since = now;
}

/* ---- LLVM ---- */

static LLVMTargetMachineRef machine(cg *g) {
    LLVMTargetRef target;
    char *err = NULL;
    if (LLVMGetTargetFromTriple(g->t->triple, &target, &err)) {
        cg_error(g, "LLVM has no target %s: %s", g->t->triple, err);
        LLVMDisposeMessage(err);
        return NULL;
    }
    static const LLVMCodeGenOptLevel level[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                LLVMCodeGenLevelDefault,
                                                LLVMCodeGenLevelAggressive};
    return LLVMCreateTargetMachine(target, g->t->triple, g->t->name, g->t->features,
                                   level[g->opt->opt_level & 3], LLVMRelocPIC,
                                   LLVMCodeModelDefault);
}

static bool optimise(cg *g, LLVMTargetMachineRef tm) {
    char passes[32], *err = NULL;
    snprintf(passes, sizeof passes, "default<O%d>", g->opt->opt_level & 3);
#ifndef NDEBUG
    bool verify = true;
#else
    bool verify = getenv("ETCC_VERIFY") != NULL;
#endif
    if (verify && LLVMVerifyModule(g->mod, LLVMReturnStatusAction, &err)) {
        cg_error(g, "internal error: codegen made invalid LLVM IR: %s", err);
        LLVMDisposeMessage(err);
        return false;
    }
    LLVMDisposeMessage(err);
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopUnrolling(o, false); /* steps unroll what is worth it */
    LLVMPassBuilderOptionsSetLoopVectorization(o, false);
    LLVMPassBuilderOptionsSetSLPVectorization(o, false);
    LLVMErrorRef e = LLVMRunPasses(g->mod, passes, tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (!e) return true;
    char *msg = LLVMGetErrorMessage(e);
    cg_error(g, "LLVM cannot run its passes: %s", msg);
    LLVMDisposeErrorMessage(msg);
    return false;
}

static bool write_ir(cg *g) {
    if (!g->opt->emit_llvm) return true;
    et_output f;
    char *text = LLVMPrintModuleToString(g->mod);
    bool ok =
        et_output_open(&f, g->opt->emit_llvm) && et_output_close(&f, fputs(text, f.to) != EOF);
    LLVMDisposeMessage(text);
    if (!ok) cg_error(g, "cannot write %s: %s", g->opt->emit_llvm, strerror(errno));
    return ok;
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

static void inspect(cg *g, const char *path, et_codegen_info *info) {
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

/* ---- all together ---- */

static bool emit(cg *g, LLVMTargetMachineRef tm, const char *obj, const char *tmp, double *t) {
    if (!cg_link_devlibs(g)) return false;
    stage(g, "device libraries", t);
    if (!optimise(g, tm)) return false;
    stage(g, "optimise", t);
    if (!write_ir(g)) return false;
    if (!obj) return true;
    char *err = NULL;
    if (LLVMTargetMachineEmitToFile(tm, g->mod, (char *)obj, LLVMObjectFile, &err)) {
        cg_error(g, "cannot emit machine code: %s", err);
        LLVMDisposeMessage(err);
        return false;
    }
    stage(g, "machine code", t);
    if (et_diag_errors(g->p->g->diags)) return false;
    if (!run_linker(g, obj, tmp)) return false;
    stage(g, "link", t);
    return true;
}

bool cg_object(cg *g, et_codegen_info *info) {
    double t = et_seconds();
    LLVMTargetMachineRef tm = machine(g);
    if (!tm) return false;
    const char *out = g->opt->output;
    if (!out) { /* the IR was all that was asked for */
        bool done = emit(g, tm, NULL, NULL, &t);
        LLVMDisposeTargetMachine(tm);
        return done;
    }
    char stem[PATH_MAX], *obj = NULL;
    int fd = -1;
    if (et_output_stem(out, stem)) {
        obj = et_printf(g->arena, "%s.XXXXXX.o", stem);
        fd = mkstemps(obj, 2);
    }
    if (fd < 0) {
        cg_error(g, "cannot write %s: %s", out, strerror(errno));
        LLVMDisposeTargetMachine(tm);
        return false;
    }
    close(fd);
    char *tmp = et_printf(g->arena, "%s.so", obj);
    bool ok = emit(g, tm, obj, tmp, &t);
    LLVMDisposeTargetMachine(tm);
    if (ok) inspect(g, tmp, info);
    if (ok && !et_output_move(tmp, out)) {
        cg_error(g, "cannot write %s: %s", out, strerror(errno));
        ok = false;
    }
    unlink(obj);
    if (!ok) unlink(tmp);
    return ok;
}
