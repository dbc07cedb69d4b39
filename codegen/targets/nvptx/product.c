/* Matrix products: mma.sync, two instructions of 16 x 8 for the 16 x 16 of a fragment; and mma.sp,
 * where one operand has two of every four k. */
#include "codegen/targets/nvptx/nvptx.h"
#include <math.h>

/* Rows of the instruction are m: lane l has l / 4 and l / 4 + 8. Its columns are n: lane l has
 * column l / 4 of each instruction j as its value j. Of the result lane l has columns l % 4 * 2 and
 * the next, in both rows. Four lanes share the k of a row, each with consecutive ones. The
 * instruction numbers them otherwise, but alike for both operands. */
static const et_layout nvptx_rows = {.k = {{1, 2}},
                                     .n = {{0, 0, 1, 4, 8}, {2}},
                                     .m = {{0, 0, 1, 2, 4}, {8}},
                                     .sum_n = {{4, 8}, {1, 2}},
                                     .sum_m = {{0, 0, 1, 2, 4}, {0, 0, 8}}};

/* Transposed, with one instruction: its rows are n, its columns are m, of which there are eight. */
static const et_layout few_rows = {.k = {{1, 2}},
                                   .n = {{0, 0, 1, 2, 4}, {8}},
                                   .m = {{0, 0, 1, 2, 4}},
                                   .sum_n = {{0, 0, 1, 2, 4}, {0, 8}},
                                   .sum_m = {{2, 4}, {1}}};

/* All sixteen rows m transposed, by two instructions. */
static const et_layout either_rows = {.k = {{1, 2}},
                                      .n = {{0, 0, 1, 2, 4}, {8}},
                                      .m = {{0, 0, 1, 2, 4}, {8}},
                                      .sum_n = {{0, 0, 1, 2, 4}, {0, 8}},
                                      .sum_m = {{2, 4}, {1, 0, 8}}};

/* The same for weights without their scale. Neighbours of the eight rows m are four apart, so that
 * lanes that read local memory together read it from other banks: rows begin 16 bytes further on in
 * these, and four lanes read 64 of each. */
static const et_layout bare_rows = {.k = {{1, 2}},
                                    .n = {{0, 0, 1, 2, 4}, {8}},
                                    .m = {{0, 0, 4, 1, 2}},
                                    .sum_n = {{0, 0, 1, 2, 4}, {0, 8}},
                                    .sum_m = {{1, 2}, {4}}};
static const et_layout bare_rows16 = {.k = {{1, 2}},
                                      .n = {{0, 0, 1, 2, 4}, {8}},
                                      .m = {{0, 0, 4, 1, 2}, {8}},
                                      .sum_n = {{0, 0, 1, 2, 4}, {0, 8}},
                                      .sum_m = {{1, 2}, {4, 0, 8}}};

static const struct nvptx_product nvptx_bf16 = {"llvm.nvvm.mma.m16n8k16.row.col.bf16", NVPTX_WORDS,
                                                false};
static const struct nvptx_product nvptx_f16 = {"llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
                                               NVPTX_F16_PAIRS, false};
static const struct nvptx_product nvptx_f32 = {"llvm.nvvm.mma.m16n8k8.row.col.tf32", NVPTX_WORDS,
                                               true};

static const struct nvptx_packed packed_bf16 = {
    "llvm.nvvm.mma.sp.m16n8k32.row.col.bf16",
    "llvm.nvvm.mma.sp.ordered.metadata.m16n8k32.row.col.bf16", false};
static const struct nvptx_packed packed_f16 = {
    "llvm.nvvm.mma.sp.m16n8k32.row.col.f32.f32",
    "llvm.nvvm.mma.sp.ordered.metadata.m16n8k32.row.col.f32.f32", true};

