/* flat.c - encoders: a launch takes whole texts, one behind the other, and gives a row for each. */
#include "examples/llm/engine/tensors.h"
#include <stdlib.h>

bool flat_is(const struct lm *lm) {
    return lm_has_input(lm, "bounds", 1);
}

/* What it gives of a text: a vector, or scores; with one text in a launch of several tokens there
 * is one row. */
static bool read_result(struct lm *lm, const char *kernel, char *err) {
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    lm->result = lm_has(lm, ETRT_OUTPUT, ETRT_F32, 2, "embedding") ? "embedding" : "logits";
    if (!lm_has(lm, ETRT_OUTPUT, ETRT_F32, 2, lm->result))
        return llm_fail(err, "%s: gives neither a vector nor scores of a text", kernel);
    if (!lm_set_dim(lm, "S", 1, err) || !lm_shape(lm, lm->result, shape, &rank, err)) return false;
    if (shape[0] != 1)
        return llm_fail(err, "%s: gives %s of each token, not of a text", kernel, lm->result);
    lm->width = shape[1];
    return true;
}

bool flat_open(struct lm *lm, const char *kernel, char *err) {
    static const char *const names[] = {"tokens", "positions", "first", "end"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!lm_has_input(lm, names[i], 1))
            return llm_fail(err, "%s: no input \"%s\" : i32[N]: not an encoder from etimport",
                            kernel, names[i]);
    lm->flat = true;
    lm->typed = lm_has_input(lm, "types", 1);
    lm->max_tokens = lm_dim(lm, "N").hi;
    lm->slots = lm->max_rows = lm_dim(lm, "S").hi;
    if (lm->max_tokens < 2 || lm->slots < 1)
        return llm_fail(err, "%s: has no dims \"N\" and \"S\" for texts", kernel);
    if (!lm_set_dim(lm, "N", lm->max_tokens, err) || !read_result(lm, kernel, err)) return false;
    int64_t places = lm_weight_rows(lm, "places");
    lm->context = places && places < lm->max_tokens ? places : lm->max_tokens;
    lm->vocab = lm_weight_rows(lm, "words");
    if (!lm->vocab) lm->vocab = INT32_MAX;
    size_t n = (size_t)lm->max_tokens;
    lm->types = calloc(n, sizeof *lm->types);
    lm->first = calloc(n, sizeof *lm->first);
    lm->end = calloc(n, sizeof *lm->end);
    lm->bounds = calloc((size_t)lm->slots + 1, sizeof *lm->bounds);
    return (lm->types && lm->first && lm->end && lm->bounds) || llm_fail(err, "out of memory");
}

void flat_close(struct lm *lm) {
    free(lm->types);
    free(lm->first);
    free(lm->end);
    free(lm->bounds);
}

int64_t lm_add_text(struct lm *lm, const int32_t *ids, int64_t n, int64_t second) {
    int64_t first = lm->n;
    if (!first) lm->nrows = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = lm_add(lm, ids[i], i, 0);
        lm->types[at] = i >= second;
        lm->first[at] = (int32_t)first;
        lm->end[at] = (int32_t)(first + n);
    }
    lm->bounds[lm->nrows] = (int32_t)first;
    lm->bounds[lm->nrows + 1] = (int32_t)(first + n);
    return lm->nrows++;
}

bool flat_bind(struct lm *lm, int64_t n, char *err) {
    lm->submitted_rows = lm->nrows;
    return lm_set_dim(lm, "N", n, err) && lm_set_dim(lm, "S", lm->nrows, err) &&
           lm_bind(lm, "tokens", lm->tokens, n, err) &&
           lm_bind(lm, "positions", lm->positions, n, err) &&
           lm_bind(lm, "first", lm->first, n, err) && lm_bind(lm, "end", lm->end, n, err) &&
           (!lm->typed || lm_bind(lm, "types", lm->types, n, err)) &&
           lm_bind(lm, "bounds", lm->bounds, lm->nrows + 1, err);
}
