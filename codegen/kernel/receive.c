/* Steps that copy elements of tagged temporaries to local buffers, once they have arrived.
 *
 * A wave loads as many words at a time as a lane has registers for, compares all of their tags, and
 * loads all of them again where one is not the tag of this launch and step. That is seldom: the
 * task has waited for a counter before. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/program/tags.h"
#include <stddef.h>

enum { AT_ONCE = 32 /* words of a lane */, MOST_WIDE = 4, MOST_WORDS = 2 * ET_MAX_DEVICES };

/* ---- a wave's words ---- */

struct receipt {
    const et_step *s;
    const et_node_x *load;
    et_expr from, to; /* the first word, the first element of the buffer, by the variables */
    bool dense;       /* from and to are what is added to WIDE times the number of an item */
    int wide;         /* elements of an item, one behind the other, as those of the buffer are */
    int words;        /* of each, as many as there are devices where it is a sum over them */
    bool others;      /* other devices store some */
    int var[ET_MAX_VARS + 1];
    int64_t extent[ET_MAX_VARS + 1], total; /* of items */
    val tag;
    bool untested; /* for a test: tags are not compared */
};

/* Do tasks store it that notify the event which the options weaken? */
static bool is_untested(cg *g, int tensor) {
    bool yes = false, store;
    for (int i = 0; i < g->p->ngrids && g->opt->weaken == ET_WEAKEN_TAG; i++) {
        const et_grid *gr = &g->p->grids[i];
        const et_func *f = &g->p->funcs[gr->func];
        bool tells = false;
        for (int n = 0; n < gr->nnotifies; n++)
            tells |= cg_weakened(g, gr->notifies[n].event);
        for (int k = 0; k < f->nsteps && tells; k++)
            yes |= et_step_tagged(g->p, &f->steps[k], &store) == tensor && store;
    }
    return yes;
}

/* E less WIDE times the number of an item, where that is free of the variables. */
static bool is_dense(cg *g, const struct receipt *t, et_expr e, et_expr *out) {
    et_expr n = et_int(g->x, 0);
    for (int i = 0; i < t->s->nvars; i++)
        n = et_add(g->x, et_mul(g->x, n, et_int(g->x, t->extent[i])), et_var(g->x, t->var[i]));
    *out = et_sub(g->x, e, et_mul(g->x, n, et_int(g->x, t->wide)));
    return !et_expr_has_vars(g->x, *out, t->s->nvars, t->var);
}

/* Items of as many words as the plan says, along the last variable. */
static void widen(cg *g, struct receipt *t) {
    const et_step *s = t->s;
    int last = s->nvars - 1;
    t->wide = s->map.vector;
    if (t->wide == 1) return;
    t->extent[last] /= t->wide;
    t->total /= t->wide;
    int piece = cg_fresh_var(g, "piece", t->extent[last]);
    et_expr first = et_mul(g->x, et_var(g->x, piece), et_int(g->x, t->wide));
    t->from = et_subst_var(g->x, t->from, t->var[last], first);
    t->to = et_subst_var(g->x, t->to, t->var[last], first);
    t->var[last] = piece;
}

static void prepare(cg *g, struct receipt *t) {
    const et_step *s = t->s;
    t->total = 1;
    for (int i = 0; i < s->nvars; i++) {
        if (!et_is_int(g->x, et_var_extent(g->x, s->vars[i]), &t->extent[i]))
            et_bug("the extent of %s in a map step is not constant", et_var_name(g->x, s->vars[i]));
        t->var[i] = s->vars[i];
        t->total *= t->extent[i];
    }
    t->load = et_x(g->x, s->value);
    et_expr index[ET_MAX_RANK], from, to;
    for (int i = 0; i < t->load->nops; i++)
        index[i] = t->load->ops[i];
    int tensor = t->load->i;
    t->from = cg_offset(g, ET_LOAD_TENSOR, tensor, index);
    t->to = cg_offset(g, ET_LOAD_LOCAL, s->to.id, s->to.index);
    t->words = et_parts(&g->p->tensors[tensor]);
    t->others = g->p->tensors[tensor].partial > 0;
    widen(g, t);
    t->dense = !s->mask.id && is_dense(g, t, t->from, &from) && is_dense(g, t, t->to, &to);
    if (t->dense) t->from = from, t->to = to;
    t->load = et_x(g->x, s->value);
}

