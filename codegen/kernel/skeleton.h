/* skeleton.h - what is left of an LLVM function when its numbers are taken out: two functions with
 * the same skeleton are the same for the same numbers. */
#ifndef ET_SKELETON_H
#define ET_SKELETON_H

#include "codegen/emit/emit.h"

/* A constant that a value could stand for: an i32, an i64, an f32, or so many bytes behind a global
 * (BASE, then the number is an i32). */
typedef struct {
    val user;
    unsigned operand;
    LLVMTypeRef type;
    val base;       /* or NULL */
    int64_t number; /* of an f32 its bits */
} cg_number;

/* Zeroed before the first use and used again: the next function's takes the place of the last. */
typedef struct {
    uint64_t *word;
    size_t nwords, words_cap;
    cg_number *number;
    size_t nnumbers, numbers_cap;
    struct cg_place *place; /* of the function's own values; private */
    size_t places;
} cg_skeleton;

/* False where FN has an instruction of which not all that matters is known here. */
bool cg_skeleton_of(cg *, val fn, cg_skeleton *);
void cg_skeleton_free(cg_skeleton *);

#endif
