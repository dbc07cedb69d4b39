/* family.h - what GPUs that LLVM and the runtime treat alike have in common: functions that emit
 * what no other family has in this form, and how the file is made that the runtime loads. A family
 * is one of these structs and a folder; README.md goes through it member by member. */
#ifndef ET_FAMILY_H
#define ET_FAMILY_H

#include "ir/program/program.h"
#include "ir/target/target.h"
#include <llvm-c/TargetMachine.h>

typedef LLVMValueRef val;
typedef struct cg cg; /* the state of one code generation: codegen/emit/emit.h */
typedef struct et_codegen_info et_codegen_info;
typedef struct et_product_code et_product_code;

/* What streams of weights need (ir/program/stream.h): barriers in local memory, of eight bytes,
 * whose phases end when so many have arrived, and copies into local memory that nobody waits for.
 */
typedef struct {
    void (*init)(cg *, val barrier, int count); /* by one work-item, before `meet` */
    void (*meet)(cg *);                         /* all waves, also the one that brings */
    /* i1: the phase of this parity has ended, and what was done before is seen. */
    val (*passed)(cg *, val barrier, val parity);
    val (*is_past)(cg *, val barrier, val parity); /* the same, without waiting a while */
    void (*arrive)(cg *, val barrier);
    /* 4, 8 or 16 bytes, by each lane its own; 16 are read once in a launch, and need not stay near.
     */
    void (*copy)(cg *, val to, val from, int bytes);
    /* 16 bytes of which the first BYTES are FROM's, the others zero; likewise. */
    void (*copy_some)(cg *, val to, val from, val bytes);
    /* An i32 that all lanes have, as one that each of them has its own of: of it, the place that
     * these copy to is made. */
    val (*own)(cg *, val);
    void (*copied)(cg *, val barrier); /* arrives when the lane's copies so far are done */
    /* A copy of 16 bytes, with which the aligned ET_ASK_LINE bytes that they are of come to the
     * cache that all CUs share. Counted by copy_group as other copies are. NULL: there is none. */
    void (*ask)(cg *, val to, val from);
    void (*drain)(cg *); /* until they are */
    /* Waves that a workgroup has more for the one that brings, by itself one; and registers handed
     * over where that is more: by all of those, with LESS, and by all the others. */
    int (*waves)(const cg *);
    void (*registers)(cg *, bool less);
} et_stream_family;

/* Codes of weights made two bf16 at a time, a vector of two each. */
typedef struct {
    /* The pairs of a word of CODEs, an i32: their values and EXCESS, an integer below 9, divided by
     * 2^POWER of pair number P. They may be less than the least normal number. */
    void (*take)(cg *, et_dtype code, val word, val *out);
    int (*power)(et_dtype code, int p);
    int (*excess)(et_dtype code);
    /* Words of two f16, of types whose et_decode has `f16`: of 8 bits in their order and of the
     * same value; of 4 bits number p beside p + 4, with EXCESS, those of odd p sixteen times as
     * large, and all of them then ABOVE more. */
    void (*halves)(cg *, et_dtype code, val word, val *out);
    int (*above)(et_dtype code);
    val (*most)(cg *, val word); /* the largest of the wave's lanes, which are all here, unsigned */
} et_pairs_family;

/* Codes of weights made operands of products, of the values they are. */
typedef struct {
    /* What a word of CODEs is, as f32 in the order of their numbers, less by LESS, a small integer,
     * and divided by et_decode.times. */
    void (*take)(cg *, et_dtype code, val word, val *out);
    int (*less)(et_dtype code);
    /* Two f32, which OPERAND has exactly, as a word of two of these. */
    val (*pack)(cg *, et_dtype operand, val low, val high);
    val (*pick)(cg *, val, val lane); /* an f32, of any LANE of the wave */
} et_bare_family;

/* Products that several waves make together of operands in local memory, and that run on their own:
 * what they read has to stay, and the sums are nobody else's, until they are over. Operands are
 * rows of 64 or 128 bytes next to each other: of eight rows, the first at a multiple of ALIGN
 * bytes, piece p, of 16 bytes, of row r lies at place p xor r / 2 % 4, of 128 bytes p xor r % 8. */
