/* family.h - what one vendor's GPUs have in common: functions that emit instructions which other
 * families do not have in this form, and functions that make the file that the runtime loads. A
 * family is one of these structs and a folder; README.md describes it member by member. "Uniform"
 * means: the same in all lanes of a wave. */
#ifndef ET_FAMILY_H
#define ET_FAMILY_H

#include "ir/program/program.h"
#include "ir/target/target.h"
#include <llvm-c/TargetMachine.h>

typedef LLVMValueRef val;
typedef struct cg cg; /* the state of one code generation: codegen/emit/emit.h */
typedef struct et_codegen_info et_codegen_info;
typedef struct et_product_code et_product_code;

/* The weight stream (ir/weights/stream.h): barriers of eight bytes in local memory, whose phase
 * ends after a fixed number of arrivals, and asynchronous copies into local memory. */
typedef struct {
    void (*init)(cg *, val barrier, int count); /* by one work-item, before `meet` */
    /* All waves, the producer too; or so many of them, of a barrier of their own. */
    void (*meet)(cg *, int waves);
    /* i1: the phase of this parity has ended; memory operations before its arrivals are visible.
     * May block for a short while. */
    val (*passed)(cg *, val barrier, val parity);
    val (*is_past)(cg *, val barrier, val parity); /* the same, never blocks */
    void (*arrive)(cg *, val barrier);
    /* Each lane copies 4, 8 or 16 bytes. ONCE: read once in a launch; 16 of them are the first to
     * leave the L2 then. */
    void (*copy)(cg *, val to, val from, int bytes, bool once);
    /* 16 bytes: the first BYTES from FROM, zeros after them; otherwise as `copy`. */
    void (*copy_part)(cg *, val to, val from, val bytes, bool once);
    /* The same, with the lines around them, of what is read once. */
    void (*copy_some)(cg *, val to, val from, val bytes);
    /* A uniform i32 as one that the assembler takes to differ between lanes. Destinations of `copy`
     * are computed from it. */
    val (*own)(cg *, val);
    void (*copied)(cg *, val barrier); /* arrives when the lane's copies so far are done */
    /* Copy 16 bytes and make the L2 fetch the aligned ET_ASK_LINE bytes around them. copy_group
     * counts it like other copies. NULL: the family has no such copy. */
    void (*prefetch)(cg *, val to, val from);
    void (*drain)(cg *); /* wait until they are done */
    /* Waves that the producer adds to a workgroup: 1, or more where registers are dealt to several
     * waves together. Then each of them gives registers up (LESS) and each consumer takes them. */
    int (*waves)(const cg *);
    void (*registers)(cg *, bool less);
} et_stream_family;

/* Quantised values converted to packed pairs: two bf16 in one 32-bit vector. */
typedef struct {
    /* OUT: the pairs of WORD, an i32 of values of type CODE. Pair p holds (value + excess) /
     * 2^power(p), with excess an integer below 9. Results may be denormal. */
    void (*convert)(cg *, et_dtype code, val word, val *out);
    int (*power)(et_dtype code, int p);
    int (*excess)(et_dtype code);
    /* OUT: the same as pairs of f16, for types whose et_decode has `f16`. 8 bits: in order, exact.
     * 4 bits: pair p holds values p and p + 4, plus excess, times 16 where p is odd, plus
     * above(ET_F16, code). */
    void (*convert_f16)(cg *, et_dtype code, val word, val *out);
    /* The same as pairs of bf16, none times 16, for types whose et_decode has `bf16`. */
    void (*convert_bf16)(cg *, et_dtype code, val word, val *out);
    int (*above)(et_dtype operand, et_dtype code);
    /* Puts eight values of 1 or 2 bits, the low end of VALUES, above the values of 4 bits that OUT
     * has of those as OPERAND. */
    void (*high)(cg *, et_dtype operand, int bits, val values, val *out);
    val (*most)(cg *, val word); /* the unsigned maximum over the wave; all lanes are active */
} et_pairs_family;

/* Quantised values converted to operands exactly, without their scale. */
typedef struct {
    /* OUT: the values of WORD in order, as f32: (value - less(code)) / et_decode.times. */
    void (*convert)(cg *, et_dtype code, val word, val *out);
    int (*less)(et_dtype code);
    /* Two f32 that OPERAND represents exactly, packed in a word. */
    val (*pack)(cg *, et_dtype operand, val low, val high);
    val (*pick)(cg *, val, val lane); /* the f32 of another LANE of the wave */
} et_unscaled_family;

