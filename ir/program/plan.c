/* The words of plans. */
#include "ir/program/program.h"

static const char *const words[ET_PLAN_WORDS][8] = {
#define W(kind, NAME, word) [ET_PLAN_WORD_##kind][ET_##kind##_##NAME] = word,
#include "ir/program/plan.def"
#undef W
};

const char *et_plan_word(et_plan_words kind, int i) {
    return i >= 0 && i < 8 ? words[kind][i] : NULL;
}
