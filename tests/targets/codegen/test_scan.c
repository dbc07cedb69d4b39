/* SCAN steps: states of every size and place, few and many results, rows of several sequences and
 * of none, with and without what is seen; in chunks, by matrix products; and in windows. */
#include "ir/product/scan.h"
#include "tests/targets/codegen/kit.h"
#include "tests/targets/codegen/suites.h"

struct shape {
    int heads, width, size, lanes; /* results of a row, elements of each, lanes of one */
    int rows, most;                /* in the launch, and at most */
    bool looks, fresh, keep, last; /* LAST: the element is the state's last index */
    int live;                      /* of `width`; 0: all */
};

/* Over N rows, RESULTS of each and ELEMENTS of the state of each, which LANES share. */
static et_step *scan_step(kit *k, et_func *f, et_expr N, int results, int elements, int lanes) {
    et_step *s = kit_step(k, f, ET_STEP_SCAN);
    s->nvars = 1;
    s->vars[0] = kit_var(k, "w", results);
    s->rvar = et_var_add(k->x, "i", N);
    s->rextent = N;
    s->evar = kit_var(k, "j", elements);
    s->lanes = lanes;
    return s;
}

/* 1, and a little from a tensor: what is carried neither grows nor dies away. */
static et_expr decay(et_exprs *x, et_expr e) {
    return et_add(x, et_float(x, 0.5), et_mul(x, et_float(x, 0.25), e));
}

static void parts(kit *k, const struct shape *c, et_step *s, et_expr in, et_expr key, et_expr slot,
                  et_expr row) {
    et_exprs *x = k->x;
    et_expr state = et_arg(x, ET_ARG_STATE, ET_T_F32), seen = et_arg(x, ET_ARG_SEEN, ET_T_F32);
    et_expr kept = et_mul(x, decay(x, in), state);
    if (c->looks) s->scan[ET_SC_LOOK] = et_mul(x, kept, key);
    s->scan[ET_SC_NEXT] = et_add(
        x, kept, et_mul(x, key, c->looks ? et_sub(x, in, et_mul(x, seen, et_float(x, 0.1))) : in));
    s->scan[ET_SC_OUT] = et_mul(x, state, et_sub(x, key, et_float(x, 0.3)));
    et_expr third = et_op2(x, ET_X_MOD, row, et_int(x, 3));
    if (c->fresh) s->scan[ET_SC_FRESH] = et_op2(x, ET_X_EQ, third, et_int(x, 1));
    if (c->keep) s->scan[ET_SC_KEEP] = et_op2(x, ET_X_LT, slot, et_int(x, 3));
}

static void scan(const struct shape *c) {
    kit k;
    kit_begin(&k, "scan");
    et_exprs *x = k.x;
    int64_t syms[] = {c->rows};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, c->most)), H = kit_n(&k, c->heads);
    int live = c->live ? c->live : c->width;
    et_expr W = kit_n(&k, live), J = kit_n(&k, c->size), slots = kit_n(&k, c->keep ? 3 : 8);
    et_expr dstate[] = {slots, H, c->last ? W : J, c->last ? J : W}, dout[] = {N, H, W};
    et_expr dkey[] = {N, H, J};
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", ET_BF16, 3, dout);
    int key = kit_tensor(&k, ET_TENSOR_INPUT, "key", c->last ? ET_F32 : ET_BF16, 3, dkey);
    int slot = kit_tensor(&k, ET_TENSOR_INPUT, "slot", ET_I32, 1, &N);
    int state = kit_tensor(&k, ET_TENSOR_STATE, "state", ET_F32, 4, dstate);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dout);
    et_func *f = kit_func(&k, "scan", 1);
    et_step *s = scan_step(&k, f, N, c->width, c->size, c->lanes);
    et_expr i = et_var(x, s->rvar), h = kit_coord(&k, f, 0), w = et_var(x, s->vars[0]);
    et_expr j = et_var(x, s->evar), at = kit_at(&k, slot, 1, &i);
    if (live < c->width) s->mask = et_op2(x, ET_X_LT, w, W);
    et_expr of_out[] = {i, h, w}, of_key[] = {i, h, j};
    et_expr kept = c->keep ? et_op2(x, ET_X_MIN, at, et_int(x, 2)) : at;
    kept = et_op2(x, ET_X_MIN, et_op2(x, ET_X_MAX, kept, et_int(x, 0)), et_int(x, c->keep ? 2 : 7));
    et_expr of_state[] = {kept, h, c->last ? w : j, c->last ? j : w};
    parts(&k, c, s, kit_at(&k, in, 3, of_out), kit_at(&k, key, 3, of_key), at, i);
    s->state = kit_place(ET_LOAD_TENSOR, state, 4, of_state);
    s->to = kit_place(ET_LOAD_TENSOR, out, 3, of_out);
    kit_grid(&k, f, &H, -1);
    kit_check(&k, "cus=2:xcds=1", syms);
    ck_assert_int_eq(k.info.scratch_bytes, 0);
    kit_end(&k);
}