/* Warpgroup MMA: asynchronous products that several waves issue together on operands in local
 * memory. Until they are over (`over`), operands must not be written and sums not touched. Operands
 * are contiguous rows of 64 or 128 bytes in a swizzled layout: within each eight rows, piece p (16
 * bytes) of row r lies at p xor (r / 2 % 4) for rows of 64 bytes, p xor (r % 8) for 128. */
typedef struct {
    void (*written)(cg *); /* makes stores and copies so far visible to products, once all waves
                              have passed a barrier after it */
    /* Before the first product: N sums, and WORDS of operands held in registers, are final. */
    void (*begin)(cg *, int n, val *sum, int words, const val *word);
    /* SUM += ROWS times COLUMNS. Each wave has 16 rows, the first wave's at ROWS; there are N
     * columns from COLUMNS on; rows of both are of BYTES. SUM: 8 f32 of a lane for each 16 columns.
     */
    void (*multiply)(cg *, et_dtype operand, int bytes, val rows, val columns, int n, val *sum);
    /* The same for 16 rows in each wave's registers. Word w of a lane has the row of values 2 w and
     * 2 w + 1 of a sum; their columns are its k. ACROSS 0: COLUMNS as before, k-major. Else local
     * memory has k across rows: rows of BYTES hold columns for one k, and the next columns follow
     * ACROSS bytes later. FRESH: SUM is overwritten. */
    void (*multiply_held)(cg *, et_dtype operand, int bytes, const val rows[4], val columns,
                          int across, bool fresh, int n, val *sum);
    /* N operand words that a loop does not change, recomputed for this iteration: the assembler
     * must not give their registers away. LEFT: not negative, different in each iteration. */
    void (*anew)(cg *, val left, int n, val *word);
    void (*end)(cg *); /* products since the last `end` are one group */
    /* Wait until all groups but the last LOTS are over; then N sums are final. */
    void (*over)(cg *, int lots, int n, val *sum);
} et_warpgroup_family;

/* TMA: copies of boxes to local memory, in the layout of et_warpgroup_family; rows outside the
 * matrix are zero. One work-item asks, a copy unit does it, by a tensor map in memory. Consumers
 * wait at a barrier of eight bytes in local memory, whose phase ends when all expected bytes have
 * arrived. */
typedef struct {
    /* By all lanes of a wave: write MAP for the matrix at MATRIX, through SCRATCH in local memory,
     * which has its size and alignment. Several waves may write the same map at once. */
    void (*make)(cg *, const et_tensor_map *, val matrix, val map, val scratch);
    void (*init)(cg *, val barrier); /* by the one work-item, as all below; before `order` */
    /* Memory operations that this work-item has observed come before the copies that follow. */
    void (*order)(cg *);
    /* The phase expects BYTES more. LAST: it ends after them. */
    void (*expect)(cg *, val barrier, int bytes, bool last);
    /* The box at element COLUMN of row ROW, to TO. ONCE: read once, the first to leave the L2. */
    void (*copy)(cg *, val to, val map, val column, val row, val barrier, bool once);
    /* By all: wait until the phase of this parity has ended; the first has parity 0. */
    void (*await)(cg *, val barrier, val parity);
} et_box_family;

/* What was emitted since the last scheduling fence: products of fragments, and accesses of 16
 * bytes: local memory read and written, global memory loaded. */
typedef struct {
    int products, reads, writes, loads;
} et_mix;

enum { ET_ALL_DIVERGENT = 0xffff }; /* no parameter of a function is uniform */

