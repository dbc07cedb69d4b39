#include "ir/expr/expr.h"
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/pool.h"
#include <math.h>
#include <string.h>

et_exprs *et_exprs_create(et_arena *a) {
    et_exprs *p = et_alloc(a, sizeof *p);
    p->arena = a;
    p->ntable = 1024;
    p->table = et_alloc(a, p->ntable * sizeof *p->table);
    p->nnamed = 64;
    p->named = et_alloc(a, p->nnamed * sizeof *p->named);
    p->nnode = 1;
    p->cnode = 1024;
    p->node = et_alloc(a, (size_t)p->cnode * sizeof *p->node);
    p->visits = et_alloc(a, sizeof *p->visits);
    return p;
}

et_arena *et_exprs_arena(et_exprs *p) {
    return p->arena;
}

const et_node_x *et_x(const et_exprs *p, et_expr e) {
    et_check(e.id > 0 && (int)e.id < p->nnode);
    return &p->node[e.id];
}

/* ---- hash consing ---- */

static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v;
    h *= 0x9E3779B97F4A7C15u;
    return h ^ (h >> 29);
}

static uint32_t hash(const et_node_x *x) {
    uint64_t bits;
    memcpy(&bits, &x->f, sizeof bits);
    uint64_t h = mix((uint64_t)x->op << 32 | x->type, (uint32_t)x->i | (uint64_t)x->i2 << 32);
    h = mix(h, (uint64_t)x->n ^ bits);
    int k = 0;
    for (; k + 2 <= x->nops; k += 2)
        h = mix(h, x->ops[k].id | (uint64_t)x->ops[k + 1].id << 32);
    return (uint32_t)(k < x->nops ? mix(h, x->ops[k].id) : h);
}

static bool same(const et_node_x *a, const et_node_x *b) {
    return a->hash == b->hash && a->op == b->op && a->type == b->type && a->i == b->i &&
           a->i2 == b->i2 && a->n == b->n && memcmp(&a->f, &b->f, sizeof a->f) == 0 &&
           a->nops == b->nops &&
           (a->nops == 0 || memcmp(a->ops, b->ops, (size_t)a->nops * sizeof *a->ops) == 0);
}

static void enter(et_exprs *p, uint32_t id) {
    uint32_t slot = p->node[id].hash & (p->ntable - 1);
    while (p->table[slot])
        slot = (slot + 1) & (p->ntable - 1);
    p->table[slot] = id;
}

static void rehash(et_exprs *p) {
    p->ntable *= 2;
    p->table = et_alloc(p->arena, p->ntable * sizeof *p->table);
    for (uint32_t id = 1; id < (uint32_t)p->nnode; id++)
        enter(p, id);
}

static uint64_t hash_name(const char *s) {
    uint64_t h = 0;
    for (; *s; s++)
        h = mix(h, (unsigned char)*s);
    return h;
}

/* Of equal names the first alone is found. */
static void enter_name(et_exprs *p, int var) {
    uint32_t slot = (uint32_t)hash_name(p->var[var].name) & (p->nnamed - 1);
    for (; p->named[slot]; slot = (slot + 1) & (p->nnamed - 1))
        if (strcmp(p->var[p->named[slot] - 1].name, p->var[var].name) == 0) return;
    p->named[slot] = (uint32_t)var + 1;
}

static void enter_names(et_exprs *p) {
    memset(p->named, 0, p->nnamed * sizeof *p->named);
    for (int v = 0; v < p->nvar; v++)
        enter_name(p, v);
}

bool et_var_named(const et_exprs *p, const char *name) {
    uint32_t slot = (uint32_t)hash_name(name) & (p->nnamed - 1);
    for (; p->named[slot]; slot = (slot + 1) & (p->nnamed - 1))
        if (strcmp(p->var[p->named[slot] - 1].name, name) == 0) return true;
    return false;
}

et_exprs_mark et_exprs_set_mark(et_exprs *p) {
    et_exprs_mark m = {et_alloc(p->arena, sizeof *p), {0}};
    *m.saved = *p;
    m.saved->visits = et_alloc(p->arena, sizeof *p->visits);
    *m.saved->visits = *p->visits;
    m.arena = et_arena_set_mark(p->arena);
    return m;
}

void et_exprs_release(et_exprs *p, et_exprs_mark m) {
    struct et_visits *visits = p->visits;
    uint64_t last = visits->last; /* stamps since the mark are in the old arrays too */
    et_check(visits->depth == m.saved->visits->depth);
    *visits = *m.saved->visits;
    visits->last = last;
    *p = *m.saved; /* arrays that grew since were copies: the old ones are as they were */
    p->visits = visits;
    memset(p->table, 0, p->ntable * sizeof *p->table);
    for (uint32_t id = 1; id < (uint32_t)p->nnode; id++)
        enter(p, id);
    enter_names(p);
    et_arena_release(p->arena, m.arena);
}

