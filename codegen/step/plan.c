/* The plan of a product that holds where it is emitted. */
#include "codegen/step/step.h"

const et_product_cx *cg_cx(cg *g) {
    g->product = et_product_context(g->p, g->f, g->t, g->arena);
    g->product.packed = g->opt->sparse == ET_SPARSE_2_4;
    g->product.stored = g->stored;
    return &g->product;
}

et_plan_of cg_plan_of(const cg *g, const et_step *s) {
    return g->leave_out && s->plan[ET_PLAN_ZEROS].made ? ET_PLAN_ZEROS : ET_PLAN_MAIN;
}

const char *cg_contract_problem(cg *g, const et_step *s) {
    const char *why = NULL;
    et_mainloop c, plain;
    if (!s->plan[ET_PLAN_MAIN].made)
        return s->stage_b >= 0 && g->f->locals[s->stage_b].slot
                   ? "its weights come in slots of a ring, and there is none for them"
                   : "b is not contiguous along k and there is no buffer to stage it";
    for (int i = 0; i < ET_PLANS && !why; i++)
        if (s->plan[i].made) et_mainloop_of(cg_cx(g), s, i, i ? &c : &plain, &why);
    bool apart = !why && s->plan[ET_PLAN_PACKED].made && !et_mainloop_pairs_with(&plain, &c);
    return apart ? "the plan of packed weights has sums elsewhere than the plan without" : why;
}

val cg_first_tile(cg *g, bool reuse) {
    return reuse && g->again ? LLVMBuildNot(g->b, g->again, "") : NULL;
}

const et_product_plan *cg_plan(const cg *g, const et_step *s) {
    return &s->plan[cg_plan_of(g, s)];
}
