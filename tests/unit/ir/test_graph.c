/* Shape rules: what they accept, and what they tell the user otherwise. Printing. */
#include "tests/unit/ir/build.h"
#include "tests/unit/ir/main.h"
#include <stdlib.h>
#include <string.h>

static fixture *start(void) {
    fixture *f = fixture_create(1);
    et_sym_add(f->p, "N", 1, 64);
    return f;
}

/* The one error reported since the last call. */
static void expect_error(fixture *f, const char *text) {
    const char *found = messages(f);
    ck_assert_int_eq(et_diag_errors(f->diags), 1);
    ck_assert_str_eq(found, et_printf(f->arena, "error: %s\n", text));
    f->diags = f->g->diags = et_diags_create(f->arena);
}

static const char *shape_text(fixture *f, et_value v) {
    ck_assert_msg(v.id, "%s", messages(f));
    return et_shape_text(f->p, &et_val_of(f->g, v)->shape);
}

START_TEST(contract_shapes) {
    fixture *f = start();
    et_value a = INPUT(f, "a", ET_F32, -1, 256), b = INPUT(f, "b", ET_F32, 300, -1);
    et_value i = INPUT(f, "i", ET_I32, 256, 3), h = INPUT(f, "h", ET_F16, 256, 3);
    et_value w = INPUT(f, "w", ET_BF16, 256, 3), v = INPUT(f, "v", ET_F32, 256);
    node(f, "contract", ARGS(a, b), NO_ATTRS);
    expect_error(f, "[N, 256] @ [300, N]: inner dimensions 256 and 300 differ");
    node(f, "contract", ARGS(a, b), ATTRS(attr_int("trans_b", 1)));
    expect_error(f, "[N, 256] @ [N, 300]: inner dimensions 256 and N differ");
    node(f, "contract", ARGS(a, i), NO_ATTRS);
    expect_error(f, "the right side of @ must be f32, f16 or bf16, found i32[256, 3]: convert with "
                    "f32(...)");
    node(f, "contract", ARGS(h, w), NO_ATTRS);
    expect_error(f, "f16 @ bf16 has no common type: convert one side, as in bf16(...)");
    node(f, "contract", ARGS(a, v), NO_ATTRS);
    expect_error(f, "[N, 256] @ [256]: both sides need at least two dimensions");
    node(f, "contract", ARGS(a), NO_ATTRS);
    expect_error(f, "contract takes 2 arguments, not 1");
    et_value p = INPUT(f, "p", ET_F32, 5, 1, 7, 2), q = INPUT(f, "q", ET_BF16, 3, 9, 2);
    et_attr trans = attr_int("trans_b", 1);
    ck_assert_str_eq(shape_text(f, node(f, "contract", ARGS(p, q), 1, &trans)), "f32[5, 3, 7, 9]");
    node(f, "contract", ARGS(INPUT(f, "r", ET_F32, 2, 7, 2), q), 1, &trans);
    expect_error(f, "[2, 7, 2] @ [3, 2, 9]: batch dimensions 2 and 3 differ");
    fixture_destroy(f);
}
END_TEST

START_TEST(map_shapes) {
    fixture *f = start();
    et_value a = INPUT(f, "a", ET_F32, -1, 256), b = INPUT(f, "b", ET_F32, 300);
    map2(f, ET_X_ADD, a, b);
    expect_error(f, "[N, 256] and [300] do not broadcast: dimensions 256 and 300 differ");
    map2(f, ET_X_ADD, a, INPUT(f, "c", ET_F32, 64, 256));
    expect_error(f, "[N, 256] and [64, 256] do not broadcast: dimensions N and 64 differ");
    et_value c = INPUT(f, "c", ET_F32, 3, 1, 1), d = INPUT(f, "d", ET_BF16, -1, 7);
    ck_assert_str_eq(shape_text(f, map2(f, ET_X_MUL, c, d)), "f32[3, N, 7]");
    ck_assert_str_eq(shape_text(f, map2(f, ET_X_MUL, d, c)), "f32[3, N, 7]");
    et_value s = input(f, "s", shape_of(f, ET_F32, 0, NULL));
    ck_assert_str_eq(shape_text(f, map2(f, ET_X_MUL, s, s)), "f32[]");
    fixture_destroy(f);
}
END_TEST

