/* check_prices TARGET OPTIONS FILE.etg...
 *
 * A tile is priced by the plans that its products and attention would get as it is then
 * (passes/cost/use.h). These are the plans that they get in the end, decision by decision, and
 * every disagreement is named. What is decided for a whole model behind the tiles is known: where
 * its weights do not stream after all, products get the plan that they would get without a stream.
 * Counted, and not compared, are products of many rows whose weights get slots of the weight
 * stream, and those whose rows get tags; and left out is what is asked for before waits.
 *
 * OPTIONS: "-", or of s (2:4 sparse), d (dynamic schedule), u (no weight stream), c (flag-in-data
 * wherever possible). */
#include "codegen/targets/targets.h"
#include "frontend/frontend.h"
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STEPS = 4096, VARIANTS = 4 };

/* What a step was priced by. */
struct priced {
    const char *task;
    et_product_plan plan, unstreamed;
    et_product_use product;
    et_attend_plan attend;
    et_attend_use attention;
    bool pipeline, tagged; /* it has a pipeline of both operands; reads tagged data */
};

static struct {
    const char *file, *text;
    size_t bytes;
    et_arena *arena;
    const et_machine *m;
    struct priced was[MOST_STEPS];
    int products, attentions, disagreements, unstreamed, slots, tagged;
} c;

static et_graph *narrow(void *ctx, const char *sym, int64_t lo, int64_t hi, bool whole) {
    (void)whole;
    (void)ctx;
    et_dim_range by = {sym, lo, hi};
    return et_parse_etg_narrow(c.arena, et_diags_create(c.arena), c.file, c.text, c.bytes, &by);
}

/* ---- one step ---- */

struct tags {
    const et_program *p;
    bool any;
};

static void note_tag(void *ctx, et_expr e) {
    struct tags *t = ctx;
    const et_node_x *n = et_x(t->p->g->exprs, e);
    t->any |= n->op == ET_X_LOAD && n->i2 != ET_LOAD_TENSOR;
}

static struct priced note(const et_program *p, const et_grid *g, const et_step *s) {
    const et_func *f = &p->funcs[g->func];
    struct priced now = {.task = g->name};
    struct tags t = {.p = p};
    if (s->kind == ET_STEP_ATTEND) {
        now.attend = s->attend;
        if (!s->attend.made) et_attend_expect(c.m->plans, p, f, s, &now.attend);
        now.attention = et_attend_use_of(p, f, s, c.m);
        return now;
    }
    now.plan = s->plan[ET_PLAN_MAIN];
    et_product_options dry = *c.m->plans;
    dry.stream_bytes = 0;
    if (!now.plan.made) {
        et_product_expect(c.m->plans, p, f, s, &now.plan);
        et_product_expect(&dry, p, f, s, &now.unstreamed);
    }
    now.product = et_product_use_of(p, f, s, c.m);
    now.pipeline = et_step_stages(f, s) > 0;
    et_walk(p->g->exprs, s->a, note_tag, &t);
    now.tagged = t.any;
    return now;
}

static void differ(const char *task, const char *what, int was, int is, int words) {
    if (was == is) return;
    c.disagreements++;
    if (words < 0)
        printf("%s: %s: %s: priced with %d, planned with %d\n", c.file, task, what, was, is);
    else
        printf("%s: %s: %s: priced with %s, planned with %s\n", c.file, task, what,
               et_plan_word((et_plan_words)words, was), et_plan_word((et_plan_words)words, is));
}

static void compare_attend(const struct priced *was, const struct priced *now) {
    const et_attend_plan *a = &was->attend, *b = &now->attend;
    c.attentions++;
    differ(now->task, "attention", (int)a->by, (int)b->by, ET_PLAN_WORD_ATTEND_BY);
    differ(now->task, "heads", a->heads, b->heads, -1);
    differ(now->task, "lane", a->lane_d, b->lane_d, -1);
    differ(now->task, "waves", a->waves, b->waves, -1);
    differ(now->task, "positions", a->block.positions, b->block.positions, -1);
    differ(now->task, "blocks", a->block.depth, b->block.depth, -1);
    if (memcmp(&was->attention, &now->attention, sizeof was->attention) != 0)
        differ(now->task, "what the price of attention depends on", 0, 1, -1);
}

static void compare_product(const struct priced *was, const struct priced *now) {
    const et_product_plan *a = &was->plan, *b = &now->plan;
    c.products++;
    if (was->pipeline && b->weights == ET_WEIGHTS_STREAM) {
        c.slots++;
        return;
    }
    if (was->tagged != now->tagged) {
        c.tagged++;
        return;
    }
    bool dry = a->weights == ET_WEIGHTS_STREAM && b->weights != ET_WEIGHTS_STREAM;
    if (dry) a = &was->unstreamed;
    c.unstreamed += dry;
    differ(now->task, "rows", (int)a->rows, (int)b->rows, ET_PLAN_WORD_ROWS);
    differ(now->task, "chunks of rows", a->rows_depth, b->rows_depth, -1);
    differ(now->task, "weights", (int)a->weights, (int)b->weights, ET_PLAN_WORD_WEIGHTS);
    differ(now->task, "decode", (int)a->decode, (int)b->decode, ET_PLAN_WORD_DECODE);
    differ(now->task, "chunk", a->chunk, b->chunk, -1);
    differ(now->task, "lane", a->lane_k, b->lane_k, -1);
    differ(now->task, "sums", a->sets, b->sets, -1);
    differ(now->task, "row_packed", a->row_packed, b->row_packed, -1);
    differ(now->task, "in flight", was->product.in_flight, now->product.in_flight, -1);
    if (!dry) differ(now->task, "by chunk", was->product.by_chunk, now->product.by_chunk, -1);
    differ(now->task, "warpgroup", (int)was->product.warpgroup, (int)now->product.warpgroup, -1);
}

