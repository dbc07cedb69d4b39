/* Addresses, loads and stores of tensors and local buffers. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"

/* ---- places ---- */

et_dtype cg_place_dtype(cg *g, int space, int id) {
    return space == ET_LOAD_LOCAL ? g->f->locals[id].dtype : g->p->tensors[id].shape.dtype;
}

static bool is_host(const cg *g, int space, int id) {
    return space == ET_LOAD_TENSOR && g->p->tensors[id].host;
}

et_expr cg_offset(cg *g, int space, int id, const et_expr *index) {
    if (is_host(g, space, id)) return cg_host_offset(g, id, index);
    return et_access_offset(g->p, g->f, space, id, index);
}

bool cg_in_range(cg *g, et_expr load) {
    return et_load_inside(g->p, load, g->below);
}

/* ---- addresses ---- */

static void split_terms(cg *g, et_expr e, et_expr *uniform, et_expr *divergent, int64_t *k) {
    et_node_x x = *et_x(g->x, e);
    int64_t v;
    if (x.op == ET_X_ADD) {
        split_terms(g, x.ops[0], uniform, divergent, k);
        split_terms(g, x.ops[1], uniform, divergent, k);
    } else if (et_is_int(g->x, e, &v)) {
        *k += v;
    } else if (cg_is_uniform(g, e)) {
        *uniform = et_add(g->x, *uniform, e);
    } else {
        *divergent = et_add(g->x, *divergent, e);
    }
}

/* Bytes of an element offset as i64, through i32 where that is known to hold it. */
static val bytes_i64(cg *g, et_expr e, int size) {
    int64_t lo, hi;
    if (et_bounds(g->x, e, &lo, &hi) && lo >= 0 && hi <= INT32_MAX / size)
        return LLVMBuildZExt(g->b, cg_muli(g, cg_emit(g, e), size), g->i64, "");
    return cg_muli(g, cg_emit_i64(g, e), size);
}

cg_addr cg_address_split(cg *g, int space, int id, et_expr offset) {
    int bits = et_dtype_bits(cg_place_dtype(g, space, id)), size = bits / 8;
    val start = is_host(g, space, id) ? cg_entry_address(g, id, offset) : g->tensor[id];
    offset = cg_in_entry(g, offset);
    if (bits < 8) { /* of the byte they are in */
        offset = et_op2(g->x, ET_X_IDIV, offset, et_int(g->x, 8 / bits));
        size = 1;
    }
    et_expr zero = et_int(g->x, 0), u = zero, d = zero;
    int64_t k = 0, lo, hi;
    split_terms(g, offset, &u, &d, &k);
    cg_addr a = {start, NULL};
    if (u.id != zero.id) a.base = cg_gep(g, a.base, bytes_i64(g, u, size));
    if (d.id != zero.id) {
        if (et_bounds(g->x, d, &lo, &hi) && lo >= 0 && hi <= INT32_MAX / size)
            a.lane = cg_muli(g, cg_emit(g, d), size);
        else
            a.base = cg_gep(g, a.base, cg_muli(g, cg_emit_i64(g, d), size));
    }
    a.base = cg_gepi(g, a.base, k * size);
    return a;
}

val cg_local_ptr(cg *g, int local, val elements) {
    const et_local *l = &g->f->locals[local];
    return cg_gep(g, cg_gepi(g, g->lds, l->offset), cg_muli(g, elements, et_dtype_bytes(l->dtype)));
}

val cg_address(cg *g, int space, int id, et_expr offset) {
    if (space == ET_LOAD_LOCAL) {
        et_expr zero = et_int(g->x, 0), u = zero, d = zero;
        int64_t k = 0;
        int size = et_dtype_bytes(g->f->locals[id].dtype);
        split_terms(g, offset, &u, &d, &k);
        val ptr = cg_local_ptr(g, id, cg_add(g, cg_emit_low(g, u), cg_emit_low(g, d)));
        return cg_gepi(g, ptr, k * size);
    }
    cg_addr a = cg_address_split(g, space, id, offset);
    return a.lane ? cg_gep(g, a.base, LLVMBuildZExt(g->b, a.lane, g->i64, "")) : a.base;
}

/* ---- values ---- */

val cg_to_storage(cg *g, et_dtype t, val v) {
    LLVMTypeRef from = LLVMTypeOf(v);
    if (from == g->i1) v = LLVMBuildZExt(g->b, v, g->i32, ""), from = g->i32;
    if (t == ET_I32) {
        LLVMTypeRef types[] = {g->i32, g->f32};
        if (from == g->i64) return LLVMBuildTrunc(g->b, v, g->i32, "");
        return from == g->i32 ? v : cg_call(g, "llvm.fptosi.sat", 2, types, 1, &v);
    }
    v = cg_to_f32(g, v);
    return t == ET_BF16 ? cg_to_bf16(g, v) : t == ET_F16 ? cg_to_f16(g, v) : v;
}