/* Words of all elements of an item. */
static int words_of(const struct receipt *t) {
    return t->wide * t->words;
}

static int64_t per_lane(const cg *g, const struct receipt *t) {
    return (t->total + g->p->workgroup - 1) / g->p->workgroup;
}

/* One item of a lane. */
struct item {
    const struct receipt *of;
    val ptr, to, have; /* where its words are, where they go; i1: it is there, NULL: it always is */
    val word[MOST_WORDS]; /* all of one device, then those of the next */
};

static void place(cg *g, const struct receipt *t, val first, int64_t number, struct item *out) {
    int mark = cg_scope(g), tensor = t->load->i;
    val item = cg_addi(g, first, number);
    *out = (struct item){.of = t};
    if (t->total % g->p->workgroup) {
        out->have = cg_icmp(g, LLVMIntULT, item, cg_i32(g, t->total));
        item = cg_select(g, out->have, item, cg_i32(g, 0));
    }
    if (t->dense) {
        item = cg_muli(g, item, t->wide);
        val from =
            LLVMBuildAdd(g->b, cg_emit_i64(g, t->from), LLVMBuildZExt(g->b, item, g->i64, ""), "");
        out->ptr = cg_word_at(g, tensor, from);
        out->to = cg_local_ptr(g, t->s->to.id, cg_add(g, cg_emit_low(g, t->to), item));
    } else {
        cg_decode(g, item, t->s->nvars, t->var, t->extent);
        if (t->s->mask.id) { /* its index may be outside of the tensor where it is false */
            val there = cg_emit(g, t->s->mask);
            out->have = out->have ? LLVMBuildAnd(g->b, out->have, there, "") : there;
        }
        val at = cg_emit_i64(g, t->from);
        if (t->s->mask.id) at = cg_select(g, out->have, at, cg_i64(g, 0));
        out->ptr = cg_word_at(g, tensor, at);
        out->to = cg_local_ptr(g, t->s->to.id, cg_emit_low(g, t->to));
    }
    cg_scope_end(g, mark);
}

static void look(cg *g, struct item *e) {
    int tensor = e->of->load->i, wide = e->of->wide;
    int64_t pitch = cg_word_pitch(g, tensor);
    for (int d = 0; d < e->of->words; d++) {
        val ptr = d ? cg_gepi(g, e->ptr, d * pitch) : e->ptr;
        if (wide > 1)
            g->family->load_words(g, cg_word_type(g, tensor), ptr, wide, e->of->others,
                                  e->word + d * wide);
        else
            e->word[d] = cg_word_load(g, tensor, ptr);
    }
}

/* Bits in which the tag of a word is not the one asked for; none where the lane asks for none. */
static val differs(cg *g, const struct item *e) {
    val all = NULL;
    for (int i = 0; i < words_of(e->of); i++) {
        val d = LLVMBuildXor(g->b, cg_word_tag(g, e->word[i]), e->of->tag, "");
        all = all ? LLVMBuildOr(g->b, all, d, "") : d;
    }
    return e->have ? cg_select(g, e->have, all, cg_i32(g, 0)) : all;
}

/* Element I: what is in its word, or the sum of what is in those of all devices, in their order. */
static val element(cg *g, const struct item *e, int i) {
    val first = cg_word_data(g, e->word[i]);
    if (e->of->words == 1) return first;
    val sum = LLVMBuildBitCast(g->b, first, g->f32, "");
    for (int d = 1; d < e->of->words; d++) {
        val part = cg_word_data(g, e->word[d * e->of->wide + i]);
        sum = LLVMBuildFAdd(g->b, sum, LLVMBuildBitCast(g->b, part, g->f32, ""), "");
    }
    return LLVMBuildBitCast(g->b, sum, g->i32, "");
}

