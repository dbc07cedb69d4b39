/* A kernel that stays: each decoder begins its next iteration when its last one is over. */
#include "examples/llm/engine/parts.h"

bool resident_runs(const struct launcher *l) {
    for (int i = 0; i < l->n; i++)
        if (l->engines[i].posted) return true;
    return false;
}

/* The device, and with it all iterations. */
static void lose(struct launcher *l, const char *why) {
    lm_close(&l->kernel);
    for (int i = 0; i < l->n; i++) {
        l->engines[i].posted = false;
        launch_fail(&l->engines[i], true, why);
    }
}

/* False: it cannot. */
static bool post(struct launcher *l, struct engine *e, char *why) {
    double from = lm_now();
    e->total = launch_fill(e);
    e->began = lm_now();
    l->phases.fill += e->began - from;
    if (!e->total) return true;
    if (!e->stats.launches) e->stats.start.began = e->began;
    l->tried++;
    if (!lm_post(e->lm, why)) return false;
    l->phases.submit += l->kernel.spent.submit;
    e->posted = true;
    launch_tell(e);
    return true;
}

static bool post_all(struct launcher *l, char *why) {
    for (int i = 0; i < l->n; i++)
        if (!l->engines[i].posted && l->engines[i].nactive && !post(l, &l->engines[i], why))
            return false;
    return true;
}

/* READ: seconds of reading before it. */
static void take(struct launcher *l, struct engine *e, enum lm_result result, double read,
                 const char *why) {
    const struct lm_spent *spent = &l->kernel.spent;
    double ended = lm_now(), more = spent->read;
    e->posted = false;
    l->phases.wait += ended - e->began - (more - read);
    if (result == LM_DONE)
        launch_take(e, e->total, ended - e->began);
    else
        launch_fail(e, false, why);
    l->phases.read += spent->read - read;
    l->phases.take += lm_now() - ended - (spent->read - more);
}

/* Of several that run none is waited for so long that another stands still. */
static bool take_all(struct launcher *l, char *why) {
    const double one = 1e-3, of_several = 2e-5;
    int running = 0;
    for (int i = 0; i < l->n; i++)
        running += l->engines[i].posted;
    for (int i = 0; i < l->n; i++) {
        struct engine *e = &l->engines[i];
        enum lm_result result;
        double read = l->kernel.spent.read;
        if (!e->posted || !lm_wait_post(e->lm, running > 1 ? of_several : one, &result, why))
            continue;
        if (result == LM_LOST) return false;
        take(l, e, result, read, why);
    }
    return true;
}

void resident_go_on(struct launcher *l) {
    char why[LLM_ERR] = "";
    bool runs = resident_runs(l);
    if (!runs && !launcher_ready(l)) return;
    bool good = l->stop || post_all(l, why);
    if (good && !resident_runs(l))
        launcher_wait(l);
    else if (!good || !take_all(l, why))
        lose(l, why);
}