static const struct shape shapes[] = {
    {1, 1, 1, 1, 1, 1, false, false, false, true, 0},
    {2, 16, 16, 16, 1, 9, true, true, true, true, 0},
    {2, 16, 16, 4, 9, 9, true, true, true, true, 0},
    {3, 40, 64, 8, 7, 20, true, false, false, true, 33},
    {2, 300, 32, 2, 5, 20, false, true, false, true, 0},
    {1, 64, 128, 8, 20, 20, true, true, true, true, 0},
    {1, 12, 128, 32, 6, 20, true, true, false, true, 0},
    {4, 6, 9, 1, 20, 20, false, true, true, false, 5},
    {2, 33, 6, 2, 13, 13, true, false, true, false, 0},
    {1, 7, 48, 16, 17, 40, true, true, true, true, 0},
    {2, 5, 64, 1, 4, 8, false, false, true, true, 0},
    {1, 257, 1, 1, 11, 12, false, true, true, true, 0},
    {1, 20, 24, 8, 12, 12, true, true, true, false, 19},
};
enum { NSHAPES = sizeof shapes / sizeof *shapes };

START_TEST(scans) {
    scan(&shapes[_i]);
}
END_TEST

/* ---- chunks ---- */

struct chunked {
    int heads, results, size, rows, most; /* results of a tile, all of a head's */
    int chunk, period, ahead; /* rows; PERIOD: of a sequence, one after the other; 0: of all */
    bool looks, alone;        /* ALONE: of the last sequence every third row is another's */
    int from;                 /* position of the first row */
};

static void chunked_parts(kit *k, const struct chunked *c, et_step *s, et_expr added, et_expr key,
                          et_expr query, et_expr fade) {
    et_exprs *x = k->x;
    et_expr state = et_arg(x, ET_ARG_STATE, ET_T_F32), seen = et_arg(x, ET_ARG_SEEN, ET_T_F32);
    et_expr kept = decay(x, fade), tenth = et_float(x, 0.1);
    et_expr by = c->looks ? et_sub(x, et_mul(x, added, fade), et_mul(x, seen, tenth)) : added;
    if (c->looks) s->scan[ET_SC_LOOK] = et_mul(x, et_mul(x, kept, state), key);
    s->scan[ET_SC_NEXT] = et_sub(x, et_mul(x, kept, state), et_mul(x, et_mul(x, by, key), tenth));
    s->scan[ET_SC_OUT] = et_mul(x, state, et_sub(x, query, et_float(x, 0.3)));
}

