/* Sums of a product: into local memory, and partial sums of waves (split-K) added up. */
#include "codegen/step/product/product.h"

/* How many values of a sum, from the first on, are of neighbouring n. */
static int run_of(const et_contract *c) {
    const et_layout *l = c->p.sums;
    int n = 1;
    while (n < c->p.results && et_deal_value(&l->sum_n, n) == n && !et_deal_value(&l->sum_m, n))
        n *= 2;
    return n;
}

/* The address of element AT of product I's sums, or of number PRODUCT, unless NULL. */
static val sum_ptr(cg *g, const et_contract *c, int i, val product, val at) {
    const et_local *l = g->f->locals;
    const int *acc = c->p.s->acc;
    val ptr = cg_local_ptr(g, acc[i], at);
    for (int k = 1; product && k < c->p.s->nacc; k++) {
        val other = cg_local_ptr(g, acc[k], at);
        val it = cg_icmp(g, LLVMIntEQ, product, cg_i32(g, k));
        et_check(l[acc[k]].pitch == l[acc[0]].pitch);
        ptr = cg_select(g, it, other, ptr);
    }
    return ptr;
}

/* The sum SUM of 16 x 16 of product P, whose first are M0 and N0. */
static void write_sum(cg *g, const et_contract *c, int p, val m0, val n0, val sum) {
    const et_local *l = &g->f->locals[c->p.s->acc[p]];
    const et_layout *dealt_as = c->p.sums;
    int run = run_of(c);
    for (int i = 0; i < c->p.results; i += run) {
        val m = cg_addi(g, m0, et_deal_value(&dealt_as->sum_m, i)), part = sum;
        val n = cg_addi(g, n0, et_deal_value(&dealt_as->sum_n, i)), at[16];
        for (int k = 0; k < run; k++)
            at[k] = cg_i32(g, i + k);
        val product = c->at.product, columns = cg_i32(g, c->p.s->tn);
        if (c->p.side_by_side) {
            product = LLVMBuildUDiv(g->b, n, columns, "");
            n = LLVMBuildURem(g->b, n, columns, "");
        }
        if (run < c->p.results)
            part = LLVMBuildShuffleVector(g->b, sum, LLVMGetPoison(LLVMTypeOf(sum)),
                                          LLVMConstVector(at, (unsigned)run), "");
        val to = sum_ptr(g, c, p, product, cg_add(g, cg_muli(g, m, l->pitch), n));
        LLVMSetAlignment(LLVMBuildStore(g->b, part, to),
                         run % 4 || l->pitch % 4 ? run % 2 || l->pitch % 2 ? 4 : 8 : 16);
    }
}

/* Has this wave a part of the product? NULL: all have. */
static val has_part(cg *g, const et_step *s) {
    int parts = s->wn * s->wk * s->wm;
    if (parts >= g->p->workgroup / g->t->wave) return NULL;
    return cg_icmp(g, LLVMIntSLT, g->wave, cg_i32(g, parts));
}

void cg_contract_write(cg *g, const et_contract *c, val row0, const val *acc) {
    const et_step *s = c->p.s;
    val part = has_part(g, s);
    cg_if one;
    if (part) cg_if_begin(g, &one, part);
    for (int ms = 0; ms < c->p.msub / c->p.bands; ms++) {
        cg_if live;
        val m16 = cg_addi(g, c->at.m0, (int64_t)c->p.next_m * ms),
            row = row0 ? cg_add(g, row0, m16) : m16;
        bool sure = !row0 && (c->p.warpgroup || (!ms && s->wm == 1)); /* else few may be there */
        if (!sure) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, row, c->now.mlive));
        for (int i = 0; i < c->p.products; i++)
            for (int ns = 0; ns < c->p.nsub; ns++) {
                val m = cg_add(g, cg_add(g, cg_muli(g, c->at.ks, s->tm), m16), c->at.out_m);
                val n = cg_add(g, cg_addi(g, c->at.n0, (int64_t)c->p.next_n * ns), c->at.out_n);
                write_sum(g, c, i, m, n, acc[cg_contract_sum(c, i, ms, ns)]);
            }
        if (!sure) cg_if_end(g, &live);
    }
    if (part) cg_if_end(g, &one);
}

/* The waves' parts of k, summed in their order into the first. */
void cg_sums_add(cg *g, const et_contract *c) {
    const et_step *s = c->p.s;
    LLVMTypeRef v4 = LLVMVectorType(g->f32, 4);
    cg_barrier(g);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_muli(g, c->now.mlive, s->tn / 4), -1);
    val per = cg_i32(g, s->tn / 4);
    val m = LLVMBuildUDiv(g->b, item, per, ""), n = LLVMBuildURem(g->b, item, per, "");
    for (int i = 0; i < s->nacc; i++) {
        const et_local *l = &g->f->locals[s->acc[i]];
        unsigned align = l->pitch % 4 ? 4 : 16;
        val at = cg_add(g, cg_muli(g, m, l->pitch), cg_muli(g, n, 4)), sum = NULL;
        val ptr = cg_local_ptr(g, s->acc[i], at);
        for (int w = 0; w < s->wk; w++) {
            val part =
                LLVMBuildLoad2(g->b, v4, cg_gepi(g, ptr, (int64_t)w * s->tm * l->pitch * 4), "");
            LLVMSetAlignment(part, align);
            sum = sum ? LLVMBuildFAdd(g->b, sum, part, "") : part;
        }
        LLVMSetAlignment(LLVMBuildStore(g->b, sum, ptr), align);
    }
    cg_items_end(g, &items);
}

/* The sets of a sum, added up. */
static val add_sets(cg *g, const et_contract *c, val sum) {
    for (int n = c->p.results * c->p.sets / 2; n >= c->p.results; n /= 2) {
        val low[ET_MAX_FRAGMENTS], high[ET_MAX_FRAGMENTS], none = LLVMGetPoison(LLVMTypeOf(sum));
        for (int i = 0; i < n; i++) {
            low[i] = cg_i32(g, i);
            high[i] = cg_i32(g, n + i);
        }
        val a = LLVMBuildShuffleVector(g->b, sum, none, LLVMConstVector(low, (unsigned)n), "");
        val b = LLVMBuildShuffleVector(g->b, sum, none, LLVMConstVector(high, (unsigned)n), "");
        sum = LLVMBuildFAdd(g->b, a, b, "");
    }
    return sum;
}

/* A sum, multiplied by what its operands were divided by. */
static val scaled(cg *g, const et_contract *c, val sum) {
    val each[16];
    if (c->p.times == 1) return sum;
    for (int i = 0; i < c->p.results; i++)
        each[i] = cg_f32(g, c->p.times);
    return LLVMBuildFMul(g->b, sum, LLVMConstVector(each, (unsigned)c->p.results), "");
}

val cg_sums_of(cg *g, const et_contract *c, val sum) {
    if (c->p.run) return cg_runs_sum(g, c, sum);
    val all = c->p.row_packed ? cg_row_packed_sum(g, c, sum)
              : c->p.in_turn  ? cg_in_turn_sum(g, c, sum)
                              : add_sets(g, c, sum);
    return scaled(g, c, all);
}

void cg_sums_begin(cg *g, const et_step *s) {
    for (int i = 0; i < s->nacc; i++)
        g->parts[s->acc[i]] = (cg_parts){s->wk, s->tm * g->f->locals[s->acc[i]].pitch * 4};
}
