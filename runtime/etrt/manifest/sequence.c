/* Launches that are sequences of kernels: how the manifest tells them. */
#include "runtime/etrt/manifest/parse.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>

enum { MAX_KERNELS = 65536, MAX_SEQUENCES = 64, MAX_STEPS = 1 << 20 };
#define MAX_LAUNCHES ((int64_t)1 << 20)

/* ---- kernels ---- */

static etrt_status parse_kernel(struct etrt_parser *p, const struct etrt_json_at *at,
                                json_t *object, struct etrt_kernel *k) {
    int64_t task, lds, workgroup = p->m->workgroup;
    if (!json_is_object(object)) return etrt_json_fail(at, "must be an object");
    etrt_status st = etrt_parse_copy(at, object, "symbol", &k->symbol);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "task", 0, p->m->ntasks - 1, &task);
    if (st == ETRT_OK) st = etrt_json_int(at, object, "lds_bytes", 0, p->m->lds_bytes, &lds);
    if (st == ETRT_OK && json_object_get(object, "workgroup"))
        st = etrt_json_int(at, object, "workgroup", 1, p->m->workgroup, &workgroup);
    if (st != ETRT_OK) return st;
    k->lds_bytes = (uint32_t)lds;
    k->workgroup = (uint32_t)workgroup;
    k->counted = json_object_get(object, "tiles") != NULL;
    return k->counted ? etrt_parse_dims(p, at, object, "tiles", k->tiles, &k->rank) : ETRT_OK;
}

static etrt_status parse_kernels(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    const struct etrt_json_at up = {NULL, "kernels", 0};
    json_t *array;
    etrt_status st = etrt_json_array(NULL, root, "kernels", MAX_KERNELS, &array);
    if (st != ETRT_OK) return st;
    size_t n = json_array_size(array);
    if (!n) return etrt_json_fail(&up, "there is none");
    m->kernels = calloc(n, sizeof *m->kernels);
    if (!m->kernels) return etrt_no_memory();
    for (size_t i = 0; i < n && st == ETRT_OK; i++) {
        struct etrt_json_at at = {&up, NULL, i};
        m->nkernels = (int)i + 1;
        st = parse_kernel(p, &at, json_array_get(array, i), &m->kernels[i]);
    }
    return st;
}

/* ---- sequences ---- */

static etrt_status add_step(const struct etrt_json_at *at, struct etrt_sequence *s,
                            struct etrt_step step) {
    if (s->nsteps == MAX_STEPS) return etrt_json_fail(at, "more than %d steps", MAX_STEPS);
    if (!(s->nsteps & (s->nsteps - 1))) {
        size_t room = s->nsteps ? 2 * (size_t)s->nsteps : 1;
        struct etrt_step *steps = realloc(s->steps, room * sizeof *steps);
        if (!steps) return etrt_no_memory();
        s->steps = steps;
    }
    s->steps[s->nsteps++] = step;
    return ETRT_OK;
}

/* "times" of a loop: a number, or [most, iterations of a launch]. */
static etrt_status parse_times(struct etrt_parser *p, const struct etrt_json_at *up, json_t *object,
                               struct etrt_step *step) {
    struct etrt_json_at at = {up, "times", 0}, first = {&at, NULL, 0}, second = {&at, NULL, 1};
    json_t *v = json_object_get(object, "times");
    if (!json_is_array(v)) return etrt_json_int(up, object, "times", 0, MAX_LAUNCHES, &step->times);
    if (json_array_size(v) != 2)
        return etrt_json_fail(&at, "must be a number or [most, iterations of a launch]");
    etrt_status st =
        etrt_json_check_int(&first, json_array_get(v, 0), 0, MAX_LAUNCHES, &step->times);
    if (st == ETRT_OK) st = etrt_parse_dim(p, &second, json_array_get(v, 1), &step->until);
    step->varies = st == ETRT_OK;
    return st;
}

/* The steps of array "run" of OBJECT. *OUT is how many kernels they launch; DEPTH loops are around
 * them, of which ETRT_MAX_DEPTH bounds the recursion. */
static etrt_status parse_run(struct etrt_parser *p, const struct etrt_json_at *up, json_t *object,
                             int depth, struct etrt_sequence *s, int64_t *out) {
    struct etrt_json_at all = {up, "run", 0};
    json_t *array;
    *out = 0;
    if (depth > ETRT_MAX_DEPTH)
        return etrt_json_fail(up, "more than %d loops in one another", ETRT_MAX_DEPTH);
    etrt_status st = etrt_json_array(up, object, "run", MAX_STEPS, &array);
    if (depth > p->m->depth) p->m->depth = depth;
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&all, NULL, i};
        json_t *v = json_array_get(array, i);
        struct etrt_step step = {.kernel = -1};
        int64_t inside = 1, kernel = 0;
        if (!json_is_object(v)) {
            st = etrt_json_check_int(&at, v, 0, p->m->nkernels - 1, &kernel);
            step.kernel = (int)kernel;
            if (st == ETRT_OK) st = add_step(&at, s, step);
        } else {
            int mine = s->nsteps;
            st = parse_times(p, &at, v, &step);
            etrt_status added = st == ETRT_OK ? add_step(&at, s, step) : st;
            if (st == ETRT_OK && added != ETRT_OK && step.varies) etrt_expr_free(&step.until);
            st = added;
            if (st == ETRT_OK) st = parse_run(p, &at, v, depth + 1, s, &inside);
            if (st == ETRT_OK) s->steps[mine].count = s->nsteps - mine - 1;
            inside *= step.times; /* both are at most MAX_LAUNCHES */
        }
        *out += inside;
        if (st == ETRT_OK && *out > MAX_LAUNCHES)
            st = etrt_json_fail(&at, "more than %lld launches", (long long)MAX_LAUNCHES);
    }
    return st;
}

