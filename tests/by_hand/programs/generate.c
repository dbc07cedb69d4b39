/* Random programs: declarations, then statements that mostly write states from what states hold. */
#include "tests/by_hand/programs/gen.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENTS = 5, DEPTH = 3 };

static const char *const defs =
    "def turned(a) = gather(a, size(a, axis=0) - 1 - iota(size(a, axis=0)))\n"
    "def rolled(a) = gather(a, mod(iota(size(a, axis=0)) + 1, size(a, axis=0)))\n"
    "def centred(a) = a - sum(a, axis=-1, keep=1)\n"
    "def mixed(a, b) = a * 2 - b\n";

gen_name *gen_add_name(gen *g, const char *name, const gen_shape *s, gen_range r) {
    if (g->nnames == GEN_NAMES) return NULL;
    gen_name *n = &g->name[g->nnames++];
    *n = (gen_name){.name = name, .s = *s, .r = r, .depth = g->nloops};
    return n;
}

static gen_shape some_shape(gen *g, int least) {
    gen_shape s = {.rank = gen_chance(g, 4) ? 0 : 1 + gen_draw(g, 3)};
    if (s.rank < least) s.rank = least;
    do
        for (int i = 0; i < s.rank; i++)
            s.d[i] = gen_any_dim(g);
    while (gen_count(g, &s) > GEN_ELEMENTS && s.rank-- > 1);
    return s;
}

/* ---- declarations ---- */

static const char *const float_types[] = {"f32", "f32", "bf16", "f16"};
static const int float_bits[] = {24, 24, 8, 11};
/* The smallest number of each is 2 to minus that; so many bits stay below its normal ones. */
static const int least_exponent[] = {149, 149, 133, 24}, tiny_bits[] = {18, 18, 7, 10};

static void declare(gen *g, const char *kind, const char *name, const gen_shape *s) {
    bool whole = gen_chance(g, 35);
    int type = gen_draw(g, 4);
    gen_range r = {.whole = whole, .exact = true, .max = whole ? 1000 : 30, .frac = whole ? 0 : 2};
    bool state = !strcmp(kind, "state"), weight = !strcmp(kind, "weight");
    if (whole && !state && gen_chance(g, 50)) r.max = 40;
    if (!whole && state && g->near) r.exact = false, r.max = 8;
    const char *holds = r.exact ? et_printf(g->a, "%.0f/%d", r.max, 1 << r.frac) : "near";
    if (g->odd && !whole && r.exact && gen_chance(g, 25)) {
        r.frac = least_exponent[type];
        r.max = ldexp(1, tiny_bits[type] - r.frac);
        holds = "tiny";
    } else if (g->odd && !whole && r.exact && gen_chance(g, 60)) {
        holds = et_printf(g->a, "%s odd", holds);
    }
    gen_name *n = gen_add_name(g, name, s, r);
    if (!n) return;
    n->bits = whole ? 31 : float_bits[type];
    n->state = state;
    const char *source =
        weight ? et_printf(g->a, " = \"%s%s\"", name, g->nloops ? ".{l0}" : "") : "";
    gen_line(g, et_printf(g->a, "%s %s : %s%s%s   #: %s", kind, name,
                          whole ? "i32" : float_types[type], gen_dims_text(g, s), source, holds));
}

/* A weight of 8 or 4 bits, and a name for what it holds as f32 or i32. */
static void declare_code(gen *g, const gen_shape *s) {
    static const struct {
        const char *type, *as, *holds;
        double max;
        int frac;
    } types[] = {{"e4m3", "f32", "14/1", 14, 0}, {"e5m2", "f32", "6/1", 6, 0},
                 {"e2m1", "f32", "6/2", 6, 1},   {"ue8m0", "f32", "powers", 1, 3},
                 {"i8", "i32", "100/1", 100, 0}, {"u8", "i32", "0/1", 255, 0},
                 {"i4", "i32", "7/1", 7, 0},     {"u4", "i32", "15/1", 15, 0}};
    int t = gen_draw(g, sizeof types / sizeof *types);
    const char *name = gen_fresh(g, "w"), *read = gen_fresh(g, "t");
    const char *type = gen_in_bytes(types[t].type, s->d[s->rank - 1].add);
    bool whole = types[t].as[0] == 'i';
    gen_line(g, et_printf(g->a, "weight %s : %s%s = \"%s%s\"   #: %s", name,
                          whole || !strcmp(type, types[t].type) ? type : "e4m3",
                          gen_dims_text(g, s), name, g->nloops ? ".{l0}" : "", types[t].holds));
    gen_line(g, et_printf(g->a, "%s = %s(%s)", read, types[t].as, name));
    gen_add_name(g, read, s, (gen_range){whole, true, types[t].max, types[t].frac});
}

