#include "ir/base/dtype.h"
#include "ir/base/diag.h"
#include <string.h>

static const struct row {
    const char *name, *safetensors;
    int bits;
    bool is_float;
} rows[] = {
#define X(NAME, name, safetensors, bits, is_float) {#name, safetensors, bits, is_float},
    ETRT_DTYPES(X)
#undef X
};

static const struct row *row(et_dtype d) {
    et_check(d >= 0 && d < ET_DTYPE_COUNT);
    return &rows[d];
}

const char *et_dtype_name(et_dtype d) {
    return row(d)->name;
}

const char *et_dtype_safetensors(et_dtype d) {
    return row(d)->safetensors;
}

bool et_dtype_parse(const char *name, et_dtype *out_dtype) {
    for (int d = 0; d < ET_DTYPE_COUNT; d++)
        if (strcmp(name, rows[d].name) == 0) {
            *out_dtype = (et_dtype)d;
            return true;
        }
    return false;
}

bool et_dtype_parse_safetensors(const char *name, et_dtype *out_dtype) {
    for (int d = 0; d < ET_DTYPE_COUNT; d++)
        if (strcmp(name, rows[d].safetensors) == 0) {
            *out_dtype = (et_dtype)d;
            return true;
        }
    return false;
}

bool et_dtype_is_float(et_dtype d) {
    return row(d)->is_float;
}

bool et_dtype_is_code(et_dtype d) {
    return row(d)->bits <= 8;
}

bool et_dtype_multiplies(et_dtype d) {
    return et_dtype_is_float(d) && !et_dtype_is_code(d);
}

et_dtype et_dtype_stored(et_dtype d) {
    if (!et_dtype_is_code(d)) return d;
    return et_dtype_is_float(d) ? ET_BF16 : ET_I32;
}

int et_dtype_bits(et_dtype d) {
    return row(d)->bits;
}

int et_dtype_bytes(et_dtype d) {
    et_check(row(d)->bits % 8 == 0);
    return row(d)->bits / 8;
}

double et_dtype_width(et_dtype d) {
    return row(d)->bits / 8.0;
}

int64_t et_dtype_size(et_dtype d, int64_t elements) {
    return (elements * row(d)->bits + 7) / 8;
}

float et_round_to(et_dtype d, float v) {
    switch (d) {
#define X(NAME, name, safetensors, bits, is_float)                                                 \
    case ET_##NAME:                                                                                \
        return is_float ? (float)etrt_##name##_value(etrt_##name##_bits((double)v)) : v;
        ETRT_DTYPES(X)
#undef X
    default:
        et_bug("dtype %d", (int)d);
    }
}