static const et_fragment nvptx_few_bf16 = {ET_BF16, 4, &few_rows, &nvptx_bf16, NULL, &packed_bf16};
static const et_fragment nvptx_few_f16 = {ET_F16, 4, &few_rows, &nvptx_f16, NULL, &packed_f16};
const et_fragment nvptx_fragments[] = {
    {ET_BF16, 4, &nvptx_rows, &nvptx_bf16, &nvptx_few_bf16, NULL},
    {ET_F16, 4, &nvptx_rows, &nvptx_f16, &nvptx_few_f16, NULL},
    {ET_F32, 2, &nvptx_rows, &nvptx_f32, NULL, NULL},
};

const et_fragment nvptx_either[NVPTX_EITHER] = {
    {ET_BF16, 4, &either_rows, &nvptx_bf16, &nvptx_few_bf16, &packed_bf16},
    {ET_F16, 4, &either_rows, &nvptx_f16, &nvptx_few_f16, &packed_f16},
};

const et_fragment nvptx_bare[] = {
    {ET_BF16, 4, &bare_rows, &nvptx_bf16, NULL, NULL},
    {ET_BF16, 4, &bare_rows16, &nvptx_bf16, NULL, NULL},
};

enum {
    ROWS = 2,
    INSTRUCTIONS = 2,
    WORDS = 2
};                 /* rows of m in a lane; instructions along n; words of a row in a lane */
enum { SUMS = 4 }; /* of one instruction in one lane */

/* The operands of one instruction, in words. */
struct operands {
    val m[ROWS][WORDS], n[INSTRUCTIONS][WORDS];
};

/* Word I of V, in the type that the instruction takes. */
static val word(cg *g, const struct nvptx_product *p, int words, val v, int i) {
    LLVMTypeRef all = LLVMVectorType(g->i32, (unsigned)words);
    val w = cg_extract(g, LLVMBuildBitCast(g->b, v, all, ""), i);
    if (p->operands == NVPTX_WORDS) return w;
    return LLVMBuildBitCast(g->b, w, LLVMVectorType(g->f16, 2), "");
}

/* ACC plus the products of M and N. In the number of a sum the lowest bit counts columns, the next
 * bits instructions, the highest rows. */
static val products(cg *g, const struct nvptx_product *p, const struct operands *m,
                    const struct operands *n, val acc) {
    for (int j = 0; j < INSTRUCTIONS; j++) {
        val args[10] = {m->m[0][0], m->m[1][0], m->m[0][1], m->m[1][1], n->n[j][0], n->n[j][1]};
        int at[4] = {2 * j, 2 * j + 1, 2 * j + 4, 2 * j + 5};
        for (int i = 0; i < 4; i++)
            args[6 + i] = cg_extract(g, acc, at[i]);
        val sum = cg_call(g, p->name, 0, NULL, 10, args);
        for (int i = 0; i < 4; i++)
            acc = LLVMBuildInsertElement(
                g->b, acc, LLVMBuildExtractValue(g->b, sum, (unsigned)i, ""), cg_i32(g, at[i]), "");
    }
    return acc;
}

/* V rounded to eleven significant bits, as a tf32 word and as its value. */
static val rounded(cg *g, val v, val *out_value) {
    val w = cg_call(g, "llvm.nvvm.f2tf32.rna", 0, NULL, 1, &v);
    *out_value = LLVMBuildBitCast(g->b, w, g->f32, "");
    return w;
}

/* The same for what is not NaN, by two instructions of integers: a conversion takes as long as four
 * of these. A NaN may be zero then; what is left over of it is NaN. */
static val rounded_as_integer(cg *g, val v, val *out_value) {
    enum { HALF = 1 << 12 };
    val w = LLVMBuildBitCast(g->b, v, g->i32, "");
    w = LLVMBuildAnd(g->b, cg_addi(g, w, HALF), cg_i32(g, -2 * HALF), "");
    *out_value = LLVMBuildBitCast(g->b, w, g->f32, "");
    return w;
}

/* An f32 as the sum of two of tf32, exact to 2^-24; FINITE is the first, or zero where V is
 * infinite: what an infinity is multiplied by has a second part, which may be zero. */
