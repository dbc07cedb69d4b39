/* compare.c - are these the logits they should be?
 *
 * Two things are asked: the relative error ||out - ref|| / ||ref|| is within --tolerance, and the
 * arg-max is the same wherever the reference's best two logits are more than --gap apart (nearer
 * than that, rounding decides). */
#include "examples/llm/base/error.h"
#include "examples/llm/options.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct tally {
    double error, norm; /* sums of squares */
    int64_t rows, near_ties, wrong;
};

struct best {
    int64_t at;
    float value, second;
};

static float element(const void *data, int64_t i) {
    float v;
    memcpy(&v, (const char *)data + i * 4, sizeof v);
    return v;
}

static struct best best_of(const void *data, int64_t first, int64_t n) {
    struct best b = {0, element(data, first), -INFINITY};
    for (int64_t i = 1; i < n; i++) {
        float v = element(data, first + i);
        if (v > b.value) {
            b.second = b.value;
            b.value = v;
            b.at = i;
        } else if (v > b.second) {
            b.second = v;
        }
    }
    return b;
}

static void compare_rows(const struct etrt_st_tensor *ref, const struct etrt_st_tensor *out,
                         double gap, struct tally *t) {
    int64_t width = ref->shape[ref->rank - 1], total = (int64_t)(ref->bytes / 4);
    for (int64_t i = 0; i < total; i++) {
        double r = element(ref->data, i), d = element(out->data, i) - r;
        t->error += d * d;
        t->norm += r * r;
    }
    for (int64_t i = 0; width && i < total; i += width) {
        struct best r = best_of(ref->data, i, width), o = best_of(out->data, i, width);
        t->rows++;
        if (r.value - r.second <= gap)
            t->near_ties++;
        else if (r.at != o.at)
            t->wrong++;
    }
}

static bool same_kind(const struct options *o, const struct etrt_st_tensor *ref,
                      const struct etrt_st_tensor *out) {
    char a[128], b[128];
    if (!out) return llm_complain("%s: \"%s\" is missing", o->out, ref->name);
    if (strcmp(ref->dtype, "F32") || strcmp(out->dtype, "F32"))
        return llm_complain("\"%s\" is %s and %s; expected F32", ref->name, ref->dtype, out->dtype);
    if (ref->rank < 1 || ref->rank != out->rank ||
        memcmp(ref->shape, out->shape, (size_t)ref->rank * sizeof *ref->shape))
        return llm_complain("\"%s\" has shape %s in %s and %s in %s", ref->name,
                            etrt_st_shape_text(ref->rank, ref->shape, a, sizeof a), o->ref,
                            etrt_st_shape_text(out->rank, out->shape, b, sizeof b), o->out);
    return true;
}

/* "logits", or "logits.0", "logits.1", ... */
static bool is_logits(const char *name) {
    return !strcmp(name, "logits") || !strncmp(name, "logits.", 7);
}

static bool compare_files(const struct options *o, const struct etrt_st *ref,
                          const struct etrt_st *out) {
    struct tally t = {0};
    for (size_t i = 0; i < etrt_st_count(ref); i++) {
        const struct etrt_st_tensor *r = etrt_st_at(ref, i), *mine;
        if (!is_logits(r->name)) continue;
        mine = etrt_st_find(out, r->name);
        if (!same_kind(o, r, mine)) return false;
        compare_rows(r, mine, o->gap, &t);
    }
    if (!t.rows) return llm_complain("%s: no logits to compare with", o->ref);
    double error = sqrt(t.error / t.norm);
    int64_t counted = t.rows - t.near_ties;
    printf(
        "relative error %.3g (limit %g); arg-max equal at %lld of %lld positions, %lld near-ties "
        "not counted\n",
        error, o->tolerance, (long long)(counted - t.wrong), (long long)counted,
        (long long)t.near_ties);
    /* Written so that a NaN fails. */
    return error <= o->tolerance && t.wrong == 0;
}

bool compare(const struct options *o) {
    char err[ETRT_ST_ERR];
    struct etrt_st *ref = NULL, *out = NULL;
    bool ok = (etrt_st_open(o->ref, &ref, err, sizeof err) &&
               etrt_st_open(o->out, &out, err, sizeof err)) ||
              llm_complain("%s", err);
    ok = ok && compare_files(o, ref, out);
    etrt_st_close(ref);
    etrt_st_close(out);
    return ok;
}
