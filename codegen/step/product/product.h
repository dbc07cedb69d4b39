/* product.h - CONTRACT steps: for the kernel, and for the files of this room. */
#ifndef ET_CODEGEN_PRODUCT_H
#define ET_CODEGEN_PRODUCT_H

#include "codegen/step/decode/decode.h"
#include "codegen/step/pipeline/pipeline.h"

/* ---- product.c ---- */
/* Addresses of the step's operands, and the first loads of b. */
et_contract *cg_contract_begin(cg *, const et_step *);
void cg_contract_run(cg *, et_contract *);
/* The mainloop, and all sums of the tile to local memory. */
void cg_contract_multiply(cg *, et_contract *, val *sums);

/* ---- guess.c: a step whose first weights a tensor chooses ---- */
/* Before the waits: loads the weights that the tensor names then. After them: where it names others
 * now, loads these. */
void cg_contract_guess(cg *, et_contract *);
void cg_contract_guessed(cg *, et_contract *);

/* ---- bands.c ---- */
/* BEGIN and RUN where the sums go to local memory in bands, else NULL: the function's steps from
 * here to the end are those of a band. No scope that END is in may end in between. */
typedef struct cg_bands cg_bands;
cg_bands *cg_bands_begin(cg *, et_contract *);
void cg_bands_end(cg *, cg_bands *);

/* ---- produce.c ---- */
/* By the producer: all chunks of the weights of the tile whose coordinates are bound. */
void cg_contract_produce(cg *, const et_step *, const cg_producer *);

/* ---- loop.c, staged.c ---- */
/* Stages the rows that a plan stages in front of the mainloop, of a known number of chunks. */
void cg_contract_rows_first(cg *, et_contract *);
void cg_contract_chunks(cg *, et_contract *, val chunks, val *carried);
void cg_contract_staged_chunks(cg *, const et_contract *, val chunks, val *carried);

/* ---- sums.c ---- */
/* Sums of the band whose rows begin at ROW0 (NULL: all, from 0), into local memory. */
void cg_contract_write(cg *, const et_contract *, val row0, const val *sums);
val cg_sums_of(cg *, const et_contract *, val sum); /* the sum of its sets, scaled */
void cg_sums_add(cg *, const et_contract *);        /* adds up the waves' parts (split-K), */
void cg_sums_begin(cg *, const et_step *);          /* or leaves that to the step that reads them */

#endif
