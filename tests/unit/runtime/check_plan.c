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

/* All that is predicted is so. */
static void confirm(struct etrt_pace *p) {
    for (int w = 1; w <= UNITS; w++)
        p->ratio[0][w] = 1;
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
            confirm(&pace[i]);
            if (draw() < 0.3) pace[i].weight = 1 + 3 * draw();
            if (draw() < 0.3) pace[i].latency_ns = 1e6 * draw() + 1e5;
            claim[i] = (struct etrt_claim){&pace[i], i * (units - 1) / (n - 1), 0, 0};
            all += (double)by[i].size[0].ns[UNITS - 1];
        }
        for (int i = 0; i < n; i++)
            turns += worth(&pace[i], all, all);
        double best = best_of(claim, 0, n, 0, units, all);
        if (!etrt_plan(claim, n, units)) {
            ck_assert(best <= turns * 1.02 + 1e-6 * fabs(turns));
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
    for (int i = 0; i < 2; i++) {
        make_model(&by[i], &pace[i], 1e6, 0.3);
        confirm(&pace[i]);
    }
    struct etrt_claim claim[2] = {{&pace[0], 0, 0, 0}, {&pace[1], UNITS - 1, 0, 0}};
    ck_assert(etrt_plan(claim, 2, UNITS));
    int equal = claim[0].units;
    ck_assert_int_eq(equal, UNITS / 2);
    pace[0].weight = 1.5;
    claim[0].units = 0; /* no plan is in force */
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

/* ---- a device that everybody asks again at once ---- */

/* What steps really take, which no prediction knows. */
struct real {
    double ns[UNITS + 1]; /* by width, alone */
    double neighbours;    /* part of the time that they cost */
};

static double takes(const struct real *r, int units, bool alone) {
    return r->ns[units] * (alone ? 1 : 1 + r->neighbours) * (0.98 + 0.04 * draw());
}

static void make_real(struct real *r) {
    double serial = 0.1 + 0.6 * draw(), ns = 2e5 * (1 + 9 * draw());
    r->neighbours = 0.2 * draw();
    for (int w = 1; w <= UNITS; w++) /* rounds of tiles make steps of it */
        r->ns[w] = ns * (serial + (1 - serial) * UNITS / w) * (0.95 + 0.1 * draw());
}

/* The best that a division of the chip between two gives that slows neither below turns. */
static double best_fixed(const struct real *r) {
    double turns = r[0].ns[UNITS] + r[1].ns[UNITS], best = 1;
    for (int w = 1; w < UNITS; w++) {
        double a = r[0].ns[w] * (1 + r[0].neighbours);
        double b = r[1].ns[UNITS - w] * (1 + r[1].neighbours);
        if (a > turns || b > turns) continue;
        best = fmax(best, r[0].ns[UNITS] / a + r[1].ns[UNITS] / b);
    }
    return best;
}

struct played {
    struct etrt_pace pace[2];
    struct etrt_claim claim[2];
    int width[2]; /* of the step that runs, or none */
    double began[2], ends[2], asked[2];
    int64_t done[2];
    double now;
};

/* Gives model I a step, if what the plan gives it is free. */
static void try_step(struct played *p, const struct real *r, int i) {
    bool divided = etrt_plan(p->claim, 2, UNITS);
    int wanted = divided ? p->claim[i].units : UNITS, other = p->width[1 - i];
    if (!divided) p->claim[0].units = p->claim[1].units = 0;
    bool first = other || p->asked[i] <= p->asked[1 - i];
    if (wanted + other > UNITS || (!divided && !first)) return;
    p->width[i] = wanted;
    p->began[i] = p->now;
    p->ends[i] = p->now + takes(&r[i], wanted, !divided);
}

static void play(struct played *p, const struct real *r, double until) {
    p->done[0] = p->done[1] = 0;
    while (p->now < until) {
        int next = p->asked[0] <= p->asked[1] ? 0 : 1;
        for (int k = 0; k < 2; k++)
            if (!p->width[k ^ next]) try_step(p, r, k ^ next);
        int i = !p->width[0] || (p->width[1] && p->ends[1] < p->ends[0]);
        ck_assert_int_gt(p->width[i], 0);
        p->now = p->asked[i] = p->ends[i];
        etrt_pace_measured(&p->pace[i], p->width[i], p->now - p->began[i]);
        p->width[i] = 0;
        p->done[i]++;
    }
}

/* Without predictions, plans come to within 3 % of what the best fixed division gives, in 19 of 20
 * cases, and slow nobody below what turns do. */
START_TEST(found) {
    enum { ROUNDS = 40 };
    int divided = 0, within = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct real real[2];
        struct played p = {.now = 0};
        for (int i = 0; i < 2; i++) {
            make_real(&real[i]);
            p.pace[i] = (struct etrt_pace){.weight = 1, .latency_ns = 1e30};
            p.claim[i] = (struct etrt_claim){&p.pace[i], i * (UNITS - 1), 0, 0};
        }
        double turns = real[0].ns[UNITS] + real[1].ns[UNITS], best = best_fixed(real);
        double from = 200 * turns, until = 600 * turns;
        play(&p, real, from);
        from = p.now;
        play(&p, real, until);
        double progress = 0;
        for (int i = 0; i < 2; i++) {
            double rate = (double)p.done[i] / (p.now - from);
            ck_assert_msg(rate * turns > 0.94, "%d: model %d has %.3f of turns", round, i,
                          rate * turns);
            progress += rate * real[i].ns[UNITS];
        }
        ck_assert_msg(progress > 0.94 * best, "%d: %.3f, and a fixed division gives %.3f", round,
                      progress, best);
        within += progress > 0.97 * best;
        divided += best > 1.1;
    }
    ck_assert_int_gt(divided, 20);
    ck_assert_int_ge(within, ROUNDS - ROUNDS / 20);
}
END_TEST

/* A plan in force stays while another promises less than 2 % more, and no longer. */
START_TEST(stays) {
    struct etrt_pacing by[2];
    struct etrt_pace pace[2];
    for (int i = 0; i < 2; i++)
        make_model(&by[i], &pace[i], 1e6, 0.3);
    struct etrt_claim claim[2] = {{&pace[0], 0, 0, 7}, {&pace[1], UNITS - 1, 7, 9}};
    ck_assert(etrt_plan(claim, 2, UNITS));
    ck_assert_int_eq(claim[0].units, 7);
    claim[0].units = claim[1].from = 4;
    claim[1].units = UNITS - 4;
    ck_assert(etrt_plan(claim, 2, UNITS));
    ck_assert_int_eq(claim[0].units, UNITS / 2);
}
END_TEST

static void add(TCase *c) {
    tcase_add_test(c, stays);
    tcase_add_test(c, found);
    tcase_add_test(c, every_division);
    tcase_add_test(c, measured);
    tcase_add_test(c, unknown);
    tcase_add_test(c, aims);
}

int main(void) {
    return run_suite("plan", add, 60);
}
