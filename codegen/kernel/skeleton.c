/* Skeletons of LLVM functions (skeleton.h). An instruction is its opcode, all that can be asked of
 * it, and its operands: by number those of the function, by address what LLVM has once a context.
 * An instruction that is not known here has no skeleton, so nothing about it is forgotten. */
#include "codegen/kernel/skeleton.h"
#include "ir/base/diag.h"
#include <stdlib.h>
#include <string.h>

struct cg_place {
    LLVMValueRef of; /* NULL: free */
    uint64_t at;
};

/* What an operand is, in the word before it. */
enum { OWN, OUTSIDE, NUMBER, BEHIND };

/* ---- words ---- */

static void *grown(void *of, size_t *cap, size_t size) {
    *cap = *cap ? *cap * 2 : 1024;
    void *to = realloc(of, *cap * size);
    if (!to) et_no_memory();
    return to;
}

static void put(cg_skeleton *s, uint64_t word) {
    if (s->nwords == s->words_cap) s->word = grown(s->word, &s->words_cap, sizeof *s->word);
    s->word[s->nwords++] = word;
}

static void put_at(cg_skeleton *s, const void *what) {
    put(s, (uint64_t)(uintptr_t)what);
}

static void put_number(cg_skeleton *s, cg_number n) {
    if (s->nnumbers == s->numbers_cap)
        s->number = grown(s->number, &s->numbers_cap, sizeof *s->number);
    s->number[s->nnumbers++] = n;
}

/* ---- the function's own values, numbered ---- */

static struct cg_place *place_of(const cg_skeleton *s, LLVMValueRef v) {
    size_t i = (size_t)((uintptr_t)v >> 4) * 0x9e3779b97f4a7c15u >> 20;
    while (s->place[i & (s->places - 1)].of && s->place[i & (s->places - 1)].of != v)
        i++;
    return &s->place[i & (s->places - 1)];
}

static void number_value(cg_skeleton *s, LLVMValueRef v, uint64_t *n) {
    *place_of(s, v) = (struct cg_place){.of = v, .at = (*n)++};
}

static size_t count_values(val fn) {
    size_t n = LLVMCountParams(fn);
    for (block b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b), n++)
        for (val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            n++;
    return n;
}

static void number_values(cg_skeleton *s, val fn) {
    size_t want = 1024, n = count_values(fn);
    uint64_t at = 0;
    while (want < 2 * n)
        want *= 2;
    if (want > s->places) {
        free(s->place);
        s->place = malloc(want * sizeof *s->place);
        if (!s->place) et_no_memory();
        s->places = want;
    }
    memset(s->place, 0, s->places * sizeof *s->place);
    for (unsigned i = 0; i < LLVMCountParams(fn); i++)
        number_value(s, LLVMGetParam(fn, i), &at);
    for (block b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        number_value(s, LLVMBasicBlockAsValue(b), &at);
        for (val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            number_value(s, i, &at);
    }
}

/* ---- numbers ---- */

static bool is_scalar(const cg *g, LLVMTypeRef t) {
    return t == g->i8 || t == g->i16 || t == g->i32 || t == g->i64 || t == g->f16 || t == g->f32 ||
           t == g->bf16;
}

/* What LLVM or the machine wants to know when it compiles stays a constant. */
static bool call_takes_value(val call, unsigned operand) {
    static const char constant[] = "immarg";
    val callee = LLVMGetCalledValue(call);
    if (!LLVMIsAFunction(callee) || operand >= LLVMGetNumArgOperands(call)) return false;
    return !LLVMGetEnumAttributeAtIndex(
        callee, operand + 1, LLVMGetEnumAttributeKindForName(constant, sizeof constant - 1));
}

static bool takes_value(const cg *g, val i, unsigned operand) {
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMGetElementPtr:
        return !operand || is_scalar(g, LLVMGetGEPSourceElementType(i));
    case LLVMExtractElement:
    case LLVMAlloca:
        return false;
    case LLVMInsertElement:
        return operand == 1;
    case LLVMCall:
        return call_takes_value(i, operand);
    default:
        return true;
    }
}

static bool is_behind(const cg *g, val v) {
    return LLVMIsAConstantExpr(v) && LLVMGetConstOpcode(v) == LLVMGetElementPtr &&
           LLVMGetNumOperands(v) == 2 && LLVMGetGEPSourceElementType(v) == g->i8 &&
           LLVMIsAGlobalVariable(LLVMGetOperand(v, 0)) &&
           LLVMIsAConstantInt(LLVMGetOperand(v, 1)) && LLVMTypeOf(LLVMGetOperand(v, 1)) == g->i32;
}

