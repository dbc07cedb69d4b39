#include "runtime/etrt/plan/plan.h"

enum { UNITS = ETRT_PACE_UNITS };

int etrt_pace_size(const struct etrt_pacing *by, const int64_t *dims) {
    int k = 0;
    while (by && k < ETRT_MAX_SIZES - 1 && by->size[k + 1].upto &&
           dims[by->symbol] > by->size[k].upto)
        k++;
    return k;
}

/* Where nothing is predicted: as if a third could not be divided. */
static double predicted(const struct etrt_pace *p, int parts) {
    int64_t ns = p->by ? p->by->size[p->size].ns[parts - 1] : 0;
    return ns ? (double)ns : 1e6 / 3 * (1 + 2.0 * UNITS / parts);
}

/* Nothing is known of parts before a step has had all. */
static double expected(const struct etrt_pace *p, int parts) {
    const double *ratio = p->ratio[p->size], never = 1e30;
    if (!(ratio[UNITS] > 0) && parts < UNITS) return never;
    double r = ratio[parts] > 0 ? ratio[parts] : ratio[0];
    return predicted(p, parts) * (r > 0 ? r : 1);
}

void etrt_pace_measured(struct etrt_pace *p, int parts, double ns) {
    const double part = 0.125;
    double now = (double)(ns / predicted(p, parts));
    for (int k = 0; k <= parts; k += parts) {
        double *mean = &p->ratio[p->size][k];
        *mean += *mean > 0 ? (now - *mean) * part : now;
    }
}

static double above(double x, double limit) {
    return x > limit ? x / limit - 1 : 0;
}

/* What it is worth that a step takes NS; MOST: as long as taking turns. */
static double worth(const struct etrt_pace *p, double ns, double most) {
    const double missed = 1e3, late = 1e6, slack = 1.02;
    return p->weight * expected(p, UNITS) / ns - missed * above(ns, slack * most) -
           late * above(ns, p->latency_ns);
}

bool etrt_plan(struct etrt_claim *c, int n, int units) {
    const double never = -1e30;
    double best[ETRT_MAX_MODELS + 1][UNITS + 1], all = 0, turns = 0;
    signed char from[ETRT_MAX_MODELS][UNITS + 1];
    for (int i = 0; i < n; i++)
        all += expected(c[i].pace, UNITS);
    for (int end = 0; end <= units; end++)
        best[0][end] = end ? never : 0;
    for (int i = 0; i < n; i++) {
        const struct etrt_pace *p = c[i].pace;
        turns += worth(p, all, all);
        for (int end = 0; end <= units; end++) {
            double *most = &best[i + 1][end];
            *most = never;
            for (int at = 0; at <= c[i].home && c[i].home < end; at++) {
                double ns = expected(p, etrt_pace_parts(end - at, units));
                double sum = best[i][at] + worth(p, ns, all);
                if (!(sum > *most)) continue;
                *most = sum;
                from[i][end] = (signed char)at;
            }
        }
    }
    if (!(best[n][units] > turns * 1.01)) return false;
    for (int i = n, end = units; i-- > 0; end = c[i].from) {
        c[i].from = from[i][end];
        c[i].units = end - c[i].from;
    }
    return true;
}