START_TEST(reshape_shapes) {
    fixture *f = start();
    et_expr n = et_sym(f->p, 0), four = et_int(f->p, 4), eight = et_int(f->p, 8);
    et_value x = INPUT(f, "x", ET_BF16, -1, 32);
    et_expr split[] = {n, four, eight}, bad[] = {n, four, four},
            flat[] = {et_mul(f->p, n, et_int(f->p, 32))};
    et_expr odd[] = {four, et_mul(f->p, eight, n)};
    ck_assert_str_eq(
        shape_text(f, node(f, "reshape", ARGS(x), ATTRS(attr_exprs("shape", 3, split)))),
        "bf16[N, 4, 8]");
    ck_assert_str_eq(
        shape_text(f, node(f, "reshape", ARGS(x), ATTRS(attr_exprs("shape", 1, flat)))),
        "bf16[N * 32]");
    ck_assert_str_eq(shape_text(f, node(f, "reshape", ARGS(x), ATTRS(attr_exprs("shape", 2, odd)))),
                     "bf16[4, N * 8]");
    node(f, "reshape", ARGS(x), ATTRS(attr_exprs("shape", 3, bad)));
    expect_error(f, "cannot reshape [N, 32] to [N, 4, 4]: N * 32 and N * 16 elements");
    fixture_destroy(f);
}
END_TEST

static et_value slice1(fixture *f, et_value x, et_expr start, et_expr size) {
    int64_t drop = 0;
    return node(f, "slice", ARGS(x),
                ATTRS(attr_exprs("start", 1, &start), attr_exprs("size", 1, &size),
                      attr_ints("drop", 1, &drop)));
}

START_TEST(slice_shapes) {
    fixture *f = start();
    et_expr n = et_sym(f->p, 0), one = et_int(f->p, 1), zero = et_int(f->p, 0);
    et_value x = INPUT(f, "x", ET_F32, -1);
    ck_assert_str_eq(shape_text(f, slice1(f, x, zero, n)), "f32[N]");
    slice1(f, x, zero, et_int(f->p, 2));
    expect_error(f, "0:2 may leave dimension 0 of [N]");
    slice1(f, x, et_int(f->p, -1), one);
    expect_error(f, "index -1 may leave dimension 0 of [N]");
    slice1(f, x, one, et_sub(f->p, n, one));
    expect_error(f, "the result has shape [N - 1]: dimension N - 1 may be less than 1");
    int64_t keep = 0, step = 3;
    et_expr third = et_ceil_div(f->p, n, et_int(f->p, 3)),
            half = et_ceil_div(f->p, n, et_int(f->p, 2));
    et_value by3 = node(f, "slice", ARGS(x),
                        ATTRS(attr_exprs("start", 1, &zero), attr_exprs("size", 1, &third),
                              attr_ints("drop", 1, &keep), attr_ints("step", 1, &step)));
    ck_assert_str_eq(shape_text(f, by3), "f32[(N + 2) / 3]");
    node(f, "slice", ARGS(x),
         ATTRS(attr_exprs("start", 1, &zero), attr_exprs("size", 1, &half),
               attr_ints("drop", 1, &keep), attr_ints("step", 1, &step)));
    expect_error(f, "0:(N + 1) / 2 * 3 - 2 may leave dimension 0 of [N]");
    int loop = et_graph_loop(f->g, f->block, "l", -1, 3, 7, (et_loc){0});
    et_value y = INPUT(f, "y", ET_F32, 4), z = INPUT(f, "z", ET_F32, 3);
    et_expr l = et_var(f->p, f->g->loops[loop].var);
    ck_assert_str_eq(shape_text(f, slice1(f, y, l, one)), "f32[1]");
    slice1(f, z, l, one);
    expect_error(f, "index l may leave dimension 0 of [3]");
    fixture_destroy(f);
}
END_TEST

