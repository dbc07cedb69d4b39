/* A layer of experts written at the level of events, with the dimensions of Qwen3-30B-A3B: 128
 * experts of 2048 by 768, 8 for each token. Routing is four small grids (choose, count, add up,
 * place); tokens of one expert lie together in blocks of P rows, and the two products go over
 * blocks: the second waits for its own block alone, and a token's sum for the blocks its rows are
 * in. Static and dynamic have the same events. */
#include "bench/study/study.h"
#include "codegen/targets/targets.h"
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXPERTS = 128, CHOSEN = 8, WIDTH = 2048, INNER = 768, COUNTED = 128 };

struct layer {
    int n, p, blocks; /* tokens, rows of a block, blocks at most */
    int *choice;      /* [n][CHOSEN] */
    int *place;       /* of each choice */
    int *rows;        /* choice at each place, or -1 */
    int *owner;       /* expert of each block, or -1 */
    et_program *prog;
};

static double uniform(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* The CHOSEN largest of Gumbel noise and the logarithm of a Zipf distribution. */
static void choose(struct layer *l, double skew) {
    uint64_t state = 88172645463325252u;
    for (int i = 0; i < l->n; i++) {
        double logit[EXPERTS];
        for (int e = 0; e < EXPERTS; e++)
            logit[e] = -log(-log(uniform(&state))) - skew * log((e * 37 + 11) % EXPERTS + 1);
        for (int k = 0; k < CHOSEN; k++) {
            int best = 0;
            for (int e = 1; e < EXPERTS; e++)
                if (logit[e] > logit[best]) best = e;
            logit[best] = -1e30;
            l->choice[i * CHOSEN + k] = best;
        }
    }
}

static void group(struct layer *l) {
    int at = 0;
    for (int b = 0; b < l->blocks; b++)
        l->owner[b] = -1;
    for (int r = 0; r < l->blocks * l->p; r++)
        l->rows[r] = -1;
    for (int e = 0; e < EXPERTS; e++) {
        for (int c = 0; c < l->n * CHOSEN; c++) {
            if (l->choice[c] != e) continue;
            l->owner[at / l->p] = e;
            l->place[c] = at;
            l->rows[at++] = c;
        }
        at = (at + l->p - 1) / l->p * l->p;
    }
}

static bool make_layer(struct layer *l, int n, int p, double skew) {
    int m = n * CHOSEN, most = m < EXPERTS ? m : EXPERTS;
    *l = (struct layer){.n = n, .p = p, .blocks = (most * (p - 1) + m + p - 1) / p};
    l->choice = calloc((size_t)m, sizeof(int));
    l->place = calloc((size_t)m, sizeof(int));
    l->rows = calloc((size_t)(l->blocks * p), sizeof(int));
    l->owner = calloc((size_t)l->blocks, sizeof(int));
    if (!l->choice || !l->place || !l->rows || !l->owner) return false;
    choose(l, skew);
    group(l);
    return true;
}

static void free_layer(struct layer *l) {
    free(l->choice);
    free(l->place);
    free(l->rows);
    free(l->owner);
}

static bool value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    const struct layer *l = ctx;
    const char *name = l->prog->tensors[tensor].name;
    int64_t n = strcmp(name, "rows") == 0    ? l->blocks * l->p
                : strcmp(name, "owner") == 0 ? l->blocks
                                             : l->n * CHOSEN;
    const int *v = strcmp(name, "rows") == 0     ? l->rows
                   : strcmp(name, "owner") == 0  ? l->owner
                   : strcmp(name, "place") == 0  ? l->place
                   : strcmp(name, "choice") == 0 ? l->choice
                                                 : NULL;
    (void)iteration;
    if (!v || index[0] < 0 || index[0] >= n) return false;
    *out = v[index[0]];
    return true;
}

/* ---- the program ---- */