uint64_t et_exprs_work(const et_exprs *p) {
    return p->visits->work;
}

et_expr et_intern(et_exprs *p, et_node_x *proto) {
    p->visits->work++;
    proto->hash = hash(proto);
    uint32_t slot = proto->hash & (p->ntable - 1);
    for (; p->table[slot]; slot = (slot + 1) & (p->ntable - 1))
        if (same(&p->node[p->table[slot]], proto)) return (et_expr){p->table[slot]};
    ET_GROW(p->arena, p->node, p->nnode, p->cnode);
    et_node_x *x = &p->node[p->nnode];
    *x = *proto;
    uint64_t size = 1;
    uint32_t depth = 0;
    for (int i = 0; i < x->nops; i++) {
        const et_node_x *op = &p->node[x->ops[i].id];
        size += op->size;
        depth = op->depth > depth ? op->depth : depth;
    }
    x->depth = depth + 1;
    x->size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
    if (x->nops) {
        et_expr *ops = et_alloc(p->arena, (size_t)x->nops * sizeof *ops);
        memcpy(ops, proto->ops, (size_t)x->nops * sizeof *ops);
        x->ops = ops;
    }
    et_note_range(p, x);
    p->table[slot] = (uint32_t)p->nnode++;
    et_expr e = {p->table[slot]};
    if ((uint32_t)p->nnode * 2 > p->ntable) rehash(p);
    return e;
}

/* ---- symbols and variables ---- */

int et_sym_add(et_exprs *p, const char *name, int64_t lo, int64_t hi) {
    ET_GROW(p->arena, p->sym, p->nsym, p->csym);
    p->sym[p->nsym] = (struct et_sym_info){et_strdup(p->arena, name), lo, hi, false};
    return p->nsym++;
}

int et_sym_count(const et_exprs *p) {
    return p->nsym;
}

const char *et_sym_name(const et_exprs *p, int s) {
    et_check(s >= 0 && s < p->nsym);
    return p->sym[s].name;
}

void et_sym_range(const et_exprs *p, int s, int64_t *out_lo, int64_t *out_hi) {
    et_check(s >= 0 && s < p->nsym);
    *out_lo = p->sym[s].lo;
    *out_hi = p->sym[s].hi;
}

void et_sym_open(et_exprs *p, int s) {
    et_check(s >= 0 && s < p->nsym);
    p->sym[s].open = true;
}

static et_expr leaf_now(void *ctx, et_exprs *p, et_expr leaf) {
    (void)ctx;
    const et_node_x *x = et_x(p, leaf);
    return x->op == ET_X_SYM ? et_sym(p, x->i) : x->op == ET_X_VAR ? et_var(p, x->i) : ET_NO_EXPR;
}

et_expr et_closed(et_exprs *p, et_expr e) {
    return e.id ? et_subst(p, e, leaf_now, NULL) : e;
}

bool et_syms_close(et_exprs *p) {
    bool any = false;
    for (int s = 0; s < p->nsym; s++) {
        any |= p->sym[s].open;
        p->sym[s].open = false;
    }
    for (int v = 0; any && v < p->nvar; v++)
        p->var[v].extent = et_closed(p, p->var[v].extent);
    return any;
}

int et_var_add(et_exprs *p, const char *name, et_expr extent) {
    ET_GROW(p->arena, p->var, p->nvar, p->cvar);
    p->var[p->nvar] = (struct et_var_info){et_strdup(p->arena, name), extent};
    if ((uint32_t)++p->nvar * 2 > p->nnamed) {
        p->nnamed *= 2;
        p->named = et_alloc(p->arena, p->nnamed * sizeof *p->named);
        enter_names(p);
    } else {
        enter_name(p, p->nvar - 1);
    }
    return p->nvar - 1;
}

int et_var_count(const et_exprs *p) {
    return p->nvar;
}

const char *et_var_name(const et_exprs *p, int v) {
    et_check(v >= 0 && v < p->nvar);
    return p->var[v].name;
}

void et_var_rename(et_exprs *p, int v, const char *name) {
    et_check(v >= 0 && v < p->nvar);
    p->var[v].name = name;
}

et_expr et_var_extent(const et_exprs *p, int v) {
    et_check(v >= 0 && v < p->nvar);
    return p->var[v].extent;
}