START_TEST(routing_shapes) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, -1, 6), i = INPUT(f, "i", ET_I32, -1, 2),
             key = INPUT(f, "key", ET_I32, -1), one = INPUT(f, "one", ET_I32, 1);
    et_expr none = et_int(f->p, 0), seven = et_int(f->p, 7);
    ck_assert_str_eq(shape_text(f, node(f, "take", ARGS(x, i), NO_ATTRS)), "f32[N, 2]");
    node(f, "take", ARGS(x, key), NO_ATTRS);
    expect_error(f, "take from [N, 6] by [N]: all dimensions but the last must be equal");
    ck_assert_str_eq(shape_text(f, node(f, "rank", ARGS(x), NO_ATTRS)), "i32[N, 6]");
    node(f, "rank", ARGS(input(f, "s", shape_of(f, ET_F32, 0, NULL))), NO_ATTRS);
    expect_error(f, "rank of a single number: it needs at least one dimension");
    node(f, "iota", 0, NULL, ATTRS(attr_exprs("shape", 1, &none)));
    expect_error(f, "iota of 0 elements: at least 1 and at most 2147483647");
    node(f, "segment", ARGS(x, one), ATTRS(attr_int("kind", ET_RED_SUM)));
    expect_error(f, "S segments are given by S + 1 places, found [1]");
    node(f, "segment", ARGS(x, i), ATTRS(attr_int("kind", ET_RED_SUM)));
    expect_error(f, "where segments begin must have one dimension, found [N, 2]");
    et_value count =
        node(f, "group_count", ARGS(key), ATTRS(attr_int("groups", 3), attr_int("block", 4)));
    ck_assert_str_eq(shape_text(f, count), "i32[(N + 3) / 4 + 1, 3]");
    node(f, "group_count", ARGS(i), ATTRS(attr_int("groups", 3), attr_int("block", 4)));
    expect_error(f, "the groups of rows must have one dimension, found [N, 2]");
    node(f, "group_count", ARGS(key), ATTRS(attr_int("groups", 0), attr_int("block", 4)));
    expect_error(f, "0 groups, blocks of 4: each from 1 to 1048576");
    et_value first = node(f, "group_first", ARGS(count), ATTRS(attr_int("pad", 2)));
    ck_assert_str_eq(shape_text(f, first), "i32[4]");
    node(f, "group_first", ARGS(key), ATTRS(attr_int("pad", 2)));
    expect_error(f, "the counts of groups must be [blocks, groups], found [N]");
    node(f, "group_first", ARGS(count, i), ATTRS(attr_int("pad", 2)));
    expect_error(f, "the groups of rows must be [rows], found [N, 2]");
    node(f, "group_first", ARGS(count), ATTRS(attr_int("pad", 0)));
    expect_error(f, "groups padded to 0 rows: from 1 to 4096");
    et_value place = node(f, "group_place", ARGS(key, count, first), ATTRS(attr_int("block", 4)));
    ck_assert_str_eq(shape_text(f, place), "i32[N]");
    node(f, "group_place", ARGS(key, count, first), ATTRS(attr_int("block", 5)));
    expect_error(f, "rows [N], counts [(N + 3) / 4 + 1, 3] and beginnings [4] do not belong "
                    "together");
    ck_assert_str_eq(
        shape_text(f, node(f, "group_owner", ARGS(first),
                           ATTRS(attr_int("pad", 2), attr_exprs("blocks", 1, &seven)))),
        "i32[7]");
    node(f, "group_owner", ARGS(one), ATTRS(attr_int("pad", 2), attr_exprs("blocks", 1, &seven)));
    expect_error(f, "where groups begin must be [groups + 1], found [1]");
    node(f, "group_owner", ARGS(first, place, i),
         ATTRS(attr_int("pad", 2), attr_exprs("blocks", 1, &seven)));
    expect_error(f, "beside where groups begin stand places and groups of the same rows, both "
                    "[rows]");
    ck_assert_str_eq(shape_text(f, node(f, "group_rows", ARGS(place, count, first),
                                        ATTRS(attr_int("block", 4), attr_int("pad", 2),
                                              attr_exprs("blocks", 1, &seven)))),
                     "i32[7, 2]");
    node(f, "group_rows", ARGS(place, count, key),
         ATTRS(attr_int("block", 4), attr_int("pad", 2), attr_exprs("blocks", 1, &seven)));
    expect_error(f, "places [N], counts [(N + 3) / 4 + 1, 3] and beginnings [N] do not belong "
                    "together");
    fixture_destroy(f);
}
END_TEST

