/* What the verifier and the interpreter say about programs that are wrong in one place: good/NAME
 * with one piece of text replaced. */
#include "ir/eti/eti.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/verify/verify.h"
#include "tests/support/random_model.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

static const struct wrong {
    const char *file, *from, *to;
    int n;                         /* value of N for the interpreter */
    const char *verifier, *interp; /* a part of the message; NULL: finds nothing wrong */
} cases[] = {
    {"split.eti", "", "", 300, NULL, NULL},
    {"split.eti", "", "", 1, NULL, NULL},
    {"chain.eti", "", "", 100, NULL, NULL},
    {"chain.eti", "", "", 3, NULL, NULL},
    /* states that tiles, or work-items, share, and that leave their tensor */
    {"scan.eti", "", "", 16, NULL, NULL},
    {"scan.eti", "h0 * 16 + h, j]", "h, j]", 5,
     "task carry[h0=1] writes %s, which task carry[h0=0]", "race"},
    {"scan.eti", "h0 * 16 + h, j]", "h0 * 16 + h / 2, j]", 5,
     "step 1 (scan) stores two elements to one place", "race"},
    {"scan.eti", "min(7, max(0, %slots[i]))", "%slots[i]", 16, "stores %s[%slots[i]", NULL},
    {"scan.eti", "h0 * 16 + h < 40", "h0 * 16 + h < 41", 5, "outside", "outside"},
    {"scan.eti", "+ %x[i, h0 * 16 + h]",
     "+ %x[i, h0 * 16 + h] + %s[min(7, max(0, %slots[max(0, i - 1)])), h0 * 16 + h, j]", 5,
     "which it writes row by row", NULL},
    {"scan.eti", "+ %x[i, h0 * 16 + h]", "+ %out[i, h0 * 16 + h]", 5, "which it writes row by row",
     "which nothing has written"},
    /* unordered accesses */
    {"split.eti", "    wait %rows[j0 / 2]\n", "", 33,
     "reads %part, which task left[i0=0, c=0] writes before it, and no event orders the two: an "
     "edge from left to add is missing",
     "which nothing has written"},
    {"split.eti", "wait %rows[j0 / 2]", "wait %rows[j0 / 4]", 33,
     "task add[j0=2] reads %part, which task left[i0=1, c=0] writes before it", "%part["},
    {"split.eti", "%part[c + 4, i0", "%part[c + 3, i0", 33,
     "task add, step 1 (reduce) reads %part[r, j0 * 4 + j1], which nothing before it is shown to "
     "have written "
     "(with N = 1, j0 = 0, j1 = 0, r = 7)",
     "and no event orders the two"},
    {"split.eti", "scope device", "scope die", 33,
     "waits for event %rows[0] of scope die, but task right[i0=0, c=..], which notifies it, may "
     "run "
     "on another die",
     "and no event orders the two"},
    {"chain.eti", "      wait %done[l, max(0, i0 - 1) .. i0 - 1]\n", "", 100,
     "and no event orders the two: an edge from scan to scan is missing", "race: task scan[i0="},
    {"chain.eti", "i0 .. min(i0 + 1, (N + 3) / 4 - 1)] when later", "i0] when later", 100,
     "task scan[i0=0] l=1 writes %s, which task scan[i0=1] l=0 reads before it",
     "writes %s[3], which task scan[i0=1] l="},
    {"chain.eti", "wait %done[19,", "wait %done[18,", 100, "and no event orders the two",
     "race: task "},
    /* loops that run as often as a launch says */
    {"trips.eti", "", "", 1, NULL, NULL},
    {"trips.eti", "", "", 13, NULL, NULL},
    {"trips.eti", "wait %done[N - 1,", "wait %done[max(0, N - 2),", 13,
     "and no event orders the two", "race: task "},
    {"trips.eti", "wait %done[N - 1,", "wait %done[min(N - 1, 17),", 20,
     "and no event orders the two: an edge from scan to out is missing (with N = 19)",
     "race: task "},
    {"trips.eti", "wait %done[N - 1,", "wait %done[19,", 13,
     "waits for event %done[19, 0] to %done[19, 15], which has no such counters (with N = 1)",
     "which has no such counter"},
    {"trips.eti", "until N", "until 20", 13,
     "task scan[i0=0] l=1 notifies event %done[1, 0], which has no such counter (with N = 1)",
     "which has no such counter"},
    {"trips.eti", "until N", "until max(1, N - 1)", 13, "event %done[1, 0]", "%done[12,"},
    {"row.eti", "", "", 13, NULL, NULL},
    {"row.eti", "%s[N - 1, j]", "%s[N / 2, j]", 13,
     "and no event orders the two: an edge from write to out is missing (with N = 3)",
     "race: task "},
    {"row.eti", "%s[N - 1, j]", "%s[max(N - 4, 0), j]", 13, "and no event orders the two",
     "race: task "},
    {"slices.eti", "", "", 4, NULL, NULL},
    {"slices.eti", "wait %e[0 .. 19]", "wait %e[0 .. 1]\n      wait %e[18 .. 19]", 4,
     "task g[b=..] l=2 reads %t, which task f[s=2] writes before it", "%t["},
    /* counts */
    {"split.eti", "count 8", "count 7", 33,
     "event %rows[0] counts to 7 but gets 8 arrivals, the last of task right[i0=0, c=..]",
     "event %rows[0] counts to 7 but gets more: task"},
    {"split.eti", "count 8", "count 9", 33, "event %rows[0] counts to 9 but gets 8 arrivals",
     "waits for event %rows[0], which has 8 of 9 arrivals; no task that has not run notifies it"},
    {"split.eti", "    notify %rows[i0]\n", "", 33, "counts to 8 but gets 4 arrivals",
     "which has 4 of 8 arrivals"},
    /* progress */
    {"chain.eti", "wait %done[l, max(0, i0 - 1) .. i0 - 1]", "wait %done[l, i0]", 100,
     "no progress: task scan[i0=0] l=0 waits for event %done[0, 0], which task scan[i0=0] l=0 "
     "notifies",
     "deadlock: no task can start. Task scan[i0=0] l=0 waits for event %done[0, 0], which has 0 of "
     "1 arrivals; the next would be that of task scan[i0=0] l=0"},
    {"chain.eti", "wait %done[l, max(0, i0 - 1) .. i0 - 1]",
     "wait %done[l, i0 + 1 .. (N + 3) / 4 - 1]", 100, "no progress: task scan[i0=0] l=0 waits",
     "race: task"},
    /* indices */
    {"split.eti", "wait %rows[j0 / 2]", "wait %rows[j0 / 2 .. j0 / 2 + 1]", 33,
     "which has no such counters", "which has no such counter"},
    {"split.eti", "wait %rows[j0 / 2]", "wait %rows[j0 / 2 + 3 .. j0 / 2]", 33,
     "which runs backwards", "which nothing has written"},
    {"split.eti", "notify %rows[i0]", "notify %rows[i0 + 1]", 33, "notifies event %rows[",
     "which has no such counter"},
    /* waits that tensors decide */
    {"routed.eti", "", "", 40, NULL, NULL},
    {"routed.eti", "N - 4) + 3]", "N - 4) + 2]", 40,
     "reads %h, which task square[i=3] writes before it, and no event orders the two", "%h["},
    {"routed.eti", "wait %done[min(%pick[i], N - 4) ..", "wait %done[min(%pick[i], N - 4) + 1 ..",
     40, "reads %h, which task square[i=0] writes before it", "%h["},
    {"routed.eti", "wait %done[%row[i]]", "wait %done[i]", 40,
     "task copy[i=0] reads %h, which task square[i=1] writes before it", "%h["},
    {"routed.eti", "    wait %routed[i]\n    wait %done[%row[i]]\n",
     "    wait %done[%row[i]]\n    wait %routed[i]\n", 40,
     "task copy[i=0] reads %row, which task route[i=0] writes before it", ""},
    {"routed.eti", "    wait %routed[i]\n", "", 40,
     "reads %row, which task route[i=0] writes before it", ""},
    {"routed.eti", "wait %done[%row[i]]", "wait %done[%row[i] * 2]", 40,
     "task copy[i=0] reads %h, which task square[i=1] writes before it", ""},
    {"ranges.eti", "", "", 24, NULL, NULL},
    /* waits over variables, counts that tensors decide */
    {"points.eti", "", "", 20, NULL, NULL},
    {"points.eti", ", j < 2\n", ", j < 1\n", 20,
     "task add[t=0] reads %h, which task square[b=0, c=0] writes before it", "%h["},
    {"points.eti", ", j < 2\n", ", j < 3\n", 20,
     "a wait of add reads %place at 0 to 2 in dimension 0, which has 2", "is outside"},
    {"points.eti", "for m < min(3, N - t * 3), j", "for m < 3, j", 20,
     "a wait of add reads %place at 0 to 5", "is outside"},
    {"sent.eti", "", "", 6, NULL, NULL},
    {"sent.eti", " promised", "", 6, "hidden notifies event %tokens where tensors say", NULL},
    {"sent.eti", "%first[e + 1] promised", "%first[e + 1] + 1 promised", 6, NULL,
     "has 3 of 4 arrivals"},
    {"sent.eti", "notify %tokens[%topk[i, j]]", "notify %tokens[3 - %topk[i, j]]", 6, NULL,
     "counts to"},
    {"sent.eti", "    wait %counted[0 .. 4]\n    notify %tokens", "    notify %tokens", 6,
     "task hidden[i=0] reads %first, which task count[e=0] writes before it", ""},
    {"ranges.eti", "%first[e + 1]) - 1]", "%first[e + 1]) - 2]", 24,
     "task total[e=0] reads %h, which task square[i=0] writes before it", "%h["},
    {"ranges.eti", "wait %done[max(0, %first[e]) ..", "wait %done[max(0, %first[e]) + 1 ..", 24,
     "reads %h, which task square[i=", "%h["},
    /* work-items of one step */
    {"steps.eti", "", "", 33, NULL, NULL},
    {"steps.eti", "", "", 1, NULL, NULL},
    {"steps.eti", "%s[j + 32] + %s[j]", "%s[j + 31] + %s[j]", 5,
     "task turn, step 1 (map) reads %s[j + 31], which is what another work-item of the step stores "
     "as %s[j]",
     "race: in task turn, step 1, one work-item reads and another stores element 31 of %s"},
    {"steps.eti", "over k < 80 by", "over k < 80 extent select(N < 3, -1, 80) by", 20,
     "step 2 (contract) has an extent select(N < 3, -1, 80), which is not in [0, 2147483647]",
     NULL},
    {"steps.eti", "%s[q * 2 + o + p * 20]", "%s[q * 2 + o]", 5, NULL, NULL},
    {"steps.eti", "%t[q, p, o] =", "%t[q, p, o * 0] =", 5,
     "task turn, step 2 (map) stores two elements to one place, %t[q, p, 0] (with",
     "race: in task turn, step 2"},
    {"steps.eti", "    %s[j] = %t[", "    %s[j * 7 % 41] = %t[", 5, NULL, NULL},
    {"steps.eti", "    %s[j] = %t[", "    %s[j * 8 % 42] = %t[", 5,
     "stores two elements to one place", "race: in task turn, step 3, two work-items store"},
    {"steps.eti", "    %s[j] = %t[", "    %s[j / 4 + j % 4 * 10] = %t[", 5, NULL, NULL},
    {"steps.eti", "    %s[j] = %t[", "    %s[j / 4 + j % 4 * 9] = %t[", 5,
     "stores two elements to one place", "two work-items store"},
    {"steps.eti", "    $norm[m] = %x", "    $norm[m / 2] = %x", 20,
     "task first, step 1 (reduce) stores two elements to one place, $norm[m / 2]",
     "race: in task first"},
    {"steps.eti", "%y[b * 16 + m, n] =", "%y[b * 16 + m, n / 2] =", 20, "stores two elements",
     "race: in"},
    {"steps.eti", "a = %x[b * 16 + m, k] *", "a = $sum[0, m, 0] *", 20,
     "reads $sum, which it writes", "which no step has written"},
    /* indices of steps */
    {"steps.eti", "live min(16, N - b * 16)", "live 16", 20,
     "task first, step 2 (contract) loads %x[b * 16 + m, k] outside: index 0, b * 16 + m, is not "
     "in [0, N) (with N = 1, b = 0, m = 1)",
     "reads element 4 of $norm, which no step has written"},
    {"steps.eti", "live 40", "live 41", 20, "loads %w[n, k] outside", "is outside [0, 40)"},
    {"steps.eti", "[m < 16, r < 80] where b * 16 + m < N", "[m < 16, r < 80]", 20,
     "task first, step 4 (map)", "which no step has written"},
    {"steps.eti", "[m < 16, n < 40] where b * 16 + m < N", "[m < 16, n < 40] where b * 16 + m <= N",
     20, "stores %y[b * 16 + m, n] outside", "which no step has written"},
    {"steps.eti", "max(0, min(N - 1, %rows[i]))", "min(N - 1, %rows[i])", 20,
     "loads %h[min(%rows[i], N - 1), 79] outside", NULL},
    {"steps.eti", "max(0, min(N - 1, %rows[i])), 79", "max(0, min(N - 1, %rows[i])), 80", 20,
     "index 1, 80, is not in [0, 80)", "is outside [0, 80)"},
    {"steps.eti", "%z[i] = ",
     "%z[i] = select(0 <= %rows[i] && %rows[i] < N, %h[%rows[i], 3], 0.0) + ", 20, NULL, NULL},
    {"steps.eti",
     "%z[i] = ", "%z[i] = select(0 <= %rows[i] && %rows[i] <= N, %h[%rows[i], 3], 0.0) + ", 20,
     "loads %h[%rows[i], 3] outside", "is outside [0, 20)"},
    {"steps.eti", "over r < 80\n    $norm", "over r < 80 extent N * 2 + 1\n    $norm", 39,
     "takes r to N * 2 + 1, which is more than 80 (with N = 40, b = 0, m = 0)", NULL},
    {"steps.eti", "over k < 80 by", "over k < N + 41 by", 40,
     "loads %x[b * 16 + m, k] outside: index 1, k, is not in [0, 80) (with N = 40",
     "is outside [0, 80)"},
    /* local memory */
    {"steps.eti", "= $sum[0, m, n]", "= $sum[1, m, n]", 20,
     "reads $sum[1, m, n], which nothing before it is shown to have written",
     "which no step has written"},
    {"steps.eti", "= $sum[0, m, n]", "= $sum[0, m, n + 1]", 20,
     "reads $sum[0, m, n + 1], which nothing before it is shown to have written",
     "which no step has written"},
    {"steps.eti", "= $sum[0, m, n]", "= $sum[0, m, n + 9]", 20, "$sum[0, m, n + 9] outside",
     "which no step has written"},
    {"steps.eti", "  reduce sum [m < 16] where b * 16 + m < N over",
     "  reduce sum [m < 16] where b * 16 + m < N - 1 over", 20,
     "reads $norm[m], which nothing before it is shown to have written",
     "which no step has written"},
    {"steps.eti", "  reduce sum [m < 16] where b * 16 + m < N over",
     "  reduce sum [m < 16] where m < min(16, N - b * 16) over", 20, NULL, NULL},
    {"steps.eti", "  reduce sum [m < 16] where b * 16 + m < N over",
     "  reduce sum [m < 15] where b * 16 + m < N over", 20,
     "reads $norm[m], which nothing before it is shown to have written",
     "which no step has written"},
    /* temporaries */
    {"steps.eti", "[m < 16, r < 80] where b * 16 + m < N",
     "[m < 16, r < 80] where b * 16 + m < N - 1", 20,
     "reads %h[max(0, min(%rows[i], N - 1)), 79], which nothing before it is shown to have written",
     "which nothing has written"},
    {"steps.eti", "[m < 16, r < 80] where b * 16 + m < N", "[m < 16, r < 79] where b * 16 + m < N",
     20,
     "reads %h[max(0, min(%rows[i], N - 1)), 79], which nothing before it is shown to have written",
     "which nothing has written"},
    {"steps.eti", "[q < 10, p < 2, o < 2]\n    %t[q, p, o] = %s[q * 2 + o + p * 20]",
     "[q < 40]\n    %t[q % 10, q / 20, q / 10 % 2] = %s[q]", 20, NULL, NULL},
    {"steps.eti", "[q < 10, p < 2, o < 2]\n    %t[q, p, o] = %s[q * 2 + o + p * 20]",
     "[q < 40]\n    %t[q / 2 % 10, q / 20, q % 2] = %s[q]", 20, NULL, NULL},
    {"steps.eti", "[q < 10, p < 2, o < 2]\n    %t[q, p, o] = %s[q * 2 + o + p * 20]",
     "[q < 36]\n    %t[q / 2 % 10, q / 20, q % 2] = %s[q]", 20,
     "which nothing before it is shown to have written", "which nothing has written"},
    {"steps.eti", "    %h[b * 16 + m, r] =", "    %h[b * 16 + m, 79 - r] =", 20, NULL, NULL},
    {"steps.eti", "    %h[b * 16 + m, r] =", "    %h[b * 16 + m, r / 2 + r % 2 * 40] =", 20, NULL,
     NULL},
    {"steps.eti", "%t[j / 4, j / 2 % 2, j % 2]",
     "%t[j / 4, j / 2 % 2, j % 2] + %t[9 - j / 4, 1, 0]", 20, NULL, NULL},
    {"steps.eti", "[q < 10, p < 2, o < 2]", "[q < 10, p < 2, o < 1]", 20,
     "task turn, step 3 (map) reads %t[j / 4, j / 2 % 2, j % 2], which nothing before it is "
     "shown to have written "
     "(with j = 1)",
     "which nothing has written"},
    {"steps.eti", "  map [j < 32]\n",
     "  map [j < 40]\n    %s[j] = %t[j / 4, j / 2 % 2, j % 2]\n  map [j < 32]\n", 20,
     "task turn, step 1 (map) reads %t[j / 4, j / 2 % 2, j % 2], which nothing before it is "
     "shown to have written",
     "which nothing has written"},
    {"past.eti", "", "", 3, NULL, NULL},
    {"past.eti", "%z[0] =", "%c[0] =", 3,
     "task late, step 1 (reduce) reads %h[r], which nothing before it is shown to have written",
     "which nothing has written"},
    {"past.eti", "r < %c[0]", "r <= %c[0]", 3,
     "task late, step 1 (reduce) reads %h[r], which nothing before it is shown to have written",
     "which nothing has written"},
    /* tasks of one grid that write between each other's elements, and next to each other's */
    {"halves.eti", "", "", 18, NULL, NULL},
    {"halves.eti", "", "", 1, NULL, NULL},
    {"halves.eti", "k < 4] where t * 4 + i < N",
     "k < 5] where t * 4 + i < N && u * 4 + k + up * 8 < 16", 18,
     "task turn[t=0, u=1] writes %h, which task turn[t=0, u=0] writes before it", "%h["},
    {"halves.eti", "[l, c * 4 + k]", "[l, c * 4 + k * (l + 1)]", 18,
     "task spread[c=1] l=1 writes %s, which task spread[c=0] l=1 writes before it", "%s["},
    /* memory */
    {"split.eti", "%part[r, j0 * 4 + j1]", "%part[min(7, r + 1), min(N - 1, j0 * 4 + j1 + 4)]", 40,
     "no event orders the two", "%part["},
};