/* ---- leaves ---- */

et_expr et_int(et_exprs *p, int64_t n) {
    bool small = n >= 0 && n < ET_SMALL_INTS;
    if (small && p->small[n].id) {
        p->visits->work++;
        return p->small[n];
    }
    et_expr e = et_intern(p, &(et_node_x){.op = ET_X_INT, .type = ET_T_I32, .n = n});
    if (small) p->small[n] = e;
    return e;
}

et_expr et_float(et_exprs *p, double f) {
    return et_intern(p, &(et_node_x){.op = ET_X_FLOAT, .type = ET_T_F32, .f = f});
}

et_expr et_sym(et_exprs *p, int s) {
    et_check(s >= 0 && s < p->nsym);
    if (p->sym[s].lo == p->sym[s].hi && !p->sym[s].open) return et_int(p, p->sym[s].lo);
    return et_intern(p, &(et_node_x){.op = ET_X_SYM, .type = ET_T_I32, .i = s});
}

et_expr et_var(et_exprs *p, int v) {
    et_check(v >= 0 && v < p->nvar);
    int64_t n;
    if (et_is_int(p, p->var[v].extent, &n) && n == 1) return et_int(p, 0);
    return et_intern(p, &(et_node_x){.op = ET_X_VAR, .type = ET_T_I32, .i = v});
}

const char *et_own_arg_name(int arg) {
    static const char *const name[] = {"qk", "state", "seen", "sum"};
    return arg < 0 && arg >= ET_ARG_SUM ? name[-1 - arg] : NULL;
}

et_expr et_arg(et_exprs *p, int i, et_type t) {
    return et_intern(p, &(et_node_x){.op = ET_X_ARG, .type = t, .i = i});
}

et_expr et_load(et_exprs *p, int space, int tensor, et_type t, int rank, const et_expr *index) {
    return et_intern(
        p, &(et_node_x){
               .op = ET_X_LOAD, .type = t, .i = tensor, .i2 = space, .nops = rank, .ops = index});
}

et_expr et_reduce_x(et_exprs *p, et_reduce r, int var, et_expr extent, et_expr body) {
    et_type t = r == ET_RED_ARGMAX ? ET_T_I32 : et_x(p, body)->type;
    return et_intern(p, &(et_node_x){.op = ET_X_REDUCE,
                                     .type = t,
                                     .i = (int32_t)r,
                                     .i2 = var,
                                     .nops = 2,
                                     .ops = (et_expr[]){extent, body}});
}

et_expr et_top_x(et_exprs *p, int var, et_expr extent, et_expr body, et_expr place) {
    return et_intern(p, &(et_node_x){.op = ET_X_REDUCE,
                                     .type = ET_T_I32,
                                     .i = ET_RED_TOP,
                                     .i2 = var,
                                     .nops = 3,
                                     .ops = (et_expr[]){extent, body, place}});
}

et_expr et_contract_x(et_exprs *p, int value, int rank, const et_expr *index) {
    return et_intern(
        p, &(et_node_x){
               .op = ET_X_CONTRACT, .type = ET_T_F32, .i = value, .nops = rank, .ops = index});
}

/* ---- operators ---- */

static bool is_arith(et_xop op) {
    return op == ET_X_ADD || op == ET_X_SUB || op == ET_X_MUL || op == ET_X_MIN || op == ET_X_MAX ||
           op == ET_X_NEG || op == ET_X_ABS;
}

static bool is_compare(et_xop op) {
    return op == ET_X_LT || op == ET_X_LE || op == ET_X_EQ || op == ET_X_NE;
}

static et_expr node(et_exprs *p, et_xop op, et_type t, int n, const et_expr *ops) {
    return et_intern(p, &(et_node_x){.op = op, .type = t, .nops = n, .ops = ops});
}

static et_expr to_f32(et_exprs *p, et_expr e) {
    const et_node_x *x = et_x(p, e);
    if (x->type == ET_T_F32) return e;
    if (x->type == ET_T_PRED) return et_select(p, e, et_float(p, 1), et_float(p, 0));
    if (x->op == ET_X_INT) return et_float(p, (double)(float)x->n);
    return node(p, ET_X_TO_F32, ET_T_F32, 1, &e);
}

static et_expr to_i32(et_exprs *p, et_expr e) {
    const et_node_x *x = et_x_in(p, e);
    if (x->type == ET_T_I32) return e;
    if (x->type == ET_T_PRED) return et_select(p, e, et_int(p, 1), et_int(p, 0));
    return node(p, ET_X_TO_I32, ET_T_I32, 1, &e);
}