START_TEST(other_shapes) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, -1, 6), i = INPUT(f, "i", ET_I32, -1),
             w = INPUT(f, "w", ET_F32, 5);
    node(f, "gather", ARGS(x, x), NO_ATTRS);
    expect_error(f, "the indices of gather must be i32, found f32[N, 6]");
    ck_assert_str_eq(shape_text(f, node(f, "gather", ARGS(x, i), NO_ATTRS)), "f32[N, 6]");
    node(f, "rmsnorm", ARGS(x, w), NO_ATTRS);
    expect_error(f, "the weight of rmsnorm over [N, 6] must be [6], found [5]");
    node(f, "softmax", ARGS(x), ATTRS(attr_int("axis", 2)));
    expect_error(f, "axis 2 is out of range for 2 dimensions: -2 to 1");
    node(f, "layernorm", ARGS(x, INPUT(f, "g", ET_F32, 6), w), NO_ATTRS);
    expect_error(f, "the bias of layernorm over [N, 6] must be [6], found [5]");
    node(f, "concat", ARGS(x, INPUT(f, "c", ET_F32, -1, 6, 1)), ATTRS(attr_int("axis", 0)));
    expect_error(f, "concat of [N, 6] and [N, 6, 1] along axis 0: the other dimensions must be the "
                    "same");
    et_attr first = attr_int("axis", 0);
    ck_assert_str_eq(shape_text(f, node(f, "concat", ARGS(x, x, x), 1, &first)), "f32[N * 3, 6]");
    int64_t perm[] = {0, 0};
    node(f, "transpose", ARGS(x), ATTRS(attr_ints("perm", 2, perm)));
    expect_error(f, "the permutation for [N, 6] must name each of 0 to 1 once");
    node(f, "rope", ARGS(INPUT(f, "o", ET_F32, -1, 5), x), NO_ATTRS);
    expect_error(f, "rope of [N, 5]: the last dimension must be an even constant");
    et_value q = INPUT(f, "q", ET_F32, -1, 3, 8), k = INPUT(f, "k", ET_BF16, 2, 1, 9, 8);
    attention(f, q, k, k, i, INPUT(f, "p", ET_I32, -1, 2), 1);
    expect_error(f,
                 "attention: the end of the positions: an element of [N, 2] has 2 indices, not 1");
    int64_t over[] = {
        et_graph_var(f->g, "i", et_int(f->p, 3)), et_graph_var(f->g, "h", et_int(f->p, 3)),
        et_graph_var(f->g, "p", et_int(f->p, 3)), et_graph_var(f->g, "d", et_sym(f->p, 0))};
    et_attr vars = {.name = "over", .kind = ET_A_VARS, .n = 4, .ints = over};
    et_expr one = et_float(f->p, 1), d = et_var(f->p, (int)over[3]);
    node(f, "attention", ARGS(x), ATTRS(vars, attr_expr("q", one), attr_expr("k", one)));
    expect_error(f, "attention needs the values: the attribute v");
    et_attr parts[] = {vars, attr_expr("q", one), attr_expr("k", one), attr_expr("v", one),
                       attr_expr("end", d)};
    node(f, "attention", ARGS(x), 5, parts);
    expect_error(f, "attention: the end of the positions cannot depend on d");
    parts[4] = attr_expr("end", one);
    node(f, "attention", ARGS(x), 5, parts);
    expect_error(f, "attention: the end of the positions must be i32");
    parts[4] = attr_expr("extra", et_arg(f->p, ET_ARG_QK, ET_T_F32));
    node(f, "attention", ARGS(x), 5, parts);
    expect_error(f, "attention: only the score reads the product, not the extra term");
    node(f, "attention", ARGS(x), 4, parts);
    expect_error(f, "attention: the number of elements of a head must be a constant, found N");
    fixture_destroy(f);
}
END_TEST

