/* Products whose operands both have values of e4m3 alone, where the target multiplies codes: rows
 * that are rounded to it, and weights that are kept so. In programs they are products of bf16,
 * which has all of these values; here they become products of codes. Those of b go from memory to
 * the instruction as they are, those of a are made when it is staged. */
#include "codegen/step/contract.h"

static bool is_zero(const cg *g, et_expr e) {
    const et_node_x *x = et_x(g->x, e);
    return (x->op == ET_X_FLOAT && x->f == 0) || (x->op == ET_X_INT && x->n == 0);
}

static bool stored_rounded(cg *g, int t);

/* Is E, a value of bf16, always one of e4m3? LOADS: it may be loaded. */
static bool is_rounded(cg *g, et_expr e, bool loads) {
    et_node_x x = *et_x(g->x, e);
    switch (x.op) {
    case ET_X_TO_E4M3:
        return true;
    case ET_X_TO_BF16:
    case ET_X_NEG:
        return is_rounded(g, x.ops[0], loads);
    case ET_X_SELECT:
        return (is_zero(g, x.ops[1]) || is_rounded(g, x.ops[1], loads)) &&
               (is_zero(g, x.ops[2]) || is_rounded(g, x.ops[2], loads));
    case ET_X_LOAD:
        return loads && x.i2 == ET_LOAD_TENSOR && stored_rounded(g, x.i);
    default:
        return false;
    }
}

/* Does every step that stores to tensor T store values of e4m3? */
static bool stored_rounded(cg *g, int t) {
    bool any = false;
    if (g->p->tensors[t].kind != ET_TENSOR_TEMP) return false;
    for (int f = 0; f < g->p->nfuncs; f++)
        for (int i = 0; i < g->p->funcs[f].nsteps; i++) {
            et_step *s = &g->p->funcs[f].steps[i];
            const et_place *to = et_step_to(s);
            if (!to || to->space != ET_LOAD_TENSOR || to->id != t) continue;
            if (s->kind != ET_STEP_MAP || !is_rounded(g, s->value, false)) return false;
            any = true;
        }
    return any;
}

/* The load of codes that E is, rounded to what has all of them. */
static et_expr load_of(const cg *g, et_expr e) {
    const et_node_x *x = et_x(g->x, e);
    while (x->op == ET_X_TO_BF16 || x->op == ET_X_TO_F32)
        e = x->ops[0], x = et_x(g->x, e);
    bool codes =
        x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR && g->p->tensors[x->i].shape.dtype == ET_E4M3;
    return codes ? e : ET_NO_EXPR;
}

const et_step *cg_contract_codes(cg *g, const et_step *s) {
    if (s->operand != ET_BF16 || s->stage_b >= 0 || !et_target_fragment(g->t, ET_E4M3) ||
        !is_rounded(g, s->a, true))
        return NULL;
    et_step *as = et_alloc(g->arena, sizeof *as);
    *as = *s;
    as->operand = ET_E4M3;
    as->kc = 2 * s->kc; /* which takes as many bytes */
    for (int i = 0; i < s->nacc; i++) {
        as->b[i] = load_of(g, s->b[i]);
        if (!as->b[i].id) return NULL;
    }
    return as;
}

/* ---- a ---- */

void cg_contract_store_codes(cg *g, val ptr, int n, int align, const val *v) {
    val words[4];
    et_check(n % 4 == 0 && n <= 16);
    for (int w = 0; w < n / 4; w++)
        words[w] = g->family->codes(g, v + (ptrdiff_t)4 * w);
    val all = n == 4 ? words[0] : cg_vector(g, g->i32, n / 4, words);
    LLVMSetAlignment(LLVMBuildStore(g->b, all, ptr), (unsigned)align);
}

val cg_contract_staged_ptr(cg *g, const et_contract *c, int local, val elements) {
    return c->codes ? cg_gep(g, cg_gepi(g, g->lds, g->f->locals[local].offset), elements)
                    : cg_local_ptr(g, local, elements);
}
