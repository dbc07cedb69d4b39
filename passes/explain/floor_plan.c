/* The page of a floor plan: floor_plan.html with what the simulator says in its place. What a rank
 * does is drawn as bars, runs of tasks of one grid without a gap that could be seen. Bars go as
 * base64 of little-endian words, times as fractions of the launch. */
#include "passes/explain/floor_plan.h"
#include "ir/base/diag.h"
#include "passes/cost/cost.h"
#include "passes/simulate/simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const char floor_page[], floor_page_end[];
__asm__(".pushsection .rodata\n"
        ".balign 16\n"
        "floor_page: .incbin \"" FLOOR_PAGE "\"\n"
        "floor_page_end: .byte 0\n"
        ".popsection");

/* A gap of less than this part of a launch is not seen. */
enum { STEPS = 8192 };

struct bar {
    int rank, grid;
    double from, to; /* microseconds */
};

struct drawing {
    et_arena *arena;
    et_sim_result result;
    double gap;
    int ranks;
    int *last; /* bar of each rank, or -1 */
    double *busy;
    struct bar *bar;
    int nbars, cbars;
};

/* ---- playing ---- */

static void draw(void *ctx, const et_sim_task *t) {
    struct drawing *d = ctx;
    int r = t->workgroup;
    if (r < 0 || r >= d->ranks) return;
    d->busy[t->grid] += t->t_done - t->t_ready;
    struct bar *b = d->last[r] >= 0 ? &d->bar[d->last[r]] : NULL;
    if (b && b->grid == t->grid && t->t_ready - b->to < d->gap) {
        b->to = t->t_left;
        return;
    }
    ET_GROW(d->arena, d->bar, d->nbars, d->cbars);
    d->last[r] = d->nbars;
    d->bar[d->nbars++] = (struct bar){r, t->grid, t->t_ready, t->t_left};
}

struct player {
    et_sim_values *values;
    struct drawing *drawing;
};

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    struct player *p = ctx;
    return p->values && et_sim_value(p->values, tensor, iteration, index, out);
}

static void task(void *ctx, const et_sim_task *t) {
    draw(((struct player *)ctx)->drawing, t);
}

/* Twice: once to learn how long the launch takes. */
static bool play(et_program *p, const et_machine *m, const et_profile *profile, const int64_t *syms,
                 struct drawing *d, char err[ET_SIM_ERR]) {
    const et_program *part = et_simulated_part(p, syms);
    struct player player = {et_sim_values_guess(d->arena, p, syms, NULL, err), d};
    et_sim_options o = {
        .machine = m, .profile = profile, .syms = syms, .value = value, .ctx = &player};
    bool ok = et_simulate(p, &o, &d->result, err);
    if (ok) {
        d->gap = d->result.us / STEPS;
        d->ranks = m->cus;
        d->last = et_alloc(d->arena, (size_t)m->cus * sizeof *d->last);
        d->busy = et_alloc(d->arena, (size_t)part->ngrids * sizeof *d->busy);
        for (int i = 0; i < m->cus; i++)
            d->last[i] = -1;
        o.task = task;
        ok = et_simulate(p, &o, &d->result, err);
    }
    et_sim_values_destroy(player.values);
    return ok;
}

/* ---- writing ---- */