static void write_routing(FILE *f, int n, int m, int blocks, int p) {
    int parts = (m + COUNTED - 1) / COUNTED;
    fprintf(f,
            "func @choose [i < %d] {\n  reduce argmax [t < 4, j < 8] where i * 4 + t < %d over e < "
            "128\n    %%choice[(i * 4 + t) * 8 + j] = %%logits[i * 4 + t, e]\n"
            "  map [t < 4, j < 8] where i * 4 + t < %d\n"
            "    %%share[(i * 4 + t) * 8 + j] = exp(%%logits[i * 4 + t, j])\n}\n",
            (n + 3) / 4, n, n);
    fprintf(f,
            "func @count [b < %d] {\n  reduce sum [e < 128] over r < %d\n"
            "    %%counts[b, e] = select(%%choice[min(b * 128 + r, %d)] == e, 1, 0)\n}\n",
            parts, COUNTED < m ? COUNTED : m, m - 1);
    fprintf(f,
            "func @sum [] {\n  reduce sum [e < 128] over b < %d\n    %%first[e] = %%counts[b, e]\n"
            "}\n",
            parts);
    fprintf(
        f,
        "func @put [b < %d] {\n  map [r < %d]\n    %%place[b * %d + r] = %%first[%%choice[b * %d "
        "+ r]] + %%counts[b, 0]\n  map [r < %d]\n    %%rows[min(b * %d + r, %d)] = b\n"
        "  map [r < %d]\n    %%owner[min(b * %d + r, %d)] = b\n}\n",
        parts, m / parts, m / parts, m / parts, blocks * p / parts + 1, blocks * p / parts + 1,
        blocks * p - 1, blocks / parts + 1, blocks / parts + 1, blocks - 1);
}

/* Columns of a tile. */
struct widths {
    int gate, down, add, tokens;
};

static void write_products(FILE *f, const struct layer *l, const struct widths *w) {
    int tn = w->gate;
    fprintf(f,
            "func @gate [t < %d, j < %d] {\n  contract bf16 [m < %d, n < %d] over k < select(0 <= "
            "%%owner[t], %d, 0)\n    a = %%x[max(0, %%rows[t * %d + m]) / 8, k]\n"
            "    $g += a * %%wg[max(0, %%owner[t]), j * %d + n, k]\n"
            "    $u += a * %%wu[max(0, %%owner[t]), j * %d + n, k]\n"
            "  map [m < %d, n < %d]\n    %%h[t * %d + m, j * %d + n] = $g[0, m, n] / (1.0 + "
            "exp(neg($g[0, m, n]))) * $u[0, m, n]\n}\n",
            l->blocks, INNER / tn, l->p, tn, WIDTH, l->p, tn, tn, l->p, tn, l->p, tn);
    tn = w->down;
    fprintf(f,
            "func @down [t < %d, j < %d] {\n  contract bf16 [m < %d, n < %d] over k < select(0 <= "
            "%%owner[t], %d, 0)\n    a = %%h[t * %d + m, k]\n"
            "    $d += a * %%wd[max(0, %%owner[t]), j * %d + n, k]\n"
            "  map [m < %d, n < %d]\n    %%y[t * %d + m, j * %d + n] = $d[0, m, n]\n}\n",
            l->blocks, WIDTH / tn, l->p, tn, INNER, l->p, tn, l->p, tn, l->p, tn);
    fprintf(
        f,
        "func @add [i < %d, c < %d] {\n  reduce sum [v < %d, j < %d] over q < 8\n    %%out[i * %d "
        "+ "
        "v, c * %d + j] = %%share[(i * %d + v) * 8 + q] * %%y[%%place[(i * %d + v) * 8 + q], c * "
        "%d + j]\n}\n",
        l->n / w->tokens, WIDTH / w->add, w->tokens, w->add, w->tokens, w->add, w->tokens,
        w->tokens, w->add);
}

