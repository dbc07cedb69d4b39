/* What follows from a target's tables. */
#include "ir/target/target.h"

static const et_fragment *of_operand(const et_fragment *f, int n, et_dtype operand) {
    for (int i = 0; i < n; i++)
        if (f[i].operand == operand) return &f[i];
    return NULL;
}

const et_fragment *et_target_fragment(const et_target *t, et_dtype operand) {
    return of_operand(t->fragments, t->nfragments, operand);
}

const et_fragment *et_target_maybe_packed(const et_target *t, et_dtype operand) {
    const et_fragment *f = et_target_fragment(t, operand);
    return f && f->packed ? f : of_operand(t->either, t->neither, operand);
}

bool et_target_packs(const et_target *t) {
    return et_target_maybe_packed(t, ET_BF16) != NULL;
}

static int sum_of_bits(const unsigned char *of, int n, int number) {
    int sum = 0;
    for (int i = 0; i < n; i++)
        sum += number >> i & 1 ? of[i] : 0;
    return sum & 15;
}

int et_deal_values(const et_deal *d) {
    int n = 0;
    while (n < (int)sizeof d->value && d->value[n])
        n++;
    return 1 << n;
}

int et_deal_value(const et_deal *d, int i) {
    return sum_of_bits(d->value, sizeof d->value, i);
}

int et_deal_lane(const et_deal *d, int lane) {
    return sum_of_bits(d->lane, sizeof d->lane, lane);
}

int et_layout_groups(const et_layout *l) {
    return 1 + et_deal_lane(&l->k, -1);
}

int et_layout_sums(const et_layout *l) {
    int n = 0;
    for (int i = 0; i < (int)sizeof l->sum_n.value; i++)
        if (l->sum_n.value[i] || l->sum_m.value[i]) n = i + 1;
    return 1 << n;
}
