/* In a kernel of very many different bodies those that differ in numbers alone, extents and strides
 * mostly, are one function, which reads the numbers that differ from a row of a table. LLVM's time
 * is that of the functions that are left; the code of each knows less than it could. */
#include "codegen/kernel/kernel.h"
#include "codegen/kernel/skeleton.h"
#include "ir/base/diag.h"
#include "ir/base/table.h"
#include <string.h>

struct member {
    struct member *next;
    int64_t *number; /* in the order of the skeleton */
    val row;         /* stands for the address of its row until the table is made */
};

struct likes {
    struct likes *next;
    uint64_t hash;
    size_t nnumbers;
    val fn; /* of the first: as it was emitted until all are known */
    struct member *first, **last;
    int nmembers;
};

struct cg_numbers {
    struct likes *first;
    cg_skeleton s, other;
};

static uint64_t hash_of(const cg_skeleton *s) {
    return et_hash(ET_HASH, s->word, s->nwords * sizeof *s->word);
}

static bool is_same(cg *g, const struct likes *l, uint64_t hash) {
    struct cg_numbers *all = g->numbers;
    if (l->hash != hash || l->nnumbers != all->s.nnumbers) return false;
    return cg_skeleton_of(g, l->fn, &all->other) && all->other.nwords == all->s.nwords &&
           !memcmp(all->other.word, all->s.word, all->s.nwords * sizeof *all->s.word);
}

/* The entry of the function whose skeleton is in `s`. */
static struct likes *likes_of(cg *g, val fn) {
    uint64_t hash = hash_of(&g->numbers->s);
    struct likes *l = g->numbers->first;
    while (l && !is_same(g, l, hash))
        l = l->next;
    if (l) return l;
    l = et_alloc(g->arena, sizeof *l);
    *l = (struct likes){.next = g->numbers->first, .hash = hash, .fn = fn};
    l->nnumbers = g->numbers->s.nnumbers;
    l->last = &l->first;
    g->numbers->first = l;
    return l;
}

static bool is_plain(val i) {
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMLoad:
        return !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
    case LLVMGetElementPtr:
    case LLVMTrunc:
    case LLVMAdd:
    case LLVMMul:
        return true;
    default:
        return false;
    }
}

/* Bodies of dynamic tasks load all arguments, and one that two of them name is another number in
 * each. */
static void remove_unused(val fn) {
    for (block b = LLVMGetLastBasicBlock(fn); b; b = LLVMGetPreviousBasicBlock(b))
        for (val i = LLVMGetLastInstruction(b), before; i; i = before) {
            before = LLVMGetPreviousInstruction(i);
            if (!LLVMGetFirstUse(i) && is_plain(i)) LLVMInstructionEraseFromParent(i);
        }
}

void cg_begin_numbers(cg *g) {
    g->numbers = et_alloc(g->arena, sizeof *g->numbers);
}

val cg_share_numbers(cg *g, val fn, val *out_row) {
    *out_row = LLVMGetPoison(g->gptr);
    cg_skeleton *s = &g->numbers->s;
    remove_unused(fn);
    if (!cg_skeleton_of(g, fn, s)) return fn;
    struct likes *l = likes_of(g, fn);
    struct member *m = et_alloc(g->arena, sizeof *m);
    m->number = et_alloc(g->arena, (s->nnumbers + 1) * sizeof *m->number);
    for (size_t i = 0; i < s->nnumbers; i++)
        m->number[i] = s->number[i].number;
    m->row = *out_row = LLVMAddGlobalInAddressSpace(g->mod, g->i32, "row", g->family->global);
    *l->last = m;
    l->last = &m->next;
    l->nmembers++;
    if (fn != l->fn) LLVMDeleteFunction(fn);
    return l->fn;
}

/* ---- the table ---- */

/* Numbers that are the same as each other in every member have one column. Those of 64 bits come
 * first in a row. */
struct column {
    size_t of; /* the first such number */
    uint64_t hash;
    bool wide;
    unsigned at;     /* bytes from the start of a row */
    val whole, real; /* what the function loads, by type; NULL: nothing yet */
};

struct columns {
    struct column *column;
    size_t n;
    unsigned row; /* bytes */
};

static bool is_wide(const cg *g, size_t number) {
    return g->numbers->s.number[number].type == g->i64;
}

static int64_t as_stored(const cg *g, const struct member *m, size_t number) {
    return is_wide(g, number) ? m->number[number] : (int64_t)(uint32_t)m->number[number];
}

static bool differs(const struct likes *l, size_t number) {
    for (const struct member *m = l->first->next; m; m = m->next)
        if (m->number[number] != l->first->number[number]) return true;
    return false;
}