static void keep(cg *g, const struct item *e) {
    int n = e->of->wide, bytes = et_dtype_bytes(g->p->tensors[e->of->load->i].shape.dtype);
    val data[MOST_WIDE];
    cg_if there;
    if (e->have) cg_if_begin(g, &there, e->have);
    for (int i = 0; i < n; i++)
        data[i] = element(g, e, i);
    val v = n > 1 ? cg_vector(g, LLVMTypeOf(data[0]), n, data) : data[0];
    LLVMSetAlignment(LLVMBuildStore(g->b, v, e->to), (unsigned)(n * bytes));
    if (e->have) cg_if_end(g, &there);
}

/* Of several devices: the first word of the lane that has not come, in SAY, and whose it is. */
static void say_which(cg *g, const struct item *e, int n, val *say) {
    val device = cg_i32(g, 0);
    for (int i = n - 1; i >= 0; i--) {
        const struct receipt *of = e[i].of;
        for (int k = of->untested ? -1 : words_of(of) - 1; k >= 0; k--) {
            val tag = cg_word_tag(g, e[i].word[k]), no = cg_icmp(g, LLVMIntNE, tag, of->tag);
            if (e[i].have) no = LLVMBuildAnd(g->b, no, e[i].have, "");
            val number = cg_i32(g, of->words > 1 ? 1 + k / of->wide : 0);
            device = cg_select(g, no, number, device);
            say[CG_COUNT] = cg_select(g, no, tag, say[CG_COUNT]);
            say[CG_NEED] = cg_select(g, no, of->tag, say[CG_NEED]);
            say[CG_EVENT] =
                cg_select(g, no, cg_i32(g, (int64_t)(of->s - g->f->steps)), say[CG_EVENT]);
        }
    }
    LLVMBuildStore(g->b, device, cg_flag(g, CG_OTHER));
}

/* When the wait expires: the first lane with a missing word reports a tag, of one device that of
 * its first word. */
static void give_up(cg *g, val mask, const struct item *first, int n) {
    cg_if me;
    cg_if_begin(g, &me, cg_icmp(g, LLVMIntEQ, g->lane, cg_first_lane(g, mask)));
    val tag = cg_word_tag(g, first->word[0]);
    val say[] = {[CG_TASK] = cg_task_number(g, g->receiving),
                 [CG_TILE] = g->receiving_tile,
                 [CG_EVENT] = cg_i32(g, (int64_t)(first->of->s - g->f->steps)),
                 [CG_INDEX] = g->tid,
                 [CG_COUNT] = tag,
                 [CG_NEED] = first->of->tag,
                 [CG_STATUS] = cg_i32(g, ETRT_REPORT_WORD)};
    if (g->whole->g->devices) say_which(g, first, n, say);
    for (int i = CG_TASK; i <= CG_STATUS; i++)
        LLVMBuildStore(g->b, say[i], cg_flag(g, i));
    cg_if_end(g, &me);
    LLVMBuildStore(g->b, cg_i32(g, CG_EXPIRED), cg_flag(g, CG_WORD));
}

/* N items of each lane, of one step or several. */
static void receive_all(cg *g, struct item *e, int n) {
    block slow = cg_block(g, "not_yet"), met = cg_block(g, "come"), out = cg_block(g, "taken");
    cg_spin s;
    cg_spin_begin(g, &s);
    val missing = cg_i32(g, 0);
    for (int i = 0; i < n; i++)
        look(g, &e[i]);
    for (int i = 0; i < n; i++)
        if (!e[i].of->untested) missing = LLVMBuildOr(g->b, missing, differs(g, &e[i]), "");
    val mask = cg_ballot(g, cg_icmp(g, LLVMIntNE, missing, cg_i32(g, 0)));
    cg_cond(g, cg_none(g, mask), met, slow);
    cg_at(g, slow);
    for (int i = 0; i < n; i++)
        s.others |= e[i].of->others;
    cg_spin_again(g, &s);
    cg_at(g, s.expired);
    give_up(g, mask, e, n);
    cg_br(g, out);
    cg_at(g, s.aborted);
    LLVMBuildStore(g->b, cg_i32(g, CG_ABORTED), cg_flag(g, CG_WORD));
    cg_br(g, out);
    cg_at(g, met);
    for (int i = 0; i < n; i++)
        keep(g, &e[i]);
    cg_br(g, out);
    cg_at(g, out);
}