static gen_shape fixed_shape(gen *g) {
    gen_shape s = some_shape(g, 1);
    for (int i = 0; i < s.rank; i++)
        while (s.d[i].sym >= 0)
            s.d[i] = gen_any_dim(g);
    while (gen_count(g, &s) > GEN_ELEMENTS)
        s.rank--;
    return s;
}

static void declare_order(gen *g, const char *kind) {
    gen_shape s = {1, {gen_number(g->size[gen_draw(g, g->nsizes)])}};
    const char *name = gen_fresh(g, "p");
    gen_name *n = gen_add_name(g, name, &s, (gen_range){true, true, s.d[0].add, 0});
    n->order = true;
    n->state = !strcmp(kind, "state");
    gen_line(g, et_printf(g->a, "%s %s : i32%s   #: order", kind, name, gen_dims_text(g, &s)));
}

static void declarations(gen *g) {
    static const int pool[] = {2,  3,  4,  5,  6,  7,  8,  8,  9,  12, 15,
                               16, 16, 17, 20, 24, 31, 32, 33, 40, 48, 64};
    g->nsizes = 2 + gen_draw(g, 2);
    for (int i = 0; i < g->nsizes; i++)
        g->size[i] = pool[gen_draw(g, sizeof pool / sizeof *pool)];
    g->nsyms = gen_draw(g, 3) ? gen_draw(g, 3) : 0;
    gen_line(g, et_printf(g->a, "model %s", g->near ? "near" : "exact"));
    for (int i = 0; i < g->nsyms; i++) {
        g->lo[i] = 1 + gen_draw(g, 3);
        g->hi[i] = g->lo[i] + gen_draw(g, gen_chance(g, 20) ? 70 : 20);
        gen_line(g, et_printf(g->a, "dim %s in %d..%d", i ? "M" : "N", g->lo[i], g->hi[i]));
    }
    for (int i = 1 + gen_draw(g, 3); i > 0; i--) {
        gen_shape s = some_shape(g, 0);
        declare(g, "input", gen_fresh(g, "x"), &s);
    }
    for (int i = gen_draw(g, 2); i > 0; i--) {
        gen_shape s = fixed_shape(g);
        declare(g, "weight", gen_fresh(g, "w"), &s);
        s = fixed_shape(g);
        if (gen_chance(g, 40)) g->codes[g->ncodes++] = s;
    }
    for (int i = 1 + gen_draw(g, 3); i > 0; i--) {
        gen_shape s = fixed_shape(g);
        if (i > 1 && gen_chance(g, 40)) /* states of one shape, to be written from each other */
            s = g->name[g->nnames - 1].s;
        for (int d = 0; d < s.rank; d++)
            if (s.d[d].sym >= 0) s.d[d] = gen_number(8);
        if (gen_chance(g, 30) && s.rank >= 2) s.d[1] = s.d[0];
        declare(g, "state", gen_fresh(g, "s"), &s);
    }
    for (int i = gen_draw(g, 2); i > 0; i--)
        declare_order(g, "input");
    for (int i = gen_draw(g, 2); i > 0; i--)
        declare_order(g, "state");
    gen_carried(g);
    fputs(defs, g->to);
    for (int i = 0; i < g->ncodes; i++)
        declare_code(g, &g->codes[i]);
}

/* ---- statements ---- */

