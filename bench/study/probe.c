/* The simulator against published times: weights of Llama-3.2-1B streamed through an H100 with 0, 2
 * and 5 device-wide events per layer, and the price of a device-wide event on an MI300X against the
 * boundary of a kernel. */
#include "bench/study/study.h"
#include "codegen/targets/targets.h"
#include "ir/eti/eti.h"
#include "passes/machine/machine.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include <stdlib.h>
#include <string.h>

/* A model of LAYERS layers whose weights are cut into PER grids of a tile for each of WGS
 * workgroups, and a last grid; with EVENTS, each grid waits for all tiles of the one before. ROWS
 * of the product are 16. */
static char *stream(int layers, int per, int wgs, double layer_bytes, double last_bytes,
                    bool events) {
    size_t bytes = 0;
    char *text = NULL;
    FILE *f = open_memstream(&text, &bytes);
    long k = (long)(layer_bytes / per / wgs / 128 / 8) * 8;
    long last = (long)(last_bytes / wgs / 128 / 8) * 8;
    if (!f) return NULL;
    fprintf(f, "eti 1 evented\nmodel stream\nloop l in 0..%d\ninput %%x : bf16[16, %ld]\n", layers,
            last > k ? last : k);
    fprintf(f, "weight %%w : bf16[%d, %d, %d, %ld] = \"w\" over l\n", layers, per, wgs * 64, k);
    fprintf(f, "weight %%u : bf16[%d, %ld] = \"u\"\n", wgs * 64, last);
    fprintf(f, "output %%z : f32[16, %d]\n", wgs * 64);
    for (int i = 0; i < per; i++)
        fprintf(f, "temp %%y%d : f32[16, %d]\n", i, wgs * 64);
    for (int i = 0; i < per; i++)
        fprintf(f,
                "func @f%d [i < %d] {\n  contract bf16 [m < 16, n < 64] over k < %ld\n"
                "    a = %%x[m, k]\n    $sum += a * %%w[l, %d, i * 64 + n, k]\n"
                "  map [m < 16, n < 64]\n    %%y%d[m, i * 64 + n] = $sum[0, m, n]\n}\n",
                i, wgs, k, i, i);
    fprintf(f,
            "func @last [i < %d] {\n  contract bf16 [m < 16, n < 64] over k < %ld\n"
            "    a = %%x[m, k]\n    $sum += a * %%u[i * 64 + n, k]\n"
            "  map [m < 16, n < 64]\n    %%z[m, i * 64 + n] = $sum[0, m, n]\n}\n",
            wgs, last);
    if (events) fprintf(f, "event %%e[%d, %d] count %d\n", layers, per, wgs);
    fprintf(f, "schedule {\n  loop l {\n");
    for (int i = 0; i < per; i++) {
        fprintf(f, "    task @f%d\n", i);
        if (!events) continue;
        if (i > 0)
            fprintf(f, "      wait %%e[l, %d]\n", i - 1);
        else
            fprintf(f, "      wait %%e[max(0, l - 1) .. l - 1, %d] when later\n", per - 1);
        fprintf(f, "      notify %%e[l, %d]\n", i);
    }
    fprintf(f, "  }\n  task @last\n");
    if (events) fprintf(f, "    wait %%e[%d, %d]\n", layers - 1, per - 1);
    fprintf(f, "}\n");
    fclose(f);
    return text;
}

static double play(char *text, const et_machine *m, et_sim_mode mode, double straggle_us) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_program *p = NULL;
    et_planned on;
    et_pass_options o = {.unverified = true};
    et_plan_for(&o, m, et_target_find(m->target), &on);
    et_graph *g = text ? et_eti_parse(a, d, "probe", text, strlen(text), &p) : NULL;
    et_sim_result r = {.us = -1};
    char err[ET_SIM_ERR];
    int64_t none[1] = {0};
    et_sim_options so = {
        .machine = &on.machine, .syms = none, .mode = mode, .straggle_us = straggle_us};
    bool ok = g && et_passes_resume(g, p, &o, &p) && et_simulate(p, &so, &r, err);
    et_diag_print(d, stderr);
    if (!ok) fprintf(stderr, "etstudy: the probe could not be played\n");
    et_arena_destroy(a);
    free(text);
    return r.us;
}

static void on_h100(const et_machine *h100) {
    const double layer = 60.8e6 * 2, head = 128256.0 * 2048 * 2;
    static const double published[] = {0.913, 0.973, 1.037};
    static const int events[] = {0, 2, 5};
    et_machine bare = *h100;
    bare.load_kb = 0;
    printf("| events per layer | published ms | predicted ms | bodies up to 1.1 us longer | no "
           "loads ahead of waits |\n| --- | --- | --- | --- | --- |\n");
    for (int i = 0; i < 3; i++) {
        double ms[3];
        for (int k = 0; k < 3; k++) {
            char *text = stream(16, events[i] ? events[i] : 1, 132, layer, head, events[i] > 0);
            ms[k] = 1e-3 * play(text, k == 2 ? &bare : h100, ET_SIM_STATIC, k == 1 ? 1.1 : 0);
        }
        printf("| %d | %.3f | %.3f | %.3f | %.3f |\n", events[i], published[i], ms[0], ms[1],
               ms[2]);
    }
}

static double above_boundary(const et_machine *m) {
    const double layer = 8 * 304 * 128 * 1024.0, head = 1e8;
    double fused = play(stream(16, 8, 304, layer, head, true), m, ET_SIM_STATIC, 0);
    double apart = play(stream(16, 8, 304, layer, head, true), m, ET_SIM_UNFUSED, 0);
    return (fused - apart) / (16 * 8);
}

/* Eight events per layer, 38 MB of weights between them. */
static void on_mi300x(void) {
    printf("\n| arrivals at a counter | predicted us above a kernel boundary | no loads ahead of "
           "waits |\n| --- | --- | --- |\n");
    for (int k = 0; k < 3; k++) {
        static const char *const what[] = {"304 at one", "38 at the die's, then 8 at one",
                                           "no queueing"};
        static const double queue[] = {1, 46.0 / 304, 0};
        et_machine m = *et_machine_default();
        m.arrival_us *= queue[k];
        double ahead = above_boundary(&m);
        m.load_kb = 0;
        printf("| %s | %.2f | %.2f |\n", what[k], ahead, above_boundary(&m));
    }
}

int study_probe(void) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    const et_machine *h100 = et_machine_find(a, d, "H100", NULL);
    et_diag_print(d, stderr);
    if (h100) {
        on_h100(h100);
        on_mi300x();
    }
    et_arena_destroy(a);
    return h100 ? 0 : 1;
}
