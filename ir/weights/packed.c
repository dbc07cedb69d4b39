/* Which products can read weights packed. */
#include "ir/weights/packed.h"
#include "ir/program/step.h"
#include "ir/weights/zeros.h"

bool et_packed_of(const et_program *p, int tensor, et_packed *out) {
    et_zeros z;
    et_dtype t = p->tensors[tensor].shape.dtype;
    if ((t != ET_BF16 && t != ET_F16) || !et_zeros_of(p, tensor, &z)) return false;
    const et_shape *s = &p->tensors[tensor].shape;
    out->matrices = 1;
    for (int d = 0, n = s->rank; d + 2 < n; d++) {
        int64_t extent;
        et_is_int(p->g->exprs, s->dim[d], &extent);
        out->matrices *= extent;
    }
    int64_t bytes = out->matrices * z.rows * z.k * 2;
    out->high = (z.rows + ET_PACKED_ROWS - 1) / ET_PACKED_ROWS;
    out->wide = (z.k + ET_PACKED_K - 1) / ET_PACKED_K;
    out->at = (bytes + ET_PACKED_ALIGN - 1) / ET_PACKED_ALIGN * ET_PACKED_ALIGN;
    out->is_packed = out->at + out->matrices * out->high * out->wide * ET_PACKED_BYTES;
    return true;
}

bool et_packed_can(const et_program *p, const et_step *s, int i) {
    et_packed packed;
    et_expr load = et_zeros_load(p, s, i);
    if (!load.id || !et_expr_eq(load, s->b[i]) || et_step_side_by_side(s)) return false;
    int tensor = et_x(p->g->exprs, load)->i;
    return p->tensors[tensor].shape.dtype == s->operand && et_packed_of(p, tensor, &packed);
}

bool et_packed_used(const et_program *p, int tensor) {
    for (int f = 0; f < p->nfuncs; f++)
        for (int i = 0; i < p->funcs[f].nsteps; i++) {
            const et_step *s = &p->funcs[f].steps[i];
            for (int b = 0; s->kind == ET_STEP_CONTRACT && b < s->nacc; b++)
                if (et_packed_can(p, s, b) && et_x(p->g->exprs, s->b[b])->i == tensor) return true;
        }
    return false;
}