static void chunks(const struct chunked *c) {
    kit k;
    kit_begin(&k, "chunks");
    et_exprs *x = k.x;
    int64_t syms[] = {c->rows};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, c->most)), H = kit_n(&k, c->heads);
    et_expr W = kit_n(&k, c->results), J = kit_n(&k, c->size), S = kit_n(&k, 9);
    et_expr dstate[] = {S, H, W, J}, dout[] = {N, H, W}, dkey[] = {N, H, J}, dfade[] = {N, H};
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", ET_BF16, 3, dout);
    int key = kit_tensor(&k, ET_TENSOR_INPUT, "key", ET_F32, 3, dkey);
    int query = kit_tensor(&k, ET_TENSOR_INPUT, "query", ET_BF16, 3, dkey);
    int fade = kit_tensor(&k, ET_TENSOR_INPUT, "fade", ET_F32, 2, dfade);
    int state = kit_tensor(&k, ET_TENSOR_STATE, "state", ET_F32, 4, dstate);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dout);
    et_func *f = kit_func(&k, "chunks", 1);
    et_step *s = scan_step(&k, f, N, c->results, c->size, k.p->workgroup / c->results);
    s->ahead = c->ahead;
    et_expr i = et_var(x, s->rvar), h = kit_coord(&k, f, 0), w = et_var(x, s->vars[0]);
    et_expr j = et_var(x, s->evar), of_out[] = {i, h, w}, of_key[] = {i, h, j}, of_row[] = {i, h};
    et_expr at = et_add(x, i, et_int(x, c->from)), period = et_int(x, c->period);
    et_expr slot = et_int(x, 7), position = at;
    if (c->period) {
        slot = et_op2(x, ET_X_MIN, et_op2(x, ET_X_IDIV, at, period), slot);
        position = et_op2(x, ET_X_MOD, at, period);
    }
    if (c->alone) {
        et_expr third = et_op2(x, ET_X_EQ, et_op2(x, ET_X_MOD, i, et_int(x, 3)), et_int(x, 1));
        third = et_op2(x, ET_X_AND, third, et_op2(x, ET_X_LT, et_int(x, c->period), at));
        slot = et_select(x, third, et_int(x, 8), slot);
    }
    et_expr of_state[] = {slot, h, w, j};
    chunked_parts(&k, c, s, kit_at(&k, in, 3, of_out), kit_at(&k, key, 3, of_key),
                  kit_at(&k, query, 3, of_key), kit_at(&k, fade, 2, of_row));
    s->scan[ET_SC_FRESH] = et_op2(x, ET_X_EQ, position, et_int(x, 0));
    s->state = kit_place(ET_LOAD_TENSOR, state, 4, of_state);
    s->to = kit_place(ET_LOAD_TENSOR, out, 3, of_out);
    et_scan_chunk of;
    const char *why;
    ck_assert_msg(et_scan_chunk_of(x, s, k.p->workgroup, kit_wave(), c->chunk, &of, &why), "%s",
                  why);
    if (of.rows + of.results >= 96) /* too much for one wave: refused, and not emitted */
        ck_assert(!et_scan_chunk_of(x, s, k.p->workgroup, k.p->workgroup, c->chunk, &of, &why));
    s->chunk = c->chunk;
    ck_assert(et_scan_chunk_of(x, s, k.p->workgroup, kit_wave(), c->chunk, &of, &why));
    s->scratch = et_local_add(k.p, f, "part", ET_F32, 1, &of.words, of.words);
    kit_grid(&k, f, &H, -1);
    kit_check(&k, "cus=2:xcds=1", syms);
    kit_end(&k);
}

static const struct chunked chunked[] = {
    {2, 16, 16, 100, 100, 32, 100, 4, true, false, 0},  /* three, and what is left */
    {1, 16, 48, 70, 100, 16, 20, 2, true, false, 0},    /* one of each sequence */
    {1, 32, 32, 64, 64, 32, 64, 0, false, false, 0},    /* nothing by itself, nothing seen */
    {2, 16, 32, 90, 128, 16, 48, 1, true, true, 7},     /* rows of others between */
    {1, 16, 64, 31, 64, 32, 64, 1, true, false, 0},     /* too few */
    {1, 32, 16, 77, 80, 16, 200, 8, false, false, 123}, /* from the middle */
    {1, 16, 32, 64, 64, 32, 64, 1, true, false, 32},    /* two sequences, a chunk of each */
    {1, 16, 16, 100, 100, 16, 0, 1, true, false, -48},  /* three chunks before where it is fresh */
};
enum { NCHUNKED = sizeof chunked / sizeof *chunked };

START_TEST(scans_in_chunks) {
    chunks(&chunked[_i]);
}
END_TEST

/* ---- windows ---- */

struct window {
    int results, live, taps, lanes, rows, most; /* of a tile, LIVE of them */
    int period, from;                           /* as of chunks */
    bool alone, fresh, outside; /* OUTSIDE: rows of the second sequence have no state */
};

/* Where row I of C is: of which sequence, and where in it. */
static et_expr slot_of(et_exprs *x, const struct window *c, et_expr at, et_expr i) {
    et_expr slot =
        et_op2(x, ET_X_MIN, et_op2(x, ET_X_IDIV, at, et_int(x, c->period)), et_int(x, 7));
    et_expr third = et_op2(x, ET_X_EQ, et_op2(x, ET_X_MOD, i, et_int(x, 3)), et_int(x, 1));
    third = et_op2(x, ET_X_AND, third, et_op2(x, ET_X_LT, et_int(x, 2 * c->period), at));
    return c->alone ? et_select(x, third, et_int(x, 8), slot) : slot;
}

