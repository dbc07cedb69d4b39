/* dual.c - VOPD: two vector instructions that both read before either writes. */
#include "runtime/emu/isa/isa.h"

#include <stdio.h>

#define H(name) static const struct emu_op *name(struct emu_wave *w, const struct emu_op *o)

/* o->target: the two, in an order in which the first does not disturb the second. */
H(h_dual) {
    const struct emu_op *part = o->target;
    part[0].fn(w, &part[0]);
    part[1].fn(w, &part[1]);
    return o + 1;
}

/* Each reads what the other writes. */
H(h_dual_crossed) {
    const struct emu_op *part = o->target;
    uint32_t *d = w->v[part[0].d], old[LANES], new[LANES];
    memcpy(old, d, sizeof old);
    part[0].fn(w, &part[0]);
    memcpy(new, d, sizeof new);
    memcpy(d, old, sizeof old);
    part[1].fn(w, &part[1]);
    memcpy(d, new, sizeof new);
    return o + 1;
}

static bool reads(const struct emu_op *o, uint16_t reg) {
    for (int n = 0; n < o->nsrc; n++)
        if (o->s[n].kind == SRC_VGPR && reg - o->s[n].reg < o->s[n].dwords) return true;
    return false;
}

/* One half, "v_dual_NAME operands". */
static bool bind_part(struct emu_decode *d, const char *s, size_t n, const struct emu_text *whole,
                      struct emu_op *o) {
    static const char prefix[] = "v_dual_";
    struct emu_text t = {.at = whole->at, .gen = whole->gen};
    char line[160];
    if (n <= sizeof prefix - 1 || n >= sizeof line || strncmp(s, prefix, sizeof prefix - 1))
        return false;
    snprintf(line, sizeof line, "v_%.*s", (int)(n - (sizeof prefix - 1)), s + sizeof prefix - 1);
    if (!isa_parse(line, &t)) return false;
    if (!strcmp(t.name, "v_cndmask_b32") && t.ntok == 3)
        t.tok[t.ntok++] = (struct emu_tok){.kind = TOK_SGPR, .count = 1, .reg = S_VCC};
    return isa_decode_one(d, &t, o) && o->d_vgpr && o->d_dwords == 1 && o->cls == C_VALU;
}

bool isa_bind_dual(struct emu_decode *d, const char *line, const struct emu_text *whole,
                   struct emu_op *o) {
    const char *middle = strstr(line, " :: ");
    while (*line == ' ' || *line == '\t')
        line++;
    struct emu_op *part = isa_pool_alloc(d->pool, 2 * sizeof *part), x = {0}, y = {0};
    if (!part) {
        d->failed = true;
        return false;
    }
    const char *second = middle + 4, *end = second + strcspn(second, "\n");
    if (!bind_part(d, line, (size_t)(middle - line), whole, &x)) return false;
    if (!bind_part(d, second, (size_t)(end - second), whole, &y)) return false;
    bool swap = reads(&y, x.d);
    part[0] = swap ? y : x;
    part[1] = swap ? x : y;
    o->cls = C_VALU;
    o->fn = swap && reads(&x, y.d) ? h_dual_crossed : h_dual;
    o->target = part;
    return x.d != y.d;
}
