/* Warpgroup MMA: wgmma.mma_async, 64 rows by 8 to 256 columns by 16 k, issued by four warps
 * together, with operands in shared memory. Warp w of the four has the sums of rows 16 w to 16 w +
 * 15. The instruction is asynchronous: until it has been waited for, what it reads must not change,
 * and the registers of its sums must not be touched. PTX ISA, "Asynchronous Warpgroup Level Matrix
 * Instructions". */
#include "codegen/targets/nvptx/nvptx.h"
#include "ir/base/diag.h"
#include <string.h>

enum {
    WARPS = 4,
    MOST_COLUMNS = 256,
    K = 16,
    /* The swizzle pattern is eight rows of 64 or 128 bytes, where piece p of row r lies at p xor r
     * / 2 % 4 or p xor r % 8; which of the two is in the upper half of a descriptor. */
    ROW = 64,
    ROWS = 8,
    SWIZZLE_64 = 2 << 30,
    SWIZZLE_128 = 1 << 30,
    ALIGN = 2 * ROW * ROWS
};

/* Lane l has rows l / 4 and l / 4 + 8, and of every eight columns l % 4 * 2 and the next. In the
 * number of a value of 16 x 16 the lowest bit counts columns, the next one the two rows, the
 * highest the two halves of the columns: the order of the instruction's registers. */
static const et_layout rows_m = {.sum_m = {{0, 0, 1, 2, 4}, {0, 8}}, .sum_n = {{2, 4}, {1, 0, 8}}};
static const et_layout rows_n = {.sum_n = {{0, 0, 1, 2, 4}, {0, 8}}, .sum_m = {{2, 4}, {1, 0, 8}}};

/* A convergent call: all lanes of the warps execute it together. */
val nvptx_together(cg *g, LLVMTypeRef result, const char *text, const char *constraints, int n,
                   val *args) {
    static const char name[] = "convergent";
    LLVMTypeRef *types = et_alloc(g->arena, ((size_t)n + 1) * sizeof *types);
    for (int i = 0; i < n; i++)
        types[i] = LLVMTypeOf(args[i]);
    LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, false);
    val a = LLVMGetInlineAsm(type, text, strlen(text), constraints, strlen(constraints), true,
                             false, LLVMInlineAsmDialectATT, false);
    val call = LLVMBuildCall2(g->b, type, a, args, (unsigned)n, "");
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)-1,
                             LLVMCreateEnumAttribute(g->ctx, kind, 0));
    return call;
}

static void plain(cg *g, const char *text) {
    nvptx_together(g, g->none, text, "~{memory}", 0, NULL);
}

/* Emits TEXT, which changes N sums: they are operands $0 on, followed by the operands REST. */
static void with_sums(cg *g, const char *text, const char *rest, int n, val *sum, int nrest,
                      const val *more) {
    enum { MOST = 160, MOST_REST = 16 }; /* of one asm, for several products */
    char constraints[MOST * 12 + MOST_REST * 2 + 64] = "";
    LLVMTypeRef out[MOST];
    val args[MOST + MOST_REST];
    size_t at = 0;
    et_check(n <= MOST && nrest <= MOST_REST);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(constraints + at, sizeof constraints - at, "=f,");
    at += (size_t)snprintf(constraints + at, sizeof constraints - at, "%s", rest);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(constraints + at, sizeof constraints - at, "%d,", i);
    snprintf(constraints + at, sizeof constraints - at, "~{memory}");
    for (int i = 0; i < nrest; i++)
        args[i] = more[i];
    for (int i = 0; i < n; i++)
        args[nrest + i] = sum[i], out[i] = g->f32;
    LLVMTypeRef result = LLVMStructTypeInContext(g->ctx, out, (unsigned)n, false);
    val all = nvptx_together(g, result, text, constraints, nrest + n, args);
    for (int i = 0; i < n; i++)
        sum[i] = LLVMBuildExtractValue(g->b, all, (unsigned)i, "");
}

/* The matrix descriptor of rows of BYTES at PTR, which points at a piece of the first of eight
 * rows. ACROSS: the distance in bytes to the following columns where k runs across rows; else
 * ignored. */