static void split(cg *g, val v, val *high, val *low, val *finite) {
    const double most = 0x1.ffdffep+127; /* more is rounded up to infinity */
    val x = LLVMBuildBitCast(g->b, v, g->f32, ""), first, rest;
    if (g->finite) {
        *high = *finite = rounded_as_integer(g, v, &first);
        /* The instruction leaves out the low bits of a word: no more than 2^-22 of the value. */
        *low = LLVMBuildBitCast(g->b, LLVMBuildFSub(g->b, x, first, ""), g->i32, "");
        return;
    }

    val size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, &x);
    val is = LLVMBuildFCmp(g->b, LLVMRealOEQ, size, cg_f32(g, INFINITY), "");
    x = cg_select(g, is, cg_f32(g, 0), x);
    val up = cg_call(g, "llvm.maximum", 1, &g->f32, 2, (val[]){x, cg_f32(g, -most)});
    *finite =
        rounded(g, cg_call(g, "llvm.minimum", 1, &g->f32, 2, (val[]){up, cg_f32(g, most)}), &first);
    *high = cg_select(g, is, LLVMBuildBitCast(g->b, v, g->i32, ""), *finite);
    *low = rounded(g, LLVMBuildFSub(g->b, x, first, ""), &rest);
}

/* The same of V that is a tf32 as it is. */
static void whole(cg *g, val v, val *high, val *finite) {
    val x = LLVMBuildBitCast(g->b, v, g->f32, ""),
        size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, &x);
    val is = LLVMBuildFCmp(g->b, LLVMRealOEQ, size, cg_f32(g, INFINITY), "");
    *high = *finite = LLVMBuildBitCast(g->b, v, g->i32, "");
    if (!g->finite) *finite = cg_select(g, is, cg_i32(g, 0), *high);
}

/* (a + a') (b + b') without a' b', the smallest terms first. */
static val split_products(cg *g, const struct nvptx_product *p, const struct operands *all,
                          val acc) {
    struct operands high, low, finite;
    for (int i = 0; i < ROWS; i++)
        for (int k = 0; k < WORDS; k++) {
            split(g, all->m[i][k], &high.m[i][k], &low.m[i][k], &finite.m[i][k]);
            if (g->narrow)
                whole(g, all->n[i][k], &high.n[i][k], &finite.n[i][k]);
            else
                split(g, all->n[i][k], &high.n[i][k], &low.n[i][k], &finite.n[i][k]);
        }
    acc = products(g, p, &low, &finite, acc);
    if (!g->narrow) acc = products(g, p, &finite, &low, acc);
    return products(g, p, &high, &high, acc);
}

/* Emits an instruction that updates two sums, number FIRST of ACC and the next; NSUM of its
 * arguments come before them. */
static val into(cg *g, const char *name, int nargs, val *args, int nsum, val acc, int first) {
    for (int i = 0; i < SUMS; i++)
        args[nsum + i] = cg_extract(g, acc, first + i);
    val sum = cg_call(g, name, 0, NULL, nargs, args);
    for (int i = 0; i < SUMS; i++)
        acc = LLVMBuildInsertElement(g->b, acc, LLVMBuildExtractValue(g->b, sum, (unsigned)i, ""),
                                     cg_i32(g, first + i), "");
    return acc;
}

/* ACC plus the products, transposed: rows of the instruction are n; each instruction has eight rows
 * m and updates the next vector of sums. */
static val transposed_products(cg *g, const et_fragment *fr, int lane_k, const val *n, const val *m,
                               val acc) {
    const struct nvptx_product *p = fr->own;
    int steps = lane_k / fr->lane_k, words = steps * WORDS, cols = et_deal_values(&fr->layout->m);
    int all = (int)LLVMGetVectorSize(LLVMTypeOf(acc));
    for (int s = 0; s < steps; s++)
        for (int j = 0; j < cols; j++) {
            val args[10];
            for (int i = 0; i < 4; i++)
                args[i] = word(g, p, words, n[i % 2], s * WORDS + i / 2);
            for (int k = 0; k < WORDS; k++)
                args[4 + k] = word(g, p, words, m[j], s * WORDS + k);
            acc = into(g, p->name, 10, args, 6, acc, (s * cols + j) * SUMS % all);
        }
    return acc;
}

