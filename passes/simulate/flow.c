/* The memory that workgroups and producers share: a fluid. All loads in flight receive the same, up
 * to what one CU takes. */
#include "passes/simulate/int.h"

/* Bytes a microsecond that each load receives. */
static double pour_rate(const struct sim *s) {
    bool streamed = s->producer && s->m->stream_gbs_cu > 0;
    double cu = (streamed ? s->m->stream_gbs_cu : s->m->cache_gbs_cu) * 1e3;
    double each = s->m->hbm_gbs * 1e3 / s->nflow;
    return each < cu ? each : cu;
}

static void pour(struct sim *s) {
    if (s->nflow) s->poured += pour_rate(s) * (s->now - s->poured_at);
    s->poured_at = s->now;
}

double sim_flow_time(const struct sim *s) {
    if (!s->nflow) return SIM_NEVER;
    double left = s->mark[s->flow[0]] - s->poured;
    return s->poured_at + (left > 0 ? left / pour_rate(s) : 0);
}

static void place_flow(struct sim *s, int i, int id) {
    s->flow[i] = id;
    s->flow_at[id] = i;
}

static bool ends_first(const struct sim *s, int a, int b) {
    return s->mark[a] < s->mark[b] || (s->mark[a] <= s->mark[b] && a < b);
}

static void settle(struct sim *s, int i, int id) {
    while (i > 0 && ends_first(s, id, s->flow[(i - 1) / 2])) {
        place_flow(s, i, s->flow[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        int k = 2 * i + 1;
        if (k >= s->nflow) break;
        if (k + 1 < s->nflow && ends_first(s, s->flow[k + 1], s->flow[k])) k++;
        if (!ends_first(s, s->flow[k], id)) break;
        place_flow(s, i, s->flow[k]);
        i = k;
    }
    place_flow(s, i, id);
}

void sim_flow_add(struct sim *s, int id, double bytes) {
    pour(s);
    if (s->flow_at[id] >= 0) {
        s->mark[id] += bytes;
        settle(s, s->flow_at[id], id);
        return;
    }
    s->mark[id] = s->poured + bytes;
    settle(s, s->nflow++, id);
}

int sim_flow_end(struct sim *s) {
    pour(s);
    int id = s->flow[0], last = s->flow[--s->nflow];
    s->flow_at[id] = -1;
    if (last != id) settle(s, 0, last);
    return id;
}

/* Bytes in flight are bandwidth times latency: a load that joins them arrives behind them. */
double sim_behind(const struct sim *s, double us) {
    double behind = s->asked / (s->m->hbm_gbs * 1e3);
    return behind > us ? behind : us;
}