/* None where a loop's variable may be one number: `x * i` is x then, and nothing is computed. */
static void hint(gen *g, const gen_shape *s) {
    if (gen_chance(g, 88) || !s->rank) return;
    for (int i = 0; i < g->nloops; i++)
        if (g->loop[i].hi - g->loop[i].lo == 1) return;
    static const int tiles[] = {0, 1, 2, 4, 16, 5, 48, 64};
    const char *t = "@tile(";
    switch (gen_draw(g, 4)) {
    case 0:
        gen_line(g, gen_chance(g, 50) ? "@range(0.5)" : "@range(0.25, 0.75)");
        break;
    case 1:
        gen_line(g, gen_chance(g, 50) ? "@dynamic" : "@static");
        break;
    default:
        for (int i = 0; i < s->rank; i++)
            t = et_printf(g->a, "%s%s%d", t, i ? ", " : "", tiles[gen_draw(g, 8)]);
        gen_line(g, et_printf(g->a, "%s)", t));
    }
}

static const gen_name *some_state(gen *g, bool order) {
    const gen_name *have[GEN_NAMES];
    int n = 0;
    for (int i = 0; i < g->nnames; i++)
        if (g->name[i].state && g->name[i].order == order) have[n++] = &g->name[i];
    return n ? have[gen_draw(g, n)] : NULL;
}

static void assign(gen *g) {
    gen_shape s = some_shape(g, 0);
    const gen_name *like = gen_chance(g, 40) ? some_state(g, false) : NULL;
    if (like) s = like->s;
    g->favourite = gen_chance(g, 50) ? some_state(g, false) : NULL;
    bool whole = gen_chance(g, 30), kept = gen_chance(g, 60);
    gen_ex e = gen_value(g, &s, whole, gen_chance(g, 40), 1 + gen_draw(g, DEPTH));
    /* What only moves elements may be a second name, and has no tiles then. */
    bool computed = e.text[0] == '(' && e.text[strlen(e.text) - 1] == ')';
    if (kept) {
        e = gen_fit(g, e, whole ? 10000 : 64, 2);
        e.text = et_printf(g->a, "%s(%s)", whole ? "i32" : "f32", e.text);
        e.r.max = whole ? 10000 : 64;
        if (!whole) e.r.frac = 2;
    }
    const char *name = gen_fresh(g, "t");
    if (computed) hint(g, &s);
    gen_line(g, et_printf(g->a, "%s = %s", name, e.text));
    gen_name *n = gen_add_name(g, name, &s, e.r);
    if (n) n->assignable = kept;
}

static void assign_again(gen *g) {
    gen_name *have[GEN_NAMES];
    int n = 0;
    for (int i = 0; i < g->nnames; i++)
        if (g->name[i].assignable) have[n++] = &g->name[i];
    if (!n) {
        assign(g);
        return;
    }
    const gen_name *to = have[gen_draw(g, n)];
    g->favourite = gen_chance(g, 60) ? to : some_state(g, false);
    gen_ex e = gen_value(g, &to->s, to->r.whole, to->r.exact, 1 + gen_draw(g, DEPTH));
    e = gen_fit(g, e, to->r.max, to->r.frac);
    gen_line(g, et_printf(g->a, "%s = %s(%s)", to->name, to->r.whole ? "i32" : "f32", e.text));
}

static void copy_state(gen *g) {
    const gen_name *s = some_state(g, gen_chance(g, 20));
    if (!s) return;
    const char *name = gen_fresh(g, "t");
    gen_line(g, et_printf(g->a, "%s = %s", name, s->name));
    gen_name *n = gen_add_name(g, name, &s->s, s->r);
    if (n) n->order = s->order;
}

/* A number below K for certain. */
static const char *place_below(gen *g, int k) {
    int l = g->nloops ? gen_draw(g, g->nloops) : 0;
    if (!g->nloops || gen_chance(g, 40))
        return gen_chance(g, 20) ? "-1" : et_printf(g->a, "%d", gen_draw(g, k));
    if (g->big && gen_chance(g, 50))
        return et_printf(g->a, "mod(%s * %lld, %d)", g->loop[l].name,
                         3000000000LL + gen_draw(g, 1000), k);
    if (g->loop[l].hi <= k && gen_chance(g, 70)) return g->loop[l].name;
    return et_printf(g->a, "mod(%s + %d, %d)", g->loop[l].name, gen_draw(g, 5), k);
}