typedef struct {
    void (*written)(cg *); /* what was stored and copied so far is seen by products, once all waves
                              have met after it */
    /* Before the first product: what is known of N sums and of so many WORDS that they hold
     * as rows has been computed. */
    void (*begin)(cg *, int n, val *sum, int words, const val *word);
    /* SUM, f32's, 8 for each 16 of N rows, and the products: of 16 rows for each wave, from ROWS on
     * for the first of them, by N from COLUMNS on, in rows of BYTES. */
    void (*multiply)(cg *, et_dtype operand, int bytes, val rows, val columns, int n, val *sum);
    /* The same of one product whose 16 rows are in the registers of each wave: word w of a lane has
     * the row of values 2 w and 2 w + 1 of a sum of rows_m, at the k's that are their columns.
     * ACROSS 0: the columns are rows of BYTES in local memory, as before. Else these rows are k's:
     * as many columns as BYTES have, of k's ACROSS bytes long, and then the next. FRESH: what SUM
     * was does not count. */
    void (*multiply_held)(cg *, et_dtype operand, int bytes, const val rows[4], val columns,
                          int across, bool fresh, int n, val *sum);
    /* N words that are held and stay the same in a loop, for the products of this time around.
     * LEFT: not negative, and another each time. */
    void (*anew)(cg *, val left, int n, val *word);
    void (*end)(cg *); /* those since the last end are one lot */
    /* All lots but the last so many are over, and with them N sums. */
    void (*over)(cg *, int lots, int n, val *sum);
} et_group_family;

/* A matrix of elements of 16 bits in memory, and the rectangles that are copied of it. */
typedef struct {
    int64_t pitch; /* bytes of a row, a multiple of 16 */
    int64_t rows;
    int box_rows, box_bytes; /* of a rectangle: 64 or 128 bytes of a row */
} et_bulk_map;

/* Copies of such rectangles to local memory, where pieces of their rows lie as et_group_family has
 * them, and those of rows that the matrix has not are zero. One work-item asks for a copy, a unit
 * beside the waves makes it, by a map of the matrix in memory. Who needs it waits at a barrier in
 * local memory, of eight bytes, whose phases end when what was told of has come. */
typedef struct {
    /* By all lanes of a wave: MAP, of what begins at MATRIX, by way of local memory at SCRATCH of
     * as many bytes and as aligned. Several may make the same one at the same time. */
    void (*make)(cg *, const et_bulk_map *, val matrix, val map, val scratch);
    void (*init)(cg *, val barrier); /* as the rest, by the one work-item; before `order` */
    /* What was done before, by whomever this one has heard of, is before copies after it. */
    void (*order)(cg *);
    /* So many bytes more are to come in the phase. LAST: and then it ends. */
    void (*expect)(cg *, val barrier, int bytes, bool last);
    /* From element COLUMN of row ROW on, to TO; ONCE: it need not stay near. */
    void (*copy)(cg *, val to, val map, val column, val row, val barrier, bool once);
    /* By all: until the phase of this parity has ended, the first being of parity 0. */
    void (*await)(cg *, val barrier, val parity);
} et_bulk_family;

/* What was emitted since the scheduler last had to keep an order: products of fragments, and 16
 * bytes at a time of local memory read and written and of memory loaded. */
typedef struct {
    int products, reads, writes, loads;
} et_mix;