/* An integer of the same low 32 bits: E without the parts of its sums and products that keep no
 * more than these of something. */
static et_expr without_low_bits(et_exprs *p, et_expr e, int depth) {
    et_node_x x = *et_x(p, e);
    if (depth == 0 || x.nops < 1 || x.type != ET_T_I32) return e;
    if (x.op == ET_X_TO_I32 && et_x(p, x.ops[0])->type == ET_T_I32)
        return without_low_bits(p, x.ops[0], depth - 1);
    if (x.op != ET_X_ADD && x.op != ET_X_SUB && x.op != ET_X_MUL) return e;
    et_expr a = without_low_bits(p, x.ops[0], depth - 1);
    et_expr b = without_low_bits(p, x.ops[1], depth - 1);
    return et_expr_eq(a, x.ops[0]) && et_expr_eq(b, x.ops[1]) ? e : et_op2(p, x.op, a, b);
}

/* The low 32 bits of an integer. */
static et_expr low_bits(et_exprs *p, et_expr e) {
    int64_t lo, hi, n;
    e = without_low_bits(p, e, 8);
    if (et_is_int(p, e, &n)) return et_int(p, et_int_low(n));
    et_span(p, e, &lo, &hi);
    return lo >= INT32_MIN && hi <= INT32_MAX ? e : node(p, ET_X_TO_I32, ET_T_I32, 1, &e);
}

static et_expr pred(et_exprs *p, bool v) {
    return et_intern(p, &(et_node_x){.op = ET_X_INT, .type = ET_T_PRED, .n = v});
}

static et_expr to_pred(et_exprs *p, et_expr e) {
    et_type t = et_x(p, e)->type;
    if (t == ET_T_PRED) return e;
    return et_op2(p, ET_X_NE, e, t == ET_T_I32 ? et_int(p, 0) : et_float(p, 0));
}

et_expr et_op1(et_exprs *p, et_xop op, et_expr a) {
    const et_node_x *x = et_x(p, a);
    switch (op) {
    case ET_X_TO_F32:
        return to_f32(p, a);
    case ET_X_TO_I32:
        return x->type == ET_T_I32 ? low_bits(p, a) : to_i32(p, a);
    case ET_X_NOT:
        a = to_pred(p, a);
        x = et_x(p, a);
        if (x->op == ET_X_INT) return pred(p, !x->n);
        if (x->op == ET_X_NOT) return x->ops[0];
        return node(p, op, ET_T_PRED, 1, &a);
    case ET_X_NEG:
        if (x->type == ET_T_I32) return et_int_op2(p, ET_X_MUL, a, et_int(p, -1));
        if (x->op == ET_X_FLOAT) return et_float(p, -x->f);
        break;
    case ET_X_ABS:
        if (x->type == ET_T_I32) {
            int64_t lo, hi;
            if (et_bounds(p, a, &lo, &hi) && lo >= 0) return a;
            return node(p, op, ET_T_I32, 1, &a);
        }
        break;
    case ET_X_TO_BF16:
    case ET_X_TO_F16: /* either has all that e4m3 has */
    case ET_X_TO_E4M3:
        if (x->op == op || x->op == ET_X_TO_E4M3 || (x->op == ET_X_FLOAT && x->f == 0)) return a;
        break;
    default:
        break;
    }
    a = to_f32(p, a);
    return node(p, op, ET_T_F32, 1, &a);
}

static et_expr compare(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    if (et_x(p, a)->type != ET_T_I32 || et_x(p, b)->type != ET_T_I32) {
        et_expr ops[] = {to_f32(p, a), to_f32(p, b)};
        return node(p, op, ET_T_PRED, 2, ops);
    }
    et_expr one = et_int(p, 1);
    bool lt = et_prove_le(p, et_add(p, a, one), b), gt = et_prove_le(p, et_add(p, b, one), a);
    switch (op) {
    case ET_X_LT:
        if (lt) return pred(p, true);
        if (et_prove_le(p, b, a)) return pred(p, false);
        break;
    case ET_X_LE:
        if (et_prove_le(p, a, b)) return pred(p, true);
        if (gt) return pred(p, false);
        break;
    default:
        if (et_expr_eq(a, b)) return pred(p, op == ET_X_EQ);
        if (lt || gt) return pred(p, op == ET_X_NE);
    }
    return node(p, op, ET_T_PRED, 2, (et_expr[]){a, b});
}