static uint64_t column_hash(const cg *g, const struct likes *l, size_t number) {
    uint64_t hash = ET_HASH;
    for (const struct member *m = l->first; m; m = m->next) {
        int64_t v = as_stored(g, m, number);
        hash = et_hash(hash, &v, sizeof v);
    }
    return hash;
}

static bool same_column(const cg *g, const struct likes *l, size_t a, size_t b) {
    if (is_wide(g, a) != is_wide(g, b)) return false;
    for (const struct member *m = l->first; m; m = m->next)
        if (as_stored(g, m, a) != as_stored(g, m, b)) return false;
    return true;
}

static struct column *column_of(cg *g, const struct likes *l, struct columns *c, size_t number) {
    uint64_t hash = column_hash(g, l, number);
    for (size_t i = 0; i < c->n; i++)
        if (c->column[i].hash == hash && same_column(g, l, c->column[i].of, number))
            return &c->column[i];
    struct column *own = &c->column[c->n++];
    *own = (struct column){.of = number, .hash = hash, .wide = is_wide(g, number)};
    return own;
}

static void place_columns(struct columns *c) {
    unsigned at = 0;
    for (int narrow = 0; narrow < 2; narrow++)
        for (size_t i = 0; i < c->n; i++)
            if (c->column[i].wide != narrow) {
                c->column[i].at = at;
                at += narrow ? 4 : 8;
            }
    c->row = (at + 7) / 8 * 8;
}

static val make_table(cg *g, const struct likes *l, const struct columns *c) {
    size_t words = c->row / 4, n = (size_t)l->nmembers * words;
    val *v = et_alloc(g->arena, n * sizeof *v), *row = v;
    for (const struct member *m = l->first; m; m = m->next, row += words) {
        for (size_t i = 0; i < words; i++)
            row[i] = cg_i32(g, 0);
        for (size_t i = 0; i < c->n; i++) {
            const struct column *col = &c->column[i];
            uint64_t number = (uint64_t)as_stored(g, m, col->of);
            row[col->at / 4] = cg_i32(g, (int32_t)(uint32_t)number);
            if (col->wide) row[col->at / 4 + 1] = cg_i32(g, (int32_t)(uint32_t)(number >> 32));
        }
    }
    LLVMTypeRef type = LLVMArrayType2(g->i32, n);
    val table = LLVMAddGlobalInAddressSpace(g->mod, type, "numbers", g->family->global);
    LLVMSetInitializer(table, LLVMConstArray2(g->i32, v, n));
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetAlignment(table, 64);
    return table;
}

/* ---- the function reads them ---- */

static val load(cg *g, val row, unsigned at, LLVMTypeRef type) {
    val v = LLVMBuildLoad2(g->b, type, cg_gepi(g, row, at), "");
    LLVMSetAlignment(v, type == g->i64 ? 8 : 4);
    return cg_invariant(g, v);
}

static val number_from(cg *g, val row, struct column *c, const cg_number *n) {
    val *as = n->type == g->f32 ? &c->real : &c->whole;
    if (!*as) *as = load(g, row, c->at, n->type);
    return n->base ? LLVMBuildGEP2(g->b, g->i8, n->base, as, 1, "") : *as;
}

static void read_numbers(cg *g, const struct likes *l, struct column **of) {
    LLVMPositionBuilderBefore(g->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(l->fn)));
    val row = cg_uniform(g, LLVMGetLastParam(l->fn));
    for (size_t i = 0; i < l->nnumbers; i++) {
        const cg_number *n = &g->numbers->s.number[i];
        if (of[i]) LLVMSetOperand(n->user, n->operand, number_from(g, row, of[i], n));
    }
}

static void finish(cg *g, struct likes *l) {
    et_check(cg_skeleton_of(g, l->fn, &g->numbers->s) && g->numbers->s.nnumbers == l->nnumbers);
    struct columns c = {et_alloc(g->arena, (l->nnumbers + 1) * sizeof *c.column), 0, 0};
    struct column **of = et_alloc(g->arena, (l->nnumbers + 1) * sizeof(struct column *));
    for (size_t i = 0; i < l->nnumbers; i++)
        if (differs(l, i)) of[i] = column_of(g, l, &c, i);
    place_columns(&c);
    val table = NULL;
    if (c.n) {
        table = make_table(g, l, &c);
        read_numbers(g, l, of);
    }
    int at = 0;
    for (struct member *m = l->first; m; m = m->next, at++) {
        val row = table ? cg_gepi(g, table, (int64_t)at * c.row) : LLVMGetPoison(g->gptr);
        LLVMReplaceAllUsesWith(m->row, row);
        LLVMDeleteGlobal(m->row);
    }
}

void cg_finish_numbers(cg *g) {
    for (struct likes *l = g->numbers->first; l; l = l->next)
        finish(g, l);
    cg_skeleton_free(&g->numbers->s);
    cg_skeleton_free(&g->numbers->other);
}