static void put_string(FILE *to, const char *s) {
    fputc('"', to);
    for (; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else if ((unsigned char)*s < ' ' || *s == '<' || *s == '>')
            fprintf(to, "\\u%04x", (unsigned)*s);
        else
            fputc(*s, to);
    fputc('"', to);
}

struct base64 {
    FILE *to;
    unsigned char rest[3];
    int n;
};

static void put_group(struct base64 *b) {
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned v = (unsigned)b->rest[0] << 16 | (unsigned)b->rest[1] << 8 | b->rest[2];
    for (int i = 0; i < 4; i++)
        fputc(i <= b->n ? digit[v >> (18 - 6 * i) & 63] : '=', b->to);
    b->n = 0;
    memset(b->rest, 0, sizeof b->rest);
}

static void put_word(struct base64 *b, uint32_t v) {
    for (int i = 0; i < 4; i++) {
        b->rest[b->n++] = (unsigned char)(v >> (8 * i));
        if (b->n == 3) put_group(b);
    }
}

static uint32_t fraction(double us, double total) {
    double v = total > 0 ? us / total * 4294967295.0 : 0;
    return v >= 4294967295.0 ? UINT32_MAX : v > 0 ? (uint32_t)v : 0;
}

static void put_bars(FILE *to, const struct drawing *d) {
    struct base64 b = {.to = to};
    fprintf(to, ",\n\"count\":%d,\"bars\":\"", d->nbars);
    for (int i = 0; i < d->nbars; i++) {
        put_word(&b, (uint32_t)d->bar[i].rank);
        put_word(&b, (uint32_t)d->bar[i].grid);
        put_word(&b, fraction(d->bar[i].from, d->result.us));
        put_word(&b, fraction(d->bar[i].to, d->result.us));
    }
    if (b.n) put_group(&b);
    fputc('"', to);
}

/* Millionths of the workgroups that a grid was given. */
static et_share share_of(const et_program *p, const et_grid *g) {
    et_share whole = {0, 1000000}, s = p->g->nmodels ? p->g->model[g->model].share : whole;
    if (!s.to) s = whole;
    if (!g->range.to || g->dynamic) return s;
    int64_t n = s.to - s.from;
    return (et_share){s.from + (int)(n * g->range.from / 1000000),
                      s.from + (int)(n * g->range.to / 1000000)};
}

static void put_grids(FILE *to, const et_program *p, const struct drawing *d) {
    fputs(",\n\"grids\":[", to);
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        et_share s = share_of(p, g);
        fputs(i ? ",\n[" : "[", to);
        put_string(to, g->name);
        fprintf(to, ",%d,%d,%d,%d,%.6g]", g->model, s.from, s.to, g->dynamic,
                d->busy ? d->busy[i] : 0);
    }
    fputc(']', to);
}

static void put_dims(FILE *to, const et_exprs *x, const int64_t *syms) {
    char text[400];
    size_t n = 0;
    text[0] = 0;
    for (int i = 0; i < et_sym_count(x) && n < sizeof text; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s = %lld", i ? ", " : "",
                              et_sym_name(x, i), (long long)syms[i]);
    put_string(to, n ? text : "no dims");
}

static void put_launch(FILE *to, et_program *p, const et_machine *m, const et_profile *profile,
                       const int64_t *syms) {
    char err[ET_SIM_ERR] = "";
    struct drawing d = {.arena = et_arena_create()};
    bool ok = play(p, m, profile, syms, &d, err);
    fputs("{\"dims\":", to);
    put_dims(to, p->g->exprs, syms);
    if (ok) {
        fprintf(to,
                ",\"us\":%.9g,\"tasks\":%lld,\"body\":%.6g,\"wait\":%.6g,\"schedule\":%.6g,"
                "\"bytes\":%.6g",
                d.result.us, (long long)d.result.tasks, d.result.body, d.result.wait,
                d.result.schedule, d.result.memory_bytes);
        put_grids(to, et_simulated_part(p, syms), &d);
        put_bars(to, &d);
    } else {
        fputs(",\"why\":", to);
        put_string(to, err);
    }
    fputc('}', to);
    et_arena_destroy(d.arena);
}

static void put_data(FILE *to, et_program *p, const et_machine *m, const et_profile *profile) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    const et_graph *g = p->g;
    et_sample_symbols(g->exprs, syms);
    et_profile_symbols(profile, p, syms[1]);
    fputs("{\"title\":", to);
    put_string(to, g->name);
    fputs(",\"machine\":", to);
    put_string(to, m->name);
    fprintf(to, ",\"profile\":%s,\"cus\":%d,\"dies\":%d,\n\"models\":[", profile ? "true" : "false",
            m->cus, m->dies);
    for (int i = 0; i < g->nmodels; i++) {
        if (i) fputc(',', to);
        put_string(to, g->model[i].name);
    }
    fputs("],\n\"launches\":[", to);
    size_t bytes = (size_t)et_sym_count(g->exprs) * sizeof **syms;
    for (int i = 0; i < ET_SAMPLES; i++) {
        if (i && memcmp(syms[i], syms[i - 1], bytes) == 0) continue;
        if (i) fputs(",\n", to);
        put_launch(to, p, m, profile, syms[i]);
    }
    fputs("]}", to);
}

bool et_floor_plan(et_program *p, const et_machine *m, const et_profile *profile, FILE *to) {
    static const char marker[] = "@DATA@";
    const char *hole =
        memmem(floor_page, (size_t)(floor_page_end - floor_page), marker, sizeof marker - 1);
    et_check(hole);
    fwrite(floor_page, 1, (size_t)(hole - floor_page), to);
    put_data(to, p, m, profile);
    hole += sizeof marker - 1;
    fwrite(hole, 1, (size_t)(floor_page_end - hole), to);
    return !ferror(to);
}