static void write_events(FILE *f, const struct layer *l, const struct widths *w, bool barriers) {
    int m = l->n * CHOSEN, parts = (m + COUNTED - 1) / COUNTED, t = l->blocks;
    int gates = INNER / w->gate, downs = WIDTH / w->down;
    char eighth[32];
    snprintf(eighth, sizeof eighth, "t * 8 / %d", t);
    fprintf(f,
            "event %%chosen[%d] count %d\nevent %%counted[1] count %d\nevent %%summed[1]\n"
            "event %%grouped[1] count %d\n",
            parts, m / parts < 32 ? 1 : m / parts / 32, parts, parts);
    if (barriers)
        for (int i = 0; i < 2; i++)
            fprintf(f, "event %%%s[e < 8] count (((e + 1) * %d + 7) / 8 - (e * %d + 7) / 8) * %d\n",
                    i ? "outer" : "inner", t, t, i ? downs : gates);
    else
        fprintf(f, "event %%inner[%d] count %d\nevent %%outer[%d] count %d\n", t, gates, t, downs);
    fprintf(f,
            "schedule {\n  task @choose\n    notify %%chosen[i * 32 / %d]\n"
            "  task @count\n    wait %%chosen[b]\n    notify %%counted[0]\n"
            "  task @sum\n    wait %%counted[0]\n    notify %%summed[0]\n"
            "  task @put\n    wait %%summed[0]\n    notify %%grouped[0]\n"
            "  task @gate\n    wait %%grouped[0]\n    notify %%inner[%s]\n",
            COUNTED, barriers ? eighth : "t");
    fprintf(f, "  task @down\n    wait %%inner[%s]\n    notify %%outer[%s]\n",
            barriers ? "0 .. 7" : "t", barriers ? eighth : "t");
    fprintf(f, "  task @add\n    wait %%grouped[0]\n");
    if (barriers)
        fprintf(f, "    wait %%outer[0 .. 7]\n}\n");
    else
        fprintf(f, "    wait %%outer[%%place[i * %d + q] / %d] for q < %d\n}\n", 8 * w->tokens,
                l->p, 8 * w->tokens);
}

static char *write_layer(const struct layer *l, const struct widths *w, bool barriers) {
    size_t bytes = 0;
    char *text = NULL;
    FILE *f = open_memstream(&text, &bytes);
    int n = l->n, m = n * CHOSEN, rows = l->blocks * l->p, parts = (m + COUNTED - 1) / COUNTED;
    if (!f) return NULL;
    fprintf(
        f,
        "eti 1 evented\nmodel experts\ninput %%x : bf16[%d, %d]\ninput %%logits : f32[%d, 128]\n"
        "weight %%wg : bf16[128, %d, %d] = \"g\"\nweight %%wu : bf16[128, %d, %d] = \"u\"\n"
        "weight %%wd : bf16[128, %d, %d] = \"d\"\noutput %%out : f32[%d, %d]\n"
        "temp %%choice : i32[%d]\ntemp %%share : f32[%d]\ntemp %%counts : i32[%d, 128]\n"
        "temp %%first : i32[128]\ntemp %%place : i32[%d]\ntemp %%rows : i32[%d]\n"
        "temp %%owner : i32[%d]\ntemp %%h : bf16[%d, %d]\ntemp %%y : bf16[%d, %d]\n",
        n, WIDTH, n, INNER, WIDTH, INNER, WIDTH, WIDTH, INNER, n, WIDTH, m, m, parts, m, rows,
        l->blocks, rows, INNER, rows, WIDTH);
    write_routing(f, n, m, l->blocks, l->p);
    write_products(f, l, w);
    write_events(f, l, w, barriers);
    fclose(f);
    return text;
}

/* ---- */

struct played {
    et_sim_result r;
    int dynamic; /* grids */
};

