/* Matrix products: multiplies a fragment of each operand and adds to a sum. */
#include "codegen/targets/amdgpu/amdgpu.h"
#include <string.h>

const struct amdgpu_product amdgpu_mfma_bf16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16bf16.1k",
                                                AMDGPU_I16};
const struct amdgpu_product amdgpu_mfma_f16 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x16f16",
                                               AMDGPU_F16};
const struct amdgpu_product amdgpu_mfma_f32 = {AMDGPU_MFMA, "llvm.amdgcn.mfma.f32.16x16x4f32",
                                               AMDGPU_F32};
const struct amdgpu_product amdgpu_smfmac_bf16 = {
    AMDGPU_SMFMAC, "llvm.amdgcn.smfmac.f32.16x16x32.bf16", AMDGPU_I16};
const struct amdgpu_product amdgpu_smfmac_f16 = {AMDGPU_SMFMAC,
                                                 "llvm.amdgcn.smfmac.f32.16x16x32.f16", AMDGPU_F16};
const struct amdgpu_product amdgpu_wmma_bf16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.bf16",
                                                AMDGPU_I16};
const struct amdgpu_product amdgpu_wmma_f16 = {AMDGPU_WMMA, "llvm.amdgcn.wmma.f32.16x16x16.f16",
                                               AMDGPU_F16};
const struct amdgpu_product amdgpu_fma_f32 = {
    AMDGPU_FMA, "v_fmac_f32_dpp $0, $1, $2 row_share:%d row_mask:0xf bank_mask:0xf", AMDGPU_F32};

/* In all layouts lane l has sums of consecutive rows n, and of m = l % 16. */

const et_layout amdgpu_rows_64 = {.k = {{0, 0, 0, 0, 1, 2}},
                                  .n = {{1, 2, 4, 8}},
                                  .m = {{1, 2, 4, 8}},
                                  .sum_n = {{0, 0, 0, 0, 4, 8}, {1, 2}},
                                  .sum_m = {{1, 2, 4, 8}}};

const et_layout amdgpu_rows_32 = {.k = {{0, 0, 0, 0, 1}},
                                  .n = {{1, 2, 4, 8}},
                                  .m = {{1, 2, 4, 8}},
                                  .sum_n = {{0, 0, 0, 0, 8}, {1, 2, 4}},
                                  .sum_m = {{1, 2, 4, 8}}};

/* Rows of the first operand are loaded in the order that undoes how the instruction deals the
 * results. */
const et_layout amdgpu_rows_paired = {.n = {{8, 1, 2, 4}},
                                      .m = {{1, 2, 4, 8}},
                                      .sum_n = {{0, 0, 0, 0, 8}, {1, 2, 4}},
                                      .sum_m = {{1, 2, 4, 8}}};

/* Lane v of a half wave holds the row of that half's result number v. */
const et_layout amdgpu_rows_transposed = {.n = {{1, 2, 4, 8, 8}},
                                          .m = {{1, 2, 4, 8}},
                                          .sum_n = {{0, 0, 0, 0, 8}, {1, 2, 4}},
                                          .sum_m = {{1, 2, 4, 8}}};

/* Part I of V: eight values of 8 bits. CLEAN: they may contain minus zero, which becomes zero. */
static val operand_codes(cg *g, const struct amdgpu_product *p, int lane_k, val v, int i,
                         bool clean) {
    val word[2];
    v = LLVMBuildBitCast(g->b, v, LLVMVectorType(g->i32, (unsigned)lane_k / 4), "");
    for (int w = 0; w < 2; w++) {
        word[w] = cg_extract(g, v, 2 * i + w);
        if (clean && p->element == AMDGPU_FNUZ) word[w] = amdgpu_clean_codes(g, word[w]);
    }
    val two = cg_vector(g, g->i32, 2, word);
    return p->kind == AMDGPU_WMMA ? two : LLVMBuildBitCast(g->b, two, g->i64, "");
}

/* Part I of V, with LANE_K k in a lane, as the instruction takes it. WEIGHT: it is as loaded from
 * memory. */