static char *edited(const char *dir, const struct wrong *w, size_t *out_bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/good/%s", dir, w->file);
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    char *text = calloc(1, 1 << 16), *out = calloc(1, 1 << 17);
    size_t n = fread(text, 1, (1 << 16) - 1, f);
    fclose(f);
    char *at = strstr(text, w->from);
    ck_assert_msg(at && n > 0, "%s holds no '%s'", path, w->from);
    *out_bytes =
        (size_t)sprintf(out, "%.*s%s%s", (int)(at - text), text, w->to, at + strlen(w->from));
    free(text);
    return out;
}

static void check_verifier(et_arena *a, et_program *p, const struct wrong *w) {
    et_diags *d = et_diags_create(a);
    char text[4096] = "";
    bool ok = et_verify(p, &(et_verify_options){.dies = 8}, d, NULL);
    FILE *f = fmemopen(text, sizeof text, "w");
    et_diag_print(d, f);
    fclose(f);
    ck_assert_msg(ok == !w->verifier, "'%s' to '%s': %s", w->from, w->to, text);
    if (w->verifier) ck_assert_msg(strstr(text, w->verifier) != NULL, "found %s", text);
}

static void check_interp(et_arena *a, et_program *p, const struct wrong *w, uint64_t seed,
                         bool *found) {
    int64_t syms[] = {w->n};
    void **memory = et_alloc(a, (size_t)p->ntensors * sizeof *memory);
    char err[ET_INTERP_ERR];
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP) continue;
        et_tensor_data *data = tm_tensor(a, p->g, &x->shape, syms);
        tm_fill(data);
        memory[t] = data->p;
    }
    et_interp_options opt = {.seed = seed, .races = true};
    bool ok = et_program_run(p, syms, memory, &opt, err);
    if (!w->interp)
        ck_assert_msg(ok, "%s: %s", w->file, err);
    else
        *found |= !ok && strstr(err, w->interp);
    if (w->interp && seed == 8)
        ck_assert_msg(*found, "'%s' to '%s': last found %s", w->from, w->to, ok ? "nothing" : err);
}