static et_expr logic(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    a = to_pred(p, a);
    b = to_pred(p, b);
    const et_node_x *x = et_x_in(p, a), *y = et_x_in(p, b);
    bool absorbing = op == ET_X_OR;
    if (x->op == ET_X_INT) return (x->n != 0) == absorbing ? a : b;
    if (y->op == ET_X_INT) return (y->n != 0) == absorbing ? b : a;
    if (et_expr_eq(a, b)) return a;
    return node(p, op, ET_T_PRED, 2, (et_expr[]){a, b});
}

/* Only identities that hold for every float, signed zeros and NaN included. */
static et_expr float_op2(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    const et_node_x *x = et_x_in(p, a), *y = et_x_in(p, b);
    if (op == ET_X_MUL && y->op == ET_X_FLOAT && y->f == 1) return a;
    if (op == ET_X_MUL && x->op == ET_X_FLOAT && x->f == 1) return b;
    if (op == ET_X_DIV && y->op == ET_X_FLOAT && y->f == 1) return a;
    if (x->op == ET_X_FLOAT && y->op == ET_X_FLOAT) {
        float u = (float)x->f, v = (float)y->f;
        switch (op) {
        case ET_X_ADD:
            return et_float(p, u + v);
        case ET_X_SUB:
            return et_float(p, u - v);
        case ET_X_MUL:
            return et_float(p, u * v);
        case ET_X_DIV:
            if (v != 0) return et_float(p, u / v);
            break;
        default:
            break;
        }
    }
    return node(p, op, ET_T_F32, 2, (et_expr[]){a, b});
}

et_expr et_op2(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    if (is_compare(op)) return compare(p, op, a, b);
    if (op == ET_X_AND || op == ET_X_OR) return logic(p, op, a, b);
    bool ints = et_x(p, a)->type != ET_T_F32 && et_x(p, b)->type != ET_T_F32;
    if (op == ET_X_IDIV || op == ET_X_MOD) {
        et_check(ints);
        return et_int_op2(p, op, to_i32(p, a), to_i32(p, b));
    }
    if (ints && is_arith(op)) return et_int_op2(p, op, to_i32(p, a), to_i32(p, b));
    return float_op2(p, op, to_f32(p, a), to_f32(p, b));
}

et_expr et_select(et_exprs *p, et_expr c, et_expr a, et_expr b) {
    c = to_pred(p, c);
    if (et_x(p, c)->op == ET_X_INT) return et_x(p, c)->n ? a : b;
    if (et_expr_eq(a, b)) return a;
    et_type t = et_x(p, a)->type, u = et_x(p, b)->type;
    if (t != u && (t == ET_T_F32 || u == ET_T_F32))
        a = to_f32(p, a), b = to_f32(p, b), t = ET_T_F32;
    else if (t != u)
        a = to_i32(p, a), b = to_i32(p, b), t = ET_T_I32;
    return node(p, ET_X_SELECT, t, 3, (et_expr[]){c, a, b});
}

et_expr et_philox_x(et_exprs *p, et_expr seed, et_expr i, et_expr j) {
    et_expr ops[] = {to_i32(p, seed), to_i32(p, i), to_i32(p, j)};
    return node(p, ET_X_PHILOX, ET_T_I32, 3, ops);
}

et_expr et_ceil_div(et_exprs *p, et_expr a, et_expr b) {
    return et_op2(p, ET_X_IDIV, et_add(p, a, et_sub(p, b, et_int(p, 1))), b);
}

bool et_is_int(const et_exprs *p, et_expr e, int64_t *out_value) {
    const et_node_x *x = et_x(p, e);
    if (x->op != ET_X_INT) return false;
    *out_value = x->n;
    return true;
}

const char *et_xop_text(et_xop op) {
    switch (op) {
#define X(NAME, text, arity, traits)                                                               \
    case ET_X_##NAME:                                                                              \
        return text;
#include "ir/expr/expr.def"
#undef X
    case ET_X_LOAD:
        return "load";
    case ET_X_REDUCE:
        return "reduce";
    case ET_X_CONTRACT:
        return "contract";
    default:
        return "?";
    }
}

bool et_xop_is(et_xop op, enum et_xop_trait trait) {
    enum {
        FUNCTION = ET_XOP_FUNCTION,
        COSTLY = ET_XOP_COSTLY,
        ANGLE = ET_XOP_ANGLE,
        INFIX = ET_XOP_INFIX,
    };
    static const unsigned char all[ET_X_COUNT] = {
#define X(NAME, text, arity, traits) [ET_X_##NAME] = traits,
#include "ir/expr/expr.def"
#undef X
    };
    return all[op] & trait;
}

const char *et_reduce_text(et_reduce r) {
    static const char *const text[ET_REDUCES] = {"sum", "max", "min", "argmax", "top"};
    return text[r];
}
