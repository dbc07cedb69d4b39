/* decode.h - weights that are computed in registers: quantised values, above all. */
#ifndef ET_CODEGEN_DECODE_H
#define ET_CODEGEN_DECODE_H

#include "codegen/step/operand/operand.h"

/* One way of decoding: a row of the table in computed.c. All but `unit` may be NULL. */
struct et_decoding {
    /* The fragment of unit U of product I: V[k] is the result of load RAW[k]. */
    val (*unit)(cg *, const et_contract *, int i, int u, const et_raw *raw, const val *v);
    bool elements;                      /* V are elements, else whole words */
    bool singles;                       /* it also emits values that all k's of a lane share */
    void (*begin)(cg *, et_contract *); /* before the first chunk */
    /* Several pieces of rows take turns with CHUNK: what their sums are multiplied by from now on.
     */
    void (*scale)(cg *, et_contract *, val chunk, const val *raw);
    /* Unit U's products of fragments OF with rows A, or number IN_A of the units whose pieces A
     * are. PART: the sums of k's that share a scale. */
    void (*multiply)(cg *, const et_contract *, val chunk, int u, const val *raw, const val *of,
                     const val *a, int in_a, val *part, val *acc);
    void (*end)(cg *, const et_contract *, val *acc); /* behind the last chunk */
};

/* ---- computed.c ---- */
const struct et_decoding *cg_decoding_of(const et_mainloop *); /* NULL: b is as it lies in memory */
/* The loads of a chunk. */
void cg_contract_raws(cg *, const et_contract *, val chunk, et_source, val *out);
et_source cg_contract_raw_source(const et_contract *, int i); /* of load number I */
/* V, the result of a load of a single element; a byte as the low end of an i32, since LLVM would
 * mask a loop-carried i8 at each use. */
val cg_contract_single(cg *, val v);
/* The fragments of units FROM to TO - 1. */
void cg_contract_decode(cg *, const et_contract *, val chunk, const val *raw, int from, int to,
                        val *out);
/* E, the same for all k's of a lane, for each of the lane's rows of product I; RAW: the loads of
 * the chunk, or NULL where E has no k. */
void cg_contract_of_rows(cg *, const et_contract *, val chunk, const val *raw, int i, et_expr e,
                         val *out);
/* With runs, E for each of the lane's rows of product I and each of its two columns, of the turn
 * that unit U is of. */
void cg_contract_of_columns(cg *, const et_contract *, val chunk, const val *raw, int i, int u,
                            et_expr e, val *out);
/* With bf16, E, the same for the k's of PART of unit U, for each of the lane's rows of product I.
 */
void cg_contract_of_part(cg *, const et_contract *, val chunk, const val *raw, int i, int u,
                         int part, et_expr e, val *out);
/* The number in RAW of the load VALUES of unit U. */
int cg_contract_raw_of(const et_raw *raw, int u, et_expr values);

/* ---- pairs.c: computed in vectors of two bf16 ---- */
val cg_contract_paired(cg *, const et_contract *, int i, int u, const et_raw *raw, const val *v);
/* The elements of pairs next to each other. */
void cg_contract_pair_up(const et_contract *, int n, val *v);

/* ---- unscaled.c: quantised values without their scale ---- */
extern const struct et_decoding cg_decode_unscaled, cg_decode_f16;
/* A unit's values as f16 or bf16, above what the family puts them. */
val cg_contract_unit_bare(cg *, const et_contract *, int i, int u, const et_raw *raw, const val *v);

/* ---- bf16.c: quantised values as bf16, without their scale, by several rows ---- */
extern const struct et_decoding cg_decode_bf16;

/* ---- runs.c: the same, with a column for each run of k's that share a scale ---- */
extern const struct et_decoding cg_decode_runs;
/* HALVES, number ITEM of eight elements each of the row, have been staged: what each run's products
 * begin from, of those that are THERE. */
void cg_runs_note(cg *, const et_contract *, val item, val there, val halves);
void cg_runs_zeros(cg *, const et_contract *); /* into local memory */
/* The lane's pieces of UNITS units from unit U of the staged row at element K of ROW on. */
void cg_runs_load(cg *, const et_contract *, val row, val k, int u, int units, val *a);
val cg_runs_sum(cg *, const et_contract *, val sum); /* over all columns, into the first */

/* ---- f16.c: such values as f16, by one row ---- */
/* The largest of MOST and the sizes of N elements. */
val cg_contract_larger(cg *, val most, int n, const val *v);
/* What to multiply the row's elements by, of which MOST is the largest that the work-item has; with
 * a barrier, of all waves. */
val cg_contract_row_factor(cg *, const et_contract *, val most);
/* N bf16 of words as f16, times BY; with values of four bits those of each second word a sixteenth.
 */
val cg_contract_to_f16(cg *, const et_contract *, int n, val words, val by);
val cg_contract_of_row(cg *, const et_contract *); /* what sums of the row are multiplied by */
/* The address of byte AT behind the words kept with the row. */
val cg_contract_behind_row(cg *, const et_contract *, val at);
/* All chunks of the row at once (ET_PROLOGUE_REGISTERS). */
void cg_contract_stage_row(cg *, const et_contract *);

/* ---- fp8.c ---- */
/* N values of e4m3 to PTR, a byte each. */
void cg_contract_store_fp8(cg *, val ptr, int n, int align, const val *v);

/* ---- auxiliary.c: auxiliary operands in a stage of the stream ---- */
/* The element of the k's about element K of CHUNK, which STAGE has, of the lane's row number ROW.
 */
val cg_auxiliary_value(cg *, const et_contract *, const et_auxiliary *, val chunk, val stage,
                       int row, val k);
/* N codes from element K on, in a plane of their own; and, with runs, what R loads: as bits. */
val cg_auxiliary_codes(cg *, const et_contract *, const et_auxiliary *, val stage, int row, val k,
                       int n);
val cg_auxiliary_columns(cg *, const et_contract *, const et_raw *, val chunk, val stage, int row);
val cg_auxiliary_units(cg *, const et_contract *, const et_raw *, val chunk, val stage, int row);
/* Where the lane's copies of the first chunk come FROM, and how many there are; a chunk's copies;
 * and on by so many CHUNKS, NULL: by one. */
int cg_auxiliary_begin(cg *, const et_contract *, val *from);
void cg_auxiliary_produce(cg *, const et_contract *, val stage, val *from);
void cg_auxiliary_move(cg *, const et_contract *, val chunks, val *from);

#endif
