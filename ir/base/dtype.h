/* dtype.h - the types elements of tensors are stored in, as the compiler names them. The rows and
 * the conversions of elements are in runtime/etrt_dtype.h, which the runtime shares. */
#ifndef ET_DTYPE_H
#define ET_DTYPE_H

#include "runtime/etrt_dtype.h"
#include <stdbool.h>
#include <stdint.h>

typedef enum {
#define X(NAME, name, safetensors, bits, is_float) ET_##NAME = ETRT_ROW_##NAME,
    ETRT_DTYPES(X)
#undef X
        ET_DTYPE_COUNT
} et_dtype;

const char *et_dtype_name(et_dtype);        /* "bf16" */
const char *et_dtype_safetensors(et_dtype); /* "BF16" */
bool et_dtype_parse(const char *name, et_dtype *out_dtype);
bool et_dtype_parse_safetensors(const char *name, et_dtype *out_dtype);
bool et_dtype_is_float(et_dtype);
/* Codes of weights, of 8 bits or fewer: they are read, never stored or multiplied as they are. */
bool et_dtype_is_code(et_dtype);
/* Are elements of it operands of matrix products? */
bool et_dtype_multiplies(et_dtype);
/* What holds every value of the type and can be stored: the type itself if it is no code. */
et_dtype et_dtype_stored(et_dtype);
int et_dtype_bits(et_dtype);                       /* of one element */
int et_dtype_bytes(et_dtype);                      /* of one element that fills whole bytes */
double et_dtype_width(et_dtype);                   /* of one element, in bytes: 0.5 for four bits */
int64_t et_dtype_size(et_dtype, int64_t elements); /* bytes of so many, one behind the other */

/* V as an element of the type holds it; elements of f16 and bf16 are computed with as f32. */
float et_round_to(et_dtype, float v);

#endif