/* N items of each lane, the first by FIRST. */
static void receive_some(cg *g, const struct receipt *t, val first, int n) {
    struct item e[AT_ONCE];
    for (int i = 0; i < n; i++)
        place(g, t, first, (int64_t)i * g->p->workgroup, &e[i]);
    receive_all(g, e, n);
}

/* All items of one step, some at a time, and then those that are left. */
static void receive_many(cg *g, const struct receipt *t) {
    int wg = g->p->workgroup, some = AT_ONCE / words_of(t);
    cg_for f;
    int64_t each = per_lane(g, t), left = each % some;
    val at = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, (each - left) * wg),
                          cg_i32(g, (int64_t)some * wg), true, 0, NULL);
    receive_some(g, t, cg_add(g, at, g->tid), some);
    cg_for_end(g, &f, NULL);
    if (left) receive_some(g, t, cg_addi(g, g->tid, (each - left) * wg), (int)left);
}

void cg_step_receives(cg *g, const et_step *s, int n) {
    struct receipt *t = et_alloc(g->arena, (size_t)n * sizeof *t);
    struct item e[AT_ONCE];
    int have = 0, words = 0;
    for (int i = 0; i < n; i++) {
        t[i] = (struct receipt){.s = &s[i]};
        prepare(g, &t[i]);
        t[i].tag = cg_tag(g, &s[i]);
        t[i].untested = is_untested(g, t[i].load->i);
    }
    for (int i = 0; i < n; i++) {
        int64_t each = per_lane(g, &t[i]);
        if (words + each * words_of(&t[i]) > AT_ONCE && have) {
            receive_all(g, e, have);
            have = words = 0;
        }
        if (each * words_of(&t[i]) > AT_ONCE) {
            receive_many(g, &t[i]);
            continue;
        }
        words += (int)each * words_of(&t[i]);
        for (int64_t k = 0; k < each; k++)
            place(g, &t[i], g->tid, k * g->p->workgroup, &e[have++]);
    }
    if (have) receive_all(g, e, have);
}

/* ---- the tile around them ---- */

static bool has_tags(const et_func *f) {
    bool any = false;
    for (int i = 0; i < f->nsteps; i++)
        any |= f->steps[i].tag.id != 0;
    return any;
}

bool cg_receives(const cg *g, const et_step *s) {
    bool store;
    return et_step_tagged(g->p, s, &store) >= 0 && !store;
}

/* Numbers of an earlier launch, of those that can be told apart, are all less. */
void cg_receiving(cg *g, int grid, val tile) {
    const et_grid *gr = &g->p->grids[grid];
    g->receiving = grid;
    g->receiving_tile = tile;
    if (!has_tags(g->f)) return;
    val launch = LLVMBuildAnd(g->b, cg_launch(g), cg_i32(g, g->tags.launches - 1), "");
    g->first_tag = cg_addi(g, cg_muli(g, launch, g->tags.numbers), 1);
    LLVMBuildStore(g->b, cg_i32(g, CG_GO_ON), cg_flag(g, CG_WORD));
    if (!gr->nwaits) cg_barrier(g);
}

void cg_received_all(cg *g) {
    block gone = cg_block(g, "missing"), go = cg_block(g, "all_there");
    cg_barrier(g);
    val seen = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_WORD), ""));
    cg_cond(g, cg_icmp(g, LLVMIntNE, seen, cg_i32(g, CG_GO_ON)), gone, go);
    cg_at(g, gone);
    LLVMBuildStore(g->b, seen, cg_flag(g, CG_QUIT));
    cg_br(g, g->failed);
    cg_at(g, go);
}
