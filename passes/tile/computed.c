/* Right operands that are computed of what is loaded, as quantised weights are: in registers,
 * without a buffer in local memory, where that is known to be possible. */
#include "ir/program/step.h"
#include "passes/tile/tiler.h"

int et_tile_computed(const et_program *p, const et_machine *m, const et_step *s) {
    int unit = m->k_bytes / et_dtype_bytes(s->operand), most = 0;
    for (int i = 0; i < s->nacc; i++) {
        int n = et_k_computed(p, s->b[i], s->kvar, unit < 32 ? 16 : 8, unit * m->waves);
        if (!n) return 0;
        most = n > most ? n : most;
    }
    return most;
}

bool et_tile_in_registers(int loads, const et_step *s) {
    enum { REGISTERS = 64, ROWS = 2 }; /* of sixteen that a lane may hold */
    return loads && s->nacc * loads * (s->tn / 16 / s->wn) * ROWS <= REGISTERS;
}