static val descriptor(cg *g, int bytes, val ptr, int across) {
    val at = LLVMBuildLShr(g->b, LLVMBuildPtrToInt(g->b, ptr, g->i32, ""), cg_i32(g, 4), "");
    val low = LLVMBuildZExt(g->b, LLVMBuildAnd(g->b, at, cg_i32(g, 0x3fff), ""), g->i64, "");
    uint32_t swizzle = bytes == ROW ? SWIZZLE_64 : SWIZZLE_128;
    uint64_t lead = across ? (uint64_t)across >> 4 : 1;
    uint64_t high = (uint64_t)(swizzle | (uint32_t)(ROWS * bytes) >> 4) << 32 | lead << 16;
    return LLVMBuildOr(g->b, low, LLVMConstInt(g->i64, high, false), "");
}

/* The text of the instruction up to its sums, for N columns. FRESH: sums are overwritten, not added
 * to. */
static size_t instruction(char *text, size_t room, et_dtype operand, int n, bool fresh) {
    const char *type = operand == ET_BF16 ? "bf16" : "f16";
    size_t at = (size_t)snprintf(text, room,
                                 "{ .reg .pred p; setp.%s.b32 p, 0, 0; "
                                 "wgmma.mma_async.sync.aligned.m64n%dk16.f32.%s.%s {",
                                 fresh ? "ne" : "eq", n, type, type);
    for (int i = 0; i < n / 2; i++)
        at += (size_t)snprintf(text + at, room - at, "%s$%d", i ? ", " : "", i);
    return at;
}

enum { TEXT = MOST_COLUMNS * 3 + 300 };

static void multiply(cg *g, et_dtype operand, int bytes, val rows, val columns, int n, val *sum) {
    char text[TEXT];
    int sums = n / 2;
    size_t at = instruction(text, sizeof text, operand, n, false);
    snprintf(text + at, sizeof text - at, "}, $%d, $%d, p, 1, 1, 0, 0; }", sums, sums + 1);
    with_sums(g, text, "l,l,", sums, sum, 2,
              (val[]){descriptor(g, bytes, rows, 0), descriptor(g, bytes, columns, 0)});
}

static void multiply_held(cg *g, et_dtype operand, int bytes, const val rows[4], val columns,
                          int across, bool fresh, int n, val *sum) {
    char text[TEXT];
    int s = n / 2;
    size_t at = instruction(text, sizeof text, operand, n, fresh);
    for (int i = 0; fresh && i < s; i++)
        sum[i] = LLVMGetUndef(g->f32);
    snprintf(text + at, sizeof text - at, "}, {$%d, $%d, $%d, $%d}, $%d, p, 1, 1, %d; }", s, s + 1,
             s + 2, s + 3, s + 4, across != 0);
    with_sums(g, text, "r,r,r,r,l,", s, sum, 5,
              (val[]){rows[0], rows[1], rows[2], rows[3], descriptor(g, bytes, columns, across)});
}

static void written(cg *g) {
    plain(g, "fence.proxy.async.shared::cta;");
}

static void begin(cg *g, int n, val *sum, int words, const val *word) {
    static const char text[] = "wgmma.fence.sync.aligned;",
                      each[] = "r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,r,";
    if (n)
        with_sums(g, text, each + sizeof each - 1 - (size_t)(2 * words), n, sum, words, word);
    else
        plain(g, text);
}

/* ptxas 13.0 may reuse the registers of an operand that a loop does not change for one that is
 * computed in it. So the former is recomputed in the loop, by adding a zero that ptxas cannot prove
 * to be one. */
static void anew(cg *g, val left, int n, val *word) {
    val zero = nvptx_together(g, g->i32, "shr.u32 $0, $1, 31;", "=r,r", 1, &left);
    for (int i = 0; i < n; i++)
        word[i] =
            nvptx_together(g, g->i32, "xor.b32 $0, $1, $2;", "=r,r,r", 2, (val[]){word[i], zero});
}

static void end(cg *g) {
    plain(g, "wgmma.commit_group.sync.aligned;");
}

static void over(cg *g, int groups, int n, val *sum) {
    char text[64];
    snprintf(text, sizeof text, "wgmma.wait_group.sync.aligned %d;", groups);
    if (n)
        with_sums(g, text, "", n, sum, 0, NULL);
    else
        plain(g, text);
}

const et_warpgroup_shape nvptx_warpgroup = {
    .waves = WARPS,
    .most = MOST_COLUMNS,
    .k = K,
    .align = ALIGN,
    .rows_m = &rows_m,
    .rows_n = &rows_n,
};

const et_warpgroup_family nvptx_wgmma = {
    .written = written,
    .begin = begin,
    .multiply = multiply,
    .multiply_held = multiply_held,
    .anew = anew,
    .end = end,
    .over = over,
};