static bool put_float(cg_skeleton *s, cg_number n, val v) {
    LLVMBool lost;
    float f = (float)LLVMConstRealGetDouble(v, &lost);
    uint32_t bits;
    if (lost || f != f) return false; /* NaN may lose bits */
    memcpy(&bits, &f, sizeof bits);
    n.number = bits;
    put_number(s, n);
    return true;
}

/* Is operand V of I a number, which is noted then? */
static bool put_if_number(const cg *g, cg_skeleton *s, val i, unsigned operand, val v) {
    cg_number n = {.user = i, .operand = operand, .type = LLVMTypeOf(v)};
    if (!LLVMIsAConstant(v) || !takes_value(g, i, operand)) return false;
    if (LLVMIsAConstantFP(v) && n.type == g->f32 && put_float(s, n, v)) {
        put(s, NUMBER);
        put_at(s, n.type);
        return true;
    }
    if (LLVMIsAConstantInt(v) && (n.type == g->i32 || n.type == g->i64)) {
        n.number = LLVMConstIntGetSExtValue(v);
        put_number(s, n);
        put(s, NUMBER);
        put_at(s, n.type);
        return true;
    }
    if (!is_behind(g, v)) return false;
    n.type = g->i32;
    n.base = LLVMGetOperand(v, 0);
    n.number = LLVMConstIntGetSExtValue(LLVMGetOperand(v, 1));
    put_number(s, n);
    put(s, BEHIND);
    put_at(s, n.base);
    return true;
}

/* ---- an instruction ---- */

static void put_operand(const cg *g, cg_skeleton *s, val i, unsigned operand) {
    val v = LLVMGetOperand(i, operand);
    const struct cg_place *own = place_of(s, v);
    if (own->of) {
        put(s, OWN);
        put(s, own->at);
    } else if (!put_if_number(g, s, i, operand, v)) {
        put(s, OUTSIDE);
        put_at(s, v);
    }
}

static void put_metadata(cg_skeleton *s, val i) {
    size_t n = 0;
    LLVMValueMetadataEntry *all = LLVMInstructionGetAllMetadataOtherThanDebugLoc(i, &n);
    put(s, n);
    for (unsigned k = 0; k < n; k++) {
        put(s, LLVMValueMetadataEntriesGetKind(all, k));
        put_at(s, LLVMValueMetadataEntriesGetMetadata(all, k));
    }
    LLVMDisposeValueMetadataEntries(all);
}

static void put_attributes(cg_skeleton *s, val call, LLVMAttributeIndex index) {
    LLVMAttributeRef all[32];
    unsigned n = LLVMGetCallSiteAttributeCount(call, index);
    et_check(n <= sizeof all / sizeof *all);
    LLVMGetCallSiteAttributes(call, index, all);
    put(s, n);
    for (unsigned i = 0; i < n; i++)
        put_at(s, all[i]);
}

static bool put_call(cg_skeleton *s, val i) {
    unsigned n = LLVMGetNumArgOperands(i);
    put_at(s, LLVMGetCalledFunctionType(i));
    put(s, LLVMGetInstructionCallConv(i));
    put(s, LLVMGetTailCallKind(i));
    put_attributes(s, i, (LLVMAttributeIndex)LLVMAttributeFunctionIndex);
    for (unsigned k = 0; k <= n; k++)
        put_attributes(s, i, k); /* of what it returns, then of each argument */
    return !LLVMGetNumOperandBundles(i);
}

static void put_ordering(cg_skeleton *s, val i, LLVMAtomicOrdering o) {
    put(s, o);
    if (o != LLVMAtomicOrderingNotAtomic) put(s, LLVMGetAtomicSyncScopeID(i));
}

static void put_access(cg_skeleton *s, val i) {
    put(s, LLVMGetAlignment(i));
    put(s, (uint64_t)LLVMGetVolatile(i));
}

static void put_phi(cg_skeleton *s, val i) {
    for (unsigned k = 0; k < LLVMCountIncoming(i); k++)
        put(s, place_of(s, LLVMBasicBlockAsValue(LLVMGetIncomingBlock(i, k)))->at);
}

static void put_mask(cg_skeleton *s, val i) {
    put(s, LLVMGetNumMaskElements(i));
    for (unsigned k = 0; k < LLVMGetNumMaskElements(i); k++)
        put(s, (uint64_t)LLVMGetMaskValue(i, k));
}

static void put_indices(cg_skeleton *s, val i) {
    put(s, LLVMGetNumIndices(i));
    for (unsigned k = 0; k < LLVMGetNumIndices(i); k++)
        put(s, LLVMGetIndices(i)[k]);
}

