/* amdgpu.h - what the files of this family share, and what its targets have besides et_target. */
#ifndef ET_AMDGPU_H
#define ET_AMDGPU_H

#include "codegen/emit/emit.h"

/* A field of a hardware register, as s_getreg encodes it. */
struct amdgpu_register {
    int id, offset, bits; /* bits 0: the target has no such register, the value is 0 */
};

struct amdgpu {
    int oclc_isa; /* __oclc_ISA_version of the device libraries */
    struct amdgpu_register die, hw_id;
    const char *clock; /* intrinsic reading the constant-rate clock */
    int clock_message; /* its argument and an i64 overload, where the clock is asked by message */
    const char *drain; /* instruction that waits until this wave's stores have been answered */
    /* Forgets what this CU's own caches hold: enough to see what another workgroup of the die wrote
     * and had answered. Of targets with die_fence. */
    const char *die_acquire;
    /* The last word of a descriptor of plain memory, which loads are made with that there may be
     * none of; 0: they are made in another way. */
    unsigned buffer;
    const char *features;
    /* Functions are given their uniform arguments in vector registers. LLVM 22 has a caller and a
     * callee disagree about scalar ones where scratch is reached through a descriptor in s[0:3]. */
    bool vector_arguments;
};

/* What multiplies. */
struct amdgpu_product {
    enum {
        AMDGPU_MFMA,   /* (A, B, C, cbsz, abid, blgp) */
        AMDGPU_SMFMAC, /* (A, B, C, index, cbsz, abid): A of half the k */
        AMDGPU_WMMA,   /* (A, B, C), overloaded by the types of the result and of A */
        AMDGPU_FMA,    /* no such instruction: a lane's products one by one. The text of $0 += $1 of
                          lane number %d of these sixteen * $2 */
    } kind;
    const char *name; /* of the intrinsic, or the text */
    /* As the intrinsic has it; CODES: eight in 64 bits, FNUZ the same where the code of minus zero
     * is none of a number. */
    enum { AMDGPU_F32, AMDGPU_F16, AMDGPU_BF16, AMDGPU_I16, AMDGPU_CODES, AMDGPU_FNUZ } element;
};

/* With 64 lanes; with 32; where the halves of 32 lanes both hold all k and the instruction deals
 * rows of the result to them in turn; where there is no instruction. */
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
val amdgpu_load_if(cg *, val cond, val base, val ahead, val offset);

/* ---- codes.c ---- */
extern const et_unscaled_family amdgpu_bare;
/* What that decodes: all quantised types, those of integers of four bits as sixteenths; E4M3: what
 * sums of the target's own e4m3 are multiplied by. */
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
val amdgpu_clean_codes(cg *, val word); /* four of them, with zero for minus zero */

/* ---- product.c, math.c, object.c ---- */
val amdgpu_multiply(cg *, const et_fragment *, int lane_k, const val *n, const val *m, val acc);
val amdgpu_multiply_packed(cg *, const et_fragment *, const val *n, const val *index, const val *m,
                           val acc);
val amdgpu_opaque(cg *, val v);
val amdgpu_divide(cg *, val a, val b);
val amdgpu_exp2(cg *, val);
val amdgpu_root(cg *, val a);
val amdgpu_math(cg *, et_xop, int nargs, val *args);
bool amdgpu_link_math(cg *);
void amdgpu_embed(cg *, const char *manifest);
char *amdgpu_package(cg *, LLVMTargetMachineRef, size_t *out_bytes);
void amdgpu_inspect(cg *, const char *file, size_t bytes, et_codegen_info *);
bool amdgpu_count(cg *, LLVMTargetMachineRef, et_product_code *out, int n, FILE *loops);

/* ---- what targets have in common ---- */
extern const struct amdgpu_product amdgpu_mfma_bf16, amdgpu_mfma_f16, amdgpu_mfma_f32,
    amdgpu_smfmac_bf16, amdgpu_smfmac_f16, amdgpu_wmma_bf16, amdgpu_wmma_f16, amdgpu_fma_f32;
/* HW_ID; a buffer is of 32 bits, no swizzling. */
#define AMDGPU_CDNA                                                                                \
    .hw_id = {4, 0, 32}, .clock = "llvm.amdgcn.s.memrealtime", .drain = "s_waitcnt vmcnt(0)",      \
    .buffer = 0x27000, .features = ""
#define AMDGPU_CDNA_TARGET .family = &et_amdgpu, .wave = 64, .loads = 16, .deep = true, .simds = 4
/* Of several dies: XCC_ID. */
#define AMDGPU_CDNA3 AMDGPU_CDNA, .die = {20, 0, 4}, .die_acquire = "buffer_inv sc0"
#define AMDGPU_CDNA3_TARGET AMDGPU_CDNA_TARGET, .dies = true, .die_fence = true
/* HW_ID1; GET_REALTIME. */
#define AMDGPU_RDNA                                                                                \
    .hw_id = {23, 0, 32}, .clock = "llvm.amdgcn.s.sendmsg.rtn", .clock_message = 0x83,             \
    .features = "+cumode"
/* SIMDs of one CU: +cumode keeps a workgroup there. */
#define AMDGPU_RDNA_TARGET                                                                         \
    .family = &et_amdgpu, .wave = 32, .loads = 8, .no_bf16_rounding = true, .simds = 2,            \
    .lds_bytes = 65536, .decode = AMDGPU_DECODE(1)

#endif