static etrt_status parse_upto(struct etrt_parser *p, const struct etrt_json_at *up, json_t *object,
                              struct etrt_sequence *s) {
    struct etrt_json_at at = {up, "upto", 0};
    json_t *v = json_object_get(object, "upto");
    const char *name;
    s->symbol = -1;
    s->workgroups = INT32_MAX;
    if (json_object_get(object, "workgroups")) {
        etrt_status st = etrt_json_int(up, object, "workgroups", 1, INT32_MAX - 1, &s->workgroups);
        if (st != ETRT_OK) return st;
    }
    if (!v) return ETRT_OK;
    if (!json_is_array(v) || json_array_size(v) != 2)
        return etrt_json_fail(&at, "must be [symbol, value]");
    etrt_status st = etrt_json_check_string(&at, json_array_get(v, 0), &name);
    if (st == ETRT_OK && (s->symbol = etrt_manifest_symbol(p->m, name)) < 0)
        st = etrt_json_fail(&at, "\"%s\" is not a symbol", name);
    return st == ETRT_OK
               ? etrt_json_check_int(&at, json_array_get(v, 1), INT32_MIN, INT32_MAX, &s->upto)
               : st;
}

/* Some sequence is for every launch: the last one's bound is the symbol's, and it has no other. */
static etrt_status check_last(const struct etrt_json_at *at, const struct etrt_manifest *m) {
    const struct etrt_sequence *s = m->nsequences ? &m->sequences[m->nsequences - 1] : NULL;
    if (!s) return etrt_json_fail(at, "there is none");
    const char *of = s->symbol >= 0 && s->upto < m->symbols[s->symbol].hi
                         ? m->symbols[s->symbol].name
                     : s->workgroups < INT32_MAX ? "workgroups"
                                                 : NULL;
    return of ? etrt_json_fail(at, "none is for the upper bound of %s", of) : ETRT_OK;
}

etrt_status etrt_parse_sequences(struct etrt_parser *p, json_t *root) {
    struct etrt_manifest *m = p->m;
    const struct etrt_json_at up = {NULL, "sequences", 0};
    json_t *array;
    if (!json_object_get(root, "kernels")) return ETRT_OK;
    etrt_status st = parse_kernels(p, root);
    if (st == ETRT_OK) st = etrt_json_array(NULL, root, "sequences", MAX_SEQUENCES, &array);
    if (st != ETRT_OK) return st;
    m->sequences = calloc(json_array_size(array) + 1, sizeof *m->sequences);
    if (!m->sequences) return etrt_no_memory();
    for (size_t i = 0; st == ETRT_OK && i < json_array_size(array); i++) {
        struct etrt_json_at at = {&up, NULL, i};
        json_t *v = json_array_get(array, i);
        struct etrt_sequence *s = &m->sequences[i];
        m->nsequences = (int)i + 1;
        if (!json_is_object(v)) st = etrt_json_fail(&at, "must be an object");
        if (st == ETRT_OK) st = parse_upto(p, &at, v, s);
        if (st == ETRT_OK) st = parse_run(p, &at, v, 0, s, &s->launches);
        if (st == ETRT_OK && !s->launches) st = etrt_json_fail(&at, "it runs no kernel");
    }
    return st == ETRT_OK ? check_last(&up, m) : st;
}

/* ---- what launches ask ---- */

const struct etrt_sequence *etrt_manifest_sequence(const struct etrt_manifest *m,
                                                   const int64_t *values, uint32_t workgroups) {
    const struct etrt_sequence *s = m->sequences, *last = s + m->nsequences - 1;
    while (s < last &&
           (workgroups > s->workgroups || (s->symbol >= 0 && values[s->symbol] > s->upto)))
        s++;
    return s;
}

etrt_status etrt_step_times(const struct etrt_step *step, const int64_t *values, int64_t *out) {
    *out = step->times;
    if (!step->varies) return ETRT_OK;
    if (!etrt_expr_eval(&step->until, values, out) || *out < 0 || *out > step->times)
        return etrt_fail(ETRT_RANGE, "a loop has no number of iterations up to %lld",
                         (long long)step->times);
    return ETRT_OK;
}

etrt_status etrt_kernel_tiles(const struct etrt_kernel *k, const int64_t *values,
                              uint32_t *out_tiles) {
    /* The grid of work-items has to be below 2^32. */
    enum { MOST = 1 << 21 };
    int64_t tiles = 1, n;
    for (int i = 0; i < k->rank; i++) {
        if (!etrt_expr_eval(&k->tiles[i], values, &n) || n < 0)
            return etrt_fail(ETRT_RANGE, "kernel %s: its number of tiles has no value", k->symbol);
        if (__builtin_mul_overflow(tiles, n, &tiles)) tiles = MOST;
    }
    /* Workgroups go round the tiles, so fewer will do. */
    *out_tiles = (uint32_t)(tiles > MOST ? MOST : tiles < 1 ? 1 : tiles);
    return ETRT_OK;
}
