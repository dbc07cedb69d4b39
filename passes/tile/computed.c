/* Right operands that are computed of what is loaded, as quantised weights are: in registers,
 * without a buffer in local memory, where that is known to be possible. */
#include "ir/program/step.h"
#include "passes/tile/tiler.h"

int et_tile_computed(const et_program *p, const et_machine *m, const et_step *s) {
    int bytes = et_dtype_bytes(s->operand), unit = m->k_bytes / bytes, most = 0;
    int run = bytes == 4 ? 4 : unit < 32 ? 16 : 8; /* of a lane */
    for (int i = 0; i < s->nacc; i++) {
        int n = et_k_computed(p, s->b[i], s->kvar, run, unit * s->wk);
        if (!n) return 0;
        most = n > most ? n : most;
    }
    return most;
}

bool et_tile_in_registers(int loads, const et_step *s) {
    enum { REGISTERS = 64, ROWS = 2 }; /* of sixteen that a lane may hold */
    return loads && s->nacc * loads * (s->tn / 16 / s->wn) * ROWS <= REGISTERS;
}