/* The waves' rows that a price takes for warpgroup MMA are those of the mainloop that codegen
 * emits. */
static void check_warpgroup(const et_program *p, const et_grid *g, const et_step *s,
                            const struct priced *now) {
    const et_func *f = &p->funcs[g->func];
    et_product_cx cx = et_product_context(p, f, c.m->plans->target, c.arena);
    const char *why;
    et_mainloop loop;
    cx.without = c.m->plans->without;
    cx.packed = c.m->plans->packed;
    cx.stored = et_program_stored(p, c.arena);
    if (!et_mainloop_of(&cx, s, ET_PLAN_MAIN, &loop, &why)) {
        printf("%s: %s: its plan makes no mainloop: %s\n", c.file, g->name, why);
        c.disagreements++;
        return;
    }
    differ(now->task, "warpgroup of the mainloop", (int)now->product.warpgroup, (int)loop.warpgroup,
           -1);
}

/* ---- a program ---- */

static void one(const et_program *p, const et_grid *g, const et_step *s, bool planned,
                struct priced *was) {
    struct priced now = note(p, g, s);
    bool attend = s->kind == ET_STEP_ATTEND;
    if (!planned) {
        *was = now;
    } else if (attend ? !s->attend.made : !s->plan[ET_PLAN_MAIN].made) {
        printf("%s: %s: no plan\n", c.file, g->name);
        c.disagreements++;
    } else if (attend) {
        compare_attend(was, &now);
    } else {
        compare_product(was, &now);
        check_warpgroup(p, g, s, &now);
    }
}

/* All of them: noted, or compared with what was noted. */
static void all(et_program *whole, bool planned) {
    et_program *p;
    int n = 0;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++) {
            const et_func *f = &p->funcs[p->grids[i].func];
            for (int j = 0; j < f->nsteps; j++) {
                const et_step *s = &f->steps[j];
                if (s->kind != ET_STEP_CONTRACT && s->kind != ET_STEP_ATTEND) continue;
                if (n == MOST_STEPS) abort();
                one(p, &p->grids[i], s, planned, &c.was[n++]);
            }
        }
}

static char *read_file(const char *path, size_t *out_bytes) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    fseek(f, 0, SEEK_END);
    *out_bytes = (size_t)ftell(f);
    rewind(f);
    char *text = et_alloc(c.arena, *out_bytes + 1);
    *out_bytes = fread(text, 1, *out_bytes, f);
    fclose(f);
    return text;
}

static void check(const char *path, const et_pass_options *opt) {
    et_pass_options by = *opt;
    const char *slash = strrchr(path, '/');
    c.arena = et_arena_create();
    c.file = slash ? slash + 1 : path;
    c.text = read_file(path, &c.bytes);
    et_diags *d = et_diags_create(c.arena);
    et_graph *g = et_parse_etg(c.arena, d, c.file, c.text, c.bytes);
    by.to = ET_STAGE_TILED;
    et_program *p = g ? et_make_variants(g, &by, VARIANTS, NULL, narrow, NULL) : NULL;
    bool ok = g && (p || et_passes_run(g, &by, &p));
    by.to = ET_STAGE_NONE;
    if (ok) {
        all(p, false);
        ok = et_passes_resume(g, p, &by, &p);
    }
    if (ok) {
        all(p, true);
    } else {
        printf("%s: is not compiled\n", c.file);
        et_diag_print(d, stdout);
        c.disagreements++;
    }
    et_arena_destroy(c.arena);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    const et_target *t = et_target_find(argv[1]);
    et_planned on;
    et_pass_options opt = {.unverified = true};
    if (strchr(argv[2], 's')) opt.packed = et_target_packs(t), opt.keep_order = true;
    if (strchr(argv[2], 'd')) opt.schedule = ET_SCHEDULE_DYNAMIC;
    if (strchr(argv[2], 'u')) opt.without = et_features_named("stream");
    if (strchr(argv[2], 'c')) opt.flags = ET_FLAGS_ALL;
    et_plan_for(&opt, et_machine_for(argv[1]), t, &on);
    c.m = &on.machine;
    for (int i = 3; i < argc; i++)
        check(argv[i], &opt);
    printf("%s %s: %d products, of which %d did not stream after all, %d got slots and %d tags, %d "
           "attentions, "
           "%d disagreements\n",
           argv[1], argv[2], c.products, c.unstreamed, c.slots, c.tagged, c.attentions,
           c.disagreements);
    return c.disagreements || !c.products;
}