typedef struct et_family {
    const char *triple;
    const char *(*processor)(const cg *); /* LLVM's name of the target; NULL: its own */
    const char *(*features)(const cg *);  /* of the target, as LLVM has them */
    unsigned global, local; /* address spaces: of memory, and of what one workgroup shares */
    const char *scope[ET_SCOPE_SYSTEM + 1]; /* LLVM's synchronization scope that holds for each */
    void (*initialize)(void);               /* those parts of LLVM that know the family */
    void (*begin_module)(cg *);             /* flags that the module needs */

    /* The kernel. */
    /* Makes g->fn of the name g->symbol, with g->p->workgroup work-items in a workgroup. Its one
     * parameter is the address of BYTES of arguments. */
    void (*declare_kernel)(cg *, size_t bytes);
    /* FN is called by the kernel, or by nobody, and never inlined. Its parameters but the one of
     * number DIVERGENT are the same in all lanes; the first is what the kernel's is. The second is
     * for each call of it. */
    void (*declare_body)(cg *, val fn, unsigned divergent);
    void (*call_body)(cg *, val call, unsigned divergent);
    void (*declare_local)(cg *); /* makes g->lds, g->lds_bytes of local memory, aligned to 16 */
    void (*keep_local)(cg *);    /* LLVM must not make that smaller, used or not */
    val (*hide)(cg *, val ptr);  /* PTR, which LLVM no longer knows to be that; uniform */
    /* V, an i32 or i64, which LLVM no longer knows to be that: what is computed of it is computed
     * here and not kept from elsewhere. NULL: there is room for all of it. */
    val (*anew)(cg *, val v);
    /* V, an i32 that is the same in all lanes, which the assembler then knows, too. NULL: it knows.
     */
    val (*same)(cg *, val v);
    val (*workgroup)(cg *);   /* the workgroup's number in the dispatch */
    val (*workitem)(cg *);    /* the work-item's in the workgroup */
    val (*die)(cg *);         /* the hardware's number of the die; of targets with `dies` */
    val (*hardware_id)(cg *); /* which CU of the die, in a form that the runtime knows; or 0 */

    /* The lanes of a wave, all active unless it says otherwise. */
    val (*first_active)(cg *, val); /* uniform: the value, of any type, that the first active has */
    val (*read_lane)(cg *, val, val lane);   /* i32, of a uniform LANE */
    val (*shuffle_xor)(cg *, val, int mask); /* i32, of the lane whose bits differ in MASK */
    val (*ballot)(cg *, val pred);           /* integer with a bit for each lane of a wave */
    val (*lanes_before)(cg *, val mask);     /* i32: bits of MASK below this lane's own */

    /* Time and order. */
    /* A fence of the device by one wave covers what the workgroup's barrier orders before or after
     * it: others need none of their own to see what the one was told of. */
    bool cumulative;
    /* All lanes of a wave: what they did in memory before is ordered before what others of them do
     * after it. NULL where they are never apart. */
    void (*wave_meets)(cg *);
    /* What the workgroup's waves did in their memory before is seen by all after it. DRAIN: so that
     * a fence of the device by one of them afterwards covers the stores of all. */
    void (*barrier)(cg *, bool drain);
    void (*die_acquire)(cg *);     /* of targets with `die_fence` */
    val (*clock)(cg *);            /* i64, of a rate that the runtime knows */
    void (*nap)(cg *, int clocks); /* about so many; others run in the meantime */
    int looks; /* in vain at what others write, a power of 2, before the clock is looked at */
    int sets;  /* of counters, one in each lane, that are loaded for one look */
    /* N words of type T, one behind the other, which 16 bytes hold: each as one relaxed atomic load
     * of the device has it. NULL: they are loaded one by one. */
    void (*load_words)(cg *, LLVMTypeRef t, val ptr, int n, val *words);
    void (*mark)(cg *, val word);   /* i32 for a trace that the hardware may be recording */
    const et_stream_family *stream; /* NULL: there are none */
    bool variants;                  /* each has a kernel of its own */
    void (*order_loads)(cg *);      /* loads before this are issued before anything after it */

    /* 16 bytes of memory to the workgroup's own, of which all but the first BYTES, an i32, become
     * zero, and without waiting: COPIED waits until those before the last GROUPS calls of
     * COPY_GROUP are there, for this work-item. NULL, all three: there is no such copy. */
    void (*copy)(cg *, val to, val from, val bytes);
    void (*copy_group)(cg *);
    void (*copied)(cg *, int groups);

    /* Products of LANE_K k's of a lane take turns with the rest, in the order of et_mix: each
     * begins while the one before it runs. Beside `load_if`. */
    void (*mix)(cg *, const et_fragment *, int lane_k, const et_mix *);

    /* 16 bytes of memory, as four i32, that are AHEAD (i64) and OFFSET (i32) bytes after BASE,
     * where COND; else of no meaning, and nothing is asked for, or nothing but what is at BASE. All
     * but OFFSET are the same in all lanes. NULL where there is `copy`. */
    val (*load_if)(cg *, val cond, val base, val ahead, val offset);

    /* Have the line at an address of memory brought to the cache that all CUs share; NULL: there is
     * no asking. */
    void (*prefetch)(cg *, val at);

    /* Arithmetic. */
    /* ACC and the products over LANE_K k's of a lane, which are a multiple of the fragment's own,
     * of the rows that N and M hold: one value, of the operands' bits, for each row of the lane.
     * ACC may be several vectors of sums one behind the other, a power of two: products that follow
     * each other go to them in turn, so that none waits for the one before. */
    val (*multiply)(cg *, const et_fragment *, int lane_k, const val *n, const val *m, val acc);
    /* The same of 16 k's of a lane where of four that follow each other N holds but two, eight in
     * all, and INDEX, an i32, in its lower half 2 bits for each, which of the four: of fragments
     * that have `packed`. NULL: no target has such. With `spread` of the target N has of each of
     * the four groups of sixteen k's the two that are the lane's of all that there are, M the
     * lane's so many of each 4 * `spread`, and INDEX is still that of the lane's group. */
    val (*multiply_packed)(cg *, const et_fragment *, const val *n, const val *index, const val *m,
                           val acc);
    /* A word of the codes of four values of e4m3, as the instruction takes them. Of families that
     * have targets with a fragment for those. */
    val (*codes)(cg *, const val v[4]);
    /* Of four blocks of eight rows of 16 bytes in local memory, of which lanes 8 i to 8 i + 7 say
     * by PTR where block i's rows are, WORD[i] is this lane's part: of row lane / 4 the word of
     * number lane % 4. MULTIPLY takes words of 16-bit operands that are so dealt. NULL: there is no
     * such. */
    void (*load_blocks)(cg *, val ptr, val word[4]);
    /* SUM and the products of 16 rows by 8 columns, over 16 k's of a type of 16 bits, two to a
     * word. Lane l has of the left operand rows l / 4 and l / 4 + 8: in M[0] and M[1] two k's of
     * each, in M[2] and M[3] two more; of the right one, in N, the same k's of column l / 4; of the
     * sums columns l % 4 * 2 and the next of the first row, then of the other. NULL: there is none.
     */
    void (*multiply8)(cg *, et_dtype, const val m[4], const val n[2], val sum[4]);
    const et_group_family *group;  /* NULL: no target's waves multiply together */
    const et_bulk_family *bulk;    /* NULL: no target copies boxes */
    const et_pairs_family *pairs;  /* NULL: the target multiplies no vectors of bf16 */
    const et_bare_family *bare;    /* NULL: codes are multiplied with their scale */
    val (*divide)(cg *, val, val); /* f32, to 2.5 ulp */
    val (*root)(cg *, val);        /* the square root of an f32, to 2.5 ulp */
    val (*exp2)(cg *, val);        /* of an f32, to 2 ulp; denormal results become zero */
    val (*math)(cg *, et_xop, int nargs, val *args); /* exp, log, sin, cos, tanh, erf, pow of f32 */

    /* Adds up in OUT, by task, of which there are N, what the machine code of their products is.
     * False where it is not known; NULL: never is. LOOPS, where given, gets that of their loops as
     * text for llvm-mca. */
    bool (*count)(cg *, LLVMTargetMachineRef, et_product_code *out, int n, FILE *loops);

    /* The file. */
    bool (*link_math)(cg *);                   /* into the module, before LLVM optimises it */
    void (*embed)(cg *, const char *manifest); /* into the module, for `package` to keep */
    /* What is loaded, for free(); NULL after an error. Leaves no files behind, whatever ends it. */
    char *(*package)(cg *, LLVMTargetMachineRef, size_t *out_bytes);
    void (*inspect)(cg *, const char *file, size_t bytes, et_codegen_info *); /* of it, for -v */
} et_family;

#endif