static bool play(struct layer *l, const char *text, et_schedule_kind schedule, enum study_way way,
                 bool wide, const struct study_machine *on, struct played *out) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_program *p = NULL;
    et_planned planned;
    et_pass_options o = {.unverified = true, .schedule = schedule};
    et_plan_for(&o, &on->m, et_target_find(on->m.target), &planned);
    et_graph *g = et_eti_parse(a, d, "experts", text, strlen(text), &p);
    int64_t none[1] = {0};
    char err[ET_SIM_ERR] = "";
    et_sim_options so = {
        .machine = &planned.machine, .syms = none, .wide_push = wide, .value = value, .ctx = l};
    bool ok = g && et_passes_resume(g, p, &o, &l->prog);
    so.mode = way == STUDY_UNFUSED ? ET_SIM_UNFUSED : ET_SIM_AS_SCHEDULED;
    so.spread = on->spread;
    if (ok && way == STUDY_CHOSEN) {
        bool *dynamic = et_alloc(a, (size_t)l->prog->ngrids * sizeof *dynamic);
        ok = et_sim_choose(l->prog, &so, dynamic, err) > 0;
        for (int i = 0; i < l->prog->ngrids; i++)
            out->dynamic += dynamic[i];
        so.dynamic = dynamic;
        ok = ok && et_simulate(l->prog, &so, &out->r, err);
    } else if (ok) {
        ok = et_simulate(l->prog, &so, &out->r, err);
    }
    et_diag_print(d, stderr);
    if (!ok) fprintf(stderr, "etstudy: the layer could not be played: %s\n", err);
    et_arena_destroy(a);
    return ok;
}

static const struct {
    const char *title;
    et_schedule_kind schedule;
    enum study_way way;
    bool barriers, wide;
} columns[] = {
    {"unfused", ET_SCHEDULE_STATIC, STUDY_UNFUSED, false, false},
    {"static", ET_SCHEDULE_STATIC, STUDY_SCHEDULED, false, false},
    {"static, barriers", ET_SCHEDULE_STATIC, STUDY_SCHEDULED, true, false},
    {"dynamic", ET_SCHEDULE_DYNAMIC, STUDY_SCHEDULED, false, false},
    {"dynamic, together", ET_SCHEDULE_DYNAMIC, STUDY_SCHEDULED, false, true},
    {"hybrid", ET_SCHEDULE_HYBRID, STUDY_SCHEDULED, false, false},
    {"chosen", ET_SCHEDULE_STATIC, STUDY_CHOSEN, false, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static bool row(int n, double skew, const struct study_machine *on) {
    struct layer l;
    int used = 0;
    const struct widths w = {n < 16 ? 32 : 64, n < 16 ? 64 : 128, n < 16 ? 256 : WIDTH,
                             n < 1024 ? 1 : n / 1024};
    struct played got[COLUMNS] = {0};
    if (!make_layer(&l, n, n * CHOSEN / EXPERTS > 48 ? 64 : 16, skew)) return false;
    char *text[] = {write_layer(&l, &w, false), write_layer(&l, &w, true)};
    bool ok = text[0] && text[1];
    for (int b = 0; b < l.blocks; b++)
        used += l.owner[b] >= 0;
    for (int i = 0; i < COLUMNS && ok; i++)
        ok = play(&l, text[columns[i].barriers], columns[i].schedule, columns[i].way,
                  columns[i].wide, on, &got[i]);
    printf("| %d | %d of %d | %lld |", n, used, l.blocks, (long long)got[0].r.tasks);
    for (int i = 0; i < COLUMNS && ok; i++)
        printf(i ? " %.0f (%.2f) |" : " %.0f |", got[i].r.us, got[0].r.us / got[i].r.us);
    printf("\n");
    fflush(stdout);
    free(text[0]);
    free(text[1]);
    free_layer(&l);
    return ok;
}

int study_experts(double skew, const struct study_machine *on) {
    static const int sizes[] = {1, 128, 1024, 4096};
    bool ok = true;
    printf("| N | blocks used | tasks |");
    for (int i = 0; i < COLUMNS; i++)
        printf(" %s |", columns[i].title);
    printf("\n| --- | --- | --- |");
    for (int i = 0; i < COLUMNS; i++)
        printf(" --- |");
    printf("\n");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        ok &= row(sizes[i], skew, on);
    return !ok;
}
