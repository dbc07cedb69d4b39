/* The file: PTX from LLVM, or the cubin that ptxas makes of it, with the manifest inside. */
#include "codegen/targets/nvptx/nvptx.h"
#include "codegen/targets/tool.h"
#include "ir/base/diag.h"
#include <llvm-c/TargetMachine.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the manifest ---- */

/* The runtime finds it by its name in PTX; a cubin contains its bytes unchanged. */
void nvptx_embed(cg *g, const char *manifest) {
    size_t n = strlen(manifest);
    val text = LLVMConstStringInContext2(g->ctx, manifest, n, true);
    val array = LLVMAddGlobalInAddressSpace(g->mod, LLVMTypeOf(text), ETRT_MANIFEST_ARRAY,
                                            g->family->global);
    LLVMSetInitializer(array, text);
    LLVMSetGlobalConstant(array, true);
    LLVMSetAlignment(array, 1);
}

/* ---- the assembler ---- */

/* Is PATH a program? */
static bool is_program(const char *path) {
    return access(path, X_OK) == 0;
}

/* Found in PATH, then where CUDA is installed; NULL where there is none. */
static const char *find_assembler(cg *g) {
    const char *path = getenv("PATH"), *cuda = getenv("CUDA_HOME");
    char *list = et_printf(g->arena, "%s:%s/bin:/usr/local/cuda/bin:/opt/cuda/bin",
                           path ? path : "", cuda && *cuda ? cuda : "/usr/local/cuda");
    for (char *dir; (dir = strsep(&list, ":"));) {
        const char *file = et_printf(g->arena, "%s/ptxas", *dir ? dir : ".");
        if (is_program(file)) return file;
    }
    return NULL;
}

static const char *assembler(cg *g) {
    const char *given = g->opt->assembler, *found = given ? given : find_assembler(g);
    if (found) return found;
    cg_error(g, "there is no ptxas, which makes machine code for %s", g->t->name);
    et_diag(g->p->g->diags, ET_NOTE, (et_loc){0},
            "-o NAME.ptx writes PTX, which the driver translates when it is loaded; --ptxas names "
            "the one of a CUDA toolkit");
    return NULL;
}

/* The largest number that stands before WHAT in TEXT, or 0. */
static int number_before(const char *text, const char *what) {
    int most = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what)) {
        const char *digits = at;
        while (digits > text && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        int n = atoi(digits);
        most = n > most ? n : most;
    }
    return most;
}

/* Warnings of the assembler are passed on to the user. */
static void pass_warnings(cg *g, const char *said) {
    char *rest = et_strdup(g->arena, said);
    for (char *line; (line = strsep(&rest, "\n"));)
        if (strstr(line, "arning")) et_diag(g->p->g->diags, ET_WARNING, (et_loc){0}, "%s", line);
}

static char *assemble(cg *g, const char *ptx, size_t bytes, size_t *out_bytes) {
    const char *ptxas = assembler(g);
    if (!ptxas) return NULL;
    char *arch = et_printf(g->arena, "-arch=%s", nvptx_processor(g));
    const char *argv[] = {ptxas, arch, "-v", "/dev/stdin", "-o", "/dev/stdout", NULL};
    char *said, *file = et_tool_run(g->arena, argv, ptx, bytes, out_bytes, &said);
    if (!file) {
        cg_error(g, "%s %s", ptxas, said);
        return NULL;
    }
    pass_warnings(g, said);
    g->told = said;
    return file;
}

/* ---- the file ---- */

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);
    return n >= m && strcmp(s + n - m, end) == 0;
}

static bool wants_text(const cg *g) {
    return ends_in(g->opt->output, ".ptx");
}

static char *copy_of(const char *from, size_t bytes) {
    char *to = malloc(bytes + 1);
    if (!to) et_bug("out of memory");
    memcpy(to, from, bytes);
    return to;
}

char *nvptx_package(cg *g, LLVMTargetMachineRef tm, size_t *out_bytes) {
    char *err = NULL, *file = NULL;
    LLVMMemoryBufferRef ptx = NULL;
    if (LLVMTargetMachineEmitToMemoryBuffer(tm, g->mod, LLVMAssemblyFile, &err, &ptx)) {
        cg_error(g, "cannot emit PTX: %s", err);
        LLVMDisposeMessage(err);
        return NULL;
    }
    cg_stage(g, "PTX");
    const char *text = LLVMGetBufferStart(ptx);
    size_t bytes = LLVMGetBufferSize(ptx);
    if (!et_diag_errors(g->p->g->diags)) {
        *out_bytes = bytes;
        file = wants_text(g) ? copy_of(text, bytes) : assemble(g, text, bytes, out_bytes);
        cg_stage(g, "assembler");
    }
    LLVMDisposeMemoryBuffer(ptx);
    return file;
}

/* PTX has virtual registers only; what the assembler reports is of the machine code. */
void nvptx_inspect(cg *g, const char *file, size_t bytes, et_codegen_info *info) {
    (void)file;
    info->file_bytes = (int64_t)bytes;
    info->lds_bytes = g->lds_bytes;
    if (!g->told) return;
    info->vgprs = number_before(g->told, " registers");
    info->scratch_bytes = number_before(g->told, " bytes stack frame");
}