static val from_storage(cg *g, et_dtype t, val v) {
    return t == ET_F16 || t == ET_BF16 ? LLVMBuildFPExt(g->b, v, g->f32, "") : v;
}

/* Nothing writes the tensor while the kernel runs: of one that stays the host does, between steps.
 */
static bool is_constant(const cg *g, int tensor) {
    et_tensor_kind kind = g->p->tensors[tensor].kind;
    return !g->stored[tensor] &&
           (!g->opt->resident || kind == ET_TENSOR_WEIGHT || kind == ET_TENSOR_CONST);
}

static val load_raw(cg *g, int space, int id, val ptr, LLVMTypeRef type, int align) {
    val v = LLVMBuildLoad2(g->b, type, ptr, "");
    LLVMSetAlignment(v, (unsigned)align);
    if (space == ET_LOAD_TENSOR && is_constant(g, id) && !g->hold) cg_invariant(g, v);
    return v;
}

LLVMTypeRef cg_words(cg *g, int bits) {
    et_check(bits == 8 || bits == 16 || bits % 32 == 0);
    if (bits > 32) return LLVMVectorType(g->i32, (unsigned)bits / 32);
    return bits == 8 ? g->i8 : bits == 16 ? g->i16 : g->i32;
}

val cg_load_words(cg *g, int space, int id, val ptr, int bits, int align) {
    return load_raw(g, space, id, ptr, cg_words(g, bits), align);
}

/* Element I of T in V, words of memory as the low bits of an i32 each. */
static val word_of(cg *g, et_dtype t, val v, int i, int *out_at) {
    int at = i * et_dtype_bits(t);
    *out_at = at % 32;
    return LLVMTypeOf(v) == g->i32 ? v : cg_extract(g, v, at / 32);
}

/* The bf16 that begins at bit AT of W: the upper half of its f32. */
static val bf16_at(cg *g, val w, int at) {
    w = at ? LLVMBuildAnd(g->b, w, cg_i32(g, 0xffff0000), "")
           : LLVMBuildShl(g->b, w, cg_i32(g, 16), "");
    return LLVMBuildBitCast(g->b, w, g->f32, "");
}

void cg_loaded_words(cg *g, et_dtype t, val v, int n, val *out) {
    int at;
    if (n * et_dtype_bits(t) < 32) v = LLVMBuildZExt(g->b, v, g->i32, "");
    for (int i = 0; i < n; i++) {
        val w = word_of(g, t, v, i, &at);
        if (et_dtype_is_code(t) || t == ET_BF16) {
            out[i] = t == ET_BF16 ? bf16_at(g, w, at) : cg_code(g, t, w, cg_i32(g, at));
            continue;
        }
        if (et_dtype_bits(t) == 16) {
            w = LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, w, cg_i32(g, at), ""), g->i16, "");
        }
        out[i] = from_storage(g, t, LLVMBuildBitCast(g->b, w, cg_storage(g, t), ""));
    }
}

/* N codes at PTR: words of memory, taken apart in registers. */
static void load_codes(cg *g, int id, val ptr, int n, int align, val *out) {
    et_dtype t = g->p->tensors[id].shape.dtype;
    LLVMTypeRef type = cg_words(g, n * et_dtype_bits(t));
    cg_loaded_words(g, t, load_raw(g, ET_LOAD_TENSOR, id, ptr, type, align), n, out);
}

val cg_loaded_one(cg *g, int space, int id, val v, et_expr offset) {
    et_dtype t = cg_place_dtype(g, space, id);
    if (!et_dtype_is_code(t)) return from_storage(g, t, v);
    int each = 8 / et_dtype_bits(t);
    val at = cg_emit_low(g, et_op2(g->x, ET_X_MOD, cg_in_entry(g, offset), et_int(g->x, each)));
    return cg_code(g, t, LLVMBuildZExt(g->b, v, g->i32, ""), cg_muli(g, at, et_dtype_bits(t)));
}

val cg_load_one(cg *g, int space, int id, val ptr, et_expr offset) {
    et_dtype t = cg_place_dtype(g, space, id);
    val out;
    if (et_dtype_bits(t) >= 8) {
        cg_load_n(g, space, id, ptr, 1, 1, &out);
        return out;
    }
    return cg_loaded_one(g, space, id, load_raw(g, space, id, ptr, g->i8, 1), offset);
}

