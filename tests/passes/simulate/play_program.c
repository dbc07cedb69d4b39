/* play_program FILE...: (.etg or .eti) play each program in every mode at the least, a middle and
 * the largest size, with tensors that hold small numbers drawn at random, known to the simulator or
 * not. Every task runs once, in order on its workgroup, or a message says why none can. */
#include "frontend/frontend.h"
#include "ir/eti/eti.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include <stdlib.h>
#include <string.h>

struct seen {
    const char *file;
    int known; /* of four elements */
    int64_t n;
    bool wrong;
    double end[64];
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    struct seen *s = ctx;
    uint64_t h = (uint64_t)tensor * 31 + (uint64_t)index[0] + (uint64_t)iteration * 7 + 1;
    h *= 0x9E3779B97F4A7C15u;
    *out = (int64_t)(h >> 33) % 9 - 1;
    return (int)(h >> 50) % 4 < s->known;
}

static void note(void *ctx, const et_sim_task *t) {
    struct seen *s = ctx;
    s->n++;
    s->wrong |= t->t_reached < s->end[t->workgroup] || t->t_ready < t->t_reached ||
                t->t_done < t->t_ready || t->t_left < t->t_done;
    s->end[t->workgroup] = t->t_left;
}

static int failures, played, refused;

static void play(et_program *p, const int64_t *syms, et_sim_options o, struct seen *s) {
    et_sim_result r;
    char err[ET_SIM_ERR];
    o.machine = et_machine_for("gfx942");
    o.syms = syms;
    o.value = value;
    o.task = note;
    o.ctx = s;
    s->n = 0;
    memset(s->end, 0, sizeof s->end);
    bool ok = et_simulate(p, &o, &r, err);
    played += ok;
    refused += !ok;
    double sum = r.body + r.wait + r.schedule;
    bool right = ok ? !s->wrong && s->n == r.tasks && (r.us <= 0 || (sum > 0.999 && sum < 1.001))
                    : err[0] != 0;
    if (right) return;
    fprintf(stderr, "%s: mode %d, %d workgroups: %lld tasks of %lld, shares %g: %s\n", s->file,
            (int)o.mode, o.workgroups, (long long)s->n, (long long)r.tasks, sum, err);
    failures++;
}

static void play_sizes(et_program *p, const char *file) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(p->g->exprs, syms);
    bool *mixed = et_alloc(p->g->arena, (size_t)(p->ngrids + 1) * sizeof *mixed);
    for (int i = 0; i < p->ngrids; i++)
        mixed[i] = i % 3 == 1;
    for (int at = 0; at < ET_SAMPLES; at++)
        for (int how = 0; how < 28; how++) {
            struct seen s = {.file = file, .known = how < 14 ? 4 : 3};
            et_sim_options o = {.mode = (et_sim_mode)(how % 7 < 4 ? how % 7 : 0)};
            o.workgroups = how % 14 < 7 ? 3 : 37;
            o.early_push = how % 7 == 6 || how / 7 % 2;
            o.wide_push = how % 7 == 5;
            if (how % 7 > 3) o.dynamic = mixed;
            play(p, syms[at], o, &s);
        }
}

static bool read_program(et_arena *a, const char *file, et_program **out) {
    FILE *f = fopen(file, "rb");
    et_diags *d = et_diags_create(a);
    enum { MOST = 1 << 20 };
    char *text = et_alloc(a, MOST);
    if (!f) return false;
    size_t n = fread(text, 1, MOST, f);
    fclose(f);
    const et_pass_options o = {.machine = et_machine_for("gfx942"), .unverified = true};
    et_program *p = NULL;
    et_graph *g = et_eti_looks(text, n) ? et_eti_parse(a, d, file, text, n, &p)
                                        : et_parse_etg(a, d, file, text, n);
    bool ok = g && et_passes_resume(g, p, &o, out);
    et_diag_print(d, stderr);
    return ok;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        et_arena *a = et_arena_create();
        et_program *p;
        if (read_program(a, argv[i], &p)) {
            play_sizes(p, argv[i]);
        } else {
            fprintf(stderr, "%s: cannot be read\n", argv[i]);
            failures++;
        }
        et_arena_destroy(a);
    }
    printf("%d launches played, %d refused with a message\n", played, refused);
    return failures || played < argc;
}