START_TEST(test_case) {
    const struct wrong *w = &cases[_i];
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    size_t bytes;
    char *text = edited(getenv("VERIFY_TESTS"), w, &bytes);
    et_program *p = NULL;
    et_graph *g = et_eti_parse(a, d, w->file, text, bytes, &p);
    et_diag_print(d, stderr);
    ck_assert(g && p);
    check_verifier(a, p, w);
    bool found = false;
    for (uint64_t seed = 0; seed <= 8; seed++)
        check_interp(a, p, w, seed, &found);
    free(text);
    et_arena_destroy(a);
}
END_TEST

/* Where a claim is not shown for all values at once, tiles are looked at by the boxes they touch;
 * halves that lie between each other's are still told apart. */
START_TEST(test_by_value) {
    static const struct wrong halves = {.file = "halves.eti", .from = "", .to = ""};
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    size_t bytes;
    char *text = edited(getenv("VERIFY_TESTS"), &halves, &bytes);
    et_program *p = NULL;
    ck_assert(et_eti_parse(a, d, halves.file, text, bytes, &p) && p);
    et_verify_options opt = {.dies = 8, .how = ET_VERIFY_BY_VALUE};
    bool ok = et_verify(p, &opt, d, NULL);
    et_diag_print(d, stderr);
    ck_assert(ok);
    free(text);
    et_arena_destroy(a);
}
END_TEST