START_TEST(update_shapes) {
    fixture *f = start();
    et_value kc = STATE(f, "kc", ET_BF16, 2, 4, 3), i = INPUT(f, "i", ET_I32, -1);
    et_value v = INPUT(f, "v", ET_F32, -1, 3), x = INPUT(f, "x", ET_I32, -1, 3);
    int64_t index[] = {-2, 0, -1};
    et_expr scalar[] = {et_int(f->p, 1), ET_NO_EXPR, ET_NO_EXPR};
    et_attr attrs[] = {attr_ints("index", 3, index), attr_exprs("scalar", 3, scalar)};
    const et_op *update = et_op_find("update");
    et_loc none = {0};
    ck_assert(et_graph_node(f->g, f->block, update, none, ARGS(kc, v, i), 2, attrs, NULL));
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(v, v, i), 2, attrs, NULL));
    expect_error(f, "v is not a state: only states can be written");
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(kc, x, i), 2, attrs, NULL));
    expect_error(f, "a value of type i32 written to a state of type bf16");
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(kc, i, i), 2, attrs, NULL));
    expect_error(f, "a value of type i32 written to a state of type bf16");
    et_value w = INPUT(f, "w", ET_F32, 3);
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(kc, w, i), 2, attrs, NULL));
    expect_error(f, "the value written here must be [N, 3], found [3]");
    et_expr from[] = {et_int(f->p, 1), et_int(f->p, 2), ET_NO_EXPR};
    et_expr size[] = {ET_NO_EXPR, et_int(f->p, 2), ET_NO_EXPR};
    et_attr part[] = {attr_ints("index", 3, ((int64_t[]){-2, -3, -1})),
                      attr_exprs("scalar", 3, from), attr_exprs("size", 3, size),
                      attr_ints("step", 3, ((int64_t[]){1, 2, 1}))};
    et_value two = INPUT(f, "two", ET_F32, 2, 3);
    ck_assert(et_graph_node(f->g, f->block, update, none, ARGS(kc, two), 3, part, NULL));
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(kc, w), 3, part, NULL));
    expect_error(f, "the value written here must be [2, 3], found [3]");
    ck_assert(!et_graph_node(f->g, f->block, update, none, ARGS(kc, two), 4, part, NULL));
    expect_error(f, "2:5 may leave dimension 1 of [2, 4, 3]");
    fixture_destroy(f);
}
END_TEST

static const char *print(fixture *f) {
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    et_graph_print(f->g, out);
    fclose(out);
    char *copy = et_strdup(f->arena, text);
    free(text);
    return copy;
}