/* "a:b:c", so many elements of K. */
static const char *part_of(gen *g, int k, gen_dim *out_size) {
    gen_dim n = gen_any_dim(g);
    int least = 1 + gen_draw(g, k < 4 ? k : 4), step = 1 + gen_draw(g, gen_chance(g, 40) ? 3 : 1);
    if (n.sym >= 0 && gen_high(g, n) <= k && gen_chance(g, 50)) { /* as many as a launch says */
        int from = gen_draw(g, k - gen_high(g, n) + 1);
        *out_size = n;
        return et_printf(g->a, "%d:%s + %d", from, gen_dim_text(g, n), from);
    }
    int size = gen_chance(g, 50) ? least : 1 + gen_draw(g, k), span = (size - 1) * step + 1;
    if (span > k) size = 1 + (k - 1) / step, span = (size - 1) * step + 1;
    *out_size = gen_number(size);
    int room = k - span, l = g->nloops ? gen_draw(g, g->nloops) : 0;
    if (g->nloops && g->loop[l].hi - 1 <= room && gen_chance(g, 60))
        return et_printf(g->a, "%s:%s + %d:%d", g->loop[l].name, g->loop[l].name, span, step);
    int from = gen_draw(g, room + 1);
    return et_printf(g->a, "%d:%d:%d", from, from + span, step);
}

/* "[...]" for an update of S, and the shape of the value it takes. */
static const char *target(gen *g, const gen_name *s, gen_shape *value) {
    gen_dim lead = gen_any_dim(g);
    gen_dim size[GEN_RANK];
    bool tensors = false, distinct = false, whole[GEN_RANK] = {false};
    const char *at = "[", *index[GEN_RANK];
    for (int i = 0; i < s->s.rank; i++) {
        int how = gen_draw(g, 100), k = s->s.d[i].add;
        whole[i] = how < 55;
        size[i] = s->s.d[i];
        index[i] = how < 25   ? part_of(g, k, &size[i])
                   : whole[i] ? ":"
                   : how < 78 ? place_below(g, k)
                              : NULL;
        if (index[i]) continue;
        if (!distinct) index[i] = gen_distinct(g, lead, k, true);
        if (distinct) {
            gen_shape one = {1, {lead}};
            index[i] = gen_fit(g, gen_value(g, &one, true, true, 1), k, 0).text;
        }
        tensors = distinct = true;
    }
    *value = (gen_shape){0};
    if (tensors) value->d[value->rank++] = lead;
    for (int i = 0; i < s->s.rank; i++) {
        if (whole[i]) value->d[value->rank++] = size[i];
        at = et_printf(g->a, "%s%s%s", at, i ? ", " : "", index[i]);
    }
    return et_printf(g->a, "%s]", at);
}

static void update(gen *g) {
    const gen_name *s = some_state(g, false);
    gen_shape v;
    if (!s) return;
    int tries = 0;
    g->favourite = gen_chance(g, 70) ? s : some_state(g, false);
    const char *at = target(g, s, &v);
    while (gen_count(g, &v) > GEN_ELEMENTS && tries++ < 8)
        at = target(g, s, &v);
    if (gen_count(g, &v) > GEN_ELEMENTS || v.rank > GEN_RANK) return;
    gen_ex e = gen_value(g, &v, s->r.whole, s->r.exact, gen_draw(g, DEPTH + 1));
    e = gen_fit(g, e, s->r.max, s->r.frac);
    gen_line(g, et_printf(g->a, "%s%s = %s", s->name, at, e.text));
}