val nvptx_multiply(cg *g, const et_fragment *fr, int lane_k, const val *n, const val *m, val acc) {
    if (fr->layout != &nvptx_rows) return transposed_products(g, fr, lane_k, n, m, acc);
    const struct nvptx_product *p = fr->own;
    int steps = lane_k / fr->lane_k, words = steps * WORDS;
    for (int s = 0; s < steps; s++) {
        struct operands o;
        for (int i = 0; i < ROWS; i++)
            for (int k = 0; k < WORDS; k++) {
                o.m[i][k] = word(g, p, words, m[i], s * WORDS + k);
                o.n[i][k] = word(g, p, words, n[i], s * WORDS + k);
            }
        acc = p->split ? split_products(g, p, &o, acc) : products(g, p, &o, &o, acc);
    }
    return acc;
}

/* Word I of V, in the type that mma.sp takes. */
static val packed_word(cg *g, const struct nvptx_packed *p, val v, int i) {
    val w = cg_extract(g, v, i);
    return p->f16 ? LLVMBuildBitCast(g->b, w, LLVMVectorType(g->f16, 2), "") : w;
}

/* Two instructions of 32 k each. Of four lanes the first two provide the indices of one, the others
 * those of the other, both rows in a word. */
val nvptx_multiply_packed(cg *g, const et_fragment *fr, const val *n, const val *index,
                          const val *m, val acc) {
    enum { OPERANDS = 8, ARGS = 14 };
    const struct nvptx_packed *p = fr->packed;
    const char *name = nvptx_of(g)->ordered ? p->ordered : p->name;
    int cols = et_deal_values(&fr->layout->m), all = (int)LLVMGetVectorSize(LLVMTypeOf(acc));
    val rows = LLVMBuildOr(g->b, index[0], LLVMBuildShl(g->b, index[1], cg_i32(g, 16), ""), "");
    for (int s = 0; s < 2; s++)
        for (int j = 0; j < cols; j++) {
            val args[ARGS];
            for (int i = 0; i < 4; i++) {
                args[i] = packed_word(g, p, n[i % 2], 2 * s + i / 2);
                args[4 + i] = packed_word(g, p, m[j], 4 * s + i);
            }
            args[ARGS - 2] = rows;
            args[ARGS - 1] = cg_i32(g, s);
            acc = into(g, name, ARGS, args, OPERANDS, acc, (s * cols + j) * SUMS % all);
        }
    return acc;
}

void nvptx_multiply8(cg *g, et_dtype t, const val m[4], const val n[2], val sum[4]) {
    const struct nvptx_product *p = t == ET_F16 ? &nvptx_f16 : &nvptx_bf16;
    val args[10];
    for (int i = 0; i < 6; i++) {
        args[i] = i < 4 ? m[i] : n[i - 4];
        if (p->operands == NVPTX_F16_PAIRS)
            args[i] = LLVMBuildBitCast(g->b, args[i], LLVMVectorType(g->f16, 2), "");
    }
    for (int i = 0; i < 4; i++)
        args[6 + i] = sum[i];
    val all = cg_call(g, p->name, 0, NULL, 10, args);
    for (int i = 0; i < 4; i++)
        sum[i] = LLVMBuildExtractValue(g->b, all, (unsigned)i, "");
}

void nvptx_load_blocks(cg *g, val ptr, val word[4]) {
    LLVMTypeRef t = LLVMTypeOf(ptr);
    val all = cg_call(g, "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16", 1, &t, 1, &ptr);
    for (unsigned i = 0; i < 4; i++)
        word[i] = LLVMBuildExtractValue(g->b, all, i, "");
}