/* Each number of iterations is looked at anew: together no longer than the work allows. */
START_TEST(test_many_iterations) {
    static const struct wrong trips = {.file = "trips.eti", .from = "", .to = ""};
    size_t bytes;
    char *text = edited(getenv("VERIFY_TESTS"), &trips, &bytes);
    for (int enough = 0; enough < 2; enough++) {
        et_arena *a = et_arena_create();
        et_diags *d = et_diags_create(a);
        et_program *p = NULL;
        ck_assert(et_eti_parse(a, d, trips.file, text, bytes, &p) && p);
        et_verify_options opt = {.how = ET_VERIFY_AT_ONCE, .work = enough ? 0 : 10};
        ck_assert_int_eq(et_verify(p, &opt, d, NULL), enough);
        char *said = NULL;
        size_t n;
        FILE *f = open_memstream(&said, &n);
        et_diag_print(d, f);
        fclose(f);
        ck_assert_int_eq(!strstr(said, "looking at each number of iterations takes too long"),
                         enough);
        free(said);
        et_arena_destroy(a);
    }
    free(text);
}
END_TEST

/* The parser refuses such a text, so it is the program that is changed. */
START_TEST(test_orders) {
    static const struct wrong as_is = {.file = "slices.eti", .from = "", .to = ""};
    struct wrong in_slices = as_is, in_range = as_is, queued = as_is;
    et_arena *a = et_arena_create();
    size_t bytes;
    char *text = edited(getenv("VERIFY_TESTS"), &as_is, &bytes);
    et_program *p = NULL;
    ck_assert(et_eti_parse(a, et_diags_create(a), as_is.file, text, bytes, &p) && p);
    et_grid *g = &p->grids[0];
    g->order = ET_TILES_BACK_AND_FORTH;
    check_verifier(a, p, &as_is);
    g->slice.count = 2;
    in_slices.verifier = "tiles of f have an order, and are in slices";
    check_verifier(a, p, &in_slices);
    g->slice.count = 0;
    g->order = ET_TILES_CLAIMED;
    g->range = (et_share){0, 500000};
    in_range.verifier = "tiles of f are claimed, and are in a range";
    check_verifier(a, p, &in_range);
    g->range = (et_share){0};
    g->dynamic = true;
    queued.verifier = "tiles of f have an order, and are queued";
    check_verifier(a, p, &queued);
    free(text);
    et_arena_destroy(a);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    setenv("VERIFY_TESTS", argv[1], 1);
    Suite *s = suite_create("reports");
    TCase *c = tcase_create("reports");
    tcase_add_test(c, test_by_value);
    tcase_add_test(c, test_many_iterations);
    tcase_add_test(c, test_orders);
    tcase_add_loop_test(c, test_case, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
