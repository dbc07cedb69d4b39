/* amdgpu.h - what the files of this family share, and facts of its targets beside et_target. */
#ifndef ET_AMDGPU_H
#define ET_AMDGPU_H

#include "codegen/emit/emit.h"

/* A bit field of a hardware register, encoded for s_getreg. */
struct amdgpu_register {
    int id, offset, bits; /* bits 0: the target has no such register, and the value is 0 */
};

struct amdgpu {
    int oclc_isa; /* __oclc_ISA_version of the device libraries */
    struct amdgpu_register die, hw_id;
    const char *clock; /* intrinsic that reads the constant-rate clock */
    int clock_message; /* its argument, where the clock is read by a message; the intrinsic is
                          overloaded by i64 */
    const char *drain; /* instruction that waits until all stores of this wave are complete */
    /* Instruction that invalidates the caches of this CU: enough to see completed stores of other
     * workgroups on the same die. For targets with die_fence. */
    const char *die_acquire;
    /* The last word of a buffer descriptor of plain memory, by which predicated loads are made; 0:
     * they are made without a descriptor. */
    unsigned buffer;
    const char *features;
    /* Uniform arguments of functions are passed in vector registers: LLVM 22 lets caller and callee
     * disagree about scalar ones where scratch is addressed through a descriptor in s[0:3]. */
    bool vector_arguments;
};

/* The instruction of a product. */
struct amdgpu_product {
    enum {
        AMDGPU_MFMA,   /* (A, B, C, cbsz, abid, blgp) */
        AMDGPU_SMFMAC, /* (A, B, C, index, cbsz, abid): A of half the k */
        AMDGPU_WMMA,   /* (A, B, C), overloaded by the types of the result and of A */
        AMDGPU_FMA, /* no matrix instruction: multiply-adds of each lane. The name is the text for
                       $0 += $1 of lane %d of these sixteen * $2 */
    } kind;
    const char *name; /* of the intrinsic, or the text */
    /* Type of the operands as the intrinsic takes them. CODES: eight values of 8 bits in 64 bits.
     * FNUZ: the same in a format where the encoding of minus zero is NaN. */
    enum { AMDGPU_F32, AMDGPU_F16, AMDGPU_BF16, AMDGPU_I16, AMDGPU_CODES, AMDGPU_FNUZ } element;
};

/* Of 64 lanes; of 32; of 32 whose halves both hold all k, with rows of the result alternating
 * between the halves; and where there is no matrix instruction. */
extern const et_layout amdgpu_rows_64, amdgpu_rows_32, amdgpu_rows_paired, amdgpu_rows_transposed;

extern const et_family et_amdgpu;
const struct amdgpu *amdgpu_of(const cg *); /* of the target that is being compiled for */

/* ---- kernel.c ---- */
void amdgpu_declare_kernel(cg *, size_t bytes);
void amdgpu_declare_body(cg *, val fn, unsigned divergent);
void amdgpu_call_body(cg *, val call, unsigned divergent);
bool amdgpu_is_body(val fn);
void amdgpu_declare_local(cg *);
void amdgpu_keep_local(cg *);
val amdgpu_hide(cg *, val ptr);
val amdgpu_workgroup(cg *);
val amdgpu_workitem(cg *);
val amdgpu_die(cg *);
val amdgpu_hardware_id(cg *);

/* ---- lanes.c ---- */
val amdgpu_first_active(cg *, val);
val amdgpu_read_lane(cg *, val, val lane);
val amdgpu_pick(cg *, val, val lane); /* i32, of any lane */
val amdgpu_shuffle_xor(cg *, val, int mask);
val amdgpu_ballot(cg *, val pred);
val amdgpu_lanes_before(cg *, val mask);

/* ---- sync.c ---- */
void amdgpu_barrier(cg *, bool drain);
void amdgpu_die_acquire(cg *);
val amdgpu_clock(cg *);
void amdgpu_nap(cg *, int clocks);
void amdgpu_mark(cg *, val word);
void amdgpu_order_loads(cg *);
void amdgpu_mix(cg *, const et_fragment *, int lane_k, const et_mix *);

