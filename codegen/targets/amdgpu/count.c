/* Counts the machine code of each task's products: the instructions of the basic blocks that
 * contain its matrix instructions. LLVM's assembly text says how many loops each block is in. The
 * code of a tile begins with its mark (amdgpu_mark), which holds the number of the task. Blocks in
 * loops are also written as regions for llvm-mca. */
#include "codegen/emit/emit.h"
#include "codegen/targets/amdgpu/amdgpu.h"
#include <stdlib.h>
#include <string.h>

struct reader {
    et_product_code *code;
    int ncode;
    int task, depth;             /* from the last mark; -1 where it is unknown */
    bool tile;                   /* the next mark begins a tile */
    bool out;                    /* second pass: results are kept */
    long long m0;                /* the value of m0, or -1 where it is not a constant */
    int block;                   /* the number of loops around the current block */
    int64_t instructions, flops; /* in the current block, */
    int64_t f32_flops;           /* excluding products of f32, */
    bool *others; /* per task: it has products of other types, so that those of f32 do not count */
    bool codes;
    const char *block_text,
        *at;     /* in LLVM's text: the start of the block, and the position of the reader */
    FILE *loops; /* for llvm-mca, or NULL */
    et_program *whole;
};

static const char *task_name(const struct reader *r) {
    const et_program *p;
    for (int k = 0, first = 0; (p = et_program_part(r->whole, k)); first += p->ngrids, k++)
        if (r->task < first + p->ngrids) return p->grids[r->task - first].name;
    return "?";
}

static void write_region(const struct reader *r) {
    fprintf(r->loops, "# LLVM-MCA-BEGIN %s\n", task_name(r));
    fwrite(r->block_text, 1, (size_t)(r->at - r->block_text), r->loops);
    fprintf(r->loops, "# LLVM-MCA-END\n");
}

/* Beside other products those of f32 only apply scales (step/decode/unscaled.c): not counted. */
static void end_block(struct reader *r) {
    bool of_task = r->task >= 0 && r->task < r->ncode;
    if (of_task && r->flops) r->others[r->task] = true;
    if (of_task && !r->others[r->task]) r->flops = r->f32_flops;
    bool known = of_task && r->flops > 0 && r->out;
    int in_loop = r->block > r->depth;
    if (known && in_loop && r->loops) write_region(r);
    if (known && r->block <= r->depth + 1) {
        r->code[r->task].instructions[in_loop] += r->instructions;
        r->code[r->task].flops[in_loop] += r->flops;
        r->code[r->task].codes |= r->codes;
    } else if (known) {
        r->code[r->task].deeper = true;
    }
    r->instructions = r->flops = r->f32_flops = 0;
    r->codes = false;
    r->block = 0;
}

/* Flops of an instruction such as "v_mfma_f32_16x16x32_bf16", over all lanes. */
static int64_t flops_of(const char *name) {
    int m, n, k;
    if (strncmp(name, "v_mfma", 6) != 0 && strncmp(name, "v_wmma", 6) != 0) return 0;
    for (const char *p = strchr(name, '_'); p; p = strchr(p + 1, '_'))
        if (sscanf(p, "_%dx%dx%d", &m, &n, &k) == 3) return 2LL * m * n * k;
    return 0;
}

static void mark(struct reader *r) {
    if (!r->tile) {
        r->task = r->m0 < 0 || r->m0 > INT32_MAX ? -1 : (int)r->m0;
        r->depth = r->block;
    }
    r->tile = !r->tile;
}

/* The instruction at AT, N bytes of text that begin with its name. */
static void instruction(struct reader *r, const char *at, size_t n) {
    char to[8], from[32], text[96];
    snprintf(text, sizeof text, "%.*s", (int)(n < sizeof text ? n : sizeof text), at);
    size_t name = strcspn(text, " \t");
    bool operands = text[name];
    text[name] = '\0';
    int64_t flops = flops_of(text);
    r->instructions++;
    *(!strncmp(text, "v_mfma_f32_16x16x4f32", 21) || !strncmp(text, "v_mfma_f32_16x16x4_f32", 22)
          ? &r->f32_flops
          : &r->flops) += flops;
    r->codes |= flops && strstr(text, "_fp8_fp8");
    if (operands) text[name] = ' ';
    if (strncmp(text, "s_mov_b32", 9) == 0 &&
        sscanf(text, "s_mov_b32 %7[^,], %31s", to, from) == 2 && strcmp(to, "m0") == 0) {
        char *end;
        r->m0 = strtoll(from, &end, 0);
        if (*end || end == from) r->m0 = -1;
    } else if (strncmp(text, "s_ttracedata", 12) == 0) {
        mark(r);
    }
}

static void read_line(struct reader *r, const char *line, size_t n) {
    const char *depth = NULL;
    for (const char *p = line; p + 6 < line + n; p++)
        if (memcmp(p, "Depth=", 6) == 0) depth = p + 6;
    bool function = n > 0 && !strchr("\t ;.", *line);
    if (function || *line == '.' || (n > 5 && memcmp(line, "; %bb.", 6) == 0)) {
        end_block(r);
        r->block_text = line;
    }
    if (function) r->task = -1, r->tile = false;
    if (depth && atoi(depth) > r->block) r->block = atoi(depth);
    if (*line == '\t' && n > 1 && line[1] >= 'a' && line[1] <= 'z') instruction(r, line + 1, n - 1);
    r->at = line + n + 1;
}

/* Reads all of TEXT. OUT: results are kept; else it only notes which tasks have products of other
 * types. */
static void read_text(struct reader *r, LLVMMemoryBufferRef text, bool out) {
    const char *at = LLVMGetBufferStart(text), *end = at + LLVMGetBufferSize(text);
    r->out = out;
    r->task = -1;
    r->m0 = -1;
    r->block_text = r->at = at;
    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) break; /* every line ends with a newline */
        read_line(r, at, (size_t)(stop - at));
        at = stop + 1;
    }
    end_block(r);
}

/* Of N[0] + N[1] products of the task, the latter only compute sums of rows, and are left out. */
static void leave_out_sums(et_product_code *code, const int n[2]) {
    for (int k = 0; k < 2 && n[1]; k++)
        code->flops[k] = code->flops[k] * n[0] / (n[0] + n[1]);
}

bool amdgpu_count(cg *g, LLVMTargetMachineRef tm, et_product_code *out, int n, FILE *loops) {
    struct reader r = {.code = out, .ncode = n, .loops = loops, .whole = g->whole};
    LLVMModuleRef copy = LLVMCloneModule(g->mod); /* code generation changes the module */
    LLVMMemoryBufferRef text = NULL;
    char *err = NULL;
    LLVMSetTargetMachineAsmVerbosity(tm, true);
    bool ok = !LLVMTargetMachineEmitToMemoryBuffer(tm, copy, LLVMAssemblyFile, &err, &text);
    LLVMSetTargetMachineAsmVerbosity(tm, false);
    r.others = et_alloc(g->arena, (size_t)(n + 1) * sizeof *r.others);
    if (!ok) LLVMDisposeMessage(err);
    if (ok) {
        read_text(&r, text, false);
        read_text(&r, text, true);
        for (int i = 0; i < n; i++)
            leave_out_sums(&out[i], g->products[i]);
        LLVMDisposeMemoryBuffer(text);
    }
    LLVMDisposeModule(copy);
    return ok;
}