/* The same of a local whose elements are sums: in the order of their parts. */
static val load_parts(cg *g, int id, val ptr, LLVMTypeRef type, int align) {
    val sum = load_raw(g, ET_LOAD_LOCAL, id, ptr, type, align);
    for (int i = 1; i < g->parts[id].count; i++) {
        val at = cg_gepi(g, ptr, (int64_t)i * g->parts[id].stride);
        sum = LLVMBuildFAdd(g->b, sum, load_raw(g, ET_LOAD_LOCAL, id, at, type, align), "");
    }
    return sum;
}

/* N elements of a tensor that devices exchange with flags: what all of them stored, in their order,
 * or the one that has them. */
static void load_sum(cg *g, int id, val ptr, int n, int align, val *out) {
    LLVMTypeRef type = n == 1 ? g->f32 : LLVMVectorType(g->f32, (unsigned)n);
    int64_t pitch = cg_word_pitch(g, id);
    val part[ET_MAX_DEVICES], sum = NULL;
    int parts = et_parts(&g->p->tensors[id]);
    for (int d = 0; d < parts; d++)
        part[d] = load_raw(g, ET_LOAD_TENSOR, id, cg_gepi(g, ptr, d * pitch), type, align);
    for (int d = 0; d < parts; d++)
        sum = d ? LLVMBuildFAdd(g->b, sum, part[d], "") : part[d];
    for (int i = 0; i < n; i++)
        out[i] = n == 1 ? sum : cg_extract(g, sum, i);
}

/* The same of parts that are rounded. */
static void load_rounded_sum(cg *g, int id, val ptr, int n, int align, val *out) {
    const et_tensor *t = &g->p->tensors[id];
    val words[ET_MAX_DEVICES], part[64];
    et_check(n <= 64 && !t->own);
    for (int d = 0; d < t->partial; d++) {
        val from = cg_gepi(g, ptr, d * cg_word_pitch(g, id));
        words[d] =
            cg_load_words(g, ET_LOAD_TENSOR, id, from, n * et_dtype_bits(t->shape.dtype), align);
    }
    for (int d = 0; d < t->partial; d++) {
        cg_loaded_words(g, t->shape.dtype, words[d], n, d ? part : out);
        for (int i = 0; i < n && d; i++)
            out[i] = LLVMBuildFAdd(g->b, out[i], part[i], "");
    }
}

void cg_load_n(cg *g, int space, int id, val ptr, int n, int align, val *out) {
    et_dtype t = cg_place_dtype(g, space, id);
    if (et_dtype_is_code(t)) {
        load_codes(g, id, ptr, n, align, out);
        return;
    }
    int size = et_dtype_bytes(t);
    if (align < size) align = size;
    if (space == ET_LOAD_TENSOR && g->p->tensors[id].flagged) {
        (t == ET_F32 ? load_sum : load_rounded_sum)(g, id, ptr, n, align, out);
        return;
    }
    if (space == ET_LOAD_LOCAL && g->parts && g->parts[id].count) {
        LLVMTypeRef type = n == 1 ? g->f32 : LLVMVectorType(g->f32, (unsigned)n);
        val sum = load_parts(g, id, ptr, type, align);
        for (int i = 0; i < n; i++)
            out[i] = n == 1 ? sum : cg_extract(g, sum, i);
        return;
    }
    if (n == 1) {
        out[0] = from_storage(g, t, load_raw(g, space, id, ptr, cg_storage(g, t), align));
        return;
    }
    if (t == ET_BF16 && n % 2 == 0) {
        cg_loaded_words(g, t, cg_load_words(g, space, id, ptr, 16 * n, align), n, out);
        return;
    }
    val v = load_raw(g, space, id, ptr, LLVMVectorType(cg_storage(g, t), (unsigned)n), align);
    for (int i = 0; i < n; i++)
        out[i] = from_storage(g, t, cg_extract(g, v, i));
}

void cg_store_n(cg *g, int space, int id, val ptr, int n, int align, val *v) {
    et_dtype t = cg_place_dtype(g, space, id);
    int size = et_dtype_bytes(t);
    val s[64];
    et_check(n <= 64);
    for (int i = 0; i < n; i++)
        s[i] = cg_to_storage(g, t, v[i]);
    val all = n == 1 ? s[0] : cg_vector(g, cg_storage(g, t), n, s);
    val to[ET_MAX_DEVICES] = {ptr};
    int copies = space == ET_LOAD_TENSOR ? cg_inboxes(g, id, ptr, to) : 1;
    for (int d = 0; d < copies; d++) {
        val st = LLVMBuildStore(g->b, all, to[d]);
        LLVMSetAlignment(st, (unsigned)(align < size ? size : align));
    }
}