/* What an access has beside its operands. */
static void put_memory(cg_skeleton *s, val i, LLVMOpcode op) {
    if (op != LLVMFence) put_access(s, i);
    if (op == LLVMAtomicRMW) put(s, LLVMGetAtomicRMWBinOp(i));
    if (op == LLVMAtomicCmpXchg) {
        put(s, (uint64_t)LLVMGetWeak(i));
        put(s, LLVMGetCmpXchgFailureOrdering(i));
        put_ordering(s, i, LLVMGetCmpXchgSuccessOrdering(i));
    } else {
        put_ordering(s, i, LLVMGetOrdering(i));
    }
}

/* What arithmetic has: what LLVM was promised of its result. */
static bool put_promises(cg_skeleton *s, val i, LLVMOpcode op) {
    switch (op) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl:
    case LLVMTrunc:
        put(s, (uint64_t)LLVMGetNUW(i) | (uint64_t)LLVMGetNSW(i) << 1);
        return true;
    case LLVMUDiv:
    case LLVMSDiv:
    case LLVMLShr:
    case LLVMAShr:
        put(s, (uint64_t)LLVMGetExact(i));
        return true;
    case LLVMOr:
        put(s, (uint64_t)LLVMGetIsDisjoint(i));
        return true;
    case LLVMZExt:
    case LLVMUIToFP:
        put(s, (uint64_t)LLVMGetNNeg(i));
        return true;
    case LLVMICmp:
        put(s, LLVMGetICmpPredicate(i) | (uint64_t)LLVMGetICmpSameSign(i) << 8);
        return true;
    case LLVMFCmp:
        put(s, LLVMGetFCmpPredicate(i));
        return true;
    case LLVMAnd:
    case LLVMXor:
    case LLVMURem:
    case LLVMSRem:
    case LLVMFNeg:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFRem:
    case LLVMSExt:
    case LLVMFPToUI:
    case LLVMFPToSI:
    case LLVMSIToFP:
    case LLVMFPTrunc:
    case LLVMFPExt:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMBitCast:
    case LLVMAddrSpaceCast:
        return true;
    default:
        return false;
    }
}

static bool put_rest(cg_skeleton *s, val i, LLVMOpcode op) {
    switch (op) {
    case LLVMRet:
    case LLVMBr:
    case LLVMUnreachable:
    case LLVMFreeze:
    case LLVMSelect:
    case LLVMExtractElement:
    case LLVMInsertElement:
        return true;
    case LLVMLoad:
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        put_memory(s, i, op);
        return true;
    case LLVMGetElementPtr:
        put_at(s, LLVMGetGEPSourceElementType(i));
        put(s, LLVMGEPGetNoWrapFlags(i));
        return true;
    case LLVMAlloca:
        put_at(s, LLVMGetAllocatedType(i));
        put(s, LLVMGetAlignment(i));
        return true;
    case LLVMPHI:
        put_phi(s, i);
        return true;
    case LLVMShuffleVector:
        put_mask(s, i);
        return true;
    case LLVMExtractValue:
    case LLVMInsertValue:
        put_indices(s, i);
        return true;
    case LLVMCall:
        return put_call(s, i);
    default:
        return false;
    }
}

static bool put_instruction(const cg *g, cg_skeleton *s, val i) {
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    unsigned n = (unsigned)LLVMGetNumOperands(i);
    put(s, op);
    put_at(s, LLVMTypeOf(i));
    put(s, n);
    if (!put_promises(s, i, op) && !put_rest(s, i, op)) return false;
    put(s, LLVMCanValueUseFastMathFlags(i) ? LLVMGetFastMathFlags(i) : 0);
    put(s, LLVMHasMetadata(i));
    if (LLVMHasMetadata(i)) put_metadata(s, i);
    for (unsigned k = 0; k < n; k++)
        put_operand(g, s, i, k);
    return true;
}

bool cg_skeleton_of(cg *g, val fn, cg_skeleton *s) {
    s->nwords = s->nnumbers = 0;
    number_values(s, fn);
    put_at(s, LLVMGlobalGetValueType(fn));
    for (block b = LLVMGetFirstBasicBlock(fn); b; b = LLVMGetNextBasicBlock(b)) {
        put(s, place_of(s, LLVMBasicBlockAsValue(b))->at);
        for (val i = LLVMGetFirstInstruction(b); i; i = LLVMGetNextInstruction(i))
            if (!put_instruction(g, s, i)) return false;
    }
    return true;
}

void cg_skeleton_free(cg_skeleton *s) {
    free(s->word);
    free(s->number);
    free(s->place);
    *s = (cg_skeleton){0};
}