static void windows(const struct window *c) {
    kit k;
    kit_begin(&k, "windows");
    et_exprs *x = k.x;
    int64_t syms[] = {c->rows};
    et_expr N = et_sym(x, kit_sym(&k, "N", 1, c->most)), H = kit_n(&k, 2);
    et_expr W = kit_n(&k, c->live), J = kit_n(&k, c->taps), S = kit_n(&k, 9);
    et_expr dstate[] = {S, H, W, J}, dout[] = {N, H, W}, dby[] = {H, W, J};
    int in = kit_tensor(&k, ET_TENSOR_INPUT, "in", ET_BF16, 3, dout);
    int by = kit_tensor(&k, ET_TENSOR_INPUT, "by", ET_F32, 3, dby);
    int state = kit_tensor(&k, ET_TENSOR_STATE, "state", ET_F32, 4, dstate);
    int out = kit_tensor(&k, ET_TENSOR_OUTPUT, "out", ET_F32, 3, dout);
    et_func *f = kit_func(&k, "windows", 1);
    et_step *s = scan_step(&k, f, N, c->results, c->taps, c->lanes);
    s->window = true;
    et_expr i = et_var(x, s->rvar), h = kit_coord(&k, f, 0), w = et_var(x, s->vars[0]);
    et_expr j = et_var(x, s->evar), of_out[] = {i, h, w}, of_state[] = {h, h, w, j};
    et_expr at = et_add(x, i, et_int(x, c->from));
    et_expr count = et_op2(x, ET_X_MOD, at, et_int(x, c->period));
    et_expr slot = slot_of(x, c, at, i), number = et_arg(x, ET_ARG_STATE, ET_T_F32);
    et_expr tap = et_op2(x, ET_X_MOD, et_sub(x, et_sub(x, j, count), et_int(x, 1)), J);
    et_expr of_by[] = {h, w, tap};
    if (c->live < c->results) s->mask = et_op2(x, ET_X_LT, w, W);
    if (c->fresh) s->scan[ET_SC_FRESH] = et_op2(x, ET_X_EQ, count, et_int(x, 0));
    if (c->outside) s->scan[ET_SC_KEEP] = et_op2(x, ET_X_NE, slot, et_int(x, 1));
    s->scan[ET_SC_NEXT] = et_select(x, et_op2(x, ET_X_EQ, et_op2(x, ET_X_MOD, count, J), j),
                                    kit_at(&k, in, 3, of_out), number);
    s->scan[ET_SC_OUT] = et_mul(x, number, kit_at(&k, by, 3, of_by));
    of_state[0] = slot;
    s->state = kit_place(ET_LOAD_TENSOR, state, 4, of_state);
    s->to = kit_place(ET_LOAD_TENSOR, out, 3, of_out);
    et_scan_window of;
    const char *why;
    ck_assert_msg(et_scan_window_of(x, s, k.p->workgroup, &of, &why), "%s", why);
    kit_grid(&k, f, &H, -1);
    kit_check(&k, "cus=2:xcds=1", syms);
    kit_end(&k);
}

static const struct window window_shapes[] = {
    {64, 64, 4, 4, 300, 300, 300, 0, false, true, false}, /* one run */
    {64, 64, 4, 4, 300, 300, 90, 17, false, true, false}, /* some */
    {16, 11, 4, 1, 300, 400, 140, 5, true, true, false},  /* rows of others between, a part tile */
    {40, 40, 3, 1, 260, 300, 100, 1, false, true,
     true}, /* no state, a part pass, no power of two */
    {128, 128, 2, 2, 129, 200, 1000, 3, false, false, false}, /* never fresh */
    {8, 8, 16, 8, 200, 200, 70, 0, true, true, false},
    {64, 64, 4, 4, 65, 300, 300, 7, false, true, false}, /* as few as are a run */
    {64, 64, 4, 4, 60, 300, 300, 7, false, true, false}, /* too few */
};
enum { NWINDOWS = sizeof window_shapes / sizeof *window_shapes };

START_TEST(scans_of_windows) {
    windows(&window_shapes[_i]);
}
END_TEST

Suite *scan_suite(void) {
    Suite *s = suite_create("scan");
    TCase *t = tcase_create("scan");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, scans, 0, NSHAPES);
    tcase_add_loop_test(t, scans_in_chunks, 0, NCHUNKED);
    tcase_add_loop_test(t, scans_of_windows, 0, NWINDOWS);
    suite_add_tcase(s, t);
    return s;
}