static void update_order(gen *g) {
    const gen_name *p = some_state(g, true);
    if (!p) {
        update(g);
        return;
    }
    int k = p->s.d[0].add;
    const char *at = gen_chance(g, 40) ? ":" : gen_chance(g, 50) ? p->name : gen_order(g, k);
    gen_line(g, et_printf(g->a, "%s[%s] = %s", p->name, at, gen_order(g, k)));
}

static void largest(gen *g) {
    gen_shape s = some_shape(g, 1);
    gen_dim *last = &s.d[s.rank - 1];
    if (last->sym >= 0) *last = gen_number(g->size[0]);
    g->favourite = gen_chance(g, 50) ? some_state(g, false) : NULL;
    gen_ex e = gen_value(g, &s, gen_chance(g, 30) || g->odd, true, 1 + gen_draw(g, 2));
    int k = 1 + gen_draw(g, last->add < 5 ? last->add : 5), all = last->add;
    const char *v = gen_fresh(g, "t"), *i = gen_fresh(g, "t");
    gen_line(g, et_printf(g->a, "%s, %s = topk(%s, %d)", v, i, e.text, k));
    *last = gen_number(k);
    gen_add_name(g, v, &s, e.r);
    gen_add_name(g, i, &s, (gen_range){true, true, all, 0});
}

/* Attention over a state, which is written from what comes out, too. */
static void attend(gen *g) {
    gen_name *cache = NULL;
    for (int i = 0; i < g->nnames; i++)
        if (g->name[i].state && g->name[i].s.rank == 4) cache = &g->name[i];
    if (!g->near || !cache || cache->r.whole) {
        update(g);
        return;
    }
    const gen_dim *d = cache->s.d;
    gen_dim n = gen_chance(g, 50) ? d[2] : gen_any_dim(g);
    gen_shape q = {3, {n, gen_number(d[1].add * 2), d[3]}}, one = {1, {n}};
    if (gen_count(g, &q) > GEN_ELEMENTS) return;
    const char *slots = gen_fit(g, gen_value(g, &one, true, true, 1), d[0].add - 1, 0).text;
    const char *places = gen_fit(g, gen_value(g, &one, true, true, 1), d[2].add - 1, 0).text;
    gen_ex e = gen_fit(g, gen_value(g, &q, false, false, 1), 8, 3);
    const char *name = gen_fresh(g, "t");
    gen_line(g, et_printf(g->a, "%s = attention(%s, %s, %s, abs(%s), abs(%s), scale=0.25)", name,
                          e.text, cache->name, cache->name, slots, places));
    gen_add_name(g, name, &q, (gen_range){.max = 30});
    if (!gen_same_dim(n, d[2]) || gen_chance(g, 30)) return;
    gen_line(g, et_printf(g->a,
                          "%s[%d, :, iota(%d), :] = attention(%s, %s, %s, abs(%s), abs(%s), "
                          "scale=0.5)[:, :%d, :]",
                          cache->name, gen_draw(g, d[0].add), n.add, e.text, cache->name,
                          cache->name, slots, places, d[1].add));
}

static void statement(gen *g);

/* Where a loop ends, and the most that comes to: a number, or what a launch says. */
static const char *loop_end(gen *g, int *lo, int *hi) {
    int sym = g->nsyms ? gen_draw(g, g->nsyms) : -1, by = 1 + gen_draw(g, 4);
    *hi = *lo + 1 + gen_draw(g, 3);
    if (sym < 0 || gen_chance(g, 40)) return et_printf(g->a, "%d", *hi);
    while ((g->hi[sym] + by - 1) / by > 9)
        by++;
    int least = (g->lo[sym] + by - 1) / by;
    if (least <= *lo) *lo = least - 1;
    *hi = (g->hi[sym] + by - 1) / by;
    const char *name = sym ? "M" : "N";
    return by == 1 ? name : et_printf(g->a, "(%s + %d) / %d", name, by - 1, by);
}