START_TEST(printing) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, -1, 4), done;
    et_shape of_weight = SHAPE(f, ET_BF16, 2, 4);
    et_shape of_const = SHAPE(f, ET_F32, 3);
    static const float data[] = {1, 0.5f, -1e-9f};
    et_value c = et_graph_value(f->g, ET_V_CONST, NULL, &of_const, (et_loc){0});
    et_val_of(f->g, c)->data = data;
    int loop = et_graph_loop(f->g, f->block, "l", -1, 1, 3, (et_loc){0});
    et_value w = et_graph_value(f->g, ET_V_WEIGHT, "g", &of_weight, (et_loc){0});
    et_val_of(f->g, w)->source = "layers.{l}.\"g\"";
    et_val_of(f->g, w)->nloops = 1;
    et_val_of(f->g, w)->loops[0] = loop;
    et_value in = et_graph_carry(f->g, loop, x);
    f->block = et_graph_loop_body(f->g, loop);
    et_expr start[] = {et_var(f->p, f->g->loops[loop].var), et_int(f->p, 0)};
    et_expr size[] = {et_int(f->p, 1), et_int(f->p, 4)};
    int64_t drop[] = {1, 0};
    et_value gain = node(f, "slice", ARGS(w),
                         ATTRS(attr_exprs("start", 2, start), attr_exprs("size", 2, size),
                               attr_ints("drop", 2, drop)));
    et_value y = node(f, "rmsnorm", ARGS(in, gain), ATTRS(attr_float("eps", 1)));
    et_val_of(f->g, y)->name = "x";
    ck_assert(et_graph_carry_close(f->g, loop, in, y, (et_loc){0}, &done));
    f->block = &f->g->body;
    et_graph_output(f->g, done, "out");
    et_value top = node(f, "reduce", ARGS(done), ATTRS(attr_int("kind", ET_RED_ARGMAX)));
    et_graph_output(f->g, top, "top");
    et_graph_output(f->g, top, "again");
    ck_assert_str_eq(print(f),
                     "eti 1 graph\n"
                     "model test\n"
                     "dim N in 1..64\n"
                     "input %x : f32[N, 4]\n"
                     "const %0 : f32[3] = [1.0, 0.5, -1e-09f]\n"
                     "weight %g : bf16[2, 4] = \"layers.{l}.\\\"g\\\"\" over l\n"
                     "for l in 0..2 from 1 {\n"
                     "  carry %x.2 = %x : f32[N, 4]\n"
                     "  %1 = slice %g {start=[l, 0], size=[1, 4], drop=[1, 0]} : bf16[4]\n"
                     "  %x.3 = rmsnorm %x.2, %1 {eps=1.0} : f32[N, 4]\n"
                     "  next %x.2 = %x.3 -> %x.4\n"
                     "}\n"
                     "%out = map %x.4 {body=$0, dtype=f32} : f32[N, 4]\n"
                     "%top = reduce %x.4 {kind=argmax} : i32[N]\n"
                     "%again = map %top {body=$0, dtype=i32} : i32[N]\n"
                     "output %out\n"
                     "output %top\n"
                     "output %again\n");
    fixture_destroy(f);
}
END_TEST

START_TEST(carry_of_another_shape) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, -1), y = INPUT(f, "y", ET_F32, 3), out;
    int loop = et_graph_loop(f->g, f->block, "l", -1, 0, 2, (et_loc){0});
    et_value in = et_graph_carry(f->g, loop, x);
    ck_assert(!et_graph_carry_close(f->g, loop, in, y, (et_loc){0}, &out));
    ck_assert(out.id == 0);
    expect_error(f,
                 "x is f32[N] before the loop over l and f32[3] after an iteration: both must be "
                 "the same");
    fixture_destroy(f);
}
END_TEST

/* Growing the array of loops must not lose statements of the blocks inside it. */
START_TEST(many_loops) {
    fixture *f = start();
    et_value x = INPUT(f, "x", ET_F32, 2);
    int outer = et_graph_loop(f->g, f->block, "o", -1, 0, 2, (et_loc){0});
    for (int i = 0; i < 50; i++) {
        int inner =
            et_graph_loop(f->g, et_graph_loop_body(f->g, outer), "i", outer, 0, 2, (et_loc){0});
        f->block = et_graph_loop_body(f->g, inner);
        map2(f, ET_X_ADD, x, x);
    }
    ck_assert_int_eq(f->g->loops[outer].body.n, 50);
    for (int i = 1; i <= 50; i++)
        ck_assert_int_eq(f->g->loops[i].body.n, 1);
    fixture_destroy(f);
}
END_TEST

START_TEST(dtypes) {
    et_dtype d;
    for (int i = 0; i < ET_DTYPE_COUNT; i++) {
        ck_assert(et_dtype_parse(et_dtype_name((et_dtype)i), &d));
        ck_assert_int_eq((int)d, i);
    }
    ck_assert(!et_dtype_parse("f64", &d));
    ck_assert_int_eq(et_dtype_bytes(ET_BF16), 2);
    ck_assert_ptr_null(et_op_find("matmul"));
}
END_TEST

TEST_MAIN("graph", contract_shapes, map_shapes, reshape_shapes, slice_shapes, routing_shapes,
          other_shapes, update_shapes, printing, carry_of_another_shape, many_loops, dtypes)
