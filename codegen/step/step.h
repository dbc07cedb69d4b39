/* step.h - the steps of a device function, as code. */
#ifndef ET_CODEGEN_STEP_H
#define ET_CODEGEN_STEP_H

#include "codegen/emit/emit.h"

/* Matrix operands loaded ahead of a contraction, see contract.c. */
typedef struct et_contract et_contract;

void cg_step_map(cg *, const et_step *);
void cg_step_reduce(cg *, const et_step *);
void cg_step_attend(cg *, const et_step *);
et_contract *cg_contract_begin(cg *, const et_step *); /* addresses and the first loads of b */
void cg_contract_run(cg *, et_contract *);
/* Why the step cannot be emitted, or NULL; for a step whose sizes divide among the waves. */
const char *cg_contract_problem(cg *, const et_step *);
bool cg_contract_early(cg *, const et_step *); /* BEGIN may come before the tile's waits */
/* REDUCE shares its rows among waves so that partial results meet in LDS. */
bool cg_reduce_meets(cg *, const et_step *);
/* Work-items of the workgroup share [0, total): the body runs once per item with I = item. */
typedef struct {
    cg_for loop;
    cg_if guard;
    bool looped, guarded;
} cg_items;
val cg_items_begin(cg *, cg_items *, val total, int64_t constant); /* constant < 0: only in total */
void cg_items_end(cg *, cg_items *);
/* Bind VARS to the digits of ITEM, last fastest; CLAST is the extent to use for the last. */
void cg_decode(cg *, val item, int n, const int *vars, const int64_t *extent);

#endif
