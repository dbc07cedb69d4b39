/* Plans of kernels that stay (runtime/etrt/plan/plan.h), held against all divisions that there are.
 */
#include "runtime/etrt/plan/plan.h"
#include "tests/unit/runtime/support.h"

#include <math.h>
#include <string.h>

enum { UNITS = ETRT_PACE_UNITS, MOST = 4 };

static uint64_t state = 1;

static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

/* A model of which a part cannot be divided. */
static void make_model(struct etrt_pacing *by, struct etrt_pace *p, double ns, double serial) {
    memset(by, 0, sizeof *by);
    memset(p, 0, sizeof *p);
    by->size[0].upto = 1;
    for (int w = 1; w <= UNITS; w++)
        by->size[0].ns[w - 1] = (int64_t)(ns * (serial + (1 - serial) * UNITS / w));
    *p = (struct etrt_pace){.by = by, .weight = 1, .latency_ns = 1e30};
    etrt_pace_measured(p, UNITS, ns);
}

static double worth(const struct etrt_pace *p, double ns, double turns) {
    double all = (double)p->by->size[0].ns[UNITS - 1];
    return p->weight * all / ns - 1e3 * fmax(0, ns / (1.02 * turns) - 1) -
           1e6 * fmax(0, ns / p->latency_ns - 1);
}

/* The best sum for models from I on, of units from AT on. */
static double best_of(const struct etrt_claim *c, int i, int n, int at, int units, double turns) {
    double best = -INFINITY;
    if (i == n) return at == units ? 0 : best;
    for (int end = at + 1; end <= units; end++) {
        double ns = (double)c[i].pace->by->size[0].ns[etrt_pace_parts(end - at, units) - 1];
        if (c[i].home < at || c[i].home >= end) continue;
        best = fmax(best, worth(c[i].pace, ns, turns) + best_of(c, i + 1, n, end, units, turns));
    }
    return best;
}

static double value_of(const struct etrt_claim *c, int n, int units, double turns) {
    double sum = 0;
    int at = 0;
    for (int i = 0; i < n; at += c[i++].units) {
        ck_assert_int_eq(c[i].from, at);
        ck_assert(c[i].home >= at && c[i].home < at + c[i].units);
        sum +=
            worth(c[i].pace,
                  (double)c[i].pace->by->size[0].ns[etrt_pace_parts(c[i].units, units) - 1], turns);
    }
    ck_assert_int_eq(at, units);
    return sum;
}

START_TEST(every_division) {
    int divided = 0;
    for (int round = 0; round < 400; round++) {
        struct etrt_pacing by[MOST];
        struct etrt_pace pace[MOST];
        struct etrt_claim claim[MOST];
        int n = 2 + (int)(draw() * (MOST - 1)), units = n + (int)(draw() * (UNITS + 1 - n));
        double all = 0, turns = 0;
        for (int i = 0; i < n; i++) {
            make_model(&by[i], &pace[i], 1e5 * (1 + 9 * draw()), 0.6 * draw());
            if (draw() < 0.3) pace[i].weight = 1 + 3 * draw();
            if (draw() < 0.3) pace[i].latency_ns = 1e6 * draw() + 1e5;
            claim[i] = (struct etrt_claim){&pace[i], i * (units - 1) / (n - 1), 0, 0};
            all += (double)by[i].size[0].ns[UNITS - 1];
        }
        for (int i = 0; i < n; i++)
            turns += worth(&pace[i], all, all);
        double best = best_of(claim, 0, n, 0, units, all);
        if (!etrt_plan(claim, n, units)) {
            ck_assert(best <= turns * 1.01 + 1e-6 * fabs(turns));
            continue;
        }
        double value = value_of(claim, n, units, all);
        ck_assert_msg(fabs(value - best) <= 1e-3 * fabs(best), "%g, not %g", value, best);
        divided++;
    }
    ck_assert_int_gt(divided, 100);
}
END_TEST

/* Predictions promise much of a division; what is measured says otherwise, and turns are taken. */
START_TEST(measured) {
    struct etrt_pacing by[2];
    struct etrt_pace pace[2];
    for (int i = 0; i < 2; i++)
        make_model(&by[i], &pace[i], 1e6, 0.5);
    struct etrt_claim claim[2] = {{&pace[0], 0, 0, 0}, {&pace[1], UNITS - 1, 0, 0}};
    int tries = 0;
    while (etrt_plan(claim, 2, UNITS)) {
        ck_assert_int_lt(tries++, 100);
        for (int i = 0; i < 2; i++)
            etrt_pace_measured(&pace[i], claim[i].units, 2.2e6);
    }
    ck_assert_int_gt(tries, 0);
}
END_TEST

/* Before a step has had all there is, nothing is divided; each size is a case of its own. */
START_TEST(unknown) {
    struct etrt_pacing by[2];
    struct etrt_pace pace[2];
    for (int i = 0; i < 2; i++) {
        make_model(&by[i], &pace[i], 1e6, 0.5);
        by[i].size[1] = by[i].size[0];
        by[i].size[1].upto = 8;
    }
    struct etrt_claim claim[2] = {{&pace[0], 0, 0, 0}, {&pace[1], UNITS - 1, 0, 0}};
    ck_assert(etrt_plan(claim, 2, UNITS));
    ck_assert_int_eq(etrt_pace_size(&by[0], (const int64_t[]){1}), 0);
    ck_assert_int_eq(etrt_pace_size(&by[0], (const int64_t[]){2}), 1);
    ck_assert_int_eq(etrt_pace_size(&by[0], (const int64_t[]){9}), 1);
    ck_assert_int_eq(etrt_pace_size(NULL, NULL), 0);
    pace[1].size = 1;
    ck_assert(!etrt_plan(claim, 2, UNITS));
    etrt_pace_measured(&pace[1], UNITS, 1e6);
    ck_assert(etrt_plan(claim, 2, UNITS));
}
END_TEST

/* A weight gets a model more of the chip, a latency as much as it needs and no more. */
START_TEST(aims) {
    struct etrt_pacing by[2];
    struct etrt_pace pace[2];
    for (int i = 0; i < 2; i++)
        make_model(&by[i], &pace[i], 1e6, 0.3);
    struct etrt_claim claim[2] = {{&pace[0], 0, 0, 0}, {&pace[1], UNITS - 1, 0, 0}};
    ck_assert(etrt_plan(claim, 2, UNITS));
    int equal = claim[0].units;
    ck_assert_int_eq(equal, UNITS / 2);
    pace[0].weight = 1.5;
    ck_assert(etrt_plan(claim, 2, UNITS));
    ck_assert_int_gt(claim[0].units, equal);
    pace[0].weight = 1;
    pace[1].latency_ns = 1.4e6;
    ck_assert(etrt_plan(claim, 2, UNITS));
    ck_assert_int_gt(claim[1].units, equal);
    ck_assert(by[1].size[0].ns[claim[1].units - 1] <= 1400000);
    ck_assert(by[1].size[0].ns[claim[1].units - 2] > 1400000);
}
END_TEST

static void add(TCase *c) {
    tcase_add_test(c, every_division);
    tcase_add_test(c, measured);
    tcase_add_test(c, unknown);
    tcase_add_test(c, aims);
}

int main(void) {
    return run_suite("plan", add, 60);
}