static void loop(gen *g) {
    if (g->nloops == 2) {
        update(g);
        return;
    }
    int names = g->nnames, lo = gen_draw(g, 3), n = g->nloops;
    const char *var = et_printf(g->a, "l%d", n);
    for (int i = 0; i < names; i++) /* a later loop may carry it from here on */
        g->name[i].depth = n;
    bool again = false; /* of one name a variable may not be another loop's */
    for (int i = 0; i < n; i++)
        again |= !strcmp(g->loop[i].name, var);
    if (again) return;
    int hi;
    const char *end = loop_end(g, &lo, &hi);
    gen_line(g, et_printf(g->a, "for %s in %d..%s {", var, lo, end));
    g->loop[g->nloops].name = var;
    g->loop[g->nloops].lo = lo;
    g->loop[g->nloops++].hi = hi;
    if (g->nloops == 1 && gen_chance(g, 25)) {
        gen_shape s = fixed_shape(g);
        declare(g, "weight", gen_fresh(g, "w"), &s);
    }
    for (int i = gen_draw(g, 3); i > 0; i--)
        statement(g);
    update(g);
    g->nloops--;
    gen_line(g, "}");
    g->nnames = names;
}

static void statement(gen *g) {
    static void (*const kinds[])(gen *) = {
        update,       update,     update,       update,       update,   assign, assign,
        assign,       copy_state, assign_again, assign_again, loop,     loop,   largest,
        update_order, attend,     gen_scan,     gen_scan,     gen_group};
    kinds[gen_draw(g, sizeof kinds / sizeof *kinds)](g);
}

static void outputs(gen *g) {
    int from = gen_draw(g, g->nnames), made = 0;
    for (int i = 0; i < g->nnames && made < 3; i++) {
        const gen_name *n = &g->name[(from + i) % g->nnames];
        if (n->s.rank == 0 && n->name[0] != 't') continue;
        gen_line(g, et_printf(g->a, "output y%d = %s%s", made++, n->name,
                              n->r.exact ? "" : "   #: near"));
    }
}

int gen_kind_named(const char *name) {
    static const char *const names[] = {"any",    "mixed", "chains", "odd",
                                        "shapes", "wide",  "dims",   "scans"};
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        if (!strcmp(name, names[i])) return i;
    return -1;
}

static void mixed(gen *g) {
    g->near = gen_chance(g, 12);
    declarations(g);
    if (g->near && gen_chance(g, 60)) {
        gen_shape s = {4,
                       {gen_number(2), gen_number(1 + gen_draw(g, 2)),
                        gen_number(4 + gen_draw(g, 9)), gen_number(4)}};
        const char *name = gen_fresh(g, "s");
        gen_line(g, et_printf(g->a, "state %s : %s%s   #: near", name,
                              gen_chance(g, 50) ? "f32" : "bf16", gen_dims_text(g, &s)));
        gen_add_name(g, name, &s, (gen_range){.max = 8})->state = true;
    }
    for (int i = 2 + gen_draw(g, STATEMENTS); i > 0; i--)
        statement(g);
    outputs(g);
}

const char *gen_program(et_arena *a, uint64_t seed, gen_kind kind, bool big) {
    gen *g = et_alloc(a, sizeof *g);
    char *text = NULL;
    size_t bytes = 0;
    g->a = a;
    g->rng = seed * 0x9e3779b97f4a7c15u + 1;
    g->big = big;
    g->to = open_memstream(&text, &bytes);
    static const gen_kind kinds[] = {GEN_MIXED, GEN_MIXED, GEN_MIXED,  GEN_ODD,
                                     GEN_ODD,   GEN_ODD,   GEN_SHAPES, GEN_CHAINS};
    if (kind == GEN_ANY) kind = kinds[gen_draw(g, 8)];
    g->odd = kind == GEN_ODD;
    static void (*const makers[])(gen *) = {
        [GEN_ANY] = mixed,     [GEN_MIXED] = mixed,       [GEN_CHAINS] = gen_chains,
        [GEN_ODD] = mixed,     [GEN_SHAPES] = gen_shapes, [GEN_WIDE] = gen_wide,
        [GEN_DIMS] = gen_dims, [GEN_SCANS] = gen_scans};
    makers[kind](g);
    fclose(g->to);
    const char *out = et_strdup(a, text);
    free(text);
    return out;
}
