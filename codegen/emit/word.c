/* Words of tagged temporaries (ir/program/tags.h): an element in the low half, its tag in the high
 * one. All accesses are relaxed atomics of the device: no fence goes with them, and nothing else is
 * ordered by them. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"

static int bits_of(const cg *g, int tensor) {
    return et_dtype_bits(g->p->tensors[tensor].shape.dtype);
}

LLVMTypeRef cg_word_type(const cg *g, int tensor) {
    return bits_of(g, tensor) == 16 ? g->i32 : g->i64;
}

static val half_of(const cg *g, val word) {
    return LLVMConstInt(LLVMTypeOf(word), LLVMTypeOf(word) == g->i64 ? 32 : 16, false);
}

int64_t cg_word_pitch(const cg *g, int tensor) {
    const et_tensor *t = &g->p->tensors[tensor];
    return et_parts(t) > 1 ? t->max_bytes / t->partial : 0;
}

val cg_word_at(cg *g, int tensor, val element) {
    int64_t size = bits_of(g, tensor) / 4;
    return cg_gep(g, g->tensor[tensor], LLVMBuildMul(g->b, element, cg_i64(g, size), ""));
}

val cg_word_load(cg *g, int tensor, val ptr) {
    val v = LLVMBuildLoad2(g->b, cg_word_type(g, tensor), ptr, "");
    LLVMSetAlignment(v, (unsigned)bits_of(g, tensor) / 4);
    LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    LLVMSetAtomicSyncScopeID(
        v, g->sync[g->p->tensors[tensor].partial ? ET_SCOPE_SYSTEM : ET_SCOPE_DEVICE]);
    return v;
}

val cg_word_tag(cg *g, val word) {
    val tag = LLVMBuildLShr(g->b, word, half_of(g, word), "");
    return LLVMTypeOf(tag) == g->i64 ? LLVMBuildTrunc(g->b, tag, g->i32, "") : tag;
}

val cg_word_data(cg *g, val word) {
    return LLVMBuildTrunc(g->b, word, LLVMTypeOf(word) == g->i64 ? g->i32 : g->i16, "");
}

val cg_tag(cg *g, const et_step *s) {
    return cg_add(g, g->first_tag, cg_emit_i32(g, s->tag));
}

/* Where the tensor is in an inbox, i64. */
static val inbox_place(cg *g, int tensor) {
    val place = cg_tensor_place(g, tensor);
    return place ? place : cg_i64(g, g->p->tensors[tensor].offset - g->tags.inbox);
}

/* The bytes from the begin of an inbox to what PTR is of in this device's own: to this device's
 * part of what is partial. */
val cg_in_inbox(cg *g, int tensor, val ptr) {
    const et_tensor *t = &g->p->tensors[tensor];
    val at = LLVMBuildSub(g->b, LLVMBuildPtrToInt(g->b, ptr, g->i64, ""),
                          LLVMBuildPtrToInt(g->b, g->tensor[tensor], g->i64, ""), "");
    at = LLVMBuildAdd(g->b, at, inbox_place(g, tensor), "");
    if (!t->partial) return at;
    val own = LLVMBuildMul(g->b, g->device, cg_i64(g, cg_word_pitch(g, tensor)), "");
    return LLVMBuildAdd(g->b, at, own, "");
}

int cg_inboxes(cg *g, int tensor, val ptr, val out[ET_MAX_DEVICES]) {
    const et_tensor *t = &g->p->tensors[tensor];
    int n = g->whole->g->devices;
    if (!t->flagged && !t->shared) return 1;
    val at = cg_in_inbox(g, tensor, ptr);
    if (g->sends_later) {
        out[0] = cg_gep(g, g->own_inbox, at);
        return 1;
    }
    if (!t->dealt) {
        for (int d = 0; d < n; d++)
            out[d] = cg_gep(g, g->inbox[d], at);
        return n;
    }
    et_check(g->owner);
    val base = g->inbox[n - 1];
    for (int d = n - 2; d >= 0; d--)
        base = cg_select(g, cg_icmp(g, LLVMIntEQ, g->owner, cg_i32(g, d)), g->inbox[d], base);
    out[0] = cg_gep(g, base, at);
    return 1;
}

/* To this device's place in the inbox of every one. Nothing else is stored there in a launch, so
 * there is nothing to compare with. */
static void store_to_all(cg *g, int tensor, val element, val word) {
    val own = LLVMBuildMul(g->b, g->device, cg_i64(g, cg_word_pitch(g, tensor)), "");
    val at = LLVMBuildAdd(g->b, own, LLVMBuildMul(g->b, element, cg_i64(g, 8), ""), "");
    at = LLVMBuildAdd(g->b, at, inbox_place(g, tensor), "");
    for (int d = 0; d < g->p->tensors[tensor].partial; d++) {
        val store = LLVMBuildStore(g->b, word, cg_gep(g, g->inbox[d], at));
        LLVMSetAlignment(store, 8);
        LLVMSetOrdering(store, LLVMAtomicOrderingMonotonic);
        LLVMSetAtomicSyncScopeID(store, g->sync[ET_SCOPE_SYSTEM]);
    }
}

/* A maximum, and no store: one that reaches memory late changes nothing that came after it. */
void cg_word_store(cg *g, int tensor, val element, val v, val tag) {
    et_dtype t = g->p->tensors[tensor].shape.dtype;
    LLVMTypeRef word = cg_word_type(g, tensor);
    val low = cg_to_storage(g, t, v), high = tag;
    low = LLVMBuildBitCast(g->b, low, word == g->i64 ? g->i32 : g->i16, "");
    low = LLVMBuildZExt(g->b, low, word, "");
    if (word == g->i64) high = LLVMBuildZExt(g->b, high, word, "");
    high = LLVMBuildShl(g->b, high, half_of(g, low), "");
    if (g->p->tensors[tensor].partial) {
        store_to_all(g, tensor, element, LLVMBuildOr(g->b, high, low, ""));
        return;
    }
    LLVMBuildAtomicRMWSyncScope(g->b, LLVMAtomicRMWBinOpUMax, cg_word_at(g, tensor, element),
                                LLVMBuildOr(g->b, high, low, ""), LLVMAtomicOrderingMonotonic,
                                g->sync[ET_SCOPE_DEVICE]);
}