/* ---- memory.c ---- */
val amdgpu_load_if(cg *, val cond, val base, val advance, val offset);

/* ---- codes.c ---- */
extern const et_unscaled_family amdgpu_bare;
/* The decodings that it has: all quantised types; values of integers of four bits are sixteenths.
 * E4M3: the factor for sums of the target's own e4m3. */
#define AMDGPU_DECODE(E4M3)                                                                        \
    {                                                                                              \
        [ET_E4M3] = {.unscaled = true, .times = (E4M3)},                                           \
        [ET_E5M2] = {.unscaled = true, .times = 1}, [ET_UE8M0] = {.unscaled = true, .times = 1},   \
        [ET_E2M1] = {.unscaled = true, .times = 1}, [ET_I8] = {.unscaled = true, .times = 1},      \
        [ET_U8] = {.unscaled = true, .times = 1}, [ET_I4] = {.unscaled = true, .times = 16},       \
        [ET_U4] = {                                                                                \
            .unscaled = true,                                                                      \
            .times = 16                                                                            \
        }                                                                                          \
    }
val amdgpu_codes(cg *, const val v[4]);
val amdgpu_clean_codes(cg *,
                       val word); /* WORD holds four values of e4m3: minus zero becomes zero */

/* ---- product.c, math.c, mend.c, object.c ---- */
val amdgpu_multiply(cg *, const et_fragment *, int lane_k, const val *n, const val *m, val acc);
val amdgpu_multiply_packed(cg *, const et_fragment *, const val *n, const val *index, const val *m,
                           val acc);
val amdgpu_opaque(cg *, val v);
val amdgpu_divide(cg *, val a, val b);
val amdgpu_exp2(cg *, val);
val amdgpu_root(cg *, val a);
val amdgpu_math(cg *, et_xop, int nargs, val *args);
bool amdgpu_link_math(cg *);
void amdgpu_mend(cg *);
void amdgpu_embed(cg *, const char *manifest);
char *amdgpu_package(cg *, LLVMTargetMachineRef, size_t *out_bytes);
void amdgpu_inspect(cg *, const char *file, size_t bytes, et_codegen_info *);
bool amdgpu_count(cg *, LLVMTargetMachineRef, et_product_code *out, int n, FILE *loops);

/* ---- what targets have in common ---- */
extern const struct amdgpu_product amdgpu_mfma_bf16, amdgpu_mfma_f16, amdgpu_mfma_f32,
    amdgpu_smfmac_bf16, amdgpu_smfmac_f16, amdgpu_wmma_bf16, amdgpu_wmma_f16, amdgpu_fma_f32;
/* Register HW_ID; buffers of 32-bit elements without swizzling. */
#define AMDGPU_CDNA                                                                                \
    .hw_id = {4, 0, 32}, .clock = "llvm.amdgcn.s.memrealtime", .drain = "s_waitcnt vmcnt(0)",      \
    .buffer = 0x27000, .features = ""
#define AMDGPU_CDNA_TARGET .family = &et_amdgpu, .wave = 64, .loads = 16, .deep = true, .simds = 4
/* With several dies: register XCC_ID. */
#define AMDGPU_CDNA3 AMDGPU_CDNA, .die = {20, 0, 4}, .die_acquire = "buffer_inv sc0"
#define AMDGPU_CDNA3_TARGET AMDGPU_CDNA_TARGET, .dies = true, .die_fence = true
/* Register HW_ID1; message GET_REALTIME. */
#define AMDGPU_RDNA                                                                                \
    .hw_id = {23, 0, 32}, .clock = "llvm.amdgcn.s.sendmsg.rtn", .clock_message = 0x83,             \
    .features = "+cumode"
/* The SIMDs of one CU: with +cumode a workgroup does not spread over two. */
#define AMDGPU_RDNA_TARGET                                                                         \
    .family = &et_amdgpu, .wave = 32, .loads = 8, .no_bf16_rounding = true, .simds = 2,            \
    .lds_bytes = 65536, .decode = AMDGPU_DECODE(1)

#endif
