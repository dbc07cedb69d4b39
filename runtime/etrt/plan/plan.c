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

/* Nothing is known of parts before a step has had all. Between two widths the ratio lies on a line.
 * Tiles that fill no whole number of rounds make steps of it which no line shows, so what has not
 * been tried promises more. */
double etrt_pace_expected(const struct etrt_pace *p, int parts) {
    const double *ratio = p->ratio[p->size], never = 1e30, untried = 0.93;
    int above = parts, below = parts;
    while (above < UNITS && !(ratio[above] > 0))
        above++;
    while (below && !(ratio[below] > 0))
        below--;
    double r = ratio[above];
    if (!(ratio[UNITS] > 0)) return parts < UNITS ? never : predicted(p, UNITS);
    if (below && below < above) r += (ratio[below] - r) * (above - parts) / (above - below);
    if (below < above) r *= untried;
    return predicted(p, parts) * r;
}

double etrt_pace_known(const struct etrt_pace *p, int parts) {
    return predicted(p, parts) * p->ratio[p->size][parts];
}

void etrt_pace_measured(struct etrt_pace *p, int parts, double ns) {
    const double part = 0.125, fades = 1 - 1. / 4096;
    double now = ns / predicted(p, parts), *ratio = p->ratio[p->size];
    for (int k = 1; k < UNITS; k++)
        ratio[k] *= fades;
    ratio[parts] += ratio[parts] > 0 ? (now - ratio[parts]) * part : now;
}

static double above(double x, double limit) {
    return x > limit ? x / limit - 1 : 0;
}

/* What it is worth that a step takes NS; MOST: as long as taking turns. */
static double worth(const struct etrt_pace *p, double ns, double most) {
    const double missed = 1e3, late = 1e6;
    return p->weight * etrt_pace_expected(p, UNITS) / ns - missed * above(ns, most) -
           late * above(ns, p->latency_ns);
}

/* The plan in force, if there is one. */
static double worth_now(const struct etrt_claim *c, int n, int units, double most) {
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (!c[i].units) return -1e30;
        sum += worth(c[i].pace, etrt_pace_expected(c[i].pace, etrt_pace_parts(c[i].units, units)),
                     most);
    }
    return sum;
}

bool etrt_plan(struct etrt_claim *c, int n, int units) {
    const double never = -1e30, slack = 1.02, gain = 1.02;
    double best[ETRT_MAX_MODELS + 1][UNITS + 1], all = 0, turns = 0;
    signed char from[ETRT_MAX_MODELS][UNITS + 1];
    for (int i = 0; i < n; i++)
        all += etrt_pace_expected(c[i].pace, UNITS);
    for (int end = 0; end <= units; end++)
        best[0][end] = end ? never : 0;
    for (int i = 0; i < n; i++) {
        const struct etrt_pace *p = c[i].pace;
        double value[UNITS + 1];
        turns += worth(p, all, all);
        for (int w = 1; w <= units; w++)
            value[w] = worth(p, etrt_pace_expected(p, etrt_pace_parts(w, units)), slack * all);
        for (int end = 0; end <= units; end++) {
            double *most = &best[i + 1][end];
            *most = never;
            for (int at = 0; at <= c[i].home && c[i].home < end; at++) {
                double sum = best[i][at] + value[end - at];
                if (!(sum > *most)) continue;
                *most = sum;
                from[i][end] = (signed char)at;
            }
        }
    }
    /* Who changes waits for the others, and steps that take a little longer than others did are no
     * reason to. */
    double now = worth_now(c, n, units, slack * slack * all);
    if (now > turns && !(best[n][units] > now * gain)) return true;
    if (!(best[n][units] > turns * gain)) return false;
    for (int i = n, end = units; i-- > 0; end = c[i].from) {
        c[i].from = from[i][end];
        c[i].units = end - c[i].from;
    }
    return true;
}