static val operand(cg *g, const et_fragment *fr, int lane_k, val v, int i, bool weight) {
    const struct amdgpu_product *p = fr->own;
    if (p->element >= AMDGPU_CODES) return operand_codes(g, p, lane_k, v, i, weight);
    const LLVMTypeRef type[] = {[AMDGPU_F32] = g->f32,
                                [AMDGPU_F16] = g->f16,
                                [AMDGPU_BF16] = g->bf16,
                                [AMDGPU_I16] = g->i16};
    LLVMTypeRef e = type[p->element];
    int n = fr->lane_k;
    LLVMTypeRef all = lane_k == 1 ? e : LLVMVectorType(e, (unsigned)lane_k);
    v = LLVMBuildBitCast(g->b, v, all, "");
    if (lane_k == n) return v;
    if (n == 1) return cg_extract(g, v, i);
    val mask[16];
    for (int j = 0; j < n; j++)
        mask[j] = cg_i32(g, i * n + j);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(all), LLVMConstVector(mask, (unsigned)n),
                                  "");
}

/* One k without a matrix instruction: result v is of the row that lane v of these sixteen holds.
 * Emitted as text, since LLVM would fetch each lane's value by an instruction of its own. */
static val multiply_add(cg *g, const struct amdgpu_product *p, val n, val m, val acc) {
    LLVMTypeRef t[] = {g->f32, g->f32, g->f32}, type = LLVMFunctionType(g->f32, t, 3, false);
    unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
    for (int v = 0; v < 256 / g->t->wave; v++) {
        char text[128];
        snprintf(text, sizeof text, p->name, v);
        val fma = LLVMGetInlineAsm(type, text, strlen(text), "=v,v,v,0", 8, false, false,
                                   LLVMInlineAsmDialectATT, false);
        val args[] = {n, m, cg_extract(g, acc, v)};
        val sum = LLVMBuildCall2(g->b, type, fma, args, 3, "");
        LLVMAddCallSiteAttribute(sum, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(g->ctx, convergent, 0));
        acc = LLVMBuildInsertElement(g->b, acc, sum, cg_i32(g, v), "");
    }
    return acc;
}

val amdgpu_multiply(cg *g, const et_fragment *fr, int lane_k, const val *n, const val *m, val acc) {
    const struct amdgpu_product *p = fr->own;
    val zero = cg_i32(g, 0);
    for (int i = 0; i < lane_k / fr->lane_k; i++) {
        val args[] = {operand(g, fr, lane_k, *n, i, true),
                      operand(g, fr, lane_k, *m, i, false),
                      acc,
                      zero,
                      zero,
                      zero};
        LLVMTypeRef types[] = {LLVMTypeOf(acc), LLVMTypeOf(args[0])};
        switch (p->kind) {
        case AMDGPU_SMFMAC: /* the 2:4 sparse product */
        case AMDGPU_MFMA:
            acc = cg_call(g, p->name, 0, NULL, 6, args);
            break;
        case AMDGPU_WMMA:
            acc = cg_call(g, p->name, 2, types, 3, args);
            break;
        case AMDGPU_FMA:
            acc = multiply_add(g, p, args[0], args[1], acc);
            break;
        }
    }
    return acc;
}

/* N elements of V from number FROM on, 16 bits each, in the type of the instruction. */
static val elements(cg *g, const struct amdgpu_product *p, val v, int from, int n) {
    LLVMTypeRef e = p->element == AMDGPU_F16 ? g->f16 : g->i16;
    int all = (int)LLVMGetVectorSize(LLVMTypeOf(v)) * 2;
    val at[8];
    v = LLVMBuildBitCast(g->b, v, LLVMVectorType(e, (unsigned)all), "");
    for (int i = 0; i < n; i++)
        at[i] = cg_i32(g, from + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(at, (unsigned)n), "");
}

/* Two instructions, with the first and the second byte of the index. */
val amdgpu_multiply_packed(cg *g, const et_fragment *fr, const val *n, const val *index,
                           const val *m, val acc) {
    const struct amdgpu_product *p = fr->packed;
    for (int i = 0; i < 2; i++)
        acc = cg_call(g, p->name, 0, NULL, 6,
                      (val[]){elements(g, p, *n, 4 * i, 4), elements(g, p, *m, 8 * i, 8), acc,
                              *index, cg_i32(g, 0), cg_i32(g, i)});
    return acc;
}
