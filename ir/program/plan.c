/* The words of plans. */
#include "ir/program/program.h"
#include <stddef.h>

static const char *const words[ET_PLAN_WORDS][8] = {
#define W(kind, NAME, word) [ET_PLAN_WORD_##kind][ET_##kind##_##NAME] = word,
#include "ir/program/plan.def"
#undef W
};

const char *et_plan_word(et_plan_words kind, int i) {
    return i >= 0 && i < 8 ? words[kind][i] : NULL;
}

#define FLAG(of, member)                                                                           \
    { #member, ET_PLAN_FLAG, offsetof(of, member), 0, 0, 0, 0 }
#define NUMBER(of, member, unsaid, least, most)                                                    \
    { #member, ET_PLAN_NUMBER, offsetof(of, member), unsaid, least, most, 0 }
#define CHOICE(of, member, words)                                                                  \
    { #member, ET_PLAN_CHOICE, offsetof(of, member), 0, 0, 0, ET_PLAN_WORD_##words }

static const et_plan_option product[] = {
    NUMBER(et_product_plan, row_packed, 0, 2, 16),
    FLAG(et_product_plan, in_turn),
    FLAG(et_product_plan, in_steps),
    NUMBER(et_product_plan, spans, 0, 2, 64),
    NUMBER(et_product_plan, span, 0, 16, 1 << 16),
    NUMBER(et_product_plan, run, 0, 8, 256),
    FLAG(et_product_plan, maybe_packed),
    NUMBER(et_product_plan, unroll, 1, 1, 12),
    CHOICE(et_product_plan, prologue, PROLOGUE),
    FLAG(et_product_plan, interleaved),
    CHOICE(et_product_plan, early, EARLY),
    NUMBER(et_product_plan, early_chunks, 0, 0, 64),
    NUMBER(et_product_plan, prefetch, 0, 1, 1 << 20),
    FLAG(et_product_plan, prefetch_auxiliary),
    CHOICE(et_product_plan, boxes, BOXES),
    FLAG(et_product_plan, evict_first),
    FLAG(et_product_plan, deferred),
    FLAG(et_product_plan, reuse),
};
static const et_plan_option map[] = {
    NUMBER(et_map_plan, unroll, 1, 1, 8),
    NUMBER(et_map_plan, full, 0, 1, 8),
    CHOICE(et_map_plan, early, MAP_EARLY),
    FLAG(et_map_plan, reuse),
};
static const et_plan_option reduce[] = {
    NUMBER(et_reduce_plan, rows, 1, 1, 4),
    NUMBER(et_reduce_plan, wide, 1, 1, 4),
    NUMBER(et_reduce_plan, as, 0, 2, 1024),
    FLAG(et_reduce_plan, reuse),
};

#define OF(options)                                                                                \
    { options, (int)(sizeof options / sizeof *options) }
static const struct {
    const et_plan_option *all;
    int count;
} options[] = {
    [ET_OPTIONS_PRODUCT] = OF(product),
    [ET_OPTIONS_MAP] = OF(map),
    [ET_OPTIONS_REDUCE] = OF(reduce),
};

const et_plan_option *et_plan_options(et_plan_options_of of, int *out_count) {
    *out_count = options[of].count;
    return options[of].all;
}

/* Enums are as wide as int. */
int et_plan_get(const et_plan_option *o, const void *plan) {
    const char *at = (const char *)plan + o->at;
    return o->kind == ET_PLAN_FLAG ? *(const bool *)at : *(const int *)(const void *)at;
}

void et_plan_set(const et_plan_option *o, void *plan, int to) {
    char *at = (char *)plan + o->at;
    if (o->kind == ET_PLAN_FLAG)
        *(bool *)at = to;
    else
        *(int *)(void *)at = to;
}