typedef struct et_family {
    const char *triple;
    const char *(*processor)(const cg *); /* LLVM's name of the target; NULL: its own */
    const char *(*features)(const cg *);  /* of the target, as LLVM has them */
    unsigned global, local; /* address spaces: global memory, and the workgroup's local memory */
    const char *scope[ET_SCOPE_SYSTEM + 1]; /* LLVM's synchronisation scope for each */
    void (*initialize)(void);               /* LLVM's target, once a process */
    void (*begin_module)(cg *);             /* flags that the module needs */

    /* The kernel. */
    /* Creates g->fn, named g->symbol, with g->p->workgroup work-items a workgroup. Its one
     * parameter is the address of BYTES of arguments. */
    void (*declare_kernel)(cg *, size_t bytes);
    /* FN is a function that the kernel calls, never inlined. All its parameters are uniform but
     * number DIVERGENT, or none is. call_body does the same for each call. */
    void (*declare_body)(cg *, val fn, unsigned divergent);
    void (*call_body)(cg *, val call, unsigned divergent);
    void (*declare_local)(cg *); /* creates g->lds: g->lds_bytes of local memory, aligned to 16 */
    void (*keep_local)(cg *);    /* keeps LLVM from shrinking it */
    val (*hide)(cg *, val ptr);  /* PTR, uniform, behind an opaque copy: loads are not merged */
    /* V, an i32 or i64, behind an opaque copy: LLVM computes what depends on it here and does not
     * keep it in registers from elsewhere. NULL: not needed. */
    val (*anew)(cg *, val v);
    /* V, a uniform i32, in a form that the assembler knows to be uniform. NULL: all are. */
    val (*same)(cg *, val v);
    val (*workgroup)(cg *);   /* the workgroup's number in the dispatch */
    val (*workitem)(cg *);    /* the work-item's in the workgroup */
    val (*die)(cg *);         /* the hardware's number of the die; of targets with `dies` */
    val (*hardware_id)(cg *); /* the CU on its die, encoded as the runtime expects; or 0 */

    /* The lanes of a wave, all active unless it says otherwise. */
    val (*first_active)(cg *, val);        /* the first active lane's value, of any type; uniform */
    val (*read_lane)(cg *, val, val lane); /* i32, of a uniform LANE */
    val (*shuffle_xor)(cg *, val, int mask); /* i32, of the lane whose bits differ in MASK */
    val (*ballot)(cg *, val pred);           /* integer with a bit for each lane of a wave */
    val (*lanes_before)(cg *, val mask);     /* i32: bits of MASK below this lane's own */

    /* Time and order. */
    /* Fences are cumulative: a device fence by one wave also covers what the workgroup's barrier
     * orders before or after it, so other waves need none. */
    bool cumulative;
    /* Reconverges a wave and orders its lanes' memory operations before it against those after it.
     * NULL where lanes run in lockstep. */
    void (*wave_meets)(cg *);
    /* The workgroup's barrier, which orders local and global memory within it. DRAIN: stores of all
     * waves are covered by a device fence that one wave makes afterwards. */
    void (*barrier)(cg *, bool drain);
    void (*die_acquire)(cg *);     /* of targets with `die_fence` */
    val (*clock)(cg *);            /* i64, at a rate that the runtime knows */
    void (*nap)(cg *, int clocks); /* sleep for about so many clocks */
    int looks; /* failed polls, a power of 2, between two readings of the clock */
    int sets;  /* counters that each lane loads for one poll */
    /* N contiguous words of type T, 16 bytes in all, each read like a relaxed atomic load of the
     * device's scope, or the system's. NULL: they are loaded one by one. */
    void (*load_words)(cg *, LLVMTypeRef t, val ptr, int n, bool system, val *words);
    void (*mark)(cg *, val word);   /* an i32 into the hardware's trace, if one is recorded */
    const et_stream_family *stream; /* NULL: no weight stream */
    bool variants;                  /* each variant is a kernel of its own */
    void (*order_loads)(cg *);      /* loads before this are issued before all that follows */

    /* An asynchronous copy of 16 bytes to local memory: the first BYTES, an i32, from FROM, zeros
     * after them; COPY_FEW, one of 4 or 8. COPIED waits for this work-item's copies before the last
     * GROUPS calls of COPY_GROUP. All four NULL: there is no such copy. */
    void (*copy)(cg *, val to, val from, val bytes);
    void (*copy_few)(cg *, val to, val from, int of, val bytes);
    void (*copy_group)(cg *);
    void (*copied)(cg *, int groups);

    /* Interleaves products of LANE_K k of a lane with the memory operations counted in et_mix. NULL
     * unless there is `load_if`. */
    void (*mix)(cg *, const et_fragment *, int lane_k, const et_mix *);

    /* A predicated load of 16 bytes, as four i32, from BASE + ADVANCE (i64) + OFFSET (i32). Where
     * COND is false the result is undefined and nothing but BASE is read. All but OFFSET are
     * uniform. NULL where there is `copy`. */
    val (*load_if)(cg *, val cond, val base, val advance, val offset);

    /* Prefetch the cache line at AT into the L2. NULL: there is no such instruction. */
    void (*prefetch)(cg *, val at);

    /* Arithmetic. */
    /* ACC + N times M over LANE_K k of a lane, a multiple of the fragment's. N and M: one value, of
     * the operands' bits, for each row of the lane. ACC may be several sets of sums, a power of
     * two, that successive instructions use in turn, so that none waits for the one before. */
    val (*multiply)(cg *, const et_fragment *, int lane_k, const val *n, const val *m, val acc);
    /* The same for 2:4 sparse N, of fragments with `packed`: of 16 k of a lane N holds eight, two
     * of each four, and the lower half of INDEX, an i32, has 2 bits for each: which of the four.
     * NULL: no target has it. With the target's `spread` N holds the lane's two values of each of
     * four groups of sixteen k, M the lane's part of each 4 * `spread`; INDEX stays that of its
     * group. */
    val (*multiply_packed)(cg *, const et_fragment *, const val *n, const val *index, const val *m,
                           val acc);
    /* Four values as a word of e4m3, as fp8 x fp8 instructions take them. NULL: no target has them.
     */
    val (*to_e4m3)(cg *, const val v[4]);
    /* Loads four blocks of eight rows of 16 bytes from local memory. PTR of lanes 8 i to 8 i + 7
     * points at the rows of block i; WORD[i] becomes word lane % 4 of row lane / 4 of it, as
     * MULTIPLY takes 16-bit operands. NULL: there is no such instruction. */
    void (*load_blocks)(cg *, val ptr, val word[4]);
    /* SUM += 16 rows by 8 columns over 16 k of a 16-bit type, two to a word. Lane l holds rows l /
     * 4 and l / 4 + 8 of the left operand (M[0], M[1]: two k of each; M[2], M[3]: two more), the
     * same k of column l / 4 of the right one (N), and of the sums columns l % 4 * 2 and the next,
     * of the first row, then of the other. NULL: there is none. */
    void (*multiply8)(cg *, et_dtype, const val m[4], const val n[2], val sum[4]);
    const et_warpgroup_family *warpgroup; /* warpgroup MMA; NULL: no target has it */
    const et_box_family *boxes;           /* TMA; NULL: no target has it */
    const et_pairs_family *pairs;       /* packed pairs; NULL: the target has no vectors of bf16 */
    const et_unscaled_family *unscaled; /* unscaled; NULL: scales are applied to values */
    /* An f32 or a vector of them, of which LLVM knows nothing: what made it and what is computed of
     * it do not become one instruction. */
    val (*opaque)(cg *, val);
    bool rounds_products; /* to f16, in one instruction that makes a zero of either sign +0 */
    val (*divide)(cg *, val, val); /* f32, to 2.5 ulp */
    val (*root)(cg *, val);        /* the square root of an f32, to 2.5 ulp */
    val (*exp2)(cg *, val);        /* of an f32, to 2 ulp; denormal results become zero */
    val (*math)(cg *, et_xop, int nargs, val *args); /* exp, log, sin, cos, tanh, erf, pow of f32 */

    /* Adds to OUT[0..N), by task, counts of the machine code of its products; false where it is not
     * known, NULL: never known. LOOPS, if given, gets the text of their loops for llvm-mca. */
    bool (*count)(cg *, LLVMTargetMachineRef, et_product_code *out, int n, FILE *loops);

    /* The file. */
    bool (*link_math)(cg *); /* into the module, before LLVM optimises it */
    /* Changes what LLVM would make wrong machine code of, when it has optimised the module. NULL:
     * nothing is known. */
    void (*mend)(cg *);
    void (*embed)(cg *, const char *manifest); /* into the module, for `package` to keep */
    /* The file that the runtime loads; free() it. NULL after an error. Leaves no files behind. */
    char *(*package)(cg *, LLVMTargetMachineRef, size_t *out_bytes);
    void (*inspect)(cg *, const char *file, size_t bytes, et_codegen_info *); /* of it, for -v */
} et_family;

#endif
