/* Two models with kernels of their own, each on CUs of its own, both launched again and again. What
 * one takes of memory is not there for the other, which so takes longer and takes less of it: both
 * are played in turn until neither changes any more. */
#include "bench/mixes/mixes.h"
#include <math.h>
#include <stdlib.h>

/* A model with its tilings. */
struct side {
    struct mix one;
    struct mix_program *all, *part;
    int width;
};

static bool compile(const struct mix *m, int model, int width, et_arena *a, struct side *s) {
    s->one = (struct mix){.nmodels = 1, .machine = m->machine, .context = m->context};
    s->one.text[0] = m->text[model];
    s->one.file[0] = m->file[model];
    s->one.bytes[0] = m->bytes[model];
    s->width = width;
    s->all = mix_compile(&s->one, a, ET_PLACEMENT_ALL);
    if (!s->all || !width) return s->all != NULL;
    struct mix *part = et_alloc(a, sizeof *part);
    et_machine *half = et_alloc(a, sizeof *half);
    *half = *m->machine;
    half->cus = width;
    *part = s->one;
    part->machine = half;
    s->part = mix_compile(part, a, ET_PLACEMENT_ALL);
    return s->part != NULL;
}

static double draw(const et_sim_result *r) {
    return r->memory_bytes / r->us * 1e-3;
}

/* As a launch that took OWN GB/s, with OTHERS beside it. */
static bool play(const struct side *s, int cus, double own, double others, et_sim_result *out) {
    enum { PART = 32 }; /* tilings for a width are for what is so near (passes/variants.c) */
    bool near = s->width && abs(cus - s->width) <= s->width / PART;
    struct mix_program *p = near ? s->part : s->all;
    const et_machine m = et_machine_beside(mix_machine(p), own, others);
    const struct mix_how how = {.mode = ET_SIM_AS_SCHEDULED, .workgroups = cus, .machine = &m};
    struct mix_launch launch;
    if (!mix_play(p, &how, 1, &launch)) return false;
    *out = launch.r;
    return true;
}

static bool settle(const struct side *s, const int *cus, et_sim_result *r) {
    enum { ROUNDS = 12 };
    const double near = 1e-3;
    for (int i = 0, still = 0; i < ROUNDS && still < 2; i++) {
        int m = i % 2;
        double before = r[m].us;
        if (!play(&s[m], cus[m], draw(&r[m]), draw(&r[!m]), &r[m])) return false;
        still = fabs(r[m].us - before) < near * before ? still + 1 : 0;
    }
    return true;
}

bool mix_print_splits(const struct mix *m, int width, const int *split, int n) {
    et_arena *a = et_arena_create();
    struct side s[2];
    et_sim_result whole[2], alone[2], both[2];
    int all = m->machine->cus;
    bool ok = compile(m, 0, width, a, &s[0]) && compile(m, 1, width, a, &s[1]);
    for (int k = 0; ok && k < 2; k++)
        ok = play(&s[k], all, 0, 0, &whole[k]);
    if (ok)
        printf("%s, %s and %s; alone on all CUs %.0f and %.0f us.\n\n| CUs | alone, us | GB/s | "
               "beside each other, us | progress |\n| --- | --- | --- | --- | --- |\n",
               m->machine->name, mix_name(s[0].all, 0), mix_name(s[1].all, 0), whole[0].us,
               whole[1].us);
    for (int i = 0; ok && i < n; i++) {
        const int cus[2] = {split[i], all - split[i]};
        for (int k = 0; ok && k < 2; k++) {
            ok = play(&s[k], cus[k], 0, 0, &alone[k]);
            both[k] = alone[k];
        }
        ok = ok && settle(s, cus, both);
        if (ok)
            printf("| %d / %d | %.0f / %.0f | %.0f / %.0f | %.0f / %.0f | %.2f |\n", cus[0], cus[1],
                   alone[0].us, alone[1].us, draw(&alone[0]), draw(&alone[1]), both[0].us,
                   both[1].us, whole[0].us / both[0].us + whole[1].us / both[1].us);
    }
    for (int k = 0; k < 2; k++) {
        mix_program_destroy(s[k].all);
        mix_program_destroy(s[k].part);
    }
    et_arena_destroy(a);
    return ok;
}
